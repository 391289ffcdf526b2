/* SPDX-License-Identifier: BSD-2-Clause */
/* Ledgers: rows that are written and read again, files that are damaged or not ledgers, and their owners. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "net/share/ledger.h"
#include "test/net/share_pair.h"

#define HEAD_BYTES 256
#define ROW_BYTES  128
#define BYTES_AT   120 /* of a row: the length of its contents, and the sum */
#define SUM_AT     124

TestSuite(ledger, .init = share_dir_make, .fini = share_dir_remove, .timeout = 60);

static const char contents[3][16] = {"the first row", "the second row", "the third row"};

static struct net_ledger made(unsigned rows)
{
    struct net_ledger ledger;
    cr_assert_eq(net_ledger_create("udp:10.0.0.1", 7, &ledger), 0);
    for (uint32_t i = 0; i < rows; i++)
        cr_assert_eq(net_ledger_write(&ledger, i, contents[i % 3], sizeof contents[0]), 0);
    return ledger;
}

/* Reads all rows of 16 bytes. Returns how many, and `*bad`. */
static unsigned read_all(const struct net_ledger *ledger, unsigned *bad, uint32_t at[4])
{
    char got[16];
    unsigned count = 0;
    *bad = 0;
    for (uint32_t row = 0; net_ledger_read(ledger, &row, got, sizeof got, bad); count++) {
        cr_assert_lt(count, 4);
        at[count] = row - 1;
        cr_expect_arr_eq(got, contents[(row - 1) % 3], sizeof got);
    }
    return count;
}

static void expect_rows(const struct net_ledger *ledger, unsigned count, unsigned bad, const char *why)
{
    uint32_t at[4];
    unsigned is_bad;
    cr_expect_eq(read_all(ledger, &is_bad, at), count, "%s", why);
    cr_expect_eq(is_bad, bad, "%s: %u are not sound", why, is_bad);
}

/* The sum of a row and of a head, FNV-1a. */
static uint64_t sum_of(const uint8_t *bytes, size_t count)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* --- rows --- */

Test(ledger, rows_are_read_as_they_were_written)
{
    uint32_t at[4];
    unsigned bad;
    struct net_ledger ledger = made(3);
    cr_assert_eq(net_ledger_write(&ledger, 1, NULL, 0), 0);
    cr_assert_eq(read_all(&ledger, &bad, at), 2);
    cr_expect_eq(bad, 0);
    cr_expect_eq(at[0], 0);
    cr_expect_eq(at[1], 2);
    cr_assert_eq(net_ledger_write(&ledger, 301, contents[1], sizeof contents[1]), 0);
    cr_assert_eq(read_all(&ledger, &bad, at), 3, "after rows that were never written");
    cr_expect_eq(bad, 0);
    cr_expect_eq(at[2], 301);
    net_ledger_close(&ledger);
    cr_expect_neq(access(ledger.path, F_OK), 0);
}

Test(ledger, a_row_with_any_wrong_bit_is_left_out_alone)
{
    struct net_ledger ledger = made(3);
    for (off_t i = 0; i < ROW_BYTES * 8; i++) {
        const off_t where = HEAD_BYTES + ROW_BYTES + i / 8;
        uint8_t byte;
        cr_assert_eq(pread(ledger.fd, &byte, 1, where), 1);
        byte ^= (uint8_t)(1 << i % 8);
        cr_assert_eq(pwrite(ledger.fd, &byte, 1, where), 1);
        expect_rows(&ledger, 2, 1, "a wrong bit");
        byte ^= (uint8_t)(1 << i % 8);
        cr_assert_eq(pwrite(ledger.fd, &byte, 1, where), 1);
    }
    expect_rows(&ledger, 3, 0, "none is left");
    net_ledger_close(&ledger);
}

