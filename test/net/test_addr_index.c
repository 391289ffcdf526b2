/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdbool.h>

#include "net/addr_index.h"

#define COUNT NET_ADDR_PLACES_MAX

static struct net_addr_index addr_index;
static struct nornic_addr addrs[COUNT];

/* Returns the place of an address by the index, and the number of places that were looked at. */
static int find(const struct nornic_addr *addr, unsigned *looks)
{
    int i = net_addr_index_first(&addr_index, addr);
    for (*looks = 1; i >= 0 && !nornic_addr_equal(&addrs[i], addr); ++*looks)
        i = net_addr_index_next(&addr_index, i);
    return i;
}

static void fill(bool is_v4)
{
    for (unsigned i = 0; i < COUNT; i++) {
        addrs[i] = is_v4 ? nornic_addr_from_v4((const uint8_t[]){10, 0, (uint8_t)(i >> 8), (uint8_t)i})
                         : (struct nornic_addr){{0xfd, 0x77, [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i}};
        net_addr_index_add(&addr_index, &addrs[i], i);
    }
}

static void expect_short_chains(void)
{
    unsigned looks, most = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        cr_assert_eq(find(&addrs[i], &looks), (int)i);
        most = looks > most ? looks : most;
    }
    cr_expect_leq(most, 8, "%u comparisons", most);
}

Test(addr_index, addresses_in_a_row_are_found_by_a_few_comparisons)
{
    fill(true);
    expect_short_chains();
}

Test(addr_index, ipv6_as_well)
{
    fill(false);
    expect_short_chains();
}

Test(addr_index, places_of_one_address_are_in_ascending_order)
{
    const struct nornic_addr addr = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 1});
    static const unsigned order[] = {7, 0, COUNT - 1, 3};
    for (unsigned i = 0; i < 4; i++)
        net_addr_index_add(&addr_index, &addr, order[i]);
    net_addr_index_remove(&addr_index, &addr, 3);
    net_addr_index_remove(&addr_index, &addr, 4); /* is not there */
    int place = net_addr_index_first(&addr_index, &addr);
    cr_expect_eq(place, 0);
    place = net_addr_index_next(&addr_index, place);
    cr_expect_eq(place, 7);
    place = net_addr_index_next(&addr_index, place);
    cr_expect_eq(place, (int)COUNT - 1);
    cr_expect_eq(net_addr_index_next(&addr_index, place), -1);
}

Test(addr_index, what_is_removed_is_found_no_more)
{
    unsigned looks;
    fill(true);
    for (unsigned i = 0; i < COUNT; i += 2)
        net_addr_index_remove(&addr_index, &addrs[i], i);
    for (unsigned i = 0; i < COUNT; i++)
        cr_assert_eq(find(&addrs[i], &looks), i % 2 ? (int)i : -1);
}
