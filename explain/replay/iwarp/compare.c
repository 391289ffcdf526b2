/* SPDX-License-Identifier: BSD-2-Clause */
/* What the recorded end sent, and what the engine sent, held against each other. */
#include "explain/replay/iwarp/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/iwarp/messages.h"
#include "explain/replay/iwarp/streams.h"
#include "iwarp/wire/opcode.h"
#include "iwarp/wire/term.h"
#include "net/bytes.h"

#define SOURCE_AT 12 /* in a Read Request: what comes before names the end's own memory */

struct telling {
    const struct explain_iwarp_replay_config *config;
    struct explain_iwarp_replay_result *result;
    struct explain_iwarp_compared c;
};

static void tell(struct telling *t, enum explain_iwarp_replay_outcome outcome)
{
    t->c.outcome = outcome;
    t->result->outcomes[outcome]++;
    if (t->config->compared)
        t->config->compared(t->config->ctx, &t->c);
    t->c.diff_count = 0;
}

static void differ(struct telling *t, const char *layer, const char *field, uint64_t recorded,
                   uint64_t engine)
{
    if (recorded == engine || t->c.diff_count == EXPLAIN_DIFFS_MAX)
        return;
    struct explain_field_diff *d = &t->c.diffs[t->c.diff_count++];
    *d = (struct explain_field_diff){.layer = layer, .field = field};
    snprintf(d->recorded, sizeof d->recorded, "0x%" PRIx64, recorded);
    snprintf(d->engine, sizeof d->engine, "0x%" PRIx64, engine);
}

static void differ_data(struct telling *t, const uint8_t *recorded, uint32_t recorded_bytes,
                        const uint8_t *engine, uint32_t engine_bytes)
{
    differ(t, "payload", "length", recorded_bytes, engine_bytes);
    for (uint32_t i = 0; i < min_u32(recorded_bytes, engine_bytes); i++)
        if (recorded[i] != engine[i]) {
            differ(t, "payload", "octet", recorded[i], engine[i]);
            return;
        }
}

/* --- MPA frames --- */

static void differ_frames(struct telling *t, const uint8_t *recorded, const uint8_t *engine)
{
    struct iwarp_mpa_frame r, g;
    struct iwarp_mpa_enhanced re = {0}, ge = {0};
    iwarp_mpa_frame_get(&r, recorded);
    iwarp_mpa_frame_get(&g, engine);
    if (r.s && r.pd_len >= IWARP_MPA_ENHANCED_BYTES)
        iwarp_mpa_enhanced_get(&re, recorded + IWARP_MPA_FRAME_BYTES);
    if (g.s && g.pd_len >= IWARP_MPA_ENHANCED_BYTES)
        iwarp_mpa_enhanced_get(&ge, engine + IWARP_MPA_FRAME_BYTES);
#define DIFFER_(layer, a, b, field) differ(t, layer, #field, (a).field, (b).field)
    DIFFER_("mpa_frame", r, g, m);
    DIFFER_("mpa_frame", r, g, c);
    DIFFER_("mpa_frame", r, g, r);
    DIFFER_("mpa_frame", r, g, s);
    DIFFER_("mpa_frame", r, g, resv4);
    DIFFER_("mpa_frame", r, g, rev);
    DIFFER_("mpa_frame", r, g, pd_len);
    DIFFER_("mpa_enhanced", re, ge, a);
    DIFFER_("mpa_enhanced", re, ge, b);
    DIFFER_("mpa_enhanced", re, ge, c);
    DIFFER_("mpa_enhanced", re, ge, d);
    DIFFER_("mpa_enhanced", re, ge, ird);
    DIFFER_("mpa_enhanced", re, ge, ord);
#undef DIFFER_
}

static void compare_frames(const struct iwr_end *e, struct telling *t)
{
    const struct iwr_event *recorded = explain_iwr_frame_of(e->conn, e->side);
    bool asks = memcmp(recorded->bytes, IWARP_MPA_KEY_REQUEST, 16) == 0;
    t->c.message = asks ? "MPA Request" : "MPA Reply";
    t->c.number = recorded->number;
    t->c.cause = e->frame_cause;
    if (!e->frame) {
        tell(t, EXPLAIN_IWARP_REPLAY_ONLY_RECORD);
        return;
    }
    differ_frames(t, recorded->bytes, e->frame);
    if (t->c.diff_count == 0)
        differ_data(t, recorded->bytes, recorded->len_bytes, e->frame, (uint32_t)e->frame_bytes);
    tell(t, t->c.diff_count ? EXPLAIN_IWARP_REPLAY_DIFFERENT : EXPLAIN_IWARP_REPLAY_EQUAL);
}

/* --- messages --- */

/* siw copies no header where it does not look at one, and another MSN and MO. */
static bool is_about_same(const struct iwr_message *r, const struct iwr_message *g)
{
    const uint32_t at = IWARP_TERM_BYTES + IWARP_TERM_LENGTH_BYTES, sure = at + IWARP_CTRL_BYTES + 8;
    return r->len_bytes == IWARP_TERM_BYTES || (r->len_bytes >= sure && g->len_bytes >= sure &&
                                                memcmp(r->data + at, g->data + at, sure - at) == 0);
}

