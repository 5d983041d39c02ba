// SPDX-License-Identifier: GPL-3.0-or-later
//
// Durations are exact: a decimal number of a unit is taken only when it is a whole number of nanoseconds. Numbers are
// read as in the C locale, whatever the user's is.
#include "config.h"

#include "client/scenario/value.h"

#include "client/scenario/source.h"
#include "proto/bus_name.h"
#include "proto/limits.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NSEC_PER_MIN (60 * NSEC_PER_SEC)
#define NSEC_PER_HOUR (60 * NSEC_PER_MIN)

static int wrong(struct value_problem *problem, const char *format, ...) PRINTF_LIKE(2, 3);

static int wrong(struct value_problem *problem, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem->message, sizeof(problem->message), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/// The text as it may stand in a message. One at a time.
static const char *excerpt(const char *text)
{
	static _Thread_local char out[160];

	return text_for_message(text, strlen(text), 40, out, sizeof(out));
}

static const char *skip_spaces(const char *text)
{
	return text + strspn(text, " ");
}

// --- numbers -----------------------------------------------------------------------------------

/// Length of a decimal number without exponent and sign, 0: none. `ret_digits_after` counts those after the point.
static size_t decimal_length(const char *text, size_t *ret_digits_after)
{
	size_t before = strspn(text, "0123456789");
	size_t after = text[before] == '.' ? strspn(text + before + 1, "0123456789") : 0;

	*ret_digits_after = after;
	if (before + after == 0)
		return 0;
	return before + (text[before] == '.' ? 1 + after : 0);
}

/// Length of a number with sign and exponent, 0: none.
static size_t number_length(const char *text)
{
	size_t sign = text[0] == '+' || text[0] == '-', ignored;
	size_t length = decimal_length(text + sign, &ignored);

	if (length == 0)
		return 0;
	length += sign;
	if (text[length] == 'e' || text[length] == 'E') {
		size_t exponent_sign = text[length + 1] == '+' || text[length + 1] == '-';
		size_t digits = strspn(text + length + 1 + exponent_sign, "0123456789");

		length += digits > 0 ? 1 + exponent_sign + digits : 0;
	}
	return length;
}

static double read_double(const char *text, char **ret_end)
{
	static locale_t c_locale;
	locale_t current = __atomic_load_n(&c_locale, __ATOMIC_ACQUIRE);

	if (!current) {
		current = newlocale(LC_ALL_MASK, "C", (locale_t)0);
		locale_t expected = (locale_t)0;
		if (current && !__atomic_compare_exchange_n(&c_locale, &expected, current, false, __ATOMIC_ACQ_REL,
							    __ATOMIC_ACQUIRE)) {
			freelocale(current);
			current = expected;
		}
	}
	return current ? strtod_l(text, ret_end, current) : strtod(text, ret_end);
}

int value_number(const char *text, double *ret, struct value_problem *problem)
{
	char *end;

	if (number_length(text) == 0 || text[number_length(text)] != '\0')
		return wrong(problem, "expected a number like 3 or -0.5, found “%s”", excerpt(text));
	double number = read_double(text, &end);
	if (!isfinite(number))
		return wrong(problem, "“%s” is too large for a number", excerpt(text));
	*ret = number;
	return 0;
}

bool value_reads_as_number(const char *text)
{
	char *end;

	(void)read_double(text, &end);
	return end != text && end[strspn(end, " \t")] == '\0';
}

int value_integer(const char *text, int64_t min, int64_t max, int64_t *ret, struct value_problem *problem)
{
	size_t sign = text[0] == '+' || text[0] == '-', digits = strspn(text + sign, "0123456789");

	if (digits == 0 || text[sign + digits] != '\0')
		return wrong(problem, "expected a whole number, found “%s”", excerpt(text));
	errno = 0;
	long long number = strtoll(text, NULL, 10);
	if (errno == ERANGE || number < min || number > max)
		return max == INT64_MAX
			       ? wrong(problem, "%s is out of range: at least %lld", excerpt(text), (long long)min)
			       : wrong(problem, "%s is out of range: %lld to %lld", excerpt(text), (long long)min,
				       (long long)max);
	*ret = number;
	return 0;
}

int value_bool(const char *text, bool *ret, struct value_problem *problem)
{
	static const char *const yes[] = {"yes", "Yes", "YES", "on", "On", "ON", "y", "Y", "1", "True", "TRUE", "t"};
	static const char *const no[] = {"no", "No", "NO", "off", "Off", "OFF", "n", "N", "0", "False", "FALSE", "f"};

	if (!strcmp(text, "true") || !strcmp(text, "false")) {
		*ret = text[0] == 't';
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (!strcmp(text, yes[i]))
			return wrong(problem, "expected true or false, found “%s”: write true", text);
		if (!strcmp(text, no[i]))
			return wrong(problem, "expected true or false, found “%s”: write false", text);
	}
	return wrong(problem, "expected true or false, found “%s”", excerpt(text));
}

int value_percent(const char *text, double *ret, struct value_problem *problem)
{
	size_t ignored, sign = *text == '-' || *text == '+', length = decimal_length(text + sign, &ignored);
	const char *rest = skip_spaces(text + sign + length);
	char *end;

	if (length == 0 || (*rest != '\0' && strcmp(rest, "%") != 0))
		return wrong(problem, "expected a percentage like 4 or 0.5, found “%s”", excerpt(text));
	double number = read_double(text, &end);
	if (number < 0 || number > 100)
		return wrong(problem, "%s is out of range: a percentage is 0 to 100", excerpt(text));
	*ret = fabs(number); // no negative zero
	return 0;
}

// --- durations and rates -----------------------------------------------------------------------

struct unit {
	const char *name;
	int64_t ns;
};

static const struct unit units[] = {
	{"ns", 1},           {"us", NSEC_PER_USEC}, {"µs", NSEC_PER_USEC}, {"μs", NSEC_PER_USEC}, {"ms", NSEC_PER_MSEC},
	{"s", NSEC_PER_SEC}, {"min", NSEC_PER_MIN}, {"h", NSEC_PER_HOUR},
};

static const struct unit *find_unit(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

/// What people write for a unit elsewhere.
static const char *meant_unit(const char *name)
{
	static const struct {
		const char *wrong, *right;
	} others[] = {
		{"m", "min"},
		{"minute", "min"},
		{"minutes", "min"},
		{"mins", "min"},
		{"M", "min"},
		{"sec", "s"},
		{"secs", "s"},
		{"second", "s"},
		{"seconds", "s"},
		{"S", "s"},
		{"msec", "ms"},
		{"msecs", "ms"},
		{"millisecond", "ms"},
		{"milliseconds", "ms"},
		{"MS", "ms"},
		{"Ms", "ms"},
		{"usec", "us"},
		{"microsecond", "us"},
		{"microseconds", "us"},
		{"nsec", "ns"},
		{"nanoseconds", "ns"},
		{"hour", "h"},
		{"hours", "h"},
		{"hr", "h"},
		{"H", "h"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(others[i].wrong, name))
			return others[i].right;
	return NULL;
}

const struct duration_habit duration_short = {"500 ms", {"ms", "s"}};
const struct duration_habit duration_long = {"24 h", {"h", "min"}};

static int take_unit(const char *text, const char *rest, const struct duration_habit *habit, const struct unit **ret,
		     struct value_problem *problem)
{
	const char *meant = meant_unit(rest);

	if (*rest == '\0')
		return wrong(problem, "a duration needs a unit (ns, us, ms, s, min, h): “%s %s” or “%s %s”?",
			     excerpt(text), habit->units[0], text, habit->units[1]);
	*ret = find_unit(rest);
	if (*ret)
		return 0;
	if (meant)
		return wrong(problem, "no unit “%s”; did you mean “%s”?", rest, meant);
	return wrong(problem, "no unit “%s”: a duration has one of ns, us, ms, s, min, h", excerpt(rest));
}

/// number * unit, exactly. @param length of the number; after: its digits after the point
static int scale(const char *text, size_t length, size_t after, const struct unit *unit, int64_t *ret,
		 struct value_problem *problem)
{
	__extension__ unsigned __int128 value = 0, divisor = 1;

	while (after > 0 && text[length - 1] == '0') { // 1.500 is 1.5
		length--;
		after--;
	}
	if (after > 13) // an hour is 2^13 * 5^11 * 9 ns: no more digits can come out whole
		return wrong(problem, "“%s” is finer than a nanosecond", excerpt(text));
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '.')
			continue;
		value = value * 10 + (unsigned)(text[i] - '0');
		if (value > UINT64_MAX)
			return wrong(problem, "“%s” is too long: at most 100 years", excerpt(text));
	}
	for (size_t i = 0; i < after; i++)
		divisor *= 10;
	value *= (uint64_t)unit->ns;
	if (value % divisor != 0)
		return wrong(problem, "“%s” is finer than a nanosecond", excerpt(text));
	if (value / divisor > (uint64_t)SCENARIO_MAX_DURATION_NS)
		return wrong(problem, "“%s” is too long: at most 100 years", excerpt(text));
	*ret = (int64_t)(value / divisor);
	return 0;
}

int value_duration(const char *text, const struct duration_habit *habit, int64_t *ret_ns, struct value_problem *problem)
{
	size_t after, length = decimal_length(text, &after);
	const struct unit *unit;

	if ((text[0] == '-' || text[0] == '+') && decimal_length(text + 1, &after) > 0)
		return wrong(problem, "a duration has no sign, found “%s”", excerpt(text));
	if (length == 0)
		return wrong(problem, "expected a duration like %s, found “%s”", habit->example, excerpt(text));
	int r = take_unit(text, skip_spaces(text + length), habit, &unit, problem);
	return r < 0 ? r : scale(text, length, after, unit, ret_ns, problem);
}

int value_rate(const char *text, double *ret_passes, int64_t *ret_per_ns, struct value_problem *problem)
{
	size_t ignored, length = decimal_length(text, &ignored);
	const char *slash = skip_spaces(text + length), *unit = *slash == '/' ? skip_spaces(slash + 1) : "";
	char *end;

	if (!strcmp(text, "unlimited")) {
		*ret_passes = 0;
		*ret_per_ns = NSEC_PER_SEC;
		return 0;
	}
	if (length == 0)
		return wrong(problem, "expected a rate like 10/s, 30/min or unlimited, found “%s”", excerpt(text));
	if (*slash == '\0')
		return wrong(problem, "a rate needs a unit: “%s/s” or “%s/min”?", excerpt(text), text);
	bool minutes = !strcmp(unit, "min");
	if (!minutes && strcmp(unit, "s") != 0)
		return wrong(problem, "expected a rate like 10/s or 30/min, found “%s”", excerpt(text));
	double passes = read_double(text, &end);
	if (!(passes > 0))
		return wrong(problem, "a rate is more than 0; to run as fast as possible write unlimited");
	double period_ns = (minutes ? (double)NSEC_PER_MIN : (double)NSEC_PER_SEC) / passes;
	if (!(period_ns >= (double)SCENARIO_MIN_PERIOD_NS))
		return wrong(problem, "“%s” is more than a million passes a second: write unlimited", excerpt(text));
	if (!(period_ns <= (double)SCENARIO_MAX_DURATION_NS))
		return wrong(problem, "“%s” is slower than one pass in 100 years", excerpt(text));
	*ret_passes = passes;
	*ret_per_ns = minutes ? NSEC_PER_MIN : NSEC_PER_SEC;
	return 0;
}

char *duration_text(int64_t ns, char *out, size_t size)
{
	static const struct unit largest_first[] = {{"h", NSEC_PER_HOUR},  {"min", NSEC_PER_MIN}, {"s", NSEC_PER_SEC},
						    {"ms", NSEC_PER_MSEC}, {"us", NSEC_PER_USEC}, {"ns", 1}};
	size_t i = 0;

	if (ns == 0) {
		snprintf(out, size, "0 s");
		return out;
	}
	// hours and minutes only whole ones; below, up to three digits after the point
	while (largest_first[i].ns > 1 &&
	       (ns < largest_first[i].ns || ns % (i < 2 ? largest_first[i].ns : largest_first[i].ns / 1000) != 0))
		i++;
	int64_t unit = largest_first[i].ns, whole = ns / unit,
		thousandths = unit > 1 ? ns % unit / MAX(unit / 1000, 1) : 0;
	int used = snprintf(out, size, "%lld", (long long)whole);
	if (thousandths > 0 && i >= 2) {
		used += snprintf(out + used, size - (size_t)used, ".%03lld", (long long)thousandths);
		while (out[used - 1] == '0')
			used--;
	}
	snprintf(out + used, size - (size_t)used, " %s", largest_first[i].name);
	return out;
}

char *number_text(double number, char *out, size_t size)
{
	char *end;

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, size, "%.*g", digits, number);
		char *comma = strchr(out, ','); // a locale's
		if (comma)
			*comma = '.';
		if (read_double(out, &end) == number)
			break;
	}
	return out;
}

