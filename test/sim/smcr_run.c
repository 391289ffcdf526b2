/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/smcr_run.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/seeds.h"

/* --- troubles --- */

/* After a port died: who may end abnormally or in TCP now. */
static void excuse(struct smcr_run *run)
{
    for (unsigned i = 0; i < run->plan.num_conns; i++) {
        struct pair_conn *c = run->conn[i];
        if (c && pair_is_established(c) && watch_has_link(&c->end[0]))
            continue;
        run->side[i][0].excused = run->side[i][1].excused = true;
    }
}

static bool make_trouble(struct smcr_run *run)
{
    struct pair *pair = run->pair;
    bool did = false;
    while (run->next_trouble < run->plan.num_troubles &&
           run->start_ns + run->plan.trouble[run->next_trouble].at_ns <= pair->now_ns) {
        const struct smcr_trouble *t = &run->plan.trouble[run->next_trouble++];
        struct test_alloc *alloc = &pair->node[t->node].alloc;
        switch (t->kind) {
        case SMCR_TROUBLE_CUT:
            pair_cut(pair, t->node, t->port, t->noticed);
            excuse(run);
            break;
        case SMCR_TROUBLE_RESTORE:
            pair_restore(pair, t->node, t->port);
            break;
        case SMCR_TROUBLE_NOMEM:
            alloc->fail_at = alloc->calls + t->count;
            break;
        }
        did = true;
    }
    return did;
}

/* --- programs --- */

static void see_error(struct smcr_side *side, ssize_t got)
{
    if (got < 0 && got != -EAGAIN && !side->error)
        side->error = (int)got;
}

static bool write_some(struct smcr_run *run, struct pair_end *end, const struct smcr_side_plan *p,
                       struct smcr_side *side)
{
    if (side->shut || end->tx_pos >= p->bytes)
        return false;
    uint64_t left = p->bytes - end->tx_pos, n = 1 + test_random_below(&run->random, p->write_max);
    bool last = n >= left;
    unsigned flags = !last && test_random_chance(&run->random, p->more_ppm) ? SMCR_SEND_MORE : 0;
    if (test_random_chance(&run->random, p->urgent_ppm)) {
        struct watch_end *w = watch_of(&run->watch, end);
        flags = SMCR_SEND_URGENT;
        if (w)
            w->urgent = true;
    }
    ssize_t got = pair_pump(end, last ? left : n, flags);
    see_error(side, got);
    return got > 0;
}

static bool read_some(struct smcr_run *run, struct pair_end *end, const struct smcr_side_plan *p,
                      struct smcr_side *side)
{
    if (end->eof)
        return false;
    ssize_t got = pair_drain(end, 1 + test_random_below(&run->random, p->read_max));
    see_error(side, got);
    return got > 0 || end->eof;
}

static void shut_down(struct pair_end *end, struct smcr_side *side)
{
    struct smcr_conn_status status;
    side->shut = true;
    smcr_conn_status(end->conn, &status);
    if (status.fallback)
        pair_tcp_fin(end);
    else
        smcr_conn_shutdown_write(end->conn, end->pair->now_ns);
}

static void close_side(struct pair_end *end, struct smcr_side *side)
{
    side->closed = true;
    pair_close(end);
}

/* An RST that comes from the network; on plain TCP it ends both ends. */
static void be_reset(struct pair_end *end, bool is_fallback)
{
    pair_tcp_rst(end);
    if (is_fallback)
        pair_tcp_rst(pair_other(end));
}

static bool end_it(struct pair_end *end, const struct smcr_side_plan *p, uint64_t peer_bytes,
                   struct smcr_side *side, bool is_fallback)
{
    bool written = end->tx_pos >= p->bytes;
    bool enough =
        end->tx_pos + end->rx_pos >= p->ending_after || (written && (end->eof || end->rx_pos == peer_bytes));
    switch (p->ending) {
    case SMCR_END_DRAINED:
        if (written && !side->shut && end->node == 0)
            shut_down(end, side); /* one of the two has to be first */
        if (!written || !end->eof)
            return false;
        break;
    case SMCR_END_HALF:
        if (written && !side->shut)
            shut_down(end, side);
        if (!written || !end->eof)
            return false;
        break;
    case SMCR_END_AT_ONCE:
        if (!written)
            return false;
        break;
    case SMCR_END_ABORT:
        if (!enough)
            return false;
        if (is_fallback)
            be_reset(end, true);
        else
            smcr_conn_abort(end->conn, end->pair->now_ns);
        break;
    case SMCR_END_RST:
        if (!enough)
            return false;
        if (!side->rst)
            be_reset(end, is_fallback); /* then the program sees the error, and leaves */
        side->rst = true;
        return false;
    case SMCR_END_COUNT:
        break;
    }
    close_side(end, side);
    return true;
}

