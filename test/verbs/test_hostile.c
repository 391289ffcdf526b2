/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that fork, that race, and that end in the middle: nobody else may notice. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/dev/dev.h"
#include "test/support/tsan.h"
#include "test/verbs/pair.h"
#include "verbs/object.h"
#include "verbs/ops.h"

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

/* Whether all that would make a parent's queue work is refused. */
static bool is_refused(struct pair *pair, struct ibv_mr *mr, struct ibv_srq *srq)
{
    struct ibv_recv_wr receive = {.wr_id = 1}, *refused = NULL;
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp_ex *built = ibv_qp_to_qp_ex(pair->qp[0]);
    ibv_wr_start(built);
    ibv_wr_rdma_write(built, mr->rkey, (uintptr_t)memory);
    ibv_wr_set_sge(built, mr->lkey, (uintptr_t)memory, 8);
    return ibv_wr_complete(built) == EIO && post_write(pair->qp[0], mr, 8) == EIO &&
           ibv_post_recv(pair->qp[0], &receive, &refused) == EIO && refused == &receive &&
           ibv_post_srq_recv(srq, &receive, &refused) == EIO &&
           ibv_modify_srq(srq, &(struct ibv_srq_attr){.srq_limit = 1}, IBV_SRQ_LIMIT) == EIO &&
           ibv_req_notify_cq(ibv_cq_ex_to_cq(pair->cq), 0) == EIO &&
           ibv_modify_qp(pair->qp[0], &to, IBV_QP_STATE) == EIO;
}

/* Everything that the parent has is given back here; then a context of its own works; then it ends as
 * programs end. What does not work is its exit code. */
static void be_child(struct pair *pair, struct ibv_mr *mr, struct ibv_srq *srq)
{
    struct ibv_wc wc;
    if (ibv_poll_cq(ibv_cq_ex_to_cq(pair->cq), 1, &wc) >= 0 || !is_refused(pair, mr, srq))
        exit(1);
    if (ibv_destroy_qp(pair->qp[0]) || ibv_destroy_qp(pair->qp[1]) || ibv_destroy_srq(srq) ||
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
    tsan_skip_threads_of_a_child();
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg();
    struct ibv_srq_init_attr receives = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(pair_pd, &receives);
    cr_assert_not_null(srq);
    for (int round = 0; round < 4; round++) {
        write_once(&pair, mr);
        cr_assert_eq(post_write(pair.qp[0], mr, 1024), 0); /* on its way */
        pid_t child = fork();
        if (child == 0)
            be_child(&pair, mr, srq);
        cr_assert_eq(pair_complete(&pair, 1), 1);
        cr_assert_eq(wait_for(child), 0);
        write_once(&pair, mr);
    }
    pair_free(&pair);
    ibv_dereg_mr(mr);
    cr_assert_eq(ibv_destroy_srq(srq), 0);
    pair_close_device();
}

/* The lock of a list that is being built is held at the fork, and nobody in the child gives it back. */
Test(hostile, a_child_of_who_builds_a_list_waits_for_nobody)
{
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg();
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(pair.qp[0]);
    ibv_wr_start(qp);
    pid_t child = fork();
    if (child == 0) {
        ibv_wr_start(qp);
        ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)memory);
        int err = ibv_wr_complete(qp);
        ibv_wr_start(qp);
        ibv_wr_abort(qp);
        exit(err != EIO);
    }
    cr_expect_eq(wait_for(child), 0);
    ibv_wr_abort(qp);
    write_once(&pair, mr);
    pair_free(&pair);
    ibv_dereg_mr(mr);
    pair_close_device();
}

static atomic_bool is_held, is_forked;

/* As the device's own thread does in its rounds, but until somebody waits for it, or it is too late. */
static void *hold_device(void *arg)
{
    struct host_dev *dev = arg;
    host_dev_lock(dev);
    atomic_store(&is_held, true);
    while (!host_lock_is_wanted(&dev->lock) && !atomic_load(&is_forked))
        sched_yield();
    host_dev_unlock(dev);
    return NULL;
}

