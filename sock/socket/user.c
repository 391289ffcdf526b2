/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sock/socket/user.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sock/socket/known.h"

#define PAGE_BYTES   4096u       /* or a part of a page */
#define MASK_BYTES   8u          /* of a signal mask, as the kernel has it */
#define MAX_RW_BYTES 0x7ffff000u /* of one call (read(2), "Notes") */

/* How memory is asked for.
 *
 * What cannot be missing is not asked for: stack, heap and variables of the program (sock/socket/known.c). What is
 * left are mappings.
 *
 * No call of the kernel says whether a place may be read or written, but some touch it and do nothing else,
 * and the answer of those is EFAULT where it may not. One is asked for each page, as protection has no
 * smaller unit, and for no more than the call is going to copy. Nothing is remembered from one call to the
 * next: whatever was there may have been unmapped since, by any thread, and nobody would tell. What is left
 * is a program that unmaps a buffer while a call uses it, which is as wrong as freeing it.
 *
 * Each question is a system call within that of the program, so they are the cheapest that there are: about
 * a hundred nanoseconds, a third of which is the memory's. A place whose contents matter is asked for by a
 * futex, which costs more than twice that; so of what is going to be overwritten, other contents are put
 * there. */

/* Reads the aligned eight bytes around `at`: the kernel looks at the mask before it refuses what is to be
 * done with it. A mask at NULL would be none. */
static bool can_read(uintptr_t at)
{
    uintptr_t mask = at & ~(uintptr_t)(MASK_BYTES - 1);
    int saved = errno;
    bool ok = mask != 0 && (syscall(SYS_rt_sigprocmask, -1, mask, NULL, MASK_BYTES) == 0 || errno != EFAULT);
    errno = saved;
    return ok;
}

/* Adds nothing to the aligned four bytes around `at`, atomically, and wakes nobody, since nobody waits
 * there. */
static bool can_write(uintptr_t at)
{
    uintptr_t word = at & ~(uintptr_t)3;
    int saved = errno;
    bool ok = syscall(SYS_futex, word, FUTEX_WAKE_OP_PRIVATE, 0, NULL, word,
                      FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) >= 0 ||
              errno != EFAULT;
    errno = saved;
    return ok;
}

/* Has the thread's signal mask written to the eight bytes at `at`. NULL would ask for none. */
static bool can_put_mask(uintptr_t at)
{
    int saved = errno;
    bool ok = at != 0 && syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, at, MASK_BYTES) == 0;
    errno = saved;
    return ok;
}

/* How much of a page is left at `at`. */
static size_t rest_of_page(uintptr_t at)
{
    return PAGE_BYTES - at % PAGE_BYTES;
}

static size_t reach(uintptr_t at, size_t len_bytes, bool (*can)(uintptr_t at))
{
    size_t done = 0;
    while (done < len_bytes && can(at + done))
        done += rest_of_page(at + done);
    return done < len_bytes ? done : len_bytes;
}

size_t smcr_user_readable(const void *at, size_t len_bytes)
{
    size_t known = smcr_known_readable(at, len_bytes);
    return known + reach((uintptr_t)at + known, len_bytes - known, can_read);
}

size_t smcr_user_writable(void *at, size_t len_bytes)
{
    size_t known = smcr_known_writable(at, len_bytes);
    return known + reach((uintptr_t)at + known, len_bytes - known, can_write);
}

static size_t overwritable(uintptr_t first, size_t len_bytes)
{
    size_t done = 0;
    if (len_bytes < MASK_BYTES)
        return reach(first, len_bytes, can_write);
    while (done < len_bytes) {
        /* A mask that does not fit any more begins before what is asked for; one that goes on in the next
         * page may have failed for that. */
        size_t mask = done < len_bytes - MASK_BYTES ? done : len_bytes - MASK_BYTES;
        if (!can_put_mask(first + mask) && !can_write(first + done))
            break;
        done += rest_of_page(first + done);
    }
    return done < len_bytes ? done : len_bytes;
}

size_t smcr_user_overwritable(void *at, size_t len_bytes)
{
    size_t known = smcr_known_writable(at, len_bytes);
    return known + overwritable((uintptr_t)at + known, len_bytes - known);
}

int smcr_iov_open(struct smcr_iov *v, const struct iovec *iov, size_t n)
{
    if (n > IOV_MAX)
        return -EMSGSIZE;
    if (smcr_user_readable(iov, n * sizeof *iov) < n * sizeof *iov)
        return -EFAULT;
    return smcr_iov_begin(v, iov, n);
}

int smcr_iov_begin(struct smcr_iov *v, const struct iovec *iov, size_t n)
{
    *v = (struct smcr_iov){.at = iov, .left = n};
    for (size_t i = 0; i < n; i++) {
        if (iov[i].iov_len > SSIZE_MAX)
            return -EINVAL;
        size_t room = MAX_RW_BYTES - v->total;
        v->total += iov[i].iov_len < room ? iov[i].iov_len : room;
    }
    return 0;
}
