/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "net/impair.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "net/wire/checksum.h"
#include "net/wire/parse.h"
#include "test/net/line.h"

/* The number of lost frames of `n`, and a sum over their numbers that tells which they are. */
static unsigned lost_of(const struct line *line, unsigned n, uint64_t *which)
{
    static bool seen[MAX_FRAMES];
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < line->got_count; i++)
        seen[line->got[i]] = true;
    unsigned lost = 0;
    *which = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!seen[i]) {
            lost++;
            *which = *which * 31 + i;
        }
    }
    return lost;
}

Test(impair, port_properties_are_those_below)
{
    struct net_port *ends[2], *near;
    cr_assert_eq(net_memory_pair(MTU, 64, ends), 0);
    cr_assert_eq(net_impair_wrap(ends[0], &(struct net_impair_config){.on_rx = true, .on_tx = true}, &near),
                 0);
    cr_assert_eq(net_port_fd(near), net_port_fd(ends[0]));
    cr_assert_eq(near->limits.mtu_bytes, MTU);
    cr_assert_eq(near->limits.burst_frames, 64);
    cr_assert(nornic_mac_equal(&near->mac, &ends[0]->mac));
    cr_assert_str_eq(near->name, ends[0]->name);
    cr_assert_str_eq(near->mode, ends[0]->mode);
    cr_assert_eq(net_port_deadline_ns(near), NET_TIME_NONE);
    cr_assert_not_null(net_impair_counters(near));
    cr_assert_null(net_impair_counters(ends[1]));
    net_port_close(near);
    net_port_close(ends[1]);
}

Test(impair, limits_are_kept_and_the_port_below_is_closed)
{
    const struct net_impair_config bad[] = {
        {.loss_ppm = 1000001},    {.duplicate_ppm = 1000001}, {.reorder_ppm = 1000001},
        {.corrupt_ppm = 1000001}, {.ecn_ppm = 1000001},       {.reorder_depth = NET_IMPAIR_DEPTH_MAX + 1},
        {.delay_ns = 10001 * MS}, {.jitter_ns = 10001 * MS},
    };
    for (size_t i = 0; i < array_len(bad); i++) {
        struct net_port *ends[2], *out;
        cr_assert_eq(net_memory_pair(MTU, 64, ends), 0);
        cr_assert_eq(net_impair_wrap(ends[0], &bad[i], &out), -EINVAL, "configuration %zu", i);
        /* A closed end loses what is sent to it: its ring of 64 never fills. */
        for (int k = 0; k < 3; k++)
            cr_assert_eq(send_frames(ends[1], 0, 64, 0), 64);
        net_port_close(ends[1]);
    }
}

Test(impair, clean_line_lends_received_frames_in_place)
{
    struct line *line = line_open(&(struct net_impair_config){.loss_ppm = 1, .on_rx = true}, 64);
    struct net_frame tx, rx;
    cr_assert_eq(net_port_tx_reserve(line->far, &tx, 1), 1);
    test_frame_build(tx.data, FRAME_BYTES, TEST_FRAME_IPV4, 0);
    tx.len_bytes = FRAME_BYTES;
    net_port_tx_flush(line->far, &tx, 1, 0);
    cr_assert_eq(net_port_rx_burst(line->near, &rx, 1, 0), 1);
    cr_assert_eq(rx.data, tx.data);
    net_port_rx_release(line->near, &rx, 1);
    line_close(line);
}

/* The fates of a seed are part of what a failing run reports: they may not change from version to version. */
Test(impair, loss_strikes_the_rate_and_always_the_same_frames)
{
    struct line *line =
        line_open(&(struct net_impair_config){.seed = 1, .loss_ppm = 100000, .on_tx = true}, 64);
    run_tx(line, 20000, 64);
    uint64_t which;
    unsigned lost = lost_of(line, 20000, &which);
    cr_assert(lost > 1800 && lost < 2200, "5 sigma around 2000: %u", lost);
    cr_assert_eq(lost, 2104);
    cr_assert_eq(which, 7247951229917407643u);
    const struct net_impair_counters *c = net_impair_counters(line->near);
    cr_assert_eq(c->lost, lost);
    cr_assert_eq(c->passed, 20000 - lost);
    cr_assert_eq(line->near->counters.tx_frames, 20000 - lost);
    line_close(line);
}

