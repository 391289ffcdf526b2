/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management for programs: nornic/cm.h, over host/cm/cm.h.
 *
 * An id of a program stands on one of host/ and is that one's `ctx`. For a request host/ makes the id, so
 * the program's is made when the event is taken: under the CM's lock, so that no other thread takes a
 * later event about it in between. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/api/api.h"
#include "host/api/config.h"
#include "host/cm/cm.h"
#include "host/iwarp/cm/cm.h"
#include "host/dev/clock.h"
#include "net/error.h"

struct nornic_cm {
    struct nornic_dev *dev;
    struct host_cm *host;  /* NULL: of an iWARP device */
    struct host_iw_cm *iw; /* NULL: it speaks RoCE */
    pthread_mutex_t lock;  /* who takes an event */
};

struct nornic_cm_id {
    struct nornic_cm *cm;
    struct host_cm_id *host; /* one of the two, as its CM has */
    struct host_iw_id *iw;
    enum nornic_port_space space;
    void *ctx;
    pthread_mutex_t lock; /* the calls about it, which host/ wants from one thread at a time */
};

struct record {
    struct nornic_cm_event event; /* first: the program holds a pointer to it */
    struct host_cm_event *host;   /* one of the two */
    struct host_iw_cm_event *iw;
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
    struct host_cm_config host = {
        .timeouts = {.max_ids = own.max_ids,
                     .response_timeout = own.response_timeout,
                     .max_retries = own.max_retries},
        .gid_type = own.gid_type,
        .peer_mac = dev->peer_mac,
    };
    err = dev->iw ? host_iw_cm_open(dev->host, &cm->iw, why) : host_cm_open(dev->host, &host, &cm->host, why);
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
    int err = cm->iw ? host_iw_cm_close(cm->iw) : host_cm_close(cm->host);
    if (err)
        return err;
    pthread_mutex_destroy(&cm->lock);
    host_api_free(cm->dev, HOST_API_CM, cm);
    return 0;
}

static void init_id(struct nornic_cm_id *id, struct nornic_cm *cm)
{
    id->cm = cm;
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
    int err = cm->iw ? host_iw_cm_create_id(cm->iw, space, id, &id->iw)
                     : host_cm_create_id(cm->host, space, id, &id->host);
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
    if (id->iw)
        host_iw_cm_destroy_id(id->iw);
    else
        host_cm_destroy_id(id->host);
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
    return unlock(id, id->iw ? -EOPNOTSUPP : host_cm_set_qp_type(id->host, type));
}

void nornic_cm_id_set_patience(struct nornic_cm_id *id, uint64_t patience_ns)
{
    pthread_mutex_lock(&id->lock);
    if (id->iw)
        host_iw_cm_set_patience(id->iw, patience_ns);
    else
        host_cm_set_patience(id->host, patience_ns);
    pthread_mutex_unlock(&id->lock);
}

int nornic_cm_id_set_src_port(struct nornic_cm_id *id, uint16_t port)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? host_iw_cm_set_src_port(id->iw, port) : host_cm_set_src_port(id->host, port));
}

void nornic_cm_id_endpoints(struct nornic_cm_id *id, struct nornic_cm_endpoints *out)
{
    struct roce_cm_endpoints ends;
    pthread_mutex_lock(&id->lock);
    if (id->iw)
        host_iw_cm_id_endpoints(id->iw, out);
    else
        host_cm_id_endpoints(id->host, &ends);
    pthread_mutex_unlock(&id->lock);
    if (id->iw)
        return;
    *out = (struct nornic_cm_endpoints){.local = ends.local,
                                        .remote = ends.remote,
                                        .local_port = ends.local_port,
                                        .remote_port = ends.remote_port,
                                        .local_qpn = ends.local_qpn,
                                        .remote_qpn = ends.remote_qpn};
}

int nornic_cm_id_resolve_addr(struct nornic_cm_id *id, const struct nornic_addr *src,
                              const struct nornic_addr *dst, uint16_t dst_port, uint64_t timeout_ns,
                              struct nornic_error *why)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? host_iw_cm_resolve_addr(id->iw, src, dst, dst_port, why)
                             : host_cm_resolve_addr(id->host, src, dst, dst_port, timeout_ns, why));
}

