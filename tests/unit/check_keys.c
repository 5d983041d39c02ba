// SPDX-License-Identifier: GPL-3.0-or-later
/// Key combinations as people write them, and what they are told when they are wrong.
#include "proto/keys.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <string.h>
#include <xkbcommon/xkbcommon-keysyms.h>

static const struct {
	const char *text;
	uint32_t count, keysyms[4];
} right[] = {
	{"F4", 1, {XKB_KEY_F4}},
	{"alt+F4", 2, {XKB_KEY_Alt_L, XKB_KEY_F4}},
	{"ctrl+alt+Delete", 3, {XKB_KEY_Control_L, XKB_KEY_Alt_L, XKB_KEY_Delete}},
	{"Ctrl + ALT + delete", 3, {XKB_KEY_Control_L, XKB_KEY_Alt_L, XKB_KEY_Delete}},
	{"control+shift+super+meta", 4, {XKB_KEY_Control_L, XKB_KEY_Shift_L, XKB_KEY_Super_L, XKB_KEY_Meta_L}},
	{"a", 1, {XKB_KEY_a}},
	{"A", 1, {XKB_KEY_A}},
	{"plus", 1, {XKB_KEY_plus}},
	{"f12", 1, {XKB_KEY_F12}},
	{"eacute", 1, {XKB_KEY_eacute}},
	{"Eacute", 1, {XKB_KEY_Eacute}},
	{"U20AC", 1, {XKB_KEY_EuroSign}},
	{"KP_Enter", 1, {XKB_KEY_KP_Enter}},
	{"1", 1, {XKB_KEY_1}},
};

START_TEST(right_ones)
{
	struct key_combination keys;
	struct error error = {.message = ""};

	ck_assert_msg(key_combination_parse(right[_i].text, &keys, &error) == 0, "%s", error.message);
	ck_assert_uint_eq(keys.count, right[_i].count);
	ck_assert_mem_eq(keys.keysyms, right[_i].keysyms, keys.count * sizeof(keys.keysyms[0]));
}
END_TEST

static const struct {
	const char *text, *part, *hint;
} wrong[] = {
	{"", "missing", "alt+F4"},
	{"  ", "missing", "alt+F4"},
	{"ctrl+", "missing", "plus"},
	{"+", "missing", "plus"},
	{"ctrl++c", "missing", "plus"},
	{"enter", "\"enter\"", "\"Return\""},
	{"Esc", "\"Esc\"", "\"Escape\""},
	{"ctrl+pgup", "\"pgup\"", "\"Page_Up\""},
	{".", "\".\"", "\"period\""},
	{"ctrl+€", "\"€\"", "\"EuroSign\""},
	{"EACUTE", "\"EACUTE\"", "\"eacute\""},
	{"Escpae", "\"Escpae\"", "\"Escape\""},
	{"Retrun", "\"Retrun\"", "\"Return\""},
	{"crtl+c", "\"crtl\"", "\"ctrl\""},
	{"qwertyuiop", "\"qwertyuiop\"", "xkb names"},
	{"NoSymbol", "\"NoSymbol\"", "xkb names"},
	{"VoidSymbol", "\"VoidSymbol\"", "xkb names"},
	{"a+b+a", "\"a\"", "twice"},
	{"ctrl+Control_L", "\"Control_L\"", "twice"},
	{"a+b+c+d+e+f+g+h+i", "combination", "8 keys"},
	{"alt-F4", "\"alt-F4\"", "xkb names"},
};

START_TEST(wrong_ones)
{
	struct key_combination keys = {.count = 77};
	struct error error = {.message = ""};

	ck_assert_int_eq(key_combination_parse(wrong[_i].text, &keys, &error), -EINVAL);
	ck_assert_uint_eq(keys.count, 77);
	ck_assert_msg(strstr(error.message, wrong[_i].part) != NULL, "%s: %s", wrong[_i].text, error.message);
	ck_assert_msg(strstr(error.message, wrong[_i].hint) != NULL, "%s: %s", wrong[_i].text, error.message);
	ck_assert_int_eq(key_combination_parse(wrong[_i].text, &keys, NULL), -EINVAL);
}
END_TEST

START_TEST(very_long_ones)
{
	struct key_combination keys;
	struct error error;
	char many[6000];

	memset(many, 'x', sizeof(many));
	many[5999] = '\0';
	ck_assert_int_eq(key_combination_parse(many, &keys, &error), -EINVAL);
	many[3000] = '\0';
	ck_assert_int_eq(key_combination_parse(many, &keys, &error), -EINVAL);
	memset(many, '+', 3000);
	ck_assert_int_eq(key_combination_parse(many, &keys, &error), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("keys");
	TCase *tests = tcase_create("keys");

	tcase_add_loop_test(tests, right_ones, 0, (int)ARRAY_SIZE(right));
	tcase_add_loop_test(tests, wrong_ones, 0, (int)ARRAY_SIZE(wrong));
	tcase_add_test(tests, very_long_ones);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
