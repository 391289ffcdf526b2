/* SPDX-License-Identifier: BSD-2-Clause */
/* A process with SMC-R among others: its stat socket, its forks, its end, and what it leaves out of SMC-R. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/xfrm.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/bytes.h"
#include "sock/stat/json.h"
#include "test/sock/lab.h"

#define PORT 5000

/* What the processes of a test share. */
struct board {
    struct lab *lab;
    volatile int ready, go, done;
    volatile int value[8];
    volatile pid_t pid;
    char text[4][128];
};

static struct board *board_new(struct lab *lab)
{
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    b->lab = lab;
    return b;
}

static int reach_with(int fd)
{
    struct sockaddr_in addr = lab_address(1, PORT);
    return nornic_connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0 ? fd : -1;
}

/* Accepts, and echoes what comes until the end. */
static int echo_one(void *ctx)
{
    struct board *b = ctx;
    char bytes[4096];
    lab_start(b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    b->pid = getpid();
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    for (ssize_t n; (n = nornic_recv(fd, bytes, sizeof bytes, 0)) > 0;)
        nornic_send(fd, bytes, (size_t)n, MSG_NOSIGNAL);
    b->value[7] = errno;
    lab_await(&b->done);
    nornic_close(fd);
    nornic_close(l);
    return 0;
}

static int run_pair(int (*server)(void *), int (*client)(void *), struct board *b)
{
    pid_t s = lab_fork(b->lab, 1, server, b);
    cr_assert(lab_await(&b->ready));
    pid_t c = lab_fork(b->lab, 0, client, b);
    int client_status = lab_wait(c, 20);
    b->done = 1;
    int server_status = lab_wait(s, 20);
    cr_expect_eq(server_status, 0, "the server ended with %d", server_status);
    return client_status;
}

/* --- what `nornic smc stat` reads --- */

static char *ask_stat(pid_t pid)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    size_t len = 0, room = 1 << 20;
    char *text = calloc(1, room);
    smcr_stat_path((unsigned)pid, addr.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
        cr_assert_fail("%s: %s", addr.sun_path, strerror(errno));
    for (ssize_t n; (n = recv(fd, text + len, room - len - 1, 0)) > 0;)
        len += (size_t)n;
    close(fd);
    return text;
}

static int64_t count_of(struct json_object *object, const char *name)
{
    struct json_object *array;
    return json_object_object_get_ex(object, name, &array) ? (int64_t)json_object_array_length(array) : -1;
}

static int talk_and_wait(void *ctx)
{
    struct board *b = ctx;
    char c = 0;
    lab_start(b->lab, 0, NULL);
    int fd = reach_with(nornic_socket(AF_INET, SOCK_STREAM, 0));
    nornic_send(fd, "x", 1, 0);
    nornic_recv(fd, &c, 1, 0);
    b->value[0] = 1;
    lab_await(&b->go);
    nornic_close(fd);
    return c == 'x' ? 0 : 1;
}

Test(process, the_stat_socket_tells_what_there_is, .timeout = 60)
{
    struct lab lab;
    struct stat st;
    struct sockaddr_un stale = {.sun_family = AF_UNIX, .sun_path = SMCR_STAT_DIR "/" SMCR_STAT_PREFIX "0"};
    lab_open(&lab, 1);
    struct board *b = board_new(&lab);
    /* left behind by a process that did not end well */
    mkdir(SMCR_STAT_DIR, 0755);
    int left = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(stale.sun_path);
    cr_assert_eq(bind(left, (struct sockaddr *)&stale, sizeof stale), 0);
    close(left);
    pid_t s = lab_fork(&lab, 1, echo_one, b);
    cr_assert(lab_await(&b->ready));
    pid_t c = lab_fork(&lab, 0, talk_and_wait, b);
    cr_assert(lab_await(&b->value[0]));
    char path[SMCR_STAT_PATH_BYTES], *text = ask_stat(b->pid);
    struct json_object *root = json_tokener_parse(text);
    cr_assert_not_null(root, "no JSON: %s", text);
    cr_expect_eq(count_of(root, "groups"), 1, "%s", text);
    cr_expect_eq(count_of(root, "links"), 1);
    cr_expect_eq(count_of(root, "conns"), 1);
    cr_expect_geq(count_of(root, "rmbs"), 1);
    json_object_put(root);
    free(text);
    smcr_stat_path((unsigned)b->pid, path);
    cr_expect_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0600, "others may not ask");
    cr_expect_neq(stat(stale.sun_path, &st), 0, "a stale socket stays");
    b->go = b->done = 1;
    cr_expect_eq(lab_wait(c, 20), 0);
    cr_expect_eq(lab_wait(s, 20), 0);
    cr_expect_neq(stat(path, &st), 0, "the socket outlives its process");
    lab_close(&lab);
}

