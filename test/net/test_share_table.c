/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share_table.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share_pair.h"

static struct net_share_dir dir;
static struct net_share_table table;

static void setup(void)
{
    struct nornic_error why = {""};
    share_dir_make();
    cr_assert_eq(net_share_dir_find(&dir, &why), 0, "%s", why.text);
    cr_assert_eq(net_share_table_open(&dir, &table), 0);
}

static void teardown(void)
{
    net_share_table_remove(&table);
    net_share_table_close(&table);
    share_dir_remove();
}

TestSuite(share_table, .init = setup, .fini = teardown);

Test(share_table, a_slot_has_one_holder)
{
    struct net_share_table other;
    net_share_table_unlock(&table);
    cr_assert_eq(net_share_table_open(&dir, &other), 0);
    cr_assert_eq(net_share_table_lease(&table, 7), 0);
    cr_expect(net_share_table_is_leased(&other, 7));
    cr_expect_not(net_share_table_is_leased(&table, 7), "not by somebody else");
    cr_expect_eq(net_share_table_lease(&other, 7), -EAGAIN);
    cr_expect_eq(net_share_table_lease(&other, 8), 0);
    net_share_table_release(&table, 7);
    cr_expect_eq(net_share_table_lease(&other, 7), 0);
    cr_expect_eq(net_share_table_lock(&table, 1000000), -EAGAIN);
    net_share_table_close(&other);
    cr_expect_eq(net_share_table_lock(&table, 0), 0, "what was opened is closed, with all its locks");
}

Test(share_table, a_killed_process_holds_nothing)
{
    int ready[2];
    char byte;
    net_share_table_unlock(&table);
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct net_share_table own;
        if (net_share_table_open(&dir, &own) || net_share_table_lease(&own, 9) || write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
    }
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    cr_expect(net_share_table_is_leased(&table, 9));
    cr_expect_eq(net_share_table_lock(&table, 0), -EAGAIN, "it died with the table locked");
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_expect_not(net_share_table_is_leased(&table, 9));
    cr_expect_eq(net_share_table_lock(&table, 0), 0);
}

/* Another process may write what it likes. */
Test(share_table, nonsense_is_cut)
{
    struct net_share_record record, nonsense;
    uint8_t used[NET_SHARE_SLOTS];
    memset(&nonsense, 0xff, sizeof nonsense);
    cr_assert_eq(net_share_table_write(&table, 254, &nonsense), 0);
    cr_assert(net_share_table_read(&table, 254, &record));
    cr_expect_eq(record.place_count, NET_SHARE_PLACES_MAX);
    cr_expect_eq(record.service_count, NET_SHARE_SERVICES_MAX);
    cr_expect_eq(record.has_qp1, 0);
    cr_expect_eq(strnlen(record.name, sizeof record.name), sizeof record.name - 1);
    for (unsigned i = 0; i < NET_SHARE_PLACES_MAX; i++)
        cr_expect_eq(record.places[i].index, NET_SHARE_INDEX_MAX);
    net_share_table_used(&table, used);
    cr_expect_neq(used[254], 0);
    cr_assert_eq(ftruncate(table.fd, 1000), 0);
    cr_expect_not(net_share_table_read(&table, 254, &record), "half a record is none");
    net_share_table_used(&table, used);
    cr_expect_neq(used[254], 0);
    cr_assert_eq(ftruncate(table.fd, 0), 0);
    net_share_table_used(&table, used);
    cr_expect_eq(used[254], 0);
}

Test(share_table, what_was_said_is_read)
{
    struct net_share_record said = {.pid = 4711, .name = "nornic", .has_qp1 = 1, .place_count = 1}, read;
    uint8_t used[NET_SHARE_SLOTS];
    said.places[0] = (struct net_share_place){.addr = share_addr(), .scope = 3, .index = 5};
    said.services[said.service_count++] = 0x01061234;
    cr_assert_eq(net_share_table_write(&table, 17, &said), 0);
    cr_assert(net_share_table_read(&table, 17, &read));
    cr_expect_eq(memcmp(&said, &read, sizeof said), 0);
    cr_assert_eq(net_share_table_write(&table, 17, NULL), 0);
    net_share_table_used(&table, used);
    cr_expect_eq(used[17], 0);
}

/* Whoever comes while the last one goes does not lease in a file that nobody will find. */
Test(share_table, a_file_that_was_removed_is_made_anew)
{
    struct net_share_table other;
    struct stat st;
    net_share_table_remove(&table);
    net_share_table_unlock(&table);
    cr_assert_eq(net_share_table_look(&dir, &other), -ENOENT);
    cr_assert_eq(net_share_table_open(&dir, &other), 0);
    cr_assert_eq(fstat(other.fd, &st), 0);
    cr_expect_eq(st.st_nlink, 1);
    cr_expect_eq(st.st_mode & 0777, 0600);
    net_share_table_close(&other);
}

Test(share_table, a_directory_is_the_users_own_or_roots_with_the_sticky_bit)
{
    struct net_share_dir found;
    struct nornic_error why = {""};
    cr_assert_eq(chmod(share_dir_path(), 0755), 0);
    cr_expect_eq(net_share_dir_find(&found, &why), -EACCES);
    cr_expect(strstr(why.text, share_dir_path()), "%s", why.text);
    cr_assert_eq(chmod(share_dir_path(), 0777), 0);
    cr_expect_eq(net_share_dir_find(&found, &why), -EACCES, "anybody could remove what is in it");
    cr_assert_eq(chmod(share_dir_path(), 01777), 0);
    cr_expect_eq(net_share_dir_find(&found, &why), geteuid() == 0 ? 0 : -EACCES);
    cr_assert_eq(chmod(share_dir_path(), 0700), 0);
    cr_expect_eq(net_share_dir_find(&found, &why), 0);
    cr_expect_not(found.is_system);
    setenv("NORNIC_RUNTIME_DIR", "/proc/self/status", 1);
    cr_expect_eq(net_share_dir_find(&found, &why), -ENOTDIR);
    setenv("NORNIC_RUNTIME_DIR", "/nowhere/at/all", 1);
    cr_expect_eq(net_share_dir_find(&found, &why), -ENOENT);
}

Test(share_table, a_file_of_somebody_else_is_not_used)
{
    struct net_share_table other;
    if (geteuid() != 0)
        cr_skip("giving a file away needs root");
    net_share_table_unlock(&table);
    cr_assert_eq(fchown(table.fd, 65534, 65534), 0);
    cr_expect_eq(net_share_table_open(&dir, &other), -EACCES);
    cr_expect_eq(net_share_table_look(&dir, &other), -EACCES);
}
