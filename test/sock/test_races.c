/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that meet at a socket, descriptors that become others', a process without descriptors, and what a
 * process costs that does nothing. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock/stat/json.h"
#include "test/sock/lab.h"
#include "test/support/fds.h"

#define PORT 5000

struct board {
    struct lab lab;
    volatile int ready, done, cut;
    volatile int value[8];
    volatile long busy_us;
};

static struct board *board_new(unsigned links)
{
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lab_open(&b->lab, links);
    return b;
}

static int reach(void)
{
    struct sockaddr_in addr = lab_address(1, PORT);
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0)
        return fd;
    nornic_close(fd);
    return -1;
}

/* Runs a process on each side: what they returned. `server` may be alone. */
static void run_both(struct board *b, int (*server)(void *), int (*client)(void *))
{
    pid_t one = lab_fork(&b->lab, 1, server, b), other = 0;
    if (client && lab_await(&b->ready))
        other = lab_fork(&b->lab, 0, client, b);
    int client_status = other ? lab_wait(other, 40) : 0, server_status = lab_wait(one, 40);
    lab_close(&b->lab);
    cr_expect_eq(client_status, 0, "the client ended with %d", client_status);
    cr_expect_eq(server_status, 0, "the server ended with %d", server_status);
}

/* --- a call that waits, in a thread of its own --- */

struct waiter {
    int fd;
    long (*call)(int fd);
    long result;
    int error;
    _Atomic int ended;
    pthread_t thread;
};

static void *wait_in_call(void *ctx)
{
    struct waiter *w = ctx;
    w->result = w->call(w->fd);
    w->error = errno;
    w->ended = 1;
    return NULL;
}

static void begin(struct waiter *w, int fd, long (*call)(int fd))
{
    *w = (struct waiter){.fd = fd, .call = call};
    pthread_create(&w->thread, NULL, wait_in_call, w);
    usleep(100000); /* it waits by then; if not, the call fails at once, which is right too */
}

static bool wait_ended(const struct waiter *w)
{
    for (int i = 0; i < 2000 && !w->ended; i++)
        usleep(5000);
    return w->ended != 0;
}

static bool ended_with(struct waiter *w, int error)
{
    if (!wait_ended(w))
        return false;
    pthread_join(w->thread, NULL);
    return w->result == -1 && w->error == error;
}

static long accept_on(int fd)
{
    return nornic_accept(fd, NULL, NULL);
}

static long read_from(int fd)
{
    char c;
    return nornic_recv(fd, &c, 1, 0);
}

static int close_under_accept(void *ctx)
{
    struct board *b = ctx;
    struct waiter w;
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    begin(&w, l, accept_on);
    nornic_close(l);
    return ended_with(&w, EBADF) ? 0 : 10;
}

Test(races, a_listener_is_closed_under_accept, .timeout = 60)
{
    run_both(board_new(1), close_under_accept, NULL);
}

/* Accepts one, and never says anything. */
static int never_answer(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 16), fd = -1;
    b->ready = 1;
    fd = nornic_accept(l, NULL, NULL);
    lab_await(&b->done);
    nornic_close(fd);
    nornic_close(l);
    return fd < 0;
}

static int close_under_recv(void *ctx)
{
    struct board *b = ctx;
    struct waiter w;
    lab_start(&b->lab, 0, NULL);
    int fd = reach(), pipes[2];
    char bytes[8] = "";
    struct nornic_socket_info info;
    if (fd < 0 || nornic_socket_info(fd, &info) != 0 || !info.smcr)
        return 10;
    int duplicate = dup(fd);
    begin(&w, fd, read_from);
    /* The number becomes a pipe's; the connection lives on by the duplicate. */
    nornic_close(fd);
    if (pipe(pipes) != 0 || pipes[0] != fd || write(pipes[1], "pipe", 4) != 4)
        return 11;
    nornic_shutdown(duplicate, SHUT_RDWR);
    if (!wait_ended(&w))
        return 12;
    pthread_join(w.thread, NULL);
    b->done = 1;
    if (nornic_read(pipes[0], bytes, sizeof bytes) != 4 || strcmp(bytes, "pipe") != 0)
        return 13;
    nornic_close(duplicate);
    return 0;
}

