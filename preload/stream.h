/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving from and sending to a lent connection as TCP sockets do: waiting, timeouts, MSG_WAITALL,
 * SO_RCVLOWAT, SIGPIPE. Cancellation points where they wait. */
#ifndef NORNIC_PRELOAD_STREAM_H
#define NORNIC_PRELOAD_STREAM_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "preload/conn.h"

/* The connection fell back to TCP: nothing was done, and the caller asks the kernel, once the numbers lead
 * there again (lend_back()). */
#define STREAM_FELL_BACK (-EREMCHG)

/* `bytes`: the sum of the pieces. What recv() and send() return, or -errno, or STREAM_FELL_BACK. `flags` as
 * theirs. */
ssize_t stream_recv(struct conn *c, const struct iovec *iov, int n, size_t bytes, int flags);
ssize_t stream_send(struct conn *c, const struct iovec *iov, int n, size_t bytes, int flags);

#endif
