/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections between two instances: whole streams, windows, corking, ends and failovers, over simulated
 * wires. Single steps of the same rules are in test/smcr_data. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#include "base/base.h"
#include "smcr/conn/data.h"
#include "test/smcr_pair/pair.h"
#include "test/smcr/steps.h"

TestSuite(data_pair, .timeout = 120);

static struct pair *pair;

static struct pair_conn *connect_pair(const struct pair_config *config)
{
    pair = pair_new(config);
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "%s", pair->failure);
    return c;
}

static void end_pair(void)
{
    const char *failure = pair_free(pair);
    cr_assert_null(failure, "%s", failure);
}

static void close_both(struct pair_conn *c)
{
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    cr_assert(pair_settle(pair, 30 * PAIR_S), "%s", pair->failure);
    cr_assert(pair_is_over(c));
}

static const struct smcr_counters *counters(unsigned node)
{
    return smcr_counters(pair->node[node].smcr);
}

/* covers: SMCR-DAT-01, SMCR-DAT-02, SMCR-DAT-11, SMCR-RMB-04 */
Test(data_pair, SMCR_DAT_11_streams_both_ways_over_elements_of_different_sizes)
{
    struct pair_conn *c = connect_pair(
        &(struct pair_config){.seed = 1, .rcvbuf_bytes = {10000, 200000}, .sndbuf_bytes = {300000, 5000}});
    cr_assert_neq(c->end[0].conn->peer_elem_bytes, c->end[1].conn->peer_elem_bytes);
    for (int i = 0; i < 5; i++) {
        cr_assert(pair_transfer(pair, &c->end[0], 777777, 10 * PAIR_S), "%s", pair->failure);
        cr_assert(pair_transfer(pair, &c->end[1], 333333, 10 * PAIR_S), "%s", pair->failure);
    }
    cr_assert_eq(counters(0)->tx_bytes, 5 * 777777);
    cr_assert_eq(counters(0)->rx_bytes, 5 * 333333);
    close_both(c);
    end_pair();
}

