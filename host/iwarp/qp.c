/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of an iWARP device. */
#include <errno.h>
#include <stdlib.h>

#include "host/event/events.h"
#include "host/iwarp/iwarp.h"

#define FIRST_QPN 2 /* as on a RoCE device, no queue pair is 0 or 1 */

/* --- life --- */

static bool has_qpn(const struct host_iw *iw, uint32_t qpn)
{
    for (const struct host_iw_qp *qp = TAILQ_FIRST(&iw->qps); qp; qp = TAILQ_NEXT(qp, of_all))
        if (qp->engine->base.qpn == qpn)
            return true;
    return false;
}

/* Draws a number that none of the queue pairs has; there are fewer queue pairs than numbers. */
static uint32_t next_qpn(struct host_iw *iw)
{
    uint32_t qpn;
    do
        qpn = FIRST_QPN + rdma_number_of(&iw->qpns, iw->qps_made++ % HOST_IW_QPNS);
    while (iw->qp_count && has_qpn(iw, qpn));
    return qpn;
}

/* Any thread: the first post since the last round, or one of many. */
static void on_posted(struct rdma_qp *base)
{
    struct host_iw_qp *qp = host_iw_qp_of(base);
    if (atomic_exchange(&qp->is_posted, true))
        return;
    struct host_iw_qp *first = atomic_load(&qp->iw->posted);
    do
        qp->next_posted = first;
    while (!atomic_compare_exchange_weak(&qp->iw->posted, &first, qp));
    host_dev_doorbell(qp->iw->dev);
}

static void take_post(struct host_iw_qp *qp, uint64_t now_ns)
{
    atomic_store(&qp->is_posted, false); /* before the queues are looked at: a later post counts anew */
    if (qp->conn && qp->conn->tcp == HOST_IW_OPEN)
        host_iw_conn_activate(qp->conn);
    else
        iwarp_qp_advance(qp->engine, now_ns); /* which flushes it if the stream has ended */
}

void host_iw_take_posted(struct host_iw *iw, uint64_t now_ns)
{
    struct host_iw_qp *qp = atomic_load(&iw->posted) ? atomic_exchange(&iw->posted, NULL) : NULL;
    while (qp) {
        struct host_iw_qp *next = qp->next_posted;
        take_post(qp, now_ns);
        qp = next;
    }
}

int host_iw_qp_create(struct host_iw *iw, const struct iwarp_qp_config *config, struct host_iw_qp **out)
{
    struct host_iw_qp *qp = calloc(1, sizeof *qp);
    if (!qp)
        return -ENOMEM;
    qp->iw = iw;
    struct iwarp_qp_config own = *config;
    own.mem = &rdma_mem_libc;
    own.domain = iw->domain;
    own.max_ird = own.max_ord = HOST_IW_MAX_DEPTH;
    own.no_extensions = iw->config.no_extensions;
    own.sends_extensions = !iw->config.no_extensions;
    own.posted = on_posted;
    own.owner = qp;
    host_dev_lock(iw->dev);
    int err = iw->qp_count < HOST_IW_MAX_QP ? 0 : -ENOSPC;
    own.qpn = err ? 0 : next_qpn(iw);
    if (!err)
        err = iwarp_qp_create(&own, &qp->engine);
    if (!err) {
        TAILQ_INSERT_TAIL(&iw->qps, qp, of_all);
        iw->qp_count++;
    }
    host_dev_unlock(iw->dev);
    if (err) {
        free(qp);
        return err;
    }
    *out = qp;
    return 0;
}

/* A stream that is open ends in good order, with the octets that the kernel takes at once. If some have
 * to stay behind, which only the queue pair could say, it is reset. */
static void leave_conn(struct host_iw_qp *qp)
{
    struct host_iw_conn *conn = qp->conn;
    if (qp->engine->state == IWARP_QP_RTS && conn->tcp == HOST_IW_OPEN) {
        iwarp_qp_disconnect(qp->engine, host_now_ns());
        host_iw_conn_activate(conn);
        host_iw_conn_send(conn, host_now_ns());
    }
    bool has_said_all = conn->halves.is_shut ||
                        (qp->engine->state != IWARP_QP_CLOSING && qp->engine->state != IWARP_QP_TERMINATE);
    host_iw_conn_close(conn, !has_said_all, has_said_all ? 0 : -ECONNRESET);
    conn->qp = NULL;
    host_iw_conn_release(conn);
}

void host_iw_qp_destroy(struct host_iw_qp *qp)
{
    struct host_iw *iw = qp->iw;
    struct host_event_closing closing;
    host_event_queue_close(&iw->dev->events, &closing, &qp->engine->base);
    host_dev_lock(iw->dev);
    host_iw_take_posted(iw, host_now_ns()); /* so that it is not on that list */
    if (qp->conn)
        leave_conn(qp);
    TAILQ_REMOVE(&iw->qps, qp, of_all);
    iw->qp_count--;
    iwarp_qp_destroy(qp->engine);
    host_event_queue_closed(&iw->dev->events, &closing, true);
    host_dev_unlock(iw->dev);
    free(qp);
}

/* --- states and attributes --- */

static int set_state(struct host_iw_qp *qp, enum nornic_qp_state state)
{
    if (state == NORNIC_QPS_INIT)
        return rdma_qp_state_now(&qp->engine->base) == NORNIC_QPS_INIT ? 0 : -EINVAL;
    if (state != NORNIC_QPS_ERR)
        return -EOPNOTSUPP;
    iwarp_qp_abort(qp->engine);
    if (qp->conn)
        host_iw_conn_settle(qp->conn);
    return 0;
}

int host_iw_qp_modify(struct host_iw_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask)
{
    host_dev_assert_held(qp->iw->dev);
    if (mask & NORNIC_QP_CUR_STATE && attr->cur_state != rdma_qp_state_now(&qp->engine->base))
        return -EINVAL;
    return mask & NORNIC_QP_STATE ? set_state(qp, attr->state) : 0;
}

void host_iw_qp_query(struct host_iw_qp *qp, struct nornic_qp_attr *attr, struct nornic_qp_caps *caps)
{
    const struct iwarp_qp *engine = qp->engine;
    host_dev_assert_held(qp->iw->dev);
    if (caps)
        *caps = engine->base.caps;
    if (!attr)
        return;
    *attr = (struct nornic_qp_attr){
        .state = rdma_qp_state_now(&engine->base),
        .cur_state = rdma_qp_state_now(&engine->base),
        .port = 1,
        .access_flags = NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC,
        .max_rd_atomic = (uint8_t)engine->session.ord,
        .max_dest_rd_atomic = (uint8_t)engine->session.ird,
    };
}
