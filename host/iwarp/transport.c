/* SPDX-License-Identifier: BSD-2-Clause */
/* iWARP as one of the transports (host/transport.h): adapters to host/iwarp/. */
#include "host/transport.h"

#include <errno.h>
#include <string.h>

#include "host/dev/dev.h"
#include "host/iwarp/iwarp.h"
#include "net/error.h"
#include "rdma/srq.h"

/* --- devices --- */

static void see_off(struct host_dev *dev, uint64_t limit_ns)
{
    host_iw_see_off(dev->iw, limit_ns);
}

static const char *get_port_name(const struct host_dev *dev)
{
    return dev->iw->name;
}

static const char *get_port_mode(const struct host_dev *dev)
{
    (void)dev;
    return "tcp";
}

static struct rdma_domain *get_domain(const struct host_dev *dev)
{
    return dev->iw->domain;
}

static void query_dev(const struct host_dev *dev, struct nornic_dev_attr *out)
{
    const enum nornic_atomic_cap atomics =
        dev->iw->config.no_extensions ? NORNIC_ATOMIC_NONE : NORNIC_ATOMIC_HCA;
    *out = (struct nornic_dev_attr){
        .cap_flags = NORNIC_CAP_CURR_QP_STATE_MOD | NORNIC_CAP_SRQ_RESIZE | NORNIC_CAP_MEM_WINDOW |
                     NORNIC_CAP_MEM_MGT_EXTENSIONS | NORNIC_CAP_MEM_WINDOW_TYPE_2B,
        .atomic_cap = atomics,
        .masked_atomic_cap = atomics,
        .max_qp = HOST_IW_MAX_QP,
        .max_mr = HOST_IW_MAX_MR,
        .max_qp_wr = NORNIC_MAX_WR,
        .max_sge = NORNIC_MAX_SGE,
        .max_inline_bytes = NORNIC_MAX_INLINE_BYTES,
        .max_cqe = RDMA_CQ_MAX_CAPACITY,
        .max_srq_wr = RDMA_SRQ_MAX_WR,
        .max_qp_rd_atomic = HOST_IW_MAX_DEPTH,
        .max_qp_init_rd_atomic = HOST_IW_MAX_DEPTH,
        .max_pkeys = 1,
        .transport = NORNIC_TRANSPORT_IWARP,
        .node_type = NORNIC_NODE_RNIC,
    };
}

static void query_port(const struct host_dev *dev, struct nornic_port_attr *out)
{
    *out = (struct nornic_port_attr){
        .is_up = dev->iw->interface.is_running,
        .cap_flags = NORNIC_PORT_CAP_CM,
        .max_mtu = NORNIC_MTU_4096,
        .active_mtu = nornic_mtu_for_port(dev->iw->interface.mtu_bytes),
        .max_msg_bytes = NORNIC_MAX_MSG_BYTES,
        .gid_table_size = 1,
        .pkey_table_size = 1,
    };
}

static void visit_counters(const struct host_dev *dev, host_visit_counter *visit, void *ctx)
{
#define VISIT_COUNTER_(name) visit(ctx, #name, dev->iw->counters.name);
    HOST_IW_COUNTERS(VISIT_COUNTER_)
#undef VISIT_COUNTER_
    visit(ctx, "memory_faults", rdma_domain_faults(dev->iw->domain));
}

static int set_port(struct host_dev *dev, bool is_up)
{
    (void)dev;
    (void)is_up;
    return -EOPNOTSUPP;
}

/* --- addresses and keys --- */

/* The one GID: the MAC of the interface, then zeros. */
static int get_gid(const struct host_dev *dev, unsigned index, struct nornic_gid *out)
{
    if (index > 0)
        return -ENOENT;
    *out = (struct nornic_gid){.mac = dev->iw->interface.mac};
    memcpy(out->addr.b, out->mac.b, sizeof out->mac.b);
    return 0;
}

static unsigned get_ifindex(const struct host_dev *dev, unsigned index)
{
    (void)index; /* VLAN interfaces have devices of their own */
    return dev->ifindex;
}

static int get_addr(const struct host_dev *dev, unsigned index, struct nornic_addr *out)
{
    if (index >= dev->iw->addr_count)
        return -ENOENT;
    *out = dev->iw->addrs[index];
    return 0;
}

static int add_gid(struct host_dev *dev, const struct nornic_gid *gid)
{
    (void)dev;
    (void)gid;
    return -EOPNOTSUPP;
}

static int remove_gid(struct host_dev *dev, unsigned index, uint64_t now_ns)
{
    (void)dev;
    (void)index;
    (void)now_ns;
    return -EOPNOTSUPP;
}

/* There are no partitions; verbs show one entry. */
static int get_pkey(const struct host_dev *dev, unsigned index, uint16_t *pkey)
{
    (void)dev;
    *pkey = index == 0 ? NORNIC_PKEY_DEFAULT : 0;
    return index == 0 ? 0 : -EINVAL;
}

static int set_pkey(struct host_dev *dev, unsigned index, uint16_t pkey)
{
    (void)dev;
    (void)index;
    (void)pkey;
    return -EOPNOTSUPP;
}

static int resolve(struct host_dev *dev, unsigned sgid_index, const struct nornic_addr *dst,
                   uint64_t timeout_ns, struct nornic_mac *mac, struct nornic_error *why)
{
    (void)sgid_index;
    (void)dst;
    (void)timeout_ns;
    (void)mac;
    return net_error_set(why, EOPNOTSUPP, "port %s is a TCP socket: the kernel finds the way", dev->iw->name);
}

/* --- address handles: without datagrams there are none --- */

static int create_ah(struct host_dev *dev, struct rdma_pd *pd, const struct nornic_av *av,
                     struct nornic_ah **out)
{
    (void)dev;
    (void)pd;
    (void)av;
    (void)out;
    return -EOPNOTSUPP;
}

static int destroy_ah(struct nornic_ah *ah)
{
    (void)ah;
    return -EOPNOTSUPP;
}

static int get_av_back(const struct host_dev *dev, const struct nornic_wc *wc, const void *l3_area,
                       struct nornic_av *av)
{
    (void)dev;
    (void)wc;
    (void)l3_area;
    (void)av;
    return -EOPNOTSUPP;
}

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
    .cm = &host_cm_calls_iwarp,
    .drive = &host_iw_drive,
    .open = host_iw_open,
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
    .resolve = resolve,
    .create_ah = create_ah,
    .destroy_ah = destroy_ah,
    .get_av_back = get_av_back,
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
