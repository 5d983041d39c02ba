#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `make demo`: the real daemon and client, in a temporary folder, run press-line.yaml over recorded frames and print its
# report. Needs no display and no root. KEEP=1 leaves the report's folder and says where.
set -eu
daemon=$1 client=$2 demo=$3
work=$(mktemp -d)
daemon_pid=
finish()
{
	status=$?
	trap - EXIT INT TERM
	if [ -n "$daemon_pid" ]; then
		kill "$daemon_pid" 2>/dev/null || true
		wait "$daemon_pid" 2>/dev/null || true
	fi
	if [ -n "${KEEP:-}" ]; then
		echo "The report is in $work/state/reports/1: condprofctl report $work/state/reports/1"
	else
		rm -rf "$work"
	fi
	exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
CONDPROF_SOCKET=$work/control.sock
export CONDPROF_SOCKET
: > "$work/condprofd.conf"

title() { printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }

"$daemon" --config "$work/condprofd.conf" --state-dir "$work/state" 2>"$work/log" &
daemon_pid=$!
tries=0
until "$client" -q status >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ] || ! kill -0 "$daemon_pid" 2>/dev/null; then
		echo 'demo: the daemon did not come up; it said:' >&2
		cat "$work/log" >&2
		exit 1
	fi
	sleep 0.1
done

title 'condprofctl start press-line.yaml --wait     (67 recorded pictures, ten passes a second: seven seconds)'
"$client" start "$demo/press-line.yaml" --wait
title 'condprofctl report'
"$client" report
title 'condprofctl report --view conditions'
"$client" report --view conditions
title 'condprofctl report --view timeline --limit 6'
"$client" report --view timeline --limit 6
docs=${demo%/demo}
cat <<T

What to see in it: "error icon" is searched for on the whole screen in every pass and never found; it takes most of all
condition time. "restart button" stands behind it and was never reached. "panel" is looked at in every pass and costs
next to nothing.

Next, on a live screen, from here and without installing anything:
  $client check $demo/press-line.yaml
      says what it understood; more scenarios are in $docs/examples
  man -l $docs/condprof-scenario.5
      every key of a scenario: write your own, SCENARIO.yaml
  $daemon &
  $client start SCENARIO.yaml --screen x11:${DISPLAY:-:0} --dry-run --wait --duration 20s
      looks at the display and only records what it would do
  $client report --view timeline
      what that was
As a service:
  sudo make install && sudo systemd-sysusers && sudo systemctl enable --now condprofd
T
