/* SPDX-License-Identifier: BSD-2-Clause */
/* What is remembered of SMC-R, and how it is found again. */
#include "explain/smc/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct smc_group *explain_smc_group_of(struct explain_smc *w, uint32_t id)
{
    struct smc_group *g = &w->groups[id % SMC_GROUPS_MAX];
    return id && g->id == id ? g : NULL;
}

struct smc_conn *explain_smc_conn_of(struct explain_smc *w, uint32_t id)
{
    struct smc_conn *c = &w->conns[id % SMC_CONNS_MAX];
    return id && c->id == id ? c : NULL;
}

struct smc_group *explain_smc_group_new(struct explain_smc *w)
{
    struct smc_group *g = &w->groups[(w->group_count + 1) % SMC_GROUPS_MAX];
    struct smc_rmb *rmbs[2] = {g->rmbs[0], g->rmbs[1]};
    for (unsigned side = 0; side < 2; side++) {
        if (rmbs[side])
            memset(rmbs[side], 0, SMC_RMBS_MAX * sizeof *rmbs[side]);
        else
            rmbs[side] = calloc(SMC_RMBS_MAX, sizeof *rmbs[side]);
    }
    *g = (struct smc_group){.rmbs = {rmbs[0], rmbs[1]}};
    if (!rmbs[0] || !rmbs[1])
        return NULL;
    g->id = g->shown.id = ++w->group_count;
    w->links_version++;
    return g;
}

static struct smc_conn **bucket_of(struct explain_smc *w, uint32_t group, unsigned side, uint32_t token)
{
    return &w->buckets[side][hash_keyed_word(group, token) % SMC_BUCKETS];
}

static void take_out(struct explain_smc *w, struct smc_conn *c, unsigned side)
{
    struct smc_conn **at = bucket_of(w, c->group, side, c->half[side].token);
    while (*at && *at != c)
        at = &(*at)->next[side];
    if (*at)
        *at = c->next[side];
}

struct smc_conn *explain_smc_conn_new(struct explain_smc *w)
{
    struct smc_conn *c = &w->conns[(w->conn_count + 1) % SMC_CONNS_MAX];
    for (unsigned side = 0; c->id && side < 2; side++)
        take_out(w, c, side);
    *c = (struct smc_conn){.id = ++w->conn_count};
    c->shown.id = c->id;
    return c;
}

void explain_smc_conn_index(struct explain_smc *w, struct smc_conn *c)
{
    for (unsigned side = 0; side < 2; side++) {
        struct smc_conn **bucket = bucket_of(w, c->group, side, c->half[side].token);
        c->next[side] = *bucket;
        *bucket = c;
    }
}

struct smc_conn *explain_smc_conn_by_token(struct explain_smc *w, uint32_t group, unsigned side,
                                           uint32_t token)
{
    struct smc_conn *c = *bucket_of(w, group, side, token);
    while (c && (c->group != group || c->half[side].token != token))
        c = c->next[side];
    return c;
}

void explain_smc_note_lack(struct explain_smc *w)
{
    w->is_clc_holey = true;
}

bool explain_smc_has_gap(const struct smc_group *g, unsigned side)
{
    for (unsigned i = 0; i < SMC_LINKS_MAX; i++)
        if (g->links[i].has_gap[side] && g->links[i].state != SMC_LINK_GONE)
            return true;
    return false;
}

bool explain_smc_may_lack(const struct smc_group *g)
{
    return g->is_partial || g->lost[0] || g->lost[1] || explain_smc_has_gap(g, 0) ||
           explain_smc_has_gap(g, 1);
}

bool explain_smc_may_lack_conns(const struct explain_smc *w, const struct smc_group *g)
{
    bool is_open = false;
    for (unsigned i = 0; i < SMC_HANDSHAKES_MAX && !is_open; i++)
        is_open = w->handshakes[i].number && w->handshakes[i].last != SMCR_CLC_CONFIRM;
    return w->is_clc_holey || explain_smc_may_lack(g) || is_open;
}

