/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/show/json.h"
#include "test/explain/json_packet.h"
#include "test/support/json.h"

static struct json_object *parse(const char *text)
{
    struct json_object *o = json_tokener_parse(text);
    cr_assert_not_null(o, "not JSON: %s", text);
    return o;
}

/* Every packet of a capture is an object that a JSON parser takes, with the bytes' own values. */
Test(json, every_packet_is_an_object)
{
    static const char *const paths[] = {"pcaps/rc_mix.pcap", "pcaps/cm_reject.pcap",
                                        "pcaps/rc_ipv6_atomic.pcap"};
    struct explain_text text = {0};
    for (unsigned i = 0; i < array_len(paths); i++) {
        struct net_capture *capture;
        struct net_capture_record record;
        struct nornic_error why;
        cr_assert_eq(net_capture_open(paths[i], &capture, &why), 0, "%s", why.text);
        for (uint64_t n = 1; net_capture_next(capture, &record, &why) == 1; n++) {
            struct explain_packet p;
            explain_dissect(&p, &record, n);
            explain_text_clear(&text);
            json_packet(&text, &p, NULL);
            struct json_object *o = parse(text.bytes);
            cr_assert_eq(json_object_get_int64(json_member(o, "n")), (int64_t)n);
            cr_assert_eq(json_object_get_int64(json_member(o, "time_ns")), (int64_t)record.time_ns);
            if (p.kind == EXPLAIN_OTHER) {
                json_object_put(o);
                continue;
            }
            struct json_object *bth = json_member(json_member(o, "layers"), "bth");
            cr_assert_eq(json_object_get_int64(json_member(bth, "psn")), p.roce.bth.psn);
            cr_assert(json_object_get_boolean(json_member(json_member(o, "icrc"), "ok")));
            cr_assert_str_eq(json_object_get_string(json_member(o, "verdict")), "rx_taken");
            json_object_put(o);
        }
        net_capture_close(capture);
    }
    explain_text_free(&text);
}

Test(json, strings_are_escaped)
{
    struct explain_text text = {0};
    explain_put_quoted(&text, "a\"b\\c\n\x01");
    cr_assert_str_eq(text.bytes, "\"a\\\"b\\\\c\\u000a\\u0001\"");
    explain_text_free(&text);
}

Test(json, a_finding)
{
    struct explain_text text = {0};
    struct explain_finding f = {
        .kind = EXPLAIN_FIND_PSN_GAP, .rule = "ROCE-RS-10", .number = 7, .related = 3, .words = "w"};
    explain_json_finding(&text, &f);
    cr_assert_str_eq(text.bytes, "{\"kind\":\"psn_gap\",\"severity\":1,\"n\":7,\"related\":3,"
                                 "\"rule\":\"ROCE-RS-10\",\"words\":\"w\"}");
    explain_text_free(&text);
}
