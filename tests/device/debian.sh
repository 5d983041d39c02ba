#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes Debian trees, and a disk and an initrd out of them, for `make check-deb` and `make check-device`. Needs root.
#   debian.sh base FOLDER                  minimal Debian
#   debian.sh machine BASE FOLDER          the same with systemd, a kernel, sshd, an X server
#   debian.sh copy FROM TO                 a tree that may be spoiled
#   debian.sh install TREE DEB [OPTION…]   by apt in the tree, with what it depends on
#   debian.sh depends TREE DEB             only what it depends on and recommends, for an apt without a network
#   debian.sh boot TREE FOLDER             FOLDER/disk.img, FOLDER/vmlinuz, FOLDER/initrd; no loop mounts
#   debian.sh version DEB VERSION OUT.deb [SED-SCRIPT]
#                                          the package with another version, and its configuration file edited
#
# What takes minutes (base, machine) is made once: a FOLDER that is there is left alone, a machine that is older than this file
# is made anew. It appears when it is complete.
# Packages come from where this machine's apt gets them, or from CONDPROF_MIRROR.
set -eu
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

die()
{
	echo "debian.sh: $*" >&2
	exit 1
}

say() { echo "# $*"; }

need() # PROGRAM:PACKAGE…: installs what is missing, or says what that is
{
	missing=
	for program; do
		command -v "${program%%:*}" >/dev/null || missing="$missing ${program#*:}"
	done
	[ -n "$missing" ] || return 0
	say "installing$missing"
	# shellcheck disable=SC2086  # words on purpose
	apt-get install -y -q --no-install-recommends $missing >/dev/null || die "these packages are missing:$missing"
}

suite=bookworm

mirror()
{
	[ -z "${CONDPROF_MIRROR:-}" ] || {
		echo "$CONDPROF_MIRROR"
		return
	}
	found=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
		sed -n "s/ $suite main\$//p" | head -n 1)
	echo "${found:-http://deb.debian.org/debian}"
}

in_tree() # TREE COMMAND…, in an environment of its own
{
	tree=$1
	shift
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		chroot "$tree" "$@"
}

base()
{
	[ ! -d "$1" ] || return 0
	need debootstrap:debootstrap
	say "debootstrap $suite from $(mirror)"
	rm -rf "$1.new"
	debootstrap --variant=minbase "$suite" "$1.new" "$(mirror)" >"$1.log" 2>&1 || {
		tail -n 20 "$1.log" "$1.new/debootstrap/debootstrap.log" 2>/dev/null
		die "debootstrap failed; its log is $1.log"
	}
	mv "$1.new" "$1"
}

copy()
{
	rm -rf "$2"
	cp -a --reflink=auto "$1" "$2"
}

# Drivers of hardware that QEMU does not show here; a fifth of the tree's size.
unused='kernel/drivers/net/wireless kernel/drivers/net/ethernet kernel/drivers/media kernel/drivers/gpu/drm/amd
	kernel/drivers/gpu/drm/i915 kernel/drivers/gpu/drm/nouveau kernel/drivers/gpu/drm/radeon kernel/drivers/infiniband
	kernel/drivers/staging kernel/drivers/scsi kernel/drivers/iio kernel/sound kernel/fs/xfs kernel/fs/btrfs'

# In a process of its own, so that the first failure ends it.
fill()
{
	in_tree "$1" apt-get update -q
	in_tree "$1" apt-get install -y -q --no-install-recommends systemd systemd-sysv udev dbus openssh-server kmod \
		busybox-static iproute2 xvfb xauth x11-xserver-utils
	# Unpacked instead of installed: that would make an initrd with everything in it, which takes its time to make and
	# four times as long to boot.
	kernel=$(in_tree "$1" apt-cache depends --important linux-image-amd64 |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	in_tree "$1" sh -c "mkdir /tmp/kernel && cd /tmp/kernel && apt-get download $kernel && dpkg-deb -x linux-image-*.deb ."
	mv "$1"/tmp/kernel/boot/* "$1/boot/"
	mv "$1/tmp/kernel/lib/modules" "$1/usr/lib/modules"
	rm -rf "$1/tmp/kernel"
	modules=$(echo "$1"/usr/lib/modules/*)
	for folder in $unused; do
		rm -rf "${modules:?}/$folder"
	done
	in_tree "$1" depmod "${modules##*/}"
	in_tree "$1" apt-get clean
}