/* covers: SMCR-ENG-09, SMCR-DAT-05 */
Test(data_pair, SMCR_DAT_05_a_wire_that_loses_and_reorders)
{
    struct pair_conn *c = connect_pair(&(struct pair_config){
        .seed = 3, .wire = {.delay_ns = 5000, .loss_ppm = 5000, .reorder_ppm = 5000, .hold_ns = 20000}});
    cr_assert(pair_transfer(pair, &c->end[0], 4 << 20, 60 * PAIR_S), "%s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[1], 4 << 20, 60 * PAIR_S), "%s", pair->failure);
    close_both(c);
    end_pair();
}

static void set_mtu(enum nornic_mtu mtu)
{
    for (unsigned node = 0; node < 2; node++)
        smcr_port_set_mtu(pair->node[node].port[0].port, mtu, pair->now_ns);
}

/* The only link stays when the MTU shrinks under it, with a packet a write, and is as before when that is
 * over. covers: SMCR-QP-02 */
Test(data_pair, SMCR_QP_02_the_only_link_outlives_a_smaller_MTU)
{
    struct pair_conn *c = connect_pair(
        &(struct pair_config){.seed = 7, .path_mtu = {NORNIC_MTU_4096, NORNIC_MTU_4096}, .ports = {1, 1}});
    cr_assert(pair_transfer(pair, &c->end[0], 300000, 10 * PAIR_S), "%s", pair->failure);
    uint64_t writes = counters(0)->tx_writes;
    cr_assert_lt(writes, 300000 / 512 / 2);
    set_mtu(NORNIC_MTU_512);
    for (unsigned side = 0; side < 2; side++)
        cr_assert(pair_transfer(pair, &c->end[side], 300000, 10 * PAIR_S), "%s", pair->failure);
    cr_assert_geq(counters(0)->tx_writes - writes, 300000 / 512, "some were longer than a packet may be");
    writes = counters(0)->tx_writes;
    set_mtu(NORNIC_MTU_4096);
    cr_assert(pair_transfer(pair, &c->end[0], 300000, 10 * PAIR_S), "%s", pair->failure);
    cr_assert_lt(counters(0)->tx_writes - writes, 300000 / 512 / 2);
    cr_assert_eq(counters(0)->links_failed + counters(1)->links_failed, 0);
    close_both(c);
    end_pair();
}

/* --- a writer and a reader that take time, like programs --- */

struct pace {
    struct pair_conn *c;
    uint32_t write_bytes, read_bytes;
    uint64_t read;
    uint64_t writer_at, reader_at; /* when each has done its last copy */
};

#define COPY_BITS_PER_S 40000000000ull

static uint64_t copy_ns(uint64_t bytes)
{
    return 300 + bytes * 8 * PAIR_S / COPY_BITS_PER_S;
}

static void work(struct pace *p)
{
    if (pair->now_ns >= p->writer_at) {
        ssize_t n = pair_pump(&p->c->end[0], p->write_bytes, 0);
        if (n > 0)
            p->writer_at = pair->now_ns + copy_ns((uint64_t)n);
    }
    if (pair->now_ns >= p->reader_at) {
        static uint8_t out[131072];
        ssize_t n = smcr_conn_recv(p->c->end[1].conn, out, p->read_bytes, 0, pair->now_ns);
        p->read += n > 0 ? (uint64_t)n : 0;
        if (n > 0)
            p->reader_at = pair->now_ns + copy_ns((uint64_t)n);
    }
}

/* Gbit/s of a stream of 3 MiB over a wire of 25 Gbit/s. */
static double throughput(uint32_t write_bytes, uint32_t read_bytes)
{
    struct pace p = {.write_bytes = write_bytes, .read_bytes = read_bytes};
    p.c = connect_pair(&(struct pair_config){.seed = 5,
                                             .path_mtu = {NORNIC_MTU_4096, NORNIC_MTU_4096},
                                             .wire = {.delay_ns = 8000, .bits_per_s = 25000000000ull}});
    uint64_t start = pair->now_ns, total = 3 << 20;
    while (p.read < total) {
        work(&p);
        pair_run_for(pair, PAIR_US / 2);
        cr_assert_lt(pair->now_ns - start, PAIR_S, "writes of %u, reads of %u stand still", write_bytes,
                     read_bytes);
        cr_assert_not(pair->failed, "%s", pair->failure);
    }
    double gbit = (double)total * 8 / (double)(pair->now_ns - start);
    end_pair();
    return gbit;
}

/* The wire holds half of the RMBE each way: who is told late has to wait. A reader that takes half of the
 * RMBE or more halves the throughput of stacks that only tell it at the end. */
/* covers: SMCR-WIN-01, SMCR-WIN-04, SMCR-WIN-08 */
Test(data_pair, SMCR_WIN_08_throughput_is_flat_over_the_sizes_of_reads_and_writes)
{
    static const uint32_t sizes[] = {8192, 16384, 24000, 32768, 40000, 49152, 65532, 131072};
    double least = 1e9, most = 0;
    char table[1024] = "";
    size_t used = 0;
    for (size_t w = 0; w < array_len(sizes); w += 2)
        for (size_t r = 0; r < array_len(sizes); r++) {
            double gbit = throughput(sizes[w], sizes[r]);
            used +=
                (size_t)snprintf(table + used, sizeof table - used, " %u/%u:%.1f", sizes[w], sizes[r], gbit);
            least = gbit < least ? gbit : least;
            most = gbit > most ? gbit : most;
        }
    cr_assert_gt(least, most * 0.85, "from %.1f to %.1f Gbit/s:%s", least, most, table);
}

/* covers: SMCR-DAT-07 */
Test(data_pair, SMCR_DAT_07_small_writes_gather_while_one_is_in_flight)
{
    struct pair_conn *c = connect_pair(&(struct pair_config){.seed = 7});
    for (int i = 0; i < 20000; i++) {
        cr_assert_eq(pair_pump(&c->end[0], 1, 0), 1);
        if (i % 10 == 9) {
            pair_run_for(pair, PAIR_US);
            pair_drain(&c->end[1], 65536);
        }
    }
    pair_run_for(pair, 20 * PAIR_MS);
    pair_drain(&c->end[1], 65536);
    cr_assert_eq(c->end[1].rx_pos, 20000);
    cr_assert_lt(counters(0)->tx_cdc, 400, "%llu CDCs", (unsigned long long)counters(0)->tx_cdc);
    close_both(c);
    end_pair();
}

/* Nothing in flight, nothing waits: a request and its answer take two ways each. */
/* covers: SMCR-DAT-07 */
Test(data_pair, SMCR_DAT_07_requests_and_answers_do_not_wait_for_timers)
{
    struct pair_conn *c = connect_pair(&(struct pair_config){.seed = 8});
    uint64_t start = pair->now_ns;
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(pair_pump(&c->end[0], 100, 0), 100);
        for (int k = 0; k < 20 && pair_drain(&c->end[1], 1000) < 0; k++)
            pair_run_for(pair, PAIR_US);
        cr_assert_eq(pair_pump(&c->end[1], 100, 0), 100);
        for (int k = 0; k < 20 && pair_drain(&c->end[0], 1000) < 0; k++)
            pair_run_for(pair, PAIR_US);
    }
    cr_assert_eq(c->end[0].rx_pos, 10000);
    cr_assert_lt(pair->now_ns - start, 100 * 20 * PAIR_US, "10 us of wire each");
    close_both(c);
    end_pair();
}