Test(ledger, a_row_that_is_half_written_is_left_out)
{
    uint8_t row[ROW_BYTES], other[ROW_BYTES];
    struct net_ledger ledger = made(3);
    cr_assert_eq(pread(ledger.fd, row, sizeof row, HEAD_BYTES + ROW_BYTES), ROW_BYTES);
    cr_assert_eq(pread(ledger.fd, other, sizeof other, HEAD_BYTES + 2 * ROW_BYTES), ROW_BYTES);
    for (size_t bytes = 8; bytes < SUM_AT; bytes += 4) { /* the sums differ before */
        cr_assert_eq(pwrite(ledger.fd, other, bytes, HEAD_BYTES + ROW_BYTES), (ssize_t)bytes);
        expect_rows(&ledger, 2, 1, "the begin of another");
    }
    memset(other, 0, sizeof other); /* nothing is owed, without the sum of that */
    cr_assert_eq(pwrite(ledger.fd, other, SUM_AT, HEAD_BYTES + ROW_BYTES), SUM_AT);
    expect_rows(&ledger, 2, 1, "zeros before a sum");
    net_ledger_close(&ledger);
}

Test(ledger, a_file_that_ends_early_costs_the_rows_that_are_not_whole)
{
    struct net_ledger ledger = made(3);
    for (off_t end = HEAD_BYTES + 3 * ROW_BYTES - 1; end >= 0; end--) {
        unsigned whole = end < HEAD_BYTES ? 0 : (unsigned)((end - HEAD_BYTES) / ROW_BYTES);
        bool is_cut = end > HEAD_BYTES && (end - HEAD_BYTES) % ROW_BYTES > 0;
        cr_assert_eq(ftruncate(ledger.fd, end), 0);
        expect_rows(&ledger, whole, is_cut, "cut");
    }
    net_ledger_close(&ledger);
}

Test(ledger, a_file_is_read_to_its_longest_and_no_further)
{
    uint8_t row[ROW_BYTES];
    const off_t end = HEAD_BYTES + (off_t)NET_LEDGER_ROWS_MAX * ROW_BYTES;
    struct net_ledger ledger = made(1);
    cr_assert_eq(net_ledger_write(&ledger, NET_LEDGER_ROWS_MAX - 1, contents[0], sizeof contents[0]), 0);
    cr_assert_eq(pread(ledger.fd, row, sizeof row, HEAD_BYTES), ROW_BYTES);
    cr_assert_eq(pwrite(ledger.fd, row, sizeof row, end), ROW_BYTES);
    cr_assert_eq(pwrite(ledger.fd, row, sizeof row, end + (INT64_C(1) << 32)), ROW_BYTES);
    expect_rows(&ledger, 2, 0, "too long");
    net_ledger_close(&ledger);
}

Test(ledger, contents_of_another_length_are_not_taken)
{
    static const uint32_t lengths[] = {1, 15, 17, 120, 121, 4096, UINT32_MAX};
    uint8_t row[ROW_BYTES];
    struct net_ledger ledger = made(1);
    cr_assert_eq(pread(ledger.fd, row, sizeof row, HEAD_BYTES), ROW_BYTES);
    for (unsigned i = 0; i < array_len(lengths); i++) {
        memcpy(row + BYTES_AT, &lengths[i], sizeof lengths[i]);
        uint32_t sum = (uint32_t)sum_of(row, SUM_AT);
        memcpy(row + SUM_AT, &sum, sizeof sum);
        cr_assert_eq(pwrite(ledger.fd, row, sizeof row, HEAD_BYTES), ROW_BYTES);
        expect_rows(&ledger, 0, 1, "another length");
    }
    net_ledger_close(&ledger);
}

/* --- the head --- */

Test(ledger, a_head_names_the_device)
{
    struct net_ledger_head head;
    struct net_ledger ledger = made(0);
    cr_assert(net_ledger_read_head(&ledger, &head));
    cr_expect_str_eq(head.port, "udp:10.0.0.1");
    cr_expect_eq(head.slot, 7);
    cr_expect_eq(head.pid, (uint32_t)getpid());
    cr_expect_gt(strlen(head.name), 0);
    net_ledger_close(&ledger);
}

