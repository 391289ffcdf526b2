/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of all callers without the lock to make a round of a device, by a policy. */
#include "host/dev/dev.h"

/* False at once if another thread has the lock. */
static bool try_round(struct host_dev *dev, const struct host_round_policy *policy)
{
    if (!host_lock_try(&dev->lock))
        return false;
    bool did = host_round_locked(dev, policy);
    host_dev_unlock(dev);
    return did;
}

/* Sends what was posted. False: the caller is to come back before anything is received. `*is_done`: `cq` has
 * completions. */
static bool send_posted(struct host_dev *dev, const struct rdma_cq *cq, bool *is_done)
{
    host_dev_lock(dev);
    host_dev_send(dev);
    *is_done = rdma_cq_is_ready(cq);
    /* Work that completes by being sent must not keep out incoming data for ever. */
    dev->round.has_only_sent = *is_done && !dev->round.has_only_sent;
    bool has_only_sent = dev->round.has_only_sent;
    host_dev_unlock(dev);
    return !has_only_sent;
}

static bool round_with_sleep(struct host_dev *dev, const struct host_round_policy *policy)
{
    bool is_done;
    if (!dev->drive->sleep) {
        bool did = try_round(dev, NULL);
        if (!did)
            host_dev_wait(dev, policy->sleep_ns);
        return did;
    }
    if (!send_posted(dev, policy->cq, &is_done))
        return true;
    if (!is_done)
        host_dev_wait(dev, policy->sleep_ns);
    return try_round(dev, NULL) || is_done;
}

bool host_round(struct host_dev *dev, const struct host_round_policy *policy)
{
    if (policy && policy->kind == HOST_ROUND_SLEEP)
        return round_with_sleep(dev, policy);
    if (policy && policy->kind == HOST_ROUND_POLL && dev->has_thread)
        return host_dev_poll(dev);
    return try_round(dev, policy);
}
