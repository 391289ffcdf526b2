/* SPDX-License-Identifier: BSD-2-Clause */
/* Any call from any thread: several post to one queue pair and poll one CQ while others change, ask and
 * create. The same tests run under ThreadSanitizer. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "ends.h"

#define POSTERS   4
#define MESSAGES  250 /* of each poster */
#define MSG_BYTES 64

TestSuite(threads, .timeout = 120);

struct job {
    struct end *ends;
    unsigned number; /* of the thread among its like */
    atomic_uint *completed;
    atomic_bool *is_over;
};

static void start(pthread_t *threads, unsigned n, void *(*run)(void *), struct job *jobs)
{
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, run, &jobs[i]), 0);
}

/* A thread returns NULL, or what was wrong: an assertion of Criterion's can leave the test only from the
 * test's own thread. */
#define NEED(condition)                           \
    do {                                          \
        if (!(condition))                         \
            return (void *)"not so: " #condition; \
    } while (0)

static void join(pthread_t *threads, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        cr_expect_null(wrong, "thread %u: %s", i, (const char *)wrong);
    }
}

static void make_jobs(struct job *jobs, unsigned n, struct end *ends, atomic_uint *completed,
                      atomic_bool *is_over)
{
    for (unsigned i = 0; i < n; i++)
        jobs[i] = (struct job){ends, i, completed, is_over};
}

/* --- one send queue, one receive queue, one CQ --- */

/* Each poster has its own 64 bytes; wr_id says whose and which. */
static void *post_sends(void *arg)
{
    struct job *job = arg;
    struct end *e = &job->ends[0];
    for (unsigned i = 0; i < MESSAGES; i++) {
        int err;
        while ((err = ends_post_send(e, job->number * 1000u + i, job->number * MSG_BYTES, MSG_BYTES)) ==
               -ENOMEM)
            sched_yield();
        NEED(!err);
    }
    return NULL;
}

static void *post_receives(void *arg)
{
    struct job *job = arg;
    struct end *e = &job->ends[1];
    for (unsigned i = 0; i < MESSAGES; i++) {
        int err;
        while ((err = ends_post_recv(e, job->number * 1000u + i, 4096, MSG_BYTES)) == -ENOMEM)
            sched_yield();
        NEED(!err);
    }
    return NULL;
}

static atomic_uchar seen[2][POSTERS * 1000];

static void *poll_until_all(void *arg)
{
    struct job *job = arg;
    struct end *e = &job->ends[job->number % 2];
    atomic_uint *completed = &job->completed[job->number % 2];
    while (atomic_load(completed) < POSTERS * MESSAGES) {
        struct nornic_wc wcs[8];
        int n = nornic_cq_wait(e->cq, wcs, 8, ENDS_SECOND_NS / 20);
        NEED(n >= 0);
        for (int i = 0; i < n; i++) {
            NEED(wcs[i].status == NORNIC_WC_SUCCESS);
            atomic_fetch_add(&seen[job->number % 2][wcs[i].wr_id], 1);
        }
        atomic_fetch_add(completed, (unsigned)n);
    }
    return NULL;
}

/* All messages from one queue pair to the other. A queue takes the next request when one completes, polled or
 * not: nothing holds the posters back for the pollers, and the CQs have room for all. */
static void exchange(bool is_polled_late)
{
    struct end ends[2];
    struct job jobs[POSTERS];
    atomic_uint completed[2] = {0, 0};
    pthread_t senders[POSTERS], receivers[POSTERS], pollers[4];
    ends_open(ends, NULL);
    for (unsigned side = 0; side < 2; side++)
        cr_assert_eq(nornic_cq_resize(ends[side].cq, POSTERS * MESSAGES), 0);
    make_jobs(jobs, POSTERS, ends, completed, NULL);
    if (!is_polled_late)
        start(pollers, 4, poll_until_all, jobs); /* two of either CQ */
    start(receivers, POSTERS, post_receives, jobs);
    start(senders, POSTERS, post_sends, jobs);
    join(senders, POSTERS);
    join(receivers, POSTERS);
    if (is_polled_late)
        start(pollers, 4, poll_until_all, jobs);
    join(pollers, 4);
    for (unsigned side = 0; side < 2; side++)
        for (unsigned t = 0; t < POSTERS; t++)
            for (unsigned i = 0; i < MESSAGES; i++)
                cr_assert_eq(seen[side][t * 1000 + i], 1, "side %u, thread %u, message %u", side, t, i);
    ends_close(ends);
}

Test(threads, many_post_to_one_queue_pair_and_many_poll_one_cq)
{
    exchange(false);
}

Test(threads, completions_of_many_wait_for_those_who_poll_late)
{
    exchange(true);
}

/* --- control calls beside the data --- */

