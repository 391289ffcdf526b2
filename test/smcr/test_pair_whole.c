/* SPDX-License-Identifier: BSD-2-Clause */
/* Two instances, whole: from the first Proposal to the last link, and what an application sees. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "smcr/conn/conn.h"
#include "smcr/stat.h"
#include "test/smcr/finish.h"

static void both_ways(const struct pair_config *config)
{
    struct pair *pair = pair_new(config);
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "no connection: %s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[0], 200000, PAIR_S), "%s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[1], 200000, PAIR_S), "%s", pair->failure);
    finish_conn(pair, c);
    finish(pair);
}

/* covers: SMCR-ARC-07, SMCR-FC-07, SMCR-FC-09, SMCR-FC-10, SMCR-DAT-01, SMCR-DAT-02 */
Test(pair, bytes_go_both_ways_over_one_port)
{
    struct pair_config config = {.seed = 1};
    both_ways(&config);
}

Test(pair, bytes_go_both_ways_over_two_fabrics)
{
    struct pair_config config = {.seed = 2, .topology = PAIR_CABLES, .ports = {2, 2}};
    both_ways(&config);
}

Test(pair, bytes_go_both_ways_over_ipv6_in_a_vlan)
{
    struct pair_config config = {.seed = 3, .ports = {1, 2}, .ipv6 = true, .vlan_id = 9};
    both_ways(&config);
}

/* covers: SMCR-CLC-05 */
Test(pair, SMCR_CLC_05_handshake_in_single_bytes)
{
    struct pair_config config = {.seed = 4, .tcp_chunk_bytes = 1};
    both_ways(&config);
}

/* covers: SMCR-FBK-05, SMCR-CLC-42 */
Test(pair, SMCR_FBK_05_no_byte_is_lost_around_a_decline)
{
    struct pair_config config = {.seed = 5, .no_ports[1] = true, .tcp_chunk_bytes = 3};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_open(pair, 0);
    pair_run_for(pair, 10 * PAIR_MS);
    cr_assert(pair_is_fallback(c));
    cr_assert(pair_transfer(pair, &c->end[0], 30000, PAIR_S), "%s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[1], 30000, PAIR_S), "%s", pair->failure);
    finish_conn(pair, c);
    finish(pair);
}

static bool all_established(void *ctx, struct pair *pair)
{
    (void)ctx;
    for (const struct pair_conn *c = pair->conns; c; c = c->next)
        if (!pair_is_established(c))
            return false;
    return true;
}

/* covers: SMCR-FC-21 */
Test(pair, SMCR_FC_21_fifty_connections_at_once_share_a_group)
{
    struct pair_config config = {.seed = 6, .ports = {2, 2}, .topology = PAIR_CABLES};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c[50];
    for (unsigned i = 0; i < 50; i++)
        c[i] = pair_open(pair, 0);
    cr_assert(pair_run_until(pair, all_established, NULL, 20 * PAIR_S), "%s", pair->failure);
    cr_assert_eq(smcr_counters(pair->node[0].smcr)->first_contacts, 1);
    for (unsigned i = 0; i < 50; i++)
        cr_assert(pair_transfer(pair, &c[i]->end[i % 2], 3000, PAIR_S), "%s", pair->failure);
    for (unsigned i = 0; i < 50; i++)
        finish_conn(pair, c[i]);
    finish(pair);
}

/* covers: SMCR-ARC-09, SMCR-ARC-08 */
Test(pair, SMCR_ARC_09_a_group_for_each_direction)
{
    struct pair_config config = {.seed = 7};
    struct pair *pair = pair_new(&config);
    struct pair_conn *a = pair_connect(pair, 0), *b = pair_connect(pair, 1);
    cr_assert(a && b, "%s", pair->failure);
    cr_assert_neq(a->end[0].conn->group, b->end[0].conn->group);
    cr_assert_neq(a->end[0].conn->link->local.qpn, b->end[0].conn->link->local.qpn);
    cr_assert(pair_transfer(pair, &b->end[1], 30000, PAIR_S), "%s", pair->failure);
    finish_conn(pair, a);
    finish_conn(pair, b);
    finish(pair);
}

/* The client may write as soon as its Confirm left; the server's program sees it when Confirm was read.
 * covers: SMCR-SC-07, SMCR-SC-08, SMCR-DAT-12 */
Test(pair, SMCR_SC_08_data_that_overtakes_the_confirm_is_held)
{
    struct pair_config config = {.seed = 8};
    struct pair *pair = pair_new(&config);
    struct pair_conn *first = pair_connect(pair, 0);
    cr_assert_not_null(first, "%s", pair->failure);
    struct pair_conn *c = pair_open(pair, 0);
    struct smcr_conn_status st = {0};
    for (unsigned i = 0; i < 100 && !st.established; i++) {
        pair_run_for(pair, 5 * PAIR_US);
        c->end[1].held = c->end[0].conn->stage == SMCR_STAGE_CONFIRM_RMB || c->end[1].fin_seen ||
                         c->end[1].conn->stage == SMCR_STAGE_CONFIRM;
        smcr_conn_status(c->end[0].conn, &st);
    }
    cr_assert(st.established);
    cr_assert_eq(pair_pump(&c->end[0], 5000, 0), 5000);
    pair_run_for(pair, 10 * PAIR_MS);
    cr_assert_eq(pair_drain(&c->end[1], 100), -ENOTCONN);
    c->end[1].held = false;
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(pair_drain(&c->end[1], 6000), 5000, "%s", pair->failure);
    finish_conn(pair, c);
    finish_conn(pair, first);
    finish(pair);
}

static void count(void *ctx, const struct smcr_group_stat *group, const struct smcr_link_stat *link)
{
    (void)group;
    *(unsigned *)ctx += link->conns > 0;
}

/* covers: SMCR-ARC-26 */
Test(pair, SMCR_ARC_26_connections_are_spread_over_the_links)
{
    struct pair_config config = {.seed = 9, .topology = PAIR_CABLES, .ports = {2, 2}};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c[8];
    for (unsigned i = 0; i < 8; i++)
        cr_assert_not_null(c[i] = pair_connect(pair, 0), "%s", pair->failure);
    for (unsigned n = 0; n < 2; n++) {
        unsigned used = 0;
        struct smcr_stat_visitor v = {.link = count, .ctx = &used};
        smcr_stat_visit(pair->node[n].smcr, &v);
        cr_assert_eq(used, 2, "node %u uses %u links", n, used);
    }
    for (unsigned i = 0; i < 8; i++)
        finish_conn(pair, c[i]);
    finish(pair);
}