// --- colours, comparisons ----------------------------------------------------------------------

int value_color(const char *text, uint32_t *ret_rgb, struct value_problem *problem)
{
	const char *hex = text + (text[0] == '#');
	size_t digits = strspn(hex, "0123456789abcdefABCDEF");
	bool all = hex[digits] == '\0';

	if (all && digits == 3)
		return wrong(problem, "a colour has six digits; did you mean \"#%c%c%c%c%c%c\"?", hex[0], hex[0],
			     hex[1], hex[1], hex[2], hex[2]);
	if (!all || digits != 6)
		return wrong(problem, "expected a colour like \"#ff8800\", found “%s”", excerpt(text));
	if (text[0] != '#')
		return wrong(problem, "a colour begins with #; did you mean \"#%s\"?", hex);
	*ret_rgb = (uint32_t)strtoul(hex, NULL, 16);
	return 0;
}

int value_comparison(const char *text, Condprof__Comparison *ret, const char **ret_operand,
		     struct value_problem *problem)
{
	static const struct {
		const char *word;
		Condprof__Comparison comparison;
	} words[] = {{"==", CONDPROF__COMPARISON__EQUAL},
		     {"!=", CONDPROF__COMPARISON__NOT_EQUAL},
		     {">=", CONDPROF__COMPARISON__GREATER_OR_EQUAL},
		     {"<=", CONDPROF__COMPARISON__LESS_OR_EQUAL},
		     {">", CONDPROF__COMPARISON__GREATER},
		     {"<", CONDPROF__COMPARISON__LESS}};
	size_t operator= strspn(text, "=!<>~");
	const char *operand = skip_spaces(text + operator);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (operator!= strlen(words[i].word) || strncmp(text, words[i].word, operator) != 0)
			continue;
		if (*operand == '\0')
			return wrong(problem, "“%s” with what? Add a number or a counter: \"%s 3\"", words[i].word,
				     words[i].word);
		*ret = words[i].comparison;
		*ret_operand = operand;
		return 0;
	}
	const char *meant = operator== 0 || !strncmp(text, "=", operator) || !strncmp(text, "===", operator) ? "=="
			    : !strncmp(text, "=>", operator)                                                 ? ">="
			    : !strncmp(text, "=<", operator)                                                 ? "<="
			    : !strncmp(text, "<>", operator)                                                 ? "!="
													     : NULL;
	if (meant && *operand)
		return wrong(
			problem,
			"expected a comparison (==, !=, >, >=, <, <=) and a number or counter; did you mean \"%s %s\"?",
			meant, excerpt(operand));
	return wrong(problem, "expected a comparison like \">= 3\" or \"== retries\", found “%s”", excerpt(text));
}

