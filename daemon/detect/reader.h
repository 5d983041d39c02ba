// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: what reads text from pixels. The one file that knows Tesseract is reader.c.
#ifndef CONDPROF_DETECT_READER_H
#define CONDPROF_DETECT_READER_H

#include "daemon/detect/detect.h"

/// A line as it was read; valid during the call it is given to.
struct read_line {
	const char *text; ///< UTF-8
	size_t size;      ///< bytes
	struct rect box;  ///< px of the view that was read, inside it
};

/// Room for a line that the caller wants to keep until the next check: DETECT_TEXT_MAX bytes.
char *reader_kept_line(struct detect_reader *reader);

/// @return whether to go on with the next line
typedef bool (*read_line_function)(void *context, const struct read_line *line);

/// Reads all lines of a view, from top to bottom. The view is at most as large as reserved.
/// @param stop looked at between words; may be NULL
/// @return 0, -ECANCELED: stopped, -EIO: it could not be read, -ENOMEM
int reader_read(struct detect_reader *reader, struct picture_view view, const volatile int *stop,
		read_line_function line, void *context);

#endif
