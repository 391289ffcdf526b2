/* SPDX-License-Identifier: BSD-2-Clause */
/* What libibverbs costs over the native API: posting and polling, call by call, on the same queue pair by
 * either. One device with two queue pairs that are connected to each other; what is posted does not leave
 * while it is measured (in INIT, or SQD), and what is polled is there before.
 *
 *     verbs_calls                          a call's time by either, and the median of the pairs' differences
 *     verbs_calls count CALL verbs|native  that call 256 times in counted(), for who counts instructions */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbs/verbs.h"

#define PAIRS 301u
#define CALLS 256u /* in a row; a power of two */
#define BYTES 64u

static struct {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp[2];
    uint8_t memory[2 * BYTES];
} world;

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "verbs_calls: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* --- the queue pairs --- */

static void to(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t peer)
{
    static const int masks[] = {
        [IBV_QPS_RESET] = IBV_QP_STATE,
        [IBV_QPS_INIT] = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
        [IBV_QPS_RTR] = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
        [IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                        IBV_QP_MAX_QP_RD_ATOMIC,
        [IBV_QPS_SQD] = IBV_QP_STATE,
    };
    struct ibv_qp_attr attr = {.qp_state = state,
                               .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
                               .path_mtu = IBV_MTU_1024,
                               .dest_qp_num = peer,
                               .timeout = 14,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}}};
    ibv_query_gid(world.context, 1, 0, &attr.ah_attr.grh.dgid);
    check(ibv_modify_qp(qp, &attr, masks[state]) == 0, "a queue pair's next state");
}

static void up_to(enum ibv_qp_state last)
{
    static const enum ibv_qp_state path[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                             IBV_QPS_SQD};
    for (int i = 0; i < 2; i++)
        for (unsigned step = 0; step < array_len(path); step++) {
            to(world.qp[i], path[step], world.qp[1 - i]->qp_num);
            if (path[step] == last)
                break;
        }
}

