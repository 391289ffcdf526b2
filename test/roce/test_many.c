/* SPDX-License-Identifier: BSD-2-Clause */
/* A device with 10,000 queue pairs: they all work, idle ones are on no list and have no timer, and what
 * befalls one CQ or one address befalls only those that use it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "roce/dev/inner.h"
#include "test/support/many.h"
#include "test/support/rc_masks.h"

#define QPS 10000u

TestSuite(many, .timeout = 60);

/* Made, used, all of them at once, and freed to the last byte. */
Test(many, ten_thousand_are_made_used_and_freed)
{
    struct many *m = many_new(QPS);
    for (uint32_t i = 0; i < QPS; i++)
        cr_assert_eq(many_post_recv(m, i), 0);
    for (uint32_t i = 0; i < QPS; i += 2)
        cr_assert_eq(many_post_send(m, i), 0);
    many_run(m);
    cr_assert_eq(many_poll(m), QPS, "a send and a receive for each pair");
    for (uint32_t i = 0; i < QPS; i += 2)
        cr_assert_arr_eq(m->mem + i * MANY_BYTES, m->mem + (i + 1) * MANY_BYTES, MANY_BYTES, "pair %u", i);
    for (uint32_t i = 1; i < QPS; i += 2)
        cr_assert_eq(many_post_send(m, i), 0);
    many_run(m);
    cr_assert_eq(many_poll(m), QPS);
    cr_assert_eq(m->events[NORNIC_EVENT_COMM_EST], 0, "RTS came before the first packet");
    many_free(m);
}

/* QPNs are all different and valid, and rest before they are given again.
 * covers: ROCE-QP-34 */
Test(many, ROCE_QP_34_numbers_rest_before_they_are_given_again)
{
    struct many *m = many_new(QPS);
    uint32_t max_qp = m->dev->config.max_qp;
    uint8_t *seen = calloc(1, 1u << 24);
    for (uint32_t i = 0; i < QPS; i++) {
        cr_assert_geq(roce_qp_num(m->qps[i]), 17);
        cr_assert_eq(seen[roce_qp_num(m->qps[i])]++, 0);
    }
    /* One QP after the other: its number comes back only when every free one was given in between. */
    struct roce_qp_config config = {
        .type = NORNIC_QPT_RC, .pd = m->pd, .send_cq = m->cq, .recv_cq = m->cq, .caps = {.max_send_wr = 1}};
    for (uint32_t i = 0; i < max_qp - QPS; i++) {
        struct roce_qp *qp;
        cr_assert_eq(roce_qp_create(m->dev, &config, &qp), 0);
        cr_assert_eq(seen[roce_qp_num(qp)]++, 0, "after %u", i);
        roce_qp_destroy(qp);
    }
    free(seen);
    many_free(m);
}

/* An old number leads to the same slot, and not to the QP that has the slot now.
 * covers: ROCE-QP-34 */
Test(many, ROCE_QP_34_the_number_of_a_qp_that_is_gone_names_none)
{
    struct many *m = many_new(2);
    struct roce_qp_config config = {
        .type = NORNIC_QPT_RC, .pd = m->pd, .send_cq = m->cq, .recv_cq = m->cq, .caps = {.max_send_wr = 1}};
    struct roce_qp *first, *qp;
    cr_assert_eq(roce_qp_create(m->dev, &config, &first), 0);
    uint32_t old_qpn = roce_qp_num(first), slot = first->slot;
    cr_assert_eq(roce_dev_find_qp(m->dev, old_qpn), first);
    roce_qp_destroy(first);
    cr_assert_null(roce_dev_find_qp(m->dev, old_qpn));
    for (uint32_t i = 0; i < m->dev->config.max_qp; i++) {
        cr_assert_eq(roce_qp_create(m->dev, &config, &qp), 0);
        if (qp->slot == slot)
            break;
        roce_qp_destroy(qp);
    }
    cr_assert_eq(qp->slot, slot);
    cr_assert_null(roce_dev_find_qp(m->dev, old_qpn));
    cr_assert_eq(roce_dev_find_qp(m->dev, roce_qp_num(qp)), qp);
    roce_qp_destroy(qp);
    many_free(m);
}

