#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# embed.sh TEMPLATE.html STYLE.css SCRIPT.js: prints page.c, the page's frame as arrays. Style and script go into the
# template, and their digests into its Content-Security-Policy: so the browser runs this script, uses this style, and
# nothing that a report's names might smuggle in. The template's places are @STYLE@, @SCRIPT@, @STYLE_DIGEST@ and
# @SCRIPT_DIGEST@, and between @TITLE@, @BODY@ and @VERSION@, each on a line of its own, lie the arrays.
set -eu
template=$1 style=$2 script=$3

# SHA-256 in base64, as the policy wants it: three hexadecimal digits are two letters, and one is left over.
digest()
{
	{
		echo # the line break after the tag
		cat "$1"
	} | sha256sum | awk '
	function digit(text, place) { return index("0123456789abcdef", substr(text, place, 1)) - 1 }
	function letter(n) { return substr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", n + 1, 1) }
	{
		for (i = 1; i + 2 <= 64; i += 3) {
			n = 256 * digit($1, i) + 16 * digit($1, i + 1) + digit($1, i + 2)
			out = out letter(int(n / 64)) letter(n % 64)
		}
		print out letter(4 * digit($1, 64)) "="
	}'
}

page=$(mktemp)
trap 'rm -f "$page"' EXIT
style_digest=$(digest "$style")
script_digest=$(digest "$script")
sed -e "s|@STYLE_DIGEST@|sha256-$style_digest|; s|@SCRIPT_DIGEST@|sha256-$script_digest|" \
	-e "/^@STYLE@\$/{r $style
d
}" -e "/^@SCRIPT@\$/{r $script
d
}" "$template" >"$page"

part() # NAME FIRST LAST: the lines between two of the places
{
	echo "static const unsigned char $1_bytes[] = {"
	awk -v first="$2" -v last="$3" '
		last != "" && $0 == last { exit }
		on || first == "" { print }
		$0 == first { on = 1 }' "$page" | od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'
	printf '};\nconst struct page_part %s = {%s_bytes, sizeof(%s_bytes)};\n' "$1" "$1" "$1"
}

echo '// Made by embed.sh'
echo '#include "client/render/page.h"'
part page_before_title '' @TITLE@
part page_before_body @TITLE@ @BODY@
part page_before_version @BODY@ @VERSION@
part page_end @VERSION@ ''
