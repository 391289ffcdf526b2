/* SPDX-License-Identifier: BSD-2-Clause */
/* A shadow's registrations: in the kernel's instance, in the shadow, ready. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/shadow/inner.h"

unsigned shadow_generation;
int shadow_bell = -1;

/* --- the kernel's instance --- */

int shadow_epfd(struct shadow *s)
{
    struct shadow *there = fds_get(s->epfd, s->object.kind);
    fds_put(there);
    return there == s ? s->epfd : fds_next_of(s, -1);
}

/* Has the kernel's instance report an edge of `fd`, which is readable or will be. */
static void mark(struct shadow *s, int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = SHADOW_MARK};
    int epfd = shadow_epfd(s);
    s->has_marks = true;
    if (libc()->epoll_ctl(epfd, EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT)
        (void)libc()->epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event);
}

void shadow_ring(struct shadow *s)
{
    if (s->sleepers > 0 && shadow_bell >= 0)
        mark(s, shadow_bell);
}

/* --- registrations; the shadow's lock is held --- */

unsigned shadow_bucket(const struct shadow *s, const struct borrow *b)
{
    return (unsigned)(((uintptr_t)b >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (s->num_buckets - 1);
}

void shadow_make_ready(struct shadow *s, struct shadow_reg *reg)
{
    if (reg->is_ready)
        return;
    reg->is_ready = true;
    TAILQ_INSERT_TAIL(&s->ready, reg, in_ready);
}

void shadow_not_ready(struct shadow *s, struct shadow_reg *reg)
{
    if (!reg->is_ready)
        return;
    reg->is_ready = false;
    TAILQ_REMOVE(&s->ready, reg, in_ready);
}

void shadow_grow(struct shadow *s)
{
    unsigned num = s->num_buckets ? s->num_buckets * 2 : 64;
    struct shadow_reg **buckets = calloc(num, sizeof *buckets), *reg;
    if (!buckets)
        return; /* then chains are longer */
    free(s->buckets);
    s->buckets = buckets;
    s->num_buckets = num;
    TAILQ_FOREACH(reg, &s->ours, in_list) {
        struct shadow_reg **bucket = &s->buckets[shadow_bucket(s, reg->conn->borrow)];
        reg->next_in_bucket = *bucket;
        *bucket = reg;
    }
}

/* Another registration here of the same connection, by another number. */
static bool has_sibling(const struct shadow_reg *reg)
{
    for (const struct shadow_reg *other = reg->conn->in_epoll; other; other = other->next_of_conn)
        if (other != reg && other->shadow == reg->shadow && other->is_ours && other->is_watched)
            return true;
    return false;
}

static void watch(struct shadow *s, struct shadow_reg *reg)
{
    reg->is_watched = has_sibling(reg) || (s->waiter && borrow_watch(s->waiter, reg->conn->borrow) == 0);
    s->num_unwatched += !reg->is_watched;
}

static void unwatch(struct shadow *s, struct shadow_reg *reg)
{
    s->num_unwatched -= !reg->is_watched;
    if (reg->is_watched && !has_sibling(reg) && s->waiter)
        borrow_unwatch(s->waiter, reg->conn->borrow);
    reg->is_watched = false;
}

void shadow_look_for_loss(struct shadow *s)
{
    struct shadow_reg *reg;
    if (s->was_lost || !s->waiter || !borrow_waiter_is_gone(s->waiter))
        return;
    s->was_lost = true;
    TAILQ_FOREACH(reg, &s->ours, in_list) {
        reg->must_tell = true;
        shadow_make_ready(s, reg);
    }
}

static void need_waiter(struct shadow *s)
{
    shadow_look_for_loss(s); /* before another takes its place */
    if (!reach_service() || (s->waiter && !s->was_lost))
        return; /* that of a service that has gone is left: to give it back would be to ask the next */
    reach_begin();
    s->waiter = borrow_waiter_new();
    reach_end();
    if (!s->waiter)
        return;
    s->was_lost = false;
    mark(s, borrow_waiter_fd(s->waiter));
    if (borrow_service_fd() >= 0)
        mark(s, borrow_service_fd()); /* its end is an edge, too */
}

void shadow_enter(struct shadow *s, struct shadow_reg *reg)
{
    need_waiter(s);
    if (s->num_ours >= s->num_buckets)
        shadow_grow(s);
    struct shadow_reg **bucket = &s->buckets[shadow_bucket(s, reg->conn->borrow)];
    reg->next_in_bucket = *bucket;
    *bucket = reg;
    TAILQ_INSERT_TAIL(&s->ours, reg, in_list);
    reg->is_ours = reg->must_tell = true;
    s->num_ours++;
    watch(s, reg);
    shadow_make_ready(s, reg);
    shadow_ring(s);
}

static void leave(struct shadow *s, struct shadow_reg *reg)
{
    struct shadow_reg **at = &s->buckets[shadow_bucket(s, reg->conn->borrow)];
    while (*at && *at != reg)
        at = &(*at)->next_in_bucket;
    if (*at)
        *at = reg->next_in_bucket;
    unwatch(s, reg);
    shadow_not_ready(s, reg);
    TAILQ_REMOVE(&s->ours, reg, in_list);
    reg->is_ours = false;
    s->num_ours--;
}

void shadow_leave_kernel(struct shadow *s, struct shadow_reg *reg)
{
    TAILQ_REMOVE(&s->in_kernel, reg, in_list);
    s->num_in_kernel--;
}

void shadow_drop(struct shadow *s, struct shadow_reg *reg)
{
    struct shadow_reg **at = &reg->conn->in_epoll;
    while (*at != reg)
        at = &(*at)->next_of_conn;
    if (reg->is_ours)
        leave(s, reg);
    else
        shadow_leave_kernel(s, reg);
    *at = reg->next_of_conn;
    free(reg);
}

void shadow_renew(struct shadow *s)
{
    struct shadow_reg *reg;
    struct borrow_waiter *dropped = s->waiter && borrow_waiter_is_dropped(s->waiter) ? s->waiter : NULL;
    if (s->generation == shadow_generation && !dropped)
        return;
    s->generation = shadow_generation;
    if (dropped) {
        reach_begin();
        borrow_waiter_free(dropped);
        reach_end();
        s->waiter = NULL;
    }
    if (s->num_ours == 0)
        return;
    need_waiter(s);
    s->num_unwatched = 0;
    TAILQ_FOREACH(reg, &s->ours, in_list)
        reg->is_watched = false;
    TAILQ_FOREACH(reg, &s->ours, in_list) {
        watch(s, reg);
        shadow_make_ready(s, reg);
    }
}