/* Objects come and go, tables are asked, while others post. */
static void *create_and_destroy(void *arg)
{
    struct job *job = arg;
    struct end *e = &job->ends[job->number % 2];
    uint8_t own[256];
    while (!atomic_load(job->is_over)) {
        struct nornic_mr *mr;
        struct nornic_cq *cq;
        struct nornic_qp *qp;
        struct nornic_port_attr port;
        struct nornic_qp_attr attr;
        NEED(nornic_mr_reg(e->pd, own, sizeof own, ENDS_RIGHTS, &mr) == 0);
        struct nornic_cq_config cq_config = {NORNIC_INIT(cq_config), .capacity = 4};
        NEED(nornic_cq_create(e->dev, &cq_config, &cq) == 0);
        struct nornic_qp_config config = {NORNIC_INIT(config), .type = NORNIC_QPT_RC,
                                          .pd = e->pd,         .send_cq = cq,
                                          .recv_cq = cq,       .caps = {.max_send_wr = 1, .max_recv_wr = 1}};
        NEED(nornic_qp_create(e->dev, &config, &qp) == 0);
        nornic_dev_query_port(e->dev, &port, sizeof port);
        nornic_qp_query(e->qp, &attr, NULL);
        NEED(nornic_qp_state(e->qp) == NORNIC_QPS_RTS);
        NEED(nornic_cq_resize(e->cq, 300) == 0);
        NEED(nornic_qp_destroy(qp) == 0);
        NEED(nornic_cq_destroy(cq) == 0);
        NEED(nornic_mr_dereg(mr) == 0);
    }
    return NULL;
}

Test(threads, objects_come_and_go_beside_the_data)
{
    struct end ends[2];
    struct job jobs[2];
    atomic_bool is_over = false;
    pthread_t threads[2];
    ends_open(ends, NULL);
    make_jobs(jobs, 2, ends, NULL, &is_over);
    start(threads, 2, create_and_destroy, jobs);
    for (unsigned i = 0; i < 300; i++) {
        memset(ends[0].memory, (int)i, 4096);
        cr_assert_eq(ends_post_write(&ends[0], &ends[1], i, 4096), 0);
        cr_assert_eq(ends_wait(&ends[0]).status, NORNIC_WC_SUCCESS);
        cr_assert_eq(memcmp(ends[0].memory, ends[1].memory, 4096), 0);
    }
    atomic_store(&is_over, true);
    join(threads, 2);
    ends_close(ends);
}

/* A queue pair goes to ERR and back to RESET under the hands of those who post to it: each post is taken,
 * and then flushed or forgotten, or it is refused. */
static void *post_until_over(void *arg)
{
    struct job *job = arg;
    struct nornic_wc wcs[16];
    while (!atomic_load(job->is_over)) {
        int err = ends_post_recv(&job->ends[0], 1, 0, 16);
        NEED(err == 0 || err == -EINVAL || err == -ENOMEM);
        err = ends_post_send(&job->ends[0], 2, 0, 16);
        NEED(err == 0 || err == -EINVAL || err == -ENOMEM);
        NEED(nornic_cq_poll(job->ends[0].cq, wcs, 16) >= 0);
    }
    return NULL;
}

Test(threads, a_queue_pair_changes_its_state_while_others_post)
{
    struct end ends[2];
    struct job jobs[2];
    struct nornic_error why;
    atomic_bool is_over = false;
    pthread_t threads[2];
    ends_open(ends, NULL);
    make_jobs(jobs, 2, ends, NULL, &is_over);
    start(threads, 2, post_until_over, jobs);
    for (unsigned i = 0; i < 100; i++) {
        struct nornic_qp_attr attr = {.state = NORNIC_QPS_ERR};
        cr_assert_eq(nornic_qp_modify(ends[0].qp, &attr, NORNIC_QP_STATE), 0);
        attr.state = NORNIC_QPS_RESET;
        cr_assert_eq(nornic_qp_modify(ends[0].qp, &attr, NORNIC_QP_STATE), 0);
        cr_assert_eq(nornic_qp_connect(ends[0].qp, &ends[0].address, &ends[1].address, ENDS_RIGHTS, 0, &why),
                     0, "%s", why.text);
    }
    atomic_store(&is_over, true);
    join(threads, 2);
    ends_close(ends);
}

/* --- one window --- */

struct bind_job {
    struct end *e;
    struct nornic_mw *mw;
};

static void *bind_repeatedly(void *arg)
{
    struct bind_job *job = arg;
    struct end *e = job->e;
    const struct nornic_bind bind = {.lkey = nornic_mr_lkey(e->mr),
                                     .addr = nornic_mr_remote_addr(e->mr),
                                     .len_bytes = 64,
                                     .access = NORNIC_ACCESS_REMOTE_READ};
    for (unsigned i = 0; i < 20; i++) {
        NEED(nornic_qp_bind_mw(e->qp, job->mw, i, NORNIC_SEND_SIGNALED, &bind) == 0);
        NEED(nornic_mw_rkey(job->mw) != 0);
    }
    return NULL;
}

Test(threads, two_bind_one_window)
{
    struct end ends[2];
    struct nornic_mw *mw;
    struct nornic_mr *mr;
    pthread_t threads[2];
    ends_open(ends, NULL);
    /* the region of `ends` does not allow windows */
    cr_assert_eq(nornic_mr_reg(ends[0].pd, ends[0].memory, 64, ENDS_RIGHTS | NORNIC_ACCESS_MW_BIND, &mr), 0);
    cr_assert_eq(nornic_mw_alloc(ends[0].pd, NORNIC_MW_TYPE_1, &mw), 0);
    struct end with_windows = ends[0];
    with_windows.mr = mr;
    struct bind_job job = {&with_windows, mw};
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, bind_repeatedly, &job), 0);
    join(threads, 2);
    for (unsigned i = 0; i < 40; i++)
        cr_assert_eq(ends_wait(&ends[0]).status, NORNIC_WC_SUCCESS);
    nornic_mw_dealloc(mw);
    cr_assert_eq(nornic_mr_dereg(mr), 0);
    ends_close(ends);
}
