#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A locked console: the whole screen red until somebody types what opens it, then green. What was typed wrongly is kept.
printf '\033[?25l\033[41m\033[2J\033[H'
while IFS= read -r line; do
	if [ "$line" = 'Open, Sesame 42!' ]; then
		printf '\033[42m\033[2J\033[H'
	else
		printf '\033[41m\033[2J\033[H'
		printf '%s\n' "$line" >>/run/console.wrong
	fi
done
