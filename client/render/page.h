// SPDX-License-Identifier: GPL-3.0-or-later
/// The page's frame: report.html with report.css and report.js in it, made when the program is built (embed.sh). What
/// belongs between its parts is written by html.c.
#ifndef CONDPROF_RENDER_PAGE_H
#define CONDPROF_RENDER_PAGE_H

#include <stddef.h>

struct page_part {
	const unsigned char *bytes;
	size_t size;
};

extern const struct page_part page_before_title, page_before_body, page_before_version, page_end;

#endif
