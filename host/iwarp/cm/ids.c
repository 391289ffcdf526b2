/* SPDX-License-Identifier: BSD-2-Clause */
/* The CM of an iWARP device: its life, its part of the rounds, and the calls about ids. */
#include "host/iwarp/cm/cm.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/dev/clock.h"
#include "host/iwarp/cm/inner.h"

#define PORT_TRIES       16   /* for one that is free at all addresses */
#define LEAST_TIMEOUT_MS 1000 /* for TCP's retransmissions */

/* --- calls of the device, under its lock --- */

static struct host_iw_cm *cm_of(const struct host_dev_client *client)
{
    return container_of(client, struct host_iw_cm, client);
}

static bool on_round(struct host_dev_client *client, uint64_t now_ns)
{
    struct host_iw_cm *cm = cm_of(client);
    struct host_iw_conn *conn;
    host_iw_cm_follow_addrs(cm);
    bool did = host_iw_cm_take_incoming(cm, now_ns);
    while ((conn = host_iw_take_news(cm->iw))) {
        host_iw_cm_follow(cm, conn, now_ns);
        did = true;
    }
    return did;
}

static uint64_t get_deadline_ns(const struct host_dev_client *client)
{
    const struct host_iw_cm *cm = cm_of(client);
    return TAILQ_EMPTY(&cm->iw->changed) ? cm->retry_ns : 0;
}

static void on_removed(struct host_dev_client *client)
{
    for (struct host_iw_id *id = TAILQ_FIRST(&cm_of(client)->ids); id; id = TAILQ_NEXT(id, of_all)) {
        struct host_iw_cm_event *event = host_iw_cm_event_new(id, NORNIC_CM_EVENT_DEVICE_REMOVAL, 0);
        if (event)
            host_iw_cm_raise(event);
    }
}

/* The others are of RoCE's packets. */
static const struct host_dev_client_ops client_ops = {
    .round = on_round, .deadline_ns = get_deadline_ns, .removed = on_removed};

/* --- opening and closing --- */

int host_iw_cm_open(struct host_dev *dev, struct host_iw_cm **out, struct nornic_error *why)
{
    struct host_iw_cm *cm = calloc(1, sizeof *cm);
    if (!cm)
        return net_error_set(why, ENOMEM, "no memory for a connection manager");
    cm->client.ops = &client_ops;
    cm->iw = dev->iw;
    cm->retry_ns = NET_TIME_NONE;
    cm->addr_changes = dev->iw->addr_changes;
    TAILQ_INIT(&cm->ids);
    int err = host_ack_queue_init(&cm->events);
    if (err) {
        free(cm);
        return net_error_set(why, -err, "cannot make a connection manager: %s", strerror(-err));
    }
    host_dev_lock(dev);
    bool has_one = dev->client != NULL;
    if (!has_one)
        dev->client = &cm->client;
    host_dev_unlock(dev);
    if (has_one) {
        host_ack_queue_deinit(&cm->events);
        free(cm);
        return net_error_set(why, EBUSY, "cannot make a connection manager: the device has one");
    }
    *out = cm;
    return 0;
}

int host_iw_cm_close(struct host_iw_cm *cm)
{
    struct host_dev *dev = cm->iw->dev;
    host_dev_lock(dev);
    bool has_ids = !TAILQ_EMPTY(&cm->ids);
    if (!has_ids)
        dev->client = NULL;
    host_dev_unlock(dev);
    if (has_ids)
        return -EBUSY;
    host_ack_queue_deinit(&cm->events); /* no event waits: each names an id */
    free(cm);
    return 0;
}

/* --- the life of ids --- */

int host_iw_cm_create_id(struct host_iw_cm *cm, enum nornic_port_space space, void *ctx,
                         struct host_iw_id **out)
{
    if (space == NORNIC_PS_UDP)
        return -EOPNOTSUPP;
    host_dev_lock(cm->iw->dev);
    struct host_iw_id *id = host_iw_cm_new_id(cm, HOST_IW_IDLE, ctx);
    if (id)
        *out = id; /* under the lock: an event may name it as soon as that is given back */
    host_dev_unlock(cm->iw->dev);
    return id ? 0 : -ENOMEM;
}

