/* SPDX-License-Identifier: BSD-2-Clause */
/* The CM of a device: opening, and its part of the device's rounds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/dev/clock.h"
#include "host/cm/inner.h"
#include "host/dev/dev.h"
#include "host/dev/random.h"

#define GOODBYE_NS       (10 * NS_PER_MS) /* of messages that may leave now */
#define PACED_GOODBYE_NS NS_PER_S         /* of messages that wait for their time */
#define GOODBYE_NAP_NS   NS_PER_MS

/* --- calls of the device, under its lock --- */

static struct host_cm *cm_of(const struct host_dev_client *client)
{
    return container_of(client, struct host_cm, client);
}

static void tell_comm_est(struct host_cm *cm, uint64_t now_ns)
{
    cm->has_seen_data = false;
    for (struct host_cm_id *id = cm->ids; id; id = id->next) {
        if (!id->has_seen_data)
            continue;
        id->has_seen_data = false;
        /* The engine refuses it after the RTU or the end. */
        (void)roce_cm_notify_established(id->engine, now_ns);
    }
}

static bool on_round(struct host_dev_client *client, uint64_t now_ns)
{
    struct host_cm *cm = cm_of(client);
    if (cm->has_seen_data)
        tell_comm_est(cm, now_ns);
    bool has_events = roce_cm_progress(cm->engine, now_ns);
    host_cm_expire_queries(cm, now_ns);
    if (has_events)
        host_cm_take_over(cm);
    return has_events;
}

static uint64_t get_deadline_ns(const struct host_dev_client *client)
{
    const struct host_cm *cm = cm_of(client);
    return min_u64(roce_cm_deadline_ns(cm->engine), cm->query_end_ns);
}

/* Without memory the application learns it from the device's own events. */
static void raise_local(struct host_cm_id *id, enum nornic_cm_event_type type)
{
    struct host_cm_record *record = host_cm_record_new(id->cm, id, type);
    if (record)
        host_cm_raise(record);
}

static void on_removed(struct host_dev_client *client)
{
    for (struct host_cm_id *id = cm_of(client)->ids; id; id = id->next)
        raise_local(id, NORNIC_CM_EVENT_DEVICE_REMOVAL);
}

static void on_gid_changed(struct host_dev_client *client, unsigned sgid_index)
{
    for (struct host_cm_id *id = cm_of(client)->ids; id; id = id->next) {
        struct roce_cm_endpoints ends = {.path = id->route.path};
        if (id->step == HOST_CM_IDLE || id->step == HOST_CM_ADDR_QUERY)
            continue;
        if (id->step == HOST_CM_USED)
            roce_cm_id_endpoints(id->engine, &ends);
        if (!nornic_addr_is_zero(&ends.path.av.dgid) && ends.path.av.sgid_index == sgid_index)
            raise_local(id, NORNIC_CM_EVENT_ADDR_CHANGE);
    }
}

/* Marks the id. The engine's receive path may call this, and the CM takes no calls then. The next round
 * tells the CM. */
static void on_comm_est(struct host_dev_client *client, const struct roce_qp *qp)
{
    struct host_cm *cm = cm_of(client);
    struct host_cm_id *id = host_cm_first_of_qp(cm, qp);
    if (id)
        id->has_seen_data = cm->has_seen_data = true;
}

/* Maybe before its id (librdmacm's order). */
static void on_qp_gone(struct host_dev_client *client, const struct roce_qp *qp)
{
    struct host_cm_id *id;
    while ((id = host_cm_first_of_qp(cm_of(client), qp))) {
        roce_cm_forget_qp(id->engine);
        host_cm_set_qp(id, NULL);
    }
}

static void on_refused(struct host_dev_client *client, const struct nornic_addr *peer, uint64_t now_ns)
{
    roce_cm_refused(cm_of(client)->engine, peer, now_ns);
}

static void visit_counters(const struct host_dev_client *client,
                           void (*visit)(void *ctx, const char *name, uint64_t value), void *ctx)
{
    const struct roce_cm_counters *counters = roce_cm_counters(cm_of(client)->engine);
#define VISIT_CM_COUNTER_(name, words) visit(ctx, "cm_" #name, counters->name);
    ROCE_CM_COUNTERS(VISIT_CM_COUNTER_)
#undef VISIT_CM_COUNTER_
}

