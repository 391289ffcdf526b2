/* SPDX-License-Identifier: BSD-2-Clause */
/* Ladders from fixed events, compared as text. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cli/demo/ladder.h"
#include "net/bytes.h"
#include "roce/wire/frame.h"
#include "roce/roce.h"

#define RC(op) ROCE_OPCODE(ROCE_SERVICE_RC, ROCE_OP_##op)

struct story {
    struct ladder_log *a, *b;
    uint16_t id;
};

static struct story story_new(uint32_t capacity)
{
    struct story s = {calloc(1, ladder_log_bytes(capacity)), calloc(1, ladder_log_bytes(capacity)), 0};
    ladder_log_init(s.a, capacity);
    ladder_log_init(s.b, capacity);
    return s;
}

static void story_free(struct story *s)
{
    free(s->a);
    free(s->b);
}

static void push(struct ladder_log *log, struct ladder_event e, enum ladder_kind kind, uint64_t us)
{
    e.kind = (uint8_t)kind;
    e.time_ns = 1000000 + us * 1000;
    cr_assert_lt(log->count, log->capacity);
    log->events[log->count++] = e;
}

/* One packet from `from` to `to`; got_us 0: it is lost. */
static void packet(struct story *s, bool from_a, struct ladder_event e, uint64_t sent_us, uint64_t got_us)
{
    e.ip_id = ++s->id;
    e.qpn = from_a ? 18 : 17;
    push(from_a ? s->a : s->b, e, LADDER_TX, sent_us);
    if (got_us)
        push(from_a ? s->b : s->a, e, LADDER_RX, got_us);
}

static void expect_text(const struct ladder *ladder, uint32_t first, uint32_t count,
                        const struct ladder_style *style, const char *want)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    ladder_print(out, ladder, first, count, style);
    fclose(out);
    cr_expect_str_eq(text, want, "got:\n%swant:\n%s", text, want);
    free(text);
}

static const char *const notes[] = {"1. SEND: one packet there, one acknowledgement back"};

static const struct ladder_style plain = {
    .left = "A", .right = "B", .width = 96, .notes = notes, .note_count = 1, .fold = true};

Test(ladder, both_views_of_each_packet)
{
    struct story s = story_new(32);
    ladder_note(s.a, 900000, 0);
    packet(&s, true,
           (struct ladder_event){.opcode = RC(SEND_ONLY_IMM),
                                 .psn = 0xabc,
                                 .payload_bytes = 26,
                                 .imm = 0xdecade,
                                 .ack_req = true,
                                 .solicited = true},
           0, 31);
    packet(&s, false, (struct ladder_event){.opcode = RC(ACK), .psn = 0xabc, .syndrome = 0x1f, .msn = 1}, 33,
           60);
    packet(&s, true,
           (struct ladder_event){
               .opcode = RC(READ_REQUEST), .psn = 0xabd, .va = 0x7f001000, .rkey = 0x1234, .dma_len = 100},
           70, 90);
    packet(&s, false,
           (struct ladder_event){.opcode = RC(READ_RESP_ONLY), .psn = 0xabd, .payload_bytes = 100, .msn = 2},
           91, 120);
    packet(&s, true,
           (struct ladder_event){.opcode = RC(CMP_SWAP),
                                 .psn = 0xabe,
                                 .va = 0x7f001000,
                                 .rkey = 0x1234,
                                 .compare = 5,
                                 .swap_add = 9},
           130, 140);
    packet(&s, false,
           (struct ladder_event){
               .opcode = RC(ATOMIC_ACK), .psn = 0xabe, .original = 5, .msn = 3, .syndrome = 0x1f},
           150, 170);

    struct ladder *l = ladder_merge(s.a, s.b);
    cr_assert_eq(l->count, 7);
    expect_text(
        l, 0, l->count, &plain,
        "        us A                                                                          B       us\n"
        "           |                                                                          |\n"
        "1. SEND: one packet there, one acknowledgement back\n"
        "       0.0 |-- SEND_ONLY_IMM  psn 000abc  26 B  imm 00decade  solicited  ack please ->|     31.0\n"
        "      60.0 |<----------------------------------------------- ACK  psn 000abc  msn 1 --|     33.0\n"
        "      70.0 |-- READ_REQUEST  psn 000abd --------------------------------------------->|     90.0\n"
        "           |    RETH: give me 100 bytes at 0x7f001000, rkey 0x00001234                |\n"
        "     120.0 |<----------------------------- READ_RESP_ONLY  psn 000abd  msn 2  100 B --|     91.0\n"
        "     130.0 |-- CMP_SWAP  psn 000abe ------------------------------------------------->|    140.0\n"
        "           |    AtomicETH: at 0x7f001000, rkey 0x00001234, if 5 then 9                |\n"
        "     170.0 |<---------------------------------------- ATOMIC_ACK  psn 000abe  msn 3 --|    150.0\n"
        "           |                                                AtomicAckETH: it was 5    |\n");
    free(l);
    story_free(&s);
}

