/* SPDX-License-Identifier: BSD-2-Clause */
/* What perf, pingpong and the peers report: for people, and as one line of JSON. */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/peer/peer.h"
#include "cli/perf/perf.h"
#include "cli/pingpong/pingpong.h"
#include "cli/report/json.h"

static struct cli_node nodes[2];

static void open_nodes(void)
{
    struct cli_node_config config = {.port = "memory"};
    cr_assert_eq(cli_node_open_pair(&config, nodes), CLI_OK);
}

static void close_nodes(void)
{
    cr_assert_eq(cli_node_close(&nodes[0], CLI_OK), CLI_OK);
    cr_assert_eq(cli_node_close(&nodes[1], CLI_OK), CLI_OK);
}

TestSuite(reports, .init = open_nodes, .fini = close_nodes);

static char printed[16384];
static FILE *kept;

static void begin_print(void)
{
    kept = stdout;
    stdout = fmemopen(printed, sizeof printed, "w");
    cr_assert_not_null(stdout);
}

static void end_print(void)
{
    fclose(stdout);
    stdout = kept;
}

/* --- values of what was printed as JSON --- */

static struct json_object *parsed;

static void parse_printed(void)
{
    cr_assert_eq(strchr(printed, '\n'), printed + strlen(printed) - 1, "one line: %s", printed);
    parsed = json_tokener_parse(printed);
    cr_assert_not_null(parsed, "%s", printed);
}

static struct json_object *member(const char *key)
{
    struct json_object *o;
    cr_assert(json_object_object_get_ex(parsed, key, &o), "there is no %s in %s", key, printed);
    return o;
}

static void expect_text(const char *key, const char *text)
{
    cr_expect_str_eq(json_object_get_string(member(key)), text, "%s", key);
}

static void expect_count(const char *key, uint64_t value)
{
    cr_expect_eq(json_object_get_uint64(member(key)), value, "%s is %s", key,
                 json_object_get_string(member(key)));
}

static void expect_real(const char *key, double value)
{
    cr_expect_float_eq(json_object_get_double(member(key)), value, 0.0005, "%s is %s", key,
                       json_object_get_string(member(key)));
}

static bool has(const char *key)
{
    return json_object_object_get_ex(parsed, key, NULL);
}

/* --- the pieces: report/json.c --- */

Test(report_json, a_text_of_another_type_is_empty)
{
    struct json_object *o = json_tokener_parse("{\"a\":null,\"b\":[1],\"c\":\"x\"}");
    cr_expect_str_eq(cli_json_text(o, "a"), "");
    cr_expect_str_eq(cli_json_text(o, "b"), "");
    cr_expect_str_eq(cli_json_text(o, "c"), "x");
    cr_expect_str_eq(cli_json_text(o, "d"), "");
    cr_expect_str_eq(cli_json_text(NULL, "a"), "");
    json_object_put(o);
}

Test(report_json, past_its_time_nothing_is_read)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "{}", 2), 2);
    cr_expect_null(cli_json_read(ends[0], 100, 0));
    struct json_object *o = cli_json_read(ends[0], 100, 10 * NS_PER_S);
    cr_expect(json_object_is_type(o, json_type_object));
    json_object_put(o);
    close(ends[0]);
    close(ends[1]);
}

Test(report_json, members_as_they_are_added)
{
    struct json_object *o = json_object_new_object();
    struct histogram h = {.count = 0};
    cli_json_add_text(o, "text", "a \"word\" and /");
    cli_json_add_text(o, "none", NULL);
    cli_json_add_count(o, "count", UINT64_MAX);
    cli_json_add_real(o, "real", 1.0 / 3);
    cli_json_add_real(o, "whole", 2);
    for (unsigned i = 1; i <= 100; i++)
        histogram_add(&h, i);
    cli_json_add_usec(o, "times", &h);
    begin_print();
    cli_json_print(o);
    end_print();
    cr_expect_str_eq(printed,
                     "{\"text\":\"a \\\"word\\\" and /\",\"none\":\"\",\"count\":18446744073709551615,"
                     "\"real\":0.333,\"whole\":2.000,\"times\":{\"min\":0.001,\"median\":0.050,\"p99\":0.099,"
                     "\"p99_9\":0.100,\"max\":0.100}}\n");
}

/* --- perf --- */

static struct perf_options perf_options(bool json)
{
    return (struct perf_options){.test = {.op = PERF_OP_READ,
                                          .size_bytes = 1000,
                                          .depth = 4,
                                          .qps = 2,
                                          .pmtu_bytes = 1024,
                                          .verify = true},
                                 .json = json};
}

