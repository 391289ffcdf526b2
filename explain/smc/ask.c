/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests and responses of LLC: which belong together, and those that have no other half. */
#include "explain/smc/ask.h"

#include <inttypes.h>

#include "explain/smc/doubt.h"
#include "explain/smc/world.h"

struct smc_request *explain_smc_ask(struct smc_view *v, uint8_t type, bool is_due)
{
    struct smc_request *r = &v->group->requests[v->side][type];
    uint8_t *open = &v->group->links[v->link].open[v->side][type];
    *r = (struct smc_request){.number = v->packet->number,
                              .time_ns = v->packet->time_ns,
                              .link = v->link,
                              .is_due = is_due,
                              .lost = v->group->lost[v->side]};
    *open += *open < UINT8_MAX;
    return r;
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
    if (explain_smc_may_lack(v->group))
        return r->number ? r : NULL;
    if (!r->number) {
        explain_smc_doubt(v, EXPLAIN_FIND_SMC_UNASKED, "SMCR-SER-06", 0, "no %s was asked for",
                          smcr_llc_type_name(type));
        return NULL;
    }
    explain_smc_doubt(v, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-05", r->number,
                      "the response uses another link than its request #%" PRIu64, r->number);
    return r;
}