static void open_world(void)
{
    struct ibv_qp_init_attr init = {
        .cap = {.max_send_wr = CALLS, .max_recv_wr = CALLS, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1};
    setenv("NORNIC_PORT", "udp:127.0.0.1", 0);
    struct ibv_device **list = ibv_get_device_list(NULL);
    world.context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    check(world.context, "the device cannot be opened (NORNIC_TRACE=1 says why)");
    ibv_free_device_list(list);
    check((world.pd = ibv_alloc_pd(world.context)) &&
              (world.cq = ibv_create_cq(world.context, 4 * CALLS, NULL, NULL, 0)),
          "objects");
    world.mr = ibv_reg_mr_iova2(world.pd, world.memory, sizeof world.memory, (uintptr_t)world.memory,
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    init.send_cq = init.recv_cq = world.cq;
    for (int i = 0; i < 2; i++)
        check(world.mr && (world.qp[i] = ibv_create_qp(world.pd, &init)), "a region and queue pairs");
}

static void close_world(void)
{
    check(!ibv_destroy_qp(world.qp[0]) && !ibv_destroy_qp(world.qp[1]) && !ibv_destroy_cq(world.cq) &&
              !ibv_dereg_mr(world.mr) && !ibv_dealloc_pd(world.pd) && !ibv_close_device(world.context),
          "giving it all back");
}

/* --- the calls: CALLS of each --- */

static void post_send_verbs(void)
{
    struct ibv_sge piece = {(uintptr_t)world.memory, BYTES, world.mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &piece,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .wr.rdma = {(uintptr_t)world.memory + BYTES, world.mr->rkey}},
                       *bad;
    for (wr.wr_id = 0; wr.wr_id < CALLS; wr.wr_id++)
        check(ibv_post_send(world.qp[0], &wr, &bad) == 0, "ibv_post_send");
}

static void post_send_native(void)
{
    struct nornic_qp *qp = verbs_qp_of(world.qp[0])->nornic;
    struct nornic_sge piece = {.addr = (uintptr_t)world.memory, .len_bytes = BYTES, .lkey = world.mr->lkey};
    struct nornic_send_wr wr = {.sg_list = &piece,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_RDMA_WRITE,
                                .remote_addr = (uintptr_t)world.memory + BYTES,
                                .rkey = world.mr->rkey};
    const struct nornic_send_wr *bad;
    for (wr.wr_id = 0; wr.wr_id < CALLS; wr.wr_id++)
        check(nornic_qp_post_send(qp, &wr, &bad) == 0, "nornic_qp_post_send");
}

static void post_recv_verbs(void)
{
    struct ibv_sge piece = {(uintptr_t)world.memory, BYTES, world.mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &piece, .num_sge = 1}, *bad;
    for (wr.wr_id = 0; wr.wr_id < CALLS; wr.wr_id++)
        check(ibv_post_recv(world.qp[0], &wr, &bad) == 0, "ibv_post_recv");
}

static void post_recv_native(void)
{
    struct nornic_qp *qp = verbs_qp_of(world.qp[0])->nornic;
    struct nornic_sge piece = {.addr = (uintptr_t)world.memory, .len_bytes = BYTES, .lkey = world.mr->lkey};
    struct nornic_recv_wr wr = {.sg_list = &piece, .num_sge = 1};
    const struct nornic_recv_wr *bad;
    for (wr.wr_id = 0; wr.wr_id < CALLS; wr.wr_id++)
        check(nornic_qp_post_recv(qp, &wr, &bad) == 0, "nornic_qp_post_recv");
}

static void poll_verbs(void)
{
    struct ibv_wc wc;
    for (unsigned i = 0; i < CALLS; i++)
        check(ibv_poll_cq(world.cq, 1, &wc) == 1 && wc.wr_id == i, "ibv_poll_cq");
}

static void poll_native(void)
{
    struct nornic_cq *cq = verbs_cq_of(world.cq)->nornic;
    struct nornic_wc wc;
    for (unsigned i = 0; i < CALLS; i++)
        check(nornic_cq_poll(cq, &wc, 1) == 1 && wc.wr_id == i, "nornic_cq_poll");
}

/* --- what comes before them --- */

static void nothing_leaves(void)
{
    up_to(IBV_QPS_SQD);
}

static void only_init(void)
{
    up_to(IBV_QPS_INIT);
}

/* All that is posted has completed when the queue cannot be made smaller than that. */
static void all_is_there(void)
{
    up_to(IBV_QPS_RTS);
    post_send_verbs();
    for (int waited = 0; ibv_resize_cq(world.cq, CALLS - 1) == 0; waited += poll(NULL, 0, 1) == 0)
        check(waited < 10000, "completions do not come");
}

static const struct call {
    const char *name;
    void (*prepare)(void);
    void (*verbs)(void), (*native)(void);
} calls[] = {
    {"post_send", nothing_leaves, post_send_verbs, post_send_native},
    {"post_recv", only_init, post_recv_verbs, post_recv_native},
    {"poll_cq", all_is_there, poll_verbs, poll_native},
};

/* --- measuring --- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* not what others do on this processor */
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static double ns_of(const struct call *call, void (*run)(void))
{
    call->prepare();
    uint64_t began = now_ns();
    run();
    return (double)(now_ns() - began) / CALLS;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, PAIRS, sizeof *values, compare);
    return values[PAIRS / 2];
}

static void measure(const struct call *call)
{
    static double native[PAIRS], verbs[PAIRS], more[PAIRS];
    for (unsigned i = 0; i < PAIRS; i++) {
        native[i] = ns_of(call, call->native);
        verbs[i] = ns_of(call, call->verbs);
        more[i] = verbs[i] - native[i];
    }
    double of_native = median(native), of_verbs = median(verbs);
    printf("%-10s %8.1f %8.1f %8.1f\n", call->name, of_native, of_verbs, median(more));
}

void counted(void (*run)(void)); /* by its name for who counts */

__attribute__((noinline)) void counted(void (*run)(void))
{
    run();
    __asm__ volatile(""); /* it has to return here */
}

static int count(const char *name, bool is_verbs)
{
    for (unsigned i = 0; i < array_len(calls); i++)
        if (strcmp(calls[i].name, name) == 0) {
            void (*run)(void) = is_verbs ? calls[i].verbs : calls[i].native;
            calls[i].prepare();
            run(); /* what is bound, and mapped, the first time */
            calls[i].prepare();
            counted(run);
            return 0;
        }
    fprintf(stderr, "verbs_calls: there is no call %s: post_send, post_recv, poll_cq\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    int status = 0;
    if (argc != 1 && (argc != 4 || strcmp(argv[1], "count") != 0)) {
        fprintf(stderr, "usage: verbs_calls | verbs_calls count post_send|post_recv|poll_cq verbs|native\n");
        return 2;
    }
    open_world();
    if (argc == 4)
        status = count(argv[2], strcmp(argv[3], "verbs") == 0);
    for (unsigned i = 0; argc == 1 && i < array_len(calls); i++)
        measure(&calls[i]);
    close_world();
    return status;
}
