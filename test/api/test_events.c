/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program is told: completions by channel and by waiting, asynchronous events, events of
 * connections. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "ends.h"
#include "host/api/api.h"
#include "host/dev/dev.h"

#define WAIT_NS (5 * ENDS_SECOND_NS)

TestSuite(events, .timeout = 60);

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

/* --- completions --- */

Test(events, waiting_for_a_completion_ends_in_time)
{
    struct end e[2];
    struct nornic_wc wc;
    ends_open(e, NULL);
    cr_assert_eq(nornic_cq_wait(e[0].cq, &wc, 1, 0), 0);
    cr_assert_eq(nornic_cq_wait(e[0].cq, &wc, 1, ENDS_SECOND_NS / 100), 0);
    ends_close(e);
}

/* Without a thread of the devices, who waits makes the progress of its own; the other end is driven by
 * hand. */
static void *drive(void *arg)
{
    struct end *e = arg;
    struct nornic_wc wc;
    cr_assert_eq(nornic_cq_wait(e->cq, &wc, 1, WAIT_NS), 1);
    cr_assert_eq(wc.opcode, NORNIC_WC_RECV);
    for (int i = 0; i < 100; i++) /* its acknowledgement leaves */
        nornic_dev_progress(e->dev);
    return NULL;
}

Test(events, waiting_makes_progress_where_the_device_has_no_thread)
{
    struct end e[2];
    pthread_t thread;
    struct nornic_dev_config config = {NORNIC_INIT(config), .no_thread = true};
    ends_open(e, &config);
    cr_assert_eq(ends_post_recv(&e[1], 1, 0, 100), 0);
    cr_assert_eq(ends_post_send(&e[0], 2, 0, 100), 0);
    cr_assert_eq(pthread_create(&thread, NULL, drive, &e[1]), 0);
    cr_assert_eq(ends_wait(&e[0]).wr_id, 2);
    pthread_join(thread, NULL);
    ends_close(e);
}

#define ROUNDS 3000

static pthread_barrier_t together;

static void *write_and_wait(void *arg)
{
    struct end *e = arg;
    struct nornic_wc wc;
    for (int i = 0; i < ROUNDS; i++) {
        struct nornic_send_wr wr = {.opcode = NORNIC_WR_RDMA_WRITE, .send_flags = NORNIC_SEND_SIGNALED};
        struct timespec begin, end;
        pthread_barrier_wait(&together);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        cr_assert_eq(nornic_qp_post_send(e->qp, &wr, NULL), 0);
        cr_assert_eq(nornic_cq_wait(e->cq, &wc, 1, WAIT_NS), 1);
        clock_gettime(CLOCK_MONOTONIC, &end);
        cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
        cr_assert_lt(end.tv_sec - begin.tv_sec, 3, "it slept over its completion in round %d", i);
    }
    return NULL;
}

/* Whoever makes the progress completes what the other waits for, too; nobody sleeps over it. */
Test(events, two_wait_on_a_device_without_thread)
{
    struct end e[2], loop[2];
    pthread_t threads[2];
    struct nornic_error why;
    struct nornic_dev_config config = {NORNIC_INIT(config), .no_thread = true};
    ends_open(e, &config);
    for (int i = 0; i < 2; i++) { /* both queue pairs of one device, joined through itself */
        struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 16};
        loop[i] = e[0];
        cr_assert_eq(nornic_cq_create(e[0].dev, &cq, &loop[i].cq), 0);
        struct nornic_qp_config qp = {NORNIC_INIT(qp),       .type = NORNIC_QPT_RC, .pd = e[0].pd,
                                      .send_cq = loop[i].cq, .recv_cq = loop[i].cq, .caps = {4, 4, 1, 1, 0}};
        cr_assert_eq(nornic_qp_create(e[0].dev, &qp, &loop[i].qp), 0);
        cr_assert_eq(nornic_qp_endpoint(loop[i].qp, 0, &loop[i].address), 0);
    }
    for (int i = 0; i < 2; i++)
        cr_assert_eq(
            nornic_qp_connect(loop[i].qp, &loop[i].address, &loop[1 - i].address, ENDS_RIGHTS, WAIT_NS, &why),
            0, "%s", why.text);
    pthread_barrier_init(&together, NULL, 2);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, write_and_wait, &loop[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(nornic_qp_destroy(loop[i].qp), 0);
        cr_assert_eq(nornic_cq_destroy(loop[i].cq), 0);
    }
    ends_close(e);
}

