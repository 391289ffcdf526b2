/* SPDX-License-Identifier: BSD-2-Clause */
/* Which links a group may have, and how redundant they make it. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/smcr/played.h"

static struct smcr_link_end rnic(uint8_t n)
{
    return (struct smcr_link_end){.mac = {{2, 0, 0, 0, 0, n}}, .gid = {{0xfd, [15] = n}}};
}

/* Links between RNICs of ours and of the peer's, all active. */
static void set_links(struct smcr_group *group, const uint8_t pairs[][2], unsigned count)
{
    memset(group, 0, sizeof *group);
    for (unsigned i = 0; i < count; i++)
        group->links[i] = (struct smcr_link){
            .state = SMCR_LINK_ACTIVE, .local = rnic(pairs[i][0]), .peer = rnic(pairs[i][1])};
}

static bool allowed(const struct smcr_group *group, uint8_t local, uint8_t peer)
{
    struct smcr_link_end a = rnic(local), b = rnic(peer);
    return smcr_group_pair_is_allowed(group, &a, &b, NULL);
}

/* covers: SMCR-ARC-11, SMCR-ARC-12, SMCR-ARC-16, SMCR-ALK-02, SMCR-ALK-05, SMCR-ALK-11 */
Test(links, SMCR_ARC_16_one_asymmetric_link_at_the_most_and_none_that_is_parallel)
{
    static struct smcr_group group;
    set_links(&group, (const uint8_t[][2]){{1, 11}}, 1);
    cr_assert_eq(smcr_group_redundancy(&group), SMCR_SINGLE);
    cr_assert_not(allowed(&group, 1, 11));
    cr_assert(allowed(&group, 1, 12) && allowed(&group, 2, 11) && allowed(&group, 2, 12));

    set_links(&group, (const uint8_t[][2]){{1, 11}, {1, 12}}, 2);
    cr_assert_eq(smcr_group_redundancy(&group), SMCR_ASYMMETRIC_LOCAL);
    cr_assert_eq(smcr_group_symmetric_links(&group), 1, "an asymmetric one does not count");
    cr_assert_null(smcr_group_superfluous_link(&group));
    cr_assert_not(allowed(&group, 1, 13), "a second asymmetric one");
    cr_assert(allowed(&group, 2, 11) && allowed(&group, 2, 12) && allowed(&group, 2, 13));

    set_links(&group, (const uint8_t[][2]){{1, 11}, {2, 11}}, 2);
    cr_assert_eq(smcr_group_redundancy(&group), SMCR_ASYMMETRIC_PEER);
    cr_assert_not(allowed(&group, 3, 11));
    cr_assert(allowed(&group, 1, 12) && allowed(&group, 3, 12));

    set_links(&group, (const uint8_t[][2]){{1, 11}, {2, 12}}, 2);
    cr_assert_eq(smcr_group_redundancy(&group), SMCR_SYMMETRIC);
    cr_assert_not(allowed(&group, 1, 12) || allowed(&group, 3, 11) || allowed(&group, 1, 13));
    cr_assert(allowed(&group, 3, 13));

    set_links(&group, (const uint8_t[][2]){{1, 11}, {1, 12}, {2, 12}}, 3);
    cr_assert_eq(smcr_group_redundancy(&group), SMCR_SYMMETRIC);
    cr_assert_eq(smcr_group_superfluous_link(&group), &group.links[1]);
    cr_assert_eq(smcr_group_symmetric_links(&group), 2);
}

static struct smcr_group *group_of(const struct pair *pair, unsigned node)
{
    return pair->node[node].smcr->groups;
}

