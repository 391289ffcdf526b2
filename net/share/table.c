/* SPDX-License-Identifier: BSD-2-Clause */
/* The locks are those of an open file description (fcntl(2), F_OFD_SETLK): two ports of one process are two
 * holders, and a child that has the descriptor, and with it the port's sockets, keeps the lease alive. */
#define _GNU_SOURCE /* F_OFD_SETLK, renameat2() */
#include "net/share/table.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#define PREFIX       "roce6-" /* another layout of the records has another name */
#define OPEN_TRIES   16
#define READ_TRIES   4
#define TABLE_LOCK   NET_SHARE_SLOTS /* the byte of the table's own lock, behind those of the slots */
#define WRITES_AT    (NET_SHARE_SLOTS * sizeof(uint64_t)) /* behind the marks: how often was written */
#define RECORDS_AT   (WRITES_AT + sizeof(uint64_t))
#define RETRY_NS     500000
#define RETRY_MAX_NS (20 * NS_PER_MS)
#define WAITS_MAX    6 /* of one call: others may write for ever */

static_assert(sizeof(struct net_share_record) % sizeof(uint64_t) == 0, "a sum of whole words");

int net_share_namespace(uint64_t *id)
{
    socklen_t len = sizeof *id;
    struct stat st;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int err = getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, id, &len) == 0 ? 0 : -errno;
    close(fd);
    if (err != -ENOPROTOOPT)
        return err;
    if (stat("/proc/thread-self/ns/net", &st) != 0)
        return -errno;
    *id = st.st_ino;
    return 0;
}

/* A new file under a name of its own, and then, with its rights complete whatever the umask says, under that
 * of the table, unless there is one. */
static int make_file(const struct net_share_dir *dir, const char *path)
{
    char name[128];
    snprintf(name, sizeof name, "%s-XXXXXX", path);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fchmod(fd, dir->is_common ? 0666 : 0600) == 0 &&
        renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return fd;
    int err = -errno;
    unlink(name);
    close(fd);
    return err;
}

/* Opens the file. A link is not followed, and a fifo or a lease of fcntl(2) not waited for. */
static int open_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

/* 0: a file that this user, or in a common directory any of its users, has made and that is still in
 * place; -ESTALE: it was removed meanwhile. The sticky bit of a shared directory keeps others from removing a
 * file of ours, not from giving it a second name there: a file of two names may be any file. */
static int check_file(const struct net_share_dir *dir, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_nlink > 1 || (!dir->is_common && st.st_uid != geteuid()))
        return -EACCES;
    return st.st_nlink > 0 ? 0 : -ESTALE;
}

static int name_file(const struct net_share_dir *dir, struct net_share_table *table)
{
    uint64_t id = 0;
    *table = (struct net_share_table){.fd = -1, .last_fd = -1, .is_common = dir->is_common};
    int err = net_share_namespace(&id);
    snprintf(table->path, sizeof table->path, "%s/" PREFIX "%" PRIx64, dir->path, id);
    return err;
}

/* Locks and checks a table of an open file, which is closed on failure. */
static int lock_checked(const struct net_share_dir *dir, struct net_share_table *table, uint64_t wait_ns)
{
    int err = net_share_table_lock(table, wait_ns);
    if (!err)
        err = check_file(dir, table->fd);
    if (err)
        close(table->fd);
    return err;
}

static int try_open(const struct net_share_dir *dir, struct net_share_table *table, uint64_t wait_ns)
{
    table->fd = open_file(table->path);
    if (table->fd == -ENOENT)
        table->fd = make_file(dir, table->path);
    if (table->fd < 0)
        return table->fd == -EEXIST ? -ESTALE : table->fd; /* another process was quicker */
    return lock_checked(dir, table, wait_ns);
}

int net_share_table_open(const struct net_share_dir *dir, struct net_share_table *out, uint64_t wait_ns)
{
    int err = name_file(dir, out);
    if (err)
        return err;
    err = -ESTALE;
    for (unsigned tries = 0; tries < OPEN_TRIES && err == -ESTALE; tries++)
        err = try_open(dir, out, wait_ns);
    return err;
}

