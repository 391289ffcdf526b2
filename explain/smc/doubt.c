/* SPDX-License-Identifier: BSD-2-Clause */
/* A cursor beyond what was written, a key that nobody announced, a response that nothing asked for: each is
 * wrong, or the capture lacks the message of the other side that makes it right. RC numbers what it sends, so
 * the next request of that side tells: if it follows the newest one that was seen, none is missing. */
#include "explain/smc/doubt.h"

#include <stdarg.h>
#include <stdio.h>

#include "explain/smc/world.h"

void explain_smc_doubt(struct smc_view *v, enum explain_finding_kind kind, const char *rule, uint64_t related,
                       const char *format, ...)
{
    struct smc_group *g = v->group;
    const struct smc_link *l = &g->links[v->link];
    unsigned sender = !v->side;
    va_list args;
    if (!l->is_psn_known[sender] || explain_smc_has_gap(g, sender))
        return;
    struct smc_doubt *d = &g->doubts[g->next_doubt++ % SMC_DOUBTS_MAX];
    *d = (struct smc_doubt){.number = v->packet->number,
                            .related = related,
                            .link = v->link,
                            .sender = sender,
                            .next_psn = l->next_psn[sender],
                            .lost = {g->lost[0], g->lost[1]},
                            .kind = kind,
                            .rule = rule};
    va_start(args, format);
    vsnprintf(d->words, sizeof d->words, format, args);
    va_end(args);
}

void explain_smc_settle_doubts(struct smc_view *v, uint32_t psn)
{
    struct smc_group *g = v->group;
    for (unsigned i = 0; i < SMC_DOUBTS_MAX; i++) {
        struct smc_doubt *d = &g->doubts[(g->next_doubt + i) % SMC_DOUBTS_MAX];
        if (!d->number || d->link != v->link || d->sender != v->side)
            continue;
        if (psn == d->next_psn && !explain_smc_has_gap(g, d->sender) && d->lost[0] == g->lost[0] &&
            d->lost[1] == g->lost[1])
            explain_remark(v->m, d->kind, d->rule, d->number, d->related, "%s", d->words);
        d->number = 0;
    }
}
