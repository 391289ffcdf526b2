/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids: their numbers, who owns them, how they are found. */
#include "roce/cm/id.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define PORT_FIRST 32768 /* ports that are drawn */
#define PORT_COUNT 28232

static bool is_space(enum nornic_port_space space)
{
    return space == NORNIC_PS_TCP || space == NORNIC_PS_UDP || space == NORNIC_PS_IB;
}

struct roce_cm_id *roce_cm_id_new(struct roce_cm *cm, enum nornic_port_space space)
{
    if (cm->free_count == 0)
        return NULL;
    struct roce_cm_id *id = cm->mem.alloc(cm->mem.ctx, sizeof *id);
    if (!id)
        return NULL;
    uint32_t slot = cm->free_slots[cm->free_first];
    cm->free_first = (cm->free_first + 1) % cm->config.max_ids;
    cm->free_count--;
    cm->slots[slot] = id;
    id->cm = cm;
    id->space = space;
    id->slot = slot;
    id->timer.fire = roce_cm_timer_fire;
    do /* 0 means "none" in messages */
        id->comm_id = (++cm->generation[slot] << cm->slot_bits | slot) ^ cm->comm_salt;
    while (id->comm_id == 0);
    return id;
}

struct roce_cm_id *roce_cm_id_find(struct roce_cm *cm, uint32_t comm_id)
{
    uint32_t slot = (comm_id ^ cm->comm_salt) & ((UINT32_C(1) << cm->slot_bits) - 1);
    struct roce_cm_id *id = slot < cm->config.max_ids ? cm->slots[slot] : NULL;
    return id && id->comm_id == comm_id ? id : NULL;
}

void roce_cm_child_add(struct roce_cm_id *listener, struct roce_cm_id *child)
{
    child->listener = listener;
    child->next_child = listener->first_child;
    child->child_at = &listener->first_child;
    if (child->next_child)
        child->next_child->child_at = &child->next_child;
    listener->first_child = child;
    listener->pending++;
}

static void child_remove(struct roce_cm_id *child)
{
    if (!child->listener)
        return;
    child->listener->pending--;
    *child->child_at = child->next_child;
    if (child->next_child)
        child->next_child->child_at = child->child_at;
    child->listener = NULL;
}

void roce_cm_child_settle(struct roce_cm_id *child)
{
    if (child->owned && child->state != ROCE_CM_REQ_RCVD_STATE &&
        child->state != ROCE_CM_MRA_REQ_SENT_STATE && child->state != ROCE_CM_SIDR_REQ_RCVD_STATE)
        child_remove(child);
}

void roce_cm_id_free(struct roce_cm_id *id)
{
    struct roce_cm *cm = id->cm;
    roce_timer_cancel(&cm->timers, &id->timer);
    roce_cm_events_drop(id);
    child_remove(id);
    roce_cm_table_remove(&cm->by_service, &id->by_service);
    roce_cm_peer_unbind(id);
    roce_cm_qp_unbind(id);
    cm->slots[id->slot] = NULL;
    cm->free_slots[(cm->free_first + cm->free_count++) % cm->config.max_ids] = id->slot;
    cm->owned_count -= id->owned;
    cm->mem.free(cm->mem.ctx, id);
}

void roce_cm_peer_bind(struct roce_cm_id *id)
{
    struct roce_cm *cm = id->cm;
    roce_cm_table_add(&cm->by_peer, &id->by_peer, roce_cm_peer_key(id->remote_guid, id->remote_comm_id), id);
    roce_cm_table_add(&cm->by_peer_qpn, &id->by_peer_qpn, roce_cm_qpn_key(id->remote_guid, id->remote_qpn),
                      id);
}

void roce_cm_peer_unbind(struct roce_cm_id *id)
{
    struct roce_cm *cm = id->cm;
    roce_cm_table_remove(&cm->by_peer, &id->by_peer);
    roce_cm_table_remove(&cm->by_request, &id->by_request);
    roce_cm_table_remove(&cm->by_peer_qpn, &id->by_peer_qpn);
}

