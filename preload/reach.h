/* SPDX-License-Identifier: BSD-2-Clause */
/* The way to the service, and what is told of it under NORNIC_TRACE=1. */
#ifndef NORNIC_PRELOAD_REACH_H
#define NORNIC_PRELOAD_REACH_H

#include <stdbool.h>

/* Whether connections can be lent now: NORNIC_SMC names the service's socket, and it answers. One that does
 * not is asked again after a second at the earliest. */
bool reach_service(void);
/* Whether NORNIC_SMC is set, so that it is worth noting which sockets the program makes. */
bool reach_is_wanted(void);
/* In the child of fork(): the way is its parent's. The child makes its own when it first needs one;
 * until then a child without loans has no memory of the service's either. */
void reach_forked(bool has_loans);
/* Gives the way up for good: this process is not the service's user any more
 * (borrow_renounce()). */
void reach_renounce(void);
bool reach_has_renounced(void);
/* A line on standard error, where NORNIC_TRACE is 1. */
__attribute__((format(printf, 1, 2))) void reach_trace(const char *format, ...);
/* Around what a thread must not be cancelled in: it holds a lock, or has half of something done. They
 * nest. */
void reach_no_cancel(void);
void reach_may_cancel(void);
/* Around calls of service/borrow/borrow.h that make or close descriptors: what they keep is this library's, not the
 * program's. They nest, and nobody is cancelled between them. */
void reach_begin(void);
void reach_end(void);
/* Whether this thread is between these two. */
bool reach_is_inside(void);
/* What became of a connection that was to be lent: 0, or -errno of borrow_begin(). After one that the service
 * did not answer in time none is asked for in a while, twice as long each time, a minute at most: an event
 * loop that accepts would stand still for each. */
void reach_answered(int err);
bool reach_rests(void);

#endif
