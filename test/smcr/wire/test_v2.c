/* SPDX-License-Identifier: BSD-2-Clause */
/* The field lists of version 2: they tile, and decode what a Linux peer sent (pcaps/smc_first.pcap). */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "nornic/addr.h"
#include "net/pcap_file.h"
#include "smcr/wire/clc2.h"
#include "smcr/wire/llc2.h"
#include "test/support/tiling.h"

static const struct net_header *const headers[] = {
    &smcr_proposal2_header,
    &smcr_proposal2_ext_header,
    &smcr_eid_header,
    &smcr_smcd_ext_header,
    &smcr_ism_header,
    &smcr_accept2_header,
    &smcr_fce_header,
    &smcr_gid_list_header,
    &smcr_gid_header,
    &smcr_decline2_header,
    &smcr_trailer_header,
    &smcr_confirm_link2_header,
    &smcr_add_link2_header,
    &smcr_add_link2_ext_header,
    &smcr_rtoken2_header,
    &smcr_delete_link2_header,
    &smcr_request_add_link2_header,
    &smcr_confirm_rkey2_header,
    &smcr_test_link2_header,
    &smcr_delete_rkey2_header,
};

Test(wire2, every_header_is_tiled_by_its_fields)
{
    for (size_t i = 0; i < array_len(headers); i++)
        test_header_tiles(headers[i]);
}

Test(wire2, lengths_in_either_order)
{
    cr_assert_eq(smcr_llc2_length(0x2c00), 44);
    cr_assert_eq(smcr_llc2_length(0x002c), 44);
    cr_assert_eq(smcr_llc2_length(0x5800), 88);
    cr_assert_eq(smcr_llc2_length(0), 0);
    cr_assert_eq(smcr_llc2_length(0x0100), 256);
    cr_assert_eq(smcr_llc2_count(0x0100), 1);
    cr_assert_eq(smcr_llc2_count(0x0001), 1);
    cr_assert_str_eq(smcr_llc2_length_name(0x2c00), "44, least significant byte first");
    cr_assert_null(smcr_llc2_length_name(44));
}

/* Copies `n` bytes of the packet with that number, from `offset` on. */
static void packet(uint64_t number, unsigned offset, uint8_t *bytes, unsigned n)
{
    struct net_capture *capture;
    struct net_capture_record record = {0};
    struct nornic_error why;
    cr_assert_eq(net_capture_open("pcaps/smc_first.pcap", &capture, &why), 0, "%s", why.text);
    for (uint64_t i = 0; i < number; i++)
        cr_assert_eq(net_capture_next(capture, &record, &why), 1);
    cr_assert_geq(record.len_bytes, offset + n);
    memcpy(bytes, record.data + offset, n);
    net_capture_close(capture);
}

#define TCP_DATA 66 /* Ethernet, IPv4, TCP with time stamps */
#define RC_DATA  54 /* Ethernet, IPv4, UDP, BTH */

Test(wire2, clc_of_a_linux_peer)
{
    uint8_t bytes[200];
    struct smcr_proposal2 p;
    struct smcr_proposal2_ext e;
    struct smcr_accept2 a;
    struct smcr_fce fce;
    packet(4, TCP_DATA, bytes, 156);
    const uint8_t *at = smcr_proposal2_get(&p, bytes);
    cr_assert_eq(p.length, 156);
    cr_assert_eq(p.version, 2);
    cr_assert_str_eq(smcr_clc2_offer_name(p.offer_v2), "SMC-R");
    cr_assert_str_eq(smcr_clc2_offer_name(p.offer_v1), "none");
    cr_assert_eq(SMCR_PROPOSAL2_V2_FROM + p.v2_offset, at - bytes);
    smcr_proposal2_ext_get(&e, at);
    cr_assert_eq(e.eid_count, 1);
    cr_assert_eq(e.release, 1);
    cr_assert_eq(e.max_conns, 255);
    cr_assert_eq(e.max_links, 2);
    packet(6, TCP_DATA, bytes, 160);
    at = smcr_accept2_get(&a, bytes);
    cr_assert_eq(a.first_contact, 1);
    cr_assert_eq(a.qpn, 0x11);
    cr_assert_eq(a.alert_token, 1);
    cr_assert_arr_eq(a.eid, "NORNIC.LAB ", 11);
    smcr_fce_get(&fce, at);
    cr_assert_str_eq(smcr_clc2_os_name(fce.os), "Linux");
    cr_assert_eq(fce.direct, 1);
    cr_assert_eq(fce.max_links, 2);
}

Test(wire2, llc_of_a_linux_peer)
{
    uint8_t bytes[100];
    struct smcr_confirm_link2 c;
    struct smcr_add_link2 l;
    struct smcr_add_link2_ext e;
    struct smcr_rtoken2 r;
    packet(10, RC_DATA, bytes, 44);
    smcr_confirm_link2_get(&c, bytes);
    cr_assert_str_eq(smcr_llc2_type_name(c.type), "CONFIRM LINK");
    cr_assert_eq(c.no_eye_catcher, 3);
    cr_assert_eq(c.qpn, 0x11);
    cr_assert_eq(c.max_links, 2);
    cr_assert_eq(c.max_conns, 255);
    packet(14, RC_DATA, bytes, 88);
    const uint8_t *at = smcr_add_link2_get(&l, bytes);
    cr_assert_eq(smcr_llc2_length(l.length), 88);
    cr_assert_eq(l.qpn, 0x12);
    cr_assert_eq(l.link, 2);
    cr_assert_eq(l.psn, 0x67ebc5);
    at = smcr_add_link2_ext_get(&e, at);
    cr_assert_eq(smcr_llc2_count(e.rkey_count), 1);
    smcr_rtoken2_get(&r, at);
    cr_assert_eq(r.reference_rkey, 0x3de);
}
