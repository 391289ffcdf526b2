/* SPDX-License-Identifier: BSD-2-Clause */
/* Where sockets over SMC-R end: options and calls that they cannot honour, threads that are cancelled,
 * servers that do not accept. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sock/socket/state.h"
#include "test/sock/lab.h"

#define PORT 5000

struct board {
    struct lab lab;
    volatile int ready, done;
    volatile int value[16];
    volatile unsigned peer_id[2];
    char reason[3][128];
};

static struct board *board_new(void)
{
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lab_open(&b->lab, 1);
    return b;
}

static int reach_with(int fd)
{
    struct sockaddr_in addr = lab_address(1, PORT);
    return nornic_connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0 ? fd : -1;
}

static int reach(void)
{
    return reach_with(nornic_socket(AF_INET, SOCK_STREAM, 0));
}

static bool is_echoed(int fd)
{
    char c = 0;
    return nornic_send(fd, "x", 1, MSG_NOSIGNAL) == 1 && nornic_recv(fd, &c, 1, 0) == 1 && c == 'x';
}

static void run_both(struct board *b, int (*server)(void *), int (*client)(void *))
{
    pid_t one = lab_fork(&b->lab, 1, server, b);
    cr_assert(lab_await(&b->ready));
    pid_t other = lab_fork(&b->lab, 0, client, b);
    int client_status = lab_wait(other, 40);
    b->done = 1;
    int server_status = lab_wait(one, 40);
    lab_close(&b->lab);
    cr_expect_eq(client_status, 0, "the client ended with %d", client_status);
    cr_expect_eq(server_status, 0, "the server ended with %d", server_status);
}

/* Of the connection that stands: a group of a peer that has left may still be there. */
static void note_peer(void *ctx, const struct smcr_group_stat *group, const struct smcr_conn_stat *conn)
{
    if (group && strcmp(conn->state, "ACTIVE") == 0)
        *(unsigned *)ctx = (unsigned)group->peer_id[0] << 8 | group->peer_id[1];
}

/* Echoes, one connection after the other; how the last one ended is in value[15]. */
static int echo_all(void *ctx)
{
    struct board *b = ctx;
    char c;
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 8);
    struct pollfd p = {.fd = l, .events = POLLIN};
    b->ready = 1;
    for (int i = 0; !b->done;) {
        if (poll(&p, 1, 50) != 1)
            continue;
        int fd = nornic_accept(l, NULL, NULL);
        ssize_t n;
        while ((n = nornic_recv(fd, &c, 1, 0)) == 1) {
            unsigned id = 0;
            struct smcr_stat_visitor visitor = {.conn = note_peer, .ctx = &id};
            smcr_sock_stat_visit(&visitor);
            b->peer_id[i++ % 2] = id;
            nornic_send(fd, &c, 1, MSG_NOSIGNAL);
        }
        b->value[15] = n < 0 ? errno : 0;
        nornic_close(fd);
    }
    nornic_close(l);
    return 0;
}

/* --- options --- */

static int refuse(int fd, int level, int name, const void *value, socklen_t len)
{
    return nornic_setsockopt(fd, level, name, value, len) == 0 ? 0 : errno;
}

static void with_option(struct board *b, int which, int level, int name, const void *value, socklen_t len)
{
    struct nornic_socket_info info = {.reason = ""};
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_setsockopt(fd, level, name, value, len) != 0)
        b->value[which] = -errno;
    if (reach_with(fd) < 0 || !is_echoed(fd))
        b->value[which] = -1;
    nornic_socket_info(fd, &info);
    snprintf(b->reason[which], sizeof b->reason[which], "%s", info.reason);
    nornic_close(fd);
}

static int set_options(void *ctx)
{
    struct board *b = ctx;
    int on = 1, off = 0;
    struct tcp_md5sig key = {.tcpm_keylen = 3, .tcpm_key = "key"};
    struct sockaddr_in somebody = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a090909)};
    memcpy(&key.tcpm_addr, &somebody, sizeof somebody);
    lab_start(&b->lab, 0, NULL);
    with_option(b, 0, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on);
    with_option(b, 1, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on);
    with_option(b, 2, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof key);
    int fd = reach();
    b->value[3] = refuse(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on);
    b->value[4] = refuse(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    b->value[5] = refuse(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof off);
    b->value[6] = refuse(fd, IPPROTO_TCP, TCP_ULP, "tls", 4);
    b->value[7] = refuse(fd, SOL_SOCKET, SO_ZEROCOPY, &off, sizeof off);
    b->value[8] = is_echoed(fd);
    nornic_close(fd);
    return 0;
}