/* A loses psn 2 of five packets; the NAK brings it back. */
static struct story lossy_story(void)
{
    struct story s = story_new(64);
    struct ladder_event mid = {.opcode = RC(SEND_MIDDLE), .payload_bytes = 1024};
    for (uint32_t i = 0; i < 9; i++) {
        mid.psn = i;
        packet(&s, true, mid, 10 + i, i == 2 ? 0 : 40 + i);
        if (i > 2)
            s.b->events[s.b->count - 1].verdict = ROCE_RX_DROP_PSN;
        if (i == 3)
            packet(&s, false,
                   (struct ladder_event){.opcode = RC(ACK), .psn = 2, .syndrome = ROCE_SYNDROME_NAK_PSN_SEQ},
                   45, 70);
    }
    push(s.a, (struct ladder_event){.psn = 2, .cause = ROCE_CAUSE_NAK_SEQ, .qpn = 17}, LADDER_RETRANSMIT, 71);
    for (uint32_t i = 2; i < 4; i++) {
        mid.psn = i;
        packet(&s, true, mid, 70 + i, 90 + i);
    }
    return s;
}

Test(ladder, a_loss_and_its_recovery)
{
    struct story s = lossy_story();
    uint32_t first, count;
    struct ladder *l = ladder_merge(s.a, s.b);
    cr_assert(ladder_find_recovery(l, ROCE_CAUSE_NAK_SEQ, &first, &count));
    cr_expect_eq(first, 0);
    expect_text(
        l, first, count, &plain,
        "        us A                                                                          B       us\n"
        "       0.0 |-- SEND_MIDDLE  psn 000000  1024 B -------------------------------------->|     30.0\n"
        "       1.0 |-- SEND_MIDDLE  psn 000001  1024 B -------------------------------------->|     31.0\n"
        "       2.0 |-- SEND_MIDDLE  psn 000002  1024 B ------------------------------ X LOST  |\n"
        "       3.0 |-- SEND_MIDDLE  psn 000003  1024 B ---------------- PSN out of sequence ->|     33.0\n"
        "           |    : 4 more alike, psn 000004 to 000007                                  |\n"
        "       8.0 |-- SEND_MIDDLE  psn 000008  1024 B ---------------- PSN out of sequence ->|     38.0\n"
        "      60.0 |<---------------------------- NAK PSN sequence error  psn 000002  msn 0 --|     35.0\n"
        "      61.0 | * goes back to psn 000002: NAK PSN sequence error                        |\n"
        "      62.0 |-- SEND_MIDDLE  psn 000002  1024 B  again ------------------------------->|     82.0\n"
        "      63.0 |-- SEND_MIDDLE  psn 000003  1024 B  again ------------------------------->|     83.0\n");
    free(l);
    story_free(&s);
}

