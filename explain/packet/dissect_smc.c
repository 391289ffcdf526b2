/* SPDX-License-Identifier: BSD-2-Clause */
/* The layers of SMC-R, version 1 (RFC 7609), and version 2 as Linux sends it. */
#include "base/base.h"
#include "explain/packet/cursor.h"
#include "net/bytes.h"
#include "net/wire/tcp.h"
#include "smcr/wire/cdc.h"
#include "smcr/wire/clc2.h"
#include "smcr/wire/llc2.h"

#define KEYS_OFFSET      8u /* in a DELETE RKEY of version 2 */
#define KEY_BYTES        4u
#define CLC_MESSAGES_MAX 3 /* of one segment */
#define PARTS_MAX        8 /* RTokens or GIDs behind an LLC message of version 2 */

#define ADD_LINK_COMMON_BYTES  10 /* of both layouts of an ADD LINK: up to the GID */
#define ADD_LINK_TELLING_BYTES 36 /* up to the PSN, shifted */

static bool offers_smcr(const uint8_t *option)
{
    struct net_tcp_exid e;
    net_tcp_exid_get(&e, option);
    return (e.kind == NET_TCP_OPTION_EXP1 || e.kind == NET_TCP_OPTION_EXP2) && e.exid == SMCR_EYE_CATCHER;
}

static void take_option(struct explain_cursor *c, uint32_t end)
{
    while (c->at + 1 < end) {
        const uint8_t *option = c->packet->frame + c->at;
        if (option[0] == NET_TCP_OPTION_END)
            return;
        uint32_t n = option[0] == NET_TCP_OPTION_NOP ? 1 : option[1];
        if (n == NET_TCP_EXID_BYTES && c->at + n <= end && offers_smcr(option)) {
            c->packet->kind = EXPLAIN_SMC_TCP;
            explain_take(c, EXPLAIN_LAYER_SMC_OPTION);
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
    if (!explain_take(c, EXPLAIN_LAYER_CLC_SUBNET))
        return;
    smcr_subnet_get(&subnet, c->packet->frame + from);
    for (unsigned i = 0; i < subnet.prefix_count && i < SMCR_CLC_MAX_PREFIX; i++)
        if (!explain_take(c, EXPLAIN_LAYER_CLC_PREFIX))
            return;
}

static void take_proposal(struct explain_cursor *c)
{
    struct smcr_proposal p;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_CLC_PROPOSAL))
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
    if (!explain_take(c, EXPLAIN_LAYER_CLC2_EXTENSION))
        return;
    smcr_proposal2_ext_get(&e, c->packet->frame + from);
    explain_take_parts(c, e.eid_count, SMCR_CLC2_MAX_EIDS, EXPLAIN_LAYER_CLC2_EID);
    if (!e.smcd_offset || from + 8u + e.smcd_offset > c->end)
        return;
    c->at = from + 8 + e.smcd_offset;
    if (explain_take(c, EXPLAIN_LAYER_CLC2_SMCD))
        explain_take_parts(c, e.ism_count, SMCR_CLC2_MAX_EIDS, EXPLAIN_LAYER_CLC2_ISM);
}

static void take_proposal2(struct explain_cursor *c)
{
    struct smcr_proposal2 p;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_CLC2_PROPOSAL))
        return;
    smcr_proposal2_get(&p, c->packet->frame + from);
    if (p.offer_v1 != SMCR_CLC2_NONE)
        take_prefixes(c, from + SMCR_PROPOSAL_BYTES + p.offset);
    if (p.offer_v2 != SMCR_CLC2_NONE)
        take_extension(c, from + SMCR_PROPOSAL2_V2_FROM + p.v2_offset);
}

#define CLC2_CHOSEN 3 /* what version 1 reserves */

/* SMC-D is not known. */
static bool take_accept2(struct explain_cursor *c, const struct smcr_clc *clc, enum explain_layer_id id)
{
    if (c->wire_end - c->at < SMCR_ACCEPT2_BYTES || (clc->resv3 & CLC2_CHOSEN) != SMCR_CLC2_SMCR)
        return false;
    if (!explain_take(c, id) || !clc->flag || !explain_take(c, EXPLAIN_LAYER_CLC2_FIRST_CONTACT) ||
        clc->type != SMCR_CLC_CONFIRM)
        return true;
    struct smcr_gid_list list;
    uint32_t from = c->at;
    if (explain_take(c, EXPLAIN_LAYER_CLC2_GIDS)) {
        smcr_gid_list_get(&list, c->packet->frame + from);
        explain_take_parts(c, list.gid_count, SMCR_CLC2_MAX_EIDS, EXPLAIN_LAYER_CLC2_GID);
    }
    return true;
}

