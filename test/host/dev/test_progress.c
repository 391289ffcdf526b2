/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* SCHED_IDLE, pthread_timedjoin_np() */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "host/dev/dev.h"
#include "test/host/pair.h"
#include "test/support/cpu.h"

#define SECOND NS_PER_S

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 31 + i / 251 + seed);
}

static const struct host_round_policy late = {.kind = HOST_ROUND_LATE}, polled = {.kind = HOST_ROUND_POLL};

/* A round for completions of `cq`. */
static bool round_for(struct host_dev *dev, const struct rdma_cq *cq)
{
    return host_round(dev, &(struct host_round_policy){.kind = HOST_ROUND_FOR_CQ, .cq = cq});
}

static void busy_wait_ns(uint64_t ns)
{
    uint64_t end_ns = host_now_ns() + ns;
    while (host_now_ns() < end_ns)
        ;
}

/* Contract 3: the target's application does nothing at all. */
Test(progress, a_write_completes_on_a_passive_target)
{
    struct pair pair;
    pair_open(&pair, false);
    fill(pair.side[0].memory, PAIR_REGION_BYTES, 1);
    cr_assert_eq(pair_post_write(&pair, 7, PAIR_REGION_BYTES), 0);
    struct nornic_wc wc = pair_wait(&pair, 5 * SECOND);
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.wr_id, 7);
    cr_assert_arr_eq(pair.side[1].memory, pair.side[0].memory, PAIR_REGION_BYTES);
    pair_close(&pair);
}

Test(progress, the_caller_can_drive_both_ends)
{
    struct pair pair;
    pair_open(&pair, true);
    fill(pair.side[0].memory, 100000, 2);
    cr_assert_eq(pair_post_write(&pair, 1, 100000), 0);
    struct nornic_wc wc;
    uint64_t end_ns = host_now_ns() + 5 * SECOND;
    while (rdma_cq_poll(pair.side[0].cq, &wc, 1) == 0) {
        cr_assert_lt(host_now_ns(), end_ns);
        host_round(pair.side[0].dev, NULL);
        host_round(pair.side[1].dev, NULL);
    }
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(pair.side[1].memory, pair.side[0].memory, 100000);
    cr_assert_not(host_round(pair.side[0].dev, NULL), "nothing is left to do");
    pair_close(&pair);
}

/* The post falls, by and by, everywhere between the thread's last look and its sleep. A doorbell lost there
 * is a completion that never comes: nothing else would wake the thread. */
Test(progress, no_doorbell_is_lost, .timeout = 60)
{
    struct pair pair;
    pair_open(&pair, false);
    for (unsigned i = 0; i < 1000; i++) {
        cr_assert_eq(pair_post_write(&pair, i, 8), 0);
        struct nornic_wc wc = pair_wait(&pair, 5 * SECOND);
        cr_assert_eq(wc.wr_id, i);
        cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
        busy_wait_ns(i % 60 * 500); /* the thread looks for 20 us, then sleeps */
    }
    pair_close(&pair);
}

/* No post rings here: the control call itself leaves something to send. */
Test(progress, a_control_call_that_makes_work_wakes_the_thread)
{
    struct pair pair;
    pair_open(&pair, false);
    pair_modify_state(&pair, NORNIC_QPS_SQD);
    cr_assert_eq(pair_post_write(&pair, 3, 64), 0);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* the thread finds nothing to do, and sleeps */
    struct nornic_wc wc;
    cr_assert_eq(rdma_cq_poll(pair.side[0].cq, &wc, 1), 0);
    pair_modify_state(&pair, NORNIC_QPS_RTS);
    cr_assert_eq(pair_wait(&pair, 2 * SECOND).status, NORNIC_WC_SUCCESS);
    pair_close(&pair);
}

/* --- a polling program makes the rounds, and the thread stands aside --- */

#define LONG_ROUND_NS (60 * NS_PER_US) /* as one that sends a few trains */

static struct host_drive as_it_was, slow;
static pthread_barrier_t held;

static bool take_in_slowly(struct host_dev *dev, uint64_t now_ns)
{
    as_it_was.take_in(dev, now_ns);
    busy_wait_ns(LONG_ROUND_NS);
    return true;
}

