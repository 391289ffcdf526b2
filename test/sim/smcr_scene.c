/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/smcr_scene.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SMALL_BYTES 9000u
#define STUCK_NS    (100 * PAIR_S)

/* --- harm --- */

static void excuse(struct scene *s)
{
    for (unsigned i = 0; i < s->num_conns; i++)
        if (!s->conn[i].c || !pair_is_established(s->conn[i].c) || !watch_has_link(&s->conn[i].c->end[0]))
            s->conn[i].excused = true;
}

static bool is_moment(const struct scene_moment *m, bool is_clc, bool on_rx, bool response, unsigned node,
                      uint8_t type, unsigned k)
{
    return m->k == k && m->is_clc == is_clc && m->on_rx == on_rx && m->response == response &&
           m->node == node && m->type == type;
}

static void on_trace(void *ctx, struct pair_node *node, const struct smcr_trace *t)
{
    struct scene *s = ctx;
    bool is_clc = t->type == SMCR_TRACE_CLC_TX || t->type == SMCR_TRACE_CLC_RX;
    bool on_rx = t->type == SMCR_TRACE_CLC_RX || t->type == SMCR_TRACE_LLC_RX || t->type == SMCR_TRACE_CDC_RX;
    if (t->type > SMCR_TRACE_CDC_RX || !t->message)
        return;
    uint8_t type = t->message[is_clc ? 4 : 0];
    bool response = !is_clc && type != SMCR_CDC && t->message[3] & 0x80;
    unsigned k = ++s->seen[is_clc][on_rx][response][node->index][type];
    const struct scene_harm *h = &s->harm;
    if (s->done || !is_moment(&h->when, is_clc, on_rx, response, node->index, type, k))
        return;
    s->done = true;
    pair_cut(s->pair, h->node, h->port, h->noticed);
    excuse(s);
    s->restore_at_ns = s->pair->now_ns + h->restore_ns;
    s->pair->app_next_ns = s->restore_at_ns;
}

static bool app(void *ctx, struct pair *pair)
{
    struct scene *s = ctx;
    if (s->restore_at_ns == 0 || s->restore_at_ns > pair->now_ns)
        return false;
    s->restore_at_ns = 0;
    pair->app_next_ns = 0;
    pair_restore(pair, s->harm.node, s->harm.port);
    return true;
}

/* --- acts --- */

static bool has_outcome(const struct pair_end *end)
{
    struct smcr_conn_status st;
    if (!end->conn)
        return true;
    smcr_conn_status(end->conn, &st);
    return st.established || st.fallback || st.error;
}

static bool opened(void *ctx, struct pair *pair)
{
    const struct pair_conn *c = ctx;
    (void)pair;
    return has_outcome(&c->end[0]) && has_outcome(&c->end[1]);
}

static struct scene_conn *act_open(struct scene *s, unsigned client, uint32_t rcvbuf_bytes)
{
    struct scene_conn *sc = &s->conn[s->num_conns++];
    s->pair->config.rcvbuf_bytes[0] = s->pair->config.rcvbuf_bytes[1] = rcvbuf_bytes;
    for (unsigned n = 0; n < 2; n++)
        for (unsigned p = 0; p < s->pair->node[n].num_ports; p++)
            sc->excused |= s->pair->node[n].port[p].cut;
    sc->c = pair_open(s->pair, client);
    if (!pair_run_until(s->pair, opened, sc->c, 30 * PAIR_S))
        pair_fail(s->pair, "connection %u: the handshake has no end", sc->c->id);
    sc->broken = !pair_is_established(sc->c);
    return sc;
}

struct moving {
    struct pair_end *from;
    uint64_t upto;
    bool broken;
};

static bool moved(void *ctx, struct pair *pair)
{
    struct moving *m = ctx;
    (void)pair;
    ssize_t sent = m->from->tx_pos < m->upto ? pair_pump(m->from, m->upto - m->from->tx_pos, 0) : -EAGAIN;
    ssize_t got = pair_drain(pair_other(m->from), SIZE_MAX / 2);
    m->broken = (sent < 0 && sent != -EAGAIN) || (got <= 0 && got != -EAGAIN);
    return m->broken || pair_other(m->from)->rx_pos >= m->upto;
}

static void act_transfer(struct scene *s, struct scene_conn *sc, unsigned from, uint64_t n)
{
    struct moving m = {.from = &sc->c->end[from], .upto = sc->c->end[from].tx_pos + n};
    if (sc->broken)
        return;
    /* reading makes room at the peer: what one call leaves the next one moves */
    if (!pair_run_until(s->pair, moved, &m, STUCK_NS))
        pair_fail(s->pair, "connection %u: %" PRIu64 " of %" PRIu64 " bytes came", sc->c->id,
                  pair_other(m.from)->rx_pos, m.upto);
    sc->broken = m.broken;
}

static bool gone(void *ctx, struct pair *pair)
{
    (void)pair;
    return pair_is_over(ctx);
}

static void act_close(struct scene *s, struct scene_conn *sc, unsigned first)
{
    if (!sc->broken && sc->c->end[first].conn) {
        smcr_conn_shutdown_write(sc->c->end[first].conn, s->pair->now_ns);
        pair_run_for(s->pair, PAIR_MS);
        pair_close(&sc->c->end[!first]);
        pair_run_for(s->pair, PAIR_MS);
    }
    pair_close(&sc->c->end[first]);
    pair_close(&sc->c->end[!first]);
    if (!pair_run_until(s->pair, gone, sc->c, STUCK_NS))
        pair_fail(s->pair, "connection %u does not end", sc->c->id);
}