/* covers: SMCR-REN-06, SMCR-REN-09, SMCR-SEC-04 */
Test(limits, SMCR_REN_06_options_of_TCP_keep_a_socket_with_TCP_or_are_refused, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, echo_all, set_options);
    cr_expect_str_eq(b->reason[0], "SMC-R is switched off for the socket", "zero copy");
    cr_expect_str_eq(b->reason[1], "SMC-R is switched off for the socket", "fast open");
    if (b->value[2] != -ENOPROTOOPT) /* a kernel without it */
        cr_expect_str_eq(b->reason[2], "SMC-R is switched off for the socket", "MD5: %d", b->value[2]);
    for (int i = 3; i < 7; i++)
        cr_expect_eq(b->value[i], EOPNOTSUPP, "%d: %s", i, strerror(b->value[i]));
    cr_expect_eq(b->value[7], 0);
    cr_expect_eq(b->value[8], 1);
}

/* --- descriptors --- */

#define SELECT_FDS 1024

static bool is_socket(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* How many sockets the runtime has where select() could watch them. It has no device here. */
static int count_low_sockets(void *ctx)
{
    struct smcr_sock_config config = {0};
    int more = 0;
    (void)ctx;
    for (int fd = 0; fd < SELECT_FDS; fd++)
        more -= is_socket(fd);
    if (smcr_sock_start(&config, NULL) != 0)
        return 100;
    for (int fd = 0; fd < SELECT_FDS; fd++)
        more += is_socket(fd);
    smcr_sock_stop(NULL);
    return more;
}

/* Low numbers are the program's, for select(), and to close what it has inherited. */
Test(limits, the_sockets_of_the_runtime_have_high_numbers, .timeout = 60)
{
    struct board *b = board_new();
    pid_t pid = lab_fork(&b->lab, 1, count_low_sockets, NULL);
    cr_expect_eq(lab_wait(pid, 20), 0);
    lab_close(&b->lab);
}

/* --- no RNIC --- */

static int talk_without_port(void *ctx)
{
    struct board *b = ctx;
    struct smcr_sock_config config = {0};
    struct nornic_socket_info info = {.reason = ""};
    if (smcr_sock_start(&config, NULL) != 0)
        return 10;
    int fd = reach();
    b->value[0] = is_echoed(fd);
    nornic_socket_info(fd, &info);
    snprintf(b->reason[0], sizeof b->reason[0], "%s", info.reason);
    nornic_close(fd);
    return 0;
}

/* The SYN has no option, so nothing is negotiated and declined.
 * covers: SMCR-REN-06 */
Test(limits, SMCR_REN_06_who_has_no_RNIC_does_not_offer, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, echo_all, talk_without_port);
    cr_expect_eq(b->value[0], 1);
    cr_expect_str_eq(b->reason[0], "no usable RNIC port");
}

/* --- the kernel's own write() --- */

static int write_by_the_kernel(void *ctx)
{
    struct board *b = ctx;
    socklen_t len = sizeof(int);
    int error = 0;
    lab_start(&b->lab, 0, NULL);
    int fd = reach();
    struct pollfd p = {.fd = fd, .events = 0};
    if (!is_echoed(fd) || write(fd, "abc", 3) != 3)
        return 10;
    poll(&p, 1, 5000);
    b->value[0] = p.revents & POLLERR;
    nornic_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
    b->value[1] = error;
    b->value[2] = (int)send(fd, "abc", 3, MSG_NOSIGNAL);
    b->value[3] = (int)nornic_send(fd, "abc", 3, MSG_NOSIGNAL);
    nornic_close(fd);
    return 0;
}

Test(limits, what_the_kernels_write_takes_does_not_vanish_in_silence, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, echo_all, write_by_the_kernel);
    cr_expect_neq(b->value[0], 0, "no POLLERR");
    cr_expect_eq(b->value[1], EOPNOTSUPP, "%s", strerror(b->value[1]));
    cr_expect_eq(b->value[2], -1);
    cr_expect_eq(b->value[3], -1);
    cr_expect_eq(b->value[15], ECONNRESET, "the peer saw %s", strerror(b->value[15]));
}

/* --- cancellation --- */

static void *read_for_ever(void *arg)
{
    char c;
    nornic_recv(*(int *)arg, &c, 1, 0);
    return NULL;
}

static void *accept_for_ever(void *arg)
{
    nornic_accept(*(int *)arg, NULL, NULL);
    return NULL;
}

static bool is_cancelled(void *(*run)(void *), int fd)
{
    struct timespec end;
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, run, &fd);
    usleep(100000); /* it waits by then */
    pthread_cancel(thread);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 5;
    return pthread_timedjoin_np(thread, &result, &end) == 0 && result == PTHREAD_CANCELED;
}