static struct perf_result perf_result(void)
{
    struct perf_result r = {.ops = 6000,
                            .start_ns = NS_PER_S,
                            .end_ns = 3 * NS_PER_S,
                            .retransmitted_pkts = 17,
                            .server_checked = 4999};
    for (unsigned i = 1; i <= 100; i++)
        histogram_add(&r.latency, i * 100);
    return r;
}

static void print_perf(struct perf_options o, struct perf_result r)
{
    begin_print();
    perf_report(&o, &nodes[0], &o.test, &r);
    end_print();
}

Test(reports, perf_for_people)
{
    print_perf(perf_options(false), perf_result());
    cr_expect_str_eq(
        printed, "read of 1000 bytes over memory (in-process rings): 2 queue pairs, depth 4, path MTU 1024\n"
                 "  6000 operations, 6000000 bytes in 2.000 s\n"
                 "  0.024 Gbit/s, 0.0030 Mmsg/s\n"
                 "  post to completion: min 0.1, median 5.0, p99 9.9, p99.9 10.0, max 10.0 usec\n"
                 "  17 packets retransmitted, 4999 messages compared\n");
}

Test(reports, perf_of_latency_has_no_rate)
{
    struct perf_options o = perf_options(false);
    o.latency = true;
    o.test.qps = 1;
    o.test.verify = false;
    print_perf(o, perf_result());
    cr_expect_not_null(strstr(printed, ": 1 queue pair, depth 4"), "%s", printed);
    cr_expect_null(strstr(printed, "Gbit/s"));
    cr_expect_null(strstr(printed, "compared"));
}

Test(reports, perf_for_scripts)
{
    print_perf(perf_options(true), perf_result());
    parse_printed();
    expect_text("op", "read");
    expect_text("port", "memory");
    expect_count("size", 1000);
    expect_count("depth", 4);
    expect_count("qps", 2);
    expect_count("pmtu", 1024);
    expect_count("ops", 6000);
    expect_count("bytes", 6000000);
    expect_real("seconds", 2);
    expect_real("gbit_per_s", 0.024);
    expect_real("mmsg_per_s", 0.003);
    expect_count("retransmitted_pkts", 17);
    expect_count("compared_messages", 4999);
    cr_expect(json_object_get_boolean(member("verified")));
    cr_expect(json_object_is_type(member("latency_us"), json_type_object));
    json_object_put(parsed);
}

Test(reports, perf_of_nothing_divides_by_nothing)
{
    struct perf_result r = {.start_ns = 5, .end_ns = 5};
    print_perf(perf_options(true), r);
    parse_printed();
    expect_real("gbit_per_s", 0);
    expect_real("mmsg_per_s", 0);
    json_object_put(parsed);
}

/* --- pingpong --- */

static struct pingpong_options pp;
static struct pingpong_side side;

static void print_pingpong(void)
{
    begin_print();
    pingpong_report(&side);
    end_print();
}

static void make_pingpong(enum pingpong_transport transport, bool is_client, bool json)
{
    pp = (struct pingpong_options){.transport = transport,
                                   .size_bytes = 4096,
                                   .pmtu_bytes = 1024,
                                   .pairs = 3,
                                   .iters = 1000,
                                   .json = json};
    side = (struct pingpong_side){.options = &pp,
                                  .node = &nodes[0],
                                  .is_client = is_client,
                                  .received = 1000,
                                  .start_ns = 0,
                                  .end_ns = NS_PER_S / 2};
    for (unsigned i = 0; i < 10; i++)
        histogram_add(&side.round_trips, 64);
}

Test(reports, pingpong_for_people)
{
    make_pingpong(PINGPONG_RC, true, false);
    print_pingpong();
    cr_expect_str_eq(printed, "8192000 bytes in 0.50 seconds = 131.07 Mbit/sec\n"
                              "1000 iters in 0.50 seconds = 500.00 usec/iter\n"
                              "round trip: min 0.1, median 0.1, p99 0.1, p99.9 0.1, max 0.1 usec\n"
                              "1000 messages verified, 0 packets retransmitted\n");
    make_pingpong(PINGPONG_SRQ, false, false);
    pp.node.cc.on = true;
    side.unacknowledged = 1;
    side.mixed = 5;
    print_pingpong();
    cr_expect_str_eq(
        printed, "8192000 bytes in 0.50 seconds = 131.07 Mbit/sec\n"
                 "1000 iters in 0.50 seconds = 500.00 usec/iter\n"
                 "1000 messages verified, 0 packets retransmitted\n"
                 "congestion: 0 marked packets came, 0 CNPs sent, 0 obeyed\n"
                 "the peer left before it acknowledged the last message\n"
                 "5 of them held pieces of other queue pairs' messages: the peer has one buffer for all\n");
    side.unacknowledged = 2;
    print_pingpong();
    cr_expect_not_null(strstr(printed, "the last messages\n"));
}

