/* SPDX-License-Identifier: BSD-2-Clause */
/* The words by which programs see that the service lives, as the kernel keeps them: robust futexes that the
 * service's thread holds (Documentation/locking/robust-futex-ABI.rst). When it dies, of whatever, the kernel
 * marks each, and wakes one of those that wait there. */
#ifndef NORNIC_SERVICE_LIFE_H
#define NORNIC_SERVICE_LIFE_H

#include <linux/futex.h>
#include <stddef.h>

#include "service/memory/shared.h"

/* The list of those words that the kernel walks. It is the service's own memory, where the C library would
 * have it beside the words: there every program could write, and giving a lock back follows its pointers. So
 * link i of it lies as far from word i as any other. */
struct service_lives {
    struct robust_list_head head;
    struct service_life_link {
        _Alignas(struct service_life) struct robust_list link;
    } links[SERVICE_LIVES];
    struct robust_list_head *before; /* the thread's list until then: the C library's */
    size_t before_bytes;
    struct service_life *shared; /* NULL: not begun */
};

/* This thread holds `shared`, SERVICE_LIVES words, from now on. Locks of the C library that it takes
 * meanwhile are not given back if it dies. 0, or -errno: the kernel has no robust futexes. */
int service_lives_begin(struct service_lives *lives, struct service_life *shared);
/* Programs see an end as they see a death, and those that sleep there wake. By the same thread, while
 * `shared` is mapped: the kernel could not mark it any more when the thread ends. Nothing, if not begun. */
void service_lives_end(struct service_lives *lives);

#endif
