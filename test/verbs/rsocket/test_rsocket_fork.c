/* SPDX-License-Identifier: BSD-2-Clause */
/* Children of a process in which other threads use rsockets. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/verbs/rs_here.h"

struct trio {
    int listener, client, server;
};

static struct trio open_trio(void)
{
    struct trio t = {.listener = rs_here_listen(), .client = rs_here_connect()};
    t.server = raccept(t.listener, NULL, NULL);
    cr_assert_geq(t.server, 0);
    return t;
}

static void close_trio(const struct trio *t)
{
    rclose(t->client);
    rclose(t->server);
    rclose(t->listener);
}

static int status_of(pid_t child)
{
    int status;
    cr_assert_gt(child, 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static atomic_bool is_held, is_forked;

/* Has the lock as a call has it, or the server's thread. */
static void *hold_lock(void *arg)
{
    const struct trio *t = arg;
    struct rsock *s = rs_need(t->server);
    atomic_store(&is_held, true);
    for (int waited = 0; waited < 200 && !atomic_load(&is_forked); waited += poll(NULL, 0, 1) == 0)
        ;
    rs_done(s);
    return NULL;
}

Test(rsocket, a_child_does_not_wait_for_a_call_of_its_parent)
{
    struct trio t = open_trio();
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, hold_lock, &t), 0);
    while (!atomic_load(&is_held))
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        _exit(rclose(t.server) || rclose(t.client) || rclose(t.listener));
    }
    atomic_store(&is_forked, true);
    pthread_join(thread, NULL);
    cr_expect_eq(status_of(child), 0);
    cr_expect_eq(rsend(t.client, "x", 1, 0), 1, "the connection is the parent's");
    close_trio(&t);
}

static void *read_one(void *arg)
{
    const struct trio *t = arg;
    char byte = 0;
    cr_expect_eq(rrecv(t->server, &byte, 1, 0), 1);
    cr_expect_eq(byte, 'x');
    return NULL;
}

static bool is_read(int fd)
{
    struct rsock *s = rs_need(fd);
    bool is_so = !LIST_EMPTY(&s->watches);
    rs_done(s);
    return is_so;
}

Test(rsocket, a_child_closes_what_a_thread_of_its_parent_reads)
{
    struct trio t = open_trio();
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, read_one, &t), 0);
    while (!is_read(t.server))
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        _exit(rclose(t.server) || fcntl(t.server, F_GETFD) != -1 || errno != EBADF);
    }
    cr_expect_eq(status_of(child), 0);
    cr_assert_eq(rsend(t.client, "x", 1, 0), 1);
    pthread_join(thread, NULL);
    close_trio(&t);
}

Test(rsocket, a_child_wakes_no_thread_of_its_parent)
{
    struct trio t = open_trio();
    struct pollfd own = {.fd = rs_wake_fd(), .events = POLLIN};
    cr_assert_geq(own.fd, 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        _exit(eventfd_write(rs_wake_fd(), 1) != 0);
    }
    cr_expect_eq(status_of(child), 0);
    cr_expect_eq(poll(&own, 1, 0), 0);
    close_trio(&t);
}
