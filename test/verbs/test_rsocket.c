/* SPDX-License-Identifier: BSD-2-Clause */
/* Rsockets: with each other, and with a peer that does not keep to what was agreed. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/support/netns.h"
#include "test/verbs/pair.h"
#include "test/verbs/rs_peer.h"

#define PORT 7600

static void begin(void)
{
    netns_loopback();
    setenv("NORNIC_PORT", "udp:127.0.0.1", 1);
}

TestSuite(rsocket, .init = begin, .timeout = 60);

static void begin_iwarp(void)
{
    netns_loopback();
    setenv("NORNIC_PORT", "iwarp:127.0.0.1", 1);
}

TestSuite(rsocket_iwarp, .init = begin_iwarp, .timeout = 60);

static struct sockaddr_in here(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, "127.0.0.1", &addr.sin_addr);
    return addr;
}

static int listen_here(void)
{
    struct sockaddr_in addr = here();
    int fd = rsocket(AF_INET, SOCK_STREAM, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(rbind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    cr_assert_eq(rlisten(fd, 4), 0);
    return fd;
}

static int connect_here(void)
{
    struct sockaddr_in addr = here();
    int fd = rsocket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(rconnect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    return fd;
}

static void set_number(int fd, int level, int name, int value)
{
    cr_assert_eq(rsetsockopt(fd, level, name, &value, sizeof value), 0);
}

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
    int listener = listen_here();
    cr_assert_eq(rsetsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    uint64_t began = now_ms();
    cr_assert_eq(raccept(listener, NULL, NULL), -1, "nobody connects");
    cr_assert_eq(errno, EAGAIN);
    cr_assert_geq(now_ms() - began, 60);
    int client = connect_here();
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
    int listener = listen_here(), server;
    set_number(listener, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_number(listener, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    rs_peer_open(&peer, PORT);
    rs_peer_connect(&peer);
    cr_assert_geq(server = raccept(listener, NULL, NULL), 0);
    /* more than there are places for, though the program makes no call; the first lends the second half */
    for (int i = 0; i < RS_CTRL_SLOTS + 2;) {
        uint32_t msg = rs_peer_next(&peer);
        i += msg == rs_msg(RS_OP_CTRL, RS_CTRL_KEEPALIVE);
        cr_assert(i || msg >> 29 == RS_OP_SGL, "0x%08x", msg);
    }
    set_number(server, SOL_SOCKET, SO_KEEPALIVE, 0);
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
    int listener = listen_here(), server;
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    set_number(listener, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000);
    rs_peer_open(&peer, PORT);
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

/* The child has the timer too, and so it goes on ticking for a thread that does not read it any more. */
Test(rsocket, what_is_closed_wakes_nobody_while_a_child_has_it)
{
    int listener = listen_here(), client = connect_here(), server = raccept(listener, NULL, NULL);
    cr_assert_geq(server, 0);
    set_number(server, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    set_number(server, SOL_SOCKET, SO_KEEPALIVE, 1);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        alarm(30);
        pause();
        _exit(0);
    }
    rclose(client);
    rclose(server);
    rclose(listener);
    poll(NULL, 0, 1100); /* until it would tick */
    uint64_t began_ms = cpu_ms();
    poll(NULL, 0, 500);
    uint64_t used_ms = cpu_ms() - began_ms;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cr_expect_lt(used_ms, 250, "%llu ms of a processor in half a second", (unsigned long long)used_ms);
}

