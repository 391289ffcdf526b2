/* SPDX-License-Identifier: BSD-2-Clause */
/* CLC messages as they are sent. Reserved fields are zero (SMCR-CLC-03). */
#include <string.h>

#include "net/bytes.h"
#include "smcr/clc.h"

size_t smcr_clc_build_proposal(uint8_t *out, const struct smcr_clc_proposal *proposal)
{
    unsigned n = proposal->num_prefixes;
    uint16_t whole = (uint16_t)(SMCR_PROPOSAL_BYTES + SMCR_SUBNET_BYTES + SMCR_PREFIX_BYTES * n +
                                SMCR_CLC_TRAIL_BYTES); /* SMCR-CLC-20 */
    struct smcr_proposal p = {
        .eye_catcher = SMCR_EYE_CATCHER,
        .type = SMCR_CLC_PROPOSAL,
        .length = whole,
        .version = SMCR_CLC_VERSION,
    };
    memcpy(p.peer_id, proposal->peer_id.b, sizeof p.peer_id);
    memcpy(p.gid, proposal->gid.b, sizeof p.gid);
    memcpy(p.mac, proposal->mac.b, sizeof p.mac);
    struct smcr_subnet s = {.mask_len = proposal->mask_len, .prefix_count = (uint8_t)n};
    memcpy(s.subnet, proposal->subnet, sizeof s.subnet);
    smcr_proposal_put(out, &p);
    uint8_t *at = smcr_subnet_put(out + SMCR_PROPOSAL_BYTES, &s);
    for (unsigned i = 0; i < n; i++) {
        struct smcr_prefix prefix = {.prefix_len = proposal->prefixes[i].len};
        memcpy(prefix.prefix, proposal->prefixes[i].addr.b, sizeof prefix.prefix);
        at = smcr_prefix_put(at, &prefix);
    }
    put_be32(at, SMCR_EYE_CATCHER);
    return whole;
}

size_t smcr_clc_build_accept(uint8_t *out, enum smcr_clc_type type, const struct smcr_clc_accept *accept)
{
    struct smcr_accept a = {
        .eye_catcher = SMCR_EYE_CATCHER,
        .type = (uint8_t)type,
        .length = SMCR_ACCEPT_BYTES,
        .version = SMCR_CLC_VERSION,
        .flag = type == SMCR_CLC_ACCEPT && accept->first_contact, /* SMCR-CLC-30 */
        .qpn = accept->end.qpn,
        .rkey = accept->rkey,
        .rmbe_index = accept->rmbe_index,
        .alert_token = accept->alert_token,
        .bsize = accept->bsize,
        .mtu = accept->end.mtu,
        .va = accept->va,
        .psn = accept->end.psn,
        .trailer = SMCR_EYE_CATCHER,
    };
    memcpy(a.peer_id, accept->peer_id.b, sizeof a.peer_id);
    memcpy(a.gid, accept->end.gid.b, sizeof a.gid);
    memcpy(a.mac, accept->end.mac.b, sizeof a.mac);
    smcr_accept_put(out, &a);
    return SMCR_ACCEPT_BYTES;
}

size_t smcr_clc_build_decline(uint8_t *out, const struct smcr_clc_decline *decline)
{
    struct smcr_decline d = {
        .eye_catcher = SMCR_EYE_CATCHER,
        .type = SMCR_CLC_DECLINE,
        .length = SMCR_DECLINE_BYTES,
        .version = SMCR_CLC_VERSION,
        .flag = decline->out_of_sync,
        .diagnosis = decline->diagnosis,
        .trailer = SMCR_EYE_CATCHER,
    };
    memcpy(d.peer_id, decline->peer_id.b, sizeof d.peer_id);
    smcr_decline_put(out, &d);
    return SMCR_DECLINE_BYTES;
}
