/* SPDX-License-Identifier: BSD-2-Clause */
/* All programs, compiled by whoever includes this. */
#include "test/sock/same_data.h"
#include "test/sock/same_end.h"
#include "test/sock/same_many.h"
#include "test/sock/same_ready.h"
#include "test/sock/same_wait.h"

#define PROGRAM(name)                       \
    {                                       \
#name, name##_client, name##_server \
    }

const struct same_program PROGRAMS[] = {
    PROGRAM(hello),       PROGRAM(bulk),        PROGRAM(vectors),       PROGRAM(peeking),
    PROGRAM(waitall),     PROGRAM(urgent),      PROGRAM(urgent_inline), PROGRAM(options),
    PROGRAM(half_close),  PROGRAM(unread),      PROGRAM(reset),         PROGRAM(lingering),
    PROGRAM(broken_pipe), PROGRAM(refused),     PROGRAM(duplicates),    PROGRAM(polling),
    PROGRAM(selecting),   PROGRAM(epoll_level), PROGRAM(epoll_edge),    PROGRAM(connecting),
    PROGRAM(accepting),   PROGRAM(timeouts),    PROGRAM(signals),       PROGRAM(lowat),
    PROGRAM(threads),     PROGRAM(many),        PROGRAM(in_turn),       {NULL, NULL, NULL},
};
