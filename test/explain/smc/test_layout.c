/* SPDX-License-Identifier: BSD-2-Clause */
/* Where explain/smc reads messages of version 2 by the lists of version 1, both lists have the same fields in
 * the same places. */
#include <criterion/criterion.h>

#include "base/base.h"
#include "explain/packet/registry.h"
#include "smcr/wire/clc2.h"
#include "smcr/wire/llc2.h"

#define NAMES_MAX 16

static const struct {
    const struct net_header *v1, *v2;
    const char *names[NAMES_MAX]; /* that are read */
} pairs[] = {
    {&smcr_llc_head_header, &smcr_llc2_head_header, {"type", "response"}},
    {&smcr_delete_link_header, &smcr_delete_link2_header, {"response", "all", "orderly", "link", "reason"}},
    {&smcr_confirm_rkey_header,
     &smcr_confirm_rkey2_header,
     {"response", "negative", "retry", "other_links", "rkey", "va", "link_1", "rkey_1", "va_1", "link_2",
      "rkey_2", "va_2"}},
    {&smcr_test_link_header, &smcr_test_link2_header, {"response", "user_data"}},
    {&smcr_delete_rkey_header, &smcr_delete_rkey2_header, {"response", "negative", "count"}},
    {&smcr_add_link_shifted_header,
     &smcr_add_link2_header,
     {"response", "rejected", "mac", "gid", "qpn", "link", "mtu", "psn"}},
    {&smcr_accept_header,
     &smcr_accept2_header,
     {"type", "version", "peer_id", "gid", "mac", "qpn", "rkey", "rmbe_index", "alert_token", "bsize", "mtu",
      "va", "psn"}},
    {&smcr_decline_header, &smcr_decline2_header, {"type", "version", "diagnosis"}},
};

static const struct net_field *field_of(const struct net_header *h, const char *name)
{
    const struct net_field *f = explain_header_field(h, name, strlen(name));
    cr_assert_not_null(f, "%s.%s", h->name, name);
    return f;
}

static void expect_same_place(const struct net_field *a, const struct net_field *b)
{
    cr_expect_eq(a->first_bit, b->first_bit, "%s", a->name);
    cr_expect_eq(a->width_bits, b->width_bits, "%s", a->name);
}

Test(smc_layout, fields_that_both_versions_are_read_by_lie_alike)
{
    for (unsigned i = 0; i < array_len(pairs); i++) {
        for (unsigned k = 0; k < NAMES_MAX && pairs[i].names[k]; k++)
            expect_same_place(field_of(pairs[i].v1, pairs[i].names[k]),
                              field_of(pairs[i].v2, pairs[i].names[k]));
        cr_expect_leq(pairs[i].v1->len_bytes, pairs[i].v2->len_bytes, "%s is read beyond the end of %s",
                      pairs[i].v1->name, pairs[i].v2->name);
    }
    expect_same_place(field_of(&smcr_accept_header, "flag"), field_of(&smcr_accept2_header, "first_contact"));
    cr_expect_eq(field_of(&smcr_delete_rkey_header, "rkeys")->first_bit,
                 field_of(&smcr_delete_rkey2_header, "rkeys")->first_bit);
    cr_expect_lt(field_of(&smcr_delete_rkey_header, "rkeys")->width_bits,
                 field_of(&smcr_delete_rkey2_header, "rkeys")->width_bits);
}

/* The ranges of ids that stand for all messages of a kind are those that the keys begin with. */
Test(smc_layout, layers_of_clc_and_llc_stand_together)
{
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++) {
        cr_expect_eq(k, &explain_layer_kinds[k->id]);
        cr_expect_eq(explain_layer_is_clc(k->id), strncmp(k->key, "clc", 3) == 0, "%s", k->key);
        cr_expect_eq(explain_layer_is_llc(k->id), strncmp(k->key, "llc", 3) == 0, "%s", k->key);
    }
}

/* Linux writes lengths and counts of version 2 in the order of its processor; whoever reads them is told the
 * number. */
Test(smc_layout, numbers_in_the_byte_order_of_their_sender_have_words)
{
    cr_expect_str_eq(smcr_llc2_length_name(0x2c00), "44, least significant byte first");
    cr_expect_str_eq(smcr_llc2_length_name(22528), "88, least significant byte first");
    cr_expect_str_eq(smcr_llc2_length_name(0xc800), "200, least significant byte first");
    cr_expect_str_eq(smcr_llc2_count_name(256), "1, least significant byte first");
    for (uint64_t n = 1; n <= 200; n++) {
        cr_expect_null(smcr_llc2_length_name(n), "as the standards write it: a number");
        cr_expect_null(smcr_llc2_count_name(n));
    }
}