Test(events, a_channel_says_which_queue_has_something)
{
    struct end e[2];
    struct nornic_channel *channel;
    struct nornic_cq *cqs[2], *fired;
    struct nornic_qp *qp;
    struct nornic_endpoint self;
    struct nornic_error why;
    struct nornic_wc wc;
    int tag = 0;
    ends_open(e, NULL);
    cr_assert_eq(nornic_channel_create(e[0].dev, &channel), 0);
    for (int i = 0; i < 2; i++) {
        struct nornic_cq_config config = {NORNIC_INIT(config), .capacity = 4, .channel = channel,
                                          .ctx = &tag};
        cr_assert_eq(nornic_cq_create(e[0].dev, &config, &cqs[i]), 0);
        nornic_cq_req_notify(cqs[i], false);
    }
    cr_assert_eq(nornic_cq_ctx(cqs[0]), &tag);
    cr_assert_eq(nornic_cq_wait(cqs[0], &wc, 1, 0), -EINVAL, "who has a channel sleeps on that");
    cr_assert_eq(nornic_channel_get_event(channel, &fired, 0), -EAGAIN);
    cr_assert_not(is_readable(nornic_channel_fd(channel)));

    /* a queue pair that answers itself, over the device */
    struct nornic_qp_config config = {
        NORNIC_INIT(config), .type = NORNIC_QPT_RC,
        .pd = e[0].pd,       .send_cq = cqs[0],
        .recv_cq = cqs[1],   .caps = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1}};
    cr_assert_eq(nornic_qp_create(e[0].dev, &config, &qp), 0);
    cr_assert_eq(nornic_qp_endpoint(qp, 0, &self), 0);
    cr_assert_eq(nornic_qp_connect(qp, &self, &self, ENDS_RIGHTS, 0, &why), 0, "%s", why.text);
    struct nornic_sge sge = {(uintptr_t)e[0].memory, 8, nornic_mr_lkey(e[0].mr)};
    struct nornic_send_wr wr = {.sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_RDMA_WRITE,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .remote_addr = nornic_mr_remote_addr(e[0].mr) + 8,
                                .rkey = nornic_mr_rkey(e[0].mr)};
    cr_assert_eq(nornic_qp_post_send(qp, &wr, NULL), 0);
    cr_assert_eq(nornic_channel_get_event(channel, &fired, WAIT_NS), 0);
    cr_assert_eq(fired, cqs[0]);
    nornic_cq_ack_events(fired, 1);
    cr_assert_eq(nornic_cq_poll(cqs[0], &wc, 1), 1);
    cr_assert_eq(nornic_qp_destroy(qp), 0);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(nornic_cq_destroy(cqs[i]), 0);
    cr_assert_eq(nornic_channel_destroy(channel), 0);
    ends_close(e);
}

/* --- asynchronous events --- */

Test(events, an_event_names_the_programs_objects)
{
    struct end e[2];
    struct nornic_event event;
    ends_open(e, NULL);
    cr_assert_eq(nornic_dev_get_event(e[1].dev, &event, 0), 0, "the GID that came");
    while (event.type == NORNIC_EVENT_GID_CHANGE) {
        nornic_dev_ack_event(e[1].dev, &event);
        if (nornic_dev_get_event(e[1].dev, &event, 0))
            break;
    }
    /* a key that was never given: the target's queue pair goes to ERR */
    struct nornic_sge sge = {(uintptr_t)e[0].memory, 8, nornic_mr_lkey(e[0].mr)};
    struct nornic_send_wr wr = {.sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_RDMA_WRITE,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .remote_addr = nornic_mr_remote_addr(e[1].mr),
                                .rkey = nornic_mr_rkey(e[1].mr) ^ 1};
    cr_assert_eq(nornic_qp_post_send(e[0].qp, &wr, NULL), 0);
    cr_assert_eq(ends_wait(&e[0]).status, NORNIC_WC_REM_ACCESS_ERR);
    cr_assert_eq(nornic_dev_get_event(e[1].dev, &event, WAIT_NS), 0);
    cr_assert_eq(event.type, NORNIC_EVENT_QP_ACCESS_ERR);
    cr_assert_eq(event.qp, e[1].qp);
    cr_assert_null(event.cq);
    nornic_dev_ack_event(e[1].dev, &event);
    ends_close(e);
}

