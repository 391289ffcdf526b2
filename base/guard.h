/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to memory that may fault.
 *
 * A registered region is memory of the program, which may unmap it, take its rights away, or cut the
 * mapped file short at any time. An access then raises SIGSEGV or SIGBUS in the thread that makes it. No
 * earlier question prevents that: the answer may be old when the access comes. So each access is made
 * under a guard: setjmp() marks the place to go on, and the handler of the signal (host/dev/fault.c)
 * jumps there when the address lies in the guarded range. The access becomes a result of false. A guard
 * costs some nanoseconds and no system call. Guards of a thread may nest: an inner guard restores the
 * outer guard when it ends.
 *
 * A fault outside the guarded range is a defect, or belongs to the program: guard_caught() returns, and
 * the handler passes the signal on. */
#ifndef NORNIC_BASE_GUARD_H
#define NORNIC_BASE_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Runs `step(arg)`, which accesses the `len_bytes` of `memory`. Returns false when an access faulted;
 * `step` then ended there. Its writes are in place, except those to local variables. `step` holds no lock
 * and allocates nothing. */
bool guard_run(const void *memory, size_t len_bytes, void (*step)(void *arg), void *arg);

/* Copies `len_bytes` into guarded memory, and out of it. Returns false when an access faulted: a part may
 * be copied. */
bool guard_copy_to(void *memory, const void *from, size_t len_bytes);
bool guard_copy_from(void *to, const void *memory, size_t len_bytes);

/* Ends the guarded access that `info` of SIGSEGV or SIGBUS reports: does not return then. Returns when
 * the signal was sent by a process, or when the thread has no guard over that address. For the signal's
 * handler. */
void guard_caught(const siginfo_t *info);

#endif
