/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures of hosts that send from an ordinary socket: all their queue pairs have one UDP source port, so
 * that only answers tell which requests of the one host and which of the other are of one queue pair. */
#include <criterion/criterion.h>

#include "explain/flow/pair/exchange.h"
#include "explain/flow/pair/find.h"
#include "explain/flow/pair/table.h"
#include "explain/story/numbers.h"
#include "roce/wire.h"
#include "test/explain/story.h"

static struct story s;
static struct explain_numbers *numbers;

#define ACK       0x1f
#define OWN_PORT  0xc123
#define A_PSN     100
#define B_PSN     90000
#define OTHER_QPN 7 /* the numbers of a second pair are so much greater */

static void begin(void)
{
    story_begin_strict(&s);
    s.src_port = ROCE_UDP_PORT;
    numbers = explain_numbers_create();
    cr_assert_not_null(numbers);
}

static void end(void)
{
    explain_numbers_destroy(numbers);
    story_end(&s);
}

static void count(void)
{
    struct explain_operation done[4];
    explain_numbers_take(numbers, &s.p, &s.m, done, 4);
    cr_expect_eq(s.m.remark_count, 0, "%s", s.m.remark_count ? s.m.remarks[0].words : "");
}

/* A request of A, or of B, of the first pair or the second. */
static void request(bool is_b, bool is_other, uint32_t psn, uint32_t bytes)
{
    s.is_b_asking = is_b;
    s.more_qpn = is_other ? OTHER_QPN : 0;
    story_request(&s, ROCE_OP_SEND_ONLY, psn, bytes, 0);
    count();
}

static void answer(bool to_b, bool is_other, uint32_t psn, uint32_t msn)
{
    s.is_b_asking = to_b;
    s.more_qpn = is_other ? OTHER_QPN : 0;
    story_answer(&s, ROCE_OP_ACK, psn, ACK, msn, 0);
    count();
}

/* A asks in the first pair, B in the second, before anything is answered: that is not one connection. */
Test(socket, a_port_that_all_have_pairs_no_requests)
{
    begin();
    request(false, false, A_PSN, 8);
    cr_expect_eq(s.m.flow, 1);
    request(true, true, B_PSN, 8);
    cr_expect_eq(s.m.flow, 2);
    answer(false, false, A_PSN, 1);
    cr_expect_eq(s.m.flow, 1);
    answer(true, true, B_PSN, 1);
    cr_expect_eq(s.m.flow, 2);
    cr_expect_eq(explain_analysis_flow_total(s.analysis), 2);
    cr_expect_eq(explain_analysis_flow(s.analysis, 1)->qpn[0], STORY_A_QPN);
    end();
}

/* Both ends of one pair ask before anything is answered. */
static void play_both(void)
{
    request(false, false, A_PSN, 8);
    request(true, false, B_PSN, 16);
    cr_expect_eq(s.m.flow, 2);
    request(true, false, B_PSN + 1, 16);
    answer(false, false, A_PSN, 1);
    answer(true, false, B_PSN + 1, 2);
    request(false, false, A_PSN + 1, 8);
    answer(false, false, A_PSN + 1, 2);
}

Test(socket, flows_that_show_to_be_one_are_told_as_one)
{
    begin();
    play_both();
    struct explain_same same = explain_analysis_flow_is(s.analysis, 2);
    const struct explain_flow *flow = explain_analysis_flow(s.analysis, same.flow);
    cr_expect_eq(explain_analysis_flow_total(s.analysis), 1);
    cr_expect_eq(explain_analysis_flow_is(s.analysis, 1).flow, same.flow);
    cr_expect_null(explain_analysis_flow(s.analysis, same.flow == 1 ? 2 : 1));
    cr_assert_not_null(flow);
    cr_expect_eq(flow->first_number, 1);
    cr_expect_eq(flow->packets[0] + flow->packets[1], 7);
    cr_expect_eq(explain_analysis_flow_is(s.analysis, 3 - same.flow).is_turned, true);
    unsigned a = flow->addr[0].b[15] == 1 ? 0 : 1;
    cr_expect_eq(flow->qpn[a], STORY_A_QPN);
    cr_expect_eq(flow->qpn[!a], STORY_B_QPN);
    cr_expect_eq(flow->messages[a], 2);
    cr_expect_eq(flow->messages[!a], 2);
    end();
}

Test(socket, numbers_go_with_the_direction_that_they_are_of)
{
    begin();
    play_both();
    uint32_t is = explain_analysis_flow_is(s.analysis, 1).flow;
    const struct explain_flow *flow = explain_analysis_flow(s.analysis, is);
    const struct explain_flow_numbers *n = explain_numbers_of(numbers, is);
    unsigned a = flow->addr[0].b[15] == 1 ? 0 : 1;
    cr_expect_eq(n->way[a].bytes, 16);
    cr_expect_eq(n->way[!a].bytes, 32);
    cr_expect_eq(n->way[!a].latency.all.count, 2);
    cr_expect_eq(n->way[a].first_ns, flow->first_ns);
    cr_expect_float_eq(explain_goodput(n, !a), 32 * 8 * 1e9 / (double)(flow->last_ns - flow->first_ns), 1);
    end();
}

