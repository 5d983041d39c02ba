// SPDX-License-Identifier: GPL-3.0-or-later
/// The outputs: one document, made of everything a view can say, in text, JSON and CSV; and tables on narrow terminals.
#include "client/render/render.h"
#include "client/render/width.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <time.h>

/// What an output writes, as a string; freed by free().
struct printed {
	char *text;
	size_t size;
	FILE *file;
	struct render *render;
};

static void begin(struct printed *printed, enum output_kind kind, const struct render_style *style)
{
	printed->file = open_memstream(&printed->text, &printed->size);
	printed->render = render_new(kind, printed->file, style);
	ck_assert_ptr_nonnull(printed->render);
}

static const char *end(struct printed *printed)
{
	ck_assert_int_eq(render_finish(printed->render), 0);
	render_free(printed->render);
	fclose(printed->file);
	return printed->text;
}

static const struct field nested_columns[] = {
	{.name = "what", .title = ""},
	{.name = "ns", .title = "", .number = true},
	{.name = "ok", .title = "", .yes = "good", .no = ""},
};
static const struct table nested = {.field = {.name = "parts", .title = ""}, .columns = nested_columns, .n_columns = 3};
static const struct field columns[] = {
	{.name = "id"},
	{.name = "name", .title = "Name", .width = 8},
	{.name = "ns", .title = "Time", .number = true, .width = 8},
	{.title = "Since", .number = true, .width = 8, .plus = true},
};
static const struct table table = {
	.field = {.name = "rows", .title = "Rows"},
	.columns = columns,
	.n_columns = 4,
	.nested = &nested,
	.n_nested = 1,
	.stream = true,
	.main = true,
};

static void write_document(struct render *render, bool rows)
{
	static const struct field fields[] = {
		{.name = "name", .title = "name"},   {.name = "why.code"},     {.name = "why.text"},
		{.name = "share", .title = "share"}, {.title = "people only"},
	};
	static const struct group group = {.field = {.name = "head"}, .layout = LAYOUT_LINES};
	static const struct group inner = {.field = {.name = "inner"}, .layout = LAYOUT_NONE};
	static const struct field inner_field = {.name = "flag"};
	static const struct field list_column = {.name = "id"};
	static const struct table list = {
		.field = {.name = "list"}, .columns = &list_column, .n_columns = 1, .plain = true};

	render_heading(render, "Head");
	render_open(render, &group);
	render_values(
		render, fields, ARRAY_SIZE(fields),
		(struct cell[]){cell_text("a \"b\", c"), cell_null(), cell_null(), cell_share(0.5), cell_moment(0)});
	render_open(render, &inner);
	render_value(render, &inner_field, cell_flag(true));
	render_close(render);
	render_table_open(render, &list);
	render_row(render, (struct cell[]){cell_count(1)});
	render_row(render, (struct cell[]){cell_count(-2)});
	render_table_close(render);
	render_close(render);
	render_say(render, "A sentence.");
	if (!rows)
		return;
	render_table_open(render, &table);
	render_row(render, (struct cell[]){cell_count(1), cell_text("one"), cell_duration(1500), cell_null()});
	render_table_open(render, &nested);
	render_row(render, (struct cell[]){cell_text("p"), cell_duration(5), cell_flag(true)});
	render_row(render, (struct cell[]){cell_text("part"), cell_null(), cell_flag(false)});
	render_table_close(render);
	render_row(render, (struct cell[]){cell_count(2), cell_text("x\ny"), cell_null(), cell_duration(1040000000)});
	render_table_open(render, &nested);
	render_table_close(render);
	render_table_close(render);
}

/// What a page has between its header and its footer.
static const char *page_body(struct printed *printed)
{
	char *begin = strstr(printed->text, "<main>\n"), *end = strstr(printed->text, "</main>");

	ck_assert(begin && end && begin < end);
	*end = 0;
	return begin + strlen("<main>\n");
}

