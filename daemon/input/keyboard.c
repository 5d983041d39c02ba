// SPDX-License-Identifier: GPL-3.0-or-later
// A spare key is one without any symbol. It is bound to a symbol's small and capital form together, as a layout would,
// so that Shift and Caps Lock mean the same for it. Bound keys stay bound: whoever gets the key looks the symbol up
// later than it was struck.
#include "config.h"

#include "daemon/input/keyboard.h"

#include <errno.h>
#include <string.h>
#include <xcb/xkb.h>
#include <xkbcommon/xkbcommon-x11.h>

struct spare {
	uint8_t keycode;
	uint32_t lower, upper; // 0: free
	uint32_t sent;         // the small form that the server has; 0: none of ours
	int64_t used_ns;
};

struct keyboard {
	xcb_connection_t *xcb;
	struct xkb_context *context;
	struct layout *layout;
	int32_t device;
	uint8_t first_event; // the number of XKB events on this connection
	bool stale;          // the layout
	struct spare spares[LAYOUT_KEYCODES];
	size_t n_spares;
};

static struct spare *find_spare_key(struct keyboard *keyboard, uint8_t keycode)
{
	for (size_t i = 0; i < keyboard->n_spares; i++) {
		if (keyboard->spares[i].keycode == keycode)
			return &keyboard->spares[i];
	}
	return NULL;
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
static struct layout_stroke stroke_of_spare(const struct keyboard *keyboard, const struct spare *spare, uint32_t keysym)
{
	bool caps = layout_has_caps_lock(keyboard->layout), two = spare->lower != spare->upper;
	bool shift = two && (keysym == spare->upper) != caps;

	return (struct layout_stroke){
		.keycode = spare->keycode, .modifiers = shift ? 1U << LAYOUT_SHIFT : 0, .spare = true};
}

// What was bound stays ours as long as it is what the server has.
static void find_spares(struct keyboard *keyboard)
{
	struct spare found[LAYOUT_KEYCODES];
	size_t count = 0;
	uint8_t first, last;

	layout_range(keyboard->layout, &first, &last);
	for (unsigned key = last; key >= first && key > 0; key--) {
		const struct spare *before = find_spare_key(keyboard, (uint8_t)key);

		if (!layout_has_key(keyboard->layout, (uint8_t)key))
			found[count++] = (struct spare){.keycode = (uint8_t)key};
		else if (before && before->sent && layout_has_symbol(keyboard->layout, (uint8_t)key, before->sent))
			found[count++] = *before;
		else
			continue;
		layout_exclude(keyboard->layout, (uint8_t)key);
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

void keyboard_used(struct keyboard *keyboard, const struct layout_stroke *stroke, int64_t now_ns)
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

int keyboard_find(struct keyboard *keyboard, uint32_t keysym, struct layout_stroke *ret)
{
	const struct spare *spare = find_bound(keyboard, keysym);

	if (spare) {
		*ret = stroke_of_spare(keyboard, spare, keysym);
		return 0;
	}
	return layout_find(keyboard->layout, keysym, ret);
}

uint8_t keyboard_modifier_key(const struct keyboard *keyboard, enum layout_modifier modifier)
{
	return layout_modifier_key(keyboard->layout, modifier);
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

		layout_set_state(keyboard->layout, state->lockedMods, state->group);
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
	struct layout *layout = NULL;
	int r = state && keymap ? layout_new(keymap, &layout) : -EIO;

	if (r == -EIO)
		xkb_keymap_unref(keymap);
	if (r == 0) {
		layout_free(keyboard->layout);
		keyboard->layout = layout;
		layout_set_state(layout, state->lockedMods, state->group);
		keyboard->stale = false;
		find_spares(keyboard);
	}
	free(state);
	return r;
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
	int r = keyboard->context ? set_up(keyboard) : -ENOMEM;
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
	layout_free(keyboard->layout);
	xkb_context_unref(keyboard->context);
	free(keyboard);
	return NULL;
}
