/* SPDX-License-Identifier: BSD-2-Clause */
/* CLC messages of version 2: put together from the parts of smcr/wire/clc2.h, and taken apart. */
#include "base/base.h"
#include "smcr/clc/clc.h"

#include <errno.h>
#include <string.h>

#include "net/bytes.h"

#define OS_LINUX 2                                            /* enum of smcr_clc2_os_name() */
#define V1_AREA  (SMCR_PROPOSAL2_BYTES - SMCR_PROPOSAL_BYTES) /* the Proposal's offset to it */

/* --- enterprise ids --- */

static bool is_eid_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

int smcr_eid_parse(const char *text, uint8_t out[SMCR_EID_LEN])
{
    size_t len = strlen(text);
    _Static_assert(SMCR_EID_LEN == SMCR_EID_BYTES, "smcr.h and the wire agree");
    if (len == 0 || len > SMCR_EID_LEN || text[0] == '.' || text[0] == '-')
        return -EINVAL;
    for (size_t i = 0; i < len; i++)
        if (!is_eid_char(text[i]))
            return -EINVAL;
    for (size_t i = 0; i < SMCR_EID_LEN; i++)
        out[i] = i < len ? (uint8_t)text[i] : ' ';
    return 0;
}

/* --- put together --- */

static uint8_t *put_trailer(uint8_t *at)
{
    struct smcr_trailer t = {.trailer = SMCR_EYE_CATCHER};
    return smcr_trailer_put(at, &t);
}

static uint8_t *put_offer(uint8_t *at, const struct smcr_clc_offer2 *offer)
{
    struct smcr_proposal2_ext e = {.eid_count = (uint8_t)offer->num_eids,
                                   .release = offer->release,
                                   .max_conns = offer->max_conns,
                                   .max_links = offer->max_links};
    memcpy(e.gid, offer->gid.b, sizeof e.gid);
    at = smcr_proposal2_ext_put(at, &e);
    for (unsigned i = 0; i < offer->num_eids; i++) {
        memcpy(at, offer->eids[i], SMCR_EID_BYTES);
        at += SMCR_EID_BYTES;
    }
    return at;
}

/* The length is known only in the end. */
static size_t put_length(uint8_t *message, const uint8_t *end)
{
    struct smcr_clc h;
    smcr_clc_get(&h, message);
    h.length = (uint16_t)(end - message);
    smcr_clc_put(message, &h);
    return h.length;
}

size_t smcr_clc2_build_proposal(uint8_t *out, const struct smcr_clc_proposal *proposal)
{
    uint8_t *ext = out + SMCR_PROPOSAL2_BYTES;
    if (proposal->offers_v1)
        ext = smcr_clc_put_subnet(ext, proposal);
    struct smcr_proposal2 p = {
        .eye_catcher = SMCR_EYE_CATCHER,
        .type = SMCR_CLC_PROPOSAL,
        .version = SMCR_CLC2_VERSION,
        .offer_v2 = SMCR_CLC2_SMCR,
        .offer_v1 = proposal->offers_v1 ? SMCR_CLC2_SMCR : SMCR_CLC2_NONE,
        .offset = proposal->offers_v1 ? V1_AREA : 0,
        .v2_offset = (uint16_t)(ext - out - SMCR_PROPOSAL2_V2_FROM),
    };
    if (proposal->offers_v1) { /* else they stay empty, as Linux has it: Accept and Confirm name both ends */
        memcpy(p.peer_id, proposal->peer_id.b, sizeof p.peer_id);
        memcpy(p.gid, proposal->gid.b, sizeof p.gid);
        memcpy(p.mac, proposal->mac.b, sizeof p.mac);
    }
    smcr_proposal2_put(out, &p);
    return put_length(out, put_trailer(put_offer(ext, &proposal->v2)));
}

static uint8_t *put_first_contact(uint8_t *at, const struct smcr_clc_accept *accept)
{
    struct smcr_fce f = {.direct = accept->is_direct, .os = OS_LINUX, .release = accept->terms.release};
    size_t len = accept->host_name ? strlen(accept->host_name) : 0;
    memset(f.host_name, ' ', sizeof f.host_name);
    memcpy(f.host_name, accept->host_name ? accept->host_name : "",
           len < sizeof f.host_name ? len : sizeof f.host_name);
    if (accept->terms.release > 0) {
        f.max_conns = accept->terms.max_conns;
        f.max_links = accept->terms.max_links;
    }
    return smcr_fce_put(at, &f);
}

static uint8_t *put_gids(uint8_t *at, const struct smcr_clc_accept *accept)
{
    struct smcr_gid_list list = {.gid_count = (uint8_t)accept->num_gids};
    at = smcr_gid_list_put(at, &list);
    for (unsigned i = 0; i < accept->num_gids; i++) {
        memcpy(at, accept->gids[i].b, SMCR_GID_BYTES);
        at += SMCR_GID_BYTES;
    }
    return at;
}