/* covers: SMCR-LLC-35, SMCR-ALK-07, SMCR-LLC-33 */
Test(links, SMCR_LLC_35_sides_with_different_numbers_of_RMBs)
{
    static const unsigned rmbs[][2] = {{1, 1}, {1, 4}, {5, 1}, {3, 2}, {4, 4}};
    for (size_t i = 0; i < array_len(rmbs); i++) {
        struct pair_config config = {.ports = {2, 2}};
        struct pair *pair = pair_new(&config);
        unsigned most = rmbs[i][0] > rmbs[i][1] ? rmbs[i][0] : rmbs[i][1];
        struct pair_conn *c[8];
        for (unsigned k = 0; k < most; k++) {
            cr_assert_not_null(c[k] = pair_connect(pair, 0), "%s", pair->failure);
            for (unsigned node = 0; node < 2; node++)
                if (k + 1 < rmbs[i][node]) /* they are full; what comes after that shares the last one */
                    for (struct smcr_rmb *rmb = group_of(pair, node)->rmbs; rmb; rmb = rmb->next)
                        rmb->num_elems = rmb->used;
        }
        for (unsigned node = 0; node < 2; node++)
            cr_assert_eq(group_of(pair, node)->num_rmbs, rmbs[i][node], "row %zu", i);
        pair_cut(pair, 1, 1, true);
        pair_run_for(pair, 3 * PAIR_S);
        pair_restore(pair, 1, 1);
        pair_run_for(pair, 3 * PAIR_S);
        for (unsigned node = 0; node < 2; node++) {
            cr_assert_eq(smcr_group_redundancy(group_of(pair, node)), SMCR_SYMMETRIC);
            for (unsigned l = 0; l < SMCR_LINK_SLOTS; l++)
                for (struct smcr_peer_rmb *p = group_of(pair, node)->peer_rmbs; p; p = p->next)
                    cr_assert_eq(p->token[l].is_known,
                                 group_of(pair, node)->links[l].state == SMCR_LINK_ACTIVE);
        }
        for (unsigned k = 0; k < most; k++)
            cr_assert(pair_transfer(pair, &c[k]->end[k % 2], 40000, PAIR_S), "%s", pair->failure);
        cr_assert_null(pair_free(pair));
    }
}

/* covers: SMCR-ARC-19 */
Test(links, SMCR_ARC_19_numbers_are_used_up_before_one_is_used_again)
{
    static struct smcr_group group;
    for (unsigned n = 1; n <= 255; n++)
        cr_assert_eq(smcr_group_next_link_number(&group), n);
    group.links[0] = (struct smcr_link){.number = 1, .state = SMCR_LINK_ACTIVE};
    group.links[1] = (struct smcr_link){.number = 2, .state = SMCR_LINK_DOWN};
    cr_assert_eq(smcr_group_next_link_number(&group), 3, "then the lowest free");
    group.links[2] = (struct smcr_link){.number = 3, .state = SMCR_LINK_ALLOCATED};
    group.links[0].state = SMCR_LINK_FREE;
    cr_assert_eq(smcr_group_next_link_number(&group), 1);
}

/* covers: SMCR-ARC-26, SMCR-ARC-25, SMCR-FOV-17 */
Test(links, SMCR_ARC_26_connections_are_spread_over_the_links)
{
    struct pair_config config = {.ports = {3, 3}, .smcr = {{.max_links = 3}, {.max_links = 3}}};
    struct pair *pair = pair_new(&config);
    for (unsigned i = 0; i < 13; i++) {
        cr_assert_not_null(pair_connect(pair, 0));
        pair_run_for(pair, PAIR_MS);
    }
    for (unsigned node = 0; node < 2; node++)
        for (unsigned l = 0; l < 3; l++) /* the first came before there was a third link */
            cr_assert(group_of(pair, node)->links[l].conns >= 4 && group_of(pair, node)->links[l].conns <= 5);
    pair_cut(pair, 0, 0, true);
    pair_run_for(pair, PAIR_MS);
    uint32_t left = 0;
    for (unsigned l = 0; l < SMCR_LINK_SLOTS; l++) {
        const struct smcr_link *link = &group_of(pair, 0)->links[l];
        left += link->conns;
        cr_assert_eq(link->state == SMCR_LINK_ACTIVE && link->number < 4, link->conns >= 6, "SMCR-FOV-17");
    }
    cr_assert_eq(left, 13);
    cr_assert_null(pair_free(pair));
}
