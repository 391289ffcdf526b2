/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/guard.h"

#include <setjmp.h>
#include <stdint.h>
#include <string.h>

/* The granularity in which a fault may be reported: a kernel may name the page, and a huge page for
 * SIGBUS. */
#define SEGV_GRAIN_BYTES UINT64_C(4096)
#define BUS_GRAIN_BYTES  (UINT64_C(1) << 30)

struct guard {
    jmp_buf back;
    uintptr_t first, last; /* addresses */
    struct guard *outer;
};

/* A handler reads it: a model of thread-local storage that never allocates. */
static _Thread_local struct guard *volatile innermost __attribute__((tls_model("initial-exec")));

bool guard_run(const void *memory, size_t len_bytes, void (*step)(void *arg), void *arg)
{
    if (len_bytes == 0)
        return true;
    struct guard guard = {
        .first = (uintptr_t)memory, .last = (uintptr_t)memory + len_bytes - 1, .outer = innermost};
    innermost = &guard;
    if (_setjmp(guard.back)) {
        innermost = guard.outer;
        return false;
    }
    step(arg);
    innermost = guard.outer;
    return true;
}

struct copy {
    void *to;
    const void *from;
    size_t len_bytes;
};

static void copy(void *arg)
{
    const struct copy *c = arg;
    memcpy(c->to, c->from, c->len_bytes);
}

bool guard_copy_to(void *memory, const void *from, size_t len_bytes)
{
    struct copy c = {memory, from, len_bytes};
    return guard_run(memory, len_bytes, copy, &c);
}

bool guard_copy_from(void *to, const void *memory, size_t len_bytes)
{
    struct copy c = {to, memory, len_bytes};
    return guard_run(memory, len_bytes, copy, &c);
}

/* Returns whether `info` reports an address of the range, as exactly as the kernel says it. */
static bool is_over(const struct guard *guard, const siginfo_t *info)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    uintptr_t grain = (uintptr_t)(info->si_signo == SIGBUS ? BUS_GRAIN_BYTES : SEGV_GRAIN_BYTES) - 1;
    return at >= (guard->first & ~grain) && at <= (guard->last | grain);
}

void guard_caught(const siginfo_t *info)
{
    if (info->si_code <= 0) /* a process has sent it */
        return;
    for (struct guard *guard = innermost; guard; guard = guard->outer)
        if (is_over(guard, info))
            _longjmp(guard->back, 1);
}
