/* SPDX-License-Identifier: BSD-2-Clause */
/* smcr/clc/parse.c, smcr/clc/build.c: what CLC messages say, byte for byte as in SMCR section 22. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "net/bytes.h"
#include "smcr/clc/clc.h"
#include "test/support/smcr_examples.h"

static const struct smcr_peer_id server_id = {{0x5a, 0x01, 0x02, 0x00, 0x5e, 0x10, 0x00, 0x01}};
static const struct smcr_peer_id client_id = {{0x7b, 0x02, 0x02, 0x00, 0x5e, 0x10, 0x00, 0x02}};

static struct nornic_addr addr(const char *text)
{
    struct nornic_addr out;
    cr_assert_eq(nornic_addr_parse(text, &out), 0);
    return out;
}

static struct nornic_mac mac(uint8_t last)
{
    return (struct nornic_mac){{0x02, 0x00, 0x5e, 0x10, 0x00, last}};
}

static struct smcr_clc_proposal proposal_v4(void)
{
    return (struct smcr_clc_proposal){
        .offers_v1 = true,
        .peer_id = client_id,
        .gid = addr("192.0.2.2"),
        .mac = mac(2),
        .subnet = {192, 0, 2, 0},
        .mask_len = 24,
    };
}

static struct smcr_clc_proposal proposal_v6(void)
{
    return (struct smcr_clc_proposal){
        .offers_v1 = true,
        .peer_id = client_id,
        .gid = addr("fe80::5eff:fe10:2"),
        .mac = mac(2),
        .num_prefixes = 2,
        .prefixes = {{addr("2001:db8:1::"), 64}, {addr("2001:db8:2:3::"), 80}},
    };
}

static struct smcr_clc_accept accept_first(void)
{
    return (struct smcr_clc_accept){
        .first_contact = true,
        .peer_id = server_id,
        .end = {.mac = mac(1), .gid = addr("192.0.2.1"), .qpn = 0x12, .psn = 0x1a4e94, .mtu = 3},
        .rkey = 0x4f0,
        .va = 0x7f5c6d5d2000,
        .rmbe_index = 1,
        .alert_token = 0xa1b20001,
        .bsize = 2,
    };
}

static struct smcr_clc_accept accept_subsequent(void)
{
    return (struct smcr_clc_accept){
        .peer_id = server_id,
        .end = {.mac = mac(3), .gid = addr("192.0.2.3"), .qpn = 0x13, .psn = 0xbc9255, .mtu = 3},
        .rkey = 0x644,
        .va = 0x7f5c6d5d2000,
        .rmbe_index = 7,
        .alert_token = 0xa1b20007,
        .bsize = 2,
    };
}

static struct smcr_clc_accept confirm(void)
{
    return (struct smcr_clc_accept){
        .peer_id = client_id,
        .end = {.mac = mac(2), .gid = addr("192.0.2.2"), .qpn = 0x40, .psn = 0xdc4011, .mtu = 5},
        .rkey = 0x40b,
        .va = 0x7fe9af841000,
        .rmbe_index = 1,
        .alert_token = 0xc3d40001,
        .bsize = 1,
    };
}

static void expect_bytes(const char *name, const uint8_t *made, size_t len_bytes)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    unsigned n = smcr_example(name, bytes);
    cr_assert_eq(len_bytes, n, "%s: %zu bytes", name, len_bytes);
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(made[i], bytes[i], "%s: byte %u is %02x", name, i, made[i]);
}

/* covers: SMCR-CLC-03, SMCR-CLC-14, SMCR-CLC-20, SMCR-CLC-22, SMCR-SEC-08 */
Test(clc, SMCR_CLC_20_proposals_as_in_the_examples)
{
    uint8_t out[SMCR_CLC_PROPOSAL_BYTES];
    struct smcr_clc_proposal p = proposal_v4();
    memset(out, 0xa5, sizeof out);
    expect_bytes("PROP4", out, smcr_clc_build_proposal(out, &p));
    p = proposal_v6();
    memset(out, 0xa5, sizeof out);
    expect_bytes("PROP6", out, smcr_clc_build_proposal(out, &p));
    p.num_prefixes = 8;
    cr_assert_eq(smcr_clc_build_proposal(out, &p), 188);
    p.num_prefixes = 1;
    cr_assert_eq(smcr_clc_build_proposal(out, &p), 69);
}

