/* SPDX-License-Identifier: BSD-2-Clause */
/* All programs, compiled by whoever includes this. */
#include "test/sock/same_closed.h"
#include "test/sock/same_data.h"
#include "test/sock/same_end.h"
#include "test/sock/same_many.h"
#include "test/sock/same_options.h"
#include "test/sock/same_ready.h"
#include "test/sock/same_wait.h"
#include "test/sock/same_wrong.h"

#define PROGRAM(name)                       \
    {                                       \
#name, name##_client, name##_server \
    }

const struct same_program PROGRAMS[] = {
    PROGRAM(hello),          PROGRAM(bulk),           PROGRAM(vectors),       PROGRAM(peeking),
    PROGRAM(waitall),        PROGRAM(urgent),         PROGRAM(urgent_inline), PROGRAM(options),
    PROGRAM(half_close),     PROGRAM(unread),         PROGRAM(reset),         PROGRAM(lingering),
    PROGRAM(broken_pipe),    PROGRAM(refused),        PROGRAM(duplicates),    PROGRAM(polling),
    PROGRAM(selecting),      PROGRAM(epoll_level),    PROGRAM(epoll_edge),    PROGRAM(connecting),
    PROGRAM(accepting),      PROGRAM(timeouts),       PROGRAM(signals),       PROGRAM(lowat),
    PROGRAM(threads),        PROGRAM(many),           PROGRAM(in_turn),       PROGRAM(answering),
    PROGRAM(unread_end),     PROGRAM(lowat_end),      PROGRAM(peek_end),      PROGRAM(shut_twice),
    PROGRAM(shut_read),      PROGRAM(unaccepted),     PROGRAM(linger_wait),   PROGRAM(inherited),
    PROGRAM(lowat_large),    PROGRAM(lowat_recv),     PROGRAM(sizes),         PROGRAM(wrong_counts),
    PROGRAM(wrong_pointers), PROGRAM(push_after_end), {NULL, NULL, NULL},
};