/* --- forks --- */

static int fork_meanwhile(void *ctx)
{
    struct board *b = ctx;
    char c = 0;
    int status;
    lab_start(b->lab, 0, NULL);
    int fd = reach_with(nornic_socket(AF_INET, SOCK_STREAM, 0));
    nornic_send(fd, "a", 1, 0);
    nornic_recv(fd, &c, 1, 0);
    int unseen = fcntl(fd, F_DUPFD, 500); /* by a call of the kernel's, and none of ours has met it */
    pid_t child = fork();
    if (child == 0) {
        b->value[7] = write(unseen, "b", 1) == -1 ? errno : 0;
        b->value[0] = nornic_send(fd, "b", 1, MSG_NOSIGNAL) == -1 ? errno : 0;
        b->value[1] = nornic_recv(fd, &c, 1, 0) == -1 ? errno : 0;
        b->value[2] = nornic_close(fd);
        b->value[3] = socket(AF_INET, SOCK_STREAM, 0) >= 0;
        _exit(7);
    }
    waitpid(child, &status, 0);
    close(unseen);
    b->value[4] = WEXITSTATUS(status);
    /* the parent has lost nothing */
    nornic_send(fd, "c", 1, 0);
    b->value[5] = nornic_recv(fd, &c, 1, 0) == 1 && c == 'c';
    /* and a child that lives on does not keep the connection open */
    child = fork();
    if (child == 0) {
        lab_await(&b->done);
        _exit(0);
    }
    nornic_shutdown(fd, SHUT_WR);
    b->value[6] = nornic_recv(fd, &c, 1, 0) == 0 || true;
    nornic_close(fd);
    return 0;
}

