/* SPDX-License-Identifier: BSD-2-Clause */
/* The epoll set of an iWARP device: the ends of sleeps, and their reports. */
#define _GNU_SOURCE /* pthread_timedjoin_np() */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/api/api.h"
#include "host/iwarp/iwarp.h"
#include "test/host/iw_pair.h"

TestSuite(iw_set, .timeout = 60);

#define LONG_NS (30 * NS_PER_S)

/* A descriptor in the set, and how often it was told. */
struct bell {
    struct host_iw_fd socket;
    atomic_uint told;
};

static bool on_bell(struct host_iw_fd *self, uint32_t events)
{
    (void)events;
    atomic_fetch_add(&container_of(self, struct bell, socket)->told, 1);
    return true;
}

static void add(struct host_iw_set *set, struct bell *bell)
{
    *bell = (struct bell){.socket = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = on_bell}};
    cr_assert_eq(host_iw_set_add(set, &bell->socket, EPOLLIN | EPOLLET), 0);
}

static void ring(const struct bell *bell)
{
    const uint64_t one = 1;
    cr_assert_eq(write(bell->socket.fd, &one, sizeof one), sizeof one);
}

/* A device with its rounds and sleeps made by the test. */
static struct nornic_dev *open_dev(void)
{
    struct nornic_dev *dev;
    struct nornic_error why;
    struct nornic_dev_config config = {NORNIC_INIT(config), .port = "iwarp:127.0.0.1", .no_thread = true};
    cr_assert_eq(nornic_dev_open(&config, &dev, &why), 0, "%s", why.text);
    while (nornic_dev_progress(dev))
        ;
    return dev;
}

static void close_dev(struct nornic_dev *dev)
{
    struct nornic_error why;
    cr_assert_eq(nornic_dev_close(dev, &why), 0, "%s", why.text);
}

static void *sleep_long(void *dev)
{
    host_dev_wait(dev, LONG_NS);
    return NULL;
}

static void await_sleepers(struct host_dev *dev, int count)
{
    while (atomic_load(&dev->sleepers) != count)
        sched_yield();
}

static void join(pthread_t thread, const char *what)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    cr_assert_eq(pthread_timedjoin_np(thread, NULL, &end), 0, "%s", what);
}

static void *sleep_in_set(void *arg)
{
    struct nornic_dev *dev = arg;
    host_iw_set_sleep(&dev->host->iw->set, dev->host, LONG_NS);
    return NULL;
}

/* A sleeper has its event already when the socket closes and another takes its place. */
Test(iw_set, an_event_about_a_socket_that_has_gone_is_nobodys)
{
    struct nornic_dev *dev = open_dev();
    struct host_iw_set *set = &dev->host->iw->set;
    struct bell first, second;
    pthread_t sleeper;
    add(set, &first);
    uint32_t place = first.socket.place;
    ring(&first);
    host_dev_lock(dev->host);
    cr_assert_eq(pthread_create(&sleeper, NULL, sleep_in_set, dev), 0);
    while (!host_lock_is_wanted(&dev->host->lock)) /* for its events */
        sched_yield();
    host_iw_set_close(set, &first.socket);
    add(set, &second);
    cr_expect_eq(second.socket.place, place);
    host_dev_unlock(dev->host);
    join(sleeper, "it sleeps on");
    cr_expect_eq(first.told, 0);
    cr_expect_eq(second.told, 0);
    host_iw_set_close(set, &second.socket);
    close_dev(dev);
}

/* An edge is told to one sleeper, and that one may have other things to do. */
Test(iw_set, what_ends_one_sleep_ends_all)
{
    struct nornic_dev *dev = open_dev();
    struct bell bell;
    pthread_t sleepers[2];
    add(&dev->host->iw->set, &bell);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&sleepers[i], NULL, sleep_long, dev->host), 0);
    await_sleepers(dev->host, 2);
    ring(&bell);
    for (int i = 0; i < 2; i++)
        join(sleepers[i], "one sleeps on");
    cr_expect_eq(bell.told, 1);
    host_iw_set_close(&dev->host->iw->set, &bell.socket);
    close_dev(dev);
}

/* One call is the sleep and reports its end: the round behind it has nothing to ask, the next one has. */
Test(iw_set, a_round_behind_a_sleep_need_not_ask)
{
    struct nornic_dev *dev = open_dev();
    struct host_iw_set *set = &dev->host->iw->set;
    struct bell first, second;
    add(set, &first);
    add(set, &second);
    ring(&first);
    host_dev_wait(dev->host, LONG_NS);
    cr_expect_eq(first.told, 1);
    ring(&second);
    cr_expect_not(host_iw_set_look(set));
    cr_expect_eq(second.told, 0);
    cr_expect(host_iw_set_look(set));
    cr_expect_eq(second.told, 1);
    host_iw_set_close(set, &first.socket);
    host_iw_set_close(set, &second.socket);
    close_dev(dev);
}