Test(events, a_queue_that_overflows_is_named)
{
    struct end e[2];
    struct nornic_event event;
    struct nornic_cq *cq;
    struct nornic_qp *qp;
    struct nornic_wc wc;
    struct nornic_error why;
    struct nornic_endpoint self;
    int tag = 0;
    ends_open(e, NULL);
    struct nornic_cq_config small = {NORNIC_INIT(small), .capacity = 1};
    cr_assert_eq(nornic_cq_create(e[0].dev, &small, &cq), 0);
    struct nornic_qp_config config = {
        NORNIC_INIT(config), .type = NORNIC_QPT_RC,      .pd = e[0].pd,      .send_cq = cq,
        .recv_cq = cq,       .caps = {.max_send_wr = 4}, .sq_sig_all = true, .ctx = &tag};
    cr_assert_eq(nornic_qp_create(e[0].dev, &config, &qp), 0);
    cr_assert_eq(nornic_qp_ctx(qp), &tag);
    cr_assert_eq(nornic_qp_endpoint(qp, 0, &self), 0);
    cr_assert_eq(nornic_qp_connect(qp, &self, &self, ENDS_RIGHTS, 0, &why), 0, "%s", why.text);
    struct nornic_send_wr second = {.opcode = NORNIC_WR_RDMA_WRITE};
    struct nornic_send_wr first = {.next = &second, .opcode = NORNIC_WR_RDMA_WRITE};
    cr_assert_eq(nornic_qp_post_send(qp, &first, NULL), 0);
    do {
        cr_assert_eq(nornic_dev_get_event(e[0].dev, &event, WAIT_NS), 0);
        nornic_dev_ack_event(e[0].dev, &event);
    } while (event.type != NORNIC_EVENT_CQ_ERR);
    cr_assert_eq(event.cq, cq);
    cr_assert_eq(nornic_cq_poll(cq, &wc, 1), 1, "what was valid is there");
    cr_assert_eq(nornic_cq_wait(cq, &wc, 1, WAIT_NS), -EIO);
    cr_assert_eq(nornic_qp_destroy(qp), 0);
    cr_assert_eq(nornic_cq_destroy(cq), 0);
    ends_close(e);
}

Test(events, a_shared_queue_that_runs_low_is_named)
{
    struct end e[2];
    struct nornic_srq *srq;
    struct nornic_event event;
    uint32_t max_wr, limit, waiting;
    int tag = 0;
    ends_open(e, NULL);
    struct nornic_srq_config config = {NORNIC_INIT(config), .max_wr = 8, .max_sge = 1, .ctx = &tag};
    cr_assert_eq(nornic_srq_create(e[0].pd, &config, &srq), 0);
    cr_assert_eq(nornic_srq_ctx(srq), &tag);
    cr_assert_eq(nornic_srq_number(srq), 0);
    struct nornic_sge sge = {(uintptr_t)e[0].memory, 8, nornic_mr_lkey(e[0].mr)};
    struct nornic_recv_wr recv = {.sg_list = &sge, .num_sge = 1};
    cr_assert_eq(nornic_srq_post_recv(srq, &recv, NULL), 0);
    cr_assert_eq(nornic_srq_resize(srq, 16), 0);
    cr_assert_eq(nornic_srq_set_limit(srq, 2), 0);
    do {
        cr_assert_eq(nornic_dev_get_event(e[0].dev, &event, WAIT_NS), 0);
        nornic_dev_ack_event(e[0].dev, &event);
    } while (event.type != NORNIC_EVENT_SRQ_LIMIT_REACHED);
    cr_assert_eq(event.srq, srq);
    nornic_srq_query(srq, &max_wr, &limit, &waiting);
    cr_assert_eq(max_wr, 16);
    cr_assert_eq(limit, 0, "it is disarmed");
    cr_assert_eq(waiting, 1);
    cr_assert_eq(nornic_srq_destroy(srq), 0);
    ends_close(e);
}

/* --- connections --- */

static struct nornic_cm_event *expect(struct nornic_cm *cm, enum nornic_cm_event_type type)
{
    struct nornic_cm_event *event;
    cr_assert_eq(nornic_cm_get_event(cm, &event, WAIT_NS), 0, "%s", nornic_cm_event_name(type));
    cr_assert_eq(event->type, type, "%s, not %s", nornic_cm_event_name(event->type),
                 nornic_cm_event_name(type));
    return event;
}

static struct nornic_qp *make_qp(struct end *e)
{
    struct nornic_qp *qp;
    struct nornic_qp_config config = {NORNIC_INIT(config), .type = NORNIC_QPT_RC, .pd = e->pd,
                                      .send_cq = e->cq,    .recv_cq = e->cq,      .caps = {4, 4, 1, 1, 0}};
    cr_assert_eq(nornic_qp_create(e->dev, &config, &qp), 0);
    return qp;
}

