/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share/table.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "test/net/share_pair.h"

#define LOCK_WAIT_NS (10 * NS_PER_S)

static struct net_share_dir dir;
static struct net_share_table table;

static void setup(void)
{
    struct nornic_error why = {""};
    share_dir_make();
    cr_assert_eq(net_share_dir_find(&dir, &why), 0, "%s", why.text);
    cr_assert_eq(net_share_table_open(&dir, &table, LOCK_WAIT_NS), 0);
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
    cr_assert_eq(net_share_table_open(&dir, &other, LOCK_WAIT_NS), 0);
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
        if (net_share_table_open(&dir, &own, LOCK_WAIT_NS) || net_share_table_lease(&own, 9) ||
            write(ready[1], "", 1) != 1)
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

/* One that has the table locked until it is told, or for so long, and writes all the time, or not at all. */
struct holder {
    struct net_share_table table;
    bool writes;
    unsigned ms;
    atomic_bool is_told;
};

#define WHILE_NS NS_PER_S

static void *hold(void *arg)
{
    struct holder *holder = arg;
    const struct net_share_record record = {.pid = 1};
    for (unsigned ms = 0; ms < holder->ms && !atomic_load(&holder->is_told); ms++) {
        if (holder->writes)
            net_share_table_write(&holder->table, 9, &record);
        usleep(1000);
    }
    net_share_table_unlock(&holder->table);
    return NULL;
}

static int wait_beside(bool writes)
{
    struct holder holder = {.writes = writes, .ms = 3 * WHILE_NS / 2 / NS_PER_MS};
    pthread_t thread;
    net_share_table_unlock(&table);
    cr_assert_eq(net_share_table_open(&dir, &holder.table, LOCK_WAIT_NS), 0); /* locked */
    cr_assert_eq(pthread_create(&thread, NULL, hold, &holder), 0);
    int err = net_share_table_lock(&table, WHILE_NS);
    pthread_join(thread, NULL);
    net_share_table_close(&holder.table);
    return err;
}

Test(share_table, who_waits_has_patience_with_those_that_get_on)
{
    cr_expect_eq(wait_beside(true), 0);
    cr_expect_eq(wait_beside(false), -EAGAIN, "with one that is stopped it has none");
}

Test(share_table, patience_ends)
{
    struct holder holder = {.writes = true, .ms = 5000};
    pthread_t thread;
    net_share_table_unlock(&table);
    cr_assert_eq(net_share_table_open(&dir, &holder.table, LOCK_WAIT_NS), 0);
    cr_assert_eq(pthread_create(&thread, NULL, hold, &holder), 0);
    cr_expect_eq(net_share_table_lock(&table, 200 * NS_PER_MS), -EAGAIN, "6 times that are 1.2 seconds");
    atomic_store(&holder.is_told, true);
    pthread_join(thread, NULL);
    net_share_table_close(&holder.table);
}

/* Another process may write what it likes. */
Test(share_table, nonsense_is_cut)
{
    struct net_share_record record, nonsense;
    uint64_t marks[NET_SHARE_SLOTS];
    memset(&nonsense, 0xff, sizeof nonsense);
    cr_assert_eq(net_share_table_write(&table, 254, &nonsense), 0);
    cr_assert(net_share_table_read(&table, 254, &record));
    cr_expect_eq(record.place_count, NET_SHARE_PLACES_MAX);
    cr_expect_eq(record.service_count, NET_SHARE_SERVICES_MAX);
    cr_expect_eq(record.has_qp1, 0);
    cr_expect_eq(strnlen(record.name, sizeof record.name), sizeof record.name - 1);
    for (unsigned i = 0; i < NET_SHARE_PLACES_MAX; i++)
        cr_expect_eq(record.places[i].index, NET_SHARE_INDEX_MAX);
    net_share_table_marks(&table, marks);
    cr_expect_neq(marks[254], 0);
    cr_assert_eq(ftruncate(table.fd, 4000), 0);
    cr_expect_not(net_share_table_read(&table, 254, &record), "half a record is none");
    net_share_table_marks(&table, marks);
    cr_expect_neq(marks[254], 0);
    cr_assert_eq(ftruncate(table.fd, 0), 0);
    net_share_table_marks(&table, marks);
    cr_expect_eq(marks[254], 0);
}

Test(share_table, what_was_said_is_read)
{
    struct net_share_record said = {.pid = 4711, .name = "nornic", .has_qp1 = 1, .place_count = 1}, read;
    uint64_t marks[NET_SHARE_SLOTS], before;
    said.places[0] = (struct net_share_place){.addr = share_addr(), .scope = 3, .index = 5};
    said.services[said.service_count++] = 0x01061234;
    cr_assert_eq(net_share_table_write(&table, 17, &said), 0);
    cr_assert(net_share_table_read(&table, 17, &read));
    cr_expect_eq(memcmp(&said, &read, sizeof said), 0);
    net_share_table_marks(&table, marks);
    before = marks[17];
    cr_expect_neq(before, 0);
    cr_assert_eq(net_share_table_write(&table, 18, &said), 0);
    net_share_table_marks(&table, marks);
    cr_expect_eq(marks[17], before, "what stays need not be read again");
    cr_assert_eq(net_share_table_write(&table, 17, &said), 0);
    net_share_table_marks(&table, marks);
    cr_expect_neq(marks[17], before, "what is new has to be read");
    cr_expect_neq(marks[17], marks[18], "nor that of another write");
    cr_assert_eq(net_share_table_write(&table, 17, NULL), 0);
    net_share_table_marks(&table, marks);
    cr_expect_eq(marks[17], 0);
}

/* Whoever comes while the last one goes does not lease in a file that nobody will find. */
Test(share_table, a_file_that_was_removed_is_made_anew)
{
    struct net_share_table other;
    struct stat st;
    net_share_table_remove(&table);
    net_share_table_unlock(&table);
    cr_assert_eq(net_share_table_look(&dir, &other), -ENOENT);
    cr_assert_eq(net_share_table_open(&dir, &other, LOCK_WAIT_NS), 0);
    cr_assert_eq(fstat(other.fd, &st), 0);
    cr_expect_eq(st.st_nlink, 1);
    cr_expect_eq(st.st_mode & 0777, 0600);
    net_share_table_close(&other);
}

static bool has_open(pid_t pid, const char *path)
{
    char name[64], target[128];
    bool has = false;
    for (unsigned fd = 0; fd < 64 && !has; fd++) {
        snprintf(name, sizeof name, "/proc/%d/fd/%u", pid, fd);
        ssize_t len = readlink(name, target, sizeof target - 1);
        target[len < 0 ? 0 : len] = '\0';
        has = strcmp(target, path) == 0;
    }
    return has;
}

Test(share_table, who_waits_for_a_file_that_is_removed_makes_another)
{
    struct stat st;
    int status = 0, ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct net_share_table own;
        close(table.fd); /* which is open under the same name */
        close(ends[1]);
        close(ends[0]);
        int err = net_share_table_open(&dir, &own, LOCK_WAIT_NS);
        _exit(err || fstat(own.fd, &st) || st.st_nlink != 1);
    }
    close(ends[1]);
    cr_assert_eq(read(ends[0], &status, 1), 0); /* until the child has closed it, too */
    close(ends[0]);
    while (!has_open(pid, table.path))
        cr_assert_eq(waitpid(pid, &status, WNOHANG), 0, "it does not wait");
    net_share_table_remove(&table);
    net_share_table_unlock(&table);
    net_share_table_close(&table);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cr_assert_eq(net_share_table_open(&dir, &table, LOCK_WAIT_NS), 0);
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
    cr_expect_not(found.is_common);
    setenv("NORNIC_RUNTIME_DIR", "/proc/self/status", 1);
    cr_expect_eq(net_share_dir_find(&found, &why), -ENOTDIR);
    setenv("NORNIC_RUNTIME_DIR", "run", 1);
    cr_expect_eq(net_share_dir_find(&dir, &why), -EINVAL, "a path that the keeper would not find");
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
    cr_expect_eq(net_share_table_open(&dir, &other, LOCK_WAIT_NS), -EACCES);
    cr_expect_eq(net_share_table_look(&dir, &other), -EACCES);
}