/* Sends the engine's bytes before the call returns, as far as TCP takes them. */
static void push_out(struct host_iw_conn *conn, uint64_t now_ns)
{
    host_iw_conn_activate(conn);
    host_iw_conn_send(conn, now_ns);
}

/* The connection goes on without its id, to its end. */
static void let_go(struct host_iw_conn *conn, uint64_t now_ns)
{
    bool is_open = conn->tcp == HOST_IW_OPEN;
    if (is_open && conn->qp)
        iwarp_qp_disconnect(conn->qp->engine, now_ns);
    if (is_open && (conn->qp || iwarp_setup_reject(&conn->setup, NULL, 0) == 0))
        push_out(conn, now_ns);
    else
        host_iw_conn_close(conn, true, -ECONNABORTED);
    conn->owner = NULL;
    host_iw_conn_release(conn);
}

/* Drops the requests of a listener that no event has told of. Its other requests stay. */
static void let_requests_go(struct host_iw_id *listener)
{
    struct host_iw_cm *cm = listener->cm;
    struct host_iw_conn *conn, *next;
    host_iw_cm_stop_listening(listener);
    for (conn = TAILQ_FIRST(&cm->iw->conns); conn; conn = next) {
        next = TAILQ_NEXT(conn, of_all);
        if (conn->owner != listener)
            continue;
        listener->silent--;
        host_iw_conn_close(conn, true, -ECONNABORTED);
        conn->owner = NULL;
        host_iw_conn_release(conn);
    }
    for (struct host_iw_id *id = TAILQ_FIRST(&cm->ids); id; id = TAILQ_NEXT(id, of_all))
        if (id->listener == listener)
            id->listener = NULL;
}

/* Under the device's lock; nobody has an event about it, nor will. */
static void destroy_one(struct host_iw_id *id, uint64_t now_ns)
{
    if (id->step == HOST_IW_LISTENING)
        let_requests_go(id);
    host_iw_cm_answered(id);
    if (id->conn)
        let_go(id->conn, now_ns);
    TAILQ_REMOVE(&id->cm->ids, id, of_all);
    free(id);
}

void host_iw_cm_destroy_id(struct host_iw_id *id)
{
    struct host_iw_cm *cm = id->cm;
    struct host_iw_id *child;
    host_ack_close(&cm->events, &id->subject);
    host_dev_lock(cm->iw->dev);
    /* Requests that nobody took go with their listener; nothing is told about such an id yet. */
    while ((child = host_iw_cm_drop_events(id))) {
        host_iw_cm_drop_events(child);
        destroy_one(child, host_now_ns());
    }
    destroy_one(id, host_now_ns());
    host_dev_unlock(cm->iw->dev);
}

void *host_iw_cm_id_ctx(const struct host_iw_id *id)
{
    return id->ctx;
}

void host_iw_cm_id_set_ctx(struct host_iw_id *id, void *ctx)
{
    id->ctx = ctx;
}

void host_iw_cm_set_patience(struct host_iw_id *id, uint64_t patience_ns)
{
    host_dev_lock(id->cm->iw->dev);
    id->patience_ns = patience_ns;
    host_dev_unlock(id->cm->iw->dev);
}

int host_iw_cm_set_src_port(struct host_iw_id *id, uint16_t port)
{
    host_dev_lock(id->cm->iw->dev);
    int err = id->step == HOST_IW_IDLE ? 0 : -EINVAL;
    if (!err)
        id->src_port = port;
    host_dev_unlock(id->cm->iw->dev);
    return err;
}

void host_iw_cm_id_endpoints(const struct host_iw_id *id, struct nornic_cm_endpoints *out)
{
    host_dev_lock(id->cm->iw->dev);
    *out = id->ends;
    host_dev_unlock(id->cm->iw->dev);
}

/* --- addresses --- */