static bool is_on(const struct smc_link *l, unsigned side, const struct roce_pkt *pkt)
{
    return l->qpn[!side] == pkt->bth.dest_qpn && nornic_addr_equal(&l->gid[!side], &pkt->dst) &&
           nornic_addr_equal(&l->gid[side], &pkt->src);
}

static bool is_of_earlier(const struct smc_link *l, const struct explain_pair *pair)
{
    return l->flow && l->flow != pair->index && pair->shown.earlier;
}

bool explain_smc_link_of(const struct smc_view *v, struct smc_group **group, unsigned *link, unsigned *side)
{
    const struct roce_pkt *pkt = &v->packet->roce;
    struct explain_smc *w = v->w;
    uint32_t oldest = w->group_count > SMC_GROUPS_MAX ? w->group_count - SMC_GROUPS_MAX : 0;
    for (uint32_t id = w->group_count; id > oldest; id--) { /* the newest first: QPNs come again */
        struct smc_group *g = &w->groups[id % SMC_GROUPS_MAX];
        for (unsigned i = 0; i < SMC_LINKS_MAX; i++) {
            const struct smc_link *l = &g->links[i];
            if (l->state == SMC_LINK_FREE || !(is_on(l, 0, pkt) || is_on(l, 1, pkt)) ||
                is_of_earlier(l, v->pair))
                continue;
            *group = g;
            *link = i;
            *side = !is_on(l, 0, pkt);
            return true;
        }
    }
    return false;
}

unsigned explain_smc_link_by_number(const struct smc_group *g, uint8_t number)
{
    for (unsigned i = 0; i < SMC_LINKS_MAX; i++)
        if (number && g->links[i].number == number && g->links[i].state != SMC_LINK_FREE &&
            g->links[i].state != SMC_LINK_GONE)
            return i;
    return SMC_LINKS_MAX;
}

unsigned explain_smc_link_free(struct smc_group *g)
{
    unsigned gone = SMC_LINKS_MAX;
    for (unsigned i = 0; i < SMC_LINKS_MAX; i++) {
        if (g->links[i].state == SMC_LINK_FREE)
            return i;
        gone = g->links[i].state == SMC_LINK_GONE ? i : gone;
    }
    if (gone == SMC_LINKS_MAX)
        return gone;
    g->links[gone] = (struct smc_link){0};
    for (unsigned side = 0; side < 2; side++) /* its RTokens went with it */
        for (unsigned i = 0; i < SMC_RMBS_MAX; i++)
            g->rmbs[side][i].on[gone].is_known = false;
    return gone;
}

unsigned explain_smc_rmb_by_rkey(const struct smc_group *g, unsigned side, unsigned link, uint32_t rkey)
{
    for (unsigned i = 0; i < g->rmb_top[side]; i++) {
        const struct smc_rmb *r = &g->rmbs[side][i];
        if (r->is_used && r->on[link].is_known && r->on[link].rkey == rkey)
            return i;
    }
    return SMC_RMBS_MAX;
}

unsigned explain_smc_rmb_know(struct smc_group *g, unsigned side, unsigned link, uint32_t rkey, uint64_t va)
{
    unsigned i = explain_smc_rmb_by_rkey(g, side, link, rkey);
    if (i < SMC_RMBS_MAX) {
        g->rmbs[side][i].on[link].va = va;
        return i;
    }
    for (i = 0; i < SMC_RMBS_MAX && g->rmbs[side][i].is_used; i++) {
    }
    if (i == SMC_RMBS_MAX)
        return i;
    g->rmbs[side][i].is_used = true;
    g->rmbs[side][i].on[link] = (struct smc_rtoken){.is_known = true, .rkey = rkey, .va = va};
    g->shown.rmbs[side]++;
    g->rmb_top[side] = i + 1 > g->rmb_top[side] ? i + 1 : g->rmb_top[side];
    return i;
}

/* --- words --- */

void explain_smc_say(struct smc_view *v, const char *format, ...)
{
    size_t used = strlen(v->m->words);
    va_list args;
    va_start(args, format);
    vsnprintf(v->m->words + used, sizeof v->m->words - used, format, args);
    va_end(args);
}
