/* SPDX-License-Identifier: BSD-2-Clause */
/* The server of nornic perf, with a client that only speaks the control exchange: what it says of tests that
 * it cannot serve, and of clients that claim what did not happen. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/perf/perf.h"
#include "test/support/json.h"
#include "line.h"

static struct cli_node nodes[2];
static struct perf_options options;
static int fds[2];
static char answer[8192];
static const struct line_result *told;

static void open_server(void)
{
    struct cli_node_config memory = {.port = "memory"};
    cr_assert_eq(cli_node_open_pair(&memory, nodes), CLI_OK);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    options = (struct perf_options){.node = memory, .timeout_ns = 10 * NS_PER_S};
    cli_command_set("perf");
}

static void close_server(void)
{
    close(fds[0]);
    close(fds[1]);
    cr_expect_eq(cli_node_close(&nodes[0], CLI_OK), CLI_OK, "the server left something open");
    cr_expect_eq(cli_node_close(&nodes[1], CLI_OK), CLI_OK);
}

TestSuite(perf_server, .init = open_server, .fini = close_server, .timeout = 60);

#define SHAPE "\"depth\":4,\"pmtu\":1024,\"gid\":\"10.77.0.2\""
#define ONE   "\"qps\":1,\"qp_list\":[{\"qpn\":99,\"psn\":5}]"

/* All that the client says, in advance; then the server until it ends. Its status. */
static int serve(const char *test, const char *ops, bool quiet)
{
    char text[2048];
    int n = snprintf(text, sizeof text, "{\"nornic_perf\":1,%s}\n", test);
    if (ops)
        n += snprintf(text + n, sizeof text - (size_t)n, "{\"nornic_perf\":1,\"ops\":%s}\n", ops);
    cr_assert_eq(send(fds[0], text, (size_t)n, 0), n);
    line_catch();
    int status = perf_server(&options, &nodes[0], fds[1], quiet);
    told = line_caught();
    ssize_t got = recv(fds[0], answer, sizeof answer - 1, MSG_DONTWAIT);
    answer[got > 0 ? got : 0] = 0;
    return status;
}

/* Line `nth` of what the client was answered. */
static struct json_object *answered(unsigned nth)
{
    char *at = answer;
    while (nth-- > 0) {
        at = strchr(at, '\n');
        cr_assert_not_null(at, "%s", answer);
        at++;
    }
    char line[4096];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    struct json_object *o = json_tokener_parse(line);
    cr_assert_not_null(o, "%s", answer);
    return o;
}

static void expect_error(unsigned nth, const char *words)
{
    struct json_object *o = answered(nth);
    cr_expect_str_eq(json_object_get_string(json_member(o, "error")), words);
    json_object_put(o);
}

static const struct {
    const char *test, *words;
} unservable[] = {
    {"\"op\":\"send\",\"size\":0,\"verify\":0," SHAPE "," ONE, "size 0: 1 byte to 1 GiB is possible"},
    {"\"op\":\"send\",\"size\":1073741825,\"verify\":0," SHAPE "," ONE,
     "size 1073741825: 1 byte to 1 GiB is possible"},
    {"\"op\":\"send\",\"size\":8,\"verify\":0,\"qps\":0,\"qp_list\":[]," SHAPE,
     "0 queue pairs: 1 to 1024 are possible"},
    {"\"op\":\"send\",\"size\":8,\"verify\":0,\"depth\":0,\"pmtu\":1024,\"gid\":\"10.77.0.2\"," ONE,
     "depth 0: 1 to 4096 are possible"},
    {"\"op\":\"send\",\"size\":8,\"verify\":0,\"depth\":1,\"pmtu\":1500,\"gid\":\"10.77.0.2\"," ONE,
     "path MTU 1500: it is 256, 512, 1024, 2048 or 4096"},
    {"\"op\":\"send\",\"size\":8,\"verify\":0,\"depth\":1,\"pmtu\":0,\"gid\":\"10.77.0.2\"," ONE,
     "path MTU 0: it is 256, 512, 1024, 2048 or 4096"},
    {"\"op\":\"send\",\"size\":33554432,\"verify\":1," SHAPE "," ONE,
     "1 queue pairs at depth 4 with messages of 33554432 bytes need 2048 MiB of buffers, and 1024 are "
     "allowed: reduce one of them"},
};

Test(perf_server, what_cannot_be_served_is_told_to_both)
{
    for (size_t i = 0; i < array_len(unservable); i++) {
        char said[512];
        cr_expect_eq(serve(unservable[i].test, NULL, false), CLI_ERROR, "%s", unservable[i].test);
        snprintf(said, sizeof said, "nornic perf: %s\n", unservable[i].words);
        cr_expect_str_eq(told->err, said);
        cr_expect_str_empty(told->out);
        expect_error(0, unservable[i].words);
    }
}