/* The thread, woken by a post, leaves the rounds to this one. */
static bool is_aside_soon(struct pair *pair)
{
    struct host_dev *dev = pair->side[0].dev;
    struct nornic_wc wc;
    for (uint64_t end_ns = host_now_ns() + 10 * SECOND; host_now_ns() < end_ns;) {
        cr_assert_eq(pair_post_write(pair, 1, 8), 0);
        while (rdma_cq_poll(pair->side[0].cq, &wc, 1) == 0 && host_now_ns() < end_ns)
            host_round(dev, &polled);
        if (atomic_load(&dev->poller.is_aside))
            return true;
    }
    return false;
}

static bool is_polled_soon(struct host_dev *dev)
{
    for (uint64_t end_ns = host_now_ns() + 10 * SECOND; host_now_ns() < end_ns;) {
        host_round(dev, &polled);
        if (atomic_load(&dev->poller.is_polled))
            return true;
    }
    return false;
}

/* Two rounds in a row that this thread makes, none of them after a pause. */
static bool makes_rounds(struct host_dev *dev)
{
    unsigned in_a_row = 0;
    for (uint64_t end_ns = host_now_ns() + 30 * SECOND; in_a_row < 2 && host_now_ns() < end_ns;)
        if (host_round(dev, &polled))
            in_a_row = atomic_load(&dev->poller.is_polled) ? in_a_row + 1 : 0;
    return in_a_row == 2;
}

/* A round takes longer than the pause that says that nobody polls any more. */
Test(progress, rounds_that_take_long_are_no_pause_of_who_polls, .timeout = 60)
{
    struct pair pair;
    pair_open(&pair, true);
    struct host_dev *dev = pair.side[0].dev;
    as_it_was = slow = *dev->drive;
    slow.take_in = take_in_slowly;
    dev->drive = &slow; /* before there is a thread, which reads it without the lock */
    cr_assert_eq(host_dev_thread_start(dev), 0);
    cr_expect(makes_rounds(dev));
    pair_close(&pair);
}

static void *hold_the_lock(void *arg)
{
    struct pair *pair = arg;
    host_dev_lock(pair->side[0].dev);
    pthread_barrier_wait(&held);
    pthread_barrier_wait(&held);
    host_dev_unlock(pair->side[0].dev);
    return NULL;
}

/* A thread that makes round after round gives the lock back for moments only. */
Test(progress, who_polls_in_vain_polls, .timeout = 60)
{
    struct pair pair;
    pthread_t holder;
    pair_open(&pair, false);
    pthread_barrier_init(&held, NULL, 2);
    cr_assert_eq(pthread_create(&holder, NULL, hold_the_lock, &pair), 0);
    pthread_barrier_wait(&held);
    cr_expect(is_polled_soon(pair.side[0].dev));
    pthread_barrier_wait(&held);
    pthread_join(holder, NULL);
    pthread_barrier_destroy(&held);
    pair_close(&pair);
}

/* Another thread of the program has read the clock later, and has counted first. */
Test(progress, two_that_poll_at_once_both_poll)
{
    struct pair pair;
    pair_open(&pair, false);
    struct host_dev *dev = pair.side[0].dev;
    atomic_store(&dev->poller.polls, 10);
    atomic_store(&dev->poller.polled_ns, host_now_ns() + 60 * SECOND);
    host_round(dev, &polled);
    cr_expect_eq(atomic_load(&dev->poller.polls), 11);
    pair_close(&pair);
}

/* A program that sleeps until something comes may end after it, and nobody acknowledges it then
 * (host/dev/later.h). */
Test(progress, who_sleeps_has_to_poll_as_often_again, .timeout = 60)
{
    struct pair pair;
    pair_open(&pair, false);
    struct host_dev *dev = pair.side[0].dev;
    cr_assert(is_polled_soon(dev));
    host_dev_take_back(dev);
    atomic_store(&dev->poller.polled_ns, host_now_ns() + 60 * SECOND); /* without a pause */
    host_round(dev, &polled);
    cr_expect_not(atomic_load(&dev->poller.is_polled));
    cr_expect_eq(atomic_load(&dev->poller.polls), 1);
    pair_close(&pair);
}

