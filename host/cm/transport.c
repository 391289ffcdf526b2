/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management of RoCE for host/transport.h: adapters to host/cm/cm.h. */
#include <errno.h>
#include <string.h>

#include "host/cm/cm.h"
#include "host/transport.h"
#include "roce/neutral.h"

static struct host_cm *cm_of(const struct host_conn_manager *cm)
{
    return (struct host_cm *)cm;
}

static struct host_cm_id *id_of(const struct host_conn_id *id)
{
    return (struct host_cm_id *)id;
}

static struct roce_qp *qp_of(const struct rdma_qp *qp)
{
    return qp ? roce_qp_from_base(qp) : NULL;
}

/* --- life --- */

static int open_cm(struct host_dev *dev, const struct nornic_cm_config *config,
                   const struct nornic_mac *peer_mac, struct host_conn_manager **out,
                   struct nornic_error *why)
{
    const struct host_cm_config own = {
        .timeouts = {.max_ids = config->max_ids,
                     .response_timeout = config->response_timeout,
                     .max_retries = config->max_retries},
        .gid_type = config->gid_type,
        .peer_mac = *peer_mac,
    };
    struct host_cm *cm;
    int err = host_cm_open(dev, &own, &cm, why);
    if (!err)
        *out = (struct host_conn_manager *)cm;
    return err;
}

static int close_cm(struct host_conn_manager *cm)
{
    return host_cm_close(cm_of(cm));
}

static int create_id(struct host_conn_manager *cm, enum nornic_port_space space, void *ctx,
                     struct host_conn_id **out)
{
    return host_cm_create_id(cm_of(cm), space, ctx, (struct host_cm_id **)(void *)out);
}

static void destroy_id(struct host_conn_id *id)
{
    host_cm_destroy_id(id_of(id));
}

static void set_ctx(struct host_conn_id *id, void *ctx)
{
    host_cm_id_set_ctx(id_of(id), ctx);
}

/* --- calls about an id --- */

static int set_qp_type(struct host_conn_id *id, enum nornic_qp_type type)
{
    return host_cm_set_qp_type(id_of(id), type);
}

static void set_patience(struct host_conn_id *id, uint64_t patience_ns)
{
    host_cm_set_patience(id_of(id), patience_ns);
}

static int set_src_port(struct host_conn_id *id, uint16_t port)
{
    return host_cm_set_src_port(id_of(id), port);
}

static void get_endpoints(struct host_conn_id *id, struct nornic_cm_endpoints *out)
{
    struct roce_cm_endpoints ends;
    host_cm_id_endpoints(id_of(id), &ends);
    *out = (struct nornic_cm_endpoints){.local = ends.local,
                                        .remote = ends.remote,
                                        .local_port = ends.local_port,
                                        .remote_port = ends.remote_port,
                                        .local_qpn = ends.local_qpn,
                                        .remote_qpn = ends.remote_qpn};
}

static int resolve_addr(struct host_conn_id *id, const struct nornic_addr *src, const struct nornic_addr *dst,
                        uint16_t dst_port, uint64_t timeout_ns, struct nornic_error *why)
{
    return host_cm_resolve_addr(id_of(id), src, dst, dst_port, timeout_ns, why);
}

static int resolve_route(struct host_conn_id *id)
{
    return host_cm_resolve_route(id_of(id));
}

static int listen_at(struct host_conn_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog)
{
    return host_cm_listen(id_of(id), addr, port, backlog);
}

static int connect_to(struct host_conn_id *id, struct rdma_qp *qp, const struct nornic_conn_param *param)
{
    return host_cm_connect(id_of(id), qp_of(qp), param);
}

static int accept_request(struct host_conn_id *id, struct rdma_qp *qp, const struct nornic_conn_param *param)
{
    return host_cm_accept(id_of(id), qp_of(qp), param);
}

static int get_qp_attr(struct host_conn_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                       uint32_t *mask)
{
    return host_cm_qp_attr(id_of(id), to, attr, mask);
}

static int establish(struct host_conn_id *id)
{
    return host_cm_establish(id_of(id), NULL, 0);
}

static int notify(struct host_conn_id *id)
{
    return host_cm_notify(id_of(id));
}

static int reject(struct host_conn_id *id, const void *private_data, uint16_t len_bytes)
{
    bool may_fit = len_bytes <= UINT8_MAX;
    return may_fit ? host_cm_reject(id_of(id), private_data, (uint8_t)len_bytes) : -EINVAL;
}

static int disconnect(struct host_conn_id *id)
{
    return host_cm_disconnect(id_of(id), NULL, 0);
}

static int join_mcast(struct host_conn_id *id, const struct nornic_addr *group, bool is_send_only,
                      struct nornic_error *why)
{
    return host_cm_join_multicast(id_of(id), group, is_send_only, why);
}

static int leave_mcast(struct host_conn_id *id, const struct nornic_addr *group)
{
    return host_cm_leave_multicast(id_of(id), group);
}

/* --- events --- */

static int get_fd(const struct host_conn_manager *cm)
{
    return host_cm_fd(cm_of(cm));
}

static void fill_in(struct nornic_cm_event *out, const struct host_cm_event *from)
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

static int take_event(struct host_conn_manager *cm, struct nornic_cm_event *out,
                      struct host_conn_event **taken, struct host_conn_id **request)
{
    struct host_cm_event *event;
    int err = host_cm_get_event(cm_of(cm), &event, 0);
    if (err)
        return err;
    bool is_request = event->type == NORNIC_CM_EVENT_CONNECT_REQUEST;
    fill_in(out, event);
    *taken = (struct host_conn_event *)event;
    *request = is_request ? (struct host_conn_id *)event->id : NULL;
    return 0;
}

static void ack_event(struct host_conn_event *taken)
{
    host_cm_ack_event((struct host_cm_event *)taken);
}

const struct host_cm_calls host_cm_calls_roce = {
    .open = open_cm,
    .close = close_cm,
    .create_id = create_id,
    .destroy_id = destroy_id,
    .set_ctx = set_ctx,
    .set_qp_type = set_qp_type,
    .set_patience = set_patience,
    .set_src_port = set_src_port,
    .get_endpoints = get_endpoints,
    .resolve_addr = resolve_addr,
    .resolve_route = resolve_route,
    .listen = listen_at,
    .connect = connect_to,
    .accept = accept_request,
    .get_qp_attr = get_qp_attr,
    .establish = establish,
    .notify = notify,
    .reject = reject,
    .disconnect = disconnect,
    .join_mcast = join_mcast,
    .leave_mcast = leave_mcast,
    .get_fd = get_fd,
    .take_event = take_event,
    .ack_event = ack_event,
};
