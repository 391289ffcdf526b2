/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of an iWARP CM: one queue over all ids, as that of RoCE (host/cm/event.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/iwarp/cm/inner.h"

struct record {
    struct host_iw_cm_event event; /* callers hold a pointer to it */
    struct host_iw_cm *cm;
    struct host_ack_event base;
};

static struct record *record_of(struct host_iw_cm_event *event)
{
    return container_of(event, struct record, event);
}

struct host_iw_cm_event *host_iw_cm_event_new(struct host_iw_id *id, enum nornic_cm_event_type type,
                                              int status)
{
    struct record *record = calloc(1, sizeof *record);
    if (!record)
        return NULL;
    record->cm = id->cm;
    record->event.id = id;
    record->event.type = type;
    record->event.status = status;
    return &record->event;
}

void host_iw_cm_event_take_private(struct host_iw_cm_event *event, const struct iwarp_setup *setup)
{
    size_t len_bytes;
    const uint8_t *bytes = iwarp_setup_private_data(setup, &len_bytes);
    memcpy(event->private_data, bytes, len_bytes);
    event->private_data_len = (uint16_t)len_bytes;
}

void host_iw_cm_raise(struct host_iw_cm_event *event)
{
    struct record *record = record_of(event);
    record->base.subject = event->listen_id ? &event->listen_id->subject : &event->id->subject;
    record->base.brings = event->listen_id ? &event->id->subject : NULL;
    host_ack_lock(&record->cm->events);
    host_ack_push(&record->cm->events, &record->base);
    host_ack_unlock(&record->cm->events);
}

void host_iw_cm_event_drop(struct host_iw_cm_event *event)
{
    free(record_of(event));
}

/* --- taking and acknowledging --- */

int host_iw_cm_fd(const struct host_iw_cm *cm)
{
    return cm->events.fd;
}

int host_iw_cm_get_event(struct host_iw_cm *cm, struct host_iw_cm_event **event, uint64_t timeout_ns)
{
    struct host_ack_event *taken = host_ack_take(&cm->events, timeout_ns);
    if (!taken)
        return -EAGAIN;
    *event = &container_of(taken, struct record, base)->event;
    return 0;
}

void host_iw_cm_ack_event(struct host_iw_cm_event *event)
{
    struct record *record = record_of(event);
    struct host_ack_queue *events = &record->cm->events;
    host_ack_lock(events);
    host_ack_acknowledge(events, record->base.subject, 1);
    if (record->base.brings)
        host_ack_acknowledge(events, record->base.brings, 1);
    host_ack_unlock(events);
    free(record);
}

struct host_iw_id *host_iw_cm_drop_events(struct host_iw_id *id)
{
    struct host_ack_queue *events = &id->cm->events;
    struct host_iw_id *child = NULL;
    struct host_ack_event *dropped;
    host_ack_lock(events);
    while (!child && (dropped = host_ack_pull(events, &id->subject))) {
        struct record *record = container_of(dropped, struct record, base);
        child = record->event.listen_id ? record->event.id : NULL;
        free(record);
    }
    host_ack_unlock(events);
    return child;
}