/* Without the lock: which address to connect from. */
static int find_source(struct host_iw *iw, const struct nornic_addr *src, const struct nornic_addr *dst,
                       struct nornic_addr *out, struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE];
    int err = 0;
    if (src) {
        host_dev_lock(iw->dev);
        err = host_iw_has_addr(iw, src) && nornic_addr_is_v4(src) == nornic_addr_is_v4(dst) ? 0
                                                                                            : -EADDRNOTAVAIL;
        host_dev_unlock(iw->dev);
        *out = *src;
    } else {
        err = host_iw_source(iw, dst, out);
    }
    if (err == -EADDRNOTAVAIL)
        net_error_set(why, EADDRNOTAVAIL, "%s is no address of the device that can reach the peer",
                      src ? nornic_addr_str(src, text) : "there");
    else if (err)
        net_error_set(why, -err, "there is no route to %s", nornic_addr_str(dst, text));
    return err;
}

/* From one step to the next, which an event tells. 0, -EINVAL: another step; or -ENOMEM. */
static int advance(struct host_iw_id *id, enum host_iw_step from, enum host_iw_step to,
                   enum nornic_cm_event_type type, const struct nornic_cm_endpoints *ends)
{
    struct host_iw_cm_event *event = host_iw_cm_event_new(id, type, 0);
    if (!event)
        return -ENOMEM;
    host_dev_lock(id->cm->iw->dev);
    bool is_next = id->step == from;
    if (is_next) {
        id->step = to;
        id->ends = *ends;
        host_iw_cm_raise(event);
    }
    host_dev_unlock(id->cm->iw->dev);
    if (!is_next)
        host_iw_cm_event_drop(event);
    return is_next ? 0 : -EINVAL;
}

int host_iw_cm_resolve_addr(struct host_iw_id *id, const struct nornic_addr *src,
                            const struct nornic_addr *dst, uint16_t dst_port, struct nornic_error *why)
{
    struct nornic_cm_endpoints ends = {.remote = *dst, .local_port = id->src_port, .remote_port = dst_port};
    int err = find_source(id->cm->iw, src, dst, &ends.local, why);
    if (err)
        return err;
    err = advance(id, HOST_IW_IDLE, HOST_IW_ADDR, NORNIC_CM_EVENT_ADDR_RESOLVED, &ends);
    if (err)
        net_error_set(why, -err,
                      err == -EINVAL ? "the id has an address already" : "no memory to resolve an address");
    return err;
}

int host_iw_cm_resolve_route(struct host_iw_id *id)
{
    return advance(id, HOST_IW_ADDR, HOST_IW_ROUTE, NORNIC_CM_EVENT_ROUTE_RESOLVED, &id->ends);
}

/* --- listening --- */

/* Listens at all addresses that are wanted, or at none. `port` 0: all take the port of the first. */
static int listen_at(struct host_iw_id *id, const struct nornic_addr *addr, uint16_t port)
{
    const struct host_iw *iw = id->cm->iw;
    int err = 0;
    unsigned count = addr ? 1 : iw->addr_count;
    for (unsigned i = 0; i < count && !err; i++)
        if (addr || host_iw_is_of_family(id->family, &iw->addrs[i]))
            err = host_iw_cm_listen_on(id, addr ? addr : &iw->addrs[i], &port);
    if (err) {
        host_iw_cm_stop_listening(id);
        return err;
    }
    id->ends = (struct nornic_cm_endpoints){.local_port = port};
    if (count == 1)
        id->ends.local = addr ? *addr : iw->addrs[0];
    return 0;
}

int host_iw_cm_listen(struct host_iw_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog)
{
    struct host_iw *iw = id->cm->iw;
    enum host_iw_family family = !addr                         ? HOST_IW_BOTH_FAMILIES
                                 : nornic_addr_is_v4_any(addr) ? HOST_IW_IPV4
                                 : nornic_addr_is_zero(addr)   ? HOST_IW_IPV6
                                                               : HOST_IW_BOTH_FAMILIES;
    if (family != HOST_IW_BOTH_FAMILIES)
        addr = NULL;
    host_dev_lock(iw->dev);
    bool is_valid = id->step == HOST_IW_IDLE && backlog > 0 && (!addr || host_iw_has_addr(iw, addr));
    int err = is_valid ? -EADDRINUSE : -EINVAL;
    if (is_valid)
        id->family = family;
    for (unsigned tries = 0; tries < (port ? 1 : PORT_TRIES) && err == -EADDRINUSE; tries++)
        err = listen_at(id, addr, port);
    if (!err) {
        id->step = HOST_IW_LISTENING;
        id->backlog = backlog;
        id->follows_addrs = !addr && nornic_addr_is_zero(&iw->only);
    }
    host_dev_unlock(iw->dev);
    return err;
}

