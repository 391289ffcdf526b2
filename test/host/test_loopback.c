/* SPDX-License-Identifier: BSD-2-Clause */
/* Two queue pairs of one device, with the progress thread asleep between: ROCE-UD-8. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "net/memory.h"
#include "test/host/pair.h"

/* One device whose QPs are connected with each other, as the two sides of a pair; `far` is the other end of
 * its port, which must stay silent. */
struct lone {
    struct pair pair;
    struct net_port *far;
};

static void lone_open(struct lone *l, bool no_thread)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(1500, 256, ends), 0);
    l->far = ends[1];
    pair_open_alone(&l->pair, ends[0], no_thread);
}

static void lone_close(struct lone *l)
{
    struct net_frame frames[NET_BURST];
    cr_assert_eq(net_port_rx_burst(l->far, frames, l->far->limits.burst_frames, host_now_ns()), 0,
                 "a frame left the device");
    pair_close(&l->pair);
    net_port_close(l->far);
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 31 + i / 251 + seed);
}

Test(loopback, ROCE_UD_8_bulk_inside_a_device_with_a_thread, .timeout = 60)
{
    struct lone l;
    lone_open(&l, false);
    for (unsigned i = 0; i < 4; i++) {
        fill(l.pair.side[0].memory, PAIR_REGION_BYTES, i);
        cr_assert_eq(pair_post_write(&l.pair, i, PAIR_REGION_BYTES), 0);
        struct nornic_wc wc = pair_wait(&l.pair, 10 * NS_PER_S);
        cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
        cr_assert_arr_eq(l.pair.side[1].memory, l.pair.side[0].memory, PAIR_REGION_BYTES);
    }
    lone_close(&l);
}

/* More waits after a round than one round does: who drives the device is told so, and may not fall asleep
 * over it. */
Test(loopback, ROCE_UD_8_no_sleep_while_looped_work_waits, .timeout = 60)
{
    struct lone l;
    lone_open(&l, true);
    struct host_dev *dev = l.pair.side[0].dev;
    fill(l.pair.side[0].memory, PAIR_REGION_BYTES, 9);
    while (host_round(dev, NULL))
        ;
    cr_assert_eq(pair_post_write(&l.pair, 1, PAIR_REGION_BYTES), 0);
    struct nornic_wc wc;
    unsigned rounds = 0;
    uint64_t begin_ns = host_now_ns();
    for (; rdma_cq_poll(l.pair.side[0].cq, &wc, 1) == 0; rounds++) {
        cr_assert_lt(rounds, 10000u);
        host_dev_wait(dev, NS_PER_S); /* a whole second, if it slept */
        cr_assert(host_round(dev, NULL), "it did something, and says so");
    }
    cr_assert_gt(rounds, 1u, "one round is a bounded piece of work");
    cr_assert_lt(host_now_ns() - begin_ns, NS_PER_S * rounds / 2);
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(l.pair.side[1].memory, l.pair.side[0].memory, PAIR_REGION_BYTES);
    lone_close(&l);
}