/* A server that is the helper of a client in this process leaves the sentence to it. */
Test(perf_server, a_quiet_one_tells_only_its_client)
{
    cr_expect_eq(serve(unservable[0].test, NULL, true), CLI_ERROR);
    cr_expect_str_empty(told->err);
    expect_error(0, unservable[0].words);
    cr_expect_eq(serve("\"op\":\"send\",\"size\":100,\"verify\":0," SHAPE "," ONE, "[5]", true),
                 CLI_NEGATIVE);
    cr_expect_str_empty(told->err);
    cr_expect_str_empty(told->out);
    expect_error(1, "queue pair 0 received 0 of 5 messages");
}

Test(perf_server, it_lends_memory_and_queue_pairs)
{
    cr_expect_eq(serve("\"op\":\"write\",\"size\":100,\"verify\":0,\"qps\":2,\"qp_list\":"
                       "[{\"qpn\":99,\"psn\":5},{\"qpn\":98,\"psn\":5}]," SHAPE,
                       "[0,0]", false),
                 CLI_OK, "%s", told->err);
    struct json_object *o = answered(0), *list = json_member(o, "qp_list");
    cr_expect_str_eq(json_object_get_string(json_member(o, "gid")), "10.77.0.1");
    cr_expect_neq(json_object_get_uint64(json_member(o, "addr")), 0);
    cr_expect_eq(json_object_get_uint64(json_member(o, "addr")) % 4096, 0);
    cr_expect_neq(json_object_get_uint64(json_member(o, "rkey")), 0);
    cr_assert_eq(json_object_array_length(list), 2);
    cr_expect_neq(json_object_get_int(json_member(json_object_array_get_idx(list, 0), "qpn")),
                  json_object_get_int(json_member(json_object_array_get_idx(list, 1), "qpn")));
    json_object_put(o);
    o = answered(1);
    cr_expect_eq(json_object_get_int(json_member(o, "checked")), 0);
    json_object_put(o);
    cr_expect_str_eq(told->out, "served write of 100 bytes on 2 queue pairs\n");
}

Test(perf_server, with_json_or_quiet_it_has_no_report_of_its_own)
{
    options.json = true;
    cr_expect_eq(serve("\"op\":\"read\",\"size\":8,\"verify\":1," SHAPE "," ONE, "[7]", false), CLI_OK);
    cr_expect_str_empty(told->out);
    options.json = false;
    cr_expect_eq(serve("\"op\":\"read\",\"size\":8,\"verify\":1," SHAPE "," ONE, "[7]", true), CLI_OK);
    cr_expect_str_empty(told->out);
}

Test(perf_server, the_gid_is_of_the_family_of_the_clients)
{
    cr_expect_eq(
        serve("\"op\":\"read\",\"size\":8,\"verify\":0,\"depth\":1,\"pmtu\":4096,\"gid\":\"fd77::2\"," ONE,
              "[0]", false),
        CLI_OK);
    struct json_object *o = answered(0);
    cr_expect_str_eq(json_object_get_string(json_member(o, "gid")), "fd77::1");
    json_object_put(o);
}

