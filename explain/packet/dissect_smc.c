/* SPDX-License-Identifier: BSD-2-Clause */
/* The layers of SMC-R, version 1 (RFC 7609), and version 2 as Linux sends it. */
#include "base/base.h"
#include "explain/packet/cursor.h"
#include "net/bytes.h"
#include "net/tcp.h"
#include "smcr/cdc_wire.h"
#include "smcr/clc2_wire.h"
#include "smcr/llc2_wire.h"

#define CLC_MESSAGES_MAX 3 /* of one segment */

static void take_option(struct explain_cursor *c, uint32_t end)
{
    while (c->at + 1 < end) {
        const uint8_t *option = c->packet->frame + c->at;
        if (option[0] == NET_TCP_OPTION_END)
            return;
        uint32_t n = option[0] == NET_TCP_OPTION_NOP ? 1 : option[1];
        bool is_exp = option[0] == NET_TCP_OPTION_EXP1 || option[0] == NET_TCP_OPTION_EXP2;
        if (is_exp && n == NET_TCP_EXID_BYTES && c->at + n <= end &&
            get_be32(option + 2) == SMCR_EYE_CATCHER) {
            c->packet->kind = EXPLAIN_SMC_TCP;
            explain_take(c, &net_tcp_exid_header, "smc_option");
            return;
        }
        if (n < 1 || (n < 2 && option[0] != NET_TCP_OPTION_NOP))
            return;
        c->at += n;
    }
}

/* The subnet, or the prefixes, behind the growth area: SMCR-CLC-21. */
static void take_prefixes(struct explain_cursor *c, uint32_t from)
{
    struct smcr_subnet subnet;
    if (from > c->end)
        return;
    c->at = from;
    if (!explain_take(c, &smcr_subnet_header, "clc_subnet"))
        return;
    smcr_subnet_get(&subnet, c->packet->frame + from);
    for (unsigned i = 0; i < subnet.prefix_count && i < SMCR_CLC_MAX_PREFIX; i++)
        if (!explain_take(c, &smcr_prefix_header, "clc_prefix"))
            return;
}

static void take_proposal(struct explain_cursor *c)
{
    struct smcr_proposal p;
    uint32_t from = c->at;
    if (!explain_take(c, &smcr_proposal_header, "clc_proposal"))
        return;
    smcr_proposal_get(&p, c->packet->frame + from);
    take_prefixes(c, c->at + p.offset);
}

/* The extension of version 2 of a Proposal, and what hangs on it. */
static void take_extension(struct explain_cursor *c, uint32_t from)
{
    struct smcr_proposal2_ext e;
    if (from > c->end)
        return;
    c->at = from;
    if (!explain_take(c, &smcr_proposal2_ext_header, "clc2_extension"))
        return;
    smcr_proposal2_ext_get(&e, c->packet->frame + from);
    explain_take_parts(c, e.eid_count, SMCR_CLC2_MAX_EIDS, &smcr_eid_header, "clc2_eid");
    if (!e.smcd_offset || from + 8u + e.smcd_offset > c->end)
        return;
    c->at = from + 8 + e.smcd_offset;
    if (explain_take(c, &smcr_smcd_ext_header, "clc2_smcd"))
        explain_take_parts(c, e.ism_count, SMCR_CLC2_MAX_EIDS, &smcr_ism_header, "clc2_ism");
}

static void take_proposal2(struct explain_cursor *c)
{
    struct smcr_proposal2 p;
    uint32_t from = c->at;
    if (!explain_take(c, &smcr_proposal2_header, "clc2_proposal"))
        return;
    smcr_proposal2_get(&p, c->packet->frame + from);
    if (p.offer_v1 != SMCR_CLC2_NONE)
        take_prefixes(c, from + SMCR_PROPOSAL_BYTES + p.offset);
    if (p.offer_v2 != SMCR_CLC2_NONE)
        take_extension(c, from + SMCR_PROPOSAL2_V2_FROM + p.v2_offset);
}

