/* SPDX-License-Identifier: BSD-2-Clause */
#include "sock/rendezvous/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PREFIX     "nornic-"
#define PROCS_FILE "cgroup.procs"
#define MAX_NESTED 4 /* processes that were started by one another */

/* Where the v2 hierarchy is mounted: /sys/fs/cgroup, or beside the v1 ones. */
static int find_mount(char *out, size_t room)
{
    char line[1024], at[512], type[32];
    int err = -ENOENT;
    FILE *f = fopen("/proc/self/mounts", "re");
    if (!f)
        return -errno;
    while (err && fgets(line, sizeof line, f))
        if (sscanf(line, "%*s %511s %31s", at, type) == 2 && strcmp(type, "cgroup2") == 0)
            err = (size_t)snprintf(out, room, "%s", at) < room ? 0 : -ENAMETOOLONG;
    fclose(f);
    return err;
}

/* The process's place in it: the line "0::/path" of /proc/self/cgroup. */
static int find_place(char *out, size_t room)
{
    char line[1024];
    int err = -ENOENT;
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f)
        return -errno;
    while (err && fgets(line, sizeof line, f)) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        err = (size_t)snprintf(out, room, "%s", line + 3) < room ? 0 : -ENAMETOOLONG;
    }
    fclose(f);
    return err;
}

static void forget_mount(struct smcr_cgroup *cgroup)
{
    if (cgroup->mount_fd >= 0)
        close(cgroup->mount_fd);
    cgroup->mount_fd = -1;
}

/* A mount of it that no directory shows: `ip netns exec` mounts a /sys of its own, without cgroups. The
 * descriptor, or -errno. */
static int mount_detached(void)
{
    int context = fsopen("cgroup2", FSOPEN_CLOEXEC), fd = -1;
    if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        fd = fsmount(context, FSMOUNT_CLOEXEC, 0);
    int err = fd >= 0 ? fd : -errno;
    if (context >= 0)
        close(context);
    return err;
}

/* Fills `home`, and `mount_fd` where that had to be made. */
static int find_home(struct smcr_cgroup *cgroup, struct nornic_error *why)
{
    char mount[256], place[256];
    cgroup->mount_fd = -1;
    if (find_place(place, sizeof place) != 0)
        return net_error_set(why, ENOENT, "this process has no place in the cgroup v2 hierarchy");
    if (find_mount(mount, sizeof mount) != 0) {
        cgroup->mount_fd = mount_detached();
        if (cgroup->mount_fd < 0)
            return net_error_set(why, ENOENT,
                                 "SMC-R needs a mounted cgroup v2 hierarchy, and there is none; "
                                 "`mount -t cgroup2 none /sys/fs/cgroup` makes one");
        snprintf(mount, sizeof mount, "/proc/self/fd/%d", cgroup->mount_fd);
    }
    int len =
        snprintf(cgroup->home, sizeof cgroup->home, "%s%s", mount, strcmp(place, "/") == 0 ? "" : place);
    if ((size_t)len < sizeof cgroup->home)
        return 0;
    forget_mount(cgroup);
    return net_error_set(why, ENAMETOOLONG, "the path of this process's cgroup is too long");
}

static bool is_cgroup2(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

int smcr_cgroup_open(const char *path, struct nornic_error *why)
{
    char mount[256];
    if (!*path)
        return net_error_set(why, EINVAL, "a cgroup has a name; / is the root, and all of the machine");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && is_cgroup2(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    int root = find_mount(mount, sizeof mount) == 0 ? open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                                    : mount_detached();
    if (root < 0)
        return net_error_set(why, errno, "there is no cgroup v2 hierarchy here: %s", strerror(errno));
    while (*path == '/')
        path++;
    fd = openat(root, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int err =
        fd < 0 ? net_error_set(why, errno, "no cgroup of version 2 is called /%s: %s", path, strerror(errno))
               : 0;
    close(root);
    return err ? err : fd;
}

static int write_pid(const char *dir, long pid)
{
    char path[700], text[24];
    snprintf(path, sizeof path, "%s/" PROCS_FILE, dir);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int len = snprintf(text, sizeof text, "%ld", pid);
    int err = write(fd, text, (size_t)len) == len ? 0 : -errno;
    close(fd);
    return err;
}

/* Those in `home` whose process is no more, and what such processes made in them. rmdir() of one that
 * somebody lives in fails, which is right. */
static void remove_leftovers(const char *home, unsigned depth)
{
    struct dirent *entry;
    DIR *dir = opendir(home);
    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        const char *digits = entry->d_name + strlen(PREFIX);
        char inside[700];
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 || !isdigit((unsigned char)*digits))
            continue;
        long pid = strtol(digits, NULL, 10);
        if (pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        if (depth > 0 &&
            (size_t)snprintf(inside, sizeof inside, "%s/%s", home, entry->d_name) < sizeof inside)
            remove_leftovers(inside, depth - 1);
        unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

static int explain(int err, const char *home, struct nornic_error *why)
{
    if (err == -EACCES || err == -EPERM || err == -EROFS)
        return net_error_set(
            why, -err,
            "SMC-R needs to make a cgroup in %s, which needs root or a cgroup that was delegated "
            "to this user",
            home);
    return net_error_set(why, -err, "cannot make a cgroup in %s: %s", home, strerror(-err));
}

int smcr_cgroup_enter(struct smcr_cgroup *cgroup, struct nornic_error *why)
{
    int err = find_home(cgroup, why);
    if (err)
        return err;
    remove_leftovers(cgroup->home, MAX_NESTED);
    snprintf(cgroup->own, sizeof cgroup->own, "%s/" PREFIX "%ld", cgroup->home, (long)getpid());
    cgroup->fd = -1;
    if (mkdir(cgroup->own, 0755) != 0 && errno != EEXIST) {
        err = -errno;
    } else {
        cgroup->fd = open(cgroup->own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        err = cgroup->fd < 0 ? -errno : write_pid(cgroup->own, (long)getpid());
        if (!err)
            return 0;
        rmdir(cgroup->own);
    }
    if (cgroup->fd >= 0)
        close(cgroup->fd);
    forget_mount(cgroup);
    return explain(err, cgroup->home, why);
}

int smcr_cgroup_admit(const struct smcr_cgroup *cgroup, pid_t pid)
{
    return write_pid(cgroup->own, (long)pid);
}

/* Moves out whoever lives there: at most `rounds` times, since a child may fork meanwhile. */
static void move_out(const struct smcr_cgroup *cgroup, unsigned rounds)
{
    char path[700];
    snprintf(path, sizeof path, "%s/" PROCS_FILE, cgroup->own);
    for (bool found = true; found && rounds > 0; rounds--) {
        long pid;
        FILE *f = fopen(path, "re");
        found = false;
        while (f && fscanf(f, "%ld", &pid) == 1)
            found |= write_pid(cgroup->home, pid) == 0;
        if (f)
            fclose(f);
    }
}

void smcr_cgroup_leave(struct smcr_cgroup *cgroup)
{
    close(cgroup->fd);
    move_out(cgroup, 8);
    rmdir(cgroup->own);
    forget_mount(cgroup);
}
