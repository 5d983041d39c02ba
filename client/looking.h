// SPDX-License-Identifier: GPL-3.0-or-later
/// What the commands that look at a screen share: its URI on the command line, a picture as it comes from the daemon,
/// files written whole or not at all.
#ifndef CONDPROF_CLIENT_LOOKING_H
#define CONDPROF_CLIENT_LOOKING_H

#include "client/client.h"
#include "client/connection.h"

/// The value of --screen as the daemon gets it; *ret stays NULL without one. @param ret the caller's
/// @return EXIT_DONE; EXIT_USAGE (printed)
enum exit_code take_screen(const struct client *client, char **ret);

/// A PNG file that comes in pieces.
struct incoming {
	uint8_t *data;
	size_t size, filled;
	int width, height; ///< px
	char *screen;      ///< that it is of; NULL: not told
};
void incoming_clear(struct incoming *incoming);
/// Takes one piece. @return 1: that was the last, 0, -ENOMEM, -EPROTO (error filled)
int incoming_add(struct incoming *incoming, const Condprof__Captured *captured, struct error *error);

/// Reads a PNG file of at most `most` bytes; its header is looked at. @param ret the caller's
/// @return EXIT_DONE; else printed
enum exit_code read_png_file(const struct client *client, const char *path, size_t most, uint8_t **ret,
			     size_t *ret_size);

/// Writes a PNG file anew, under its name only when it is whole. "-": standard output, which may not be a terminal.
/// @return EXIT_DONE; else printed
enum exit_code write_png_file(const struct client *client, const char *path, const uint8_t *data, size_t size);

#endif
