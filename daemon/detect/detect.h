// SPDX-License-Identifier: GPL-3.0-or-later
/// What a screen condition means: pixels in, result out. Knows no scenario. docs/DETECTION.md has the definitions.
///
/// Results are the same bits on every CPU: sums are integers, and no float contraction decides anything.
/// After the *_new and detect_frame_reserve calls nothing here allocates.
#ifndef CONDPROF_DETECT_H
#define CONDPROF_DETECT_H

#include "daemon/picture/picture.h"

/// An image to look for, prepared for frames of one size and one quality. Immutable; owns its memory.
struct detect_template;

/// Prepares `image` (BGRA; only fully opaque pixels count).
/// @param ratio_num,ratio_den the reduction of detection.md 7 (1, 1: none): template sides times num/den to nearest, >=
/// 1
/// @return -EINVAL with an error when the image has no variance ("one flat colour: use a color condition") or no
///         opaque pixel
int detect_template_new(struct picture_view image, int ratio_num, int ratio_den, struct detect_template **ret,
			struct error *error);
struct detect_template *detect_template_free(struct detect_template *template_);
void detect_template_size(const struct detect_template *template_, int *ret_width,
			  int *ret_height); ///< after reduction

/// What is computed of a frame once and shared by all checks on it, each part at its first need.
struct detect_frame;

/// Reads a clock in ns; see `clock` below.
typedef int64_t (*detect_clock)(void);

int detect_frame_new(struct detect_frame **ret);
struct detect_frame *detect_frame_free(struct detect_frame *frame);
/// Takes the memory for frames of this size (source px) and quality (longest side in px; 0: no reduction). Keeps what
/// it has when nothing changed. Not a part of any check.
int detect_frame_reserve(struct detect_frame *frame, int width, int height, int quality);
/// The reduction for a source size: num/den = quality / longer side, or 1/1.
void detect_ratio(int width, int height, int quality, int *ret_num, int *ret_den);
/// Begins with new pixels: forgets all that was prepared. `view` must live until the next call and have the reserved
/// size.
void detect_frame_begin(struct detect_frame *frame, struct picture_view view);
/// Where the time of preparation is read from; NULL (the default): it isn't measured.
void detect_frame_set_clock(struct detect_frame *frame, detect_clock clock);

/// Parts of the preparation, for shared time.
enum detect_part {
	DETECT_REDUCED, ///< smaller pixels
	DETECT_GRAY,
	DETECT_BOXES,   ///< means of boxes of pixels
	DETECT_CHANGES, ///< comparing with earlier frames
	DETECT_PARTS,
};

/// What a condition keeps of its last check: its result, and what it needs to tell that no pixel it looked at has
/// changed since. One a condition, used with one frame.
struct detect_memory;

int detect_memory_new(struct detect_memory **ret);
struct detect_memory *detect_memory_free(struct detect_memory *memory);
/// Gets ready for checks of this area on frames as reserved, and forgets. Call it after detect_frame_reserve() changed
/// anything; without it nothing is reused.
/// @param area,exact as in the queries to come
/// @param budget bytes this may take for a copy of pixels (fewer than 64 KB for a small area, for a large one those
/// along its edges that fill no tile of the frame); what it took is subtracted. NULL: no limit. Without a copy a
/// result is reused all the same, but not after a change within 32 px beside the area
void detect_memory_reserve(struct detect_memory *memory, const struct detect_frame *frame, struct rect area, bool exact,
			   size_t *budget);
/// The next check computes.
void detect_memory_forget(struct detect_memory *memory);

#define DETECT_TEXT_MAX 192 ///< bytes, with the NUL

/// What a check used of a frame's preparation that another one had done.
struct detect_shared {
	uint32_t asker; ///< detect_query.asker of that other one
	int64_t ns;
};

