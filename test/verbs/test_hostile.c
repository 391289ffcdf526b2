/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that fork, that race, and that end in the middle: nobody else may notice. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/verbs/pair.h"

TestSuite(hostile, .init = pair_open_device, .timeout = 120);

static char memory[4096];

static struct ibv_mr *reg(void)
{
    return ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory,
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

static int post_write(struct ibv_qp *qp, struct ibv_mr *mr, uint32_t bytes)
{
    struct ibv_sge piece = {.addr = (uintptr_t)memory, .length = bytes, .lkey = mr->lkey};
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = &piece,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .wr.rdma = {.remote_addr = (uintptr_t)memory + 2048, .rkey = mr->rkey}},
                       *refused;
    return ibv_post_send(qp, &wr, &refused);
}

static void write_once(struct pair *pair, struct ibv_mr *mr)
{
    cr_assert_eq(post_write(pair->qp[0], mr, 64), 0);
    cr_assert_eq(pair_complete(pair, 1), 1);
}

/* --- fork --- */

/* Waits for a child, 30 seconds at most; its exit code, or -1. */
static int wait_for(pid_t child)
{
    int status;
    for (int waited = 0; waited < 30000; waited += poll(NULL, 0, 1) == 0)
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

/* Everything that the parent has is given back here; then a context of its own works; then it ends as
 * programs end. What does not work is its exit code. */
static void be_child(struct pair *pair, struct ibv_mr *mr)
{
    struct ibv_wc wc;
    if (ibv_poll_cq(ibv_cq_ex_to_cq(pair->cq), 1, &wc) >= 0)
        exit(1);
    if (ibv_destroy_qp(pair->qp[0]) || ibv_destroy_qp(pair->qp[1]) ||
        ibv_destroy_cq(ibv_cq_ex_to_cq(pair->cq)) || ibv_dereg_mr(mr) || ibv_dealloc_pd(pair_pd) ||
        ibv_close_device(pair_ctx))
        exit(2);
    pair_open_device();
    struct pair own = pair_make();
    struct ibv_mr *own_mr = reg();
    write_once(&own, own_mr);
    pair_free(&own);
    ibv_dereg_mr(own_mr);
    pair_close_device();
    exit(0);
}

Test(hostile, a_child_leaves_its_parent_alone)
{
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg();
    for (int round = 0; round < 4; round++) {
        write_once(&pair, mr);
        cr_assert_eq(post_write(pair.qp[0], mr, 1024), 0); /* on its way */
        pid_t child = fork();
        if (child == 0)
            be_child(&pair, mr);
        cr_assert_eq(pair_complete(&pair, 1), 1);
        cr_assert_eq(wait_for(child), 0);
        write_once(&pair, mr);
    }
    pair_free(&pair);
    ibv_dereg_mr(mr);
    pair_close_device();
}

/* --- races --- */

static atomic_bool is_over;

struct racer {
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
};

static void *post_and_poll(void *arg)
{
    const struct racer *r = arg;
    struct ibv_wc wc[4];
    while (!atomic_load(&is_over)) {
        (void)post_write(r->qp, r->mr, 256); /* it may be in ERR, or full */
        while (ibv_poll_cq(r->cq, 4, wc) > 0)
            ;
    }
    return NULL;
}

/* One thread moves a queue pair to ERR and RESET and connects it again while another posts to it and polls;
 * and queue pairs beside it come and go on the same completion queue. */
Test(hostile, a_reset_races_with_posts)
{
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg();
    struct racer racer = {.cq = ibv_cq_ex_to_cq(pair.cq), .qp = pair.qp[0], .mr = mr};
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp_init_attr init = {.send_cq = racer.cq,
                                    .recv_cq = racer.cq,
                                    .cap = {.max_send_wr = 1, .max_send_sge = 1},
                                    .qp_type = IBV_QPT_RC};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, post_and_poll, &racer), 0);
    for (int i = 0; i < 200; i++) {
        to.qp_state = i % 2 ? IBV_QPS_ERR : IBV_QPS_RESET;
        cr_assert_eq(ibv_modify_qp(pair.qp[0], &to, IBV_QP_STATE), 0);
        to.qp_state = IBV_QPS_RESET;
        cr_assert_eq(ibv_modify_qp(pair.qp[0], &to, IBV_QP_STATE), 0);
        pair_connect(pair.qp[0], pair.qp[1]->qp_num);
        struct ibv_qp *beside = ibv_create_qp(pair_pd, &init);
        cr_assert_not_null(beside);
        cr_assert_eq(ibv_destroy_qp(beside), 0);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    pair_free(&pair);
    ibv_dereg_mr(mr);
    pair_close_device();
}

static void *read_events(void *arg)
{
    struct ibv_async_event event;
    (void)arg;
    struct pollfd readable = {.fd = pair_ctx->async_fd, .events = POLLIN};
    while (!atomic_load(&is_over))
        if (poll(&readable, 1, 1) == 1 && ibv_get_async_event(pair_ctx, &event) == 0)
            ibv_ack_async_event(&event);
    return NULL;
}

/* A queue pair whose event is being read by another thread: its destruction waits for the acknowledgement. */
Test(hostile, a_destruction_races_with_events)
{
    pthread_t thread;
    int flags = fcntl(pair_ctx->async_fd, F_GETFL);
    fcntl(pair_ctx->async_fd, F_SETFL, flags | O_NONBLOCK); /* an event may go with its queue pair */
    cr_assert_eq(pthread_create(&thread, NULL, read_events, NULL), 0);
    for (int i = 0; i < 50; i++) {
        struct pair pair = pair_make();
        struct ibv_mr *mr = reg();
        uint32_t rkey = mr->rkey;
        mr->rkey ^= 0xff00; /* the responder has an event: access error */
        cr_assert_eq(post_write(pair.qp[0], mr, 64), 0);
        cr_assert_eq(pair_next(&pair).status, IBV_WC_REM_ACCESS_ERR);
        mr->rkey = rkey;
        pair_free(&pair);
        ibv_dereg_mr(mr);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    pair_close_device();
}

/* --- what is no handle any more --- */

Test(hostile, keys_and_numbers_of_what_is_gone)
{
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg(), gone = *mr;
    uint32_t pd_handle = pair_pd->handle;
    ibv_dereg_mr(mr);
    cr_assert_eq(post_write(pair.qp[0], &gone, 64), 0);
    cr_assert_eq(pair_next(&pair).status, IBV_WC_LOC_PROT_ERR);
    cr_assert_null(ibv_import_mr(pair_pd, gone.handle));
    struct ibv_pd *name = ibv_import_pd(pair_ctx, pd_handle);
    cr_assert_not_null(name);
    cr_assert_eq(ibv_dealloc_pd(pair_pd), EBUSY, "it has another name");
    ibv_unimport_pd(name);
    cr_assert_eq(ibv_dealloc_pd(pair_pd), EBUSY, "it has queue pairs");
    pair_free(&pair);
    pair_close_device();
}
