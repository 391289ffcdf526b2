/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands that read captures: verify, replay, explain, header, each run as a user would. The numbers
 * are those of pcaps/MANIFEST.md. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "test/support/json.h"
#include "line.h"

static void expect_part(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "'%s' is not in:\n%s", part, text);
}

static unsigned lines_in(const char *text)
{
    unsigned n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Line `nth` of what was printed, as JSON. */
static struct json_object *json_line(const char *text, unsigned nth)
{
    while (nth-- > 0)
        text = strchr(text, '\n') + 1;
    char line[8192];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    struct json_object *o = json_tokener_parse(line);
    cr_assert_not_null(o, "%s", line);
    return o;
}

/* A copy of a capture with a byte changed, for the tests that want a bad one. */
static char damaged[64];

static void damage(const char *path, long at, unsigned char mask)
{
    static unsigned char bytes[1 << 20];
    FILE *in = fopen(path, "rb");
    cr_assert_not_null(in);
    size_t n = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    cr_assert_lt((size_t)at, n);
    bytes[at] ^= mask;
    snprintf(damaged, sizeof damaged, "/tmp/nn-test-%d.pcap", getpid());
    FILE *out = fopen(damaged, "wb");
    cr_assert_not_null(out);
    cr_assert_eq(fwrite(bytes, 1, n, out), n);
    fclose(out);
}

static void remove_damaged(void)
{
    if (damaged[0])
        unlink(damaged);
}

TestSuite(captures, .fini = remove_damaged);

/* --- verify --- */

Test(captures, verify_counts_what_the_manifest_has)
{
    const struct line_result *r = line_run("verify pcaps/rc_rnr.pcap");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_str_eq(r->out, "pcaps/rc_rnr.pcap: 37 packets, 37 RoCE: ICRC good 37, bad 0, malformed 0\n");
    cr_expect_str_empty(r->err);
}

Test(captures, verify_of_several_sums_them_up)
{
    const struct line_result *r = line_run("verify pcaps/rc_rnr.pcap pcaps/rc_mix.pcap");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_str_eq(r->out, "pcaps/rc_rnr.pcap: 37 packets, 37 RoCE: ICRC good 37, bad 0, malformed 0\n"
                             "pcaps/rc_mix.pcap: 91 packets, 91 RoCE: ICRC good 91, bad 0, malformed 0\n"
                             "all files: 128 packets, 128 RoCE: ICRC good 128, bad 0, malformed 0\n");
}

Test(captures, verify_names_a_frame_whose_icrc_is_wrong)
{
    damage("pcaps/rc_send_256.pcap", 246, 1); /* a byte of the data of frame 3 */
    char line[128];
    snprintf(line, sizeof line, "verify %s", damaged);
    const struct line_result *r = line_run(line);
    cr_expect_eq(r->status, CLI_NEGATIVE);
    expect_part(r->out, ", bad 1, malformed 0\n");
    expect_part(r->out, "  frame 3: ICRC mismatch, expected ");
    cr_expect_eq(lines_in(r->out), 2);
    snprintf(line, sizeof line, "verify --json %s", damaged);
    r = line_run(line);
    struct json_object *o = json_line(r->out, 0);
    cr_expect_eq(json_count(o, "icrc_bad"), 1);
    cr_expect_eq(json_count(o, "malformed"), 0);
    cr_expect_eq(json_count(o, "icrc_ok") + 1, json_count(o, "roce"));
    struct json_object *frames = json_member(o, "bad_frames"), *bad = json_object_array_get_idx(frames, 0);
    cr_assert_eq(json_object_array_length(frames), 1);
    cr_expect_eq(json_count(bad, "n"), 3);
    cr_expect_str_eq(json_object_get_string(json_member(bad, "reason")), "ICRC mismatch");
    cr_expect_eq(strlen(json_object_get_string(json_member(bad, "expected"))), 8);
    cr_expect_str_neq(json_object_get_string(json_member(bad, "expected")),
                      json_object_get_string(json_member(bad, "found")));
    json_object_put(o);
}

Test(captures, verify_strict_lists_rules)
{
    const struct line_result *r = line_run("verify --strict pcaps/rc_nak.pcap");
    cr_expect_eq(r->status, CLI_OK);
    expect_part(r->out, "pcaps/rc_nak.pcap: 19 packets, 19 RoCE");
    expect_part(r->out, "  0 violations of the standard\n");
    r = line_run("verify --strict --json pcaps/rc_nak.pcap");
    struct json_object *o = json_line(r->out, 0);
    cr_expect_eq(json_count(o, "violation_count"), 0);
    cr_expect_eq(json_object_array_length(json_member(o, "violations")), 0);
    json_object_put(o);
    r = line_run("verify --json pcaps/rc_nak.pcap");
    o = json_line(r->out, 0);
    cr_expect_not(json_object_object_get_ex(o, "violations", NULL), "nobody asked for them");
    json_object_put(o);
}

Test(captures, verify_goes_on_after_a_file_that_cannot_be_read)
{
    const struct line_result *r = line_run("verify --json /nonexistent/x pcaps/rc_rnr.pcap");
    cr_expect_eq(r->status, CLI_ERROR, "the worst of them");
    cr_assert_eq(lines_in(r->out), 2);
    struct json_object *o = json_line(r->out, 0);
    expect_part(json_object_get_string(json_member(o, "error")), "/nonexistent/x");
    json_object_put(o);
    o = json_line(r->out, 1);
    cr_expect_eq(json_count(o, "roce"), 37);
    cr_expect_not(json_object_object_get_ex(o, "error", NULL));
    json_object_put(o);
    expect_part(r->err, "nornic verify: cannot open /nonexistent/x: No such file");
}

Test(captures, verify_of_what_is_no_capture)
{
    const struct line_result *r = line_run("verify README.md");
    cr_expect_eq(r->status, CLI_ERROR);
    expect_part(r->err, "README.md");
    cr_expect_eq(lines_in(r->err), 1);
}

/* --- header --- */

Test(captures, header_draws_and_lists)
{
    const struct line_result *r = line_run("header aeth");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_str_eq(r->out, "aeth: ACK Extended Transport Header, 4 bytes\n"
                             "   0                   1                   2                   3\n"
                             "   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1\n"
                             "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
                             "  |   syndrome    |                      msn                      |\n"
                             "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
                             "    bits 0-7        syndrome             ROCE-HDR-20\n"
                             "    bits 8-31       msn                  ROCE-RS-50\n");
}

Test(captures, header_without_a_key_says_which_there_are)
{
    const struct line_result *r = line_run("header");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_gt(lines_in(r->out), 50);
    expect_part(r->out, "eth                    14 bytes  Ethernet\n");
    expect_part(r->out, "\nbth                    12 bytes  ");
    for (const char *line = r->out; *line; line += strcspn(line, "\n") + 1)
        cr_expect_eq(strncmp(line + 26, "bytes  ", 7), 0, "%.*s", (int)strcspn(line, "\n"), line);
}

Test(captures, header_of_several_stops_at_the_first_that_is_none)
{
    const struct line_result *r = line_run("header bth frob reth");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_str_eq(r->err, "nornic header: there is no header frob; `nornic header` lists them\n");
    expect_part(r->out, "bth: ");
    cr_expect_null(strstr(r->out, "reth: "));
}

Test(captures, header_lists_the_values_of_a_field)
{
    const struct line_result *r = line_run("header clc.type cm_req.path_mtu");
    cr_expect_eq(r->status, 0);
    cr_expect_str_eq(r->out, "clc.type: header of a CLC message, 8 bits\n"
                             "    0x01          Proposal\n"
                             "    0x02          Accept\n"
                             "    0x03          Confirm\n"
                             "    0x04          Decline\n"
                             "cm_req.path_mtu: connection request, 4 bits, ROCE-CM-10\n"
                             "    0x1           256 bytes\n"
                             "    0x2           512 bytes\n"
                             "    0x3           1024 bytes\n"
                             "    0x4           2048 bytes\n"
                             "    0x5           4096 bytes\n");
}

Test(captures, header_says_which_fields_have_no_list)
{
    const struct line_result *r = line_run("header bth.psn");
    cr_expect_eq(r->status, 2);
    cr_expect_str_eq(
        r->err, "nornic header: the values of bth.psn are numbers, without names; aeth.syndrome has some\n");
    r = line_run("header bth.frob");
    cr_expect_eq(r->status, 2);
    cr_expect_str_eq(r->err, "nornic header: bth has no field frob; `nornic header bth` lists them\n");
    r = line_run("header frob.psn");
    cr_expect_eq(r->status, 2);
    cr_expect_str_eq(r->err, "nornic header: there is no header frob; `nornic header` lists them\n");
}

Test(captures, a_long_header_is_only_listed)
{
    const struct line_result *r = line_run("header mad cm_req");
    cr_expect_eq(r->status, CLI_OK);
    const char *req = strstr(r->out, "cm_req: ");
    cr_assert_not_null(req);
    cr_expect_null(strstr(req, "+-+-+"), "140 bytes are not drawn");
    expect_part(req, "    bits 0-31 ");
}

/* --- replay --- */

Test(captures, replay_of_linux_is_equal)
{
    const struct line_result *r = line_run("replay pcaps/rc_write_1024.pcap --as 10.77.0.1");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_str_eq(r->out,
                     "pcaps/rc_write_1024.pcap as 10.77.0.1: 1 queue pair, 27 work requests, 0 receives, 0 "
                     "keys; 27 packets in; equal\n"
                     "        38  equal\n");
}

Test(captures, replay_tells_of_every_packet_where_it_is_asked_to)
{
    const struct line_result *r = line_run("replay pcaps/rc_write_1024.pcap --as 10.77.0.1 --all");
    cr_expect_eq(lines_in(r->out), 38 + 2);
    cr_expect_eq(strncmp(r->out, "#1  qp 0x000015  RC WRITE_ONLY psn 0x001000: equal\n", 51), 0, "%.60s",
                 r->out);
}

Test(captures, replay_for_scripts)
{
    const struct line_result *r = line_run("replay pcaps/rc_write_1024.pcap --as 10.77.0.1 --json");
    cr_assert_eq(lines_in(r->out), 1);
    struct json_object *o = json_line(r->out, 0);
    cr_expect(json_object_get_boolean(json_member(o, "equal")));
    cr_expect_eq(json_count(json_member(o, "outcomes"), "equal"), 38);
    cr_expect_eq(json_count(json_member(o, "outcomes"), "different"), 0);
    cr_expect_eq(json_count(o, "fed"), 27);
    cr_expect_eq(json_count(o, "queue_pairs"), 1);
    cr_expect_eq(json_count(o, "work_requests"), 27);
    cr_expect_eq(json_count(o, "receives"), 0);
    cr_expect_eq(json_count(o, "gsi_packets"), 0);
    json_object_put(o);
    r = line_run("replay pcaps/rc_write_1024.pcap --as 10.77.0.1 --json -a");
    cr_assert_eq(lines_in(r->out), 39);
    o = json_line(r->out, 0);
    cr_expect_eq(json_count(o, "n"), 1);
    cr_expect_str_eq(json_object_get_string(json_member(o, "outcome")), "equal");
    cr_expect_eq(json_count(o, "qp"), 0x15);
    cr_expect_eq(json_count(o, "psn"), 0x1000);
    cr_expect_eq(json_object_array_length(json_member(o, "diffs")), 0);
    json_object_put(o);
}

Test(captures, replay_of_a_damaged_capture_differs_or_leaves_out)
{
    damage("pcaps/rc_write_1024.pcap", 24 + 16 + 14 + 20 + 8 + 11, 4); /* the PSN of the first request */
    char line[128];
    snprintf(line, sizeof line, "replay %s --as 10.77.0.1", damaged);
    const struct line_result *r = line_run(line);
    expect_part(r->out, "1  packet left out: broken, cut, or RoCEv1\n");
}

Test(captures, replay_of_an_address_that_is_not_there)
{
    const struct line_result *r = line_run("replay pcaps/rc_write_1024.pcap --as 192.0.2.9");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_eq(lines_in(r->err), 1);
    expect_part(r->err, "192.0.2.9");
}

Test(captures, replay_with_a_scenario_that_is_none)
{
    const struct line_result *r =
        line_run("replay pcaps/rc_write_1024.pcap --as 10.77.0.1 --scenario README.md");
    cr_expect_eq(r->status, CLI_ERROR);
    expect_part(r->err, "README.md: ");
}

/* --- explain --- */

/* Where -c ends it, the answer may be in what was not read. */
Test(captures, explain_with_a_count_misses_no_answers)
{
    const struct line_result *r = line_run("explain pcaps/rc_nak.pcap");
    expect_part(r->out, "asked for an ACK that is not in this capture");
    r = line_run("explain -c 18 pcaps/rc_nak.pcap");
    cr_expect_null(strstr(r->out, "asked for an ACK"), "%s", r->out);
}

static const char rnr[] =
    "    1    0.000000  10.77.0.1 > 10.77.0.2  qp 0x00001c psn 0x001000  SEND only, message 1, 100 bytes\n"
    "    2    0.001203  10.77.0.2 > 10.77.0.1  qp 0x00001c psn 0x001000  "
    "RNR NAK for PSN 0x001000: wait 10.24 ms\n"
    "      rnr: no receive was posted for PSN 0x001000 (ROCE-RS-11)\n";

Test(captures, explain_a_line_a_packet)
{
    const struct line_result *r = line_run("explain -c 2 pcaps/rc_rnr.pcap");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_eq(strncmp(r->out, rnr, sizeof rnr - 1), 0, "%s", r->out);
    expect_part(r->out, "2 packets, 1 flow; ");
    cr_expect_null(strchr(r->out, '\033'), "no colours where there is no terminal");
    r = line_run("explain -c 2 --color always pcaps/rc_rnr.pcap");
    cr_expect_not_null(strchr(r->out, '\033'));
}

Test(captures, explain_only_what_matches)
{
    const struct line_result *r =
        line_run("explain -f 'aeth && aeth.syndrome != ACK' -c 2 pcaps/rc_rnr.pcap");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_eq(strncmp(r->out, "    2    0.001203", 17), 0, "%s", r->out);
    expect_part(r->out, "\n    4    0.015196");
    expect_part(r->out, "4 packets, 1 flow; ");
    r = line_run("explain -f 'bth.frob == 1' pcaps/rc_rnr.pcap");
    cr_expect_eq(r->status, CLI_ERROR);
    expect_part(r->err, "frob");
    cr_expect_str_empty(r->out);
    r = line_run("explain -f aeth -f 'n == 1' pcaps/rc_rnr.pcap");
    cr_expect_eq(strncmp(r->out, "    1    0.000000", 17), 0, "the last filter holds: %s", r->out);
}

Test(captures, explain_draws)
{
    const struct line_result *r = line_run("explain -v -c 1 pcaps/rc_rnr.pcap");
    expect_part(r->out, "bth");
    expect_part(r->out, "+-+-+-+");
    r = line_run("explain --ladder -c 2 pcaps/rc_rnr.pcap");
    expect_part(r->out, "|-- SEND only, message 1, 100 bytes ---");
    expect_part(r->out, " RNR NAK for PSN 0x001000: wait 10.24 ms ~~|");
}

Test(captures, explain_for_scripts)
{
    const struct line_result *r = line_run("explain --json pcaps/rc_rnr.pcap");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_geq(lines_in(r->out), 37);
    struct json_object *o = json_line(r->out, 1);
    cr_expect_eq(json_count(o, "n"), 2);
    expect_part(json_object_get_string(json_member(o, "words")), "RNR NAK");
    cr_expect_eq(json_object_array_length(json_member(o, "remarks")), 1);
    json_object_put(o);
}

Test(captures, explain_goes_on_over_files)
{
    const struct line_result *r =
        line_run("explain -f 'n >= 37 && n <= 38' pcaps/rc_rnr.pcap pcaps/rc_mix.pcap");
    cr_expect_eq(r->status, CLI_OK);
    expect_part(r->out, "   37 ");
    expect_part(r->out, "\n   38 ");
    expect_part(r->out, "128 packets, ");
    r = line_run("explain pcaps/rc_rnr.pcap /nonexistent/x pcaps/rc_mix.pcap");
    cr_expect_eq(r->status, CLI_ERROR);
    expect_part(r->out, "128 packets, "); /* one that cannot be read does not hide those behind it */
    expect_part(r->err, "/nonexistent/x");
}

Test(captures, explain_as_a_page)
{
    char line[256], path[64];
    snprintf(path, sizeof path, "/tmp/nn-test-%d.html", getpid());
    snprintf(line, sizeof line, "explain --html %s pcaps/rc_rnr.pcap", path);
    const struct line_result *r = line_run(line);
    cr_expect_eq(r->status, CLI_OK, "%s", r->err);
    expect_part(r->out, "37 packets, 2 flows; ");
    FILE *page = fopen(path, "r");
    cr_assert_not_null(page);
    char head[64] = "";
    cr_expect_not_null(fgets(head, sizeof head, page));
    fclose(page);
    unlink(path);
    cr_expect_eq(strncasecmp(head, "<!doctype html>", 15), 0, "%s", head);
    r = line_run("explain --html /nonexistent/x.html pcaps/rc_rnr.pcap");
    cr_expect_eq(r->status, CLI_ERROR);
    expect_part(r->err, "/nonexistent/x.html");
}

/* --- help, which is a command too --- */

Test(captures, help_lists_every_command)
{
    const struct line_result *r = line_run("help");
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_eq(strncmp(r->out, "Usage: nornic COMMAND [OPTION...]\n", 34), 0);
    for (const struct cli_command *const *one = cli_commands; *one; one++) {
        char line[256];
        snprintf(line, sizeof line, "\n  %-11s %s\n", (*one)->name, (*one)->summary);
        expect_part(r->out, line);
    }
}

Test(captures, help_of_a_command_is_what_it_says_itself)
{
    static char own[LINE_TEXT_BYTES];
    static const char *const names[] = {"perf", "smc listen", "demo", "help"};
    uint8_t settings[16384];
    for (size_t i = 0; i < array_len(names); i++) {
        char line[64];
        snprintf(line, sizeof line, "%s --help", names[i]);
        const struct line_result *r = line_try(line, settings);
        cr_expect_eq(r->status, CLI_HELP);
        snprintf(own, sizeof own, "%s", r->out);
        snprintf(line, sizeof line, "help %s", names[i]);
        cr_expect_str_eq(line_run(line)->out, own, "%s", names[i]);
    }
    expect_part(line_run("help smc")->out, "  listen    wait for a connection");
}