/* covers: SMCR-CLC-03, SMCR-CLC-14, SMCR-CLC-30, SMCR-CLC-35 */
Test(clc, SMCR_CLC_30_accept_and_confirm_as_in_the_examples)
{
    uint8_t out[SMCR_ACCEPT_BYTES];
    struct smcr_clc_accept a = accept_first();
    memset(out, 0xa5, sizeof out);
    expect_bytes("ACC_F", out, smcr_clc_build_accept(out, SMCR_CLC_ACCEPT, &a));
    a = accept_subsequent();
    expect_bytes("ACC_S", out, smcr_clc_build_accept(out, SMCR_CLC_ACCEPT, &a));
    a = confirm();
    expect_bytes("CONF", out, smcr_clc_build_accept(out, SMCR_CLC_CONFIRM, &a));
    a.first_contact = true; /* a Confirm has no F */
    expect_bytes("CONF", out, smcr_clc_build_accept(out, SMCR_CLC_CONFIRM, &a));
}

/* covers: SMCR-CLC-14, SMCR-CLC-40, SMCR-CLC-43 */
Test(clc, SMCR_CLC_43_declines_as_in_the_examples)
{
    uint8_t out[SMCR_DECLINE_BYTES];
    struct smcr_clc_decline d = {.peer_id = client_id, .diagnosis = SMCR_DIAG_NO_COMMON_SUBNET};
    memset(out, 0xa5, sizeof out);
    expect_bytes("DECL", out, smcr_clc_build_decline(out, &d));
    d = (struct smcr_clc_decline){
        .out_of_sync = true, .peer_id = client_id, .diagnosis = SMCR_DIAG_OUT_OF_SYNC};
    expect_bytes("DECL_S", out, smcr_clc_build_decline(out, &d));
}

/* --- what is read --- */

static void expect_proposal(const struct smcr_clc_proposal *p, const struct smcr_clc_proposal *want)
{
    cr_assert(p->offers_v1);
    cr_assert_arr_eq(p->peer_id.b, want->peer_id.b, 8);
    cr_assert(nornic_addr_equal(&p->gid, &want->gid));
    cr_assert(nornic_mac_equal(&p->mac, &want->mac));
    cr_assert_arr_eq(p->subnet, want->subnet, 4);
    cr_assert_eq(p->mask_len, want->mask_len);
    cr_assert_eq(p->num_prefixes, want->num_prefixes);
    for (unsigned i = 0; i < want->num_prefixes; i++) {
        cr_assert(nornic_addr_equal(&p->prefixes[i].addr, &want->prefixes[i].addr));
        cr_assert_eq(p->prefixes[i].len, want->prefixes[i].len);
    }
}

/* From memory of just that size. */
static bool parse(const uint8_t *bytes, size_t len_bytes, struct smcr_clc_proposal *out)
{
    uint8_t *copy = malloc(len_bytes);
    memcpy(copy, bytes, len_bytes);
    bool sound = smcr_clc_parse_proposal(copy, len_bytes, out);
    free(copy);
    return sound;
}

/* covers: SMCR-CLC-14, SMCR-CLC-20, SMCR-CLC-22, SMCR-CLC-24, SMCR-SEC-08 */
Test(clc, SMCR_CLC_22_proposals_say_what_was_meant)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_clc_proposal p, want = proposal_v4();
    unsigned n = smcr_example("PROP4", bytes);
    cr_assert(parse(bytes, n, &p));
    expect_proposal(&p, &want);
    n = smcr_example("PROP6", bytes);
    want = proposal_v6();
    cr_assert(parse(bytes, n, &p));
    expect_proposal(&p, &want);
}