/* Behind lossy_story(): psn 20 is lost, and a selective ACK tells of it; then psn 24, with more rows. */
static void add_selective(struct story *s)
{
    struct ladder_event mid = {.opcode = RC(WRITE_MIDDLE), .payload_bytes = 1024};
    for (uint32_t lost = 20; lost <= 24; lost += 4) {
        uint32_t count = lost == 20 ? 3 : 6, us = lost * 10;
        for (uint32_t i = 0; i < count; i++) {
            mid.psn = lost + i;
            packet(s, true, mid, us + i, i ? us + 10 + i : 0);
        }
        packet(s, false,
               (struct ladder_event){.opcode = ROCE_OPCODE_SACK,
                                     .psn = lost,
                                     .syndrome = ROCE_SYNDROME_NAK_PSN_SEQ,
                                     .msn = 3,
                                     .payload_bytes = 4,
                                     .kept_pkts = count - 1},
               us + 20, us + 30);
        push(s->a, (struct ladder_event){.psn = lost, .cause = ROCE_CAUSE_SELECTIVE_ACK, .qpn = 17},
             LADDER_RETRANSMIT, us + 31);
        mid.psn = lost;
        packet(s, true, mid, us + 32, us + 39);
    }
}

Test(ladder, a_selective_recovery_is_found_by_its_cause)
{
    struct story s = lossy_story();
    uint32_t first, count;
    struct ladder *l = ladder_merge(s.a, s.b);
    cr_expect(!ladder_find_recovery(l, ROCE_CAUSE_SELECTIVE_ACK, &first, &count));
    cr_expect(ladder_find_recovery(l, ROCE_CAUSE_COUNT, &first, &count));
    free(l);
    add_selective(&s);
    l = ladder_merge(s.a, s.b);
    cr_assert(ladder_find_recovery(l, ROCE_CAUSE_SELECTIVE_ACK, &first, &count));
    expect_text(
        l, first + 2, count - 5, &plain,
        "        us A                                                                          B       us\n"
        "       0.0 |-- WRITE_MIDDLE  psn 000014  1024 B ----------------------------- X LOST  |\n"
        "       1.0 |-- WRITE_MIDDLE  psn 000015  1024 B ------------------------------------->|     11.0\n"
        "       2.0 |-- WRITE_MIDDLE  psn 000016  1024 B ------------------------------------->|     12.0\n"
        "      30.0 |<-------------------- selective ACK  psn 000014  msn 3  has 2 behind it --|     20.0\n"
        "      31.0 | * sends what is missing, from psn 000014: selective acknowledgement      |\n"
        "      32.0 |-- WRITE_MIDDLE  psn 000014  1024 B  again ------------------------------>|     39.0\n");
    free(l);
    story_free(&s);
}

Test(ladder, what_nobody_received_after_the_last_arrival_is_not_called_lost)
{
    struct story s = story_new(8);
    packet(&s, true, (struct ladder_event){.opcode = RC(SEND_ONLY), .psn = 1}, 1, 2);
    packet(&s, true, (struct ladder_event){.opcode = RC(SEND_ONLY), .psn = 2}, 3, 0);
    struct ladder *l = ladder_merge(s.a, s.b);
    cr_expect_eq(l->count, 2);
    cr_expect(!l->rows[0].lost);
    cr_expect_not_null(l->rows[0].right);
    cr_expect(!l->rows[1].lost);
    cr_expect_null(l->rows[1].right);
    uint32_t first, count;
    cr_expect(!ladder_find_recovery(l, ROCE_CAUSE_COUNT, &first, &count));
    free(l);
    story_free(&s);
}

Test(ladder, a_resent_copy_without_ip_id_is_told_by_time)
{
    struct story s = story_new(8);
    struct ladder_event e = {.opcode = RC(SEND_ONLY), .psn = 7};
    push(s.a, e, LADDER_TX, 10); /* lost */
    push(s.a, e, LADDER_TX, 900);
    push(s.b, e, LADDER_RX, 930);
    struct ladder *l = ladder_merge(s.a, s.b);
    cr_assert_eq(l->count, 2);
    cr_expect(l->rows[0].lost);
    cr_expect_null(l->rows[0].right);
    cr_expect_not_null(l->rows[1].right);
    free(l);
    story_free(&s);
}

