/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages of version 1: SMCR section 10; and of version 2, behind smcr/llc/messages2.h. */
#include "smcr/llc/messages.h"

#include <string.h>

#include "net/bytes.h"
#include "rdma/mr.h"
#include "smcr/group/group.h"
#include "smcr/llc/messages2.h"

/* --- taken apart --- */

/* Version 2 has but the one layout. */
static bool sends_shifted(const struct smcr_group *group)
{
    return group->version == 2 || group->smcr->config.interop.shifted_add_link;
}

/* In whichever layout it came (A5). */
static void get_add_link(const struct smcr_group *group, const uint8_t *message, struct smcr_add_link *out)
{
    struct smcr_add_link_shifted s;
    smcr_add_link_get(out, message);
    if (!sends_shifted(group) && !smcr_add_link_is_shifted(out))
        return;
    smcr_add_link_shifted_get(&s, message);
    memcpy(out->gid, s.gid, sizeof out->gid);
    out->qpn = s.qpn;
    out->link = s.link;
    out->mtu = s.mtu;
    out->psn = s.psn;
}

/* What follows the head, into the member of its type. */
static enum smcr_llc_decoded decode_body(const struct smcr_group *group, const uint8_t *message,
                                         struct smcr_llc_msg *out)
{
    switch (out->type) {
    case SMCR_LLC_CONFIRM_LINK:
        smcr_confirm_link_get(&out->confirm_link, message);
        return SMCR_LLC_DECODED;
    case SMCR_LLC_ADD_LINK:
        get_add_link(group, message, &out->add_link);
        return SMCR_LLC_DECODED;
    case SMCR_LLC_ADD_LINK_CONT:
        smcr_add_link_cont_get(&out->cont, message);
        return SMCR_LLC_DECODED;
    case SMCR_LLC_DELETE_LINK:
        smcr_delete_link_get(&out->delete_link, message);
        return SMCR_LLC_DECODED;
    case SMCR_LLC_CONFIRM_RKEY:
        smcr_confirm_rkey_get(&out->confirm_rkey, message);
        return SMCR_LLC_DECODED;
    case SMCR_LLC_TEST_LINK:
        smcr_test_link_get(&out->test_link, message);
        return SMCR_LLC_DECODED;
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        smcr_confirm_rkey_cont_get(&out->rkey_cont, message);
        return SMCR_LLC_DECODED;
    case SMCR_LLC_DELETE_RKEY:
        smcr_delete_rkey_get(&out->delete_rkey, message);
        return SMCR_LLC_DECODED;
    case SMCR_LLC_REQUEST_ADD_LINK:
        return group->version == 2 ? SMCR_LLC_DECODED : SMCR_LLC_UNKNOWN;
    }
    return out->type >= SMCR_LLC_FIRST_IGNORABLE && out->type <= SMCR_LLC_LAST_IGNORABLE ? SMCR_LLC_IGNORABLE
                                                                                         : SMCR_LLC_UNKNOWN;
}

static enum smcr_llc_decoded decode_v2(const struct smcr_group *group, const uint8_t *message,
                                       size_t len_bytes, struct smcr_llc_msg *out)
{
    uint8_t v1[SMCR_MSG_BYTES];
    if (!smcr_llc2_to_v1(message, len_bytes, v1))
        return SMCR_LLC_MALFORMED;
    out->type = v1[0];
    enum smcr_llc_decoded decoded = decode_body(group, v1, out);
    if (decoded == SMCR_LLC_DECODED && !smcr_llc2_get_more(message, len_bytes, out))
        return SMCR_LLC_MALFORMED;
    return decoded;
}

enum smcr_llc_decoded smcr_llc_decode(const struct smcr_group *group, const uint8_t *message,
                                      size_t len_bytes, struct smcr_llc_msg *out)
{
    struct smcr_llc_head head;
    memset(out, 0, sizeof *out);
    memcpy(out->bytes, message, len_bytes < SMCR_MSG_BYTES ? len_bytes : SMCR_MSG_BYTES);
    smcr_llc_head_get(&head, out->bytes);
    out->type = head.type;
    out->is_response = head.response;
    if (group->version == 2)
        return decode_v2(group, message, len_bytes, out);
    if (len_bytes != SMCR_MSG_BYTES || head.length != SMCR_MSG_BYTES)
        return SMCR_LLC_MALFORMED;
    return decode_body(group, message, out);
}

