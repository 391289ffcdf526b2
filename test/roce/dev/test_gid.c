/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "roce/dev/gid.h"

static struct roce_gid_table table;
static const struct nornic_mac mac = {{2, 0, 0, 0, 0, 1}};

static struct nornic_addr v4(uint8_t last)
{
    return nornic_addr_from_v4((const uint8_t[]){10, 0, 0, last});
}

static int add(uint8_t last, uint16_t vlan_id)
{
    return roce_gid_add(&table, &(struct nornic_gid){.addr = v4(last), .mac = mac, .vlan_id = vlan_id});
}

Test(gid, ROCE_AH_10_indexes_are_stable_and_holes_are_filled)
{
    cr_assert_eq(add(1, 0), 0);
    cr_assert_eq(add(2, 0), 1);
    cr_assert_eq(add(3, 0), 2);
    cr_assert_eq(roce_gid_remove(&table, 1), 0);
    cr_assert_null(roce_gid_get(&table, 1));
    struct nornic_addr third = v4(3);
    cr_assert_eq(roce_gid_find(&table, &third, NORNIC_GID_V2, 0), 2);
    cr_assert(nornic_addr_equal(&roce_gid_get(&table, 2)->addr, &third));
    cr_assert_eq(add(4, 0), 1);
    cr_assert_eq(add(5, 0), 3);
}

Test(gid, an_entry_says_what_was_added)
{
    cr_assert_eq(add(1, 7), 0);
    const struct nornic_gid *e = roce_gid_get(&table, 0);
    struct nornic_addr gid = v4(1);
    cr_assert(nornic_addr_equal(&e->addr, &gid));
    cr_assert(nornic_mac_equal(&e->mac, &mac));
    cr_assert_eq(e->vlan_id, 7);
}

Test(gid, an_address_is_once_on_each_vlan)
{
    cr_assert_eq(add(1, 0), 0);
    cr_assert_eq(add(1, 0), -EEXIST);
    cr_assert_eq(add(1, 5), 1);
    cr_assert_eq(add(1, 5), -EEXIST);
    struct nornic_addr gid = v4(1);
    cr_assert_eq(roce_gid_find(&table, &gid, NORNIC_GID_V2, 0), 0);
    cr_assert_eq(roce_gid_find(&table, &gid, NORNIC_GID_V2, 5), 1);
    cr_assert_eq(roce_gid_find(&table, &gid, NORNIC_GID_V2, 6), -ENOENT);
    roce_gid_remove(&table, 0);
    cr_assert_eq(roce_gid_find(&table, &gid, NORNIC_GID_V2, 0), -ENOENT);
    cr_assert_eq(add(1, 0), 0);
}

Test(gid, ROCE_LIM_4_holds_255_entries)
{
    for (int i = 0; i < 255; i++)
        cr_assert_eq(add((uint8_t)(i + 1), 0), i);
    cr_assert_eq(add(1, 7), -ENOSPC);
    cr_assert_eq(add(1, 0), -EEXIST);
    for (int i = 0; i < 255; i++) {
        struct nornic_addr gid = v4((uint8_t)(i + 1));
        cr_assert_eq(roce_gid_find(&table, &gid, NORNIC_GID_V2, 0), i);
    }
}

/* Addresses of which many meet in one bucket of the index come and go. */
Test(gid, each_entry_is_found_while_others_come_and_go)
{
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned last = 1; last <= 255; last++)
            (void)add((uint8_t)last, 0);
        for (unsigned last = 1 + round; last <= 255; last += 3) {
            struct nornic_addr gid = v4((uint8_t)last);
            cr_assert_eq(roce_gid_remove(&table, (unsigned)roce_gid_find(&table, &gid, NORNIC_GID_V2, 0)), 0);
        }
        for (unsigned last = 1; last <= 255; last++) {
            struct nornic_addr gid = v4((uint8_t)last);
            int index = roce_gid_find(&table, &gid, NORNIC_GID_V2, 0);
            bool is_gone = last > round && (last - 1 - round) % 3 == 0;
            cr_assert_eq(index < 0, is_gone, "round %u, 10.0.0.%u", round, last);
            cr_assert(is_gone || nornic_addr_equal(&table.entries[index].addr, &gid));
        }
    }
}

Test(gid, the_lowest_entry_of_an_address_is_found)
{
    struct nornic_addr gid = v4(1);
    cr_assert_eq(add(1, 5), 0);
    cr_assert_eq(add(1, 6), 1);
    cr_assert_eq(add(1, 7), 2);
    cr_assert_eq(roce_gid_search(&table, &gid, NULL, NULL), 0);
    cr_assert_eq(roce_gid_remove(&table, 0), 0);
    cr_assert_eq(roce_gid_search(&table, &gid, NULL, NULL), 1);
    cr_assert_eq(add(1, 8), 0);
    cr_assert_eq(roce_gid_search(&table, &gid, NULL, NULL), 0);
}

Test(gid, a_vlan_is_known_while_an_entry_is_on_it)
{
    cr_assert_eq(add(1, 4094), 0);
    cr_assert_eq(add(2, 4094), 1);
    cr_expect(roce_gid_has_vlan(&table, 4094));
    cr_expect_not(roce_gid_has_vlan(&table, 4093));
    cr_expect_not(roce_gid_has_vlan(&table, 4095));
    cr_assert_eq(roce_gid_remove(&table, 0), 0);
    cr_expect(roce_gid_has_vlan(&table, 4094));
    cr_assert_eq(roce_gid_remove(&table, 1), 0);
    cr_expect_not(roce_gid_has_vlan(&table, 4094));
    cr_expect_eq(table.end, 0);
}

Test(gid, what_is_no_entry_is_refused)
{
    struct nornic_addr zero = {{0}};
    cr_assert_eq(roce_gid_add(&table, &(struct nornic_gid){.addr = zero, .mac = mac}), -EINVAL);
    cr_assert_eq(add(1, 4095), -EINVAL);
    cr_assert_eq(add(1, 4094), 0);
    cr_assert_eq(roce_gid_remove(&table, 1), -ENOENT);
    cr_assert_eq(roce_gid_remove(&table, NORNIC_GID_MAX), -ENOENT);
    cr_assert_null(roce_gid_get(&table, NORNIC_GID_MAX));
    cr_assert_null(roce_gid_get(&table, UINT32_MAX));
    cr_assert_eq(roce_gid_find(&table, &zero, NORNIC_GID_V2, 0), -ENOENT, "a hole is not the zero address");
}
