/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids: made, moved to another channel, given back; their options. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/cm/cma.h"

struct cma_id *cma_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
                          enum ibv_qp_type qp_type)
{
    struct cma_id *id = calloc(1, sizeof *id);
    if (!id)
        return verbs_fail_null(ENOMEM, "no memory for an id");
    id->is_sync = channel == NULL;
    id->base.channel = channel ? channel : rdma_create_event_channel();
    if (!id->base.channel) {
        free(id);
        return NULL;
    }
    if (channel) { /* its own it has made */
        cma_lock();
        int err = cma_channel_get(channel);
        cma_unlock();
        if (err) {
            free(id);
            return NULL;
        }
    }
    id->base.context = context;
    id->base.ps = ps;
    id->base.qp_type = qp_type;
    LIST_INIT(&id->groups);
    return id;
}

struct cma_id *cma_id_of_request(const struct cma_device *device, struct cma_id *listener,
                                 struct nornic_cm_id *nornic)
{
    struct cma_id *id = calloc(1, sizeof *id);
    if (!id)
        return verbs_fail_null(ENOMEM, "no memory for the id of a request");
    id->base.ps = listener->base.ps;
    id->base.qp_type = listener->base.qp_type;
    id->waits_for = listener;
    id->nornic = nornic;
    LIST_INIT(&id->groups);
    cma_id_bind(id, device);
    nornic_cm_id_set_ctx(nornic, id);
    cma_show_ends(id);
    cma_show_path(id);
    return id;
}

void cma_id_bind(struct cma_id *id, const struct cma_device *device)
{
    if (id->device && id->base.pd == id->device->pd) /* of one that was tried before */
        id->base.pd = NULL;
    id->device = device;
    id->forks = cma_forks();
    id->base.verbs = device->verbs;
    id->base.port_num = VERBS_PORT_NUM;
    if (!id->base.pd)
        id->base.pd = device->pd;
}

bool cma_is_in_use(const struct cma_id *id)
{
    /* Only one that has begun nothing can still be told its port. */
    return id->nornic && nornic_cm_id_set_src_port(id->nornic, id->bound_port) != 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space ps)
{
    if (ps == RDMA_PS_IPOIB)
        return cma_fail(EPROTONOSUPPORT, "there is no IP over InfiniBand");
    if (ps != RDMA_PS_TCP && ps != RDMA_PS_UDP && ps != RDMA_PS_IB)
        return cma_fail(EINVAL, "there is no port space 0x%04x", (unsigned)ps);
    struct cma_id *made = cma_id_new(channel, context, ps, ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC);
    if (!made)
        return -1;
    *id = &made->base;
    return 0;
}

/* One of its own ends with it. */
static void leave_channel(struct rdma_event_channel *channel, bool is_own)
{
    if (!channel) /* of a request that nobody took */
        return;
    if (is_own) {
        rdma_destroy_event_channel(channel);
        return;
    }
    cma_lock();
    cma_channel_put(channel);
    cma_unlock();
}

static void free_groups(struct cma_id *id)
{
    struct cma_group *group;
    while ((group = LIST_FIRST(&id->groups))) {
        LIST_REMOVE(group, entry);
        free(group);
    }
}

/* Destroys one id and its waiting events. Ids of requests among them are put into `more`. */
static void destroy(struct cma_id *id, struct cma_queue *more)
{
    struct cma_queue mine = TAILQ_HEAD_INITIALIZER(mine);
    struct cma_event *event;
    if (id->base.event)
        rdma_ack_cm_event(id->base.event);
    cma_part(id);
    cma_lock();
    id->is_gone = true;
    cma_pull(id, &mine);
    for (event = TAILQ_FIRST(&mine); event; event = TAILQ_NEXT(event, entry))
        if (event->listener == id) /* its listener goes: no event tells of it */
            event->id->is_gone = true;
    cma_unlock();
    while ((event = TAILQ_FIRST(&mine))) {
        TAILQ_REMOVE(&mine, event, entry);
        nornic_cm_ack_event(event->nornic);
        if (event->listener == id)
            TAILQ_INSERT_TAIL(more, event, entry);
        else
            free(event);
    }
    if (id->nornic)
        nornic_cm_id_destroy(id->nornic);
    for (unsigned i = 0; i < CMA_DEVICES_MAX; i++)
        if (id->resting[i])
            nornic_cm_id_destroy(id->resting[i]);
    for (unsigned i = 0; i < id->num_listeners; i++)
        nornic_cm_id_destroy(id->listeners[i]);
    cma_port_give_back(id);
    leave_channel(id->base.channel, id->is_sync);
    free_groups(id);
    free(id->ep_attr);
    free((void *)id->ep_data);
    free(id);
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
    struct cma_queue more = TAILQ_HEAD_INITIALIZER(more);
    struct cma_event *request;
    if (cma_is_inherited(cma_id_of(id))) {
        cma_port_give_back(cma_id_of(id));
        return 0;
    }
    destroy(cma_id_of(id), &more);
    while ((request = TAILQ_FIRST(&more))) { /* nobody has seen these */
        TAILQ_REMOVE(&more, request, entry);
        destroy(request->id, &more);
        free(request);
    }
    return 0;
}

