/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* memfd_create() */
#include "test/verbs/pair.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/support/netns.h"

#define PORT_NAME "udp:127.0.0.1"

struct ibv_context *pair_ctx;
struct ibv_pd *pair_pd;

/* In a network namespace of this test's own, if that may be: on the machine's loopback another user's program
 * may have the address, and then no device can be opened. */
static bool is_alone;

void pair_open_device(void)
{
    if (!is_alone)
        netns_loopback();
    is_alone = true;
    setenv("NORNIC_PORT", PORT_NAME, 1);
    int count;
    struct ibv_device **list = ibv_get_device_list(&count);
    cr_assert_eq(count, 1);
    pair_ctx = ibv_open_device(list[0]);
    ibv_free_device_list(list); /* an open device outlives it */
    cr_assert_not_null(pair_ctx, "%s cannot be opened (stderr says why)", PORT_NAME);
    pair_pd = ibv_alloc_pd(pair_ctx);
    cr_assert_not_null(pair_pd);
}

void pair_close_device(void)
{
    cr_assert_eq(ibv_dealloc_pd(pair_pd), 0);
    cr_assert_eq(ibv_close_device(pair_ctx), 0);
}

char *pair_said_by(bool (*call)(void), bool *has_failed)
{
    int said = memfd_create("said", 0), before = dup(STDERR_FILENO);
    char *text = calloc(1, 65536);
    dup2(said, STDERR_FILENO);
    *has_failed = call();
    dup2(before, STDERR_FILENO);
    ssize_t n = pread(said, text, 65535, 0);
    close(said);
    close(before);
    return n < 0 ? NULL : text;
}

/* --- traffic: two queue pairs of this device --- */

static struct ibv_qp *make_qp(struct ibv_cq_ex *cq)
{
    struct ibv_qp_init_attr_ex init = {
        .send_cq = ibv_cq_ex_to_cq(cq),
        .recv_cq = ibv_cq_ex_to_cq(cq),
        .cap =
            {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 64},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = pair_pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_BIND_MW,
    };
    struct ibv_qp *qp = ibv_create_qp_ex(pair_ctx, &init);
    cr_assert_not_null(qp);
    cr_assert_geq(init.cap.max_inline_data, 64u, "what is granted is written back");
    return qp;
}

void pair_connect(struct ibv_qp *qp, uint32_t peer)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
                               .path_mtu = IBV_MTU_1024,
                               .dest_qp_num = peer,
                               .max_dest_rd_atomic = 1,
                               .max_rd_atomic = 1,
                               .min_rnr_timer = 12,
                               .timeout = 14,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}}};
    ibv_query_gid(pair_ctx, 1, 0, &attr.ah_attr.grh.dgid);
    cr_assert_eq(
        ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
    cr_assert_eq(qp->state, IBV_QPS_INIT);
    attr.qp_state = IBV_QPS_RTR;
    cr_assert_eq(ibv_modify_qp(qp, &attr,
                               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                 0);
    attr.qp_state = IBV_QPS_RTS;
    cr_assert_eq(ibv_modify_qp(qp, &attr,
                               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                 0);
}

struct pair pair_make(void)
{
    return pair_make_on(NULL);
}

struct pair pair_make_on(struct ibv_comp_channel *channel)
{
    struct ibv_cq_init_attr_ex wanted = {.cqe = 16, .channel = channel, .wc_flags = IBV_WC_STANDARD_FLAGS};
    struct pair pair = {.cq = ibv_create_cq_ex(pair_ctx, &wanted)};
    cr_assert_not_null(pair.cq);
    for (int i = 0; i < 2; i++)
        pair.qp[i] = make_qp(pair.cq);
    pair_connect(pair.qp[0], pair.qp[1]->qp_num);
    pair_connect(pair.qp[1], pair.qp[0]->qp_num);
    return pair;
}

void pair_free(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        cr_assert_eq(ibv_destroy_qp(pair->qp[i]), 0);
    cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(pair->cq)), 0);
}

uint64_t pair_complete(struct pair *pair, unsigned n)
{
    struct ibv_poll_cq_attr attr = {0};
    uint64_t sum = 0;
    for (int waited = 0; n && waited < PAIR_WAIT_MS;) {
        int err = ibv_start_poll(pair->cq, &attr);
        if (err == ENOENT) {
            waited += poll(NULL, 0, 1) == 0;
            continue;
        }
        cr_assert_eq(err, 0);
        cr_assert_eq(pair->cq->status, IBV_WC_SUCCESS, "%s", ibv_wc_status_str(pair->cq->status));
        sum += pair->cq->wr_id;
        n--;
        ibv_end_poll(pair->cq);
    }
    cr_assert_eq(n, 0, "%u completions did not come", n);
    return sum;
}

struct ibv_wc pair_next(struct pair *pair)
{
    struct ibv_wc wc;
    for (int waited = 0; waited < PAIR_WAIT_MS; waited += poll(NULL, 0, 1) == 0) {
        int got = ibv_poll_cq(ibv_cq_ex_to_cq(pair->cq), 1, &wc);
        cr_assert_geq(got, 0);
        if (got)
            return wc;
    }
    cr_assert_fail("no completion came");
    return wc;
}
