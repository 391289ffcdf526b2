/* SPDX-License-Identifier: BSD-2-Clause */
/* What UD and GSI offer, and what a post must not ask of them: ROCE sections 10.1 and 10.3. */
#include "roce/datagram/ud.h"

#include <errno.h>

#include "roce/dev/av.h"
#include "roce/dev/device.h"
#include "roce/qp/transport.h"

static int ud_check_send(const struct rdma_qp *base, const struct nornic_send_wr *wr, uint32_t len_bytes)
{
    struct nornic_ah *ah = wr->ud.ah;
    (void)len_bytes;               /* too long is no error: ROCE-UD-2 */
    if (!ah || ah->pd != base->pd) /* ROCE-PD-1; and so of this device */
        return -EINVAL;
    if (wr->ud.remote_qpn == 0 || wr->ud.remote_qpn > ROCE_MULTICAST_QPN)
        return -EINVAL;
    /* ROCE-RX-12: either the QPN and the address are those of a multicast group, or neither is. */
    return (wr->ud.remote_qpn == ROCE_MULTICAST_QPN) == nornic_addr_is_multicast(&roce_ah_of(ah)->av.dgid)
               ? 0
               : -EINVAL;
}

/* ROCE-GSI-1: one MAD a message. */
static int gsi_check_send(const struct rdma_qp *base, const struct nornic_send_wr *wr, uint32_t len_bytes)
{
    if (len_bytes != ROCE_MAD_BYTES || wr->ud.pkey_index >= roce_qp_of(base)->dev->config.num_pkeys)
        return -EINVAL;
    return ud_check_send(base, wr, len_bytes);
}

const struct roce_transport roce_ud = {
    .service = ROCE_SERVICE_UD,
    .has_sqe = true,
    .sends = RDMA_SENDS(NORNIC_WR_SEND) | RDMA_SENDS(NORNIC_WR_SEND_WITH_IMM),
    .ops = {.posted = roce_qp_posted, .check_send = ud_check_send},
    .rx = roce_ud_rx,
    .tx = roce_ud_tx,
};

const struct roce_transport roce_gsi = {
    .service = ROCE_SERVICE_UD,
    .has_sqe = true,
    .sends = RDMA_SENDS(NORNIC_WR_SEND),
    .ops = {.posted = roce_qp_posted, .check_send = gsi_check_send},
    .rx = roce_ud_rx,
    .tx = roce_ud_tx,
};
