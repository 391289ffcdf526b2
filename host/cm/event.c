/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of a CM: one queue over all ids, taken and acknowledged by any thread. A request is an event about
 * its listener, and brings an id: until it is taken, nothing else about that id may be. */
#include <errno.h>
#include <stdlib.h>

#include "base/base.h"
#include "host/cm/inner.h"
#include "host/dev/dev.h"

/* --- raising --- */

struct host_cm_record *host_cm_record_new(struct host_cm *cm, struct host_cm_id *id,
                                          enum nornic_cm_event_type type)
{
    struct host_cm_record *record = calloc(1, sizeof *record);
    if (!record)
        return NULL;
    record->cm = cm;
    record->event.id = id;
    record->event.type = type;
    return record;
}

void host_cm_raise(struct host_cm_record *record)
{
    struct host_cm *cm = record->cm;
    struct host_cm_event *event = &record->event;
    record->base.subject = event->listen_id ? &event->listen_id->subject : &event->id->subject;
    record->base.brings = event->listen_id ? &event->id->subject : NULL;
    host_ack_lock(&cm->events);
    host_ack_push(&cm->events, &record->base);
    host_ack_unlock(&cm->events);
}

/* Memory for one more event, taken before the engine gives one away. */
static bool has_spares(struct host_cm *cm)
{
    if (!cm->spare)
        cm->spare = host_cm_record_new(cm, NULL, NORNIC_CM_EVENT_ADDR_RESOLVED);
    if (!cm->spare_id)
        cm->spare_id = calloc(1, sizeof *cm->spare_id);
    return cm->spare && cm->spare_id;
}

/* A request comes with an id of its own, which from now on is the application's. */
static void adopt(struct host_cm *cm, struct host_cm_event *event)
{
    event->listen_id = roce_cm_id_ctx(event->values.listen_id);
    event->id = cm->spare_id;
    cm->spare_id = NULL;
    host_cm_link_id(cm, event->id, event->values.id);
    host_ack_subject_init(&event->id->subject, true);
    event->id->step = HOST_CM_USED;
    event->id->ctx = event->listen_id->ctx;
}

void host_cm_take_over(struct host_cm *cm)
{
    struct roce_cm_event values;
    host_dev_assert_held(cm->dev);
    while (has_spares(cm) && roce_cm_get_event(cm->engine, &values)) {
        struct host_cm_record *record = cm->spare;
        cm->spare = NULL;
        record->event.type = values.type;
        record->event.status = values.status;
        record->event.values = values;
        if (values.type == NORNIC_CM_EVENT_CONNECT_REQUEST)
            adopt(cm, &record->event);
        else
            record->event.id = roce_cm_id_ctx(values.id);
        /* From here on the acknowledgement is ours to wait for. */
        roce_cm_ack_event(&values);
        host_cm_raise(record);
    }
}

/* --- taking and acknowledging --- */

int host_cm_fd(const struct host_cm *cm)
{
    return cm->events.fd;
}

int host_cm_get_event(struct host_cm *cm, struct host_cm_event **event, uint64_t timeout_ns)
{
    struct host_ack_event *taken = host_ack_take(&cm->events, timeout_ns);
    if (!taken)
        return -EAGAIN;
    *event = &container_of(taken, struct host_cm_record, base)->event;
    return 0;
}

void host_cm_ack_event(struct host_cm_event *event)
{
    struct host_cm_record *record = container_of(event, struct host_cm_record, event);
    struct host_cm *cm = record->cm;
    host_ack_lock(&cm->events);
    host_ack_acknowledge(&cm->events, record->base.subject, 1);
    if (record->base.brings)
        host_ack_acknowledge(&cm->events, record->base.brings, 1);
    host_ack_unlock(&cm->events);
    free(record);
}

/* --- an id goes --- */

struct host_cm_id *host_cm_drop_events(struct host_cm_id *id)
{
    struct host_cm *cm = id->cm;
    struct host_cm_id *child = NULL;
    struct host_ack_event *dropped;
    host_ack_lock(&cm->events);
    while (!child && (dropped = host_ack_pull(&cm->events, &id->subject))) {
        struct host_cm_record *record = container_of(dropped, struct host_cm_record, base);
        child = record->event.listen_id ? record->event.id : NULL;
        free(record);
    }
    host_ack_unlock(&cm->events);
    return child;
}
