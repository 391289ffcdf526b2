/* SPDX-License-Identifier: BSD-2-Clause */
/* Event channels, and the events that wait in them. */
#define _GNU_SOURCE /* dup3() */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs/memory/av.h"
#include "verbs/cm/cma.h"
#include "verbs/abi/newer.h"
#include "verbs/object.h"

/* --- channels --- */

static struct cma_channel *channel_of(struct rdma_event_channel *channel)
{
    return (struct cma_channel *)(void *)channel;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
    struct cma_channel *channel = verbs_object_new(VERBS_EVENT_CHANNEL, sizeof *channel);
    if (!channel)
        return verbs_fail_null(ENOMEM, "no memory for an event channel");
    /* Blocking, as programs expect: it is read only while it is known to be readable. */
    channel->base.fd = eventfd(0, EFD_CLOEXEC);
    if (channel->base.fd < 0) {
        int err = errno;
        verbs_object_free(VERBS_EVENT_CHANNEL, channel);
        return verbs_fail_null(err, "no descriptor for an event channel");
    }
    TAILQ_INIT(&channel->events);
    channel->users = 1;
    channel->forks = cma_forks();
    return &channel->base;
}

/* Empties a parent's channel in a child of a fork, before any other use. Its events and the descriptor's
 * count are the parent's; the child gets a descriptor of its own under the same number. Under the lock. */
static void take_over(struct cma_channel *channel)
{
    if (channel->forks == cma_forks() || channel->base.fd < 0)
        return;
    int flags = fcntl(channel->base.fd, F_GETFL);
    int fd = eventfd(0, EFD_CLOEXEC | (flags >= 0 && (flags & O_NONBLOCK) ? EFD_NONBLOCK : 0));
    if (fd < 0 || dup3(fd, channel->base.fd, O_CLOEXEC) < 0)
        verbs_tell("a forked process has no descriptor for its parent's event channel");
    if (fd >= 0)
        close(fd);
    TAILQ_INIT(&channel->events);
    channel->forks = cma_forks();
}

int cma_channel_get(struct rdma_event_channel *channel)
{
    int err = verbs_object_need(VERBS_EVENT_CHANNEL, channel);
    if (!err)
        channel_of(channel)->users++;
    return err;
}

void cma_channel_put(struct rdma_event_channel *channel)
{
    if (!--channel_of(channel)->users)
        verbs_object_free(VERBS_EVENT_CHANNEL, channel);
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
    if (verbs_object_claim(VERBS_EVENT_CHANNEL, channel))
        return;
    cma_lock();
    close(channel->fd);
    channel->fd = -1;
    cma_channel_put(channel);
    cma_unlock();
}

/* Keeps the descriptor readable while events wait. Under the lock. */
static void follow(struct cma_channel *channel, bool was_empty)
{
    bool is_empty = TAILQ_EMPTY(&channel->events);
    eventfd_t count;
    if (was_empty && !is_empty)
        eventfd_write(channel->base.fd, 1);
    else if (!was_empty && is_empty)
        eventfd_read(channel->base.fd, &count);
}

void cma_put(struct cma_channel *channel, struct cma_queue *events)
{
    take_over(channel);
    bool was_empty = TAILQ_EMPTY(&channel->events);
    TAILQ_CONCAT(&channel->events, events, entry);
    follow(channel, was_empty);
}

void cma_pull(struct cma_id *id, struct cma_queue *out)
{
    if (!id->base.channel) /* a request that nobody took: its listener's has had them */
        return;
    struct cma_channel *channel = channel_of(id->base.channel);
    take_over(channel);
    bool was_empty = TAILQ_EMPTY(&channel->events);
    struct cma_event *event, *next;
    for (event = TAILQ_FIRST(&channel->events); event; event = next) {
        next = TAILQ_NEXT(event, entry);
        if (event->id != id && event->listener != id && event->id->waits_for != id)
            continue;
        TAILQ_REMOVE(&channel->events, event, entry);
        TAILQ_INSERT_TAIL(out, event, entry);
    }
    follow(channel, was_empty);
}

