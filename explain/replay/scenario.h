/* SPDX-License-Identifier: BSD-2-Clause */
/* A scenario: a small text that says of a replay what the packets do not tell, and of a rewrite what is to
 * change. A line a statement, words parted by blanks, # begins a comment, numbers decimal or 0x...:
 *   qp QPN [sq-psn N] [rq-psn N] [mtu BYTES] [rnr-timer CODE]     of the endpoint that is rebuilt
 *   key RKEY va VA bytes N [access read,write,atomic]             memory that it has registered
 *   address OLD NEW [MAC]                                         rewrite: who is who, and at which MAC
 *   to ADDR QPN [qp NEW] [psn FIRST]                              rewrite: packets to that QP of ADDR
 *   rkey ADDR OLD NEW [va OLD NEW]                                rewrite: the memory of ADDR */
#ifndef NORNIC_EXPLAIN_REPLAY_SCENARIO_H
#define NORNIC_EXPLAIN_REPLAY_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "net/error.h"
#include "nornic/addr.h"

#define EXPLAIN_SCENARIO_MAX   256   /* statements of a kind */
#define EXPLAIN_SCENARIO_BYTES 65536 /* of the text, at most */

struct explain_scenario_qp {
    unsigned line;
    uint32_t qpn;
    bool has_sq_psn, has_rq_psn, has_mtu, has_rnr_timer;
    uint32_t sq_psn, rq_psn, pmtu_bytes;
    uint8_t rnr_timer;
};

struct explain_scenario_key {
    uint32_t rkey;
    uint64_t va, bytes;
    uint32_t access; /* enum nornic_access */
};

struct explain_scenario_address {
    struct nornic_addr from, to;
    bool has_mac;
    struct nornic_mac mac;
};

struct explain_scenario_to {
    struct nornic_addr addr; /* as recorded */
    uint32_t qpn;            /* as recorded */
    bool has_qpn, has_psn;
    uint32_t new_qpn, first_psn;
};

struct explain_scenario_rkey {
    struct nornic_addr addr; /* as recorded */
    uint32_t from, to;
    uint64_t va_from, va_to; /* VAs move by the difference */
};

struct explain_scenario {
    struct explain_scenario_qp qps[EXPLAIN_SCENARIO_MAX];
    struct explain_scenario_key keys[EXPLAIN_SCENARIO_MAX];
    struct explain_scenario_address addresses[EXPLAIN_SCENARIO_MAX];
    struct explain_scenario_to tos[EXPLAIN_SCENARIO_MAX];
    struct explain_scenario_rkey rkeys[EXPLAIN_SCENARIO_MAX];
    unsigned qp_count, key_count, address_count, to_count, rkey_count;
};

/* Reads a text, which ends with a NUL. 0; or -EINVAL with a sentence in `why` that names the line. */
int explain_scenario_parse(struct explain_scenario *scenario, const char *text, struct nornic_error *why);

#endif
