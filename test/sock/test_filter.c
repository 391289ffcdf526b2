/* SPDX-License-Identifier: BSD-2-Clause */
/* What filters decide about a TCP connection holds for SMC-R: SMCR-SEC-03. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/sock/lab.h"

#define PORT        5000
#define NOBODY      5003
#define SHUNNED     6000 /* a client's port that the server's filter does not like */
#define RULE        50   /* its number: the packet filter of the first test */
#define PATIENCE_MS 400  /* less than the kernel waits before it repeats a SYN */

struct board {
    struct lab *lab;
    volatile int ready, filtered, open, done;
    volatile int refused, refused_later, early, late, smcr[2];
};

static struct board *board_new(struct lab *lab)
{
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    b->lab = lab;
    return b;
}

static void echo(int l, int count)
{
    char c;
    while (count-- > 0) {
        int fd = nornic_accept(l, NULL, NULL);
        while (nornic_recv(fd, &c, 1, 0) == 1)
            nornic_send(fd, &c, 1, MSG_NOSIGNAL);
        nornic_close(fd);
    }
    nornic_close(l);
}

/* A socket whose connect() has begun; `from`: its port, 0: any. */
static int reach(uint16_t from, uint16_t to)
{
    struct sockaddr_in addr = lab_address(1, to), own = lab_address(0, from);
    int fd = nornic_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    nornic_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (from && nornic_bind(fd, (struct sockaddr *)&own, sizeof own) != 0)
        _exit(6);
    if (nornic_connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0 && errno != EINPROGRESS)
        _exit(7);
    return fd;
}

/* The error that it ended with; -1: not ended. */
static int result(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t len = sizeof error;
    if (poll(&p, 1, timeout_ms) == 0)
        return -1;
    nornic_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
    return error;
}

static int is_smcr(int fd)
{
    struct nornic_socket_info info = {0};
    char c = 0;
    nornic_fcntl(fd, F_SETFL, 0);
    nornic_socket_info(fd, &info);
    bool echoed = nornic_send(fd, "x", 1, 0) == 1 && nornic_recv(fd, &c, 1, 0) == 1 && c == 'x';
    nornic_close(fd);
    return echoed && info.smcr;
}

static void run(struct board *b, int (*server)(void *), int (*client)(void *))
{
    pid_t s = lab_fork(b->lab, 1, server, b);
    cr_assert(lab_await(&b->ready));
    pid_t c = lab_fork(b->lab, 0, client, b);
    if (lab_await(&b->filtered)) {
        cr_expect_eq(netns_run(&b->lab->veth, 1, "ip rule del pref %d 2>/dev/null || true", RULE), 0);
        b->open = 1;
    }
    cr_expect_eq(lab_wait(c, 20), 0);
    b->done = 1;
    cr_expect_eq(lab_wait(s, 20), 0);
}

/* --- a packet filter in the server's network --- */

static int serve_two(void *ctx)
{
    struct board *b = ctx;
    lab_start(b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    b->ready = 1;
    echo(l, 2);
    return 0;
}

static int try_twice(void *ctx)
{
    struct board *b = ctx;
    lab_start(b->lab, 0, NULL);
    int refused = reach(0, NOBODY), fd = reach(0, PORT);
    b->refused = result(refused, 1000);
    nornic_close(refused);
    b->early = result(fd, PATIENCE_MS);
    b->filtered = 1;
    lab_await(&b->open);
    b->late = result(fd, 5000); /* the SYN comes again */
    b->smcr[0] = is_smcr(fd);
    fd = reach(0, PORT);
    result(fd, 5000);
    b->smcr[1] = is_smcr(fd);
    refused = reach(0, NOBODY); /* a link group to that peer changes nothing */
    b->refused_later = result(refused, 1000);
    nornic_close(refused);
    return 0;
}

/* covers: SMCR-SEC-03 */
Test(filter, SMCR_SEC_03_a_packet_filter_decides_before_there_is_SMC_R, .timeout = 60)
{
    struct lab lab;
    lab_open(&lab, 1);
    struct board *b = board_new(&lab);
    /* Ahead of the table by which the server would know its own address. */
    cr_assert_eq(netns_run(&lab.veth, 1,
                           "ip rule add pref 100 lookup local && ip rule del pref 0 && "
                           "ip rule add pref %d iif nn1 ipproto tcp dport %d blackhole",
                           RULE, PORT),
                 0, "no packet filter");
    run(b, serve_two, try_twice);
    cr_expect_eq(b->refused, ECONNREFUSED, "%s", strerror(b->refused));
    cr_expect_eq(b->early, -1, "connected in spite of the filter");
    cr_expect_eq(b->late, 0, "%s", strerror(b->late));
    cr_expect_eq(b->smcr[0], 1);
    cr_expect_eq(b->smcr[1], 1);
    cr_expect_eq(b->refused_later, ECONNREFUSED, "%s", strerror(b->refused_later));
    lab_close(&lab);
}

/* --- the filter of a listening socket --- */

static int serve_choosing(void *ctx)
{
    struct board *b = ctx;
    struct sock_filter drop_shunned[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), /* the TCP header's source port */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SHUNNED, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog program = {.len = 4, .filter = drop_shunned};
    lab_start(b->lab, 1, NULL);
    int l = lab_listen(PORT, 16), off = 0;
    if (nornic_setsockopt(l, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
        return 8;
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    char c;
    while (nornic_recv(fd, &c, 1, 0) == 1)
        nornic_send(fd, &c, 1, MSG_NOSIGNAL);
    nornic_close(fd);
    lab_await(&b->open);
    nornic_setsockopt(l, SOL_SOCKET, SO_DETACH_FILTER, &off, sizeof off);
    echo(l, 1);
    return 0;
}

static int try_both(void *ctx)
{
    struct board *b = ctx;
    lab_start(b->lab, 0, NULL);
    int shunned = reach(SHUNNED, PORT), fd = reach(0, PORT);
    result(fd, 5000);
    b->smcr[0] = is_smcr(fd);
    b->early = result(shunned, PATIENCE_MS);
    b->filtered = 1;
    b->late = result(shunned, 5000);
    b->smcr[1] = is_smcr(shunned);
    return 0;
}

/* covers: SMCR-SEC-03 */
Test(filter, SMCR_SEC_03_the_filter_of_a_socket_decides_too, .timeout = 60)
{
    struct lab lab;
    lab_open(&lab, 1);
    struct board *b = board_new(&lab);
    run(b, serve_choosing, try_both);
    cr_expect_eq(b->smcr[0], 1, "the one that is liked");
    cr_expect_eq(b->early, -1, "connected in spite of the filter");
    cr_expect_eq(b->late, 0, "%s", strerror(b->late));
    cr_expect_eq(b->smcr[1], 1);
    lab_close(&lab);
}