/* What a child closes is still its parent's. */
Test(rsocket, a_child_that_closes_leaves_its_parent_alive)
{
    struct rs_peer peer;
    int listener = listen_here(), server, status;
    rs_peer_open(&peer, PORT);
    rs_peer_connect(&peer);
    cr_assert_geq(server = raccept(listener, NULL, NULL), 0);
    set_number(server, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    set_number(server, SOL_SOCKET, SO_KEEPALIVE, 1);
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
    int listener = listen_here(), client = connect_here(), server = raccept(listener, NULL, NULL);
    cr_assert_geq(server, 0);
    cr_assert_eq(rfcntl(server, F_SETFL, (long)O_NONBLOCK), 0);
    for (size_t i = 0; i < array_len(flags); i++) {
        alarm(20); /* ends the test where it waits without end */
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
    int listener = listen_here(), client = connect_here(), server = raccept(listener, NULL, NULL);
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

/* --- a peer that is not honest --- */

/* The rsocket that the peer is connected to; both after the peer was changed by `spoil`. */
static int meet(struct rs_peer *peer, int *listener)
{
    *listener = listen_here();
    rs_peer_open(peer, PORT);
    rs_peer_connect(peer);
    int server = raccept(*listener, NULL, NULL);
    cr_assert_geq(server, 0);
    return server;
}

static void part(struct rs_peer *peer, int listener, int server)
{
    cr_assert_eq(rclose(server), 0);
    rs_peer_close(peer);
    /* others are served */
    int client = connect_here();
    rclose(client);
    rclose(listener);
}

static void fails_with(int server, int wanted)
{
    char byte;
    cr_assert_eq(rrecv(server, &byte, 1, 0), -1);
    cr_assert_eq(errno, wanted);
}

Test(rsocket, private_data_of_another_version)
{
    int listener = listen_here();
    uint8_t data[RS_CONN_DATA_BYTES];
    struct rs_peer peer;
    rs_peer_open(&peer, PORT);
    rs_put_conn_data(&peer.own, data);
    data[0] = 2;
    cr_assert_eq(rs_peer_ask(&peer, data, sizeof data), ECONNREFUSED);
    rs_peer_close(&peer);
    rs_peer_open(&peer, PORT);
    cr_assert_eq(rs_peer_ask(&peer, data, 0), ECONNREFUSED, "it says nothing");
    rs_peer_close(&peer);
    rs_peer_open(&peer, PORT);
    peer.own.sgl.len_bytes = 0;
    rs_put_conn_data(&peer.own, data);
    cr_assert_eq(rs_peer_ask(&peer, data, sizeof data), ECONNREFUSED, "it has no list");
    rs_peer_close(&peer);
    int client = connect_here();
    rclose(client);
    rclose(listener);
}

Test(rsocket, more_bytes_than_were_lent)
{
    struct rs_peer peer;
    int listener, server = meet(&peer, &listener);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, RS_MSG_LENGTH_MAX), 0, 0, 0), IBV_WC_SUCCESS);
    fails_with(server, EPROTO);
    part(&peer, listener, server);
}

Test(rsocket, more_messages_than_there_are_credits)
{
    struct rs_peer peer;
    int listener, server = meet(&peer, &listener);
    for (unsigned i = 0; i <= RS_QUEUE_DEFAULT; i++) {
        const struct rs_sge *half = &peer.other.data;
        cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), half->addr + i, half->key, 1),
                     IBV_WC_SUCCESS);
        struct pollfd look = {.fd = server, .events = POLLIN};
        rpoll(&look, 1, 0); /* takes what has come */
    }
    char byte;
    ssize_t got = 1;
    for (unsigned i = 0; i <= RS_QUEUE_DEFAULT && got == 1; i++)
        got = rrecv(server, &byte, 1, 0); /* what came rightly is there */
    cr_assert_eq(got, -1);
    cr_assert_eq(errno, EPROTO);
    part(&peer, listener, server);
}

/* It lends memory that is none: writing there fails, and so does the connection. */
Test(rsocket, memory_that_is_none)
{
    struct rs_peer peer;
    int listener = listen_here();
    rs_peer_open(&peer, PORT);
    peer.own.data = (struct rs_sge){.addr = 0x1000, .key = 0xdead, .len_bytes = 0xffffffff};
    rs_peer_connect(&peer);
    int server = raccept(listener, NULL, NULL);
    cr_assert_eq(rsend(server, "nowhere", 7, 0), 7);
    fails_with(server, ECONNRESET);
    part(&peer, listener, server);
}

/* It says that much was lent, and has lent nothing; what it says without sense is left alone. */
Test(rsocket, words_without_sense)
{
    struct rs_peer peer;
    int listener, server = meet(&peer, &listener);
    static uint8_t many[4096];
    const uint32_t words[] = {
        rs_msg(RS_OP_SGL, 0xffff),
        rs_msg(RS_OP_SGL, RS_MSG_LENGTH_MAX),
        rs_msg(RS_OP_IOMAP, 0),
        rs_msg(RS_OP_IOMAP, RS_IOMAP_MAX),
        rs_msg(RS_OP_IOMAP, RS_MSG_LENGTH_MAX),
        rs_msg((enum rs_op)1, 5),
        rs_msg((enum rs_op)5, 77),
        rs_msg(RS_OP_CTRL, 77),
        rs_msg(RS_OP_DATA, 0),
    };
    for (unsigned i = 0; i < array_len(words); i++)
        cr_assert_eq(rs_peer_send(&peer, words[i], 0, 0, 0), IBV_WC_SUCCESS);
    cr_assert_eq(rsend(server, many, 2048, 0), 2048, "the half that it lent");
    cr_assert_eq(rsend(server, many, 1, MSG_DONTWAIT), -1);
    cr_assert_eq(errno, EAGAIN);
    cr_assert_eq(riowrite(server, many, 1, 0, 0), (size_t)-1, "it has mapped nothing");
    part(&peer, listener, server);
}

