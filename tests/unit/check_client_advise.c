// SPDX-License-Identifier: GPL-3.0-or-later
/// Advice: the model against every other order and against what really comes of a change, on figures that are exact;
/// what is said of reports made by hand (tests/support/make_reports.py), byte for byte.
#include "client/report/advise.h"
#include "client/view/advise.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// --- the best order --------------------------------------------------------------------------------------------------

static uint64_t random_state;

static double random_share(void)
{
	random_state = random_state * 6364136223846793005U + 1442695040888963407U;
	return (double)(random_state >> 11) / 0x1p53;
}

static double least_cost(struct ordered_condition *order, size_t n, size_t fixed)
{
	double least = INFINITY;

	if (fixed == n)
		return advise_expected_cost(order, n);
	for (size_t i = fixed; i < n; i++) {
		struct ordered_condition moved = order[fixed];

		order[fixed] = order[i];
		order[i] = moved;
		least = fmin(least, least_cost(order, n, fixed + 1));
		moved = order[fixed];
		order[fixed] = order[i];
		order[i] = moved;
	}
	return least;
}

/// No permutation is cheaper.
START_TEST(order_is_the_cheapest)
{
	struct ordered_condition order[6];
	size_t n = 2 + (size_t)_i % 5;

	random_state = (uint64_t)_i + 1;
	for (size_t i = 0; i < n; i++) {
		double chance = random_share() < 0.2 ? 0 : random_share();

		order[i] = (struct ordered_condition){
			.now = i, .known = true, .cost_ns = 1e6 * random_share(), .chance = chance};
		order[i].ratio = chance > 0 ? order[i].cost_ns / chance : INFINITY;
	}
	double least = least_cost(order, n, 0);
	advise_sort(order, n);
	ck_assert_double_eq_tol(advise_expected_cost(order, n), least, 1e-9 * least);
}
END_TEST

START_TEST(equal_ones_stay)
{
	struct ordered_condition order[] = {
		{.now = 0, .known = true, .cost_ns = 5, .chance = 0, .ratio = INFINITY},
		{.now = 1, .known = true, .cost_ns = 1, .chance = 0.5, .ratio = 2},
		{.now = 2, .known = true, .cost_ns = 2, .chance = 1, .ratio = 2},
		{.now = 3, .known = true, .cost_ns = 1, .chance = 0, .ratio = INFINITY},
		{.now = 4},
		{.now = 5},
	};
	static const size_t wanted[] = {1, 2, 0, 3, 4, 5};

	advise_sort(order, ARRAY_SIZE(order));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		ck_assert_uint_eq(order[i].now, wanted[i]);
	ck_assert_double_eq_tol(advise_expected_cost(order, ARRAY_SIZE(order)), 1 + 0.5 * 2, 1e-12);
}
END_TEST

// --- predictions held against what comes of them ---------------------------------------------------------------------

#define DEPTH 4U ///< each condition's outcome goes by a number of its own from 0 to 3: all combinations happen equally
#define MOST 4U

/// A condition that is fulfilled on `fulfilled` of DEPTH outcomes, and costs as much.
struct made {
	int64_t cost_ns, shared_ns, fulfilled;
};

/// A session over all combinations, in this order: independent to the last frame.
static void simulate(const struct made *made, const size_t *order, size_t n, bool any, int64_t *ret_checks,
		     int64_t *ret_fulfilled)
{
	size_t frames = 1;

	for (size_t i = 0; i < n; i++) {
		frames *= DEPTH;
		ret_checks[i] = ret_fulfilled[i] = 0;
	}
	for (size_t frame = 0; frame < frames; frame++) {
		for (size_t i = 0; i < n; i++) {
			size_t which = order[i];
			bool fulfilled = (int64_t)(frame >> 2 * which & (DEPTH - 1)) < made[which].fulfilled;

			ret_checks[which]++;
			ret_fulfilled[which] += fulfilled;
			if (fulfilled == any)
				break;
		}
	}
}

/// A report of that session, with one event.
struct made_report {
	struct report report;
	struct report_event event;
	struct report_condition conditions[MOST];
	Condprof__ConditionDetail details[MOST];
	Condprof__EventDetail event_detail;
	Condprof__Event definition;
	Condprof__DebugReportOverview overview;
};