/* A peer writes into the program's memory: the program polls for its own completion and then looks at the
 * memory, while only the thread can make the rounds. */
Test(progress, who_pauses_soon_after_polling_has_to_poll_more_often, .timeout = 60)
{
    struct pair pair;
    pair_open(&pair, false);
    struct host_dev *dev = pair.side[0].dev;
    unsigned wanted = atomic_load(&dev->poller.polls_wanted);
    for (uint64_t end_ns = host_now_ns() + 30 * SECOND;
         atomic_load(&dev->poller.polls_wanted) <= 2 * wanted;) {
        cr_assert_lt(host_now_ns(), end_ns, "the thread came back, and asks for no more polls");
        cr_assert(is_aside_soon(&pair));
        while (atomic_load(&dev->poller.is_aside))
            cr_assert_lt(host_now_ns(), end_ns, "the thread does not come back");
    }
    pair_close(&pair);
}

/* The ringer is preempted by the thread that it wakes, before it has said that it rang. */
Test(progress, a_bell_of_somebody_who_has_not_said_so_yet_ends_one_sleep)
{
    struct pair pair;
    uint64_t one = 1;
    pair_open(&pair, true);
    struct host_dev *dev = pair.side[0].dev;
    while (host_round(dev, NULL) || host_round(pair.side[1].dev, NULL))
        ;
    cr_assert_eq(write(dev->doorbell_fd, &one, sizeof one), (ssize_t)sizeof one);
    host_dev_wait(dev, 30 * SECOND);
    host_round(dev, NULL);
    uint64_t start_ns = host_now_ns();
    host_dev_wait(dev, 5 * NS_PER_MS);
    cr_assert_geq(host_now_ns() - start_ns, 5 * NS_PER_MS, "it is taken up by the round after the sleep");
    pair_close(&pair);
}

/* The thread is asleep over a request that nobody answers; its ack timer has to end the sleep. */
Test(progress, a_timer_ends_the_sleep)
{
    struct pair pair;
    pair_open(&pair, false);
    struct nornic_qp_attr attr = {.timeout = 10, .retry_cnt = 1}; /* 4.2 ms, twice */
    host_dev_lock(pair.side[1].dev);                              /* so that the peer does not answer */
    host_dev_lock(pair.side[0].dev);
    attr.state = NORNIC_QPS_SQD;
    cr_assert_eq(roce_qp_modify(pair.side[0].qp, &attr, NORNIC_QP_STATE, host_now_ns()), 0);
    cr_assert_eq(roce_qp_modify(pair.side[0].qp, &attr,
                                NORNIC_QP_STATE | NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT, host_now_ns()),
                 0);
    attr.state = NORNIC_QPS_RTS;
    cr_assert_eq(roce_qp_modify(pair.side[0].qp, &attr, NORNIC_QP_STATE, host_now_ns()), 0);
    host_dev_unlock(pair.side[0].dev);
    cr_assert_eq(pair_post_write(&pair, 1, 64), 0);
    cr_assert_eq(pair_wait(&pair, 2 * SECOND).status, NORNIC_WC_RETRY_EXC_ERR);
    host_dev_unlock(pair.side[1].dev);
    pair_close(&pair);
}

struct traffic {
    struct pair *pair;
    atomic_bool stop;
    atomic_uint done, failed; /* completions */
};

static void *keep_writing(void *arg)
{
    struct traffic *t = arg;
    unsigned under_way = 0;
    while (!atomic_load(&t->stop) || under_way > 0) {
        struct nornic_wc wcs[16];
        while (!atomic_load(&t->stop) && under_way < 32 && pair_post_write(t->pair, 0, 16384) == 0)
            under_way++;
        int n = rdma_cq_poll(t->pair->side[0].cq, wcs, 16);
        under_way -= n > 0 ? (unsigned)n : 0;
        for (int i = 0; i < n; i++, atomic_fetch_add(&t->done, 1))
            atomic_fetch_add(&t->failed, wcs[i].status != NORNIC_WC_SUCCESS);
    }
    return NULL;
}

