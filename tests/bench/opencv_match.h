// SPDX-License-Identifier: GPL-3.0-or-later
/// OpenCV's template matching behind a C interface, for benches to measure against. Single-threaded.
#ifndef CONDPROF_BENCH_OPENCV_MATCH_H
#define CONDPROF_BENCH_OPENCV_MATCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct opencv_side;

struct opencv_side *opencv_new(void);
void opencv_free(struct opencv_side *side);
const char *opencv_version(void);
/// Takes a template (BGRA); @return its number
int opencv_template(struct opencv_side *side, const uint8_t *pixels, int width, int height, ptrdiff_t stride);
/// Converts a part of a picture to gray: what opencv_match() looks at next.
void opencv_gray(struct opencv_side *side, const uint8_t *pixels, int width, int height, ptrdiff_t stride);
/// matchTemplate (TM_CCOEFF_NORMED) and minMaxLoc in a part of that gray. @return the highest score
double opencv_match(struct opencv_side *side, int template_, int left, int top, int right, int bottom, int *ret_x,
		    int *ret_y);

#ifdef __cplusplus
}
#endif

#endif
