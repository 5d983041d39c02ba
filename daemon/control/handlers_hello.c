// SPDX-License-Identifier: GPL-3.0-or-later
// The greeting: versions compared, and what this daemon can do.
#include "config.h"

#include "daemon/control/handlers.h"

#include "proto/limits.h"

#include <errno.h>
#include <string.h>

#define FEATURES_MAX 32U

/// Cuts the summary of configure into words. @param storage a copy of it, that the words point into
static size_t split_features(char *storage, char **words)
{
	size_t count = 0;
	char *word;

	while (count < FEATURES_MAX && (word = strsep(&storage, " ")))
		if (*word)
			words[count++] = word;
	return count;
}

static void welcome(struct exchange *exchange)
{
	char storage[] = CONDPROF_FEATURES, *words[FEATURES_MAX];
	Condprof__HelloReply hello = CONDPROF__HELLO_REPLY__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;

	hello.has_major = hello.has_minor = true;
	hello.major = PROTOCOL_MAJOR;
	hello.minor = PROTOCOL_MINOR;
	hello.daemon = (char *)PACKAGE_VERSION;
	hello.features = words;
	hello.n_features = split_features(storage, words);
	hello.has_control = true;
	hello.control = connection_peer(exchange->connection)->access >= ACCESS_CONTROL;
	reply.body_case = CONDPROF__REPLY__BODY_HELLO;
	reply.hello = &hello;
	exchange_finish(exchange, &reply);
}

int handle_hello(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		 struct error *error)
{
	const Condprof__Hello *hello = request->hello;
	struct connection *connection = exchange->connection;

	(void)control;
	if (connection_greeted(connection))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EPROTO, "Hello came twice on this connection");
	if (!hello->has_major || hello->major != PROTOCOL_MAJOR) {
		error_set(error, CONDPROF__CODE__VERSION, EPROTO,
			  "this daemon (%s) speaks protocol %u.%u, the client %u.%u; install the same version of both",
			  PACKAGE_VERSION, PROTOCOL_MAJOR, PROTOCOL_MINOR, hello->major, hello->minor);
		connection_refuse(connection, exchange, error);
		return 0;
	}
	log_debug("client pid %d uid %u: %.100s", (int)connection_peer(connection)->pid,
		  connection_peer(connection)->uid, hello->client ? hello->client : "(no name)");
	connection_greet(connection);
	welcome(exchange);
	return 0;
}