Test(progress, control_calls_come_between_running_traffic, .timeout = 60)
{
    struct pair pair;
    pair_open(&pair, false);
    fill(pair.side[0].memory, 16384, 3);
    struct traffic traffic = {.pair = &pair};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, keep_writing, &traffic), 0);
    uint64_t end_ns = host_now_ns() + 20 * SECOND;
    for (int i = 0; i < 200 || atomic_load(&traffic.done) < 100; i++) {
        cr_assert_lt(host_now_ns(), end_ns);
        struct rdma_mr *mr;
        struct pair_side *s = &pair.side[i % 2];
        host_dev_lock(s->dev);
        cr_assert_eq(rdma_mr_reg(s->pd, s->memory, 64, NORNIC_ACCESS_LOCAL_WRITE, &mr), 0);
        rdma_mr_dereg(mr);
        host_dev_unlock(s->dev);
    }
    atomic_store(&traffic.stop, true);
    pthread_join(thread, NULL);
    cr_assert_eq(atomic_load(&traffic.failed), 0);
    cr_assert_arr_eq(pair.side[1].memory, pair.side[0].memory, 16384);
    pair_close(&pair);
}

/* An acknowledgement waits for the next call, and so leaves with the work posted in between. */
Test(progress, a_late_round_sends_first_and_leaves_its_answer_to_the_next)
{
    struct pair pair;
    struct nornic_wc wc;
    pair_open(&pair, true);
    while (host_round(pair.side[0].dev, NULL) || host_round(pair.side[1].dev, NULL))
        ;
    fill(pair.side[0].memory, 64, 3);
    cr_assert_eq(pair_post_write(&pair, 1, 64), 0);
    cr_assert(host_round(pair.side[0].dev, &late), "it has left");
    cr_assert(host_round(pair.side[1].dev, &late), "it has come");
    cr_assert_arr_eq(pair.side[1].memory, pair.side[0].memory, 64);
    host_round(pair.side[0].dev, &late);
    cr_assert_eq(rdma_cq_poll(pair.side[0].cq, &wc, 1), 0, "its acknowledgement waits");
    cr_assert(host_round(pair.side[1].dev, &late), "it leaves");
    cr_assert(host_round(pair.side[0].dev, &late));
    cr_assert_eq(rdma_cq_poll(pair.side[0].cq, &wc, 1), 1);
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_assert_not(host_round(pair.side[1].dev, &late), "nothing is left to do");
    pair_close(&pair);
}

/* A control call may destroy the queue pair that owes it. */
Test(progress, what_a_late_round_left_leaves_before_a_control_call)
{
    struct pair pair;
    struct nornic_wc wc;
    pair_open(&pair, true);
    while (host_round(pair.side[0].dev, NULL) || host_round(pair.side[1].dev, NULL))
        ;
    cr_assert_eq(pair_post_write(&pair, 1, 64), 0);
    cr_assert(host_round(pair.side[0].dev, &late), "it has left");
    cr_assert(host_round(pair.side[1].dev, &late), "it has come");
    host_dev_lock(pair.side[1].dev);
    host_dev_unlock(pair.side[1].dev);
    host_round(pair.side[0].dev, &late);
    cr_assert_eq(rdma_cq_poll(pair.side[0].cq, &wc, 1), 1, "its acknowledgement has come");
    pair_close(&pair);
}

Test(progress, waiting_ends_with_its_time_a_post_or_a_frame)
{
    struct pair pair;
    pair_open(&pair, true);
    while (host_round(pair.side[0].dev, NULL) || host_round(pair.side[1].dev, NULL))
        ;
    uint64_t start_ns = host_now_ns();
    host_dev_wait(pair.side[0].dev, 5000000);
    cr_assert_geq(host_now_ns() - start_ns, 5000000);

    cr_assert_eq(pair_post_write(&pair, 1, 64), 0);
    start_ns = host_now_ns();
    host_dev_wait(pair.side[0].dev, 30 * SECOND);
    cr_assert_lt(host_now_ns() - start_ns, 10 * SECOND, "posted work does not wait");

    cr_assert(host_round(pair.side[0].dev, NULL));
    host_dev_wait(pair.side[1].dev, 30 * SECOND);
    cr_assert_lt(host_now_ns() - start_ns, 10 * SECOND, "a frame does not wait");
    cr_assert(host_round(pair.side[1].dev, NULL));
    pair_close(&pair);
}