Test(ladder, a_full_log_keeps_the_first_and_counts_the_rest)
{
    struct ladder_log *log = calloc(1, ladder_log_bytes(2));
    ladder_log_init(log, 2);
    for (uint32_t i = 0; i < 5; i++)
        ladder_note(log, i, i);
    cr_expect_eq(log->count, 2);
    cr_expect_eq(log->missed, 3);
    cr_expect_eq(log->events[1].note, 1);
    free(log);
}

Test(ladder, one_log_alone_draws_what_it_saw)
{
    struct story s = story_new(8);
    packet(&s, true, (struct ladder_event){.opcode = RC(SEND_ONLY), .psn = 1, .payload_bytes = 3}, 5, 0);
    struct ladder *l = ladder_merge(s.a, NULL);
    struct ladder_style narrow = plain;
    narrow.width = 72;
    expect_text(l, 0, l->count, &narrow,
                "        us A                                                  B       us\n"
                "       0.0 |-- SEND_ONLY  psn 000001  3 B ------------------->|\n");
    free(l);
    story_free(&s);
}

Test(ladder, a_round_of_progress_has_one_time_and_keeps_its_order)
{
    struct story s = story_new(8);
    struct ladder_event nak = {.opcode = RC(ACK), .psn = 5, .syndrome = ROCE_SYNDROME_NAK_PSN_SEQ};
    struct ladder_event send = {.opcode = RC(SEND_ONLY), .psn = 5};
    /* A's round began, and was stamped, before B's NAK left; the hook tells of it after what it caused */
    push(s.b, nak, LADDER_TX, 50);
    push(s.a, (struct ladder_event){.psn = 5, .cause = ROCE_CAUSE_NAK_SEQ}, LADDER_RETRANSMIT, 40);
    push(s.a, nak, LADDER_RX, 40);
    push(s.a, send, LADDER_TX, 40);
    struct ladder *l = ladder_merge(s.a, s.b);
    cr_assert_eq(l->count, 3);
    cr_expect_eq(l->rows[0].left->kind, LADDER_RX);
    cr_expect_eq(l->rows[0].right->kind, LADDER_TX);
    cr_expect_eq(l->rows[0].time_ns, l->rows[0].left->time_ns, "not sent after it was received");
    cr_expect_eq(l->rows[1].left->kind, LADDER_RETRANSMIT);
    cr_expect_eq(l->rows[2].left->kind, LADDER_TX);
    free(l);
    story_free(&s);
}

Test(ladder, packets_of_one_instant_stay_in_the_order_they_were_sent)
{
    struct story s = story_new(16);
    for (uint32_t i = 0; i < 5; i++)
        packet(&s, false, (struct ladder_event){.opcode = RC(READ_RESP_MIDDLE), .psn = i}, 10,
               i == 2 ? 0 : 20);
    struct ladder *l = ladder_merge(s.a, s.b);
    cr_assert_eq(l->count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        cr_expect_eq(l->rows[i].right->psn, i);
        cr_expect_eq(l->rows[i].lost, i == 2);
        cr_expect(!l->rows[i].to_right);
    }
    free(l);
    story_free(&s);
}

/* Who does not know yet that the other understands them makes an offer; a probe asks. */
Test(ladder, selective_acks_that_offer_and_ask)
{
    struct story s = story_new(8);
    struct ladder_event sack = {
        .opcode = ROCE_OPCODE_SACK, .psn = 7, .syndrome = ROCE_SYNDROME_NAK_PSN_SEQ, .is_offer = true};
    packet(&s, false, sack, 10, 20);
    sack.is_offer = false;
    sack.is_probe = true;
    packet(&s, true, sack, 30, 40);
    struct ladder *l = ladder_merge(s.a, s.b);
    expect_text(
        l, 0, l->count, &plain,
        "        us A                                                                          B       us\n"
        "      10.0 |<-------------------- selective ACK  psn 000007  msn 0  has 0 behind it --|      0.0\n"
        "           |                               an offer: who sends this understands it    |\n"
        "      20.0 |-- selective ACK, a probe  psn 000007  msn 0  has 0 behind it ----------->|     30.0\n");
    free(l);
    story_free(&s);
}

