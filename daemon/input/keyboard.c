// SPDX-License-Identifier: GPL-3.0-or-later
// The layout is asked what it gives for every key under every set of modifiers we could hold, with what is locked now
// (Caps Lock, the group): that makes a table, and the table answers. It is made anew when one of these changes.
//
// A spare key is one without any symbol. It is bound to a symbol's small and capital form together, as a layout would,
// so that the table's rules hold for it too. Bound keys stay bound: whoever gets the key looks the symbol up later than
// it was struck.
#include "config.h"

#include "daemon/input/keyboard.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <xcb/xkb.h>
#include <xkbcommon/xkbcommon-x11.h>

#define MODIFIER_SETS (1U << KEYBOARD_MODIFIERS)

struct entry {
	uint32_t keysym;
	uint8_t keycode, modifiers;
};

struct spare {
	uint8_t keycode;
	uint32_t lower, upper; // 0: free
	uint32_t sent;         // the small form that the server has; 0: none of ours
	int64_t used_ns;
};

struct keyboard {
	xcb_connection_t *xcb;
	struct xkb_context *context;
	struct xkb_keymap *keymap;
	int32_t device;
	uint8_t first_event; // the number of XKB events on this connection
	bool stale;          // the layout
	bool table_stale;
	uint32_t locked, group;
	struct {
		uint8_t keycode; // 0: none
		uint32_t mask;   // real modifiers it sets
	} modifiers[KEYBOARD_MODIFIERS];
	struct entry *entries; // by keysym, the cheapest first
	size_t n_entries;
	struct spare spares[KEYBOARD_KEYCODES];
	size_t n_spares;
};

static const uint32_t modifier_symbols[] = {
	[KEYBOARD_SHIFT] = XKB_KEY_Shift_L,
	[KEYBOARD_LEVEL3] = XKB_KEY_ISO_Level3_Shift,
	[KEYBOARD_LEVEL5] = XKB_KEY_ISO_Level5_Shift,
};
static_assert(ARRAY_SIZE(modifier_symbols) == KEYBOARD_MODIFIERS, "a symbol a modifier");

static void key_range(const struct keyboard *keyboard, xkb_keycode_t *ret_first, xkb_keycode_t *ret_last)
{
	*ret_first = xkb_keymap_min_keycode(keyboard->keymap);
	*ret_last = MIN(xkb_keymap_max_keycode(keyboard->keymap), KEYBOARD_KEYCODES - 1);
}

// --- modifiers ------------------------------------------------------------------------------------------------------

static bool has_symbol(struct xkb_keymap *keymap, xkb_keycode_t key, uint32_t keysym)
{
	for (xkb_layout_index_t layout = 0; layout < xkb_keymap_num_layouts_for_key(keymap, key); layout++) {
		const xkb_keysym_t *symbols;
		int count = xkb_keymap_key_get_syms_by_level(keymap, key, layout, 0, &symbols);

		for (int i = 0; i < count; i++) {
			if (symbols[i] == keysym)
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

static void find_modifiers(struct keyboard *keyboard)
{
	xkb_keycode_t first, last;

	key_range(keyboard, &first, &last);
	memset(keyboard->modifiers, 0, sizeof(keyboard->modifiers));
	for (size_t i = 0; i < KEYBOARD_MODIFIERS; i++) {
		for (xkb_keycode_t key = first; key <= last && !keyboard->modifiers[i].keycode; key++) {
			uint32_t mask = has_symbol(keyboard->keymap, key, modifier_symbols[i])
						? effect_of_key(keyboard->keymap, key)
						: 0;

			if (mask) {
				keyboard->modifiers[i].keycode = (uint8_t)key;
				keyboard->modifiers[i].mask = mask;
			}
		}
	}
}

uint8_t keyboard_modifier_key(const struct keyboard *keyboard, enum keyboard_modifier modifier)
{
	return keyboard->modifiers[modifier].keycode;
}

// --- table ----------------------------------------------------------------------------------------------------------

// @return false: one of them has no key
static bool mask_of_set(const struct keyboard *keyboard, unsigned set, uint32_t *ret)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < KEYBOARD_MODIFIERS; i++) {
		if (!(set & 1U << i))
			continue;
		if (!keyboard->modifiers[i].keycode)
			return false;
		mask |= keyboard->modifiers[i].mask;
	}
	*ret = mask;
	return true;
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->keysym != b->keysym)
		return a->keysym < b->keysym ? -1 : 1;
	int more = __builtin_popcount(a->modifiers) - __builtin_popcount(b->modifiers);
	if (more == 0)
		more = a->modifiers - b->modifiers;
	return more ? more : a->keycode - b->keycode;
}

