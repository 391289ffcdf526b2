/* SPDX-License-Identifier: BSD-2-Clause */
/* The field lists of the SMC-R messages against the worked examples of SMCR section 22. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "smcr/wire/cdc.h"
#include "smcr/clc_wire.h"
#include "smcr/wire/llc.h"
#include "test/support/smcr_examples.h"
#include "test/support/tiling.h"

static const struct net_header *const headers[] = {
    &smcr_clc_header,           &smcr_proposal_header,
    &smcr_subnet_header,        &smcr_prefix_header,
    &smcr_accept_header,        &smcr_decline_header,
    &smcr_llc_head_header,      &smcr_confirm_link_header,
    &smcr_add_link_header,      &smcr_add_link_shifted_header,
    &smcr_add_link_cont_header, &smcr_delete_link_header,
    &smcr_confirm_rkey_header,  &smcr_confirm_rkey_cont_header,
    &smcr_test_link_header,     &smcr_delete_rkey_header,
    &smcr_cdc_header,
};

Test(wire, every_header_is_tiled_by_its_fields)
{
    for (size_t i = 0; i < array_len(headers); i++)
        test_header_tiles(headers[i]);
}

/* Decodes an example into `h` and expects to encode to it again, whatever was in the buffer before. */
#define DECODE(prefix, name, h)                                  \
    do {                                                         \
        uint8_t in_[256], out_[256];                             \
        unsigned n_ = prefix##_header.len_bytes;                 \
        cr_assert_geq(smcr_example(name, in_), n_);              \
        memset(out_, 0xa5, sizeof out_);                         \
        cr_assert_eq(prefix##_get(&(h), in_) - in_, (long)n_);   \
        cr_assert_eq(prefix##_put(out_, &(h)) - out_, (long)n_); \
        cr_assert_arr_eq(in_, out_, n_, "%s", name);             \
    } while (0)

static const uint8_t client_mac[6] = {2, 0, 0x5e, 0x10, 0, 2}, server_mac[6] = {2, 0, 0x5e, 0x10, 0, 1};

Test(wire, proposal_ipv4)
{
    uint8_t bytes[256];
    struct smcr_proposal p;
    struct smcr_subnet s;
    DECODE(smcr_proposal, "PROP4", p);
    cr_assert_eq(p.eye_catcher, SMCR_EYE_CATCHER);
    cr_assert_eq(p.type, SMCR_CLC_PROPOSAL);
    cr_assert_eq(p.length, smcr_example("PROP4", bytes));
    cr_assert_eq(p.version, 1);
    cr_assert_eq(p.flag, 0);
    cr_assert_arr_eq(p.peer_id, ((uint8_t[]){0x7b, 2, 2, 0, 0x5e, 0x10, 0, 2}), 8);
    cr_assert_arr_eq(p.gid + 10, ((uint8_t[]){0xff, 0xff, 192, 0, 2, 2}), 6);
    cr_assert_arr_eq(p.mac, client_mac, 6);
    cr_assert_eq(p.offset, 0);
    smcr_subnet_get(&s, bytes + SMCR_PROPOSAL_BYTES + p.offset);
    cr_assert_arr_eq(s.subnet, ((uint8_t[]){192, 0, 2, 0}), 4);
    cr_assert_eq(s.mask_len, 24);
    cr_assert_eq(s.prefix_count, 0);
}

Test(wire, proposal_ipv6)
{
    uint8_t bytes[256];
    struct smcr_proposal p;
    struct smcr_subnet s;
    struct smcr_prefix first, second;
    DECODE(smcr_proposal, "PROP6", p);
    cr_assert_eq(p.length, smcr_example("PROP6", bytes));
    const uint8_t *at = smcr_subnet_get(&s, bytes + SMCR_PROPOSAL_BYTES);
    cr_assert_eq(s.mask_len, 0);
    cr_assert_eq(s.prefix_count, 2);
    at = smcr_prefix_get(&first, at);
    at = smcr_prefix_get(&second, at);
    cr_assert_eq(first.prefix_len, 64);
    cr_assert_eq(second.prefix_len, 80);
    cr_assert_arr_eq(second.prefix, ((uint8_t[]){0x20, 1, 0xd, 0xb8, 0, 2, 0, 3}), 8);
    cr_assert_eq(at + SMCR_CLC_TRAIL_BYTES, bytes + p.length);
}

Test(wire, accept_and_confirm)
{
    struct smcr_accept a;
    DECODE(smcr_accept, "ACC_F", a);
    cr_assert_eq(a.type, SMCR_CLC_ACCEPT);
    cr_assert_eq(a.length, SMCR_ACCEPT_BYTES);
    cr_assert_eq(a.flag, 1);
    cr_assert_arr_eq(a.mac, server_mac, 6);
    cr_assert_eq(a.qpn, 0x12);
    cr_assert_eq(a.rkey, 0x4f0);
    cr_assert_eq(a.rmbe_index, 1);
    cr_assert_eq(a.alert_token, 0xa1b20001);
    cr_assert_eq(a.bsize, 2);
    cr_assert_eq(a.mtu, 3);
    cr_assert_eq(a.va, 0x7f5c6d5d2000);
    cr_assert_eq(a.psn, 0x1a4e94);
    cr_assert_eq(a.trailer, SMCR_EYE_CATCHER);
    DECODE(smcr_accept, "ACC_S", a);
    cr_assert_eq(a.flag, 0);
    cr_assert_eq(a.rmbe_index, 7);
    DECODE(smcr_accept, "CONF", a);
    cr_assert_eq(a.type, SMCR_CLC_CONFIRM);
    cr_assert_eq(a.qpn, 0x40);
    cr_assert_eq(a.bsize, 1);
    cr_assert_eq(a.mtu, 5);
    cr_assert_eq(a.psn, 0xdc4011);
}

Test(wire, decline)
{
    struct smcr_decline d;
    DECODE(smcr_decline, "DECL", d);
    cr_assert_eq(d.length, SMCR_DECLINE_BYTES);
    cr_assert_eq(d.flag, 0);
    cr_assert_eq(d.diagnosis, SMCR_DIAG_NO_COMMON_SUBNET);
    cr_assert_str_eq(smcr_clc_diagnosis_name(d.diagnosis), "no common subnet or prefix");
    DECODE(smcr_decline, "DECL_S", d);
    cr_assert_eq(d.flag, 1);
    cr_assert_eq(d.diagnosis, SMCR_DIAG_OUT_OF_SYNC);
}

Test(wire, confirm_link)
{
    struct smcr_confirm_link c;
    DECODE(smcr_confirm_link, "CL_REQ", c);
    cr_assert_eq(c.type, SMCR_LLC_CONFIRM_LINK);
    cr_assert_eq(c.length, SMCR_MSG_BYTES);
    cr_assert_eq(c.response, 0);
    cr_assert_eq(c.qpn, 0x12);
    cr_assert_eq(c.link, 1);
    cr_assert_eq(c.link_user_id, 0x5a010101);
    cr_assert_eq(c.max_links, 2);
    DECODE(smcr_confirm_link, "CL_RSP", c);
    cr_assert_eq(c.response, 1);
    cr_assert_arr_eq(c.mac, client_mac, 6);
}

Test(wire, add_link)
{
    struct smcr_add_link a;
    DECODE(smcr_add_link, "AL_REQ", a);
    cr_assert_eq(a.qpn, 0x13);
    cr_assert_eq(a.link, 2);
    cr_assert_eq(a.mtu, 3);
    cr_assert_eq(a.psn, 0xbc9255);
    DECODE(smcr_add_link, "AL_RSP", a);
    cr_assert_eq(a.response, 1);
    cr_assert_eq(a.psn, 0xbeef);
    DECODE(smcr_add_link, "AL_REJ", a);
    cr_assert_eq(a.response, 1);
    cr_assert_eq(a.rejected, 1);
    cr_assert_eq(a.reason, SMCR_ADD_LINK_NO_PATH);
}

Test(wire, add_link_continuation)
{
    struct smcr_add_link_cont c;
    DECODE(smcr_add_link_cont, "ALC_REQ", c);
    cr_assert_eq(c.link, 2);
    cr_assert_eq(c.rtokens_left, 1);
    cr_assert_eq(c.reference_rkey_1, 0x4f0);
    cr_assert_eq(c.rkey_1, 0x644);
    cr_assert_eq(c.va_1, 0x7f5c6d5d2000);
    DECODE(smcr_add_link_cont, "ALC_RSP1", c);
    cr_assert_eq(c.response, 1);
    cr_assert_eq(c.rtokens_left, 3);
    cr_assert_eq(c.reference_rkey_2, 0x40c);
    cr_assert_eq(c.rkey_2, 0x50c);
    cr_assert_eq(c.va_2, 0x7fe9af940000);
    DECODE(smcr_add_link_cont, "ALC_REQ0", c);
    cr_assert_eq(c.rtokens_left, 0);
    DECODE(smcr_add_link_cont, "ALC_RSP2", c);
}

Test(wire, delete_link)
{
    struct smcr_delete_link d;
    DECODE(smcr_delete_link, "DL_REQ", d);
    cr_assert_eq(d.link, 1);
    cr_assert_eq(d.reason, SMCR_DELETE_LOST_PATH);
    cr_assert_not(d.all || d.orderly || d.response);
    DECODE(smcr_delete_link, "DL_RSP", d);
    cr_assert_eq(d.response, 1);
    DECODE(smcr_delete_link, "DL_ALL", d);
    cr_assert(d.all && d.orderly && !d.response);
    cr_assert_str_eq(smcr_delete_link_reason_name(d.reason), "operator");
    DECODE(smcr_delete_link, "DL_UNK", d);
    cr_assert_eq(d.reason, SMCR_DELETE_UNKNOWN_LINK);
    cr_assert_eq(d.link, 9);
}

Test(wire, confirm_rkey)
{
    struct smcr_confirm_rkey c;
    struct smcr_confirm_rkey_cont more;
    DECODE(smcr_confirm_rkey, "CR_REQ", c);
    cr_assert_eq(c.other_links, 1);
    cr_assert_eq(c.rkey, 0x4f1);
    cr_assert_eq(c.link_1, 2);
    cr_assert_eq(c.rkey_1, 0x645);
    DECODE(smcr_confirm_rkey, "CR_NEG", c);
    cr_assert(c.response && c.negative && c.retry);
    DECODE(smcr_confirm_rkey, "CR_REQ5", c);
    cr_assert_eq(c.other_links, 5);
    cr_assert_eq(c.link_2, 3);
    cr_assert_eq(c.va_2, 0x7f5c6d600000);
    DECODE(smcr_confirm_rkey_cont, "CRC_REQ", more);
    cr_assert_eq(more.links_left, 3);
    cr_assert_eq(more.link_1, 4);
    cr_assert_eq(more.link_3, 6);
    cr_assert_eq(more.rkey_3, 0xa85);
}

Test(wire, test_link_and_delete_rkey)
{
    struct smcr_test_link t;
    struct smcr_delete_rkey d;
    DECODE(smcr_test_link, "TL_REQ", t);
    for (uint8_t i = 0; i < 16; i++)
        cr_assert_eq(t.user_data[i], i);
    DECODE(smcr_test_link, "TL_RSP", t);
    cr_assert_eq(t.response, 1);
    DECODE(smcr_delete_rkey, "DR_REQ", d);
    cr_assert_eq(d.count, 2);
    cr_assert_arr_eq(d.rkeys, ((uint8_t[]){0, 0, 4, 0xf0, 0, 0, 4, 0xf1}), 8);
    DECODE(smcr_delete_rkey, "DR_NEG", d);
    cr_assert(d.response && d.negative);
    cr_assert_eq(d.error_mask, 0x40);
}

/* Each CDC example sets the flags that its name says, and no other. */
Test(wire, cdc)
{
    struct smcr_cdc c;
    DECODE(smcr_cdc, "CDC_DATA", c);
    cr_assert_eq(c.type, SMCR_CDC);
    cr_assert_eq(c.seq, 1);
    cr_assert_eq(c.alert_token, 0xa1b20001);
    cr_assert_eq(c.producer_cursor, 1004);
    cr_assert_eq(c.consumer_cursor, 4);
    DECODE(smcr_cdc, "CDC_CONS", c);
    cr_assert_eq(c.consumer_cursor, 1004);
    DECODE(smcr_cdc, "CDC_FULL", c);
    cr_assert_eq(c.producer_wrap, 2);
    cr_assert_eq(c.consumer_wrap, 1);
    cr_assert(c.writer_blocked && !c.urgent_pending);
    DECODE(smcr_cdc, "CDC_URGP", c);
    cr_assert(c.writer_blocked && c.urgent_pending && !c.urgent_present);
    DECODE(smcr_cdc, "CDC_URG", c);
    cr_assert(!c.writer_blocked && c.urgent_pending && c.urgent_present);
    DECODE(smcr_cdc, "CDC_R", c);
    cr_assert(c.update_requested);
    DECODE(smcr_cdc, "CDC_F", c);
    cr_assert(c.failover_validation);
    cr_assert_eq(c.seq, 41);
    DECODE(smcr_cdc, "CDC_D", c);
    cr_assert(c.sending_done && !c.connection_closed && !c.abnormal_close);
    DECODE(smcr_cdc, "CDC_C", c);
    cr_assert(!c.sending_done && c.connection_closed && !c.abnormal_close);
    DECODE(smcr_cdc, "CDC_A", c);
    cr_assert(!c.sending_done && !c.connection_closed && c.abnormal_close);
}

Test(wire, names)
{
    cr_assert_str_eq(smcr_bsize_name(5), "512 KiB");
    cr_assert_null(smcr_bsize_name(6));
    cr_assert_null(smcr_mtu_name(0));
    cr_assert_str_eq(smcr_mtu_name(5), "4096");
    cr_assert_null(smcr_mtu_name(6));
    cr_assert_str_eq(smcr_clc_type_name(SMCR_CLC_DECLINE), "Decline");
    cr_assert_null(smcr_clc_type_name(5));
    cr_assert_null(smcr_llc_type_name(5)); /* SMCR-LLC-63 */
    cr_assert_str_eq(smcr_llc_type_name(SMCR_CDC), "CDC");
}