/* --- ends --- */

/* covers: SMCR-CLS-01, SMCR-CLS-03, SMCR-CLS-09 */
Test(data_pair, SMCR_CLS_03_what_was_given_before_the_close_arrives)
{
    struct pair_conn *c = connect_pair(&(struct pair_config){.seed = 11});
    ssize_t sent = pair_pump(&c->end[0], 60000, 0);
    cr_assert_gt(sent, 0);
    pair_close(&c->end[0]);
    pair_run_for(pair, 10 * PAIR_MS);
    cr_assert_eq(pair_drain(&c->end[1], 100000), sent);
    cr_assert_eq(pair_drain(&c->end[1], 100000), 0);
    cr_assert(c->end[1].eof);
    cr_assert_not(c->end[1].fin_seen, "SMC-R ends first, TCP then");
    pair_close(&c->end[1]);
    cr_assert(pair_settle(pair, 10 * PAIR_S));
    cr_assert(pair_is_over(c));
    cr_assert(c->end[1].fin_seen || c->end[0].fin_seen);
    cr_assert_not(c->end[0].rst_seen || c->end[1].rst_seen);
    end_pair();
}

/* covers: SMCR-CLS-04 */
Test(data_pair, SMCR_CLS_04_half_closed_both_orders)
{
    for (unsigned first = 0; first < 2; first++) {
        struct pair_conn *c = connect_pair(&(struct pair_config){.seed = 12});
        smcr_conn_shutdown_write(c->end[first].conn, pair->now_ns);
        pair_run_for(pair, PAIR_MS);
        cr_assert_eq(pair_drain(&c->end[!first], 10), 0);
        cr_assert(pair_transfer(pair, &c->end[!first], 500000, PAIR_S), "%s", pair->failure);
        smcr_conn_shutdown_write(c->end[!first].conn, pair->now_ns);
        pair_run_for(pair, PAIR_MS);
        cr_assert_eq(pair_drain(&c->end[first], 10), 0);
        close_both(c);
        end_pair();
    }
}

/* covers: SMCR-CLS-02, SMCR-ABT-01, SMCR-ABT-04 */
Test(data_pair, SMCR_ABT_04_closed_with_unread_data)
{
    struct pair_conn *c = connect_pair(&(struct pair_config){.seed = 13});
    pair_pump(&c->end[0], 1000, 0);
    pair_run_for(pair, PAIR_MS);
    pair_close(&c->end[1]);
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(pair_pump(&c->end[0], 1, 0), -ECONNRESET);
    pair_close(&c->end[0]);
    cr_assert(pair_settle(pair, 30 * PAIR_S));
    cr_assert(pair_is_over(c));
    end_pair();
}

