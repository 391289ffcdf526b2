/* SPDX-License-Identifier: BSD-2-Clause */
/* What the options of the peers have in common: rows for their tables, and what follows from them. */
#ifndef NORNIC_CLI_PEER_OPTIONS_H
#define NORNIC_CLI_PEER_OPTIONS_H

#include "base/base.h"
#include "cli/node/options.h"
#include "cli/option/option.h"
#include "cli/peer/peer.h"

#define PEER_MAX_CONNECTIONS 1024
#define PEER_MAX_MESSAGES    16384
#define PEER_MAX_SIZE_BYTES  (1u << 30)

#define PEER_SETS(member) CLI_SETS(struct peer_options, member)

/* The port that a service has in the CM's port space; `number` is text. */
#define PEER_SERVICE_PORT_ROW(space, number)                                                           \
    {                                                                                                  \
        "service-port", 'p', "PORT", "port of the RDMA " space " port space", PEER_SETS(service_port), \
            CLI_TAKES_COUNT(1, 65535), .preset = number                                                \
    }

/* How long, and how it is told. */
#define PEER_END_ROWS                                                       \
    {"timeout",                                                             \
     't',                                                                   \
     "TIME",                                                                \
     "give up when nothing happens for so long",                            \
     PEER_SETS(timeout_ns),                                                 \
     CLI_TAKES_TIME(10 * NS_PER_MS, 3600 * NS_PER_S),                       \
     .preset = "10s"},                                                      \
        {"json", 'j', NULL, "report as one line of JSON", PEER_SETS(json)}, \
    {                                                                       \
        .name = NULL                                                        \
    }

/* How many, and how large. `what` are "messages" or "datagrams". */
#define PEER_SHAPE_ROWS(whats, what, connections_are, max_bytes)                                     \
    {"connections",                                                                                  \
     'c',                                                                                            \
     "COUNT",                                                                                        \
     connections_are ", %r; both sides need the same",                                               \
     PEER_SETS(connections),                                                                         \
     CLI_TAKES_COUNT(1, PEER_MAX_CONNECTIONS),                                                       \
     .preset = "1"},                                                                                 \
        {"count",                                                                                    \
         'C',                                                                                        \
         "COUNT",                                                                                    \
         whats " each way over each of them; both sides need the same",                              \
         PEER_SETS(messages),                                                                        \
         CLI_TAKES_COUNT(0, PEER_MAX_MESSAGES),                                                      \
         .preset = "10"},                                                                            \
    {                                                                                                \
        "size", 'S', "BYTES", "size of a " what "; both sides need the same", PEER_SETS(size_bytes), \
            CLI_TAKES_SIZE(1, (max_bytes)), .preset = "100"                                          \
    }

#define PEER_EXIT_STATUS                                                \
    {                                                                   \
        "all went well", "the connection failed, broke or was refused", \
            "wrong usage, or it could not be tried"                     \
    }

/* After the last option: a port that has a connection manager. CLI_OK or CLI_ERROR. */
int peer_options_check(const struct peer_options *options);

#endif
