/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* O_TMPFILE, renameat2() */
#include "net/share/ledger.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

#define NEW_PREFIX  "new-" NET_LEDGER_PREFIX /* before it is complete */
#define NEW_SECONDS 60                       /* then its maker has died */
#define NAME_TRIES  64
#define MAGIC       UINT64_C(0x31646c6374726e6e)

/* The parts of a name. */
struct place {
    struct net_share_dir dir;
    uint64_t id; /* of the network namespace */
    unsigned slot;
};

/* The head, as the file has it. */
struct first {
    uint64_t magic;
    struct net_ledger_head head;
    uint64_t sum; /* of all before it */
};

/* A row, as the file has it. */
struct row {
    uint8_t contents[NET_LEDGER_ROW_BYTES];
    uint32_t bytes; /* 0: nothing is owed */
    uint32_t sum;   /* of all before it */
};

static_assert(sizeof(struct row) == 128 && sizeof(struct first) <= 2 * sizeof(struct row),
              "rows begin behind");

#define ROWS_AT (2 * sizeof(struct row))

/* FNV-1a. */
static uint64_t sum_of(const void *bytes, size_t count)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static off_t row_at(uint32_t row)
{
    return (off_t)(ROWS_AT + row * sizeof(struct row));
}

static int lock(int fd, int how)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int err;
    do
        err = fcntl(fd, how, &whole) == 0 ? 0 : -errno;
    while (err == -EINTR);
    return err;
}

/* --- the owner --- */

static void name_program(char name[16])
{
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, name, 15);
    name[bytes > 0 ? bytes : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    if (fd >= 0)
        close(fd);
}

static int write_head(int fd, const char *port, unsigned slot)
{
    struct first first;
    memset(&first, 0, sizeof first); /* with the bytes between members */
    first.magic = MAGIC;
    first.head.pid = (uint32_t)getpid();
    first.head.slot = slot;
    snprintf(first.head.port, sizeof first.head.port, "%s", port);
    name_program(first.head.name);
    first.sum = sum_of(&first, offsetof(struct first, sum));
    ssize_t put = pwrite(fd, &first, sizeof first, 0);
    return put == sizeof first ? 0 : put < 0 ? -errno : -ENOSPC;
}

/* Makes a file without a name, so that a maker that is killed leaves none. `made` is "" then. Where the file
 * system has no such files, `made` is the name of another one. Returns the descriptor or -errno. */
