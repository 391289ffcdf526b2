/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of a capture for another place: with other addresses, QPNs, PSNs and keys, and all sums anew. */
#ifndef NORNIC_EXPLAIN_REPLAY_REWRITE_H
#define NORNIC_EXPLAIN_REPLAY_REWRITE_H

#include "explain/replay/scenario.h"
#include "explain/replay/tape.h"

struct explain_rewriter {
    const struct explain_tape *tape;
    const struct explain_scenario *scenario;
    uint32_t psn_shift[EXPLAIN_SCENARIO_MAX]; /* of the `to` statements, modulo 2^24 */
};

/* Looks for the first request to each QP of which the scenario says where its PSNs are to begin. Both
 * pointers are kept. 0; or -ENOENT with a sentence in `why`: nothing goes to a QP that the scenario names. */
int explain_rewrite_begin(struct explain_rewriter *w, const struct explain_tape *tape,
                          const struct explain_scenario *scenario, struct nornic_error *why);

/* Writes the rewritten packet `i` of the tape to `frame`, which has room for its bytes; returns how many, or
 * 0: it is left out, as it is no RoCE packet, or cut, or malformed. Answers keep to the PSNs of what they
 * answer. The IPv4 and UDP checksums and the ICRC are made anew; an ICRC that was bad differs from the good
 * one in the same bits as before. What connection management and SMC-R say in their messages stays. */
uint32_t explain_rewrite(const struct explain_rewriter *w, size_t i, uint8_t *frame);

#endif