Test(impair, fates_depend_neither_on_bursts_nor_on_other_rates)
{
    uint64_t which[4];
    for (int i = 0; i < 4; i++) {
        struct net_impair_config config = {.seed = 1, .loss_ppm = 100000, .on_tx = true};
        if (i == 3)
            config.duplicate_ppm = config.reorder_ppm = 300000;
        struct line *line = line_open(&config, 256);
        run_tx(line, 5000, i == 0 ? 1 : i == 1 ? 7 : 64);
        lost_of(line, 5000, &which[i]);
        cr_assert_eq(which[i], which[0], "run %d", i);
        line_close(line);
    }
}

Test(impair, seeds_and_directions_are_independent)
{
    uint64_t which[3];
    for (int i = 0; i < 3; i++) {
        struct net_impair_config config = {.seed = i == 2 ? 2 : 1, .loss_ppm = 100000};
        config.on_rx = i == 1;
        config.on_tx = i != 1;
        struct line *line = line_open(&config, 64);
        if (i == 1)
            run_rx(line, 5000, 64);
        else
            run_tx(line, 5000, 64);
        unsigned lost = lost_of(line, 5000, &which[i]);
        cr_assert(lost > 400 && lost < 600, "%u", lost);
        line_close(line);
    }
    cr_assert(which[0] != which[1] && which[0] != which[2] && which[1] != which[2]);
}

Test(impair, all_lost_is_nothing_received)
{
    struct line *line =
        line_open(&(struct net_impair_config){.loss_ppm = 1000000, .on_tx = true, .on_rx = true}, 64);
    run_tx(line, 500, 64);
    run_rx(line, 500, 64);
    cr_assert_eq(line->got_count, 0);
    cr_assert_eq(net_impair_counters(line->near)->lost, 1000);
    line_close(line);
}

Test(impair, duplicate_follows_directly)
{
    for (int rx = 0; rx < 2; rx++) {
        struct line *line =
            line_open(&(struct net_impair_config){.duplicate_ppm = 1000000, .on_tx = !rx, .on_rx = rx}, 64);
        if (rx)
            run_rx(line, 1000, 64);
        else
            run_tx(line, 1000, 5);
        cr_assert_eq(line->got_count, 2000);
        for (unsigned i = 0; i < 2000; i++)
            cr_assert_eq(line->got[i], i / 2);
        cr_assert_eq(net_impair_counters(line->near)->duplicated, 1000);
        cr_assert_eq(net_impair_counters(line->near)->passed, 2000);
        line_close(line);
    }
}

Test(impair, held_frame_leaves_behind_depth_later_frames)
{
    struct line *line =
        line_open(&(struct net_impair_config){.reorder_ppm = 1000000, .reorder_depth = 5, .on_tx = true}, 64);
    for (uint32_t i = 0; i < 100; i++) {
        send_frames(line->near, i, 1, 0);
        receive_frames(line, line->far, 0);
        cr_assert_eq(line->got_count, i < 5 ? 0 : i - 4,
                     "when all are held, frame k leaves with frame k + 5");
    }
    line_close(line);
}

Test(impair, reordered_frames_come_late_once_and_not_later_than_the_depth)
{
    struct line *line =
        line_open(&(struct net_impair_config){.seed = 7, .reorder_ppm = 50000, .on_tx = true}, 64);
    run_tx(line, 10000, 64);
    cr_assert_eq(line->got_count, 10000);
    static bool seen[10000];
    unsigned late = 0;
    for (unsigned i = 0, highest = 0; i < 10000; i++) {
        uint32_t number = line->got[i];
        cr_assert_not(seen[number], "frame %u came twice", number);
        seen[number] = true;
        if (number < highest) {
            late++;
            cr_assert_leq(highest - number, 3, "frame %u came behind %u", number, highest);
        } else {
            highest = number;
        }
    }
    const struct net_impair_counters *c = net_impair_counters(line->near);
    cr_assert(c->reordered > 391 && c->reordered < 609, "5 sigma around 500: %lu", c->reordered);
    /* A held frame whose successors are all held too is not late. */
    cr_assert(late <= c->reordered && late > c->reordered * 9 / 10, "%u late of %lu", late, c->reordered);
    line_close(line);
}

Test(impair, held_frame_leaves_after_a_millisecond)
{
    struct line *line = line_open(&(struct net_impair_config){.reorder_ppm = 1000000, .on_tx = true}, 64);
    send_frames(line->near, 0, 1, 5 * MS);
    cr_assert_eq(receive_frames(line, line->far, 5 * MS), 0);
    cr_assert_eq(net_port_deadline_ns(line->near), 6 * MS);
    receive_frames(line, line->near, 6 * MS - 1);
    cr_assert_eq(receive_frames(line, line->far, 6 * MS - 1), 0);
    receive_frames(line, line->near, 6 * MS);
    cr_assert_eq(receive_frames(line, line->far, 6 * MS), 1);
    cr_assert_eq(net_port_deadline_ns(line->near), NET_TIME_NONE);
    line_close(line);
}

