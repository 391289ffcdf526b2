/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/base.h"
#include "test/host/cm_pair.h"
#include "host/cm/inner.h"
#include "host/dev/dev.h"
#include "host/event/events.h"
#include "net/memory.h"

static struct cm_pair pair;
static struct host_cm_id *listener;

static void setup(void)
{
    cm_pair_open(&pair, false, NULL);
    listener = cm_pair_listen(&pair, NORNIC_PS_TCP);
}

static void teardown(void)
{
    if (listener)
        host_cm_destroy_id(listener);
    cm_pair_close(&pair);
}

TestSuite(cm, .init = setup, .fini = teardown, .timeout = 60);

static void drop(struct cm_connection *c)
{
    host_cm_destroy_id(c->active);
    host_cm_destroy_id(c->passive);
    for (int i = 0; i < 2; i++)
        cm_pair_drop_qp(&pair.side[i], c->qps[i]);
}

static bool is_readable(struct cm_side *side)
{
    struct pollfd p = {.fd = host_cm_fd(side->cm), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

/* Sends 64 bytes from one side to the other. */
static void send_over(struct cm_connection *c, int from)
{
    struct cm_side *a = &pair.side[from], *b = &pair.side[1 - from];
    struct nornic_sge to = {.addr = (uintptr_t)b->memory, .len_bytes = 64, .lkey = b->mr->lkey};
    struct nornic_sge of = {.addr = (uintptr_t)a->memory, .len_bytes = 64, .lkey = a->mr->lkey};
    struct nornic_recv_wr recv = {.wr_id = 1, .sg_list = &to, .num_sge = 1};
    struct nornic_send_wr send = {.wr_id = 2, .sg_list = &of, .num_sge = 1, .opcode = NORNIC_WR_SEND};
    struct nornic_wc wc;
    memset(a->memory, 'a' + from, 64);
    cr_assert_eq(roce_post_recv(c->qps[1 - from], &recv, NULL), 0);
    cr_assert_eq(roce_post_send(c->qps[from], &send, NULL), 0);
    uint64_t end_ns = host_now_ns() + 10 * NS_PER_S;
    while (rdma_cq_poll(a->cq, &wc, 1) == 0)
        cr_assert_lt((nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL), host_now_ns()), end_ns);
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    while (rdma_cq_poll(b->cq, &wc, 1) == 0)
        cr_assert_lt((nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL), host_now_ns()), end_ns);
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_assert_eq(b->memory[63], 'a' + from);
}

/* covers: ROCE-CM-64 */
Test(cm, ROCE_CM_64_two_programs_connect_talk_and_part)
{
    struct roce_cm_endpoints ends;
    struct cm_connection c = cm_pair_connect(&pair);
    send_over(&c, 0);
    send_over(&c, 1);
    host_cm_id_endpoints(c.active, &ends);
    cr_expect(nornic_addr_equal(&ends.local, &pair.side[0].addr));
    cr_expect(nornic_addr_equal(&ends.remote, &pair.side[1].addr));
    cr_expect_eq(ends.remote_port, CM_PAIR_PORT);
    cr_expect_eq(ends.remote_qpn, roce_qp_num(c.qps[1]));
    cr_expect_eq(host_cm_id_ctx(c.passive), &pair, "a request has its listener's context");
    cr_expect_eq(host_cm_disconnect(c.active, NULL, 0), 0);
    cm_pair_skip(&pair.side[1], NORNIC_CM_EVENT_DISCONNECTED);
    cr_expect_eq(host_cm_disconnect(c.passive, NULL, 0), 0);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_DISCONNECTED);
    cr_expect_eq(roce_qp_state(c.qps[0]), NORNIC_QPS_ERR);
    drop(&c);
    cr_expect_not(is_readable(&pair.side[0]));
    cr_expect_not(is_readable(&pair.side[1]));
}

