// SPDX-License-Identifier: GPL-3.0-or-later
//
// Every piece of advice is a headline that says what to do, and sentences that say what it rests on and what it would
// change besides; machines get both as one text, and the figures. What can't be known is said in the end, always.
#include "config.h"

#include "client/view/advise.h"

#include "client/render/format.h"
#include "client/view/report.h"
#include "client/view/session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
	[ADVICE_ORDER] = "order",
	[ADVICE_NEVER_DECIDES] = "never-decides",
	[ADVICE_AREA] = "area",
	[ADVICE_NEVER_FULFILLED] = "never-fulfilled",
	[ADVICE_LIMITER_NEVER] = "limiter-never-reached",
	[ADVICE_LIMITER_ALWAYS] = "limiter-always-reached",
};
static_assert(ARRAY_SIZE(kind_names) == ADVICE_KINDS, "every kind has a name");

static const struct {
	const char *name, *sentence;
} unknown_kinds[] = {
	[UNKNOWN_NEVER_CHECKED] =
		{"never-checked",
		 "Never checked, so neither cost nor chance is known; where one stands first for a session it tells"},
	[UNKNOWN_FEW_MATCHES] = {"few-matches", "Found too seldom to suggest an area"},
	[UNKNOWN_NO_MATCH] = {"no-match", "Searched for on the whole screen and never found, so where it would be is "
					  "not known"},
	[UNKNOWN_NO_PLACES] = {"no-places", "The report does not tell where these were found"},
};
static_assert(ARRAY_SIZE(unknown_kinds) == UNKNOWN_KINDS, "every kind has a sentence");

static const char *const assumptions[] = {
	("Predicted savings take conditions for independent: each costs as much and decides as often wherever it "
	 "stands. "
	 "Where they hang together the saving is another one: change the order, run both over the same frames, and "
	 "compare with diff."),
	"Savings do not add up: each is told as if it were the only change.",
	("Preparation that several conditions used is left out of what they cost: it moves with the order and does not "
	 "go away."),
	("All figures are of this one session: what it did not see is not in them. Times are elapsed time, neither "
	 "processor time nor battery."),
};

/// Of conditions in one sentence.
#define NAMES_SAID 12U

/// A text that grows; failed when its memory ran out.
struct writer {
	FILE *out;
	char *text;
	size_t size;
	const struct render_style *style;
};

static bool writer_begin(struct writer *writer, const struct render *render)
{
	*writer = (struct writer){.style = render_style(render)};
	writer->out = open_memstream(&writer->text, &writer->size);
	return writer->out;
}

/// The caller's; NULL: out of memory.
static char *writer_end(struct writer *writer)
{
	if (fclose(writer->out) == 0)
		return writer->text;
	free(writer->text);
	return NULL;
}

static void write_duration(struct writer *writer, struct maybe ns)
{
	char text[FORMAT_SIZE];

	fputs(ns.known ? format_duration(ns.value, false, writer->style->ascii, text) : "an unknown time", writer->out);
}

static void write_rate(struct writer *writer, double a_second)
{
	fprintf(writer->out, a_second < 10 ? "%.1f" : "%.0f", a_second);
}

static void write_area(struct writer *writer, struct report_area area)
{
	fprintf(writer->out, "[%d, %d, %d, %d]", area.x, area.y, area.width, area.height);
}

// --- headlines -------------------------------------------------------------------------------------------------------

static void write_headline(struct writer *writer, const struct advice *item)
{
	FILE *out = writer->out;

	if (item->event)
		fprintf(out, "\"%s\": ", item->event->name);
	switch (item->kind) {
	case ADVICE_ORDER:
		fputs("put its conditions in another order, to save ", out);
		write_duration(writer, item->saving_ns);
		fputs(" a pass", out);
		break;
	case ADVICE_NEVER_DECIDES:
		fprintf(out, "\"%s\" never decided anything; leaving it out saves ", item->condition->name);
		write_duration(writer, item->saving_ns);
		fputs(" a pass", out);
		break;
	case ADVICE_AREA:
		fprintf(out, "\"%s\" was found in one place only: search: ", item->condition->name);
		write_area(writer, item->area);
		break;
	case ADVICE_NEVER_FULFILLED:
		fputs("never fulfilled, and its checks take ", out);
		write_duration(writer, item->at_most_ns);
		fputs(" a pass", out);
		break;
	case ADVICE_LIMITER_NEVER:
		fputs("The limiter was never reached", out);
		break;
	case ADVICE_LIMITER_ALWAYS:
		fputs("The limiter was always reached", out);
		break;
	case ADVICE_KINDS:
		break;
	}
}