/* --- to another channel --- */

int rdma_migrate_id(struct rdma_cm_id *base, struct rdma_event_channel *channel)
{
    struct cma_id *id = cma_id_of(base);
    struct cma_queue mine = TAILQ_HEAD_INITIALIZER(mine);
    struct rdma_event_channel *old = base->channel;
    bool was_sync = id->is_sync, is_sync = channel == NULL;
    if (cma_need_own(id))
        return -1;
    if (is_sync && was_sync)
        return cma_fail(EINVAL, "the id is synchronous already");
    if (is_sync)
        channel = rdma_create_event_channel();
    if (!channel)
        return -1;
    cma_lock();
    if (!is_sync && cma_channel_get(channel)) {
        cma_unlock();
        return -1;
    }
    cma_pull(id, &mine);
    base->channel = channel;
    id->is_sync = is_sync;
    cma_put((struct cma_channel *)(void *)channel, &mine);
    cma_unlock();
    if (was_sync) {
        if (base->event)
            rdma_ack_cm_event(base->event);
        base->event = NULL;
    }
    leave_channel(old, was_sync);
    return 0;
}

/* --- options --- */

/* Sets whether an id shares its port, or is of its address's family alone: a listener on :: then leaves
 * IPv4 to others. 0; or EINVAL: it listens, or more. */
static int set_flag(struct cma_id *id, int name, bool is_set)
{
    if (name == RDMA_OPTION_ID_REUSEADDR)
        return cma_port_share(id, is_set);
    if (id->num_listeners || cma_is_in_use(id))
        return EINVAL;
    id->options = (uint8_t)(is_set ? id->options | CMA_ONE_FAMILY : id->options & ~CMA_ONE_FAMILY);
    return 0;
}

/* One of RDMA_OPTION_ID. 0 or an errno value. */
static int set_id_option(struct cma_id *id, int name, const void *value, size_t bytes)
{
    bool is_flag = name == RDMA_OPTION_ID_REUSEADDR || name == RDMA_OPTION_ID_AFONLY;
    if (!is_flag && name != RDMA_OPTION_ID_TOS && name != RDMA_OPTION_ID_ACK_TIMEOUT)
        return ENOSYS;
    if (!value || bytes != (is_flag ? sizeof(int) : sizeof(uint8_t)))
        return EINVAL;
    if (is_flag)
        return set_flag(id, name, *(const int *)value != 0);
    const uint8_t number = *(const uint8_t *)value;
    if (name == RDMA_OPTION_ID_TOS) {
        id->wishes.tos = number;
        id->wishes.has_tos = true;
        return 0;
    }
    if (number > 31 || id->base.ps == RDMA_PS_UDP) /* of 5 bits; datagrams have no ACK */
        return EINVAL;
    id->wishes.ack_timeout = number;
    id->wishes.has_ack_timeout = true;
    return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
    int err = level == RDMA_OPTION_ID ? set_id_option(cma_id_of(id), optname, optval, optlen) : ENOSYS;
    return err ? cma_fail(err, "option %d of level %d cannot be set to these %zu bytes", optname, level,
                          optlen)
               : 0;
}

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
    if (id->qp || !ece || ece->vendor_id)
        return cma_fail(EINVAL, "there is no ECE of vendor 0x%x, or the id has a queue pair",
                        ece ? ece->vendor_id : 0);
    return 0; /* as ibv_query_ece() gives it */
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
    if (id->qp || !ece)
        return cma_fail(EINVAL, "no place for the ECE, or the id has a queue pair");
    *ece = (struct ibv_ece){0};
    return 0;
}