/* covers: ROCE-CM-64 */
Test(cm, a_rejection_says_why)
{
    struct nornic_conn_param param = {.private_data = "hello", .private_data_len = 5, .retry_count = 7};
    struct host_cm_id *id = cm_pair_route(&pair, NORNIC_PS_TCP, &pair.side[1].addr);
    struct roce_qp *qp = cm_pair_qp(&pair.side[0], NORNIC_QPT_RC);
    cr_assert_eq(host_cm_connect(id, qp, &param), 0);
    struct host_cm_event *event = cm_pair_expect(&pair.side[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_expect_eq(event->listen_id, listener);
    cr_expect_arr_eq(event->values.private_data, "hello", 5);
    cr_expect_eq(event->values.private_data_len, ROCE_CM_REQ_USER_BYTES);
    struct host_cm_id *request = event->id;
    cr_assert_eq(host_cm_reject(request, "go away", 7), 0);
    host_cm_ack_event(event);
    host_cm_destroy_id(request);
    event = cm_pair_expect(&pair.side[0], NORNIC_CM_EVENT_REJECTED);
    cr_expect_eq(event->status, 28, "consumer reject");
    cr_expect_arr_eq(event->values.private_data, "go away", 7);
    host_cm_ack_event(event);
    host_cm_destroy_id(id);
    cm_pair_drop_qp(&pair.side[0], qp);
}

Test(cm, a_listener_that_goes_rejects_what_nobody_took)
{
    struct nornic_conn_param param = {.retry_count = 7};
    struct host_cm_id *id = cm_pair_route(&pair, NORNIC_PS_TCP, &pair.side[1].addr);
    struct roce_qp *qp = cm_pair_qp(&pair.side[0], NORNIC_QPT_RC);
    cr_assert_eq(host_cm_connect(id, qp, &param), 0);
    struct pollfd p = {.fd = host_cm_fd(pair.side[1].cm), .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 10000), 1, "no request came");
    cr_expect_eq(host_cm_close(pair.side[1].cm), -EBUSY);
    host_cm_destroy_id(listener);
    listener = NULL;
    cr_expect_not(is_readable(&pair.side[1]));
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_REJECTED);
    host_cm_destroy_id(id);
    cm_pair_drop_qp(&pair.side[0], qp);
}

/* The program may end right after the call, and with it the thread that would have sent later. */
Test(cm, the_last_word_has_left_when_the_call_returns)
{
    struct cm_connection c = cm_pair_connect(&pair);
    host_dev_thread_stop(pair.side[1].dev);
    cr_expect_eq(host_cm_disconnect(c.passive, NULL, 0), 0);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_DISCONNECTED);
    drop(&c);
}

/* librdmacm's order: first the QP goes, then the id. */
Test(cm, a_qp_may_be_destroyed_before_its_id)
{
    struct cm_connection c = cm_pair_connect(&pair);
    cr_assert_eq(host_qp_destroy(pair.side[0].dev, c.qps[0]), 0);
    cr_expect_eq(host_cm_disconnect(c.active, NULL, 0), 0, "and without a QP nothing is touched");
    cm_pair_skip(&pair.side[1], NORNIC_CM_EVENT_DISCONNECTED);
    cr_assert_eq(host_qp_destroy(pair.side[1].dev, c.qps[1]), 0);
    cr_expect_eq(host_cm_disconnect(c.passive, NULL, 0), 0);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_DISCONNECTED);
    host_cm_destroy_id(c.active);
    host_cm_destroy_id(c.passive);
}

static atomic_bool is_destroyed;

static void *destroy(void *arg)
{
    host_cm_destroy_id(arg);
    atomic_store(&is_destroyed, true);
    return NULL;
}

/* covers: ROCE-EV-20 */
Test(cm, destroying_an_id_waits_for_the_acknowledgement)
{
    struct host_cm_id *id;
    struct nornic_error why;
    pthread_t thread;
    cr_assert_eq(host_cm_create_id(pair.side[0].cm, NORNIC_PS_TCP, NULL, &id), 0);
    cr_assert_eq(host_cm_resolve_addr(id, NULL, &pair.side[1].addr, 1, NS_PER_S, &why), 0, "%s", why.text);
    struct host_cm_event *event = cm_pair_expect(&pair.side[0], NORNIC_CM_EVENT_ADDR_RESOLVED);
    cr_assert_eq(pthread_create(&thread, NULL, destroy, id), 0);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* time to do what it must not */
    cr_expect_not(atomic_load(&is_destroyed), "destroyed under an event that nobody has acknowledged");
    host_cm_ack_event(event);
    pthread_join(thread, NULL);
}

static unsigned events_waiting(struct cm_side *side)
{
    struct host_cm *cm = side->cm;
    struct host_ack_event *event;
    unsigned n = 0;
    host_dev_lock(side->dev);
    host_ack_lock(&cm->events);
    for (struct host_cm_id *id = cm->ids; id; id = id->next)
        TAILQ_FOREACH(event, &id->subject.waiting, of_subject)
            n++;
    host_ack_unlock(&cm->events);
    host_dev_unlock(side->dev);
    return n;
}

static void await(bool (*is_so)(struct cm_side *side), struct cm_side *side, const char *what)
{
    uint64_t end_ns = host_now_ns() + 5 * NS_PER_S;
    while (!is_so(side))
        cr_assert_lt((nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL), host_now_ns()), end_ns, "%s",
                     what);
}

