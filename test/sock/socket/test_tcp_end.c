/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of the TCP connection beside, by a peer that ends it as Linux does: with D its direction of TCP. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/socket/state.h"
#include "test/sock/lab.h"

#define PORT 5000

/* What a program sees of a peer that has ended its direction and is reset. */
struct seen {
    int end;    /* of recv() before */
    int events; /* of poll() behind it, that nobody asks for */
    int error;  /* SO_ERROR */
    int again;  /* of recv() behind it */
    int send_error;
};

struct board {
    struct lab lab;
    volatile int ready, saw_end, took_fin, done;
    struct seen seen;
};

static void start_v2(int side)
{
    struct smcr_sock_config config = {.ports = {{.port = side ? "xdp:nn1" : "xdp:nn0"}}, .num_ports = 1};
    struct nornic_error why = {""};
    config.num_eids = 1;
    if (smcr_eid_parse("NORNIC-TEST", config.eids[0]) != 0 || smcr_sock_start(&config, &why) != 0 ||
        why.text[0])
        _exit(4);
}

static bool is_smcr(int fd)
{
    smcr_rt_lock();
    bool is = smcr_sock_find(fd)->state == SMCR_SOCK_SMCR;
    smcr_rt_unlock();
    return is;
}

static bool has_taken_fin(int fd)
{
    for (int i = 0; i < 4000; i++) {
        smcr_rt_lock();
        bool has = smcr_sock_find(fd)->told == SMCR_SOCK_TOLD_FIN;
        smcr_rt_unlock();
        if (has)
            return true;
        usleep(5000);
    }
    return false;
}

static int await_reset(void *ctx)
{
    struct board *b = ctx;
    struct seen *seen = &b->seen;
    socklen_t len = sizeof seen->error;
    char c;
    start_v2(1);
    int l = lab_listen(PORT, 16);
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    seen->end = (int)nornic_recv(fd, &c, 1, 0);
    b->saw_end = 1;
    if (!is_smcr(fd) || !has_taken_fin(fd))
        return 10;
    b->took_fin = 1;
    struct pollfd p = {.fd = fd};
    poll(&p, 1, 20000);
    seen->events = p.revents;
    nornic_getsockopt(fd, SOL_SOCKET, SO_ERROR, &seen->error, &len);
    seen->again = (int)nornic_recv(fd, &c, 1, 0);
    seen->send_error = nornic_send(fd, "x", 1, MSG_NOSIGNAL) < 0 ? errno : 0;
    b->done = 1;
    nornic_close(fd);
    nornic_close(l);
    return 0;
}

/* D; then, where its own runtime does not see it and says no A, TCP's FIN and RST. */
static int end_and_reset(void *ctx)
{
    struct board *b = ctx;
    struct sockaddr_in addr = lab_address(1, PORT);
    start_v2(0);
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0 || !is_smcr(fd) ||
        nornic_shutdown(fd, SHUT_WR) != 0 || !lab_await(&b->saw_end))
        return 10;
    smcr_rt_lock();
    struct smcr_sock *s = smcr_sock_find(fd);
    s->told = SMCR_SOCK_TOLD_RST;
    shutdown(s->tcp_fd, SHUT_WR);
    smcr_rt_unlock();
    if (!lab_await(&b->took_fin))
        return 11;
    smcr_rt_lock();
    smcr_sock_reset_tcp(s);
    smcr_rt_unlock();
    lab_await(&b->done);
    nornic_close(fd);
    return 0;
}

/* The same with the kernel's TCP. */
static void ask_tcp(struct seen *seen)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    socklen_t len = sizeof addr;
    char c;
    int l = socket(AF_INET, SOCK_STREAM, 0), peer = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(l, (struct sockaddr *)&addr, sizeof addr), 0);
    cr_assert_eq(listen(l, 1), 0);
    cr_assert_eq(getsockname(l, (struct sockaddr *)&addr, &len), 0);
    cr_assert_eq(connect(peer, (struct sockaddr *)&addr, sizeof addr), 0);
    int fd = accept(l, NULL, NULL);
    shutdown(peer, SHUT_WR);
    seen->end = (int)recv(fd, &c, 1, 0);
    cr_assert_eq(connect(peer, &none, sizeof none), 0);
    struct pollfd p = {.fd = fd};
    poll(&p, 1, 20000);
    seen->events = p.revents;
    len = sizeof seen->error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &seen->error, &len);
    seen->again = (int)recv(fd, &c, 1, 0);
    seen->send_error = send(fd, "x", 1, MSG_NOSIGNAL) < 0 ? errno : 0;
    close(l);
    close(peer);
    close(fd);
}

/* A RST behind the FIN that D explains is no part of it. */
/* covers: SMCR-ABT-05 */
Test(tcp_end, SMCR_ABT_05_a_reset_behind_a_half_close_of_version_2, .timeout = 60)
{
    struct seen tcp = {0};
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lab_open(&b->lab, 1);
    pid_t server = lab_fork(&b->lab, 1, await_reset, b), client = 0;
    if (lab_await(&b->ready))
        client = lab_fork(&b->lab, 0, end_and_reset, b);
    int client_status = lab_wait(client, 40), server_status = lab_wait(server, 40);
    ask_tcp(&tcp);
    lab_close(&b->lab);
    cr_expect_eq(client_status, 0, "the client ended with %d", client_status);
    cr_expect_eq(server_status, 0, "the server ended with %d", server_status);
    cr_expect_eq(b->seen.end, 0);
    cr_expect_eq(b->seen.events, tcp.events, "events %#x, of TCP %#x", b->seen.events, tcp.events);
    cr_expect_eq(b->seen.error, tcp.error, "%s, of TCP %s", strerror(b->seen.error), strerror(tcp.error));
    cr_expect_eq(b->seen.again, tcp.again, "%d, of TCP %d", b->seen.again, tcp.again);
    cr_expect_eq(b->seen.send_error, tcp.send_error, "%s, of TCP %s", strerror(b->seen.send_error),
                 strerror(tcp.send_error));
}
