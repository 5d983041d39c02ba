#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tests that docs/debug-report-performance-timing.md names are there, under these names.
set -u
top=${top_srcdir:-.}
names=$(sed -n '/^## What holds it/,$p' "$top/docs/debug-report-performance-timing.md" | sed -n 's/^|.*|\([^|]*\)|$/\1/p' |
	tr ' ,' '\n\n' | sed -n 's/^`\([a-z_]*_[a-z_]*\)`$/\1/p' | sort -u)
count=0
failed=0

for name in $names; do
	count=$((count + 1))
	if grep -qE "^START_TEST\($name\)|^def $name\(" "$top"/tests/unit/*.c "$top"/tests/integration/*.py; then
		echo "ok $count $name is a test"
	else
		failed=1
		echo "not ok $count $name is a test"
	fi
done
if [ $count -lt 30 ]; then
	failed=1
	count=$((count + 1))
	echo "not ok $count the document names its tests"
fi
echo "1..$count"
exit $failed
