// SPDX-License-Identifier: GPL-3.0-or-later
/// Any protobuf message as text, as `protoc --decode` writes it: for comparing with a file that people can read.
#ifndef CONDPROF_TEST_MESSAGE_TEXT_H
#define CONDPROF_TEST_MESSAGE_TEXT_H

#include <protobuf-c/protobuf-c.h>

/// The caller's, to be freed. Bytes fields are only counted.
char *message_text(const ProtobufCMessage *message);

#endif