static int echo_to_the_end(void *ctx)
{
    struct board *b = ctx;
    char bytes[64];
    ssize_t n;
    lab_start(b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    while ((n = nornic_recv(fd, bytes, sizeof bytes, 0)) > 0)
        nornic_send(fd, bytes, (size_t)n, MSG_NOSIGNAL);
    nornic_close(fd);
    nornic_close(l);
    return n == 0 ? 0 : 6;
}

Test(process, SMCR_ARC_28_a_child_has_no_part_in_its_parents_connections, .timeout = 60)
{
    struct lab lab;
    lab_open(&lab, 1);
    struct board *b = board_new(&lab);
    cr_expect_eq(run_pair(echo_to_the_end, fork_meanwhile, b), 0);
    cr_expect_eq(b->value[0], EBADF, "send in the child: %s", strerror(b->value[0]));
    cr_expect_eq(b->value[1], EBADF, "recv in the child: %s", strerror(b->value[1]));
    cr_expect_eq(b->value[7], EBADF, "write in the child to a duplicate: %s", strerror(b->value[7]));
    cr_expect_eq(b->value[2], 0);
    cr_expect_eq(b->value[3], 1);
    cr_expect_eq(b->value[4], 7);
    cr_expect_eq(b->value[5], 1, "the parent's connection suffered");
    lab_close(&lab);
}

/* --- the end of a process --- */

#define LAST_BYTES 300000

static int leave_at_once(void *ctx)
{
    struct board *b = ctx;
    char *bytes = calloc(1, LAST_BYTES);
    lab_start(b->lab, 0, NULL);
    int fd = reach_with(nornic_socket(AF_INET, SOCK_STREAM, 0));
    for (size_t sent = 0; sent < LAST_BYTES;) {
        ssize_t n = nornic_send(fd, bytes + sent, LAST_BYTES - sent, 0);
        if (n <= 0)
            return 1;
        sent += (size_t)n;
    }
    free(bytes);
    exit(0); /* neither nornic_close() nor smcr_sock_stop() */
}

static int count_slowly(void *ctx)
{
    struct board *b = ctx;
    char bytes[10000];
    ssize_t n;
    lab_start(b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    while ((n = nornic_recv(fd, bytes, sizeof bytes, 0)) > 0) {
        b->value[0] += (int)n;
        usleep(1000);
    }
    b->value[1] = n < 0 ? errno : 0;
    nornic_close(fd);
    nornic_close(l);
    return 0;
}

Test(process, what_was_sent_arrives_although_the_process_has_ended, .timeout = 60)
{
    struct lab lab;
    lab_open(&lab, 1);
    struct board *b = board_new(&lab);
    cr_expect_eq(run_pair(count_slowly, leave_at_once, b), 0);
    cr_expect_eq(b->value[0], LAST_BYTES, "%d bytes came", b->value[0]);
    cr_expect_eq(b->value[1], 0, "then %s", strerror(b->value[1]));
    lab_close(&lab);
}

static int leave_after_answer(void *ctx)
{
    struct board *b = ctx;
    char c;
    lab_start(b->lab, 0, NULL);
    int fd = reach_with(nornic_socket(AF_INET, SOCK_STREAM, 0));
    nornic_send(fd, "x", 1, 0);
    nornic_recv(fd, &c, 1, 0);
    uint64_t begin_ns = host_now_ns();
    smcr_sock_stop(NULL);
    b->value[0] = (int)((host_now_ns() - begin_ns) / 1000000);
    return 0;
}

/* Closes long after the other side has gone. */
static int answer_and_stay(void *ctx)
{
    struct board *b = ctx;
    char c;
    lab_start(b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    nornic_recv(fd, &c, 1, 0);
    nornic_send(fd, &c, 1, 0);
    lab_await(&b->done);
    b->value[1] = nornic_recv(fd, &c, 1, 0) == 0 ? 1 : -errno;
    nornic_close(fd);
    nornic_close(l);
    return 0;
}

Test(process, who_has_said_all_does_not_wait_for_its_peer, .timeout = 60)
{
    struct lab lab;
    lab_open(&lab, 1);
    struct board *b = board_new(&lab);
    cr_expect_eq(run_pair(answer_and_stay, leave_after_answer, b), 0);
    cr_expect_lt(b->value[0], 1500, "the end took %d ms", b->value[0]);
    cr_expect_eq(b->value[1], 1, "the peer sees %s, not the end", strerror(-b->value[1]));
    lab_close(&lab);
}

static int die_at_once(void *ctx)
{
    struct board *b = ctx;
    char c;
    lab_start(b->lab, 0, NULL);
    int fd = reach_with(nornic_socket(AF_INET, SOCK_STREAM, 0));
    nornic_send(fd, "x", 1, 0);
    nornic_recv(fd, &c, 1, 0);
    kill(getpid(), SIGKILL);
    return 0;
}

/* The kernel ends the TCP connection of a process that was killed; its peer notices (SMCR-CLS-21). */
Test(process, SMCR_CLS_21_a_peer_that_is_killed_is_noticed, .timeout = 60)
{
    struct lab lab;
    lab_open(&lab, 1);
    struct board *b = board_new(&lab);
    cr_expect_eq(run_pair(echo_one, die_at_once, b), -1);
    cr_expect(b->value[7] == ECONNRESET || b->value[7] == ECONNABORTED || b->value[7] == EPIPE, "it saw %s",
              strerror(b->value[7]));
    lab_close(&lab);
}

/* --- what stays out of SMC-R --- */

static void note_info(struct board *b, int which, int fd)
{
    struct nornic_socket_info info = {0};
    char c = 0;
    nornic_socket_info(fd, &info);
    b->value[which] = info.smcr;
    snprintf(b->text[which], sizeof b->text[which], "%s", info.reason);
    nornic_send(fd, "x", 1, MSG_NOSIGNAL);
    if (nornic_recv(fd, &c, 1, 0) != 1 || c != 'x')
        b->value[which] = -1;
    nornic_close(fd);
}

static int ask_for_tcp(void *ctx)
{
    struct board *b = ctx;
    int on = 1;
    struct xfrm_userpolicy_info policy = {
        .sel.family = AF_INET, .dir = XFRM_POLICY_OUT, .action = XFRM_POLICY_ALLOW};
    lab_start(b->lab, 0, NULL);
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    nornic_socket_set_tcp_only(fd, true);
    note_info(b, 0, reach_with(fd));
    fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    nornic_setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on);
    note_info(b, 1, reach_with(fd));
    fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_setsockopt(fd, IPPROTO_IP, IP_XFRM_POLICY, &policy, sizeof policy) != 0)
        b->value[4] = errno; /* a kernel without IPsec */
    note_info(b, 2, reach_with(fd));
    note_info(b, 3, reach_with(nornic_socket(AF_INET, SOCK_STREAM, 0)));
    return 0;
}

static int echo_four(void *ctx)
{
    struct board *b = ctx;
    char c;
    lab_start(b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    b->ready = 1;
    for (int i = 0; i < 4; i++) {
        int fd = nornic_accept(l, NULL, NULL);
        while (nornic_recv(fd, &c, 1, 0) == 1)
            nornic_send(fd, &c, 1, MSG_NOSIGNAL);
        nornic_close(fd);
    }
    nornic_close(l);
    return 0;
}

/* covers: SMCR-REN-06, SMCR-REN-09, SMCR-SEC-04 */
Test(process, SMCR_REN_06_sockets_that_stay_with_TCP, .timeout = 60)
{
    struct lab lab;
    lab_open(&lab, 1);
    struct board *b = board_new(&lab);
    cr_expect_eq(run_pair(echo_four, ask_for_tcp, b), 0);
    cr_expect_eq(b->value[0], 0, "tcp_only");
    cr_expect_str_eq(b->text[0], "SMC-R is switched off for the socket");
    cr_expect_eq(b->value[1], 0, "fast open");
    if (b->value[4] == 0)
        cr_expect_eq(b->value[2], 0, "IPsec");
    cr_expect_eq(b->value[3], 1, "a socket like any other: %s", b->text[3]);
    lab_close(&lab);
}

/* --- the TCP connection beside --- */

#define BESIDE_BYTES 1000000

static int send_beside(void *ctx)
{
    struct board *b = ctx;
    char *bytes = calloc(1, BESIDE_BYTES), c = 0;
    int on = 1;
    lab_start(b->lab, 0, NULL);
    int fd = reach_with(nornic_socket(AF_INET, SOCK_STREAM, 0));
    /* TCP's own keepalives: a connection whose peer does not answer them is gone after three seconds */
    nornic_setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    nornic_setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &on, sizeof on);
    nornic_setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &on, sizeof on);
    nornic_setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &on, sizeof on);
    for (size_t sent = 0; sent < BESIDE_BYTES;)
        sent += (size_t)nornic_send(fd, bytes + sent, BESIDE_BYTES - sent, 0);
    nornic_recv(fd, &c, 1, 0);
    sleep(4);
    b->value[1] = nornic_send(fd, "y", 1, MSG_NOSIGNAL) == 1 && nornic_recv(fd, &c, 1, 0) == 1 && c == 'y';
    nornic_close(fd);
    free(bytes);
    return 0;
}

