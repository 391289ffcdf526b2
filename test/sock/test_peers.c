/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic's sockets against peers that decline, hang, leave or lie at each step of CLC: real TCP connections
 * with the option, the messages by hand. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "test/sock/clc_hand.h"

#define PORT 6000

/* What the side with nornic did, for the test to see. */
struct app {
    struct lab *lab;
    volatile int result;   /* of accept() or connect(): 0, or -errno */
    volatile int accepted; /* connections, and what came of each */
    volatile bool smcr, declined_by_peer;
    volatile uint32_t diagnosis;
    volatile int got; /* bytes of the first, or -errno */
    char text[64];
    volatile int more; /* connections that the server is to take */
    volatile bool stop;
    volatile uint64_t took_ms;
    bool is_patient; /* its timers are the usual ones */
};

static struct app *app_new(struct lab *lab)
{
    struct app *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    a->lab = lab;
    return a;
}

static const struct smcr_times patient = {.clc_ns = 6000000000, .first_contact_ns = 5000000000};
static const struct smcr_times quick = {.clc_ns = 300000000, .first_contact_ns = 600000000};

/* Reads five bytes and writes five, as both ends do here. */
static void talk(struct app *a, int fd)
{
    struct nornic_socket_info info;
    struct timeval tv = {.tv_sec = 5};
    nornic_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    nornic_socket_info(fd, &info);
    a->smcr = info.smcr;
    a->declined_by_peer = info.declined_by_peer;
    a->diagnosis = info.diagnosis;
    ssize_t n = nornic_recv(fd, a->text, 5, MSG_WAITALL);
    a->got = n < 0 ? -errno : (int)n;
    nornic_send(fd, "world", 5, MSG_NOSIGNAL);
    nornic_close(fd);
}

static int serve(void *ctx)
{
    struct app *a = ctx;
    struct sockaddr_in addr = lab_address(1, PORT);
    lab_start(a->lab, 1, a->is_patient ? &patient : &quick);
    int l = nornic_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (nornic_bind(l, (struct sockaddr *)&addr, sizeof addr) != 0 || nornic_listen(l, 8) != 0)
        return 5;
    while (!a->stop) {
        struct pollfd p = {.fd = l, .events = POLLIN};
        int fd = poll(&p, 1, 20) == 1 ? nornic_accept(l, NULL, NULL) : -1;
        if (fd < 0)
            continue;
        talk(a, fd);
        a->accepted++;
    }
    nornic_close(l);
    return 0;
}

static int reach(void *ctx)
{
    struct app *a = ctx;
    struct sockaddr_in addr = lab_address(1, PORT);
    lab_start(a->lab, 0, &quick);
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    uint64_t begin_ns = host_now_ns();
    a->result = nornic_connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0 ? 0 : -errno;
    a->took_ms = (host_now_ns() - begin_ns) / 1000000;
    if (a->result == 0)
        talk(a, fd);
    else
        nornic_close(fd);
    return 0;
}

/* --- nornic serves --- */

struct served {
    struct lab lab;
    struct hand hand;
    struct app *app;
    pid_t pid;
    uint8_t bytes[256];
    size_t len;
};

static void served_open_with(struct served *t, bool is_patient)
{
    lab_open(&t->lab, 1);
    t->app = app_new(&t->lab);
    t->app->is_patient = is_patient;
    t->pid = lab_fork(&t->lab, 1, serve, t->app);
    hand_open(&t->hand, &t->lab);
}

static void served_open(struct served *t)
{
    served_open_with(t, false);
}

