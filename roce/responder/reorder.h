/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of RC requests that came after a gap, kept until the gap is filled. A peer that sends again only
 * what it is told is missing needs no more; one that goes back N sends the rest too, as duplicates, and is
 * served as well.
 *
 * Whole packets are kept, not only placed where they belong: of two WRITEs to the same bytes the later one
 * has to win, a SEND takes its receive only in its turn, and a key may be made invalid by what is missing. So
 * a kept packet is executed when its turn comes, as if it had come then. Inside roce/ only. */
#ifndef NORNIC_ROCE_REORDER_H
#define NORNIC_ROCE_REORDER_H

#include "roce/qp/inner.h"

/* A store of the QP's own for `pkts` packets, rounded up to a power of two, the expected one included. 0 or
 * -ENOMEM. */
int roce_reorder_init(struct roce_qp *qp, uint32_t pkts);
void roce_reorder_deinit(struct roce_qp *qp);
/* Forgets everything. */
void roce_reorder_clear(struct roce_qp *qp);

/* How many packets after the expected one can be kept. 0: the QP keeps none. */
uint32_t roce_reorder_room(const struct roce_qp *qp);
/* Keeps a packet whose PSN is after the expected one, in the QP's store or else in the device's. False: it is
 * too far ahead, or there is no room. */
bool roce_reorder_keep(struct roce_qp *qp, const struct roce_pkt *pkt);
/* The packet at `psn` is kept. */
bool roce_reorder_has(const struct roce_qp *qp, uint32_t psn);
/* Takes out the packet at the expected PSN, whose pointers hold until the next one is kept. False: it is not
 * there. */
bool roce_reorder_take(struct roce_qp *qp, struct roce_pkt *pkt);
/* Something after the expected PSN is kept. */
bool roce_reorder_has_gap(struct roce_qp *qp);

#endif