// --- texts with counters -----------------------------------------------------------------------

static size_t count_braces(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '{';
	return count;
}

struct parts {
	struct arena *arena;
	struct value_part *items;
	size_t count;
	char *literal; ///< what is gathered
	size_t size, offset;
};

static int flush_literal(struct parts *parts)
{
	if (parts->size == 0)
		return 0;
	char *text = arena_string(parts->arena, parts->literal, parts->size);
	if (!text)
		return -ENOMEM;
	parts->items[parts->count++] = (struct value_part){.text = text, .offset = parts->offset};
	parts->size = 0;
	return 0;
}

/// From an opening brace that isn't doubled. @return bytes taken, or -EINVAL, -ENOMEM
static int take_counter(struct parts *parts, const char *text, size_t at, struct value_problem *problem)
{
	size_t size = strcspn(text + at + 1, "{}");

	if (text[at + 1 + size] != '}')
		return wrong(problem,
			     "a “{” without its “}”: a counter's name stands between braces; write {{ for a brace");
	if (size == 0)
		return wrong(problem, "“{}” names no counter: write its name between the braces, or {{}} for braces");
	if (flush_literal(parts) < 0)
		return -ENOMEM;
	char *name = arena_string(parts->arena, text + at + 1, size);
	if (!name)
		return -ENOMEM;
	parts->items[parts->count++] = (struct value_part){.counter = true, .text = name, .offset = at + 1};
	return (int)size + 2;
}

