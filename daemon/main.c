// SPDX-License-Identifier: GPL-3.0-or-later
// condprofd: reads its command line and configuration, builds the daemon, runs it in the foreground, frees it.
#include "config.h"

#include "daemon/control/control.h"
#include "daemon/detect/detect.h"
#include "daemon/input/input.h"
#include "daemon/screen/screen.h"
#include "daemon/system/paths.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define EXIT_USAGE 2
#define DESCRIPTORS_WANTED 4096 // clients, and a screen, an input and files a session

struct options {
	const char *socket, *state_dir, *config;
	bool check_config;
};

static void print_help(void)
{
	printf("Usage: condprofd [OPTION]...\n"
	       "Runs scenarios and measures their conditions; condprofctl(1) steers it.\n"
	       "\n"
	       "      --socket PATH     listen here [/run/condprof/control.sock for root, else\n"
	       "                        $XDG_RUNTIME_DIR/condprof/control.sock; CONDPROF_SOCKET overrides]\n"
	       "      --state-dir DIR   keep reports here [/var/lib/condprof for root, else\n"
	       "                        $XDG_STATE_HOME/condprof]\n"
	       "      --config FILE     read this file, which must exist [%s for root, else\n"
	       "                        $XDG_CONFIG_HOME/condprof/condprofd.conf]\n"
	       "      --check-config    check the configuration and exit\n"
	       "      --version         print the version and what was built, and exit\n"
	       "      --help            print this and exit\n"
	       "\n"
	       "It stays in the foreground and logs to standard error or the journal. See condprofd(8).\n",
	       path_system_configuration());
}

static void print_names(const char *title, const char *const *names)
{
	printf("%s:", title);
	while (*names)
		printf(" %s", *names++);
	putchar('\n');
}

static void print_version(void)
{
	printf("condprofd %s\nprotocol: %u.%u\nbuilt: %s\n", PACKAGE_VERSION, PROTOCOL_MAJOR, PROTOCOL_MINOR,
	       CONDPROF_FEATURES);
	print_names("screens", screen_schemes());
	print_names("inputs", input_schemes());
}

/// @return -1: go on; else the exit status
static int parse_options(int argc, char **argv, struct options *ret)
{
	static const struct option known[] = {
		{"socket", required_argument, NULL, 's'},
		{"state-dir", required_argument, NULL, 'd'},
		{"config", required_argument, NULL, 'c'},
		{"check-config", no_argument, NULL, 'C'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option, index = 0;

	while ((option = getopt_long(argc, argv, "", known, &index)) != -1) {
		if (optarg && !*optarg) {
			fprintf(stderr, "condprofd: --%s needs a path, not an empty word\nTry 'condprofd --help'.\n",
				known[index].name);
			return EXIT_USAGE;
		}
		switch (option) {
		case 's':
			ret->socket = optarg;
			break;
		case 'd':
			ret->state_dir = optarg;
			break;
		case 'c':
			ret->config = optarg;
			break;
		case 'C':
			ret->check_config = true;
			break;
		case 'V':
			print_version();
			return EXIT_SUCCESS;
		case 'h':
			print_help();
			return EXIT_SUCCESS;
		default:
			fprintf(stderr, "Try 'condprofd --help'.\n");
			return EXIT_USAGE;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "condprofd: unexpected argument '%s'\nTry 'condprofd --help'.\n", argv[optind]);
	return EXIT_USAGE;
}

static int load_configuration(const struct options *options, const char *path, struct configuration **ret)
{
	CLEANUP_FREE char *mistakes = NULL;
	int r = configuration_load(path, options->config, ret, &mistakes);

	if (mistakes)
		fputs(mistakes, stderr);
	else if (r < 0)
		fprintf(stderr, "condprofd: cannot read %s: %s\n", path, strerror(-r));
	return r;
}

/// Signals are read by the control thread alone; every thread inherits the mask. A client that vanishes is no signal.
static void block_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/// A descriptor 0, 1 or 2 that is closed would be given to a socket, and what somebody prints would go there.
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			exit(EXIT_FAILURE);
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS_WANTED)
		return;
	limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)DESCRIPTORS_WANTED);
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int run(const struct options *options, const char *configuration_path, struct configuration *configuration)
{
	char state[PATH_MAX];
	struct control_params params = {
		.state_path = options->state_dir,
		.configuration_path = configuration_path,
		.configuration_must_exist = options->config,
		.configuration = configuration,
	};
	struct control *control = NULL;
	struct error error;
	int r = 0;

	if (!options->state_dir) {
		r = path_default_state(state, sizeof(state), &error);
		if (!r)
			r = path_make_parents(state, 0755, &error);
		params.state_path = state;
	}
	if (!r)
		r = control_new(&params, &control, &error);
	if (!r)
		r = control_listen(control, options->socket, &error);
	if (r < 0)
		log_error("%s", error.message);
	r = r < 0 ? EXIT_FAILURE : control_run(control);
	control_free(control);
	return r;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct configuration *configuration;
	char standard[PATH_MAX];
	struct error error;
	const char *path;
	int status;

	fill_standard_descriptors();
	detect_reader_init_process();
	status = parse_options(argc, argv, &options);
	if (status >= 0)
		return status;
	if (path_default_configuration(standard, sizeof(standard), &error) < 0) {
		fprintf(stderr, "condprofd: %s\n", error.message);
		return EXIT_FAILURE;
	}
	path = options.config ? options.config : standard;
	if (load_configuration(&options, path, &configuration) < 0)
		return EXIT_FAILURE;
	if (options.check_config) {
		printf(access(path, F_OK) ? "%s: not there, so everything is as it is by default\n" : "%s: fine\n",
		       path);
		configuration_unref(configuration);
		return EXIT_SUCCESS;
	}
	block_signals();
	raise_descriptor_limit();
	log_set_levels(&configuration->log_levels);
	if (log_start() < 0)
		log_warning("no log thread: lines are written by whoever logs");
	status = run(&options, path, configuration);
	configuration_unref(configuration);
	log_stop();
	return status;
}
