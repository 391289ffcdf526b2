/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* unshare(), O_PATH */
#include "cli/run/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYS_CLASS "/sys/class"
#define DEV       "/dev"

static int failed(struct nornic_error *why, const char *what, const char *path)
{
    return net_error_set(why, errno, "cannot %s %s: %s", what, path, strerror(errno));
}

/* --- the namespaces --- */

static int write_line(const char *path, const char *line, struct nornic_error *why)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, line, strlen(line)) < 0) {
        int err = failed(why, "write", path);
        if (fd >= 0)
            close(fd);
        return err;
    }
    close(fd);
    return 0;
}

/* A user namespace in which this user has the number that it has outside: user_namespaces(7). */
static int enter_user_namespace(struct nornic_error *why)
{
    char uids[64], gids[64];
    snprintf(uids, sizeof uids, "%u %u 1", geteuid(), geteuid());
    snprintf(gids, sizeof gids, "%u %u 1", getegid(), getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return net_error_set(why, errno, "this user may make no user namespace here: %s", strerror(errno));
    int err = write_line("/proc/self/uid_map", uids, why);
    err = err ? err : write_line("/proc/self/setgroups", "deny", why);
    return err ? err : write_line("/proc/self/gid_map", gids, why);
}

/* What is mounted from now on is seen here only; what is mounted outside is seen here, too. */
static int enter_namespaces(struct nornic_error *why)
{
    int err = unshare(CLONE_NEWNS) == 0 ? 0 : enter_user_namespace(why);
    if (!err && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        err = failed(why, "keep mounts from leaving", "/");
    return err;
}

/* --- a directory with more in it --- */

/* Shows the entry `name` of the directory `from` (a descriptor) below the directory `to`, as it was. */
static int show(int from, const char *name, const char *to, struct nornic_error *why)
{
    char source[PATH_MAX], target[PATH_MAX], link[PATH_MAX];
    struct stat st;
    snprintf(source, sizeof source, "/proc/self/fd/%d/%s", from, name);
    snprintf(target, sizeof target, "%s/%s", to, name);
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : failed(why, "look at", target); /* it has just gone */
    if (S_ISLNK(st.st_mode)) {
        ssize_t bytes = readlinkat(from, name, link, sizeof link - 1);
        if (bytes < 0)
            return failed(why, "read", target);
        link[bytes] = '\0';
        return symlink(link, target) == 0 ? 0 : failed(why, "make", target);
    }
    int fd = S_ISDIR(st.st_mode) ? mkdir(target, 0755) : open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return failed(why, "make", target);
    if (!S_ISDIR(st.st_mode))
        close(fd);
    if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) != 0)
        return failed(why, "show", target);
    return 0;
}

/* Puts a file system in memory over the directory `path` and shows in it what was there, but for `without`
 * (names, ended by NULL), so that things can be added. 0 or -errno with a sentence. */
static int open_up(const char *path, const char *const *without, struct nornic_error *why)
{
    int from = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = from < 0 ? NULL : fdopendir(from);
    struct dirent *entry;
    int err = 0;
    if (!dir) {
        err = failed(why, "open", path);
        if (from >= 0)
            close(from);
        return err;
    }
    if (mount("nornic", path, "tmpfs", MS_NOSUID, "mode=755") != 0)
        err = failed(why, "mount a file system in memory at", path);
    while (!err && (entry = readdir(dir))) {
        bool is_left_out = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        for (const char *const *name = without; *name && !is_left_out; name++)
            is_left_out = strcmp(entry->d_name, *name) == 0;
        if (!is_left_out)
            err = show(from, entry->d_name, path, why);
    }
    closedir(dir);
    return err;
}

static int make_directory(const char *path, struct nornic_error *why)
{
    return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : failed(why, "make", path);
}

static int fill_sys_class(const struct run_device *devices, unsigned count, struct nornic_error *why)
{
    static const char *const classes[] = {"infiniband", "infiniband_verbs", NULL};
    static const char *const misc[] = {"rdma_cm", NULL};
    int err = open_up(SYS_CLASS, classes, why);
    err = err ? err : make_directory(SYS_CLASS "/misc", why);
    err = err ? err : open_up(SYS_CLASS "/misc", misc, why);
    return err ? err : run_files_of_sysfs(SYS_CLASS, devices, count, why);
}

static int fill_dev(unsigned count, struct nornic_error *why)
{
    static const char *const without[] = {"infiniband", NULL};
    int err = open_up(DEV, without, why);
    err = err ? err : make_directory(DEV "/infiniband", why);
    return err ? err : run_files_of_dev(DEV "/infiniband", count, why);
}

int run_view_enter(const struct run_device *devices, unsigned count, struct nornic_error *why)
{
    mode_t mask = umask(022); /* adapters' files are for all to read */
    int err = enter_namespaces(why);
    err = err ? err : fill_sys_class(devices, count, why);
    err = err ? err : fill_dev(count, why);
    umask(mask);
    return err;
}

/* --- a trial --- */

int run_view_try(const struct run_device *devices, unsigned count, struct nornic_error *why)
{
    int ends[2], status;
    if (pipe(ends) != 0)
        return failed(why, "make", "a pipe");
    pid_t child = fork();
    if (child == 0) {
        struct nornic_error said = {""};
        int err = run_view_enter(devices, count, &said);
        ssize_t told = err ? write(ends[1], said.text, sizeof said.text) : 0;
        _exit(err || told < 0 ? 1 : 0);
    }
    close(ends[1]);
    struct nornic_error said = {"the process that tried it ended by itself"};
    if (child > 0 && read(ends[0], said.text, sizeof said.text) < 0)
        child = -1;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return failed(why, "start", "a process that tries it");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return net_error_set(why, EPERM, "%s", said.text);
}
