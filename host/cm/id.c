/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids: their life, and the calls that the engine answers. */
#include <errno.h>
#include <stdlib.h>

#include "host/cm/inner.h"
#include "host/dev/dev.h"

#define PORT_TRIES 16 /* ports to draw until one is free in all processes */

/* Sends the engine's messages, under the device's lock. Polls a QP 1 that is half full: many calls between
 * two rounds would fill it, and its receives with it. */
static void send_messages(struct host_cm *cm)
{
    host_dev_send(cm->dev);
    if (!roce_cm_is_crowded(cm->engine))
        return;
    (void)roce_cm_progress(cm->engine, host_now_ns());
    host_dev_send(cm->dev);
}

/* --- life --- */

int host_cm_create_id(struct host_cm *cm, enum nornic_port_space space, void *ctx, struct host_cm_id **out)
{
    struct host_cm_id *id = calloc(1, sizeof *id);
    struct roce_cm_id *engine;
    if (!id)
        return -ENOMEM;
    id->ctx = ctx;
    id->space = space;
    host_dev_lock(cm->dev);
    int err = roce_cm_id_create(cm->engine, space, id, &engine);
    if (!err) {
        host_cm_link_id(cm, id, engine);
        *out = id; /* under the lock: an event may name it as soon as that is given back */
    }
    host_dev_unlock(cm->dev);
    if (err)
        free(id);
    return err;
}

/* Under the device's lock; nobody has an event about it, nor will. */
static void destroy(struct host_cm_id *id)
{
    struct host_cm_id *child;
    host_cm_stop_query(id);
    free(id->record);
    host_cm_leave_all(id);
    if (id->leased)
        host_cm_release(id->cm, id->leased);
    /* All events were acknowledged when they were taken over, so the engine has no reason to refuse. */
    (void)roce_cm_id_destroy(id->engine, host_now_ns());
    while ((child = host_cm_drop_events(id)))
        destroy(child);
    host_cm_unlink_id(id);
    free(id);
}

void host_cm_destroy_id(struct host_cm_id *id)
{
    struct host_cm *cm = id->cm;
    host_ack_close(&cm->events, &id->subject);
    host_dev_lock(cm->dev);
    destroy(id);
    send_messages(cm);
    host_cm_take_over(cm);
    host_dev_unlock(cm->dev);
}

void *host_cm_id_ctx(const struct host_cm_id *id)
{
    return id->ctx;
}

void host_cm_id_set_ctx(struct host_cm_id *id, void *ctx)
{
    id->ctx = ctx;
}

/* --- calls that the engine answers --- */

/* Before and after each of them. */
static uint64_t begin(const struct host_cm_id *id)
{
    host_dev_lock(id->cm->dev);
    return host_now_ns();
}

static int end(const struct host_cm_id *id, int err)
{
    host_cm_take_over(id->cm);
    host_dev_unlock(id->cm->dev);
    return err;
}

/* After those that send: their message leaves before the call returns, as with a kernel's CM, since the
 * program may end right after it (qperf's server does, and its peer would ask again for seconds). */
static int end_and_send(const struct host_cm_id *id, int err)
{
    if (!err)
        send_messages(id->cm);
    return end(id, err);
}

void host_cm_id_endpoints(const struct host_cm_id *id, struct roce_cm_endpoints *out)
{
    begin(id);
    roce_cm_id_endpoints(id->engine, out);
    if (id->step == HOST_CM_ADDR_RESOLVED || id->step == HOST_CM_ROUTE_RESOLVED) {
        const struct nornic_gid *gid = roce_dev_gid_get(id->cm->dev->engine, id->route.path.av.sgid_index);
        out->local = gid ? gid->addr : (struct nornic_addr){{0}};
        out->local_port = id->route.src_port;
        out->remote = id->route.path.av.dgid;
        out->remote_port = id->route.dst_port;
        out->path = id->route.path;
    }
    end(id, 0);
}

int host_cm_set_qp_type(struct host_cm_id *id, enum nornic_qp_type type)
{
    begin(id);
    return end(id, id->step == HOST_CM_IDLE ? roce_cm_id_set_qp_type(id->engine, type) : -EINVAL);
}

