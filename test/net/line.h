/* SPDX-License-Identifier: BSD-2-Clause */
/* A cable with one impaired end, and frames with numbers to send over it. */
#ifndef NORNIC_TEST_NET_LINE_H
#define NORNIC_TEST_NET_LINE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "net/impair.h"
#include "net/memory.h"
#include "test/net/frames.h"

#define MTU         1500
#define MS          1000000ull
#define FRAME_BYTES 100
#define MAX_FRAMES  40000

/* `near` is impaired, `far` is the other end of the cable. */
struct line {
    struct net_port *near, *far;
    uint32_t got[MAX_FRAMES];
    unsigned got_count;
};

static inline struct line *line_open(const struct net_impair_config *config, uint32_t ring_frames)
{
    struct line *line = calloc(1, sizeof *line);
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(MTU, ring_frames, ends), 0);
    cr_assert_eq(net_impair_wrap(ends[0], config, &line->near), 0);
    line->far = ends[1];
    return line;
}

static inline void line_close(struct line *line)
{
    net_port_close(line->near);
    net_port_close(line->far);
    free(line);
}

/* Sends `n` frames, numbered from `first`; returns how many were taken. */
static inline unsigned send_frames(struct net_port *port, uint32_t first, unsigned n, uint64_t now_ns)
{
    struct net_frame bufs[NET_BURST];
    unsigned got = net_port_tx_reserve(port, bufs, n);
    for (unsigned i = 0; i < got; i++) {
        test_frame_build(bufs[i].data, FRAME_BYTES, TEST_FRAME_IPV4, first + i);
        bufs[i].len_bytes = FRAME_BYTES;
    }
    if (got)
        net_port_tx_flush(port, bufs, got, now_ns);
    return got;
}

/* Receives what waits at `port` and notes its numbers. Returns how many came. */
static inline unsigned receive_frames(struct line *line, struct net_port *port, uint64_t now_ns)
{
    struct net_frame frames[NET_BURST];
    unsigned total = 0, n;
    while ((n = net_port_rx_burst(port, frames, NET_BURST, now_ns)) > 0) {
        for (unsigned i = 0; i < n; i++) {
            cr_assert_lt(line->got_count, MAX_FRAMES);
            line->got[line->got_count++] = test_frame_number(frames[i].data, frames[i].len_bytes);
        }
        net_port_rx_release(port, frames, n);
        total += n;
    }
    return total;
}

/* Sends `n` frames from the impaired end in bursts, receives them, and lets held ones out. */
static inline void run_tx(struct line *line, unsigned n, unsigned burst)
{
    for (uint32_t i = 0; i < n;) {
        i += send_frames(line->near, i, n - i < burst ? n - i : burst, 0);
        receive_frames(line, line->far, 0);
    }
    receive_frames(line, line->near, 2 * MS);
    receive_frames(line, line->far, 2 * MS);
}

/* The same towards the impaired end. */
static inline void run_rx(struct line *line, unsigned n, unsigned burst)
{
    for (uint32_t i = 0; i < n;) {
        i += send_frames(line->far, i, n - i < burst ? n - i : burst, 0);
        receive_frames(line, line->near, 0);
    }
    receive_frames(line, line->near, 2 * MS);
}

#endif
