/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/packet/registry.h"
#include "explain/packet/rule_book.h"
#include "explain/show/boxes.h"
#include "roce/wire.h"

Test(boxes, a_header_is_drawn_as_the_standard_draws_it)
{
    static const char *const want = "   0                   1                   2                   3\n"
                                    "   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1\n"
                                    "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
                                    "  |                              va                               |\n"
                                    "  +                                                               +\n"
                                    "  |                                                               |\n"
                                    "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
                                    "  |                             rkey                              |\n"
                                    "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
                                    "  |                            dma_len                            |\n"
                                    "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n";
    struct explain_text text = {0};
    explain_box(&text, &roce_reth_header);
    cr_assert_str_eq(text.bytes, want);
    explain_text_free(&text);
}

/* Whatever the header, every line of its box is as wide as the others, and ends with a bar or a corner. */
Test(boxes, every_header_has_a_box)
{
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++) {
        struct explain_text text = {0};
        explain_box(&text, k->header);
        unsigned n = 0;
        for (char *line = strtok(text.bytes, "\n"); line; line = strtok(NULL, "\n"), n++)
            if (n >= 2)
                cr_assert(strchr("|+", line[strlen(line) - 1]), "%s: %s", k->key, line);
        cr_assert_eq(n, 3u + 2 * ((k->header->len_bytes + 3u) / 4), "%s", k->key);
        explain_text_free(&text);
    }
}

static bool is_listed(const char *rule)
{
    struct explain_rule entry;
    return explain_rule_find(rule, &entry);
}

static bool is_of_smc(const char *key)
{
    return strcmp(key, "tcp") == 0 || strncmp(key, "clc2", 4) == 0 || strncmp(key, "llc2", 4) == 0 ||
           strcmp(key, "clc") == 0 || strcmp(key, "clc_trailer") == 0 || strcmp(key, "clc_subnet") == 0;
}

/* Each field of the transport's headers is governed by a rule that the list has. */
Test(boxes, rules_are_those_of_the_list)
{
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++)
        for (unsigned i = 0; i < k->header->field_count; i++) {
            const char *rule = explain_field_rule(k->id, &k->header->fields[i]);
            if (rule)
                cr_assert(is_listed(rule), "%s.%s: %s", k->key, k->header->fields[i].name, rule);
            else
                cr_assert(explain_layer_is_below_ip(k->id) || is_of_smc(k->key) ||
                              strcmp(k->key, "mad") == 0 || strcmp(k->key, "masketh") == 0 ||
                              strcmp(k->key, "sacketh") == 0 || strcmp(k->key, "rdeth") == 0,
                          "%s.%s has no rule", k->key, k->header->fields[i].name);
        }
}

/* The names of the fields that offend in the first packet of a capture after `flip` was xored into the byte
 * at `at`, in order. */
static void offenders(const char *path, unsigned at, uint8_t flip, char *names, size_t size)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    uint8_t frame[2048];
    struct explain_packet p;
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    cr_assert_eq(net_capture_next(capture, &record, &why), 1);
    cr_assert_leq(record.len_bytes, sizeof frame);
    memcpy(frame, record.data, record.len_bytes);
    frame[at] ^= flip;
    record.data = frame;
    explain_dissect(&p, &record, 1);
    names[0] = '\0';
    for (unsigned l = 0; l < p.layer_count; l++)
        for (unsigned i = 0; i < p.layers[l].kind->header->field_count; i++)
            if (explain_field_offends(&p, l, &p.layers[l].kind->header->fields[i]))
                snprintf(names + strlen(names), size - strlen(names), "%s.%s ", p.layers[l].kind->key,
                         p.layers[l].kind->header->fields[i].name);
    net_capture_close(capture);
}

/* Only what is wrong is marked, not all that the parser looks at. */
Test(boxes, the_field_that_is_wrong_offends)
{
    static const struct {
        unsigned at;
        uint8_t flip;
        const char *names;
    } cases[] = {
        {14, 0x10, "ip.version ip.checksum "},
        {14, 0x01, "ip.ihl "},
        {14 + 2, 0x10, "ip.total_len ip.checksum "},
        {14 + 6, 0x20, "ip.mf ip.checksum "},
        {14 + 10, 0x01, "ip.checksum "},
        {34 + 4, 0x01, "udp.len "},
        {34 + 7, 0x01, "udp.checksum "},
        {42 + 11, 0x01, ""},
        {42, 0x00, ""},
    };
    for (unsigned i = 0; i < array_len(cases); i++) {
        char names[200];
        offenders("pcaps/rc_write_1024.pcap", cases[i].at, cases[i].flip, names, sizeof names);
        cr_expect_str_eq(names, cases[i].names, "byte %u: %s", cases[i].at, names);
    }
    char names[200];
    offenders("pcaps/rc_ipv6_write_1024.pcap", 14 + 4, 0x10, names, sizeof names);
    cr_expect_str_eq(names, "ip6.payload_len ");
}
