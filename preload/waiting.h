/* SPDX-License-Identifier: BSD-2-Clause */
/* The waiter of the service's that a thread sleeps with in poll(), select() and where it waits for more than
 * it has; and time. */
#ifndef NORNIC_PRELOAD_WAITING_H
#define NORNIC_PRELOAD_WAITING_H

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "service/borrow/borrow.h"

/* This thread's, made at the first call, gone with the thread. NULL: none can be had. */
struct borrow_waiter *waiting_own(void);
/* In the child of fork(): the parent's waiters are not the child's. */
void waiting_forked(void);

/* In so many nanoseconds; UINT64_MAX stays "never". */
uint64_t waiting_deadline(uint64_t timeout_ns);
/* NULL for "never", else `*left` with what is left of it: 0 at least. */
struct timespec *waiting_left(uint64_t deadline_ns, struct timespec *left);
/* The nanoseconds of a timeout as calls have it; false: it is none that they take. NULL: UINT64_MAX. */
bool waiting_timespec_ns(const struct timespec *timeout, uint64_t *ns);

#endif
