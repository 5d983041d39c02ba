// SPDX-License-Identifier: GPL-3.0-or-later
/// Every bound on what comes from outside, in one place. docs/PROTOCOL.md and the man pages state them.
#ifndef CONDPROF_LIMITS_H
#define CONDPROF_LIMITS_H

#include "proto/base.h"

#define PROTOCOL_MAJOR 1U
#define PROTOCOL_MINOR 1U
#define PROTOCOL_MINOR_INSTALLED 1U  ///< knows installed scenarios

#define FRAME_MAX_BYTES (64U * 1024U)     ///< a frame's body, either direction
#define FRAME_MAX_BEFORE_HELLO 1024U      ///< the same, before Hello was accepted
#define CHUNK_MAX_BYTES (48U * 1024U)     ///< data of one Chunk or ReportChunk that we send

#define SCENARIO_MAX_BYTES (64U * 1024U * 1024U)        ///< a Scenario message
#define SCENARIOS_MAX_BYTES_ALL (128U * 1024U * 1024U)  ///< uploads of all clients together
#define SCENARIO_MAX_EVENTS 10000U
#define SCENARIO_MAX_CONDITIONS 20000U
#define SCENARIO_MAX_ACTIONS 50000U
#define SCENARIO_MAX_COUNTERS 1000U
#define SCENARIO_MAX_BROADCASTS 1000U
#define SCENARIO_MAX_PROBLEMS 20U   ///< mistakes reported at once
#define SCENARIO_MAX_DURATION_NS (INT64_C(100) * 365 * 24 * 3600 * NSEC_PER_SEC)  ///< any duration: 100 years
#define SCENARIO_MAX_POSITION 1000000  ///< px, either way, of clicks and swipes
#define SCENARIO_MIN_PERIOD_NS NSEC_PER_USEC  ///< of the limiter; faster is `unlimited`
#define SCENARIO_MIN_ROTATE_NS NSEC_PER_SEC
#define SCENARIO_MAX_LANGUAGES 8U   ///< of one text or number condition
#define SCENARIO_MAX_LANGUAGE_SETS 8U  ///< different ones in a scenario
#define SWIPE_MAX_POINTS 1000U
#define TEXT_MAX_PARTS 256U         ///< literals and counters of one text
#define NAME_MAX_BYTES 256U         ///< a name of anything
#define TEXT_MAX_BYTES 4096U        ///< a text, URI or key combination
#define SECRET_NAME_MAX_BYTES 255U  ///< what a file's name may have; a secret itself is a text
#define SCENARIO_MAX_SECRETS 100U
#define YAML_MAX_BYTES (1024U * 1024U)

#define INSTALLED_NAME_MAX_BYTES 64U                           ///< of an installed scenario
#define INSTALLED_MAX 256U                                     ///< installed scenarios
#define INSTALLED_MAX_BYTES_ALL (UINT64_C(512) * 1024 * 1024)  ///< all of them together

#define PICTURE_MAX_SIDE 16384      ///< px
#define PICTURE_MAX_PIXELS (64 * 1024 * 1024)
#define PNG_MAX_BYTES (256U * 1024U * 1024U)       ///< a PNG file
#define TEMPLATES_MAX_PIXELS (128 * 1024 * 1024)   ///< all images of one scenario
#define TEMPLATES_MAX_PIXELS_ALL TEMPLATES_MAX_PIXELS  ///< of all sessions together; condprofd.service has memory for them

#define SESSIONS_MAX 64U
#define STUCK_LIMIT_NS (60 * NSEC_PER_SEC)  ///< a session's thread without progress
#define CLIENTS_MAX 512U

/// Screen and input of a session: less than a client's patience, so that whoever starts it is told what hangs.
#define OPEN_TIMEOUT_NS (8 * NSEC_PER_SEC)
#define CLIENT_DEFAULT_TIMEOUT_NS (10 * NSEC_PER_SEC)

#endif