static bool has_two_events(struct cm_side *side)
{
    return events_waiting(side) == 2;
}

static bool has_none_to_take(struct cm_side *side)
{
    return !is_readable(side);
}

/* While its listener waits to be destroyed, a request that nobody took is not heard of by what its peer did
 * next: its id would be destroyed under that event. */
Test(cm, nothing_is_said_about_a_request_that_nobody_took)
{
    struct cm_side *server = &pair.side[1];
    struct nornic_conn_param param = {.retry_count = 7};
    struct roce_qp *qps[2];
    struct host_cm_id *ids[2];
    struct host_cm_event *first = NULL, *event;
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        ids[i] = cm_pair_route(&pair, NORNIC_PS_TCP, &server->addr);
        qps[i] = cm_pair_qp(&pair.side[0], NORNIC_QPT_RC);
        cr_assert_eq(host_cm_connect(ids[i], qps[i], &param), 0);
        first = first ? first : cm_pair_expect(server, NORNIC_CM_EVENT_CONNECT_REQUEST);
    }
    struct pollfd p = {.fd = host_cm_fd(server->cm), .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 10000), 1, "no second request came");
    host_cm_destroy_id(ids[1]); /* rejects it */
    await(has_two_events, server, "no rejection came");
    cr_assert_eq(pthread_create(&thread, NULL, destroy, listener), 0);
    await(has_none_to_take, server, "an event about an id that nobody knows can be taken");
    cr_expect_eq(host_cm_get_event(server->cm, &event, 0), -EAGAIN);
    struct host_cm_id *request = first->id;
    host_cm_ack_event(first);
    pthread_join(thread, NULL);
    listener = NULL;
    host_cm_destroy_id(request);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_REJECTED);
    host_cm_destroy_id(ids[0]);
    for (int i = 0; i < 2; i++)
        cm_pair_drop_qp(&pair.side[0], qps[i]);
}

Test(cm, steps_have_an_order)
{
    struct host_cm_id *id;
    struct nornic_conn_param param = {.retry_count = 7};
    struct nornic_error why = {""};
    struct nornic_addr nobody = nornic_addr_from_v4((uint8_t[]){10, 99, 0, 1});
    cr_assert_eq(host_cm_create_id(pair.side[0].cm, NORNIC_PS_TCP, NULL, &id), 0);
    cr_expect_eq(host_cm_resolve_route(id), -EINVAL);
    cr_expect_eq(host_cm_connect(id, NULL, &param), -EINVAL);
    cr_expect_eq(host_cm_resolve_addr(id, &nobody, &pair.side[1].addr, 1, NS_PER_S, &why), -EADDRNOTAVAIL);
    cr_expect(strstr(why.text, "10.99.0.1"), "%s", why.text);
    cr_assert_eq(host_cm_resolve_addr(id, &pair.side[0].addr, &pair.side[1].addr, 1, NS_PER_S, &why), 0);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ADDR_RESOLVED);
    cr_expect_eq(host_cm_resolve_addr(id, NULL, &pair.side[1].addr, 1, NS_PER_S, &why), -EINVAL);
    cr_expect_eq(host_cm_connect(id, NULL, &param), -EINVAL);
    cr_expect_eq(host_cm_listen(id, NULL, 1, 1), -EINVAL);
    host_cm_destroy_id(id);
    struct host_cm *second;
    cr_expect_eq(host_cm_open(pair.side[0].dev, NULL, &second, &why), -EBUSY);
    cr_expect(strstr(why.text, "has one"), "%s", why.text);
}

/* Both ends on one device: the engine hands the frames over. */
Test(cm, a_device_connects_to_itself)
{
    struct host_cm_id *own, *id;
    struct nornic_conn_param param = {.retry_count = 7, .rnr_retry_count = 7};
    struct roce_qp *qps[2] = {cm_pair_qp(&pair.side[0], NORNIC_QPT_RC),
                              cm_pair_qp(&pair.side[0], NORNIC_QPT_RC)};
    cr_assert_eq(host_cm_create_id(pair.side[0].cm, NORNIC_PS_TCP, NULL, &own), 0);
    cr_assert_eq(host_cm_listen(own, NULL, CM_PAIR_PORT, 1), 0);
    id = cm_pair_route(&pair, NORNIC_PS_TCP, &pair.side[0].addr);
    cr_assert_eq(host_cm_connect(id, qps[0], &param), 0);
    struct host_cm_event *event = cm_pair_expect(&pair.side[0], NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct host_cm_id *request = event->id;
    cr_assert_eq(host_cm_accept(request, qps[1], NULL), 0);
    host_cm_ack_event(event);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ESTABLISHED);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ESTABLISHED);
    host_cm_destroy_id(id);
    host_cm_destroy_id(request);
    host_cm_destroy_id(own);
    for (int i = 0; i < 2; i++)
        cm_pair_drop_qp(&pair.side[0], qps[i]);
}

