/* SPDX-License-Identifier: BSD-2-Clause */
/* When messages are done: how long each took, where the capture tells it. */
#include "explain/iwarp/done.h"

#include <stdlib.h>

#include "base/base.h"

static void tell(struct iwarp_view *v, const struct explain_iwarp_done *is)
{
    if (v->m->iwarp.done == EXPLAIN_IWARP_DONE_MAX)
        v->conn->shown.untimed[is->side]++;
    else
        v->m->done[v->m->iwarp.done++] = *is;
}

static void forget_first(struct iwarp_half *h)
{
    h->sent_first = (h->sent_first + 1) % IWARP_SENT_MAX;
    h->sent_count--;
}

void explain_iwarp_sent(struct iwarp_view *v, const struct iwarp_fpdu *f, const struct iwarp_open *open)
{
    struct iwarp_half *h = iwarp_half_of(v);
    uint64_t end = f->at + f->raw_bytes;
    if (!h->sent)
        h->sent = calloc(IWARP_SENT_MAX, sizeof *h->sent);
    if (!h->sent || open->is_doubtful || end <= h->stream.acked) { /* its answer stands before it */
        v->conn->shown.untimed[v->side]++;
        return;
    }
    if (h->sent_count == IWARP_SENT_MAX) {
        v->conn->shown.untimed[v->side]++;
        forget_first(h);
    }
    h->sent[(h->sent_first + h->sent_count++) % IWARP_SENT_MAX] =
        (struct iwarp_sent){.end = end,
                            .is = {.conn = v->conn->shown.id,
                                   .side = (uint8_t)v->side,
                                   .opcode = f->ctrl.opcode,
                                   .fpdus = open->fpdus,
                                   .message = open->message,
                                   .bytes = open->bytes,
                                   .first_number = open->origin.number,
                                   .begin_ns = open->origin.time_ns}};
}

void explain_iwarp_acked(struct iwarp_view *v)
{
    struct iwarp_half *h = iwarp_other_half(v);
    while (h->sent_count && h->sent[h->sent_first].end <= h->stream.acked) {
        struct iwarp_sent *sent = &h->sent[h->sent_first];
        sent->is.is_with_later = sent->end < h->stream.acked;
        tell(v, &sent->is);
        forget_first(h);
    }
}

void explain_iwarp_answered(struct iwarp_view *v, const struct iwarp_asked *asked)
{
    tell(v, &asked->is);
}
