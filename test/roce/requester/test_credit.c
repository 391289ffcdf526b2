/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 7.3: end-to-end credits, with a peer that gives them. */
#include <criterion/criterion.h>

#include "test/support/script.h"

static struct script *s;

/* One SEND is out and acknowledged with `credits` more: SSN 1 is done, MSN is 1. */
static void begin(uint8_t code)
{
    struct script_config config = script_defaults();
    s = script_new(&config);
    script_post(s, 0, NORNIC_WR_SEND, 0, 4);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    script_ack(s, script_sq(s, 0), code, 1);
    expect_wc(s, send_cq, 0, NORNIC_WC_SUCCESS);
    expect_nothing(s);
}

static void teardown(void)
{
    script_free(s);
}

TestSuite(requester_credit, .fini = teardown);

static unsigned count_out(const struct roce_pkt **last)
{
    unsigned n = 0;
    for (const struct roce_pkt *p; (p = script_next(s)); n++)
        *last = p;
    return n;
}

/* covers: ROCE-RC-20, ROCE-RC-23 */
Test(requester_credit, ROCE_RC_20_unlimited)
{
    begin(ROCE_SYNDROME_ACK_UNLIMITED);
    const struct roce_pkt *last = NULL;
    for (uint64_t i = 1; i <= 10; i++)
        script_post(s, i, NORNIC_WR_SEND, 0, 4);
    cr_assert_eq(count_out(&last), 10);
    script_ack(s, script_sq(s, 10), 0, 11); /* a code 0 comes too late to limit anything */
    for (uint64_t i = 11; i <= 20; i++)
        script_post(s, i, NORNIC_WR_SEND, 0, 4);
    cr_assert_eq(count_out(&last), 10);
}

/* covers: ROCE-RC-21, ROCE-RC-22, ROCE-RC-5 */
Test(requester_credit, ROCE_RC_21_sends_stop_at_the_limit)
{
    begin(2); /* MSN 1 + 2 credits: LSN 3 */
    const struct roce_pkt *last = NULL;
    for (uint64_t i = 1; i <= 6; i++)
        script_post(s, i, NORNIC_WR_SEND, 0, 4); /* SSN 2..7 */
    unsigned n = count_out(&last);
    cr_assert(n == 2 || n == 3, "SSN 2 and 3, and one probe at the most: %u", n);
    cr_assert_eq(last->bth.ack_req, 1);
    script_advance(s, 10 * SCRIPT_MS);
    expect_nothing(s);
}

Test(requester_credit, ROCE_RC_21_an_ack_gives_new_credits)
{
    begin(2);
    const struct roce_pkt *last = NULL;
    for (uint64_t i = 1; i <= 6; i++)
        script_post(s, i, NORNIC_WR_SEND, 0, 4);
    count_out(&last);
    script_ack(s, script_sq(s, 2), 4, 3); /* MSN 3 + 4: LSN 7, all of them */
    count_out(&last);
    cr_assert_eq(last->bth.psn, script_sq(s, 6));
    expect_nothing(s);
}

/* covers: ROCE-RC-21, ROCE-RC-30 */
Test(requester_credit, ROCE_RC_21_a_duplicate_ack_gives_new_credits)
{
    begin(0); /* LSN 1 */
    const struct roce_pkt *last = NULL;
    for (uint64_t i = 1; i <= 6; i++)
        script_post(s, i, NORNIC_WR_SEND, 0, 4);
    cr_assert_leq(count_out(&last), 1);
    script_ack(s, script_sq(s, 0), 6 /* 8 credits */, 1);
    count_out(&last);
    cr_assert_not_null(last);
    cr_assert_eq(last->bth.psn, script_sq(s, 6));
}

Test(requester_credit, ROCE_RC_21_the_limit_never_moves_back)
{
    begin(4); /* LSN 5 */
    const struct roce_pkt *last = NULL;
    script_ack(s, script_sq(s, 0), 0, 1);
    for (uint64_t i = 1; i <= 4; i++)
        script_post(s, i, NORNIC_WR_SEND, 0, 4); /* SSN 2..5 */
    cr_assert_eq(count_out(&last), 4);
}

