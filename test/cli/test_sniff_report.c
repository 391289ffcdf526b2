/* SPDX-License-Identifier: BSD-2-Clause */
/* How `nornic sniff` tells what it has counted. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/sniff/count.h"
#include "test/support/json.h"

static struct sniff_count some(void)
{
    struct sniff_count c = {.packets = 4132, .bytes = 3391244, .resent = 3};
    c.kinds[SNIFF_SEND] = 3000;
    c.kinds[SNIFF_ACK] = 1000;
    c.kinds[SNIFF_NAK] = 100;
    c.kinds[SNIFF_RNR_NAK] = 32;
    c.findings[EXPLAIN_FIND_ICRC] = 5;
    c.sound = (struct explain_sound_count){.roce = 4132, .icrc_ok = 4127, .icrc_bad = 5};
    c.findings[EXPLAIN_FIND_RETRANSMISSION] = 3;
    return c;
}

Test(sniff_report, for_people)
{
    char text[4096];
    struct sniff_count c = some();
    FILE *out = fmemopen(text, sizeof text, "w");
    sniff_count_print(&c, out);
    fclose(out);
    cr_expect_str_eq(text, "        3000  SEND\n"
                           "        1000  ACK\n"
                           "         100  NAK\n"
                           "          32  RNR NAK\n"
                           "sent again 3, NAKs 100, RNR NAKs 32, bad ICRC 5\n");
}

Test(sniff_report, what_is_malformed_for_people)
{
    char text[4096];
    struct sniff_count c = some();
    c.sound.malformed = 7;
    c.sound.checksum_bad = 2;
    FILE *out = fmemopen(text, sizeof text, "w");
    sniff_count_print(&c, out);
    fclose(out);
    cr_expect_not_null(strstr(text, ", bad ICRC 5, malformed 7, wrong UDP checksum 2\n"), "%s", text);
}

Test(sniff_report, of_nothing)
{
    char text[4096];
    struct sniff_count c = {.packets = 0};
    FILE *out = fmemopen(text, sizeof text, "w");
    sniff_count_print(&c, out);
    fclose(out);
    cr_expect_str_eq(text, "sent again 0, NAKs 0, RNR NAKs 0, bad ICRC 0\n");
    sniff_count_line(&c, text, sizeof text, 80);
    cr_expect_str_eq(text, "0 packets; resent 0, NAK 0, RNR 0, bad ICRC 0;");
}

Test(sniff_report, a_line_of_every_width)
{
    struct sniff_count c = some();
    char whole[400], line[400];
    sniff_count_line(&c, whole, sizeof whole, sizeof whole);
    cr_expect_str_eq(whole, "4132 packets; resent 3, NAK 100, RNR 32, bad ICRC 5; SEND 3000 ACK 1000");
    for (unsigned columns = 1; columns < sizeof line; columns++) {
        sniff_count_line(&c, line, sizeof line, columns);
        cr_expect_lt(strlen(line), columns);
        cr_expect_eq(strncmp(line, whole, strlen(line)), 0, "%s", line);
    }
    /* nor is more written than there is room for */
    for (size_t size = 1; size < sizeof line; size++) {
        memset(line, '#', sizeof line);
        sniff_count_line(&c, line, size, 0);
        cr_expect_lt(strnlen(line, sizeof line), size);
        cr_expect_eq(line[size], '#', "room for %zu", size);
    }
}

Test(sniff_report, for_scripts)
{
    struct sniff_count c = some();
    struct json_object *o = json_object_new_object();
    sniff_count_json(&c, o);
    cr_expect_eq(json_object_get_uint64(json_member(o, "packets")), 4132);
    cr_expect_eq(json_object_get_uint64(json_member(o, "bytes")), 3391244);
    cr_expect_eq(json_object_get_uint64(json_member(o, "retransmissions")), 3);
    cr_expect_eq(json_object_get_uint64(json_member(o, "naks")), 100);
    cr_expect_eq(json_object_get_uint64(json_member(o, "rnr_naks")), 32);
    cr_expect_eq(json_object_get_uint64(json_member(o, "icrc_bad")), 5);
    cr_expect_eq(json_object_get_uint64(json_member(o, "icrc_ok")), 4127);
    cr_expect_eq(json_object_get_uint64(json_member(o, "icrc_bad")), 5);
    cr_expect_eq(json_object_get_uint64(json_member(o, "malformed")), 0);
    struct json_object *kinds = json_member(o, "kinds"), *findings = json_member(o, "findings");
    cr_expect_eq(json_object_object_length(kinds), SNIFF_KIND_COUNT, "each kind, also with 0");
    cr_expect_eq(json_object_get_uint64(json_member(kinds, "send")), 3000);
    cr_expect_eq(json_object_get_uint64(json_member(kinds, "cnp")), 0);
    cr_expect_eq(json_object_object_length(findings), 2, "findings only where there are any");
    json_object_put(o);
}

Test(sniff_report, no_two_kinds_share_a_name)
{
    static const char *const keys[] = {
#define KEY_(id, key, words) key,
        SNIFF_KINDS(KEY_)
#undef KEY_
    };
    cr_assert_eq(array_len(keys), SNIFF_KIND_COUNT);
    for (size_t i = 0; i < array_len(keys); i++)
        for (size_t j = 0; j < i; j++)
            cr_expect_str_neq(keys[i], keys[j]);
}