Test(ledger, a_head_that_is_damaged_or_of_another_version_is_refused)
{
    uint8_t head[HEAD_BYTES] = {0};
    struct net_ledger_head out;
    struct net_ledger ledger = made(1);
    const ssize_t bytes = pread(ledger.fd, head, sizeof head, 0);
    const size_t sum_at = 8 + sizeof out;
    cr_assert_gt(bytes, (ssize_t)sum_at);
    for (size_t i = 0; i < (sum_at + 8) * 8; i++) {
        uint8_t byte = head[i / 8] ^ (uint8_t)(1 << i % 8);
        cr_assert_eq(pwrite(ledger.fd, &byte, 1, (off_t)i / 8), 1);
        cr_expect_not(net_ledger_read_head(&ledger, &out), "bit %zu", i);
        cr_assert_eq(pwrite(ledger.fd, &head[i / 8], 1, (off_t)i / 8), 1);
    }
    cr_assert(net_ledger_read_head(&ledger, &out));

    uint64_t sum;
    head[0] ^= 3; /* of another version, and sound */
    sum = sum_of(head, sum_at);
    memcpy(head + sum_at, &sum, sizeof sum);
    cr_assert_eq(pwrite(ledger.fd, head, sizeof head, 0), HEAD_BYTES);
    cr_expect_not(net_ledger_read_head(&ledger, &out));
    head[0] ^= 3;
    out.slot = NET_LEDGER_NO_SLOT + 1;
    memcpy(head + 8 + offsetof(struct net_ledger_head, slot), &out.slot, sizeof out.slot);
    sum = sum_of(head, sum_at);
    memcpy(head + sum_at, &sum, sizeof sum);
    cr_assert_eq(pwrite(ledger.fd, head, sizeof head, 0), HEAD_BYTES);
    cr_expect_not(net_ledger_read_head(&ledger, &out), "a slot that there is not");

    out.slot = NET_LEDGER_NO_SLOT;
    memcpy(head + 8 + offsetof(struct net_ledger_head, slot), &out.slot, sizeof out.slot);
    memset(head + 8 + offsetof(struct net_ledger_head, port), 'x', sizeof out.port + sizeof out.name);
    sum = sum_of(head, sum_at);
    memcpy(head + sum_at, &sum, sizeof sum);
    cr_assert_eq(pwrite(ledger.fd, head, sizeof head, 0), HEAD_BYTES);
    cr_assert(net_ledger_read_head(&ledger, &out), "names without an end");
    cr_expect_eq(strlen(out.port), sizeof out.port - 1);
    cr_expect_eq(strlen(out.name), sizeof out.name - 1);
    for (off_t end = (off_t)sum_at + 7; end >= 0; end -= 40) {
        cr_assert_eq(ftruncate(ledger.fd, end), 0);
        cr_expect_not(net_ledger_read_head(&ledger, &out), "cut at %zd", (ssize_t)end);
    }
    net_ledger_close(&ledger);
}

/* --- files that are no ledgers of this user --- */

static void find_dir(struct net_share_dir *out)
{
    struct nornic_error why;
    cr_assert_eq(net_share_dir_own(out, &why), 0, "%s", why.text);
}

static const char *name_of(const struct net_ledger *ledger)
{
    return strrchr(ledger->path, '/') + 1;
}

