/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that a program hands to a call. A system call answers EFAULT where it is not there; here the
 * bytes are copied by the process itself, which would end in the middle of a call, with the lock held. So the
 * kernel is asked first, by calls that touch the memory and do nothing else. Internal to sock/. */
#ifndef NORNIC_SOCK_USER_H
#define NORNIC_SOCK_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* How many of the `len_bytes` bytes at `at` may be read; or may be written (nothing is changed there). What
 * lies behind the first page that may not be does not count. */
size_t smcr_user_readable(const void *at, size_t len_bytes);
size_t smcr_user_writable(void *at, size_t len_bytes);
/* The same as the latter, for bytes that are all going to be overwritten: some of them may be, already. Costs
 * half. */
size_t smcr_user_overwritable(void *at, size_t len_bytes);

/* A position in the buffers of a message. */
struct smcr_iov {
    const struct iovec *at;
    size_t left;  /* buffers, `at` included */
    size_t done;  /* bytes of `at` that are behind the position */
    size_t total; /* bytes from the position to the end */
};

/* The beginning of `n` buffers, borrowed. 0; -EFAULT: `iov` is not there; -EMSGSIZE: more than IOV_MAX;
 * -EINVAL: one is longer than a call can say. Like the kernel it takes at most 2 GiB less a page of them. */
int smcr_iov_open(struct smcr_iov *v, const struct iovec *iov, size_t n);
/* The same of buffers whose descriptions are known to be there: a caller's own. 0 or -EINVAL. */
int smcr_iov_begin(struct smcr_iov *v, const struct iovec *iov, size_t n);

/* The next stretch of bytes; its length into `len`, 0 at the end. */
static inline void *smcr_iov_next(struct smcr_iov *v, size_t *len)
{
    while (v->left > 0 && v->done == v->at->iov_len) {
        v->at++;
        v->left--;
        v->done = 0;
    }
    *len = v->left > 0 ? v->at->iov_len - v->done : 0;
    *len = *len < v->total ? *len : v->total;
    return v->left > 0 ? (char *)v->at->iov_base + v->done : NULL;
}

/* Goes on by `n`, at most what smcr_iov_next() said. */
static inline void smcr_iov_advance(struct smcr_iov *v, size_t n)
{
    v->done += n;
    v->total -= n;
}

#endif
