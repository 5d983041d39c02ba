// SPDX-License-Identifier: GPL-3.0-or-later
/// Key combinations: names are those of xkbcommon, which knows some 2,300; only the handful that people call otherwise
/// is listed here. Needs no keyboard layout and no display.
#include "proto/keys.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <xkbcommon/xkbcommon.h>

#define KEY_NAME_MAX 64U

/// Modifiers by their common names: the left key is meant.
static const struct modifier {
	const char *name;
	uint32_t keysym;
} modifiers[] = {
	{"ctrl", XKB_KEY_Control_L}, {"control", XKB_KEY_Control_L}, {"alt", XKB_KEY_Alt_L},
	{"shift", XKB_KEY_Shift_L},  {"super", XKB_KEY_Super_L},     {"meta", XKB_KEY_Meta_L},
};

/// What keys are called elsewhere. Not accepted, but named in the error.
static const struct synonym {
	const char *name, *right;
} synonyms[] = {
	{"enter", "Return"},
	{"esc", "Escape"},
	{"del", "Delete"},
	{"ins", "Insert"},
	{"pgup", "Page_Up"},
	{"pageup", "Page_Up"},
	{"pgdn", "Page_Down"},
	{"pgdown", "Page_Down"},
	{"pagedown", "Page_Down"},
	{"win", "super"},
	{"windows", "super"},
	{"cmd", "super"},
	{"command", "super"},
	{"option", "alt"},
	{"altgr", "ISO_Level3_Shift"},
	{"spacebar", "space"},
	{"bksp", "BackSpace"},
	{"back", "BackSpace"},
	{"printscreen", "Print"},
	{"prtsc", "Print"},
	{"capslock", "Caps_Lock"},
	{"numlock", "Num_Lock"},
	{"scrolllock", "Scroll_Lock"},
	{"dash", "minus"},
	{"dot", "period"},
	{"backtick", "grave"},
	{"quote", "apostrophe"},
	{"tilde", "asciitilde"},
	{"caret", "asciicircum"},
	{"hash", "numbersign"},
	{"pound", "numbersign"},
	{"arrowup", "Up"},
	{"arrowdown", "Down"},
	{"arrowleft", "Left"},
	{"arrowright", "Right"},
	{"volumeup", "XF86AudioRaiseVolume"},
	{"volumedown", "XF86AudioLowerVolume"},
	{"mute", "XF86AudioMute"},
};

/// The names worth suggesting for a slip of the pen: xkbcommon can't list its own.
static const char *const usual_names[] = {
	"ctrl",
	"control",
	"alt",
	"shift",
	"super",
	"meta",
	"Return",
	"Escape",
	"Tab",
	"BackSpace",
	"Delete",
	"Insert",
	"Home",
	"End",
	"Page_Up",
	"Page_Down",
	"Left",
	"Right",
	"Up",
	"Down",
	"space",
	"Print",
	"Pause",
	"Menu",
	"Caps_Lock",
	"Num_Lock",
	"Scroll_Lock",
	"Control_L",
	"Control_R",
	"Alt_L",
	"Alt_R",
	"Shift_L",
	"Shift_R",
	"Super_L",
	"Super_R",
	"Meta_L",
	"Meta_R",
	"ISO_Level3_Shift",
	"F10",
	"F11",
	"F12",
	"KP_Enter",
	"KP_Add",
	"KP_Subtract",
	"KP_Multiply",
	"KP_Divide",
	"plus",
	"minus",
	"period",
	"comma",
	"slash",
	"backslash",
	"semicolon",
	"colon",
	"apostrophe",
	"quotedbl",
	"grave",
	"asciitilde",
	"asciicircum",
	"numbersign",
	"dollar",
	"percent",
	"ampersand",
	"asterisk",
	"parenleft",
	"parenright",
	"bracketleft",
	"bracketright",
	"braceleft",
	"braceright",
	"less",
	"greater",
	"equal",
	"question",
	"exclam",
	"at",
	"bar",
	"underscore",
	"XF86AudioMute",
	"XF86AudioRaiseVolume",
	"XF86AudioLowerVolume",
	"XF86AudioPlay",
	"XF86Back",
	"XF86HomePage",
};

/// Another spelling that is another key, so that only the exact one will do: eacute and Eacute.
static bool has_other_case(xkb_keysym_t keysym)
{
	return xkb_keysym_to_lower(keysym) != keysym || xkb_keysym_to_upper(keysym) != keysym;
}