struct connection {
    struct end e[2];
    struct nornic_cm *cm[2];
    struct nornic_cm_id *listener, *id[2]; /* 0 connects to 1 */
    struct nornic_qp *qp[2];
};

static void ask(struct connection *c, int *listener_ctx)
{
    struct nornic_error why;
    struct nornic_cm_endpoints where;
    ends_open(c->e, NULL);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(nornic_cm_open(c->e[i].dev, NULL, &c->cm[i], &why), 0, "%s", why.text);
        c->qp[i] = make_qp(&c->e[i]);
    }
    cr_assert_eq(nornic_cm_id_create(c->cm[1], NORNIC_PS_TCP, listener_ctx, &c->listener), 0);
    cr_assert_eq(nornic_cm_id_listen(c->listener, NULL, 0, 4), 0);
    nornic_cm_id_endpoints(c->listener, &where);
    cr_assert_eq(nornic_cm_id_create(c->cm[0], NORNIC_PS_TCP, NULL, &c->id[0]), 0);
    cr_assert_eq(
        nornic_cm_id_resolve_addr(c->id[0], NULL, &c->e[1].address.addr, where.local_port, WAIT_NS, &why), 0,
        "%s", why.text);
    nornic_cm_ack_event(expect(c->cm[0], NORNIC_CM_EVENT_ADDR_RESOLVED));
    cr_assert_eq(nornic_cm_id_resolve_route(c->id[0]), 0);
    nornic_cm_ack_event(expect(c->cm[0], NORNIC_CM_EVENT_ROUTE_RESOLVED));
    struct nornic_conn_param param = {.private_data = "hello", .private_data_len = 5, .rnr_retry_count = 0};
    cr_assert_eq(nornic_cm_id_connect(c->id[0], c->qp[1], &param), -EINVAL, "it is of the other device");
    cr_assert_eq(nornic_cm_id_connect(c->id[0], NULL, &param), -EINVAL, "nobody could go on");
    cr_assert_eq(nornic_cm_id_connect(c->id[0], c->qp[0], &param), 0);
    struct nornic_cm_event *request = expect(c->cm[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_assert_eq(request->listen_id, c->listener);
    cr_assert_eq(memcmp(request->private_data, "hello", 5), 0);
    c->id[1] = request->id;
    cr_assert_eq(nornic_cm_id_ctx(c->id[1]), listener_ctx);
    nornic_cm_ack_event(request);
}

static void give_back(struct connection *c)
{
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(nornic_cm_close(c->cm[i]), -EBUSY);
        nornic_cm_id_destroy(c->id[i]);
    }
    nornic_cm_id_destroy(c->listener);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(nornic_qp_destroy(c->qp[i]), 0);
        cr_assert_eq(nornic_cm_close(c->cm[i]), 0);
    }
    ends_close(c->e);
}

/* No RNR retry is allowed here: the first message finds a receive, or the test fails. */
Test(events, receives_are_posted_before_a_request_is_accepted)
{
    struct connection c;
    int tag = 0;
    ask(&c, &tag);
    cr_assert_eq(nornic_cm_id_prepare(c.id[1], c.qp[1]), 0);
    cr_assert_eq(nornic_qp_state(c.qp[1]), NORNIC_QPS_INIT);
    struct nornic_sge sge = {(uintptr_t)c.e[1].memory, 100, nornic_mr_lkey(c.e[1].mr)};
    struct nornic_recv_wr recv = {.wr_id = 5, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(nornic_qp_post_recv(c.qp[1], &recv, NULL), 0);
    cr_assert_eq(nornic_cm_id_accept(c.id[1], c.qp[1], NULL), 0);
    nornic_cm_ack_event(expect(c.cm[0], NORNIC_CM_EVENT_ESTABLISHED));
    struct nornic_send_wr send = {.opcode = NORNIC_WR_SEND};
    cr_assert_eq(nornic_qp_post_send(c.qp[0], &send, NULL), 0);
    struct nornic_wc wc = ends_wait(&c.e[1]);
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.wr_id, 5);
    nornic_cm_ack_event(expect(c.cm[1], NORNIC_CM_EVENT_ESTABLISHED));
    give_back(&c);
}

/* nornic_conn_param.qp_num: a program may name a queue pair that is not this library's. */
Test(events, a_request_is_accepted_for_a_queue_pair_known_by_number)
{
    struct connection c;
    ask(&c, NULL);
    cr_assert_eq(nornic_cm_id_accept(c.id[1], c.qp[0], NULL), -EINVAL, "it is of the other device");
    cr_assert_eq(nornic_cm_id_accept(c.id[1], NULL, &(struct nornic_conn_param){.qp_num = 0x4711}), 0);
    struct nornic_cm_event *event = expect(c.cm[0], NORNIC_CM_EVENT_ESTABLISHED);
    cr_assert_eq(event->qpn, 0x4711);
    nornic_cm_ack_event(event);
    give_back(&c);
}

