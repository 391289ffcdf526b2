/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/conn.h"
#include "preload/lend.h"
#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/waiting.h"

static struct {
    uid_t uid;       /* as it was when the program began */
    bool is_unknown; /* another user namespace has other numbers */
    dev_t err_dev;   /* of standard error then; 0: there was none */
    ino_t err_ino;
} began;

void identity_begin(void)
{
    struct stat err;
    int saved = errno;
    began.uid = geteuid();
    if (fstat(STDERR_FILENO, &err) == 0) {
        began.err_dev = err.st_dev;
        began.err_ino = err.st_ino;
    }
    errno = saved;
}

struct identity identity_now(void)
{
    struct identity now = {(uid_t)-1, (uid_t)-1, (uid_t)-1};
    (void)getresuid(&now.real, &now.effective, &now.saved);
    return now;
}

/* --- what is told --- */

/* Whether standard error is where people look: what it was when the program began, or a log. A
 * number that a program has closed may be anything by now, a file of its data or a connection. */
static bool may_tell(void)
{
    struct stat err;
    if (fds_has(STDERR_FILENO) || fstat(STDERR_FILENO, &err) != 0 || S_ISDIR(err.st_mode))
        return false;
    if (err.st_dev == began.err_dev && err.st_ino == began.err_ino)
        return true;
    int flags = libc()->fcntl(STDERR_FILENO, F_GETFL);
    return S_ISREG(err.st_mode) && flags >= 0 && flags & O_APPEND;
}

static void tell(const char *text, int len)
{
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (!may_tell() || libc()->poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
        return;
    if (libc()->write(STDERR_FILENO, text, (size_t)len) < 0)
        return; /* nobody hears it */
}

static void tell_loss(uid_t from, unsigned num_lost)
{
    struct identity now = identity_now();
    char text[512], lost[80] = "", name[17] = ""; /* of the process: programs write over their arguments */
    (void)libc()->prctl(PR_GET_NAME, name, 0, 0, 0);
    if (num_lost > 0)
        snprintf(lost, sizeof lost, "its SMC-R connections (%u) are reset, and ", num_lost);
    int len = snprintf(text, sizeof text,
                       "nornic: process %d (%s) has given up user %u, whose service lends SMC-R: %sits new "
                       "connections are plain TCP; for SMC-R, start it as user %u from the beginning, with a "
                       "service of that user\n",
                       (int)getpid(), name, from, lost, now.effective);
    tell(text, len < (int)sizeof text ? len : (int)sizeof text - 1);
}

/* --- the loss --- */

/* The service's user; where none was reached yet, the user of the program as it began. */
static uid_t owner(void)
{
    uid_t uid = began.uid;
    (void)borrow_owner(&uid);
    return uid;
}

static bool has(const struct identity *ids, uid_t uid)
{
    return ids->real == uid || ids->effective == uid || ids->saved == uid;
}

static void give_up(void)
{
    int saved = errno;
    unsigned num_lost = lend_renounce();
    tell_loss(owner(), num_lost);
    errno = saved;
}

/* A process with one id of the user can have the others again (setresuid()), so it is that user
 * still. Where the numbers are those of another namespace, the user is among `before`. */
void identity_changed(struct identity before)
{
    if (!reach_is_wanted() || reach_has_renounced())
        return;
    struct identity now = identity_now();
    bool is_still = began.is_unknown
                        ? has(&now, before.real) || has(&now, before.effective) || has(&now, before.saved)
                        : has(&now, owner());
    if (!is_still)
        give_up();
}

void identity_look(void)
{
    if (!began.is_unknown)
        identity_changed((struct identity){0, 0, 0});
}

/* Root in another user namespace has no rights in this one, and is not to have those of its
 * service. Another user is there what it was; only the numbers change. */
void identity_in_namespace(void)
{
    if (!reach_is_wanted() || reach_has_renounced())
        return;
    if (owner() == 0)
        give_up();
    began.is_unknown = true;
}

void identity_before_sandbox(void)
{
    int saved = errno;
    if (conn_any_lent() && !reach_has_renounced())
        (void)waiting_own();
    errno = saved;
}
