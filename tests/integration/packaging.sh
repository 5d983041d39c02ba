#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the Debian package is made from fits what it is made of: a package that bootstrap installs to build or test stands in
# the build dependencies too. Whether the package is any good is for `make deb` and `make check-deb` to say.
set -u
cd "${top_srcdir:-.}" || exit 1
echo 1..2

words_of()
{
	awk -v name="$1='" 'index($0, name) == 1 { $0 = substr($0, length(name) + 1); on = 1 }
		on { last = sub(/\047$/, ""); print; if (last) exit }' bootstrap | tr -s ' \t' '\n\n' | sed '/^$/d'
}

# debhelper brings the tools that make configure.
missing=
for package in $(words_of build); do
	case $package in build-essential | autoconf | automake) continue ;; esac
	grep -qx " $package,\{0,1\}" systemd/debian/control || missing="$missing $package"
done
[ -n "$(words_of build)" ] && [ -z "$missing" ] || printf 'not '
echo "ok 1 - packages to build with${missing:+: missing in systemd/debian/control:$missing}"

missing=
for package in $(words_of tests); do
	grep -qx " $package <!nocheck>,\{0,1\}" systemd/debian/control || missing="$missing $package"
done
[ -n "$(words_of tests)" ] && [ -z "$missing" ] || printf 'not '
echo "ok 2 - packages to test with${missing:+: missing in systemd/debian/control, with <!nocheck>:$missing}"
