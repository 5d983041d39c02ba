// SPDX-License-Identifier: GPL-3.0-or-later
/// A folder of PNG files as a replay reads it: its names as they were when it was opened, in name order (bytes
/// compared). Every file is opened below the folder that was opened first, whatever its path means by then, and is read
/// whole. A folder that start --record has made gives its frames, put together.
#ifndef CONDPROF_SCREEN_FOLDER_H
#define CONDPROF_SCREEN_FOLDER_H

#include "daemon/recording/recorded.h"
#include "daemon/screen/screen.h"

#define FOLDER_MAX_FILES 1000000U
#define FOLDER_MAX_FILE_BYTES (512 * 1024 * 1024)

struct folder {
	int fd;
	char *path;      ///< as it was given, for messages
	bool restricted; ///< symbolic links in it are refused
	struct recorded *recorded; ///< of a recording: puts its frames together
	char **names;
	size_t count;      ///< >= 1, but of a recording
	int width, height; ///< px, of the first picture
	uint8_t *buffer;   ///< of the last file read
	size_t buffer_size;
};

/// Opens and lists it. May block as long as its file system does.
/// @param allowed NULL: any; else NULL-terminated: only at or below one of these, symbolic links followed first
int folder_open(const char *path, const char *const *allowed, struct folder **ret, struct error *error);
struct folder *folder_close(struct folder *folder);

/// Reads and decodes the file of that index. Errors (SCREEN_FAILED) name the file.
int folder_read(struct folder *folder, size_t index, struct picture **ret, struct error *error);

#endif
