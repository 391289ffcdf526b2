/* SPDX-License-Identifier: BSD-2-Clause */
/* The control exchange of nornic perf with peers that do not keep to it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/perf/perf.h"
#include "host/host.h"

static void connect_pair(int fds[2])
{
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

/* A peer that is never silent for long, and never done; it ends when the other side has closed. */
static void *drip(void *arg)
{
    const int *fd = arg;
    for (int i = 0; i < 1000 && send(*fd, " ", 1, MSG_NOSIGNAL) == 1; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
    return NULL;
}

Test(perf_control, the_timeout_is_of_the_whole_line, .timeout = 30)
{
    int fds[2];
    pthread_t thread;
    struct nornic_error why = {""};
    uint64_t checked, start_ns = host_now_ns();
    connect_pair(fds);
    cr_assert_eq(pthread_create(&thread, NULL, drip, &fds[1]), 0);
    cr_assert_eq(perf_control_read_checked(fds[0], 200 * NS_PER_MS, &checked, &why), -ETIMEDOUT, "%s",
                 why.text);
    cr_assert_lt(host_now_ns() - start_ns, 5000 * NS_PER_MS);
    close(fds[0]);
    pthread_join(thread, NULL);
    close(fds[1]);
}

/* What a hostile or broken peer may say instead of its answer. */
Test(perf_control, other_lines_are_refused)
{
    static const struct {
        const char *line;
        int rc;
    } cases[] = {
        {"GET / HTTP/1.1\n", -EPROTO},
        {"\n", -EPROTO},
        {"[1]\n", -EPROTO},
        {"null\n", -EPROTO},
        {"{\"nornic_perf\":2,\"checked\":1}\n", -EPROTO},
        {"{\"nornic_perf\":1}\n", -EPROTO},
        {"{\"nornic_perf\":1,\"checked\":-1}\n", -EPROTO},
        {"{\"nornic_perf\":1,\"checked\":\"7\"}\n", -EPROTO},
        {"{\"nornic_perf\":1,\"error\":\"no memory\"}\n", -EREMOTEIO},
        {"{\"nornic_perf\":1,\"checked\":7}", -ECONNRESET},
        {"{\"nornic_perf\":1,\"checked\":7}\n", 0},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        int fds[2];
        struct nornic_error why = {""};
        uint64_t checked = 0;
        connect_pair(fds);
        cr_assert_eq(send(fds[1], cases[i].line, strlen(cases[i].line), MSG_NOSIGNAL),
                     (ssize_t)strlen(cases[i].line));
        close(fds[1]);
        cr_expect_eq(perf_control_read_checked(fds[0], 1000 * NS_PER_MS, &checked, &why), cases[i].rc,
                     "%s gives %s", cases[i].line, why.text);
        cr_expect(cases[i].rc == 0 ? checked == 7 : why.text[0] != '\0', "%s", cases[i].line);
        close(fds[0]);
    }
}