/* The list where it may write what it lends: entries of any length, at any place, and mappings. */
Test(rsocket, lists_that_lie)
{
    struct rs_peer peer;
    int listener = listen_here(), server;
    set_number(listener, SOL_RDMA, RDMA_IOMAPSIZE, 4);
    rs_peer_open(&peer, PORT);
    rs_peer_connect(&peer);
    cr_assert_geq(server = raccept(listener, NULL, NULL), 0);
    uint8_t entry[RS_IOMAP_BYTES];
    const struct rs_iomap map = {.offset = 0x7000,
                                 .sge = {.addr = 0x2000, .key = 0xbeef, .len_bytes = 0xffffffff}};
    const struct rs_sge *list = &peer.other.sgl;
    rs_put_iomap(&map, peer.other.is_big_endian, entry);
    memcpy(peer.memory + 4096, entry, sizeof entry);
    uint64_t at = list->addr + RS_SGL_ENTRIES * RS_SGE_BYTES;
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_IOMAP, 0), at, list->key, sizeof entry), IBV_WC_SUCCESS);
    struct pollfd look = {.fd = server, .events = POLLIN};
    rpoll(&look, 1, 0);
    cr_assert_eq(riowrite(server, "xyz", 3, 0x7000, 0), 3, "it is told so");
    fails_with(server, ECONNRESET);
    part(&peer, listener, server);
}

/* Beside its list nobody may write. */
Test(rsocket, memory_beside_the_list)
{
    struct rs_peer peer;
    int listener, server = meet(&peer, &listener);
    const struct rs_sge *list = &peer.other.sgl;
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), list->addr + 4096, list->key, 16),
                 IBV_WC_REM_ACCESS_ERR);
    cr_assert_eq(rclose(server), 0);
    rclose(listener);
    rs_peer_close(&peer);
}

/* --- messages that are SENDs --- */

static int meet_with(struct rs_peer *peer, int *listener, int receives, uint16_t credits)
{
    *listener = listen_here();
    set_number(*listener, SOL_RDMA, RDMA_RQSIZE, receives);
    rs_peer_open(peer, PORT);
    peer->own.credits = credits;
    rs_peer_connect(peer);
    int server = raccept(*listener, NULL, NULL);
    cr_assert_geq(server, 0);
    return server;
}

Test(rsocket_iwarp, a_message_is_a_send_behind_its_write)
{
    struct rs_peer peer;
    uint8_t bytes[5];
    int listener, server = meet(&peer, &listener);
    memcpy(peer.memory + 4096, "hello", 5);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 5), peer.other.data.addr, peer.other.data.key, 5),
                 IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, bytes, 5, MSG_WAITALL), 5);
    cr_assert_arr_eq(bytes, "hello", 5);
    cr_assert_eq(rsend(server, "again", 5, 0), 5);
    uint32_t msg = rs_peer_next(&peer);
    if (msg >> 29 == RS_OP_SGL)
        msg = rs_peer_next(&peer);
    cr_assert_eq(msg, rs_msg(RS_OP_DATA, 5));
    cr_assert_arr_eq(peer.memory + 4096, "again", 5);
    part(&peer, listener, server);
}

/* A SEND that finds no receive would end the stream. */
Test(rsocket_iwarp, messages_without_credit_have_receives_of_their_own)
{
    enum { CREDITS = 16, WITHOUT = 8 };
    struct rs_peer peer;
    uint8_t bytes[CREDITS];
    int listener, server = meet_with(&peer, &listener, CREDITS, 32);
    for (unsigned i = 0; i < CREDITS; i++)
        cr_assert_eq(
            rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), peer.other.data.addr + i, peer.other.data.key, 1),
            IBV_WC_SUCCESS);
    for (unsigned i = 0; i < WITHOUT; i++)
        cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_SGL, 32), 0, 0, 0), IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, bytes, CREDITS, MSG_WAITALL), CREDITS);
    cr_assert_eq(rsend(server, "x", 1, 0), 1, "it goes on");
    while (rs_peer_next(&peer) != rs_msg(RS_OP_DATA, 1))
        ;
    part(&peer, listener, server);
}