bool cma_deliver(struct cma_event *event)
{
    struct cma_queue one = TAILQ_HEAD_INITIALIZER(one);
    TAILQ_INSERT_TAIL(&one, event, entry);
    cma_lock();
    /* A request's is that of its listener, which an id that is going may not have any more. */
    struct cma_id *reader = event->id;
    if (!event->id->is_gone && event->id->waits_for)
        reader = event->id->waits_for;
    bool is_gone = event->id->is_gone || reader->is_gone;
    if (!is_gone)
        cma_put(channel_of(reader->base.channel), &one);
    cma_unlock();
    return !is_gone;
}

/* --- events as programs read them --- */

/* The ABI counts private data in an octet; a frame of MPA carries 512. */
static uint8_t told_bytes(const struct nornic_cm_event *event)
{
    return (uint8_t)min_u32(event->private_data_len, UINT8_MAX);
}

static void show_conn(const struct nornic_cm_event *from, struct rdma_conn_param *out)
{
    *out = (struct rdma_conn_param){
        .private_data = from->private_data_len ? from->private_data : NULL,
        .private_data_len = told_bytes(from),
        .responder_resources = from->responder_resources,
        .initiator_depth = from->initiator_depth,
        .flow_control = from->flow_control,
        .retry_count = from->retry_count,
        .rnr_retry_count = from->rnr_retry_count,
        .srq = from->srq,
        .qp_num = from->qpn,
    };
}

static void show_datagram(const struct nornic_cm_event *from, struct rdma_ud_param *out)
{
    *out = (struct rdma_ud_param){
        .private_data = from->private_data_len ? from->private_data : NULL,
        .private_data_len = told_bytes(from),
        .qp_num = from->qpn,
        .qkey = from->qkey,
    };
    verbs_ah_attr_of(&from->av, &out->ah_attr);
}

/* Attaches the queue pair of an id that joined to the group; the event has the program's context. */
static void joined(struct cma_event *event)
{
    struct cma_id *id = event->id;
    struct cma_group *group;
    for (group = LIST_FIRST(&id->groups); group; group = LIST_NEXT(group, entry))
        if (nornic_addr_equal(&group->addr, &event->nornic->av.dgid))
            break;
    if (!group)
        return;
    event->base.param.ud.private_data = group->context;
    event->base.param.ud.private_data_len = 0;
    if (id->base.qp && !group->is_attached && !group->is_send_only) {
        union ibv_gid gid;
        __builtin_memcpy(gid.raw, group->addr.b, sizeof gid.raw);
        int err = ibv_attach_mcast(id->base.qp, &gid, 0);
        if (err) {
            event->base.event = RDMA_CM_EVENT_MULTICAST_ERROR;
            event->base.status = -err;
        }
        group->is_attached = !err;
    }
}

/* Whether the queue pair has changed its state with the event, and is there for sure: the program waits for
 * this one. At the end of a connection it may be giving the queue pair back in another thread, by
 * ibv_destroy_qp() (rping's client does), of which the id hears nothing. */
static bool is_of_connecting(enum nornic_cm_event_type type)
{
    return type == NORNIC_CM_EVENT_CONNECT_RESPONSE || type == NORNIC_CM_EVENT_ESTABLISHED ||
           type == NORNIC_CM_EVENT_CONNECT_ERROR || type == NORNIC_CM_EVENT_UNREACHABLE ||
           type == NORNIC_CM_EVENT_REJECTED;
}

static void show(struct cma_event *event)
{
    const struct nornic_cm_event *from = event->nornic;
    struct cma_id *id = event->id;
    event->base.id = &id->base;
    event->base.listen_id = event->listener ? &event->listener->base : NULL;
    event->base.event = (enum rdma_cm_event_type)from->type;
    event->base.status = from->status;
    if (id->base.ps == RDMA_PS_UDP)
        show_datagram(from, &event->base.param.ud);
    else
        show_conn(from, &event->base.param.conn);
    if (from->type == NORNIC_CM_EVENT_MULTICAST_JOIN && !from->status)
        joined(event);
    if (from->type == NORNIC_CM_EVENT_ADDR_RESOLVED || from->type == NORNIC_CM_EVENT_ESTABLISHED)
        cma_show_ends(id);
    if (from->type == NORNIC_CM_EVENT_ROUTE_RESOLVED)
        cma_show_path(id);
    if (id->base.qp && is_of_connecting(from->type))
        id->base.qp->state = (enum ibv_qp_state)nornic_qp_state(verbs_qp_of(id->base.qp)->nornic);
}

