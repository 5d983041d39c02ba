// SPDX-License-Identifier: GPL-3.0-or-later
// A small X client to be clicked at: one button that is blue, and green after a click, blue again after the next.
// Whatever it receives it tells, a line an event, after a first line READY:
//   press BUTTON X Y / release BUTTON X Y   in pixels of the screen
//   key NAME [U+XXXX] / key-up NAME         as the layout at that moment has it
//   colour RRGGBB                           what the button shows now, drawn and seen by the server
// It ends with its server, or when its standard input does.
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xcb/xcb.h>
#include <xcb/xkb.h>
#include <xkbcommon/xkbcommon-x11.h>

enum { LEFT = 220, TOP = 140, WIDTH = 160, HEIGHT = 60 };

struct client {
	xcb_connection_t *xcb;
	xcb_screen_t *screen;
	xcb_window_t window;
	xcb_gcontext_t gc;
	bool clicked;
	struct xkb_context *context;
	struct xkb_keymap *keymap; // NULL: to be asked for at the next key
	int32_t keyboard;
	uint8_t xkb_event;
};

static void fill(struct client *client, uint32_t rgb, int x, int y, int width, int height)
{
	xcb_rectangle_t area = {(int16_t)x, (int16_t)y, (uint16_t)width, (uint16_t)height};

	xcb_change_gc(client->xcb, client->gc, XCB_GC_FOREGROUND, &rgb);
	xcb_poly_fill_rectangle(client->xcb, client->window, client->gc, 1, &area);
}

static uint32_t face(const struct client *client)
{
	return client->clicked ? 0x22aa44 : 0x2266cc;
}

// Bars of many widths, as a word has: something that a matcher finds in one place only.
static void draw_label(struct client *client)
{
	static const uint8_t bars[] = {3, 2, 6, 3, 1, 2, 8, 4, 2, 1, 5, 3, 2, 2, 9, 3, 1, 1, 4, 2, 7, 3, 2, 5};
	int x = 24;

	for (size_t i = 0; i < sizeof(bars); i += 2) {
		fill(client, 0xffffff, x, 18 + (int)(i % 5), bars[i], 24 - (int)(i % 7));
		x += bars[i] + bars[i + 1];
	}
}

static void draw(struct client *client)
{
	fill(client, 0xe0e0e0, 0, 0, WIDTH, HEIGHT);
	fill(client, 0x404040, 2, 2, WIDTH - 2, HEIGHT - 2);
	fill(client, face(client), 2, 2, WIDTH - 4, HEIGHT - 4);
	draw_label(client);
}

static void tell_colour(struct client *client)
{
	free(xcb_get_input_focus_reply(client->xcb, xcb_get_input_focus(client->xcb), NULL));
	printf("colour %06x\n", face(client));
}

static void load_keymap(struct client *client)
{
	client->keymap = xkb_x11_keymap_new_from_device(client->context, client->xcb, client->keyboard,
							XKB_KEYMAP_COMPILE_NO_FLAGS);
}

static void tell_key(struct client *client, const xcb_key_press_event_t *event, bool down)
{
	char name[64];

	if (!client->keymap)
		load_keymap(client);
	struct xkb_state *state = client->keymap ? xkb_state_new(client->keymap) : NULL;
	if (!state)
		return;
	xkb_state_update_mask(state, event->state & 0xff, 0, 0, 0, 0, event->state >> 13 & 3);
	xkb_keysym_t keysym = xkb_state_key_get_one_sym(state, event->detail);
	uint32_t character = xkb_state_key_get_utf32(state, event->detail);
	xkb_keysym_get_name(keysym, name, sizeof(name));
	if (!down)
		printf("key-up %s\n", name);
	else if (character)
		printf("key %s U+%04X\n", name, character);
	else
		printf("key %s\n", name);
	xkb_state_unref(state);
}

static void handle_button(struct client *client, const xcb_button_press_event_t *event, bool down)
{
	printf("%s %d %d %d\n", down ? "press" : "release", event->detail, event->root_x, event->root_y);
	if (down || event->detail != XCB_BUTTON_INDEX_1)
		return;
	client->clicked = !client->clicked;
	draw(client);
	tell_colour(client);
}