/* One message of version 2; false: what is not known. SMC-D goes another way. */
static bool take_clc2(struct explain_cursor *c, const struct smcr_clc *clc)
{
    if (clc->type == SMCR_CLC_PROPOSAL)
        take_proposal2(c);
    else if (clc->type == SMCR_CLC_ACCEPT)
        return take_accept2(c, clc, EXPLAIN_LAYER_CLC2_ACCEPT);
    else if (clc->type == SMCR_CLC_CONFIRM)
        return take_accept2(c, clc, EXPLAIN_LAYER_CLC2_CONFIRM);
    else if (clc->type == SMCR_CLC_DECLINE)
        explain_take(c, EXPLAIN_LAYER_CLC2_DECLINE);
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
        explain_take(c, EXPLAIN_LAYER_CLC_ACCEPT);
    else if (clc->type == SMCR_CLC_CONFIRM)
        explain_take(c, EXPLAIN_LAYER_CLC_CONFIRM);
    else if (clc->type == SMCR_CLC_DECLINE)
        explain_take(c, EXPLAIN_LAYER_CLC_DECLINE);
    else
        return false;
    return true;
}

/* One message; `clc` is its header. Of what is not known more than that is not shown. */
static void take_clc(struct explain_cursor *c, const struct smcr_clc *clc)
{
    struct explain_cursor message = *c;
    message.takes_cut = true;
    explain_end_at(&message, c->at, clc->length);
    unsigned layers = c->packet->layer_count;
    bool known =
        (clc->version == 1 && take_clc1(&message, clc)) || (clc->version == 2 && take_clc2(&message, clc));
    if (!known || c->packet->layer_count == layers)
        explain_take(&message, EXPLAIN_LAYER_CLC);
    if (known && message.end == c->at + clc->length && message.end - message.at >= SMCR_CLC_TRAIL_BYTES) {
        message.at = message.end - SMCR_CLC_TRAIL_BYTES;
        explain_take(&message, EXPLAIN_LAYER_CLC_TRAILER);
    }
}

void explain_take_tcp(struct explain_cursor *c)
{
    struct net_tcp tcp;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_TCP))
        return;
    net_tcp_get(&tcp, c->packet->frame + from);
    uint32_t data = from + tcp.data_offset * 4u;
    if (data < c->at || data > c->wire_end)
        return;
    take_option(c, min_u32(data, c->end));
    if (data > c->end)
        return;
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

/* --- LLC and CDC --- */

static void take_message(struct explain_cursor *c, uint8_t type)
{
    static const struct {
        uint8_t type;
        enum explain_layer_id layer;
    } messages[] = {
        {SMCR_LLC_CONFIRM_LINK, EXPLAIN_LAYER_LLC_CONFIRM_LINK},
        {SMCR_LLC_ADD_LINK, EXPLAIN_LAYER_LLC_ADD_LINK},
        {SMCR_LLC_ADD_LINK_CONT, EXPLAIN_LAYER_LLC_ADD_LINK_CONT},
        {SMCR_LLC_DELETE_LINK, EXPLAIN_LAYER_LLC_DELETE_LINK},
        {SMCR_LLC_CONFIRM_RKEY, EXPLAIN_LAYER_LLC_CONFIRM_RKEY},
        {SMCR_LLC_CONFIRM_RKEY_CONT, EXPLAIN_LAYER_LLC_CONFIRM_RKEY_CONT},
        {SMCR_LLC_TEST_LINK, EXPLAIN_LAYER_LLC_TEST_LINK},
        {SMCR_LLC_DELETE_RKEY, EXPLAIN_LAYER_LLC_DELETE_RKEY},
        {SMCR_CDC, EXPLAIN_LAYER_CDC},
        {SMCR_LLC2_CONFIRM_LINK, EXPLAIN_LAYER_LLC2_CONFIRM_LINK},
        {SMCR_LLC2_DELETE_LINK, EXPLAIN_LAYER_LLC2_DELETE_LINK},
        {SMCR_LLC2_CONFIRM_RKEY, EXPLAIN_LAYER_LLC2_CONFIRM_RKEY},
        {SMCR_LLC2_TEST_LINK, EXPLAIN_LAYER_LLC2_TEST_LINK},
        {SMCR_LLC2_DELETE_RKEY, EXPLAIN_LAYER_LLC2_DELETE_RKEY},
    };
    for (unsigned i = 0; i < array_len(messages); i++)
        if (messages[i].type == type)
            explain_take(c, messages[i].layer);
}

/* Its last fields tell which of two layouts it has: what is cut before is shown as far as both agree. */
static void take_add_link(struct explain_cursor *c)
{
    struct smcr_add_link a = {.type = SMCR_LLC_ADD_LINK};
    if (c->end - c->at >= ADD_LINK_TELLING_BYTES) {
        uint8_t whole[SMCR_MSG_BYTES] = {0};
        memcpy(whole, c->packet->frame + c->at, min_u32(c->end - c->at, sizeof whole));
        smcr_add_link_get(&a, whole);
    } else {
        c->end = min_u32(c->end, c->at + ADD_LINK_COMMON_BYTES);
    }
    explain_take(c, smcr_add_link_is_shifted(&a) ? EXPLAIN_LAYER_LLC_ADD_LINK_SHIFTED
                                                 : EXPLAIN_LAYER_LLC_ADD_LINK);
}

