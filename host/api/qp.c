/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of programs: nornic/qp.h. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "host/api/api.h"
#include "host/api/config.h"
#include "host/dev/dev.h"
#include "host/dev/random.h"
#include "net/error.h"
#include "rdma/queue/qp.h"

/* --- life --- */

static struct host_qp_config engine_config_of(const struct nornic_qp_config *config, struct nornic_qp *qp)
{
    return (struct host_qp_config){
        .type = config->type,
        .pd = config->pd ? config->pd->engine : NULL,
        .send_cq = config->send_cq ? config->send_cq->engine : NULL,
        .recv_cq = config->recv_cq ? config->recv_cq->engine : NULL,
        .srq = config->srq ? config->srq->engine : NULL,
        .xrcd = config->xrcd ? config->xrcd->engine : NULL,
        .caps = config->caps,
        .sq_sig_all = config->sq_sig_all,
        .reorder_pkts = config->reorder_pkts,
        .e2e_credits = config->e2e_credits,
        .block_multicast_loopback = config->block_multicast_loopback,
        .ctx = qp,
    };
}

/* What the engine takes for granted: everything is of one device. GSI is the CM's. */
static bool is_of_device(const struct nornic_dev *dev, const struct nornic_qp_config *c)
{
    return c->type != NORNIC_QPT_GSI && (!c->pd || c->pd->dev == dev) &&
           (!c->send_cq || c->send_cq->dev == dev) && (!c->recv_cq || c->recv_cq->dev == dev) &&
           (!c->srq || c->srq->dev == dev) && (!c->xrcd || c->xrcd->dev == dev);
}

int nornic_qp_create(struct nornic_dev *dev, const struct nornic_qp_config *config, struct nornic_qp **out)
{
    struct nornic_qp_config own;
    int err = host_config_take(&own, sizeof own, config);
    if (err)
        return err;
    if (!is_of_device(dev, &own))
        return -EINVAL;
    struct nornic_qp *qp = host_api_new(dev, HOST_API_QP, sizeof *qp);
    if (!qp)
        return -ENOMEM;
    qp->dev = dev;
    qp->type = own.type;
    qp->ctx = own.ctx;
    const struct host_qp_config engine = engine_config_of(&own, qp);
    err = dev->transport->create_qp(dev->host, &engine, &qp->base);
    if (err) {
        host_api_free(dev, HOST_API_QP, qp);
        return err;
    }
    pthread_mutex_init(&qp->send_lock, NULL);
    pthread_mutex_init(&qp->recv_lock, NULL);
    *out = qp;
    return 0;
}

int nornic_qp_destroy(struct nornic_qp *qp)
{
    int err = qp->dev->transport->destroy_qp(qp->dev->host, qp->base);
    if (err)
        return err;
    pthread_mutex_destroy(&qp->send_lock);
    pthread_mutex_destroy(&qp->recv_lock);
    host_api_free(qp->dev, HOST_API_QP, qp);
    return 0;
}

/* --- control calls --- */

/* A change of state empties queues, which must not meet a post. */
static void lock_all(struct nornic_qp *qp)
{
    pthread_mutex_lock(&qp->send_lock);
    pthread_mutex_lock(&qp->recv_lock);
    host_dev_lock(qp->dev->host);
}

static void unlock_all(struct nornic_qp *qp)
{
    host_dev_unlock(qp->dev->host);
    pthread_mutex_unlock(&qp->recv_lock);
    pthread_mutex_unlock(&qp->send_lock);
}

int nornic_qp_modify(struct nornic_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask)
{
    struct nornic_qp_attr known = *attr;
    int err = mask & NORNIC_QP_AV ? host_api_resolve_av(qp->dev, &known.av) : 0;
    if (!err && mask & NORNIC_QP_ALT_PATH)
        err = host_api_resolve_av(qp->dev, &known.alt_av);
    if (err)
        return err;
    lock_all(qp);
    err = qp->dev->transport->modify_qp(qp->base, &known, mask, host_now_ns());
    unlock_all(qp);
    return err;
}

