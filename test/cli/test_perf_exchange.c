/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of perf's control exchange: what one side writes the other reads, and what no side would write is
 * refused with a sentence that names it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/perf/perf.h"
#include "test/support/json.h"

#define PATIENCE_NS (10 * NS_PER_S)

static int fds[2];
static struct perf_qp qps[3], other_qps[3];
static struct perf_side side, other;

static void open_ends(void)
{
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    for (unsigned q = 0; q < 3; q++)
        qps[q] = (struct perf_qp){.qpn = 0x10 + q, .psn = 0xfffffd + q, .done = UINT64_C(5000000000) * q};
    side = (struct perf_side){.test = {.op = PERF_OP_READ,
                                       .size_bytes = 1u << 30,
                                       .depth = PERF_MAX_DEPTH,
                                       .qps = 3,
                                       .pmtu_bytes = 4096,
                                       .verify = true},
                              .timeout_ns = PATIENCE_NS,
                              .memory = {.remote_addr = UINT64_C(0xffff123456789000), .rkey = 0xfedcba98},
                              .qps = qps,
                              .gid = {{0xfd, 0x77, [15] = 1}}};
    other = (struct perf_side){.test = {.qps = 3}, .timeout_ns = PATIENCE_NS, .qps = other_qps};
}

static void close_ends(void)
{
    close(fds[0]);
    close(fds[1]);
}

TestSuite(perf_exchange, .init = open_ends, .fini = close_ends, .timeout = 30);

