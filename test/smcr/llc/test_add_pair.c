/* SPDX-License-Identifier: BSD-2-Clause */
/* Links that two instances add to their group when ports come: SMCR section 11.1, REC-30, ARC-11 to ARC-19.
 */
#include <criterion/criterion.h>

#include "smcr/conn/conn.h"
#include "test/smcr_pair/pair.h"

static struct smcr_group *group_of(const struct pair *pair, unsigned node)
{
    return pair->node[node].smcr->groups;
}

static enum smcr_redundancy redundancy(const struct pair *pair, unsigned node)
{
    return smcr_group_redundancy(group_of(pair, node));
}

static unsigned count_active(const struct smcr_group *group)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        count += group->links[i].state == SMCR_LINK_ACTIVE;
    return count;
}

/* Any two of the links have an RNIC pair of their own. */
static void no_parallel_links(const struct smcr_group *group)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        for (unsigned k = 0; k < i; k++) {
            const struct smcr_link *a = &group->links[i], *b = &group->links[k];
            if (a->state == SMCR_LINK_ACTIVE && b->state == SMCR_LINK_ACTIVE)
                cr_assert_not(smcr_rnic_equal(&a->local, &b->local) && smcr_rnic_equal(&a->peer, &b->peer));
        }
}

/* covers: SMCR-ALK-01, SMCR-ALK-02, SMCR-ARC-18, SMCR-ARC-10 */
Test(llc_add, SMCR_ALK_01_a_server_that_gains_an_RNIC_adds_a_link)
{
    struct pair_config config = {.ports = {2, 1}};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(redundancy(pair, 1), SMCR_ASYMMETRIC_LOCAL);
    pair_pump(&c->end[0], 60000, 0); /* running traffic is not stopped */
    pair_add_port(pair, 1);
    pair_run_for(pair, 10 * PAIR_MS);
    cr_assert_eq(redundancy(pair, 0), SMCR_SYMMETRIC);
    cr_assert_eq(redundancy(pair, 1), SMCR_SYMMETRIC);
    no_parallel_links(group_of(pair, 0));
    cr_assert(pair_transfer(pair, &c->end[0], 10000, PAIR_S), "%s", pair->failure);
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-ARC-13, SMCR-ALK-09, SMCR-LLC-40, SMCR-FOV-15, SMCR-DLK-02 */
Test(llc_add, SMCR_ARC_13_a_symmetric_link_replaces_the_asymmetric_one)
{
    for (unsigned gains = 0; gains < 2; gains++) {
        struct pair_config config = {.ports = {gains == 0 ? 1 : 2, gains == 0 ? 2 : 1}};
        struct pair *pair = pair_new(&config);
        struct pair_conn *conns[4];
        for (unsigned i = 0; i < 4; i++)
            cr_assert_not_null(conns[i] = pair_connect(pair, 0));
        pair_run_for(pair, PAIR_MS);
        cr_assert_eq(count_active(group_of(pair, 0)), 2);
        pair_add_port(pair, gains);
        for (unsigned i = 0; i < 4; i++) {
            cr_assert(pair_transfer(pair, &conns[i]->end[0], 30000, PAIR_S), "%s", pair->failure);
            cr_assert(pair_transfer(pair, &conns[i]->end[1], 30000, PAIR_S), "%s", pair->failure);
        }
        pair_run_for(pair, 10 * PAIR_MS);
        for (unsigned node = 0; node < 2; node++) {
            cr_assert_eq(redundancy(pair, node), SMCR_SYMMETRIC);
            cr_assert_eq(count_active(group_of(pair, node)), 2, "the superfluous one is gone");
            cr_assert_eq(smcr_group_symmetric_links(group_of(pair, node)), 2);
            cr_assert_eq(smcr_counters(pair->node[node].smcr)->links_failed, 0);
            cr_assert_eq(smcr_counters(pair->node[node].smcr)->conns_reset, 0);
        }
        cr_assert_eq(pair->node[1].sent[SMCR_LLC_DELETE_LINK], 1);
        cr_assert_null(pair_free(pair));
    }
}

static uint32_t deletion_reason;
static uint8_t deletion_flags;

static void note_deletion(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    (void)ctx;
    if (node->index != 1 || trace->type != SMCR_TRACE_LLC_TX || trace->message[0] != SMCR_LLC_DELETE_LINK)
        return;
    struct smcr_delete_link m;
    smcr_delete_link_get(&m, trace->message);
    deletion_reason = m.reason;
    deletion_flags = trace->message[3];
}

/* covers: SMCR-ARC-13, SMCR-ALK-09 */
Test(llc_add, SMCR_ALK_09_orderly_and_with_its_reason)
{
    struct pair_config config = {.ports = {2, 1}};
    struct pair *pair = pair_new(&config);
    pair->on_trace = note_deletion;
    cr_assert_not_null(pair_connect(pair, 0));
    pair_add_port(pair, 1);
    pair_run_for(pair, 10 * PAIR_MS);
    cr_assert_eq(deletion_reason, 0x00050000);
    cr_assert_eq(deletion_flags, 0x20);
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-ARC-17, SMCR-ARC-14 */
Test(llc_add, SMCR_ARC_17_no_more_links_than_agreed)
{
    for (uint8_t max_links = 2; max_links <= 3; max_links++) {
        struct pair_config config = {.ports = {3, 3}, .smcr = {{.max_links = max_links}, {.max_links = 8}}};
        struct pair *pair = pair_new(&config);
        cr_assert_not_null(pair_connect(pair, 0));
        pair_run_for(pair, 30 * PAIR_S);
        for (unsigned node = 0; node < 2; node++) {
            cr_assert_eq(group_of(pair, node)->max_links, max_links);
            cr_assert_eq(count_active(group_of(pair, node)), max_links);
        }
        cr_assert_null(pair_free(pair));
    }
}

/* covers: SMCR-REC-30 */
Test(llc_add, SMCR_REC_30_the_lost_link_comes_back_with_its_port)
{
    for (unsigned node = 0; node < 2; node++) {
        struct pair_config config = {.ports = {2, 2}, .topology = PAIR_CABLES};
        struct pair *pair = pair_new(&config);
        struct pair_conn *c = pair_connect(pair, 0);
        pair_run_for(pair, PAIR_MS);
        pair_cut(pair, 0, 1, true);
        pair_cut(pair, 1, 1, true);
        pair_run_for(pair, 100 * PAIR_MS);
        cr_assert_eq(redundancy(pair, 0), SMCR_SINGLE);
        pair_restore(pair, node, 1); /* one end sees it before the other */
        pair_run_for(pair, 100 * PAIR_MS);
        pair_restore(pair, !node, 1);
        pair_run_for(pair, 3 * PAIR_S); /* a link that was tried in between has to fail first */
        cr_assert_eq(redundancy(pair, 0), SMCR_SYMMETRIC, "%u", node);
        cr_assert_eq(redundancy(pair, 1), SMCR_SYMMETRIC, "%u", node);
        cr_assert(pair_transfer(pair, &c->end[1], 100000, PAIR_S));
        cr_assert_null(pair_free(pair));
    }
}
static bool exchange_is_over(void *ctx, struct pair *pair)
{
    const struct smcr_group *group = pair->node[1].smcr->groups;
    (void)ctx;
    return group && group->llc.step == SMCR_LLC_IDLE;
}

/* Both ends at every step: the new link's port goes down while the exchange about it runs. What is still owed
 * over the carrying link comes first, and nobody takes it for a violation. */
/* covers: SMCR-SER-02, SMCR-REC-29, SMCR-FOV-01 */
Test(llc_add, SMCR_SER_02_a_new_link_that_dies_at_any_step_harms_no_other)
{
    for (unsigned who = 0; who < 2; who++)
        for (uint64_t after_us = 0; after_us < 60; after_us += 5)
            for (unsigned removed = 0; removed < 2; removed++) {
                struct pair_config config = {.ports = {2, 1}};
                struct pair *pair = pair_new(&config);
                struct pair_conn *c = pair_connect(pair, 0);
                pair_run_for(pair, PAIR_MS);
                pair_add_port(pair, 1);
                pair_run_for(pair, after_us * PAIR_US);
                if (removed)
                    pair_remove_port(pair, who);
                else
                    pair_cut(pair, who, 1, true);
                pair_run_until(pair, exchange_is_over, NULL, 5 * PAIR_S);
                pair_run_for(pair, 5 * PAIR_S);
                for (unsigned node = 0; node < 2; node++) {
                    cr_assert_not_null(group_of(pair, node));
                    cr_assert_eq(smcr_counters(pair->node[node].smcr)->llc_malformed, 0, "%u after %lu us",
                                 who, (unsigned long)after_us);
                    cr_assert_eq(group_of(pair, node)->llc.step, SMCR_LLC_IDLE);
                    cr_assert_gt(count_active(group_of(pair, node)), 0);
                }
                cr_assert(pair_transfer(pair, &c->end[0], 20000, PAIR_S), "%s", pair->failure);
                const char *failure = pair_free(pair);
                cr_assert_null(failure, "%s", failure);
            }
}
