#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Records the demo's frames: a small desktop session under Xvfb with real programs. Needed only to make the pictures anew;
# after that the templates (*.png beside the scenario) must be cut again, see README.md here.
#   apt-get install xvfb openbox tint2 mousepad galculator zenity xterm x11-apps imagemagick xdotool pngquant x11-xserver-utils
#   docs/demo/record.sh OUTDIR
set -eu
# Desktop programs warn when root runs them.
if [ "$(id -u)" = 0 ]; then
	mkdir -p "$1"
	chown nobody: "$1"
	exec setpriv --reuid nobody --regid nogroup --clear-groups bash "$0" "$1"
fi
out=$(realpath -m "$1")
mkdir -p "$out"
home=$(mktemp -d)
export HOME=$home XDG_CONFIG_HOME=$home/.config XDG_CACHE_HOME=$home/.cache XDG_RUNTIME_DIR=$home/run NO_AT_BRIDGE=1
export GSETTINGS_BACKEND=memory LANG=C.UTF-8 TZ=UTC GTK_THEME=Adwaita GTK_OVERLAY_SCROLLING=0
mkdir -p "$XDG_CONFIG_HOME/tint2" "$XDG_CONFIG_HOME/gtk-3.0" -m 700 "$XDG_RUNTIME_DIR"
printf '[Settings]\ngtk-enable-animations=false\ngtk-cursor-blink=false\n' > "$XDG_CONFIG_HOME/gtk-3.0/settings.ini"
mkdir -p "$XDG_CONFIG_HOME/fontconfig"
cat > "$XDG_CONFIG_HOME/fontconfig/fonts.conf" <<'T'
<fontconfig><match target="pattern"><edit name="rgba" mode="assign"><const>none</const></edit></match></fontconfig>
T
pids=()
cleanup()
{
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$home"
}
trap cleanup EXIT
run()
{
	"$@" >>"$home/log" 2>&1 &
	pids+=($!)
}
exec 3> >(cat > "$home/display"); Xvfb -displayfd 3 -screen 0 1280x720x24 -nolisten tcp -noreset >"$home/xvfb" 2>&1 &
pids+=($!)
exec 3>&-
until [ -s "$home/display" ]; do sleep 0.1; done
DISPLAY=:$(cat "$home/display")
export DISPLAY
window() { xdotool search --sync --onlyvisible --name "$1" 2>/dev/null | tail -n 1; }
place() { xdotool windowmove --sync "$1" "$2" "$3"; [ $# -lt 5 ] || xdotool windowsize --sync "$1" "$4" "$5"; }
n=0
frame() # COUNT: keeps pictures, a quarter of a second apart
{
	for _ in $(seq "$1"); do
		n=$((n + 1))
		import -silent -window root -depth 8 "$(printf '%s/%03d.png' "$out" "$n")"
		sleep 0.1
	done
}

xsetroot -solid '#2e5266'
cat > "$XDG_CONFIG_HOME/tint2/tint2rc" <<'T'
rounded = 0
background_color = #1f2a33 100
border_width = 0
panel_items = TC
panel_position = bottom center horizontal
panel_size = 100% 30
panel_background_id = 1
taskbar_mode = single_desktop
task_text = 1
task_icon = 1
task_maximum_size = 210 30
task_font = DejaVu Sans 9
task_font_color = #dfe6ea 100
time1_format = %H:%M
time1_font = DejaVu Sans Bold 10
clock_font_color = #ffffff 100
T
run openbox
run tint2 -c "$XDG_CONFIG_HOME/tint2/tint2rc"
log=$home/press-line.log
printf '%s\n' 'press line 4: log of the shift' '' > "$log"
run xterm -T 'press line 4' -geometry 80x24+20+20 -fa 'DejaVu Sans Mono' -fs 10 -bg '#101418' -fg '#c8d0d4' -e tail -f "$log"
run mousepad --disable-server
run galculator
xterm=$(window 'press line 4'); place "$xterm" 24 24
notes=$(window 'ousepad'); place "$notes" 700 40 540 360
calc=$(window 'galculator'); place "$calc" 720 430
line() { printf '10:%02d:%02d  part %04d  force %d.%d kN  ok\n' $((n / 60)) $((n % 60)) $((2200 + n)) $((40 + n % 7)) $((n * 3 % 10)) >> "$log"; }
type_notes() { xdotool windowfocus --sync "$notes"; xdotool type --delay 12 "$1"; }
question() # TITLE TEXT: a real dialog
{
	zenity --question --title "$1" --text "$2" --ok-label 'Install now' --cancel-label 'Later' --width 360 >>"$home/log" 2>&1 &
	dialog_pid=$!
	pids+=("$dialog_pid")
	dialog=$(window "$1"); place "$dialog" "$3" "$4"; sleep 0.3
}
for i in 1 2 3; do line; done
sleep 1
frame 4
for i in 1 2 3 4; do line; type_notes "check die $i, "; frame 2; done
question 'Software update' 'An update is ready. Install it now? The line will stop.' 430 250
frame 3
xdotool windowfocus --sync "$dialog"; xdotool key Escape; wait "$dialog_pid" 2>/dev/null || true; sleep 0.2
for i in 1 2 3 4 5 6 7; do line; frame 2; done
for x in 690 640 590 540 490 440; do place "$calc" $x $((430 - (690 - x) / 4)); frame 1; done
xdotool windowraise "$calc"
xdotool windowfocus --sync "$calc"; xdotool type --delay 30 '4711*3='; sleep 0.3
frame 2
for i in 1 2 3 4 5 6 7 8; do line; frame 2; done
printf '10:%02d:%02d  part %04d  force 71.2 kN  REJECTED, die too hot\n' 0 $n $((2200 + n)) >> "$log"
frame 2
type_notes 'one reject. '
question 'Software update' 'An update is ready. Install it now? The line will stop.' 300 180
frame 3
xdotool windowfocus --sync "$dialog"; xdotool key Escape; wait "$dialog_pid" 2>/dev/null || true; sleep 0.2
for i in 1 2 3 4 5 6; do line; type_notes "$i "; frame 1; done
zenity --info --title 'Shift end' --text 'The shift is over. The line may be switched off.' --width 320 >>"$home/log" 2>&1 &
pids+=($!)
dialog=$(window 'Shift end'); place "$dialog" 460 280; sleep 0.3
frame 4
# 256 colours a picture keep all of them below 3 MB.
pngquant --nofs --speed 1 --ext .png --force 256 "$out"/*.png
du -sh "$out"
