/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "service/memory/life.h"

#include <limits.h>
#include <sys/syscall.h>

_Static_assert(sizeof(struct service_life_link) == sizeof(struct service_life), "one distance for all");

static int set_list(struct robust_list_head *head, size_t bytes)
{
    return syscall(SYS_set_robust_list, head, bytes) == 0 ? 0 : -errno;
}

int service_lives_begin(struct service_lives *lives, struct service_life *shared)
{
    uint32_t word = (uint32_t)gettid() | SERVICE_LOCK_WAITERS;
    if (syscall(SYS_get_robust_list, 0, &lives->before, &lives->before_bytes) != 0)
        return -errno;
    struct robust_list *last = &lives->head.list;
    for (unsigned i = 0; i < SERVICE_LIVES; i++) {
        atomic_store(&shared[i].word, word);
        last->next = &lives->links[i].link;
        last = last->next;
    }
    last->next = &lives->head.list;
    lives->head.futex_offset = (long)((uintptr_t)shared - (uintptr_t)lives->links);
    int err = set_list(&lives->head, sizeof lives->head);
    lives->shared = err ? NULL : shared;
    return err;
}

void service_lives_end(struct service_lives *lives)
{
    if (!lives->shared)
        return;
    (void)set_list(lives->before, lives->before_bytes);
    for (unsigned i = 0; i < SERVICE_LIVES; i++) {
        _Atomic uint32_t *word = &lives->shared[i].word;
        atomic_store(word, SERVICE_LOCK_DIED);
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    lives->shared = NULL;
}
