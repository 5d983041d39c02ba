// SPDX-License-Identifier: GPL-3.0-or-later
// The keymap is asked what it gives for every key under every set of modifiers we could hold, with what is locked now
// (Caps Lock, the group): that makes a table, and the table answers. It is made anew when what is locked changes.
#include "config.h"

#include "daemon/input/layout.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define MODIFIER_SETS (1U << LAYOUT_MODIFIERS)

struct entry {
	uint32_t keysym;
	uint8_t keycode, modifiers;
};

struct layout {
	struct xkb_keymap *keymap;
	bool table_stale;
	uint32_t locked, group;
	bool excluded[LAYOUT_KEYCODES];
	struct {
		uint8_t keycode; // 0: none
		uint32_t mask;   // real modifiers it sets
	} modifiers[LAYOUT_MODIFIERS];
	size_t n_entries;
	struct entry entries[LAYOUT_KEYCODES * MODIFIER_SETS]; // by keysym, the best first
};

static const uint32_t modifier_symbols[] = {
	[LAYOUT_SHIFT] = XKB_KEY_Shift_L,
	[LAYOUT_LEVEL3] = XKB_KEY_ISO_Level3_Shift,
	[LAYOUT_LEVEL5] = XKB_KEY_ISO_Level5_Shift,
};
static_assert(ARRAY_SIZE(modifier_symbols) == LAYOUT_MODIFIERS, "a symbol a modifier");

static void key_range(const struct layout *layout, xkb_keycode_t *ret_first, xkb_keycode_t *ret_last)
{
	*ret_first = xkb_keymap_min_keycode(layout->keymap);
	*ret_last = MIN(xkb_keymap_max_keycode(layout->keymap), LAYOUT_KEYCODES - 1);
}

// --- modifiers ------------------------------------------------------------------------------------------------------

static bool has_symbol(struct xkb_keymap *keymap, xkb_keycode_t key, uint32_t keysym)
{
	for (xkb_layout_index_t i = 0; i < xkb_keymap_num_layouts_for_key(keymap, key); i++) {
		const xkb_keysym_t *symbols;
		int count = xkb_keymap_key_get_syms_by_level(keymap, key, i, 0, &symbols);

		for (int n = 0; n < count; n++) {
			if (symbols[n] == keysym)
				return true;
		}
	}
	return false;
}

// The modifiers that are down while the key is, if it does nothing but that.
static uint32_t effect_of_key(struct xkb_keymap *keymap, xkb_keycode_t key)
{
	struct xkb_state *state = xkb_state_new(keymap);

	if (!state)
		return 0;
	xkb_state_update_key(state, key, XKB_KEY_DOWN);
	uint32_t mask = xkb_state_serialize_mods(state, XKB_STATE_MODS_DEPRESSED);
	xkb_state_update_key(state, key, XKB_KEY_UP);
	if (xkb_state_serialize_mods(state, XKB_STATE_MODS_EFFECTIVE) != 0)
		mask = 0;
	xkb_state_unref(state);
	return mask;
}

// Not one of those that only keymaps have (<LVL3> and the like), nor a special one (as that for a parenthesis alone),
// which not every program knows.
static bool is_ordinary(xkb_keycode_t key)
{
	return key < 136 && key != 92;
}

static void find_modifier(struct layout *layout, enum layout_modifier modifier, bool any)
{
	xkb_keycode_t first, last;

	key_range(layout, &first, &last);
	for (xkb_keycode_t key = first; key <= last && !layout->modifiers[modifier].keycode; key++) {
		bool fits = (any || is_ordinary(key)) && has_symbol(layout->keymap, key, modifier_symbols[modifier]);
		uint32_t mask = fits ? effect_of_key(layout->keymap, key) : 0;

		if (mask) {
			layout->modifiers[modifier].keycode = (uint8_t)key;
			layout->modifiers[modifier].mask = mask;
		}
	}
}

static void find_modifiers(struct layout *layout)
{
	for (unsigned i = 0; i < LAYOUT_MODIFIERS; i++) {
		find_modifier(layout, i, false);
		find_modifier(layout, i, true);
	}
}

uint8_t layout_modifier_key(const struct layout *layout, enum layout_modifier modifier)
{
	return layout->modifiers[modifier].keycode;
}

// --- table ----------------------------------------------------------------------------------------------------------

// @return false: one of them has no key
static bool mask_of_set(const struct layout *layout, unsigned set, uint32_t *ret)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < LAYOUT_MODIFIERS; i++) {
		if (!(set & 1U << i))
			continue;
		if (!layout->modifiers[i].keycode)
			return false;
		mask |= layout->modifiers[i].mask;
	}
	*ret = mask;
	return true;
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->keysym != b->keysym)
		return a->keysym < b->keysym ? -1 : 1;
	int more = is_ordinary(b->keycode) - is_ordinary(a->keycode);
	if (more == 0)
		more = __builtin_popcount(a->modifiers) - __builtin_popcount(b->modifiers);
	if (more == 0)
		more = a->modifiers - b->modifiers;
	return more ? more : a->keycode - b->keycode;
}