START_TEST(html_document)
{
	struct printed printed;

	setenv("TZ", "UTC", 1);
	tzset();
	begin(&printed, OUTPUT_HTML, &(struct render_style){.ascii = true, .width = 10, .escape_8bit = true});
	write_document(printed.render, true);
	ck_assert_ptr_nonnull(strstr(end(&printed), "<title>\nHead\n</title>"));
	ck_assert_str_eq(
		page_body(&printed),
		"<h1>Head</h1>\n"
		"<dl>\n"
		"<div><dt>name</dt><dd>a &quot;b&quot;, c</dd></div>\n"
		"<div><dt>share</dt><dd><svg class=\"bar\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\">"
		"<rect class=\"share\" width=\"50\" height=\"1\"/></svg><span class=\"p\">50.0 %</span></dd></div>\n"
		"<div><dt>people only</dt><dd>1970-01-01 00:00:00</dd></div>\n"
		"</dl>\n"
		"<p class=\"say\">A sentence.</p>\n"
		"<h3>Rows</h3>\n"
		"<noscript><div class=\"scroll\"><table class=\"main\" data-name=\"rows\">\n"
		"<thead><tr><th scope=\"col\" data-c=\"1\" data-name=\"name\">Name</th>"
		"<th scope=\"col\" class=\"n\" data-c=\"2\" data-name=\"ns\">Time</th>"
		"<th scope=\"col\" class=\"n\" data-c=\"3\" data-name=\"\">Since</th></tr></thead>\n"
		"<tbody>\n"
		"<tr data-v=\"1,,1500,\"><td>one<td class=\"n\">1.50 µs<td class=\"n faint\">–\n"
		"<tr class=\"more\"><td colspan=\"3\"><p><span>p</span> <span>5 ns</span> <span>good</span> </p>"
		"<p><span>part</span> </p>"
		"<tr data-v=\"2,,,1040000000\"><td>x\\ny<td class=\"n faint\">–<td class=\"n\">+1.04 s\n"
		"</tbody>\n</table></div></noscript>\n");
	free(printed.text);
}
END_TEST

START_TEST(html_names_stay_text)
{
	static const char hostile[] = "</script><script>alert(1)</script>\u2028'\"&amp;<!--\x1b[31m\u202e";
	static const char escaped[] =
		"&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u2028&#39;&quot;&amp;amp;&lt;!--"
		"\\x1b[31m\\u202e";
	static const struct field field = {.title = "who"};
	struct printed printed;
	char *place;
	int count = 0;

	begin(&printed, OUTPUT_HTML, &(struct render_style){0});
	render_heading(printed.render, "%s", hostile);
	render_value(printed.render, &field, cell_text(hostile));
	render_say(printed.render, "%s", hostile);
	render_table_open(printed.render, &table);
	render_row(printed.render, (struct cell[]){cell_count(1), cell_text(hostile), cell_null(), cell_null()});
	render_table_open(printed.render, &nested);
	render_row(printed.render, (struct cell[]){cell_text(hostile), cell_null(), cell_flag(true)});
	render_table_close(printed.render);
	render_table_close(printed.render);
	end(&printed);
	ck_assert_ptr_null(strstr(printed.text, "<script>alert"));
	for (place = printed.text; (place = strstr(place, escaped)); place++)
		count++;
	ck_assert_int_eq(count, 6); // title, heading, value, sentence, cell, nested cell
	free(printed.text);
}
END_TEST

START_TEST(html_drawings)
{
	static const struct field field = {.page = "times"};
	static const int64_t counts[] = {1, 0, 4};
	const struct histogram_cell histogram = {
		.counts = counts, .n = 3, .first = 80, .zero = 2, .axis_first = 79, .axis_last = 89};
	static const struct group whole = {.field = {.name = "time", .title = "Time"},
					   .layout = LAYOUT_BARS,
					   .whole_ns = 100},
				  inner = {.field = {.name = "part"}, .layout = LAYOUT_BARS};
	static const struct field fields[] = {{.name = "all", .title = "all"},
					      {.name = "a", .title = "<a>"},
					      {.name = "total", .title = "part", .total = true},
					      {.name = "b", .title = "b"},
					      {.name = "c", .title = "c"}};
	struct printed printed;

	begin(&printed, OUTPUT_HTML, &(struct render_style){0});
	render_value(printed.render, &field, cell_histogram(&histogram));
	render_open(printed.render, &whole);
	render_value(printed.render, &fields[0], cell_duration(100));
	render_value(printed.render, &fields[1], cell_null());
	render_open(printed.render, &inner);
	render_value(printed.render, &fields[2], cell_duration(40));
	render_value(printed.render, &fields[3], cell_duration(40));
	render_close(printed.render);
	render_value(printed.render, &fields[4], cell_duration(60));
	render_close(printed.render);
	end(&printed);
	const char *body = page_body(&printed);
	ck_assert_ptr_nonnull(strstr(body, "<dt>times</dt><dd><svg class=\"chart\" viewBox=\"-2 0 15 24\" "
					   "preserveAspectRatio=\"none\" data-h=\"80;2;0;1,0,4\">"
					   "<path d=\"M-2 24v-12h1V24M1 24v-6h1V24M3 24v-24h1V24\"/></svg></dd>"));
	ck_assert_ptr_null(strstr(body, "class=\"stack\"")); // a part is not known: nothing to stack
	ck_assert_ptr_nonnull(strstr(body, "<i class=\"a\"></i>&lt;a&gt;</th><td class=\"n faint\">–</td>"));
	ck_assert_ptr_nonnull(strstr(body, "40.0 %</td><td class=\"b\"><svg class=\"bar\" viewBox=\"0 0 100 1\" "
					   "preserveAspectRatio=\"none\"><rect class=\"part\" width=\"40\""));
	free(printed.text);
}
END_TEST

