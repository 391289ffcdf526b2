/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/query.h"

#include "rdma/srq.h"

#include "roce/device.h"
#include "roce/transport.h"

#define LOCAL_CA_ACK_DELAY 15 /* ROCE-LIM-2: 134 ms */

#define ALWAYS                                                                                          \
    (ROCE_CAP_BAD_PKEY_COUNTER | ROCE_CAP_BAD_QKEY_COUNTER | ROCE_CAP_CURR_QP_STATE_MOD |               \
     ROCE_CAP_PORT_ACTIVE_EVENT | ROCE_CAP_RC_RNR_NAK_GEN | ROCE_CAP_SRQ_RESIZE | ROCE_CAP_MEM_WINDOW | \
     ROCE_CAP_MEM_MGT_EXTENSIONS | ROCE_CAP_MEM_WINDOW_TYPE_2B)

void roce_dev_query(const struct roce_dev *dev, struct roce_dev_attr *out)
{
    *out = (struct roce_dev_attr){
        .cap_flags = ALWAYS | (dev->config.path_migration ? ROCE_CAP_AUTO_PATH_MIG : 0) |
                     (roce_transport_of(ROCE_QPT_XRC_INI) ? ROCE_CAP_XRC : 0),
        .atomic_cap = ROCE_ATOMIC_HCA,
        .masked_atomic_cap = dev->config.masked_atomics ? ROCE_ATOMIC_HCA : ROCE_ATOMIC_NONE,
        .max_qp = dev->config.max_qp,
        .max_mr = dev->config.max_mr,
        .max_qp_wr = ROCE_MAX_WR,
        .max_sge = ROCE_MAX_SGE,
        .max_inline_bytes = ROCE_MAX_INLINE_BYTES,
        .max_cqe = RDMA_CQ_MAX_CAPACITY,
        .max_srq_wr = RDMA_SRQ_MAX_WR,
        .max_qp_rd_atomic = ROCE_MAX_RD_ATOMIC,
        .max_qp_init_rd_atomic = ROCE_MAX_RD_ATOMIC,
        .local_ca_ack_delay = LOCAL_CA_ACK_DELAY,
        .max_pkeys = dev->config.num_pkeys,
    };
}

void roce_dev_query_port(const struct roce_dev *dev, struct roce_port_attr *out)
{
    *out = (struct roce_port_attr){
        .is_up = dev->port_up,
        .roce_v1_supported = dev->config.roce_v1,
        .roce_v2_supported = true,
        .cap_flags = ROCE_PORT_CAP_CM,
        .max_mtu = ROCE_MTU_4096,
        .active_mtu = roce_mtu_for_port(dev->config.port_mtu_bytes),
        .max_msg_bytes = ROCE_MAX_MSG_BYTES,
        .gid_table_size = ROCE_GID_MAX,
        .pkey_table_size = dev->config.num_pkeys,
        .bad_pkey_counter = (uint16_t)dev->counters.verdicts[ROCE_RX_DROP_PKEY],
        .qkey_viol_counter = (uint16_t)dev->counters.verdicts[ROCE_RX_DROP_QKEY],
    };
}
