/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/memory.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "net/bytes.h"
#include "test/net/frames.h"
#include "test/support/cpu.h"

#define MTU 1500

static bool is_readable(struct net_port *port)
{
    struct pollfd p = {.fd = net_port_fd(port), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

/* Sends up to `n` frames whose first four bytes count from `first`; returns how many left. */
static unsigned send_counted(struct net_port *port, uint32_t first, unsigned n)
{
    struct net_frame bufs[NET_BURST];
    unsigned got = net_port_tx_reserve(port, bufs, n);
    for (unsigned i = 0; i < got; i++) {
        put_be32(bufs[i].data, first + i);
        bufs[i].len_bytes = 60 + (first + i) % 1000;
    }
    if (got)
        net_port_tx_flush(port, bufs, got, 0);
    return got;
}

/* Receives up to `n` frames and checks that they go on from `*next`. */
static unsigned receive_counted(struct net_port *port, uint32_t *next, unsigned n)
{
    struct net_frame frames[NET_BURST];
    unsigned got = net_port_rx_burst(port, frames, n, 0);
    for (unsigned i = 0; i < got; i++, ++*next) {
        cr_assert_eq(get_be32(frames[i].data), *next);
        cr_assert_eq(frames[i].len_bytes, 60 + *next % 1000);
    }
    net_port_rx_release(port, frames, got);
    return got;
}

static void close_both(struct net_port *ends[2])
{
    net_port_close(ends[0]);
    net_port_close(ends[1]);
}

Test(memory, bad_sizes_are_refused)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(67, 64, ends), -EINVAL);
    cr_assert_eq(net_memory_pair(65536, 64, ends), -EINVAL);
    cr_assert_eq(net_memory_pair(MTU, 1, ends), -EINVAL);
    cr_assert_eq(net_memory_pair(MTU, 48, ends), -EINVAL);
    cr_assert_eq(net_memory_pair(MTU, 131072, ends), -EINVAL);
}

Test(memory, frames_arrive_in_order_both_ways_and_are_counted)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(MTU, 64, ends), 0);
    uint32_t sent[2] = {0}, received[2] = {0};
    for (unsigned round = 0; round < 3000; round++) {
        sent[0] += send_counted(ends[0], sent[0], 1 + round % 17);
        sent[1] += send_counted(ends[1], sent[1], 1 + round % 5);
        receive_counted(ends[1], &received[0], 1 + round % 19);
        receive_counted(ends[0], &received[1], 1 + round % 7);
    }
    while (receive_counted(ends[1], &received[0], NET_BURST))
        ;
    while (receive_counted(ends[0], &received[1], NET_BURST))
        ;
    for (int i = 0; i < 2; i++) {
        cr_assert_gt(sent[i], 5000);
        cr_assert_eq(received[i], sent[i]);
        cr_assert_eq(ends[i]->counters.tx_frames, sent[i]);
        cr_assert_eq(ends[!i]->counters.rx_frames, sent[i]);
        cr_assert_eq(ends[!i]->counters.rx_bytes, ends[i]->counters.tx_bytes);
    }
    close_both(ends);
}

Test(memory, receiver_reads_the_very_slot_the_sender_filled)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(9000, 4, ends), 0);
    struct net_frame tx, rx;
    cr_assert_eq(net_port_tx_reserve(ends[0], &tx, 1), 1);
    cr_assert_geq(tx.cap_bytes, 9018);
    memset(tx.data, 0xa5, tx.cap_bytes);
    tx.len_bytes = 9018;
    net_port_tx_flush(ends[0], &tx, 1, 0);
    cr_assert_eq(net_port_rx_burst(ends[1], &rx, 1, 0), 1);
    cr_assert_eq(rx.data, tx.data);
    cr_assert_eq(rx.len_bytes, 9018);
    net_port_rx_release(ends[1], &rx, 1);
    close_both(ends);
}

