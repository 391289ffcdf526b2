/* SPDX-License-Identifier: BSD-2-Clause */
/* CLC messages as they are sent. Reserved fields are zero (SMCR-CLC-03). */
#include <string.h>

#include "net/bytes.h"
#include "smcr/clc/clc.h"

size_t smcr_clc_build_proposal(uint8_t *out, const struct smcr_clc_proposal *proposal)
{
    if (proposal->offers_v2)
        return smcr_clc2_build_proposal(out, proposal);
    uint16_t whole =
        (uint16_t)(SMCR_PROPOSAL_BYTES + SMCR_SUBNET_BYTES + SMCR_PREFIX_BYTES * proposal->num_prefixes +
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
    smcr_proposal_put(out, &p);
    put_be32(smcr_clc_put_subnet(out + SMCR_PROPOSAL_BYTES, proposal), SMCR_EYE_CATCHER);
    return whole;
}

size_t smcr_clc_build_accept(uint8_t *out, enum smcr_clc_type type, const struct smcr_clc_accept *accept)
{
    if (accept->terms.version == SMCR_CLC2_VERSION)
        return smcr_clc2_build_accept(out, type, accept);
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
    if (decline->version == SMCR_CLC2_VERSION)
        return smcr_clc2_build_decline(out, decline);
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