static uint32_t keysym_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(modifiers); i++)
		if (strcasecmp(name, modifiers[i].name) == 0)
			return modifiers[i].keysym;
	xkb_keysym_t keysym = xkb_keysym_from_name(name, XKB_KEYSYM_NO_FLAGS);

	if (keysym == XKB_KEY_NoSymbol) {
		keysym = xkb_keysym_from_name(name, XKB_KEYSYM_CASE_INSENSITIVE);
		if (has_other_case(keysym))
			keysym = XKB_KEY_NoSymbol;
	}
	if (keysym >= 0x01000100 && keysym <= 0x0110ffff) // U20AC: keyboards have the key by its name, EuroSign
		keysym = xkb_utf32_to_keysym(keysym - 0x01000000);
	return keysym == XKB_KEY_VoidSymbol ? XKB_KEY_NoSymbol : keysym;
}

/// The name of the key that gives a single character, as in "." → period.
static bool name_of_character(const char *text, char *ret, size_t size)
{
	uint32_t code_point = 0;
	size_t length = utf8_character(text, strlen(text), &code_point);
	xkb_keysym_t keysym = XKB_KEY_NoSymbol;

	if (length > 0 && text[length] == '\0')
		keysym = xkb_utf32_to_keysym(code_point);
	return keysym != XKB_KEY_NoSymbol && xkb_keysym_get_name(keysym, ret, size) > 0;
}

/// @return whether there is a name that was probably meant
static bool find_right_name(const char *name, char *ret, size_t size)
{
	if (name_of_character(name, ret, size))
		return true;
	const char *right = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(synonyms) && !right; i++)
		if (strcasecmp(name, synonyms[i].name) == 0)
			right = synonyms[i].right;
	xkb_keysym_t other_case = xkb_keysym_from_name(name, XKB_KEYSYM_CASE_INSENSITIVE);

	if (!right && other_case != XKB_KEY_NoSymbol && other_case != XKB_KEY_VoidSymbol &&
	    xkb_keysym_get_name(other_case, ret, size) > 0)
		return true;
	if (!right)
		right = nearest_word(name, usual_names, ARRAY_SIZE(usual_names));
	return right && snprintf(ret, size, "%s", right) > 0;
}

static int unknown_key(const char *name, struct error *error)
{
	char right[KEY_NAME_MAX];

	if (find_right_name(name, right, sizeof(right)))
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
				 "there is no key \"%s\"; did you mean \"%s\"?", error_quote(name).text, right);
	return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
			 "there is no key \"%s\"; keys have xkb names, such as a, F4, Return, Page_Up, plus",
			 error_quote(name).text);
}

static int add_key(struct key_combination *keys, const char *name, struct error *error)
{
	uint32_t keysym = keysym_by_name(name);

	if (keysym == XKB_KEY_NoSymbol)
		return unknown_key(name, error);
	for (uint32_t i = 0; i < keys->count; i++)
		if (keys->keysyms[i] == keysym)
			return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
					 "the key \"%s\" is in this combination twice", error_quote(name).text);
	if (keys->count == KEY_COMBINATION_MAX)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
				 "a combination has %u keys at the most; use several key actions", KEY_COMBINATION_MAX);
	keys->keysyms[keys->count++] = keysym;
	return 0;
}

/// Copies a part without the blanks around it. A part too long for a key name keeps enough to be quoted.
static void copy_part(char out[static KEY_NAME_MAX * 2], const char *text, size_t size)
{
	for (; size > 0 && *text == ' '; size--)
		text++;
	while (size > 0 && text[size - 1] == ' ')
		size--;
	snprintf(out, KEY_NAME_MAX * 2, "%.*s", (int)size, text);
}

int key_combination_parse(const char *text, struct key_combination *ret, struct error *error)
{
	struct key_combination keys = {.count = 0};
	char part[KEY_NAME_MAX * 2];

	if (strnlen(text, TEXT_MAX_BYTES + 1) > TEXT_MAX_BYTES)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
				 "a key combination has %u bytes at the most", TEXT_MAX_BYTES);
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, "+");

		copy_part(part, at, length);
		if (part[0] == '\0')
			return error_set(
				error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
				text[strspn(text, " ")] == '\0'
					? "a key is missing: write xkb names joined by +, such as alt+F4"
					: "a key is missing before or after a +; the plus key is called \"plus\"");
		int r = add_key(&keys, part, error);
		if (r < 0)
			return r;
		at += length;
		if (*at == '\0')
			break;
	}
	*ret = keys;
	return 0;
}