static void say(const char *text)
{
    cr_assert_eq(send(fds[0], text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* What stands on the wire, a line of it. */
static struct json_object *heard(void)
{
    static char text[4096];
    ssize_t n = recv(fds[1], text, sizeof text - 1, MSG_DONTWAIT);
    cr_assert_gt(n, 0);
    text[n] = 0;
    cr_assert_eq(strchr(text, '\n'), text + n - 1, "one line: %s", text);
    struct json_object *o = json_tokener_parse(text);
    cr_assert_not_null(o, "%s", text);
    return o;
}

/* --- as they are written --- */

Test(perf_exchange, a_test_arrives_as_it_was_sent)
{
    struct perf_test test = {0};
    struct nornic_addr gid = {{0}};
    struct perf_peer peers[PERF_MAX_QPS];
    struct nornic_error why = {""};
    cr_assert_eq(perf_control_send_test(fds[0], &side, &why), 0, "%s", why.text);
    cr_assert_eq(perf_control_read_test(fds[1], PATIENCE_NS, false, &test, &gid, peers, &why), 0, "%s",
                 why.text);
    cr_expect_eq(test.op, PERF_OP_READ);
    cr_expect_eq(test.size_bytes, 1u << 30);
    cr_expect_eq(test.depth, PERF_MAX_DEPTH);
    cr_expect_eq(test.qps, 3);
    cr_expect_eq(test.pmtu_bytes, 4096);
    cr_expect(test.verify);
    cr_expect(nornic_addr_equal(&gid, &side.gid));
    for (unsigned q = 0; q < 3; q++) {
        cr_expect_eq(peers[q].qpn, 0x10 + q);
        cr_expect_eq(peers[q].psn, 0xfffffd + q);
    }
}

Test(perf_exchange, every_operation_and_no_comparison_arrive)
{
    for (int op = 0; op < PERF_OP_COUNT; op++) {
        struct perf_test test = {.verify = true};
        struct nornic_addr gid;
        struct perf_peer peers[PERF_MAX_QPS];
        struct nornic_error why = {""};
        side.test =
            (struct perf_test){.op = (enum perf_op)op, .size_bytes = 8, .depth = 1, .pmtu_bytes = 256};
        cr_assert_eq(perf_control_send_test(fds[0], &side, &why), 0, "%s", why.text);
        cr_assert_eq(perf_control_read_test(fds[1], PATIENCE_NS, false, &test, &gid, peers, &why), 0, "%s",
                     why.text);
        cr_expect_eq((int)test.op, op);
        cr_expect_eq(test.size_bytes, 8);
        cr_expect_not(test.verify, "operation %d", op);
    }
}

/* docs say what stands on the wire: another program may speak it. */
Test(perf_exchange, the_test_is_one_object_on_one_line)
{
    struct nornic_error why;
    cr_assert_eq(perf_control_send_test(fds[0], &side, &why), 0);
    struct json_object *o = heard(), *list = json_member(o, "qp_list");
    cr_expect_eq(json_object_get_int(json_member(o, "nornic_perf")), 1);
    cr_expect_str_eq(json_object_get_string(json_member(o, "op")), "read");
    cr_expect_eq(json_object_get_uint64(json_member(o, "size")), 1u << 30);
    cr_expect_eq(json_object_get_int(json_member(o, "depth")), PERF_MAX_DEPTH);
    cr_expect_eq(json_object_get_int(json_member(o, "qps")), 3);
    cr_expect_eq(json_object_get_int(json_member(o, "pmtu")), 4096);
    cr_expect_eq(json_object_get_int(json_member(o, "verify")), 1);
    cr_expect_str_eq(json_object_get_string(json_member(o, "gid")), "fd77::1");
    cr_assert_eq(json_object_array_length(list), 3);
    cr_expect_eq(json_object_get_int(json_member(json_object_array_get_idx(list, 2), "psn")), 0xffffff);
    cr_expect_not(json_object_object_get_ex(o, "rkey", NULL), "only the server has memory to lend");
    json_object_put(o);
}

Test(perf_exchange, an_answer_arrives_as_it_was_sent)
{
    struct nornic_error why = {""};
    cr_assert_eq(perf_control_send_answer(fds[0], &side, &why), 0, "%s", why.text);
    cr_assert_eq(perf_control_read_answer(fds[1], &other, &why), 0, "%s", why.text);
    cr_expect_eq(other.peer_addr, UINT64_C(0xffff123456789000), "all 64 bits");
    cr_expect_eq(other.peer_rkey, 0xfedcba98);
    cr_expect(nornic_addr_equal(&other.peer_gid, &side.gid));
    for (unsigned q = 0; q < 3; q++) {
        cr_expect_eq(other_qps[q].peer_qpn, 0x10 + q);
        cr_expect_eq(other_qps[q].peer_psn, 0xfffffd + q);
        cr_expect_eq(other_qps[q].qpn, 0, "its own stay");
    }
}

Test(perf_exchange, how_many_operations_were_done_arrives)
{
    uint64_t ops[3] = {7, 7, 7}, checked = 0;
    struct nornic_error why = {""};
    cr_assert_eq(perf_control_send_ops(fds[0], &side, &why), 0, "%s", why.text);
    cr_assert_eq(perf_control_read_ops(fds[1], &other, ops, &why), 0, "%s", why.text);
    for (unsigned q = 0; q < 3; q++)
        cr_expect_eq(ops[q], UINT64_C(5000000000) * q, "more than 32 bits");
    cr_assert_eq(perf_control_send_checked(fds[1], UINT64_MAX, &why), 0);
    cr_assert_eq(perf_control_read_checked(fds[0], PATIENCE_NS, &checked, &why), 0, "%s", why.text);
    cr_expect_eq(checked, UINT64_MAX);
}

Test(perf_exchange, lines_that_came_at_once_are_read_one_by_one)
{
    uint64_t ops[3], checked = 0;
    struct nornic_error why = {""};
    perf_control_send_answer(fds[0], &side, &why);
    perf_control_send_ops(fds[0], &side, &why);
    perf_control_send_checked(fds[0], 42, &why);
    cr_expect_eq(perf_control_read_answer(fds[1], &other, &why), 0, "%s", why.text);
    cr_expect_eq(perf_control_read_ops(fds[1], &other, ops, &why), 0, "%s", why.text);
    cr_expect_eq(perf_control_read_checked(fds[1], PATIENCE_NS, &checked, &why), 0, "%s", why.text);
    cr_expect_eq(checked, 42);
}

Test(perf_exchange, why_a_side_gives_up_is_told_instead_of_any_line)
{
    struct perf_test test;
    struct nornic_addr gid;
    struct perf_peer peers[PERF_MAX_QPS];
    uint64_t ops[3], checked;
    struct nornic_error why;
    for (int line = 0; line < 4; line++) {
        why = (struct nornic_error){""};
        perf_control_send_error(fds[0], "no memory for 3 \"queue\" pairs");
        int err = line == 0   ? perf_control_read_test(fds[1], PATIENCE_NS, false, &test, &gid, peers, &why)
                  : line == 1 ? perf_control_read_answer(fds[1], &other, &why)
                  : line == 2 ? perf_control_read_ops(fds[1], &other, ops, &why)
                              : perf_control_read_checked(fds[1], PATIENCE_NS, &checked, &why);
        cr_expect_eq(err, -EREMOTEIO, "line %d", line);
        cr_expect_str_eq(why.text, "the peer gives up: no memory for 3 \"queue\" pairs");
    }
}

Test(perf_exchange, a_reason_without_end_is_cut)
{
    static char reason[3000];
    struct nornic_error why;
    uint64_t checked;
    memset(reason, 'x', sizeof reason - 1);
    perf_control_send_error(fds[0], reason);
    cr_expect_eq(perf_control_read_checked(fds[1], PATIENCE_NS, &checked, &why), -EREMOTEIO);
    cr_expect_eq(strspn(why.text + strlen("the peer gives up: "), "x"), 200);
}

/* --- what is refused --- */

static const struct {
    const char *members, *words; /* behind those of `whole_test`, of which they take the place */
} wrong_tests[] = {
    {"\"op\":\"jump\"", "asks for an operation that this side does not know"},
    {"\"op\":1", "asks for an operation"},
    {"\"size\":4294967296", "the peer's 'size' is out of range"},
    {"\"size\":-1", "the peer's 'size' is out of range"},
    {"\"size\":\"8\"", "the peer's line has no number 'size'"},
    {"\"size\":8.5", "has no number 'size'"},
    {"\"depth\":4097", "'depth' is out of range"},
    {"\"depth\":null", "has no number 'depth'"},
    {"\"qps\":1025", "'qps' is out of range"},
    {"\"qps\":2", "has no list of 2 queue pairs"},
    {"\"qps\":0", "has no list of 0 queue pairs"},
    {"\"pmtu\":4097", "'pmtu' is out of range"},
    {"\"verify\":2", "'verify' is out of range"},
    {"\"verify\":true", "has no number 'verify'"},
    {"\"op\":\"fetch-add\",\"size\":16", "the peer's atomics have 16 bytes and not 8"},
    {"\"op\":\"cmp-swap\",\"size\":0", "atomics have 0 bytes"},
    {"\"gid\":\"10.0.0\"", "names no GID"},
    {"\"gid\":7", "names no GID"},
    {"\"qp_list\":{}", "has no list of 1 queue pairs"},
    {"\"qp_list\":[]", "has no list of 1 queue pairs"},
    {"\"qp_list\":[7]", "has no number 'qpn'"},
    {"\"qp_list\":[null]", "has no number 'qpn'"},
    {"\"qp_list\":[{\"qpn\":16777216,\"psn\":1}]", "'qpn' is out of range"},
    {"\"qp_list\":[{\"qpn\":16777215}]", "has no number 'psn'"},
    {"\"qp_list\":[{\"qpn\":1,\"psn\":16777216}]", "'psn' is out of range"},
};

static int read_test(const char *members, struct perf_test *test, struct nornic_error *why)
{
    static const char whole_test[] = "{\"nornic_perf\":1,\"op\":\"write\",\"size\":1,\"depth\":1,\"qps\":1,"
                                     "\"pmtu\":256,\"verify\":0,\"gid\":\"10.0.0.1\","
                                     "\"qp_list\":[{\"qpn\":16777215,\"psn\":16777215}],";
    char line[1024];
    struct nornic_addr gid;
    struct perf_peer peers[PERF_MAX_QPS];
    snprintf(line, sizeof line, "%s%s}\n", whole_test, members);
    say(line);
    return perf_control_read_test(fds[1], PATIENCE_NS, false, test, &gid, peers, why);
}

Test(perf_exchange, a_wrong_test_is_refused_by_the_member_that_is_wrong)
{
    struct perf_test test;
    struct nornic_error why = {""};
    cr_assert_eq(read_test("\"unknown\":[1]", &test, &why), 0, "a later version may say more: %s", why.text);
    for (size_t i = 0; i < array_len(wrong_tests); i++) {
        why = (struct nornic_error){""};
        cr_expect_eq(read_test(wrong_tests[i].members, &test, &why), -EPROTO, "%s", wrong_tests[i].members);
        cr_expect_not_null(strstr(why.text, wrong_tests[i].words), "%s gives: %s", wrong_tests[i].members,
                           why.text);
    }
}

/* Without a word about it a side speaks RoCE; two that differ say so before they wait for each other. */
Test(perf_exchange, a_side_of_iwarp_says_so_and_its_server_names_a_tcp_port)
{
    struct perf_test test;
    struct nornic_addr gid;
    struct nornic_error why = {""};
    struct perf_peer peers[PERF_MAX_QPS];
    for (unsigned speaks = 0; speaks < 2; speaks++)
        for (unsigned expects = 0; expects < 2; expects++) {
            side.is_iwarp = speaks;
            cr_assert_eq(perf_control_send_test(fds[0], &side, &why), 0, "%s", why.text);
            cr_expect_eq(perf_control_read_test(fds[1], PATIENCE_NS, expects, &test, &gid, peers, &why),
                         speaks == expects ? 0 : -EPROTO);
            cr_expect(speaks == expects || strstr(why.text, "one side speaks iWARP and the other RoCE"));
        }
    side.tcp_port = 65535;
    other.is_iwarp = true;
    cr_assert_eq(perf_control_send_answer(fds[0], &side, &why), 0, "%s", why.text);
    cr_assert_eq(perf_control_read_answer(fds[1], &other, &why), 0, "%s", why.text);
    cr_expect_eq(other.tcp_port, 65535);
    other.is_iwarp = false;
    cr_assert_eq(perf_control_send_answer(fds[0], &side, &why), 0, "%s", why.text);
    cr_expect_eq(perf_control_read_answer(fds[1], &other, &why), -EPROTO);
}

Test(perf_exchange, a_wrong_answer_is_refused)
{
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"\"addr\":1,\"rkey\":2,\"qp_list\":[]", "names no GID"},
        {"\"gid\":\"::1\",\"rkey\":2,\"qp_list\":[]", "has no number 'addr'"},
        {"\"gid\":\"::1\",\"addr\":-1,\"rkey\":2", "'addr' is out of range"},
        {"\"gid\":\"::1\",\"addr\":1", "has no number 'rkey'"},
        {"\"gid\":\"::1\",\"addr\":1,\"rkey\":4294967296", "'rkey' is out of range"},
        {"\"gid\":\"::1\",\"addr\":1,\"rkey\":4294967295", "no list of 3 queue pairs"},
        {"\"gid\":\"::1\",\"addr\":1,\"rkey\":2,\"qp_list\":[{\"qpn\":1,\"psn\":1},{\"qpn\":1,\"psn\":1}]",
         "no list of 3 queue pairs"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        char line[512];
        struct nornic_error why = {""};
        snprintf(line, sizeof line, "{\"nornic_perf\":1,%s}\n", cases[i].line);
        say(line);
        cr_expect_eq(perf_control_read_answer(fds[1], &other, &why), -EPROTO, "%s", line);
        cr_expect_not_null(strstr(why.text, cases[i].words), "%s gives: %s", line, why.text);
        cr_expect_eq(other_qps[0].peer_qpn, 0, "nothing is taken of what is refused");
    }
}

Test(perf_exchange, a_wrong_count_of_operations_is_refused)
{
    static const char *const cases[] = {"{\"nornic_perf\":1}\n", "{\"nornic_perf\":1,\"ops\":3}\n",
                                        "{\"nornic_perf\":1,\"ops\":[1,2]}\n",
                                        "{\"nornic_perf\":1,\"ops\":[1,2,3,4]}\n"};
    for (size_t i = 0; i < array_len(cases); i++) {
        uint64_t ops[3] = {9, 9, 9};
        struct nornic_error why = {""};
        say(cases[i]);
        cr_expect_eq(perf_control_read_ops(fds[1], &other, ops, &why), -EPROTO, "%s", cases[i]);
        cr_expect_str_eq(why.text, "the peer's line does not say how many operations it did");
        cr_expect_eq(ops[0], 9);
    }
}

Test(perf_exchange, another_version_is_told_with_both_numbers)
{
    uint64_t checked;
    struct nornic_error why = {""};
    say("{\"nornic_perf\":12,\"checked\":1}\n");
    cr_expect_eq(perf_control_read_checked(fds[1], PATIENCE_NS, &checked, &why), -EPROTO);
    cr_expect_str_eq(why.text,
                     "the peer speaks version 12 of the exchange, this side version 1: use the same "
                     "nornic on both");
}

/* --- the ends of a line --- */

Test(perf_exchange, a_line_without_end_is_given_up)
{
    static char much[64 << 10];
    uint64_t checked;
    struct nornic_error why = {""};
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        close(fds[1]);
        memset(much, ' ', sizeof much);
        while (send(fds[0], much, sizeof much, MSG_NOSIGNAL) > 0)
            ;
        _exit(0);
    }
    cr_expect_eq(perf_control_read_checked(fds[1], PATIENCE_NS, &checked, &why), -EPROTO);
    cr_expect_str_eq(why.text, "the peer's line is longer than 262144 bytes");
}

Test(perf_exchange, a_peer_that_left_is_told_by_both_directions)
{
    uint64_t checked;
    struct nornic_error why = {""};
    close(fds[0]);
    cr_expect_eq(perf_control_read_checked(fds[1], PATIENCE_NS, &checked, &why), -ECONNRESET);
    cr_expect_str_eq(why.text, "the peer closed the TCP connection");
    why = (struct nornic_error){""};
    cr_expect_eq(perf_control_send_ops(fds[1], &side, &why), -ECONNRESET);
    cr_expect_str_eq(why.text, "the peer closed the TCP connection");
    perf_control_send_error(fds[1], "best effort"); /* neither ends the process nor says more */
    fds[0] = dup(fds[1]);
}

Test(perf_exchange, the_most_queue_pairs_fit_into_a_line)
{
    struct perf_qp *many = calloc(PERF_MAX_QPS, sizeof *many);
    struct perf_peer *peers = calloc(PERF_MAX_QPS, sizeof *peers);
    struct perf_test test = {0};
    struct nornic_addr gid;
    struct nornic_error why = {""};
    cr_assert(many && peers);
    for (unsigned q = 0; q < PERF_MAX_QPS; q++)
        many[q] = (struct perf_qp){.qpn = 0xffffff - q, .psn = 0xffffff - 2 * q};
    side.qps = many;
    side.test.qps = PERF_MAX_QPS;
    cr_assert_eq(perf_control_send_test(fds[0], &side, &why), 0, "%s", why.text);
    cr_assert_eq(perf_control_read_test(fds[1], PATIENCE_NS, false, &test, &gid, peers, &why), 0, "%s",
                 why.text);
    cr_expect_eq(test.qps, PERF_MAX_QPS);
    cr_expect_eq(peers[PERF_MAX_QPS - 1].qpn, 0xffffff - (PERF_MAX_QPS - 1));
    cr_expect_eq(peers[PERF_MAX_QPS - 1].psn, 0xffffff - 2 * (PERF_MAX_QPS - 1));
    free(many);
    free(peers);
}