/* rdma-core's library has no receives for what needs no credit: it gets less messages than it has credits. */
Test(rsocket_iwarp, credits_are_left_for_messages_without)
{
    struct rs_peer peer;
    int listener, server = meet_with(&peer, &listener, 64, 20), sent = 0;
    while (rsend(server, "x", 1, MSG_DONTWAIT) == 1 && sent <= 20)
        sent++;
    cr_assert_eq(sent, 12);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_SGL, 22), 0, 0, 0), IBV_WC_SUCCESS);
    cr_assert_eq(rsend(server, "xx", 2, 0), 2);
    cr_assert_eq(rsend(server, "x", 1, 0), 1);
    cr_assert_eq(rsend(server, "x", 1, MSG_DONTWAIT), -1);
    part(&peer, listener, server);
}

/* What keeps it alive takes none of the peer's receives. */
Test(rsocket_iwarp, is_kept_alive_without_messages)
{
    struct rs_peer peer;
    int listener, server = meet(&peer, &listener);
    struct rsock *s = rs_need(server);
    for (unsigned i = 0; i < 2 * RS_PEER_RECVS;) {
        rs_progress(s);
        int err = rs_post_ctrl(s, RS_CTRL_KEEPALIVE);
        cr_assert(err == 0 || err == EAGAIN);
        i += err == 0;
    }
    rs_done(s);
    cr_assert_eq(rsend(server, "x", 1, 0), 1);
    for (uint32_t msg; (msg = rs_peer_next(&peer)) != rs_msg(RS_OP_DATA, 1);)
        cr_assert_eq(msg >> 29, RS_OP_SGL, "0x%08x", msg);
    part(&peer, listener, server);
}

/* The end of a stream is what the peer says, not that its connection was lost. */
Test(rsocket_iwarp, a_stream_that_is_cut_fails_behind_what_came)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct rs_peer peer;
    char byte;
    int listener, server = meet(&peer, &listener);
    const struct rs_sge *half = &peer.other.data;
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), half->addr, half->key, 1), IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, &byte, 1, MSG_PEEK), 1);
    cr_assert_eq(ibv_modify_qp(peer.id->qp, &error, IBV_QP_STATE), 0);
    cr_assert_eq(rrecv(server, &byte, 1, 0), 1);
    fails_with(server, ECONNRESET);
    part(&peer, listener, server);
}

Test(rsocket_iwarp, a_stream_that_is_cut_behind_its_end_has_ended)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct pollfd polled = {.events = 0};
    struct rs_peer peer;
    char byte;
    int listener, server = meet(&peer, &listener);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_CTRL, RS_CTRL_SHUTDOWN), 0, 0, 0), IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, &byte, 1, 0), 0);
    cr_assert_eq(ibv_modify_qp(peer.id->qp, &error, IBV_QP_STATE), 0);
    polled.fd = server;
    cr_assert_eq(rpoll(&polled, 1, PAIR_WAIT_MS), 1);
    cr_assert_eq(polled.revents, POLLHUP, "0x%x", polled.revents);
    cr_assert_eq(rrecv(server, &byte, 1, 0), 0);
    part(&peer, listener, server);
}

Test(rsocket_iwarp, a_peer_of_the_other_order_of_bytes_is_refused)
{
    struct rs_peer peer;
    uint8_t data[RS_CONN_DATA_BYTES];
    int listener = listen_here();
    rs_peer_open(&peer, PORT);
    peer.own.is_big_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    rs_put_conn_data(&peer.own, data);
    cr_assert_eq(rs_peer_ask(&peer, data, sizeof data), ECONNREFUSED);
    rs_peer_close(&peer);
    rclose(listener);
}

Test(rsocket_iwarp, a_send_of_another_length_is_no_message)
{
    struct rs_peer peer;
    int listener, server = meet(&peer, &listener);
    char byte;
    cr_assert_eq(rs_peer_say(&peer, "\xff\xff\xff", 3), IBV_WC_SUCCESS);
    memcpy(peer.memory + 4096, "y", 1);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), peer.other.data.addr, peer.other.data.key, 1),
                 IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, &byte, 1, 0), 1);
    cr_assert_eq(byte, 'y');
    part(&peer, listener, server);
}
