/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of packets: a train, cut, is what would have been sent without one, and is taken as it would have
 * been. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/train.h"
#include "roce/wire/arrival.h"
#include "roce/dev/run.h"
#include "test/support/script_suite.h"
#include "test/support/train.h"

TestSuite(run, .init = setup, .fini = teardown);

/* --- the golden rule --- */

/* What a device sent under a workload, as times and bytes. */
struct sent {
    uint8_t *bytes;
    size_t len_bytes;
    unsigned pkts;
};

static struct sent record(uint32_t train_pkts, const struct script_config *base, void (*work)(void))
{
    struct sent sent = {0};
    config = *base;
    config.train_pkts = train_pkts;
    renew();
    work();
    for (unsigned i = 0; i < s->out_count; i++)
        sent.len_bytes += s->out[i].len_bytes;
    sent.pkts = s->out_count;
    cr_assert_gt(sent.pkts, 0);
    sent.len_bytes += s->out_count * sizeof(uint64_t);
    sent.bytes = malloc(sent.len_bytes);
    uint8_t *at = sent.bytes;
    for (unsigned i = 0; i < s->out_count; i++) {
        memcpy(at, &s->out[i].time_ns, sizeof(uint64_t));
        memcpy(at + sizeof(uint64_t), s->out[i].bytes, s->out[i].len_bytes);
        at += sizeof(uint64_t) + s->out[i].len_bytes;
    }
    script_forget(s);
    struct nornic_wc wc;
    while (rdma_cq_poll(s->send_cq, &wc, 1) == 1 || rdma_cq_poll(s->recv_cq, &wc, 1) == 1)
        ;
    s->event_read = s->event_count;
    return sent;
}

/* The same packets in the same order, down to PSN, AckReq, identification and ICRC, whatever the trains. */
static void expect_same(const struct script_config *base, void (*work)(void), unsigned least_pkts)
{
    struct sent alone = record(1, base, work);
    cr_assert_geq(alone.pkts, least_pkts);
    static const uint32_t lengths[] = {2, 3, 7, SCRIPT_TRAIN_PKTS, 0};
    for (size_t i = 0; i < array_len(lengths); i++) {
        struct sent trains = record(lengths[i], base, work);
        cr_assert_eq(trains.pkts, alone.pkts, "trains of %u", lengths[i]);
        cr_assert_eq(trains.len_bytes, alone.len_bytes, "trains of %u", lengths[i]);
        cr_assert_arr_eq(trains.bytes, alone.bytes, alone.len_bytes, "trains of %u", lengths[i]);
        free(trains.bytes);
    }
    free(alone.bytes);
}

static void post(uint64_t wr_id, enum nornic_wr_opcode opcode, uint64_t offset, uint32_t len_bytes)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, wr_id, opcode, &sge, offset, len_bytes);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
}

/* Messages of every shape side by side; an unlimited credit first, so that SENDs are not held back. */
static void requests(void)
{
    static const uint32_t lens[] = {64, 64, 64, 60, 64, 0, 0, 1024, 1024, 5000, 0, 3072, 100, 100, 40000, 1};
    post(1, NORNIC_WR_RDMA_WRITE, 0, 100);
    script_pump(s);
    if (s->config.type != NORNIC_QPT_UC)
        ack(0, 1);
    for (size_t i = 0; i < array_len(lens); i++)
        post(i, i % 3 ? NORNIC_WR_RDMA_WRITE : NORNIC_WR_SEND, 100 * i, lens[i]);
    post(91, NORNIC_WR_SEND_WITH_IMM, 0, 2048);
    if (s->config.type != NORNIC_QPT_UC)
        post(90, NORNIC_WR_RDMA_READ, 0, 9000);
    script_pump(s);
}