/* --- keys --- */

static void words_of(const struct nornic_addr *addr, uint64_t *words)
{
    memcpy(words, addr->b, sizeof addr->b);
}

struct roce_cm_key roce_cm_service_key(uint64_t service_id, const struct nornic_addr *addr)
{
    struct roce_cm_key key = {{service_id}};
    words_of(addr, key.word + 1);
    return key;
}

struct roce_cm_key roce_cm_peer_key(uint64_t guid, uint32_t comm_id)
{
    return (struct roce_cm_key){{guid, comm_id, 0}};
}

struct roce_cm_key roce_cm_sidr_key(const struct nornic_addr *peer, uint32_t request_id)
{
    struct roce_cm_key key = {{request_id}};
    words_of(peer, key.word + 1);
    return key;
}

struct roce_cm_key roce_cm_qpn_key(uint64_t guid, uint32_t qpn)
{
    return (struct roce_cm_key){{guid, qpn, 0}};
}

struct roce_cm_id *roce_cm_listener(struct roce_cm *cm, uint64_t service_id, const struct nornic_addr *addr)
{
    static const struct nornic_addr any;
    struct roce_cm_id *id = roce_cm_table_find(&cm->by_service, roce_cm_service_key(service_id, addr));
    return id ? id : roce_cm_table_find(&cm->by_service, roce_cm_service_key(service_id, &any));
}

/* ROCE-CM-60. */
static uint64_t service_id_of(enum nornic_port_space space, uint16_t port)
{
    return (uint64_t)space << 16 | port;
}

uint16_t roce_cm_draw_port(struct roce_cm *cm, enum nornic_port_space space)
{
    static const struct nornic_addr any;
    uint32_t first = (uint32_t)(roce_cm_random(cm) % PORT_COUNT);
    for (uint32_t i = 0; i < PORT_COUNT; i++) {
        uint16_t port = (uint16_t)(PORT_FIRST + (first + i) % PORT_COUNT);
        if (!roce_cm_listener(cm, service_id_of(space, port), &any))
            return port;
    }
    return 0;
}

/* --- what the application does with them --- */

int roce_cm_id_create(struct roce_cm *cm, enum nornic_port_space space, void *ctx, struct roce_cm_id **out)
{
    if (!is_space(space))
        return -EINVAL;
    if (cm->free_count == 0)
        return -ENOSPC;
    struct roce_cm_id *id = roce_cm_id_new(cm, space);
    if (!id)
        return -ENOMEM;
    id->ctx = ctx;
    id->owned = true;
    cm->owned_count++;
    *out = id;
    return 0;
}

int roce_cm_find_gid(const struct roce_cm *cm, const struct nornic_addr *addr)
{
    for (unsigned i = 0; i <= UINT8_MAX; i++) {
        const struct nornic_gid *gid = roce_dev_gid_get(cm->dev, i);
        if (gid && nornic_addr_equal(&gid->addr, addr))
            return (int)i;
    }
    return -1;
}

int roce_cm_listen(struct roce_cm_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog)
{
    static const struct nornic_addr any;
    struct roce_cm *cm = id->cm;
    bool anywhere = !addr || nornic_addr_is_zero(addr);
    if (id->used || backlog == 0 || (!anywhere && roce_cm_find_gid(cm, addr) < 0))
        return -EINVAL;
    port = port ? port : roce_cm_draw_port(cm, id->space);
    struct roce_cm_key key = roce_cm_service_key(service_id_of(id->space, port), anywhere ? &any : addr);
    if (port == 0 || roce_cm_table_find(&cm->by_service, key))
        return -EADDRINUSE;
    id->used = true;
    id->local_addr = anywhere ? any : *addr;
    id->local_port = port;
    id->service_id = service_id_of(id->space, port);
    id->backlog = backlog;
    id->state = ROCE_CM_LISTEN_STATE;
    roce_cm_table_add(&cm->by_service, &id->by_service, key, id);
    return 0;
}

