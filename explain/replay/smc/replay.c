/* SPDX-License-Identifier: BSD-2-Clause */
/* The replay as a whole: the capture is played to the rebuilt peer of SMC-R. */
#include "explain/replay/smc/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/smc/clc.h"
#include "explain/replay/smc/engine.h"
#include "explain/replay/smc/learn.h"
#include "explain/replay/smc/match.h"
#include "explain/replay/smc/messages.h"
#include "explain/replay/smc/who.h"
#include "explain/replay/smc/writes.h"
#include "explain/replay/tape.h"

const struct explain_outcome *explain_smc_replay_outcome_of(enum explain_smc_replay_outcome outcome)
{
    static const struct explain_outcome outcomes[] = {
#define ROW(id, key, fails, words) {key, words, fails},
        EXPLAIN_SMC_REPLAY_OUTCOMES(ROW)
#undef ROW
    };
    return &outcomes[outcome];
}

static bool is_rebuilt(const struct smcplay_conn *c)
{
    return c->is_own_known && !c->is_older;
}

static void play_tcp(struct smcplay *s, size_t i, const struct explain_packet *p)
{
    struct explain_segment g;
    bool is_own;
    if (!explain_segment_get(&g, p))
        return;
    struct smcplay_conn *c = smcplay_conn_of(s, &g, &is_own);
    if (!c || !is_rebuilt(c) || i < c->clc.proposal)
        return;
    smcplay_clc(s, i, p, c, is_own);
    if (is_own || !c->engine.conn || !(g.control.fin || g.control.rst))
        return;
    s->cause = p->number;
    smcr_conn_tcp_end(c->engine.conn, g.control.rst ? SMCR_TCP_RST : SMCR_TCP_FIN, s->now_ns);
    smcplay_engine_work(s);
}

static void play(struct smcplay *s, size_t i)
{
    struct explain_packet p;
    bool is_own;
    s->at = i;
    explain_tape_packet(s->tape, i, &p);
    smcplay_engine_advance(s, p.time_ns + s->skew_ns);
    if (p.kind == EXPLAIN_SMC_TCP || p.kind == EXPLAIN_OTHER) {
        play_tcp(s, i, &p);
        return;
    }
    if (p.kind != EXPLAIN_ROCE || p.verdict != ROCE_RX_TAKEN || p.cut.is_end)
        return;
    struct smcplay_link *l = smcplay_link_of(s, &p.roce, &is_own);
    if (l && is_own)
        smcplay_sent(s, l, &p);
    else if (l)
        smcplay_got(s, l, i, &p);
}

/* What the engine sent and nothing was compared with. After the last packet that it got a capture may
 * simply end. */
static enum explain_smc_replay_outcome outcome_of_rest(struct smcplay *s, const struct smcplay_message *m)
{
    struct smcr_cdc cdc;
    smcr_cdc_get(&cdc, m->bytes);
    const struct smcplay_conn *c =
        cdc.type == SMCR_CDC ? smcplay_conn_by_peer_token(s, cdc.alert_token, s->tape->count) : NULL;
    const struct smcplay_cdc *last = c && c->cdc.count ? &c->cdc.list[c->cdc.count - 1] : NULL;
    if (m->cause == s->cause)
        return EXPLAIN_SMC_REPLAY_AFTER_END;
    bool is_told = last && !m->is_misplaced && c->engine.image.position <= last->produced &&
                   cdc.sending_done <= last->cdc.sending_done && !cdc.abnormal_close &&
                   cdc.connection_closed <= last->cdc.connection_closed;
    return is_told ? EXPLAIN_SMC_REPLAY_UPDATE_ENGINE : EXPLAIN_SMC_REPLAY_ONLY_ENGINE;
}

