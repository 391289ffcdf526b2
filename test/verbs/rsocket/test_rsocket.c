/* SPDX-License-Identifier: BSD-2-Clause */
/* Rsockets with each other: options, children of the process, bytes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "test/verbs/rs_here.h"

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Of all threads of the process. */
static uint64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

/* --- options --- */

Test(rsocket, calls_wait_as_long_as_they_may)
{
    const struct timeval limit = {.tv_usec = 60000};
    struct timeval told;
    socklen_t len = sizeof told;
    char byte, many[65536] = {0};
    int listener = rs_here_listen();
    cr_assert_eq(rsetsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    uint64_t began = now_ms();
    cr_assert_eq(raccept(listener, NULL, NULL), -1, "nobody connects");
    cr_assert_eq(errno, EAGAIN);
    cr_assert_geq(now_ms() - began, 60);
    int client = rs_here_connect();
    int server = raccept(listener, NULL, NULL);
    cr_assert_geq(server, 0);
    cr_assert_eq(rgetsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &told, &len), 0);
    cr_assert_eq(told.tv_usec, 60000, "from who listened");
    began = now_ms();
    cr_assert_eq(rrecv(server, &byte, 1, 0), -1);
    cr_assert_eq(errno, EAGAIN);
    cr_assert_geq(now_ms() - began, 60);
    cr_assert_eq(rsetsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
    ssize_t sent = 0;
    for (int i = 0; i < 100 && sent >= 0; i++) /* nobody reads */
        sent = rsend(client, many, sizeof many, 0);
    cr_assert_eq(sent, -1);
    cr_assert_eq(errno, EAGAIN);
    rclose(client);
    rclose(server);
    rclose(listener);
}

Test(rsocket, timeouts_that_are_none)
{
    struct timeval wrong = {.tv_usec = 1000000}, endless = {.tv_sec = LONG_MAX};
    socklen_t len = sizeof endless;
    int fd = rsocket(AF_INET, SOCK_STREAM, 0), number = -1;
    cr_assert_eq(rsetsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wrong, sizeof wrong), -1);
    cr_assert_eq(errno, EDOM);
    cr_assert_eq(rsetsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wrong, sizeof wrong - 1), -1);
    cr_assert_eq(errno, EINVAL);
    cr_assert_eq(rsetsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &endless, sizeof endless), 0);
    cr_assert_eq(rgetsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &endless, &len), 0);
    cr_assert(endless.tv_sec == 0 && endless.tv_usec == 0, "none, as with a kernel");
    cr_assert_eq(rsetsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &number, sizeof number), -1);
    cr_assert_eq(errno, EINVAL);
    number = 0;
    cr_assert_eq(rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &number, sizeof number), -1);
    cr_assert_eq(errno, EINVAL);
    rclose(fd);
}

