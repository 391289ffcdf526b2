/* SPDX-License-Identifier: BSD-2-Clause */
/* A train that is taken by the stretch leaves what its packets leave one by one, whatever is wrong with one
 * of them: memory, counters, completions, and what is answered. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "net/wire/train.h"
#include "roce/dev/run.h"
#include "test/support/script_suite.h"

TestSuite(stretch, .init = setup, .fini = teardown);

#define PKTS      12u /* MIDDLE packets of the train, behind a FIRST that came before */
#define PMTU      1024u
#define MSG_BYTES ((PKTS + 1) * PMTU + 500)
#define TRAIN_CAP 66000u

enum message { SEND, WRITE, READ, MESSAGES };

/* What is wrong with packet `at` of the train. */
enum wrong {
    NOTHING,
    ASKS, /* for an ACK, which is not wrong */
    BAD_BIT,
    PSN_AHEAD,
    PSN_BEHIND,
    OTHER_OPCODE,
    OTHER_QP,
    OTHER_PKEY,
    LAST_OPCODE,
    RESERVED_BIT,
    WRONGS
};

static uint8_t opcode_of(enum message message, bool is_first)
{
    static const uint8_t ops[MESSAGES][2] = {{ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_FIRST},
                                             {ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_FIRST},
                                             {ROCE_OP_READ_RESP_MIDDLE, ROCE_OP_READ_RESP_FIRST}};
    return ops[message][is_first];
}

static void spoil(struct roce_bth *bth, enum message message, enum wrong wrong)
{
    switch (wrong) {
    case ASKS:
        bth->ack_req = 1;
        return;
    case PSN_AHEAD:
        bth->psn = roce_psn_add(bth->psn, 1);
        return;
    case PSN_BEHIND:
        bth->psn = roce_psn_add(bth->psn, ROCE_PSN_MASK);
        return;
    case OTHER_OPCODE:
        bth->opcode = opcode_of(message == SEND ? WRITE : SEND, false);
        return;
    case OTHER_QP:
        bth->dest_qpn++;
        return;
    case OTHER_PKEY:
        bth->pkey = 0x8001;
        return;
    case LAST_OPCODE:
        bth->opcode++; /* LAST follows MIDDLE in each of the three */
        return;
    case RESERVED_BIT:
        bth->resv7 = 1;
        return;
    case NOTHING:
    case BAD_BIT:
    case WRONGS:
        return;
    }
}

static uint32_t first_psn(enum message message)
{
    return message == READ ? script_sq(s, 0) : script_rq(s, 0);
}

/* Packets 1 to PKTS of a message in one train. The caller frees train.data. */
static struct net_frame train_of(enum message message, enum wrong wrong, uint32_t at)
{
    struct roce_frame_template t;
    struct roce_dest dest = {.qpn = 1};
    struct net_frame train = {.data = malloc(TRAIN_CAP), .cap_bytes = TRAIN_CAP};
    struct roce_run run;
    uint16_t ip_id = 0;
    roce_frame_template_init(&t, &s->from_peer);
    roce_run_init(&run, &train, PKTS, &ip_id);
    for (uint32_t i = 0; i < PKTS; i++) {
        struct roce_bth bth = {.opcode = ROCE_OPCODE(s->service, opcode_of(message, false)),
                               .pkey = NORNIC_PKEY_DEFAULT,
                               .dest_qpn = roce_qp_num(s->qp),
                               .psn = roce_psn_add(first_psn(message), i + 1)};
        if (i == at)
            spoil(&bth, message, wrong);
        uint8_t *p = roce_run_begin(&run, &t, &dest, ROCE_BTH_BYTES + PMTU);
        cr_assert_not_null(p);
        memset(roce_bth_put(p, &bth), (int)i + 1, PMTU);
        roce_run_seal(&run);
    }
    if (wrong == BAD_BIT)
        train.data[42 + at * (ROCE_BTH_BYTES + PMTU + ROCE_ICRC_BYTES) + 100] ^= 4;
    return train;
}

/* What a device has to show for it. */
struct outcome {
    uint8_t memory[2 * MSG_BYTES];
    struct roce_dev_counters counters;
    uint8_t sent[4096];
    size_t sent_bytes;
    int sends, receives; /* completions */
};