/* An example with `offset` bytes of junk as its growth area. */
static unsigned grown(const char *name, unsigned offset, uint8_t *out)
{
    unsigned n = smcr_example(name, out);
    memmove(out + 40 + offset, out + 40, n - 40);
    for (unsigned i = 0; i < offset; i++)
        out[40 + i] = (uint8_t)(0xc3 ^ i);
    put_be16(out + 5, (uint16_t)(n + offset));
    put_be16(out + 38, (uint16_t)offset);
    return n + offset;
}

/* covers: SMCR-CLC-21 */
Test(clc, SMCR_CLC_21_what_follows_the_growth_area_is_found_through_off)
{
    static uint8_t bytes[4096];
    struct smcr_clc_proposal p, want4 = proposal_v4(), want6 = proposal_v6();
    for (unsigned offset = 0; offset <= 200; offset++) {
        unsigned n = grown("PROP4", offset, bytes);
        cr_assert(parse(bytes, n, &p), "%u", offset);
        expect_proposal(&p, &want4);
        n = grown("PROP6", offset, bytes);
        cr_assert(parse(bytes, n, &p), "%u", offset);
        expect_proposal(&p, &want6);
    }
}

/* covers: SMCR-CLC-06, SMCR-CLC-21, SMCR-SEC-07 */
Test(clc, SMCR_CLC_21_the_length_is_that_of_its_parts)
{
    static uint8_t bytes[4096];
    struct smcr_clc_proposal p;
    for (unsigned example = 0; example < 2; example++) {
        for (unsigned offset = 0; offset <= 40; offset += 20) {
            unsigned n = grown(example ? "PROP6" : "PROP4", offset, bytes);
            for (unsigned length = 44; length <= n + 40; length++)
                cr_assert_eq(parse(bytes, length, &p), length == n, "OFF %u: %u of %u", offset, length, n);
        }
        unsigned n = smcr_example(example ? "PROP6" : "PROP4", bytes);
        for (unsigned offset = 1; offset <= 0xffff; offset++) {
            put_be16(bytes + 38, (uint16_t)offset);
            cr_assert_not(parse(bytes, n, &p), "OFF %u points out of the message", offset);
        }
    }
}

/* covers: SMCR-CLC-23, SMCR-SEC-07 */
Test(clc, SMCR_CLC_23_more_than_eight_prefixes_cannot_be)
{
    uint8_t bytes[52 + 17 * 255];
    struct smcr_clc_proposal p;
    memset(bytes, 0, sizeof bytes);
    smcr_example("PROP4", bytes);
    memset(bytes + 40, 0, sizeof bytes - 40);
    for (unsigned n = 0; n < 256; n++) {
        bytes[47] = (uint8_t)n;
        cr_assert_eq(parse(bytes, 52 + 17 * n, &p), n <= 8, "%u", n);
        if (n <= 8)
            cr_assert_eq(p.num_prefixes, n);
    }
}

/* covers: SMCR-CLC-06, SMCR-SEC-07 */
Test(clc, SMCR_CLC_06_lengths_of_masks_and_prefixes)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_clc_proposal p;
    unsigned n = smcr_example("PROP4", bytes);
    for (unsigned len = 0; len < 256; len++) {
        bytes[44] = (uint8_t)len;
        cr_assert_eq(parse(bytes, n, &p), len <= 32, "mask of %u bits", len);
    }
    n = smcr_example("PROP6", bytes);
    for (unsigned len = 0; len < 256; len++) {
        bytes[48 + 17 + 16] = (uint8_t)len;
        cr_assert_eq(parse(bytes, n, &p), len <= 128, "prefix of %u bits", len);
    }
}

/* A later version says in its low bits what it offers of version 1, and has more to say behind it.
 * covers: SMCR-CLC-04 */
