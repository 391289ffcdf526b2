/* SPDX-License-Identifier: BSD-2-Clause */
/* Two messages, field by field, by the lists that describe them; and what comparisons come out as. */
#include "explain/replay/smc/match.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/diff.h"

/* What an endpoint chooses itself, and `requests_only` what its answers echo. The sequence numbers of CDCs
 * are compared by their distance (messages.c). */
static const struct {
    enum explain_layer_id layer;
    bool requests_only;
    const char *fields[10];
} freedoms[] = {
    {EXPLAIN_LAYER_CLC_ACCEPT, false, {"qpn", "rkey", "rmbe_index", "alert_token", "va", "psn"}},
    {EXPLAIN_LAYER_CLC_CONFIRM, false, {"qpn", "rkey", "rmbe_index", "alert_token", "va", "psn"}},
    {EXPLAIN_LAYER_LLC_CONFIRM_LINK, false, {"qpn", "link_user_id"}},
    {EXPLAIN_LAYER_LLC_ADD_LINK, false, {"qpn", "psn"}},
    {EXPLAIN_LAYER_LLC_ADD_LINK_SHIFTED, false, {"qpn", "psn"}},
    {EXPLAIN_LAYER_LLC_ADD_LINK_CONT,
     false,
     {"reference_rkey_1", "rkey_1", "va_1", "reference_rkey_2", "rkey_2", "va_2"}},
    {EXPLAIN_LAYER_LLC_CONFIRM_RKEY, true, {"rkey", "va", "rkey_1", "va_1", "rkey_2", "va_2"}},
    {EXPLAIN_LAYER_LLC_CONFIRM_RKEY_CONT, true, {"rkey_1", "va_1", "rkey_2", "va_2", "rkey_3", "va_3"}},
    {EXPLAIN_LAYER_LLC_DELETE_RKEY, true, {"rkeys"}},
    {EXPLAIN_LAYER_LLC_TEST_LINK, true, {"user_data"}},
    {EXPLAIN_LAYER_CDC, false, {"seq"}},
    {EXPLAIN_LAYER_CLC2_EXTENSION, false, {"features"}},
    {EXPLAIN_LAYER_CLC2_ACCEPT, false, {"qpn", "rkey", "rmbe_index", "alert_token", "va", "psn"}},
    {EXPLAIN_LAYER_CLC2_CONFIRM, false, {"qpn", "rkey", "rmbe_index", "alert_token", "va", "psn"}},
    {EXPLAIN_LAYER_CLC2_FIRST_CONTACT, false, {"features"}},
    {EXPLAIN_LAYER_LLC2_CONFIRM_LINK, false, {"qpn", "link_user_id"}},
    {EXPLAIN_LAYER_LLC2_ADD_LINK, false, {"qpn", "psn"}},
    {EXPLAIN_LAYER_LLC2_RTOKEN, false, {"reference_rkey", "rkey", "va"}},
    {EXPLAIN_LAYER_LLC2_CONFIRM_RKEY, true, {"rkey", "va", "rkey_1", "va_1", "rkey_2", "va_2"}},
    {EXPLAIN_LAYER_LLC2_DELETE_RKEY, false, {"rkeys"}}, /* Linux empties them in its answers */
    {EXPLAIN_LAYER_LLC2_DELETE_LINK,
     true,
     {"orderly"}}, /* a server of Linux always says so, a client never */
    {EXPLAIN_LAYER_LLC2_TEST_LINK, true, {"user_data"}},
};

static bool is_free(const struct explain_packet *p, unsigned layer, const struct net_field *f)
{
    const struct explain_layer *at = &p->layers[layer];
    struct smcr_cdc cdc;
    bool is_response = net_bits_get(p->frame + at->offset, SMCR_LLC_RESPONSE_BIT, 1);
    if (at->kind->id == EXPLAIN_LAYER_CDC && strcmp(f->name, "sending_done") == 0) {
        smcr_cdc_get(&cdc, p->frame + at->offset);
        return cdc.connection_closed; /* C implies D: SMCR-CLS-11 */
    }
    for (size_t i = 0; i < array_len(freedoms); i++) {
        if (freedoms[i].layer != at->kind->id || (freedoms[i].requests_only && is_response))
            continue;
        for (unsigned k = 0; k < array_len(freedoms[i].fields) && freedoms[i].fields[k]; k++)
            if (strcmp(freedoms[i].fields[k], f->name) == 0)
                return true;
    }
    return false;
}

void smcplay_compare(const struct explain_packet *p, uint32_t at, const uint8_t *engine, size_t engine_bytes,
                     struct explain_smc_compared *c)
{
    struct explain_packet built = *p;
    built.frame = engine;
    built.len_bytes = (uint32_t)engine_bytes;
    for (unsigned i = 0; i < p->layer_count; i++) {
        const struct explain_layer *layer = &p->layers[i];
        uint32_t offset = layer->offset - at;
        if (layer->offset < at || offset >= engine_bytes)
            continue;
        if (offset + layer->kind->header->len_bytes > engine_bytes)
            continue;
        built.layers[i].offset = offset;
        explain_replay_diff_layer(p, i, &built, i, is_free, c->diffs, &c->diff_count);
    }
}

void smcplay_tell(struct smcplay *s, struct explain_smc_compared *c, enum explain_smc_replay_outcome outcome)
{
    c->outcome = outcome;
    c->cause = c->number ? s->cause : c->cause;
    s->result->outcomes[outcome]++;
    if (s->config->compared)
        s->config->compared(s->config->ctx, c);
}

uint8_t smcplay_link_number(const struct smcplay *s, const struct smcplay_link *l)
{
    return (uint8_t)(l - s->links + 1);
}

const char *smcplay_message_name(const uint8_t *message)
{
    static const struct {
        uint8_t type;
        const char *request, *response;
    } names[] = {
        {SMCR_LLC_CONFIRM_LINK, "LLC CONFIRM LINK request", "LLC CONFIRM LINK response"},
        {SMCR_LLC_ADD_LINK, "LLC ADD LINK request", "LLC ADD LINK response"},
        {SMCR_LLC_ADD_LINK_CONT, "LLC ADD LINK CONTINUATION request", "LLC ADD LINK CONTINUATION response"},
        {SMCR_LLC_DELETE_LINK, "LLC DELETE LINK request", "LLC DELETE LINK response"},
        {SMCR_LLC_CONFIRM_RKEY, "LLC CONFIRM RKEY request", "LLC CONFIRM RKEY response"},
        {SMCR_LLC_CONFIRM_RKEY_CONT, "LLC CONFIRM RKEY CONTINUATION request",
         "LLC CONFIRM RKEY CONTINUATION response"},
        {SMCR_LLC_REQUEST_ADD_LINK, "LLC REQUEST ADD LINK", "LLC REQUEST ADD LINK response"},
        {SMCR_LLC_TEST_LINK, "LLC TEST LINK request", "LLC TEST LINK response"},
        {SMCR_LLC_DELETE_RKEY, "LLC DELETE RKEY request", "LLC DELETE RKEY response"},
    };
    bool is_response = net_bits_get(message, SMCR_LLC_RESPONSE_BIT, 1);
    for (size_t i = 0; i < array_len(names); i++)
        if (names[i].type == smcplay_type(message))
            return is_response ? names[i].response : names[i].request;
    return message[0] == SMCR_CDC ? "CDC" : "LLC of an unknown type";
}