/* Runs only while the other thread of this processor does not. */
static void *sleep_late(void *arg)
{
    const struct sched_param param = {.sched_priority = 0};
    cr_assert_eq(sched_setscheduler(0, SCHED_IDLE, &param), 0);
    host_dev_wait(arg, 30 * SECOND);
    return NULL;
}

/* The poster has taken up the doorbell before the sleeper ran, and goes away: the sleeper is to wake for
 * the ack timer all the same. */
Test(progress, a_deadline_is_every_sleepers, .timeout = 60)
{
    struct pair pair;
    pthread_t sleeper;
    struct timespec end;
    cpu_stay_on_first();
    pair_open(&pair, true);
    struct host_dev *dev = pair.side[0].dev;
    while (host_round(dev, NULL) || host_round(pair.side[1].dev, NULL))
        ;
    cr_assert_eq(pthread_create(&sleeper, NULL, sleep_late, dev), 0);
    while (atomic_load(&dev->sleepers) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* counted; and asleep by now */
    cr_assert_eq(pair_post_write(&pair, 1, 64), 0);
    for (int i = 0; i < 3; i++)
        host_round(dev, NULL); /* the request leaves, and nobody answers */
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    cr_assert_eq(pthread_timedjoin_np(sleeper, NULL, &end), 0, "it slept over the ack timer");
    pair_close(&pair);
}

/* A full transmit ring is everybody's too: nobody but time says that there is room again. */
static atomic_bool is_ring_full;
static const struct net_port_ops *full_inner;

static unsigned full_reserve(struct net_port *port, struct net_frame *bufs, unsigned n, uint32_t train_bytes)
{
    return atomic_load(&is_ring_full) ? 0 : full_inner->tx_reserve(port, bufs, n, train_bytes);
}

Test(progress, a_full_ring_is_looked_at_again_by_every_sleeper, .timeout = 60)
{
    struct pair pair;
    pthread_t sleeper;
    struct timespec end;
    cpu_stay_on_first();
    pair_open(&pair, true);
    struct host_dev *dev = pair.side[0].dev;
    struct net_port_ops ops = *(full_inner = dev->port->ops);
    ops.tx_reserve = full_reserve;
    dev->port->ops = &ops;
    while (host_round(dev, NULL) || host_round(pair.side[1].dev, NULL))
        ;
    cr_assert_eq(pthread_create(&sleeper, NULL, sleep_late, dev), 0);
    while (atomic_load(&dev->sleepers) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* counted; and asleep by now */
    atomic_store(&is_ring_full, true);
    cr_assert_eq(pair_post_write(&pair, 1, 64), 0);
    host_round(dev, NULL); /* takes up the doorbell, and finds no room */
    cr_assert_eq(roce_dev_counters(host_dev_engine(dev))->qps.tx_pkts, 0);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    cr_assert_eq(pthread_timedjoin_np(sleeper, NULL, &end), 0, "nobody looks whether there is room again");
    atomic_store(&is_ring_full, false);
    pair_close(&pair);
}

/* --- the cost of a round for the port --- */

/* A port that notes its loans, in the place of the operations of one that is there. */
static struct {
    struct net_port_ops ops;
    const struct net_port_ops *inner;
    unsigned bursts, lent, lent_most;
} seen;

static unsigned seen_reserve(struct net_port *port, struct net_frame *bufs, unsigned n, uint32_t train_bytes)
{
    seen.lent = seen.inner->tx_reserve(port, bufs, n, train_bytes);
    seen.lent_most = max_u32(seen.lent_most, seen.lent);
    return seen.lent;
}

static void seen_flush(struct net_port *port, const struct net_frame *bufs, unsigned used, uint64_t now_ns)
{
    seen.bursts += used > 0;
    seen.inner->tx_flush(port, bufs, used, now_ns);
}

static void look_at(struct net_port *port)
{
    seen.inner = port->ops;
    seen.ops = *port->ops;
    seen.ops.tx_reserve = seen_reserve;
    seen.ops.tx_flush = seen_flush;
    port->ops = &seen.ops;
}

static void post_recv(struct pair_side *side)
{
    struct nornic_sge sge = {
        .addr = (uintptr_t)side->memory, .len_bytes = PAIR_REGION_BYTES, .lkey = side->mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(roce_post_recv(side->qp, &wr, NULL), 0);
}

static void post_send(struct pair_side *side)
{
    struct nornic_sge sge = {.addr = (uintptr_t)side->memory, .len_bytes = 64, .lkey = side->mr->lkey};
    struct nornic_send_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_SEND};
    cr_assert_eq(roce_post_send(side->qp, &wr, NULL), 0);
}

/* A waiter for completions sends once for each message: its acknowledgement leaves with the answer to it. */
Test(progress, an_acknowledgement_waits_for_the_answer)
{
    struct pair pair;
    struct nornic_wc wc;
    pair_open(&pair, true);
    struct pair_side *client = &pair.side[0], *server = &pair.side[1];
    post_recv(client);
    post_recv(server);
    look_at(server->dev->port);
    post_send(client);
    cr_assert(host_round(client->dev, NULL));
    cr_assert(round_for(server->dev, server->cq));
    cr_assert_eq(rdma_cq_poll(server->cq, &wc, 1), 1);
    cr_assert_eq(seen.bursts, 0, "something left before the program could answer");
    cr_assert_eq(host_dev_deadline_ns(server->dev), 0, "the next call is due at once");
    post_send(server);
    cr_assert(round_for(server->dev, server->cq));
    cr_assert_eq(seen.bursts, 1);
    cr_assert(round_for(client->dev, client->cq));
    cr_assert_eq(rdma_cq_poll(client->cq, &wc, 1), 1, "the answer");
    cr_assert_eq(roce_dev_counters(host_dev_engine(client->dev))->qps.acks_received, 1);
    cr_assert(round_for(client->dev, client->cq), "and its acknowledgement, without another answer");
    cr_assert_eq(roce_dev_counters(host_dev_engine(client->dev))->qps.acks_sent, 1);
    pair_close(&pair);
}

/* Frames are taken in, however much there is to be sent: of two calls one receives. */
Test(progress, who_has_much_to_send_receives_besides)
{
    struct pair pair;
    struct nornic_wc wc;
    pair_open(&pair, true);
    struct pair_side *client = &pair.side[0], *server = &pair.side[1];
    post_recv(client);
    post_send(server);
    cr_assert(host_round(server->dev, NULL));
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(pair_post_write(&pair, i, 8), 0);
        cr_assert(round_for(client->dev, client->cq));
    }
    cr_assert_eq(rdma_cq_poll(client->cq, &wc, 1), 1);
    cr_assert_eq(wc.wr_id, 1);
    pair_close(&pair);
}

/* One WRITE, to its end. */
static void write_driven(struct pair *pair, uint32_t len_bytes)
{
    struct nornic_wc wc;
    cr_assert_eq(pair_post_write(pair, 1, len_bytes), 0);
    uint64_t end_ns = host_now_ns() + 30 * SECOND;
    while (rdma_cq_poll(pair->side[0].cq, &wc, 1) == 0) {
        cr_assert_lt(host_now_ns(), end_ns);
        host_round(pair->side[0].dev, NULL);
        host_round(pair->side[1].dev, NULL);
    }
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
}

/* A small message is a burst of its own and borrows few buffers; a long one has the most that there are after
 * a few bursts; and small ones between long ones cost the latter no bursts. */
Test(progress, a_burst_borrows_what_it_is_going_to_use, .timeout = 60)
{
    struct pair pair;
    pair_open(&pair, true);
    look_at(pair.side[0].dev->port);
    for (int i = 0; i < 10; i++)
        write_driven(&pair, 8);
    cr_expect_eq(seen.bursts, 10);
    cr_expect_leq(seen.lent_most, 8, "one packet borrowed %u buffers", seen.lent_most);

    write_driven(&pair, 200 * 1024);
    cr_expect_eq(seen.lent_most, NET_BURST);
    unsigned lent_before = seen.lent;
    write_driven(&pair, 8);
    cr_expect_geq(seen.lent, lent_before - lent_before / 8, "a small message halves what a long one had");
    for (int i = 0; i < 100; i++)
        write_driven(&pair, 8);
    cr_expect_leq(seen.lent, 8, "a hundred small messages borrow %u buffers each", seen.lent);
    pair_close(&pair);
}
