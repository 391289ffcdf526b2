/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be seen of a queue pair from outside: whom it speaks to, and what it holds. */
#include <criterion/criterion.h>

#include "test/api/ends.h"

TestSuite(look, .timeout = 60);

static void expect_outstanding(const struct end *e, uint32_t sends, uint32_t recvs)
{
    uint32_t has_sends, has_recvs;
    nornic_qp_outstanding(e->qp, &has_sends, &has_recvs);
    cr_expect_eq(has_sends, sends, "%u sends", has_sends);
    cr_expect_eq(has_recvs, recvs, "%u receives", has_recvs);
}

Test(look, what_is_posted_and_not_complete_is_outstanding)
{
    struct end ends[2];
    ends_open(ends, NULL);
    expect_outstanding(&ends[0], 0, 0);
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(ends_post_recv(&ends[1], i, i * 64, 64), 0);
    expect_outstanding(&ends[1], 0, 3);
    cr_assert_eq(ends_post_send(&ends[0], 7, 0, 64), 0);
    cr_assert_eq(ends_wait(&ends[1]).status, NORNIC_WC_SUCCESS);
    cr_assert_eq(ends_wait(&ends[0]).status, NORNIC_WC_SUCCESS);
    expect_outstanding(&ends[1], 0, 2);
    expect_outstanding(&ends[0], 0, 0);
    for (unsigned i = 0; i < 5; i++) /* two find a receive */
        cr_assert_eq(ends_post_send(&ends[0], i, 0, 64), 0);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(ends_wait(&ends[0]).status, NORNIC_WC_SUCCESS);
    expect_outstanding(&ends[0], 3, 0);
    ends_close(ends);
}

Test(look, a_connected_queue_pair_has_a_peer)
{
    struct end ends[2];
    struct nornic_addr addr;
    uint32_t qpn;
    const struct nornic_qp_attr to_err = {.state = NORNIC_QPS_ERR}, to_reset = {.state = NORNIC_QPS_RESET};
    ends_open(ends, NULL);
    cr_assert(nornic_qp_peer(ends[0].qp, &addr, &qpn));
    cr_expect_eq(qpn, ends[1].address.qpn);
    cr_expect(nornic_addr_equal(&addr, &ends[1].address.addr));
    cr_assert_eq(nornic_qp_modify(ends[0].qp, &to_err, NORNIC_QP_STATE), 0);
    cr_expect(nornic_qp_peer(ends[0].qp, &addr, &qpn), "whom it lost");
    cr_assert_eq(nornic_qp_modify(ends[0].qp, &to_reset, NORNIC_QP_STATE), 0);
    cr_expect_not(nornic_qp_peer(ends[0].qp, &addr, &qpn));
    ends_close(ends);
}
