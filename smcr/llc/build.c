/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages of version 1: SMCR section 10. What is not named is zero. */
#include <string.h>

#include "smcr/llc/flow.h"

void smcr_llc_build_confirm_link(uint8_t *message, const struct smcr_link *link, bool is_response)
{
    struct smcr_confirm_link m = {.type = SMCR_LLC_CONFIRM_LINK,
                                  .length = SMCR_MSG_BYTES,
                                  .response = is_response,
                                  .qpn = link->local.qpn,
                                  .link = link->number,
                                  .link_user_id = link->user_id,
                                  .max_links = link->group->max_links};
    memcpy(m.mac, link->local.mac.b, sizeof m.mac);
    memcpy(m.gid, link->local.gid.b, sizeof m.gid);
    smcr_confirm_link_put(message, &m);
}

static void put_add_link(uint8_t *message, const struct smcr_group *group, const struct smcr_add_link *m)
{
    if (!group->smcr->config.interop.shifted_add_link) {
        smcr_add_link_put(message, m);
        return;
    }
    struct smcr_add_link_shifted s = {.type = m->type,
                                      .length = m->length,
                                      .reason = m->reason,
                                      .response = m->response,
                                      .rejected = m->rejected,
                                      .qpn = m->qpn,
                                      .link = m->link,
                                      .mtu = m->mtu,
                                      .psn = m->psn};
    memcpy(s.mac, m->mac, sizeof s.mac);
    memcpy(s.gid, m->gid, sizeof s.gid);
    smcr_add_link_shifted_put(message, &s);
}

static struct smcr_add_link add_link(const struct smcr_link_end *end, uint8_t number, bool is_response)
{
    struct smcr_add_link m = {
        .type = SMCR_LLC_ADD_LINK, .length = SMCR_MSG_BYTES, .response = is_response, .link = number};
    memcpy(m.mac, end->mac.b, sizeof m.mac);
    memcpy(m.gid, end->gid.b, sizeof m.gid);
    return m;
}

void smcr_llc_build_add_link(uint8_t *message, const struct smcr_group *group,
                             const struct smcr_link_end *end, uint8_t number, bool is_response)
{
    struct smcr_add_link m = add_link(end, number, is_response);
    m.qpn = end->qpn;
    m.mtu = end->mtu;
    m.psn = end->psn;
    put_add_link(message, group, &m);
}

void smcr_llc_build_reject(uint8_t *message, const struct smcr_group *group, const struct smcr_link_end *end,
                           uint8_t number, uint8_t reason)
{
    struct smcr_add_link m = add_link(end, number, true);
    m.rejected = 1;
    m.reason = reason;
    put_add_link(message, group, &m);
}

void smcr_llc_parse_add_link(const struct smcr_group *group, const uint8_t *message,
                             struct smcr_add_link *out)
{
    smcr_add_link_get(out, message);
    if (!group->smcr->config.interop.shifted_add_link && !smcr_add_link_is_shifted(out))
        return;
    struct smcr_add_link_shifted s;
    smcr_add_link_shifted_get(&s, message);
    memcpy(out->gid, s.gid, sizeof out->gid);
    out->qpn = s.qpn;
    out->link = s.link;
    out->mtu = s.mtu;
    out->psn = s.psn;
}

/* A new link whose port was taken away meanwhile has no keys, and will be deleted. */
static void put_new_token(const struct smcr_rmb *rmb, const struct smcr_link *about, uint32_t *rkey,
                          uint64_t *va)
{
    const struct rdma_mr *mr = rmb->mr[about->slot];
    *rkey = mr ? mr->rkey : 0;
    *va = mr ? mr->iova : 0;
}

/* SMCR-LLC-33, LLC-34. */
void smcr_llc_build_cont(uint8_t *message, struct smcr_group *group, bool is_response)
{
    struct smcr_llc *llc = &group->llc;
    struct smcr_add_link_cont m = {.type = SMCR_LLC_ADD_LINK_CONT,
                                   .length = SMCR_MSG_BYTES,
                                   .response = is_response,
                                   .link = llc->about->number,
                                   .rtokens_left = (uint8_t)(llc->own_total - llc->own_told)};
    struct smcr_rmb *rmb = smcr_rmb_known(group->rmbs);
    for (unsigned i = 0; rmb && i < llc->own_told; i++)
        rmb = smcr_rmb_known(rmb->next);
    if (rmb && llc->own_told < llc->own_total) {
        m.reference_rkey_1 = rmb->mr[llc->via->slot]->rkey;
        put_new_token(rmb, llc->about, &m.rkey_1, &m.va_1);
        llc->own_told++;
        rmb = smcr_rmb_known(rmb->next);
    }
    if (rmb && llc->own_told < llc->own_total) {
        m.reference_rkey_2 = rmb->mr[llc->via->slot]->rkey;
        put_new_token(rmb, llc->about, &m.rkey_2, &m.va_2);
        llc->own_told++;
    }
    smcr_add_link_cont_put(message, &m);
}

static void put_delete_link(uint8_t *message, struct smcr_delete_link m)
{
    m.type = SMCR_LLC_DELETE_LINK;
    m.length = SMCR_MSG_BYTES;
    smcr_delete_link_put(message, &m);
}

void smcr_llc_build_delete_link(uint8_t *message, uint8_t number, uint32_t reason, bool orderly)
{
    put_delete_link(message, (struct smcr_delete_link){.link = number, .reason = reason, .orderly = orderly});
}

void smcr_llc_build_delete_all(uint8_t *message, uint32_t reason, bool orderly)
{
    put_delete_link(message, (struct smcr_delete_link){.all = 1, .reason = reason, .orderly = orderly});
}

void smcr_llc_build_delete_rsp(uint8_t *message, uint8_t number, uint32_t reason)
{
    put_delete_link(message, (struct smcr_delete_link){.response = 1, .link = number, .reason = reason});
}

void smcr_llc_build_test_link(uint8_t *message, const uint8_t user_data[16])
{
    struct smcr_test_link m = {.type = SMCR_LLC_TEST_LINK, .length = SMCR_MSG_BYTES};
    memcpy(m.user_data, user_data, sizeof m.user_data);
    smcr_test_link_put(message, &m);
}