/* pyverbs' children allocate device memory of their parent's context. */
Test(hostile, a_child_of_a_device_at_work_asks_what_it_can_do)
{
    struct host_dev *dev = host_dev_of(verbs_own(pair_ctx)->dev);
    struct ibv_alloc_dm_attr wanted = {.length = 4096};
    struct ibv_device_attr attr;
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, hold_device, dev), 0);
    while (!atomic_load(&is_held))
        sched_yield();
    pid_t child = fork();
    if (child == 0)
        exit(ibv_query_device(pair_ctx, &attr) || !verbs_alloc_dm(pair_ctx, &wanted));
    atomic_store(&is_forked, true);
    pthread_join(thread, NULL);
    cr_assert_eq(wait_for(child), 0);
    cr_assert_eq(ibv_query_device(pair_ctx, &attr), 0);
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
    ibv_dereg_mr(mr);
    cr_assert_eq(post_write(pair.qp[0], &gone, 64), 0);
    cr_assert_eq(pair_next(&pair).status, IBV_WC_LOC_PROT_ERR);
    cr_assert_null(ibv_import_mr(pair_pd, gone.handle));
    struct ibv_pd *pd = ibv_alloc_pd(pair_ctx);
    struct ibv_pd *name = ibv_import_pd(pair_ctx, pd->handle);
    cr_assert_not_null(name);
    cr_assert_eq(ibv_dealloc_pd(pd), EBUSY, "it has another name");
    ibv_unimport_pd(name);
    cr_assert_eq(ibv_dealloc_pd(pd), 0);
    cr_assert_eq(ibv_dealloc_pd(pair_pd), EBUSY, "it has queue pairs");
    pair_free(&pair);
    pair_close_device();
}

/* Each kind of object is given back once; the second time its pointer is none, whatever is there by now.
 * (Those by verbs_*: the header's ibv_* read the object before they call.) */
Test(hostile, what_is_given_back_twice)
{
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg();
    struct ibv_comp_channel *channel = ibv_create_comp_channel(pair_ctx);
    struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 1, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(pair_pd, &srq_init);
    struct ibv_mw *mw = ibv_alloc_mw(pair_pd, IBV_MW_TYPE_1);
    struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1};
    ibv_query_gid(pair_ctx, 1, 0, &ah_attr.grh.dgid);
    struct ibv_ah *ah = ibv_create_ah(pair_pd, &ah_attr);
    struct ibv_alloc_dm_attr dm_attr = {.length = 4096};
    struct ibv_dm *dm = ibv_alloc_dm(pair_ctx, &dm_attr);
    struct ibv_td_init_attr td_init = {0};
    struct ibv_td *td = ibv_alloc_td(pair_ctx, &td_init);
    struct ibv_cq *cq = ibv_cq_ex_to_cq(pair.cq);
    struct ibv_pd *pd = ibv_alloc_pd(pair_ctx);
    cr_assert(mr && channel && srq && mw && ah && dm && td && pd);
    struct ibv_qp *qp[] = {pair.qp[0], pair.qp[1]};
    pair_free(&pair);
    cr_assert_eq(ibv_destroy_qp(qp[0]), ENOENT);
    cr_assert_eq(errno, ENOENT);
    cr_assert_eq(ibv_destroy_qp(qp[1]), ENOENT);
    cr_assert_eq(ibv_destroy_cq(cq), ENOENT);
#define TWICE(call)          \
    cr_assert_eq((call), 0); \
    cr_assert_eq((call), ENOENT, #call " again")
    TWICE(ibv_dereg_mr(mr));
    TWICE(ibv_destroy_comp_channel(channel));
    TWICE(ibv_destroy_srq(srq));
    TWICE(verbs_dealloc_mw(mw));
    TWICE(ibv_destroy_ah(ah));
    TWICE(verbs_free_dm(dm));
    TWICE(verbs_dealloc_td(td));
    TWICE(ibv_dealloc_pd(pd));
#undef TWICE
    struct ibv_context *context = pair_ctx;
    pair_close_device();
    cr_assert_eq(ibv_close_device(context), EINVAL);
}

