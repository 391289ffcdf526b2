/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/show/values.h"
#include "roce/opcode.h"

static char *list(const char *key, const char *name)
{
    struct explain_text out = {0};
    const struct explain_layer_kind *kind = explain_layer_kind(key, strlen(key));
    cr_assert(kind, "%s", key);
    const struct net_field *field = explain_header_field(kind->header, name, strlen(name));
    cr_assert(field && explain_has_values(kind, field), "%s.%s", key, name);
    explain_values(&out, kind, field);
    return out.bytes;
}

/* The line of one value, without the value; NULL: it has none. */
static const char *line_of(const char *text, const char *value, char *line, size_t size)
{
    char start[32];
    snprintf(start, sizeof start, "\n    %s ", value);
    const char *at = strstr(text, start);
    if (!at)
        return NULL;
    at += strlen(start);
    at += strspn(at, " ");
    snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

#define EXPECT(text, value, want)                                                              \
    do {                                                                                       \
        char line_[128];                                                                       \
        const char *found_ = line_of(text, value, line_, sizeof line_);                        \
        cr_expect(found_ &&strcmp(found_, want) == 0, "%s: %s", value, found_ ? found_ : "-"); \
    } while (0)

/* covers: ROCE-HDR-20, ROCE-HDR-21, ROCE-HDR-22 */
Test(values, syndromes_say_credits_waits_and_causes)
{
    char *text = list("aeth", "syndrome");
    static const char headline[] = "aeth.syndrome: ACK Extended Transport Header, 8 bits, ROCE-HDR-20\n";
    cr_expect_eq(strncmp(text, headline, strlen(headline)), 0);
    EXPECT(text, "0x00", "ACK                           0 credits");
    EXPECT(text, "0x01", "ACK                           1 credit");
    EXPECT(text, "0x1e", "ACK                           32768 credits");
    EXPECT(text, "0x1f", "ACK                           credits are not told");
    EXPECT(text, "0x20", "RNR NAK 655.36 ms");
    EXPECT(text, "0x34", "RNR NAK 10.24 ms");
    EXPECT(text, "0x40-0x5f", "reserved");
    EXPECT(text, "0x63", "NAK remote operational error");
    EXPECT(text, "0x64-0xff", "reserved");
    free(text);
}

/* The headers that a line names are as long as the table of opcodes says. */
/* covers: ROCE-HDR-10, ROCE-OPC-2 */
Test(values, opcodes_name_their_headers)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } headers[] = {{"RDETH", 4},       {" DETH", 8},  {"XRCETH", 4},    {" RETH", 16},
                   {" AtomicETH", 28}, {"masks", 16}, {" AETH", 4},     {"AtomicAckETH", 8},
                   {"ImmDt", 4},       {"IETH", 4},   {"16 bytes", 16}, {"SackETH", 12}};
    char *text = list("bth", "opcode"), value[8], line[128];
    unsigned seen = 0;
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        snprintf(value, sizeof value, "0x%02x", opcode);
        if (!line_of(text, value, line, sizeof line) || !roce_opcodes[opcode].name)
            continue;
        unsigned bytes = 0;
        for (unsigned i = 0; i < array_len(headers); i++)
            bytes += strstr(line, headers[i].name) ? headers[i].bytes : 0;
        cr_expect_eq(bytes, roce_opcodes[opcode].ext_bytes, "%s: %s", value, line);
        seen++;
    }
    cr_expect_eq(seen, 86, "%u", seen);
    EXPECT(text, "0xab", "XRC WRITE_ONLY_IMM            XRCETH, RETH, ImmDt, data; takes a receive");
    free(text);
}

/* covers: ROCE-RC-41 */
Test(values, a_timeout_doubles_with_each_code)
{
    static const struct {
        const char *unit;
        double us;
    } units[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"h", 3600e6}};
    char *text = list("cm_path", "ack_timeout"), value[8], line[128];
    EXPECT(text, "0x00", "no timer: waits for ever");
    EXPECT(text, "0x0e", "67.11 ms");
    for (unsigned code = 1; code < 32; code++) {
        char *unit;
        snprintf(value, sizeof value, "0x%02x", code);
        cr_assert(line_of(text, value, line, sizeof line), "%s", value);
        double us = strtod(line, &unit);
        for (unsigned i = 0; i < array_len(units); i++)
            if (strcmp(unit + 1, units[i].unit) == 0)
                us *= units[i].us;
        cr_expect_lt(fabs(us / ldexp(4.096, (int)code) - 1), 1e-3, "%s: %s", value, line);
    }
    free(text);
    text = list("cm_req", "local_resp_timeout"); /* here 0 is a time like the others */
    EXPECT(text, "0x00", "4.096 us");
    free(text);
}

Test(values, codes_of_32_bits_are_found_too)
{
    char *text = list("clc_decline", "diagnosis");
    EXPECT(text, "0x03030000", "no usable RNIC");
    EXPECT(text, "0x09990003", "registration failed");
    free(text);
}

/* A field without names and notes has no list; every other one has more than its headline. */
Test(values, what_has_values_lists_some)
{
    unsigned lists = 0;
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++)
        for (unsigned i = 0; i < k->header->field_count; i++) {
            const struct net_field *field = &k->header->fields[i];
            struct explain_text out = {0};
            if (!explain_has_values(k, field))
                continue;
            explain_values(&out, k, field);
            cr_expect(strstr(out.bytes, "\n    0x"), "%s", out.bytes);
            explain_text_free(&out);
            lists++;
        }
    cr_expect_gt(lists, 60);
}
