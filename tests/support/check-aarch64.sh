#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `make check-aarch64`: builds the unit tests of detection for 64-bit ARM with Debian's cross compiler and runs them under
# qemu's user emulation, once with NEON dot products and once on a CPU without. Libraries come from Debian's arm64
# packages, unpacked into a folder of the build tree; nothing is installed.
#   check-aarch64.sh SRCDIR BUILDDIR
set -eu
srcdir=$(cd "$1" && pwd)
work=$2/aarch64
host=aarch64-linux-gnu
sysroot=$work/sysroot
packages='libevent-dev libprotobuf-c-dev libsystemd-dev libyaml-dev libjson-c-dev libpng-dev libxkbcommon-dev
	libxxhash-dev check libsubunit-dev libc6-dev'
tests='tests/unit/check_detect tests/unit/check_detect_kernels tests/unit/check_detect_memory
	tests/unit/check_detect_random'

for tool in $host-gcc qemu-aarch64-static apt-get dpkg-deb; do
	command -v "$tool" >/dev/null && continue
	echo "check-aarch64: $tool is missing: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static" >&2
	exit 1
done

apt()
{
	apt-get -q -o Dir::State="$work/apt" -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt/cache" \
		-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
}

unpack()
{
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$sysroot"
	: >"$work/apt/status"
	apt update
	# shellcheck disable=SC2086  # words on purpose
	apt install -y --no-install-recommends --download-only $packages
	for package in "$work"/apt/cache/archives/*.deb; do
		dpkg-deb -x "$package" "$sysroot"
	done
	touch "$sysroot/complete"
}

mkdir -p "$work"
work=$(cd "$work" && pwd)
sysroot=$work/sysroot
[ -f "$sysroot/complete" ] || unpack

mkdir -p "$work/build"
cd "$work/build"
PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$host/pkgconfig:$sysroot/usr/share/pkgconfig
PKG_CONFIG_SYSROOT_DIR=$sysroot
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
[ -f Makefile ] || "$srcdir/configure" --host=$host --with-x11=no --with-opencv=no --enable-werror \
	CC="$host-gcc --sysroot=$sysroot" CPPFLAGS='-DCROPS=200 -DSTEPS=2000' >configure.log 2>&1 || {
	tail -20 configure.log >&2
	exit 1
}
# shellcheck disable=SC2086
make -s -j"$(nproc)" $tests

for cpu in max cortex-a53; do
	echo "== qemu -cpu $cpu"
	for test in $tests; do
		top_srcdir=$srcdir CK_DEFAULT_TIMEOUT=600 qemu-aarch64-static -cpu $cpu -L "$sysroot" "./$test"
	done
done