Test(requester_credit, ROCE_RC_21_writes_and_reads_are_not_limited)
{
    begin(0);                                      /* LSN 1 */
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4); /* SSN 2, LSN 2 */
    script_post(s, 2, NORNIC_WR_RDMA_READ, 0, 4);  /* SSN 3, LSN 3 */
    script_post(s, 3, NORNIC_WR_RDMA_WRITE, 0, 4); /* SSN 4, LSN 4 */
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 2));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 3));
    script_post(s, 4, NORNIC_WR_SEND, 0, 4); /* SSN 5: the probe */
    script_post(s, 5, NORNIC_WR_SEND, 0, 4); /* SSN 6: must wait */
    const struct roce_pkt *last = NULL;
    unsigned n = count_out(&last);
    cr_assert_leq(n, 1);
    cr_assert(n == 0 || last->bth.psn == script_sq(s, 4));
}

/* covers: ROCE-RC-21, ROCE-RC-10 */
Test(requester_credit, ROCE_RC_21_write_with_immediate_is_limited)
{
    begin(0);
    const struct roce_pkt *last = NULL;
    for (uint64_t i = 1; i <= 4; i++)
        script_post(s, i, NORNIC_WR_RDMA_WRITE_WITH_IMM, 0, 4);
    script_post(s, 5, NORNIC_WR_RDMA_WRITE, 0, 4); /* nothing overtakes */
    cr_assert_leq(count_out(&last), 1);
}

Test(requester_credit, ROCE_RC_22_a_probe_keeps_it_alive)
{
    begin(0);
    for (uint64_t i = 1; i <= 10; i++)
        script_post(s, i, NORNIC_WR_SEND, 0, 2000);
    for (uint32_t i = 1; i <= 10; i++) {
        const struct roce_pkt *p = expect_op(s, ROCE_OP_SEND_FIRST, script_sq(s, 2 * i - 1));
        p = expect_op(s, ROCE_OP_SEND_LAST, script_sq(s, 2 * i));
        cr_assert_eq(p->bth.ack_req, 1);
        expect_nothing(s);
        script_ack(s, script_sq(s, 2 * i), 0, 1 + i); /* still no credit */
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    }
    expect_nothing(s);
}

/* covers: ROCE-RC-22, ROCE-RC-48 */
Test(requester_credit, ROCE_RC_22_a_probe_may_meet_an_rnr_nak)
{
    begin(0);
    script_post(s, 1, NORNIC_WR_SEND, 0, 4);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 1));
    script_ack(s, script_sq(s, 1), ROCE_SYNDROME_RNR | 1, 1);
    expect_nothing(s);
    script_advance(s, 10 * SCRIPT_US);
    script_advance(s, 30 * SCRIPT_US);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 1));
    script_ack(s, script_sq(s, 1), 0, 2);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

/* What comes for the PSN before the oldest one outstanding may be the newest ACK once more; a NAK or RNR NAK
 * there is a ghost, and the low bits of its syndrome are no credits. covers: ROCE-RC-21, ROCE-RC-30 */
Test(requester_credit, ROCE_RC_30_a_ghost_that_is_no_ack_gives_no_credits)
{
    static const uint8_t syndromes[] = {ROCE_SYNDROME_NAK_PSN_SEQ, ROCE_SYNDROME_NAK_INV_REQ,
                                        ROCE_SYNDROME_NAK_REM_ACC, ROCE_SYNDROME_RNR | 12};
    begin(0); /* LSN 1 */
    const struct roce_pkt *last = NULL;
    for (uint64_t i = 1; i <= 6; i++)
        script_post(s, i, NORNIC_WR_SEND, 0, 4);
    cr_assert_leq(count_out(&last), 1);
    for (unsigned i = 0; i < sizeof syndromes; i++) {
        script_ack(s, script_sq(s, 0), syndromes[i], 100);
        expect_nothing(s);
        expect_state(s, NORNIC_QPS_RTS);
    }
    expect_verdict(s, ROCE_RX_DROP_GHOST, sizeof syndromes);
}
