/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended Reliable Connection: ROCE section 10.4. An initiator QP is an RC requester, a target QP an RC
 * responder; each request names the SRQ whose receives, CQ and PD it is for. Inside roce/ only. */
#ifndef NORNIC_ROCE_XRC_H
#define NORNIC_ROCE_XRC_H

#include "roce/qp/inner.h"

/* A target QP: finds the SRQ that the request at the expected PSN names, which is where the next receive WQE
 * comes from, and whose PD its keys are checked against: *pd. False: there is none in the QP's XRC domain, or
 * the packet names another one than the message did that it goes on with (ROCE-XRC-2). On other QPs *pd is
 * the QP's. */
bool roce_xrc_select(struct roce_qp *qp, const struct roce_pkt *pkt, const struct rdma_pd **pd);

/* The same for the answer of a READ, whose data is fetched later; NULL: the SRQ that the request named is
 * gone, and no key is good. */
const struct rdma_pd *roce_remote_pd(const struct roce_qp *qp, uint32_t srqn);

#endif