Test(events, a_request_is_refused_with_a_reason)
{
    struct connection c;
    ask(&c, NULL);
    cr_assert_eq(nornic_cm_id_reject(c.id[1], "no", 2), 0);
    struct nornic_cm_event *event = expect(c.cm[0], NORNIC_CM_EVENT_REJECTED);
    cr_assert_eq(event->id, c.id[0]);
    cr_assert_eq(event->status, 28);
    cr_assert_eq(memcmp(event->private_data, "no", 2), 0);
    nornic_cm_ack_event(event);
    give_back(&c);
}

Test(events, a_request_that_nobody_took_goes_with_its_listener)
{
    struct connection c;
    struct nornic_error why;
    struct nornic_cm_event *event;
    ask(&c, NULL);
    /* a second one, which stays in the queue */
    struct nornic_cm_id *second;
    struct nornic_cm_endpoints where;
    struct nornic_qp *qp = make_qp(&c.e[0]);
    struct nornic_conn_param param = {.private_data_len = 0};
    nornic_cm_id_endpoints(c.listener, &where);
    cr_assert_eq(nornic_cm_id_create(c.cm[0], NORNIC_PS_TCP, NULL, &second), 0);
    cr_assert_eq(
        nornic_cm_id_resolve_addr(second, NULL, &c.e[1].address.addr, where.local_port, WAIT_NS, &why), 0);
    nornic_cm_ack_event(expect(c.cm[0], NORNIC_CM_EVENT_ADDR_RESOLVED));
    cr_assert_eq(nornic_cm_id_resolve_route(second), 0);
    nornic_cm_ack_event(expect(c.cm[0], NORNIC_CM_EVENT_ROUTE_RESOLVED));
    cr_assert_eq(nornic_cm_id_connect(second, qp, &param), 0);
    struct pollfd p = {.fd = nornic_cm_fd(c.cm[1]), .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 5000), 1);
    nornic_cm_id_destroy(c.listener);
    event = expect(c.cm[0], NORNIC_CM_EVENT_REJECTED);
    cr_assert_eq(event->id, second);
    nornic_cm_ack_event(event);
    cr_assert_eq(nornic_cm_get_event(c.cm[1], &event, 0), -EAGAIN);
    nornic_cm_id_destroy(second);
    cr_assert_eq(nornic_qp_destroy(qp), 0);
    cr_assert_eq(nornic_cm_id_create(c.cm[1], NORNIC_PS_TCP, NULL, &c.listener), 0);
    give_back(&c);
}

/* --- what a program does not see --- */

static atomic_bool is_enough;

struct foreign {
    struct host_dev *dev;
    struct rdma_cq *cq; /* of no program: as the queues of QP 1 are */
};

static void *raise_often(void *arg)
{
    struct foreign *f = arg;
    for (int i = 0; i < 200 && !atomic_load(&is_enough); i++) {
        host_event_queue_push(&f->dev->events,
                              &(struct host_event){.type = NORNIC_EVENT_CQ_ERR, .cq = f->cq});
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return NULL;
}

/* Events that are not the program's come again and again: the wait ends when it was to end. */
Test(events, waiting_for_an_event_ends_in_time)
{
    struct end e[2];
    struct nornic_event event;
    struct timespec begin, end;
    pthread_t thread;
    ends_open(e, NULL);
    struct foreign f = {.dev = e[0].dev->host};
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = 4}, &f.cq), 0);
    while (nornic_dev_get_event(e[0].dev, &event, 0) == 0)
        nornic_dev_ack_event(e[0].dev, &event);
    cr_assert_eq(pthread_create(&thread, NULL, raise_often, &f), 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    cr_assert_eq(nornic_dev_get_event(e[0].dev, &event, ENDS_SECOND_NS / 10), -EAGAIN);
    clock_gettime(CLOCK_MONOTONIC, &end);
    cr_expect_lt(end.tv_sec - begin.tv_sec, 3, "each of them made it wait anew");
    atomic_store(&is_enough, true);
    pthread_join(thread, NULL);
    host_event_queue_forget(&f.dev->events, f.cq);
    cr_assert_eq(rdma_cq_destroy(f.cq), 0);
    ends_close(e);
}
