/* SPDX-License-Identifier: BSD-2-Clause */
/* perf, pingpong and the demo over the memory port, whole: both sides in this process. */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "line.h"
#include "net/pcap_file.h"

TestSuite(transfers, .timeout = 120);

static struct json_object *parsed;

static struct json_object *member(const char *key)
{
    struct json_object *o;
    cr_assert(json_object_object_get_ex(parsed, key, &o), "there is no %s", key);
    return o;
}

static uint64_t count(const char *key)
{
    return json_object_get_uint64(member(key));
}

static const char *text(const char *key)
{
    return json_object_get_string(member(key));
}

/* Runs a line that has to go well and to report as JSON. */
static void run(const char *line)
{
    const struct line_result *r = line_run(line);
    cr_assert_eq(r->status, CLI_OK, "%s: %s", line, r->err);
    cr_assert_str_empty(r->err, "%s", line);
    parsed = json_tokener_parse(r->out);
    cr_assert_not_null(parsed, "%s: %s", line, r->out);
}

/* --- perf --- */

Test(transfers, perf_of_every_operation_compares_what_arrived)
{
    static const struct {
        const char *op;
        uint64_t size, at_least; /* compared */
    } cases[] = {{"send", 5000, 200}, {"write", 5000, 1},    {"write-imm", 5000, 1},
                 {"read", 5000, 200}, {"fetch-add", 8, 200}, {"cmp-swap", 8, 200}};
    for (size_t i = 0; i < array_len(cases); i++) {
        char line[128];
        snprintf(line, sizeof line, "perf --port memory --op %s -s %u -n 200 -w 0 -v -j -q 2", cases[i].op,
                 (unsigned)cases[i].size);
        run(line);
        cr_expect_str_eq(text("op"), cases[i].op);
        cr_expect_eq(count("size"), cases[i].size);
        cr_expect_eq(count("ops"), 200, "%s", cases[i].op);
        cr_expect_eq(count("bytes"), 200 * cases[i].size);
        cr_expect_eq(count("qps"), 2);
        cr_expect_eq(count("depth"), 16);
        cr_expect_eq(count("pmtu"), 4096, "the largest that fits");
        cr_expect_eq(count("retransmitted_pkts"), 0);
        cr_expect_geq(count("compared_messages"), cases[i].at_least, "%s", cases[i].op);
        cr_expect(json_object_get_boolean(member("verified")));
        json_object_put(parsed);
    }
}

Test(transfers, perf_asleep_and_over_each_network)
{
    static const char *const more[] = {"-e", "-6", "--roce-v1", "--roce-v1 -6", "-m 256", "-L"};
    for (size_t i = 0; i < array_len(more); i++) {
        char line[128];
        snprintf(line, sizeof line, "perf --port memory --op read -s 3000 -n 20 -w 0 -v -j %s", more[i]);
        run(line);
        cr_expect_eq(count("ops"), 20, "%s", more[i]);
        cr_expect_geq(count("compared_messages"), 20, "%s", more[i]);
        json_object_put(parsed);
    }
}

Test(transfers, perf_on_a_bad_line_recovers)
{
    run("perf --port memory --op send -s 20000 -n 100 -w 0 -v -j -m 1024 -W 32 --loss 2% --reorder 2% "
        "--duplicate 2% "
        "--seed 3");
    cr_expect_eq(count("ops"), 100);
    cr_expect_eq(count("compared_messages"), 100);
    cr_expect_gt(count("retransmitted_pkts"), 0);
    json_object_put(parsed);
}

Test(transfers, perf_by_time)
{
    run("perf --port memory --op send -s 64 --time 300ms -w 5 -j");
    cr_expect_gt(count("ops"), 0);
    cr_expect_float_eq(json_object_get_double(member("seconds")), 0.3, 0.25);
    cr_expect_not(json_object_get_boolean(member("verified")));
    cr_expect_eq(count("compared_messages"), 0);
    json_object_put(parsed);
}

Test(transfers, perf_asks_for_more_than_there_is)
{
    const struct line_result *r = line_run("perf --port memory -s 1G -q 4 -n 1");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_not_null(strstr(r->err, "and 1024 are allowed: reduce one of them"), "%s", r->err);
    r = line_run("perf --port memory -m 4096 -g 200 -n 1");
    cr_expect_neq(r->status, CLI_OK);
    cr_expect_not_null(strstr(r->err, "has no GID with index 200"), "%s", r->err);
}

Test(transfers, perf_leaves_a_capture)
{
    char line[128], path[64];
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    unsigned packets = 0;
    snprintf(path, sizeof path, "/tmp/nn-test-%d.pcapng", getpid());
    snprintf(line, sizeof line, "perf --port memory --op write -s 100 -n 10 -w 0 -j --capture %s", path);
    run(line);
    json_object_put(parsed);
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    while (net_capture_next(capture, &record, &why) > 0)
        packets++;
    net_capture_close(capture);
    unlink(path);
    cr_expect_geq(packets, 11, "ten WRITEs and at least one ACK: %u", packets);
    snprintf(line, sizeof line, "perf --port memory -n 1 --capture /nonexistent/x");
    const struct line_result *r = line_run(line);
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_not_null(strstr(r->err, "/nonexistent/x"), "%s", r->err);
}