/* Requests that the application has seen are its own; the others nobody will answer. */
static void close_listener(struct roce_cm_id *id, uint64_t now_ns)
{
    while (id->first_child) {
        struct roce_cm_id *child = id->first_child;
        if (child->owned) {
            child_remove(child);
            continue;
        }
        if (child->state == ROCE_CM_SIDR_REQ_RCVD_STATE)
            roce_cm_send_sidr_rep(child, ROCE_CM_SIDR_REJECTED, NULL, 0, now_ns);
        else
            roce_cm_send_rej(child, ROCE_CM_REJ_CONSUMER, NULL, 0, now_ns);
        roce_cm_id_free(child);
    }
}

/* Says to the peer what it has to know. False: nothing is left to wait for, the id can go. */
static bool part(struct roce_cm_id *id, uint64_t now_ns)
{
    switch (id->state) {
    case ROCE_CM_IDLE_STATE:
    case ROCE_CM_SIDR_REQ_SENT_STATE:
        return false;
    case ROCE_CM_LISTEN_STATE:
        close_listener(id, now_ns);
        return false;
    case ROCE_CM_REQ_SENT_STATE:
    case ROCE_CM_MRA_REQ_RCVD_STATE:
        roce_cm_send_rej(id, ROCE_CM_REJ_TIMEOUT, NULL, 0, now_ns);
        return false;
    case ROCE_CM_REQ_RCVD_STATE:
    case ROCE_CM_MRA_REQ_SENT_STATE:
        roce_cm_send_rej(id, ROCE_CM_REJ_CONSUMER, NULL, 0, now_ns);
        return false;
    case ROCE_CM_REP_SENT_STATE:
    case ROCE_CM_REP_RCVD_STATE:
    case ROCE_CM_MRA_REP_SENT_STATE:
    case ROCE_CM_MRA_REP_RCVD_STATE:
        roce_cm_send_rej(id, ROCE_CM_REJ_CONSUMER, NULL, 0, now_ns);
        roce_cm_to_timewait(id, now_ns);
        return true;
    case ROCE_CM_ESTABLISHED_STATE:
    case ROCE_CM_DREQ_RCVD_STATE:
        roce_cm_disconnect(id, NULL, 0, now_ns);
        return true;
    case ROCE_CM_SIDR_REQ_RCVD_STATE:
        roce_cm_sidr_reject(id, NULL, 0, now_ns);
        return true;
    case ROCE_CM_DREQ_SENT_STATE:
    case ROCE_CM_TIMEWAIT_STATE:
    case ROCE_CM_SIDR_REP_SENT_STATE:
        return true;
    }
    return false;
}

int roce_cm_id_destroy(struct roce_cm_id *id, uint64_t now_ns)
{
    if (id->unacked > 0)
        return -EBUSY;
    if (!part(id, now_ns)) {
        roce_cm_id_free(id);
        return 0;
    }
    roce_cm_events_drop(id);
    id->qp = NULL;
    id->owned = false;
    id->cm->owned_count--;
    return 0;
}

void *roce_cm_id_ctx(const struct roce_cm_id *id)
{
    return id->ctx;
}

void roce_cm_id_set_ctx(struct roce_cm_id *id, void *ctx)
{
    id->ctx = ctx;
}

enum roce_cm_state roce_cm_id_state(const struct roce_cm_id *id)
{
    return id->state;
}

void roce_cm_id_endpoints(const struct roce_cm_id *id, struct roce_cm_endpoints *out)
{
    *out = (struct roce_cm_endpoints){
        .local = id->local_addr,
        .remote = id->path.av.dgid,
        .local_port = id->local_port,
        .remote_port = id->remote_port,
        .local_qpn = id->local_qpn,
        .remote_qpn = id->remote_qpn,
        .path = id->path,
    };
}