static bool is_name(const char *name)
{
    size_t digits = strlen(PREFIX);
    return strncmp(name, PREFIX, digits) == 0 && name[digits] &&
           name[digits + strspn(name + digits, "0123456789abcdef")] == '\0';
}

int net_share_table_open_named(const struct net_share_dir *dir, const char *name, struct net_share_table *out)
{
    *out = (struct net_share_table){.last_fd = -1};
    int len = snprintf(out->path, sizeof out->path, "%s/%s", dir->path, name);
    if (!is_name(name) || len < 0 || (size_t)len >= sizeof out->path)
        return -ENOENT;
    out->fd = open_file(out->path);
    return out->fd < 0 ? out->fd : lock_checked(dir, out, 0);
}

int net_share_table_look(const struct net_share_dir *dir, struct net_share_table *out)
{
    int err = name_file(dir, out);
    if (err)
        return err;
    out->fd = open(out->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (out->fd < 0)
        return -errno;
    err = check_file(dir, out->fd);
    if (!err)
        return 0;
    close(out->fd);
    out->fd = -1;
    return err == -ESTALE ? -ENOENT : err;
}

void net_share_table_keep(struct net_share_table *table, int fd)
{
    int last_fd = fd < table->last_fd ? -1 : fcntl(table->fd, F_DUPFD_CLOEXEC, fd + 1);
    if (last_fd < 0)
        return;
    if (table->last_fd >= 0)
        close(table->last_fd);
    table->last_fd = last_fd;
}

void net_share_table_close(struct net_share_table *table)
{
    if (table->last_fd >= 0)
        close(table->last_fd);
    close(table->fd);
}

/* Locks, unlocks or asks for some bytes, as `command` tells. */
static int do_lock(int fd, int command, short type, unsigned from, unsigned bytes)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = bytes};
    if (fcntl(fd, command, &lock) != 0)
        return errno == EACCES ? -EAGAIN : -errno;
    return command == F_OFD_GETLK && lock.l_type != F_UNLCK;
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Tries again until then. A long wait makes the tries rarer: hundreds that wait would take the processor
 * away from the one that they wait for. */
static int lock_until(struct net_share_table *table, uint64_t begun_ns, uint64_t end_ns)
{
    int err = -EAGAIN;
    for (uint64_t now_ns = clock_ns(); err == -EAGAIN && now_ns < end_ns; now_ns = clock_ns()) {
        uint64_t pause_ns = min_u64(max_u64(RETRY_NS, (now_ns - begun_ns) / 16), RETRY_MAX_NS);
        nanosleep(&(struct timespec){.tv_nsec = (long)pause_ns}, NULL);
        err = do_lock(table->fd, F_OFD_SETLK, F_WRLCK, TABLE_LOCK, 1);
    }
    return err;
}

int net_share_table_lock(struct net_share_table *table, uint64_t wait_ns)
{
    int err = do_lock(table->fd, F_OFD_SETLK, F_WRLCK, TABLE_LOCK, 1);
    if (err != -EAGAIN || wait_ns == 0)
        return err;
    const uint64_t begun_ns = clock_ns();
    uint64_t writes = net_share_table_writes(table), before;
    unsigned waits = 0;
    do {
        before = writes;
        err = lock_until(table, begun_ns, begun_ns + ++waits * wait_ns);
        writes = net_share_table_writes(table);
    } while (err == -EAGAIN && writes != before && waits < WAITS_MAX && !table->is_common);
    return err;
}

void net_share_table_unlock(struct net_share_table *table)
{
    do_lock(table->fd, F_OFD_SETLK, F_UNLCK, TABLE_LOCK, 1);
}

int net_share_table_lease(struct net_share_table *table, unsigned slot)
{
    return do_lock(table->fd, F_OFD_SETLK, F_WRLCK, slot, 1);
}