/* What is of another kind, or was made up, goes into nothing. */
Test(hostile, handles_that_are_none)
{
    struct ibv_mr made_up_mr = {.context = pair_ctx, .pd = pair_pd, .handle = 0xffffffff};
    struct ibv_pd made_up_pd = {.context = pair_ctx, .handle = 0xffffffff}, *none = NULL;
    struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 1, .max_recv_wr = 1}, .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp_init_attr asked;
    struct pair pair = pair_make();
    init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(pair.cq);
    cr_assert_eq(ibv_dereg_mr(&made_up_mr), ENOENT);
    cr_assert_eq(ibv_dealloc_pd(&made_up_pd), ENOENT);
    cr_assert_eq(ibv_dealloc_pd(none), ENOENT);
    cr_assert_eq(ibv_destroy_cq((struct ibv_cq *)(void *)pair.qp[0]), ENOENT, "it is a queue pair");
    errno = 0;
    cr_assert_null(ibv_reg_mr_iova2(&made_up_pd, memory, sizeof memory, 0, 0));
    cr_assert_eq(errno, EINVAL);
    cr_assert_null(ibv_create_qp(&made_up_pd, &init));
    init.send_cq = (struct ibv_cq *)(void *)&made_up_pd;
    errno = 0;
    cr_assert_null(ibv_create_qp(pair_pd, &init));
    cr_assert_eq(errno, EINVAL);
    struct ibv_qp *gone = pair.qp[0];
    pair_free(&pair);
    cr_assert_eq(ibv_modify_qp(gone, &attr, IBV_QP_STATE), EINVAL);
    cr_assert_eq(ibv_query_qp(gone, &attr, IBV_QP_STATE, &asked), EINVAL);
    pair_close_device();
}

/* What a kernel knows an object by is its number, and the context that the call comes through. Who changes
 * one of them is told that there is no such object, and it is there again when they are as they were. */
Test(hostile, numbers_that_were_changed)
{
    struct pair pair = pair_make();
    struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 1, .max_sge = 1}};
    struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1};
    ibv_query_gid(pair_ctx, 1, 0, &ah_attr.grh.dgid);
    struct ibv_pd *pd = ibv_alloc_pd(pair_ctx);
    struct ibv_mr *mr = ibv_reg_mr_iova2(pd, memory, sizeof memory, 0, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
    struct ibv_srq *srq = ibv_create_srq(pd, &srq_init);
    struct ibv_ah *ah = ibv_create_ah(pd, &ah_attr);
    struct ibv_cq *cq = ibv_create_cq(pair_ctx, 8, NULL, NULL, 0), *used = ibv_cq_ex_to_cq(pair.cq);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp_init_attr asked,
        init = {.send_cq = cq, .recv_cq = cq, .cap = {.max_send_wr = 1}, .qp_type = IBV_QPT_RC};
    struct ibv_context *other = ibv_open_device(pair_ctx->device);
    cr_assert(pd && mr && mw && srq && ah && cq && other);
    struct ibv_srq_attr srq_attr = {0};
    union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 1}};
    struct ibv_mw_bind bind = {0};
#define CHANGED(member, call, answer)      \
    (member) += 1000;                      \
    cr_assert_eq((call), (answer), #call); \
    (member) -= 1000
    CHANGED(mr->handle, ibv_dereg_mr(mr), ENOENT);
    CHANGED(mw->handle, verbs_dealloc_mw(mw), ENOENT);
    CHANGED(srq->handle, ibv_destroy_srq(srq), ENOENT);
    CHANGED(ah->handle, ibv_destroy_ah(ah), ENOENT);
    CHANGED(cq->handle, ibv_destroy_cq(cq), ENOENT);
    CHANGED(cq->handle, ibv_create_qp(pd, &init), NULL);
    CHANGED(used->handle, ibv_req_notify_cq(used, 0), EINVAL);
    CHANGED(pair.qp[0]->handle, ibv_destroy_qp(pair.qp[0]), ENOENT);
    CHANGED(pair.qp[0]->handle, ibv_modify_qp(pair.qp[0], &attr, IBV_QP_STATE), EINVAL);
    CHANGED(pair.qp[0]->handle, ibv_query_qp(pair.qp[0], &attr, IBV_QP_STATE, &asked), EINVAL);
    CHANGED(pd->handle, ibv_create_srq(pd, &srq_init), NULL);
    CHANGED(pd->handle, ibv_dealloc_pd(pd), ENOENT);
    const int anew = IBV_REREG_MR_ERR_INPUT;
    CHANGED(mr->handle, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), anew);
    CHANGED(pd->handle, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), anew);
    CHANGED(cq->handle, ibv_resize_cq(cq, 16), EINVAL);
    CHANGED(srq->handle, ibv_modify_srq(srq, &srq_attr, IBV_SRQ_LIMIT), EINVAL);
    CHANGED(srq->handle, ibv_query_srq(srq, &srq_attr), EINVAL);
    /* It posts, without a look at the numbers, and is told what anybody is told: the domains differ. */
    CHANGED(mw->handle, verbs_bind_mw(pair.qp[0], mw, &bind), EPERM);
    CHANGED(pair.qp[0]->handle, verbs_bind_mw(pair.qp[0], mw, &bind), EPERM);
    CHANGED(pair.qp[0]->handle, ibv_attach_mcast(pair.qp[0], &group, 0), EINVAL);
    CHANGED(pair.qp[0]->handle, ibv_detach_mcast(pair.qp[0], &group, 0), EINVAL);