/* covers: SMCR-ABT-06 */
Test(data_pair, SMCR_ABT_06_both_abort_at_once)
{
    struct pair_conn *c = connect_pair(&(struct pair_config){.seed = 14});
    smcr_conn_abort(c->end[0].conn, pair->now_ns);
    smcr_conn_abort(c->end[1].conn, pair->now_ns);
    uint64_t start = pair->now_ns;
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(c->end[0].conn->state, SMCR_CONN_CLOSED, "in %llu ns",
                 (unsigned long long)(pair->now_ns - start));
    cr_assert_eq(c->end[1].conn->state, SMCR_CONN_CLOSED);
    close_both(c);
    end_pair();
}

/* covers: SMCR-ABT-05, SMCR-KAL-05 */
Test(data_pair, SMCR_ABT_05_rst_and_data_on_tcp)
{
    struct pair_conn *c = connect_pair(&(struct pair_config){.seed = 15});
    pair_tcp_rst(&c->end[0]);
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(pair_pump(&c->end[0], 1, 0), -ECONNRESET);
    cr_assert_eq(pair_pump(&c->end[1], 1, 0), -ECONNRESET);
    close_both(c);
    struct pair_conn *d = pair_connect(pair, 0);
    cr_assert_not_null(d);
    pair_tcp_send(&d->end[0], (const uint8_t *)"GET /", 5);
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(pair_pump(&d->end[0], 1, 0), -ECONNRESET);
    close_both(d);
    end_pair();
}

/* RMBEs in use at a node, of all groups. */
static unsigned elems_used(unsigned node)
{
    unsigned n = 0;
    for (const struct smcr_group *g = pair->node[node].smcr->groups; g; g = g->next)
        for (const struct smcr_rmb *rmb = g->rmbs; rmb; rmb = rmb->next)
            n += rmb->used;
    return n;
}

/* The peer's program never closes: TCP is reset, TEST LINK pushes out what the peer may have posted, and only
 * then has the RMBE another user. */
/* covers: SMCR-CLS-20, SMCR-RMB-12, SMCR-ABT-03 */
Test(data_pair, SMCR_RMB_12_an_element_rests_until_the_links_are_flushed)
{
    struct pair_config config = {.seed = 16};
    config.smcr[0].times =
        (struct smcr_times){.close_guard_ns = 100 * PAIR_MS, .test_answer_ns = 20 * PAIR_MS};
    struct pair_conn *c = connect_pair(&config);
    cr_assert(pair_transfer(pair, &c->end[0], 1000, PAIR_S));
    pair_run_for(pair, PAIR_MS);
    uint64_t tests = pair->node[0].sent[SMCR_LLC_TEST_LINK];
    pair_close(&c->end[0]);
    pair_run_for(pair, 105 * PAIR_MS);
    cr_assert_eq(pair_pump(&c->end[1], 1, 0), -ECONNRESET);
    cr_assert_eq(pair->node[0].sent[SMCR_LLC_TEST_LINK], tests + 1);
    cr_assert_eq(elems_used(0), 1);
    pair_run_for(pair, 20 * PAIR_MS);
    cr_assert_eq(elems_used(0), 0);
    struct pair_conn *d = pair_connect(pair, 0);
    cr_assert_not_null(d);
    cr_assert(pair_transfer(pair, &d->end[0], 100000, PAIR_S), "%s", pair->failure);
    close_both(d);
    pair_close(&c->end[1]);
    cr_assert(pair_settle(pair, 30 * PAIR_S));
    cr_assert(pair_is_over(c));
    end_pair();
}

/* --- urgent data --- */

