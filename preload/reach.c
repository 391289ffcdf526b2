/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/reach.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/now.h"
#include "preload/libc.h"
#include "service/borrow/borrow.h"

#define RETRY_NS    NS_PER_S
#define MAX_REST_NS (60 * NS_PER_S)

static _Thread_local unsigned depth __attribute__((tls_model("initial-exec")));
static _Thread_local struct {
    unsigned depth;
    int before; /* pthread_setcancelstate() */
} no_cancel __attribute__((tls_model("initial-exec")));

static struct {
    pthread_mutex_t lock;
    _Atomic bool is_open;
    bool was_told;
    uint64_t next_try_ns;
    _Atomic uint64_t rest_ns, rests_until_ns; /* 0: it answers */
} reach = {.lock = PTHREAD_MUTEX_INITIALIZER};

void reach_no_cancel(void)
{
    if (no_cancel.depth++ == 0)
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &no_cancel.before);
}

void reach_may_cancel(void)
{
    if (--no_cancel.depth == 0)
        pthread_setcancelstate(no_cancel.before, NULL);
}

void reach_begin(void)
{
    reach_no_cancel();
    depth++;
}

void reach_end(void)
{
    depth--;
    reach_may_cancel();
}

bool reach_is_inside(void)
{
    return depth > 0;
}

void reach_answered(int err)
{
    if (err == -ENOTCONN || err == -ECONNRESET)
        reach.is_open = false;
    uint64_t rest_ns = reach.rest_ns ? min_u64(2 * reach.rest_ns, MAX_REST_NS) : RETRY_NS;
    reach.rest_ns = err == -ETIMEDOUT ? rest_ns : 0;
    reach.rests_until_ns = err == -ETIMEDOUT ? base_now_ns() + rest_ns : 0;
}

bool reach_rests(void)
{
    return reach.rest_ns > 0 && base_now_ns() < reach.rests_until_ns;
}

/* Read once, since programs clear their environment. A UNIX socket's path has 107 bytes at most. */
static char service_path[128];

bool reach_is_wanted(void)
{
    static _Atomic int wanted = -1;
    if (wanted >= 0)
        return wanted;
    const char *path = getenv("NORNIC_SMC");
    bool is_set = path && *path;
    if (is_set)
        snprintf(service_path, sizeof service_path, "%s", path);
    wanted = is_set;
    return is_set;
}

void reach_trace(const char *format, ...)
{
    char text[512];
    const char *on = getenv("NORNIC_TRACE");
    if (!on || strcmp(on, "1") != 0)
        return;
    int n = snprintf(text, sizeof text, "nornic: process %d: ", (int)getpid());
    va_list args;
    va_start(args, format);
    n += vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    size_t len_bytes = (size_t)n < sizeof text - 1 ? (size_t)n : sizeof text - 2;
    text[len_bytes] = '\n';
    if (libc()->write(STDERR_FILENO, text, len_bytes + 1) < 0)
        return; /* a program without standard error hears nothing */
}

static void try_to_open(void)
{
    if (base_now_ns() < reach.next_try_ns)
        return;
    reach_begin();
    int err = borrow_open(service_path);
    reach_end();
    if (err == -EALREADY)
        err = 0;
    reach.next_try_ns = base_now_ns() + RETRY_NS;
    reach.is_open = err == 0;
    if (err && !reach.was_told)
        reach_trace("no service for SMC-R at %s (%s): connections are plain TCP", service_path,
                    strerror(-err));
    reach.was_told = err != 0;
}

bool reach_service(void)
{
    if (!reach_is_wanted() || reach_has_renounced())
        return false;
    if (reach.is_open && !borrow_is_gone())
        return true;
    reach_no_cancel();
    pthread_mutex_lock(&reach.lock);
    if (!reach.is_open || borrow_is_gone())
        try_to_open();
    bool is_open = reach.is_open && !borrow_is_gone();
    pthread_mutex_unlock(&reach.lock);
    reach_may_cancel();
    return is_open;
}

void reach_forked(bool has_loans)
{
    pthread_mutex_init(&reach.lock, NULL);
    reach.is_open = false;
    reach.next_try_ns = 0;
    if (!reach_is_wanted())
        return;
    reach_begin();
    borrow_forked();
    if (!has_loans)
        borrow_forget_memory();
    reach_end();
}

void reach_renounce(void)
{
    reach_begin();
    borrow_renounce();
    reach_end();
    reach.is_open = false;
}

bool reach_has_renounced(void)
{
    return borrow_has_renounced();
}
