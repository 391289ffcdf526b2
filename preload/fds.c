/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "preload/libc.h"

#define PAGE_NUMBERS 1024u
#define FIRST_KEPT   1024
#define PAGES        1024u /* 1,048,576 numbers: what the kernel's fs.nr_open allows where nobody raised it */

struct page {
    struct fds_object *_Atomic at[PAGE_NUMBERS];
};

static struct page *_Atomic pages[PAGES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the spare objects */

/* --- numbers --- */

static struct fds_object *_Atomic *place(int fd)
{
    unsigned number = (unsigned)fd;
    if (number >= PAGES * PAGE_NUMBERS)
        return NULL;
    struct page *page = atomic_load_explicit(&pages[number / PAGE_NUMBERS], memory_order_acquire);
    return page ? &page->at[number % PAGE_NUMBERS] : NULL;
}

static struct fds_object *_Atomic *make_place(int fd)
{
    unsigned number = (unsigned)fd;
    if (number >= PAGES * PAGE_NUMBERS || place(fd))
        return place(fd);
    struct page *page = calloc(1, sizeof *page), *other = NULL;
    if (page && !atomic_compare_exchange_strong(&pages[number / PAGE_NUMBERS], &other, page))
        free(page); /* another thread was faster */
    return place(fd);
}

bool fds_has(int fd)
{
    struct fds_object *_Atomic *at = place(fd);
    return at && atomic_load_explicit(at, memory_order_relaxed);
}

/* --- holding --- */

static bool hold_unless_free(struct fds_object *object)
{
    uint32_t holders = atomic_load_explicit(&object->holders, memory_order_relaxed);
    while (holders > 0)
        if (atomic_compare_exchange_weak(&object->holders, &holders, holders + 1))
            return true;
    return false;
}

void *fds_get(int fd, const struct fds_kind *kind)
{
    struct fds_object *_Atomic *at = place(fd);
    for (;;) {
        struct fds_object *object = at ? atomic_load_explicit(at, memory_order_acquire) : NULL;
        if (!object || object->kind != kind) /* memory stays that of its kind */
            return NULL;
        if (!hold_unless_free(object))
            continue;
        if (atomic_load(at) == object)
            return object;
        fds_put(object);
    }
}

void fds_hold(void *object)
{
    struct fds_object *held = object;
    atomic_fetch_add(&held->holders, 1);
}

void fds_put(void *object)
{
    struct fds_object *held = object;
    if (!held || atomic_fetch_sub(&held->holders, 1) != 1)
        return;
    held->kind->destroy(held);
    pthread_mutex_lock(&lock);
    held->next = held->kind->spare;
    held->kind->spare = held;
    pthread_mutex_unlock(&lock);
}

void *fds_new(struct fds_kind *kind)
{
    pthread_mutex_lock(&lock);
    struct fds_object *object = kind->spare;
    if (object)
        kind->spare = object->next;
    pthread_mutex_unlock(&lock);
    if (!object && !(object = calloc(1, kind->bytes)))
        return NULL;
    memset(object + 1, 0, kind->bytes - sizeof *object); /* the count of holders is looked at by others */
    object->kind = kind;
    atomic_store(&object->numbers, 0);
    atomic_store(&object->holders, 1);
    return object;
}

/* --- leading --- */

void fds_let_go(void *object)
{
    struct fds_object *bound = object;
    if (!bound)
        return;
    if (atomic_fetch_sub(&bound->numbers, 1) == 1 && bound->kind->unbound)
        bound->kind->unbound(bound);
    fds_put(bound);
}

bool fds_bind(int fd, void *object)
{
    struct fds_object *bound = object;
    struct fds_object *_Atomic *at = make_place(fd);
    if (!at)
        return false;
    fds_hold(bound);
    atomic_fetch_add(&bound->numbers, 1);
    fds_let_go(atomic_exchange(at, bound));
    return true;
}

void fds_unbind(int fd)
{
    struct fds_object *_Atomic *at = place(fd);
    if (at && atomic_load_explicit(at, memory_order_relaxed))
        fds_let_go(atomic_exchange(at, NULL));
}

void fds_unbind_from(int fd, const void *object)
{
    struct fds_object *_Atomic *at = place(fd);
    struct fds_object *expected = (struct fds_object *)object;
    if (at && atomic_compare_exchange_strong(at, &expected, NULL))
        fds_let_go(expected);
}

void fds_unbind_range(unsigned first, unsigned last)
{
    for (unsigned page = first / PAGE_NUMBERS; page <= last / PAGE_NUMBERS && page < PAGES; page++) {
        if (!atomic_load(&pages[page]))
            continue;
        unsigned begin = page * PAGE_NUMBERS, end = begin + PAGE_NUMBERS - 1;
        for (unsigned fd = first > begin ? first : begin; fd <= (last < end ? last : end); fd++)
            fds_unbind((int)fd);
    }
}

void *fds_take(int fd)
{
    struct fds_object *_Atomic *at = place(fd);
    return at ? atomic_exchange(at, NULL) : NULL;
}

void fds_give_back(int fd, void *object)
{
    struct fds_object *_Atomic *at = place(fd);
    struct fds_object *nothing = NULL;
    if (object && !atomic_compare_exchange_strong(at, &nothing, object))
        fds_let_go(object); /* the number was given to something else meanwhile */
}

void fds_copy(int from, int to)
{
    struct fds_object *_Atomic *at = place(from);
    struct fds_object *object = at ? atomic_load(at) : NULL;
    object = object ? fds_get(from, object->kind) : NULL;
    if (object)
        fds_bind(to, object);
    else
        fds_unbind(to);
    fds_put(object);
}

int fds_next_of(const void *object, int after)
{
    for (unsigned fd = (unsigned)(after + 1); fd < PAGES * PAGE_NUMBERS; fd++) {
        struct page *page = atomic_load(&pages[fd / PAGE_NUMBERS]);
        if (!page)
            fd |= PAGE_NUMBERS - 1;
        else if (atomic_load_explicit(&page->at[fd % PAGE_NUMBERS], memory_order_relaxed) == object)
            return (int)fd;
    }
    return -1;
}

int fds_next_kind(const struct fds_kind *kind, int after)
{
    for (unsigned fd = (unsigned)(after + 1); fd < PAGES * PAGE_NUMBERS; fd++) {
        struct page *page = atomic_load(&pages[fd / PAGE_NUMBERS]);
        if (!page) {
            fd |= PAGE_NUMBERS - 1;
            continue;
        }
        const struct fds_object *object = atomic_load(&page->at[fd % PAGE_NUMBERS]);
        if (object && object->kind == kind) /* memory stays that of its kind */
            return (int)fd;
    }
    return -1;
}

/* --- our own descriptors --- */

static void nothing_to_do(struct fds_object *object)
{
    (void)object;
}

static struct fds_kind kept_kind = {.bytes = sizeof(struct fds_object), .destroy = nothing_to_do};

int fds_keep_copy(int fd)
{
    struct rlimit limit;
    int copy = libc()->fcntl(fd, F_DUPFD_CLOEXEC, FIRST_KEPT);
    if (copy < 0 && errno == EINVAL && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        copy = libc()->fcntl(fd, F_DUPFD_CLOEXEC, (int)(limit.rlim_cur / 4 * 3)); /* no number is so high */
    struct fds_object *object = copy < 0 ? NULL : fds_new(&kept_kind);
    if (object)
        fds_bind(copy, object);
    fds_put(object);
    return copy;
}

int fds_keep(int fd)
{
    int copy = fd < 0 ? -1 : fds_keep_copy(fd);
    if (copy < 0)
        return fd;
    libc()->close(fd);
    return copy;
}

bool fds_is_kept(int fd)
{
    struct fds_object *object = fds_get(fd, &kept_kind);
    fds_put(object);
    return object != NULL;
}

int fds_next_kept(unsigned first)
{
    for (unsigned fd = first; fd < PAGES * PAGE_NUMBERS; fd++) {
        if (!atomic_load(&pages[fd / PAGE_NUMBERS]))
            fd |= PAGE_NUMBERS - 1;
        else if (fds_is_kept((int)fd))
            return (int)fd;
    }
    return -1;
}

void fds_close_kept(int fd)
{
    fds_unbind(fd);
    libc()->close(fd);
}

/* --- fork() --- */

void fds_lock(void)
{
    pthread_mutex_lock(&lock);
}

void fds_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