static void take_accept2(struct explain_cursor *c, const char *key)
{
    struct smcr_accept2 a;
    uint32_t from = c->at;
    if (!explain_take(c, &smcr_accept2_header, key))
        return;
    smcr_accept2_get(&a, c->packet->frame + from);
    if (!a.first_contact || !explain_take(c, &smcr_fce_header, "clc2_first_contact") ||
        a.type != SMCR_CLC_CONFIRM)
        return;
    uint32_t list = c->at;
    if (explain_take(c, &smcr_gid_list_header, "clc2_gids"))
        explain_take_parts(c, c->packet->frame[list], SMCR_CLC2_MAX_EIDS, &smcr_gid_header, "clc2_gid");
}

/* One message of version 2; false: what is not known. SMC-D goes another way. */
static bool take_clc2(struct explain_cursor *c, const struct smcr_clc *clc)
{
    bool smcr = (c->packet->frame[c->at + 7] & 3) == SMCR_CLC2_SMCR;
    if (clc->type == SMCR_CLC_PROPOSAL)
        take_proposal2(c);
    else if (clc->type == SMCR_CLC_ACCEPT && smcr)
        take_accept2(c, "clc2_accept");
    else if (clc->type == SMCR_CLC_CONFIRM && smcr)
        take_accept2(c, "clc2_confirm");
    else if (clc->type == SMCR_CLC_DECLINE)
        explain_take(c, &smcr_decline2_header, "clc2_decline");
    else
        return false;
    return true;
}

/* One message of version 1; false: what is not known. */
static bool take_clc1(struct explain_cursor *c, const struct smcr_clc *clc)
{
    if (clc->type == SMCR_CLC_PROPOSAL)
        take_proposal(c);
    else if (clc->type == SMCR_CLC_ACCEPT)
        explain_take(c, &smcr_accept_header, "clc_accept");
    else if (clc->type == SMCR_CLC_CONFIRM)
        explain_take(c, &smcr_accept_header, "clc_confirm");
    else if (clc->type == SMCR_CLC_DECLINE)
        explain_take(c, &smcr_decline_header, "clc_decline");
    else
        return false;
    return true;
}

/* One message; `clc` is its header. Of what is not known more than that is not shown. */
static void take_clc(struct explain_cursor *c, const struct smcr_clc *clc)
{
    struct explain_cursor message = {.packet = c->packet, .at = c->at, .end = c->at + clc->length};
    message.end = message.end < c->end ? message.end : c->end;
    bool known =
        (clc->version == 1 && take_clc1(&message, clc)) || (clc->version == 2 && take_clc2(&message, clc));
    if (!known)
        explain_take(&message, &smcr_clc_header, "clc");
    if (known && message.end == c->at + clc->length && message.end - message.at >= SMCR_CLC_TRAIL_BYTES) {
        message.at = message.end - SMCR_CLC_TRAIL_BYTES;
        explain_take(&message, &smcr_trailer_header, "clc_trailer");
    }
}

void explain_take_tcp(struct explain_cursor *c)
{
    struct net_tcp tcp;
    uint32_t from = c->at;
    if (!explain_take(c, &net_tcp_header, "tcp"))
        return;
    net_tcp_get(&tcp, c->packet->frame + from);
    uint32_t data = from + tcp.data_offset * 4u;
    if (data < c->at || data > c->end)
        return;
    take_option(c, data);
    c->at = data;
    for (unsigned i = 0; i < CLC_MESSAGES_MAX && c->end - c->at >= SMCR_CLC_BYTES; i++) {
        struct smcr_clc clc;
        uint32_t message = c->at;
        smcr_clc_get(&clc, c->packet->frame + message);
        if (clc.eye_catcher != SMCR_EYE_CATCHER || clc.length < SMCR_CLC_BYTES)
            return;
        c->packet->kind = EXPLAIN_SMC_TCP;
        take_clc(c, &clc);
        if (clc.length > c->end - message)
            return;
        c->at = message + clc.length;
    }
}

/* ADD LINK in two layouts: the bytes before the last ten are zero in that of the RFC, and in the other belong
 * to the PSN (SMCR section 23 b, A5). */
static bool is_shifted(const uint8_t *message)
{
    return message[34] || message[35];
}

