/* SPDX-License-Identifier: BSD-2-Clause */
/* What both ends of a first contact of version 2 settle: the enterprise id, the release, and how much a link
 * group may hold. The server answers the least of what both can; the client repeats that. */
#include <string.h>

#include "base/base.h"
#include "smcr/handshake/flow.h"

#define MAX_LINKS \
    2 /* of a group of version 2: CONFIRM RKEY names no more beside its own, while one is replaced */

static bool has_eid(const struct smcr_config *config, const uint8_t eid[SMCR_EID_BYTES])
{
    for (unsigned i = 0; i < config->num_eids; i++)
        if (memcmp(config->eids[i], eid, SMCR_EID_BYTES) == 0)
            return true;
    return false;
}

void smcr_terms_offer(const struct smcr_conn *conn, const struct smcr_port *port,
                      struct smcr_clc_proposal *proposal)
{
    const struct smcr_config *config = &conn->smcr->config;
    proposal->offers_v2 = config->num_eids > 0;
    proposal->v2 = (struct smcr_clc_offer2){.num_eids = config->num_eids,
                                            .gid = port->gid,
                                            .release = SMCR_CLC2_RELEASE,
                                            .max_conns = config->max_group_conns,
                                            .max_links = MAX_LINKS};
    memcpy(proposal->v2.eids, config->eids, config->num_eids * sizeof config->eids[0]);
}

bool smcr_terms_answer(struct smcr_conn *conn, const struct smcr_clc_offer2 *offer)
{
    const struct smcr_config *config = &conn->smcr->config;
    unsigned i = 0;
    while (i < offer->num_eids && !has_eid(config, offer->eids[i]))
        i++;
    if (i == offer->num_eids)
        return false;
    struct smcr_clc_terms *terms = &conn->terms;
    terms->version = SMCR_CLC2_VERSION;
    terms->release = offer->release < SMCR_CLC2_RELEASE ? offer->release : SMCR_CLC2_RELEASE;
    memcpy(terms->eid, offer->eids[i], sizeof terms->eid);
    terms->max_conns =
        offer->max_conns < config->max_group_conns ? offer->max_conns : config->max_group_conns;
    terms->max_links = offer->max_links < MAX_LINKS ? offer->max_links : MAX_LINKS;
    if (terms->release == 0) { /* which has no way to say so */
        terms->max_conns = UINT8_MAX;
        terms->max_links = MAX_LINKS;
    }
    return true;
}

uint32_t smcr_terms_take(struct smcr_conn *conn, const struct smcr_clc_accept *accept)
{
    const struct smcr_config *config = &conn->smcr->config;
    const struct smcr_clc_terms *terms = &accept->terms;
    conn->terms = *terms;
    if (terms->version == SMCR_CLC_VERSION)
        return config->only_v2 ? SMCR_DIAG_VERSION : 0;
    if (config->num_eids == 0)
        return SMCR_DIAG_VERSION;
    if (!has_eid(config, terms->eid))
        return SMCR_DIAG_NO_RNIC; /* as Linux says it */
    if (!accept->first_contact)
        return 0;
    if (terms->release > SMCR_CLC2_RELEASE)
        return SMCR_DIAG_RELEASE;
    if (terms->release > 0 &&
        (terms->max_conns < SMCR_MIN_GROUP_CONNS || terms->max_conns > config->max_group_conns))
        return SMCR_DIAG_MAX_CONNS;
    return terms->max_links < 1 || terms->max_links > MAX_LINKS ? SMCR_DIAG_MAX_LINKS : 0;
}

uint32_t smcr_terms_check(const struct smcr_conn *conn, const struct smcr_clc_accept *confirm)
{
    const struct smcr_clc_terms *ours = &conn->terms, *theirs = &confirm->terms;
    if (ours->version == SMCR_CLC_VERSION)
        return 0;
    if (!confirm->first_contact || theirs->release != ours->release ||
        memcmp(theirs->eid, ours->eid, sizeof ours->eid) != 0)
        return SMCR_DIAG_RELEASE;
    if (theirs->max_conns != ours->max_conns)
        return SMCR_DIAG_MAX_CONNS;
    return theirs->max_links != ours->max_links ? SMCR_DIAG_MAX_LINKS : 0;
}
