/* SPDX-License-Identifier: BSD-2-Clause */
/* iWARP as one of the transports (host/transport.h): adapters to host/iwarp/. */
#include "host/transport.h"

#include <errno.h>

#include "host/dev/dev.h"
#include "host/iwarp/iwarp.h"
#include "net/error.h"

/* --- queue pairs --- */

/* IWARP-VERB: connected, one to one, and its receives are its own or an SRQ's. The other members ask for
 * RoCE. */
static int create_qp(struct host_dev *dev, const struct host_qp_config *config, struct rdma_qp **out)
{
    if (config->type != NORNIC_QPT_RC || config->xrcd || config->reorder_pkts || config->e2e_credits)
        return -EOPNOTSUPP;
    if (!config->pd || !config->send_cq || !config->recv_cq)
        return -EINVAL;
    const struct iwarp_qp_config engine = {
        .pd = config->pd,
        .send_cq = config->send_cq,
        .recv_cq = config->recv_cq,
        .srq = config->srq,
        .caps = config->caps,
        .sq_sig_all = config->sq_sig_all,
        .ctx = config->ctx,
    };
    struct host_iw_qp *qp;
    int err = host_iw_qp_create(dev->iw, &engine, &qp);
    if (!err)
        *out = &qp->engine->base;
    return err;
}

static int destroy_qp(struct host_dev *dev, struct rdma_qp *qp)
{
    (void)dev;
    host_iw_qp_destroy(host_iw_qp_of(qp));
    return 0;
}

static int modify_qp(struct rdma_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask, uint64_t now_ns)
{
    (void)now_ns;
    return host_iw_qp_modify(host_iw_qp_of(qp), attr, mask);
}

static void query_qp(const struct rdma_qp *qp, struct nornic_qp_attr *attr, struct nornic_qp_caps *caps)
{
    host_iw_qp_query(host_iw_qp_of(qp), attr, caps);
}

static bool get_qp_peer(const struct rdma_qp *qp, struct nornic_addr *addr, uint32_t *qpn)
{
    struct nornic_cm_endpoints ends = {0};
    const struct host_iw_conn *conn = host_iw_qp_of(qp)->conn;
    if (!conn)
        return false;
    host_iw_conn_ends(conn, &ends);
    *addr = ends.remote;
    *qpn = 0;
    return !nornic_addr_is_zero(addr);
}

static int check_manual_connect(struct nornic_error *why)
{
    return net_error_set(why, EOPNOTSUPP,
                         "an iWARP queue pair is connected by the connection manager, over TCP");
}

static int refuse_mcast(struct rdma_qp *qp, const struct nornic_addr *group)
{
    (void)qp;
    (void)group;
    return -EOPNOTSUPP;
}

static void visit_qp_counters(const struct rdma_qp *qp, host_visit_counter *visit, void *ctx)
{
    (void)qp;
    (void)visit;
    (void)ctx;
}

const struct host_transport host_transport_iwarp = {
    .create_qp = create_qp,
    .destroy_qp = destroy_qp,
    .modify_qp = modify_qp,
    .query_qp = query_qp,
    .get_qp_peer = get_qp_peer,
    .check_manual_connect = check_manual_connect,
    .attach_mcast = refuse_mcast,
    .detach_mcast = refuse_mcast,
    .visit_qp_counters = visit_qp_counters,
};
