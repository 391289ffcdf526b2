/* SPDX-License-Identifier: BSD-2-Clause */
/* What the messages of SMC-R say, version 1. */
#include <inttypes.h>
#include <stdio.h>

#include "explain/flow.h"
#include "net/tcp.h"
#include "smcr/cdc_wire.h"
#include "smcr/clc_wire.h"
#include "smcr/llc_wire.h"

static void describe_clc(const uint8_t *at, struct explain_meaning *m)
{
    struct smcr_clc clc;
    struct smcr_accept a;
    struct smcr_decline d;
    smcr_clc_get(&clc, at);
    const char *type = smcr_clc_type_name(clc.type);
    if (clc.version != 1 || !type) {
        snprintf(m->words, sizeof m->words, "SMC CLC %s, version %u, %u bytes", type ? type : "message",
                 clc.version, clc.length);
        return;
    }
    if (clc.type == SMCR_CLC_PROPOSAL) {
        snprintf(m->words, sizeof m->words, "SMC CLC Proposal");
    } else if (clc.type == SMCR_CLC_DECLINE) {
        smcr_decline_get(&d, at);
        const char *why = smcr_clc_diagnosis_name(d.diagnosis);
        snprintf(m->words, sizeof m->words, "SMC CLC Decline, 0x%08x%s%s%s", d.diagnosis, why ? ": " : "",
                 why ? why : "", d.flag ? ", out of sync" : "");
    } else {
        smcr_accept_get(&a, at);
        const char *size = smcr_bsize_name(a.bsize);
        snprintf(m->words, sizeof m->words,
                 "SMC CLC %s%s: QP 0x%06x, RMBE %u of %s at 0x%" PRIx64 ", R_Key 0x%08x, token 0x%08x", type,
                 clc.type == SMCR_CLC_ACCEPT && a.flag ? " (first contact)" : "", a.qpn, a.rmbe_index,
                 size ? size : "a reserved size", a.va, a.rkey, a.alert_token);
    }
}

/* The flags of a CDC message that are set, each behind a comma. */
static void put_flags(const struct smcr_cdc *c, char *text, size_t size)
{
    const struct {
        bool set;
        const char *words;
    } flags[] = {
        {c->writer_blocked, ", writer blocked"},   {c->urgent_pending, ", urgent data pending"},
        {c->urgent_present, ", urgent data here"}, {c->update_requested, ", update requested"},
        {c->sending_done, ", done sending"},       {c->connection_closed, ", closed"},
        {c->abnormal_close, ", abnormal close"},
    };
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i].set && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s", flags[i].words);
}

static void describe_cdc(const uint8_t *at, char *words, size_t size)
{
    struct smcr_cdc c;
    char flags[120];
    smcr_cdc_get(&c, at);
    if (c.failover_validation) {
        snprintf(words, size, ": SMC CDC failover validation, token 0x%08x, sequence number %u",
                 c.alert_token, c.seq);
        return;
    }
    put_flags(&c, flags, sizeof flags);
    snprintf(words, size, ": SMC CDC %u, token 0x%08x, producer %u/%u, consumer %u/%u%s", c.seq,
             c.alert_token, c.producer_wrap, c.producer_cursor, c.consumer_wrap, c.consumer_cursor, flags);
}

static void describe_llc(const uint8_t *at, char *words, size_t size)
{
    bool response = net_bits_get(at, SMCR_LLC_RESPONSE_BIT, 1);
    snprintf(words, size, ": SMC LLC %s %s", smcr_llc_type_name(at[0]), response ? "response" : "request");
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

void explain_smc(const struct explain_packet *packet, struct explain_meaning *m)
{
    for (unsigned i = 0; i < packet->layer_count; i++) {
        const struct explain_layer *l = &packet->layers[i];
        const uint8_t *at = packet->frame + l->offset;
        size_t used = strlen(m->words);
        if (strcmp(l->key, "smc_option") == 0)
            snprintf(m->words, sizeof m->words, "TCP handshake that offers SMC-R");
        else if (strcmp(l->key, "cdc") == 0)
            describe_cdc(at, m->words + used, sizeof m->words - used);
        else if (begins_with(l->key, "llc_"))
            describe_llc(at, m->words + used, sizeof m->words - used);
        else if (begins_with(l->key, "clc") && strcmp(l->key, "clc_subnet") != 0 &&
                 strcmp(l->key, "clc_prefix") != 0)
            describe_clc(at, m);
    }
}
