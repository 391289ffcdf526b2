/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for completions, in both ways: driving the device, or asleep while its thread does. */
#define _GNU_SOURCE /* ppoll() */
#include "base/base.h"
#include "cli/node/node.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/stop.h"

/* A sleep is at most this long, so that a stop by a signal that came just before it is noticed. */
#define SLICE_NS 100000000u

#define ROUNDS_OF_LOOK 8 /* between looks at the clock */

int cli_cq_create(const struct cli_node *node, uint32_t capacity, struct cli_cq *out)
{
    *out = (struct cli_cq){.node = node};
    int err = node->events ? nornic_channel_create(node->api, &out->channel) : 0;
    if (err)
        return cli_fail("cannot create a completion channel: %s", strerror(-err));
    const struct nornic_cq_config config = {NORNIC_INIT(config), .capacity = capacity,
                                            .channel = out->channel};
    err = nornic_cq_create(node->api, &config, &out->cq);
    if (!err)
        return CLI_OK;
    if (out->channel)
        nornic_channel_destroy(out->channel);
    return cli_fail("cannot create a completion queue of %u entries: %s", capacity, strerror(-err));
}

void cli_cq_destroy(struct cli_cq *cq)
{
    nornic_cq_destroy(cq->cq);
    if (cq->channel)
        nornic_channel_destroy(cq->channel);
}

static uint64_t end_of(uint64_t now_ns, uint64_t timeout_ns)
{
    return timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
}

static uint64_t slice(uint64_t end_ns, uint64_t now_ns)
{
    return end_ns - now_ns < SLICE_NS ? end_ns - now_ns : SLICE_NS;
}

/* The clock is read now and then: a round in which nothing comes takes no longer than a few looks at it. */
static int wait_driving(struct cli_cq *cq, struct nornic_wc *wcs, unsigned n, uint64_t timeout_ns)
{
    const struct host_round_policy policy = {.kind = HOST_ROUND_FOR_CQ, .cq = host_cq_of(cq->cq)};
    uint64_t end_ns = 0, busy_ns = 0, spin_ns = cq->node->spin_ns;
    bool was_busy = true;
    for (unsigned rounds = 1;; rounds++) {
        was_busy = host_round(cq->node->dev, &policy) || was_busy;
        int got = nornic_cq_poll(cq->cq, wcs, n);
        if (got != 0)
            return got;
        if (spin_ns && rounds % ROUNDS_OF_LOOK)
            continue;
        uint64_t now_ns = host_now_ns();
        end_ns = end_ns ? end_ns : end_of(now_ns, timeout_ns);
        if (now_ns >= end_ns || cli_stopped())
            return 0;
        busy_ns = was_busy ? now_ns : busy_ns;
        was_busy = false;
        if (now_ns - busy_ns >= spin_ns)
            host_dev_wait(cq->node->dev, slice(end_ns, now_ns));
    }
}

static void sleep_for_event(const struct cli_cq *cq, uint64_t ns)
{
    struct nornic_cq *fired;
    struct pollfd fds[2] = {{.fd = nornic_channel_fd(cq->channel), .events = POLLIN},
                            {.fd = cli_stop_fd(), .events = POLLIN}};
    struct timespec ts = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    ppoll(fds, 2, &ts, NULL);
    while (nornic_channel_get_event(cq->channel, &fired, 0) == 0)
        nornic_cq_ack_events(fired, 1);
}

static int wait_asleep(struct cli_cq *cq, struct nornic_wc *wcs, unsigned n, uint64_t end_ns)
{
    for (;;) {
        /* Armed first, polled after: a completion between the two is found or rings. */
        nornic_cq_req_notify(cq->cq, false);
        int got = nornic_cq_poll(cq->cq, wcs, n);
        uint64_t now_ns = host_now_ns();
        if (got != 0 || now_ns >= end_ns || cli_stopped())
            return got;
        sleep_for_event(cq, slice(end_ns, now_ns));
    }
}

int cli_cq_wait(struct cli_cq *cq, struct nornic_wc *wcs, unsigned n, uint64_t timeout_ns)
{
    int got = nornic_cq_poll(cq->cq, wcs, n);
    if (got != 0)
        return got;
    return cq->node->events ? wait_asleep(cq, wcs, n, end_of(host_now_ns(), timeout_ns))
                            : wait_driving(cq, wcs, n, timeout_ns);
}