static int make_file(const struct net_share_dir *dir, char *made, size_t made_bytes)
{
    made[0] = '\0';
    int fd = open(dir->path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd >= 0 ? fd : -errno;
    snprintf(made, made_bytes, "%s/" NEW_PREFIX "XXXXXX", dir->path);
    fd = mkostemp(made, O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

/* Gives a file of make_file() its name. */
static int name_file(int fd, const char *made, const char *path)
{
    char nameless[32];
    snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", fd);
    int rc = made[0] ? renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_NOREPLACE)
                     : linkat(AT_FDCWD, nameless, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    return rc == 0 ? 0 : -errno;
}

/* Locks and fills a file before it has its name: a reader meets no ledger without its lock. A process of
 * another PID namespace may have the same number, and the name. */
static int fill(struct net_ledger *ledger, const struct place *place, const char *made, const char *port)
{
    static atomic_uint made_count;
    int err = lock(ledger->fd, F_SETLK);
    if (!err)
        err = write_head(ledger->fd, port, place->slot);
    for (unsigned tries = 0; !err && tries < NAME_TRIES; tries++) {
        snprintf(ledger->path, sizeof ledger->path, "%s/" NET_LEDGER_PREFIX "%" PRIx64 ".%02x.%x.%x",
                 place->dir.path, place->id, place->slot, (unsigned)ledger->pid,
                 atomic_fetch_add(&made_count, 1));
        err = name_file(ledger->fd, made, ledger->path);
        if (err != -EEXIST)
            return err;
        err = 0;
    }
    return err ? err : -EEXIST;
}

int net_ledger_create(const char *port, unsigned slot, struct net_ledger *out)
{
    struct place place = {.slot = slot};
    struct nornic_error why;
    char made[128];
    *out = (struct net_ledger){.fd = -1, .pid = getpid()};
    int err = strlen(port) < NET_LEDGER_PORT_BYTES ? net_share_dir_own(&place.dir, &why) : -ENAMETOOLONG;
    if (!err)
        err = net_share_namespace(&place.id);
    if (err)
        return err;
    out->fd = make_file(&place.dir, made, sizeof made);
    if (out->fd < 0) {
        err = out->fd;
        out->fd = -1;
        return err;
    }
    err = fill(out, &place, made, port);
    if (!err)
        return 0;
    if (made[0])
        unlink(made);
    close(out->fd);
    out->fd = -1;
    return err;
}

int net_ledger_write(struct net_ledger *ledger, uint32_t row, const void *contents, size_t bytes)
{
    struct row out;
    assert(bytes <= sizeof out.contents && row < NET_LEDGER_ROWS_MAX);
    memset(&out, 0, sizeof out);
    if (contents) {
        memcpy(out.contents, contents, bytes);
        out.bytes = (uint32_t)bytes;
    }
    out.sum = (uint32_t)sum_of(&out, offsetof(struct row, sum));
    ssize_t put = pwrite(ledger->fd, &out, sizeof out, row_at(row));
    return put == sizeof out ? 0 : put < 0 ? -errno : -ENOSPC;
}

void net_ledger_close(struct net_ledger *ledger)
{
    if (ledger->fd < 0)
        return;
    if (ledger->pid == getpid())
        unlink(ledger->path); /* before the lock ends */
    close(ledger->fd);
    ledger->fd = -1;
}

/* --- readers --- */

/* Reads "NETNS.SLOT.PID.COUNT". */
static bool parse_name(const char *name, uint64_t id, unsigned *slot)
{
    char prefix[48];
    char *end;
    int len = snprintf(prefix, sizeof prefix, NET_LEDGER_PREFIX "%" PRIx64 ".", id);
    if (strncmp(name, prefix, (size_t)len) != 0 ||
        strspn(name + len, "0123456789abcdef.") != strlen(name + len))
        return false;
    *slot = (unsigned)strtoul(name + len, &end, 16);
    return *end == '.' && *slot <= NET_LEDGER_NO_SLOT;
}

/* A maker that was killed leaves a file without its name. */
static void sweep_new(const struct net_share_dir *dir, const char *name)
{
    char path[sizeof dir->path + NAME_MAX + 2];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    if (lstat(path, &st) == 0 && st.st_uid == geteuid() && time(NULL) - st.st_mtime > NEW_SECONDS)
        unlink(path);
}

void net_ledger_list(const struct net_share_dir *dir,
                     void (*visit)(void *ctx, const char *name, unsigned slot), void *ctx)
{
    uint64_t id = 0;
    unsigned slot;
    DIR *list = net_share_namespace(&id) == 0 ? opendir(dir->path) : NULL;
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        if (parse_name(entry->d_name, id, &slot))
            visit(ctx, entry->d_name, slot);
        else if (strncmp(entry->d_name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0)
            sweep_new(dir, entry->d_name);
    }
    if (list)
        closedir(list);
}

/* Returns the third part of "cm1-NETNS.SLOT.PID.COUNT", 0 without it. */
static pid_t pid_of_name(const char *name)
{
    const char *dot = strchr(name, '.');
    dot = dot ? strchr(dot + 1, '.') : NULL;
    return dot ? (pid_t)strtol(dot + 1, NULL, 16) : 0;
}

struct dead {
    const struct net_share_dir *dir;
    bool is_found;
};

/* Leaves out the ledgers of this process: to close a descriptor would end its own locks. A lock of another
 * process than the owner is the keeper's. */
static void look_for_dead(void *ctx, const char *name, unsigned slot)
{
    struct dead *dead = ctx;
    struct net_ledger ledger;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const pid_t owner = pid_of_name(name);
    (void)slot;
    if (dead->is_found || owner == getpid() || net_ledger_open(dead->dir, name, &ledger) != 0)
        return;
    if (fcntl(ledger.fd, F_GETLK, &whole) == 0)
        dead->is_found = whole.l_type == F_UNLCK || (whole.l_pid > 0 && whole.l_pid != owner);
    close(ledger.fd);
}

bool net_ledger_has_dead(void)
{
    struct net_share_dir dir;
    struct nornic_error why;
    struct dead dead = {.dir = &dir};
    if (net_share_dir_own(&dir, &why) == 0)
        net_ledger_list(&dir, look_for_dead, &dead);
    return dead.is_found;
}

int net_ledger_open(const struct net_share_dir *dir, const char *name, struct net_ledger *out)
{
    struct stat st;
    *out = (struct net_ledger){.pid = getpid()};
    int len = snprintf(out->path, sizeof out->path, "%s/%s", dir->path, name);
    out->fd = -1;
    if (len >= (int)sizeof out->path)
        return -ENOENT;
    out->fd = open(out->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (out->fd < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -ENOENT;
    if (fstat(out->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == geteuid())
        return 0;
    close(out->fd);
    out->fd = -1;
    return -ENOENT;
}

static int take_lock(struct net_ledger *ledger, int how)
{
    struct stat st;
    int err = lock(ledger->fd, how);
    if (err == -EACCES)
        err = -EAGAIN; /* either, by fcntl(2) */
    if (err == -EAGAIN || (!err && fstat(ledger->fd, &st) == 0 && st.st_nlink > 0))
        return err;
    close(ledger->fd);
    ledger->fd = -1;
    return -ENOENT;
}

bool net_ledger_wait(struct net_ledger *ledger)
{
    return take_lock(ledger, F_SETLKW) == 0;
}

int net_ledger_try(struct net_ledger *ledger)
{
    return take_lock(ledger, F_SETLK);
}

bool net_ledger_read_head(const struct net_ledger *ledger, struct net_ledger_head *out)
{
    struct first first;
    if (pread(ledger->fd, &first, sizeof first, 0) != sizeof first || first.magic != MAGIC ||
        first.sum != sum_of(&first, offsetof(struct first, sum)) || first.head.slot > NET_LEDGER_NO_SLOT)
        return false;
    *out = first.head;
    out->port[sizeof out->port - 1] = out->name[sizeof out->name - 1] = '\0';
    return true;
}

/* Returns whether a row was never written: the owner has written one after it. */
static bool is_hole(const struct row *row)
{
    static const struct row hole;
    return memcmp(row, &hole, sizeof hole) == 0;
}

bool net_ledger_read(const struct net_ledger *ledger, uint32_t *row, void *contents, size_t bytes,
                     unsigned *bad)
{
    struct row in;
    ssize_t got = 0;
    while (*row < NET_LEDGER_ROWS_MAX &&
           (got = pread(ledger->fd, &in, sizeof in, row_at(*row))) == sizeof in) {
        bool is_sound = in.sum == (uint32_t)sum_of(&in, offsetof(struct row, sum));
        (*row)++;
        if (is_sound && in.bytes == bytes) {
            memcpy(contents, in.contents, bytes);
            return true;
        }
        *bad += !is_hole(&in) && !(is_sound && in.bytes == 0);
    }
    if (got > 0 && got < (ssize_t)sizeof in) { /* the file ends within a row */
        (*bad)++;
        *row = NET_LEDGER_ROWS_MAX;
    }
    return false;
}
