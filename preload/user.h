/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's pointers, as far as they can be judged without asking the kernel: those into the page of
 * NULL and into the kernel's half are bad, and the call says EFAULT. A pointer to any other place that is
 * not there is what a memcpy() of the program's own to it would be, SIGSEGV; no lock is held then. */
#ifndef NORNIC_PRELOAD_USER_H
#define NORNIC_PRELOAD_USER_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define USER_LOWEST   4096u
#define USER_HALF     (UINTPTR_MAX / 2)
#define USER_MAX_CALL 0x7ffff000u /* bytes of one call (read(2), "Notes") */

static inline bool user_is_bad(const void *at, size_t len_bytes)
{
    return len_bytes > 0 && ((uintptr_t)at < USER_LOWEST || (uintptr_t)at > USER_HALF);
}

/* Judges the list of a call as the kernel does. The sum of its bytes, cut at USER_MAX_CALL; -EINVAL,
 * -EFAULT; `too_many` where there are more than IOV_MAX pieces. */
static inline ssize_t user_iov_bytes(const struct iovec *iov, long n, int too_many)
{
    size_t sum = 0;
    if (n < 0 || n > IOV_MAX)
        return too_many;
    if (user_is_bad(iov, (size_t)n * sizeof *iov))
        return -EFAULT;
    for (long i = 0; i < n; i++) {
        if ((ssize_t)iov[i].iov_len < 0)
            return -EINVAL;
        if (user_is_bad(iov[i].iov_base, iov[i].iov_len))
            return -EFAULT;
        sum += iov[i].iov_len;
        if (sum > USER_MAX_CALL)
            sum = USER_MAX_CALL;
    }
    return (ssize_t)sum;
}

#endif