static int cancel_threads(void *ctx)
{
    struct board *b = ctx;
    struct sockaddr_in addr = lab_address(0, PORT);
    lab_start(&b->lab, 0, NULL);
    int fd = reach(), l = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_bind(l, (struct sockaddr *)&addr, sizeof addr) != 0 || nornic_listen(l, 1) != 0)
        return 11;
    b->value[0] = is_cancelled(read_for_ever, fd);
    b->value[1] = is_cancelled(accept_for_ever, l);
    b->value[2] = is_echoed(fd); /* nobody holds the lock */
    nornic_close(l);
    nornic_close(fd);
    return 0;
}

Test(limits, a_thread_that_waits_can_be_cancelled, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, echo_all, cancel_threads);
    cr_expect_eq(b->value[0], 1, "recv()");
    cr_expect_eq(b->value[1], 1, "accept()");
    cr_expect_eq(b->value[2], 1);
}

/* --- a server that is slow to accept --- */

#define CLIENTS 6

static int accept_late(void *ctx)
{
    struct board *b = ctx;
    int fds[CLIENTS];
    char c;
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 1);
    b->ready = 1;
    lab_await(&b->value[0]); /* until then nobody accepts, and a client waits no longer than clc_ns */
    /* All of them first: they do not come in the order in which the client looks at them. */
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = nornic_accept(l, NULL, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        if (nornic_recv(fds[i], &c, 1, 0) == 1)
            nornic_send(fds[i], &c, 1, MSG_NOSIGNAL);
        nornic_close(fds[i]);
    }
    nornic_close(l);
    return 0;
}

static int come_early(void *ctx)
{
    struct board *b = ctx;
    struct smcr_times times = {.clc_ns = 4000000000};
    struct sockaddr_in addr = lab_address(1, PORT);
    int fds[CLIENTS];
    lab_start(&b->lab, 0, &times);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = nornic_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        nornic_connect(fds[i], (struct sockaddr *)&addr, sizeof addr);
    }
    for (int i = 0; i < CLIENTS; i++) {
        struct pollfd p = {.fd = fds[i], .events = POLLOUT};
        poll(&p, 1, 15000);
        nornic_send(fds[i], "x", 1, MSG_NOSIGNAL);
    }
    b->value[0] = 1;
    for (int i = 0; i < CLIENTS; i++) {
        struct pollfd p = {.fd = fds[i], .events = POLLIN};
        char c;
        poll(&p, 1, 15000);
        b->value[1] += nornic_recv(fds[i], &c, 1, 0) == 1;
        nornic_close(fds[i]);
    }
    return 0;
}

/* covers: SMCR-CLC-12 */
Test(limits, SMCR_CLC_12_a_server_that_is_slow_to_accept_loses_nobody, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, accept_late, come_early);
    cr_expect_eq(b->value[1], CLIENTS, "%d were served", b->value[1]);
}

/* --- bytes of CLC that TCP has not taken yet --- */

static int send_behind(void *ctx)
{
    struct board *b = ctx;
    char text[8] = "";
    lab_start(&b->lab, 0, NULL);
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    nornic_socket_set_tcp_only(fd, true);
    if (reach_with(fd) < 0)
        return 10;
    struct smcr_sock *s = smcr_sock_enter(fd);
    s->unsent = (uint8_t *)strdup("CLC");
    s->unsent_bytes = 3;
    smcr_sock_leave(s);
    b->value[0] = nornic_send(fd, "data", 4, MSG_DONTWAIT) < 0 ? errno : 0;
    s = smcr_sock_enter(fd);
    smcr_sock_send_rest(s); /* as with the next event of TCP */
    smcr_sock_leave(s);
    b->value[1] = (int)nornic_send(fd, "data", 4, MSG_DONTWAIT);
    nornic_recv(fd, text, 7, MSG_WAITALL);
    snprintf(b->reason[0], sizeof b->reason[0], "%s", text);
    nornic_close(fd);
    return 0;
}

/* A Decline that a full TCP connection held back is not overtaken by what the application sends after it.
 * covers: SMCR-FBK-05 */
Test(limits, SMCR_FBK_05_data_do_not_overtake_what_is_left_of_CLC, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, echo_all, send_behind);
    cr_expect_eq(b->value[0], EAGAIN);
    cr_expect_eq(b->value[1], 4);
    cr_expect_str_eq(b->reason[0], "CLCdata");
}

/* --- the backlog --- */

static void count_active(void *ctx, const struct smcr_group_stat *group, const struct smcr_conn_stat *conn)
{
    (void)group;
    *(volatile int *)ctx += strcmp(conn->state, "ACTIVE") == 0;
}

/* Accepts one when value[1] says so; how many connections stand is in value[0]. */
static int accept_when_told(void *ctx)
{
    struct board *b = ctx;
    int fd = -1;
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 1);
    b->ready = 1;
    while (!b->done) {
        int active = 0;
        struct smcr_stat_visitor visitor = {.conn = count_active, .ctx = &active};
        smcr_sock_stat_visit(&visitor);
        b->value[0] = active;
        if (b->value[1] && fd < 0)
            fd = nornic_accept(l, NULL, NULL);
        usleep(2000);
    }
    nornic_close(fd);
    nornic_close(l);
    return 0;
}

