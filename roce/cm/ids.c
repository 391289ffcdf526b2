/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids: their numbers, who owns them, whom a message names. */
#include "base/base.h"
#include "roce/cm/id.h"
#include "roce/cm/note.h"

#include <errno.h>

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
    id->qp_type = space == NORNIC_PS_UDP ? NORNIC_QPT_UD : NORNIC_QPT_RC;
    id->slot = slot;
    do /* 0 means "none" in messages */
        id->comm_id =
            cm->config.first_comm_id | rdma_slot_number(&cm->comm_ids, slot, cm->generation[slot]++);
    while (id->comm_id == 0);
    return id;
}

struct roce_cm_id *roce_cm_id_find(struct roce_cm *cm, uint32_t comm_id)
{
    uint32_t slot = rdma_number_slot(&cm->comm_ids, comm_id - cm->config.first_comm_id);
    struct roce_cm_id *id = slot < cm->config.max_ids ? cm->slots[slot] : NULL;
    if (id && id->comm_id == comm_id)
        return id;
    return cm->by_comm_id.buckets ? roce_cm_table_find(&cm->by_comm_id, roce_cm_qpn_key(0, comm_id)) : NULL;
}

void roce_cm_id_free(struct roce_cm_id *id)
{
    struct roce_cm *cm = id->cm;
    rdma_timer_cancel(&cm->timers, &id->timer);
    roce_cm_events_drop(id);
    roce_cm_child_remove(id);
    roce_cm_set_state(id, ROCE_CM_IDLE_STATE);
    roce_cm_table_remove(&cm->by_service, &id->by_service);
    roce_cm_table_remove(&cm->by_comm_id, &id->by_comm_id);
    roce_cm_peer_unbind(id);
    roce_cm_qp_unbind(id);
    cm->slots[id->slot] = NULL;
    cm->free_slots[(cm->free_first + cm->free_count++) % cm->config.max_ids] = id->slot;
    cm->owned_count -= id->is_owned;
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

/* --- whom a message names --- */

enum nornic_mtu roce_cm_path_mtu(const struct roce_cm *cm)
{
    return nornic_mtu_for_port(min_u32(cm->config.port_mtu_bytes, roce_dev_port_mtu(cm->dev)));
}

bool roce_cm_may_refuse(struct roce_cm *cm, uint64_t service_id)
{
    const struct roce_cm_config *config = &cm->config;
    bool may = !config->may_refuse || config->may_refuse(config->may_refuse_ctx, service_id);
    cm->counters.left_to_others += !may;
    return may;
}

struct roce_cm_id *roce_cm_rx_find_ours(struct roce_cm *cm, const struct roce_cm_path *path, uint32_t comm_id)
{
    struct roce_cm_id *id = roce_cm_id_find(cm, comm_id);
    if (!id || id->state == ROCE_CM_IDLE_STATE || id->state == ROCE_CM_LISTEN_STATE) {
        roce_cm_count(cm, rx_unknown_id);
        return NULL;
    }
    /* a peer does not change its address inside an exchange (redirection is not offered) */
    if (!nornic_addr_equal(&id->path.av.dgid, &path->av.dgid)) {
        roce_cm_count(cm, rx_wrong_peer);
        return NULL;
    }
    return id;
}

struct roce_cm_id *roce_cm_rx_find(struct roce_cm *cm, const struct roce_cm_path *path, uint32_t comm_id,
                                   uint32_t remote_comm_id)
{
    struct roce_cm_id *id = roce_cm_rx_find_ours(cm, path, comm_id);
    if (id && id->remote_comm_id != 0 && id->remote_comm_id != remote_comm_id) {
        roce_cm_count(cm, rx_unknown_id);
        return NULL;
    }
    return id;
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
    id->is_owned = true;
    cm->owned_count++;
    *out = id;
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

int roce_cm_id_set_qp_type(struct roce_cm_id *id, enum nornic_qp_type type)
{
    bool is_offered = type == NORNIC_QPT_RC || type == NORNIC_QPT_XRC_INI || type == NORNIC_QPT_XRC_TGT;
    if (id->space != NORNIC_PS_IB || id->was_used || !is_offered)
        return -EINVAL;
    id->qp_type = type;
    return 0;
}

void roce_cm_id_set_patience(struct roce_cm_id *id, uint64_t patience_ns)
{
    id->patience_ns = patience_ns;
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