Test(races, a_descriptor_becomes_a_pipes_while_a_thread_reads_by_it, .timeout = 60)
{
    run_both(board_new(1), never_answer, close_under_recv);
}

/* --- descriptors that the kernel's calls gave to others --- */

static int accept_two(void *ctx)
{
    struct board *b = ctx;
    char bytes[2][8] = {"", ""};
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    b->ready = 1;
    int one = nornic_accept(l, NULL, NULL), other = nornic_accept(l, NULL, NULL);
    ssize_t at_one = nornic_recv(one, bytes[0], sizeof bytes[0], 0);
    ssize_t at_other = nornic_recv(other, bytes[1], sizeof bytes[1], 0);
    return at_one == 0 && at_other == 5 && strcmp(bytes[1], "other") == 0 ? 0 : 20;
}

static int reuse_descriptors(void *ctx)
{
    struct board *b = ctx;
    char bytes[8] = "";
    int pipes[2];
    lab_start(&b->lab, 0, NULL);
    int one = reach(), other = reach();
    if (one < 0 || other < 0)
        return 10;
    if (dup2(other, one) != one || nornic_send(one, "other", 5, 0) != 5)
        return 11;
    close(one);
    if (pipe(pipes) != 0 || pipes[0] != one || write(pipes[1], "pipe", 4) != 4)
        return 12;
    if (nornic_read(pipes[0], bytes, sizeof bytes) != 4 || strcmp(bytes, "pipe") != 0)
        return 13;
    nornic_close(other);
    return 0;
}

/* The connection whose descriptor the pipe has now waits for its peer to close, too. */
static int reuse_and_fork(void *ctx)
{
    struct board *b = ctx;
    char bytes[8] = "";
    int pipes[2], status = 0;
    lab_start(&b->lab, 0, NULL);
    int fd = reach();
    close(fd);
    if (fd < 0 || pipe(pipes) != 0 || pipes[0] != fd || write(pipes[1], "pipe", 4) != 4)
        return 10;
    pid_t child = fork();
    if (child == 0)
        _exit(read(pipes[0], bytes, sizeof bytes) == 4 && strcmp(bytes, "pipe") == 0 ? 0 : 1);
    if (waitpid(child, &status, 0) != child || status != 0)
        return 11;
    b->done = 1;
    return 0;
}

Test(races, a_forked_child_keeps_the_descriptors_that_became_others, .timeout = 60)
{
    run_both(board_new(1), never_answer, reuse_and_fork);
}

Test(races, descriptors_that_the_kernels_calls_gave_to_others, .timeout = 60)
{
    run_both(board_new(1), accept_two, reuse_descriptors);
}

/* --- SIGPIPE --- */

static sigjmp_buf after_pipe;

static void on_pipe(int sig)
{
    (void)sig;
    siglongjmp(after_pipe, 1);
}

static int leave_by_the_handler(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 0, NULL);
    int fd = reach();
    signal(SIGPIPE, on_pipe);
    nornic_shutdown(fd, SHUT_WR);
    b->done = 1;
    if (sigsetjmp(after_pipe, 1) == 0) {
        nornic_send(fd, "x", 1, 0);
        return 10;
    }
    return nornic_close(fd); /* nobody holds the lock */
}

Test(races, a_handler_of_SIGPIPE_need_not_return, .timeout = 60)
{
    run_both(board_new(1), never_answer, leave_by_the_handler);
}

/* --- no descriptor left --- */

static long cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
}

