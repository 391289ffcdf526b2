/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "rdma/transport.h"
#include "test/support/alloc.h"

struct notified {
    unsigned fired, overflowed;
};

static void on_notify(void *ctx, struct rdma_cq *cq, bool overflow)
{
    (void)cq;
    struct notified *n = ctx;
    if (overflow)
        n->overflowed++;
    else
        n->fired++;
}

static struct rdma_cq *make_cq(uint32_t capacity, struct notified *n)
{
    struct rdma_cq_config config = {.capacity = capacity, .notify = on_notify, .ctx = n};
    struct rdma_cq *cq = NULL;
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &config, &cq), 0);
    return cq;
}

static bool push(struct rdma_cq *cq, uint64_t wr_id, enum nornic_wc_status status, bool solicited)
{
    struct nornic_wc wc = {.wr_id = wr_id, .status = status};
    return rdma_cq_push(cq, &wc, solicited);
}

Test(cq, every_failing_allocation_is_enomem_and_leaks_nothing)
{
    struct rdma_cq_config config = {.capacity = 8};
    struct rdma_cq *cq = NULL;
    for (unsigned fail_at = 1;; fail_at++) {
        struct test_alloc a;
        test_alloc_init(&a);
        a.fail_at = fail_at;
        int err = rdma_cq_create(&a.mem, &config, &cq);
        if (err == 0) {
            cr_assert_eq(a.calls, fail_at - 1, "every allocation has failed once");
            cr_assert_eq(rdma_cq_destroy(cq), 0);
            cr_assert_eq(a.live, 0);
            return;
        }
        cr_assert_eq(err, -ENOMEM);
        cr_assert_eq(a.live, 0);
    }
}

Test(cq, capacity_is_judged)
{
    struct rdma_cq *cq = NULL;
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = 0}, &cq), -EINVAL);
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = (1u << 24) + 1}, &cq),
                 -EINVAL);
    struct notified n = {0};
    cq = make_cq(5, &n);
    cr_assert_geq(rdma_cq_capacity(cq), 5);
    for (uint32_t i = 0; i < rdma_cq_capacity(cq); i++)
        cr_assert(push(cq, i, NORNIC_WC_SUCCESS, false));
    cr_assert_not(push(cq, 99, NORNIC_WC_SUCCESS, false), "it holds what it says");
    rdma_cq_destroy(cq);
}

Test(cq, ROCE_CQ_1_fifo_and_polling_removes)
{
    struct notified n = {0};
    struct rdma_cq *cq = make_cq(4, &n);
    struct nornic_wc wcs[4];
    uint64_t next_in = 0, next_out = 0;
    cr_assert_eq(rdma_cq_poll(cq, wcs, 4), 0);
    for (int round = 0; round < 20; round++) { /* goes round the ring several times */
        for (int i = 0; i < 3; i++)
            cr_assert(push(cq, next_in++, NORNIC_WC_SUCCESS, false));
        for (int left = 3; left > 0;) {
            int got = rdma_cq_poll(cq, wcs, 2);
            cr_assert_eq(got, left > 2 ? 2 : left);
            for (int i = 0; i < got; i++)
                cr_assert_eq(wcs[i].wr_id, next_out++);
            left -= got;
        }
    }
    cr_assert_eq(rdma_cq_poll(cq, wcs, 4), 0);
    cr_assert_eq(n.fired + n.overflowed, 0);
    rdma_cq_destroy(cq);
}

Test(cq, every_field_arrives)
{
    struct notified n = {0};
    struct rdma_cq *cq = make_cq(1, &n);
    struct nornic_wc in = {.wr_id = UINT64_MAX,
                           .status = NORNIC_WC_REM_OP_ERR,
                           .opcode = NORNIC_WC_RECV_RDMA_WITH_IMM,
                           .vendor_err = 2,
                           .byte_len = 3,
                           .imm_data = 4,
                           .qp_num = 5,
                           .wc_flags = NORNIC_WC_WITH_IMM};
    struct nornic_wc out;
    memset(&in.wc_flags + 1, 0, sizeof in - offsetof(struct nornic_wc, wc_flags) - sizeof in.wc_flags);
    cr_assert(rdma_cq_push(cq, &in, false));
    cr_assert_eq(rdma_cq_poll(cq, &out, 1), 1);
    cr_assert_eq(memcmp(&in, &out, sizeof in), 0);
    rdma_cq_destroy(cq);
}

Test(cq, ROCE_CQ_2_overflow_loses_the_cqe_and_poll_fails_after_the_valid_ones)
{
    struct notified n = {0};
    struct rdma_cq *cq = make_cq(4, &n);
    struct nornic_wc wcs[8];
    for (uint64_t i = 0; i < 4; i++)
        cr_assert(push(cq, i, NORNIC_WC_SUCCESS, false));
    cr_assert_not(rdma_cq_has_room(cq, 1));
    cr_assert_not(rdma_cq_in_error(cq));
    cr_assert_not(push(cq, 4, NORNIC_WC_SUCCESS, false));
    cr_assert(rdma_cq_in_error(cq));
    cr_assert_eq(n.overflowed, 1);

    cr_assert_eq(rdma_cq_poll(cq, wcs, 3), 3);
    cr_assert_not(push(cq, 5, NORNIC_WC_SUCCESS, false), "the error stays, whatever room there is");
    cr_assert_not(rdma_cq_has_room(cq, 1));
    cr_assert_eq(rdma_cq_poll(cq, wcs, 8), 1);
    cr_assert_eq(wcs[0].wr_id, 3);
    cr_assert_eq(rdma_cq_poll(cq, wcs, 8), -EIO);
    cr_assert_eq(n.overflowed, 1, "raised once");
    rdma_cq_destroy(cq);
}