/* However the streams were cut, in the end the engine has told of as many bytes. */
static void check_end(struct smcplay *s, struct smcplay_conn *c)
{
    const struct smcplay_cdc *last = c->cdc.count ? &c->cdc.list[c->cdc.count - 1] : NULL;
    bool is_short =
        last && c->engine.is_begun && !c->stream.is_broken && c->engine.image.position < last->produced;
    if (!is_short)
        return;
    struct explain_smc_compared told = {.number = s->tape->packets[last->packet].number,
                                        .message = "CDC",
                                        .connection = c->index,
                                        .diff_count = 1};
    told.diffs[0] = (struct explain_field_diff){.layer = "stream", .field = "bytes"};
    snprintf(told.diffs[0].recorded, sizeof told.diffs[0].recorded, "%" PRIu64, last->produced);
    snprintf(told.diffs[0].engine, sizeof told.diffs[0].engine, "%" PRIu64, c->engine.image.position);
    smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_DIFFERENT);
}

static void tell_rest(struct smcplay *s)
{
    for (unsigned i = 0; i < s->link_count; i++) {
        struct smcplay_link *l = &s->links[i];
        for (const struct smcplay_message *m = l->first; m; m = m->next) {
            struct explain_smc_compared told = {.cause = m->cause,
                                                .message = smcplay_message_name(m->bytes),
                                                .link = smcplay_link_number(s, l)};
            smcplay_tell(s, &told, outcome_of_rest(s, m));
        }
    }
    for (unsigned i = 0; i < s->conn_count; i++) {
        struct smcplay_conn *c = &s->conns[i];
        struct explain_smc_compared told = {.cause = s->cause, .message = "CLC", .connection = c->index};
        if (c->sent_bytes)
            smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_AFTER_END);
        check_end(s, c);
    }
}

static void count(struct smcplay *s)
{
    for (unsigned i = 0; i < s->conn_count; i++) {
        const struct smcplay_conn *c = &s->conns[i];
        s->result->version_2 += is_rebuilt(c) && c->is_version_2;
        s->result->older += c->is_own_known && c->is_older;
    }
    s->result->ports = s->port_count;
}

static void free_all(struct smcplay *s)
{
    for (unsigned i = 0; i < s->link_count; i++) {
        struct smcplay_link *l = &s->links[i];
        while (l->first) {
            struct smcplay_message *m = l->first;
            l->first = m->next;
            free(m);
        }
        smcplay_writes_free(&l->recorded);
        smcplay_writes_free(&l->written);
    }
    for (unsigned i = 0; i < s->conn_count; i++) {
        struct smcplay_conn *c = &s->conns[i];
        smcplay_image_free(&c->image);
        smcplay_image_free(&c->engine.image);
        free(c->stream.bytes);
        free(c->cdc.list);
    }
    free(s->keys);
    free(s->rmbs);
    free(s->links);
    free(s->conns);
}

static int run(struct smcplay *s, struct nornic_error *why)
{
    if (s->port_count == 0) /* nothing to rebuild */
        return 0;
    s->now_ns = s->tape->count ? s->tape->packets[0].time_ns : 0;
    int err = smcplay_engine_open(s);
    if (err)
        net_error_set(why, -err, "the peer of SMC-R cannot be rebuilt: %s", strerror(-err));
    for (size_t i = 0; i < s->tape->count && !err && !s->is_out_of_memory; i++)
        play(s, i);
    if (!err && s->is_out_of_memory)
        err = net_error_set(why, ENOMEM, "no memory for the messages of SMC-R");
    if (!err)
        tell_rest(s);
    smcplay_engine_close(s);
    return err;
}

int explain_smc_replay(const struct explain_tape *tape, const struct nornic_addr *addr,
                       const struct explain_smc_replay_config *config,
                       struct explain_smc_replay_result *result, struct nornic_error *why)
{
    struct smcplay s = {.tape = tape, .config = config, .result = result};
    *result = (struct explain_smc_replay_result){0};
    s.links = calloc(SMCPLAY_LINKS_MAX, sizeof *s.links);
    s.conns = calloc(SMCPLAY_CONNS_MAX, sizeof *s.conns);
    int err = s.links && s.conns ? smcplay_learn(&s, addr, why)
                                 : net_error_set(why, ENOMEM, "no memory for the connections of SMC-R");
    count(&s);
    if (!err)
        err = run(&s, why);
    free_all(&s);
    return err;
}
