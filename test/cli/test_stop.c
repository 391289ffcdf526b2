/* SPDX-License-Identifier: BSD-2-Clause */
/* What all commands end with: the sentence of a failure, and a signal that only asks. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/node.h"
#include "cli/node/tcp.h"
#include "cli/stop.h"
#include "host/host.h"
#include "line.h"

TestSuite(stop, .timeout = 30);

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

Test(stop, before_anything_is_installed)
{
    cr_expect_eq(cli_stop_fd(), -1);
    cr_expect_not(cli_stopped());
    cr_expect_eq(cli_stop_signal(), 0);
}

Test(stop, each_signal_is_a_flag_and_a_descriptor)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < array_len(signals); i++) {
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            bool good = cli_stop_install() == 0 && !cli_stopped() && !readable(cli_stop_fd());
            raise(signals[i]);
            good &= cli_stopped() && cli_stop_signal() == signals[i] && readable(cli_stop_fd());
            good &= readable(cli_stop_fd()); /* and stays so */
            _exit(good ? 0 : 1);
        }
        int status;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "signal %d", signals[i]);
    }
}

/* main() makes the exit status of the first. */
Test(stop, the_first_signal_is_the_one_that_is_told)
{
    cr_assert_eq(cli_stop_install(), 0);
    raise(SIGTERM);
    raise(SIGINT);
    cr_expect_eq(cli_stop_signal(), SIGTERM);
}

/* For a command whose cleanup hangs. */
Test(stop, a_second_one_of_the_same_ends_the_process)
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        cli_stop_install();
        raise(SIGINT);
        raise(SIGINT);
        _exit(0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

Test(stop, to_install_it_twice_changes_nothing)
{
    cr_assert_eq(cli_stop_install(), 0);
    int fd = cli_stop_fd();
    cr_assert_eq(cli_stop_install(), 0);
    cr_expect_eq(cli_stop_fd(), fd);
}

Test(stop, a_write_that_nobody_reads_fails_and_does_no_more)
{
    int fds[2];
    cr_assert_eq(cli_stop_install(), 0);
    cr_assert_eq(pipe(fds), 0);
    close(fds[0]);
    cr_expect_eq(write(fds[1], "x", 1), -1);
    close(fds[1]);
    raise(SIGXFSZ);
    cr_expect_not(cli_stopped());
}

/* --- what waits ends by it --- */

static void stop_now(void)
{
    cr_assert_eq(cli_stop_install(), 0);
    raise(SIGINT);
}

Test(stop, a_wait_on_tcp_ends, .init = stop_now)
{
    struct nornic_error why = {""};
    int listen_fd, fd, ends[2];
    char byte;
    cr_assert_eq(cli_tcp_listen(0, &listen_fd, &why), 0, "%s", why.text);
    cr_expect_eq(cli_tcp_accept(listen_fd, &fd, &why), -EINTR);
    cr_expect_str_eq(why.text, "stopped while it waited for a client");
    close(listen_fd);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    cr_expect_eq(cli_tcp_read(ends[0], &byte, 1, UINT64_MAX, &why), -EINTR);
    cr_expect_str_eq(why.text, "stopped");
    cr_expect_eq(send(ends[1], "x", 1, 0), 1);
    cr_expect_eq(cli_tcp_read(ends[0], &byte, 1, UINT64_MAX, &why), 0, "what is there needs no wait");
    close(ends[0]);
    close(ends[1]);
}

Test(stop, a_wait_for_completions_ends_in_both_ways, .init = stop_now)
{
    for (int events = 0; events < 2; events++) {
        struct cli_node_config config = {.port = "memory", .events = events};
        struct cli_node nodes[2];
        struct cli_cq cq;
        struct nornic_wc wc;
        cr_assert_eq(cli_node_open_pair(&config, nodes), CLI_OK);
        cr_assert_eq(cli_cq_create(&nodes[0], 4, &cq), CLI_OK);
        cr_expect_eq(cli_cq_wait(&cq, &wc, 1, UINT64_MAX), 0, "events %d", events);
        cli_node_linger(&nodes[0], UINT64_C(3600) * NS_PER_S, -1);
        cli_cq_destroy(&cq);
        cr_expect_eq(cli_node_close(&nodes[0], CLI_OK), CLI_OK);
        cr_expect_eq(cli_node_close(&nodes[1], CLI_OK), CLI_OK);
    }
}

Test(stop, a_transfer_ends_without_a_report, .init = stop_now)
{
    const struct line_result *r = line_run("perf --port memory --op send -s 64 --time 600s -w 0 -j");
    cr_expect_neq(r->status, CLI_OK);
    cr_expect_str_empty(r->out, "half a transfer has no figures: %s", r->out);
    r = line_run("pingpong --port memory -n 100000000 -j");
    cr_expect_neq(r->status, CLI_OK);
    cr_expect_str_empty(r->out);
}

/* --- sentences --- */

TestSuite(fail, .timeout = 10);

Test(fail, a_sentence_names_the_command)
{
    cli_command_set("smc listen");
    cr_expect_str_eq(cli_command_name(), "smc listen");
    line_catch();
    int error = cli_fail("no such file %s", "x%d"), negative = cli_negative("%u of %u", 3, 4);
    const struct line_result *r = line_caught();
    cr_expect_eq(error, CLI_ERROR);
    cr_expect_eq(negative, CLI_NEGATIVE);
    cr_expect_str_eq(r->err, "nornic smc listen: no such file x%d\nnornic smc listen: 3 of 4\n");
    cr_expect_str_empty(r->out);
}

Test(fail, before_a_command_is_chosen_there_is_none_to_name)
{
    cr_expect_str_empty(cli_command_name());
    line_catch();
    cli_fail("there is no command %s", "frob");
    cr_expect_str_eq(line_caught()->err, "nornic: there is no command frob\n");
}

/* Both streams may be the same file: what was printed before stands before. */
Test(fail, a_sentence_stands_behind_what_was_printed)
{
    char text[128] = "";
    FILE *both = tmpfile();
    cr_assert_not_null(both);
    fflush(stdout);
    int kept[2] = {dup(1), dup(2)};
    dup2(fileno(both), 1);
    dup2(fileno(both), 2);
    printf("first");
    cli_command_set("perf");
    cli_fail("second");
    printf("third");
    fflush(stdout);
    dup2(kept[0], 1);
    dup2(kept[1], 2);
    rewind(both);
    text[fread(text, 1, sizeof text - 1, both)] = 0;
    cr_expect_str_eq(text, "firstnornic perf: second\nthird");
    fclose(both);
}
