/* SPDX-License-Identifier: BSD-2-Clause */
/* RoCE as one of the transports (host/transport.h): adapters to the engine of roce/. */
#include "host/transport.h"

#include <errno.h>
#include <time.h>

#include "base/base.h"
#include "host/dev/clock.h"
#include "host/dev/dev.h"
#include "host/event/events.h"
#include "host/roce/dev.h"
#include "host/roce/gids.h"
#include "rdma/queue/qp.h"
#include "roce/neutral.h"
#include "roce/query.h"

/* --- devices --- */

#define LOOK_NS (NS_PER_MS / 2)

static void see_off(struct host_dev *dev, uint64_t limit_ns)
{
    static const struct timespec pause = {.tv_nsec = LOOK_NS};
    uint64_t end_ns = host_deadline_ns(limit_ns);
    for (;;) {
        host_dev_lock(dev);
        struct host_dev_client *client = dev->client;
        bool is_said = client && !client->ops->is_sending(client);
        bool is_over = !client || is_said || host_now_ns() >= end_ns;
        if (is_said)
            client->ops->said(client);
        if (!is_over)
            host_round_locked(dev, NULL);
        host_dev_unlock(dev);
        if (is_over)
            return;
        nanosleep(&pause, NULL);
    }
}

static const char *get_port_name(const struct host_dev *dev)
{
    return dev->port->name;
}

static const char *get_port_mode(const struct host_dev *dev)
{
    return dev->port->mode;
}

static struct rdma_domain *get_domain(const struct host_dev *dev)
{
    return roce_dev_domain(dev->engine);
}

static void query_dev(const struct host_dev *dev, struct nornic_dev_attr *out)
{
    roce_dev_query(dev->engine, out);
}

static void query_port(const struct host_dev *dev, struct nornic_port_attr *out)
{
    roce_dev_query_port(dev->engine, out);
}

static void visit_counters_of(const struct roce_counters *counters, host_visit_counter *visit, void *ctx)
{
    const uint64_t *values = (const uint64_t *)(const void *)counters;
    for (unsigned i = 0; roce_counter_name(i); i++)
        visit(ctx, roce_counter_name(i), values[i]);
}

static void visit_counters(const struct host_dev *dev, host_visit_counter *visit, void *ctx)
{
    const struct roce_dev_counters *counters = roce_dev_counters(dev->engine);
    visit_counters_of(&counters->qps, visit, ctx);
    for (unsigned v = 0; v < ROCE_RX_VERDICT_COUNT; v++)
        visit(ctx, roce_verdict_counter_name((enum roce_rx_verdict)v), counters->verdicts[v]);
#define VISIT_PORT_COUNTER_(name) visit(ctx, "port_" #name, dev->port->counters.name);
    NET_PORT_COUNTERS(VISIT_PORT_COUNTER_)
#undef VISIT_PORT_COUNTER_
    visit(ctx, "memory_faults", rdma_domain_faults(roce_dev_domain(dev->engine)));
    if (dev->client && dev->client->ops->visit_counters)
        dev->client->ops->visit_counters(dev->client, visit, ctx);
}

static int set_port(struct host_dev *dev, bool is_up)
{
    dev->is_cut = !is_up;
    roce_dev_port_state(dev->engine, is_up);
    return 0;
}

/* --- addresses and keys --- */

static int get_gid(const struct host_dev *dev, unsigned index, struct nornic_gid *out)
{
    const struct nornic_gid *gid = roce_dev_gid_get(dev->engine, index);
    if (gid)
        *out = *gid;
    return gid ? 0 : -ENOENT;
}

static unsigned get_ifindex(const struct host_dev *dev, unsigned index)
{
    unsigned ifindex = dev->gids ? host_gids_ifindex(dev->gids, index) : 0;
    return ifindex ? ifindex : dev->ifindex; /* a loopback address may be in use without being listed */
}

static int get_addr(const struct host_dev *dev, unsigned index, struct nornic_addr *out)
{
    const struct nornic_gid *gid = roce_dev_gid_get(dev->engine, index);
    if (gid)
        *out = gid->addr;
    return gid ? 0 : -ENOENT;
}

static int add_gid(struct host_dev *dev, const struct nornic_gid *gid)
{
    return roce_dev_gid_add(dev->engine, gid);
}

static int remove_gid(struct host_dev *dev, unsigned index, uint64_t now_ns)
{
    return roce_dev_gid_remove(dev->engine, index, now_ns);
}

static int get_pkey(const struct host_dev *dev, unsigned index, uint16_t *pkey)
{
    struct nornic_port_attr attr;
    roce_dev_query_port(dev->engine, &attr);
    if (index >= attr.pkey_table_size)
        return -EINVAL;
    *pkey = roce_dev_pkey_get(dev->engine, index);
    return 0;
}

static int set_pkey(struct host_dev *dev, unsigned index, uint16_t pkey)
{
    return roce_dev_pkey_set(dev->engine, index, pkey);
}

/* --- address handles --- */

static int create_ah(struct host_dev *dev, struct rdma_pd *pd, const struct nornic_av *av,
                     struct nornic_ah **out)
{
    return roce_ah_create(dev->engine, pd, av, out);
}

static int get_av_back(const struct host_dev *dev, const struct nornic_wc *wc, const void *l3_area,
                       struct nornic_av *av)
{
    return roce_ah_from_wc(dev->engine, wc, l3_area, av);
}

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
    int err = roce_qp_create(dev->engine, &engine, &qp);
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
    visit_counters_of(roce_qp_counters(roce_qp_from_base(qp)), visit, ctx);
}

const struct host_transport host_transport_roce = {
    .cm = &host_cm_calls_roce,
    .drive = &host_drive_frames,
    .has_xrc = true,
    .open = host_roce_open,
    .see_off = see_off,
    .get_port_name = get_port_name,
    .get_port_mode = get_port_mode,
    .get_domain = get_domain,
    .query_dev = query_dev,
    .query_port = query_port,
    .visit_counters = visit_counters,
    .set_port = set_port,
    .get_gid = get_gid,
    .get_addr = get_addr,
    .get_ifindex = get_ifindex,
    .add_gid = add_gid,
    .remove_gid = remove_gid,
    .get_pkey = get_pkey,
    .set_pkey = set_pkey,
    .resolve = host_dev_resolve_from,
    .create_ah = create_ah,
    .destroy_ah = roce_ah_destroy,
    .get_av_back = get_av_back,
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
