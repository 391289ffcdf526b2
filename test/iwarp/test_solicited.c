/* SPDX-License-Identifier: BSD-2-Clause */
/* The event of a message with the solicited event: raised by four opcodes of six, after delivery. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/iwarp/world.h"

static struct side s;
static struct peer p;

static void setup(void)
{
    side_make(&s, 1, NULL);
    peer_meet(&p, &s, false);
}

static void teardown(void)
{
    side_free(&s);
}

TestSuite(solicited, .init = setup, .fini = teardown);

/* A region that a peer may invalidate; its key. */
static uint32_t make_key(struct rdma_mr **mr)
{
    struct rdma_fast_reg reg = {.addr = s.memory, .len_bytes = 64, .access = ALL_RIGHTS};
    cr_assert_eq(rdma_mr_alloc_fast(s.pd, 4096, mr), 0);
    reg.key = (*mr)->rkey;
    cr_assert_eq(rdma_mr_fast_reg(s.domain, s.pd, &reg), 0);
    return reg.key;
}

/* covers: IWARP-RDMAP-21, IWARP-RDMAP-40 */
Test(solicited, the_event_is_of_those_messages_that_ask_for_it)
{
    static const struct {
        enum iwarp_op op;
        bool invalidates, is_solicited;
    } rows[] = {
        {IWARP_OP_SEND, false, false},      {IWARP_OP_SEND_SE, false, true}, {IWARP_OP_SEND_INV, true, false},
        {IWARP_OP_SEND_SE_INV, true, true}, {IWARP_OP_IMM, false, false},    {IWARP_OP_IMM_SE, false, true},
    };
    for (uint32_t i = 0; i < array_len(rows); i++) {
        struct rdma_mr *mr = NULL;
        const struct iwarp_untagged ddp = {.msn = i + 1, .inv_stag = rows[i].invalidates ? make_key(&mr) : 0};
        s.notified = 0;
        rdma_cq_req_notify(s.cq, true);
        side_post_recv(&s, i, 64, 8);
        peer_say_untagged(&p, &s, rows[i].op, true, &ddp, "12345678", 8);
        cr_expect_eq(s.notified, rows[i].is_solicited, "%s", iwarp_opcode_name(rows[i].op));
        side_expect(&s, i, NORNIC_WC_SUCCESS);
        if (mr)
            rdma_mr_dereg(mr);
    }
}

/* covers: IWARP-RDMAP-21 */
Test(solicited, the_event_waits_for_the_last_segment)
{
    rdma_cq_req_notify(s.cq, true);
    side_post_recv(&s, 1, 0, 8);
    peer_say_untagged(&p, &s, IWARP_OP_SEND_SE, false, &(struct iwarp_untagged){.msn = 1}, "1234", 4);
    cr_expect_eq(s.notified, 0);
    peer_say_untagged(&p, &s, IWARP_OP_SEND_SE, true, &(struct iwarp_untagged){.msn = 1, .mo = 4}, "5678", 4);
    cr_expect_eq(s.notified, 1);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
}