static void add_set(struct layout *layout, struct xkb_state *state, unsigned set)
{
	xkb_keycode_t first, last;
	uint32_t mask;

	if (!mask_of_set(layout, set, &mask))
		return;
	key_range(layout, &first, &last);
	xkb_state_update_mask(state, mask, 0, layout->locked, 0, 0, layout->group);
	for (xkb_keycode_t key = first; key <= last; key++) {
		uint32_t keysym = xkb_state_key_get_one_sym(state, key);

		if (keysym != XKB_KEY_NoSymbol && !layout->excluded[key])
			layout->entries[layout->n_entries++] =
				(struct entry){.keysym = keysym, .keycode = (uint8_t)key, .modifiers = (uint8_t)set};
	}
}

static void make_table(struct layout *layout)
{
	struct xkb_state *state = xkb_state_new(layout->keymap);

	layout->n_entries = 0;
	if (!state)
		return;
	for (unsigned set = 0; set < MODIFIER_SETS; set++)
		add_set(layout, state, set);
	xkb_state_unref(state);
	qsort(layout->entries, layout->n_entries, sizeof(*layout->entries), compare_entries);
	layout->table_stale = false;
}

static const struct entry *find_entry(const struct layout *layout, uint32_t keysym)
{
	size_t low = 0, high = layout->n_entries;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (layout->entries[middle].keysym < keysym)
			low = middle + 1;
		else
			high = middle;
	}
	return low < layout->n_entries && layout->entries[low].keysym == keysym ? &layout->entries[low] : NULL;
}

// Some layouts give a character by its Unicode number, some by its old name.
static const struct entry *find_same_character(const struct layout *layout, uint32_t keysym)
{
	uint32_t character = xkb_keysym_to_utf32(keysym);
	const struct entry *best = NULL;

	if (character <= ' ')
		return NULL;
	for (size_t i = 0; i < layout->n_entries; i++) {
		const struct entry *entry = &layout->entries[i];

		if (xkb_keysym_to_utf32(entry->keysym) != character)
			continue;
		// The keypad's characters are other keys.
		if (entry->keysym >= XKB_KEY_KP_Space && entry->keysym <= XKB_KEY_KP_Equal)
			continue;
		if (!best || __builtin_popcount(entry->modifiers) < __builtin_popcount(best->modifiers))
			best = entry;
	}
	return best;
}

int layout_find(struct layout *layout, uint32_t keysym, struct layout_stroke *ret)
{
	if (layout->table_stale)
		make_table(layout);
	const struct entry *entry = find_entry(layout, keysym);
	if (!entry)
		entry = find_same_character(layout, keysym);
	if (!entry)
		return -ENOENT;
	*ret = (struct layout_stroke){.keycode = entry->keycode, .modifiers = entry->modifiers};
	return 0;
}

// --- the keymap -----------------------------------------------------------------------------------------------------

bool layout_has_symbol(const struct layout *layout, uint8_t keycode, uint32_t keysym)
{
	return has_symbol(layout->keymap, keycode, keysym);
}

bool layout_has_key(const struct layout *layout, uint8_t keycode)
{
	return xkb_keymap_num_layouts_for_key(layout->keymap, keycode) > 0;
}

void layout_range(const struct layout *layout, uint8_t *ret_first, uint8_t *ret_last)
{
	xkb_keycode_t first, last;

	key_range(layout, &first, &last);
	*ret_first = (uint8_t)MIN(first, LAYOUT_KEYCODES - 1);
	*ret_last = (uint8_t)last;
}

void layout_exclude(struct layout *layout, uint8_t keycode)
{
	layout->excluded[keycode] = true;
	layout->table_stale = true;
}

void layout_set_state(struct layout *layout, uint32_t locked, uint32_t group)
{
	if (layout->locked == locked && layout->group == group)
		return;
	layout->locked = locked;
	layout->group = group;
	layout->table_stale = true;
}

bool layout_has_caps_lock(const struct layout *layout)
{
	return layout->locked & 1U << 1; // of the eight real modifiers: Shift, Lock, Control, Mod1 to Mod5
}

int layout_new(struct xkb_keymap *keymap, struct layout **ret)
{
	struct layout *layout = calloc(1, sizeof(*layout));

	if (!layout) {
		xkb_keymap_unref(keymap);
		return -ENOMEM;
	}
	layout->keymap = keymap;
	layout->table_stale = true;
	find_modifiers(layout);
	*ret = layout;
	return 0;
}

struct layout *layout_free(struct layout *layout)
{
	if (layout)
		xkb_keymap_unref(layout->keymap);
	free(layout);
	return NULL;
}
