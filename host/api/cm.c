/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management for programs: nornic/cm.h, by the table of the device's transport.
 *
 * An id of a program stands on an id of the transport and is the `ctx` of that id. The transport makes the id
 * of a request, so the program's is made at the taking of the event: under the CM's lock, so that no other
 * thread takes a later event about it in between. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/api/api.h"
#include "host/api/config.h"
#include "host/dev/clock.h"
#include "net/error.h"

struct nornic_cm {
    struct nornic_dev *dev;
    const struct host_cm_calls *calls; /* of the device's transport */
    struct host_conn_manager *host;
    pthread_mutex_t lock; /* of the taking of an event */
};

struct nornic_cm_id {
    struct nornic_cm *cm;
    const struct host_cm_calls *calls; /* its CM's */
    struct host_conn_id *host;
    enum nornic_port_space space;
    void *ctx;
    pthread_mutex_t lock; /* one call about it at a time */
};

struct record {
    struct nornic_cm_event event; /* first: the program holds a pointer to it */
    const struct host_cm_calls *calls;
    struct host_conn_event *host;
};

/* --- life --- */

int nornic_cm_open(struct nornic_dev *dev, const struct nornic_cm_config *config, struct nornic_cm **out,
                   struct nornic_error *why)
{
    struct nornic_cm_config own = {0};
    int err = config ? host_config_take(&own, sizeof own, config) : 0;
    if (err)
        return net_error_set(why, -err,
                             "the CM's config does not say how long it is, or is of a later version");
    struct nornic_cm *cm = host_api_new(dev, HOST_API_CM, sizeof *cm);
    if (!cm)
        return net_error_set(why, ENOMEM, "no memory for a connection manager");
    cm->dev = dev;
    cm->calls = dev->transport->cm;
    err = cm->calls->open(dev->host, &own, &dev->peer_mac, &cm->host, why);
    if (err) {
        host_api_free(dev, HOST_API_CM, cm);
        return err;
    }
    pthread_mutex_init(&cm->lock, NULL);
    *out = cm;
    return 0;
}

int nornic_cm_close(struct nornic_cm *cm)
{
    int err = cm->calls->close(cm->host);
    if (err)
        return err;
    pthread_mutex_destroy(&cm->lock);
    host_api_free(cm->dev, HOST_API_CM, cm);
    return 0;
}

static void init_id(struct nornic_cm_id *id, struct nornic_cm *cm)
{
    id->cm = cm;
    id->calls = cm->calls;
    pthread_mutex_init(&id->lock, NULL);
}

int nornic_cm_id_create(struct nornic_cm *cm, enum nornic_port_space space, void *ctx,
                        struct nornic_cm_id **out)
{
    struct nornic_cm_id *id = calloc(1, sizeof *id);
    if (!id)
        return -ENOMEM;
    init_id(id, cm);
    id->space = space;
    id->ctx = ctx;
    /* The last step: another thread may take an event about it before this call returns (the interface
     * goes), and finds it whole. */
    int err = id->calls->create_id(cm->host, space, id, &id->host);
    if (err) {
        pthread_mutex_destroy(&id->lock);
        free(id);
        return err;
    }
    *out = id;
    return 0;
}

void nornic_cm_id_destroy(struct nornic_cm_id *id)
{
    id->calls->destroy_id(id->host);
    pthread_mutex_destroy(&id->lock);
    free(id);
}

void *nornic_cm_id_ctx(const struct nornic_cm_id *id)
{
    return id->ctx;
}

void nornic_cm_id_set_ctx(struct nornic_cm_id *id, void *ctx)
{
    id->ctx = ctx;
}

/* --- calls about an id --- */

static int unlock(struct nornic_cm_id *id, int err)
{
    pthread_mutex_unlock(&id->lock);
    return err;
}

int nornic_cm_id_set_qp_type(struct nornic_cm_id *id, enum nornic_qp_type type)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->set_qp_type(id->host, type));
}

void nornic_cm_id_set_patience(struct nornic_cm_id *id, uint64_t patience_ns)
{
    pthread_mutex_lock(&id->lock);
    id->calls->set_patience(id->host, patience_ns);
    pthread_mutex_unlock(&id->lock);
}

int nornic_cm_id_set_src_port(struct nornic_cm_id *id, uint16_t port)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->set_src_port(id->host, port));
}

void nornic_cm_id_endpoints(struct nornic_cm_id *id, struct nornic_cm_endpoints *out)
{
    pthread_mutex_lock(&id->lock);
    id->calls->get_endpoints(id->host, out);
    pthread_mutex_unlock(&id->lock);
}

int nornic_cm_id_resolve_addr(struct nornic_cm_id *id, const struct nornic_addr *src,
                              const struct nornic_addr *dst, uint16_t dst_port, uint64_t timeout_ns,
                              struct nornic_error *why)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->resolve_addr(id->host, src, dst, dst_port, timeout_ns, why));
}

int nornic_cm_id_resolve_route(struct nornic_cm_id *id)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->resolve_route(id->host));
}

int nornic_cm_id_listen(struct nornic_cm_id *id, const struct nornic_addr *addr, uint16_t port,
                        unsigned backlog)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->listen(id->host, addr, port, backlog));
}

