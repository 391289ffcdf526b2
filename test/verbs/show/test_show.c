/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process shows of itself to `nornic stat`, to whom, and for how long. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/show_name.h"
#include "test/support/tsan.h"
#include "test/verbs/pair.h"
#include "verbs/show/show.h"

TestSuite(show, .init = pair_open_device, .fini = pair_close_device, .timeout = 60);
TestSuite(show_life, .timeout = 60); /* each opens its devices itself */

#define MANY_QPS 5000 /* more text than a socket holds */
#define NOBODY   65534

static void post_recvs(struct ibv_qp *qp, unsigned n)
{
    struct ibv_recv_wr wr = {0}, *bad;
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(ibv_post_recv(qp, &wr, &bad), 0);
}

static void expect_shown(const char *text, const char *what)
{
    cr_expect_not_null(strstr(text, what), "%s is not in %s", what, text);
}

/* A connection to the process's socket; -1: nobody listens. */
static int reach(pid_t pid)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, HOST_SHOW_PREFIX "%ld", (long)pid);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
        return fd;
    cr_expect_eq(errno, ECONNREFUSED, "%s", strerror(errno));
    close(fd);
    return -1;
}

/* All that comes until the end of the stream. */
static char *read_all(int fd)
{
    size_t used = 0, cap = 1 << 20;
    char *text = calloc(1, cap);
    ssize_t n;
    while (used < cap - 1 && (n = read(fd, text + used, cap - 1 - used)) > 0)
        used += (size_t)n;
    close(fd);
    return text;
}

Test(show, devices_and_queue_pairs)
{
    struct pair pair = pair_make();
    char line[160];
    size_t len;
    post_recvs(pair.qp[0], 3);
    char *text = verbs_show(&len);
    cr_assert_not_null(text);
    cr_expect_eq(strlen(text), len);
    expect_shown(text,
                 "{\"devices\":[{\"device\":\"nornic0\",\"port\":\"udp:127.0.0.1\",\"state\":\"ACTIVE\","
                 "\"addresses\":[\"127.0.0.1\"]");
    snprintf(line, sizeof line,
             "{\"qpn\":%u,\"type\":\"RC\",\"state\":\"RTS\",\"peer\":\"127.0.0.1\",\"peer_qpn\":%u,"
             "\"sends\":0,\"recvs\":3,\"counters\":{}}",
             pair.qp[0]->qp_num, pair.qp[1]->qp_num);
    expect_shown(text, line);
    free(text);

    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
    cr_assert_eq(ibv_post_send(pair.qp[1], &wr, &bad), 0);
    cr_assert_eq(pair_next(&pair).status, IBV_WC_SUCCESS);
    cr_assert_eq(pair_next(&pair).status, IBV_WC_SUCCESS);
    text = verbs_show(&len);
    expect_shown(text, "\"sends\":0,\"recvs\":2,\"counters\":{\"tx_pkts\":1,");
    free(text);
    pair_free(&pair);
    text = verbs_show(&len);
    expect_shown(text, "\"qps\":[]}]}\n");
    free(text);
}

Test(show, one_without_a_peer)
{
    struct ibv_cq *cq = ibv_create_cq(pair_ctx, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD, .cap = {.max_send_wr = 1}};
    struct ibv_qp *qp = ibv_create_qp(pair_pd, &init);
    cr_assert_not_null(qp);
    size_t len;
    char *text = verbs_show(&len);
    expect_shown(text, "\"type\":\"UD\",\"state\":\"RESET\",\"sends\":0,\"recvs\":0,");
    free(text);
    ibv_destroy_qp(qp);
    ibv_destroy_cq(cq);
}

Test(show, who_connects_is_answered_while_a_device_is_open)
{
    struct ibv_context *second = ibv_open_device(pair_ctx->device);
    cr_assert_not_null(second);
    cr_assert_eq(ibv_close_device(second), 0);
    for (int i = 0; i < 3; i++) {
        char *text = read_all(reach(getpid()));
        expect_shown(text, "{\"devices\":[{\"device\":\"nornic0\"");
        cr_expect_eq(text[strlen(text) - 1], '\n');
        free(text);
    }
}

Test(show_life, nobody_listens_without_a_device)
{
    pair_open_device();
    pair_close_device();
    cr_expect_eq(reach(getpid()), -1);
    pair_open_device();
    char *text = read_all(reach(getpid()));
    expect_shown(text, "\"device\":\"nornic0\"");
    free(text);
    pair_close_device();
}

Test(show, other_users_see_nothing)
{
    if (geteuid() != 0)
        cr_skip("only root can be somebody else");
    pid_t child = fork();
    if (child == 0) {
        if (setresuid(NOBODY, NOBODY, NOBODY))
            _exit(2);
        int fd = reach(getppid());
        if (fd < 0)
            _exit(3);
        char *text = read_all(fd);
        _exit(*text != 0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0, "%x", (unsigned)status);
}

/* Its parent's socket is in the child of a fork, too, for a moment: it must not outlive the parent. */
Test(show_life, a_process_that_is_killed_leaves_nothing)
{
    tsan_skip_threads_of_a_child();
    int made[2], end[2];
    char byte;
    pair_open_device(); /* the namespace is this process's, too */
    pair_close_device();
    cr_assert_eq(pipe(made) | pipe(end), 0);
    pid_t parent = fork();
    if (parent == 0) {
        pair_open_device();
        if (fork() == 0) { /* lives until the test ends */
            close(end[1]);
            ssize_t n = write(made[1], "+", 1);
            n = read(end[0], &byte, 1);
            _exit((int)n);
        }
        pause();
    }
    cr_assert_eq(read(made[0], &byte, 1), 1);
    char *text = read_all(reach(parent));
    expect_shown(text, "\"device\":\"nornic0\"");
    free(text);
    kill(parent, SIGKILL);
    cr_assert_eq(waitpid(parent, NULL, 0), parent);
    cr_expect_eq(reach(parent), -1, "its child has it");
    close(end[1]);
}

Test(show, the_child_of_a_fork_has_its_own)
{
    tsan_skip_threads_of_a_child();
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        struct ibv_context *own = ibv_open_device(pair_ctx->device);
        char *text = own ? read_all(reach(getpid())) : strdup("");
        bool is_one = strstr(text, "nornic0") && !strstr(strstr(text, "nornic0") + 1, "nornic0");
        _exit(!is_one || ibv_close_device(own) || reach(getpid()) != -1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0, "%x", (unsigned)status);
}

/* The device is closed while an answer stands in a socket that nobody empties. */
Test(show_life, a_reader_that_does_not_read)
{
    static struct ibv_qp *qps[MANY_QPS];
    pair_open_device();
    struct ibv_cq *cq = ibv_create_cq(pair_ctx, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1}};
    for (unsigned i = 0; i < MANY_QPS; i++)
        cr_assert_not_null(qps[i] = ibv_create_qp(pair_pd, &init));
    char *text = read_all(reach(getpid()));
    size_t whole = strlen(text);
    cr_assert_gt(whole, MANY_QPS * 70);
    free(text);
    int fd = reach(getpid()), byte;
    cr_assert_eq(recv(fd, &byte, 1, MSG_PEEK), 1, "the answer has begun");
    for (unsigned i = 0; i < MANY_QPS; i++)
        cr_assert_eq(ibv_destroy_qp(qps[i]), 0);
    ibv_destroy_cq(cq);
    pair_close_device();
    text = read_all(fd);
    cr_expect_leq(strlen(text), whole);
    free(text);
}
