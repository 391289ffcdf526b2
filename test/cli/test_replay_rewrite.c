/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic replay --rewrite into a file: what goes out is what stood in the capture, less what no place can
 * take, and each of it told of. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "explain/analysis.h"
#include "line.h"
#include "net/pcap_file.h"
#include "test/support/json.h"

static char out_path[64], scenario_path[64];

static void name_files(void)
{
    snprintf(out_path, sizeof out_path, "/tmp/nn-test-%d.pcapng", getpid());
    snprintf(scenario_path, sizeof scenario_path, "/tmp/nn-test-%d.txt", getpid());
}

static void remove_files(void)
{
    unlink(out_path);
    unlink(scenario_path);
}

TestSuite(replay_rewrite, .init = name_files, .fini = remove_files, .timeout = 60);

/* `replay CAPTURE --rewrite` into the file, with more words behind it. */
static const struct line_result *rewrite(const char *capture, const char *more)
{
    char line[512];
    snprintf(line, sizeof line, "replay pcaps/%s --rewrite -o %s %s", capture, out_path, more);
    return line_run(line);
}

static void scenario(const char *text)
{
    FILE *f = fopen(scenario_path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static struct net_capture *open_capture(const char *path)
{
    struct net_capture *capture;
    struct nornic_error why;
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    return capture;
}

static void expect_part(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "'%s' is not in: %s", part, text);
}

Test(replay_rewrite, without_a_scenario_a_file_is_as_it_was)
{
    struct net_capture_record before, after;
    struct nornic_error why;
    uint64_t bytes = 0;
    unsigned n = 0;
    const struct line_result *r = rewrite("rc_write_1024.pcap", "");
    cr_assert_eq(r->status, CLI_OK, "%s", r->err);
    struct net_capture *in = open_capture("pcaps/rc_write_1024.pcap"), *out = open_capture(out_path);
    while (net_capture_next(in, &before, &why) > 0) {
        cr_assert_eq(net_capture_next(out, &after, &why), 1, "packet %u is missing", n + 1);
        n++;
        cr_assert_eq(after.len_bytes, before.len_bytes);
        cr_expect_arr_eq(after.data, before.data, before.len_bytes, "packet %u", n);
        cr_expect_eq(after.time_ns, before.time_ns, "packet %u", n);
        bytes += before.len_bytes;
    }
    cr_expect_eq(net_capture_next(out, &after, &why), 0);
    net_capture_close(in);
    net_capture_close(out);
    char said[256];
    snprintf(said, sizeof said, "%u packets rewritten, %lu bytes; 0 left out: no RoCE, cut, or malformed\n",
             n, (unsigned long)bytes);
    cr_expect_str_eq(r->out, said);
    cr_expect_str_empty(r->err);
}

static uint64_t count(const struct line_result *r, const char *key)
{
    struct json_object *o = json_tokener_parse(r->out);
    cr_assert_not_null(o, "%s", r->out);
    uint64_t n = json_object_get_uint64(json_member(o, key));
    json_object_put(o);
    return n;
}

Test(replay_rewrite, each_address_alone_and_both_together)
{
    uint64_t both = count(rewrite("rc_write_1024.pcap", "-j"), "packets");
    uint64_t a = count(rewrite("rc_write_1024.pcap", "-j --as 10.77.0.1"), "packets");
    uint64_t b = count(rewrite("rc_write_1024.pcap", "-j --as 10.77.0.2"), "packets");
    cr_expect_eq(a, 38, "what the engine sends in its place");
    cr_expect_eq(b, 27, "and what it is fed");
    cr_expect_eq(a + b, both);
    const struct line_result *r = rewrite("rc_write_1024.pcap", "-j --as 192.0.2.1");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_eq(count(r, "packets"), 0);
    cr_expect_eq(count(r, "bytes"), 0);
    cr_expect_eq(count(r, "left_out"), 0, "what another sent was not asked for");
}

/* TCP segments among the packets of SMC-R. */
Test(replay_rewrite, what_is_no_roce_is_left_out_and_counted)
{
    struct net_capture_record record;
    struct nornic_error why;
    uint64_t all = 0, roce = 0;
    struct net_capture *in = open_capture("pcaps/smc_first.pcap");
    while (net_capture_next(in, &record, &why) > 0) {
        struct explain_packet packet;
        explain_dissect(&packet, &record, ++all);
        roce += packet.kind != EXPLAIN_OTHER && packet.kind != EXPLAIN_SMC_TCP;
    }
    net_capture_close(in);
    const struct line_result *r = rewrite("smc_first.pcap", "--json");
    cr_expect_eq(r->status, CLI_OK, "%s", r->err);
    cr_expect_lt(roce, all);
    cr_expect_eq(count(r, "packets"), roce);
    cr_expect_eq(count(r, "left_out"), all - roce);
    cr_expect_eq(count(r, "too_long"), 0, "there is no interface that could be too small");
}

Test(replay_rewrite, a_scenario_moves_the_packets)
{
    char more[128];
    snprintf(more, sizeof more, "--scenario %s", scenario_path);
    scenario("# from the laboratory to documentation\n"
             "address 10.77.0.1 192.0.2.1\n"
             "address 10.77.0.2 192.0.2.2 02:00:00:00:00:99\n");
    const struct line_result *r = rewrite("rc_write_1024.pcap", more);
    cr_assert_eq(r->status, CLI_OK, "%s", r->err);
    struct net_capture *out = open_capture(out_path);
    struct net_capture_record record;
    struct nornic_error why;
    struct nornic_addr a, b;
    uint64_t n = 0;
    cr_assert(nornic_addr_parse("192.0.2.1", &a) == 0 && nornic_addr_parse("192.0.2.2", &b) == 0);
    while (net_capture_next(out, &record, &why) > 0) {
        struct explain_packet packet;
        explain_dissect(&packet, &record, ++n);
        cr_assert_eq(packet.verdict, ROCE_RX_TAKEN, "the checksums of packet %lu are good", (unsigned long)n);
        bool from_a = nornic_addr_equal(&packet.roce.src, &a);
        cr_expect(nornic_addr_equal(&packet.roce.src, from_a ? &a : &b));
        cr_expect(nornic_addr_equal(&packet.roce.dst, from_a ? &b : &a));
        cr_expect_arr_eq(record.data + (from_a ? 0 : 6), ((uint8_t[]){2, 0, 0, 0, 0, 0x99}), 6);
    }
    net_capture_close(out);
    cr_expect_eq(n, 65);
    char line[128];
    snprintf(line, sizeof line, "verify --strict %s", out_path);
    r = line_run(line);
    cr_expect_eq(r->status, CLI_OK);
    expect_part(r->out, "ICRC good 65, bad 0, malformed 0\n");
}

/* --- what does not go --- */

Test(replay_rewrite, a_queue_pair_that_nothing_goes_to)
{
    scenario("to 10.77.0.2 0x123456 psn 1\n");
    char more[128];
    snprintf(more, sizeof more, "--scenario %s", scenario_path);
    const struct line_result *r = rewrite("rc_write_1024.pcap", more);
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_str_eq(r->err, "nornic replay: the scenario names QP 0x123456, to which nothing goes\n");
    cr_expect_str_empty(r->out);
    cr_expect_eq(access(out_path, F_OK), -1, "nothing was begun");
}

Test(replay_rewrite, a_statement_that_is_none_is_named_by_its_line)
{
    static const char *const texts[] = {"# one\nadress 10.77.0.1 192.0.2.1\n", "\naddress 10.77.0.1\n",
                                        "\naddress 10.77.0.1 fd00::1::\n", "\nto 10.77.0.2 0x1000000\n",
                                        "\nrkey 10.77.0.2 1\n"};
    char more[128];
    snprintf(more, sizeof more, "--scenario %s", scenario_path);
    for (size_t i = 0; i < array_len(texts); i++) {
        scenario(texts[i]);
        const struct line_result *r = rewrite("rc_write_1024.pcap", more);
        cr_expect_eq(r->status, CLI_ERROR, "%s", texts[i]);
        expect_part(r->err, scenario_path);
        expect_part(r->err, "line 2");
        cr_expect_str_empty(r->out);
    }
}

Test(replay_rewrite, a_disk_that_is_full)
{
    const struct line_result *r = line_run("replay pcaps/rc_write_1024.pcap --rewrite -o /dev/full --json");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_str_eq(r->err, "nornic replay: cannot write the capture /dev/full: No space left on device\n");
}

Test(replay_rewrite, a_file_that_cannot_be_made)
{
    const struct line_result *r = line_run("replay pcaps/rc_write_1024.pcap --rewrite -o /nonexistent/x");
    cr_expect_eq(r->status, CLI_ERROR);
    expect_part(r->err, "/nonexistent/x: No such file or directory");
    cr_expect_str_empty(r->out);
}

Test(replay_rewrite, an_interface_that_is_not_there)
{
    const struct line_result *r = line_run("replay pcaps/rc_write_1024.pcap --rewrite -i nnnone0");
    cr_expect_eq(r->status, CLI_ERROR);
    expect_part(r->err, "nnnone0");
    cr_expect_str_empty(r->out);
}