static unsigned bits_that_differ(const uint8_t *a, const uint8_t *b, uint32_t from, uint32_t to,
                                 unsigned *last)
{
    unsigned count = 0;
    for (uint32_t i = from; i < to; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            if ((a[i] ^ b[i]) >> (7 - bit) & 1) {
                count++;
                *last = (i - from) * 8 + bit;
            }
        }
    }
    return count;
}

Test(impair, corruption_flips_any_one_bit_behind_the_ethernet_header)
{
    enum { LEN = 66, BITS = (LEN - 14) * 8 };
    struct line *line = line_open(&(struct net_impair_config){.corrupt_ppm = 1000000, .on_rx = true}, 64);
    static unsigned hits[BITS];
    for (uint32_t i = 0; i < 20000; i++) {
        uint8_t sent[LEN];
        struct net_frame f;
        cr_assert_eq(net_port_tx_reserve(line->far, &f, 1), 1);
        test_frame_build(sent, LEN, TEST_FRAME_IPV4, i);
        memcpy(f.data, sent, LEN);
        f.len_bytes = LEN;
        net_port_tx_flush(line->far, &f, 1, 0);
        cr_assert_eq(net_port_rx_burst(line->near, &f, 1, 0), 1);
        cr_assert_eq(f.len_bytes, LEN);
        cr_assert_arr_eq(f.data, sent, 14);
        unsigned bit;
        cr_assert_eq(bits_that_differ(f.data, sent, 14, LEN, &bit), 1);
        hits[bit]++;
        net_port_rx_release(line->near, &f, 1);
    }
    for (unsigned i = 0; i < BITS; i++) /* 48 expected; 7 standard deviations */
        cr_assert(hits[i] > 0 && hits[i] < 97, "bit %u: %u times", i, hits[i]);
    cr_assert_eq(net_impair_counters(line->near)->corrupted, 20000);
    line_close(line);
}

Test(impair, frame_of_nothing_but_an_ethernet_header_is_not_corrupted)
{
    struct line *line =
        line_open(&(struct net_impair_config){.corrupt_ppm = 1000000, .ecn_ppm = 1000000, .on_tx = true}, 64);
    for (uint32_t len = 0; len <= 14; len++) {
        struct net_frame f;
        cr_assert_eq(net_port_tx_reserve(line->near, &f, 1), 1);
        memset(f.data, 0x81, len);
        f.len_bytes = len;
        net_port_tx_flush(line->near, &f, 1, 0);
        cr_assert_eq(net_port_rx_burst(line->far, &f, 1, 0), 1);
        cr_assert_eq(f.len_bytes, len);
        for (uint32_t i = 0; i < len; i++)
            cr_assert_eq(f.data[i], 0x81);
        net_port_rx_release(line->far, &f, 1);
    }
    cr_assert_eq(net_impair_counters(line->near)->corrupted, 0);
    line_close(line);
}

/* Sends one frame through a line that marks everything; it comes back in `frame`. */
static void mark(struct line *line, uint8_t *frame, uint32_t len)
{
    struct net_frame f;
    cr_assert_eq(net_port_tx_reserve(line->near, &f, 1), 1);
    memcpy(f.data, frame, len);
    f.len_bytes = len;
    net_port_tx_flush(line->near, &f, 1, 0);
    cr_assert_eq(net_port_rx_burst(line->far, &f, 1, 0), 1);
    memcpy(frame, f.data, len);
    net_port_rx_release(line->far, &f, 1);
}

Test(impair, ecn_mark_keeps_the_ipv4_checksum_right)
{
    struct line *line = line_open(&(struct net_impair_config){.ecn_ppm = 1000000, .on_tx = true}, 64);
    for (uint32_t number = 0; number < 2000; number++) {
        for (enum test_frame_kind kind = TEST_FRAME_IPV4; kind <= TEST_FRAME_IPV4_VLAN; kind++) {
            uint8_t frame[FRAME_BYTES];
            test_frame_build(frame, sizeof frame, kind, number);
            uint8_t *ip = frame + (kind == TEST_FRAME_IPV4 ? 14 : 18);
            /* Another header each time, so that carries are met. */
            ip[4] = (uint8_t)(number >> 8);
            ip[5] = (uint8_t)number;
            ip[8] = (uint8_t)(number * 37);
            uint16_t sum = net_checksum_ipv4(ip, 20);
            ip[10] = (uint8_t)(sum >> 8);
            ip[11] = (uint8_t)sum;
            mark(line, frame, sizeof frame);
            cr_assert_eq(ip[1], 3);
            cr_assert(net_checksum_ipv4_is_ok(ip, 20), "frame %u", number);
        }
    }
    cr_assert_eq(net_impair_counters(line->near)->ecn_marked, 4000);
    line_close(line);
}

