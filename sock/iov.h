/* SPDX-License-Identifier: BSD-2-Clause */
/* A position in the buffers of a message. Internal to sock/. */
#ifndef NORNIC_SOCK_IOV_H
#define NORNIC_SOCK_IOV_H

#include <stddef.h>
#include <sys/uio.h>

struct smcr_iov {
    const struct iovec *at;
    size_t left;  /* buffers, `at` included */
    size_t done;  /* bytes of `at` that are behind the position */
    size_t total; /* bytes from the position to the end */
};

static inline struct smcr_iov smcr_iov_of(const struct iovec *iov, size_t n)
{
    struct smcr_iov v = {.at = iov, .left = n};
    for (size_t i = 0; i < n; i++)
        v.total += iov[i].iov_len;
    return v;
}

/* The next stretch of bytes; its length into `len`, 0 at the end. */
static inline void *smcr_iov_next(struct smcr_iov *v, size_t *len)
{
    while (v->left > 0 && v->done == v->at->iov_len) {
        v->at++;
        v->left--;
        v->done = 0;
    }
    *len = v->left > 0 ? v->at->iov_len - v->done : 0;
    return v->left > 0 ? (char *)v->at->iov_base + v->done : NULL;
}

/* Goes on by `n`, at most what smcr_iov_next() said. */
static inline void smcr_iov_advance(struct smcr_iov *v, size_t n)
{
    v->done += n;
    v->total -= n;
}

#endif
