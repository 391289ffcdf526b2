/* SPDX-License-Identifier: BSD-2-Clause */
/* Which links a group may have, and how redundant they make it. */
#include <criterion/criterion.h>
#include <string.h>

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