Test(impair, ecn_mark_leaves_a_wrong_checksum_wrong_and_ce_and_other_frames_alone)
{
    struct line *line = line_open(&(struct net_impair_config){.ecn_ppm = 1000000, .on_tx = true}, 64);
    uint8_t frame[FRAME_BYTES], before[FRAME_BYTES];
    test_frame_build(frame, sizeof frame, TEST_FRAME_IPV4, 1);
    frame[24] ^= 0x10;
    mark(line, frame, sizeof frame);
    cr_assert_not(net_checksum_ipv4_is_ok(frame + 14, 20));
    cr_assert_eq(net_impair_counters(line->near)->ecn_marked, 1);
    memcpy(before, frame, sizeof frame);
    mark(line, frame, sizeof frame);
    cr_assert_arr_eq(frame, before, sizeof frame, "it is CE already");
    test_frame_build(frame, sizeof frame, TEST_FRAME_IPV6, 1);
    memcpy(before, frame, sizeof frame);
    mark(line, frame, sizeof frame);
    unsigned bit;
    cr_assert_eq(bits_that_differ(frame, before, 14, sizeof frame, &bit), 1, "ECT(0) is one bit from CE");
    cr_assert_eq(bit, 11, "the second of the ECN bits of an IPv6 header");
    frame[12] = 0x08; /* ARP */
    frame[13] = 0x06;
    frame[15] = 0;
    memcpy(before, frame, sizeof frame);
    mark(line, frame, sizeof frame);
    cr_assert_arr_eq(frame, before, sizeof frame);
    cr_assert_eq(net_impair_counters(line->near)->ecn_marked, 2);
    line_close(line);
}

Test(impair, delay_keeps_order_and_reports_the_deadline)
{
    struct line *line = line_open(&(struct net_impair_config){.delay_ns = 5 * MS, .on_tx = true}, 64);
    for (uint32_t i = 0; i < 10; i++)
        send_frames(line->near, i, 1, i * MS);
    cr_assert_eq(receive_frames(line, line->far, 0), 5, "calls at 5 to 9 ms let out the frames of 0 to 4 ms");
    for (uint32_t i = 5; i < 10; i++) {
        cr_assert_eq(net_port_deadline_ns(line->near), (i + 5) * MS);
        receive_frames(line, line->near, (i + 5) * MS - 1);
        cr_assert_eq(receive_frames(line, line->far, 0), 0);
        receive_frames(line, line->near, (i + 5) * MS);
        cr_assert_eq(receive_frames(line, line->far, 0), 1);
    }
    cr_assert_eq(net_port_deadline_ns(line->near), NET_TIME_NONE);
    for (uint32_t i = 0; i < 10; i++)
        cr_assert_eq(line->got[i], i);
    cr_assert_eq(net_impair_counters(line->near)->delayed, 10);
    line_close(line);
}

Test(impair, jitter_spreads_arrivals_over_its_range)
{
    struct line *line =
        line_open(&(struct net_impair_config){.delay_ns = 1 * MS, .jitter_ns = 1 * MS, .on_rx = true}, 1024);
    for (uint32_t i = 0; i < 1000; i += 50) {
        cr_assert_eq(send_frames(line->far, i, 50, 0), 50);
        cr_assert_eq(receive_frames(line, line->near, 0), 0);
    }
    unsigned quarter[4] = {0}, out_of_order = 0;
    for (uint64_t now_ns; (now_ns = net_port_deadline_ns(line->near)) != NET_TIME_NONE;) {
        cr_assert(now_ns >= 1 * MS && now_ns <= 2 * MS);
        unsigned n = receive_frames(line, line->near, now_ns);
        cr_assert_gt(n, 0);
        quarter[(now_ns - 1 * MS) * 4 / (MS + 1)] += n;
    }
    cr_assert_eq(line->got_count, 1000);
    for (unsigned i = 1; i < 1000; i++)
        out_of_order += line->got[i] < line->got[i - 1];
    cr_assert(out_of_order > 400 && out_of_order < 600, "%u", out_of_order);
    for (int i = 0; i < 4; i++)
        cr_assert(quarter[i] > 180 && quarter[i] < 320, "quarter %d: %u frames", i, quarter[i]);
    line_close(line);
}

