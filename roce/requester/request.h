/* SPDX-License-Identifier: BSD-2-Clause */
/* Request packets of the connected services: which one comes next, and how it is built. Inside roce/ only. */
#ifndef NORNIC_ROCE_REQUEST_H
#define NORNIC_ROCE_REQUEST_H

#include "roce/qp/inner.h"

/* A request packet about to be built. */
struct roce_request {
    uint32_t index; /* of its WQE */
    struct rdma_send_wqe *w;
    uint32_t pkt;               /* which packet of the message */
    uint32_t offset, len_bytes; /* its part of the data; of a READ what it asks for, and 0 */
    uint32_t psn_count;         /* PSNs that it takes: of a READ those of its answer */
    bool is_first, is_last;
    uint8_t op; /* enum roce_op */
};

/* PSNs that a message takes: ROCE-RC-1..3, ROCE-UC-2. */
uint32_t roce_request_psns(const struct roce_qp *qp, const struct rdma_send_wqe *w);

/* PSNs from `part` of a READ on that one request asks for. The requests of a READ always end at the same
 * places, so that their answers can be told apart, whatever was asked for again. */
uint32_t roce_read_psns(const struct roce_qp *qp, const struct rdma_send_wqe *w, uint32_t part);

/* The packet that sq.cur and sq.cur_part name. */
struct roce_request roce_request_next(const struct roce_qp *qp);

/* Builds it into the run. */
enum roce_built roce_request_build(struct roce_qp *qp, const struct roce_request *r, uint32_t psn,
                                   bool ack_req, struct roce_run *run);

#endif