void nornic_qp_query(struct nornic_qp *qp, struct nornic_qp_attr *attr, struct nornic_qp_caps *caps)
{
    host_dev_lock(qp->dev->host);
    qp->dev->transport->query_qp(qp->base, attr, caps);
    host_dev_unlock(qp->dev->host);
}

uint32_t nornic_qp_num(const struct nornic_qp *qp)
{
    return qp->base->qpn;
}

enum nornic_qp_state nornic_qp_state(const struct nornic_qp *qp)
{
    return rdma_qp_state_now(qp->base);
}

void *nornic_qp_ctx(const struct nornic_qp *qp)
{
    return qp->ctx;
}

int nornic_qp_attach_mcast(struct nornic_qp *qp, const struct nornic_addr *group)
{
    host_dev_lock(qp->dev->host);
    int err = qp->dev->transport->attach_mcast(qp->base, group);
    host_dev_unlock(qp->dev->host);
    return err;
}

int nornic_qp_detach_mcast(struct nornic_qp *qp, const struct nornic_addr *group)
{
    host_dev_lock(qp->dev->host);
    int err = qp->dev->transport->detach_mcast(qp->base, group);
    host_dev_unlock(qp->dev->host);
    return err;
}

void nornic_qp_counters(struct nornic_qp *qp, void (*visit)(void *ctx, const char *name, uint64_t value),
                        void *ctx)
{
    host_dev_lock(qp->dev->host);
    qp->dev->transport->visit_qp_counters(qp->base, visit, ctx);
    host_dev_unlock(qp->dev->host);
}

void nornic_qp_outstanding(struct nornic_qp *qp, uint32_t *sends, uint32_t *recvs)
{
    host_dev_lock(qp->dev->host);
    rdma_qp_outstanding(qp->base, sends, recvs);
    host_dev_unlock(qp->dev->host);
}

bool nornic_qp_peer(struct nornic_qp *qp, struct nornic_addr *addr, uint32_t *qpn)
{
    host_dev_lock(qp->dev->host);
    bool has_peer = qp->dev->transport->get_qp_peer(qp->base, addr, qpn);
    host_dev_unlock(qp->dev->host);
    return has_peer;
}

/* --- posting --- */

int nornic_qp_post_send(struct nornic_qp *qp, const struct nornic_send_wr *wr,
                        const struct nornic_send_wr **bad)
{
    pthread_mutex_lock(&qp->send_lock);
    int err = rdma_qp_post_send(qp->base, wr, bad);
    pthread_mutex_unlock(&qp->send_lock);
    return err;
}

int nornic_qp_post_send_all(struct nornic_qp *qp, const struct nornic_send_wr *wr)
{
    pthread_mutex_lock(&qp->send_lock);
    int err = rdma_qp_post_send_all(qp->base, wr);
    pthread_mutex_unlock(&qp->send_lock);
    return err;
}

int nornic_qp_post_recv(struct nornic_qp *qp, const struct nornic_recv_wr *wr,
                        const struct nornic_recv_wr **bad)
{
    pthread_mutex_lock(&qp->recv_lock);
    int err = rdma_qp_post_recv(qp->base, wr, bad);
    pthread_mutex_unlock(&qp->recv_lock);
    return err;
}

int nornic_qp_bind_mw(struct nornic_qp *qp, struct nornic_mw *mw, uint64_t wr_id, uint32_t send_flags,
                      const struct nornic_bind *bind)
{
    pthread_mutex_lock(&mw->lock);
    pthread_mutex_lock(&qp->send_lock);
    int err = rdma_qp_bind_mw(qp->base, mw->engine, wr_id, send_flags, bind);
    pthread_mutex_unlock(&qp->send_lock);
    pthread_mutex_unlock(&mw->lock);
    return err;
}

/* --- connecting without a connection manager --- */

#define CONNECT_RD_ATOMIC     16
#define CONNECT_MIN_RNR_TIMER 12 /* 0.64 ms: ROCE-HDR-22 */
#define CONNECT_TIMEOUT       14 /* 67 ms: ROCE-RC-41 */
#define CONNECT_HOP_LIMIT     64

enum {
    CONNECT_RIGHTS = NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC,
};