START_TEST(text_document)
{
	struct printed printed;

	setenv("TZ", "UTC", 1);
	tzset();
	begin(&printed, OUTPUT_TEXT, &(struct render_style){0});
	write_document(printed.render, true);
	ck_assert_str_eq(end(&printed), "Head\n"
					"  name         a \"b\", c\n"
					"  share        50.0 %\n"
					"  people only  1970-01-01 00:00:00\n"
					"\n"
					"A sentence.\n"
					"\n"
					"Rows\n"
					"Name          Time     Since\n"
					"one        1.50 µs         –\n"
					"    p     5 ns  good\n"
					"    part\n"
					"x\\ny             –   +1.04 s\n");
	free(printed.text);
}
END_TEST

START_TEST(json_document)
{
	struct printed printed;

	begin(&printed, OUTPUT_JSON, &(struct render_style){.ascii = true, .width = 10});
	write_document(printed.render, true);
	ck_assert_str_eq(end(&printed), "{\n"
					"  \"schema\": 1,\n"
					"  \"head\": {\"name\": \"a \\\"b\\\", c\", \"why\": null, \"share\": 0.5, "
					"\"inner\": {\"flag\": true}, \"list\": [1, -2]},\n"
					"  \"rows\": [\n"
					"    {\"id\": 1, \"name\": \"one\", \"ns\": 1500, "
					"\"parts\": [{\"what\": \"p\", \"ns\": 5, \"ok\": true}, "
					"{\"what\": \"part\", \"ns\": null, \"ok\": false}]},\n"
					"    {\"id\": 2, \"name\": \"x\\ny\", \"ns\": null, \"parts\": []}\n"
					"  ]\n"
					"}\n");
	free(printed.text);
}
END_TEST

START_TEST(csv_of_a_table)
{
	struct printed printed;

	begin(&printed, OUTPUT_CSV, &(struct render_style){0});
	write_document(printed.render, true);
	ck_assert_str_eq(end(&printed), "id,name,ns,parts\n"
					"1,one,1500,\"[{\"\"what\"\":\"\"p\"\",\"\"ns\"\":5,\"\"ok\"\":true},"
					"{\"\"what\"\":\"\"part\"\",\"\"ns\"\":null,\"\"ok\"\":false}]\"\n"
					"2,x\\ny,,[]\n");
	free(printed.text);
}
END_TEST

START_TEST(csv_of_values)
{
	struct printed printed;

	begin(&printed, OUTPUT_CSV, &(struct render_style){0});
	write_document(printed.render, false);
	ck_assert_str_eq(end(&printed), "name,value\n"
					"head.name,\"a \"\"b\"\", c\"\n"
					"head.why.code,\n"
					"head.why.text,\n"
					"head.share,0.5\n"
					"head.inner.flag,true\n"
					"head.list[0].id,1\n"
					"head.list[1].id,-2\n");
	free(printed.text);
}
END_TEST

static const struct {
	struct cell cell;
	const char *json;
} cells[] = {
	{{.kind = CELL_TEXT, .text = "\x01\x1f\"\\\b\f\n\r\t\x7f"}, "\"\\u0001\\u001f\\\"\\\\\\b\\f\\n\\r\\t\\u007f\""},
	{{.kind = CELL_TEXT,
	  .text = "\xff"
		  "a\xc3"},
	 "\"\\ufffda\\ufffd\""},
	{{.kind = CELL_TEXT, .text = "\xe2\x80\xa8\xc2\x9b漢"}, "\"\\u2028\\u009b漢\""},
	{{.kind = CELL_NUMBER, .number = INFINITY}, "\"Infinity\""},
	{{.kind = CELL_NUMBER, .number = -INFINITY}, "\"-Infinity\""},
	{{.kind = CELL_NUMBER, .number = NAN}, "\"NaN\""},
	{{.kind = CELL_NUMBER, .number = -0.1}, "-0.1"},
	{{.kind = CELL_SHARE, .number = NAN}, "null"},
	{{.kind = CELL_DURATION, .integer = INT64_MIN}, "-9223372036854775808"},
	{{.kind = CELL_MOMENT, .integer = 5}, "\"1970-01-01T00:00:00.000Z\""},
};