#undef CHANGED
    cr_assert_eq(ibv_dereg_mr(mr), 0);
    cr_assert_eq(verbs_dealloc_mw(mw), 0);
    cr_assert_eq(ibv_destroy_srq(srq), 0);
    cr_assert_eq(ibv_destroy_ah(ah), 0);
    cr_assert_eq(ibv_destroy_cq(cq), 0);
    pd->context = other;
    cr_assert_eq(ibv_dealloc_pd(pd), ENOENT);
    pd->context = pair_ctx;
    cr_assert_eq(ibv_dealloc_pd(pd), 0);
    cr_assert_eq(ibv_close_device(other), 0);
    pair_free(&pair);
    pair_close_device();
}

Test(hostile, no_more_objects_than_the_attributes_say)
{
    struct ibv_device_attr attr;
    cr_assert_eq(ibv_query_device(pair_ctx, &attr), 0);
    struct ibv_pd **pds = calloc((size_t)attr.max_pd, sizeof(struct ibv_pd *));
    int made = 1; /* the pair's */
    for (struct ibv_pd *pd; made <= attr.max_pd && (pd = ibv_alloc_pd(pair_ctx)); made++)
        pds[made - 1] = pd;
    cr_assert_eq(made, attr.max_pd);
    cr_assert_eq(ibv_dealloc_pd(pds[--made - 1]), 0);
    cr_assert(pds[made - 1] = ibv_alloc_pd(pair_ctx), "there is room again");
    while (made)
        cr_assert_eq(ibv_dealloc_pd(pds[--made]), 0);
    free((void *)pds);
    pair_close_device();
}

Test(hostile, who_gives_back_first)
{
    struct ibv_mr *mr = reg();
    cr_assert_eq(verbs_object_claim(VERBS_MR, mr), 0);
    cr_assert_eq(verbs_object_claim(VERBS_MR, mr), ENOENT, "another thread does so just now");
    cr_assert_eq(verbs_object_need(VERBS_MR, mr), EINVAL);
    cr_assert_eq(ibv_dereg_mr(mr), ENOENT);
    verbs_object_keep(VERBS_MR, mr);
    cr_assert_eq(ibv_dereg_mr(mr), 0);
    pair_close_device();
}

struct giver {
    pthread_barrier_t *together;
    struct ibv_qp *qp;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    unsigned given; /* how many of the three this thread gave back */
};

static void *give_back(void *arg)
{
    struct giver *g = arg;
    pthread_barrier_wait(g->together);
    g->given += ibv_destroy_qp(g->qp) == 0;
    g->given += ibv_dereg_mr(g->mr) == 0;
    pthread_barrier_wait(g->together); /* the queue pair is gone */
    g->given += ibv_destroy_cq(g->cq) == 0;
    return NULL;
}

/* Two threads give the same things back: of each, one of them. */
Test(hostile, destructions_race)
{
    struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 1, .max_recv_wr = 1}, .qp_type = IBV_QPT_RC};
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, 2);
    for (int i = 0; i < 50; i++) {
        struct giver givers[2] = {{.together = &together}};
        pthread_t thread;
        init.send_cq = init.recv_cq = ibv_create_cq(pair_ctx, 4, NULL, NULL, 0);
        givers[0].cq = init.send_cq;
        givers[0].qp = ibv_create_qp(pair_pd, &init);
        givers[0].mr = reg();
        cr_assert(givers[0].cq && givers[0].qp && givers[0].mr);
        givers[1] = givers[0];
        cr_assert_eq(pthread_create(&thread, NULL, give_back, &givers[1]), 0);
        give_back(&givers[0]);
        pthread_join(thread, NULL);
        cr_assert_eq(givers[0].given + givers[1].given, 3);
    }
    pthread_barrier_destroy(&together);
    pair_close_device();
}