/* Completes the id of a request that the program takes. As in librdmacm it gets the listener's channel,
 * context and protection domain of this time. Under the lock. 0, or -1 with errno. */
static int adopt(struct cma_id *id)
{
    const struct cma_id *listener = id->waits_for;
    id->base.channel = listener->is_sync ? rdma_create_event_channel() : listener->base.channel;
    if (!id->base.channel || (!listener->is_sync && cma_channel_get(id->base.channel))) {
        id->base.channel = NULL;
        return -1;
    }
    id->is_sync = listener->is_sync;
    id->base.context = listener->base.context;
    if (listener->base.pd)
        id->base.pd = listener->base.pd;
    id->waits_for = NULL;
    return 0;
}

/* Writes the first event to *out, or NULL and the descriptor to wait for to *fd. 0; EBADF: the channel is
 * gone; or the errno value of a request that has no memory, or no descriptor, for its id, and stays. */
static int take_first(struct rdma_event_channel *base, struct cma_event **out, int *fd)
{
    struct cma_channel *channel = channel_of(base);
    *out = NULL;
    cma_lock();
    int err = verbs_object_need(VERBS_EVENT_CHANNEL, base) ? EBADF : 0;
    if (!err) {
        take_over(channel);
        *fd = base->fd;
        *out = TAILQ_FIRST(&channel->events);
    }
    if (*out && (*out)->listener && adopt((*out)->id)) {
        err = errno;
        *out = NULL;
    }
    if (*out) {
        TAILQ_REMOVE(&channel->events, *out, entry);
        follow(channel, false);
    }
    cma_unlock();
    return err;
}

/* A thread that comes when its channel has just gone is a moment too late to be one that waits there for
 * ever, as a kernel lets it: main() of rping ends while its event thread is on its way back here, and that
 * thread would end the process with an error. It waits as long as such an end may take. */
#define LATE_MS 1000

int rdma_get_cm_event(struct rdma_event_channel *base, struct rdma_cm_event **out)
{
    struct cma_event *event;
    for (;;) {
        int fd = -1, state = verbs_hold();
        int err = take_first(base, &event, &fd);
        verbs_let(state);
        if (event)
            break;
        if (err == EBADF)
            poll(NULL, 0, LATE_MS);
        else if (!err)
            err = verbs_wait(fd);
        if (err) {
            errno = err;
            return -1;
        }
    }
    show(event);
    *out = &event->base;
    return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *base)
{
    struct cma_event *event = (struct cma_event *)(void *)base;
    if (!cma_is_inherited(event->id))
        nornic_cm_ack_event(event->nornic);
    free(event);
    return 0;
}

/* --- synchronous ids --- */

static int error_of(const struct rdma_cm_event *event)
{
    if (event->event == RDMA_CM_EVENT_REJECTED)
        return ECONNREFUSED;
    if (event->event == RDMA_CM_EVENT_UNREACHABLE)
        return event->status < 0 ? -event->status : ENETUNREACH;
    return event->status < 0 ? -event->status : event->status ? EPROTO : 0;
}

int cma_complete(struct cma_id *id)
{
    if (!id->is_sync)
        return 0;
    if (id->base.event)
        rdma_ack_cm_event(id->base.event);
    id->base.event = NULL;
    if (rdma_get_cm_event(id->base.channel, &id->base.event))
        return -1;
    int err = error_of(id->base.event);
    return err ? cma_fail(err, "%s, status %d", rdma_event_str(id->base.event->event), id->base.event->status)
               : 0;
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
    static const char *const names[] = {
#define NAME_(name, value) [value] = "RDMA_CM_EVENT_" #name,
        NORNIC_CM_EVENTS(NAME_) NAME_(ADDRINFO_RESOLVED, VERBS_CM_EVENT_ADDRINFO_RESOLVED)
            NAME_(ADDRINFO_ERROR, VERBS_CM_EVENT_ADDRINFO_ERROR)
#undef NAME_
    };
    return (unsigned)event < array_len(names) && names[event] ? names[event] : "UNKNOWN EVENT";
}