int nornic_qp_endpoint(const struct nornic_qp *qp, unsigned sgid_index, struct nornic_endpoint *out)
{
    struct nornic_gid gid;
    int err = nornic_dev_query_gid(qp->dev, sgid_index, &gid);
    if (!err)
        *out = (struct nornic_endpoint){
            .addr = gid.addr, .qpn = nornic_qp_num(qp), .psn = (uint32_t)host_random.next(NULL) & 0xffffff};
    return err;
}

static int find_gid(struct nornic_dev *dev, const struct nornic_addr *addr)
{
    struct nornic_gid gid;
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++)
        if (!nornic_dev_query_gid(dev, i, &gid) && nornic_addr_equal(&gid.addr, addr))
            return (int)i;
    return -ENOENT;
}

static struct nornic_qp_attr attr_to(const struct nornic_endpoint *self, const struct nornic_endpoint *peer,
                                     uint32_t access)
{
    return (struct nornic_qp_attr){
        .state = NORNIC_QPS_INIT,
        .port = 1,
        .access_flags = access & CONNECT_RIGHTS,
        .av = {.dgid = peer->addr, .hop_limit = CONNECT_HOP_LIMIT},
        .dest_qpn = peer->qpn,
        .rq_psn = peer->psn,
        .sq_psn = self->psn,
        .max_rd_atomic = CONNECT_RD_ATOMIC,
        .max_dest_rd_atomic = CONNECT_RD_ATOMIC,
        .min_rnr_timer = CONNECT_MIN_RNR_TIMER,
        .timeout = CONNECT_TIMEOUT,
        .retry_cnt = 7,
        .rnr_retry = 7,
    };
}

/* INIT, RTR, RTS with the attributes that each of them requires (ROCE-QP-20, 22, 23). Under all locks. */
static int walk_to_rts(struct nornic_qp *qp, struct nornic_qp_attr *attr)
{
    const bool is_rc = qp->type == NORNIC_QPT_RC;
    const uint32_t steps[] = {
        NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS,
        NORNIC_QP_STATE | NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN |
            (is_rc ? NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER : 0),
        NORNIC_QP_STATE | NORNIC_QP_SQ_PSN |
            (is_rc
                 ? NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_MAX_QP_RD_ATOMIC
                 : 0),
    };
    int err = 0;
    for (unsigned i = 0; i < array_len(steps) && !err; i++) {
        attr->state = (enum nornic_qp_state)(NORNIC_QPS_INIT + i);
        err = qp->dev->transport->modify_qp(qp->base, attr, steps[i], host_now_ns());
    }
    return err;
}

int nornic_qp_connect(struct nornic_qp *qp, const struct nornic_endpoint *self,
                      const struct nornic_endpoint *peer, uint32_t access, uint64_t timeout_ns,
                      struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE];
    int err = qp->dev->transport->check_manual_connect(why);
    if (err)
        return err;
    int sgid_index = find_gid(qp->dev, &self->addr);
    if (sgid_index < 0)
        return net_error_set(why, EINVAL, "%s is no address of the device",
                             nornic_addr_str(&self->addr, text));
    if (qp->type != NORNIC_QPT_RC && qp->type != NORNIC_QPT_UC)
        return net_error_set(why, EINVAL, "only RC and UC queue pairs are connected");
    struct nornic_qp_attr attr = attr_to(self, peer, access);
    attr.av.sgid_index = (uint8_t)sgid_index;
    err = nornic_dev_resolve(qp->dev, (unsigned)sgid_index, &peer->addr, timeout_ns, &attr.av.dst_mac, why);
    if (err)
        return err;
    struct nornic_port_attr port;
    nornic_dev_query_port(qp->dev, &port, sizeof port);
    attr.path_mtu = port.active_mtu;
    lock_all(qp);
    err = walk_to_rts(qp, &attr);
    unlock_all(qp);
    if (err)
        net_error_set(why, -err, "cannot connect queue pair 0x%06x to 0x%06x at %s: %s", nornic_qp_num(qp),
                      peer->qpn, nornic_addr_str(&peer->addr, text), strerror(-err));
    return err;
}