// --- what it rests on ------------------------------------------------------------------------------------------------

static bool is_any(const struct advice *item)
{
	return item->event->definition && item->event->definition->match == CONDPROF__MATCH__MATCH_ANY;
}

/// Whether something is left out of what its conditions cost: the other views have it in.
static bool shares_preparation(const struct advice *item)
{
	for (size_t i = 0; i < item->n_order; i++) {
		const Condprof__ConditionDetail *detail = item->order[i].condition->detail;

		if (item->order[i].known && detail && detail->shared_duration_ns > 0)
			return true;
	}
	return false;
}

static void explain_order(struct writer *writer, const struct advice *item)
{
	FILE *out = writer->out;

	if (is_any(item))
		fputs("With match: any the first that is fulfilled ends the event, so that comes first which is "
		      "fulfilled most for its cost.",
		      out);
	else
		fputs("With match: all the first that is not fulfilled ends the event, so that comes first which fails "
		      "most for its cost.",
		      out);
	fputs(" Now they take ", out);
	write_duration(writer, item->at_most_ns);
	fputs(shares_preparation(item) ? " a pass, without the preparation that others used too." : " a pass.", out);
	if (item->few)
		fprintf(out, " Some of this rests on fewer than %d checks.", ADVISE_FEW_CHECKS);
	if (item->click_found)
		fputs(" click: found goes to the first condition found: in another order that may be another one.",
		      out);
	if (item->timers)
		fputs(" Which of its timers is spent goes by the order, too.", out);
}

static void explain_never_decides(struct writer *writer, const struct advice *item)
{
	fprintf(writer->out,
		"%s of its %" PRId64
		" checks was fulfilled, so others decided. It may stand there for what this session "
		"did not see.",
		is_any(item) ? "None" : "Each", item->condition->checks);
}

static void explain_area(struct writer *writer, const struct advice *item)
{
	struct report_area found = {0};
	FILE *out = writer->out;

	condition_match_area(item->condition, &found);
	fprintf(out, "All %" PRId64 " matches lie in ", item->condition->detail->match_count);
	write_area(writer, found);
	fputs("; the rest is room to move. What it would save can't be told from the figures: at most what it costs, ",
	      out);
	write_duration(writer, item->at_most_ns);
	fputs(" a pass. Elsewhere it would no longer be found.", out);
	if (item->exact)
		fprintf(out, " It was at the very same place each time: search: exact, at: [%d, %d] would do as well.",
			found.x, found.y);
}

static void explain_never_fulfilled(struct writer *writer, const struct advice *item)
{
	fprintf(writer->out,
		"It was evaluated %" PRId64
		" times. Whether it is needed can't be told from here; if only at times, another "
		"event can enable it then.",
		item->event->detail->evaluated);
}

static struct maybe passes_time(const struct report_advice *advice)
{
	struct maybe duration = report_time(advice->report).duration;

	return maybe_if(duration.known, duration.value / advice->passes);
}

static double a_second(int64_t ns)
{
	return ns > 0 ? (double)NSEC_PER_SEC / (double)ns : 0;
}

static void explain_limiter_never(struct writer *writer, const struct report_advice *advice)
{
	struct maybe pass = passes_time(advice);

	fputs("A pass was asked for every ", writer->out);
	write_duration(writer, maybe_if(true, advice->report->overview->period_ns));
	fputs(", and one took ", writer->out);
	write_duration(writer, pass);
	fputs(" on average: the session ran as fast as it could, ", writer->out);
	write_rate(writer, a_second(pass.value));
	fputs(" passes a second. Another rate changes nothing unless it is below that; cheaper conditions make it "
	      "faster.",
	      writer->out);
}

