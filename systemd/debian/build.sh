#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the Debian package out of a release tarball: build.sh TARBALL VERSION OUTPUT-FOLDER
#
# The top of the project's tree has no debian/: it is put there here, in a source tree unpacked for the purpose, with a
# changelog of one entry. Lintian has the last word; with CONDPROF_NO_LINTIAN=1 nobody asks it.
set -eu

die()
{
	echo "build.sh: $*" >&2
	exit 1
}

[ $# = 3 ] || die 'usage: build.sh TARBALL VERSION OUTPUT-FOLDER'
tarball=$(realpath "$1") version=$2 output=$3
missing=
for program in dpkg-buildpackage:dpkg-dev dh:debhelper lintian:lintian fakeroot:fakeroot; do
	command -v "${program%%:*}" >/dev/null || missing="$missing ${program#*:}"
done
if [ -n "$missing" ]; then
	[ "$(id -u)" = 0 ] || die "these packages are missing: apt-get install$missing"
	# shellcheck disable=SC2086  # words on purpose
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
fi

# 1.2.0-34-gabcdef, 34 commits after 1.2.0, is newer than it: in Debian a - would begin the packaging's own revision.
version=$(echo "$version" | sed 's/-\([0-9][0-9]*\)-g/+\1.g/; s/-/+/g')
rm -rf "$output"
mkdir -p "$output/source"
tar -xf "$tarball" -C "$output/source" --strip-components=1
cp -R "$output/source/systemd/debian" "$output/source/debian"
rm "$output/source/debian/build.sh"
cat >"$output/source/debian/changelog" <<EOF
condprof ($version) unstable; urgency=medium

  * Built from the project's own tree; its history has the changes.

 -- $(sed -n 's/^Maintainer: //p' "$output/source/debian/control")  $(date -R -u -r "$tarball")
EOF

cd "$output/source"
DEB_BUILD_OPTIONS="nocheck parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}" DEB_BUILD_PROFILES="nocheck ${DEB_BUILD_PROFILES:-}" \
	dpkg-buildpackage -us -uc -b >../build.log 2>&1 || {
	tail -n 60 ../build.log
	die "the package was not built; the whole log is $output/build.log"
}
cd ..
if [ -z "${CONDPROF_NO_LINTIAN:-}" ]; then
	lintian --allow-root --fail-on error,warning --info --tag-display-limit 0 ./*.changes
fi
rm -rf source
ls "$PWD"/*.deb
