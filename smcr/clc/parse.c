/* SPDX-License-Identifier: BSD-2-Clause */
/* What CLC messages say, and what they must not: SMCR sections 5.1 to 5.3. Reserved fields are never
 * looked at (SMCR-CLC-03). */
#include <string.h>

#include "smcr/clc/clc.h"
#include "smcr/group/rmb.h"

/* The offer of version 1 in a Proposal of a later one, in the low bits of byte 7 (A25). */
enum v1_offer { V1_OFFERS_SMC_R = 0, V1_OFFERS_BOTH = 3 };

static bool is_zero(const uint8_t *bytes, size_t len_bytes)
{
    for (size_t i = 0; i < len_bytes; i++) {
        if (bytes[i])
            return false;
    }
    return true;
}

/* A25: a later version says in its low bits whether it offers version 1; without the client's identity there
 * is no such offer either. */
static bool offers_v1(const struct smcr_proposal *p)
{
    if (p->version == SMCR_CLC_VERSION)
        return true;
    unsigned offer = p->resv3 & 3;
    return (offer == V1_OFFERS_SMC_R || offer == V1_OFFERS_BOTH) && !is_zero(p->peer_id, sizeof p->peer_id) &&
           !is_zero(p->gid, sizeof p->gid) && !is_zero(p->mac, sizeof p->mac);
}

static bool parse_prefixes(const uint8_t *at, unsigned count, struct smcr_clc_proposal *out)
{
    for (unsigned i = 0; i < count; i++) {
        struct smcr_prefix prefix;
        at = smcr_prefix_get(&prefix, at);
        if (prefix.prefix_len > 128)
            return false;
        memcpy(out->prefixes[i].addr.b, prefix.prefix, sizeof prefix.prefix);
        out->prefixes[i].len = prefix.prefix_len;
    }
    out->num_prefixes = count;
    return true;
}

bool smcr_clc_parse_proposal(const uint8_t *message, size_t len_bytes, struct smcr_clc_proposal *out)
{
    struct smcr_proposal p;
    smcr_proposal_get(&p, message);
    memset(out, 0, sizeof *out);
    memcpy(out->peer_id.b, p.peer_id, sizeof p.peer_id);
    memcpy(out->gid.b, p.gid, sizeof p.gid);
    memcpy(out->mac.b, p.mac, sizeof p.mac);
    out->version = p.version;
    if (p.version == SMCR_CLC2_VERSION)
        smcr_clc2_parse_offer(message, len_bytes, out);
    out->offers_v1 = offers_v1(&p);
    if (!out->offers_v1)
        return true;
    size_t fixed = SMCR_PROPOSAL_BYTES + (size_t)p.offset + SMCR_SUBNET_BYTES + SMCR_CLC_TRAIL_BYTES;
    if (len_bytes < fixed)
        return false;
    struct smcr_subnet s;
    const uint8_t *prefixes = smcr_subnet_get(&s, message + SMCR_PROPOSAL_BYTES + p.offset); /* SMCR-CLC-21 */
    if (s.mask_len > 32 || s.prefix_count > SMCR_CLC_MAX_PREFIX)                             /* SMCR-CLC-23 */
        return false;
    /* SMCR-CLC-21; a later version has more to say behind the prefixes. */
    size_t whole = fixed + (size_t)SMCR_PREFIX_BYTES * s.prefix_count;
    if (p.version == SMCR_CLC_VERSION ? len_bytes != whole : len_bytes < whole)
        return false;
    memcpy(out->subnet, s.subnet, sizeof s.subnet);
    out->mask_len = s.mask_len;
    return parse_prefixes(prefixes, s.prefix_count, out);
}

/* What names the sender's port: no frame could be sent to another, no link made. */
static bool end_is_sound(const struct smcr_link_end *end)
{
    static const struct nornic_mac no_mac;
    return end->qpn > 1 /* SMCR-QP-05 */ && !nornic_addr_is_zero(&end->gid) &&
           !nornic_addr_is_multicast(&end->gid) && (end->mac.b[0] & 1) == 0 &&
           !nornic_mac_equal(&end->mac, &no_mac);
}

bool smcr_clc_parse_accept(const uint8_t *message, struct smcr_clc_accept *out)
{
    struct smcr_accept a;
    smcr_accept_get(&a, message);
    *out = (struct smcr_clc_accept){
        .first_contact = a.type == SMCR_CLC_ACCEPT && a.flag, /* SMCR-CLC-30 */
        .terms.version = a.version,
        .end = {.qpn = a.qpn, .psn = a.psn, .mtu = a.mtu},
        .rkey = a.rkey,
        .va = a.va,
        .rmbe_index = a.rmbe_index,
        .alert_token = a.alert_token,
        .bsize = a.bsize,
    };
    memcpy(out->peer_id.b, a.peer_id, sizeof a.peer_id);
    memcpy(out->end.gid.b, a.gid, sizeof a.gid);
    memcpy(out->end.mac.b, a.mac, sizeof a.mac);
    if (a.version == SMCR_CLC2_VERSION && !smcr_clc2_parse_accept(message, out))
        return false;
    uint64_t reach = (uint64_t)a.rmbe_index * SMCR_MAX_ELEM_BYTES;
    return a.rmbe_index != 0 /* SMCR-CLC-34 */ && a.va <= UINT64_MAX - reach && end_is_sound(&out->end);
}

bool smcr_clc_is_defined(const struct smcr_clc_accept *accept, bool is_first_contact)
{
    return smcr_bsize_name(accept->bsize) && (!is_first_contact || smcr_mtu_name(accept->end.mtu));
}

void smcr_clc_parse_decline(const uint8_t *message, struct smcr_clc_decline *out)
{
    struct smcr_decline d;
    smcr_decline_get(&d, message);
    out->version = d.version;
    out->out_of_sync = d.flag;
    out->diagnosis = d.diagnosis;
    memcpy(out->peer_id.b, d.peer_id, sizeof d.peer_id);
}

/* TCP may have been down as well, longer than a Decline is held back: then the two have crossed. It names the
 * peer, so that no data looks like it by accident. */
enum smcr_crossed smcr_crossed_decline(const uint8_t peer_id[SMCR_PEER_ID_BYTES], const uint8_t *bytes,
                                       size_t len_bytes, size_t *decline_bytes)
{
    struct smcr_clc_decline decline = {.version = SMCR_CLC_VERSION};
    uint8_t want[SMCR_DECLINE2_BYTES];
    /* Its length, which differs by version, is the last byte of the head but one. */
    if (len_bytes > 6 && bytes[6] == SMCR_DECLINE2_BYTES)
        decline.version = SMCR_CLC2_VERSION;
    memcpy(decline.peer_id.b, peer_id, sizeof decline.peer_id.b);
    size_t whole = smcr_clc_build_decline(want, &decline);
    for (size_t i = 0; i < whole && i < len_bytes; i++) {
        bool is_fixed = i < 7 || (i >= SMCR_CLC_BYTES && i < 16) || i >= whole - SMCR_CLC_TRAIL_BYTES;
        if (is_fixed && bytes[i] != want[i])
            return SMCR_CROSSED_NO;
    }
    *decline_bytes = whole;
    return len_bytes < whole ? SMCR_CROSSED_MAYBE : SMCR_CROSSED_YES;
}