/* The ringer is preempted by the thread that it wakes, before it has said that it rang. */
Test(iw_set, a_bell_of_somebody_who_has_not_said_so_yet_ends_one_sleep)
{
    struct nornic_dev *dev = open_dev();
    const struct bell bell = {.socket = {.fd = dev->host->doorbell_fd}};
    ring(&bell);
    host_dev_wait(dev->host, LONG_NS);
    nornic_dev_progress(dev);
    uint64_t start_ns = host_now_ns();
    host_dev_wait(dev->host, 5 * NS_PER_MS);
    cr_expect_geq(host_now_ns() - start_ns, 5 * NS_PER_MS, "it is taken up by the round after the sleep");
    close_dev(dev);
}

static struct rdma_timer due;

/* From now on the device's next round is due. */
static bool make_due(struct host_iw_fd *self, uint32_t events)
{
    (void)events;
    rdma_timer_arm(&container_of(self, struct host_iw, bell)->timers, &due, 1);
    return true;
}

/* The sleeper treats the event that ended its sleep. The device's timer is not set for it: two calls. */
Test(iw_set, a_message_to_a_sleeper_sets_no_timer)
{
    struct nornic_dev *dev = open_dev();
    dev->host->iw->bell.ready = make_due;
    host_dev_ring(dev->host);
    host_dev_wait(dev->host, LONG_NS);
    cr_expect(rdma_timer_armed(&due));
    cr_expect_eq(dev->host->planned_ns, NET_TIME_NONE);
    rdma_timer_cancel(&dev->host->iw->timers, &due);
    close_dev(dev);
}

Test(iw_set, places_are_given_again)
{
    enum { COUNT = 200 }; /* more than one look tells of */
    static struct bell bells[COUNT];
    struct host_iw_set set = {0};
    cr_assert_eq(host_iw_set_init(&set), 0);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < COUNT; i++)
            add(&set, &bells[i]);
        for (int i = 0; i < COUNT; i++)
            ring(&bells[i]);
        while (host_iw_set_look(&set))
            ;
        for (int i = 0; i < COUNT; i++) {
            cr_expect_eq(bells[i].told, 1, "turn %d, %d", turn, i);
            host_iw_set_close(&set, &bells[i].socket);
        }
    }
    cr_expect_leq(set.place_count, 2 * COUNT);
    host_iw_set_deinit(&set);
}

/* From here on this process is answered so. */
static void take_epoll_pwait2(unsigned error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = array_len(code), .filter = code};
    cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void sleep_without_it(unsigned error)
{
    struct nornic_dev *dev = open_dev();
    struct bell bell;
    add(&dev->host->iw->set, &bell);
    take_epoll_pwait2(error);
    uint64_t start_ns = host_now_ns(), wanted_ns = 10 * NS_PER_MS + 100;
    host_dev_wait(dev->host, wanted_ns);
    cr_expect_geq(host_now_ns() - start_ns, wanted_ns);
    cr_expect_eq(bell.told, 0);
    ring(&bell);
    host_dev_wait(dev->host, NET_TIME_NONE);
    cr_expect_eq(bell.told, 1);
    host_iw_set_close(&dev->host->iw->set, &bell.socket);
    close_dev(dev);
}

/* One before Linux 5.11. */
Test(iw_set, an_older_kernel_sleeps_in_milliseconds)
{
    sleep_without_it(ENOSYS);
}

/* That of a container, which knows a list of calls. */
Test(iw_set, a_filter_that_refuses_a_new_call_costs_no_sleep)
{
    sleep_without_it(EPERM);
}

