// SPDX-License-Identifier: GPL-3.0-or-later
/// A client of the real control layer, on a socket pair, that sends anything in pieces of odd sizes: frames, torn ones,
/// uploads, requests about sessions and reports of a small state folder. The first byte of the input chooses the sizes,
/// the second who the client is. Whatever was sent, what comes back are whole Reply frames, and nothing is left behind.
#include "tests/fuzz/fuzz.h"

#include "daemon/control/control.h"
#include "daemon/control/sessions.h"
#include "proto/frame.h"
#include "proto/limits.h"
#include "tests/support/memory_ends.h"

#include <string.h>
#include <sys/socket.h>

static char state[] = "/tmp/fuzz-request-XXXXXX";
static struct control *control;
static struct memory_display *display;

static void remove_state(void)
{
	char command[sizeof(state) + 16];

	control = control_free(control);
	memory_display_free(display);
	snprintf(command, sizeof(command), "rm -rf '%s'", state);
	FUZZ_ASSERT(system(command) == 0);
}

static void make_control(void)
{
	struct configuration *configuration;
	struct control_params params = {.state_path = state, .configuration_path = "/dev/null"};
	struct error error;

	FUZZ_ASSERT(mkdtemp(state) && configuration_new(&configuration) == 0);
	memory_ends_register();
	display = memory_display_new("fuzz", 16, 16); // for the sessions that seeds start
	params.configuration = configuration;
	log_set_level(LOG_LEVEL_ERROR);
	FUZZ_ASSERT(control_new(&params, &control, &error) == 0);
	configuration_unref(configuration);
	atexit(remove_state);
}

/// What came back so far, and how much of it was looked at.
struct answers {
	uint8_t bytes[4 << 20];
	size_t size, seen;
};

static void look(struct answers *answers)
{
	struct capped_allocator capped;
	ProtobufCMessage *reply;
	size_t header, body;

	while (frame_peek(answers->bytes + answers->seen, answers->size - answers->seen, FRAME_MAX_BYTES, &header,
			  &body) > 0 &&
	       answers->size - answers->seen >= header + body) {
		capped_allocator_init(&capped, 1 << 20, 4096);
		FUZZ_ASSERT(message_unpack(&condprof__reply__descriptor, answers->bytes + answers->seen + header, body,
					   &capped, &reply) == 0);
		FUZZ_ASSERT(((Condprof__Reply *)reply)->body_case);
		protobuf_c_message_free_unpacked(reply, NULL);
		answers->seen += header + body;
	}
}

static void turn(int fd, struct answers *answers)
{
	ssize_t got;

	loop_turn(control->loop);
	while (answers->size < sizeof(answers->bytes) &&
	       (got = recv(fd, answers->bytes + answers->size, sizeof(answers->bytes) - answers->size, MSG_DONTWAIT)) >
		       0)
		answers->size += (size_t)got;
	look(answers);
}

static void send_pieces(int fd, struct answers *answers, const uint8_t *data, size_t size, unsigned seed)
{
	while (size) {
		size_t piece = MIN(size, seed & 1 ? 1 + seed % 7 : 1 + seed % 60000);
		ssize_t sent = send(fd, data, piece, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			data += sent;
			size -= (size_t)sent;
		}
		turn(fd, answers);
		if (LIST_EMPTY(&control->connections))
			return;
		seed = seed * 1103515245U + 12345U;
	}
}

/// Ends what it left running, and waits for all of it.
static void settle_down(int fd, struct answers *answers)
{
	shutdown(fd, SHUT_WR);
	while (control_busy(control) || sessions_count(control->sessions)) {
		sessions_stop_all(control->sessions, CONDPROF__END_REASON__REASON_STOPPED);
		turn(fd, answers);
		if (control_busy(control))
			mailbox_wait(control->mailbox);
	}
	turn(fd, answers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct answers answers;
	struct connection *connection;
	struct peer peer = {.uid = 1000, .access = ACCESS_CONTROL};
	int pair[2];

	if (!control)
		make_control();
	if (size < 2)
		return 0;
	answers.size = answers.seen = 0;
	if (data[1] < 32)
		peer.access = data[1] < 8 ? ACCESS_NONE : ACCESS_OBSERVE;
	FUZZ_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
	FUZZ_ASSERT(connection_new(control, pair[0], &peer, &connection) == 0);
	send_pieces(pair[1], &answers, data + 2, size - 2, data[0]);
	settle_down(pair[1], &answers);
	close(pair[1]);
	while (!LIST_EMPTY(&control->connections))
		connection_free(LIST_FIRST(&control->connections));
	while (control_busy(control))
		mailbox_wait(control->mailbox);
	loop_turn(control->loop);
	FUZZ_ASSERT(answers.seen == answers.size || answers.size == sizeof(answers.bytes));
	FUZZ_ASSERT(!control->upload_bytes && !control->out_bytes && !sessions_count(control->sessions));
	return 0;
}