/// What a pass waits for its frame and needs to get it: in no pass's own time, and a quicker limiter saves none of it.
static struct maybe frame_time(const struct report_advice *advice)
{
	struct report_time time = report_time(advice->report);
	int64_t sum = 0;
	bool known = time.frame_wait.known && time.frame_get.known && time.frame_wait.value >= 0 &&
		     time.frame_get.value >= 0 &&
		     !__builtin_add_overflow(time.frame_wait.value, time.frame_get.value, &sum);

	return maybe_if(known, sum / advice->passes);
}

/// Without a limiter a pass over a live screen takes so long at least.
static int64_t least_pass_ns(const struct report_advice *advice)
{
	const char *screen = advice->report->session.screen;

	return screen && strncmp(screen, "replay:", 7) == 0 ? 0 : NSEC_PER_MSEC;
}

static void explain_limiter_always(struct writer *writer, const struct report_advice *advice)
{
	struct maybe p99 = report_pass_percentile(advice->report, 990), frame = frame_time(advice);
	int64_t period_ns = advice->report->overview->period_ns, fastest_ns;

	fputs("Passes are shorter than the period of ", writer->out);
	write_duration(writer, maybe_if(true, period_ns));
	fputs(": the limiter decides how soon something is noticed, on average ", writer->out);
	write_duration(writer, maybe_if(true, period_ns / 2));
	fputs(" after it has appeared. Cheaper conditions save work, but no time.", writer->out);
	if (!p99.known || p99.value <= 0 || !frame.known || __builtin_add_overflow(p99.value, frame.value, &fastest_ns))
		return;
	fputs(" 99 of 100 passes took no longer than ", writer->out);
	write_duration(writer, p99);
	if (frame.value > 0) {
		fputs(", and waiting for a frame and getting it ", writer->out);
		write_duration(writer, frame);
		fputs(" on average", writer->out);
	}
	fputs(": some ", writer->out);
	write_rate(writer, a_second(MAX(fastest_ns, least_pass_ns(advice))));
	fputs(" a second would be possible.", writer->out);
}

static void write_explanation(struct writer *writer, const struct report_advice *advice, const struct advice *item)
{
	switch (item->kind) {
	case ADVICE_ORDER:
		explain_order(writer, item);
		break;
	case ADVICE_NEVER_DECIDES:
		explain_never_decides(writer, item);
		break;
	case ADVICE_AREA:
		explain_area(writer, item);
		break;
	case ADVICE_NEVER_FULFILLED:
		explain_never_fulfilled(writer, item);
		break;
	case ADVICE_LIMITER_NEVER:
		explain_limiter_never(writer, advice);
		break;
	case ADVICE_LIMITER_ALWAYS:
		explain_limiter_always(writer, advice);
		break;
	case ADVICE_KINDS:
		break;
	}
}

static char *headline(const struct render *render, const struct advice *item)
{
	struct writer writer;

	if (!writer_begin(&writer, render))
		return NULL;
	write_headline(&writer, item);
	return writer_end(&writer);
}

static char *explanation(const struct render *render, const struct report_advice *advice, const struct advice *item)
{
	struct writer writer;

	if (!writer_begin(&writer, render))
		return NULL;
	write_explanation(&writer, advice, item);
	return writer_end(&writer);
}

static char *whole_text(const struct render *render, const struct report_advice *advice, const struct advice *item)
{
	struct writer writer;

	if (!writer_begin(&writer, render))
		return NULL;
	write_headline(&writer, item);
	fputs(". ", writer.out);
	write_explanation(&writer, advice, item);
	return writer_end(&writer);
}

// --- machines --------------------------------------------------------------------------------------------------------

static struct cell cell_rounded(bool known, double ns)
{
	bool fits = known && fabs(ns) < 0x1p62;

	return cell_if(fits, cell_duration(fits ? llround(ns) : 0));
}

static const struct field order_columns[] = {
	{.name = "name", .title = "Condition"},
	{.name = "id"},
	{.name = "place", .title = "Now", .number = true, .spare = 1},
	{.name = "checks", .title = "Checks", .number = true, .spare = 2},
	{.name = "chance", .title = "Decides", .number = true},
	{.name = "cost_ns", .title = "Cost", .number = true},
	{.name = "cost_over_chance_ns", .title = "Cost / chance", .number = true},
	{.name = "predicted_checks", .title = "Checks then", .number = true, .spare = 3},
};