/* covers: SMCR-URG-02, SMCR-URG-03, SMCR-URG-05, SMCR-SOC-04 */
Test(data_pair, SMCR_URG_02_urgent_data_is_told_of_while_the_window_is_closed)
{
    struct pair_conn *c = connect_pair(&(struct pair_config){.seed = 17, .sndbuf_bytes = {262144, 0}});
    struct smcr_conn *writer = c->end[0].conn, *reader = c->end[1].conn;
    static uint8_t bytes[262144];
    cr_assert_gt(smcr_conn_send(writer, bytes, 200000, 0, pair->now_ns), 100000);
    pair_run_for(pair, 10 * PAIR_MS);
    cr_assert_eq(smcr_conn_send(writer, "!", 1, SMCR_SEND_URGENT, pair->now_ns), 1);
    pair_run_for(pair, PAIR_MS);
    struct smcr_conn_status status;
    smcr_conn_status(reader, &status);
    cr_assert(status.urgent);
    cr_assert_eq(smcr_conn_recv(reader, bytes, 1, SMCR_RECV_URGENT, pair->now_ns), -EAGAIN);
    cr_assert_eq(smcr_conn_send(writer, "after", 5, 0, pair->now_ns), 5);
    size_t read = 0;
    while (read < 200000) {
        ssize_t n = smcr_conn_recv(reader, bytes, sizeof bytes, 0, pair->now_ns);
        cr_assert(n > 0 || n == -EAGAIN);
        read += n > 0 ? (size_t)n : 0;
        pair_run_for(pair, 10 * PAIR_US);
    }
    cr_assert_eq(read, 200000, "the read stops before the urgent byte");
    cr_assert(smcr_conn_at_mark(reader));
    cr_assert_eq(smcr_conn_recv(reader, bytes, 1, SMCR_RECV_URGENT, pair->now_ns), 1);
    cr_assert_eq(bytes[0], '!');
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(smcr_conn_recv(reader, bytes, 10, 0, pair->now_ns), 5);
    cr_assert_arr_eq(bytes, "after", 5);
    close_both(c);
    end_pair();
}

/* --- failover --- */

static const struct pair_config two_links = {.seed = 21, .ports = {2, 2}};

static unsigned active_links(unsigned node)
{
    unsigned n = 0;
    const struct smcr_group *group = pair->node[node].smcr->groups;
    for (unsigned i = 0; group && i < SMCR_LINK_SLOTS; i++)
        n += group->links[i].state == SMCR_LINK_ACTIVE;
    return n;
}

static unsigned port_of(const struct pair_end *end)
{
    const struct pair_node *node = &pair->node[end->node];
    for (unsigned i = 0; i < node->num_ports; i++)
        if (node->port[i].port == end->conn->link->port)
            return i;
    return 0;
}

/* covers: SMCR-FOV-07, SMCR-FOV-09, SMCR-FOV-13, SMCR-FOV-14 */
Test(data_pair, SMCR_FOV_14_a_stream_goes_on_when_its_link_dies)
{
    for (int noticed = 0; noticed < 2; noticed++) {
        struct pair_conn *c = connect_pair(&two_links);
        cr_assert_eq(active_links(0), 2);
        for (unsigned cut_after = 0; cut_after < 300000; cut_after += 99999)
            cr_assert(pair_transfer(pair, &c->end[0], 99999, PAIR_S), "%s", pair->failure);
        pair_pump(&c->end[0], 60000, 0);
        pair_pump(&c->end[1], 60000, 0);
        pair_run_for(pair, 7 * PAIR_US);
        unsigned port = port_of(&c->end[0]);
        pair_cut(pair, 0, port, noticed);
        cr_assert(pair_transfer(pair, &c->end[0], 1 << 20, 30 * PAIR_S), "%s", pair->failure);
        cr_assert(pair_transfer(pair, &c->end[1], 1 << 20, 30 * PAIR_S), "%s", pair->failure);
        pair_run_for(pair, 5 * PAIR_S);
        cr_assert_geq(counters(0)->failovers, 1);
        cr_assert_eq(counters(0)->conns_reset + counters(1)->conns_reset, 0);
        close_both(c);
        end_pair();
    }
}