/* Requests of B go along with the wrong ones of A, which lie 10 s apart, until an answer shows it: each flow
 * is as long as what it has in the end. */
Test(socket, each_flow_keeps_its_own_time)
{
    begin();
    s.src_port = OWN_PORT;
    request(false, false, A_PSN, 8);
    s.time_ns += 10 * NS_PER_S;
    request(false, true, A_PSN + 5000, 1024);
    request(true, false, B_PSN, 1024);
    cr_assert_eq(s.m.flow, 2, "the later of the two");
    request(true, true, B_PSN + 5000, 1024);
    cr_assert_eq(s.m.flow, 1);
    answer(false, true, A_PSN + 5000, 1);
    cr_assert_eq(s.m.flow, 2);
    const struct explain_flow *one = explain_analysis_flow(s.analysis, 1),
                              *two = explain_analysis_flow(s.analysis, 2);
    cr_expect_eq(one->first_number, 1);
    cr_expect_eq(one->last_number, 3);
    cr_expect_eq(two->first_number, 2);
    cr_expect_eq(two->last_number, 5);
    cr_expect_eq(two->last_ns - two->first_ns, 30000);
    cr_expect_gt(one->last_ns - one->first_ns, 10 * NS_PER_S);
    const struct explain_flow_numbers *n = explain_numbers_of(numbers, 2);
    cr_expect_float_eq(explain_goodput(n, 0), 1024 * 8 * 1e9 / 30000, 1);
    cr_expect_float_eq(explain_goodput(n, 1), 1024 * 8 * 1e9 / 30000, 1);
    end();
}

/* B asks in the second pair, which is taken for the first one's other direction, until B answers in the
 * first. */
Test(socket, a_flow_that_parts_has_its_own_time)
{
    begin();
    s.src_port = OWN_PORT;
    request(false, false, A_PSN, 8);
    request(true, true, B_PSN, 1024);
    request(true, true, B_PSN + 1, 1024);
    cr_assert_eq(s.m.flow, 1);
    answer(false, false, A_PSN, 1);
    const struct explain_flow *one = explain_analysis_flow(s.analysis, 1),
                              *two = explain_analysis_flow(s.analysis, 2);
    cr_assert_not_null(two);
    cr_expect_eq(one->first_number, 1);
    cr_expect_eq(one->last_number, 4);
    cr_expect_eq(two->first_number, 2);
    cr_expect_eq(two->last_number, 3);
    cr_expect_eq(two->last_ns - two->first_ns, 10000);
    const struct explain_flow_numbers *n = explain_numbers_of(numbers, 2);
    double bps = 2048 * 8 * 1e9 / 10000;
    cr_expect_float_eq(explain_goodput(n, 0) + explain_goodput(n, 1), bps, 1);
    end();
}

Test(socket, numbers_without_a_length_have_no_goodput)
{
    struct explain_flow_numbers n = {.way[0] = {.bytes = 8, .first_ns = 1000}};
    cr_expect_eq(explain_goodput(&n, 0), 0);
    n.way[1] = (struct explain_way_numbers){.first_ns = 500, .last_ns = 1500};
    cr_expect_float_eq(explain_goodput(&n, 0), 8 * 8 * 1e9 / 1000, 1);
}

static struct explain_pair *known(struct explain_flows *flows, uint32_t qpn)
{
    static const struct explain_network network;
    const struct nornic_addr addr[2] = {{.b[15] = 1}, {.b[15] = 2}};
    const uint32_t qpns[2] = {qpn, qpn + 100};
    struct explain_pair *p = explain_pair_know(flows, &network, addr, qpns, ROCE_SERVICE_RC);
    cr_assert_not_null(p);
    return p;
}

/* Whatever was counted of a direction goes with it. */
Test(socket, all_that_was_counted_of_a_direction_goes_with_it)
{
    struct explain_flows flows;
    cr_assert(explain_flows_init(&flows, 0));
    struct explain_pair *a = known(&flows, 1), *b = known(&flows, 2);
    uint64_t *counts[] = {
        a->shown.packets,  a->shown.bytes,     a->shown.messages, a->shown.retransmissions, a->shown.naks,
        a->shown.rnr_naks, a->shown.cnps,      a->shown.marks,    a->shown.selective_acks,  a->shown.probes,
        a->shown.pauses,   a->shown.paused_ns, a->newest_ns};
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        counts[i][0] = 10 + i;
    a->span[0] = (struct explain_span){3, 9, 300, 900};
    b->span[1] = (struct explain_span){4, 8, 400, 800};
    explain_pair_exchange(&flows, a, 1, b, 1);
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t at = (size_t)((char *)counts[i] - (char *)a);
        cr_expect_eq(counts[i][0], 0, "count %u", i);
        cr_expect_eq(((uint64_t *)((char *)b + at))[0], 10 + i, "count %u", i);
    }
    cr_expect_eq(a->shown.first_number, 0);
    cr_expect_eq(a->shown.last_ns, 0);
    cr_expect_eq(b->shown.first_number, 3);
    cr_expect_eq(b->shown.first_ns, 300);
    cr_expect_eq(b->shown.last_number, 9);
    cr_expect_eq(b->shown.last_ns, 900);
    explain_flows_deinit(&flows);
}

