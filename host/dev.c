/* SPDX-License-Identifier: BSD-2-Clause */
/* A device: an engine on a port, with a lock, a doorbell and, unless the caller drives it, a thread. */
#include "host/dev.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "host/multicast.h"
#include "net/multicast.h"

/* Keys, QP numbers and PSNs come from here, on control calls only: a system call each is cheap enough. */
static uint64_t kernel_random(void *ctx)
{
    (void)ctx;
    uint64_t value = 0;
    /* Reads of at most 256 bytes are never cut short (getrandom(2)). */
    ssize_t got = getrandom(&value, sizeof value, 0);
    assert(got == sizeof value);
    (void)got;
    return value;
}

const struct rdma_random host_random = {.next = kernel_random};

static void forward_trace(void *ctx, const struct roce_trace *event)
{
    struct host_dev *dev = ctx;
    dev->trace(dev->trace_ctx, event);
}

static void queue_event(void *ctx, const struct roce_event *event)
{
    struct host_dev *dev = ctx;
    if (event->type == NORNIC_EVENT_COMM_EST && dev->cm)
        host_cm_comm_est(dev->cm, event->qp);
    host_event_queue_push(&dev->events, event);
}

/* roce_dev_config.mcast */
static int follow_group(void *ctx, const struct nornic_addr *group, bool join)
{
    struct host_dev *dev = ctx;
    if (join)
        return host_multicast_join(dev, group, NULL);
    host_multicast_leave(dev, group);
    return 0;
}

static int create_engine(struct host_dev *dev, const struct host_dev_config *wanted)
{
    struct roce_dev_config config = {
        .random = host_random,
        .port_mtu_bytes = dev->port->limits.mtu_bytes,
        .first_qpn = wanted->first_qpn,
        .window_pkts = wanted->window_pkts,
        .roce_v1 = wanted->roce_v1,
        .cc = wanted->cc,
        .doorbell = host_dev_doorbell,
        .event = queue_event,
        .mcast = follow_group,
        .trace = dev->trace ? forward_trace : NULL,
        .trace_parse_tx = dev->trace != NULL,
        .ctx = dev,
    };
    return roce_dev_create(&config, &dev->engine);
}

int host_dev_create_on(struct net_port *port, const struct host_dev_config *config, struct host_dev **out,
                       struct nornic_error *why)
{
    struct net_port *capture;
    int err = host_port_wrap(&port, &capture, config, why);
    if (err)
        return err;
    err = -ENOMEM;
    struct host_dev *dev = calloc(1, sizeof *dev);
    if (!dev)
        goto close_port;
    dev->port = port;
    dev->capture = capture;
    dev->trace = config->trace;
    dev->trace_ctx = config->trace_ctx;
    dev->planned_ns = NET_TIME_NONE;
    pthread_mutex_init(&dev->lock, NULL);
    dev->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (dev->doorbell_fd < 0) {
        err = -errno;
        goto free_dev;
    }
    err = host_event_queue_init(&dev->events);
    if (err)
        goto close_doorbell;
    err = host_sources_init(&dev->sources);
    if (err)
        goto deinit_events;
    err = create_engine(dev, config);
    if (err)
        goto deinit_sources;
    err = config->no_thread ? 0 : host_dev_thread_start(dev);
    if (err)
        goto destroy_engine;
    *out = dev;
    return 0;

destroy_engine:
    roce_dev_destroy(dev->engine);
deinit_sources:
    host_sources_deinit(&dev->sources);
deinit_events:
    host_event_queue_deinit(&dev->events);
close_doorbell:
    close(dev->doorbell_fd);
free_dev:
    pthread_mutex_destroy(&dev->lock);
    free(dev);
close_port:
    net_port_close(port);
    return net_error_set(why, -err, "cannot create a device: %s", strerror(-err));
}

void host_dev_close(struct host_dev *dev)
{
    host_dev_thread_stop(dev);
    assert(!dev->cm && "a CM is closed before its device");
    if (dev->gids)
        host_gids_close(dev->gids);
    if (dev->multicast)
        net_multicast_close(dev->multicast);
    int err = roce_dev_destroy(dev->engine);
    assert(!err && "QPs, regions and PDs are destroyed before their device");
    (void)err;
    net_port_close(dev->port);
    host_sources_deinit(&dev->sources);
    host_event_queue_deinit(&dev->events);
    close(dev->doorbell_fd);
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

struct roce_dev *host_dev_engine(struct host_dev *dev)
{
    return dev->engine;
}

struct net_port *host_dev_port(struct host_dev *dev)
{
    return dev->port;
}
