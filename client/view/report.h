// SPDX-License-Identifier: GPL-3.0-or-later
/// The views of a report. All begin with the session; the names for machines are those of condprofctl(1), section JSON.
#ifndef CONDPROF_VIEW_REPORT_H
#define CONDPROF_VIEW_REPORT_H

#include "client/render/render.h"
#include "client/report/occurrence.h"
#include "client/report/report.h"

enum view_kind { VIEW_OVERVIEW, VIEW_CONDITIONS, VIEW_EVENTS, VIEW_TIMELINE, VIEW_KINDS };
extern const char *const view_names[VIEW_KINDS + 1]; ///< NULL at the end

enum sort_key {
	SORT_DEFAULT, ///< conditions: total; events: total for people, order for machines
	SORT_TOTAL,
	SORT_AVERAGE,
	SORT_CHECKS,
	SORT_FULFILLED,
	SORT_MIN,
	SORT_MAX,
	SORT_P50,
	SORT_P90,
	SORT_P99,
	SORT_SHARE,
	SORT_ORDER,
	SORT_NAME,
	SORT_KEYS,
};
extern const char *const sort_names[SORT_KEYS + 1]; ///< NULL at the end; of SORT_DEFAULT "default"
/// Whether a view can be sorted so.
bool sort_fits(enum view_kind view, enum sort_key key);

enum filter_kind { FILTER_TEXT, FILTER_NAME, FILTER_EVENT, FILTER_KIND };

struct view_filter {
	enum filter_kind kind;
	const char *text; ///< FILTER_KIND: the whole word; else a part, in any case
};

/// Which rows, and in what order.
struct view_options {
	enum sort_key sort;
	int64_t top;                       ///< 0: all
	const struct view_filter *filters; ///< all must fit
	size_t n_filters;
	const struct report_event **events; ///< only these; none: all
	size_t n_events;
};

/// "view" and "session".
void view_report_begin(struct render *render, enum view_kind view, const struct report *report);
/// What people should know besides: what was lost, odd or damaged.
void view_report_end(struct render *render, const struct report *report);

int view_overview(struct render *render, const struct report *report);
int view_conditions(struct render *render, const struct report *report, const struct view_options *options);
int view_events(struct render *render, const struct report *report, const struct view_options *options);

/// The timeline is written as occurrences come.
struct timeline_view {
	struct render *render;
	const struct report *report;
	int64_t previous_ns;
	bool any;
};
void view_timeline_begin(struct timeline_view *view, struct render *render, const struct report *report);
/// @param context the struct timeline_view. @return 0, -EPIPE when nobody reads any more
int view_timeline_occurrence(void *context, const struct occurrence *occurrence);
void view_timeline_end(struct timeline_view *view);

/// What of a report is damaged, in words. @param damage report_damage bits
void view_damage(struct render *render, int damage);

/// All views as one document: begin, then the timeline's three calls, then end. @param whole_timeline false: only a
/// part of it was asked for. @param damage_said report->damage as it was at the beginning: the timeline may find more
/// @return 0, -ENOMEM
int view_document_begin(struct render *render, const struct report *report, bool whole_timeline);
void view_document_end(struct render *render, const struct report *report, int damage_said);

/// The whole report as Prometheus metrics. @return 0, -ENOMEM; errors of `out` stick to it
int view_metrics(FILE *out, const struct report *report);

/// Indices of the rows that fit, sorted, at most options->top. *ret is the caller's. @return 0, -ENOMEM
int view_select_conditions(const struct report *report, const struct view_options *options, size_t **ret,
			   size_t *ret_n);
int view_select_events(const struct report *report, const struct view_options *options, size_t **ret, size_t *ret_n);

/// A histogram to be drawn along its own axis. @param histogram may be NULL. @return false: there is nothing to draw,
/// or it is none of ours
bool histogram_drawing(const Condprof__Histogram *histogram, struct histogram_cell *ret);

static inline struct cell cell_maybe_duration(struct maybe figure)
{
	return cell_if(figure.known, cell_duration(figure.value));
}
static inline struct cell cell_maybe_count(struct maybe figure)
{
	return cell_if(figure.known, cell_count(figure.value));
}

#endif
