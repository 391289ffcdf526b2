/* SPDX-License-Identifier: BSD-2-Clause */
/* RoCE as one of the transports (host/transport.h): adapters to the engine of roce/. */
#include "host/transport.h"

#include "host/event/events.h"
#include "rdma/queue/qp.h"
#include "roce/base.h"

/* --- queue pairs --- */

static int create_qp(struct host_dev *dev, const struct host_qp_config *config, struct rdma_qp **out)
{
    const struct roce_qp_config engine = {
        .type = config->type,
        .pd = config->pd,
        .send_cq = config->send_cq,
        .recv_cq = config->recv_cq,
        .srq = config->srq,
        .xrcd = config->xrcd,
        .caps = config->caps,
        .sq_sig_all = config->sq_sig_all,
        .reorder_pkts = config->reorder_pkts,
        .e2e_credits = config->e2e_credits,
        .block_multicast_loopback = config->block_multicast_loopback,
        .ctx = config->ctx,
    };
    struct roce_qp *qp;
    host_dev_lock(dev);
    int err = roce_qp_create(host_dev_engine(dev), &engine, &qp);
    host_dev_unlock(dev);
    if (!err)
        *out = roce_qp_base(qp);
    return err;
}

static int destroy_qp(struct host_dev *dev, struct rdma_qp *qp)
{
    return host_qp_destroy(dev, roce_qp_from_base(qp));
}

static int modify_qp(struct rdma_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask, uint64_t now_ns)
{
    return roce_qp_modify(roce_qp_from_base(qp), attr, mask, now_ns);
}

static void query_qp(const struct rdma_qp *qp, struct nornic_qp_attr *attr, struct nornic_qp_caps *caps)
{
    roce_qp_query(roce_qp_from_base(qp), attr, caps);
}

static bool get_qp_peer(const struct rdma_qp *qp, struct nornic_addr *addr, uint32_t *qpn)
{
    struct nornic_qp_attr attr;
    roce_qp_query(roce_qp_from_base(qp), &attr, NULL);
    *addr = attr.av.dgid;
    *qpn = attr.dest_qpn;
    return !qp->is_datagram && attr.state != NORNIC_QPS_RESET && attr.state != NORNIC_QPS_INIT &&
           !nornic_addr_is_zero(addr);
}

static int check_manual_connect(struct nornic_error *why)
{
    (void)why;
    return 0;
}

static int attach_mcast(struct rdma_qp *qp, const struct nornic_addr *group)
{
    return roce_qp_attach_mcast(roce_qp_from_base(qp), group);
}

static int detach_mcast(struct rdma_qp *qp, const struct nornic_addr *group)
{
    return roce_qp_detach_mcast(roce_qp_from_base(qp), group);
}

static void visit_qp_counters(const struct rdma_qp *qp, host_visit_counter *visit, void *ctx)
{
    const struct roce_counters *counters = roce_qp_counters(roce_qp_from_base(qp));
    const uint64_t *values = (const uint64_t *)(const void *)counters;
    for (unsigned i = 0; roce_counter_name(i); i++)
        visit(ctx, roce_counter_name(i), values[i]);
}

const struct host_transport host_transport_roce = {
    .create_qp = create_qp,
    .destroy_qp = destroy_qp,
    .modify_qp = modify_qp,
    .query_qp = query_qp,
    .get_qp_peer = get_qp_peer,
    .check_manual_connect = check_manual_connect,
    .attach_mcast = attach_mcast,
    .detach_mcast = detach_mcast,
    .visit_qp_counters = visit_qp_counters,
};
