/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: listened for, asked for, accepted, refused, ended. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "verbs/memory/av.h"
#include "verbs/cm/cma.h"
#include "verbs/qp_attr.h"

/* --- listening --- */

static int listen_on(struct cma_id *id, const struct cma_device *device, const struct nornic_addr *addr,
                     uint16_t *port, unsigned backlog)
{
    struct nornic_cm_id *made;
    struct nornic_cm_endpoints ends;
    int err = cma_make(id, device, &made);
    if (err)
        return err;
    err = -nornic_cm_id_listen(made, addr, *port, backlog);
    if (err) {
        nornic_cm_id_destroy(made);
        return err;
    }
    nornic_cm_id_endpoints(made, &ends);
    *port = ends.local_port;
    id->forks = cma_forks();
    id->listeners[id->num_listeners++] = made;
    return 0;
}

int rdma_listen(struct rdma_cm_id *base, int backlog)
{
    struct cma_id *id = cma_id_of(base);
    struct nornic_addr addr;
    const struct cma_device *list;
    uint16_t port = 0;
    unsigned room = backlog > 0 ? (unsigned)backlog : CMA_BACKLOG;
    unsigned count = cma_devices(&list);
    bool is_bound = cma_addr_of(&base->route.addr.src_addr, &addr, &port);
    bool is_named = is_bound && !cma_is_any(&addr) && cma_device_of(&addr, 0);
    /* An id that is bound to 0.0.0.0 leaves IPv6 to others (tgtd listens on the same port for each family),
     * and with RDMA_OPTION_ID_AFONLY one that is bound to :: leaves IPv4. */
    bool is_family = is_bound && (nornic_addr_is_v4_any(&addr) ||
                                  (nornic_addr_is_zero(&addr) && (id->options & CMA_ONE_FAMILY)));
    if (!count || cma_need_own(id))
        return -1;
    if (id->num_listeners || cma_is_in_use(id))
        return cma_fail(EINVAL, "the id is in use");
    int err = cma_port_own(id);
    if (id->device && !err)
        err = listen_on(id, id->device, is_named || is_family ? &addr : NULL, &port, room);
    for (unsigned i = 0; !id->device && i < count && !err; i++)
        err = listen_on(id, &list[i], is_family ? &addr : NULL, &port, room);
    if (err) {
        while (id->num_listeners)
            nornic_cm_id_destroy(id->listeners[--id->num_listeners]);
        return cma_fail(err, "port %u cannot be listened on", port);
    }
    /* A kernel binds it to 0.0.0.0 before. Another id may be bound to the drawn port: both have it. */
    if (!id->bound_port)
        (void)cma_port_take(id, &(struct nornic_addr){{[10] = 0xff, [11] = 0xff}}, &port);
    cma_sockaddr_set_port(&base->route.addr.src_addr, port);
    return 0;
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
    struct cma_id *id = cma_id_of(listen);
    struct rdma_cm_event *event;
    if (!id->is_sync)
        return cma_fail(EINVAL, "the id is not synchronous");
    if (cma_need_own(id))
        return -1;
    if (listen->event)
        rdma_ack_cm_event(listen->event);
    listen->event = NULL;
    if (rdma_get_cm_event(listen->channel, &event))
        return -1;
    if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
        rdma_ack_cm_event(event);
        return cma_fail(EINVAL, "an event that is no request");
    }
    struct rdma_cm_id *request = event->id;
    if (id->ep_attr) {
        struct ibv_qp_init_attr attr = *id->ep_attr;
        if (rdma_create_qp(request, listen->pd, &attr)) {
            int err = errno;
            rdma_ack_cm_event(event);
            rdma_destroy_id(request);
            return cma_fail(err, "the request has no queue pair");
        }
    }
    request->event = event;
    *out = request;
    return 0;
}

/* --- parameters --- */

static struct nornic_qp *qp_of(const struct cma_id *id)
{
    return id->base.qp ? verbs_qp_of(id->base.qp)->nornic : NULL;
}