/* What the client says that it did, and this memory does not show. */
Test(perf_server, claims_that_the_memory_does_not_bear_out)
{
    static const struct {
        const char *test, *ops, *words;
    } cases[] = {
        {"\"op\":\"send\",\"size\":100,\"verify\":1," SHAPE "," ONE, "[1]",
         "queue pair 0 received 0 of 1 messages"},
        {"\"op\":\"write-imm\",\"size\":100,\"verify\":0," SHAPE "," ONE, "[18446744073709551615]",
         "queue pair 0 received 0 of 18446744073709551615 messages"},
        {"\"op\":\"write\",\"size\":100,\"verify\":1," SHAPE "," ONE, "[1]",
         "message 1 of queue pair 0 holds wrong data from byte 0 on"},
        /* of ten only the last four still stand in their slots */
        {"\"op\":\"write\",\"size\":100,\"verify\":1," SHAPE "," ONE, "[10]",
         "message 7 of queue pair 0 holds wrong data from byte 0 on"},
        {"\"op\":\"fetch-add\",\"size\":8,\"verify\":1," SHAPE "," ONE, "[3]",
         "the word of queue pair 0 is 0 after 3 atomics"},
        {"\"op\":\"cmp-swap\",\"size\":8,\"verify\":1,\"qps\":2,\"qp_list\":[{\"qpn\":9,\"psn\":5},"
         "{\"qpn\":8,\"psn\":5}]," SHAPE,
         "[0,2]", "the word of queue pair 1 is 0 after 2 atomics"},
        {"\"op\":\"write\",\"size\":100,\"verify\":0," SHAPE "," ONE, "[1,2]",
         "the peer's line does not say how many operations it did"},
        {"\"op\":\"write\",\"size\":100,\"verify\":0," SHAPE "," ONE, "\"one\"",
         "the peer's line does not say how many operations it did"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        char said[512];
        cr_expect_eq(serve(cases[i].test, cases[i].ops, false), CLI_NEGATIVE, "%s %s", cases[i].test,
                     cases[i].ops);
        snprintf(said, sizeof said, "nornic perf: %s\n", cases[i].words);
        cr_expect_str_eq(told->err, said);
        cr_expect_str_empty(told->out);
        expect_error(1, cases[i].words);
    }
}

/* Without --verify nobody looks: a claim about WRITEs stands. */
Test(perf_server, without_comparing_a_write_is_believed)
{
    cr_expect_eq(serve("\"op\":\"write\",\"size\":100,\"verify\":0," SHAPE "," ONE, "[1]", false), CLI_OK);
    cr_expect_eq(serve("\"op\":\"fetch-add\",\"size\":8,\"verify\":0," SHAPE "," ONE, "[1]", false), CLI_OK);
}

Test(perf_server, the_word_of_each_queue_pair_is_compared)
{
    cr_expect_eq(serve("\"op\":\"fetch-add\",\"size\":8,\"verify\":1," SHAPE "," ONE, "[0]", false), CLI_OK);
    struct json_object *o = answered(1);
    cr_expect_eq(json_object_get_int(json_member(o, "checked")), 1);
    json_object_put(o);
    cr_expect_str_eq(told->out, "served fetch-add of 8 bytes on 1 queue pair; 1 message compared\n");
}

Test(perf_server, a_client_that_leaves_in_the_midst)
{
    static const char test[] =
        "{\"nornic_perf\":1,\"op\":\"write\",\"size\":100,\"verify\":0," SHAPE "," ONE "}\n";
    cr_assert_eq(send(fds[0], test, sizeof test - 1, 0), (ssize_t)sizeof test - 1);
    shutdown(fds[0], SHUT_WR);
    line_catch();
    int status = perf_server(&options, &nodes[0], fds[1], false);
    told = line_caught();
    cr_expect_eq(status, CLI_NEGATIVE);
    cr_expect_str_eq(told->err, "nornic perf: the peer closed the TCP connection\n");
}

Test(perf_server, a_client_that_gives_up_says_why)
{
    static const char text[] = "{\"nornic_perf\":1,\"error\":\"stopped\"}\n";
    cr_assert_eq(send(fds[0], text, sizeof text - 1, 0), (ssize_t)sizeof text - 1);
    line_catch();
    int status = perf_server(&options, &nodes[0], fds[1], false);
    told = line_caught();
    cr_expect_eq(status, CLI_ERROR);
    cr_expect_str_eq(told->err, "nornic perf: the peer gives up: stopped\n");
}

/* --- the client, with a server that only speaks --- */

static int ask(const char *answers, struct perf_result *result)
{
    cr_assert_eq(send(fds[0], answers, strlen(answers), 0), (ssize_t)strlen(answers));
    options.test =
        (struct perf_test){.op = PERF_OP_WRITE, .size_bytes = 100, .depth = 1, .qps = 1, .pmtu_bytes = 1024};
    line_catch();
    int status = perf_client(&options, &nodes[0], fds[1], result);
    told = line_caught();
    return status;
}

Test(perf_server, a_client_is_told_why_its_server_gives_up)
{
    struct perf_result result;
    cr_expect_eq(ask("{\"nornic_perf\":1,\"error\":\"no room\"}\n", &result), CLI_ERROR);
    cr_expect_str_eq(told->err, "nornic perf: the peer gives up: no room\n");
    cr_expect_eq(result.ops, 0);
    cr_expect_eq(ask("SSH-2.0-x\n", &result), CLI_ERROR);
    cr_expect_str_eq(told->err, "nornic perf: the peer does not speak the exchange of nornic perf\n");
}

Test(perf_server, a_client_refuses_a_server_without_memory)
{
    struct perf_result result;
    cr_expect_eq(ask("{\"nornic_perf\":1,\"gid\":\"10.77.0.2\"," ONE "}\n", &result), CLI_ERROR);
    cr_expect_str_eq(told->err, "nornic perf: the peer's line has no number 'addr'\n");
}