START_TEST(json_cells)
{
	static const struct field field = {.name = "v"};
	struct printed printed;
	char wanted[200];

	begin(&printed, OUTPUT_JSON, &(struct render_style){0});
	render_value(printed.render, &field, cells[_i].cell);
	snprintf(wanted, sizeof(wanted), "{\n  \"schema\": 1,\n  \"v\": %s\n}\n", cells[_i].json);
	ck_assert_str_eq(end(&printed), wanted);
	free(printed.text);
}
END_TEST

START_TEST(csv_and_text_of_no_finite_number)
{
	static const struct field field = {.name = "v", .title = "v"};
	static const double numbers[] = {INFINITY, -INFINITY, NAN};
	struct printed csv, text;

	begin(&csv, OUTPUT_CSV, &(struct render_style){0});
	begin(&text, OUTPUT_TEXT, &(struct render_style){0});
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		render_value(csv.render, &field, cell_number(numbers[i]));
		render_value(text.render, &field, cell_number(numbers[i]));
	}
	render_value(csv.render, &field, cell_null());
	ck_assert_str_eq(end(&csv), "name,value\nv,Infinity\nv,-Infinity\nv,NaN\nv,\n");
	ck_assert_str_eq(end(&text), "  v  Infinity\n  v  -Infinity\n  v  NaN\n");
	free(csv.text);
	free(text.text);
}
END_TEST

static const struct field wide_columns[] = {
	{.title = "Event", .spare = 2},
	{.title = "Condition"},
	{.title = "Checks", .number = true},
	{.title = "Minimum", .number = true, .spare = 1},
};
static const struct table wide_table = {
	.field = {.title = ""}, .columns = wide_columns, .n_columns = 4, .empty = "Nothing."};

static void write_wide(struct render *render)
{
	render_table_open(render, &wide_table);
	render_row(render, (struct cell[]){cell_text("an event with a long name"),
					   cell_text("漢字漢字漢字漢字漢字漢字"), cell_count(100000), cell_null()});
	render_row(render, (struct cell[]){cell_text("e"), cell_text("c"), cell_count(1), cell_duration(5)});
	render_table_close(render);
}

static int widest_line(const char *text)
{
	int widest = 0;
	char *copy = strdup(text), *rest = copy;

	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		widest = MAX(widest, text_width(line));
	free(copy);
	return widest;
}

/// Whatever the width from 20 up, no line is wider than the terminal, and nothing is cut where there is none.
START_TEST(tables_respect_the_width)
{
	struct printed printed;

	begin(&printed, OUTPUT_TEXT, &(struct render_style){.width = _i});
	write_wide(printed.render);
	end(&printed);
	ck_assert_int_le(widest_line(printed.text), _i);
	ck_assert_ptr_nonnull(strstr(printed.text, "100000"));
	if (_i >= 60)
		ck_assert_ptr_nonnull(strstr(printed.text, "an event with"));
	free(printed.text);
}
END_TEST

START_TEST(tables_are_aligned)
{
	struct printed printed;

	begin(&printed, OUTPUT_TEXT, &(struct render_style){0});
	write_wide(printed.render);
	ck_assert_str_eq(end(&printed), "Event                      Condition                 Checks  Minimum\n"
					"an event with a long name  漢字漢字漢字漢字漢字漢字  100000        –\n"
					"e                          c                              1     5 ns\n");
	free(printed.text);
}
END_TEST

START_TEST(narrow_names_then_columns)
{
	struct printed printed;

	begin(&printed, OUTPUT_TEXT, &(struct render_style){.width = 40, .ascii = true});
	write_wide(printed.render);
	ck_assert_str_eq(end(&printed), "Condition                Checks  Minimum\n"
					"漢字漢字漢字漢字漢字..   100000        -\n"
					"c                             1     5 ns\n"
					"\n"
					"Left out, for this terminal is too\n"
					"narrow: Event.\n");
	free(printed.text);
}
END_TEST

