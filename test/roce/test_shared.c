/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices at one address that are not linked: those of two processes. What is for the other leaves by the
 * port, as the kernel has it to give to whom it is for. */
#include <criterion/criterion.h>

#include "test/support/island.h"

#define QKEY 0x1234u

static void send_to(struct island *w, struct roce_qp *qp, struct nornic_ah *ah, uint32_t qpn)
{
    struct nornic_sge sge = island_sge(w, 0, 0, 100);
    struct nornic_send_wr wr = {.wr_id = qpn,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_SEND,
                                .ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY}};
    cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
    island_run(w);
}

Test(shared, datagrams_to_another_process_leave)
{
    struct island *w = island_new_shared(2);
    struct roce_qp *a = island_qp(w, 0, NORNIC_QPT_UD), *b = island_qp(w, 0, NORNIC_QPT_UD);
    struct nornic_addr addr = island_addr(false, 1);
    struct nornic_ah *ah = island_ah(w, 0, &addr);
    island_raise(w, a, QKEY);
    island_raise(w, b, QKEY);
    island_recv(w, 0, b, 7, 4096, 1000);
    send_to(w, a, ah, roce_qp_num(b));
    cr_expect_eq(w->dev[0].left, 0, "its own stay inside");
    island_wc(w, 0, 7, NORNIC_WC_SUCCESS);
    send_to(w, a, ah, 1063);
    cr_expect_eq(w->dev[0].left, 0, "the last of its range, though there is no such queue pair");
    static const uint32_t others[] = {999, 1064, 2000, 0xfffffe, 1};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        send_to(w, a, ah, others[i]);
        cr_expect_eq(w->dev[0].left, i + 1, "to %u", others[i]);
        cr_expect(nornic_addr_equal(&w->dev[0].to, &addr));
    }
    w->dev[0].left = 0;
    cr_assert_eq(roce_ah_destroy(ah), 0);
    cr_assert_eq(roce_qp_destroy(a), 0);
    cr_assert_eq(roce_qp_destroy(b), 0);
    island_free(w);
}

Test(shared, a_connection_to_another_process_leaves)
{
    struct island *w = island_new_shared(2);
    struct roce_qp *qps[3];
    struct nornic_addr addr = island_addr(false, 1);
    struct nornic_sge sge = island_sge(w, 0, 0, 100);
    struct nornic_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_SEND};
    for (unsigned i = 0; i < 3; i++)
        qps[i] = island_qp(w, 0, NORNIC_QPT_RC);
    island_connect(w, qps[0], &addr, roce_qp_num(qps[1]));
    island_connect(w, qps[1], &addr, roce_qp_num(qps[0]));
    island_connect(w, qps[2], &addr, 2000);
    island_recv(w, 0, qps[1], 7, 4096, 1000);
    cr_assert_eq(roce_post_send(qps[0], &wr, NULL), 0);
    island_run(w);
    island_wc(w, 0, 7, NORNIC_WC_SUCCESS);
    cr_expect_eq(w->dev[0].left, 0);
    cr_assert_eq(roce_post_send(qps[2], &wr, NULL), 0);
    island_run(w);
    cr_expect_eq(w->dev[0].left, 1);
    w->dev[0].left = 0;
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(roce_qp_destroy(qps[i]), 0);
    island_free(w);
}

Test(shared, a_first_number_is_drawn_within_the_range)
{
    struct test_random rnd = {.state = 3};
    struct rdma_random random = test_random_source(&rnd);
    uint32_t lowest = UINT32_MAX, highest = 0;
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t first = roce_draw_first_qpn(&random, 0, 0x4d0000, 0x10000);
        lowest = first < lowest ? first : lowest;
        highest = first > highest ? first : highest;
    }
    cr_expect_geq(lowest, 0x4d0000);
    cr_expect_lt(lowest, 0x4d1000);
    cr_expect_leq(highest, 0x4e0000 - 16384);
    cr_expect_gt(highest, 0x4e0000 - 16384 - 0x1000);
    cr_expect_geq(roce_draw_first_qpn(&random, 0, 0, 0x10000), 17);
    cr_expect_eq(roce_draw_first_qpn(&random, 0x10000, 0x4d0000, 0x10000), 0x4d0000);
}
