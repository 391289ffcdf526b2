/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls by which a process becomes another user's, or is about to lose the means to reach its
 * service. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/calls/calls.h"
#include "preload/identity.h"
#include "preload/libc.h"

/* --- ids --- */

EXPORT int setuid(uid_t uid)
{
    struct identity before = identity_now();
    int rc = libc()->setuid(uid);
    if (rc == 0)
        identity_changed(before);
    return rc;
}

/* The way back stays, so the process may keep its loans. Under another effective id it cannot reach the
 * service. */
EXPORT int seteuid(uid_t uid)
{
    struct identity before = identity_now();
    identity_before_sandbox();
    int rc = libc()->seteuid(uid);
    if (rc == 0)
        identity_changed(before);
    return rc;
}

EXPORT int setreuid(uid_t real, uid_t effective)
{
    identity_before_sandbox();
    struct identity before = identity_now();
    int rc = libc()->setreuid(real, effective);
    if (rc == 0)
        identity_changed(before);
    return rc;
}

EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    identity_before_sandbox();
    struct identity before = identity_now();
    int rc = libc()->setresuid(real, effective, saved);
    if (rc == 0)
        identity_changed(before);
    return rc;
}

/* Changes the user for access to files; the other three ids stay. Returns the id before the call, also where
 * the kernel refuses it. */
EXPORT int setfsuid(uid_t uid)
{
    struct identity before = identity_now();
    identity_before_sandbox();
    int previous = libc()->setfsuid(uid);
    identity_changed(before);
    return previous;
}

/* --- namespaces --- */

EXPORT int unshare(int flags)
{
    int rc = libc()->unshare(flags);
    if (rc == 0 && flags & CLONE_NEWUSER)
        identity_in_namespace();
    return rc;
}

/* Which kind `fd` is of does not always stand in `kind`: a look whether the user namespace is
 * another one. */
static ino_t user_namespace(void)
{
    struct stat ns;
    return stat("/proc/self/ns/user", &ns) == 0 ? ns.st_ino : 0;
}

EXPORT int setns(int fd, int kind)
{
    ino_t before = user_namespace();
    int rc = libc()->setns(fd, kind);
    if (rc == 0 && (kind == 0 || kind & CLONE_NEWUSER) && user_namespace() != before)
        identity_in_namespace();
    return rc;
}

/* --- sandboxes --- */

EXPORT int chroot(const char *path)
{
    identity_before_sandbox();
    return libc()->chroot(path);
}

static void before_prctl(long option)
{
    if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
        identity_before_sandbox();
}

EXPORT int prctl(int option, ...)
{
    unsigned long a[4];
    va_list args;
    va_start(args, option);
    for (unsigned i = 0; i < 4; i++)
        a[i] = va_arg(args, unsigned long);
    va_end(args);
    before_prctl(option);
    return libc()->prctl(option, a[0], a[1], a[2], a[3]);
}

static void before_limit(long resource)
{
    if (resource == RLIMIT_NOFILE)
        identity_before_sandbox();
}

EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
    before_limit(resource);
    return libc()->setrlimit(resource, limit);
}

EXPORT int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *limit, struct rlimit *before)
{
    if (limit)
        before_limit(resource);
    return libc()->prlimit(pid, resource, limit, before);
}

/* Headers use these names for setrlimit() and prlimit() in programs with _FILE_OFFSET_BITS=64. */
EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
    return setrlimit(resource, (const struct rlimit *)limit);
}

EXPORT int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit,
                     struct rlimit64 *before)
{
    return prlimit(pid, resource, (const struct rlimit *)limit, (struct rlimit *)before);
}

/* --- the same by number --- */

/* A call of syscall() that this file has under another name, or changes the ids of one thread. */
bool calls_by_number(long number, const long *a, long *rc)
{
    struct identity before;
    switch (number) {
    case SYS_setuid:
    case SYS_setreuid:
    case SYS_setresuid:
    case SYS_setfsuid:
        identity_before_sandbox();
        before = identity_now();
        *rc = libc()->syscall(number, a[0], a[1], a[2]);
        if (*rc != -1)
            identity_changed(before);
        return true;
    case SYS_unshare:
        *rc = unshare((int)a[0]);
        return true;
    case SYS_setns:
        *rc = setns((int)a[0], (int)a[1]);
        return true;
    case SYS_seccomp:
        identity_before_sandbox();
        return false;
    case SYS_prctl:
        before_prctl(a[0]);
        return false;
    case SYS_setrlimit:
        before_limit(a[0]);
        return false;
    case SYS_prlimit64:
        before_limit(a[1]);
        return false;
    case SYS_chroot:
        identity_before_sandbox();
        return false;
    default: /* of numbers that the kernel adds every year */
        return false;
    }
}
