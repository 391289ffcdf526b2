/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective acknowledgements, an extension of nornic's (docs/selective-retransmission.md): the packets that
 * they say are missing, and whether a packet that comes again was sent for one of them. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_SELECTIVE_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_SELECTIVE_H

#include "explain/flow/again/verdict.h"

/* The evidence that a packet with a bitmap is: the PSN is before its end, and not marked as there. */
#define EXPLAIN_SACK_LACKS "the selective acknowledgement that lacks it"

/* The content of a selective acknowledgement. */
struct explain_sack {
    uint32_t kept, lacking; /* packets behind the expected one that are there, and PSNs that are not */
    uint32_t psn, end_psn;  /* the first hole that none told of before; equal: there is none */
    uint64_t probe_number;  /* of the probe that it answers; 0: none, or it is not in the capture */
};

/* Notes a probe from the end that sends the requests of `half`. */
void explain_selective_probe(struct explain_half *half, const struct explain_packet *packet);
/* Takes one that came to that end, and remembers the packets that it lacks. Its PSN is acknowledged already;
 * `is_further`: by it alone. */
struct explain_sack explain_selective_take(struct explain_half *half, const struct explain_packet *packet,
                                           bool is_further);
/* Returns whether the newest selective acknowledgement says of that very PSN that it did not come: it is
 * expected, or something behind it came. A receiver may have got some of the packets behind all that came,
 * and have thrown them away, as a packet before them is missing. */
bool explain_selective_names(const struct explain_half *half, uint32_t psn);
/* Returns whether the newest says that the packet at that PSN is there, behind one that is not. */
bool explain_selective_has(const struct explain_half *half, uint32_t psn);
/* Notes that everything before `end_psn` is acknowledged: packets that were missing there were late, or
 * lost. */
void explain_selective_passed(struct explain_half *half, uint64_t now_ns, uint32_t end_psn);

/* Tells whether a selective acknowledgement was the reason. */
bool explain_witness_selective(const struct explain_case *c, struct explain_verdict *v);

#endif
