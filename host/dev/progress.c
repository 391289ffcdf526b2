/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress belongs to one lock, not to one thread (contract 3): whoever holds it moves frames both ways and
 * fires the timers. */
#include "host/dev/dev.h"

/* All of a round but the sending. Returns whether anything was done. */
static bool take_in(struct host_dev *dev, uint64_t now_ns)
{
    bool heard = host_sources_round(&dev->sources, now_ns);
    bool received = dev->drive->take_in(dev, now_ns);
    bool managed = dev->client && dev->client->ops->round(dev->client, now_ns);
    return heard || received || managed;
}

static uint64_t begin_round(struct host_dev *dev)
{
    host_dev_assert_held(dev);
    host_dev_consume_doorbell(dev);
    dev->is_tx_blocked = false;
    dev->has_left = false;
    return host_now_ns();
}

bool host_dev_round(struct host_dev *dev)
{
    uint64_t now_ns = begin_round(dev);
    bool did = take_in(dev, now_ns);
    return dev->drive->send(dev, now_ns) || did;
}

void host_dev_send(struct host_dev *dev)
{
    (void)dev->drive->send(dev, begin_round(dev));
}

static bool round_for(struct host_dev *dev, const struct rdma_cq *cq)
{
    uint64_t now_ns = begin_round(dev);
    bool did = dev->drive->send(dev, now_ns);
    /* The answer to what has just left is not there yet: the caller may sleep until it is. */
    dev->has_only_sent = did && !dev->has_only_sent && !dev->drive->has_to_send(dev);
    if (dev->has_only_sent)
        return true;
    did = take_in(dev, now_ns) || did;
    return rdma_cq_is_ready(cq) || dev->drive->send(dev, now_ns) || did;
}

/* A control call may end what an acknowledgement is owed by. */
void host_dev_lock(struct host_dev *dev)
{
    host_lock_take(&dev->lock);
    if (dev->has_left)
        host_dev_send(dev);
}

void host_dev_unlock(struct host_dev *dev)
{
    host_later_tell(&dev->later);
    host_dev_replan(dev);
    host_lock_give(&dev->lock);
}

void host_dev_unlock_in_child(struct host_dev *dev)
{
    host_lock_give_in_child(&dev->lock);
}

bool host_dev_progress(struct host_dev *dev)
{
    if (!host_lock_try(&dev->lock))
        return false;
    bool did = host_dev_round(dev);
    host_dev_unlock(dev);
    return did;
}

bool host_dev_round_late(struct host_dev *dev)
{
    uint64_t now_ns = begin_round(dev);
    bool did = dev->drive->send(dev, now_ns);
    did = take_in(dev, now_ns) || did;
    dev->has_left = dev->drive->has_to_send(dev);
    return did;
}

bool host_dev_progress_late(struct host_dev *dev)
{
    if (!host_lock_try(&dev->lock))
        return false;
    bool did = host_dev_round_late(dev);
    host_dev_unlock(dev);
    return did;
}

bool host_dev_progress_for(struct host_dev *dev, const struct rdma_cq *cq)
{
    if (!host_lock_try(&dev->lock))
        return false;
    bool did = round_for(dev, cq);
    host_dev_unlock(dev);
    return did;
}

void host_dev_wait_for(struct host_dev *dev, const struct rdma_cq *cq, uint64_t timeout_ns)
{
    if (!dev->drive->sleep) {
        if (!host_dev_progress(dev))
            host_dev_wait(dev, timeout_ns);
        return;
    }
    host_dev_lock(dev);
    host_dev_send(dev);
    bool is_done = rdma_cq_is_ready(cq);
    /* What completes by being sent must not keep out what comes for ever. */
    dev->has_only_sent = is_done && !dev->has_only_sent;
    bool has_only_sent = dev->has_only_sent;
    host_dev_unlock(dev);
    if (has_only_sent)
        return;
    if (!is_done)
        host_dev_wait(dev, timeout_ns);
    (void)host_dev_progress(dev);
}