static int connect_three(void *ctx)
{
    struct board *b = ctx;
    struct sockaddr_in addr = lab_address(1, PORT);
    struct pollfd p = {.events = POLLOUT};
    lab_start(&b->lab, 0, NULL);
    p.fd = nornic_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    for (int i = 1; i <= 2; i++) {
        reach();
        for (int k = 0; k < 1000 && b->value[0] < i; k++) /* until the listener has it, too */
            usleep(5000);
    }
    b->value[2] = b->value[0];
    nornic_connect(p.fd, (struct sockaddr *)&addr, sizeof addr);
    b->value[3] = poll(&p, 1, 300);
    b->value[1] = 1;
    b->value[4] = poll(&p, 1, 1500);
    return 0;
}

/* The backlog and one more, as the kernel has it; the next one is connected when there is room.
 * covers: SMCR-SOC-05 */
Test(limits, SMCR_SOC_05_a_listener_takes_what_its_backlog_says, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, accept_when_told, connect_three);
    cr_expect_eq(b->value[2], 2);
    cr_expect_eq(b->value[3], 0, "beyond the backlog");
    cr_expect_eq(b->value[4], 1, "not when there was room");
}

/* --- the process as a peer --- */

static int start_twice(void *ctx)
{
    struct board *b = ctx;
    for (int i = 0; i < 2; i++) {
        lab_start(&b->lab, 0, NULL);
        int fd = reach();
        b->value[i] = fd >= 0 && is_echoed(fd);
        nornic_close(fd);
        smcr_sock_stop(NULL);
    }
    return 0;
}

/* covers: SMCR-ARC-21, SMCR-ARC-22 */
Test(limits, SMCR_ARC_21_each_start_is_another_peer, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, echo_all, start_twice);
    cr_expect(b->value[0] && b->value[1]);
    cr_expect_neq(b->peer_id[0], b->peer_id[1], "both times %04x", b->peer_id[0]);
}

static void count_group(void *ctx, const struct smcr_group_stat *group)
{
    (void)group;
    ++*(int *)ctx;
}

/* How many groups there are; at last, after at most two seconds, in value[1]. */
static int look_for_groups(void *ctx)
{
    struct board *b = ctx;
    char c;
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 8);
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL), groups = 0;
    struct smcr_stat_visitor visitor = {.group = count_group, .ctx = &groups};
    while (nornic_recv(fd, &c, 1, 0) == 1)
        nornic_send(fd, &c, 1, MSG_NOSIGNAL);
    smcr_sock_stat_visit(&visitor);
    b->value[0] = groups;
    nornic_close(fd);
    for (int i = 0; i < 400 && groups > 0; i++) {
        usleep(5000);
        groups = 0;
        smcr_sock_stat_visit(&visitor);
    }
    b->value[1] = groups;
    nornic_close(l);
    return 0;
}

static int talk_once(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 0, NULL);
    int fd = reach();
    int failed = !is_echoed(fd);
    nornic_close(fd);
    return failed;
}

/* A process that ends takes leave: without that its peers would keep the group until a TEST LINK is not
 * answered.
 * covers: SMCR-ABT-09, SMCR-LGT-03 */
Test(limits, SMCR_ABT_09_who_ends_tells_its_peers, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, look_for_groups, talk_once);
    cr_expect_eq(b->value[0], 1);
    cr_expect_eq(b->value[1], 0, "the group of a peer that has ended is still there");
}

static int keep_alive(void *ctx)
{
    struct board *b = ctx;
    struct smcr_counters before, after;
    int on = 1;
    lab_start(&b->lab, 0, NULL);
    int fd = reach();
    if (!is_echoed(fd))
        return 10;
    smcr_sock_counters(&before);
    usleep(1500000);
    smcr_sock_counters(&after);
    b->value[0] = (int)(after.tx_llc - before.tx_llc);
    nornic_setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    nornic_setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &on, sizeof on);
    for (int i = 0; i < 600 && after.tx_llc == before.tx_llc; i++) {
        usleep(5000);
        smcr_sock_counters(&after);
    }
    b->value[1] = (int)(after.tx_llc - before.tx_llc);
    nornic_close(fd);
    return 0;
}

/* covers: SMCR-KAL-01 */
Test(limits, SMCR_KAL_01_keepalives_of_the_application_test_the_link, .timeout = 60)
{
    struct board *b = board_new();
    run_both(b, echo_all, keep_alive);
    cr_expect_eq(b->value[0], 0, "without them, %d", b->value[0]);
    cr_expect_geq(b->value[1], 1);
}
