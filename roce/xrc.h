/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended Reliable Connection: ROCE section 10.4. An initiator QP is an RC requester, a target QP an RC
 * responder; each request names the SRQ whose receives, CQ and PD it is for. Inside roce/ only. */
#ifndef NORNIC_ROCE_XRC_H
#define NORNIC_ROCE_XRC_H

#include "roce/qp.h"

static inline bool roce_qp_is_xrc(const struct roce_qp *qp)
{
    return qp->type == NORNIC_QPT_XRC_INI || qp->type == NORNIC_QPT_XRC_TGT;
}

/* A target QP: finds the SRQ that the request at the expected PSN names, which is where the next receive WQE
 * comes from. False: there is none in the QP's XRC domain, or the packet names another one than the message
 * did that it goes on with (ROCE-XRC-2). On other QPs there is nothing to do. */
bool roce_xrc_select(struct roce_qp *qp, const struct roce_pkt *pkt);

/* The PD that remote keys are checked against: the QP's, or that of the SRQ which a request to a target QP
 * named; NULL: that SRQ is gone, and no key is good. */
const struct rdma_pd *roce_remote_pd(const struct roce_qp *qp, uint32_t srqn);

#endif
