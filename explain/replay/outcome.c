/* SPDX-License-Identifier: BSD-2-Clause */
/* What comparisons come out as: words, counts, and whoever wants to hear of each. */
#include "explain/replay/outcome.h"

void explain_replay_frame_packet(const struct replay_frame *f, struct explain_packet *p)
{
    struct net_capture_record record = {
        .data = f->bytes, .len_bytes = f->len_bytes, .wire_bytes = f->len_bytes};
    explain_dissect(p, &record, 0);
}

void explain_replay_tell(struct replay *r, const struct replay_qp *q, enum explain_replay_outcome outcome,
                         const struct explain_packet *recorded, const struct replay_frame *engine,
                         const struct explain_compared *diffs)
{
    struct explain_compared c = diffs ? *diffs : (struct explain_compared){0};
    struct explain_packet built;
    r->result->outcomes[outcome]++;
    if (!r->config->compared)
        return;
    c.outcome = outcome;
    c.qpn = q->learned->qpn;
    c.recorded = recorded;
    if (engine) {
        explain_replay_frame_packet(engine, &built);
        c.engine = &built;
        c.cause = engine->cause;
    } else {
        c.cause = r->cause;
    }
    r->config->compared(r->config->ctx, &c);
}
