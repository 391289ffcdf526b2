/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a sender's recovery, which each packet of the sender brings up to date. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_NOTES_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_NOTES_H

#include "explain/flow/again/verdict.h"

/* Notes that everything before `end_psn` is acknowledged, by that packet. */
void explain_note_progress(struct explain_half *half, const struct explain_packet *packet, uint32_t end_psn);
/* Notes an ACK for a PSN before others that are acknowledged already. */
void explain_note_ack_again(struct explain_half *half);
/* Notes a packet with a new PSN: the packets that were sent again are at their end. */
void explain_note_new(struct explain_half *half, const struct explain_ids *ids,
                      const struct explain_packet *packet);

/* Notes the verdict about a case: the network made or delayed the packet; */
void explain_note_mangled(const struct explain_case *c, struct explain_verdict *v);
/* it was sent for a selective acknowledgement; */
void explain_note_selected(const struct explain_case *c, struct explain_verdict *v);
/* it goes along; */
void explain_note_along(const struct explain_case *c, struct explain_verdict *v);
/* the sender went back with it. */
void explain_note_return(const struct explain_case *c, struct explain_verdict *v);

#endif