/* One after the other dies and comes back, while both ends send. */
/* covers: SMCR-FOV-09, SMCR-FOV-12, SMCR-FOV-18 */
Test(data_pair, SMCR_FOV_18_links_fail_one_after_another_under_load)
{
    struct pair_config config = two_links;
    config.smcr[0].times = config.smcr[1].times = (struct smcr_times){.redundancy_ns = 50 * PAIR_MS};
    struct pair_conn *c = connect_pair(&config);
    for (unsigned round = 0; round < 6; round++) {
        unsigned port = port_of(&c->end[round % 2]);
        for (unsigned i = 0; i < 20; i++) {
            pair_pump(&c->end[0], 20000, 0);
            pair_pump(&c->end[1], 20000, 0);
            pair_run_for(pair, 2 * PAIR_US);
            if (i == 10)
                pair_cut(pair, round % 2, port, round % 3 != 0);
            pair_drain(&c->end[0], 15000);
            pair_drain(&c->end[1], 15000);
            cr_assert_not(pair->failed, "%s", pair->failure);
        }
        cr_assert(pair_transfer(pair, &c->end[0], 100000, 30 * PAIR_S), "round %u: %s", round, pair->failure);
        cr_assert(pair_transfer(pair, &c->end[1], 100000, 30 * PAIR_S), "round %u: %s", round, pair->failure);
        pair_restore(pair, round % 2, port);
        for (int i = 0; i < 100 && active_links(0) + active_links(1) < 4; i++)
            pair_run_for(pair, 200 * PAIR_MS);
        cr_assert_eq(active_links(0), 2, "round %u", round);
        cr_assert_eq(active_links(1), 2, "round %u", round);
    }
    cr_assert_geq(counters(0)->failovers + counters(1)->failovers, 6);
    cr_assert_eq(counters(0)->failover_lost + counters(1)->failover_lost, 0);
    close_both(c);
    end_pair();
}

/* What is true of every move: the queue pair that it leaves is in error, and nothing is posted there. */
static unsigned moves, tests_elsewhere;

static void watch(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    (void)ctx;
    if (trace->type == SMCR_TRACE_LLC_TX && trace->message[0] == SMCR_LLC_TEST_LINK && node->index == 0 &&
        moves > 0)
        tests_elsewhere++;
    if (trace->type != SMCR_TRACE_MOVED)
        return;
    moves++;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        const struct smcr_link *link = &trace->group->links[i];
        if (link->state != SMCR_LINK_DOWN)
            continue;
        if (link->num_posts > 0 || roce_qp_state(link->qp) != NORNIC_QPS_ERR)
            pair_fail(pair, "moved off link %u, which still sends", link->number);
    }
}

/* covers: SMCR-FOV-04, SMCR-FOV-11 */
Test(data_pair, SMCR_FOV_04_the_old_queue_pair_is_dead_before_anything_is_repeated)
{
    struct pair_config config = two_links;
    config.smcr[0].times = config.smcr[1].times = (struct smcr_times){.test_link_ns = 3600 * PAIR_S};
    struct pair_conn *c = connect_pair(&config);
    pair->on_trace = watch;
    pair_pump(&c->end[0], 60000, 0);
    pair_run_for(pair, 7 * PAIR_US);
    struct smcr_link *link = c->end[0].conn->link;
    pair_cut(pair, 0, port_of(&c->end[0]), false);
    step_test_link(link, pair->now_ns); /* lost with its link: SMCR-FOV-11 */
    cr_assert(pair_transfer(pair, &c->end[0], 1 << 20, 30 * PAIR_S), "%s", pair->failure);
    pair_run_for(pair, 10 * PAIR_S);
    cr_assert_not(pair->failed, "%s", pair->failure);
    cr_assert_geq(moves, 1);
    cr_assert_eq(tests_elsewhere, 0);
    close_both(c);
    end_pair();
}

