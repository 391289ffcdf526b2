/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress belongs to one lock, not to one thread (contract 3): its holder moves frames both ways and
 * fires the timers. */
#include "host/dev/fault.h"
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
    dev->round.is_tx_blocked = false;
    dev->round.has_left = false;
    host_fault_admit();
    return host_now_ns();
}

static bool round_plain(struct host_dev *dev, uint64_t now_ns)
{
    bool did = take_in(dev, now_ns);
    return dev->drive->send(dev, now_ns) || did;
}

static bool round_late(struct host_dev *dev, uint64_t now_ns)
{
    bool did = dev->drive->send(dev, now_ns);
    did = take_in(dev, now_ns) || did;
    dev->round.has_left = dev->drive->has_to_send(dev);
    return did;
}

void host_dev_send(struct host_dev *dev)
{
    (void)dev->drive->send(dev, begin_round(dev));
}

static bool round_for(struct host_dev *dev, const struct rdma_cq *cq, uint64_t now_ns)
{
    bool did = dev->drive->send(dev, now_ns);
    /* An answer cannot be there yet: the caller may sleep until it comes. */
    dev->round.has_only_sent = did && !dev->round.has_only_sent && !dev->drive->has_to_send(dev);
    if (dev->round.has_only_sent)
        return true;
    did = take_in(dev, now_ns) || did;
    return rdma_cq_is_ready(cq) || dev->drive->send(dev, now_ns) || did;
}

bool host_round_locked(struct host_dev *dev, const struct host_round_policy *policy)
{
    uint64_t now_ns = begin_round(dev);
    switch (policy ? policy->kind : HOST_ROUND_PLAIN) {
    case HOST_ROUND_FOR_CQ:
        return round_for(dev, policy->cq, now_ns);
    case HOST_ROUND_LATE:
        return round_late(dev, now_ns);
    case HOST_ROUND_PLAIN:
    case HOST_ROUND_POLL:
    case HOST_ROUND_SLEEP:
        break;
    }
    return round_plain(dev, now_ns);
}

/* A control call may end the queue pair that owes an acknowledgement. */
void host_dev_lock(struct host_dev *dev)
{
    host_lock_take(&dev->lock);
    if (dev->round.has_left)
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