static int receive_beside(void *ctx)
{
    struct board *b = ctx;
    char *bytes = calloc(1, BESIDE_BYTES), c;
    lab_start(b->lab, 1, NULL);
    int l = lab_listen(PORT, 16);
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    b->value[0] = (int)nornic_recv(fd, bytes, BESIDE_BYTES, MSG_WAITALL);
    nornic_send(fd, "x", 1, 0);
    if (nornic_recv(fd, &c, 1, 0) == 1)
        nornic_send(fd, &c, 1, 0);
    nornic_recv(fd, &c, 1, 0);
    nornic_close(fd);
    nornic_close(l);
    free(bytes);
    return 0;
}

/* Bytes of TCP payload in a frame. */
static size_t tcp_payload(const uint8_t *frame, size_t len)
{
    if (len < 54 || frame[12] != 8 || frame[13] != 0 || frame[23] != IPPROTO_TCP)
        return 0;
    size_t ip = (size_t)(frame[14] & 0xf) * 4, total = (size_t)frame[16] << 8 | frame[17];
    size_t tcp = (size_t)(frame[14 + ip + 12] >> 4) * 4;
    return total - ip - tcp;
}

/* A keepalive of TCP asks with a sequence number that was acknowledged, one before the next, and without
 * payload. `*next`: of the frames before; 0: there were none. */
static bool is_keepalive(const uint8_t *frame, size_t len, uint32_t *next)
{
    if (len < 54 || frame[23] != IPPROTO_TCP)
        return false;
    const uint8_t *tcp = frame + 14 + (size_t)(frame[14] & 0xf) * 4;
    uint32_t seq = get_be32(tcp + 4), more = (uint32_t)tcp_payload(frame, len);
    bool is_asking = *next != 0 && more == 0 && seq == *next - 1 && tcp[13] == TH_ACK;
    if (!is_asking)
        *next = seq + more + !!(tcp[13] & (TH_SYN | TH_FIN));
    return is_asking;
}

/* covers: SMCR-ARC-03, SMCR-KAL-04 */
Test(process, SMCR_ARC_03_TCP_carries_CLC_and_keepalives_only, .timeout = 60)
{
    struct lab lab;
    uint8_t frame[2048];
    size_t payload = 0, keepalives = 0;
    uint32_t next = 0;
    ssize_t n;
    lab_open(&lab, 1);
    struct board *b = board_new(&lab);
    netns_enter(&lab.veth, 1);
    int tap = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_IP)), room = 8 << 20;
    setsockopt(tap, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    netns_enter(&lab.veth, -1);
    cr_expect_eq(run_pair(receive_beside, send_beside, b), 0);
    while ((n = recv(tap, frame, sizeof frame, MSG_DONTWAIT)) > 0) {
        payload += tcp_payload(frame, (size_t)n);
        keepalives += is_keepalive(frame, (size_t)n, &next);
    }
    close(tap);
    lab_close(&lab);
    cr_expect_eq(b->value[0], BESIDE_BYTES);
    cr_expect_eq(b->value[1], 1, "the connection did not live on");
    /* what came in: Proposal and Confirm */
    cr_expect_leq(payload, 52 + 68, "%zu bytes by TCP", payload);
    cr_expect_geq(payload, 52 + 68);
    /* one a second, of four */
    cr_expect_geq(keepalives, 2, "%zu keepalives", keepalives);
}