static bool is_sending(const struct host_dev_client *client)
{
    return roce_cm_is_sending(cm_of(client)->engine);
}

static void on_said(struct host_dev_client *client)
{
    host_cm_notes_close(&cm_of(client)->notes);
}

static const struct host_dev_client_ops client_ops = {
    .round = on_round,
    .deadline_ns = get_deadline_ns,
    .comm_est = on_comm_est,
    .qp_gone = on_qp_gone,
    .gid_changed = on_gid_changed,
    .refused = on_refused,
    .removed = on_removed,
    .is_sending = is_sending,
    .said = on_said,
    .visit_counters = visit_counters,
};

/* --- opening and closing --- */

/* Under the device's lock. */
static int create_engine(struct host_cm *cm)
{
    struct roce_cm_config config = cm->config.timeouts;
    config.mem = NULL;
    config.random = host_random;
    config.wire = NULL; /* the device's QP 1 */
    config.port_mtu_bytes = cm->dev->port->limits.mtu_bytes;
    host_cm_share(cm, &config);
    if (!cm->config.is_keeper)
        host_cm_notes_take(&cm->notes, cm->dev->port, &config);
    return roce_cm_create(cm->dev->engine, &config, &cm->engine);
}

int host_cm_open(struct host_dev *dev, const struct host_cm_config *config, struct host_cm **out,
                 struct nornic_error *why)
{
    struct host_cm *cm = calloc(1, sizeof *cm);
    if (!cm)
        return net_error_set(why, ENOMEM, "no memory for a connection manager");
    *cm =
        (struct host_cm){.client.ops = &client_ops, .dev = dev, .query_end_ns = NET_TIME_NONE, .qp1_fd = -1};
    if (config)
        cm->config = *config;
    int err = host_ack_queue_init(&cm->events);
    if (err)
        goto free_cm;
    host_dev_lock(dev);
    err = dev->client ? -EBUSY : create_engine(cm);
    if (!err)
        dev->client = &cm->client;
    host_dev_unlock(dev);
    if (err)
        goto deinit_events;
    *out = cm;
    return 0;

deinit_events:
    host_ack_queue_deinit(&cm->events);
free_cm:
    free(cm);
    return net_error_set(why, -err, "cannot make a connection manager: %s",
                         err == -EBUSY ? "the device has one" : strerror(-err));
}

/* Sends the last messages of ids that are gone already, in rounds. Ends early at a port without buffers.
 * Sleeps without the device's lock while messages wait for their turn. */
static void say_goodbye(struct host_cm *cm)
{
    static const struct timespec pause = {.tv_nsec = GOODBYE_NAP_NS};
    uint64_t end_ns = host_deadline_ns(GOODBYE_NS), paced_end_ns = host_deadline_ns(PACED_GOODBYE_NS);
    for (;;) {
        host_round_locked(cm->dev, NULL);
        bool is_paced = roce_cm_is_paced(cm->engine);
        if (!roce_cm_is_sending(cm->engine) || host_now_ns() >= (is_paced ? paced_end_ns : end_ns))
            return;
        if (!is_paced)
            continue;
        host_dev_unlock(cm->dev);
        nanosleep(&pause, NULL);
        host_dev_lock(cm->dev);
    }
}

int host_cm_close(struct host_cm *cm)
{
    struct host_dev *dev = cm->dev;
    host_dev_lock(dev);
    if (!cm->ids && !cm->config.is_keeper)
        say_goodbye(cm);
    int err = cm->ids ? -EBUSY : roce_cm_destroy(cm->engine);
    if (!err)
        dev->client = NULL;
    host_dev_unlock(dev);
    if (err)
        return err;
    /* No event waits: each names an id, and no id is left. */
    host_ack_queue_deinit(&cm->events);
    host_cm_notes_close(&cm->notes);
    host_cm_share_deinit(cm);
    free(cm->spare);
    free(cm->spare_id);
    free(cm);
    return 0;
}