static struct spare *find_spare_key(struct keyboard *keyboard, uint8_t keycode)
{
	for (size_t i = 0; i < keyboard->n_spares; i++) {
		if (keyboard->spares[i].keycode == keycode)
			return &keyboard->spares[i];
	}
	return NULL;
}

// Spare keys have rules of their own.
static void add_set(struct keyboard *keyboard, struct xkb_state *state, unsigned set)
{
	xkb_keycode_t first, last;
	uint32_t mask;

	if (!mask_of_set(keyboard, set, &mask))
		return;
	key_range(keyboard, &first, &last);
	xkb_state_update_mask(state, mask, 0, keyboard->locked, 0, 0, keyboard->group);
	for (xkb_keycode_t key = first; key <= last; key++) {
		uint32_t keysym = xkb_state_key_get_one_sym(state, key);

		if (keysym != XKB_KEY_NoSymbol && !find_spare_key(keyboard, (uint8_t)key))
			keyboard->entries[keyboard->n_entries++] =
				(struct entry){.keysym = keysym, .keycode = (uint8_t)key, .modifiers = (uint8_t)set};
	}
}

static void make_table(struct keyboard *keyboard)
{
	struct xkb_state *state = xkb_state_new(keyboard->keymap);

	keyboard->n_entries = 0;
	if (!state)
		return;
	for (unsigned set = 0; set < MODIFIER_SETS; set++)
		add_set(keyboard, state, set);
	xkb_state_unref(state);
	qsort(keyboard->entries, keyboard->n_entries, sizeof(*keyboard->entries), compare_entries);
	keyboard->table_stale = false;
}

static const struct entry *find_entry(const struct keyboard *keyboard, uint32_t keysym)
{
	size_t low = 0, high = keyboard->n_entries;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (keyboard->entries[middle].keysym < keysym)
			low = middle + 1;
		else
			high = middle;
	}
	return low < keyboard->n_entries && keyboard->entries[low].keysym == keysym ? &keyboard->entries[low] : NULL;
}