void net_share_table_release(struct net_share_table *table, unsigned slot)
{
    do_lock(table->fd, F_OFD_SETLK, F_UNLCK, slot, 1);
}

bool net_share_table_is_leased(const struct net_share_table *table, unsigned slot)
{
    return do_lock(table->fd, F_OFD_GETLK, F_WRLCK, slot, 1) > 0;
}

bool net_share_table_has_leases(const struct net_share_table *table)
{
    return do_lock(table->fd, F_OFD_GETLK, F_WRLCK, 0, NET_SHARE_SLOTS) > 0;
}

void net_share_table_marks(const struct net_share_table *table, uint64_t marks[NET_SHARE_SLOTS])
{
    const size_t bytes = NET_SHARE_SLOTS * sizeof *marks;
    memset(marks, 0, bytes);
    if (pread(table->fd, marks, bytes, 0) < 0) /* an empty one, or none: nobody is there */
        memset(marks, 0, bytes);
}

static off_t record_at(unsigned slot)
{
    return (off_t)(RECORDS_AT + slot * sizeof(struct net_share_record));
}

static off_t mark_at(unsigned slot)
{
    return (off_t)(slot * sizeof(uint64_t));
}

/* FNV-1a, by words. */
static uint32_t sum_of(const struct net_share_record *record)
{
    uint64_t words[sizeof *record / sizeof(uint64_t)], sum = UINT64_C(0xcbf29ce484222325);
    memcpy(words, record, sizeof words);
    for (size_t i = 0; i < array_len(words); i++)
        sum = (sum ^ words[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(sum ^ sum >> 32);
}

uint64_t net_share_table_writes(const struct net_share_table *table)
{
    uint64_t writes;
    return pread(table->fd, &writes, sizeof writes, WRITES_AT) == sizeof writes ? writes : 0;
}

/* Reads and writes of one file are not kept apart by the kernel. */
static bool read_whole(const struct net_share_table *table, unsigned slot, struct net_share_record *out)
{
    for (unsigned tries = 0; tries < READ_TRIES; tries++) {
        if (pread(table->fd, out, sizeof *out, record_at(slot)) != sizeof *out)
            return false;
        uint32_t sum = out->sum;
        out->sum = 0;
        if (sum == sum_of(out))
            return true;
    }
    return false;
}

bool net_share_table_read(const struct net_share_table *table, unsigned slot, struct net_share_record *out)
{
    if (!read_whole(table, slot, out))
        return false;
    out->name[sizeof out->name - 1] = '\0';
    for (char *c = out->name; *c; c++)
        *c = isprint((unsigned char)*c) ? *c : '?';
    out->has_qp1 = out->has_qp1 == 1;
    out->place_count = min_u32(out->place_count, NET_SHARE_PLACES_MAX);
    out->service_count = min_u32(out->service_count, NET_SHARE_SERVICES_MAX);
    for (uint32_t i = 0; i < out->place_count; i++)
        out->places[i].index = min_u32(out->places[i].index, NET_SHARE_INDEX_MAX);
    return true;
}

int net_share_table_write(struct net_share_table *table, unsigned slot, const struct net_share_record *record)
{
    struct net_share_record what = {.pid = 0};
    const uint64_t writes = net_share_table_writes(table) + 1, mark = record ? writes : 0;
    if (record)
        what = *record;
    what.sum = 0;
    what.sum = sum_of(&what);
    ssize_t put = pwrite(table->fd, &what, sizeof what, record_at(slot));
    if (put == sizeof what)
        put = pwrite(table->fd, &mark, sizeof mark, mark_at(slot)) == sizeof mark ? put : -1;
    int err = put == sizeof what ? 0 : put < 0 ? -errno : -ENOSPC;
    /* The last, so that a reader of the new number reads the rest as well. */
    if (pwrite(table->fd, &writes, sizeof writes, WRITES_AT) != sizeof writes && !err)
        err = -ENOSPC;
    return err;
}

void net_share_table_remove(struct net_share_table *table)
{
    unlink(table->path);
}
