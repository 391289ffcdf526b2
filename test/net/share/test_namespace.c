/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/resource.h>

#include "net/share/table.h"
#include "test/net/share_pair.h"

TestSuite(share_namespace, .init = share_dir_make, .fini = share_dir_remove);

/* By another name of the namespace it would meet nobody. */
Test(share_namespace, without_a_descriptor_there_is_no_other_table)
{
    struct net_share_table other;
    struct net_share_dir dir;
    struct rlimit before, none;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    cr_assert_eq(net_share_dir_find(&dir, NULL), 0);
    none = before;
    none.rlim_cur = 0;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int err = net_share_table_look(&dir, &other);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    cr_expect_eq(err, -EMFILE);
}