// Some layouts give a character by its Unicode number, some by its old name.
static const struct entry *find_same_character(const struct keyboard *keyboard, uint32_t keysym)
{
	uint32_t character = xkb_keysym_to_utf32(keysym);
	const struct entry *best = NULL;

	if (character <= ' ')
		return NULL;
	for (size_t i = 0; i < keyboard->n_entries; i++) {
		const struct entry *entry = &keyboard->entries[i];

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

// --- spare keys -----------------------------------------------------------------------------------------------------

static struct spare *find_bound(struct keyboard *keyboard, uint32_t keysym)
{
	for (size_t i = 0; i < keyboard->n_spares; i++) {
		struct spare *spare = &keyboard->spares[i];

		if (spare->lower && (spare->lower == keysym || spare->upper == keysym))
			return spare;
	}
	return NULL;
}

// Which form the key gives without Shift depends on Caps Lock.
static struct keyboard_stroke stroke_of_spare(const struct keyboard *keyboard, const struct spare *spare,
					      uint32_t keysym)
{
	bool caps = keyboard->locked & XCB_MOD_MASK_LOCK, two = spare->lower != spare->upper;
	bool shift = two && (keysym == spare->upper) != caps;

	return (struct keyboard_stroke){
		.keycode = spare->keycode, .modifiers = shift ? 1U << KEYBOARD_SHIFT : 0, .spare = true};
}

// What was bound stays ours as long as it is what the server has.
static void find_spares(struct keyboard *keyboard)
{
	struct spare found[KEYBOARD_KEYCODES];
	size_t count = 0;
	xkb_keycode_t first, last;

	key_range(keyboard, &first, &last);
	for (xkb_keycode_t key = last; key >= first && key > 0; key--) {
		const struct spare *before = find_spare_key(keyboard, (uint8_t)key);

		if (xkb_keymap_num_layouts_for_key(keyboard->keymap, key) == 0)
			found[count++] = (struct spare){.keycode = (uint8_t)key};
		else if (before && before->sent && has_symbol(keyboard->keymap, key, before->sent))
			found[count++] = *before;
	}
	memcpy(keyboard->spares, found, count * sizeof(*found));
	keyboard->n_spares = count;
}

static struct spare *find_free(const struct keyboard *keyboard)
{
	for (size_t i = 0; i < keyboard->n_spares; i++) {
		if (!keyboard->spares[i].lower)
			return (struct spare *)&keyboard->spares[i];
	}
	return NULL;
}

bool keyboard_has_free(const struct keyboard *keyboard)
{
	return find_free(keyboard) != NULL;
}

static void send_binding(struct keyboard *keyboard, const struct spare *spare)
{
	const xcb_keysym_t symbols[2] = {spare->lower, spare->upper};

	xcb_change_keyboard_mapping(keyboard->xcb, 1, spare->keycode, ARRAY_SIZE(symbols), symbols);
}

int keyboard_bind(struct keyboard *keyboard, uint32_t keysym)
{
	struct spare *spare = find_free(keyboard);

	if (keysym == XKB_KEY_NoSymbol)
		return -EINVAL;
	if (!spare)
		return -ENOSPC;
	spare->lower = xkb_keysym_to_lower(keysym);
	spare->upper = xkb_keysym_to_upper(keysym);
	// A few characters have a capital form that is not their own (ß): then it is alone.
	if (spare->lower != keysym && spare->upper != keysym)
		spare->lower = spare->upper = keysym;
	spare->used_ns = 0;
	spare->sent = spare->lower;
	send_binding(keyboard, spare);
	return 0;
}

void keyboard_reuse(struct keyboard *keyboard)
{
	for (size_t i = 0; i < keyboard->n_spares; i++)
		keyboard->spares[i].lower = keyboard->spares[i].upper = XKB_KEY_NoSymbol;
}

void keyboard_unbind(struct keyboard *keyboard)
{
	for (size_t i = 0; i < keyboard->n_spares; i++) {
		struct spare *spare = &keyboard->spares[i];

		if (!spare->sent)
			continue;
		*spare = (struct spare){.keycode = spare->keycode};
		send_binding(keyboard, spare);
	}
}

void keyboard_used(struct keyboard *keyboard, const struct keyboard_stroke *stroke, int64_t now_ns)
{
	struct spare *spare = stroke->spare ? find_spare_key(keyboard, stroke->keycode) : NULL;

	if (spare)
		spare->used_ns = now_ns;
}

int64_t keyboard_last_used_ns(const struct keyboard *keyboard)
{
	int64_t last_ns = 0;

	for (size_t i = 0; i < keyboard->n_spares; i++)
		last_ns = MAX(last_ns, keyboard->spares[i].used_ns);
	return last_ns;
}

int keyboard_find(struct keyboard *keyboard, uint32_t keysym, struct keyboard_stroke *ret)
{
	const struct spare *spare = find_bound(keyboard, keysym);

	if (spare) {
		*ret = stroke_of_spare(keyboard, spare, keysym);
		return 0;
	}
	if (keyboard->table_stale)
		make_table(keyboard);
	const struct entry *entry = find_entry(keyboard, keysym);
	if (!entry)
		entry = find_same_character(keyboard, keysym);
	if (!entry)
		return -ENOENT;
	*ret = (struct keyboard_stroke){.keycode = entry->keycode, .modifiers = entry->modifiers};
	return 0;
}

// --- events ---------------------------------------------------------------------------------------------------------

// Whether a change of symbols is one of ours.
static bool is_own_change(struct keyboard *keyboard, const xcb_xkb_map_notify_event_t *event)
{
	const uint16_t symbols = XCB_XKB_MAP_PART_KEY_SYMS | XCB_XKB_MAP_PART_KEY_TYPES | XCB_XKB_MAP_PART_KEY_ACTIONS;

	if (event->changed & ~symbols || event->nKeySyms == 0)
		return false;
	for (unsigned i = 0; i < event->nKeySyms; i++) {
		const struct spare *spare = find_spare_key(keyboard, (uint8_t)(event->firstKeySym + i));

		if (!spare || !spare->lower)
			return false;
	}
	return true;
}

static void state_changed(struct keyboard *keyboard, uint32_t locked, uint32_t group)
{
	if (keyboard->locked == locked && keyboard->group == group)
		return;
	keyboard->locked = locked;
	keyboard->group = group;
	keyboard->table_stale = true;
}

void keyboard_event(struct keyboard *keyboard, const xcb_generic_event_t *event)
{
	if ((event->response_type & 0x7f) != keyboard->first_event)
		return;
	switch (event->pad0) { // which XKB event it is
	case XCB_XKB_NEW_KEYBOARD_NOTIFY:
		keyboard->stale = true;
		break;
	case XCB_XKB_MAP_NOTIFY:
		if (!is_own_change(keyboard, (const xcb_xkb_map_notify_event_t *)event))
			keyboard->stale = true;
		break;
	case XCB_XKB_STATE_NOTIFY: {
		const xcb_xkb_state_notify_event_t *state = (const xcb_xkb_state_notify_event_t *)event;

		state_changed(keyboard, state->lockedMods, state->group);
		break;
	}
	default:
		break;
	}
}

bool keyboard_is_stale(const struct keyboard *keyboard)
{
	return keyboard->stale;
}

// --- load -----------------------------------------------------------------------------------------------------------

int keyboard_load(struct keyboard *keyboard)
{
	xcb_xkb_get_state_reply_t *state = xcb_xkb_get_state_reply(
		keyboard->xcb, xcb_xkb_get_state(keyboard->xcb, (xcb_xkb_device_spec_t)keyboard->device), NULL);
	struct xkb_keymap *keymap = xkb_x11_keymap_new_from_device(keyboard->context, keyboard->xcb, keyboard->device,
								   XKB_KEYMAP_COMPILE_NO_FLAGS);
	if (!state || !keymap) {
		free(state);
		xkb_keymap_unref(keymap);
		return -EIO;
	}
	xkb_keymap_unref(keyboard->keymap);
	keyboard->keymap = keymap;
	keyboard->locked = state->lockedMods;
	keyboard->group = state->group;
	keyboard->stale = false;
	keyboard->table_stale = true;
	free(state);
	find_modifiers(keyboard);
	find_spares(keyboard);
	return 0;
}

static void select_events(struct keyboard *keyboard)
{
	const uint16_t events = XCB_XKB_EVENT_TYPE_NEW_KEYBOARD_NOTIFY | XCB_XKB_EVENT_TYPE_MAP_NOTIFY |
				XCB_XKB_EVENT_TYPE_STATE_NOTIFY;
	const uint16_t map = XCB_XKB_MAP_PART_KEY_TYPES | XCB_XKB_MAP_PART_KEY_SYMS | XCB_XKB_MAP_PART_MODIFIER_MAP |
			     XCB_XKB_MAP_PART_EXPLICIT_COMPONENTS | XCB_XKB_MAP_PART_KEY_ACTIONS |
			     XCB_XKB_MAP_PART_VIRTUAL_MODS | XCB_XKB_MAP_PART_VIRTUAL_MOD_MAP;
	const uint16_t state = XCB_XKB_STATE_PART_MODIFIER_LOCK | XCB_XKB_STATE_PART_GROUP_STATE;
	const xcb_xkb_select_events_details_t details = {.affectNewKeyboard = XCB_XKB_NKN_DETAIL_KEYCODES,
							 .newKeyboardDetails = XCB_XKB_NKN_DETAIL_KEYCODES,
							 .affectState = state,
							 .stateDetails = state};

	xcb_xkb_select_events_aux(keyboard->xcb, (xcb_xkb_device_spec_t)keyboard->device, events, 0, 0, map, map,
				  &details);
}

static int set_up(struct keyboard *keyboard)
{
	if (!xkb_x11_setup_xkb_extension(keyboard->xcb, XKB_X11_MIN_MAJOR_XKB_VERSION, XKB_X11_MIN_MINOR_XKB_VERSION,
					 XKB_X11_SETUP_XKB_EXTENSION_NO_FLAGS, NULL, NULL, &keyboard->first_event,
					 NULL))
		return -ENOTSUP;
	keyboard->device = xkb_x11_get_core_keyboard_device_id(keyboard->xcb);
	if (keyboard->device < 0)
		return -EIO;
	select_events(keyboard);
	return keyboard_load(keyboard);
}

int keyboard_new(xcb_connection_t *xcb, struct keyboard **ret)
{
	struct keyboard *keyboard = calloc(1, sizeof(*keyboard));

	if (!keyboard)
		return -ENOMEM;
	keyboard->xcb = xcb;
	keyboard->context = xkb_context_new(XKB_CONTEXT_NO_DEFAULT_INCLUDES | XKB_CONTEXT_NO_ENVIRONMENT_NAMES);
	keyboard->entries = calloc((size_t)KEYBOARD_KEYCODES * MODIFIER_SETS, sizeof(*keyboard->entries));
	int r = keyboard->context && keyboard->entries ? set_up(keyboard) : -ENOMEM;
	if (r < 0) {
		keyboard_free(keyboard);
		return r;
	}
	*ret = keyboard;
	return 0;
}

struct keyboard *keyboard_free(struct keyboard *keyboard)
{
	if (!keyboard)
		return NULL;
	xkb_keymap_unref(keyboard->keymap);
	xkb_context_unref(keyboard->context);
	free(keyboard->entries);
	free(keyboard);
	return NULL;
}
