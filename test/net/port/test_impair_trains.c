/* SPDX-License-Identifier: BSD-2-Clause */
/* Impairment of trains: many packets in one buffer. */
#include <criterion/criterion.h>
#include <string.h>

#include "net/wire/train.h"
#include "test/net/line.h"

#define TRAIN_PKTS 10

static struct line *train_line_open(const struct net_impair_config *config)
{
    struct line *line = calloc(1, sizeof *line);
    struct net_port *ends[2];
    const struct net_memory_trains trains = {
        .mtu_bytes = MTU, .ring_frames = 64, .train_bytes = 4000, .train_pkts = TRAIN_PKTS};
    cr_assert_eq(net_memory_pair_trains(&trains, ends), 0);
    cr_assert_eq(net_impair_wrap(ends[0], config, &line->near), 0);
    line->far = ends[1];
    return line;
}

/* Sends a train of TRAIN_PKTS frames, numbered from `first`. */
static void send_train(struct net_port *port, uint32_t first)
{
    struct net_frame buf;
    uint8_t bytes[FRAME_BYTES];
    cr_assert_eq(net_port_tx_reserve_trains(port, &buf, 1, 4000), 1);
    cr_assert_eq(buf.train_pkts, TRAIN_PKTS);
    for (uint32_t i = 0; i < TRAIN_PKTS; i++) {
        test_frame_build(bytes, FRAME_BYTES, TEST_FRAME_IPV4, first + i);
        memcpy(buf.data + (i ? buf.len_bytes : 0), bytes + (i ? 42 : 0), FRAME_BYTES - (i ? 42 : 0));
        buf.len_bytes += FRAME_BYTES - (i ? 42 : 0);
    }
    buf.seg_bytes = FRAME_BYTES - 42;
    cr_assert_eq(net_train_size(&buf).pkts, TRAIN_PKTS);
    net_port_tx_flush(port, &buf, 1, 0);
}

/* net/port.h: whatever the longest train, each buffer takes a frame of the MTU. */
Test(impair_trains, a_buffer_for_trains_takes_a_single_frame)
{
    struct net_port *ends[2], *near;
    struct net_frame buf;
    const struct net_memory_trains trains = {
        .mtu_bytes = 4096, .ring_frames = 64, .train_bytes = 2000, .train_pkts = 2};
    cr_assert_eq(net_memory_pair_trains(&trains, ends), 0);
    cr_assert_eq(net_impair_wrap(ends[0], &(struct net_impair_config){.on_tx = true}, &near), 0);
    cr_assert_eq(net_port_tx_reserve_trains(near, &buf, 1, 2000), 1);
    cr_assert_geq(buf.cap_bytes, 4096 + 18);
    net_port_tx_flush(near, &buf, 0, 0);
    net_port_close(near);
    net_port_close(ends[1]);
}

/* A train is cut before anything happens to it: each packet meets the fate that it would meet alone. */
Test(impair_trains, packets_of_a_train_have_fates_of_their_own)
{
    for (int rx = 0; rx < 2; rx++) {
        struct net_impair_config config = {.seed = 5,
                                           .loss_ppm = 100000,
                                           .duplicate_ppm = 100000,
                                           .reorder_ppm = 100000,
                                           .on_rx = rx,
                                           .on_tx = !rx};
        struct line *alone = line_open(&config, 64), *trains = train_line_open(&config);
        cr_assert_eq(trains->near->limits.train_rx, !rx);
        for (uint32_t i = 0; i < 2000; i += TRAIN_PKTS) {
            send_train(rx ? trains->far : trains->near, i);
            receive_frames(trains, rx ? trains->near : trains->far, 0);
        }
        receive_frames(trains, trains->near, 2 * MS);
        receive_frames(trains, trains->far, 2 * MS);
        if (rx)
            run_rx(alone, 2000, 10);
        else
            run_tx(alone, 2000, 10);
        cr_assert_gt(net_impair_counters(trains->near)->lost, 100);
        cr_assert_eq(trains->got_count, alone->got_count);
        cr_assert_arr_eq(trains->got, alone->got, alone->got_count * sizeof alone->got[0]);
        const struct net_impair_counters *a = net_impair_counters(alone->near),
                                         *b = net_impair_counters(trains->near);
        cr_assert(a->lost == b->lost && a->duplicated == b->duplicated && a->reordered == b->reordered);
        line_close(alone);
        line_close(trains);
    }
}

Test(impair_trains, train_in_a_direction_that_is_not_impaired_goes_through_whole)
{
    struct line *line = train_line_open(&(struct net_impair_config){.loss_ppm = 1000000, .on_rx = true});
    struct net_frame frame;
    send_train(line->near, 0);
    cr_assert_eq(net_port_rx_burst(line->far, &frame, 1, 0), 1);
    cr_assert_eq(frame.seg_bytes, FRAME_BYTES - 42);
    cr_assert_eq(net_train_size(&frame).pkts, TRAIN_PKTS);
    net_port_rx_release(line->far, &frame, 1);
    line_close(line);
}