/* --- connecting --- */

static bool is_fresh(const struct host_iw_qp *qp)
{
    return qp && !qp->conn && qp->engine->state == IWARP_QP_IDLE &&
           qp->engine->setup.state == IWARP_SETUP_NONE &&
           rdma_qp_state_now(&qp->engine->base) == NORNIC_QPS_INIT;
}

/* Whether an MPA frame has room for the program's private data; one with S tells depths before them. */
static bool private_fits(const struct nornic_conn_param *param, bool has_s)
{
    size_t lead = has_s ? IWARP_MPA_ENHANCED_BYTES : 0;
    return !param->private_data || param->private_data_len <= IWARP_MPA_PRIVATE_BYTES - lead;
}

/* An RC queue pair gives up after 8 tries, with up to 4 times its ACK timeout between them; TCP does so after
 * as long, or later where that would be less than a few of its own tries, which begin at 200 ms. */
static uint32_t user_timeout_ms(uint8_t ack_timeout)
{
    uint64_t ms = (UINT64_C(4096) << ack_timeout) * 32 / NS_PER_MS;
    return ack_timeout ? (uint32_t)(ms < LEAST_TIMEOUT_MS ? LEAST_TIMEOUT_MS : min_u64(ms, INT_MAX)) : 0;
}

static void keep_param(struct host_iw_id *id, const struct nornic_conn_param *param)
{
    id->ird = (uint8_t)min_u32(param->responder_resources, HOST_IW_MAX_DEPTH);
    id->ord = (uint8_t)min_u32(param->initiator_depth, HOST_IW_MAX_DEPTH);
    id->tcp = (struct host_iw_tcp_options){
        .has_traffic_class = param->has_traffic_class,
        .traffic_class = param->traffic_class,
        .user_timeout_ms = param->has_ack_timeout ? user_timeout_ms(param->ack_timeout) : 0,
    };
    id->private_bytes = param->private_data ? param->private_data_len : 0;
    if (id->private_bytes)
        memcpy(id->private_data, param->private_data, id->private_bytes);
}

int host_iw_cm_connect(struct host_iw_id *id, struct host_iw_qp *qp, const struct nornic_conn_param *param)
{
    static const struct nornic_conn_param none;
    struct host_dev *dev = id->cm->iw->dev;
    const struct nornic_conn_param *wanted = param ? param : &none;
    host_dev_lock(dev);
    bool fits = private_fits(wanted, id->cm->iw->config.mpa_rev != 1);
    int err = id->step == HOST_IW_ROUTE && is_fresh(qp) && fits ? 0 : -EINVAL;
    if (!err) {
        keep_param(id, wanted);
        id->ends.local_qpn = qp->engine->base.qpn;
        id->patient_until_ns = host_now_ns() + id->patience_ns;
        err = host_iw_cm_start(id, qp);
    }
    host_dev_unlock(dev);
    return err;
}

/* The Reply that accepts is the queue pair's first word. */
static int reply(struct host_iw_id *id, struct host_iw_qp *qp, const struct nornic_conn_param *param,
                 uint64_t now_ns)
{
    struct host_iw_conn *conn = id->conn;
    const struct iwarp_setup *setup = &conn->setup;
    struct host_iw_depths depths = host_iw_cm_asked_depths(setup);
    const struct nornic_conn_param asked = {.responder_resources = depths.responder_resources,
                                            .initiator_depth = depths.initiator_depth};
    const struct nornic_conn_param *wanted = param ? param : &asked;
    if (!private_fits(wanted, setup->peer.s))
        return -EINVAL;
    keep_param(id, wanted);
    iwarp_setup_set_depths(&conn->setup, id->ird, id->ord);
    int err = iwarp_qp_adopt(qp->engine, setup);
    if (!err)
        err = iwarp_qp_accept(qp->engine, id->private_data, id->private_bytes);
    if (err)
        return err;
    host_iw_set_tcp(conn->socket.fd, &id->tcp);
    host_iw_cm_join(conn, qp);
    id->step = HOST_IW_ACCEPTED;
    push_out(conn, now_ns);
    return 0;
}