/* A Terminate: as siw writes it, with a code of its own, or another one. */
static enum explain_iwarp_replay_outcome compare_terms(struct telling *t, const struct iwr_message *r,
                                                       const struct iwr_message *g)
{
    struct iwarp_term recorded, engine, meant;
    if (r->len_bytes < IWARP_TERM_BYTES || g->len_bytes < IWARP_TERM_BYTES)
        return EXPLAIN_IWARP_REPLAY_DIFFERENT;
    iwarp_term_get(&recorded, r->data);
    iwarp_term_get(&engine, g->data);
    differ(t, "rdmap_term", "layer, etype and code", iwarp_term_value(&recorded), iwarp_term_value(&engine));
    differ_data(t, r->data, r->len_bytes, g->data, g->len_bytes);
    if (t->c.diff_count == 0)
        return EXPLAIN_IWARP_REPLAY_EQUAL;
    bool is_turned = iwarp_term_is_turned(&recorded, &meant);
    if (!is_about_same(r, g))
        return EXPLAIN_IWARP_REPLAY_DIFFERENT;
    if (!is_turned)
        meant = recorded;
    return iwarp_term_value(&meant) == iwarp_term_value(&engine) ? EXPLAIN_IWARP_REPLAY_TERMINATE
                                                                 : EXPLAIN_IWARP_REPLAY_CODE;
}

/* `is_rtr`: it is empty, and what names memory in it means nothing (IWARP-ECE-05). */
static enum explain_iwarp_replay_outcome compare_messages(struct telling *t, const struct iwr_message *r,
                                                          const struct iwr_message *g, bool is_rtr)
{
    uint32_t skip = r->opcode == IWARP_OP_READ_REQUEST ? SOURCE_AT : 0;
    differ(t, "ddp", "opcode", r->opcode, g->opcode);
    if (!is_rtr) {
        differ(t, "ddp_tagged", "stag", r->stag, g->stag);
        differ(t, "ddp_tagged", "to", r->to, g->to);
        differ(t, "ddp_untagged", "inv_stag", r->inv_stag, g->inv_stag);
    }
    differ(t, "ddp_untagged", "qn", r->qn, g->qn);
    differ(t, "ddp_untagged", "msn", r->msn, g->msn);
    if (!is_rtr && r->len_bytes >= skip && g->len_bytes >= skip)
        differ_data(t, r->data + skip, r->len_bytes - skip, g->data + skip, g->len_bytes - skip);
    if (t->c.diff_count || g->has_bad_crc)
        return EXPLAIN_IWARP_REPLAY_DIFFERENT;
    if (r->has_bad_crc)
        return EXPLAIN_IWARP_REPLAY_CRC;
    return r->segments == g->segments && r->longest == g->longest ? EXPLAIN_IWARP_REPLAY_EQUAL
                                                                  : EXPLAIN_IWARP_REPLAY_CUT;
}

static const char *name_of(uint8_t opcode)
{
    const struct iwarp_opcode *op = explain_iwr_opcode(opcode);
    return op ? op->name : "reserved opcode";
}

/* The engine has no message in the place of `r`. */
static enum explain_iwarp_replay_outcome lacks(const struct iwr_end *e, enum iwr_class class)
{
    bool has_heard = e->qp->session.is_initiator || e->qp->has_heard;
    return class == IWR_TERM && !has_heard ? EXPLAIN_IWARP_REPLAY_EARLY : EXPLAIN_IWARP_REPLAY_ONLY_RECORD;
}

static void compare_recorded(const struct iwr_end *e, enum iwr_class class, size_t i, struct telling *t)
{
    const struct iwr_message *r = &e->recorded.items[class][i];
    const struct iwr_message *g = i < e->engine.count[class] ? &e->engine.items[class][i] : NULL;
    t->c.message = name_of(r->opcode);
    t->c.number = r->number;
    t->c.cause = g ? g->cause : 0;
    if (!r->is_whole)
        tell(t, EXPLAIN_IWARP_REPLAY_UNKNOWN);
    else if (!g)
        tell(t, lacks(e, class));
    else if (class == IWR_TERM)
        tell(t, compare_terms(t, r, g));
    else
        tell(t, compare_messages(t, r, g, class == IWR_SOURCE && i < e->rtr));
}

static void compare_class(const struct iwr_end *e, enum iwr_class class, struct telling *t)
{
    for (size_t i = 0; i < e->recorded.count[class]; i++)
        compare_recorded(e, class, i, t);
    for (size_t i = e->recorded.count[class]; i < e->engine.count[class]; i++) {
        const struct iwr_message *g = &e->engine.items[class][i];
        t->c.message = name_of(g->opcode);
        t->c.number = 0;
        t->c.cause = g->cause;
        tell(t, class == IWR_ANSWER && e->fin_cause ? EXPLAIN_IWARP_REPLAY_OWED
                                                    : EXPLAIN_IWARP_REPLAY_ONLY_ENGINE);
    }
}

void explain_iwr_compare(const struct iwr_end *e, uint32_t connection,
                         const struct explain_iwarp_replay_config *config,
                         struct explain_iwarp_replay_result *result)
{
    struct telling t = {.config = config, .result = result, .c = {.connection = connection}};
    compare_frames(e, &t);
    for (unsigned class = 0; class < IWR_CLASS_COUNT; class ++)
        compare_class(e, class, &t);
}
