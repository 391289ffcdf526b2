/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/guard.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED_
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED_
#endif

/* The compiler's setjmp() saves three registers. That of the C library saves eight and disguises them,
 * which takes three times as long. Only for x86-64 do both gcc and clang have it, and sanitizers have to
 * see the jump. */
#if defined(__x86_64__) && !defined(IS_SANITIZED_)
typedef void *guard_place[5];
#define SAVE_PLACE(place) __builtin_setjmp(place)
#define GO_BACK_TO(place) __builtin_longjmp(place, 1)
#else
typedef jmp_buf guard_place;
#define SAVE_PLACE(place) _setjmp(place)
#define GO_BACK_TO(place) _longjmp(place, 1)
#endif

/* The granularity in which a fault may be reported: a kernel may name the page, and a huge page for
 * SIGBUS. */
#define SEGV_GRAIN_BYTES UINT64_C(4096)
#define BUS_GRAIN_BYTES  (UINT64_C(1) << 30)

struct guard {
    guard_place back;
    uintptr_t first, last; /* addresses */
    struct guard *outer;
};

/* A handler reads it: a model of thread-local storage that never allocates. */
static _Thread_local struct guard *volatile innermost __attribute__((tls_model("initial-exec")));

/* Runs `access`, a statement, under a guard of its own. It is written in place: the compiler inlines no
 * function that saves a place, and a call by pointer costs as much as a small copy. The place is left as it
 * is: clearing it costs as much as saving it. The fences keep the compiler from moving the access out. */
#define RUN_GUARDED(memory, length, access)        \
    struct guard guard;                            \
    guard.first = (uintptr_t)(memory);             \
    guard.last = (uintptr_t)(memory) + (length)-1; \
    guard.outer = innermost;                       \
    innermost = &guard;                            \
    if (SAVE_PLACE(guard.back)) {                  \
        innermost = innermost->outer;              \
        return false;                              \
    }                                              \
    atomic_signal_fence(memory_order_seq_cst);     \
    access;                                        \
    atomic_signal_fence(memory_order_seq_cst);     \
    innermost = guard.outer;                       \
    return true

bool guard_run(const void *memory, size_t len_bytes, void (*step)(void *arg), void *arg)
{
    if (len_bytes == 0)
        return true;
    RUN_GUARDED(memory, len_bytes, step(arg));
}

bool guard_copy_to(void *memory, const void *from, size_t len_bytes)
{
    if (len_bytes == 0)
        return true;
    RUN_GUARDED(memory, len_bytes, memcpy(memory, from, len_bytes));
}

bool guard_copy_from(void *to, const void *memory, size_t len_bytes)
{
    if (len_bytes == 0)
        return true;
    RUN_GUARDED(memory, len_bytes, memcpy(to, memory, len_bytes));
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
            GO_BACK_TO(guard->back);
}
