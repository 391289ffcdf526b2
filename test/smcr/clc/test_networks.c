/* SPDX-License-Identifier: BSD-2-Clause */
/* smcr/clc/networks.c: what a Proposal says of networks, and the check that both ends are in one. */
#include <criterion/criterion.h>

#include "smcr/clc/networks.h"

static struct nornic_addr addr(const char *text)
{
    struct nornic_addr out;
    cr_assert_eq(nornic_addr_parse(text, &out), 0);
    return out;
}

static struct smcr_network network(const char *text, uint8_t prefix_len)
{
    return (struct smcr_network){.addr = addr(text), .prefix_len = prefix_len};
}

static bool propose(const struct smcr_network *networks, unsigned count, const char *local, bool literal,
                    struct smcr_clc_proposal *out)
{
    struct nornic_addr from = addr(local);
    memset(out, 0, sizeof *out);
    return smcr_networks_propose(networks, count, &from, literal, out);
}

static struct smcr_clc_proposal v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint8_t mask_len)
{
    return (struct smcr_clc_proposal){.subnet = {a, b, c, d}, .mask_len = mask_len};
}

static bool matches(const struct smcr_network *networks, unsigned count, const struct smcr_clc_proposal *p,
                    const char *peer)
{
    struct nornic_addr from = addr(peer);
    return smcr_networks_match(networks, count, p, &from);
}

/* covers: SMCR-CLC-22 */
Test(networks, SMCR_CLC_22_ipv4_the_subnet_that_the_connection_leaves_by)
{
    struct smcr_clc_proposal p;
    struct smcr_network n[] = {network("198.51.100.9", 25), network("192.0.2.77", 24),
                               network("2001:db8::1", 64)};
    cr_assert(propose(n, 3, "192.0.2.77", false, &p));
    cr_assert_arr_eq(p.subnet, ((uint8_t[]){192, 0, 2, 0}), 4);
    cr_assert_eq(p.mask_len, 24);
    cr_assert_eq(p.num_prefixes, 0);
    cr_assert(propose(n, 3, "198.51.100.9", false, &p));
    cr_assert_arr_eq(p.subnet, ((uint8_t[]){198, 51, 100, 0}), 4);
    cr_assert_eq(p.mask_len, 25);
    cr_assert_not(propose(n, 3, "203.0.113.1", false, &p), "it is in none of these");
    cr_assert_not(propose(n, 0, "192.0.2.77", false, &p));
}

/* An address may lie in several of our networks: it is from the narrowest, whichever is listed first.
 * covers: SMCR-CLC-22 */
Test(networks, SMCR_CLC_22_of_several_networks_the_narrowest)
{
    struct smcr_clc_proposal p;
    struct smcr_network n[] = {network("10.1.2.3", 8), network("10.1.2.3", 24), network("10.1.2.3", 16)};
    for (unsigned first = 0; first < 3; first++) {
        struct smcr_network turned[] = {n[first], n[(first + 1) % 3], n[(first + 2) % 3]};
        cr_assert(propose(turned, 3, "10.1.2.3", false, &p));
        cr_assert_eq(p.mask_len, 24);
        cr_assert_arr_eq(p.subnet, ((uint8_t[]){10, 1, 2, 0}), 4);
    }
}

/* Decision A1: the number is sent; a switch sends the mask; both are understood.
 * covers: SMCR-CLC-22, SMCR-FC-02 */
Test(networks, SMCR_FC_02_the_mask_in_place_of_the_number)
{
    struct smcr_clc_proposal p;
    struct smcr_network client = network("192.0.2.77", 26), server = network("192.0.2.99", 26);
    struct smcr_network other = network("192.0.2.130", 26);
    cr_assert(propose(&client, 1, "192.0.2.77", true, &p));
    cr_assert_arr_eq(p.subnet, ((uint8_t[]){255, 255, 255, 192}), 4);
    cr_assert_eq(p.mask_len, 26);
    cr_assert(matches(&server, 1, &p, "192.0.2.77"));
    cr_assert_not(matches(&other, 1, &p, "192.0.2.77"));
    cr_assert(propose(&client, 1, "192.0.2.77", false, &p));
    cr_assert_arr_eq(p.subnet, ((uint8_t[]){192, 0, 2, 64}), 4);
    cr_assert(matches(&server, 1, &p, "192.0.2.77"));
    cr_assert_not(matches(&other, 1, &p, "192.0.2.77"));
}