/* As many READs and atomics as the program wants, of those that a device has. */
static uint8_t depth_of(uint8_t wanted)
{
    return (uint8_t)min_u32(wanted, NORNIC_MAX_RD_ATOMIC);
}

#define RETRIES_MAX 7 /* of three bits: a kernel's CM takes more (fio's 10) for as many as there are */

static struct nornic_conn_param param_of(const struct cma_id *id, const struct rdma_conn_param *from)
{
    static const struct rdma_conn_param usual = {.responder_resources = RDMA_MAX_RESP_RES,
                                                 .initiator_depth = RDMA_MAX_INIT_DEPTH,
                                                 .flow_control = 1,
                                                 .retry_count = 7,
                                                 .rnr_retry_count = 7};
    const struct rdma_conn_param *p = from ? from : &usual;
    bool is_own = id->base.qp != NULL;
    struct nornic_conn_param param = {
        .private_data = p->private_data,
        .private_data_len = p->private_data ? p->private_data_len : 0,
        .responder_resources = depth_of(p->responder_resources),
        .initiator_depth = depth_of(p->initiator_depth),
        .flow_control = p->flow_control,
        .retry_count = (uint8_t)min_u32(p->retry_count, RETRIES_MAX),
        .rnr_retry_count = (uint8_t)min_u32(p->rnr_retry_count, RETRIES_MAX),
        .srq = is_own ? id->base.qp->srq != NULL : p->srq,
        .qp_num = is_own ? id->base.qp->qp_num : p->qp_num,
        .qkey = id->base.ps == RDMA_PS_UDP ? NORNIC_CM_QKEY : 0,
        .has_traffic_class = id->wishes.has_tos,
        .traffic_class = id->wishes.tos,
        .has_ack_timeout = id->wishes.has_ack_timeout,
        .ack_timeout = id->wishes.ack_timeout,
    };
    if (!param.private_data && id->ep_data) {
        param.private_data = id->ep_data;
        param.private_data_len = id->ep_data_bytes;
    }
    return param;
}

static bool is_depth(uint8_t wanted)
{
    return wanted <= NORNIC_MAX_RD_ATOMIC || wanted == RDMA_MAX_RESP_RES;
}

/* Checks the parameters of a connection as librdmacm does. An id without a queue pair needs them, and they
 * want no more READs than the device has. */
static bool is_valid(const struct cma_id *id, const struct rdma_conn_param *param)
{
    if (id->base.ps == RDMA_PS_UDP)
        return true;
    return param ? is_depth(param->responder_resources) && is_depth(param->initiator_depth)
                 : id->base.qp != NULL;
}

/* --- the two sides --- */

/* Accepts, and writes the queue pair's state, which programs read. The lock keeps later events of the id
 * unread until then: a program that reads of the end may destroy the id and its queue pair. */
static int accept_under_lock(struct cma_id *id, const struct nornic_conn_param *param)
{
    int cancel = verbs_hold();
    cma_lock();
    int err = -nornic_cm_id_accept(id->nornic, qp_of(id), param);
    if (!err && id->base.qp)
        id->base.qp->state = (enum ibv_qp_state)nornic_qp_state(qp_of(id));
    cma_unlock();
    verbs_let(cancel);
    return err;
}

static int disconnect_under_lock(struct cma_id *id)
{
    int cancel = verbs_hold();
    cma_lock();
    int err = -nornic_cm_id_disconnect(id->nornic);
    if (!err && id->base.qp)
        id->base.qp->state = (enum ibv_qp_state)nornic_qp_state(qp_of(id));
    cma_unlock();
    verbs_let(cancel);
    return err;
}