static void order_rows(struct render *render, const struct advice *item)
{
	for (size_t i = 0; i < item->n_order; i++) {
		const struct ordered_condition *row = &item->order[i];
		// for people a part of a check is nothing; machines need not see what the last bits make of it
		double unit = render_for_people(render) ? 1 : 1e-6,
		       predicted = round(row->predicted_checks / unit) * unit;

		render_row(render, (struct cell[]){
					   cell_text(row->condition->name),
					   cell_count(row->condition->id),
					   cell_count((int64_t)row->now + 1),
					   cell_if(row->condition->measured, cell_count(row->condition->checks)),
					   cell_if(row->known, cell_share(row->chance)),
					   cell_rounded(row->known, row->cost_ns),
					   cell_rounded(row->known && isfinite(row->ratio), row->ratio),
					   cell_if(row->known, cell_number(predicted)),
				   });
	}
}

static double share_of(const struct report_advice *advice, struct maybe saving)
{
	double all = (double)advice->report->conditions_total_ns / (double)advice->passes;

	return all > 0 ? MIN((double)saving.value / all, 1) : 0;
}

static int advice_for_machines(struct render *render, const struct report_advice *advice)
{
	static const struct field columns[] = {
		{.name = "kind"},         {.name = "event"},     {.name = "event_id"},     {.name = "condition"},
		{.name = "condition_id"}, {.name = "saving_ns"}, {.name = "saving_share"}, {.name = "at_most_ns"},
		{.name = "area.x"},       {.name = "area.y"},    {.name = "area.width"},   {.name = "area.height"},
		{.name = "few_checks"},   {.name = "text"},
	};
	static const struct table nested[] = {
		{.field = {.name = "order"}, .columns = order_columns, .n_columns = ARRAY_SIZE(order_columns)},
	};
	static const struct table table = {
		.field = {.name = "advice"},
		.columns = columns,
		.n_columns = ARRAY_SIZE(columns),
		.nested = nested,
		.n_nested = 1,
		.main = true,
	};

	render_table_open(render, &table);
	for (size_t i = 0; i < advice->n_items; i++) {
		const struct advice *item = &advice->items[i];
		CLEANUP_FREE char *text = whole_text(render, advice, item);
		bool area = item->kind == ADVICE_AREA, event = item->event, condition = item->condition;

		if (!text)
			return -ENOMEM;
		render_row(render,
			   (struct cell[]){
				   cell_text(kind_names[item->kind]),
				   cell_text(event ? item->event->name : NULL),
				   cell_if(event, cell_count(event ? item->event->id : 0)),
				   cell_text(condition ? item->condition->name : NULL),
				   cell_if(condition, cell_count(condition ? item->condition->id : 0)),
				   cell_maybe_duration(item->saving_ns),
				   cell_if(item->saving_ns.known, cell_share(share_of(advice, item->saving_ns))),
				   cell_maybe_duration(item->at_most_ns),
				   cell_if(area, cell_count(item->area.x)),
				   cell_if(area, cell_count(item->area.y)),
				   cell_if(area, cell_count(item->area.width)),
				   cell_if(area, cell_count(item->area.height)),
				   cell_flag(item->few),
				   cell_text(text),
			   });
		render_table_open(render, &nested[0]);
		order_rows(render, item);
		render_table_close(render);
	}
	render_table_close(render);
	return 0;
}

static void unknowns_for_machines(struct render *render, const struct report_advice *advice)
{
	static const struct field columns[] = {{.name = "why"}, {.name = "event"}, {.name = "condition"}};
	static const struct table table = {
		.field = {.name = "unknown"}, .columns = columns, .n_columns = ARRAY_SIZE(columns)};
	static const struct field sentence[] = {{.name = "assumption"}};
	static const struct table sentences = {
		.field = {.name = "assumptions"}, .columns = sentence, .n_columns = 1, .plain = true};

	render_table_open(render, &table);
	for (size_t i = 0; i < advice->n_unknowns; i++)
		render_row(render, (struct cell[]){
					   cell_text(unknown_kinds[advice->unknowns[i].kind].name),
					   cell_text(advice->unknowns[i].event->name),
					   cell_text(advice->unknowns[i].condition->name),
				   });
	render_table_close(render);
	render_table_open(render, &sentences);
	for (size_t i = 0; i < ARRAY_SIZE(assumptions); i++)
		render_row(render, (struct cell[]){cell_text(assumptions[i])});
	render_table_close(render);
}

