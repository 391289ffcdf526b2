/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/query.h"

#include "rdma/srq.h"

#include "roce/dev/inner.h"
#include "roce/qp/transport.h"

#define LOCAL_CA_ACK_DELAY 15 /* ROCE-LIM-2: 134 ms */

#define ALWAYS                                                                                  \
    (NORNIC_CAP_BAD_PKEY_COUNTER | NORNIC_CAP_BAD_QKEY_COUNTER | NORNIC_CAP_CURR_QP_STATE_MOD | \
     NORNIC_CAP_PORT_ACTIVE_EVENT | NORNIC_CAP_RC_RNR_NAK_GEN | NORNIC_CAP_SRQ_RESIZE |         \
     NORNIC_CAP_MEM_WINDOW | NORNIC_CAP_MEM_MGT_EXTENSIONS | NORNIC_CAP_MEM_WINDOW_TYPE_2B)

void roce_dev_query(const struct roce_dev *dev, struct nornic_dev_attr *out)
{
    *out = (struct nornic_dev_attr){
        .cap_flags = ALWAYS | (dev->config.path_migration ? NORNIC_CAP_AUTO_PATH_MIG : 0) |
                     (roce_transport_of(NORNIC_QPT_XRC_INI) ? NORNIC_CAP_XRC : 0),
        .atomic_cap = NORNIC_ATOMIC_HCA,
        .masked_atomic_cap = dev->config.masked_atomics ? NORNIC_ATOMIC_HCA : NORNIC_ATOMIC_NONE,
        .max_qp = dev->config.max_qp,
        .max_mr = dev->config.max_mr,
        .max_qp_wr = NORNIC_MAX_WR,
        .max_sge = NORNIC_MAX_SGE,
        .max_inline_bytes = NORNIC_MAX_INLINE_BYTES,
        .max_cqe = RDMA_CQ_MAX_CAPACITY,
        .max_srq_wr = RDMA_SRQ_MAX_WR,
        .max_qp_rd_atomic = NORNIC_MAX_RD_ATOMIC,
        .max_qp_init_rd_atomic = NORNIC_MAX_RD_ATOMIC,
        .local_ca_ack_delay = LOCAL_CA_ACK_DELAY,
        .max_pkeys = dev->config.num_pkeys,
        .transport = NORNIC_TRANSPORT_IB,
        .node_type = NORNIC_NODE_CA,
    };
}

void roce_dev_query_port(const struct roce_dev *dev, struct nornic_port_attr *out)
{
    *out = (struct nornic_port_attr){
        .is_up = dev->is_port_up,
        .roce_v1_supported = dev->config.roce_v1,
        .roce_v2_supported = true,
        .cap_flags = NORNIC_PORT_CAP_CM,
        .max_mtu = NORNIC_MTU_4096,
        .active_mtu = nornic_mtu_for_port(dev->port_mtu_bytes),
        .max_msg_bytes = NORNIC_MAX_MSG_BYTES,
        .gid_table_size = NORNIC_GID_MAX,
        .pkey_table_size = dev->config.num_pkeys,
        .bad_pkey_counter = (uint16_t)dev->counters.verdicts[ROCE_RX_DROP_PKEY],
        .qkey_viol_counter = (uint16_t)dev->counters.verdicts[ROCE_RX_DROP_QKEY],
    };
}