static void make_report(struct made_report *made_report, const struct made *made, size_t n, bool any, int64_t passes)
{
	static const size_t as_it_is[] = {0, 1, 2, 3};
	int64_t checks[MOST], fulfilled[MOST];

	*made_report = (struct made_report){0};
	simulate(made, as_it_is, n, any, checks, fulfilled);
	condprof__event__init(&made_report->definition);
	condprof__event_detail__init(&made_report->event_detail);
	condprof__debug_report_overview__init(&made_report->overview);
	made_report->definition.match = any ? CONDPROF__MATCH__MATCH_ANY : CONDPROF__MATCH__MATCH_ALL;
	made_report->event_detail.evaluated = checks[0];
	made_report->event_detail.fulfilled = 1;
	made_report->overview.has_frame_count = true;
	made_report->overview.frame_count = passes;
	made_report->event = (struct report_event){.name = "made",
						   .known = true,
						   .definition = &made_report->definition,
						   .detail = &made_report->event_detail,
						   .n_conditions = n};
	for (size_t i = 0; i < n; i++) {
		condprof__condition_detail__init(&made_report->details[i]);
		made_report->details[i].shared_duration_ns = made[i].shared_ns * checks[i];
		made_report->conditions[i] = (struct report_condition){
			.name = "made",
			.measured = true,
			.checks = checks[i],
			.fulfilled = fulfilled[i],
			.total_ns = (made[i].cost_ns + made[i].shared_ns) * checks[i],
			.detail = &made_report->details[i],
		};
		made_report->report.conditions_total_ns += made_report->conditions[i].total_ns;
	}
	made_report->report.overview = &made_report->overview;
	made_report->report.events = &made_report->event;
	made_report->report.n_events = 1;
	made_report->report.conditions = made_report->conditions;
	made_report->report.n_conditions = n;
}

static double total_cost(const struct made *made, const int64_t *checks, size_t n)
{
	double total = 0;

	for (size_t i = 0; i < n; i++)
		total += (double)(made[i].cost_ns * checks[i]);
	return total;
}

/// Does as told, runs again, and finds exactly what was predicted.
START_TEST(predictions_come_true)
{
	struct made made[MOST];
	size_t n = 2 + (size_t)_i % 3, order[MOST];
	bool any = _i / 3 % 2;
	int64_t before[MOST], after[MOST], fulfilled[MOST];
	static const size_t as_it_is[] = {0, 1, 2, 3};
	struct made_report made_report;
	struct report_advice *advice;

	random_state = (uint64_t)_i * 77 + 5;
	for (size_t i = 0; i < n; i++)
		made[i] = (struct made){.cost_ns = 1000 + (int64_t)(1e6 * random_share()),
					.shared_ns = (int64_t)(1e5 * random_share()),
					.fulfilled = 1 + (int64_t)(2.99 * random_share())};
	simulate(made, as_it_is, n, any, before, fulfilled);
	make_report(&made_report, made, n, any, before[0]);
	ck_assert_int_eq(report_advise(&made_report.report, &advice), 0);
	const struct advice *item = advice->items;
	if (advice->n_items == 0) { // it is right as it is, or nearly
		report_advice_free(advice);
		return;
	}
	ck_assert_int_eq(item->kind, ADVICE_ORDER);
	for (size_t i = 0; i < n; i++)
		order[i] = item->order[i].now;
	simulate(made, order, n, any, after, fulfilled);
	for (size_t i = 0; i < n; i++)
		ck_assert_double_eq_tol(item->order[i].predicted_checks, (double)after[order[i]],
					1e-9 * (double)before[0]);
	double saved = (total_cost(made, before, n) - total_cost(made, after, n)) / (double)before[0];
	ck_assert(saved > 0);
	ck_assert_double_eq_tol((double)item->saving_ns.value, saved, 0.51);
	report_advice_free(advice);
}
END_TEST

/// With twice as many passes as evaluations the saving a pass is half of that.
START_TEST(saving_is_a_pass)
{
	static const struct made made[] = {{.cost_ns = 1000000, .fulfilled = 3}, {.cost_ns = 1000, .fulfilled = 1}};
	struct made_report made_report;
	struct report_advice *advice;

	make_report(&made_report, made, 2, false, 32);
	ck_assert_int_eq(report_advise(&made_report.report, &advice), 0);
	ck_assert_uint_eq(advice->n_items, 1);
	// 1 ms and 3/4 of 1 µs becomes 1 µs and 1/4 of 1 ms
	ck_assert_int_eq(advice->items[0].saving_ns.value, (1000750 - 251000) / 2);
	ck_assert(advice->items[0].few); // 16 and 12 checks
	report_advice_free(advice);
}
END_TEST

START_TEST(nothing_to_go_by)
{
	static const struct made made[] = {{.cost_ns = 1000000, .fulfilled = 3}, {.cost_ns = 1000, .fulfilled = 1}};
	struct made_report made_report;
	struct report_advice *advice;

	make_report(&made_report, made, 2, false, 0);
	ck_assert_int_eq(report_advise(&made_report.report, &advice), -ENODATA);
	make_report(&made_report, made, 2, false, 16);
	made_report.overview.has_frame_count = false;
	ck_assert_int_eq(report_advise(&made_report.report, &advice), -ENODATA);
	make_report(&made_report, made, 2, false, 16);
	made_report.conditions[0].measured = made_report.conditions[1].measured = false;
	ck_assert_int_eq(report_advise(&made_report.report, &advice), -ENODATA);
	// the first was never measured and the second was: no session of ours
	make_report(&made_report, made, 2, false, 16);
	made_report.conditions[0].checks = 0;
	ck_assert_int_eq(report_advise(&made_report.report, &advice), 0);
	ck_assert_uint_eq(advice->n_items, 0);
	ck_assert_uint_eq(advice->n_unknowns, 1);
	report_advice_free(advice);
}
END_TEST