static unsigned take_all_descriptors(int *taken, unsigned max)
{
    unsigned n = 0;
    while (n < max && (taken[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    return n;
}

/* The thread of the stat socket does not run in circles meanwhile; and accept() tells. */
static int without_descriptors(void *ctx)
{
    static int taken[8192];
    struct board *b = ctx;
    struct sockaddr_un stat_addr = {.sun_family = AF_UNIX};
    struct waiter w;
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 16), asker = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 4200;
    setrlimit(RLIMIT_NOFILE, &limit);
    begin(&w, l, accept_on);
    unsigned n = take_all_descriptors(taken, 8192);
    smcr_stat_path((unsigned)getpid(), stat_addr.sun_path);
    if (connect(asker, (struct sockaddr *)&stat_addr, sizeof stat_addr) != 0)
        return 10;
    long before_us = cpu_us();
    usleep(500000);
    b->busy_us = cpu_us() - before_us;
    b->ready = 1;
    if (!ended_with(&w, EMFILE))
        return 11;
    while (n > 0)
        close(taken[--n]);
    close(asker);
    int fd = nornic_accept(l, NULL, NULL);
    nornic_close(l);
    return fd < 0 ? 12 : nornic_close(fd);
}

static int just_reach(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 0, NULL);
    int fd = reach();
    return fd < 0 ? 20 : nornic_close(fd);
}

Test(races, a_process_without_descriptors, .timeout = 60)
{
    struct board *b = board_new(1);
    run_both(b, without_descriptors, just_reach);
    cr_expect_lt(b->busy_us, 100000, "%ld us of 500000", b->busy_us);
}

/* --- doing nothing --- */

static int idle_server(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    lab_await(&b->cut);
    long before_us = cpu_us();
    usleep(2000000);
    b->busy_us = cpu_us() - before_us;
    b->done = 1;
    nornic_close(fd);
    return nornic_close(l);
}

static int idle_client(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 0, NULL);
    int fd = reach();
    b->value[0] = fd >= 0;
    lab_await(&b->done);
    return nornic_close(fd);
}

/* A listener and a connection; `command` is done to the server's second interface. */
static void be_idle(const char *command)
{
    struct board *b = board_new(2);
    pid_t server = lab_fork(&b->lab, 1, idle_server, b);
    lab_await(&b->ready);
    pid_t client = lab_fork(&b->lab, 0, idle_client, b);
    lab_await(&b->value[0]);
    int rc = netns_run(&b->lab.veth, 1, "%s", command);
    usleep(500000); /* for the news */
    b->cut = 1;
    int client_status = lab_wait(client, 40), server_status = lab_wait(server, 40);
    lab_close(&b->lab);
    cr_expect_eq(rc, 0);
    cr_expect_eq(client_status, 0);
    cr_expect_eq(server_status, 0);
    cr_expect_lt(b->busy_us, 100000, "%ld us of 2000000", b->busy_us);
}

Test(idle, a_listener_and_a_connection_cost_nothing, .timeout = 60)
{
    be_idle("true");
}

Test(idle, an_interface_that_is_down_costs_nothing, .timeout = 60)
{
    be_idle("ip link set nn3 down");
}

Test(idle, an_interface_that_is_gone_costs_nothing, .timeout = 60)
{
    be_idle("ip link del nn3");
}

/* --- the end, while threads wait --- */

static int stop_under_calls(void *ctx)
{
    struct board *b = ctx;
    struct waiter accepting, reading;
    unsigned before = fds_count();
    for (int round = 0; round < 2; round++) {
        lab_start(&b->lab, 1, NULL);
        int l = lab_listen(PORT, 16);
        b->ready = 1;
        int fd = nornic_accept(l, NULL, NULL);
        begin(&accepting, l, accept_on);
        begin(&reading, fd, read_from);
        smcr_sock_stop(NULL);
        if (!wait_ended(&accepting) || !wait_ended(&reading))
            return 10 + round;
        pthread_join(accepting.thread, NULL);
        pthread_join(reading.thread, NULL);
        close(l);
        close(fd);
    }
    unsigned after = fds_count();
    b->value[1] = (int)(after - before);
    return 0;
}

static int come_twice(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 0, NULL);
    for (int round = 0; round < 2; round++) {
        int fd = -1;
        char c;
        for (int i = 0; i < 1000 && fd < 0; i++, usleep(10000))
            fd = reach();
        if (fd < 0)
            return 20;
        nornic_recv(fd, &c, 1, 0);
        nornic_close(fd);
    }
    return 0;
}

Test(races, the_end_while_threads_wait_leaves_nothing_behind, .timeout = 60)
{
    struct board *b = board_new(1);
    run_both(b, stop_under_calls, come_twice);
    cr_expect_eq(b->value[1], 0, "%d descriptors stay", b->value[1]);
}
