/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv4 identifications of one sender, as far as they tell in which order its packets left. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_IDS_H
#define NORNIC_EXPLAIN_FLOW_HALF_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/meaning/why.h"

struct explain_packet;

struct explain_ids {
    uint16_t newest;      /* of the packets that were seen, in the order of sending */
    uint16_t count, rise; /* packets, and how far the identifications have come by them */
    uint16_t odd;         /* steps that no counter makes */
    uint16_t before;      /* of the newest packet that came behind a later one, and */
    uint8_t behind;       /* so many in a row did, each with a higher identification */
    bool is_above_trains; /* one of them is no number of a packet in a train that is counted from 0 */
};

enum explain_order {
    EXPLAIN_ORDER_UNKNOWN,
    EXPLAIN_ORDER_EARLIER, /* it left before one that is in the capture already */
    EXPLAIN_ORDER_LATER,   /* it left after all of them */
};

/* Takes the identification of a packet that is no copy made by the network. Many in a row that left before
 * another are no latecomers: whoever counts has begun anew. */
void explain_ids_learn(struct explain_ids *ids, uint16_t id);
/* How sure it is that this sender counts. */
enum explain_sure explain_ids_count(const struct explain_ids *ids);
enum explain_order explain_ids_order(const struct explain_ids *ids, uint16_t id);
/* Returns whether a sender that counts sent nothing between the newest packet and this one. */
bool explain_ids_is_next(const struct explain_ids *ids, const struct explain_packet *packet);

#endif