void host_cm_set_patience(struct host_cm_id *id, uint64_t patience_ns)
{
    begin(id);
    roce_cm_id_set_patience(id->engine, patience_ns);
    end(id, 0);
}

int host_cm_set_src_port(struct host_cm_id *id, uint16_t port)
{
    begin(id);
    int err = id->step == HOST_CM_IDLE ? 0 : -EINVAL;
    if (!err)
        id->route.src_port = port;
    return end(id, err);
}

int host_cm_resolve_route(struct host_cm_id *id)
{
    int err = -EINVAL;
    struct host_cm_record *record = host_cm_record_new(id->cm, id, NORNIC_CM_EVENT_ROUTE_RESOLVED);
    if (!record)
        return -ENOMEM;
    begin(id);
    if (id->step == HOST_CM_ADDR_RESOLVED) {
        id->step = HOST_CM_ROUTE_RESOLVED;
        record->event.values.path = id->route.path;
        host_cm_raise(record);
        record = NULL;
        err = 0;
    }
    end(id, err);
    free(record);
    return err;
}

/* -EADDRINUSE: by an id of this CM, or by another process. */
static int listen_on(struct host_cm_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog)
{
    uint64_t service_id = roce_cm_service_id(id->space, port);
    int err = port ? host_cm_lease(id->cm, service_id) : -EADDRINUSE;
    if (err)
        return err;
    err = roce_cm_listen(id->engine, addr, port, backlog);
    if (err)
        host_cm_release(id->cm, service_id);
    else
        id->leased = service_id;
    return err;
}

int host_cm_listen(struct host_cm_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog)
{
    begin(id);
    int err = id->step == HOST_CM_IDLE ? -EADDRINUSE : -EINVAL;
    for (unsigned tries = 0; tries < (port ? 1 : PORT_TRIES) && err == -EADDRINUSE; tries++)
        err = listen_on(id, addr, port ? port : roce_cm_draw_port(id->cm->engine, id->space), backlog);
    if (!err)
        id->step = HOST_CM_USED;
    return end(id, err);
}

int host_cm_connect(struct host_cm_id *id, struct roce_qp *qp, const struct nornic_conn_param *param)
{
    uint64_t now_ns = begin(id);
    int err = -EINVAL;
    if (id->step == HOST_CM_ROUTE_RESOLVED)
        err = roce_cm_connect(id->engine, &id->route, qp, param, now_ns);
    if (!err) {
        id->step = HOST_CM_USED;
        host_cm_set_qp(id, qp);
    }
    return end_and_send(id, err);
}

int host_cm_accept(struct host_cm_id *id, struct roce_qp *qp, const struct nornic_conn_param *param)
{
    uint64_t now_ns = begin(id);
    int err = roce_cm_accept(id->engine, qp, param, now_ns);
    if (!err)
        host_cm_set_qp(id, qp);
    return end_and_send(id, err);
}

int host_cm_reject(struct host_cm_id *id, const void *private_data, uint8_t len_bytes)
{
    uint64_t now_ns = begin(id);
    return end_and_send(id, roce_cm_reject(id->engine, 0, private_data, len_bytes, now_ns));
}

int host_cm_establish(struct host_cm_id *id, const void *private_data, uint8_t len_bytes)
{
    uint64_t now_ns = begin(id);
    return end_and_send(id, roce_cm_establish(id->engine, private_data, len_bytes, now_ns));
}

int host_cm_notify(struct host_cm_id *id)
{
    uint64_t now_ns = begin(id);
    return end(id, roce_cm_notify_established(id->engine, now_ns));
}

int host_cm_disconnect(struct host_cm_id *id, const void *private_data, uint8_t len_bytes)
{
    uint64_t now_ns = begin(id);
    return end_and_send(id, roce_cm_disconnect(id->engine, private_data, len_bytes, now_ns));
}

int host_cm_qp_attr(const struct host_cm_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                    uint32_t *mask)
{
    begin(id);
    return end(id, roce_cm_qp_attr(id->engine, to, attr, mask));
}
