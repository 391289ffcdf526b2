/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of RC requests that came after a gap, kept until the gap is filled. A peer that sends again only
 * what a NAK names needs no more; one that goes back N sends the rest too, as duplicates, and is served as
 * well. Inside roce/ only. */
#ifndef NORNIC_ROCE_REORDER_H
#define NORNIC_ROCE_REORDER_H

#include "roce/qp.h"

struct roce_reorder_slot {
    uint32_t psn;
    uint32_t len_bytes; /* of the frame; 0: the slot is empty */
};

/* Room for `pkts` packets, rounded up to a power of two, the expected one included. 0 or -ENOMEM; the QP owns
 * it. */
int roce_reorder_init(struct roce_qp *qp, uint32_t pkts);
void roce_reorder_deinit(struct roce_qp *qp);
/* Forgets everything. */
void roce_reorder_clear(struct roce_qp *qp);

/* Keeps a packet whose PSN is after the expected one. False: it is too far ahead. */
bool roce_reorder_keep(struct roce_qp *qp, const struct roce_pkt *pkt);
/* Takes out the packet at the expected PSN, whose pointers hold until the next one is kept. False: it is not
 * there. */
bool roce_reorder_take(struct roce_qp *qp, struct roce_pkt *pkt);
/* Something after the expected PSN is kept. */
bool roce_reorder_has_gap(struct roce_qp *qp);

#endif