Test(ledger, only_a_plain_file_of_this_user_with_one_name_is_opened)
{
    struct net_share_dir dir;
    struct net_ledger ledger = made(1), out;
    char name[64], path[256], long_name[200];
    find_dir(&dir);
    cr_assert_eq(net_ledger_open(&dir, name_of(&ledger), &out), 0);
    close(out.fd);
    snprintf(name, sizeof name, "%s0", name_of(&ledger));
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    cr_expect_eq(net_ledger_open(&dir, name, &out), -ENOENT, "nothing");
    cr_assert_eq(symlink(ledger.path, path), 0);
    cr_expect_eq(net_ledger_open(&dir, name, &out), -ENOENT, "a link");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(link(ledger.path, path), 0);
    cr_expect_eq(net_ledger_open(&dir, name, &out), -ENOENT, "a second name");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_expect_eq(net_ledger_open(&dir, name, &out), -ENOENT, "a directory");
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(net_ledger_open(&dir, name, &out), -ENOENT, "a pipe");
    cr_assert_eq(unlink(path), 0);
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    cr_expect_eq(net_ledger_open(&dir, long_name, &out), -ENOENT, "a name that is too long");
    cr_expect_eq(out.fd, -1);
    struct rlimit before, none;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int err = net_ledger_open(&dir, name_of(&ledger), &out);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    cr_expect_eq(err, -EMFILE, "it is there, for a later look");
    if (geteuid() == 0) {
        cr_assert_eq(chown(ledger.path, 65534, 65534), 0);
        cr_expect_eq(net_ledger_open(&dir, name_of(&ledger), &out), -ENOENT, "of another user");
    }
    net_ledger_close(&ledger);
}

static void count_visit(void *ctx, const char *name, unsigned slot)
{
    (void)name;
    cr_expect_eq(slot, 7);
    ++*(unsigned *)ctx;
}

Test(ledger, names_of_other_things_are_not_listed)
{
    static const char *const names[] = {"cm1-0.07.1.0",  "cm1-", "cm0-0.07.1.0", "keeper-0",
                                        "cm1-zz.07.1.0", "cm1",  "new-cm1-abcd", "roce5-0.7"};
    struct net_share_dir dir;
    char path[256];
    unsigned count = 0;
    struct net_ledger ledger = made(0);
    find_dir(&dir);
    for (unsigned i = 0; i < array_len(names); i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, names[i]);
        int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        cr_assert_geq(fd, 0);
        close(fd);
    }
    static const char *const tails[] = {"x", ".fff.0.0"}; /* behind the namespace: no slot, or too large */
    for (unsigned i = 0; i < array_len(tails); i++) {
        snprintf(path, sizeof path, "%.*s%s", (int)(strchr(ledger.path, '.') - ledger.path), ledger.path,
                 tails[i]);
        int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        cr_assert_geq(fd, 0);
        close(fd);
    }
    net_ledger_list(&dir, count_visit, &count);
    cr_expect_eq(count, 1);
    net_ledger_close(&ledger);
    cr_assert_eq(share_dir_clear(), 0);
}

/* --- owners --- */

/* A child that makes a ledger, and then waits for its end. The name of the ledger is in `*path`. */
static pid_t start_owner(char path[128], bool closes)
{
    int to_parent[2];
    cr_assert_eq(pipe(to_parent), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct net_ledger ledger;
        if (net_ledger_create("udp:10.0.0.1", 7, &ledger) != 0 ||
            net_ledger_write(&ledger, 0, contents[0], sizeof contents[0]) != 0 ||
            write(to_parent[1], ledger.path, sizeof ledger.path) < 0)
            _exit(1);
        while (!closes)
            pause();
        net_ledger_close(&ledger);
        _exit(0);
    }
    close(to_parent[1]);
    cr_assert_eq(read(to_parent[0], path, 128), 128);
    close(to_parent[0]);
    return pid;
}

static struct net_ledger opened(const char *path)
{
    struct net_share_dir dir;
    struct net_ledger ledger;
    find_dir(&dir);
    cr_assert_eq(net_ledger_open(&dir, strrchr(path, '/') + 1, &ledger), 0);
    return ledger;
}

Test(ledger, the_wait_ends_with_the_owner)
{
    char path[128];
    pid_t owner = start_owner(path, false);
    struct net_ledger ledger = opened(path);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    cr_assert_eq(fcntl(ledger.fd, F_GETLK, &whole), 0);
    cr_expect_eq(whole.l_type, F_WRLCK, "the owner lives");
    cr_expect_eq(whole.l_pid, owner);
    cr_expect_not(net_ledger_has_dead());
    cr_assert_eq(kill(owner, SIGSTOP), 0);
    cr_expect_not(net_ledger_has_dead(), "a process that is stopped is not dead");
    cr_expect_eq(net_ledger_try(&ledger), -EAGAIN);
    cr_assert_eq(kill(owner, SIGKILL), 0);
    cr_assert(net_ledger_wait(&ledger));
    cr_expect_eq(net_ledger_try(&ledger), 0);
    expect_rows(&ledger, 1, 0, "of the dead");
    cr_assert_eq(waitpid(owner, NULL, 0), owner);
    net_ledger_close(&ledger);
    cr_expect_neq(access(path, F_OK), 0);
}