int nornic_cm_id_resolve_route(struct nornic_cm_id *id)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? host_iw_cm_resolve_route(id->iw) : host_cm_resolve_route(id->host));
}

int nornic_cm_id_listen(struct nornic_cm_id *id, const struct nornic_addr *addr, uint16_t port,
                        unsigned backlog)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? host_iw_cm_listen(id->iw, addr && nornic_addr_is_v4_any(addr) ? NULL : addr,
                                                 port, backlog)
                             : host_cm_listen(id->host, addr, port, backlog));
}

int nornic_cm_id_prepare(struct nornic_cm_id *id, struct nornic_qp *qp)
{
    /* What the CM gives it in INIT (ROCE-INT-24, ROCE-CM-62); connecting sets it anew, as INIT to INIT
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

/* What the engine takes for granted: the queue pair is of its device, or the program names it by number only.
 */
static bool is_of_device(const struct nornic_cm_id *id, const struct nornic_qp *qp)
{
    return !qp || qp->dev == id->cm->dev;
}

int nornic_cm_id_connect(struct nornic_cm_id *id, struct nornic_qp *qp, const struct nornic_conn_param *param)
{
    if (!is_of_device(id, qp) || (!qp && id->space != NORNIC_PS_UDP && (!param || !param->qp_num)))
        return -EINVAL;
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? host_iw_cm_connect(id->iw, qp ? qp->iw : NULL, param)
                             : host_cm_connect(id->host, qp ? qp->engine : NULL, param));
}

int nornic_cm_id_accept(struct nornic_cm_id *id, struct nornic_qp *qp, const struct nornic_conn_param *param)
{
    if (!is_of_device(id, qp))
        return -EINVAL;
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? host_iw_cm_accept(id->iw, qp ? qp->iw : NULL, param)
                             : host_cm_accept(id->host, qp ? qp->engine : NULL, param));
}

int nornic_cm_id_qp_attr(struct nornic_cm_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                         uint32_t *mask)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? -EOPNOTSUPP : host_cm_qp_attr(id->host, to, attr, mask));
}

int nornic_cm_id_establish(struct nornic_cm_id *id)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? -EOPNOTSUPP : host_cm_establish(id->host, NULL, 0));
}

int nornic_cm_id_reject(struct nornic_cm_id *id, const void *private_data, uint16_t len_bytes)
{
    pthread_mutex_lock(&id->lock);
    if (id->iw)
        return unlock(id, host_iw_cm_reject(id->iw, private_data, len_bytes));
    bool may_fit = len_bytes <= UINT8_MAX;
    return unlock(id, may_fit ? host_cm_reject(id->host, private_data, (uint8_t)len_bytes) : -EINVAL);
}

int nornic_cm_id_disconnect(struct nornic_cm_id *id)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? host_iw_cm_disconnect(id->iw) : host_cm_disconnect(id->host, NULL, 0));
}

int nornic_cm_id_join_mcast(struct nornic_cm_id *id, const struct nornic_addr *group,
                            struct nornic_error *why)
{
    pthread_mutex_lock(&id->lock);
    if (id->iw)
        return unlock(id, net_error_set(why, EOPNOTSUPP, "iWARP has no multicast: it is over TCP"));
    return unlock(id, host_cm_join_multicast(id->host, group, why));
}

int nornic_cm_id_leave_mcast(struct nornic_cm_id *id, const struct nornic_addr *group)
{
    pthread_mutex_lock(&id->lock);
    return unlock(id, id->iw ? -ENOENT : host_cm_leave_multicast(id->host, group));
}

/* --- events --- */

int nornic_cm_fd(const struct nornic_cm *cm)
{
    return cm->iw ? host_iw_cm_fd(cm->iw) : host_cm_fd(cm->host);
}