int nornic_cm_id_prepare(struct nornic_cm_id *id, struct nornic_qp *qp)
{
    /* The CM's attributes in INIT (ROCE-INT-24, ROCE-CM-62); connecting sets them anew, as INIT to INIT
     * may. */
    const bool is_datagram = id->space == NORNIC_PS_UDP;
    const struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT,
                                        .port = 1,
                                        .access_flags = NORNIC_ACCESS_REMOTE_WRITE,
                                        .qkey = NORNIC_CM_QKEY};
    return nornic_qp_modify(qp, &attr,
                            NORNIC_QP_STATE | NORNIC_QP_PORT | NORNIC_QP_PKEY_INDEX |
                                (is_datagram ? NORNIC_QP_QKEY : NORNIC_QP_ACCESS_FLAGS));
}

/* Checks a precondition of the engine: the queue pair is of its device, or the program names only its
 * number. */
static bool is_of_device(const struct nornic_cm_id *id, const struct nornic_qp *qp)
{
    return !qp || qp->dev == id->cm->dev;
}

/* Takes a length without data for no data. */
static const struct nornic_conn_param *without_stray_length(const struct nornic_conn_param *param,
                                                            struct nornic_conn_param *copy)
{
    if (!param || param->private_data || !param->private_data_len)
        return param;
    *copy = *param;
    copy->private_data_len = 0;
    return copy;
}

int nornic_cm_id_connect(struct nornic_cm_id *id, struct nornic_qp *qp, const struct nornic_conn_param *param)
{
    if (!is_of_device(id, qp) || (!qp && id->space != NORNIC_PS_UDP && (!param || !param->qp_num)))
        return -EINVAL;
    struct nornic_conn_param copy;
    const struct nornic_conn_param *wanted = without_stray_length(param, &copy);
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->connect(id->host, qp ? qp->base : NULL, wanted));
}

int nornic_cm_id_accept(struct nornic_cm_id *id, struct nornic_qp *qp, const struct nornic_conn_param *param)
{
    if (!is_of_device(id, qp))
        return -EINVAL;
    struct nornic_conn_param copy;
    const struct nornic_conn_param *wanted = without_stray_length(param, &copy);
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->accept(id->host, qp ? qp->base : NULL, wanted));
}

int nornic_cm_id_qp_attr(struct nornic_cm_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                         uint32_t *mask)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->get_qp_attr(id->host, to, attr, mask));
}

int nornic_cm_id_establish(struct nornic_cm_id *id)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->establish(id->host));
}

int nornic_cm_id_notify(struct nornic_cm_id *id)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->notify(id->host));
}

int nornic_cm_id_reject(struct nornic_cm_id *id, const void *private_data, uint16_t len_bytes)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->reject(id->host, private_data, private_data ? len_bytes : 0));
}

int nornic_cm_id_disconnect(struct nornic_cm_id *id)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->disconnect(id->host));
}

int nornic_cm_id_join_mcast(struct nornic_cm_id *id, const struct nornic_addr *group,
                            struct nornic_error *why)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->join_mcast(id->host, group, false, why));
}

int nornic_cm_id_join_mcast_to_send(struct nornic_cm_id *id, const struct nornic_addr *group,
                                    struct nornic_error *why)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->join_mcast(id->host, group, true, why));
}

int nornic_cm_id_leave_mcast(struct nornic_cm_id *id, const struct nornic_addr *group)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->calls->leave_mcast(id->host, group));
}

/* --- events --- */

int nornic_cm_fd(const struct nornic_cm *cm)
{
    return cm->calls->get_fd(cm->host);
}

/* A request came with an id of its own, `host`: from now on it stands on `id`, with its listener's `ctx`. */
static void adopt(struct nornic_cm *cm, struct nornic_cm_id *id, struct host_conn_id *host,
                  const struct nornic_cm_id *listener)
{
    init_id(id, cm);
    id->host = host;
    id->space = listener->space;
    id->ctx = listener->ctx;
    cm->calls->set_ctx(host, id);
}

/* -EAGAIN: none waits. `spare` is memory for the id of a request; NULL afterwards when that was one. */
static int take(struct nornic_cm *cm, struct record *record, struct nornic_cm_id **spare)
{
    struct host_conn_id *request = NULL;
    pthread_mutex_lock(&cm->lock);
    int err = cm->calls->take_event(cm->host, &record->event, &record->host, &request);
    if (!err && request) {
        adopt(cm, *spare, request, record->event.listen_id);
        record->event.id = *spare;
        *spare = NULL;
    }
    pthread_mutex_unlock(&cm->lock);
    return err;
}

int nornic_cm_get_event(struct nornic_cm *cm, struct nornic_cm_event **event, uint64_t timeout_ns)
{
    uint64_t end_ns = host_deadline_ns(timeout_ns);
    struct record *record = calloc(1, sizeof *record);
    struct nornic_cm_id *spare = calloc(1, sizeof *spare);
    int err = record && spare ? -EAGAIN : -ENOMEM;
    if (record)
        record->calls = cm->calls;
    while (err == -EAGAIN) {
        err = take(cm, record, &spare);
        if (err == -EAGAIN && !host_poll_readable(nornic_cm_fd(cm), end_ns))
            break;
    }
    free(spare);
    if (err) {
        free(record);
        return err;
    }
    *event = &record->event;
    return 0;
}

void nornic_cm_ack_event(struct nornic_cm_event *event)
{
    struct record *record = (struct record *)(void *)event;
    record->calls->ack_event(record->host);
    free(record);
}