Test(cq, has_room_counts)
{
    struct notified n = {0};
    struct rdma_cq *cq = make_cq(4, &n);
    struct nornic_wc wc;
    cr_assert(rdma_cq_has_room(cq, 4));
    cr_assert_not(rdma_cq_has_room(cq, 5));
    push(cq, 1, NORNIC_WC_SUCCESS, false);
    cr_assert(rdma_cq_has_room(cq, 3));
    cr_assert_not(rdma_cq_has_room(cq, 4));
    rdma_cq_poll(cq, &wc, 1);
    cr_assert(rdma_cq_has_room(cq, 4));
    rdma_cq_destroy(cq);
}

Test(cq, ROCE_CQ_3_any_fires_once)
{
    struct notified n = {0};
    struct rdma_cq *cq = make_cq(8, &n);
    push(cq, 1, NORNIC_WC_SUCCESS, true);
    cr_assert_eq(n.fired, 0, "not armed");
    rdma_cq_req_notify(cq, false);
    cr_assert_eq(n.fired, 0, "what is there does not fire");
    push(cq, 2, NORNIC_WC_SUCCESS, false);
    cr_assert_eq(n.fired, 1);
    push(cq, 3, NORNIC_WC_SUCCESS, true);
    cr_assert_eq(n.fired, 1, "one shot");
    rdma_cq_destroy(cq);
}

Test(cq, ROCE_CQ_3_solicited_fires_on_se_or_error)
{
    struct notified n = {0};
    struct rdma_cq *cq = make_cq(8, &n);
    rdma_cq_req_notify(cq, true);
    push(cq, 1, NORNIC_WC_SUCCESS, false);
    cr_assert_eq(n.fired, 0);
    push(cq, 2, NORNIC_WC_SUCCESS, true);
    cr_assert_eq(n.fired, 1);
    rdma_cq_req_notify(cq, true);
    push(cq, 3, NORNIC_WC_WR_FLUSH_ERR, false);
    cr_assert_eq(n.fired, 2);
    push(cq, 4, NORNIC_WC_WR_FLUSH_ERR, false);
    cr_assert_eq(n.fired, 2);
    rdma_cq_destroy(cq);
}

Test(cq, ROCE_CQ_4_any_wins_in_either_order_and_does_not_queue)
{
    for (int any_first = 0; any_first < 2; any_first++) {
        struct notified n = {0};
        struct rdma_cq *cq = make_cq(8, &n);
        rdma_cq_req_notify(cq, !any_first);
        rdma_cq_req_notify(cq, any_first);
        push(cq, 1, NORNIC_WC_SUCCESS, false);
        cr_assert_eq(n.fired, 1, "any_first %d", any_first);
        push(cq, 2, NORNIC_WC_SUCCESS, true);
        cr_assert_eq(n.fired, 1, "any_first %d", any_first);
        rdma_cq_destroy(cq);
    }
}

Test(cq, ROCE_CQ_6_not_destroyed_while_used)
{
    struct notified n = {0};
    struct rdma_cq *cq = make_cq(8, &n);
    rdma_cq_get(cq);
    rdma_cq_get(cq);
    cr_assert_eq(rdma_cq_destroy(cq), -EBUSY);
    rdma_cq_put(cq);
    cr_assert_eq(rdma_cq_destroy(cq), -EBUSY);
    rdma_cq_put(cq);
    cr_assert_eq(rdma_cq_destroy(cq), 0);
}

Test(cq, ROCE_CQ_7_status_values_and_names)
{
    static const char *const names[] = {
        "SUCCESS",          "LOC_LEN_ERR",       "LOC_QP_OP_ERR",     "LOC_EEC_OP_ERR",
        "LOC_PROT_ERR",     "WR_FLUSH_ERR",      "MW_BIND_ERR",       "BAD_RESP_ERR",
        "LOC_ACCESS_ERR",   "REM_INV_REQ_ERR",   "REM_ACCESS_ERR",    "REM_OP_ERR",
        "RETRY_EXC_ERR",    "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR",  "REM_INV_RD_REQ_ERR",
        "REM_ABORT_ERR",    "INV_EECN_ERR",      "INV_EEC_STATE_ERR", "FATAL_ERR",
        "RESP_TIMEOUT_ERR", "GENERAL_ERR"};
    for (int i = 0; i < 22; i++)
        cr_assert_str_eq(nornic_wc_status_name((enum nornic_wc_status)i), names[i]);
    cr_assert_str_eq(nornic_wc_status_name((enum nornic_wc_status)22), "unknown status");
    cr_assert_str_eq(nornic_wc_status_name((enum nornic_wc_status) - 1), "unknown status");
}