/* --- put together: what is not named is zero --- */

void smcr_llc_build_echo(uint8_t *message, const struct smcr_llc_msg *request, bool is_negative,
                         bool is_retry)
{
    struct smcr_llc_msg m = *request;
    switch (m.type) {
    case SMCR_LLC_TEST_LINK:
        m.test_link.response = 1;
        smcr_test_link_put(message, &m.test_link);
        return;
    case SMCR_LLC_CONFIRM_RKEY:
        m.confirm_rkey.response = 1;
        m.confirm_rkey.negative |= is_negative;
        m.confirm_rkey.retry |= is_retry;
        smcr_confirm_rkey_put(message, &m.confirm_rkey);
        return;
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        m.rkey_cont.response = 1;
        m.rkey_cont.negative |= is_negative;
        m.rkey_cont.retry |= is_retry;
        smcr_confirm_rkey_cont_put(message, &m.rkey_cont);
        return;
    }
}

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
    if (!sends_shifted(group)) {
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

/* --- RKeys: sections 10.4 and 10.5 --- */

static const struct rdma_mr *region(const struct smcr_rmb *rmb, uint8_t number)
{
    const struct smcr_link *link = smcr_group_link(rmb->group, number);
    return link ? rmb->mr[link->slot] : NULL;
}

/* The first message of the sequence: two links beside the carrying one. */
void smcr_llc_build_confirm_rkey(uint8_t *message, struct smcr_llc_rkey *x)
{
    const struct rdma_mr *own = x->rmb->mr[x->via->slot];
    struct smcr_confirm_rkey m = {.type = SMCR_LLC_CONFIRM_RKEY,
                                  .length = SMCR_MSG_BYTES,
                                  .other_links = (uint8_t)x->num_others,
                                  .rkey = own->rkey,
                                  .va = own->iova};
    if (x->num_others > 0) {
        const struct rdma_mr *mr = region(x->rmb, x->others[0]);
        m.link_1 = x->others[0];
        m.rkey_1 = mr->rkey;
        m.va_1 = mr->iova;
    }
    if (x->num_others > 1) {
        const struct rdma_mr *mr = region(x->rmb, x->others[1]);
        m.link_2 = x->others[1];
        m.rkey_2 = mr->rkey;
        m.va_2 = mr->iova;
    }
    x->next_other = x->num_others < SMCR_LINKS_PER_CONFIRM_RKEY ? x->num_others : SMCR_LINKS_PER_CONFIRM_RKEY;
    x->head_rkey = own->rkey;
    smcr_confirm_rkey_put(message, &m);
}

/* Three links more: A6. */
void smcr_llc_build_rkey_cont(uint8_t *message, struct smcr_llc_rkey *x)
{
    struct smcr_confirm_rkey_cont m = {.type = SMCR_LLC_CONFIRM_RKEY_CONT,
                                       .length = SMCR_MSG_BYTES,
                                       .links_left = (uint8_t)(x->num_others - x->next_other)};
    uint8_t *links[SMCR_LINKS_PER_CONFIRM_RKEY_CONT] = {&m.link_1, &m.link_2, &m.link_3};
    uint32_t *rkeys[SMCR_LINKS_PER_CONFIRM_RKEY_CONT] = {&m.rkey_1, &m.rkey_2, &m.rkey_3};
    uint64_t *vas[SMCR_LINKS_PER_CONFIRM_RKEY_CONT] = {&m.va_1, &m.va_2, &m.va_3};
    for (unsigned i = 0; i < SMCR_LINKS_PER_CONFIRM_RKEY_CONT && x->next_other < x->num_others; i++) {
        const struct rdma_mr *mr = region(x->rmb, x->others[x->next_other]);
        *links[i] = x->others[x->next_other++];
        *rkeys[i] = mr->rkey;
        *vas[i] = mr->iova;
    }
    x->head_rkey = m.rkey_1;
    smcr_confirm_rkey_cont_put(message, &m);
}

void smcr_llc_build_delete_rkey(uint8_t *message, struct smcr_llc_rkey *x)
{
    struct smcr_delete_rkey m = {.type = SMCR_LLC_DELETE_RKEY, .length = SMCR_MSG_BYTES, .count = 1};
    x->head_rkey = x->rmb->mr[x->via->slot]->rkey;
    put_be32(m.rkeys, x->head_rkey);
    smcr_delete_rkey_put(message, &m);
}