/* covers: ROCE-CM-62 */
Test(cm, a_datagram_service_is_found)
{
    struct nornic_conn_param param = {.private_data = "who", .private_data_len = 3};
    struct host_cm_id *service = cm_pair_listen(&pair, NORNIC_PS_UDP);
    struct host_cm_id *id = cm_pair_route(&pair, NORNIC_PS_UDP, &pair.side[1].addr);
    struct roce_qp *qps[2] = {cm_pair_qp(&pair.side[0], NORNIC_QPT_UD),
                              cm_pair_qp(&pair.side[1], NORNIC_QPT_UD)};
    cr_assert_eq(host_cm_connect(id, qps[0], &param), 0);
    struct host_cm_event *event = cm_pair_expect(&pair.side[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct host_cm_id *request = event->id;
    cr_expect_arr_eq(event->values.private_data, "who", 3);
    cr_assert_eq(host_cm_accept(request, qps[1], NULL), 0);
    host_cm_ack_event(event);
    event = cm_pair_expect(&pair.side[0], NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_eq(event->values.qpn, roce_qp_num(qps[1]));
    cr_expect_eq(event->values.qkey, NORNIC_CM_QKEY);
    host_cm_ack_event(event);
    host_cm_destroy_id(id);
    host_cm_destroy_id(request);
    host_cm_destroy_id(service);
    for (int i = 0; i < 2; i++)
        cm_pair_drop_qp(&pair.side[i], qps[i]);
}

/* covers: ROCE-UD-24 */
Test(cm, ROCE_UD_24_a_group_is_joined)
{
    struct host_cm_id *id;
    struct nornic_error why = {""};
    struct nornic_addr group = nornic_addr_from_v4((uint8_t[]){239, 1, 2, 3});
    cr_assert_eq(host_cm_create_id(pair.side[0].cm, NORNIC_PS_UDP, NULL, &id), 0);
    cr_assert_eq(host_cm_join_multicast(id, &group, false, &why), 0, "%s", why.text);
    struct host_cm_event *event = cm_pair_expect(&pair.side[0], NORNIC_CM_EVENT_MULTICAST_JOIN);
    cr_expect_eq(event->values.qpn, 0xffffff);
    cr_expect_eq(event->values.qkey, 0x01234567);
    cr_expect_eq(event->values.path.av.hop_limit, 64);
    cr_expect_eq(event->values.path.pkey_index, 0);
    cr_expect_arr_eq(event->values.path.av.dst_mac.b, "\x01\x00\x5e\x01\x02\x03", 6);
    cr_expect(nornic_addr_equal(&event->values.path.av.dgid, &group));
    host_cm_ack_event(event);
    cr_expect_eq(host_cm_join_multicast(id, &group, false, &why), -EEXIST);
    cr_expect_eq(host_cm_leave_multicast(id, &group), 0);
    cr_expect_eq(host_cm_leave_multicast(id, &group), -ENOENT);
    cr_expect_eq(host_cm_join_multicast(id, &pair.side[0].addr, false, &why), -EINVAL);
    host_cm_destroy_id(id);
}

/* Nobody answers: the CM's timers end the sleep of a thread that has nothing else to do. */
Test(cm_timers, a_silent_peer_is_unreachable, .timeout = 60)
{
    struct host_cm_config config = {
        .timeouts = {.response_timeout = 12, .packet_life_time = 10, .max_retries = 2}}; /* 17 ms */
    struct nornic_conn_param param = {.retry_count = 7};
    cm_pair_open(&pair, false, &config);
    struct host_cm_id *id = cm_pair_route(&pair, NORNIC_PS_TCP, &pair.side[1].addr);
    struct roce_qp *qp = cm_pair_qp(&pair.side[0], NORNIC_QPT_RC);
    host_dev_lock(pair.side[1].dev); /* so that the peer does not answer */
    cr_assert_eq(host_cm_connect(id, qp, &param), 0);
    struct host_cm_event *event;
    int rc = host_cm_get_event(pair.side[0].cm, &event, 10 * NS_PER_S);
    host_dev_unlock(pair.side[1].dev);
    cr_assert_eq(rc, 0);
    cr_expect_eq(event->type, NORNIC_CM_EVENT_UNREACHABLE);
    host_cm_ack_event(event);
    host_cm_destroy_id(id);
    cm_pair_drop_qp(&pair.side[0], qp);
    cm_pair_close(&pair);
}

/* One thread, one device that it drives itself, both ends of a connection on it; the device's timers and the
 * CM's are in one sleep. */
Test(cm_timers, a_caller_that_drives_manages_connections_too, .timeout = 60)
{
    struct net_port *ends[2];
    struct nornic_error why = {""};
    struct host_dev *dev;
    struct host_cm *cm;
    struct host_cm_id *own, *id;
    struct host_dev_config config = {.no_thread = true};
    struct nornic_gid gid = {.addr = nornic_addr_from_v4((uint8_t[]){10, 0, 0, 1}),
                             .mac = {{2, 0, 0, 0, 0, 1}}};
    struct nornic_conn_param param = {.retry_count = 7};
    cr_assert_eq(net_memory_pair(1500, 64, ends), 0);
    cr_assert_eq(host_dev_create_on(ends[0], &config, &dev, &why), 0, "%s", why.text);
    host_dev_lock(dev);
    cr_assert_eq(roce_dev_gid_add(host_dev_engine(dev), &gid), 0);
    host_dev_unlock(dev);
    cr_assert_eq(host_cm_open(dev, NULL, &cm, &why), 0, "%s", why.text);
    cr_assert_eq(host_cm_create_id(cm, NORNIC_PS_TCP, NULL, &own), 0);
    cr_assert_eq(host_cm_listen(own, &gid.addr, 7, 1), 0);
    cr_assert_eq(host_cm_create_id(cm, NORNIC_PS_TCP, NULL, &id), 0);
    cr_assert_eq(host_cm_resolve_addr(id, &gid.addr, &gid.addr, 7, NS_PER_S, &why), 0, "%s", why.text);
    cr_assert_eq(host_cm_resolve_route(id), 0);
    param.qp_num = 99; /* no QP of this device: the application would move it */
    cr_assert_eq(host_cm_connect(id, NULL, &param), 0);
    struct host_cm_event *event = NULL;
    enum nornic_cm_event_type last = NORNIC_CM_EVENT_ADDR_RESOLVED;
    uint64_t end_ns = host_now_ns() + 10 * NS_PER_S;
    while (last != NORNIC_CM_EVENT_CONNECT_REQUEST) {
        cr_assert_lt(host_now_ns(), end_ns, "no request after %s", nornic_cm_event_name(last));
        if (host_cm_get_event(cm, &event, 0) == 0) {
            last = event->type;
            if (last != NORNIC_CM_EVENT_CONNECT_REQUEST)
                host_cm_ack_event(event);
        } else if (!host_round(dev, NULL)) {
            host_dev_wait(dev, NS_PER_S / 10);
        }
    }
    struct host_cm_id *request = event->id;
    host_cm_ack_event(event);
    host_cm_destroy_id(request);
    host_cm_destroy_id(id);
    host_cm_destroy_id(own);
    cr_assert_eq(host_cm_close(cm), 0);
    cr_assert_eq(host_dev_close(dev, NULL), 0, "objects are left");
    net_port_close(ends[1]);
}

/* Many ids of many threads, all at once. */
#define CLIENTS 4
#define ROUNDS  25

static void *keep_connecting(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct host_cm_id *id;
        struct nornic_error why;
        cr_assert_eq(host_cm_create_id(pair.side[0].cm, NORNIC_PS_TCP, NULL, &id), 0);
        cr_assert_eq(host_cm_resolve_addr(id, NULL, &pair.side[1].addr, 9, NS_PER_S, &why), 0);
        host_cm_destroy_id(id);
    }
    return NULL;
}

static atomic_bool stop_taking;

static void *keep_taking(void *arg)
{
    struct host_cm_event *event;
    (void)arg;
    while (!atomic_load(&stop_taking))
        if (host_cm_get_event(pair.side[0].cm, &event, 1000000) == 0)
            host_cm_ack_event(event);
    return NULL;
}

Test(cm, ids_come_and_go_in_many_threads)
{
    pthread_t clients[CLIENTS], taker;
    cr_assert_eq(pthread_create(&taker, NULL, keep_taking, NULL), 0);
    for (int i = 0; i < CLIENTS; i++)
        cr_assert_eq(pthread_create(&clients[i], NULL, keep_connecting, NULL), 0);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    atomic_store(&stop_taking, true);
    pthread_join(taker, NULL);
    cr_expect_not(is_readable(&pair.side[0]));
}