/* covers: ROCE-FRM-15, ROCE-RC-12 */
Test(run, requests_cut_are_those_sent_alone)
{
    for (unsigned v = 0; v < 5; v++) {
        struct script_config c = script_defaults();
        c.type = v == 3 ? NORNIC_QPT_UC : NORNIC_QPT_RC;
        c.ipv6 = v == 1;
        c.vlan_id = v == 2 ? 5 : 0;
        c.roce_v1 = v == 4;
        c.caps.max_send_wr = 64;
        expect_same(&c, requests, 60);
    }
}

/* A train ends where the window does; what comes after an ACK is the next. */
static void through_a_window(void)
{
    post(1, NORNIC_WR_RDMA_WRITE, 0, 20 * 1024);
    script_pump(s);
    for (uint32_t i = 2; i < 20; i += 3)
        ack(i, 0);
}

Test(run, window_cuts_trains)
{
    struct script_config c = script_defaults();
    c.window_pkts = 7;
    expect_same(&c, through_a_window, 20);
}

/* Behind a CNP packets leave one by one, each at its time. */
static void paced(void)
{
    struct script_pkt cnp = script_cnp_pkt(s);
    script_send(s, &cnp);
    post(1, NORNIC_WR_RDMA_WRITE, 0, 40 * 1024);
    script_pump(s);
    script_advance(s, 10 * SCRIPT_US);
    s->now_ns += 9 * SCRIPT_US; /* a late timer: a few at once */
    script_advance(s, SCRIPT_MS);
}

/* covers: ROCE-CC-5 */
Test(run, ROCE_CC_5_pacing_cuts_trains)
{
    struct script_config c = script_defaults();
    c.cc = (struct roce_cc_config){.on = true, .line_rate_bps = UINT64_C(10000000000)};
    expect_same(&c, paced, 40);
}

/* A gap: go-back-N, or the missing packet alone and then on where it was. */
static void repaired(void)
{
    post(1, NORNIC_WR_RDMA_WRITE, 0, 30 * 1024);
    script_pump(s);
    script_ack(s, script_sq(s, 9), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    post(2, NORNIC_WR_RDMA_WRITE, 0, 8 * 1024);
    script_pump(s);
    script_advance(s, 200 * SCRIPT_MS);
}

Test(run, packets_sent_again_are_cut_as_well)
{
    struct script_config c = script_defaults();
    expect_same(&c, repaired, 58);
    c.reorder_pkts = 64;
    expect_same(&c, repaired, 39);
}

/* Answers: ACKs, READ responses with and without AETH. */
static void answers(void)
{
    struct script_pkt burst[4];
    burst[0] = script_read_pkt(s, script_rq(s, 0), 0, 9 * 1024 + 4);
    burst[1] = script_read_pkt(s, script_rq(s, 10), 512, 20 * 1024);
    burst[2] = script_read_pkt(s, script_rq(s, 30), 512, 0);
    burst[3] = script_read_pkt(s, script_rq(s, 31), 512, 1020);
    script_burst(s, burst, 4);
    struct script_pkt write =
        script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 32), 0, 100, script_data(), 100);
    write.bth.ack_req = 1;
    script_send(s, &write);
}

/* covers: ROCE-RS-40, ROCE-RS-49 */
Test(run, responses_cut_are_those_sent_alone)
{
    struct script_config c = script_defaults();
    expect_same(&c, answers, 33);
}

/* --- what a run is --- */

#define BUFFERS 64u

static struct net_frame frames[BUFFERS];

/* One call of roce_dev_tx() with buffers of `cap_bytes` for trains of `train_pkts`. Returns the frames. */
static unsigned build(uint32_t cap_bytes, uint32_t train_pkts)
{
    static uint8_t bytes[BUFFERS][66000];
    for (unsigned i = 0; i < BUFFERS; i++)
        frames[i] = (struct net_frame){.data = bytes[i], .cap_bytes = cap_bytes, .train_pkts = train_pkts};
    return roce_dev_tx(s->dev, frames, BUFFERS, s->now_ns);
}

static void expect_pkts(unsigned frame, uint32_t pkts)
{
    cr_assert_eq(net_train_size(&frames[frame]).pkts, pkts, "frame %u", frame);
    cr_assert_leq(frames[frame].len_bytes, frames[frame].cap_bytes);
}

