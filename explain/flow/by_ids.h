/* SPDX-License-Identifier: BSD-2-Clause */
/* What the IPv4 identification of a packet whose PSN is not new tells: whether it was sent again, copied on
 * its way, or overtaken. Inside explain/flow/. */
#ifndef NORNIC_EXPLAIN_FLOW_BY_IDS_H
#define NORNIC_EXPLAIN_FLOW_BY_IDS_H

#include "explain/flow/cause.h"

/* By identifications: copies and latecomers. `before`: the newest copy, NULL: none is in the capture. False:
 * they do not say so. */
bool explain_tell_by_ids(const struct explain_half *half, const struct explain_ids *ids,
                         const struct explain_packet *packet, const struct explain_sent *before,
                         enum explain_again *again, struct explain_why *why);
/* Whether it is no copy that the network made: it left later, or differs in what a copy cannot. */
bool explain_is_sent_for_sure(const struct explain_ids *ids, const struct explain_packet *packet,
                              const struct explain_sent *before);
/* By a sender that counts: nothing of this end was sent between the packet before and this one. */
bool explain_is_next_id(const struct explain_ids *ids, const struct explain_packet *packet);

#endif