/* The peer sees it; and one that has asked for none is left alone. */
Test(rsocket, is_kept_alive)
{
    struct rs_peer peer;
    int listener = rs_here_listen(), server;
    rs_here_set(listener, SOL_SOCKET, SO_KEEPALIVE, 1);
    rs_here_set(listener, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    rs_peer_open(&peer, RS_HERE_PORT);
    rs_peer_connect(&peer);
    cr_assert_geq(server = raccept(listener, NULL, NULL), 0);
    /* more than there are places for, though the program makes no call; the first lends the second half */
    for (int i = 0; i < RS_CTRL_SLOTS + 2;) {
        uint32_t msg = rs_peer_next(&peer);
        i += msg == rs_msg(RS_OP_CTRL, RS_CTRL_KEEPALIVE);
        cr_assert(i || msg >> 29 == RS_OP_SGL, "0x%08x", msg);
    }
    rs_here_set(server, SOL_SOCKET, SO_KEEPALIVE, 0);
    cr_assert_eq(rsend(server, "x", 1, 0), 1);
    while (rs_peer_next(&peer) != rs_msg(RS_OP_DATA, 1)) /* one may have been on its way */
        ;
    rclose(server);
    rclose(listener);
    rs_peer_close(&peer);
}

/* The queue pair's timer is the largest by which it gives up in time. */
Test(rsocket, user_timeout)
{
    struct rs_peer peer;
    int listener = rs_here_listen(), server;
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    rs_here_set(listener, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000);
    rs_peer_open(&peer, RS_HERE_PORT);
    rs_peer_connect(&peer);
    cr_assert_geq(server = raccept(listener, NULL, NULL), 0);
    struct rsock *s = rs_get(server);
    cr_assert_eq(ibv_query_qp(s->id->qp, &attr, IBV_QP_TIMEOUT, &init), 0);
    rs_put(s);
    cr_assert_eq(attr.timeout, 13,
                 "27 times 4.096 us * 2^12 are 453 ms, 27 times those of 13 are 906 ms, 14: 1.8 s");
    rclose(server);
    rclose(listener);
    rs_peer_close(&peer);
}

/* A timer of half a second and more runs eight times, and is not stretched. */
Test(rsocket, a_long_user_timeout_is_used_up)
{
    static const struct {
        uint64_t limit_ms;
        uint8_t code;
    } cases[] = {{0, 1},      {1, 3},      {453, 12},    {452, 11},        {906, 13},
                 {5000, 17},  {17000, 18}, {17180, 19},  {34359, 19},      {34360, 20},
                 {60000, 20}, {68720, 21}, {600000, 24}, {UINT32_MAX, 31}, {70368744, 30}};
    for (size_t i = 0; i < array_len(cases); i++)
        cr_expect_eq(rs_ack_timeout(cases[i].limit_ms), cases[i].code, "%llu ms: %u, not %u",
                     (unsigned long long)cases[i].limit_ms, rs_ack_timeout(cases[i].limit_ms), cases[i].code);
}

/* The child has the timer too, and so it goes on ticking. The listener's thread does not wake for it. */
static void close_what_a_child_has(bool is_peer_first)
{
    int listener = rs_here_listen(), client = rs_here_connect(), server = raccept(listener, NULL, NULL);
    char byte;
    cr_assert_geq(server, 0);
    rs_here_set(server, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    rs_here_set(server, SOL_SOCKET, SO_KEEPALIVE, 1);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        alarm(30);
        pause();
        _exit(0);
    }
    if (is_peer_first) {
        rclose(client);
        cr_expect_eq(rrecv(server, &byte, 1, 0), 0, "the thread has left it");
    }
    rclose(server);
    if (!is_peer_first)
        rclose(client);
    poll(NULL, 0, 1100); /* until it would tick */
    uint64_t began_ms = cpu_ms();
    poll(NULL, 0, 500);
    uint64_t used_ms = cpu_ms() - began_ms;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    rclose(listener);
    cr_expect_lt(used_ms, 250, "%llu ms of a processor in half a second", (unsigned long long)used_ms);
}

Test(rsocket, what_is_closed_wakes_nobody_while_a_child_has_it)
{
    close_what_a_child_has(false);
}

Test(rsocket, what_its_peer_has_closed_wakes_nobody_while_a_child_has_it)
{
    close_what_a_child_has(true);
}

/* An rsocket that a child closes is still its parent's. */
Test(rsocket, a_child_that_closes_leaves_its_parent_alive)
{
    struct rs_peer peer;
    int listener = rs_here_listen(), server, status;
    rs_peer_open(&peer, RS_HERE_PORT);
    rs_peer_connect(&peer);
    cr_assert_geq(server = raccept(listener, NULL, NULL), 0);
    rs_here_set(server, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    rs_here_set(server, SOL_SOCKET, SO_KEEPALIVE, 1);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        alarm(30);
        _exit(rclose(server));
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "0x%x", (unsigned)status);
    while (rs_peer_next(&peer) != rs_msg(RS_OP_CTRL, RS_CTRL_KEEPALIVE))
        ;
    rclose(server);
    rclose(listener);
    rs_peer_close(&peer);
}

/* Flags that mean something else, or nothing, to recv() and send() are not the library's own. */
Test(rsocket, no_flag_makes_a_call_wait)
{
    static const int flags[] = {MSG_CMSG_CLOEXEC, MSG_FASTOPEN, MSG_FASTOPEN | MSG_CMSG_CLOEXEC};
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    int listener = rs_here_listen(), client = rs_here_connect(), server = raccept(listener, NULL, NULL);
    cr_assert_geq(server, 0);
    cr_assert_eq(rfcntl(server, F_SETFL, (long)O_NONBLOCK), 0);
    for (size_t i = 0; i < array_len(flags); i++) {
        alarm(20); /* ends a test that waits without end */
        cr_expect_eq(rrecvmsg(server, &msg, flags[i]), -1);
        cr_expect_eq(errno, EAGAIN);
    }
    rclose(client);
    rclose(server);
    rclose(listener);
}

/* --- bytes --- */

static void send_many_bytes(void)
{
    static uint8_t out[300000], in[300000];
    int listener = rs_here_listen(), client = rs_here_connect(), server = raccept(listener, NULL, NULL);
    size_t sent = 0, got = 0;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (uint8_t)(i * 31 >> 3);
    for (unsigned step = 1; got < sizeof in; step = step * 7 % 9001 + 1) {
        ssize_t n =
            sent < sizeof out ? rsend(client, out + sent, min_u64(sizeof out - sent, step), MSG_DONTWAIT) : 0;
        sent += n > 0 ? (size_t)n : 0;
        n = rrecv(server, in + got, min_u64(sizeof in - got, step * 3 % 8000 + 1), MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
        if (n < 0)
            cr_assert_eq(errno, EAGAIN);
    }
    cr_assert_arr_eq(in, out, sizeof in);
    cr_assert_eq(rshutdown(client, SHUT_WR), 0);
    cr_assert_eq(rrecv(server, in, 1, 0), 0, "its end");
    cr_assert_eq(rsend(server, "back", 4, 0), 4, "the other way is open");
    cr_assert_eq(rrecv(client, in, 4, MSG_WAITALL), 4);
    rclose(client);
    rclose(server);
    rclose(listener);
}

Test(rsocket, bytes_arrive_in_their_order_whatever_the_sizes)
{
    send_many_bytes();
}

Test(rsocket_iwarp, bytes_arrive_in_their_order_whatever_the_sizes)
{
    send_many_bytes();
}
