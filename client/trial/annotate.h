// SPDX-License-Identifier: GPL-3.0-or-later
/// Draws what a try found onto the picture it was found on: a thin frame around the area a condition looks at, a thick
/// one around what was found, or around the best candidate where nothing was, and a label with number, name and score.
#ifndef CONDPROF_TRIAL_ANNOTATE_H
#define CONDPROF_TRIAL_ANNOTATE_H

#include "client/trial/tried.h"
#include "daemon/picture/picture.h"

void annotate(struct picture *picture, const struct tried *tried);

/// A text in letters of 5x7 px, enlarged by `scale`; what is not ASCII is drawn as `?`. Clipped to the picture.
void annotate_text(struct picture *picture, int x, int y, int scale, uint32_t rgb, const char *text);
int annotate_text_width(int scale, const char *text);

#endif
