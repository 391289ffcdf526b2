/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages of version 2: from the lists of smcr/wire/llc2.h. */
#include "smcr/llc/messages2.h"

#include <string.h>

#include "rdma/mr.h"
#include "smcr/group/group.h"

#define V2_TYPE 0x20 /* the upper half of a type is its version */

bool smcr_llc2_to_v1(const uint8_t *message, size_t len_bytes, uint8_t out[SMCR_MSG_BYTES])
{
    struct smcr_llc2_head head;
    if (len_bytes < SMCR_MSG_BYTES)
        return false;
    smcr_llc2_head_get(&head, message);
    /* In either order: some lengths could be read both ways, but what came has one. */
    if (!smcr_llc_is_v2(head.type) ||
        (head.length != len_bytes && smcr_llc2_lsb_first(head.length) != len_bytes))
        return false;
    struct smcr_llc_head v1 = {.type = smcr_llc2_v1_type(head.type),
                               .length = SMCR_MSG_BYTES,
                               .response = head.response,
                               .resv7 = head.resv7};
    memcpy(out, message, SMCR_MSG_BYTES);
    smcr_llc_head_put(out, &v1);
    return true;
}

void smcr_llc2_from_v1(const struct smcr_group *group, const uint8_t *message, uint8_t out[SMCR_MSG_BYTES])
{
    struct smcr_llc_head v1;
    smcr_llc_head_get(&v1, message);
    struct smcr_llc2_head head = {.type = V2_TYPE | v1.type,
                                  .length = smcr_llc2_lsb_first(SMCR_MSG_BYTES),
                                  .response = v1.response,
                                  .resv7 = v1.resv7};
    memcpy(out, message, SMCR_MSG_BYTES);
    smcr_llc2_head_put(out, &head);
    if (head.type != SMCR_LLC2_CONFIRM_LINK)
        return;
    struct smcr_confirm_link2 m;
    smcr_confirm_link2_get(&m, out);
    m.no_eye_catcher = SMCR_NO_EYE_CATCHER;
    m.max_conns = group->release > 0 ? (uint8_t)group->max_conns : 0;
    smcr_confirm_link2_put(out, &m);
}

/* A refusal, and the client's request for a link, end with the first part. */
static bool get_rtokens(const uint8_t *message, size_t len_bytes, struct smcr_llc_msg *out)
{
    struct smcr_add_link2_ext ext;
    if (out->add_link.rejected)
        return true;
    if (len_bytes < SMCR_MSG_BYTES + SMCR_ADD_LINK2_EXT_BYTES)
        return false;
    out->rtokens = smcr_add_link2_ext_get(&ext, message + SMCR_MSG_BYTES);
    out->is_direct = ext.direct;
    out->num_rtokens = smcr_llc2_count(ext.rkey_count);
    return out->num_rtokens <= SMCR_ADD_LINK2_MAX_RTOKENS &&
           SMCR_MSG_BYTES + SMCR_ADD_LINK2_EXT_BYTES + (size_t)out->num_rtokens * SMCR_RTOKEN2_BYTES <=
               len_bytes;
}

bool smcr_llc2_get_more(const uint8_t *message, size_t len_bytes, struct smcr_llc_msg *out)
{
    struct smcr_confirm_link2 m;
    if (out->type == SMCR_LLC_ADD_LINK)
        return get_rtokens(message, len_bytes, out);
    if (out->type != SMCR_LLC_CONFIRM_LINK)
        return true;
    smcr_confirm_link2_get(&m, message);
    out->no_eye_catcher = m.no_eye_catcher;
    out->max_conns = m.max_conns;
    return true;
}

static uint8_t *put_rtokens(uint8_t *at, const struct smcr_group *group, const struct smcr_link *via,
                            const struct smcr_link *about)
{
    for (struct smcr_rmb *rmb = smcr_rmb_known(group->rmbs); rmb; rmb = smcr_rmb_known(rmb->next)) {
        const struct rdma_mr *known = rmb->mr[via->slot], *new = rmb->mr[about->slot];
        struct smcr_rtoken2 token = {
            .reference_rkey = known->rkey, .rkey = new ? new->rkey : 0, .va = new ? new->iova : 0};
        at = smcr_rtoken2_put(at, &token);
    }
    return at;
}

size_t smcr_llc2_build_add_link(uint8_t *message, const struct smcr_group *group, const struct smcr_link *via,
                                const struct smcr_link *about, bool is_response)
{
    unsigned count = smcr_rmb_count_known(group);
    size_t len_bytes = SMCR_MSG_BYTES + SMCR_ADD_LINK2_EXT_BYTES + (size_t)count * SMCR_RTOKEN2_BYTES;
    struct smcr_add_link2 m = {.type = SMCR_LLC2_ADD_LINK,
                               .length = smcr_llc2_lsb_first((uint32_t)len_bytes),
                               .response = is_response,
                               .qpn = about->local.qpn,
                               .link = about->number,
                               .mtu = about->local.mtu,
                               .psn = about->local.psn};
    memcpy(m.mac, about->local.mac.b, sizeof m.mac);
    memcpy(m.gid, about->local.gid.b, sizeof m.gid);
    struct smcr_add_link2_ext ext = {.direct = 1, .rkey_count = smcr_llc2_lsb_first(count)};
    memcpy(ext.target_gid, about->local.gid.b, sizeof ext.target_gid); /* as Linux fills it */
    put_rtokens(smcr_add_link2_ext_put(smcr_add_link2_put(message, &m), &ext), group, via, about);
    return len_bytes;
}

void smcr_llc2_build_reject(uint8_t *message, const struct smcr_llc_msg *request)
{
    struct smcr_add_link2 m;
    smcr_add_link2_get(&m, request->bytes);
    m.response = 1;
    m.rejected = 1;
    smcr_add_link2_put(message, &m);
}

void smcr_llc2_build_request(uint8_t *message, const struct nornic_addr *gid)
{
    struct smcr_request_add_link2 m = {.type = SMCR_LLC2_REQUEST_ADD_LINK, .gid_count = 1};
    memcpy(smcr_request_add_link2_put(message, &m), gid->b, SMCR_GID_BYTES);
}