/* covers: ROCE-QP-41 */
Test(cq, opcode_values_and_names)
{
    static const struct {
        int value;
        const char *name;
    } rows[] = {{0, "SEND"},      {1, "RDMA_WRITE"}, {2, "RDMA_READ"},           {3, "COMP_SWAP"},
                {4, "FETCH_ADD"}, {128, "RECV"},     {129, "RECV_RDMA_WITH_IMM"}};
    for (unsigned i = 0; i < array_len(rows); i++)
        cr_assert_str_eq(nornic_wc_opcode_name((enum nornic_wc_opcode)rows[i].value), rows[i].name);
    cr_assert_str_eq(nornic_wc_opcode_name((enum nornic_wc_opcode)77), "unknown opcode");
}

Test(cq, ROCE_CQ_6_resize_keeps_what_was_not_polled)
{
    struct notified n = {0};
    struct rdma_cq *cq = make_cq(4, &n);
    struct nornic_wc wcs[16];
    uint64_t in = 0, out = 0;
    for (int i = 0; i < 3; i++)
        push(cq, in++, NORNIC_WC_SUCCESS, false);
    out += (uint64_t)rdma_cq_poll(cq, wcs, 3);
    for (int i = 0; i < 4; i++) /* round the end of the ring */
        cr_assert(push(cq, in++, NORNIC_WC_SUCCESS, false));
    rdma_cq_req_notify(cq, false);
    cr_assert_eq(rdma_cq_resize(cq, 10), 0);
    cr_assert_eq(rdma_cq_capacity(cq), 16);
    cr_assert_eq(n.fired, 0);
    while (in < out + 16)
        cr_assert(push(cq, in++, NORNIC_WC_SUCCESS, false));
    cr_assert_eq(n.fired, 1, "it stayed armed");
    cr_assert_not(rdma_cq_has_room(cq, 1));
    for (int i = 0; i < 14; i++) {
        cr_assert_eq(rdma_cq_poll(cq, wcs, 1), 1);
        cr_assert_eq(wcs[0].wr_id, out++);
    }
    cr_assert_eq(rdma_cq_resize(cq, 1), -EINVAL, "two are there");
    cr_assert_eq(rdma_cq_resize(cq, 0), -EINVAL);
    cr_assert_eq(rdma_cq_resize(cq, (1u << 24) + 1), -EINVAL);
    cr_assert_eq(rdma_cq_capacity(cq), 16);
    cr_assert_eq(rdma_cq_resize(cq, 2), 0);
    cr_assert_not(rdma_cq_has_room(cq, 1));
    cr_assert_eq(rdma_cq_poll(cq, wcs, 8), 2);
    cr_assert_eq(wcs[0].wr_id, out);
    cr_assert_eq(wcs[1].wr_id, out + 1);
    rdma_cq_destroy(cq);
}

Test(cq, ROCE_CQ_6_a_resize_that_fails_changes_nothing_and_an_error_stays)
{
    struct test_alloc a;
    struct rdma_cq *cq = NULL;
    struct nornic_wc wcs[4];
    test_alloc_init(&a);
    cr_assert_eq(rdma_cq_create(&a.mem, &(struct rdma_cq_config){.capacity = 2}, &cq), 0);
    push(cq, 1, NORNIC_WC_SUCCESS, false);
    push(cq, 2, NORNIC_WC_SUCCESS, false);
    a.fail_at = a.calls + 1;
    cr_assert_eq(rdma_cq_resize(cq, 8), -ENOMEM);
    cr_assert_eq(rdma_cq_capacity(cq), 2);
    cr_assert_not(push(cq, 3, NORNIC_WC_SUCCESS, false));
    cr_assert_eq(rdma_cq_resize(cq, 8), 0);
    cr_assert(rdma_cq_in_error(cq));
    cr_assert_not(push(cq, 4, NORNIC_WC_SUCCESS, false));
    cr_assert_eq(rdma_cq_poll(cq, wcs, 4), 2);
    cr_assert_eq(rdma_cq_poll(cq, wcs, 4), -EIO);
    cr_assert_eq(rdma_cq_destroy(cq), 0);
    cr_assert_eq(a.live, 0);
}

Test(cq, ROCE_CQ_3_an_error_of_a_send_or_a_receive_is_solicited_and_success_is_not)
{
    for (int status = 0; status < 22; status++)
        for (int recv = 0; recv < 2; recv++) {
            struct notified n = {0};
            struct rdma_cq *cq = make_cq(2, &n);
            struct nornic_wc wc = {.status = (enum nornic_wc_status)status,
                                   .opcode = recv ? NORNIC_WC_RECV : NORNIC_WC_SEND};
            rdma_cq_req_notify(cq, true);
            cr_assert(rdma_cq_push(cq, &wc, false));
            cr_assert_eq(n.fired, status != NORNIC_WC_SUCCESS, "status %d", status);
            rdma_cq_destroy(cq);
        }
}