/* WRITE_FIRST has a RETH, so that any other packet behind it is a shorter one, with which a train ends. Alone
 * on the device, a QP needs no turns. */
Test(run, long_write_is_a_first_packet_and_a_train)
{
    post(1, NORNIC_WR_RDMA_WRITE, 0, 59 * 1024 + 7);
    cr_assert_eq(build(65553, 64), 2);
    expect_pkts(0, 2);
    expect_pkts(1, 58);
    cr_assert_eq(frames[1].seg_bytes, 12 + 1024 + 4);
    post(2, NORNIC_WR_SEND, 0, 59 * 1024 + 7); /* its first packet is like the others */
    cr_assert_eq(build(65553, 64), 1);
    expect_pkts(0, 60);
}

Test(run, room_and_number_of_packets_bound_a_train)
{
    post(1, NORNIC_WR_SEND, 0, 20 * 1024);
    cr_assert_eq(build(42 + 6 * 1040 + 1039, 64), 4);
    for (unsigned i = 0; i < 4; i++)
        expect_pkts(i, i < 3 ? 6 : 2);
    ack(19, 1);
    post(2, NORNIC_WR_SEND, 0, 20 * 1024);
    cr_assert_eq(build(65553, 8), 3);
    for (unsigned i = 0; i < 3; i++)
        expect_pkts(i, i < 2 ? 8 : 4);
}

Test(run, small_messages_of_one_length_share_a_train)
{
    post(1, NORNIC_WR_RDMA_WRITE, 0, 1);
    cr_assert_eq(build(65553, 64), 1);
    ack(0, 1);
    for (unsigned i = 0; i < 10; i++)
        post(i, NORNIC_WR_SEND, 0, i < 5 ? 64 : i == 5 ? 30 : 100);
    cr_assert_eq(build(65553, 64), 2);
    expect_pkts(0, 6); /* the shorter one is the last */
    expect_pkts(1, 4);
}

/* Where another QP waits, a train is no longer than a turn. */
Test(run, trains_of_queue_pairs_take_turns)
{
    struct roce_qp *other = script_more_qp(s), *first = s->qp;
    post(1, NORNIC_WR_RDMA_WRITE, 0, 40 * 1024);
    s->qp = other;
    post(1, NORNIC_WR_RDMA_WRITE, 0, 40 * 1024);
    s->qp = first;
    static const uint32_t pkts[] = {2, 14, 2, 14, 16, 16, 8, 8};
    cr_assert_eq(build(65553, 64), array_len(pkts));
    for (unsigned i = 0; i < array_len(pkts); i++)
        expect_pkts(i, pkts[i]);
    cr_assert_eq(roce_qp_destroy(other), 0);
}

/* The halves of a QP take turns run by run: neither waits for more than one of the other's. */
Test(run, halves_take_turns_run_by_run)
{
    struct script_pkt read = script_read_pkt(s, script_rq(s, 0), 0, 30 * 1024);
    script_give(s, &read, 1);
    post(1, NORNIC_WR_RDMA_WRITE, 0, 30 * 1024);
    unsigned n = build(65553, 8), responses = 0;
    for (unsigned i = 0; i < n; i++) {
        struct roce_pkt p;
        struct net_train train;
        net_train_begin(&train, &frames[i]);
        struct net_frame pkt = net_train_packet(&train, 0);
        cr_assert_eq(roce_pkt_parse(&p, pkt.data, pkt.len_bytes, 0), ROCE_RX_TAKEN);
        bool is_response = p.op->flags & ROCE_PKT_RESPONSE;
        responses += is_response;
        cr_assert(i > 9 || is_response == !(i & 1) || is_response == (i & 1));
        net_train_end(&train);
    }
    cr_assert(responses >= 5 && n - responses >= 5, "%u runs, %u of them responses", n, responses);
    script_pump(s);
}