Test(memory, full_ring_lends_nothing_and_loses_nothing)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(MTU, 8, ends), 0);
    cr_assert_eq(ends[0]->limits.burst_frames, 8);
    uint32_t next = 0;
    cr_assert_eq(send_counted(ends[0], 0, 5), 5);
    cr_assert_eq(send_counted(ends[0], 5, 5), 3);
    cr_assert_eq(send_counted(ends[0], 8, 1), 0);
    cr_assert_eq(ends[0]->counters.tx_full, 2);
    cr_assert_eq(receive_counted(ends[1], &next, 2), 2);
    cr_assert_eq(send_counted(ends[0], 8, 4), 2);
    cr_assert_eq(receive_counted(ends[1], &next, 8), 8);
    cr_assert_eq(next, 10);
    close_both(ends);
}

Test(memory, unused_buffers_go_back)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(MTU, 8, ends), 0);
    struct net_frame bufs[8];
    uint32_t next = 0;
    for (int round = 0; round < 20; round++) {
        cr_assert_eq(net_port_tx_reserve(ends[0], bufs, 8), 8);
        put_be32(bufs[0].data, next);
        bufs[0].len_bytes = 60 + next % 1000;
        net_port_tx_flush(ends[0], bufs, round & 1, 0);
        cr_assert_eq(receive_counted(ends[1], &next, 8), (unsigned)(round & 1));
    }
    close_both(ends);
}

Test(memory, descriptor_is_readable_as_long_as_frames_wait)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(MTU, 64, ends), 0);
    uint32_t sent = 0, received = 0;
    for (int round = 0; round < 10; round++) {
        cr_assert_not(is_readable(ends[1]), "round %d", round);
        sent += send_counted(ends[0], sent, 20);
        cr_assert(is_readable(ends[1]), "round %d", round);
        receive_counted(ends[1], &received, 5);
        cr_assert(is_readable(ends[1]), "round %d: 15 frames are left", round);
        receive_counted(ends[1], &received, 14);
        cr_assert(is_readable(ends[1]), "round %d: one frame is left", round);
        cr_assert_eq(receive_counted(ends[1], &received, 64), 1);
        cr_assert_eq(receive_counted(ends[1], &received, 64), 0);
        cr_assert_not(is_readable(ends[0]), "the sender received nothing");
    }
    close_both(ends);
}

Test(memory, sender_of_a_full_ring_is_woken_by_room)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(MTU, 4, ends), 0);
    uint32_t received = 0, none = 0;
    cr_assert_eq(send_counted(ends[0], 0, 4), 4);
    cr_assert_eq(send_counted(ends[0], 4, 1), 0);
    cr_assert_not(is_readable(ends[0]));
    cr_assert_eq(receive_counted(ends[1], &received, 1), 1);
    cr_assert(is_readable(ends[0]));
    cr_assert_eq(receive_counted(ends[0], &none, 1), 0);
    cr_assert(is_readable(ends[0]), "to look for frames first must not take back that there is room");
    cr_assert_eq(send_counted(ends[0], 4, 1), 1);
    cr_assert_eq(receive_counted(ends[0], &none, 1), 0);
    cr_assert_not(is_readable(ends[0]));
    close_both(ends);
}

Test(memory, frames_to_a_closed_end_are_lost_not_stuck)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(MTU, 4, ends), 0);
    cr_assert_eq(send_counted(ends[0], 0, 4), 4);
    net_port_close(ends[1]);
    for (int i = 0; i < 10; i++)
        cr_assert_eq(send_counted(ends[0], 0, 4), 4);
    net_port_close(ends[0]);
}

/* What is sent from now on is lost, so there is room: a sender asleep over the full ring must learn it. */
Test(memory, sender_of_a_full_ring_is_woken_when_the_other_end_closes)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(MTU, 4, ends), 0);
    cr_assert_eq(send_counted(ends[0], 0, 4), 4);
    cr_assert_eq(send_counted(ends[0], 4, 1), 0);
    cr_assert_not(is_readable(ends[0]));
    net_port_close(ends[1]);
    cr_assert(is_readable(ends[0]));
    cr_assert_eq(send_counted(ends[0], 4, 1), 1);
    net_port_close(ends[0]);
}

/* Two threads that sleep whenever they can; a lost wake-up shows as a time-out of poll. */
struct talker {
    struct net_port *port;
    uint32_t frames; /* to send and to receive */
    uint32_t window; /* most frames sent ahead of those received, + 1 for the end that starts */
    uint32_t sent, received;
    bool timed_out;
};