/* The number counts, not where the TCP connection came from: it may have been translated.
 * covers: SMCR-FC-02, SMCR-SEC-02, SMCR-ARC-23 */
Test(networks, SMCR_FC_02_ipv4_number_and_mask_length_are_the_same)
{
    struct smcr_network n[] = {network("10.1.0.1", 16), network("192.0.2.1", 24)};
    struct smcr_clc_proposal p = v4(192, 0, 2, 0, 24);
    cr_assert(matches(n, 2, &p, "192.0.2.2"));
    cr_assert(matches(n, 2, &p, "203.0.113.7"));
    cr_assert_not(matches(n, 1, &p, "192.0.2.2"));
    cr_assert_not(matches(n, 0, &p, "192.0.2.2"));
    for (unsigned len = 0; len <= 32; len++) { /* the same bits, another length: another network */
        p = v4(192, 0, 2, 0, (uint8_t)len);
        cr_assert_eq(matches(n, 2, &p, "192.0.2.2"), len == 24, "/%u", len);
    }
    for (unsigned bit = 0; bit < 24; bit++) {
        p = v4(192, 0, 2, 0, 24);
        p.subnet[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        cr_assert_not(matches(n + 1, 1, &p, "192.0.2.2"), "bit %u", bit);
    }
    p = v4(0, 0, 0, 0, 0);
    cr_assert_not(matches(n, 2, &p, "192.0.2.2"), "the network of all addresses is nobody's");
}

/* covers: SMCR-FC-02, SMCR-SEC-02, SMCR-SEC-08 */
Test(networks, SMCR_FC_02_ipv6_attached_to_one_of_the_prefixes)
{
    struct smcr_network n[] = {network("fe80::1", 64), network("10.1.0.1", 16), network("2001:db8:7::1", 64)};
    struct smcr_clc_proposal p = {.num_prefixes = 8};
    for (unsigned i = 0; i < 8; i++) {
        p.prefixes[i].addr = addr("2001:db8:100::");
        p.prefixes[i].addr.b[5] = (uint8_t)(3 + i); /* 2001:db8:103:: to 2001:db8:10a:: */
        p.prefixes[i].len = 64;
    }
    cr_assert_not(matches(n, 3, &p, "2001:db8:7::2"));
    for (unsigned i = 0; i < 8; i++) {
        struct smcr_clc_proposal one = p;
        one.prefixes[i].addr = addr("2001:db8:7::");
        cr_assert(matches(n, 3, &one, "2001:db8:7::2"), "prefix %u", i);
        one.prefixes[i].len = 63;
        cr_assert_not(matches(n, 3, &one, "2001:db8:7::2"), "prefix %u, another length", i);
        one.prefixes[i].len = 64;
        one.num_prefixes = i;
        cr_assert_not(matches(n, 3, &one, "2001:db8:7::2"), "it is behind those that count");
    }
    p = (struct smcr_clc_proposal){.num_prefixes = 1, .prefixes = {{addr("::"), 0}}};
    cr_assert_not(matches(n, 3, &p, "2001:db8:7::2"), "the prefix of all addresses");
    p = (struct smcr_clc_proposal){.num_prefixes = 1, .prefixes = {{addr("fe80::"), 64}}};
    cr_assert_not(matches(n, 3, &p, "fe80::2"), "every host is in the link-local prefix");
    p = v4(10, 1, 0, 0, 16);
    cr_assert_not(matches(n, 3, &p, "2001:db8:7::2"), "the IPv4 part of an IPv6 flow says nothing");
}

/* covers: SMCR-CLC-22, SMCR-CLC-26, SMCR-SEC-08 */
Test(networks, SMCR_CLC_26_mapped_addresses_and_link_local_prefixes)
{
    struct smcr_clc_proposal p;
    struct smcr_network n[] = {network("fe80::5", 64), network("2001:db8:1::5", 64), network("192.0.2.5", 24),
                               network("2001:db8:2:3::5", 80)};
    cr_assert(propose(n, 4, "2001:db8:2:3::5", false, &p));
    cr_assert_eq(p.mask_len, 0);
    cr_assert_arr_eq(p.subnet, ((uint8_t[4]){0}), 4);
    cr_assert_eq(p.num_prefixes, 2, "link-local and IPv4 are left out");
    struct nornic_addr want[] = {addr("2001:db8:2:3::"), addr("2001:db8:1::")};
    cr_assert(nornic_addr_equal(&p.prefixes[0].addr, &want[0]), "that of the connection comes first");
    cr_assert_eq(p.prefixes[0].len, 80);
    cr_assert(nornic_addr_equal(&p.prefixes[1].addr, &want[1]));
    cr_assert_eq(p.prefixes[1].len, 64);
    cr_assert(propose(n, 4, "::ffff:192.0.2.5", false, &p));
    cr_assert_eq(p.num_prefixes, 0, "a mapped address is an IPv4 flow");
    cr_assert_eq(p.mask_len, 24);
    cr_assert_not(propose(n, 1, "fe80::5", false, &p), "the link-local prefix alone says nothing");
}

/* covers: SMCR-CLC-23 */
Test(networks, SMCR_CLC_23_eight_prefixes_are_sent_and_that_of_the_connection_is_among_them)
{
    struct smcr_clc_proposal p;
    struct smcr_network n[SMCR_MAX_NETWORKS];
    for (unsigned i = 0; i < SMCR_MAX_NETWORKS; i++) {
        n[i] = network("2001:db8::5", 64);
        n[i].addr.b[6] = (uint8_t)(i / 2); /* two addresses in each */
        n[i].addr.b[15] = (uint8_t)i;
    }
    cr_assert(propose(n, SMCR_MAX_NETWORKS, "2001:db8:0:0::", false, &p));
    cr_assert_eq(p.num_prefixes, 8);
    for (unsigned i = 0; i < SMCR_MAX_NETWORKS; i++)
        n[i].addr.b[6] = (uint8_t)i;
    cr_assert(propose(n, SMCR_MAX_NETWORKS, "2001:db8:0:f00::f", false, &p));
    cr_assert_eq(p.num_prefixes, 8);
    cr_assert_eq(p.prefixes[0].addr.b[6], 15, "the last of them is the connection's");
    for (unsigned i = 1; i < 8; i++)
        cr_assert_eq(p.prefixes[i].addr.b[6], i - 1);
}

/* Prefixes that end inside a byte, held against counting bits.
 * covers: SMCR-CLC-22 */
Test(networks, SMCR_CLC_22_prefixes_of_every_length)
{
    for (unsigned len = 1; len <= 128; len++) {
        struct smcr_network own = network("2fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", (uint8_t)len);
        struct smcr_clc_proposal p;
        cr_assert(propose(&own, 1, "2fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false, &p));
        for (unsigned bit = 0; bit < 128; bit++) {
            unsigned is = p.prefixes[0].addr.b[bit / 8] >> (7 - bit % 8) & 1;
            cr_assert_eq(is, bit < len && bit != 0 && bit != 1 && bit != 3 ? 1 : bit == 2 && len > 2,
                         "/%u: bit %u", len, bit);
        }
        for (unsigned bit = 0; bit < 128; bit++) {
            struct nornic_addr a = own.addr;
            a.b[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            cr_assert_eq(smcr_network_has(&own, &a), bit >= len, "/%u: bit %u", len, bit);
        }
    }
}