/* covers: SMCR-FOV-10, SMCR-CLS-09 */
Test(data_pair, SMCR_FOV_10_a_close_survives_the_link_that_carried_it)
{
    struct pair_conn *c = connect_pair(&two_links);
    cr_assert(pair_transfer(pair, &c->end[0], 1000, PAIR_S));
    unsigned port = port_of(&c->end[0]);
    pair_cut(pair, 0, port, false); /* the C goes nowhere */
    pair_close(&c->end[0]);
    pair_run_for(pair, 10 * PAIR_S);
    cr_assert_eq(pair_drain(&c->end[1], 10), 0);
    pair_close(&c->end[1]);
    cr_assert(pair_settle(pair, 30 * PAIR_S));
    cr_assert(pair_is_over(c));
    cr_assert_eq(counters(0)->conns_reset + counters(1)->conns_reset, 0);
    end_pair();
}

/* covers: SMCR-FOV-16, SMCR-ARC-04 */
Test(data_pair, SMCR_FOV_16_without_a_link_tcp_is_reset)
{
    struct pair_conn *c = connect_pair(&(struct pair_config){.seed = 22});
    pair_cut(pair, 0, 0, true);
    pair_run_for(pair, PAIR_S);
    cr_assert_eq(pair_pump(&c->end[0], 1, 0), -ECONNRESET);
    cr_assert(c->end[0].reset_sent);
    cr_assert(c->end[1].rst_seen);
    cr_assert_eq(pair_pump(&c->end[1], 1, 0), -ECONNRESET);
    close_both(c);
    end_pair();
}

/* covers: SMCR-KAL-01, SMCR-KAL-03 */
Test(data_pair, SMCR_KAL_01_keepalive_finds_a_dead_peer)
{
    struct pair_config config = {.seed = 23};
    config.smcr[0].times = config.smcr[1].times = (struct smcr_times){.test_link_ns = 3600 * PAIR_S};
    struct pair_conn *c = connect_pair(&config);
    pair_run_for(pair, 10 * PAIR_S);
    smcr_conn_set_keepalive(c->end[0].conn, 5 * PAIR_S, pair->now_ns);
    pair_run_for(pair, 60 * PAIR_S);
    cr_assert_eq(c->end[0].conn->state, SMCR_CONN_ACTIVE);
    pair_cut(pair, 0, 0, false);
    pair_run_for(pair, 15 * PAIR_S); /* idle 5 s, the answer 2 s, or RC's retries */
    struct smcr_conn_status status;
    smcr_conn_status(c->end[0].conn, &status);
    cr_assert_eq(status.error, -ECONNRESET);
    close_both(c);
    end_pair();
}

/* Every connection of a group has its turn when the link is full. */
/* covers: SMCR-DAT-11 */
Test(data_pair, SMCR_DAT_11_many_connections_share_a_link)
{
    struct pair_conn *conns[100];
    struct pair_config config = {.seed = 31, .rcvbuf_bytes = {16380, 16380}, .sndbuf_bytes = {16384, 16384}};
    conns[0] = connect_pair(&config);
    for (size_t i = 1; i < 100; i++) {
        conns[i] = pair_connect(pair, 0);
        cr_assert_not_null(conns[i], "%zu: %s", i, pair->failure);
    }
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 100; i++) {
            pair_pump(&conns[i]->end[0], 16384, 0);
            pair_drain(&conns[i]->end[1], 16384);
        }
        pair_run_for(pair, 100 * PAIR_US);
    }
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < 100; i++) {
        uint64_t n = conns[i]->end[1].rx_pos;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    cr_assert_not(pair->failed, "%s", pair->failure);
    cr_assert_gt(least, most / 2, "%llu and %llu", (unsigned long long)least, (unsigned long long)most);
    for (size_t i = 0; i < 100; i++) {
        cr_assert(pair_transfer(pair, &conns[i]->end[0], 1, PAIR_S), "%zu: %s", i, pair->failure);
        close_both(conns[i]);
    }
    end_pair();
}
