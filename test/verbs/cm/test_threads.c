/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm: ids that another thread, or a child of the process, uses as well. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/host.h"
#include "test/support/tsan.h"
#include "test/verbs/cm_conn.h"
#include "test/verbs/pair.h"
#include "verbs/cm/cma.h"

/* An answer may come, and another thread destroy the id, before the call that asked returns. So the id is
 * entered among those whose peers hear of the end before anything is asked. */
static void *connect_it(void *id)
{
    cr_assert_eq(rdma_connect(id, NULL), 0);
    return NULL;
}

Test(cm, an_id_is_known_before_its_peer_answers)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id = cm_resolve(channel, RDMA_PS_TCP, 7490);
    struct host_dev *dev = host_dev_of(verbs_own(id->verbs)->dev);
    pthread_t thread;
    bool has_met = false;
    host_dev_lock(dev); /* the call cannot ask */
    cr_assert_eq(pthread_create(&thread, NULL, connect_it, id), 0);
    for (int waited = 0; waited < PAIR_WAIT_MS && !has_met; waited += poll(NULL, 0, 1) == 0) {
        cma_lock();
        has_met = cma_id_of(id)->has_met;
        cma_unlock();
    }
    host_dev_unlock(dev);
    pthread_join(thread, NULL);
    cr_expect(has_met);
    cm_skip(channel, RDMA_CM_EVENT_REJECTED);
    cr_expect_eq(rdma_connect(id, NULL), -1, "it has connected once");
    cr_expect(cma_id_of(id)->has_met, "of the first call");
    rdma_destroy_qp(id);
    rdma_destroy_id(id);
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    struct sockaddr_in addr = cm_addr(7490);
    cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
    cm_skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    cr_expect_eq(rdma_connect(id, NULL), -1, "it has no route");
    cr_expect_not(cma_id_of(id)->has_met, "it has asked nobody");
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
}

static void *accept_now(void *id)
{
    cr_assert_eq(rdma_accept(id, NULL), 0);
    return NULL;
}

static void *disconnect_now(void *id)
{
    cr_assert_eq(rdma_disconnect(id), 0);
    return NULL;
}

static atomic_bool has_ended;
static atomic_uint times_locked;

/* As a thread that reads events takes the lock. */
static void *lock_again_and_again(void *unused)
{
    while (!atomic_load(&has_ended)) {
        cma_lock();
        atomic_fetch_add(&times_locked, 1);
        cma_unlock();
        sched_yield();
    }
    return unused;
}

/* While the call waits for the device nobody gets the lock. */
static void expect_locked(void *(*call)(void *id), struct rdma_cm_id *id)
{
    struct host_dev *dev = host_dev_of(verbs_own(id->verbs)->dev);
    pthread_t caller;
    unsigned seen, still_ms = 0;
    host_dev_lock(dev);
    cr_assert_eq(pthread_create(&caller, NULL, call, id), 0);
    for (unsigned waited = 0; waited < 3000 && still_ms < 100; waited++) {
        seen = atomic_load(&times_locked);
        poll(NULL, 0, 1);
        still_ms = seen == atomic_load(&times_locked) ? still_ms + 1 : 0;
    }
    host_dev_unlock(dev);
    pthread_join(caller, NULL);
    cr_expect_eq(still_ms, 100);
}

Test(cm, nothing_is_read_of_an_end_before_its_call_is_over)
{
    struct cm_conn c = {0};
    pthread_t locker;
    rdma_ack_cm_event(cm_ask(&c, 7493, NULL));
    cm_make_qp(c.passive);
    cr_assert_eq(pthread_create(&locker, NULL, lock_again_and_again, NULL), 0);
    expect_locked(accept_now, c.passive);
    cm_skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    cm_skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    expect_locked(disconnect_now, c.active);
    atomic_store(&has_ended, true);
    pthread_join(locker, NULL);
    cm_end(&c);
}

/* What a child gives back of its parent's; then an id of its own finds a device, and the child ends as
 * programs do. What does not work is its exit code. */
static void be_child(struct cm_conn *c)
{
    struct sockaddr_in addr = cm_addr(7491);
    struct rdma_cm_id *id, *const ids[] = {c->active, c->passive, c->listen};
    struct rdma_event_channel *channel;
    alarm(30);
    if (rdma_connect(c->active, NULL) != -1 || rdma_resolve_route(c->active, 1) != -1)
        exit(1);
    if (rdma_disconnect(c->active))
        exit(2);
    for (unsigned i = 0; i < array_len(ids); i++)
        if (rdma_destroy_id(ids[i]))
            exit(3);
    rdma_destroy_event_channel(c->channel);
    channel = rdma_create_event_channel();
    if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
        rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000))
        exit(4);
    cm_skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_destroy_id(id))
        exit(5);
    exit(0);
}

static int status_of(pid_t child)
{
    int status;
    cr_assert_gt(child, 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(cm, a_child_leaves_connections_to_its_parent)
{
    tsan_skip_threads_of_a_child();
    struct cm_conn c = {0};
    rdma_ack_cm_event(cm_ask(&c, 7491, NULL));
    cm_accept(&c);
    pid_t child = fork();
    if (child == 0)
        be_child(&c);
    cr_expect_eq(status_of(child), 0);
    struct pollfd readable = {.fd = c.channel->fd, .events = POLLIN};
    cr_expect_eq(poll(&readable, 1, 100), 0, "the connection has ended");
    cr_assert_eq(rdma_disconnect(c.active), 0);
    cm_skip(c.channel, RDMA_CM_EVENT_DISCONNECTED);
    cm_end(&c);
}

/* What waits for the parent is left to it, though the child has the channel too. */
Test(cm, a_child_takes_no_event_of_its_parent)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct sockaddr_in addr = cm_addr(7492);
    struct rdma_cm_id *id;
    struct rdma_cm_event *event;
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
    cm_wait_readable(channel);
    cr_assert_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        _exit(rdma_get_cm_event(channel, &event) != -1 || errno != EAGAIN);
    }
    cr_expect_eq(status_of(child), 0);
    cm_skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
}

static atomic_bool is_held, is_forked;

static void *hold_lock(void *unused)
{
    (void)unused;
    cma_lock();
    atomic_store(&is_held, true);
    for (int waited = 0; waited < 200 && !atomic_load(&is_forked); waited += poll(NULL, 0, 1) == 0)
        ;
    cma_unlock();
    return NULL;
}

Test(cm, a_child_does_not_wait_for_a_thread_of_its_parent)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id;
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, hold_lock, NULL), 0);
    while (!atomic_load(&is_held))
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        _exit(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
    }
    atomic_store(&is_forked, true);
    pthread_join(thread, NULL);
    cr_expect_eq(status_of(child), 0);
    rdma_destroy_event_channel(channel);
}
