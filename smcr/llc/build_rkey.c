/* SPDX-License-Identifier: BSD-2-Clause */
/* CONFIRM RKEY, its continuations and DELETE RKEY of version 1: SMCR sections 10.4 and 10.5. Each notes in
 * the exchange what its response will repeat. */
#include "net/bytes.h"
#include "smcr/llc/flow.h"

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