/* The structures that each packet and each timer walks do not know the idle ones. */
Test(many, idle_ones_are_on_no_list_and_have_no_timer)
{
    struct many *m = many_new(QPS);
    cr_assert_not(roce_dev_tx_pending(m->dev));
    cr_assert_eq(roce_dev_deadline_ns(m->dev), NET_TIME_NONE);
    cr_assert_eq(m->dev->timers.count, 0);
    /* One that has no receive waits: one timer, that of the RNR NAK. */
    cr_assert_eq(many_post_send(m, 4), 0);
    many_run(m);
    cr_assert_eq(m->dev->timers.count, 1);
    cr_assert_eq(many_post_recv(m, 5), 0);
    m->now_ns = roce_dev_deadline_ns(m->dev);
    roce_dev_expire(m->dev, m->now_ns);
    many_run(m);
    cr_assert_eq(many_poll(m), 2);
    cr_assert_eq(m->dev->timers.count, 0);
    many_free(m);
}

/* As many timers as there are QPs, and each fires.
 * covers: ROCE-RC-49 */
Test(many, every_one_may_have_its_timer_at_once)
{
    struct many *m = many_new(QPS);
    for (uint32_t i = 0; i < QPS; i++)
        cr_assert_eq(many_post_send(m, i), 0);
    many_run(m);
    cr_assert_eq(m->dev->timers.count, QPS);
    for (uint32_t i = 0; i < QPS; i++)
        cr_assert_eq(many_post_recv(m, i), 0);
    m->now_ns = roce_dev_deadline_ns(m->dev);
    roce_dev_expire(m->dev, m->now_ns);
    many_run(m);
    cr_assert_eq(many_poll(m), 2 * QPS);
    cr_assert_eq(m->dev->timers.count, 0);
    many_free(m);
}

/* Removing the address ends them all, with an event each.
 * covers: ROCE-AH-10, ROCE-EV-2 */
Test(many, the_address_goes_and_all_end)
{
    struct many *m = many_new(QPS);
    cr_assert_eq(roce_dev_gid_remove(m->dev, 0, m->now_ns), 0);
    for (uint32_t i = 0; i < QPS; i++)
        cr_assert_eq(roce_qp_state(m->qps[i]), NORNIC_QPS_ERR);
    cr_assert_eq(m->events[NORNIC_EVENT_QP_FATAL], QPS);
    many_free(m);
}

/* A QP that completes into `cq`, in RESET. */
static struct roce_qp *fresh_qp(struct many *m, struct rdma_cq *cq)
{
    struct roce_qp_config config = {.type = NORNIC_QPT_RC,
                                    .pd = m->pd,
                                    .send_cq = cq,
                                    .recv_cq = cq,
                                    .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_recv_sge = 1}};
    struct roce_qp *qp;
    cr_assert_eq(roce_qp_create(m->dev, &config, &qp), 0);
    return qp;
}

/* The same in INIT, with the attributes of the QP `peer`. */
static struct roce_qp *overflow_qp(struct many *m, struct rdma_cq *cq, uint32_t peer)
{
    struct roce_qp *qp = fresh_qp(m, cq);
    struct nornic_qp_attr attr;
    roce_qp_query(m->qps[peer ^ 1], &attr, NULL);
    attr.state = NORNIC_QPS_INIT;
    cr_assert_eq(roce_qp_modify(qp, &attr, NORNIC_QP_STATE | RC_INIT_MASK, m->now_ns), 0);
    return qp;
}

/* The overflow of a CQ ends the QPs that complete into it, by either queue, and no other; each of them says
 * QP_FATAL, since no completion can, and the CQ says CQ_ERR once. One in RESET has nothing to complete.
 * covers: ROCE-CQ-2, ROCE-EV-1, ROCE-EV-2, ROCE-RS-16 */