/* Reads and writes of a file are not kept apart: half of what was, half of what is. */
Test(share_table, half_a_record_is_none)
{
    struct net_share_record said = {.pid = 1, .place_count = 1, .service_count = 2}, read;
    cr_assert_eq(net_share_table_write(&table, 17, &said), 0);
    cr_assert(net_share_table_read(&table, 17, &read));
    off_t at = 2048 + 17 * (off_t)sizeof said;
    for (size_t i = 0; i < sizeof said; i += 97) {
        uint8_t byte, wrong;
        cr_assert_eq(pread(table.fd, &byte, 1, at + (off_t)i), 1);
        wrong = byte ^ 0x10;
        cr_assert_eq(pwrite(table.fd, &wrong, 1, at + (off_t)i), 1);
        cr_expect_not(net_share_table_read(&table, 17, &read), "byte %zu", i);
        cr_assert_eq(pwrite(table.fd, &byte, 1, at + (off_t)i), 1);
    }
    cr_expect(net_share_table_read(&table, 17, &read));
}

Test(share_table, a_name_cannot_steer_a_terminal)
{
    struct net_share_record said = {.name = "a\033[2Jb\n"}, read;
    cr_assert_eq(net_share_table_write(&table, 17, &said), 0);
    cr_assert(net_share_table_read(&table, 17, &read));
    cr_expect_str_eq(read.name, "a?[2Jb?");
}

