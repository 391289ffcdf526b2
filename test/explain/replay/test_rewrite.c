/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets for another place: what a scenario names is changed and nothing else, and all sums are good. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/rewrite.h"
#include "net/bytes.h"
#include "test/explain/story.h"

/* A WRITE, its ACK, a READ, its response, an atomic. */
static void record(struct explain_tape *tape)
{
    struct story s;
    story_begin(&s);
    *tape = (struct explain_tape){0};
    s.tape = tape;
    story_request(&s, ROCE_OP_WRITE_ONLY, 0xffffff, 33, 33);
    story_answer(&s, ROCE_OP_ACK, 0xffffff, ROCE_SYNDROME_ACK_UNLIMITED, 1, 0);
    story_request(&s, ROCE_OP_READ_REQUEST, 0, 0, 8);
    story_answer(&s, ROCE_OP_READ_RESP_ONLY, 0, ROCE_SYNDROME_ACK_UNLIMITED, 2, 8);
    story_request(&s, ROCE_OP_FETCH_ADD, 1, 0, 0);
    story_end(&s);
}

struct rewritten {
    uint8_t frames[5][256];
    struct explain_packet before[5], after[5];
};

static void rewrite(const struct explain_tape *tape, const char *text, struct rewritten *r)
{
    struct explain_scenario scenario;
    struct explain_rewriter w;
    struct nornic_error why;
    cr_assert_eq(explain_scenario_parse(&scenario, text, &why), 0, "%s", why.text);
    cr_assert_eq(explain_rewrite_begin(&w, tape, &scenario, &why), 0, "%s", why.text);
    for (size_t i = 0; i < 5; i++) {
        uint32_t n = explain_rewrite(&w, i, r->frames[i]);
        explain_tape_packet(tape, i, &r->before[i]);
        cr_assert_eq(n, r->before[i].len_bytes);
        explain_dissect(&r->after[i],
                        &(struct net_capture_record){.data = r->frames[i], .len_bytes = n, .wire_bytes = n},
                        i);
        cr_expect_eq(r->after[i].verdict, ROCE_RX_TAKEN, "%zu: checksums and ICRC are good", i);
    }
}

Test(rewrite, an_empty_scenario_changes_nothing)
{
    struct explain_tape tape;
    struct rewritten r;
    record(&tape);
    rewrite(&tape, "", &r);
    for (size_t i = 0; i < 5; i++)
        cr_expect_arr_eq(r.frames[i], r.before[i].frame, r.before[i].len_bytes);
    explain_tape_free(&tape);
}

/* Answers keep to the PSNs of what they answer, beyond the wrap. */
Test(rewrite, psns_begin_where_the_scenario_says_and_answers_follow)
{
    static const uint32_t psns[] = {0x500, 0x500, 0x501, 0x501, 0x502};
    struct explain_tape tape;
    struct rewritten r;
    record(&tape);
    rewrite(&tape, "to 10.0.0.2 0x11 qp 0x99 psn 0x500", &r);
    for (size_t i = 0; i < 5; i++) {
        cr_expect_eq(r.after[i].roce.bth.psn, psns[i], "%zu", i);
        bool is_answer = i == 1 || i == 3;
        cr_expect_eq(r.after[i].roce.bth.dest_qpn, is_answer ? STORY_A_QPN : 0x99);
    }
    explain_tape_free(&tape);
}

Test(rewrite, keys_and_addresses_in_memory_move_for_their_owner_only)
{
    struct explain_tape tape;
    struct rewritten r;
    record(&tape);
    rewrite(&tape, "rkey 10.0.0.2 0x77 0x4f0 va 0x1000 0x555500\nrkey 10.0.0.1 0x77 0x1", &r);
    cr_expect_eq(r.after[0].roce.reth.rkey, 0x4f0);
    cr_expect_eq(r.after[0].roce.reth.va, 0x555500);
    cr_expect_eq(r.after[2].roce.reth.rkey, 0x4f0);
    cr_expect_eq(r.after[4].roce.atomiceth.rkey, 0x4f0);
    cr_expect_eq(r.after[4].roce.atomiceth.va, 0x555500);
    cr_expect_eq(r.after[4].roce.atomiceth.swap_add, r.before[4].roce.atomiceth.swap_add);
    explain_tape_free(&tape);
}

Test(rewrite, addresses_and_macs_change_in_both_directions)
{
    struct explain_tape tape;
    struct rewritten r;
    struct nornic_addr b;
    const uint8_t mac[] = {2, 0, 0x5e, 0x10, 0, 1};
    record(&tape);
    rewrite(&tape, "address 10.0.0.2 192.0.2.7 02:00:5e:10:00:01", &r);
    cr_assert_eq(nornic_addr_parse("192.0.2.7", &b), 0);
    cr_expect(nornic_addr_equal(&r.after[0].roce.dst, &b) && nornic_addr_equal(&r.after[1].roce.src, &b));
    cr_expect(nornic_addr_equal(&r.after[0].roce.src, &r.before[0].roce.src));
    cr_expect_arr_eq(r.after[0].roce.dst_mac.b, mac, sizeof mac);
    cr_expect_arr_eq(r.after[1].roce.src_mac.b, mac, sizeof mac);
    explain_tape_free(&tape);
}

Test(rewrite, an_icrc_that_was_bad_is_bad_in_the_same_bits)
{
    struct explain_tape tape;
    struct explain_scenario scenario = {0};
    struct explain_rewriter w;
    struct nornic_error why;
    struct explain_packet p;
    uint8_t frame[256];
    record(&tape);
    tape.packets[0].bytes[tape.packets[0].len_bytes - 1] ^= 0x81;
    cr_assert_eq(explain_scenario_parse(&scenario, "to 10.0.0.2 0x11 psn 7", &why), 0);
    cr_assert_eq(explain_rewrite_begin(&w, &tape, &scenario, &why), 0);
    uint32_t n = explain_rewrite(&w, 0, frame);
    explain_dissect(&p, &(struct net_capture_record){.data = frame, .len_bytes = n, .wire_bytes = n}, 1);
    cr_expect_eq(p.verdict, ROCE_RX_DROP_ICRC);
    cr_expect_eq(p.roce.icrc_found ^ p.roce.icrc_expected, 0x81u << 24);
    explain_tape_free(&tape);
}

Test(rewrite, what_is_no_whole_packet_is_left_out)
{
    struct explain_tape tape;
    struct explain_scenario scenario = {0};
    struct explain_rewriter w;
    struct nornic_error why;
    uint8_t frame[256];
    record(&tape);
    cr_assert_eq(explain_rewrite_begin(&w, &tape, &scenario, &why), 0);
    tape.packets[0].wire_bytes++;
    cr_expect_eq(explain_rewrite(&w, 0, frame), 0, "cut");
    tape.packets[2].bytes[12] = 0x12;
    cr_expect_eq(explain_rewrite(&w, 2, frame), 0, "no IP");
    cr_expect_gt(explain_rewrite(&w, 4, frame), 0);
    explain_tape_free(&tape);
}

Test(rewrite, a_queue_pair_that_nothing_goes_to_is_a_mistake)
{
    struct explain_tape tape;
    struct explain_scenario scenario;
    struct explain_rewriter w;
    struct nornic_error why;
    record(&tape);
    cr_assert_eq(explain_scenario_parse(&scenario, "to 10.0.0.1 0x33 psn 7", &why), 0);
    cr_expect_lt(explain_rewrite_begin(&w, &tape, &scenario, &why), 0);
    cr_expect_not_null(strstr(why.text, "QP 0x000033"), "%s", why.text);
    explain_tape_free(&tape);
}