static void handle(struct client *client, const xcb_generic_event_t *event)
{
	uint8_t type = event->response_type & 0x7f;

	if (type == XCB_EXPOSE)
		draw(client);
	else if (type == XCB_BUTTON_PRESS || type == XCB_BUTTON_RELEASE)
		handle_button(client, (const xcb_button_press_event_t *)event, type == XCB_BUTTON_PRESS);
	else if (type == XCB_KEY_PRESS || type == XCB_KEY_RELEASE)
		tell_key(client, (const xcb_key_press_event_t *)event, type == XCB_KEY_PRESS);
	else if (type == client->xkb_event &&
		 (event->pad0 == XCB_XKB_MAP_NOTIFY || event->pad0 == XCB_XKB_NEW_KEYBOARD_NOTIFY))
		client->keymap = (xkb_keymap_unref(client->keymap), NULL);
}

static bool open_keyboard(struct client *client)
{
	const uint16_t events = XCB_XKB_EVENT_TYPE_NEW_KEYBOARD_NOTIFY | XCB_XKB_EVENT_TYPE_MAP_NOTIFY;
	const uint16_t parts = XCB_XKB_MAP_PART_KEY_TYPES | XCB_XKB_MAP_PART_KEY_SYMS;

	if (!xkb_x11_setup_xkb_extension(client->xcb, 1, 0, XKB_X11_SETUP_XKB_EXTENSION_NO_FLAGS, NULL, NULL,
					 &client->xkb_event, NULL))
		return false;
	client->context = xkb_context_new(XKB_CONTEXT_NO_FLAGS);
	client->keyboard = xkb_x11_get_core_keyboard_device_id(client->xcb);
	xcb_xkb_select_events(client->xcb, (xcb_xkb_device_spec_t)client->keyboard, events, 0, events, parts, parts,
			      NULL);
	load_keymap(client);
	return client->keymap != NULL;
}

static void open_window(struct client *client)
{
	const uint32_t values[] = {1, XCB_EVENT_MASK_EXPOSURE | XCB_EVENT_MASK_BUTTON_PRESS |
					      XCB_EVENT_MASK_BUTTON_RELEASE | XCB_EVENT_MASK_KEY_PRESS |
					      XCB_EVENT_MASK_KEY_RELEASE};
	xcb_generic_event_t *event;
	bool exposed = false;

	client->window = xcb_generate_id(client->xcb);
	xcb_create_window(client->xcb, XCB_COPY_FROM_PARENT, client->window, client->screen->root, LEFT, TOP, WIDTH,
			  HEIGHT, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT, client->screen->root_visual,
			  XCB_CW_OVERRIDE_REDIRECT | XCB_CW_EVENT_MASK, values);
	client->gc = xcb_generate_id(client->xcb);
	xcb_create_gc(client->xcb, client->gc, client->window, 0, NULL);
	xcb_map_window(client->xcb, client->window);
	xcb_flush(client->xcb);
	while (!exposed && (event = xcb_wait_for_event(client->xcb))) {
		exposed = (event->response_type & 0x7f) == XCB_EXPOSE;
		handle(client, event);
		free(event);
	}
	xcb_set_input_focus(client->xcb, XCB_INPUT_FOCUS_PARENT, client->window, XCB_CURRENT_TIME);
}

static void run(struct client *client)
{
	struct pollfd fds[] = {{.fd = xcb_get_file_descriptor(client->xcb), .events = POLLIN},
			       {.fd = STDIN_FILENO, .events = POLLIN}};
	xcb_generic_event_t *event;
	char byte;

	while (!xcb_connection_has_error(client->xcb)) {
		while ((event = xcb_poll_for_event(client->xcb))) {
			handle(client, event);
			free(event);
		}
		xcb_flush(client->xcb);
		fflush(stdout);
		if (poll(fds, 2, -1) > 0 && fds[1].revents && read(STDIN_FILENO, &byte, 1) <= 0)
			return;
	}
}

int main(int argc, char **argv)
{
	struct client client = {0};
	int number = 0;

	client.xcb = xcb_connect(argc > 1 ? argv[1] : NULL, &number);
	if (xcb_connection_has_error(client.xcb)) {
		fputs("x11_button: no X server\n", stderr);
		return EXIT_FAILURE;
	}
	client.screen = xcb_setup_roots_iterator(xcb_get_setup(client.xcb)).data;
	if (!open_keyboard(&client)) {
		fputs("x11_button: no keyboard\n", stderr);
		return EXIT_FAILURE;
	}
	open_window(&client);
	free(xcb_get_input_focus_reply(client.xcb, xcb_get_input_focus(client.xcb), NULL));
	printf("READY %d %d %d %d\n", LEFT, TOP, WIDTH, HEIGHT);
	run(&client);
	xkb_keymap_unref(client.keymap);
	xkb_context_unref(client.context);
	xcb_disconnect(client.xcb);
	return EXIT_SUCCESS;
}
