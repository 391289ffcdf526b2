/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that fall silent, and crowds of connections: noticed in the stated time, held in bounded memory. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "smcr/conn/conn.h"
#include "smcr/stat.h"
#include "test/smcr/finish.h"
#include "test/smcr_pair/peer.h"

static bool is_reset(void *ctx, struct pair *pair)
{
    const struct pair_end *end = ctx;
    (void)pair;
    return end->events & SMCR_EVENT_RESET;
}

/* Nobody writes: the links are tested every 30 s, and a test is answered within 2 s. RC itself gives up
 * within 2 s as well.
 * covers: SMCR-KAL-02, SMCR-KAL-03, SMCR-QP-06 */
Test(pair_dead, SMCR_KAL_03_an_idle_connection_notices_a_dead_peer_within_35_s)
{
    struct pair_config config = {.seed = 1};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "%s", pair->failure);
    pair_cut(pair, 1, 0, false);
    c->end[0].held = c->end[1].held = true; /* its TCP is as dead */
    for (unsigned n = 0; n < 2; n++)
        cr_assert(pair_run_until(pair, is_reset, &c->end[n], 35 * PAIR_S), "node %u", n);
    finish(pair);
}

/* covers: SMCR-KAL-01, SMCR-KAL-02, SMCR-KAL-03 */
Test(pair_dead, SMCR_KAL_01_keepalive_notices_a_dead_peer_sooner)
{
    struct pair_config config = {.seed = 2};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "%s", pair->failure);
    smcr_conn_set_keepalive(c->end[0].conn, PAIR_S, pair->now_ns);
    pair_run_for(pair, 10 * PAIR_S);
    cr_assert_eq(c->end[0].events & SMCR_EVENT_RESET, 0, "a live peer answers");
    pair_cut(pair, 1, 0, false);
    c->end[0].held = c->end[1].held = true;
    cr_assert(pair_run_until(pair, is_reset, &c->end[0], 5 * PAIR_S));
    finish(pair);
}

/* A writer knows within the retry budget of RC.
 * covers: SMCR-QP-06, SMCR-FOV-01, SMCR-FOV-16 */
Test(pair_dead, SMCR_QP_06_a_writer_notices_within_the_retry_budget)
{
    struct pair_config config = {.seed = 3};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "%s", pair->failure);
    pair_cut(pair, 1, 0, false);
    c->end[0].held = c->end[1].held = true;
    cr_assert_eq(pair_pump(&c->end[0], 1000, 0), 1000);
    cr_assert(pair_run_until(pair, is_reset, &c->end[0], 2 * PAIR_S + 200 * PAIR_MS));
    finish(pair);
}

/* The queue pair lives and acknowledges, but the peer's SMC-R does not answer.
 * covers: SMCR-KAL-03, SMCR-REC-04.18 */
Test(pair_dead, SMCR_KAL_03_a_test_link_without_answer_is_a_dead_link)
{
    struct pair_config config = {.seed = 4, .scripted[1] = true};
    struct pair *pair = pair_new(&config);
    struct peer peer;
    struct peer_conn conn;
    peer_init(&peer, pair, 1, SMCR_CLIENT);
    cr_assert(peer_first_contact(&peer, &conn, 1), "%s", pair->failure);
    cr_assert(pair_run_until(pair, is_reset, pair_other(conn.end), 35 * PAIR_S));
    peer_deinit(&peer);
    finish(pair);
}

/* A crowd that proposes and falls silent holds what max_conns allows and goes when the CLC timer ends.
 * covers: SMCR-SEC-07, SMCR-CLC-12, SMCR-CLC-13 */
Test(pair_dead, SMCR_SEC_07_a_flood_of_proposals_is_bounded)
{
    struct pair_config config = {.seed = 5, .scripted[1] = true, .smcr[0].max_conns = 32};
    struct pair *pair = pair_new(&config);
    const struct test_alloc *alloc = &pair->node[0].alloc;
    struct peer peer;
    uint8_t m[SMCR_CLC_MAX_BYTES];
    unsigned refused = 0;
    peer_init(&peer, pair, 1, SMCR_CLIENT);
    for (unsigned i = 0; i < 1000; i++) {
        struct pair_conn *c = pair_open(pair, 1);
        refused += c->end[0].conn == NULL;
        pair_tcp_send(&c->end[1], m, peer_proposal(&peer, m) / 2 * (1 + i % 2));
        pair_run_for(pair, 100 * PAIR_US);
        cr_assert_leq(alloc->live - pair->node[0].live_before, (32 + SMCR_SURPLUS_CONNS) * 16);
    }
    cr_assert_eq(refused, 1000 - 32 - SMCR_SURPLUS_CONNS);
    pair_run_for(pair, 20 * PAIR_S);
    for (struct pair_conn *c = pair->conns; c; c = c->next) {
        cr_assert(!c->end[0].conn || c->end[0].events & (SMCR_EVENT_RESET | SMCR_EVENT_FALLBACK),
                  "connection %u: %x", c->id, c->end[0].events);
        pair_close(&c->end[0]);
    }
    pair_run_for(pair, 70 * PAIR_S);
    cr_assert_eq(pair->node[0].smcr->num_conns, 0);
    cr_assert_eq(pair->node[0].smcr->num_groups, 0);
    cr_assert_eq(pair_held(&pair->node[0]), 0);
    peer_deinit(&peer);
    finish(pair);
}

/* Proposals of a thousand peers cost at most max_groups groups.
 * covers: SMCR-SEC-07 */
Test(pair_dead, SMCR_SEC_07_a_crowd_of_peers_is_bounded)
{
    struct pair_config config = {.seed = 6, .scripted[1] = true, .smcr[0].max_groups = 4};
    struct pair *pair = pair_new(&config);
    struct peer peer;
    uint8_t m[SMCR_CLC_MAX_BYTES];
    peer_init(&peer, pair, 1, SMCR_CLIENT);
    for (unsigned i = 0; i < 200; i++) {
        struct pair_conn *c = pair_open(pair, 1);
        peer.peer_id[0] = (uint8_t)i;
        pair_tcp_send(&c->end[1], m, peer_proposal(&peer, m));
        pair_run_for(pair, 100 * PAIR_US);
        cr_assert_leq(pair->node[0].smcr->num_groups, 4);
    }
    for (struct pair_conn *c = pair->conns; c; c = c->next)
        pair_close(&c->end[0]);
    pair_run_for(pair, 20 * PAIR_S);
    cr_assert_eq(pair->node[0].smcr->num_groups, 0);
    cr_assert_eq(pair_held(&pair->node[0]), 0);
    peer_deinit(&peer);
    finish(pair);
}