/* --- pingpong --- */

Test(transfers, pingpong_over_every_service)
{
    static const char *const transports[] = {"rc", "uc", "ud", "srq"};
    for (size_t i = 0; i < array_len(transports); i++) {
        char line[128];
        snprintf(line, sizeof line, "pingpong --port memory --transport %s -n 100 -s 1000 -j%s",
                 transports[i], strcmp(transports[i], "srq") == 0 ? " -q 4" : "");
        run(line);
        cr_expect_str_eq(text("role"), "client");
        cr_expect_str_eq(text("transport"), transports[i]);
        cr_expect_eq(count("verified_messages"), 100, "%s", transports[i]);
        cr_expect_eq(count("bytes"), 200000);
        cr_expect_eq(count("retransmitted_pkts"), 0);
        json_object_put(parsed);
    }
}

Test(transfers, pingpong_of_the_least_and_of_much)
{
    run("pingpong --port memory -n 1 -s 1 -j");
    cr_expect_eq(count("verified_messages"), 1);
    json_object_put(parsed);
    run("pingpong --port memory -n 3 -s 1M -j -r 1 -m 4096");
    cr_expect_eq(count("verified_messages"), 3);
    json_object_put(parsed);
    run("pingpong --port memory -n 20 -c -j -e");
    cr_expect_eq(count("verified_messages"), 20, "as the stock program sends it");
    json_object_put(parsed);
}

Test(transfers, pingpong_of_a_datagram_that_fits_no_packet)
{
    const struct line_result *r = line_run("pingpong --port memory --transport ud -s 8K");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_not_null(strstr(r->err, "8192"), "%s", r->err);
}

Test(transfers, pingpong_of_what_is_not_repeated)
{
    const struct line_result *r =
        line_run("pingpong --port memory --transport uc -n 2000 --loss 20% --seed 2 -t 200ms");
    cr_expect_eq(r->status, CLI_NEGATIVE);
    cr_expect_not_null(strstr(r->err, "this service does not repeat what is lost"), "%s", r->err);
}

Test(transfers, congestion_is_counted)
{
    run("pingpong --port memory -n 200 -s 8000 --ecn 50% --seed 4 --cc -j");
    cr_expect_eq(count("verified_messages"), 200);
    cr_expect_gt(count("np_ecn_marked") + count("rp_cnp_handled"), 0);
    json_object_put(parsed);
}

/* --- demo --- */

Test(transfers, demo_in_one_process)
{
    char line[256], path[64], loss_path[80];
    snprintf(path, sizeof path, "/tmp/nn-test-%d.pcapng", getpid());
    snprintf(loss_path, sizeof loss_path, "/tmp/nn-test-%d-loss.pcapng", getpid());
    snprintf(line, sizeof line, "demo --act 1 --port memory --count 30 --size 4000 --json -o %s", path);
    run(line);
    cr_expect(json_object_get_boolean(member("ok")));
    cr_expect_str_eq(text("port"), "memory");
    struct json_object *passes = member("passes");
    cr_assert_eq(json_object_array_length(passes), 2);
    for (size_t i = 0; i < 2; i++) {
        struct json_object *pass = json_object_array_get_idx(passes, i), *o;
        cr_assert(json_object_object_get_ex(pass, "capture", &o));
        cr_expect_str_eq(json_object_get_string(o), i ? loss_path : path);
        cr_assert(json_object_object_get_ex(pass, "loss_ppm", &o));
        cr_expect_eq(json_object_get_uint64(o), i ? 10000 : 0);
        cr_assert(json_object_object_get_ex(pass, "operations", &o));
        cr_expect_eq(json_object_array_length(o), 7);
    }
    json_object_put(parsed);
    snprintf(line, sizeof line, "verify --strict %s %s", path, loss_path);
    const struct line_result *r = line_run(line);
    cr_expect_eq(r->status, CLI_OK, "%s", r->out);
    unlink(path);
    unlink(loss_path);
}

Test(transfers, demo_tells_what_it_does)
{
    char line[256], path[64];
    snprintf(path, sizeof path, "/tmp/nn-test-%d.pcapng", getpid());
    snprintf(line, sizeof line, "demo --act 1 --port memory --count 10 --size 2000 --loss 0%% -o %s", path);
    const struct line_result *r = line_run(line);
    unlink(path);
    cr_assert_eq(r->status, CLI_OK, "%s", r->err);
    static const char *const parts[] = {"RDMA between two engines in one process, over the memory port.\n",
                                        "--- Pass 1: a clean line ---\n",
                                        "SEND: B has posted a buffer; A's message lands in it.",
                                        "Three packets.",
                                        "Now as fast as it goes, 2000 bytes an operation",
                                        "compared byte for byte where they arrived: all right\n",
                                        "packets checked on arrival: all good\n",
                                        "\nEvery byte arrived right, and every ICRC was good.\n"};
    const char *at = r->out;
    for (size_t i = 0; i < array_len(parts); i++) {
        const char *found = strstr(at, parts[i]);
        cr_expect_not_null(found, "'%s' does not follow in:\n%s", parts[i], r->out);
        at = found ? found : at;
    }
    cr_expect_null(strstr(r->out, "Pass 2"));
    cr_expect_null(strchr(r->out, '\033'));
}
