/* SPDX-License-Identifier: BSD-2-Clause */
/* Two packets compared field by field, as a replay does. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/diff.h"
#include "explain/replay/replay.h"
#include "net/bytes.h"
#include "test/explain/story.h"

struct two {
    uint8_t bytes[2][200];
    struct explain_packet p[2];
    struct explain_field_diff diffs[EXPLAIN_DIFFS_MAX];
};

/* An ADD LINK of SMC-R with `count` RTokens, as layers: RToken i has the R_Key 0x100 + i. */
static void make(struct two *t, unsigned which, unsigned count)
{
    struct explain_packet *p = &t->p[which];
    uint8_t *at = t->bytes[which];
    *p = (struct explain_packet){.frame = at, .len_bytes = sizeof t->bytes[which], .verdict = ROCE_RX_TAKEN};
    p->roce.op = &roce_opcodes[ROCE_OP_SEND_ONLY];
    for (unsigned i = 0; i < count; i++) {
        uint32_t offset = 16 * i;
        put_be32(at + offset + 4, 0x100 + i);
        p->layers[p->layer_count++] =
            (struct explain_layer){.kind = &explain_layer_kinds[EXPLAIN_LAYER_LLC2_RTOKEN], .offset = offset};
    }
}

static unsigned diff(struct two *t)
{
    return explain_replay_diff(&t->p[0], &t->p[1], t->diffs);
}

Test(diff, layers_that_come_again_are_compared_with_their_own)
{
    struct two t = {0};
    make(&t, 0, 3);
    make(&t, 1, 3);
    cr_expect_eq(diff(&t), 0);
    put_be32(t.bytes[1] + 16 + 4, 0x999);
    cr_expect_eq(diff(&t), 1);
    cr_expect_str_eq(t.diffs[0].layer, "llc2_rtoken");
    cr_expect_str_eq(t.diffs[0].field, "rkey");
    cr_expect_str_eq(t.diffs[0].recorded, "0x00000101");
    cr_expect_str_eq(t.diffs[0].engine, "0x00000999");
}

Test(diff, one_more_of_a_layer_is_told_of_on_either_side)
{
    struct two t = {0};
    make(&t, 0, 2);
    make(&t, 1, 3);
    cr_assert_eq(diff(&t), 1);
    cr_expect_str_eq(t.diffs[0].field, "header");
    cr_expect_str_eq(t.diffs[0].recorded, "absent");
    make(&t, 0, 3);
    make(&t, 1, 2);
    cr_assert_eq(diff(&t), 1);
    cr_expect_str_eq(t.diffs[0].engine, "absent");
}

/* The same request, sent twice by a story: only the identification, and so the checksum and the ICRC, differ.
 */
static void tell(struct story *a, struct story *b)
{
    story_begin(a);
    story_begin(b);
    b->number = 7;
    story_request(a, ROCE_OP_WRITE_ONLY, 10, 100, 100);
    story_request(b, ROCE_OP_WRITE_ONLY, 10, 100, 100);
}

/* Changes a byte of the second and compares. */
static unsigned diff_with(struct story *a, struct story *b, uint32_t at, struct explain_field_diff *diffs)
{
    struct explain_packet p;
    b->frame[at] ^= 0x10;
    explain_dissect(
        &p,
        &(struct net_capture_record){.data = b->frame, .len_bytes = b->len_bytes, .wire_bytes = b->len_bytes},
        1);
    p.verdict = ROCE_RX_TAKEN; /* its sums are not what this is about */
    unsigned n = explain_replay_diff(&a->p, &p, diffs);
    b->frame[at] ^= 0x10;
    return n;
}

Test(diff, fields_that_are_free_may_differ_and_others_may_not)
{
    enum { AT_IP = 14, AT_UDP = 34, AT_BTH = 42, AT_RETH = 54, AT_DATA = 70 };
    static const struct {
        uint32_t at;
        const char *layer, *field; /* NULL: free */
    } rows[] = {{AT_IP + 4, NULL, NULL},
                {AT_IP + 8, NULL, NULL},
                {AT_IP + 10, NULL, NULL},
                {AT_UDP, NULL, NULL},
                {AT_UDP + 6, NULL, NULL},
                {AT_BTH + 2, "bth", "pkey"},
                {AT_BTH + 5, "bth", "dest_qpn"},
                {AT_BTH + 11, "bth", "psn"},
                {AT_RETH, "reth", "va"},
                {AT_RETH + 8, "reth", "rkey"},
                {AT_RETH + 14, "reth", "dma_len"},
                {AT_DATA + 50, "payload", "data"},
                {0, "eth", "dst"}};
    struct story a, b;
    struct explain_field_diff diffs[EXPLAIN_DIFFS_MAX];
    tell(&a, &b);
    for (unsigned i = 0; i < array_len(rows); i++) {
        unsigned n = diff_with(&a, &b, rows[i].at, diffs);
        cr_assert_eq(n, rows[i].layer != NULL, "byte %u: %u differences", rows[i].at, n);
        if (n) {
            cr_expect_str_eq(diffs[0].layer, rows[i].layer);
            cr_expect_str_eq(diffs[0].field, rows[i].field);
        }
    }
    story_end(&a);
    story_end(&b);
}

Test(diff, data_is_told_of_by_its_first_byte_or_its_length)
{
    struct story a, b;
    struct explain_field_diff diffs[EXPLAIN_DIFFS_MAX];
    tell(&a, &b);
    cr_assert_eq(diff_with(&a, &b, 70 + 3, diffs), 1);
    cr_expect_str_eq(diffs[0].recorded, "0x03 at byte 3");
    cr_expect_str_eq(diffs[0].engine, "0x13 at byte 3");
    story_request(&b, ROCE_OP_WRITE_ONLY, 10, 104, 100);
    unsigned n = explain_replay_diff(&a.p, &b.p, diffs);
    cr_expect_str_eq(diffs[n - 1].layer, "payload");
    cr_expect_str_eq(diffs[n - 1].recorded, "100");
    cr_expect_str_eq(diffs[n - 1].engine, "104");
    story_end(&a);
    story_end(&b);
}

/* ROCE-RC-12: a requester asks for an ACK within a message when it likes, and at its end always. */
Test(diff, ackreq_is_free_within_a_message)
{
    enum { AT_ACK_REQ = 42 + 8 };
    for (unsigned is_last = 0; is_last < 2; is_last++) {
        struct story a, b;
        struct explain_field_diff diffs[EXPLAIN_DIFFS_MAX];
        story_begin(&a);
        story_begin(&b);
        story_request(&a, is_last ? ROCE_OP_SEND_LAST : ROCE_OP_SEND_MIDDLE, 10, 256, 0);
        story_request(&b, is_last ? ROCE_OP_SEND_LAST : ROCE_OP_SEND_MIDDLE, 10, 256, 0);
        b.frame[AT_ACK_REQ] ^= 0x80 ^ 0x10;
        cr_expect_eq(diff_with(&a, &b, AT_ACK_REQ, diffs), is_last);
        story_end(&a);
        story_end(&b);
    }
}

Test(diff, more_differences_than_are_told_are_counted)
{
    struct two t = {0};
    make(&t, 0, 12);
    make(&t, 1, 12);
    for (unsigned i = 0; i < 12; i++)
        memset(t.bytes[1] + 16 * i, 0xee, 16);
    cr_expect_eq(diff(&t), 36);
}