static bool act(struct smcr_run *run, unsigned i, unsigned node)
{
    struct pair_end *end = &run->conn[i]->end[node];
    const struct smcr_side_plan *p = &run->plan.conn[i].side[node];
    struct smcr_side *side = &run->side[i][node];
    struct smcr_conn_status status;
    if (side->closed || !end->conn || side->wake_ns > run->pair->now_ns)
        return false;
    smcr_conn_status(end->conn, &status);
    if (status.error && !side->error)
        side->error = status.error;
    if (status.fallback && end->rst_seen && !side->error)
        side->error = -ECONNRESET;
    if (side->error) {
        close_side(end, side);
        return true;
    }
    if (!status.established && !status.fallback)
        return false;
    bool did = write_some(run, end, p, side);
    did |= read_some(run, end, p, side);
    if (side->error)
        return true;
    if (test_random_chance(&run->random, p->pause_ppm))
        side->wake_ns = run->pair->now_ns + test_random_between(&run->random, 1, p->pause_ns);
    return end_it(end, p, run->plan.conn[i].side[!node].bytes, side, status.fallback) || did;
}

/* --- the whole --- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static void open_conn(struct smcr_run *run, unsigned i)
{
    struct pair *pair = run->pair;
    const struct smcr_conn_plan *p = &run->plan.conn[i];
    bool any_cut = false;
    memcpy(pair->config.rcvbuf_bytes, p->rcvbuf_bytes, sizeof p->rcvbuf_bytes);
    memcpy(pair->config.sndbuf_bytes, p->sndbuf_bytes, sizeof p->sndbuf_bytes);
    run->conn[i] = pair_open(pair, p->client);
    for (unsigned n = 0; n < 2; n++) /* so that the streams are whole */
        if (run->conn[i]->end[n].conn)
            smcr_conn_set_urgent_inline(run->conn[i]->end[n].conn, true);
    for (unsigned n = 0; n < 2; n++)
        for (unsigned q = 0; q < pair->node[n].num_ports; q++)
            any_cut |= pair->node[n].port[q].cut;
    run->side[i][0].excused = run->side[i][1].excused = any_cut;
}

static bool app(void *ctx, struct pair *pair)
{
    struct smcr_run *run = ctx;
    bool did = make_trouble(run);
    uint64_t next_ns = 0;
    for (unsigned i = 0; i < run->plan.num_conns; i++) {
        uint64_t open_ns = run->start_ns + run->plan.conn[i].open_ns;
        if (!run->conn[i] && open_ns <= pair->now_ns) {
            open_conn(run, i);
            did = true;
        }
        if (!run->conn[i]) {
            next_ns = sooner(next_ns, open_ns);
            continue;
        }
        did |= act(run, i, 0);
        did |= act(run, i, 1);
        for (unsigned n = 0; n < 2; n++)
            if (run->side[i][n].wake_ns > pair->now_ns && !run->side[i][n].closed)
                next_ns = sooner(next_ns, run->side[i][n].wake_ns);
    }
    if (run->next_trouble < run->plan.num_troubles)
        next_ns = sooner(next_ns, run->start_ns + run->plan.trouble[run->next_trouble].at_ns);
    pair->app_next_ns = next_ns;
    if (!did)
        watch_states(&run->watch);
    return did;
}

static bool all_over(void *ctx, struct pair *pair)
{
    struct smcr_run *run = ctx;
    (void)pair;
    for (unsigned i = 0; i < run->plan.num_conns; i++)
        if (!run->conn[i] || !pair_is_over(run->conn[i]))
            return false;
    return run->next_trouble == run->plan.num_troubles;
}

static bool is_orderly(enum smcr_ending ending)
{
    return ending == SMCR_END_DRAINED || ending == SMCR_END_HALF;
}

/* An abnormal end inside a first contact takes the group with it, and who waits for it goes on over TCP; so
 * does who waits for an RKEY exchange while links are replaced again and again. */
static bool may_fall_back(const struct smcr_run *run)
{
    if (run->plan.num_troubles > 0)
        return true;
    for (unsigned i = 0; i < run->plan.num_conns; i++)
        for (unsigned n = 0; n < 2; n++)
            if (!is_orderly(run->plan.conn[i].side[n].ending))
                return true;
    return false;
}