Test(clc, SMCR_CLC_04_a_proposal_of_a_later_version)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_clc_proposal p, want = proposal_v4();
    unsigned n = smcr_example("PROP4", bytes);
    for (unsigned offer = 0; offer < 4; offer++) { /* SMC-R, SMC-D, none, both */
        bytes[7] = (uint8_t)(0x20 | offer);
        bool offers = offer == 0 || offer == 3;
        cr_assert(parse(bytes, n, &p), "offer %u", offer);
        cr_assert_eq(p.offers_v1, offers, "offer %u", offer);
        if (!offers)
            continue;
        expect_proposal(&p, &want);
        cr_assert(parse(bytes, n + 76, &p), "with a version 2 extension");
        cr_assert_not(parse(bytes, n - 1, &p));
        for (unsigned part = 0; part < 3; part++) { /* without Peer ID, GID or MAC there is no offer */
            static const struct {
                unsigned at, len;
            } parts[] = {{8, 8}, {16, 16}, {32, 6}};
            uint8_t without[SMCR_EXAMPLE_MAX_BYTES];
            memcpy(without, bytes, n);
            memset(without + parts[part].at, 0, parts[part].len);
            cr_assert(parse(without, n, &p));
            cr_assert_not(p.offers_v1, "part %u", part);
        }
    }
    bytes[7] = 0x17; /* version 1: reserved bits, whatever they are */
    cr_assert(parse(bytes, n, &p));
    cr_assert(p.offers_v1);
    bytes[7] = 0x22; /* no offer: then the area is not there either */
    cr_assert(parse(bytes, 44, &p));
    cr_assert_not(p.offers_v1);
}

static void expect_accept(const struct smcr_clc_accept *a, const struct smcr_clc_accept *want)
{
    cr_assert_eq(a->first_contact, want->first_contact);
    cr_assert_arr_eq(a->peer_id.b, want->peer_id.b, 8);
    cr_assert(nornic_addr_equal(&a->end.gid, &want->end.gid));
    cr_assert(nornic_mac_equal(&a->end.mac, &want->end.mac));
    cr_assert_eq(a->end.qpn, want->end.qpn);
    cr_assert_eq(a->end.psn, want->end.psn);
    cr_assert_eq(a->end.mtu, want->end.mtu);
    cr_assert_eq(a->rkey, want->rkey);
    cr_assert_eq(a->va, want->va);
    cr_assert_eq(a->rmbe_index, want->rmbe_index);
    cr_assert_eq(a->alert_token, want->alert_token);
    cr_assert_eq(a->bsize, want->bsize);
}

/* covers: SMCR-CLC-14, SMCR-CLC-30, SMCR-CLC-35, SMCR-CLC-36 */
Test(clc, SMCR_CLC_30_accept_and_confirm_say_what_was_meant)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_clc_accept a, want = accept_first();
    smcr_example("ACC_F", bytes);
    cr_assert(smcr_clc_parse_accept(bytes, &a));
    expect_accept(&a, &want);
    want = accept_subsequent();
    smcr_example("ACC_S", bytes);
    cr_assert(smcr_clc_parse_accept(bytes, &a));
    expect_accept(&a, &want);
    want = confirm();
    smcr_example("CONF", bytes);
    cr_assert(smcr_clc_parse_accept(bytes, &a));
    expect_accept(&a, &want);
    bytes[7] |= 0x08; /* reserved in a Confirm */
    cr_assert(smcr_clc_parse_accept(bytes, &a));
    expect_accept(&a, &want);
}

/* covers: SMCR-CLC-03 */
Test(clc, SMCR_CLC_03_reserved_fields_may_be_anything)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_clc_accept a, want = accept_first();
    smcr_example("ACC_F", bytes);
    bytes[7] |= 0x07;
    bytes[51] = bytes[60] = 0xff;
    cr_assert(smcr_clc_parse_accept(bytes, &a));
    expect_accept(&a, &want);
    struct smcr_clc_proposal p, want_p = proposal_v4();
    unsigned n = smcr_example("PROP4", bytes);
    bytes[7] |= 0x0f;
    bytes[45] = bytes[46] = 0xff;
    cr_assert(parse(bytes, n, &p));
    expect_proposal(&p, &want_p);
    struct smcr_clc_decline d;
    smcr_example("DECL", bytes);
    bytes[7] |= 0x07;
    memset(bytes + 20, 0xff, 4);
    smcr_clc_parse_decline(bytes, &d);
    cr_assert_not(d.out_of_sync);
    cr_assert_eq(d.diagnosis, SMCR_DIAG_NO_COMMON_SUBNET);
}