int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *conn_param)
{
    struct cma_id *id = cma_id_of(base);
    const struct nornic_conn_param param = param_of(id, conn_param);
    struct nornic_qp *qp = base->ps == RDMA_PS_UDP ? NULL : qp_of(id);
    if (cma_need_own(id))
        return -1;
    if (!is_valid(id, conn_param))
        return cma_fail(EINVAL, "no parameters, or too many READs at once");
    const bool is_sync = id->is_sync, is_new = id->nornic && cma_meet(id);
    if (id->nornic)
        nornic_cm_id_set_patience(id->nornic, CMA_PATIENCE_NS);
    int err = id->nornic ? -nornic_cm_id_connect(id->nornic, qp, &param) : EINVAL;
    if (err) {
        if (is_new)
            cma_part(id);
        return cma_fail(err, "the id cannot connect now, or not with these values");
    }
    return is_sync ? cma_complete(id) : 0; /* an id of a channel may be gone by now */
}

int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *conn_param)
{
    struct cma_id *id = cma_id_of(base);
    const struct nornic_conn_param param = param_of(id, conn_param);
    if (cma_need_own(id))
        return -1;
    if (!is_valid(id, conn_param))
        return cma_fail(EINVAL, "no parameters, or too many READs at once");
    const bool completes = id->is_sync && base->ps != RDMA_PS_UDP, is_new = id->nornic && cma_meet(id);
    int err = id->nornic ? accept_under_lock(id, &param) : EINVAL;
    if (err) {
        if (is_new)
            cma_part(id);
        return cma_fail(err, "there is no request to accept, or not with these values");
    }
    return completes ? cma_complete(id) : 0;
}

int rdma_establish(struct rdma_cm_id *base)
{
    struct cma_id *id = cma_id_of(base);
    if (cma_need_own(id))
        return -1;
    int err = id->nornic && !base->qp ? -nornic_cm_id_establish(id->nornic) : EINVAL;
    return err ? cma_fail(err, "there is no answer to confirm, or the id has a queue pair") : 0;
}

int rdma_reject(struct rdma_cm_id *base, const void *private_data, uint8_t private_data_len)
{
    struct cma_id *id = cma_id_of(base);
    if (cma_need_own(id))
        return -1;
    int err = id->nornic ? -nornic_cm_id_reject(id->nornic, private_data, private_data_len) : EINVAL;
    return err ? cma_fail(err, "there is no request to refuse") : 0;
}

int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
    return rdma_reject(id, private_data, private_data_len);
}

int rdma_disconnect(struct rdma_cm_id *base)
{
    struct cma_id *id = cma_id_of(base);
    if (cma_is_inherited(id))
        return 0;
    const bool is_sync = id->is_sync;
    int err = id->nornic ? disconnect_under_lock(id) : EINVAL;
    if (err)
        return cma_fail(err, "the id is not connected");
    return is_sync ? cma_complete(id) : 0;
}

/* The connection manager notices data by itself. If it has not, it believes the program. */
int rdma_notify(struct rdma_cm_id *base, enum ibv_event_type event)
{
    struct cma_id *id = cma_id_of(base);
    if (cma_need_own(id))
        return -1;
    if (event != IBV_EVENT_COMM_EST)
        return cma_fail(EINVAL, "event %u is none of a connection", (unsigned)event);
    int err = id->nornic ? -nornic_cm_id_notify(id->nornic) : EINVAL;
    return err ? cma_fail(err, "the connection stands already, or none was accepted") : 0;
}

/* --- programs that change their queue pairs themselves --- */

int rdma_init_qp_attr(struct rdma_cm_id *base, struct ibv_qp_attr *attr, int *mask)
{
    struct cma_id *id = cma_id_of(base);
    struct nornic_qp_attr found;
    uint32_t found_mask = 0;
    if (cma_need_own(id))
        return -1;
    int err = id->num_listeners ? EINVAL : cma_need_nornic(id);
    if (!err)
        err = -nornic_cm_id_qp_attr(id->nornic, (enum nornic_qp_state)attr->qp_state, &found, &found_mask);
    if (err)
        return cma_fail(err, "the attributes for state %u are not known yet", (unsigned)attr->qp_state);
    enum ibv_qp_state to = attr->qp_state;
    *attr = verbs_qp_attr_of(&found);
    attr->qp_state = to;
    attr->port_num = VERBS_PORT_NUM;
    verbs_ah_attr_of(&found.av, &attr->ah_attr);
    *mask = (int)found_mask;
    return 0;
}