static void fill(struct nornic_cm_event *out, const struct host_cm_event *from)
{
    const struct roce_cm_event *values = &from->values;
    *out = (struct nornic_cm_event){
        .type = from->type,
        .id = host_cm_id_ctx(from->id),
        .listen_id = from->listen_id ? host_cm_id_ctx(from->listen_id) : NULL,
        .status = from->status,
        .responder_resources = values->responder_resources,
        .initiator_depth = values->initiator_depth,
        .flow_control = values->flow_control,
        .srq = values->srq,
        .retry_count = values->retry_count,
        .rnr_retry_count = values->rnr_retry_count,
        .qpn = values->qpn,
        .qkey = values->qkey,
        .av = values->path.av,
        .private_data_len = values->private_data_len,
        .why = from->error,
    };
    memcpy(out->private_data, values->private_data, values->private_data_len);
}

static void fill_iw(struct nornic_cm_event *out, const struct host_iw_cm_event *from)
{
    *out = (struct nornic_cm_event){
        .type = from->type,
        .id = host_iw_cm_id_ctx(from->id),
        .listen_id = from->listen_id ? host_iw_cm_id_ctx(from->listen_id) : NULL,
        .status = from->status,
        .responder_resources = from->responder_resources,
        .initiator_depth = from->initiator_depth,
        .private_data_len = from->private_data_len,
        .why = from->why,
    };
    memcpy(out->private_data, from->private_data, out->private_data_len);
}

/* A request came with an id of its own: from now on it stands on `id`, with its listener's `ctx`. */
static void adopt(struct nornic_cm *cm, struct nornic_cm_id *id, const struct nornic_cm_id *listener)
{
    init_id(id, cm);
    id->space = listener->space;
    id->ctx = listener->ctx;
}

static void adopt_roce(struct nornic_cm *cm, struct nornic_cm_id *id, const struct host_cm_event *request)
{
    adopt(cm, id, host_cm_id_ctx(request->listen_id));
    id->host = request->id;
    host_cm_id_set_ctx(request->id, id);
}

static void adopt_iw(struct nornic_cm *cm, struct nornic_cm_id *id, const struct host_iw_cm_event *request)
{
    adopt(cm, id, host_iw_cm_id_ctx(request->listen_id));
    id->iw = request->id;
    host_iw_cm_id_set_ctx(request->id, id);
}

static int take_roce(struct nornic_cm *cm, struct record *record, struct nornic_cm_id **spare)
{
    int err = host_cm_get_event(cm->host, &record->host, 0);
    if (err)
        return err;
    if (record->host->type == NORNIC_CM_EVENT_CONNECT_REQUEST) {
        adopt_roce(cm, *spare, record->host);
        *spare = NULL;
    }
    fill(&record->event, record->host);
    return 0;
}

static int take_iw(struct nornic_cm *cm, struct record *record, struct nornic_cm_id **spare)
{
    int err = host_iw_cm_get_event(cm->iw, &record->iw, 0);
    if (err)
        return err;
    if (record->iw->type == NORNIC_CM_EVENT_CONNECT_REQUEST) {
        adopt_iw(cm, *spare, record->iw);
        *spare = NULL;
    }
    fill_iw(&record->event, record->iw);
    return 0;
}

/* -EAGAIN: none waits. `spare` is memory for the id of a request; NULL afterwards when that was one. */
static int take(struct nornic_cm *cm, struct record *record, struct nornic_cm_id **spare)
{
    pthread_mutex_lock(&cm->lock);
    int err = cm->iw ? take_iw(cm, record, spare) : take_roce(cm, record, spare);
    pthread_mutex_unlock(&cm->lock);
    return err;
}

int nornic_cm_get_event(struct nornic_cm *cm, struct nornic_cm_event **event, uint64_t timeout_ns)
{
    uint64_t end_ns = host_deadline_ns(timeout_ns);
    struct record *record = calloc(1, sizeof *record);
    struct nornic_cm_id *spare = calloc(1, sizeof *spare);
    int err = record && spare ? -EAGAIN : -ENOMEM;
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
    if (record->iw)
        host_iw_cm_ack_event(record->iw);
    else
        host_cm_ack_event(record->host);
    free(record);
}
