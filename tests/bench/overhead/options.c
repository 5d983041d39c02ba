// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/bench/overhead/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>

enum {
	OPTION_SECONDS = 256,
	OPTION_RATE,
	OPTION_PACE,
	OPTION_ORDER,
	OPTION_PICTURES,
	OPTION_PICTURE_COUNT,
	OPTION_STEAL,
	OPTION_STATE_DIR,
	OPTION_DOCUMENT,
	OPTION_DATA,
	OPTION_VERSION,
	OPTION_HELP,
};

static const struct option table[] = {
	{"seconds", required_argument, NULL, OPTION_SECONDS},
	{"rate", required_argument, NULL, OPTION_RATE},
	{"pace", required_argument, NULL, OPTION_PACE},
	{"order", required_argument, NULL, OPTION_ORDER},
	{"pictures", required_argument, NULL, OPTION_PICTURES},
	{"picture-count", required_argument, NULL, OPTION_PICTURE_COUNT},
	{"steal", required_argument, NULL, OPTION_STEAL},
	{"state-dir", required_argument, NULL, OPTION_STATE_DIR},
	{"document", required_argument, NULL, OPTION_DOCUMENT},
	{"data", required_argument, NULL, OPTION_DATA},
	{"quiet", no_argument, NULL, 'q'},
	{"version", no_argument, NULL, OPTION_VERSION},
	{"help", no_argument, NULL, OPTION_HELP},
	{0},
};

static void print_help(void)
{
	printf("Usage: condprof-bench-overhead [OPTION]... [SCENARIO.yaml]\n"
	       "Measures what a debug report costs on this machine: the same work with and without it.\n"
	       "\n"
	       "      --seconds S          length of a run at the limited rate; an unlimited run has the work\n"
	       "                           of about a quarter of it [7]\n"
	       "      --rate N             passes a second of the limited rate [10]\n"
	       "      --pace PACE          limited, unlimited or both [both]\n"
	       "      --order ORDER        rotation (20 runs), williams (32 runs) or both [both]\n"
	       "      --pictures FOLDER    recorded pictures [those of the scenario's replay: screen]\n"
	       "      --picture-count N    take so many of them, evenly spaced; all are held in memory [16]\n"
	       "      --steal PERCENT      a run is invalid when the host took away more than this [1]\n"
	       "      --state-dir DIR      write reports below this folder [$TMPDIR or /var/tmp]\n"
	       "      --document FILE      write the result to this file, as Markdown [standard output]\n"
	       "      --data FILE          write a line a run to this file, as CSV\n"
	       "  -q, --quiet              say nothing of progress\n"
	       "      --version            print the version and exit\n"
	       "      --help               print this and exit\n"
	       "\n"
	       "SCENARIO is %s unless given.\n"
	       "All of it takes eight minutes. See condprof-bench-overhead(1).\n",
	       BENCH_SCENARIO);
}

static int wrong(const char *option, const char *wanted, const char *text)
{
	fprintf(stderr, "condprof-bench-overhead: --%s: %s is wanted, not “%s”\n", option, wanted, text);
	return -EINVAL;
}

static int parse_number(const char *option, const char *text, double least, double most, double *ret)
{
	char *end, wanted[64];
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end != text && !*end && !errno && value >= least && value <= most) {
		*ret = value;
		return 0;
	}
	snprintf(wanted, sizeof(wanted), "a number from %g to %g", least, most);
	return wrong(option, wanted, text);
}

static int parse_pace(struct options *options, const char *text)
{
	bool both = !strcmp(text, "both");

	options->pace[PACE_LIMITED] = both || !strcmp(text, "limited");
	options->pace[PACE_UNLIMITED] = both || !strcmp(text, "unlimited");
	if (options->pace[PACE_LIMITED] || options->pace[PACE_UNLIMITED])
		return 0;
	return wrong("pace", "limited, unlimited or both", text);
}

static int parse_order(struct options *options, const char *text)
{
	bool any = false;

	for (size_t i = 0; i < DESIGNS; i++) {
		options->design[i] = !strcmp(text, "both") || !strcmp(text, designs[i].name);
		any = any || options->design[i];
	}
	return any ? 0 : wrong("order", "rotation, williams or both", text);
}

static int parse_numeric(struct options *options, int option, const char *text)
{
	double value = 0;
	int r;

	switch (option) {
	case OPTION_SECONDS:
		return parse_number("seconds", text, 0.1, 86400, &options->seconds);
	case OPTION_RATE:
		return parse_number("rate", text, 0.1, 1000, &options->rate);
	case OPTION_STEAL:
		r = parse_number("steal", text, 0, 100, &value);
		options->steal = value / 100;
		return r;
	default:
		r = parse_number("picture-count", text, 1, 100000, &value);
		options->n_pictures = (size_t)floor(value);
		return r;
	}
}

static int parse_one(struct options *options, int option, const char *text)
{
	switch (option) {
	case OPTION_PACE:
		return parse_pace(options, text);
	case OPTION_ORDER:
		return parse_order(options, text);
	case OPTION_PICTURES:
		options->pictures = text;
		return 0;
	case OPTION_STATE_DIR:
		options->state_dir = text;
		return 0;
	case OPTION_DOCUMENT:
		options->document = text;
		return 0;
	case OPTION_DATA:
		options->data = text;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case OPTION_VERSION:
		printf("condprof-bench-overhead %s\n", PACKAGE_VERSION);
		return 1;
	case OPTION_HELP:
		print_help();
		return 1;
	case '?':
		return -EINVAL;
	default:
		return parse_numeric(options, option, text);
	}
}

int options_parse(int argc, char **argv, struct options *ret)
{
	struct options options = {
		.scenario = BENCH_SCENARIO,
		.seconds = 7,
		.rate = 10,
		.steal = 0.01,
		.n_pictures = 16,
		.pace = {true, true},
		.design = {true, true},
	};
	int option, r = 0;

	while (r == 0 && (option = getopt_long(argc, argv, "q", table, NULL)) != -1)
		r = parse_one(&options, option, optarg);
	if (r != 0)
		return r;
	if (argc - optind > 1) {
		fprintf(stderr, "condprof-bench-overhead: one scenario is enough, “%s” is too much\n",
			argv[optind + 1]);
		return -EINVAL;
	}
	if (optind < argc)
		options.scenario = argv[optind];
	*ret = options;
	return 0;
}
