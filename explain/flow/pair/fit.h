/* SPDX-License-Identifier: BSD-2-Clause */
/* The fit of an answer, or of a request, to the requests of one end. */
#ifndef NORNIC_EXPLAIN_FLOW_PAIR_FIT_H
#define NORNIC_EXPLAIN_FLOW_PAIR_FIT_H

#include "explain/flow/pair/types.h"

bool explain_is_nak(const struct roce_pkt *pkt);
/* Returns whether a request was seen that the packet may answer. A READ response answers a READ, an ATOMIC
 * ACK an atomic, an ACK any other request. A NAK also answers a request that is missing in the capture. */
bool explain_is_answer_to(const struct explain_half *half, const struct roce_pkt *pkt);
/* Whether an ACK counts as many messages as were sent by then (ROCE-RS-50): of two requesters that wait for
 * the same PSN it answers the one of which that is so. A capture that begins in the middle tells nothing by
 * it. */
bool explain_is_msn_right(const struct explain_half *half, const struct roce_pkt *pkt);

/* Whether the only response to a READ has as many bytes as are asked for at its PSN; true of all else. */
bool explain_is_size_right(const struct explain_half *half, const struct roce_pkt *pkt);

/* So far ahead no capture misses packets in silence. */
#define EXPLAIN_LEAP_PSNS 1024
/* Returns whether a request begins another connection: a message `ahead` PSNs after the newest,
 * EXPLAIN_LEAP_PSNS or more, of a sender that had its answers to everything. After a long silence fewer PSNs
 * are enough, since a new connection begins with one of its first packets. They are not enough if the sender,
 * at its pace, would have come about so far: a capture that drops all packets for a while makes that silence
 * itself. */
bool explain_is_leap(const struct explain_half *half, const struct explain_packet *packet, int32_t ahead);

/* Returns whether answer `index`, from 0, may end a repeated part of the READ before its last response: ends
 * that have sent selective acknowledgements, or were seen to do so, ask for a gap alone
 * (docs/selective-retransmission.md). */
bool explain_read_may_end_early(const struct explain_pair *pair, const struct explain_read *read,
                                uint32_t index);

#endif
