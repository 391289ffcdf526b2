/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the keeper from a program of others, which notices nothing of it.
 *
 * - The keeper is no child of the program, which may wait for all of its children. A first child makes
 *   it and ends. The end of the first child sends no SIGCHLD, and only a wait with __WCLONE reports it.
 * - The keeper has none of the program's descriptors: a reader of a pipe waits for the last writer. It
 *   has no terminal and no directory of the program. Signals to the program's group do not reach its own
 *   session.
 * - Program and children share the memory until the exec, as with posix_spawn(). No page is copied, no
 *   handler of pthread_atfork() runs, and the program's thread rests meanwhile. The children call the
 *   kernel alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "host/keeper/keeper.h"
#include "host/port/open.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif

#define STACK_BYTES 65536u
/* A sanitizer keeps books of threads and stacks, and does not know the children. */
#define UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))

/* --- the place of the helper --- */

/* From the folder of the library: a build's lib/, and libdir/nornic of an installation, also where
 * libdir has an architecture; or of a program that has the library in it. */
static const char *const places[] = {"../nornic", "../../bin/nornic", "../../../bin/nornic", "nornic",
                                     "../bin/nornic"};

/* Returns whether only root and this user can change a file. */
static bool is_safe(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Returns whether `path` is a program that no other user has put there: neither the file nor its folder. A
 * library in a common directory such as /tmp has no helper. */
static bool is_own_program(const char *path)
{
    struct stat st;
    char folder[PATH_MAX];
    if (!is_program(path) || stat(path, &st) != 0 || !is_safe(&st))
        return false;
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    return stat(folder[0] ? folder : "/", &st) == 0 && is_safe(&st);
}

/* Finds the file that this code is mapped from, by its absolute name: dladdr() has the name by which the
 * file was opened, and the program may be in another directory by now. */
static bool find_self(char out[PATH_MAX])
{
    const uintptr_t here = (uintptr_t)find_self;
    char line[PATH_MAX + 128];
    bool is_found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !is_found && fgets(line, sizeof line, maps)) {
        uintptr_t from = 0, to = 0;
        const char *path = strchr(line, '/');
        is_found =
            path && sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2 && here >= from && here < to;
        if (is_found)
            snprintf(out, PATH_MAX, "%.*s", (int)strcspn(path, "\n"), path);
    }
    if (maps)
        fclose(maps);
    return is_found;
}

static bool find_helper(char out[PATH_MAX])
{
    char self[PATH_MAX], path[PATH_MAX + 32];
    if (!find_self(self))
        return false;
    *strrchr(self, '/') = '\0';
    for (unsigned i = 0; i < array_len(places); i++) {
        snprintf(path, sizeof path, "%s/%s", self, places[i]);
        if (realpath(path, out) && is_own_program(out))
            return true;
    }
    return false;
}

/* The helper of this process, found once; "": there is to be no keeper. */
static char helper[PATH_MAX];

/* NORNIC_KEEPER is the path of the helper, or "never". */
static void choose_helper(void)
{
    const char *wanted = secure_getenv("NORNIC_KEEPER");
    if (!wanted || !*wanted) {
        if (!find_helper(helper))
            helper[0] = '\0';
    } else if (wanted[0] == '/' && strlen(wanted) < sizeof helper && is_program(wanted)) {
        memcpy(helper, wanted, strlen(wanted) + 1);
    }
}

static const char *get_helper(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_helper);
    return helper[0] ? helper : NULL;
}

bool host_keeper_is_wanted(const char *port)
{
    struct host_port_name name;
    return host_port_parse(port, &name, NULL) == 0 && get_helper();
}

/* --- starting it --- */

struct job {
    const char *path;
    char *const *argv;
    char *const *environment;
    void *stack; /* of the second child */
};

UNCHECKED static int become_helper(void *arg)
{
    const struct job *job = arg;
    long null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        if (null != fd)
            syscall(SYS_dup3, (int)null, fd, 0);
    syscall(SYS_close_range, 3, ~0u, 0); /* an older kernel: the helper closes them */
    syscall(SYS_setsid);
    syscall(SYS_chdir, "/");
    syscall(SYS_execve, job->path, job->argv, job->environment);
    syscall(SYS_exit_group, 127);
    return 127;
}

UNCHECKED static int make_helper(void *arg)
{
    const struct job *job = arg;
    (void)clone(become_helper, (char *)job->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, arg);
    syscall(SYS_exit_group, 0);
    return 0;
}

/* Runs with all signals blocked: a handler of the program would run in the child, on the program's
 * memory. The helper unblocks them. */
static void run_job(struct job *job)
{
    sigset_t all, before;
    char *stacks = mmap(NULL, (size_t)2 * STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return;
    job->stack = stacks + STACK_BYTES;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int child = clone(make_helper, stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK, job);
    while (child > 0 && waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stacks, (size_t)2 * STACK_BYTES);
}

/* Chooses the variables by which the helper finds the same directory, and its libraries. Others, such as
 * LD_PRELOAD, are the program's own. */
static void choose_environment(char *out[], unsigned room)
{
    static const char *const kept[] = {"NORNIC_RUNTIME_DIR=", "XDG_RUNTIME_DIR=", "LD_LIBRARY_PATH=",
                                       "ASAN_OPTIONS=",       "UBSAN_OPTIONS=",   "TSAN_OPTIONS="};
    unsigned count = 0;
    for (char **at = environ; at && *at && count + 1 < room; at++)
        for (unsigned i = 0; i < array_len(kept); i++)
            if (strncmp(*at, kept[i], strlen(kept[i])) == 0 && count + 1 < room)
                out[count++] = *at;
    out[count] = NULL;
}

void host_keeper_start(void)
{
    char *environment[16];
    static char name[] = "nornic", command[] = "keep";
    char *argv[] = {name, command, NULL};
    struct host_keeper_place place;
    if (!get_helper() || host_keeper_find_place(&place) != 0)
        return;
    if (host_keeper_take_place(&place) == -EAGAIN)
        return;
    if (place.fd >= 0)
        host_keeper_leave_place(&place);
    choose_environment(environment, array_len(environment));
    struct job job = {.path = get_helper(), .argv = argv, .environment = environment};
    run_job(&job);
}
