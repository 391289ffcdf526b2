/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/object.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

struct known {
    const void *object;
    bool is_claimed;
    const struct ibv_context *context; /* NULL: it has no number */
    uint32_t number;
};

/* Of tsearch(): a tree for each kind, ordered by the pointers, behind which nothing is read. */
static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    void *trees[VERBS_KIND_COUNT];
    unsigned count[VERBS_KIND_COUNT];
} objects = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const names[VERBS_KIND_COUNT] = {
    [VERBS_CONTEXT] = "context",
    [VERBS_PD] = "protection domain",
    [VERBS_TD] = "thread domain",
    [VERBS_MR] = "memory region",
    [VERBS_MR_IMPORT] = "imported memory region",
    [VERBS_DM] = "device memory",
    [VERBS_BUF] = "buffer",
    [VERBS_MW] = "memory window",
    [VERBS_AH] = "address handle",
    [VERBS_CHANNEL] = "completion channel",
    [VERBS_CQ] = "completion queue",
    [VERBS_SRQ] = "SRQ",
    [VERBS_XRCD] = "XRC domain",
    [VERBS_QP] = "queue pair",
    [VERBS_EVENT_CHANNEL] = "event channel",
};

/* Where the structs of the ABI have their number; each begins with its context. */
static const size_t number_at[VERBS_KIND_COUNT] = {
    [VERBS_PD] = offsetof(struct ibv_pd, handle),   [VERBS_MR] = offsetof(struct ibv_mr, handle),
    [VERBS_DM] = offsetof(struct ibv_dm, handle),   [VERBS_MW] = offsetof(struct ibv_mw, handle),
    [VERBS_AH] = offsetof(struct ibv_ah, handle),   [VERBS_CQ] = offsetof(struct ibv_cq, handle),
    [VERBS_SRQ] = offsetof(struct ibv_srq, handle), [VERBS_QP] = offsetof(struct ibv_qp, handle),
};

static int compare(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    return ((uintptr_t)x->object > (uintptr_t)y->object) - ((uintptr_t)x->object < (uintptr_t)y->object);
}

/* --- a child of a fork has what its parent had, and no other thread that could hold the lock --- */

static void lock(void)
{
    pthread_mutex_lock(&objects.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&objects.lock);
}

static void follow_forks(void)
{
    (void)pthread_atfork(lock, unlock, unlock); /* without memory: as if nobody forked */
}

void verbs_object_follow_forks(void)
{
    pthread_once(&objects.once, follow_forks);
}

/* --- beginning and end --- */

/* Under the lock. NULL: it is not there. */
static struct known *find(enum verbs_kind kind, const void *object)
{
    const struct known wanted = {.object = object};
    struct known *const *found = tfind(&wanted, &objects.trees[kind], compare);
    return found ? *found : NULL;
}

/* Whether the limit of the kind is reached. Under the lock. */
static bool is_full(enum verbs_kind kind)
{
    bool has_limit = kind == VERBS_PD || kind == VERBS_CQ || kind == VERBS_SRQ || kind == VERBS_AH;
    return has_limit && objects.count[kind] >= VERBS_OBJECTS_MAX;
}

void *verbs_object_new(enum verbs_kind kind, size_t bytes)
{
    void *object = calloc(1, bytes);
    struct known *known = malloc(sizeof *known);
    bool is_added = false;
    verbs_object_follow_forks();
    if (object && known) {
        *known = (struct known){.object = object};
        lock();
        is_added = !is_full(kind) && tsearch(known, &objects.trees[kind], compare);
        objects.count[kind] += is_added;
        unlock();
    }
    if (is_added)
        return object;
    free(known);
    free(object);
    return NULL;
}

void verbs_object_free(enum verbs_kind kind, void *object)
{
    if (!object)
        return;
    lock();
    struct known *known = find(kind, object);
    tdelete(known, &objects.trees[kind], compare);
    objects.count[kind]--;
    unlock();
    free(known);
    free(object);
}

uint32_t verbs_object_number(enum verbs_kind kind, const void *object, struct ibv_context *context)
{
    uint32_t number = atomic_fetch_add(&verbs_own(context)->next_handle, 1);
    lock();
    struct known *known = find(kind, object);
    known->context = context;
    known->number = number;
    unlock();
    return number;
}

/* --- questions --- */

/* It is there, its number and context are what they were, and nobody gives it back. Under the lock. */
static struct known *find_whole(enum verbs_kind kind, const void *object)
{
    struct known *known = find(kind, object);
    struct ibv_context *context;
    uint32_t number;
    if (!known || known->is_claimed)
        return NULL;
    if (!known->context)
        return known;
    memcpy(&context, object, sizeof context);
    memcpy(&number, (const char *)object + number_at[kind], sizeof number);
    return context == known->context && number == known->number ? known : NULL;
}

static int say_whether(bool is_there, enum verbs_kind kind, const void *object)
{
    return is_there ? 0 : verbs_fail(EINVAL, "%p is no %s, or none any more", object, names[kind]);
}

int verbs_object_need(enum verbs_kind kind, const void *object)
{
    lock();
    bool is_there = find_whole(kind, object);
    unlock();
    return say_whether(is_there, kind, object);
}

int verbs_object_need_to_post(enum verbs_kind kind, const void *object)
{
    lock();
    const struct known *known = find(kind, object);
    bool is_there = known && !known->is_claimed;
    unlock();
    return say_whether(is_there, kind, object);
}

int verbs_object_claim(enum verbs_kind kind, const void *object)
{
    lock();
    struct known *known = find_whole(kind, object);
    if (known)
        known->is_claimed = true;
    unlock();
    return known ? 0 : verbs_fail(ENOENT, "%p is no %s, or none any more", object, names[kind]);
}

void verbs_object_keep(enum verbs_kind kind, const void *object)
{
    lock();
    find(kind, object)->is_claimed = false;
    unlock();
}
