/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of a CM: one queue over all ids, taken and acknowledged by any thread. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/cm_inner.h"
#include "host/dev.h"
#include "host/poll.h"

int host_cm_events_init(struct host_cm *cm)
{
    cm->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cm->fd < 0)
        return -errno;
    pthread_mutex_init(&cm->lock, NULL);
    pthread_cond_init(&cm->acknowledged, NULL);
    cm->end = &cm->first;
    return 0;
}

void host_cm_events_deinit(struct host_cm *cm)
{
    assert(!cm->first && "an event names an id, and no id is left");
    free(cm->spare);
    free(cm->spare_id);
    pthread_cond_destroy(&cm->acknowledged);
    pthread_mutex_destroy(&cm->lock);
    close(cm->fd);
}

/* --- the queue; under the CM's lock --- */

static bool may_be_taken(const struct host_cm_record *record)
{
    const struct host_cm_event *event = &record->event;
    if (event->type == NORNIC_CM_EVENT_CONNECT_REQUEST)
        return !event->listen_id->is_closing;
    return !event->id->is_closing && !event->id->is_unseen;
}

static struct host_cm_record **first_to_take(struct host_cm *cm)
{
    struct host_cm_record **at = &cm->first;
    while (*at && !may_be_taken(*at))
        at = &(*at)->next;
    return at;
}

static void signal_waiting(struct host_cm *cm)
{
    eventfd_t count;
    bool wanted = *first_to_take(cm) != NULL;
    if (wanted && !cm->is_signalled)
        eventfd_write(cm->fd, 1);
    else if (!wanted && cm->is_signalled)
        eventfd_read(cm->fd, &count);
    cm->is_signalled = wanted;
}

static struct host_cm_record *take_out(struct host_cm *cm, struct host_cm_record **at)
{
    struct host_cm_record *record = *at;
    *at = record->next;
    if (!*at)
        cm->end = at;
    return record;
}

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
    pthread_mutex_lock(&cm->lock);
    *cm->end = record;
    cm->end = &record->next;
    signal_waiting(cm);
    pthread_mutex_unlock(&cm->lock);
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
    event->id->step = HOST_CM_USED;
    event->id->is_unseen = true;
    event->id->ctx = event->listen_id->ctx;
}

void host_cm_take_over(struct host_cm *cm)
{
    struct roce_cm_event values;
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
    return cm->fd;
}

static int try_get(struct host_cm *cm, struct host_cm_event **event)
{
    pthread_mutex_lock(&cm->lock);
    struct host_cm_record **at = first_to_take(cm);
    int err = *at ? 0 : -EAGAIN;
    if (*at) {
        *event = &take_out(cm, at)->event;
        (*event)->id->unacknowledged++;
        (*event)->id->is_unseen = false;
        if ((*event)->listen_id)
            (*event)->listen_id->unacknowledged++;
        signal_waiting(cm);
    }
    pthread_mutex_unlock(&cm->lock);
    return err;
}

int host_cm_get_event(struct host_cm *cm, struct host_cm_event **event, uint64_t timeout_ns)
{
    uint64_t end_ns = host_deadline_ns(timeout_ns);
    while (try_get(cm, event) != 0)
        if (!host_poll_readable(cm->fd, end_ns))
            return -EAGAIN;
    return 0;
}

void host_cm_ack_event(struct host_cm_event *event)
{
    struct host_cm_record *record = (struct host_cm_record *)event; /* its first member */
    struct host_cm *cm = record->cm;
    pthread_mutex_lock(&cm->lock);
    event->id->unacknowledged--;
    if (event->listen_id)
        event->listen_id->unacknowledged--;
    pthread_cond_broadcast(&cm->acknowledged);
    pthread_mutex_unlock(&cm->lock);
    free(record);
}

/* --- an id goes --- */

void host_cm_close_events(struct host_cm_id *id)
{
    struct host_cm *cm = id->cm;
    pthread_mutex_lock(&cm->lock);
    id->is_closing = true;
    signal_waiting(cm);
    while (id->unacknowledged > 0)
        pthread_cond_wait(&cm->acknowledged, &cm->lock);
    pthread_mutex_unlock(&cm->lock);
}

struct host_cm_id *host_cm_drop_events(struct host_cm_id *id)
{
    struct host_cm *cm = id->cm;
    struct host_cm_id *child = NULL;
    pthread_mutex_lock(&cm->lock);
    struct host_cm_record **at = &cm->first;
    while (*at && !child) {
        if ((*at)->event.id != id && (*at)->event.listen_id != id) {
            at = &(*at)->next;
            continue;
        }
        struct host_cm_record *record = take_out(cm, at);
        child = record->event.listen_id == id ? record->event.id : NULL;
        free(record);
    }
    signal_waiting(cm);
    pthread_mutex_unlock(&cm->lock);
    return child;
}