/// Cutting may make a text longer in bytes: … has three. (For the address sanitizer.)
START_TEST(short_cells_are_cut)
{
	static const struct field fields[] = {{.title = "T"}, {.title = "D"}, {.title = "F", .yes = "considerable"}};
	static const struct table narrow = {.field = {.title = ""}, .columns = fields, .n_columns = 3};
	static const struct field value = {.title = "started"};
	struct printed printed;

	begin(&printed, OUTPUT_TEXT, &(struct render_style){.width = _i});
	render_value(printed.render, &value, cell_moment(0));
	render_table_open(printed.render, &narrow);
	render_row(printed.render, (struct cell[]){cell_moment(0), cell_duration(INT64_MIN), cell_flag(true)});
	render_table_close(printed.render);
	end(&printed);
	ck_assert_int_le(widest_line(printed.text), _i);
	free(printed.text);
}
END_TEST

START_TEST(empty_table)
{
	struct printed printed;

	begin(&printed, OUTPUT_TEXT, &(struct render_style){0});
	render_table_open(printed.render, &wide_table);
	render_table_close(printed.render);
	ck_assert_str_eq(end(&printed), "Nothing.\n");
	free(printed.text);
}
END_TEST

START_TEST(colour_only_where_wanted)
{
	static const struct field field = {.title = "state"};
	struct printed printed;

	for (int colour = 0; colour <= 1; colour++) {
		begin(&printed, OUTPUT_TEXT, &(struct render_style){.colour = colour});
		render_heading(printed.render, "H");
		render_value(printed.render, &field, cell_with(cell_text("failed"), EMPHASIS_BAD));
		ck_assert_str_eq(end(&printed),
				 colour ? "\033[1mH\033[0m\n  state  \033[31mfailed\033[0m\n" : "H\n  state  failed\n");
		free(printed.text);
	}
}
END_TEST

START_TEST(bars)
{
	static const struct group whole = {.field = {.name = "time"}, .layout = LAYOUT_BARS, .whole_ns = 1000};
	static const struct group part = {.field = {.name = "part"}, .layout = LAYOUT_BARS};
	static const struct field all = {.name = "all", .title = "all"},
				  total = {.name = "total", .title = "part", .total = true},
				  some = {.name = "some", .title = "some"}, none = {.name = "none", .title = "none"};
	struct printed printed;

	begin(&printed, OUTPUT_TEXT, &(struct render_style){.width = 40, .ascii = true});
	render_open(printed.render, &whole);
	render_value(printed.render, &all, cell_duration(1000));
	render_open(printed.render, &part);
	render_value(printed.render, &total, cell_duration(500));
	render_value(printed.render, &some, cell_duration(250));
	render_close(printed.render);
	render_value(printed.render, &none, cell_null());
	render_close(printed.render);
	ck_assert_str_eq(end(&printed), "  all     1.00 us  100.0 %  ############\n"
					"  part     500 ns   50.0 %  ######\n"
					"    some   250 ns   25.0 %  ###\n"
					"  none          -\n");
	free(printed.text);
}
END_TEST

START_TEST(full_disk)
{
	FILE *full = fopen("/dev/full", "w");
	struct render *render;

	if (!full)
		return;
	render = render_new(OUTPUT_JSON, full, &(struct render_style){0});
	ck_assert_int_eq(render_finish(render), -ENOSPC);
	render_free(render);
	fclose(full);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client outputs");
	TCase *test = tcase_create("outputs");

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return puts("1..0 # SKIP the locale C.UTF-8 is missing") < 0;
	tcase_add_test(test, html_document);
	tcase_add_test(test, html_names_stay_text);
	tcase_add_test(test, html_drawings);
	tcase_add_test(test, text_document);
	tcase_add_test(test, json_document);
	tcase_add_test(test, csv_of_a_table);
	tcase_add_test(test, csv_of_values);
	tcase_add_test(test, csv_and_text_of_no_finite_number);
	tcase_add_loop_test(test, json_cells, 0, ARRAY_SIZE(cells));
	tcase_add_test(test, full_disk);
	suite_add_tcase(suite, test);
	test = tcase_create("text");
	tcase_add_loop_test(test, tables_respect_the_width, 20, 100);
	tcase_add_test(test, tables_are_aligned);
	tcase_add_test(test, narrow_names_then_columns);
	tcase_add_loop_test(test, short_cells_are_cut, 24, 70);
	tcase_add_test(test, empty_table);
	tcase_add_test(test, colour_only_where_wanted);
	tcase_add_test(test, bars);
	suite_add_tcase(suite, test);
	return unit_run(suite);
}
