/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams between two devices with a progress thread each, posted and polled by this one. */
#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "test/host/pair.h"

#define QKEY     0x77u
#define PAYLOAD  200u
#define SLOT     256u /* bytes of memory for each datagram, sent or received */
#define SLOTS    64u
#define MESSAGES 3000u

static struct roce_qp *make_ud(struct pair_side *s)
{
    struct roce_qp_config config = {
        .type = NORNIC_QPT_UD,
        .pd = s->pd,
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .caps = {.max_send_wr = SLOTS, .max_recv_wr = SLOTS, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = true};
    struct nornic_qp_attr attr = {.port = 1, .qkey = QKEY};
    static const enum nornic_qp_state states[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    static const uint32_t masks[] = {NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_QKEY, 0,
                                     NORNIC_QP_SQ_PSN};
    struct roce_qp *qp;
    host_dev_lock(s->dev);
    cr_assert_eq(roce_qp_create(host_dev_engine(s->dev), &config, &qp), 0);
    for (int i = 0; i < 3; i++) {
        attr.state = states[i];
        cr_assert_eq(roce_qp_modify(qp, &attr, masks[i] | NORNIC_QP_STATE, host_now_ns()), 0);
    }
    host_dev_unlock(s->dev);
    return qp;
}

/* A handle from side 0 to side 1, as the pair's own QP goes there. */
static struct nornic_ah *make_ah(struct pair *pair)
{
    struct pair_side *s = &pair->side[0];
    struct nornic_qp_attr attr;
    struct nornic_ah *ah;
    host_dev_lock(s->dev);
    roce_qp_query(s->qp, &attr, NULL);
    cr_assert_eq(roce_ah_create(host_dev_engine(s->dev), s->pd, &attr.av, &ah), 0);
    host_dev_unlock(s->dev);
    return ah;
}

static struct nornic_sge slot_of(const struct pair_side *s, uint32_t i)
{
    return (struct nornic_sge){(uintptr_t)s->memory + (size_t)(i % SLOTS) * SLOT, SLOT, s->mr->lkey};
}

static void post_recv(const struct pair_side *s, struct roce_qp *qp, uint32_t i)
{
    struct nornic_sge sge = slot_of(s, i);
    cr_assert_eq(
        roce_post_recv(qp, &(struct nornic_recv_wr){.wr_id = i, .sg_list = &sge, .num_sge = 1}, NULL), 0);
}

static void post_send(const struct pair_side *s, struct roce_qp *qp, struct nornic_ah *ah, uint32_t to,
                      uint32_t i)
{
    struct nornic_sge sge = slot_of(s, i);
    sge.len_bytes = PAYLOAD;
    memset((void *)(uintptr_t)sge.addr, (int)(i & 0xff), PAYLOAD);
    struct nornic_send_wr wr = {.wr_id = i,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_SEND,
                                .ud = {.ah = ah, .remote_qpn = to, .remote_qkey = QKEY}};
    cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
}

static struct nornic_wc wait_for(struct pair_side *s)
{
    struct nornic_wc wc;
    uint64_t end_ns = host_now_ns() + 10 * NS_PER_S;
    while (rdma_cq_poll(s->cq, &wc, 1) == 0) {
        cr_assert_lt(host_now_ns(), end_ns, "no completion");
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    return wc;
}

/* Half of the slots are in flight at a time, so that each datagram finds a receive, and its bytes stay. */
Test(datagram, ROCE_UD_1_between_threads, .timeout = 60)
{
    struct pair pair;
    pair_open(&pair, false);
    struct pair_side *from = &pair.side[0], *to = &pair.side[1];
    struct roce_qp *a = make_ud(from), *b = make_ud(to);
    struct nornic_ah *ah = make_ah(&pair);
    uint32_t sent = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        post_recv(to, b, i);
    for (uint32_t received = 0; received < MESSAGES; received++) {
        while (sent < MESSAGES && sent - received < SLOTS / 2)
            post_send(from, a, ah, roce_qp_num(b), sent++);
        struct nornic_wc wc = wait_for(to);
        cr_assert_eq(wc.wr_id, received);
        cr_assert_eq(wc.byte_len, 40 + PAYLOAD);
        const uint8_t *bytes = to->memory + (size_t)(received % SLOTS) * SLOT + 40;
        for (uint32_t k = 0; k < PAYLOAD; k++)
            cr_assert_eq(bytes[k], received & 0xff);
        post_recv(to, b, received + SLOTS);
        wait_for(from);
    }
    host_dev_lock(from->dev);
    cr_assert_eq(roce_ah_destroy(ah), 0);
    cr_assert_eq(roce_qp_destroy(a), 0);
    host_dev_unlock(from->dev);
    host_dev_lock(to->dev);
    cr_assert_eq(roce_qp_destroy(b), 0);
    host_dev_unlock(to->dev);
    pair_close(&pair);
}

/* While the datagram waits or is sent the handle may be refused; once its completion is seen it may not. */
Test(datagram, ROCE_AH_3_a_completed_send_has_let_go_of_its_handle, .timeout = 60)
{
    struct pair pair;
    pair_open(&pair, false);
    struct pair_side *from = &pair.side[0];
    struct roce_qp *qp = make_ud(from);
    for (uint64_t i = 0; i < 500; i++) {
        struct nornic_ah *ah = make_ah(&pair);
        struct nornic_send_wr wr = {.wr_id = i,
                                    .opcode = NORNIC_WR_SEND,
                                    .ud = {.ah = ah, .remote_qpn = 0xabcd, .remote_qkey = QKEY}};
        cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
        cr_assert_eq(wait_for(from).wr_id, i);
        host_dev_lock(from->dev);
        cr_assert_eq(roce_ah_destroy(ah), 0);
        host_dev_unlock(from->dev);
    }
    host_dev_lock(from->dev);
    cr_assert_eq(roce_qp_destroy(qp), 0);
    host_dev_unlock(from->dev);
    pair_close(&pair);
}