/* What answers request `k` leaves with its acknowledgement behind it: one train, whose last packet is
 * shorter. */
static void answer_with_a_send(uint32_t k)
{
    struct roce_pkt p;
    static const uint8_t payload[64];
    script_recv(s, 1, 0, 4096);
    struct script_pkt send = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, k), payload, sizeof payload);
    send.bth.ack_req = 1;
    script_give(s, &send, 1);
    post(1, NORNIC_WR_SEND, 0, 64);
    cr_assert_eq(build(65553, 8), 1, "answer %u", k);
    expect_pkts(0, 2);
    struct net_train train;
    net_train_begin(&train, &frames[0]);
    for (uint32_t i = 0; i < 2; i++) {
        struct net_frame pkt = net_train_packet(&train, i);
        cr_assert_eq(roce_pkt_parse(&p, pkt.data, pkt.len_bytes, 0), ROCE_RX_TAKEN);
        cr_assert_eq(!!(p.op->flags & ROCE_PKT_RESPONSE), i == 1);
    }
    net_train_end(&train);
    ack(k, k + 1);
}

/* Each time: whose turn it was says nothing any more when all of it has left. A READ's answer shares no
 * train. */
Test(run, an_ack_leaves_behind_the_requests)
{
    answer_with_a_send(0);
    answer_with_a_send(1);
    struct script_pkt read = script_read_pkt(s, script_rq(s, 2), 0, 8);
    script_give(s, &read, 1);
    post(2, NORNIC_WR_SEND, 0, 64);
    cr_assert_eq(build(65553, 8), 2);
    script_pump(s);
}

/* Its kernel numbers the packets of each train from 0 on, and has one source port and no flow label.
 * covers: ROCE-FRM-15 */
Test(run, udp_socket_numbers_each_train_from_zero)
{
    for (unsigned v = 0; v < 2; v++) {
        config.udp_socket = true;
        config.ipv6 = v;
        config.attr.av.flow_label = 0x12345;
        renew();
        post(1, NORNIC_WR_RDMA_WRITE, 0, 30 * 1024);
        unsigned n = build(20000, 8);
        cr_assert_geq(n, 2);
        for (unsigned i = 0; i < n; i++) {
            struct roce_pkt p;
            cr_assert(frames[i].seg_bytes > 0);
            const uint8_t *l3 = frames[i].data + 14;
            struct net_train train;
            net_train_begin(&train, &frames[i]);
            for (uint32_t k = 0; k < train.count; k++) {
                struct net_frame pkt = net_train_packet(&train, k);
                cr_assert_eq(roce_pkt_parse(&p, pkt.data, pkt.len_bytes, 0), ROCE_RX_TAKEN, "%u", k);
                cr_assert_eq(p.src_port, ROCE_UDP_PORT);
                cr_assert(v || get_be16(pkt.data + 14 + 4) == k, "packet %u of run %u", k, i);
            }
            net_train_end(&train);
            cr_assert(!v || (get_be32(l3) & 0xfffff) == 0);
        }
        script_pump(s);
    }
}

/* No UDP, no trains. */
Test(run, RoCEv1_has_no_trains)
{
    config.roce_v1 = true;
    renew();
    post(1, NORNIC_WR_RDMA_WRITE, 0, 10 * 1024);
    cr_assert_eq(build(65553, 64), 10);
    for (unsigned i = 0; i < 10; i++)
        cr_assert_eq(frames[i].seg_bytes, 0);
}

/* What cannot be read ends the run; what was built before it leaves. */
Test(run, unreadable_data_leaves_what_was_built)
{
    struct nornic_sge sges[2] = {{(uintptr_t)s->mem, 5 * 1024, s->mr->lkey},
                                 {(uintptr_t)s->mem, 3 * 1024, 1}};
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 100);
    wr.sg_list = sges;
    wr.num_sge = 2;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    cr_assert_eq(build(65553, 64), 1);
    expect_pkts(0, 5);
    cr_assert_eq(roce_dev_counters(s->dev)->qps.tx_pkts, 5);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
}

