/* SPDX-License-Identifier: BSD-2-Clause */
/* A device: a transport with a lock, a doorbell and, unless the caller drives it, a thread. */
#include "host/dev/dev.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "host/dev/fault.h"
#include "host/transport.h"

/* --- life --- */

struct host_dev *host_dev_new(const struct host_transport *transport, int *err)
{
    struct host_dev *dev = calloc(1, sizeof *dev);
    *err = -ENOMEM;
    if (!dev)
        return NULL;
    host_fault_install();
    dev->transport = transport;
    dev->drive = transport->drive;
    dev->planned_ns = NET_TIME_NONE;
    dev->claims_fd = -1;
    host_lock_init(&dev->lock);
    STAILQ_INIT(&dev->later);
    dev->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (dev->timer_fd < 0) {
        *err = -errno;
        goto free_dev;
    }
    dev->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (dev->doorbell_fd < 0) {
        *err = -errno;
        goto close_timer;
    }
    *err = host_event_queue_init(&dev->events);
    if (*err)
        goto close_doorbell;
    *err = host_sources_init(&dev->sources);
    if (*err)
        goto deinit_events;
    return dev;

deinit_events:
    host_event_queue_deinit(&dev->events);
close_doorbell:
    close(dev->doorbell_fd);
close_timer:
    close(dev->timer_fd);
free_dev:
    host_lock_deinit(&dev->lock);
    free(dev);
    return NULL;
}

void host_dev_free(struct host_dev *dev)
{
    if (dev->claims_fd >= 0)
        close(dev->claims_fd);
    host_sources_deinit(&dev->sources);
    host_event_queue_deinit(&dev->events);
    close(dev->doorbell_fd);
    close(dev->timer_fd);
    host_lock_deinit(&dev->lock);
    free(dev);
}

/* Without a CM, and QPs, PDs and XRC domains: 0; else -EBUSY with a sentence that counts them. */
static int check_unused(struct host_dev *dev, struct nornic_error *why)
{
    struct roce_dev_use use;
    host_dev_lock(dev);
    bool has_client = dev->client != NULL;
    dev->drive->use(dev, &use);
    host_dev_unlock(dev);
    if (has_client)
        return net_error_set(why, EBUSY, "the device has a connection manager: close that first");
    if (use.qps || use.pds || use.xrcds)
        return net_error_set(
            why, EBUSY,
            "the device is in use: %u queue pairs, %u protection domains, %u XRC domains are "
            "left; destroy them first",
            use.qps, use.pds, use.xrcds);
    return 0;
}

int host_dev_close(struct host_dev *dev, struct nornic_error *why)
{
    int err = check_unused(dev, why);
    if (err)
        return err;
    host_dev_thread_stop(dev);
    dev->drive->close(dev);
    host_dev_free(dev);
    return 0;
}

void host_dev_see_off(struct host_dev *dev, uint64_t limit_ns)
{
    dev->transport->see_off(dev, limit_ns);
}

bool host_dev_notice(struct host_dev *dev, struct nornic_error *out)
{
    host_dev_lock(dev);
    *out = dev->notice;
    const char *trouble = dev->port ? net_port_trouble(dev->port) : NULL;
    if (out->text[0] == '\0' && trouble)
        net_error_set(out, EHOSTUNREACH, "%s", trouble);
    host_dev_unlock(dev);
    return out->text[0] != '\0';
}

struct roce_dev *host_dev_engine(struct host_dev *dev)
{
    return dev->engine;
}

struct net_port *host_dev_port(struct host_dev *dev)
{
    return dev->port;
}

const char *host_dev_port_name(const struct host_dev *dev)
{
    return dev->transport->get_port_name(dev);
}

const char *host_dev_port_mode(const struct host_dev *dev)
{
    return dev->transport->get_port_mode(dev);
}
