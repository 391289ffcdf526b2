/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes: what is inherited over fork() and exec(). */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/calls/calls.h"
#include "preload/conn.h"
#include "preload/fds.h"
#include "preload/identity.h"
#include "preload/lend.h"
#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/shadow/shadow.h"
#include "preload/waiting.h"

/* The child has a copy of the table and the same open files. Only the way to the service, and what
 * sleeps on its wake-ups, has to be its own. It is made when the child needs it, and by none that
 * has given up the service's user; a child that is about to lose the means makes it before
 * (preload/calls/identity.c). */
static void before_fork(void)
{
    calls_lock_streams();
    lend_lock();
    shadow_lock_all();
    fds_lock();
}

static void in_parent(void)
{
    fds_unlock();
    shadow_unlock_all();
    lend_unlock();
    calls_unlock_streams();
}

static void in_child(void)
{
    shadow_forked();
    in_parent();
    waiting_forked();
    reach_forked(conn_any_lent());
}

/* The child of a real vfork() has its parent's memory: what it closes before exec() would be closed in the
 * parent's table. As a fork() it is what POSIX allows it to be. */
EXPORT pid_t vfork(void)
{
    return libc()->fork();
}

pid_t __vfork(void);

EXPORT pid_t __vfork(void)
{
    return libc()->fork();
}

/* Lent connections that this program has had since before its exec(). */
static void find_inherited(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] != '.')
            lend_attach(atoi(entry->d_name));
    }
    if (dir)
        closedir(dir);
    calls_serve_streams();
}

__attribute__((constructor)) static void begin(void)
{
    libc();
    if (!reach_is_wanted())
        return;
    identity_begin();
    pthread_atfork(before_fork, in_parent, in_child);
    find_inherited();
}