static bool accept_with(const char *name, unsigned at, const void *bytes, size_t len_bytes)
{
    uint8_t message[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_clc_accept a;
    smcr_example(name, message);
    memcpy(message + at, bytes, len_bytes);
    return smcr_clc_parse_accept(message, &a);
}

/* covers: SMCR-CLC-06, SMCR-CLC-34, SMCR-QP-05 */
Test(clc, SMCR_CLC_34_an_accept_or_confirm_that_cannot_be)
{
    static const char *const both[] = {"ACC_F", "CONF"};
    static const uint8_t zero[16];
    for (unsigned i = 0; i < 2; i++) {
        cr_assert(accept_with(both[i], 40, "\2", 1));
        cr_assert_not(accept_with(both[i], 40, "\1", 1), "QPN 1");
        cr_assert_not(accept_with(both[i], 40, "\0", 1), "QPN 0");
        cr_assert_not(accept_with(both[i], 45, "\0", 1), "index 0");
        cr_assert(accept_with(both[i], 45, "\377", 1), "index 255");
        cr_assert_not(accept_with(both[i], 16, zero, 16), "no GID");
        cr_assert_not(accept_with(both[i], 16, "\377\2", 2), "a multicast GID");
        cr_assert_not(accept_with(both[i], 32, zero, 6), "no MAC");
        cr_assert_not(accept_with(both[i], 32, "\3", 1), "a multicast MAC");
        cr_assert_not(accept_with(both[i], 52, "\377\377\377\377\377\377\360", 8), "an RMB beyond 2^64");
    }
}

/* covers: SMCR-CLC-07, SMCR-CLC-31, SMCR-CLC-33 */
Test(clc, SMCR_CLC_31_reserved_sizes_and_mtus)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_clc_accept a;
    smcr_example("ACC_F", bytes);
    for (unsigned bsize = 0; bsize < 16; bsize++) {
        for (unsigned mtu = 0; mtu < 16; mtu++) {
            bytes[50] = (uint8_t)(bsize << 4 | mtu);
            cr_assert(smcr_clc_parse_accept(bytes, &a), "not a defect of format");
            bool mtu_is = mtu >= 1 && mtu <= 5;
            cr_assert_eq(smcr_clc_is_defined(&a, true), bsize <= 5 && mtu_is, "%u %u", bsize, mtu);
            cr_assert_eq(smcr_clc_is_defined(&a, false), bsize <= 5, "%u %u", bsize, mtu);
        }
    }
}

/* covers: SMCR-CLC-14, SMCR-CLC-40, SMCR-CLC-41 */
Test(clc, SMCR_CLC_40_declines_say_what_was_meant)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_clc_decline d;
    smcr_example("DECL", bytes);
    smcr_clc_parse_decline(bytes, &d);
    cr_assert_not(d.out_of_sync);
    cr_assert_arr_eq(d.peer_id.b, client_id.b, 8);
    cr_assert_eq(d.diagnosis, SMCR_DIAG_NO_COMMON_SUBNET);
    smcr_example("DECL_S", bytes);
    smcr_clc_parse_decline(bytes, &d);
    cr_assert(d.out_of_sync);
    cr_assert_eq(d.diagnosis, SMCR_DIAG_OUT_OF_SYNC);
    put_be32(bytes + 16, 0xdeadbeef); /* a code of somebody else's */
    smcr_clc_parse_decline(bytes, &d);
    cr_assert_eq(d.diagnosis, 0xdeadbeef);
}