/* Counters count packets, as they are on the wire. */
Test(run, trains_count_as_their_packets)
{
    post(1, NORNIC_WR_SEND, 0, 10 * 1024);
    cr_assert_eq(build(65553, 64), 1);
    cr_assert_eq(roce_dev_counters(s->dev)->qps.tx_pkts, 10);
    cr_assert_eq(roce_dev_counters(s->dev)->qps.tx_bytes, 10 * (42 + 12 + 1024 + 4));
}

/* --- arrivals --- */

/* A train of `n` WRITEs of the peer in one allocation; packet `bad` (from 0; n: none) has a turned bit. */
static struct net_frame train_of_writes(uint32_t n, uint32_t bad)
{
    struct roce_frame_template t;
    static uint16_t ip_id;
    struct roce_dest dest = {.qpn = 1};
    struct net_frame train = {.data = malloc(66000), .cap_bytes = 66000};
    struct roce_run run;
    ip_id = 0xfffd;
    roce_frame_template_init(&t, &s->from_peer);
    roce_run_init(&run, &train, n, &ip_id);
    for (uint32_t i = 0; i < n; i++) {
        struct roce_bth bth = {.opcode = ROCE_OPCODE(s->service, i == 0       ? ROCE_OP_SEND_FIRST
                                                                 : i == n - 1 ? ROCE_OP_SEND_LAST
                                                                              : ROCE_OP_SEND_MIDDLE),
                               .pkey = NORNIC_PKEY_DEFAULT,
                               .dest_qpn = roce_qp_num(s->qp),
                               .psn = script_rq(s, i)};
        uint32_t payload_bytes = i == n - 1 ? 500 : 1024;
        uint8_t *p = roce_run_begin(&run, &t, &dest, ROCE_BTH_BYTES + payload_bytes);
        cr_assert_not_null(p);
        p = roce_bth_put(p, &bth);
        memset(p, (int)i, payload_bytes);
        roce_run_seal(&run);
    }
    if (bad < n)
        train.data[42 + bad * 1040 + 100] ^= 4;
    train.data = realloc(train.data, train.len_bytes);
    return train;
}

/* Each packet of a train has a verdict of its own: the bad one is a gap, what is behind it out of sequence.
 * covers: ROCE-RX-5, ROCE-RS-10 */
Test(run, ROCE_RX_5_bad_packet_of_a_train_is_dropped_alone)
{
    for (uint32_t bad = 0; bad <= 8; bad++) {
        renew();
        script_recv(s, 7, 0, 64 * 1024);
        struct net_frame train = train_of_writes(8, bad);
        uint8_t *before = malloc(train.len_bytes);
        memcpy(before, train.data, train.len_bytes);
        roce_dev_rx(s->dev, &train, 1, s->now_ns);
        cr_assert_arr_eq(train.data, before, train.len_bytes, "the frame is as it was");
        expect_verdict(s, ROCE_RX_DROP_ICRC, bad < 8);
        const struct roce_dev_counters *c = roce_dev_counters(s->dev);
        uint64_t judged = 0;
        for (unsigned v = 0; v < ROCE_RX_VERDICT_COUNT; v++)
            judged += c->verdicts[v];
        cr_assert_eq(judged, 8);
        for (uint32_t i = 0; i < bad && i < 7; i++)
            cr_assert(s->mem[1024 * i] == i && s->mem[1024 * i + 1023] == i, "packet %u of %u", i, bad);
        if (bad == 8)
            expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS);
        free(before);
        free(train.data);
    }
}

/* A port may show anything; a frame without a byte has no packet before it to be like. */
Test(run, empty_frame_is_no_RoCE)
{
    uint8_t byte = 0;
    roce_dev_rx(s->dev, &(struct net_frame){.data = &byte}, 1, s->now_ns);
    roce_dev_rx(s->dev, &(struct net_frame){.data = &byte, .seg_bytes = 1024}, 1, s->now_ns);
    expect_verdict(s, ROCE_RX_NOT_ROCE, 2);
}