static void begin_message(enum message message)
{
    struct script_pkt first;
    struct nornic_sge sge;
    switch (message) {
    case SEND:
        script_recv(s, 7, 100, MSG_BYTES);
        first = script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), PMTU);
        break;
    case WRITE:
        first =
            script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 100, MSG_BYTES, script_data(), PMTU);
        break;
    case READ:
    case MESSAGES: {
        struct nornic_send_wr wr = script_wr(s, 7, NORNIC_WR_RDMA_READ, &sge, 100, MSG_BYTES);
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
        script_pump(s);
        first = script_read_resp_pkt(s, ROCE_OP_READ_RESP_FIRST, script_sq(s, 0), 1, script_data(), PMTU);
        break;
    }
    }
    script_send(s, &first);
}

static void give_one_by_one(const struct net_frame *train)
{
    struct net_train walk;
    net_train_begin(&walk, train);
    for (uint32_t i = 0; i < walk.count; i++) {
        struct net_frame pkt = net_train_packet(&walk, i);
        roce_dev_rx(s->dev, &pkt, 1, s->now_ns);
    }
    net_train_end(&walk);
}

static struct outcome outcome_of(enum message message, enum wrong wrong, uint32_t at, bool is_train)
{
    struct outcome o = {.sent_bytes = 0};
    struct nornic_wc wc;
    renew();
    begin_message(message);
    script_forget(s);
    struct net_frame train = train_of(message, wrong, at);
    if (is_train)
        roce_dev_rx(s->dev, &train, 1, s->now_ns);
    else
        give_one_by_one(&train);
    script_pump(s);
    memcpy(o.memory, s->mem, sizeof o.memory);
    o.counters = *roce_dev_counters(s->dev);
    for (unsigned i = 0; i < s->out_count; i++) {
        cr_assert_leq(o.sent_bytes + s->out[i].len_bytes, sizeof o.sent);
        memcpy(o.sent + o.sent_bytes, s->out[i].bytes, s->out[i].len_bytes);
        o.sent_bytes += s->out[i].len_bytes;
    }
    while (rdma_cq_poll(s->send_cq, &wc, 1) == 1)
        o.sends++;
    while (rdma_cq_poll(s->recv_cq, &wc, 1) == 1)
        o.receives++;
    s->event_read = s->event_count;
    script_forget(s);
    free(train.data);
    return o;
}

static void expect_same(enum message message, enum wrong wrong, uint32_t at)
{
    struct outcome alone = outcome_of(message, wrong, at, false);
    struct outcome train = outcome_of(message, wrong, at, true);
    cr_assert_arr_eq(train.memory, alone.memory, sizeof alone.memory, "message %u, wrong %u at %u", message,
                     wrong, at);
    cr_assert_arr_eq(&train.counters, &alone.counters, sizeof alone.counters, "message %u, wrong %u at %u",
                     message, wrong, at);
    cr_assert_eq(train.sent_bytes, alone.sent_bytes, "message %u, wrong %u at %u", message, wrong, at);
    cr_assert_arr_eq(train.sent, alone.sent, alone.sent_bytes, "message %u, wrong %u at %u", message, wrong,
                     at);
    cr_assert(train.sends == alone.sends && train.receives == alone.receives);
}

/* covers: ROCE-RX-5, ROCE-RS-2, ROCE-RS-6, ROCE-RS-10, ROCE-RS-51 */
Test(stretch, leaves_what_its_packets_leave_one_by_one)
{
    for (unsigned message = 0; message < MESSAGES; message++)
        for (unsigned wrong = 0; wrong < WRONGS; wrong++)
            for (uint32_t at = 0; at < (wrong ? PKTS : 1); at++)
                expect_same(message, wrong, at);
}

/* A message that ends earlier than the train. */
Test(stretch, keeps_to_the_memory_of_the_message)
{
    for (unsigned is_train = 0; is_train < 2; is_train++) {
        renew();
        struct script_pkt first =
            script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 100, 6 * PMTU, script_data(), PMTU);
        script_send(s, &first);
        struct net_frame train = train_of(WRITE, NOTHING, 0);
        if (is_train)
            roce_dev_rx(s->dev, &train, 1, s->now_ns);
        else
            give_one_by_one(&train);
        for (uint32_t i = 1; i < 5; i++)
            cr_assert_eq(s->mem[100 + i * PMTU], i);
        cr_assert_eq(s->mem[100 + 5 * PMTU], (100 + 5 * PMTU) % 251, "the last packet of a WRITE is a LAST");
        cr_assert_eq(roce_dev_counters(s->dev)->qps.nak_inv_req_sent, 0, "not sent yet");
        script_pump(s);
        cr_assert_eq(roce_dev_counters(s->dev)->qps.nak_inv_req_sent, 1);
        free(train.data);
        s->event_read = s->event_count;
        script_forget(s);
    }
}