static void take_llc1(struct explain_cursor *c, uint8_t type)
{
    if (type == SMCR_LLC_ADD_LINK)
        take_add_link(c);
    else
        take_message(c, type);
}

/* What is not refused goes on with an extension, and the RTokens of the new link. */
static void take_add_link2(struct explain_cursor *c)
{
    struct smcr_add_link2 a;
    struct smcr_add_link2_ext e;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_LLC2_ADD_LINK))
        return;
    smcr_add_link2_get(&a, c->packet->frame + from);
    uint32_t extension = c->at;
    if (a.rejected || !explain_take(c, EXPLAIN_LAYER_LLC2_ADD_LINK_EXT))
        return;
    smcr_add_link2_ext_get(&e, c->packet->frame + extension);
    explain_take_parts(c, smcr_llc2_count(e.rkey_count), PARTS_MAX, EXPLAIN_LAYER_LLC2_RTOKEN);
}

static void take_llc2(struct explain_cursor *c, uint8_t type)
{
    if (type == SMCR_LLC2_ADD_LINK) {
        take_add_link2(c);
    } else if (type == SMCR_LLC2_REQUEST_ADD_LINK) {
        struct smcr_request_add_link2 r;
        uint32_t from = c->at;
        if (!explain_take(c, EXPLAIN_LAYER_LLC2_REQUEST_ADD_LINK))
            return;
        smcr_request_add_link2_get(&r, c->packet->frame + from);
        explain_take_parts(c, r.gid_count, PARTS_MAX, EXPLAIN_LAYER_LLC2_GID);
    } else {
        take_message(c, type);
    }
}

/* Of a REQUEST ADD LINK with so many GIDs. */
static uint32_t length_with(uint32_t gid_count)
{
    return SMCR_REQUEST_ADD_LINK2_BYTES + gid_count * SMCR_GID_BYTES;
}

/* Whether a message of version 2 is one: data of a program may begin alike. It is as long as its parts need,
 * or has nothing where nothing is to be. What the capture cut off says nothing against it. */
static bool is_llc2(const struct explain_cursor *c, uint8_t type, uint32_t n)
{
    static const uint8_t none[SMCR_MSG_BYTES];
    const uint8_t *message = c->packet->frame + c->at;
    uint32_t captured = c->end - c->at;
    struct smcr_add_link2 a;
    struct smcr_add_link2_ext e;
    struct smcr_request_add_link2 r;
    struct smcr_delete_rkey2 d;
    switch (type) {
    case SMCR_LLC2_ADD_LINK:
        if (n == SMCR_MSG_BYTES || captured < SMCR_MSG_BYTES + SMCR_ADD_LINK2_EXT_BYTES)
            return true;
        smcr_add_link2_get(&a, message);
        smcr_add_link2_ext_get(&e, message + SMCR_MSG_BYTES);
        return memcmp(a.resv64, none, sizeof a.resv64) == 0 ||
               n == SMCR_MSG_BYTES + SMCR_ADD_LINK2_EXT_BYTES +
                        smcr_llc2_count(e.rkey_count) * SMCR_RTOKEN2_BYTES;
    case SMCR_LLC2_REQUEST_ADD_LINK:
        if (captured < SMCR_REQUEST_ADD_LINK2_BYTES)
            return true;
        smcr_request_add_link2_get(&r, message);
        return memcmp(r.resv160, none, sizeof r.resv160) == 0 || n == length_with(r.gid_count) ||
               n == max_u32(SMCR_MSG_BYTES, length_with(r.gid_count));
    case SMCR_LLC2_DELETE_RKEY:
        if (captured < SMCR_MSG_BYTES)
            return true;
        smcr_delete_rkey2_get(&d, message);
        return n == SMCR_MSG_BYTES || n == KEYS_OFFSET + d.count * KEY_BYTES;
    default:
        return n == SMCR_MSG_BYTES;
    }
}

void explain_take_smc_message(struct explain_cursor *c)
{
    const uint8_t *message = c->packet->frame + c->at;
    uint32_t n = c->wire_end - c->at; /* the whole of it */
    struct explain_cursor inner = *c;
    inner.takes_cut = true;
    struct smcr_llc_head head;
    struct smcr_llc2_head head2;
    if (n < SMCR_REQUEST_ADD_LINK2_BYTES || c->end - c->at < SMCR_LLC_HEAD_BYTES)
        return;
    smcr_llc_head_get(&head, message);
    smcr_llc2_head_get(&head2, message);
    bool may_be = n >= SMCR_MSG_BYTES || head2.type == SMCR_LLC2_REQUEST_ADD_LINK;
    if (smcr_llc_is_v2(head.type) && smcr_llc2_length(head2.length) == n && may_be &&
        is_llc2(c, head2.type, n))
        take_llc2(&inner, head2.type);
    else if (!smcr_llc_is_v2(head.type) && n == SMCR_MSG_BYTES && head.length == n)
        take_llc1(&inner, head.type);
}
