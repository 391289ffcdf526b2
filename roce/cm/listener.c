/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners: the ports that they are found by, and the requests that wait for their application. */
#include <errno.h>

#include "roce/cm/id.h"
#include "roce/cm/note.h"

#define PORT_FIRST 32768 /* ports that are drawn */
#define PORT_COUNT 28232

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

void roce_cm_child_remove(struct roce_cm_id *child)
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
    if (child->is_owned && child->state != ROCE_CM_REQ_RCVD_STATE &&
        child->state != ROCE_CM_MRA_REQ_SENT_STATE && child->state != ROCE_CM_SIDR_REQ_RCVD_STATE)
        roce_cm_child_remove(child);
}

/* Keys of those that listen at all addresses: of both families, of IPv4, of IPv6 (which no address is). */
static const struct nornic_addr any, any_v4 = {{[10] = 0xff, [11] = 0xff}}, any_v6 = {{0xff}};

struct roce_cm_id *roce_cm_listener(struct roce_cm *cm, uint64_t service_id, const struct nornic_addr *addr)
{
    struct roce_cm_id *id = roce_cm_table_find(&cm->by_service, roce_cm_service_key(service_id, addr));
    if (!id)
        id = roce_cm_table_find(&cm->by_service,
                                roce_cm_service_key(service_id, nornic_addr_is_v4(addr) ? &any_v4 : &any_v6));
    return id ? id : roce_cm_table_find(&cm->by_service, roce_cm_service_key(service_id, &any));
}

uint16_t roce_cm_draw_port(struct roce_cm *cm, enum nornic_port_space space)
{
    uint32_t first = (uint32_t)(roce_cm_random(cm) % PORT_COUNT);
    for (uint32_t i = 0; i < PORT_COUNT; i++) {
        uint16_t port = (uint16_t)(PORT_FIRST + (first + i) % PORT_COUNT);
        const uint64_t service_id = roce_cm_service_id(space, port);
        if (!roce_cm_listener(cm, service_id, &any_v4) && !roce_cm_listener(cm, service_id, &any_v6))
            return port;
    }
    return 0;
}

int roce_cm_listen(struct roce_cm_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog)
{
    struct roce_cm *cm = id->cm;
    const struct nornic_addr *at = !addr ? &any : nornic_addr_is_zero(addr) ? &any_v6 : addr;
    bool is_one = at == addr && !nornic_addr_is_v4_any(addr);
    if (id->was_used || id->qp_type == NORNIC_QPT_XRC_INI || backlog == 0 ||
        (is_one && roce_dev_gid_find(cm->dev, addr, NULL, NULL) < 0))
        return -EINVAL;
    port = port ? port : roce_cm_draw_port(cm, id->space);
    struct roce_cm_key key = roce_cm_service_key(roce_cm_service_id(id->space, port), at);
    if (port == 0 || roce_cm_table_find(&cm->by_service, key))
        return -EADDRINUSE;
    id->was_used = true;
    id->local_addr = at == addr ? *addr : any;
    id->local_port = port;
    id->service_id = roce_cm_service_id(id->space, port);
    id->backlog = backlog;
    roce_cm_set_state(id, ROCE_CM_LISTEN_STATE);
    roce_cm_table_add(&cm->by_service, &id->by_service, key, id);
    return 0;
}
