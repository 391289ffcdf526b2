/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests and responses of LLC: which belong together, and those that have no other half. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "explain/smc/world.h"

struct smc_request *explain_smc_ask(struct smc_view *v, uint8_t type, bool is_due)
{
    struct smc_request *r = &v->group->requests[v->side][type];
    uint8_t *open = &v->group->links[v->link].open[v->side][type];
    *r = (struct smc_request){
        .number = v->packet->number, .time_ns = v->packet->time_ns, .link = v->link, .is_due = is_due};
    *open += *open < UINT8_MAX;
    return r;
}

/* A response that fits no request: unless the capture lacks that, which what comes next on the link tells. */
__attribute__((format(printf, 5, 6))) static void doubt(struct smc_view *v, enum explain_finding_kind kind,
                                                        const char *rule, uint64_t related,
                                                        const char *format, ...)
{
    const struct smc_link *l = &v->group->links[v->link];
    struct smc_doubt *d = &v->group->doubt;
    va_list args;
    if (v->group->is_partial || !l->is_psn_known[!v->side])
        return;
    *d = (struct smc_doubt){.number = v->packet->number,
                            .related = related,
                            .link = v->link,
                            .asker = !v->side,
                            .next_psn = l->next_psn[!v->side],
                            .kind = kind,
                            .rule = rule};
    va_start(args, format);
    vsnprintf(d->words, sizeof d->words, format, args);
    va_end(args);
}

struct smc_request *explain_smc_answer(struct smc_view *v, uint8_t type)
{
    struct smc_request *r = &v->group->requests[!v->side][type];
    uint8_t *open = &v->group->links[v->link].open[!v->side][type];
    bool is_newest = r->number && r->link == v->link;
    v->m->answers = is_newest || (r->number && !*open) ? r->number : v->m->answers;
    if (*open) { /* to this one, or to one before it */
        --*open;
        return is_newest ? r : NULL;
    }
    if (!r->number) {
        doubt(v, EXPLAIN_FIND_SMC_UNASKED, "SMCR-SER-06", 0, "no %s was asked for", smcr_llc_type_name(type));
        return NULL;
    }
    doubt(v, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-05", r->number,
          "the response uses another link than its request #%" PRIu64, r->number);
    return r;
}

void explain_smc_settle_doubt(struct smc_view *v, uint32_t psn)
{
    struct smc_doubt *d = &v->group->doubt;
    if (!d->number || d->link != v->link || d->asker != v->side)
        return;
    if (psn == d->next_psn && !v->group->lost[0] && !v->group->lost[1])
        explain_remark(v->m, d->kind, d->rule, d->number, d->related, "%s", d->words);
    d->number = 0;
}
