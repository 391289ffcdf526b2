/* SPDX-License-Identifier: BSD-2-Clause */
/* Reserved bits and fields: a sender sets them to zero, and a receiver ignores them, in every message. */
#include <criterion/criterion.h>
#include <string.h>

#include "test/iwarp/world.h"

#define UNUSED_STAG 0xffffffffu /* in the place of the STag that a Send invalidates */

static struct side s;
static struct peer p;

static void setup(void)
{
    side_make(&s, 1, NULL);
    peer_meet(&p, &s, true);
}

static void teardown(void)
{
    side_free(&s);
}

TestSuite(reserved, .init = setup, .fini = teardown);

/* Says one segment with each reserved bit of DDP and RDMAP set. */
static void say(uint8_t *head, const uint8_t *end, const void *payload, uint32_t payload_bytes)
{
    head[0] |= 0x3c;
    head[1] |= 0x30;
    peer_say(&p, &s, head, end, payload, payload_bytes);
}

static void say_tagged(enum iwarp_op op, uint32_t stag, uint64_t to, const void *payload,
                       uint32_t payload_bytes)
{
    uint8_t head[IWARP_HEAD_BYTES];
    const uint8_t *end = iwarp_put_tagged(head, op, true, stag, to);
    say(head, end, payload, payload_bytes);
}

static void say_untagged(enum iwarp_op op, uint32_t qn, uint32_t msn, const void *payload,
                         uint32_t payload_bytes)
{
    uint8_t head[IWARP_HEAD_BYTES];
    const uint8_t *end = iwarp_put_untagged(
        head, op, true, &(struct iwarp_untagged){.inv_stag = UNUSED_STAG, .qn = qn, .msn = msn});
    say(head, end, payload, payload_bytes);
}

/* covers: IWARP-DDP-02, IWARP-RDMAP-01, IWARP-RDMAP-02, IWARP-RDMAP-08, IWARP-RDMAP-40 */
Test(reserved, writes_and_immediate_data)
{
    static const uint8_t imm[] = {1, 2, 3, 4, 5, 6, 7, 8};
    side_post_recv(&s, 1, 0, 8);
    side_post_recv(&s, 2, 8, 8);
    say_tagged(IWARP_OP_WRITE, s.mr->rkey, (uintptr_t)(s.memory + 100), "written", 7);
    cr_expect_arr_eq(s.memory + 100, "written", 8);
    say_untagged(IWARP_OP_IMM, IWARP_QN_SEND, 1, imm, sizeof imm);
    struct nornic_wc wc = side_expect(&s, 1, NORNIC_WC_SUCCESS);
    cr_expect(!memcmp(&wc.imm_data, imm, 4) && wc.wc_flags == NORNIC_WC_WITH_IMM);
    say_untagged(IWARP_OP_IMM_SE, IWARP_QN_SEND, 2, imm, sizeof imm);
    side_expect(&s, 2, NORNIC_WC_SUCCESS);
    peer_expect_silence(&p, &s);
}

/* covers: IWARP-DDP-02, IWARP-RDMAP-01, IWARP-RDMAP-02, IWARP-RDMAP-09, IWARP-RDMAP-10 */
Test(reserved, reads_and_their_answers)
{
    struct iwarp_ulpdu u;
    struct iwarp_untagged ddp;
    struct iwarp_read_req asked = {0x11, 0x22, 4, s.mr->rkey, (uintptr_t)s.memory}, req;
    uint8_t body[IWARP_READ_REQ_BYTES];
    iwarp_read_req_put(body, &asked);
    say_untagged(IWARP_OP_READ_REQUEST, IWARP_QN_REQUEST, 1, body, sizeof body);
    peer_expect(&p, &s, IWARP_OP_READ_RESPONSE, &u);
    side_post(&s, NORNIC_WR_RDMA_READ, 1, 200, 4, 0x5000, 7);
    iwarp_read_req_get(&req, peer_expect(&p, &s, IWARP_OP_READ_REQUEST, &u));
    iwarp_untagged_get(&ddp, u.bytes + IWARP_CTRL_BYTES);
    cr_expect_eq(ddp.inv_stag, 0);
    say_tagged(IWARP_OP_READ_RESPONSE, req.sink_stag, req.sink_to, "abcd", 4);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    cr_expect_arr_eq(s.memory + 200, "abcd", 4);
}

/* The operations that do not compare ignore the fields for it, and Swap the mask (RFC 7306 5.2.1).
 * covers: IWARP-DDP-02, IWARP-RDMAP-01, IWARP-RDMAP-02, IWARP-ATOM-08, IWARP-ATOM-12 */
Test(reserved, atomics_and_their_answers)
{
    static const struct iwarp_atomic_req rows[] = {
        {.aopcode = IWARP_FETCH_ADD, .data = 3, .compare = 99, .compare_mask = 0},
        {.aopcode = IWARP_SWAP, .data = 77, .mask = 0xf0, .compare = 99, .compare_mask = 1},
    };
    static const uint64_t results[] = {3, 77};
    struct iwarp_ulpdu u;
    struct iwarp_untagged ddp;
    struct iwarp_atomic_req req;
    uint8_t body[IWARP_ATOMIC_REQ_BYTES];
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t word;
        struct iwarp_atomic_req row = rows[i];
        row.resv28 = 0xfffffff;
        row.stag = s.mr->rkey;
        row.to = (uintptr_t)s.memory;
        memset(body, 0, sizeof body);
        iwarp_atomic_req_put(body, &row);
        say_untagged(IWARP_OP_ATOMIC_REQUEST, IWARP_QN_REQUEST, i + 1, body, sizeof body);
        peer_expect(&p, &s, IWARP_OP_ATOMIC_RESPONSE, &u);
        iwarp_untagged_get(&ddp, u.bytes + IWARP_CTRL_BYTES);
        cr_expect_eq(ddp.inv_stag, 0);
        memcpy(&word, s.memory, sizeof word);
        cr_expect_eq(word, results[i]);
    }
    side_post(&s, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 1, 200, 8, 0x5000, 7);
    iwarp_atomic_req_get(&req, peer_expect(&p, &s, IWARP_OP_ATOMIC_REQUEST, &u));
    iwarp_atomic_rsp_put(body, &(struct iwarp_atomic_rsp){req.request_id, 5});
    say_untagged(IWARP_OP_ATOMIC_RESPONSE, IWARP_QN_ATOMIC_RSP, 1, body, IWARP_ATOMIC_RSP_BYTES);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-DDP-02, IWARP-RDMAP-01, IWARP-RDMAP-02, IWARP-RDMAP-29 */
Test(reserved, terminates)
{
    const uint8_t term[IWARP_TERM_BYTES] = {0x12, 0x02, 0x1f, 0xff};
    say_untagged(IWARP_OP_TERMINATE, IWARP_QN_TERMINATE, 1, term, sizeof term);
    cr_expect(s.qp->end.has_received && s.qp->end.code == IWARP_TERM_DDP_NO_BUFFER && !s.qp->end.is_turned);
    peer_expect_silence(&p, &s);
}