struct detect_result {
	bool found;
	bool evaluable; ///< false: area not inside the frame, empty, or smaller than the template; or no pixels of
			///< the reserved size were begun with
	bool stopped;   ///< the stop flag was seen: nothing else here says anything
	bool reused;    ///< the result of the last check on this memory: no pixel it looked at has changed
	bool has_score; ///< score is known exactly
	double score;   ///< image: correlation; color, text: confidence
	double colour_difference; ///< image, with has_score, percent
	int x, y;                 ///< centre, source px; of the found, or with detect_query.best of the best candidate
	struct rect place;        ///< source px
	bool has_value;           ///< number: one was read, and
	double value;             ///< this is it
	const char *text;         ///< text, number, unless reused: the line it is about, or the first one, cut to
				  ///< DETECT_TEXT_MAX; until the reader's next check. NULL: nothing was read
	uint32_t used;            ///< 1 << detect_part of every part this check needed
	uint32_t prepared;        ///< of those, the ones it prepared itself
	int64_t prepared_ns[DETECT_PARTS]; ///< with a clock: how long each took
	/// With a clock: what earlier checks on this frame had prepared and this one used as the first of others, told
	/// tile by tile, so that nothing is told twice. Until the next check
	const struct detect_shared *shared;
	int n_shared;
};

struct detect_query {
	struct rect area; ///< source px; for an exact search the template's place already grown by 1 px is NOT given:
			  ///< set exact and area = the template's own place (grown here, after reduction)
	bool exact;
	double threshold; ///< percent
	bool best;        ///< leave the threshold out and report the best candidate (for people, not for sessions)
	const volatile int *stop;     ///< looked at between blocks of rows; non-zero ends the search. May be NULL.
				      ///< Another thread sets it, atomically; read it so
	uint32_t asker;               ///< any number that tells this condition from others, for detect_shared
	struct detect_memory *memory; ///< of this condition: reuses its last result where that is the same, and begins
				      ///< where it was found last. NULL: always computed
};

/// Looks for an image. @param ret always filled
void detect_image(struct detect_frame *frame, const struct detect_template *template_, const struct detect_query *query,
		  struct detect_result *ret);

/// Compares the mean colour of an area. @param rgb 0xRRGGBB
void detect_color(struct detect_frame *frame, uint32_t rgb, const struct detect_query *query,
		  struct detect_result *ret);

/// Reads text: Tesseract with a set of languages. Costs some 35 MB and 0.2 s to make. Used by one thread at a time.
struct detect_reader;

/// Call it first thing in main(), before there is another thread: what reading uses takes its settings from the
/// environment, and without them it starts threads of its own, which make it several times slower.
void detect_reader_init_process(void);

/// Opens the library at the first need of the process; it stays.
/// @param languages joined by +, the first one leads: "eng+deu"
/// @return with an error: -ENOTSUP: reading is not built in, -ENOENT: a package that it names is not installed, -ENOMEM
int detect_reader_new(const char *languages, struct detect_reader **ret, struct error *error);
struct detect_reader *detect_reader_free(struct detect_reader *reader);
/// Takes the memory for areas of this size as well, source px.
int detect_reader_reserve(struct detect_reader *reader, int width, int height);

/// A text to look for, prepared. Used by one thread at a time.
struct detect_wanted;

/// @param text UTF-8, one line; blanks at both ends do not count
/// @return 0, -EINVAL: nothing but blanks, -ENOMEM
int detect_wanted_new(const char *text, bool ignore_case, struct detect_wanted **ret);
struct detect_wanted *detect_wanted_free(struct detect_wanted *wanted);

/// Looks for a text among the lines of an area. The pixels are the source's, whatever the quality; `exact` and `best`
/// change nothing. The place is the best line's. @param ret always filled
void detect_text(struct detect_frame *frame, struct detect_reader *reader, struct detect_wanted *wanted,
		 const struct detect_query *query, struct detect_result *ret);

/// Which separator is decimal.
enum detect_format {
	DETECT_FORMAT_AUTO,
	DETECT_FORMAT_DOT,
	DETECT_FORMAT_COMMA,
};

/// Reads the first number of an area: found means that there is one. The threshold counts for nothing. The place is its
/// line's. @param ret always filled
void detect_number(struct detect_frame *frame, struct detect_reader *reader, enum detect_format format,
		   const struct detect_query *query, struct detect_result *ret);

#endif