/* What another user of a shared directory may put in the place of the table. */
Test(share_table, what_is_no_file_of_its_own_is_not_used)
{
    struct net_share_table other;
    char second[128];
    snprintf(second, sizeof second, "%s-second", table.path);
    net_share_table_unlock(&table);
    cr_assert_eq(link(table.path, second), 0);
    cr_expect_eq(net_share_table_open(&dir, &other, 0), -EACCES, "a file of two names may be any file");
    cr_assert_eq(unlink(second), 0);
    net_share_table_remove(&table);
    cr_assert_eq(mkfifo(table.path, 0600), 0);
    cr_expect_neq(net_share_table_look(&dir, &other), 0, "who looks at a fifo does not wait for a writer");
    cr_expect_neq(net_share_table_open(&dir, &other, 0), 0);
    net_share_table_remove(&table);
    cr_assert_eq(symlink("/dev/null", table.path), 0);
    cr_expect_eq(net_share_table_open(&dir, &other, 0), -ELOOP);
}

/* Also where the umask would take rights away; and nothing is left of how it was made. */
Test(share_table, a_new_file_has_its_rights_from_the_first)
{
    struct net_share_table other;
    struct stat st;
    net_share_table_remove(&table);
    net_share_table_unlock(&table);
    dir.is_common = true;
    mode_t before = umask(0777);
    int err = net_share_table_open(&dir, &other, LOCK_WAIT_NS);
    umask(before);
    cr_assert_eq(err, 0);
    cr_assert_eq(fstat(other.fd, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0666);
    cr_expect_eq(st.st_nlink, 1);
    net_share_table_close(&other);
}

Test(share_table, leases_of_others_are_seen_together)
{
    struct net_share_table other;
    net_share_table_unlock(&table);
    cr_assert_eq(net_share_table_open(&dir, &other, LOCK_WAIT_NS), 0);
    cr_expect_not(net_share_table_has_leases(&table), "the lock of the table is no lease");
    cr_assert_eq(net_share_table_lease(&table, 3), 0);
    cr_expect_not(net_share_table_has_leases(&table), "nor one's own");
    cr_assert_eq(net_share_table_lease(&other, 254), 0);
    cr_expect(net_share_table_has_leases(&table));
    net_share_table_close(&other);
}