int value_parts(struct arena *arena, const char *text, struct value_part **ret, size_t *ret_count,
		struct value_problem *problem, size_t *problem_offset)
{
	struct parts parts = {.arena = arena, .literal = arena_alloc(arena, strlen(text) + 1)};

	parts.items = arena_array(arena, 2 * count_braces(text) + 1, sizeof(*parts.items));
	if (!parts.literal || !parts.items)
		return -ENOMEM;
	for (size_t at = 0; text[at];) {
		bool doubled = (text[at] == '{' || text[at] == '}') && text[at + 1] == text[at];
		int taken = doubled ? 2 : 1;

		*problem_offset = at;
		if (!doubled && text[at] == '}')
			return wrong(problem, "a “}” without its “{”: write }} for a brace");
		if (!doubled && text[at] == '{') {
			taken = take_counter(&parts, text, at, problem);
			if (taken < 0)
				return taken;
		} else {
			if (parts.size == 0)
				parts.offset = at;
			parts.literal[parts.size++] = text[at];
		}
		at += (size_t)taken;
	}
	if (flush_literal(&parts) < 0)
		return -ENOMEM;
	*ret = parts.items;
	*ret_count = parts.count;
	return 0;
}

// --- D-Bus names -------------------------------------------------------------------------------

int value_bus_member(const char *text, struct value_problem *problem)
{
	switch (bus_signal_name_check(text)) {
	case BUS_NAME_FINE:
		return 0;
	case BUS_NAME_SHORT:
		return wrong(problem,
			     "a D-Bus signal is an interface of two parts or more and a member, "
			     "like org.example.Kiosk.Closed, found “%s”",
			     excerpt(text));
	default:
		return wrong(problem, "expected a D-Bus signal like org.example.Kiosk.Closed, found “%s”",
			     excerpt(text));
	}
}

int value_bus_path(const char *text, struct value_problem *problem)
{
	return bus_path_valid(text) ? 0
				    : wrong(problem, "expected a D-Bus object path like /org/example/Kiosk, found “%s”",
					    excerpt(text));
}
