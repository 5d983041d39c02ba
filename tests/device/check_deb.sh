#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The Debian package in a minimal Debian tree: installed, upgraded, removed, installed again, purged. No systemd runs in
# there, so the daemon is started by hand; how the service takes all this is for `make check-device` to see.
#   check_deb.sh PACKAGE.deb FOLDER     needs root; FOLDER keeps the tree that takes minutes to make
# Speaks TAP, and ends with 1 when something is not ok.
set -u
export LC_ALL=C.UTF-8
here=$(dirname "$0") package=$1 folder=$2
tree=$folder/deb-tree
count=0 failed=0
[ "$(id -u)" = 0 ] || {
	echo 'check_deb.sh: a tree of Debian is made by root: run `make check-deb` as root' >&2
	exit 1
}
mkdir -p "$folder"

debian() { sh "$here/debian.sh" "$@"; }
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$tree" "$@"; }

say() { # RESULT NAME
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		[ ! -s "$folder/said" ] || sed 's/^/# /' "$folder/said" | tail -n 30
		echo "not ok $count - $2"
	fi
}

check() # NAME COMMAND…
{
	name=$1
	shift
	"$@" >"$folder/said" 2>&1
	say $? "$name"
}

refused() { ! "$@"; }
same() { [ "$1" = "$2" ] || { echo "got $1, wanted $2"; false; }; }
configuration() { inside cat /etc/condprof/condprofd.conf; }
named_condprof() { inside find / -xdev -name '*condprof*' ! -path '/proc/*' ! -path '/var/log/*' ! -path '/tmp/*'; }

daemon_pid=
start_daemon()
{
	mkdir -p "$tree/run/condprof" && inside chown condprof: /run/condprof
	# Only it sees this /proc, which it needs to tell where a folder really is.
	unshare --mount sh -c 'mount -t proc proc "$1/proc" && exec env -i PATH=/usr/sbin:/usr/bin chroot "$1" setpriv --reuid \
		condprof --regid condprof --clear-groups condprofd --state-dir /var/lib/condprof --socket /run/condprof/control.sock' \
		sh "$tree" >"$folder/daemon.log" 2>&1 &
	daemon_pid=$!
	inside timeout 60 sh -c 'until condprofctl -q status >/dev/null 2>&1; do sleep 0.1; done'
}
stop_daemon()
{
	[ -z "$daemon_pid" ] || kill "$daemon_pid"
	wait "$daemon_pid"
	daemon_pid=
}
trap 'stop_daemon 2>/dev/null' EXIT

debian base "$folder/base" && debian copy "$folder/base" "$tree" || exit 1
version=$(dpkg-deb -f "$package" Version)
debian version "$package" "$version~before" "$folder/before.deb" 's/^# What is kept.*/# An older remark./' || exit 1
debian version "$package" "$version+next" "$folder/next.deb" 's/^# What is kept.*/# A newer remark./' || exit 1

# --- a fresh system
check 'an older version installs' debian install "$tree" "$folder/before.deb"
mv "$folder/said" "$folder/said.install"
check 'without complaints of its scripts' refused grep -iE 'error|fail|cannot|unknown|dpkg: warning' "$folder/said.install"
check 'its user is there' inside getent passwd condprof
check 'the daemon is enabled' inside sh -c 'test -L /etc/systemd/system/multi-user.target.wants/condprofd.service &&
	test -L /etc/systemd/system/sockets.target.wants/condprofd.socket'
check 'no scenario is' refused inside sh -c 'ls /etc/systemd/system/*.wants/condprof-scenario*'
check 'both programs run' inside sh -c 'condprofd --version && condprofd --check-config && condprofctl --version'
check 'manual pages and completion are there' inside sh -c 'cd /usr/share && ls zsh/vendor-completions/_condprofctl \
	fish/vendor_completions.d/condprofctl.fish bash-completion/completions/condprofctl man/man8/condprofd.8.gz \
	man/man1/condprofctl.1.gz man/man5/condprofd.conf.5.gz man/man5/condprof-scenario.5.gz'

# --- something to keep
mkdir -p "$tree/var/lib/condprof" "$tree/srv/condprof" && inside chown condprof: /var/lib/condprof
cp -R "$tree/usr/share/condprof/overhead/frames" "$tree/srv/condprof/frames"
cat >"$tree/root/kiosk.yaml" <<'EOF'
scenario: kiosk
screen: replay:/srv/condprof/frames
screen-events:
  - event: black
    conditions: [{color: "#000000", area: [0, 0, 8, 8]}]
EOF
check 'the daemon starts' start_daemon
check 'a session runs' inside condprofctl start /root/kiosk.yaml --passes 3 --rate unlimited --wait
check 'a scenario is installed' inside condprofctl install /root/kiosk.yaml
check 'the daemon stops' stop_daemon

# --- upgrades
check 'this version upgrades it' debian install "$tree" "$package"
check 'a configuration nobody changed is the new one' same "$(configuration | md5sum)" \
	"$(dpkg-deb --fsys-tarfile "$package" | tar -xO ./etc/condprof/condprofd.conf | md5sum)"
sed -i 's/^#max-reports.*/max-reports = 777/' "$tree/etc/condprof/condprofd.conf"
mkdir -p "$tree/etc/condprof/condprofd.conf.d" && echo 'log-level = debug' >"$tree/etc/condprof/condprofd.conf.d/mine.conf"
check 'a newer one upgrades it, with a changed configuration' debian install "$tree" "$folder/next.deb" \
	-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold
check "the administrator's configuration stays" grep -qx 'max-reports = 777' "$tree/etc/condprof/condprofd.conf"
check 'the new one lies beside it' grep -q 'A newer remark' "$tree/etc/condprof/condprofd.conf.dpkg-dist"
check 'the daemon starts again' start_daemon
check 'the report is there' inside condprofctl report 1 --json
check 'the scenario is there' same "$(inside condprofctl --output csv scenarios | cut -d, -f1 | tail -n 1)" kiosk
check 'the daemon stops again' stop_daemon

# --- away, and back
check 'it is removed' inside dpkg -r condprof
check 'the programs and units are gone' inside sh -c '! ls /usr/bin/condprof* /usr/sbin/condprof* /lib/systemd/system/condprof* 2>/dev/null'
check 'reports and configuration are not' inside sh -c 'test -s /var/lib/condprof/reports/1/overview.pb &&
	grep -qx "max-reports = 777" /etc/condprof/condprofd.conf'
check 'it comes back' debian install "$tree" "$folder/next.deb" -o Dpkg::Options::=--force-confold
check 'the daemon starts once more' start_daemon
check 'the report is there still' inside condprofctl report 1 --json
check 'the daemon stops once more' stop_daemon
check 'it is removed again' inside dpkg -r condprof
check 'it is purged' inside dpkg -P condprof
check "nothing is left but the administrator's" same "$(named_condprof | sort | tr '\n' ' ')" \
	'/etc/condprof /etc/condprof/condprofd.conf.d /srv/condprof '
check 'a purged one installs and purges without having run' sh -c "sh '$here/debian.sh' install '$tree' '$package' &&
	chroot '$tree' dpkg -P condprof"

echo "1..$count"
rm -rf "$tree" "$folder/said" "$folder/said.install" "$folder/before.deb" "$folder/next.deb"
[ "$failed" = 0 ]
