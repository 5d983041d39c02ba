// SPDX-License-Identifier: GPL-3.0-or-later
//
// One row a command and one row an option: names, argument ranges, help, handler. What is known but not built yet
// stands here too and says so, so that a name never means something else later.
#include "config.h"

#include "client/verbs.h"

#include "client/commands.h"

#include <string.h>

const struct option_row global_options[] = {
	{"--host", "-H", "[USER@]HOST[:PORT]", .help = "reach the daemon of another machine, over ssh"},
	{"--socket", NULL, "PATH", .help = "the daemon's socket"},
	{"--output", NULL, "FORMAT", .help = "text, json or csv; of a report also html or prometheus"},
	{"--json", NULL, NULL, .help = "the same as --output json"},
	{"--timeout", NULL, "TIME", .help = "give the command up after this time (10 s, unless it waits)"},
	{"--quiet", "-q", NULL, .help = "no remarks on standard error, only errors"},
	{"--help", "-h", NULL, .help = "this help, or a command's own"},
	{"--version", NULL, NULL, .help = "this program's version"},
	{0},
};

static const struct option_row start_options[] = {
	{"--screen", NULL, "URI", .help = "look at this screen instead of the scenario's: replay:DIR, x11::0"},
	{"--input", NULL, "URI", .help = "act on this input instead of the scenario's: log:, x11::0"},
	{"--dry-run", NULL, NULL, .help = "only record clicks, swipes, keys, texts, signals and notifications"},
	{"--rate", NULL, "N/s", .help = "passes a second, N/min a minute, or unlimited"},
	{"--passes", NULL, "N", .help = "end after N passes"},
	{"--duration", NULL, "TIME", .help = "end after this time"},
	{"--no-report", NULL, NULL, .help = "measure and keep nothing"},
	{"--record", NULL, "DIR", .help = "keep the frames there, by which the run can be played again"},
	{"--wait", NULL, NULL, .help = "wait until the session has ended and its report is closed"},
	{"--stop-on-signal", NULL, NULL, .help = "with --wait: Ctrl-C or SIGTERM stops the session"},
	{0},
};

static const struct option_row stop_options[] = {
	{"--all", NULL, NULL, .help = "every session"},
	{0},
};

static const struct option_row watch_options[] = {
	{"--interval", NULL, "TIME", .help = "how often (1s)"},
	{"--count", NULL, "N", .help = "end after N intervals"},
	{"--plain", NULL, NULL, .help = "lines, also on a terminal"},
	{0},
};

static const struct option_row report_options[] = {
	{"--view", NULL, "VIEW", .help = "overview, conditions, events or timeline"},
	{"--sort", NULL, "KEY", .help = "conditions and events: total, average, checks, max, p99, share, order, name"},
	{"--top", NULL, "N", .help = "conditions and events: only the first N"},
	{"--filter", NULL, "TEXT",
	 .help = "conditions and events whose name has TEXT in it; kind=KIND, event=TEXT, name=TEXT"},
	{"--event", NULL, "NAME", .help = "only this event; may be given several times"},
	{"--since", NULL, "TIME", .help = "timeline: from this time after the session's start on"},
	{"--until", NULL, "TIME", .help = "timeline: before this time after the session's start"},
	{"--limit", NULL, "N", .help = "timeline: only the last N occurrences"},
	{0},
};

static const struct option_row diff_options[] = {
	{"--fail-if", NULL, "RULE",
	 .help = "exit status 1 when a condition is worse by more: average>+10%, p50, p90, p99"},
	{"--min-checks", NULL, "N", .help = "say nothing of conditions with fewer checks (30)"},
	{0},
};

static const struct option_row install_options[] = {
	{"--name", NULL, "NAME", .help = "under this name, instead of the file's without .yaml"},
	{0},
};

static const struct option_row capture_options[] = {
	{"--screen", NULL, "URI", .help = "of this screen instead of the running session's: x11::0, fb:/dev/fb0"},
	{"--crop", NULL, "X,Y,W,H", .help = "only this piece, and the lines of a scenario that look for it"},
	{0},
};

static const struct option_row tune_options[] = {
	{"--samples", NULL, NULL, .help = "what was measured, a row a condition and picture, instead of what it means"},
	{0},
};

static const struct option_row try_options[] = {
	{"--frame", NULL, "PNG", .help = "on this picture instead of the scenario's screen"},
	{"--screen", NULL, "URI", .help = "on this screen instead of the scenario's: replay:DIR, x11::0"},
	{"--annotate", NULL, "OUT.png", .help = "save the picture with areas, matches and scores drawn on it"},
	{0},
};

#define ANY_NUMBER 1000

const struct verb verbs[] = {
	{"start", 1, 1, "SCENARIO.yaml|NAME", "run a scenario", start_options, .run = cmd_start},
	{"stop", 0, 1, "[ID]", "end a session", stop_options, .run = cmd_stop},
	{"status", 0, 1, "[ID]", "show the sessions that have not ended", NULL, .run = cmd_status},
	{"watch", 0, 1, "[ID]", "follow a session's figures", watch_options, .run = cmd_watch, .waits = true},
	{"emit", 1, 1, "BROADCAST", "send a broadcast to the running sessions", NULL, .run = cmd_emit},
	{"rotate", 0, 1, "[ID]", "close a session's report and go on in a new one", NULL, .run = cmd_rotate},
	{"list", 0, 0, "", "show running sessions and every kept report", NULL, .run = cmd_list},
	{"report", 0, 1, "[ID|latest|DIR]", "show a session's report", report_options, .run = cmd_report,
	 .whole = true},
	{"diff", 2, 2, "ID|latest|DIR ID|latest|DIR", "compare two reports", diff_options, .run = cmd_diff},
	{"advise", 0, 1, "[ID|latest|DIR]", "say what would make a scenario cheaper", NULL, .run = cmd_advise},
	{"delete", 1, ANY_NUMBER, "ID...", "remove kept reports", NULL, .run = cmd_delete},
	{"check", 1, 1, "SCENARIO.yaml", "say what is wrong with a scenario file, or what it means", NULL,
	 .run = cmd_check},
	{"try", 1, 1, "SCENARIO.yaml", "check a scenario's conditions on one picture", try_options, .run = cmd_try,
	 .waits = true},
	{"tune", 2, 2, "SCENARIO.yaml ID|latest|DIR", "suggest thresholds and areas by many pictures", tune_options, .run = cmd_tune,
	 .waits = true},
	{"capture", 1, 1, "OUT.png", "save a picture of the screen", capture_options, .run = cmd_capture},
	{"install", 1, 1, "SCENARIO.yaml", "keep a scenario under a name", install_options, .run = cmd_install},
	{"scenarios", 0, 0, "", "list the installed scenarios", NULL, .run = cmd_scenarios},
	{"remove", 1, 1, "NAME", "remove an installed scenario", NULL, .run = cmd_remove},
	{"bridge", 0, 0, "", "the far end of -H", NULL, .run = cmd_bridge, .waits = true, .hidden = true},
	{"version", 0, 0, "", "show the versions of client and daemon", NULL, .run = cmd_version},
};
const size_t verb_count = ARRAY_SIZE(verbs);

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < verb_count; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}
