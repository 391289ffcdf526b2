/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/again/by_ids.h"

#include "explain/packet/sender.h"
#include "roce/psn.h"

/* Returns whether the packet left before others that are in the capture: the copy before it, if there is
 * one, left later. */
static bool is_late(const struct explain_case *c, uint16_t id)
{
    return explain_ids_order(c->ids, id) == EXPLAIN_ORDER_EARLIER &&
           (!c->before || (int16_t)(uint16_t)(id - c->before->ip_id) < 0);
}

/* Returns whether the packet behind it left before it: it was not sent in its turn, and the counter may be
 * that of the QPN's connection before. */
static bool is_behind_next(const struct explain_case *c, uint16_t id)
{
    const struct explain_sent *next = explain_sent_find(&c->half->history, roce_psn_add(c->psn, 1));
    return next && (int16_t)(uint16_t)(id - next->ip_id) > 0;
}

bool explain_witness_ids(const struct explain_case *c, struct explain_verdict *v)
{
    const struct explain_sent *before = c->before;
    uint16_t id = explain_ip_id(c->packet);
    enum explain_sure counts = explain_ids_count(c->ids);
    if (c->packet->roce.l3_kind != ROCE_L3_IPV4 || counts == EXPLAIN_SURE_UNKNOWN)
        return false;
    bool is_copy = before && before->opcode == c->packet->roce.bth.opcode && before->ip_id == id;
    if (!is_copy && !is_late(c, id))
        return false;
    v->again = is_copy ? EXPLAIN_AGAIN_COPY : EXPLAIN_AGAIN_OVERTAKEN;
    v->why = (struct explain_why){.cause = is_copy ? EXPLAIN_CAUSE_COPIED : EXPLAIN_CAUSE_OVERTAKEN,
                                  .sure = counts,
                                  .has_ip_id = true,
                                  .ip_id = {id, before ? before->ip_id : c->ids->newest}};
    if (!before && is_behind_next(c, id))
        v->why.sure = EXPLAIN_SURE_LIKELY;
    explain_why_prove(&v->why, before ? before->number : 0,
                      is_copy ? "the same identification" : "a copy that was sent later");
    return true;
}
