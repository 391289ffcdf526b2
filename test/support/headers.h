/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NORNIC_TEST_SUPPORT_HEADERS_H
#define NORNIC_TEST_SUPPORT_HEADERS_H

#include "roce/packet.h"

/* Encodes the transport headers of a packet that was parsed, BTH first, into `p`. Returns their end. */
static inline uint8_t *headers_put(uint8_t *p, const struct roce_pkt *pkt)
{
    uint32_t has = pkt->op->flags;
    p = roce_bth_put(p, &pkt->bth);
    if (has & ROCE_PKT_RDETH)
        p = roce_rdeth_put(p, &pkt->rdeth);
    if (has & ROCE_PKT_DETH)
        p = roce_deth_put(p, &pkt->deth);
    if (has & ROCE_PKT_XRCETH)
        p = roce_xrceth_put(p, &pkt->xrceth);
    if (has & ROCE_PKT_RETH)
        p = roce_reth_put(p, &pkt->reth);
    if (has & ROCE_PKT_ATOMICETH)
        p = roce_atomiceth_put(p, &pkt->atomiceth);
    if (has & ROCE_PKT_MASKETH)
        p = roce_masketh_put(p, &pkt->masketh);
    if (has & ROCE_PKT_AETH)
        p = roce_aeth_put(p, &pkt->aeth);
    if (has & ROCE_PKT_SACKETH)
        p = roce_sacketh_put(p, &pkt->sacketh);
    if (has & ROCE_PKT_ATOMICACKETH)
        p = roce_atomicacketh_put(p, &pkt->atomicacketh);
    if (has & ROCE_PKT_IMMDT)
        p = roce_immdt_put(p, &pkt->immdt);
    if (has & ROCE_PKT_IETH)
        p = roce_ieth_put(p, &pkt->ieth);
    return p;
}

#endif
