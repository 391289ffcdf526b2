/* SPDX-License-Identifier: BSD-2-Clause */
/* The path MTU of a pair, and what depends on it: how many PSNs a READ takes. */
#ifndef NORNIC_EXPLAIN_FLOW_MESSAGE_PMTU_H
#define NORNIC_EXPLAIN_FLOW_MESSAGE_PMTU_H

#include "explain/flow/pair/types.h"

/* Returns how many packets so many bytes take; 1 if the path MTU is not known. */
uint32_t explain_pieces_of(uint64_t bytes, uint32_t pmtu_bytes);
/* A first or middle packet carries one path MTU (ROCE-OPC-2): READs of which that was not known are put
 * right. `half`: whose requests these are, or are answered. */
void explain_pmtu_learn(struct explain_pair *pair, struct explain_half *half, const struct roce_pkt *pkt);
/* That of the half, as its own pieces show it, or else as the pair's do; 0: not known. */
static inline uint32_t explain_pmtu_of(const struct explain_pair *pair, const struct explain_half *half)
{
    return half->seen_pmtu_bytes ? half->seen_pmtu_bytes : pair->shown.pmtu_bytes;
}

/* Whether how many PSNs a READ of the half takes is a guess: no piece has shown the path MTU, or those
 * that did may be of another connection (explain_is_behind_other()). */
bool explain_pmtu_is_guess(const struct explain_pair *pair, unsigned direction);
/* The newest READ of the half takes as many PSNs as is guessed, and a request with that PSN comes: one
 * behind it tells how many, another nothing. */
void explain_pmtu_resolve(struct explain_pair *pair, struct explain_half *half, uint32_t psn);
/* The answer `index`, counted from 0, is the last one to the READ, and has so many bytes: so many PSNs the
 * READ takes, whatever was guessed. An answer whose bytes do not add up says nothing. */
void explain_pmtu_read_ends(struct explain_half *half, struct explain_read *read, uint32_t index,
                            uint32_t bytes);

#endif