machine()
{
	[ ! "$2" -nt "$0" ] || return 0
	say 'a tree with systemd, sshd, a kernel and an X server'
	copy "$1" "$2.new"
	sh "$0" fill "$2.new" >"$2.log" 2>&1 || {
		tail -n 20 "$2.log"
		die "the tree was not made; the log is $2.log"
	}
	rm -rf "$2"
	touch "$2.new"
	mv "$2.new" "$2"
}

# The archives that were needed once are kept beside the tree.
with_archives() # TREE APT-GET-COMMAND…
{
	tree=$1
	shift
	archives=$(dirname "$tree")/archives
	mkdir -p "$archives"
	cp "$archives"/*.deb "$tree/var/cache/apt/archives/" 2>/dev/null || true
	[ -n "$(find "$tree/var/lib/apt/lists" -name '*_Packages*' -print -quit)" ] || in_tree "$tree" apt-get update -q
	in_tree "$tree" apt-get -y -q --no-install-recommends "$@"
	cp "$tree"/var/cache/apt/archives/*.deb "$archives/" 2>/dev/null || true
	rm -f "$tree"/var/cache/apt/archives/*.deb
}

install_package()
{
	tree=$1 package=$2
	shift 2
	cp "$package" "$tree/tmp/package.deb"
	with_archives "$tree" --allow-downgrades "$@" install /tmp/package.deb
	rm -f "$tree/tmp/package.deb"
}

install_depends()
{
	with_archives "$1" satisfy "$(dpkg-deb -f "$2" Depends)" "$(dpkg-deb -f "$2" Recommends)"
}

# Just what finds the disk: the stock one has its own udev and takes twice as long to boot by software emulation.
initrd()
{
	tree=$1 out=$2 root=$2.tree
	modules=$(echo "$tree"/lib/modules/*)
	version=${modules##*/}
	rm -rf "$root"
	mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/root" "$root/modules"
	cp "$tree/bin/busybox" "$root/bin/busybox"
	ln -s busybox "$root/bin/sh"
	number=10
	for module in virtio_pci virtio_blk ext4; do
		for file in $(in_tree "$tree" modprobe --set-version "$version" --show-depends "$module" | sed -n 's/^insmod //p'); do
			[ -z "$(find "$root/modules" -name "*-${file##*/}")" ] || continue
			cp "$tree/$file" "$root/modules/$number-${file##*/}"
			number=$((number + 1))
		done
	done
	cat >"$root/init" <<'EOF'
#!/bin/sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
for module in /modules/*; do /bin/busybox insmod "$module"; done
n=0
until /bin/busybox mount -t ext4 /dev/vda /root 2>/dev/null; do
	n=$((n + 1))
	[ $n -lt 300 ] || { echo 'initrd: no /dev/vda'; exec /bin/busybox poweroff -f; }
	/bin/busybox usleep 100000
done
for folder in proc sys dev; do /bin/busybox mount --move /$folder /root/$folder; done
exec /bin/busybox switch_root /root /lib/systemd/systemd
EOF
	chmod +x "$root/init"
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$out"
	rm -rf "$root"
}

boot()
{
	tree=$1 folder=$2
	need mke2fs:e2fsprogs cpio:cpio
	mkdir -p "$folder"
	initrd "$tree" "$folder/initrd"
	cp "$tree"/boot/vmlinuz-* "$folder/vmlinuz"
	rm -f "$folder/disk.img"
	megabytes=$(($(du -sxm "$tree" | cut -f1) + 512))
	mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=1 -d "$tree" "$folder/disk.img" "${megabytes}M"
}

other_version()
{
	folder=$3.tree
	rm -rf "$folder"
	dpkg-deb -R "$1" "$folder"
	sed -i "s/^Version: .*/Version: $2/" "$folder/DEBIAN/control"
	[ -z "${4:-}" ] || sed -i "$4" "$folder/etc/condprof/condprofd.conf"
	(cd "$folder" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | sort | xargs md5sum >DEBIAN/md5sums)
	dpkg-deb --root-owner-group -b "$folder" "$3" >/dev/null
	rm -rf "$folder"
}

[ "$(id -u)" = 0 ] || die 'a tree of Debian is made by root: run this as root'
[ $# -ge 2 ] || die 'usage: see the head of this file'
command=$1
shift
case $command in
base) base "$@" ;;
machine) machine "$@" ;;
fill) fill "$@" ;; # only for machine
copy) copy "$@" ;;
install) install_package "$@" ;;
depends) install_depends "$@" ;;
boot) boot "$@" ;;
version) other_version "$@" ;;
*) die "unknown command $command" ;;
esac
