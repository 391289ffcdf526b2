/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic verify --strict: which frames break which rules, as lines and as JSON. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/verify/strict.h"
#include "line.h"
#include "nornic/device.h"
#include "roce/wire/frame.h"
#include "roce/wire.h"
#include "test/support/json.h"

static struct cli_strict strict;
static uint64_t number;  /* of the last frame */
static uint64_t time_ns; /* of the next frame; 0: as its PSN says */

static void begin(void)
{
    cr_assert_eq(cli_strict_begin(&strict), 0);
}

static void end(void)
{
    cli_strict_end(&strict);
}

TestSuite(verify_strict, .init = begin, .fini = end, .timeout = 60);

/* A SEND of a packet to that queue pair on a line that ends here with this TTL: 0 breaks ROCE-FRM-18. */
static void take_of(uint32_t qpn, uint32_t psn, uint8_t ttl)
{
    static const uint8_t from[4] = {10, 0, 0, 1}, to[4] = {10, 0, 0, 2};
    uint8_t frame[256] = {0};
    struct roce_path path = {.vlan_tci = -1,
                             .src = nornic_addr_from_v4(from),
                             .dst = nornic_addr_from_v4(to),
                             .hop_limit = ttl,
                             .src_port = 0xc000};
    struct roce_bth bth = {.opcode = ROCE_OPCODE(ROCE_SERVICE_RC, ROCE_OP_SEND_ONLY),
                           .pkey = NORNIC_PKEY_DEFAULT,
                           .dest_qpn = qpn,
                           .ack_req = true,
                           .psn = psn};
    struct roce_frame_template t;
    roce_frame_template_init(&t, &path);
    uint32_t transport_bytes = ROCE_BTH_BYTES + 16;
    roce_bth_put(roce_frame_begin(&t, frame, transport_bytes, (uint16_t)psn), &bth);
    uint32_t len_bytes = roce_frame_seal(&t, frame, transport_bytes);
    struct explain_packet packet;
    explain_dissect(&packet,
                    &(struct net_capture_record){.data = frame,
                                                 .len_bytes = len_bytes,
                                                 .wire_bytes = len_bytes,
                                                 .time_ns = time_ns ? time_ns : psn * NS_PER_US},
                    ++number);
    cli_strict_take(&strict, &packet);
}

static void take(uint32_t psn, uint8_t ttl)
{
    take_of(0x11, psn, ttl);
}

static const char *print(void)
{
    line_catch();
    cli_strict_print(&strict);
    return line_caught()->out;
}

Test(verify_strict, frames_are_numbered_with_those_that_are_right)
{
    for (uint32_t i = 1; i <= 9; i++)
        take(i, i % 3 == 0 ? 0 : 1);
    cr_expect_str_eq(print(), "  frame 3: it arrived with TTL 0 (ROCE-FRM-18)\n"
                              "  frame 6: it arrived with TTL 0 (ROCE-FRM-18)\n"
                              "  frame 9: it arrived with TTL 0 (ROCE-FRM-18)\n"
                              "  3 violations of the standard\n");
}

Test(verify_strict, as_json)
{
    take(1, 64);
    take(2, 0);
    struct json_object *o = json_object_new_object();
    cli_strict_to_json(&strict, o);
    struct json_object *list = json_member(o, "violations"), *one = json_object_array_get_idx(list, 0);
    cr_expect_eq(json_object_get_int(json_member(o, "violation_count")), 1);
    cr_assert_eq(json_object_array_length(list), 1);
    cr_expect_eq(json_object_get_int(json_member(one, "n")), 2);
    cr_expect_str_eq(json_object_get_string(json_member(one, "rule")), "ROCE-FRM-18");
    cr_expect_str_eq(json_object_get_string(json_member(one, "words")), "it arrived with TTL 0");
    json_object_put(o);
}

/* The IPv4 identification is the PSN: a sender that counts them sent one of two equal frames. */
Test(verify_strict, equal_packets_break_a_rule_each_at_any_speed)
{
    static const uint64_t gaps_ns[] = {0,         NS_PER_US,      100 * NS_PER_US,
                                       NS_PER_MS, 20 * NS_PER_MS, 300 * NS_PER_MS};
    for (size_t g = 0; g < array_len(gaps_ns); g++) {
        for (unsigned counts = 0; counts < 2; counts++) {
            cli_strict_end(&strict);
            begin();
            time_ns = NS_PER_S;
            for (unsigned i = 0; i < 20; i++) {
                take(counts ? 100 + i / 2 : 100, i < 18 ? 1 : 0);
                time_ns += gaps_ns[g];
            }
            cr_expect_eq(strict.count, 2, "%lu ns: %lu", gaps_ns[g], strict.count);
        }
    }
}