Test(ledger, an_owner_that_has_closed_owes_nothing)
{
    char path[128];
    struct net_ledger ledger = made(1), other = opened(ledger.path);
    strcpy(path, ledger.path);
    close(ledger.fd); /* with its lock */
    cr_assert_eq(unlink(path), 0);
    struct net_ledger third = other;
    third.fd = dup(other.fd);
    cr_expect_not(net_ledger_wait(&other));
    cr_expect_eq(other.fd, -1);
    cr_expect_eq(net_ledger_try(&third), -ENOENT);
    cr_expect_eq(third.fd, -1);
    pid_t owner = start_owner(path, true);
    cr_assert_eq(waitpid(owner, NULL, 0), owner);
    cr_expect_neq(access(path, F_OK), 0);
}

Test(ledger, the_dead_are_seen_until_they_are_buried)
{
    char path[128];
    pid_t owner = start_owner(path, false);
    cr_assert_eq(kill(owner, SIGKILL), 0);
    cr_assert_eq(waitpid(owner, NULL, 0), owner);
    cr_expect(net_ledger_has_dead());
    cr_assert_eq(unlink(path), 0);
    cr_expect_not(net_ledger_has_dead());
}

/* A child of fork() has the parent's descriptor, and neither its lock nor its ledger. */
Test(ledger, a_child_leaves_the_ledger_alone)
{
    struct net_ledger ledger = made(1);
    pid_t child = fork();
    if (child == 0) {
        struct net_ledger copy = ledger;
        net_ledger_close(&copy);
        _exit(access(ledger.path, F_OK) == 0 && copy.fd == -1 ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    expect_rows(&ledger, 1, 0, "the parent's");
    net_ledger_close(&ledger);
}

Test(ledger, a_port_whose_name_is_too_long_has_none)
{
    char port[NET_LEDGER_PORT_BYTES + 1];
    struct net_ledger ledger;
    memset(port, 'p', sizeof port);
    port[NET_LEDGER_PORT_BYTES] = '\0';
    cr_expect_eq(net_ledger_create(port, 0, &ledger), -ENAMETOOLONG);
    cr_expect_eq(ledger.fd, -1);
    net_ledger_close(&ledger);
    port[NET_LEDGER_PORT_BYTES - 1] = '\0';
    cr_assert_eq(net_ledger_create(port, 0, &ledger), 0);
    struct net_ledger_head head;
    cr_assert(net_ledger_read_head(&ledger, &head));
    cr_expect_str_eq(head.port, port);
    net_ledger_close(&ledger);
}

/* The number of a process is of its PID namespace: another one may have the name. */
Test(ledger, a_name_that_is_taken_is_left_alone)
{
    struct net_ledger ledger = made(1);
    struct stat before, after;
    char path[sizeof ledger.path + 8];
    unsigned count;
    char *dot = strrchr(ledger.path, '.');
    cr_assert_eq(sscanf(dot, ".%x", &count), 1);
    snprintf(path, sizeof path, "%.*s.%x", (int)(dot - ledger.path), ledger.path, count + 1);
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fstat(fd, &before), 0);
    struct net_ledger other = made(2);
    cr_assert_eq(stat(path, &after), 0);
    cr_expect_eq(after.st_ino, before.st_ino);
    cr_expect_str_neq(other.path, path);
    expect_rows(&other, 2, 0, "of the second");
    net_ledger_close(&other);
    net_ledger_close(&ledger);
    close(fd);
    cr_assert_eq(unlink(path), 0);
}