static void take_llc1(struct explain_cursor *c)
{
    static const struct {
        uint8_t type;
        const struct net_header *header;
        const char *key;
    } messages[] = {
        {SMCR_LLC_CONFIRM_LINK, &smcr_confirm_link_header, "llc_confirm_link"},
        {SMCR_LLC_ADD_LINK, &smcr_add_link_header, "llc_add_link"},
        {SMCR_LLC_ADD_LINK_CONT, &smcr_add_link_cont_header, "llc_add_link_cont"},
        {SMCR_LLC_DELETE_LINK, &smcr_delete_link_header, "llc_delete_link"},
        {SMCR_LLC_CONFIRM_RKEY, &smcr_confirm_rkey_header, "llc_confirm_rkey"},
        {SMCR_LLC_CONFIRM_RKEY_CONT, &smcr_confirm_rkey_cont_header, "llc_confirm_rkey_cont"},
        {SMCR_LLC_TEST_LINK, &smcr_test_link_header, "llc_test_link"},
        {SMCR_LLC_DELETE_RKEY, &smcr_delete_rkey_header, "llc_delete_rkey"},
        {SMCR_CDC, &smcr_cdc_header, "cdc"},
    };
    const uint8_t *message = c->packet->frame + c->at;
    if (message[0] == SMCR_LLC_ADD_LINK && is_shifted(message)) {
        explain_take(c, &smcr_add_link_shifted_header, "llc_add_link_shifted");
        return;
    }
    for (unsigned i = 0; i < array_len(messages); i++)
        if (messages[i].type == message[0])
            explain_take(c, messages[i].header, messages[i].key);
}

static void take_add_link2(struct explain_cursor *c)
{
    uint32_t from = c->at;
    if (!explain_take(c, &smcr_add_link2_header, "llc2_add_link"))
        return;
    uint32_t extension = c->at;
    if (net_bits_get(c->packet->frame + from, 25, 1) /* rejected: it ends here */ ||
        !explain_take(c, &smcr_add_link2_ext_header, "llc2_add_link_ext"))
        return;
    explain_take_parts(c, smcr_llc2_count(get_be16(c->packet->frame + extension + 26)), 8,
                       &smcr_rtoken2_header, "llc2_rtoken");
}

static void take_llc2(struct explain_cursor *c)
{
    uint32_t from = c->at;
    switch (c->packet->frame[from]) {
    case SMCR_LLC2_CONFIRM_LINK:
        explain_take(c, &smcr_confirm_link2_header, "llc2_confirm_link");
        break;
    case SMCR_LLC2_ADD_LINK:
        take_add_link2(c);
        break;
    case SMCR_LLC2_DELETE_LINK:
        explain_take(c, &smcr_delete_link2_header, "llc2_delete_link");
        break;
    case SMCR_LLC2_REQUEST_ADD_LINK:
        if (explain_take(c, &smcr_request_add_link2_header, "llc2_request_add_link"))
            explain_take_parts(c, c->packet->frame[from + 24], 8, &smcr_gid_header, "llc2_gid");
        break;
    case SMCR_LLC2_CONFIRM_RKEY:
        explain_take(c, &smcr_confirm_rkey2_header, "llc2_confirm_rkey");
        break;
    case SMCR_LLC2_TEST_LINK:
        explain_take(c, &smcr_test_link2_header, "llc2_test_link");
        break;
    case SMCR_LLC2_DELETE_RKEY:
        explain_take(c, &smcr_delete_rkey2_header, "llc2_delete_rkey");
        break;
    }
}

void explain_take_smc_message(struct explain_cursor *c)
{
    const uint8_t *message = c->packet->frame + c->at;
    uint32_t n = c->packet->payload_bytes;
    struct explain_cursor inner = {.packet = c->packet, .at = c->at, .end = c->at + n};
    if (n < SMCR_MSG_BYTES)
        return;
    if (n == SMCR_MSG_BYTES && message[1] == SMCR_MSG_BYTES && message[0] >> 4 != 2)
        take_llc1(&inner);
    else if (message[0] >> 4 == 2 && smcr_llc2_length(get_be16(message + 1)) == n)
        take_llc2(&inner);
}