/* The peer has gone while the program thought. */
static int accept_late(struct host_iw_id *id, struct host_iw_qp *qp)
{
    struct host_iw_cm_event *event = host_iw_cm_event_new(id, NORNIC_CM_EVENT_CONNECT_ERROR, -ECONNRESET);
    if (!event)
        return -ENOMEM;
    net_error_set(&event->why, ECONNRESET, "the peer has gone before it was answered");
    iwarp_qp_abort(qp->engine);
    id->step = HOST_IW_ENDED;
    host_iw_cm_raise(event);
    return 0;
}

int host_iw_cm_accept(struct host_iw_id *id, struct host_iw_qp *qp, const struct nornic_conn_param *param)
{
    struct host_dev *dev = id->cm->iw->dev;
    host_dev_lock(dev);
    int err = id->step == HOST_IW_REQUESTED && is_fresh(qp) ? 0 : -EINVAL;
    if (!err) {
        id->ends.local_qpn = qp->engine->base.qpn;
        err = id->conn->tcp == HOST_IW_OPEN ? reply(id, qp, param, host_now_ns()) : accept_late(id, qp);
    }
    if (!err)
        host_iw_cm_answered(id);
    host_dev_unlock(dev);
    return err;
}

int host_iw_cm_reject(struct host_iw_id *id, const void *private_data, size_t private_bytes)
{
    struct host_dev *dev = id->cm->iw->dev;
    host_dev_lock(dev);
    int err = id->step == HOST_IW_REQUESTED ? 0 : -EINVAL;
    if (!err && id->conn->tcp == HOST_IW_OPEN)
        err = iwarp_setup_reject(&id->conn->setup, private_data, private_bytes);
    if (!err) {
        id->step = HOST_IW_ENDED;
        host_iw_cm_answered(id);
        if (id->conn->tcp == HOST_IW_OPEN)
            push_out(id->conn, host_now_ns());
    }
    host_dev_unlock(dev);
    return err;
}

int host_iw_cm_disconnect(struct host_iw_id *id)
{
    struct host_dev *dev = id->cm->iw->dev;
    host_dev_lock(dev);
    bool has_stood = id->has_stood || id->step == HOST_IW_ACCEPTED;
    if (has_stood && id->conn->qp && id->conn->tcp == HOST_IW_OPEN) {
        iwarp_qp_disconnect(id->conn->qp->engine, host_now_ns());
        push_out(id->conn, host_now_ns());
    }
    host_dev_unlock(dev);
    return has_stood ? 0 : -EINVAL;
}

/* --- for programs that move their queue pairs themselves --- */

/* As a kernel's iw_cm: the rights that a peer may have; TCP and MPA bring all else. */
int host_iw_cm_qp_attr(const struct host_iw_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                       uint32_t *mask)
{
    host_dev_lock(id->cm->iw->dev);
    bool is_listening = id->step == HOST_IW_LISTENING;
    host_dev_unlock(id->cm->iw->dev);
    if (is_listening || (to != NORNIC_QPS_INIT && to != NORNIC_QPS_RTR && to != NORNIC_QPS_RTS))
        return -EINVAL;
    *attr = (struct nornic_qp_attr){
        .state = to, .port = 1, .access_flags = NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ};
    *mask = NORNIC_QP_PORT | (to == NORNIC_QPS_RTS ? 0 : NORNIC_QP_STATE | NORNIC_QP_ACCESS_FLAGS);
    return 0;
}

int host_iw_cm_notify(const struct host_iw_id *id)
{
    host_dev_lock(id->cm->iw->dev);
    bool has_begun = id->step >= HOST_IW_STARTED && id->step != HOST_IW_LISTENING;
    host_dev_unlock(id->cm->iw->dev);
    return has_begun ? 0 : -EINVAL;
}
