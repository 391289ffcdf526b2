/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of one end: their PSNs, the message in progress, and the count of messages. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_ASKS_H
#define NORNIC_EXPLAIN_FLOW_HALF_ASKS_H

#include <stdbool.h>
#include <stdint.h>

#define EXPLAIN_PSN_UNKNOWN UINT32_MAX /* a first PSN that nothing in the capture tells */

/* The PSNs that one end used. */
struct explain_asks {
    bool has_any; /* a request was seen; no other member means anything before */
    /* `next_psn` is a guess: the newest request is a READ of more than one packet, and the path MTU is not
     * known. */
    bool is_guessed;
    uint32_t first_psn, next_psn; /* of all requests: the first PSN, and one past the newest */
    uint64_t first_ns, newest_ns; /* of the first request and the newest; 0: none was seen */
    uint32_t rounds;              /* new requests that came after everything before them was answered */
};

/* The message in progress. */
struct explain_open {
    uint64_t count; /* messages begun so far */
    bool is_open;
    bool is_headless;     /* its beginning is not in the capture */
    bool is_begun_before; /* the connection is older than the capture */
    uint8_t opcode;
    uint32_t psn;
    uint64_t bytes, total;
};

/* The message sequence numbers of the answers. */
struct explain_msn {
    bool is_known;
    uint32_t newest; /* of the newest answer that went further */
    uint32_t base;   /* the MSN before the first message that was seen */
};

/* The base as strict ACKs bound it: it is one of `msn` to `msn` + `room`. */
struct explain_strict_msn {
    bool is_begun;
    uint32_t msn, room;
    uint32_t proofs; /* ACKs that agreed to it */
};

#endif
