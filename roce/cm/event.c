/* SPDX-License-Identifier: BSD-2-Clause */
/* Events: one queue over all ids. The slots are the ids' own, so that raising an event cannot fail. */
#include <assert.h>
#include <string.h>

#include "roce/cm/id.h"

const char *nornic_cm_event_name(enum nornic_cm_event_type type)
{
    switch (type) {
#define EVENT_CASE(name, value)  \
    case NORNIC_CM_EVENT_##name: \
        return #name;
        NORNIC_CM_EVENTS(EVENT_CASE)
#undef EVENT_CASE
    }
    return "?";
}

static struct roce_cm_event_slot *free_slot(struct roce_cm_id *id)
{
    for (unsigned i = 0; i < ROCE_CM_EVENTS_MAX; i++)
        if (!id->events[i].is_used)
            return &id->events[i];
    assert(!"more events than a connection has");
    return NULL;
}

struct roce_cm_event *roce_cm_event_new(struct roce_cm_id *id, enum nornic_cm_event_type type, int status)
{
    struct roce_cm *cm = id->cm;
    struct roce_cm_event_slot *slot = free_slot(id);
    slot->is_used = true;
    slot->next = NULL;
    slot->event = (struct roce_cm_event){
        .type = type,
        .id = id,
        .status = status,
        .responder_resources = id->terms.responder_resources,
        .initiator_depth = id->terms.initiator_depth,
        .flow_control = id->flow_control,
        .retry_count = id->terms.retry_count,
        .rnr_retry_count = id->terms.rnr_retry_count,
        .qpn = id->remote_qpn,
        .qkey = id->remote_qkey,
        .path = id->path,
    };
    *cm->event_last = slot;
    cm->event_last = &slot->next;
    return &slot->event;
}

void roce_cm_event_private(struct roce_cm_event *event, const uint8_t *data, size_t len_bytes)
{
    assert(len_bytes <= sizeof event->private_data);
    if (len_bytes > 0)
        memcpy(event->private_data, data, len_bytes);
    event->private_data_len = (uint8_t)len_bytes;
}

void roce_cm_event_tell(struct roce_cm_id *id, enum nornic_cm_event_type type, int status,
                        const uint8_t *data, size_t len_bytes)
{
    if (id->is_owned)
        roce_cm_event_private(roce_cm_event_new(id, type, status), data, len_bytes);
}

void roce_cm_event_end(struct roce_cm_id *id, int status, const uint8_t *data, size_t len_bytes)
{
    if (!id->has_told_end)
        roce_cm_event_tell(id, NORNIC_CM_EVENT_DISCONNECTED, status, data, len_bytes);
    id->has_told_end = true;
}

static bool has_events(const struct roce_cm_id *id)
{
    for (unsigned i = 0; i < ROCE_CM_EVENTS_MAX; i++)
        if (id->events[i].is_used)
            return true;
    return false;
}

void roce_cm_events_drop(struct roce_cm_id *id)
{
    struct roce_cm *cm = id->cm;
    struct roce_cm_event_slot **at = &cm->event_first;
    if (!has_events(id))
        return;
    while (*at) {
        if ((*at)->event.id == id)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
    cm->event_last = at;
    for (unsigned i = 0; i < ROCE_CM_EVENTS_MAX; i++)
        id->events[i].is_used = false;
}

bool roce_cm_get_event(struct roce_cm *cm, struct roce_cm_event *event)
{
    struct roce_cm_event_slot *slot = cm->event_first;
    if (!slot)
        return false;
    cm->event_first = slot->next;
    if (!slot->next)
        cm->event_last = &cm->event_first;
    *event = slot->event;
    slot->is_used = false;
    struct roce_cm_id *id = event->id;
    if (event->type == NORNIC_CM_EVENT_CONNECT_REQUEST) {
        event->listen_id = id->listener;
        event->listen_id->unacked++;
        id->is_owned = true;
        cm->owned_count++;
        roce_cm_child_settle(id);
    } else {
        id->unacked++;
    }
    return true;
}

void roce_cm_ack_event(const struct roce_cm_event *event)
{
    struct roce_cm_id *id = event->type == NORNIC_CM_EVENT_CONNECT_REQUEST ? event->listen_id : event->id;
    assert(id->unacked > 0);
    id->unacked--;
}