/* A plain client comes after all, and is served at once: nothing of what happened before holds it up. */
static void served_close(struct served *t)
{
    char text[6] = "";
    int before = t->app->accepted;
    struct sockaddr_in addr = lab_address(1, PORT);
    netns_enter(&t->lab.veth, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    netns_enter(&t->lab.veth, -1);
    cr_expect_eq(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    hand_send(fd, "after", 5);
    cr_expect_eq(hand_recv(fd, text, 5), 5);
    cr_expect_str_eq(text, "world");
    close(fd);
    for (int i = 0; i < 200 && t->app->accepted == before; i++)
        usleep(10000);
    t->app->stop = true;
    cr_expect_eq(lab_wait(t->pid, 10), 0);
    hand_close(&t->hand);
    lab_close(&t->lab);
}

static void expect_served_by_tcp(struct served *t, int fd)
{
    char text[6] = "";
    cr_expect_eq(hand_recv(fd, text, 5), 5);
    cr_expect_str_eq(text, "world");
    close(fd);
    for (int i = 0; i < 200 && t->app->accepted == 0; i++)
        usleep(10000);
    cr_expect_eq(t->app->accepted, 1);
    cr_expect_not(t->app->smcr);
    cr_expect_eq(t->app->got, 5);
    cr_expect_str_eq(t->app->text, "hello");
}

static int proposed(struct served *t)
{
    struct smcr_proposal p = hand_proposal();
    struct smcr_subnet s = hand_subnet();
    int fd = hand_connect(&t->hand, PORT);
    t->len = hand_put_proposal(t->bytes, &p, &s);
    hand_send(fd, t->bytes, t->len);
    return fd;
}

static void expect_accept(struct served *t, int fd)
{
    struct smcr_accept a;
    cr_assert_eq(hand_recv(fd, t->bytes, SMCR_ACCEPT_BYTES), SMCR_ACCEPT_BYTES);
    smcr_accept_get(&a, t->bytes);
    cr_assert_eq(a.type, SMCR_CLC_ACCEPT);
    cr_assert_eq(a.flag, 1);
}

/* covers: SMCR-FBK-05, SMCR-CLC-05, SMCR-CLC-10, SMCR-CLC-42 */
Test(peers, SMCR_FBK_05_a_client_declines_and_its_bytes_come_whole, .timeout = 60)
{
    struct served t;
    served_open(&t);
    int fd = proposed(&t);
    expect_accept(&t, fd);
    t.len = hand_put_decline(t.bytes, SMCR_DIAG_CONFIG);
    memcpy(t.bytes + t.len, "hello", 5); /* in the same segment */
    hand_send(fd, t.bytes, t.len + 5);
    expect_served_by_tcp(&t, fd);
    cr_expect(t.app->declined_by_peer);
    served_close(&t);
}

/* covers: SMCR-CLC-05, SMCR-FBK-05 */
Test(peers, SMCR_CLC_05_byte_by_byte, .timeout = 60)
{
    struct served t;
    served_open(&t);
    struct smcr_proposal p = hand_proposal();
    struct smcr_subnet s = hand_subnet();
    int fd = hand_connect(&t.hand, PORT);
    t.len = hand_put_proposal(t.bytes, &p, &s);
    for (size_t i = 0; i < t.len; i++)
        hand_send(fd, t.bytes + i, 1);
    expect_accept(&t, fd);
    t.len = hand_put_decline(t.bytes, SMCR_DIAG_CONFIG);
    memcpy(t.bytes + t.len, "hello", 5);
    for (size_t i = 0; i < t.len + 5; i++)
        hand_send(fd, t.bytes + i, 1);
    expect_served_by_tcp(&t, fd);
    served_close(&t);
}

/* covers: SMCR-FC-02, SMCR-CLC-43 */
Test(peers, SMCR_FC_02_a_client_of_another_subnet_is_declined, .timeout = 60)
{
    struct served t;
    struct smcr_decline d;
    served_open(&t);
    struct smcr_proposal p = hand_proposal();
    struct smcr_subnet s = {.subnet = {10, 99, 0, 0}, .mask_len = 24};
    int fd = hand_connect(&t.hand, PORT);
    t.len = hand_put_proposal(t.bytes, &p, &s);
    hand_send(fd, t.bytes, t.len);
    cr_assert_eq(hand_recv(fd, t.bytes, SMCR_DECLINE_BYTES), SMCR_DECLINE_BYTES);
    smcr_decline_get(&d, t.bytes);
    cr_expect_eq(d.diagnosis, SMCR_DIAG_NO_COMMON_SUBNET);
    hand_send(fd, "hello", 5);
    expect_served_by_tcp(&t, fd);
    cr_expect_eq(t.app->diagnosis, SMCR_DIAG_NO_COMMON_SUBNET);
    served_close(&t);
}

/* covers: SMCR-CLC-06 */
Test(peers, SMCR_CLC_06_a_client_talks_of_other_things, .timeout = 60)
{
    struct served t;
    served_open(&t);
    int fd = hand_connect(&t.hand, PORT);
    hand_send(fd, "GET / HTTP/1.1\r\nHost: example.net\r\n\r\n------------------------", 60);
    cr_expect(hand_is_reset(fd, 4000));
    close(fd);
    cr_expect_eq(t.app->accepted, 0, "nobody is handed a connection that is none");
    served_close(&t);
}

/* covers: SMCR-CLC-12 */
Test(peers, SMCR_CLC_12_a_client_hangs_before_its_Proposal, .timeout = 60)
{
    struct served t;
    served_open(&t);
    int fd = hand_connect(&t.hand, PORT);
    cr_expect(hand_is_reset(fd, 4000));
    close(fd);
    fd = hand_connect(&t.hand, PORT);
    hand_send(fd, "\xe2\xd4\xc3", 3);
    cr_expect(hand_is_reset(fd, 4000));
    close(fd);
    cr_expect_eq(t.app->accepted, 0);
    served_close(&t);
}

Test(peers, SMCR_CLC_12_a_client_hangs_before_its_Confirm, .timeout = 60)
{
    struct served t;
    served_open(&t);
    int fd = proposed(&t);
    expect_accept(&t, fd);
    cr_expect(hand_is_reset(fd, 4000));
    close(fd);
    cr_expect_eq(t.app->accepted, 0);
    served_close(&t);
}

/* The Confirm is well made, and nobody is there on RoCE. covers: SMCR-REC-04.1 */
Test(peers, a_client_that_is_not_there_on_RoCE, .timeout = 60)
{
    struct served t;
    served_open(&t);
    int fd = proposed(&t);
    expect_accept(&t, fd);
    struct smcr_accept confirm = hand_accept_msg(0, false);
    t.len = hand_put_accept(t.bytes, &confirm);
    hand_send(fd, t.bytes, t.len);
    /* a Decline, or a reset, in the time of T2; either way it ends, and is over */
    ssize_t n = hand_recv(fd, t.bytes, SMCR_DECLINE_BYTES);
    cr_expect(n == SMCR_DECLINE_BYTES || n == -ECONNRESET, "%zd", n);
    close(fd);
    served_close(&t);
}

/* The same, but the client finds the link dead too, and its Decline crosses the server's; it comes in
 * pieces, with the application's first bytes behind it. covers: SMCR-FBK-05, SMCR-FBK-01 */
Test(peers, SMCR_FBK_05_a_client_whose_Decline_crosses_ours, .timeout = 60)
{
    struct served t;
    served_open_with(&t, true);
    int fd = proposed(&t);
    expect_accept(&t, fd);
    struct smcr_accept confirm = hand_accept_msg(0, false);
    t.len = hand_put_accept(t.bytes, &confirm);
    hand_send(fd, t.bytes, t.len);
    cr_expect_eq(hand_recv(fd, t.bytes, SMCR_DECLINE_BYTES), SMCR_DECLINE_BYTES);
    cr_expect_eq(t.bytes[4], SMCR_CLC_DECLINE);
    t.len = hand_put_decline(t.bytes, SMCR_DIAG_CONFIRM_LINK_TIMEOUT);
    memcpy(t.bytes + t.len, "hello", 5);
    hand_send(fd, t.bytes, 11);
    usleep(20000);
    hand_send(fd, t.bytes + 11, t.len + 5 - 11);
    expect_served_by_tcp(&t, fd);
    for (int i = 0; i < 200 && t.app->accepted == 0; i++)
        usleep(10000);
    cr_expect_str_eq(t.app->text, "hello");
    cr_expect_not(t.app->smcr);
    cr_expect_not(t.app->declined_by_peer);
    served_close(&t);
}

Test(peers, SMCR_CLC_06_a_client_leaves_at_each_step, .timeout = 60)
{
    struct served t;
    served_open(&t);
    close(hand_connect(&t.hand, PORT));
    close(proposed(&t));
    int fd = proposed(&t);
    expect_accept(&t, fd);
    close(fd);
    fd = proposed(&t);
    expect_accept(&t, fd);
    shutdown(fd, SHUT_WR);
    hand_is_reset(fd, 4000);
    close(fd);
    served_close(&t);
}

/* covers: SMCR-SEC-07 */
Test(peers, SMCR_SEC_07_a_flood_of_clients_that_hang, .timeout = 60)
{
    struct served t;
    int fds[200];
    served_open(&t);
    close(hand_connect(&t.hand, PORT));
    for (int i = 0; i < 200; i++)
        fds[i] = hand_connect(&t.hand, PORT);
    served_close(&t); /* a plain client is served meanwhile */
    for (int i = 0; i < 200; i++)
        close(fds[i]);
}

/* --- nornic connects --- */

struct reached {
    struct lab lab;
    struct hand hand;
    struct app *app;
    pid_t pid;
    int listen_fd, fd;
    uint8_t bytes[256];
    size_t len;
};

/* The Proposal has come. */
static void reached_open(struct reached *t)
{
    struct smcr_proposal p;
    lab_open(&t->lab, 1);
    t->app = app_new(&t->lab);
    hand_open(&t->hand, &t->lab);
    t->listen_fd = hand_listen(&t->hand, PORT);
    t->pid = lab_fork(&t->lab, 0, reach, t->app);
    t->fd = hand_accept(t->listen_fd);
    cr_assert(smcr_rendezvous_seen(t->hand.ctl, t->fd));
    cr_assert_eq(hand_recv(t->fd, t->bytes, 52), 52);
    smcr_proposal_get(&p, t->bytes);
    cr_assert_eq(p.type, SMCR_CLC_PROPOSAL);
    cr_assert_eq(p.length, 52);
}

static void reached_close(struct reached *t)
{
    cr_expect_eq(lab_wait(t->pid, 10), 0);
    close(t->fd);
    close(t->listen_fd);
    hand_close(&t->hand);
    lab_close(&t->lab);
}

static void expect_reached_by_tcp(struct reached *t)
{
    char text[6] = "";
    cr_expect_eq(hand_recv(t->fd, text, 5), 5);
    cr_expect_str_eq(text, "world");
    reached_close(t);
    cr_expect_eq(t->app->result, 0, "connect: %s", strerror(-t->app->result));
    cr_expect_not(t->app->smcr);
    cr_expect_eq(t->app->got, 5);
    cr_expect_str_eq(t->app->text, "hello");
}

static void expect_not_reached(struct reached *t, unsigned within_ms)
{
    reached_close(t);
    cr_expect_lt(t->app->result, 0, "connect() says that all is well");
    cr_expect_leq(t->app->took_ms, within_ms);
}

/* covers: SMCR-FBK-05, SMCR-CLC-42 */
Test(peers, SMCR_CLC_42_a_server_declines_with_data_behind, .timeout = 60)
{
    struct reached t;
    reached_open(&t);
    t.len = hand_put_decline(t.bytes, SMCR_DIAG_NO_RNIC);
    memcpy(t.bytes + t.len, "hello", 5);
    hand_send(t.fd, t.bytes, t.len + 5);
    expect_reached_by_tcp(&t);
    cr_expect(t.app->declined_by_peer);
    cr_expect_eq(t.app->diagnosis, SMCR_DIAG_NO_RNIC);
}

/* covers: SMCR-CLC-07, SMCR-CLC-33 */
Test(peers, SMCR_CLC_07_a_server_with_a_reserved_MTU_is_declined, .timeout = 60)
{
    struct reached t;
    struct smcr_decline d;
    reached_open(&t);
    struct smcr_accept a = hand_accept_msg(1, true);
    a.mtu = 0;
    hand_send(t.fd, t.bytes, hand_put_accept(t.bytes, &a));
    cr_assert_eq(hand_recv(t.fd, t.bytes, SMCR_DECLINE_BYTES), SMCR_DECLINE_BYTES);
    smcr_decline_get(&d, t.bytes);
    cr_expect_eq(d.type, SMCR_CLC_DECLINE);
    cr_expect_eq(d.flag, 0);
    hand_send(t.fd, "hello", 5);
    expect_reached_by_tcp(&t);
}

/* covers: SMCR-FC-05, SMCR-SC-06, SMCR-CLC-40 */
Test(peers, SMCR_FC_05_a_server_names_a_link_that_never_was, .timeout = 60)
{
    struct reached t;
    struct smcr_decline d;
    reached_open(&t);
    struct smcr_accept a = hand_accept_msg(1, false);
    hand_send(t.fd, t.bytes, hand_put_accept(t.bytes, &a));
    cr_assert_eq(hand_recv(t.fd, t.bytes, SMCR_DECLINE_BYTES), SMCR_DECLINE_BYTES);
    smcr_decline_get(&d, t.bytes);
    cr_expect_eq(d.flag, 1, "out of sync");
    hand_send(t.fd, "hello", 5);
    expect_reached_by_tcp(&t);
}

/* covers: SMCR-FBK-02 */
Test(peers, SMCR_FBK_02_a_server_declines_a_Confirm, .timeout = 60)
{
    struct reached t;
    struct smcr_accept confirm;
    reached_open(&t);
    struct smcr_accept a = hand_accept_msg(1, true);
    hand_send(t.fd, t.bytes, hand_put_accept(t.bytes, &a));
    cr_assert_eq(hand_recv(t.fd, t.bytes, SMCR_ACCEPT_BYTES), SMCR_ACCEPT_BYTES);
    smcr_accept_get(&confirm, t.bytes);
    cr_expect_eq(confirm.type, SMCR_CLC_CONFIRM);
    t.len = hand_put_decline(t.bytes, SMCR_DIAG_QP_NOT_READY);
    memcpy(t.bytes + t.len, "hello", 5);
    hand_send(t.fd, t.bytes, t.len + 5);
    expect_reached_by_tcp(&t);
}

/* covers: SMCR-CLC-12 */
Test(peers, SMCR_CLC_12_a_server_hangs_after_the_Proposal, .timeout = 60)
{
    struct reached t;
    reached_open(&t);
    cr_expect(hand_is_reset(t.fd, 4000));
    expect_not_reached(&t, 3000);
}

/* covers: SMCR-REC-04.0 */
Test(peers, a_server_hangs_after_the_Confirm, .timeout = 60)
{
    struct reached t;
    reached_open(&t);
    struct smcr_accept a = hand_accept_msg(1, true);
    hand_send(t.fd, t.bytes, hand_put_accept(t.bytes, &a));
    cr_expect(hand_is_reset(t.fd, 4000));
    expect_not_reached(&t, 4000);
}

/* covers: SMCR-CLC-06, SMCR-CLC-08 */
Test(peers, SMCR_CLC_06_a_server_answers_nonsense, .timeout = 60)
{
    struct reached t;
    reached_open(&t);
    struct smcr_accept a = hand_accept_msg(1, true);
    a.trailer = 0;
    hand_send(t.fd, t.bytes, hand_put_accept(t.bytes, &a));
    cr_expect(hand_is_reset(t.fd, 4000));
    expect_not_reached(&t, 3000);
}

Test(peers, SMCR_CLC_08_a_server_answers_with_a_Confirm, .timeout = 60)
{
    struct reached t;
    reached_open(&t);
    struct smcr_accept a = hand_accept_msg(0, false);
    hand_send(t.fd, t.bytes, hand_put_accept(t.bytes, &a));
    cr_expect(hand_is_reset(t.fd, 4000));
    expect_not_reached(&t, 3000);
}

/* covers: SMCR-CLC-06 */
Test(peers, SMCR_CLC_06_a_server_leaves_after_the_Proposal, .timeout = 60)
{
    struct reached t;
    reached_open(&t);
    shutdown(t.fd, SHUT_WR);
    expect_not_reached(&t, 3000);
}