static void judge_conn(struct smcr_run *run, unsigned i)
{
    const struct smcr_conn_plan *p = &run->plan.conn[i];
    struct pair_conn *c = run->conn[i];
    bool harmless = is_orderly(p->side[0].ending) && is_orderly(p->side[1].ending) &&
                    !run->plan.resets_allowed && !run->side[i][0].excused;
    bool ended_badly = run->side[i][0].error || run->side[i][1].error;
    run->resets += ended_badly;
    for (unsigned n = 0; n < 2; n++) {
        struct pair_end *end = &c->end[n];
        run->bytes += end->rx_pos;
        run->fallbacks += (end->events & SMCR_EVENT_FALLBACK) != 0;
        if (!harmless)
            continue;
        if (run->side[i][n].error)
            pair_fail(run->pair, "connection %u, node %u: error %d without cause", i, n,
                      run->side[i][n].error);
        else if (end->rx_pos != p->side[!n].bytes)
            pair_fail(run->pair, "connection %u, node %u: got %" PRIu64 " of %" PRIu64 " bytes", i, n,
                      end->rx_pos, p->side[!n].bytes);
        else if (end->events & SMCR_EVENT_FALLBACK && !may_fall_back(run))
            pair_fail(run->pair, "connection %u, node %u: fell back without cause", i, n);
    }
    if (p->side[0].ending < SMCR_END_AT_ONCE && p->side[1].ending < SMCR_END_AT_ONCE && !ended_badly)
        for (unsigned n = 0; n < 2; n++)
            if (c->end[n].rx_pos != p->side[!n].bytes)
                pair_fail(run->pair, "connection %u, node %u: an orderly end after %" PRIu64 " of %" PRIu64,
                          i, n, c->end[n].rx_pos, p->side[!n].bytes);
}

static void describe_stuck(struct smcr_run *run)
{
    for (unsigned i = 0; i < run->plan.num_conns; i++)
        for (unsigned n = 0; n < 2 && run->conn[i]; n++) {
            const struct pair_end *e = &run->conn[i]->end[n];
            if (e->conn)
                pair_fail(run->pair,
                          "connection %u, node %u is stuck in %s: wrote %" PRIu64 " of %" PRIu64
                          ", read %" PRIu64 "%s",
                          i, n, smcr_conn_state_name(e->conn->state), e->tx_pos,
                          run->plan.conn[i].side[n].bytes, e->rx_pos, e->given_back ? ", given back" : "");
        }
    pair_fail(run->pair, "does not end");
}

static bool no_groups(void *ctx, struct pair *pair)
{
    (void)ctx;
    return pair->node[0].smcr->num_groups == 0 && pair->node[1].smcr->num_groups == 0;
}

static void judge_rest(struct smcr_run *run)
{
    struct pair *pair = run->pair;
    for (unsigned n = 0; n < 2; n++) {
        run->failovers += smcr_counters(pair->node[n].smcr)->failovers;
        smcr_retire(pair->node[n].smcr, pair->now_ns);
    }
    if (!pair_run_until(pair, no_groups, NULL, 60 * PAIR_S))
        pair_fail(pair, "groups stay after both have retired: %u and %u", pair->node[0].smcr->num_groups,
                  pair->node[1].smcr->num_groups);
    for (unsigned n = 0; n < 2; n++) {
        const struct pair_node *node = &pair->node[n];
        if (node->smcr->num_conns != 0)
            pair_fail(pair, "node %u still has %u connections", n, node->smcr->num_conns);
        if (pair_held(node) != 0)
            pair_fail(pair, "node %u holds %d allocations more than at its start", n, pair_held(node));
    }
}

void smcr_run(struct smcr_run *run)
{
    run->pair = pair_new(&run->plan.pair);
    run->random.state = run->plan.pair.seed ^ 0x5eed;
    run->start_ns = run->pair->now_ns;
    watch_init(&run->watch, run->pair);
    run->pair->app = app;
    run->pair->app_ctx = run;
    if (run->begins)
        run->begins(run->begins_ctx, run->pair);
    if (!pair_run_until(run->pair, all_over, run, run->plan.limit_ns))
        describe_stuck(run);
    run->pair->app_next_ns = 0;
    for (unsigned i = 0; i < run->plan.num_conns && !run->pair->failed; i++)
        judge_conn(run, i);
    if (!run->pair->failed)
        judge_rest(run);
    const char *why = pair_free(run->pair);
    snprintf(run->failure, sizeof run->failure, "%s", why ? why : "");
}

void smcr_seeds_run(const struct smcr_profile *profile, uint64_t count, struct smcr_totals *total)
{
    struct sim_seeds seeds;
    struct smcr_totals sum = {0};
    struct smcr_run *run = malloc(sizeof *run);
    cr_assert_not_null(run);
    sim_seeds_init(&seeds, count);
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++) {
        memset(run, 0, sizeof *run);
        smcr_plan_draw(&run->plan, sim_seeds_begin(&seeds, n), profile);
        run->plan.pair.ladder = seeds.ladder;
        if (seeds.ladder)
            smcr_plan_print(&run->plan);
        smcr_run(run);
        sim_seeds_report(&seeds, n, run->failure[0] ? run->failure : NULL);
        sum.runs++;
        sum.fallbacks += run->fallbacks;
        sum.resets += run->resets;
        sum.failovers += run->failovers;
        sum.bytes += run->bytes;
        sum.cdcs += run->watch.cdcs;
        sum.updates += run->watch.updates;
    }
    free(run);
    if (total)
        *total = sum;
    cr_assert_eq(seeds.failures, 0, "%u seeds failed", seeds.failures);
}