Test(reports, pingpong_for_scripts)
{
    make_pingpong(PINGPONG_RC, true, true);
    print_pingpong();
    parse_printed();
    expect_text("role", "client");
    expect_text("port", "memory");
    expect_text("transport", "rc");
    expect_count("size", 4096);
    expect_count("pmtu", 1024);
    expect_count("iters", 1000);
    expect_count("bytes", 8192000);
    expect_real("seconds", 0.5);
    expect_real("mbit_per_s", 131.072);
    expect_real("usec_per_iter", 500);
    expect_count("retransmitted_pkts", 0);
    expect_count("verified_messages", 1000);
    expect_count("unacknowledged_messages", 0);
    cr_expect(has("round_trip_us"));
    cr_expect_not(has("queue_pairs"));
    cr_expect_not(has("mixed_messages"));
    cr_expect_not(has("np_cnp_sent"));
    json_object_put(parsed);
}

Test(reports, pingpong_tells_of_each_transport_what_it_has)
{
    make_pingpong(PINGPONG_UD, false, true);
    print_pingpong();
    parse_printed();
    expect_text("role", "server");
    expect_text("transport", "ud");
    cr_expect_not(has("pmtu"), "a datagram has none");
    cr_expect_not(has("round_trip_us"), "the server measures none");
    json_object_put(parsed);
    make_pingpong(PINGPONG_SRQ, true, true);
    side.mixed = 4;
    pp.node.cc.on = true;
    print_pingpong();
    parse_printed();
    expect_text("transport", "srq");
    expect_count("queue_pairs", 3);
    expect_count("mixed_messages", 4);
    expect_count("np_ecn_marked", 0);
    expect_count("np_cnp_sent", 0);
    expect_count("rp_cnp_handled", 0);
    json_object_put(parsed);
}

/* --- the peers --- */

/* A peer's node is a device of the programs' API. */
static struct nornic_dev *peer_devices[2];

static struct cli_node open_peer_node(void)
{
    const struct nornic_dev_config memory = {NORNIC_INIT(memory), .no_thread = true};
    cr_assert_eq(nornic_dev_open_pair(&memory, peer_devices, NULL), 0);
    return (struct cli_node){.api = peer_devices[0], .dev = host_dev_of(peer_devices[0]), .memory = true};
}

static void close_peer_node(void)
{
    for (int i = 0; i < 2; i++)
        cr_assert_eq(nornic_dev_close(peer_devices[i], NULL), 0);
}

static void print_peer(const struct peer *peer)
{
    begin_print();
    peer_report(peer);
    end_print();
}

Test(reports, peers_for_people)
{
    struct peer_options o = {.connections = 2, .size_bytes = 100, .service_port = 7471};
    struct peer_kind kind = {.stock = "ucmatose"};
    struct peer p = {
        .options = &o, .kind = &kind, .node = open_peer_node(), .sent = 10, .received = 9, .verified = 9};
    print_peer(&p);
    cr_expect_str_eq(printed, "10 messages sent, 9 received, 9 of them verified; 0 packets retransmitted\n");
    p.verified = 0;
    p.unacknowledged = 1;
    print_peer(&p);
    cr_expect_str_eq(printed, "10 messages sent, 9 received, 0 of them verified; 0 packets retransmitted\n"
                              "the peer left before it acknowledged the last message\n"
                              "(the peer is no nornic: ucmatose sends what happens to be in its memory)\n");
    begin_print();
    peer_say_listening(&p);
    end_print();
    cr_expect_str_eq(printed, "listening on service port 7471\n");
    close_peer_node();
}

Test(reports, peers_for_scripts)
{
    struct peer_options o = {
        .connections = 2, .size_bytes = 100, .service_port = 7471, .json = true, .host = "10.0.0.1"};
    struct peer_kind kind = {.stock = "ucmatose"};
    struct peer p = {.options = &o,
                     .kind = &kind,
                     .node = open_peer_node(),
                     .sent = 10,
                     .received = 9,
                     .verified = 8,
                     .unacknowledged = 3,
                     .crc_sum = 0xdeadbeef,
                     .start_ns = NS_PER_S,
                     .end_ns = NS_PER_S * 5 / 2};
    print_peer(&p);
    parse_printed();
    expect_text("role", "client");
    expect_text("port", "memory");
    expect_count("connections", 2);
    expect_count("size", 100);
    expect_count("sent_messages", 10);
    expect_count("received_messages", 9);
    expect_count("verified_messages", 8);
    expect_count("received_crc32_sum", 0xdeadbeef);
    expect_count("retransmitted_pkts", 0);
    expect_count("unacknowledged_messages", 3);
    expect_real("seconds", 1.5);
    json_object_put(parsed);
    begin_print();
    peer_say_listening(&p);
    end_print();
    cr_expect_str_eq(printed, "{\"listening\": 7471}\n");
    close_peer_node();
}