static void judge(struct scene *s)
{
    for (unsigned i = 0; i < s->num_conns && !s->harm.no_memory; i++)
        if (s->conn[i].broken && !s->conn[i].excused)
            pair_fail(s->pair, "connection %u ended abnormally, though a link was left", i);
}

/* As much as the ports allow. */
static bool is_redundant(void *ctx, struct pair *pair)
{
    bool may_be_symmetric = pair->node[0].num_ports > 1 && pair->node[1].num_ports > 1;
    (void)ctx;
    for (unsigned n = 0; n < 2; n++)
        for (const struct smcr_group *g = pair->node[n].smcr->groups; g; g = g->next) {
            enum smcr_redundancy r = smcr_group_redundancy(g);
            if (g->state == SMCR_GROUP_USABLE && (may_be_symmetric ? r != SMCR_SYMMETRIC : r <= SMCR_SINGLE))
                return false;
        }
    return true;
}

static bool no_groups(void *ctx, struct pair *pair)
{
    (void)ctx;
    return pair->node[0].smcr->num_groups == 0 && pair->node[1].smcr->num_groups == 0;
}

/* Whatever was before: a connection comes about, with two links, and the other groups have theirs again. */
static void act_aftermath(struct scene *s)
{
    pair_run_for(s->pair, 4 * PAIR_S);
    struct scene_conn *sc = act_open(s, 0, 0);
    act_transfer(s, sc, 0, SMALL_BYTES);
    if (sc->broken && sc->excused) { /* the port died right now */
        pair_run_for(s->pair, 10 * PAIR_S);
        sc = act_open(s, 0, 0);
        act_transfer(s, sc, 0, SMALL_BYTES);
    }
    if (sc->broken)
        pair_fail(s->pair, "no connection is possible any more");
    if (!pair_run_until(s->pair, is_redundant, NULL, 330 * PAIR_S))
        pair_fail(s->pair, "redundancy was not regained (SMCR-REC-30)");
    act_close(s, sc, 0);
}

static void act_end(struct scene *s)
{
    struct pair *pair = s->pair;
    for (unsigned i = 0; i < s->num_conns; i++)
        act_close(s, &s->conn[i], i % 2);
    smcr_retire(pair->node[0].smcr, pair->now_ns);
    smcr_retire(pair->node[1].smcr, pair->now_ns);
    if (!pair_run_until(pair, no_groups, NULL, 60 * PAIR_S))
        pair_fail(pair, "groups stay: %u and %u", pair->node[0].smcr->num_groups,
                  pair->node[1].smcr->num_groups);
    for (unsigned n = 0; n < 2; n++)
        if (pair_held(&pair->node[n]) != 0)
            pair_fail(pair, "node %u holds %d allocations more than at its start", n,
                      pair_held(&pair->node[n]));
}

/* Arms the allocation that fails, or disarms it and counts. */
static void arm_memory(struct scene *s, bool on)
{
    for (unsigned i = 0; i < 4; i++) {
        struct pair_node *node = &s->pair->node[i & 1];
        struct test_alloc *alloc = i & 2 ? &node->dev_alloc : &node->alloc;
        bool chosen = s->harm.no_memory && s->harm.node == (i & 1) && s->harm.in_device == (i >> 1);
        s->calls[i & 1][i >> 1] = alloc->calls - s->calls[i & 1][i >> 1];
        alloc->fail_at = on && chosen ? alloc->calls + s->harm.no_memory : 0;
    }
}

void scene_play(struct scene *s, const struct pair_config *config, const struct scene_harm *harm)
{
    memset(s, 0, sizeof *s);
    s->pair = pair_new(config);
    s->harm = *harm;
    watch_init(&s->watch, s->pair);
    s->watch.also = on_trace;
    s->watch.also_ctx = s;
    s->pair->app = app;
    s->pair->app_ctx = s;
    arm_memory(s, true);
    unsigned last = config->ports[0] - 1;
    struct scene_conn *a = act_open(s, 0, 0);
    act_transfer(s, a, 0, SMALL_BYTES);
    act_transfer(s, a, 1, 40000);
    struct scene_conn *b = act_open(s, 0, 100000); /* another RMB: CONFIRM RKEY both ways */
    act_transfer(s, b, 0, 30000);
    struct scene_conn *c = act_open(s, 1, 0); /* a group with the roles swapped */
    act_transfer(s, c, 1, SMALL_BYTES);
    act_close(s, b, 1);
    pair_run_for(s->pair, 3 * PAIR_S); /* DELETE RKEY, TEST LINK */
    pair_cut(s->pair, 0, last, true);
    excuse(s);
    act_transfer(s, a, 0, SMALL_BYTES);
    act_transfer(s, c, 0, SMALL_BYTES);
    pair_restore(s->pair, 0, last);
    pair_run_for(s->pair, 3 * PAIR_S);
    act_transfer(s, a, 1, SMALL_BYTES);
    if (!a->broken && a->c->end[0].conn)
        smcr_conn_abort(a->c->end[0].conn, s->pair->now_ns);
    a->broken = a->excused = true;
    act_close(s, a, 0);
    arm_memory(s, false);
    act_aftermath(s);
    act_transfer(s, c, 1, SMALL_BYTES);
    act_end(s);
    judge(s);
    const char *why = pair_free(s->pair);
    snprintf(s->failure, sizeof s->failure, "%s", why ? why : "");
}