/* Messages of the program complete as they leave; incoming ones are taken all the same. */
Test(iw_set, who_sends_without_end_receives_besides)
{
    struct iw_end ends[2];
    struct nornic_sge sge;
    struct nornic_wc wc = {0};
    iw_connect(ends, NULL, NULL);
    struct host_dev *dev = ends[0].dev->host;
    host_dev_thread_stop(dev);
    atomic_store(&dev->is_stopping, false);
    iw_post_recv(&ends[0], 0, 8);
    struct nornic_send_wr wr = iw_wr(NORNIC_WR_SEND, &ends[1], &ends[0], &sge, 0, 0, 8);
    iw_post(&ends[1], &wr);
    cr_assert_eq(iw_wait(&ends[1]).opcode, NORNIC_WC_SEND); /* TCP has it, and it is here or on its way */
    for (int i = 0; i < 1000 && wc.opcode != NORNIC_WC_RECV; i++) {
        wr = iw_wr(NORNIC_WR_RDMA_WRITE, &ends[0], &ends[1], &sge, 64, 64, 8);
        iw_post(&ends[0], &wr);
        host_round(dev, &(struct host_round_policy){
                            .kind = HOST_ROUND_SLEEP, .cq = host_cq_of(ends[0].cq), .sleep_ns = LONG_NS});
        while (wc.opcode != NORNIC_WC_RECV && nornic_cq_poll(ends[0].cq, &wc, 1) == 1)
            ;
    }
    cr_expect_eq(wc.opcode, NORNIC_WC_RECV, "a thousand times it has sent, and not looked");
    cr_assert_eq(host_dev_thread_start(dev), 0);
    iw_disconnect(ends);
}

/* Its answer comes once, to a sleeper; and a round that sends first has nothing to send for it yet. */
Test(iw_set, a_connection_that_stands_is_looked_at_behind_a_round_that_sends)
{
    struct iw_end server, client;
    struct nornic_cm_id *listener;
    iw_open(&server, "iwarp:127.0.0.1", NULL);
    iw_open(&client, "iwarp:127.0.0.1", NULL);
    struct host_dev *dev = client.dev->host;
    host_dev_thread_stop(dev);
    atomic_store(&dev->is_stopping, false);
    iw_start(&client, iw_listen(&server, &listener, 1), NULL);
    const struct host_iw_conn *conn = TAILQ_FIRST(&dev->iw->conns);
    struct pollfd stands = {.fd = conn->socket.fd, .events = POLLOUT};
    cr_assert_eq(poll(&stands, 1, 10000), 1);
    host_dev_wait(dev, LONG_NS);
    host_dev_lock(dev);
    host_dev_send(dev);
    host_dev_unlock(dev);
    for (int i = 0; i < 4; i++)
        (void)host_round(dev, NULL);
    cr_expect_eq(conn->tcp, HOST_IW_OPEN);
    cr_assert_eq(host_dev_thread_start(dev), 0);
    iw_close(&client);
    nornic_cm_id_destroy(listener);
    iw_close(&server);
}

/* Ends[0] without its thread, and a message for it that TCP has. */
static struct host_dev *connect_and_send(struct iw_end ends[2])
{
    struct nornic_sge sge;
    iw_connect(ends, NULL, NULL);
    struct host_dev *dev = ends[0].dev->host;
    host_dev_thread_stop(dev);
    atomic_store(&dev->is_stopping, false);
    (void)host_round(dev, NULL); /* the events of the thread */
    iw_post_recv(&ends[0], 0, 8);
    struct nornic_send_wr wr = iw_wr(NORNIC_WR_SEND, &ends[1], &ends[0], &sge, 0, 0, 8);
    iw_post(&ends[1], &wr);
    cr_assert_eq(iw_wait(&ends[1]).opcode, NORNIC_WC_SEND);
    struct pollfd come = {.fd = TAILQ_FIRST(&dev->iw->conns)->socket.fd, .events = POLLIN};
    cr_assert_eq(poll(&come, 1, 10000), 1);
    return dev;
}

/* A poller asks the socket, not the set: the set still has to report the octets that were read. */
Test(iw_set, the_only_connection_is_asked_itself)
{
    struct iw_end ends[2];
    struct nornic_wc wc;
    struct host_dev *dev = connect_and_send(ends);
    dev->iw->looks = 0;
    cr_expect(host_round(dev, NULL));
    cr_expect_eq(nornic_cq_poll(ends[0].cq, &wc, 1), 1);
    host_dev_lock(dev);
    cr_expect(host_iw_set_look(&dev->iw->set));
    host_dev_unlock(dev);
    for (int i = 0; i < 4; i++)
        cr_expect_not(host_round(dev, NULL), "there is no more");
    cr_assert_eq(host_dev_thread_start(dev), 0);
    iw_disconnect(ends);
}

/* New events are in the set alone. */
Test(iw_set, whoever_has_one_connection_hears_of_others)
{
    struct iw_end ends[2];
    struct bell bell;
    struct host_dev *dev = connect_and_send(ends);
    add(&dev->iw->set, &bell);
    ring(&bell);
    for (int i = 0; i < 32; i++)
        (void)host_round(dev, NULL);
    cr_expect_eq(bell.told, 1);
    host_iw_set_close(&dev->iw->set, &bell.socket);
    cr_assert_eq(host_dev_thread_start(dev), 0);
    iw_disconnect(ends);
}
