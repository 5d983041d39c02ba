// SPDX-License-Identifier: GPL-3.0-or-later
/// Where clicks and keys go: one small table of functions a kind. Used by one session's engine thread. All calls flush.
/// What is pressed is remembered here, so that release_all always can.
///
/// URIs: log: (records only), x11:[DISPLAY] by XTEST, uinput:[?layout=NAME][&variant=NAME][&touch=1].
#ifndef CONDPROF_INPUT_H
#define CONDPROF_INPUT_H

#include "daemon/screen/screen.h"

struct input;

struct input_ops {
	const char *scheme;
	const char *summary;
	int (*check)(const char *rest, struct error *error); ///< as of a screen; NULL: any
	/// Which device it is, however it is written; NULL: the URI tells. Writes to out.
	void (*device)(const char *rest, char *out, size_t size);
	/// As of a screen. The wake fd of `wait` may be kept and looked at until close.
	int (*open)(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
		    struct input **ret, struct error *error);
	struct input *(*close)(struct input *input); ///< releases everything first
	/// The size of the frames that positions are in, px: after open, and when it changes. NULL: all the same to it
	void (*fit)(struct input *input, int width, int height);
	// px of the frame; positions outside it go through as they are. 0 or -errno (-EPIPE: the device is gone)
	int (*pointer_move)(struct input *input, int x, int y);
	int (*pointer_press)(struct input *input); ///< button 1, or touch down
	int (*pointer_release)(struct input *input);
	int (*key_press)(struct input *input, uint32_t keysym); ///< xkb keysym
	int (*key_release)(struct input *input, uint32_t keysym);
	int (*type)(struct input *input, const char *utf8); ///< strikes each character
	int (*release_all)(struct input *input);            ///< every held button and key
};

struct input {
	const struct input_ops *ops;
	bool shared;          ///< several sessions may use it (log:)
	struct error failure; ///< after a call failed
};

int input_open(const char *uri, const struct screen_config *config, const struct screen_wait *wait, struct input **ret,
	       struct error *error);
struct input *input_close(struct input *input);
int input_check_uri(const char *uri, struct error *error);
/// What two sessions may not share: the device behind an input, equal for two ways to write one. Writes to out.
void input_device(const char *uri, char *out, size_t size);
/// The input a screen implies: x11:D for x11:D, uinput: for fb:, log: for a replay. Writes to out.
void input_for_screen(const char *screen_uri, char *out, size_t size);
const char *const *input_schemes(void);
/// Lets tests add a kind. Before any open.
void input_register(const struct input_ops *ops);

#endif
