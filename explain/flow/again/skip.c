/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/again/skip.h"

#include "roce/psn.h"

bool explain_may_be_skipped(const struct explain_case *c)
{
    return explain_read_find(&c->half->reads, c->psn) &&
           (!c->before || c->half->acks.newest_number > c->before->number);
}

bool explain_was_answered_beyond(const struct explain_case *c)
{
    const struct explain_read *r = explain_read_find(&c->half->reads, c->psn);
    const struct explain_acks *acks = &c->half->acks;
    if (!r || !acks->is_known)
        return false;
    return roce_psn_diff(acks->una_psn, roce_psn_add(c->psn, 1)) > 0 &&
           (((c->psn - r->psn) & ROCE_PSN_MASK) < r->next || r->is_answered);
}

bool explain_witness_skip(const struct explain_case *c, struct explain_verdict *v)
{
    if (!explain_was_answered_beyond(c))
        return false;
    v->fit = EXPLAIN_FIT_MAY;
    v->why = (struct explain_why){.cause = EXPLAIN_CAUSE_IMPLIED_NAK, .silence_ns = c->silence_ns};
    return true;
}