Test(many, ROCE_CQ_2_an_overflow_ends_the_users_of_that_cq_only)
{
    struct many *m = many_new(100);
    struct rdma_cq *small;
    struct roce_qp *users[3];
    cr_assert_eq(rdma_cq_create(&m->alloc.mem, &(struct rdma_cq_config){.capacity = 1}, &small), 0);
    for (uint32_t i = 0; i < 3; i++) {
        users[i] = overflow_qp(m, small, i);
        for (uint32_t j = 0; j < 2; j++)
            cr_assert_eq(roce_post_recv(users[i], &(struct nornic_recv_wr){.wr_id = j}, NULL), 0);
    }
    struct roce_qp *in_reset = fresh_qp(m, small);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_ERR};
    cr_assert_eq(roce_qp_modify(users[1], &attr, NORNIC_QP_STATE, m->now_ns), 0); /* two flushes, one fits */
    cr_assert_eq(m->events[NORNIC_EVENT_CQ_ERR], 1);
    roce_qp_destroy(users[0]); /* while it waits for its end */
    many_run(m);
    roce_dev_expire(m->dev, m->now_ns);
    cr_assert_eq(roce_qp_state(users[2]), NORNIC_QPS_ERR);
    cr_assert_eq(m->events[NORNIC_EVENT_QP_FATAL], 1, "users[1] was in ERR, users[0] is gone");
    cr_assert_eq(m->events[NORNIC_EVENT_CQ_ERR], 1);
    cr_assert_eq(roce_qp_state(in_reset), NORNIC_QPS_RESET);
    for (uint32_t i = 0; i < 100; i++)
        cr_assert_eq(roce_qp_state(m->qps[i]), NORNIC_QPS_RTS);
    roce_qp_destroy(users[1]);
    roce_qp_destroy(users[2]);
    roce_qp_destroy(in_reset);
    cr_assert_eq(rdma_cq_destroy(small), 0);
    many_free(m);
}

/* The first QPs of `m` in the states that an end must spare, RESET, INIT and ERR, and in RTR. */
static void spread_states(struct many *m)
{
    static const enum nornic_qp_state states[] = {NORNIC_QPS_RESET, NORNIC_QPS_INIT, NORNIC_QPS_ERR,
                                                  NORNIC_QPS_RTR};
    const uint32_t to_rtr = NORNIC_QP_STATE | RC_RTR_MASK;
    for (uint32_t i = 0; i < 4; i++) {
        struct nornic_qp_attr attr, before;
        roce_qp_query(m->qps[i], &before, NULL);
        attr = before;
        attr.state = NORNIC_QPS_RESET;
        cr_assert_eq(roce_qp_modify(m->qps[i], &attr, NORNIC_QP_STATE, m->now_ns), 0);
        if (states[i] == NORNIC_QPS_RESET)
            continue;
        attr.state = NORNIC_QPS_INIT;
        cr_assert_eq(roce_qp_modify(m->qps[i], &attr, NORNIC_QP_STATE | RC_INIT_MASK, m->now_ns), 0);
        attr.state = states[i];
        if (states[i] != NORNIC_QPS_INIT)
            cr_assert_eq(roce_qp_modify(m->qps[i], &attr,
                                        states[i] == NORNIC_QPS_RTR ? to_rtr : NORNIC_QP_STATE, m->now_ns),
                         0);
    }
}

/* An address that goes ends the QPs that send from it, also their answers in RTR; in RESET and INIT none
 * does yet, and in ERR there is nothing to end. covers: ROCE-AH-10 */
Test(many, ROCE_AH_10_who_is_not_connected_is_spared)
{
    struct many *m = many_new(8);
    spread_states(m);
    cr_assert_eq(roce_dev_gid_remove(m->dev, 0, m->now_ns), 0);
    cr_assert_eq(roce_qp_state(m->qps[0]), NORNIC_QPS_RESET);
    cr_assert_eq(roce_qp_state(m->qps[1]), NORNIC_QPS_INIT);
    for (uint32_t i = 2; i < 8; i++)
        cr_assert_eq(roce_qp_state(m->qps[i]), NORNIC_QPS_ERR);
    cr_assert_eq(m->events[NORNIC_EVENT_QP_FATAL], 5, "that in ERR has ended already");
    many_free(m);
}