Test(impair, what_the_port_below_does_not_take_waits_and_is_not_lost)
{
    struct line *line = line_open(&(struct net_impair_config){.loss_ppm = 0, .on_tx = true}, 4);
    cr_assert_eq(send_frames(line->near, 0, 4, MS), 4);
    cr_assert_eq(send_frames(line->near, 4, 4, MS), 4);
    cr_assert_eq(send_frames(line->near, 8, 4, MS), 0, "frames wait for the port below");
    cr_assert_eq(net_port_deadline_ns(line->near), MS + 50000);
    cr_assert_eq(receive_frames(line, line->far, MS), 4);
    receive_frames(line, line->near, MS + 1);
    cr_assert_eq(net_port_deadline_ns(line->near), NET_TIME_NONE);
    cr_assert_eq(receive_frames(line, line->far, MS), 4);
    cr_assert_eq(send_frames(line->near, 8, 4, MS), 4);
    cr_assert_eq(receive_frames(line, line->far, MS), 4);
    for (uint32_t i = 0; i < 12; i++)
        cr_assert_eq(line->got[i], i);
    cr_assert_eq(net_impair_counters(line->near)->lost, 0);
    line_close(line);
}

Test(impair, full_queue_loses_the_newest)
{
    for (int rx = 0; rx < 2; rx++) {
        struct line *line =
            line_open(&(struct net_impair_config){.delay_ns = 100 * MS, .on_tx = !rx, .on_rx = rx}, 8192);
        for (uint32_t i = 0; i < 5120; i += 64) {
            cr_assert_eq(send_frames(rx ? line->far : line->near, i, 64, 0), 64);
            cr_assert_eq(receive_frames(line, line->near, 0), 0);
        }
        cr_assert_eq(net_impair_counters(line->near)->lost, 5120 - NET_IMPAIR_QUEUE_FRAMES);
        receive_frames(line, line->near, 100 * MS);
        receive_frames(line, line->far, 100 * MS);
        cr_assert_eq(line->got_count, NET_IMPAIR_QUEUE_FRAMES);
        for (uint32_t i = 0; i < NET_IMPAIR_QUEUE_FRAMES; i++)
            cr_assert_eq(line->got[i], i);
        line_close(line);
    }
}

/* Every trouble at once, both ways, over many seeds: what comes is what was sent, and all is accounted for.
 */
Test(impair, frames_are_conserved_under_all_troubles)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct net_impair_config config = {.seed = seed,
                                           .loss_ppm = 50000,
                                           .duplicate_ppm = 100000,
                                           .reorder_ppm = 100000,
                                           .reorder_depth = (uint32_t)(seed % 9),
                                           .ecn_ppm = 100000,
                                           .delay_ns = seed % 2 * 10000,
                                           .jitter_ns = seed % 3 * 10000,
                                           .on_rx = true,
                                           .on_tx = true};
        struct line *line = line_open(&config, 64);
        uint64_t now_ns = 0;
        uint32_t sent[2] = {0};
        for (int round = 0; round < 200; round++, now_ns += 1000) {
            sent[0] += send_frames(line->near, sent[0], 1 + (unsigned)round % 20, now_ns);
            sent[1] += send_frames(line->far, sent[1], 1 + (unsigned)round % 30, now_ns);
            receive_frames(line, line->near, now_ns);
            receive_frames(line, line->far, now_ns);
        }
        for (; net_port_deadline_ns(line->near) != NET_TIME_NONE; now_ns = net_port_deadline_ns(line->near)) {
            receive_frames(line, line->near, now_ns);
            receive_frames(line, line->far, now_ns);
        }
        const struct net_impair_counters *c = net_impair_counters(line->near);
        cr_assert(c->lost && c->duplicated && c->reordered && c->ecn_marked, "seed %lu", seed);
        cr_assert_eq(c->passed, line->got_count, "seed %lu", seed);
        cr_assert_eq(sent[0] + sent[1] + c->duplicated, c->passed + c->lost, "seed %lu", seed);
        for (unsigned i = 0; i < line->got_count; i++)
            cr_assert(line->got[i] < sent[0] || line->got[i] < sent[1], "seed %lu", seed);
        line_close(line);
    }
}