size_t smcr_clc2_build_accept(uint8_t *out, enum smcr_clc_type type, const struct smcr_clc_accept *accept)
{
    struct smcr_accept2 a = {
        .eye_catcher = SMCR_EYE_CATCHER,
        .type = (uint8_t)type,
        .version = SMCR_CLC2_VERSION,
        .first_contact = accept->first_contact,
        .chosen = SMCR_CLC2_SMCR,
        .qpn = accept->end.qpn,
        .rkey = accept->rkey,
        .rmbe_index = accept->rmbe_index,
        .alert_token = accept->alert_token,
        .bsize = accept->bsize,
        .mtu = accept->end.mtu,
        .va = accept->va,
        .psn = accept->end.psn,
    };
    memcpy(a.peer_id, accept->peer_id.b, sizeof a.peer_id);
    memcpy(a.gid, accept->end.gid.b, sizeof a.gid);
    memcpy(a.mac, accept->end.mac.b, sizeof a.mac);
    memcpy(a.eid, accept->terms.eid, sizeof a.eid);
    uint8_t *at = smcr_accept2_put(out, &a);
    if (accept->first_contact)
        at = put_first_contact(at, accept);
    if (accept->first_contact && type == SMCR_CLC_CONFIRM)
        at = put_gids(at, accept);
    return put_length(out, put_trailer(at));
}

size_t smcr_clc2_build_decline(uint8_t *out, const struct smcr_clc_decline *decline)
{
    struct smcr_decline2 d = {
        .eye_catcher = SMCR_EYE_CATCHER,
        .type = SMCR_CLC_DECLINE,
        .length = SMCR_DECLINE2_BYTES,
        .version = SMCR_CLC2_VERSION,
        .flag = decline->out_of_sync,
        .diagnosis = decline->diagnosis,
        .os = OS_LINUX,
        .trailer = SMCR_EYE_CATCHER,
    };
    memcpy(d.peer_id, decline->peer_id.b, sizeof d.peer_id);
    smcr_decline2_put(out, &d);
    return SMCR_DECLINE2_BYTES;
}

/* --- taken apart --- */

/* A v2.1 client that says less than there must be is taken at that. */
static uint8_t at_least(uint8_t value, uint8_t least)
{
    return value < least ? least : value;
}

void smcr_clc2_parse_offer(const uint8_t *message, size_t len_bytes, struct smcr_clc_proposal *out)
{
    struct smcr_proposal2 p;
    if (len_bytes < SMCR_PROPOSAL2_BYTES + SMCR_CLC_TRAIL_BYTES)
        return;
    smcr_proposal2_get(&p, message);
    if (p.offer_v2 != SMCR_CLC2_SMCR && p.offer_v2 != SMCR_CLC2_BOTH)
        return;
    size_t from = SMCR_PROPOSAL2_V2_FROM + (size_t)p.v2_offset, end = len_bytes - SMCR_CLC_TRAIL_BYTES;
    if (from < SMCR_PROPOSAL2_BYTES || from + SMCR_PROPOSAL2_EXT_BYTES > end)
        return;
    struct smcr_proposal2_ext e;
    const uint8_t *at = smcr_proposal2_ext_get(&e, message + from);
    if (e.eid_count > SMCR_CLC2_MAX_EIDS ||
        from + SMCR_PROPOSAL2_EXT_BYTES + (size_t)e.eid_count * SMCR_EID_BYTES > end)
        return;
    struct smcr_clc_offer2 *v2 = &out->v2;
    *v2 = (struct smcr_clc_offer2){
        .num_eids = e.eid_count, .release = e.release, .max_conns = UINT8_MAX, .max_links = 2};
    if (e.release > 0) { /* what came before 2.1 does not say */
        v2->max_conns = at_least(e.max_conns, SMCR_MIN_GROUP_CONNS);
        v2->max_links = at_least(e.max_links, 1);
    }
    memcpy(v2->gid.b, e.gid, sizeof e.gid);
    memcpy(v2->eids, at, (size_t)e.eid_count * SMCR_EID_BYTES);
    out->offers_v2 = true;
}

static const uint8_t *get_first_contact(const uint8_t *at, struct smcr_clc_accept *out)
{
    struct smcr_fce f;
    at = smcr_fce_get(&f, at);
    out->is_direct = f.direct;
    out->terms.release = f.release;
    out->terms.max_conns = f.release > 0 ? f.max_conns : UINT8_MAX;
    out->terms.max_links = f.release > 0 ? f.max_links : 2;
    return at;
}

/* More of them than we look at are passed over. False: they are longer than the message. */
static bool get_gids(const uint8_t *at, const uint8_t *end, struct smcr_clc_accept *out)
{
    struct smcr_gid_list list;
    if (end - at < SMCR_GID_LIST_BYTES)
        return false;
    at = smcr_gid_list_get(&list, at);
    if (end - at < (ptrdiff_t)list.gid_count * SMCR_GID_BYTES)
        return false;
    out->num_gids = min_u32(list.gid_count, SMCR_CLC2_MAX_GIDS);
    for (unsigned i = 0; i < out->num_gids; i++)
        memcpy(out->gids[i].b, at + (size_t)i * SMCR_GID_BYTES, SMCR_GID_BYTES);
    return true;
}

bool smcr_clc2_parse_accept(const uint8_t *message, struct smcr_clc_accept *out)
{
    struct smcr_accept2 a;
    const uint8_t *at = smcr_accept2_get(&a, message), *end = message + a.length - SMCR_CLC_TRAIL_BYTES;
    if (a.chosen != SMCR_CLC2_SMCR)
        return false;
    out->first_contact = a.first_contact;
    memcpy(out->terms.eid, a.eid, sizeof a.eid);
    if (!a.first_contact)
        return true;
    if (end - at < SMCR_FCE_BYTES)
        return false;
    at = get_first_contact(at, out);
    return a.type != SMCR_CLC_CONFIRM || get_gids(at, end, out);
}
