// SPDX-License-Identifier: GPL-3.0-or-later
/// A scenario as the engine walks it: decoded, validated, flat, read-only, in one allocation's lifetime. Everything is
/// an index into an array; nothing is looked up by name after this.
#ifndef CONDPROF_SCENARIO_H
#define CONDPROF_SCENARIO_H

#include "daemon/picture/picture.h"
#include "proto/keys.h"
#include "proto/scenario.pb-c.h"

enum condition_kind {
	CONDITION_IMAGE,
	CONDITION_COLOR,
	CONDITION_TEXT,
	CONDITION_NUMBER, // screen
	CONDITION_TIMER,
	CONDITION_COUNTER,
	CONDITION_BROADCAST, // trigger
	CONDITION_KINDS,
};

/// "image", "color", … Never NULL.
const char *condition_kind_name(enum condition_kind kind);

#define NO_INDEX UINT32_MAX

struct operand {
	double number;
	uint32_t counter; ///< NO_INDEX: the number
};

struct condition {
	int64_t id;
	bool id_given;
	const char *name;
	enum condition_kind kind;
	uint32_t event;   ///< index of its event
	bool present;     ///< image, color, text
	double threshold; ///< percent
	Condprof__Search search;
	struct rect area; ///< px of the unreduced frame; image: area, or for SEARCH_EXACT the template's own place
	union {
		struct {
			struct picture *image; ///< BGRA
			const char *file;
		} image;
		uint32_t rgb;
		struct {
			const char *text;      ///< text conditions
			const char *languages; ///< "eng+deu"
			bool ignore_case;
			Condprof__NumberFormat format;
			Condprof__Comparison comparison;
			struct operand operand;
		} ocr;
		struct {
			int64_t duration_ns;
			bool repeat;
		} timer;
		struct {
			uint32_t counter;
			Condprof__Comparison comparison;
			struct operand operand;
		} counter;
		uint32_t broadcast; ///< index into broadcasts
	};
};

enum click_target { CLICK_CONDITION, CLICK_FOUND, CLICK_POSITION };

/// A text with counters in it.
struct text_part {
	const char *literal; ///< NULL: the counter
	uint32_t counter;
};

struct action {
	Condprof__ActionKind kind; ///< of report.proto
	union {
		struct {
			enum click_target target;
			uint32_t condition; ///< index into conditions
			int x, y;           ///< the position
			int offset_x, offset_y;
			int64_t press_ns;
		} click;
		struct {
			uint32_t first_point, points; ///< into scenario.points
			int64_t duration_ns;
		} swipe;
		int64_t pause_ns;
		struct key_combination keys;
		struct {
			uint32_t first_part, parts;     ///< into scenario.text_parts
			const char *secret;             ///< type only; NULL: none
			Condprof__Level level;          ///< notify
			Condprof__SessionResult result; ///< stop
		} text;                                 ///< type, notify, stop
		struct {
			uint32_t counter;
			Condprof__CounterOperation operation;
			struct operand operand;
		} counter;
		struct {
			Condprof__StateChange change;
			uint32_t first_event, events; ///< into scenario.event_refs
			bool all;
		} event_state;
		struct {
			const char *signal, *path;
			Condprof__Bus bus;
		} signal;
	};
};

struct event {
	int64_t id;
	bool id_given;
	const char *name;
	bool trigger;
	bool any;     ///< OR instead of AND
	bool enabled; ///< at the session's start
	int64_t cooldown_ns;
	bool keep_detecting, refresh;
	uint32_t first_condition, conditions;
	uint32_t first_action, actions;
};

struct counter {
	const char *name;
	double initial_value;
};

struct broadcast {
	const char *name;
	Condprof__Bus bus;
};

struct point {
	int x, y;
};

struct scenario {
	const char *name;
	int64_t id;
	const char *screen, *input; ///< URIs; NULL: not given
	int64_t period_ns;          ///< of the limiter; 0: unlimited
	int quality;                ///< 0: as it is
	int64_t rotate_ns;          ///< 0: never
	bool randomize;
	uint32_t screen_events; ///< events[0 .. screen_events) in priority order, then the trigger events
	uint32_t n_events, n_conditions, n_actions, n_counters, n_broadcasts, n_points, n_text_parts, n_event_refs;
	struct event *events;
	struct condition *conditions; ///< an event's conditions stand together, events in the order of `events`
	struct action *actions;
	struct counter *counters;
	struct broadcast *broadcasts; ///< each once
	struct point *points;
	struct text_part *text_parts;
	uint32_t *event_refs;
	void *storage; ///< names and texts: the decoder's own
};

/// A list of what is wrong, for one reply.
struct scenario_problems {
	size_t count;           ///< found in all; only the first SCENARIO_MAX_PROBLEMS are kept
	struct error items[20]; ///< code BAD_SCENARIO; TOO_LARGE: over a limit
};

/// Decodes and checks `size` bytes of a Scenario message: the whole of the semantic checks, for clients of any kind.
/// Unpacks with a capped allocator, decodes the images, gives ids where the message has none.
///
/// Places are those of the scenario file: screen-events[2].conditions[0].image, counters[1], rate.
/// @param ret the caller's: scenario_free()
/// @param problems filled on -EINVAL; every item has a place, but for what is wrong with the scenario as a whole
/// @return 0, -EINVAL (problems), -EBADMSG: not a Scenario message, -EMSGSIZE, -ENOMEM; -EBUSY (problems): the images of
/// all scenarios that are not freed yet leave no room for this one's
int scenario_decode(const uint8_t *data, size_t size, struct scenario **ret, struct scenario_problems *problems);

/// Sets the place of an error about a condition or an action, by their indices; with `field` behind it, unless NULL.
void scenario_condition_place(const struct scenario *scenario, uint32_t condition, const char *field,
			      struct error *error);
void scenario_action_place(const struct scenario *scenario, uint32_t action, const char *field, struct error *error);
/// The first condition that waits for a broadcast.
uint32_t scenario_broadcast_condition(const struct scenario *scenario, uint32_t broadcast);

/// NULL-safe; returns NULL.
struct scenario *scenario_free(struct scenario *scenario);

/// The limiter's period for `passes` per `per_ns`; 0 passes: unlimited, *ret_ns is 0. For the scenario's rate and the
/// command line's alike.
/// @return 0, -EINVAL with an error
int scenario_rate_period(double passes, int64_t per_ns, int64_t *ret_ns, struct error *error);

/// How a scenario is run, where that is not for the scenario to say.
struct scenario_run {
	bool dry_run, has_rate;
	const char *screen, *input; ///< URIs; NULL: as in the message
	double rate_passes;         ///< with has_rate, instead of the message's; 0: unlimited
	int64_t rate_per_ns;
	uint64_t random_seed; ///< kept where the scenario randomizes
};

/// The kept copy (scenario.pb): as decoded, ids filled in, images replaced by digests and sizes, secrets only by name,
/// and how it is run.
/// @param data the bytes that `scenario` was decoded from
/// @param ret the caller's, undelimited bytes
/// @return 0, -EBADMSG: not the same bytes, -ENOMEM
int scenario_encode_kept(const struct scenario *scenario, const uint8_t *data, size_t size,
			 const struct scenario_run *run, uint8_t **ret, size_t *ret_size);

#endif
