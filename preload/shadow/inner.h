/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a shadow share. */
#ifndef NORNIC_PRELOAD_SHADOW_INNER_H
#define NORNIC_PRELOAD_SHADOW_INNER_H

#include "preload/shadow/shadow.h"

#define SHADOW_ALWAYS  ((uint32_t)(EPOLLERR | EPOLLHUP)) /* asked for by all */
#define SHADOW_PRIVATE ((uint32_t)(EPOLLET | EPOLLONESHOT | EPOLLWAKEUP | EPOLLEXCLUSIVE)) /* no events */

/* The data of the waiter's descriptor and of the bell in the kernel's instance. Programs use pointers and
 * small numbers there. */
#define SHADOW_MARK UINT64_C(0xa56e4fbd91c3720d)

/* --- preload/shadow/set.c; the shadow's lock is held --- */

extern unsigned shadow_generation; /* grows in the child of each fork() */
extern int shadow_bell;            /* an eventfd that is always readable; -1: not made yet */

/* A number of the kernel's instance. */
int shadow_epfd(struct shadow *s);
/* Wakes one that sleeps in the kernel's instance: it looks at the shadow, and wakes the next if need be. */
void shadow_ring(struct shadow *s);
/* Where in `buckets` a connection's registrations are. */
unsigned shadow_bucket(const struct shadow *s, const struct borrow *b);
/* More buckets. Where there is no memory they stay as they are. */
void shadow_grow(struct shadow *s);
/* A service that is gone brings no news: all that it lent is reset, also where the next one is open. */
void shadow_look_for_loss(struct shadow *s);
/* It is to be looked at, or not. */
void shadow_make_ready(struct shadow *s, struct shadow_reg *reg);
void shadow_not_ready(struct shadow *s, struct shadow_reg *reg);
/* From now on the shadow watches it. It is in no list. */
void shadow_enter(struct shadow *s, struct shadow_reg *reg);
/* It is no more in the kernel's instance, and in no list. */
void shadow_leave_kernel(struct shadow *s, struct shadow_reg *reg);
/* Its end. The lock of all registrations is held, too. */
void shadow_drop(struct shadow *s, struct shadow_reg *reg);
/* In the child of fork() the shadow gets a waiter of the child's, and one that the service has dropped is
 * replaced: before it is asked for news. */
void shadow_renew(struct shadow *s);

#endif