/// What the clock itself costs hides differences below it.
START_TEST(too_short_to_tell)
{
	static const struct made made[] = {{.cost_ns = 100, .fulfilled = 3}, {.cost_ns = 50, .fulfilled = 1}};
	struct made_report made_report;
	struct report_advice *advice;

	make_report(&made_report, made, 2, false, 16);
	ck_assert_int_eq(report_advise(&made_report.report, &advice), 0);
	ck_assert_uint_eq(advice->n_items, 1);
	report_advice_free(advice);
	made_report.overview.has_clock_pair_ns = true;
	made_report.overview.clock_pair_ns = 60;
	ck_assert_int_eq(report_advise(&made_report.report, &advice), 0);
	ck_assert_uint_eq(advice->n_items, 0);
	report_advice_free(advice);
}
END_TEST

// --- what it says ----------------------------------------------------------------------------------------------------

static const char *const shapes[] = {"advised", "advised-idle", "finished", "hostile", "timed-shape", "never-checked"};

START_TEST(printed)
{
	struct report *report = golden_report(shapes[_i]);
	struct report_advice *advice = NULL;
	char name[64];
	int r = report_advise(report, &advice);

	snprintf(name, sizeof(name), "%s.advice", shapes[_i]);
	ck_assert_int_eq(r,
			 strcmp(shapes[_i], "hostile") == 0 || strcmp(shapes[_i], "never-checked") == 0 ? -ENODATA : 0);
	for (size_t i = 0; r == 0 && i < GOLDEN_OUTPUTS; i++) {
		struct golden golden = golden_begin(i);

		ck_assert_int_eq(view_advice(golden.render, advice), 0);
		golden_end(&golden, name);
	}
	report_advice_free(advice);
	report_free(report);
}
END_TEST

static const struct advice *find(const struct report_advice *advice, enum advice_kind kind, const char *name)
{
	for (size_t i = 0; i < advice->n_items; i++) {
		const struct advice *item = &advice->items[i];
		const char *its = item->condition ? item->condition->name : item->event ? item->event->name : "";

		if (item->kind == kind && strcmp(its, name) == 0)
			return item;
	}
	return NULL;
}

START_TEST(advised)
{
	struct report *report = golden_report("advised");
	struct report_advice *advice;

	ck_assert_int_eq(report_advise(report, &advice), 0);
	// 4 ms, 0.9 of 10 µs and 0.09 of 2 ms; then 10 µs, 0.1 of 4 ms and 0.09 of 2 ms
	ck_assert_int_eq(find(advice, ADVICE_ORDER, "all")->saving_ns.value, 3599000);
	ck_assert_int_eq(find(advice, ADVICE_ORDER, "any")->saving_ns.value, 700000);
	ck_assert(find(advice, ADVICE_ORDER, "any")->click_found && !find(advice, ADVICE_ORDER, "all")->click_found);
	ck_assert_int_eq(find(advice, ADVICE_NEVER_DECIDES, "last")->saving_ns.value, 180000);
	ck_assert_ptr_null(find(advice, ADVICE_NEVER_DECIDES, "no use")); // click: found may need it
	ck_assert_ptr_null(find(advice, ADVICE_NEVER_DECIDES, "button")); // a click goes to it
	ck_assert_ptr_nonnull(find(advice, ADVICE_NEVER_DECIDES, "needless"));
	ck_assert(find(advice, ADVICE_AREA, "still")->exact && !find(advice, ADVICE_AREA, "nearly")->exact);
	ck_assert_ptr_null(find(advice, ADVICE_AREA, "everywhere"));
	ck_assert_ptr_null(find(advice, ADVICE_AREA, "seldom"));
	ck_assert_ptr_null(find(advice, ADVICE_AREA, "picture")); // its area is hardly larger
	struct report_area edge = find(advice, ADVICE_AREA, "at the edge")->area;
	ck_assert(edge.x == 1229 && edge.y == 692 && edge.x + edge.width == 1280 && edge.y + edge.height == 720);
	ck_assert_ptr_nonnull(find(advice, ADVICE_NEVER_FULFILLED, "never"));
	ck_assert_ptr_nonnull(find(advice, ADVICE_LIMITER_NEVER, ""));
	ck_assert_ptr_null(find(advice, ADVICE_ORDER, "too short to tell"));
	report_advice_free(advice);
	report_free(report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client advise");
	TCase *test = tcase_create("model");

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return puts("1..0 # SKIP the locale C.UTF-8 is missing") < 0;
	tcase_add_loop_test(test, order_is_the_cheapest, 0, 200);
	tcase_add_test(test, equal_ones_stay);
	tcase_add_loop_test(test, predictions_come_true, 0, 60);
	tcase_add_test(test, saving_is_a_pass);
	tcase_add_test(test, nothing_to_go_by);
	tcase_add_test(test, too_short_to_tell);
	suite_add_tcase(suite, test);
	test = tcase_create("reports");
	tcase_add_test(test, advised);
	tcase_add_loop_test(test, printed, 0, ARRAY_SIZE(shapes));
	suite_add_tcase(suite, test);
	return unit_run(suite);
}