/* A capture may break a rule a million times: the first thousand are named, all are counted. */
Test(verify_strict, those_beyond_a_thousand_are_counted)
{
    for (uint32_t i = 1; i <= CLI_VIOLATIONS_MAX; i++)
        take(i, 0);
    const char *text = print();
    cr_expect_null(strstr(text, "more\n"), "all of them are named");
    cr_expect_not_null(strstr(text, "  frame 1000: "));
    cr_expect_not_null(strstr(text, "\n  1000 violations of the standard\n"));
    take(CLI_VIOLATIONS_MAX + 1, 0);
    take(CLI_VIOLATIONS_MAX + 2, 0);
    text = print();
    cr_expect_null(strstr(text, "  frame 1001: "));
    cr_expect_not_null(strstr(text, "  frame 1000: it arrived with TTL 0 (ROCE-FRM-18)\n  ... and 2 more\n"
                                    "  1002 violations of the standard\n"));
    struct json_object *o = json_object_new_object();
    cli_strict_to_json(&strict, o);
    cr_expect_eq(json_object_get_int(json_member(o, "violation_count")), CLI_VIOLATIONS_MAX + 2);
    cr_expect_eq(json_object_array_length(json_member(o, "violations")), CLI_VIOLATIONS_MAX);
    json_object_put(o);
}

/* More queue pairs than there is room for: what was forgotten is said, as it is judged no more. */
Test(verify_strict, flows_that_were_forgotten_are_counted)
{
    char line[80];
    take(1, 64);
    cr_expect_null(strstr(print(), "forgotten"));
    for (uint32_t i = 1; i <= 60000; i++)
        take_of(0x100 + i, i, 64);
    uint32_t count = explain_analysis_forgotten(strict.analysis)->count;
    cr_assert_gt(count, 1000);
    snprintf(line, sizeof line, "  %u of 60001 flows were forgotten for room", count);
    const char *text = print();
    cr_expect_eq(strncmp(text, line, strlen(line)), 0, "%s", text);
    cr_expect_not_null(strstr(text, "\n  0 violations of the standard\n"));
    struct json_object *o = json_object_new_object();
    cli_strict_to_json(&strict, o);
    cr_expect_eq(json_object_get_int64(json_member(o, "forgotten_flows")), count);
    json_object_put(o);
}

/* Without --strict the same calls are made. */
Test(verify_strict, one_that_was_not_begun_says_nothing)
{
    struct cli_strict used = strict;
    strict = (struct cli_strict){0};
    take(1, 0);
    cr_expect_str_empty(print());
    struct json_object *o = json_object_new_object();
    cli_strict_to_json(&strict, o);
    cr_expect_eq(json_object_object_length(o), 0);
    json_object_put(o);
    cli_strict_end(&strict);
    strict = used;
}

Test(verify_strict, an_end_leaves_nothing)
{
    take(1, 0);
    cli_strict_end(&strict);
    cr_expect_str_empty(print());
    begin();
    cr_expect_str_eq(print(), "  0 violations of the standard\n", "nor does a new one know of it");
}

/* --- as a user runs it --- */

Test(verify_strict, a_violation_is_an_answer_of_no)
{
    const struct line_result *r = line_run("verify --strict pcaps/rxe/reserved_syndrome.pcap");
    cr_expect_eq(r->status, CLI_NEGATIVE);
    cr_expect_not_null(strstr(r->out, "bad 0, malformed 0\n"
                                      "  frame 15: the syndrome is reserved (ROCE-HDR-20)\n"
                                      "  1 violation of the standard\n"),
                       "%s", r->out);
    r = line_run("verify pcaps/rxe/reserved_syndrome.pcap");
    cr_expect_eq(r->status, CLI_OK, "nobody asked for rules");
    cr_expect_null(strstr(r->out, "violation"));
}

Test(verify_strict, each_file_has_its_own_count)
{
    const struct line_result *r =
        line_run("verify --strict pcaps/rxe/reserved_opcode.pcap pcaps/rc_rnr.pcap");
    cr_expect_eq(r->status, CLI_NEGATIVE, "one of them is enough");
    const char *one = strstr(r->out, "  frame 1: the opcode is reserved (ROCE-OPC-2)\n  1 violation of");
    cr_assert_not_null(one, "%s", r->out);
    cr_expect_not_null(strstr(one, "  0 violations of the standard\n"), "%s", r->out);
}