static unsigned may_send(const struct talker *t)
{
    uint32_t allowed = t->received + t->window < t->frames ? t->received + t->window : t->frames;
    uint32_t left = allowed > t->sent ? allowed - t->sent : 0;
    return left < 16 ? left : 16;
}

static void *talk(void *arg)
{
    struct talker *t = arg;
    while (t->sent < t->frames || t->received < t->frames) {
        unsigned want = may_send(t);
        unsigned moved = want ? send_counted(t->port, t->sent, want) : 0;
        t->sent += moved;
        moved += receive_counted(t->port, &t->received, NET_BURST);
        struct pollfd p = {.fd = net_port_fd(t->port), .events = POLLIN};
        if (!moved && poll(&p, 1, 5000) != 1) {
            t->timed_out = true;
            break;
        }
    }
    return NULL;
}

static void run_talkers(struct talker t[2])
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(MTU, 32, ends), 0);
    pthread_t thread;
    t[0].port = ends[0];
    t[1].port = ends[1];
    cr_assert_eq(pthread_create(&thread, NULL, talk, &t[1]), 0);
    talk(&t[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) {
        cr_assert_not(t[i].timed_out, "end %d: sent %u, received %u", i, t[i].sent, t[i].received);
        cr_assert_eq(t[i].received, t[i].frames);
    }
    close_both(ends);
}

Test(memory, two_threads_flood_each_other_and_no_wake_up_is_lost, .timeout = 60)
{
    struct talker t[2] = {{.frames = 20000, .window = 20000}, {.frames = 20000, .window = 20000}};
    run_talkers(t);
}

/* With one frame under way, nothing else makes up for a lost wake-up. */
Test(memory, two_threads_take_turns_and_no_wake_up_is_lost, .timeout = 60)
{
    struct talker t[2] = {{.frames = 1000, .window = 1}, {.frames = 1000, .window = 0}};
    run_talkers(t);
}

static void *send_one(void *port)
{
    send_counted(port, 0, 1);
    return NULL;
}

/* The receiver runs as soon as the bell is rung, before the sender can do anything more; if the descriptor
 * stayed readable, each of its sleeps would end at once and keep the sender from it. */
Test(memory, who_is_woken_in_the_senders_place_silences_the_bell)
{
    struct net_port *ends[2];
    const struct sched_param first = {.sched_priority = 1}, usual = {.sched_priority = 0};
    pthread_t sender;
    pthread_attr_t attr;
    uint32_t received = 0;
    cpu_stay_on_first();
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        cr_skip("needs the right to run before others");
    cr_assert_eq(net_memory_pair(MTU, 4, ends), 0);
    pthread_attr_init(&attr);
    pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
    pthread_attr_setschedparam(&attr, &usual);
    cr_assert_eq(pthread_create(&sender, &attr, send_one, ends[0]), 0);
    struct pollfd bell = {.fd = net_port_fd(ends[1]), .events = POLLIN};
    cr_assert_eq(poll(&bell, 1, 30000), 1);
    cr_assert_eq(receive_counted(ends[1], &received, 1), 1);
    cr_assert_eq(receive_counted(ends[1], &received, 1), 0);
    cr_expect_not(is_readable(ends[1]));
    pthread_join(sender, NULL);
    pthread_attr_destroy(&attr);
    close_both(ends);
}

/* --- trains --- */

#define TRAIN_BYTES 20000

static void open_trains(struct net_port *ends[2], uint64_t seed)
{
    const struct net_memory_trains trains = {
        .mtu_bytes = MTU, .ring_frames = 64, .train_bytes = TRAIN_BYTES, .train_pkts = 13, .seed = seed};
    cr_assert_eq(net_memory_pair_trains(&trains, ends), 0);
}