/* A pair that was emptied and has something again is itself; what is emptied in its favour is it. */
Test(socket, a_pair_that_has_something_again_is_no_other_one)
{
    struct explain_flows flows;
    cr_assert(explain_flows_init(&flows, 0));
    struct explain_pair *a = known(&flows, 1), *b = known(&flows, 2);
    a->half[0].asks.has_any = true;
    explain_pair_exchange(&flows, a, 1, b, 1);
    cr_expect_eq(a->same.as, b->index);
    cr_expect_eq(b->same.as, 0);
    cr_expect_eq(flows.same_count, 1);
    explain_pair_exchange(&flows, b, 1, a, 1);
    cr_expect_eq(a->same.as, 0);
    cr_expect_eq(b->same.as, a->index);
    cr_expect_eq(flows.same_count, 1);
    b->half[0].asks.has_any = true; /* of its own */
    explain_pair_exchange(&flows, b, 1, a, 1);
    cr_expect_eq(b->same.as, 0);
    cr_expect_eq(flows.same_count, 0);
    explain_flows_deinit(&flows);
}

/* covers: ROCE-RS-50 */
Test(socket, of_two_that_wait_for_a_psn_the_msn_tells)
{
    begin();
    request(false, true, A_PSN, 8); /* the second pair's first message */
    request(false, false, A_PSN - 1, 8);
    request(false, false, A_PSN, 8); /* of the first pair the second, and the newest that waits */
    answer(false, true, A_PSN, 1);
    cr_expect_eq(s.m.flow, 1);
    answer(false, false, A_PSN, 2);
    cr_expect_eq(s.m.flow, 2);
    end();
}

/* covers: ROCE-FRM-44 */
Test(socket, a_host_that_chooses_ports_is_not_the_one_that_does_not)
{
    begin();
    request(true, false, B_PSN, 8);
    answer(true, false, B_PSN, 1);
    request(true, false, B_PSN + 1, 8);
    answer(true, false, B_PSN + 1, 2);
    s.src_port = OWN_PORT;
    request(false, false, A_PSN, 8); /* who only answered so far asks, from another port */
    cr_expect_eq(s.m.flow, 2);
    cr_expect_eq(explain_analysis_flow(s.analysis, 2)->earlier, 1);
    answer(false, false, A_PSN, 1);
    cr_expect_eq(s.m.flow, 2);
    end();
}

/* As in simulated run 120001005: B's requests go along with the connection that A begins behind them, until B
 * begins another one, too: they are the earlier connection's only if it is the same device. */
/* covers: ROCE-FRM-44 */
Test(socket, what_was_taken_over_is_not_given_back_for_another_device)
{
    begin();
    s.src_port = OWN_PORT;
    request(false, false, A_PSN, 8);
    answer(false, false, A_PSN, 1);
    s.time_ns += NS_PER_MS;
    request(true, false, B_PSN, 8);
    answer(true, false, B_PSN, 1);
    request(false, false, A_PSN + 900000, 8);
    cr_assert_eq(s.m.flow, 2);
    answer(false, false, A_PSN + 900000, 1);
    s.src_port = ROCE_UDP_PORT;
    request(true, false, B_PSN + 900000, 8);
    cr_expect_eq(s.m.flow, 3);
    cr_expect_eq(explain_analysis_flow(s.analysis, 3)->earlier, 2);
    end();
}

/* As in simulated run 130000357: two pairs, each with a port of its own at both ends, and about the same
 * PSNs. The capture begins behind what the first answers are to. */
/* covers: ROCE-FRM-45 */
Test(socket, an_answer_from_the_port_of_another_pair_parts_none)
{
    begin();
    s.src_port = OWN_PORT;
    request(true, false, B_PSN, 8);
    request(true, false, B_PSN + 1, 8);
    answer(true, false, B_PSN - 5, 3);
    cr_assert_eq(s.m.flow, 1);
    s.src_port = OWN_PORT + 1;
    answer(true, true, B_PSN + 1, 1);
    cr_expect_eq(s.m.flow, 2);
    request(true, true, B_PSN + 3, 8);
    cr_expect_eq(s.m.flow, 2);
    s.src_port = OWN_PORT;
    answer(true, false, B_PSN, 8);
    cr_expect_eq(s.m.flow, 1);
    end();
}