static void session_values(struct render *render, const Condprof__Session *session)
{
	static const struct group group = {.field = {.name = "session"}, .layout = LAYOUT_NONE};
	struct field fields[SESSION_FIELDS];
	struct cell cells[SESSION_FIELDS];

	for (size_t i = 0; i < SESSION_FIELDS; i++) {
		fields[i] = session_fields[i];
		fields[i].title = NULL;
	}
	session_cells(session, cells);
	render_open(render, &group);
	render_values(render, fields, SESSION_FIELDS, cells);
	render_close(render);
}

// --- people ----------------------------------------------------------------------------------------------------------

static int advice_for_people(struct render *render, const struct report_advice *advice)
{
	static const struct table table = {
		.field = {.title = ""}, .columns = order_columns, .n_columns = ARRAY_SIZE(order_columns)};

	for (size_t i = 0; i < advice->n_items; i++) {
		const struct advice *item = &advice->items[i];
		CLEANUP_FREE char *first = headline(render, item);
		CLEANUP_FREE char *rest = explanation(render, advice, item);

		if (!first || !rest)
			return -ENOMEM;
		render_heading(render, "%zu. %s", i + 1, first);
		if (item->kind == ADVICE_ORDER) {
			render_table_open(render, &table);
			order_rows(render, item);
			render_table_close(render);
		}
		render_say(render, "%s", rest);
	}
	if (advice->n_items == 0)
		render_say(render, "Nothing in this report's figures suggests a change.");
	return 0;
}

/// Names of the conditions that a sentence is about.
static int say_unknown(struct render *render, const struct report_advice *advice, enum unknown_kind kind)
{
	struct writer writer;
	size_t count = 0;

	if (!writer_begin(&writer, render))
		return -ENOMEM;
	for (size_t i = 0; i < advice->n_unknowns; i++)
		if (advice->unknowns[i].kind == kind && count++ < NAMES_SAID)
			fprintf(writer.out, "%s\"%s\" of \"%s\"", count > 1 ? ", " : "",
				advice->unknowns[i].condition->name, advice->unknowns[i].event->name);
	if (count > NAMES_SAID)
		fprintf(writer.out, " and %zu more (--json has them all)", count - NAMES_SAID);
	CLEANUP_FREE char *names = writer_end(&writer);
	if (!names)
		return -ENOMEM;
	if (count > 0)
		render_say(render, "%s: %s.", unknown_kinds[kind].sentence, names);
	return 0;
}

static int unknowns_for_people(struct render *render, const struct report_advice *advice)
{
	int r = 0;

	render_heading(render, "What this can't know");
	for (int kind = 0; kind < UNKNOWN_KINDS && r == 0; kind++)
		r = say_unknown(render, advice, (enum unknown_kind)kind);
	for (size_t i = 0; i < ARRAY_SIZE(assumptions) && r == 0; i++)
		render_say(render, "%s", assumptions[i]);
	return r;
}

static void heading(struct render *render, const struct report_advice *advice)
{
	const Condprof__Session *session = &advice->report->session;
	const char *name = session->scenario && *session->scenario ? session->scenario : "scenario not known";
	char id[24] = "", passes[FORMAT_SIZE], total[FORMAT_SIZE];

	if (session->has_id)
		snprintf(id, sizeof(id), " %" PRId64, session->id);
	render_heading(render, "Advice for session%s: %s", id, name);
	render_say(render, "In %s all conditions together took %s a pass.",
		   format_count(advice->passes, "pass", "passes", passes),
		   format_duration(advice->report->conditions_total_ns / advice->passes, false,
				   render_style(render)->ascii, total));
}

int view_advice(struct render *render, const struct report_advice *advice)
{
	session_values(render, &advice->report->session);
	if (!render_for_people(render)) {
		int r = advice_for_machines(render, advice);
		if (r == 0)
			unknowns_for_machines(render, advice);
		return r;
	}
	heading(render, advice);
	int r = advice_for_people(render, advice);
	return r == 0 ? unknowns_for_people(render, advice) : r;
}