Test(memory, bad_trains_are_refused)
{
    struct net_port *ends[2];
    const struct net_memory_trains bad[] = {{MTU, 64, 0, 2, 0},
                                            {MTU, 64, 65554, 2, 0},
                                            {MTU, 64, TRAIN_BYTES, 1, 0},
                                            {67, 64, TRAIN_BYTES, 2, 0},
                                            {MTU, 48, TRAIN_BYTES, 2, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_eq(net_memory_pair_trains(&bad[i], ends), -EINVAL, "%zu", i);
}

Test(memory, pair_without_trains_lends_buffers_for_single_frames)
{
    struct net_port *ends[2];
    struct net_frame buf;
    cr_assert_eq(net_memory_pair(MTU, 8, ends), 0);
    cr_assert_eq(ends[0]->limits.train_tx_bytes, 0);
    cr_assert_not(ends[0]->limits.train_rx);
    cr_assert_eq(net_port_tx_reserve_trains(ends[0], &buf, 1, TRAIN_BYTES), 1);
    cr_assert_eq(buf.train_pkts, 0);
    net_port_tx_flush(ends[0], &buf, 0, 0);
    close_both(ends);
}

Test(memory, buffers_are_for_trains_only_where_one_is_wanted)
{
    struct net_port *ends[2];
    struct net_frame buf;
    open_trains(ends, 0);
    cr_assert_eq(ends[0]->limits.train_tx_bytes, TRAIN_BYTES);
    cr_assert_eq(ends[0]->limits.train_tx_pkts, 13);
    cr_assert(ends[0]->limits.train_rx);
    static const uint32_t wanted[] = {0, 5000, UINT32_MAX}, cap[] = {MTU + 18, 5000, TRAIN_BYTES};
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(net_port_tx_reserve_trains(ends[0], &buf, 1, wanted[i]), 1);
        cr_assert_eq(buf.train_pkts, i ? 13 : 0);
        cr_assert(i ? buf.cap_bytes == cap[i] : buf.cap_bytes >= cap[i]);
        net_port_tx_flush(ends[0], &buf, 0, 0);
    }
    close_both(ends);
}

Test(memory, train_arrives_as_it_was_sent_and_counts_as_its_packets)
{
    struct net_port *ends[2];
    struct net_frame tx, rx;
    open_trains(ends, 0);
    cr_assert_eq(net_port_tx_reserve_trains(ends[0], &tx, 1, TRAIN_BYTES), 1);
    test_frame_build(tx.data, 42 + 500, TEST_FRAME_IPV4, 1);
    memset(tx.data + 42 + 500, 0x5a, 4 * 500 + 100);
    tx.len_bytes = 42 + 5 * 500 + 100;
    tx.seg_bytes = 500;
    net_port_tx_flush(ends[0], &tx, 1, 0);
    cr_assert_eq(net_port_rx_burst(ends[1], &rx, 1, 0), 1);
    cr_assert(rx.data == tx.data && rx.len_bytes == tx.len_bytes && rx.seg_bytes == 500);
    net_port_rx_release(ends[1], &rx, 1);
    cr_assert_eq(ends[0]->counters.tx_frames, 6);
    cr_assert_eq(ends[0]->counters.tx_bytes, 5 * 542 + 142);
    cr_assert_eq(ends[1]->counters.rx_frames, 6);
    cr_assert_eq(ends[1]->counters.rx_bytes, 5 * 542 + 142);
    /* A single frame in a slot that held a train is one again. */
    uint32_t next = 0;
    for (int i = 0; i < 64; i++)
        cr_assert_eq(send_counted(ends[0], next, 1), receive_counted(ends[1], &next, 1));
    close_both(ends);
}

Test(memory, seed_draws_how_long_a_train_may_be)
{
    struct net_port *ends[2], *same[2];
    struct net_frame buf, again;
    unsigned seen[14] = {0};
    open_trains(ends, 7);
    open_trains(same, 7);
    for (int i = 0; i < 1000; i++) {
        for (int end = 0; end < 2; end++) {
            cr_assert_eq(net_port_tx_reserve_trains(ends[end], &buf, 1, TRAIN_BYTES), 1);
            cr_assert_eq(net_port_tx_reserve_trains(same[end], &again, 1, TRAIN_BYTES), 1);
            net_port_tx_flush(ends[end], &buf, 0, 0);
            net_port_tx_flush(same[end], &again, 0, 0);
            cr_assert_eq(buf.train_pkts, again.train_pkts);
            cr_assert(buf.train_pkts >= 1 && buf.train_pkts <= 13);
            seen[buf.train_pkts]++;
        }
    }
    for (unsigned i = 1; i <= 13; i++)
        cr_assert_gt(seen[i], 50, "%u packets", i);
    close_both(ends);
    close_both(same);
}
