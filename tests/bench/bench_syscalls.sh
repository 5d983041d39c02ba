#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Counts the system calls of the engine's thread in 200 steady passes, between the marks that bench_engine --steady makes.
set -eu
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT

if ! command -v strace >/dev/null; then
	echo '  skipped: strace is missing'
	exit 0
fi
if ! strace -f -o "$trace" "${top_builddir:-.}/tests/bench/bench_engine" --steady; then
	echo '  skipped: strace does not work here'
	exit 0
fi
echo
echo 'system calls of the engine thread in 200 steady passes (report on)'
awk '
	/write\(-1, "steady begins"/ { thread = $1; counting = 1; next }
	/write\(-1, "steady ends"/ { counting = 0 }
	counting && $1 == thread && $2 != "<..." { sub(/\(.*/, "", $2); calls[$2]++ }
	END {
		for (call in calls)
			printf "  %-56s %14d\n", call, calls[call]
	}' "$trace"