/* A frame as the engine builds it, without the engine: WRITE LAST with immediate, 3 bytes. */
static uint32_t build_frame(uint8_t *frame)
{
    struct roce_path path = {.vlan_tci = -1, .hop_limit = 64, .src_port = 0xc001};
    path.src = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 1});
    path.dst = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 2});
    struct roce_frame_template t;
    struct roce_bth bth = {.opcode = RC(WRITE_ONLY_IMM),
                           .pad_count = 1,
                           .pkey = 0xffff,
                           .dest_qpn = 0x12,
                           .ack_req = 1,
                           .se = 1,
                           .psn = 0xfffffe};
    struct roce_reth reth = {.va = 0x1000, .rkey = 0x55, .dma_len = 3};
    static const uint8_t tail[] = {0x00, 0xde, 0xca, 0xde, 'a', 'b', 'c', 0}; /* immediate, payload, pad */
    uint32_t transport = ROCE_BTH_BYTES + ROCE_RETH_BYTES + ROCE_IMMDT_BYTES + 4;

    roce_frame_template_init(&t, &path);
    uint8_t *p = roce_frame_begin(&t, frame, transport, 0x4711);
    p = roce_reth_put(roce_bth_put(p, &bth), &reth);
    put_bytes(p, tail, sizeof tail);
    return roce_frame_seal(&t, frame, transport);
}

Test(ladder, the_hook_takes_a_packet_apart_where_the_engine_did_not)
{
    uint8_t frame[256];
    uint32_t len = build_frame(frame);
    struct ladder_log *log = calloc(1, ladder_log_bytes(2));
    ladder_log_init(log, 2);
    ladder_record(log, &(struct roce_trace){
                           .kind = ROCE_TRACE_PKT_TX, .now_ns = 77, .frame = frame, .frame_bytes = len});
    ladder_record(log, &(struct roce_trace){.kind = ROCE_TRACE_PKT_RX, .frame = frame, .frame_bytes = 20});
    ladder_record(log,
                  &(struct roce_trace){
                      .kind = ROCE_TRACE_RNR_WAIT, .cause = ROCE_CAUSE_RNR_NAK, .psn = 9, .wait_ns = 640000});
    cr_assert_eq(log->count, 2, "what is no packet is left out");
    const struct ladder_event *e = &log->events[0];
    cr_expect(e->kind == LADDER_TX && e->time_ns == 77 && e->opcode == RC(WRITE_ONLY_IMM));
    cr_expect(e->psn == 0xfffffe && e->qpn == 0x12 && e->ip_id == 0x4711 && e->payload_bytes == 3);
    cr_expect(e->va == 0x1000 && e->rkey == 0x55 && e->dma_len == 3 && e->imm == 0x00decade);
    cr_expect(e->ack_req && e->solicited);
    cr_expect(log->events[1].kind == LADDER_RNR_WAIT && log->events[1].wait_ns == 640000);
    free(log);
}

Test(ladder, the_hook_counts_what_a_selective_ack_says_is_there)
{
    static const uint8_t bitmap[] = {0xa0, 0x01, 0x00, 0x00};
    struct roce_pkt pkt = {.l3_kind = ROCE_L3_IPV6,
                           .op = &roce_opcodes[ROCE_OPCODE_SACK],
                           .bth = {.opcode = ROCE_OPCODE_SACK, .psn = 5},
                           .sacketh = {.probe = 1, .known = 1},
                           .payload = bitmap,
                           .payload_bytes = sizeof bitmap};
    struct ladder_log *log = calloc(1, ladder_log_bytes(2));
    ladder_log_init(log, 2);
    ladder_record(log, &(struct roce_trace){.kind = ROCE_TRACE_PKT_RX, .pkt = &pkt});
    pkt.sacketh = (struct roce_sacketh){0};
    ladder_record(log, &(struct roce_trace){.kind = ROCE_TRACE_PKT_RX, .pkt = &pkt});
    cr_assert_eq(log->count, 2);
    cr_expect(log->events[0].is_probe && !log->events[0].is_offer);
    cr_expect(!log->events[1].is_probe && log->events[1].is_offer);
    cr_expect_eq(log->events[0].kept_pkts, 3);
    free(log);
}
