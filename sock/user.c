/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sock/user.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES   4096u       /* or a part of a page */
#define MAX_RW_BYTES 0x7ffff000u /* of one call (read(2), "Notes") */

/* Reads the aligned eight bytes around `at`: the kernel looks at the mask before it refuses what is to be
 * done with it. A mask at NULL would be none. */
static bool can_read(uintptr_t at)
{
    uintptr_t mask = at & ~(uintptr_t)7;
    int saved = errno;
    bool ok = mask != 0 && (syscall(SYS_rt_sigprocmask, -1, mask, NULL, 8) == 0 || errno != EFAULT);
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

static size_t reach(uintptr_t at, size_t len_bytes, bool (*can)(uintptr_t at))
{
    size_t done = 0;
    while (done < len_bytes && can(at + done))
        done += PAGE_BYTES - (at + done) % PAGE_BYTES;
    return done < len_bytes ? done : len_bytes;
}

size_t smcr_user_readable(const void *at, size_t len_bytes)
{
    return reach((uintptr_t)at, len_bytes, can_read);
}

size_t smcr_user_writable(void *at, size_t len_bytes)
{
    return reach((uintptr_t)at, len_bytes, can_write);
}

int smcr_iov_open(struct smcr_iov *v, const struct iovec *iov, size_t n)
{
    if (n > IOV_MAX)
        return -EMSGSIZE;
    if (smcr_user_readable(iov, n * sizeof *iov) < n * sizeof *iov)
        return -EFAULT;
    *v = (struct smcr_iov){.at = iov, .left = n};
    for (size_t i = 0; i < n; i++) {
        if (iov[i].iov_len > SSIZE_MAX)
            return -EINVAL;
        size_t room = MAX_RW_BYTES - v->total;
        v->total += iov[i].iov_len < room ? iov[i].iov_len : room;
    }
    return 0;
}