/* Kept behind the gap, the packets of the train need not come again. */
Test(run, packets_of_a_train_are_kept_behind_a_gap)
{
    config.reorder_pkts = 64;
    renew();
    script_recv(s, 7, 0, 64 * 1024);
    struct net_frame train = train_of_writes(8, 3), good = train_of_writes(8, 8);
    roce_dev_rx(s->dev, &train, 1, s->now_ns);
    struct net_train walk;
    net_train_begin(&walk, &good);
    struct net_frame missing = net_train_packet(&walk, 3);
    roce_dev_rx(s->dev, &missing, 1, s->now_ns);
    net_train_end(&walk);
    expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS);
    for (uint32_t i = 0; i < 8; i++)
        cr_assert(s->mem[1024 * i] == i, "packet %u", i);
    script_pump(s);
    free(train.data);
    free(good.data);
}

/* Any damage anywhere: the verdicts on the packets of a train are those on its packets alone. */
Test(run, damaged_trains_are_judged_as_their_packets_alone)
{
    struct test_random random = {9};
    for (unsigned round = 0; round < 4000; round++) {
        struct net_frame train = train_of_writes(2 + round % 5, UINT32_MAX);
        uint32_t near = round % 2 ? 60 : train.len_bytes; /* half of it hits the headers of the first */
        for (unsigned hits = test_random_below(&random, 3); hits > 0; hits--)
            train.data[12 + test_random_below(&random, near - 12)] ^= (uint8_t)(1 << round % 8);
        if (round % 7 == 0)
            train.seg_bytes = 1 + test_random_below(&random, 1100);
        struct roce_arrival arrival;
        roce_arrival_begin(&arrival, &train, 0, NULL);
        for (uint32_t i = 0; i < arrival.train.count; i++) {
            struct roce_pkt alone;
            enum roce_rx_verdict verdict = roce_arrival_packet(&arrival, i);
            const struct roce_pkt *pkt = &arrival.pkt;
            cr_assert_eq(verdict, roce_pkt_parse(&alone, pkt->frame, pkt->frame_bytes, 0),
                         "round %u packet %u", round, i);
            uint8_t bth[2][ROCE_BTH_BYTES];
            roce_bth_put(bth[0], &pkt->bth);
            roce_bth_put(bth[1], &alone.bth);
            cr_assert_arr_eq(bth[0], bth[1], ROCE_BTH_BYTES);
            cr_assert_eq(pkt->op, alone.op);
            cr_assert(pkt->payload == alone.payload && pkt->payload_bytes == alone.payload_bytes);
            cr_assert(pkt->icrc_found == alone.icrc_found && pkt->icrc_expected == alone.icrc_expected);
            cr_assert(pkt->l3 == alone.l3 && pkt->src_port == alone.src_port);
            cr_assert(memcmp(&pkt->reth, &alone.reth, sizeof alone.reth) == 0);
        }
        roce_arrival_end(&arrival);
        free(train.data);
    }
}

/* Trains have none (net/port.h). One that is there and fits the first packet says nothing about the others.
 */
Test(run, udp_checksum_is_judged_with_each_packet)
{
    static const enum roce_rx_verdict verdicts[] = {ROCE_RX_TAKEN, ROCE_RX_DROP_UDP, ROCE_RX_DROP_UDP};
    struct net_frame train = train_of_writes(3, UINT32_MAX);
    uint8_t *ip = train.data + 14, *udp = ip + 20;
    put_be16(udp + 6, net_checksum_udp(ip, udp, get_be16(udp + 4)));
    struct roce_arrival arrival;
    roce_arrival_begin(&arrival, &train, 0, NULL);
    cr_assert_eq(arrival.train.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_expect_eq(roce_arrival_packet(&arrival, i), verdicts[i], "packet %u", i);
    roce_arrival_end(&arrival);
    free(train.data);
}
