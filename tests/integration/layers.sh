#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Layers look downwards only: a file may include only what its folder's row allows. docs/ARCHITECTURE.md tells why.
set -u
top=${top_srcdir:-.}

# folder: folders it may include, besides itself
rules='
proto:
daemon/log: proto
daemon/picture: proto
daemon/scenario: proto daemon/picture
daemon/detect: proto daemon/picture
daemon/recording: proto daemon/log daemon/picture
daemon/screen: proto daemon/log daemon/picture daemon/recording
daemon/input: proto daemon/log daemon/picture daemon/screen
daemon/report: proto daemon/log
daemon/secret: proto
daemon/engine: proto daemon/log daemon/picture daemon/scenario daemon/detect daemon/screen daemon/input daemon/report daemon/secret daemon/recording
daemon/system: proto daemon/log
daemon/bus: proto daemon/log
daemon/control: proto daemon/log daemon/picture daemon/scenario daemon/detect daemon/screen daemon/input daemon/report daemon/secret daemon/engine daemon/system daemon/bus
daemon: proto daemon/log daemon/detect daemon/screen daemon/input daemon/report daemon/system daemon/control
client/scenario: proto daemon/picture
client/report: proto
client/render: proto
client/trial: proto daemon/picture
client/view: proto client/report client/render client/scenario client/trial
client: proto daemon/picture client/scenario client/report client/render client/trial client/view
'

allowed() # folder: what it may include
{
	echo "$rules" | sed -n "s|^$1: *\(.*\)|$1 \1|p"
}

count=0
failed=0
for folder in $(echo "$rules" | sed -n 's/^\([^:]*\):.*/\1/p'); do
	count=$((count + 1))
	bad=
	for file in "$top/$folder"/*.c "$top/$folder"/*.h; do
		[ -e "$file" ] || continue
		for included in $(sed -n 's|^# *include "\(.*\)/[^/"]*".*|\1|p' "$file" | sort -u); do
			case " $(allowed "$folder") " in
			*" $included "*) ;;
			*) bad="$bad ${file#"$top"/}->$included" ;;
			esac
		done
	done
	if [ -z "$bad" ]; then
		echo "ok $count $folder looks downwards only"
	else
		failed=1
		echo "not ok $count $folder looks downwards only"
		echo "#$bad"
	fi
done

# A folder that no row covers is a layer nobody thought about.
count=$((count + 1))
unknown=
for folder in $(cd "$top" && find proto daemon client -name '*.c' -exec dirname {} + | sort -u); do
	echo "$rules" | grep -q "^$folder:" || unknown="$unknown $folder"
done
if [ -z "$unknown" ]; then
	echo "ok $count every folder has a row"
else
	failed=1
	echo "not ok $count every folder has a row"
	echo "# without one:$unknown"
fi
echo "1..$count"
exit $failed
