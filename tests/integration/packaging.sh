#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the Debian package is made from fits what it is made of: a package that bootstrap installs to build or test stands in
# the build dependencies too, the pages that are installed have no link that leads nowhere, docs/DEPLOY.md no command that
# `make check-device` does not know, and the manual pages nothing that troff complains of. Whether the package is any good is for `make deb` and `make check-deb` to say.
set -u
build=$(realpath "${top_builddir:-.}")
cd "${top_srcdir:-.}" || exit 1
echo 1..5

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

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
env -u MAKEFLAGS make -s -C "$build" DESTDIR="$folder" \
	install-dist_docDATA install-dist_docsDATA install-dist_protodocDATA >"$folder/said" 2>&1 || sed 's/^/# /' "$folder/said"
count=0 broken=
for page in $(find "$folder" -name '*.md'); do
	for link in $(grep -o '\]([^)]*)' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '://'); do
		count=$((count + 1))
		[ -e "$(dirname "$page")/$link" ] || broken="$broken ${page##*/}:$link"
	done
done
[ "$count" -gt 10 ] && [ -z "$broken" ] || printf 'not '
echo "ok 3 - $count links of the installed pages${broken:+: these lead nowhere:$broken}"

if known=$(/usr/bin/python3 tests/device/deploy.py docs/DEPLOY.md 2>&1); then
	echo "ok 4 - all $(echo "$known" | grep -c ': check_\|: just_run\|: `') commands of docs/DEPLOY.md are tried"
else
	echo "not ok 4 - all commands of docs/DEPLOY.md are tried: $(echo "$known" | tail -n 1)"
fi

for page in docs/*.[158]; do
	MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | sed "s|<standard input>|$page|"
done >"$folder/said"
[ ! -s "$folder/said" ] || printf 'not '
echo "ok 5 - manual pages$(sed -n '1s/^/: /p' "$folder/said")"
