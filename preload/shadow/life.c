/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks: `control` (which registrations there are), then that of a shadow. Both are leaves to the service's
 * calls, and neither is held while a thread sleeps. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/shadow/inner.h"

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static TAILQ_HEAD(shadow_list, shadow) shadows = TAILQ_HEAD_INITIALIZER(shadows);

static void unbound(struct fds_object *object);
static void destroy(struct fds_object *object);
struct fds_kind shadow_kind = {.bytes = sizeof(struct shadow), .unbound = unbound, .destroy = destroy};

/* --- making and ending --- */

bool shadow_make(int epfd)
{
    struct shadow *s = fds_new(&shadow_kind);
    if (!s)
        return false;
    s->epfd = epfd;
    pthread_mutex_init(&s->lock, NULL);
    TAILQ_INIT(&s->ours);
    TAILQ_INIT(&s->in_kernel);
    TAILQ_INIT(&s->ready);
    shadow_grow(s);
    pthread_mutex_lock(&control);
    s->generation = shadow_generation;
    TAILQ_INSERT_TAIL(&shadows, s, in_shadows);
    if (shadow_bell < 0)
        shadow_bell = fds_keep(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    pthread_mutex_unlock(&control);
    bool ok = s->buckets && shadow_bell >= 0 && fds_bind(epfd, s);
    fds_put(s);
    return ok;
}

static void unbound(struct fds_object *object)
{
    struct shadow *s = (struct shadow *)object;
    struct shadow_reg *reg;
    pthread_mutex_lock(&control);
    pthread_mutex_lock(&s->lock);
    while ((reg = TAILQ_FIRST(&s->ours)) || (reg = TAILQ_FIRST(&s->in_kernel)))
        shadow_drop(s, reg);
    if (s->waiter) {
        reach_begin();
        borrow_waiter_free(s->waiter);
        reach_end();
    }
    s->waiter = NULL;
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&control);
}

static void destroy(struct fds_object *object)
{
    struct shadow *s = (struct shadow *)object;
    pthread_mutex_lock(&control);
    TAILQ_REMOVE(&shadows, s, in_shadows);
    pthread_mutex_unlock(&control);
    pthread_mutex_destroy(&s->lock);
    free(s->buckets);
}
/* No number leads to the connection any more: as with the kernel, that ends its registrations. */
static void forget(struct fds_object *object)
{
    struct conn *c = (struct conn *)object;
    pthread_mutex_lock(&control);
    while (c->in_epoll) {
        struct shadow *s = c->in_epoll->shadow;
        pthread_mutex_lock(&s->lock);
        shadow_drop(s, c->in_epoll);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&control);
}

/* --- epoll_ctl() --- */

static struct shadow_reg *find(const struct shadow *s, const struct conn *c, int fd)
{
    struct shadow_reg *reg = c->in_epoll;
    while (reg && (reg->shadow != s || reg->fd != fd))
        reg = reg->next_of_conn;
    return reg;
}

static struct shadow_reg *note(struct shadow *s, struct conn *c, int fd, const struct epoll_event *event)
{
    struct shadow_reg *reg = calloc(1, sizeof *reg);
    if (!reg)
        return NULL;
    *reg =
        (struct shadow_reg){.shadow = s, .conn = c, .fd = fd, .event = *event, .next_of_conn = c->in_epoll};
    reg->event.events |= SHADOW_ALWAYS;
    c->in_epoll = reg;
    conn_kind.unbound = forget;
    return reg;
}

/* Of a connection that is lent. */
static int ctl_ours(struct shadow *s, int op, int fd, struct conn *c, struct shadow_reg *reg,
                    const struct epoll_event *event)
{
    if (op == EPOLL_CTL_ADD && reg)
        return -EEXIST;
    if (op != EPOLL_CTL_ADD && !reg)
        return -ENOENT;
    if (op == EPOLL_CTL_DEL) {
        shadow_drop(s, reg);
        return 0;
    }
    if (op == EPOLL_CTL_ADD) {
        reg = note(s, c, fd, event);
        if (!reg)
            return -ENOMEM;
        shadow_enter(s, reg);
        return 0;
    }
    reg->event = *event;
    reg->event.events |= SHADOW_ALWAYS;
    reg->must_tell = true;
    shadow_make_ready(s, reg);
    shadow_ring(s);
    return 0;
}

/* Of one that is the kernel's for now. */
static int ctl_kernel(struct shadow *s, int op, int fd, struct conn *c, struct shadow_reg *reg,
                      const struct epoll_event *event)
{
    if (libc()->epoll_ctl(shadow_epfd(s), op, fd, (struct epoll_event *)event) != 0)
        return -errno;
    s->has_others = true;
    if (op == EPOLL_CTL_DEL && reg)
        shadow_drop(s, reg);
    else if (op != EPOLL_CTL_DEL && reg)
        reg->event = *event;
    else if (op == EPOLL_CTL_ADD && (reg = note(s, c, fd, event))) {
        TAILQ_INSERT_TAIL(&s->in_kernel, reg, in_list);
        s->num_in_kernel++;
    }
    return 0;
}

int shadow_ctl(struct shadow *s, int op, int fd, struct conn *c, const struct epoll_event *event)
{
    int err = -EBADF;
    pthread_mutex_lock(&control);
    pthread_mutex_lock(&s->lock);
    shadow_renew(s);
    if (c->object.numbers > 0 && s->object.numbers > 0) { /* neither was closed meanwhile */
        struct shadow_reg *reg = find(s, c, fd);
        err = conn_state(c) == CONN_LENT ? ctl_ours(s, op, fd, c, reg, event)
                                         : ctl_kernel(s, op, fd, c, reg, event);
    }
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&control);
    return err;
}

void shadow_adopt(struct conn *c)
{
    pthread_mutex_lock(&control);
    for (struct shadow_reg *reg = c->in_epoll; reg; reg = reg->next_of_conn) {
        struct shadow *s = reg->shadow;
        pthread_mutex_lock(&s->lock);
        shadow_renew(s);
        if (!reg->is_ours) {
            (void)libc()->epoll_ctl(shadow_epfd(s), EPOLL_CTL_DEL, reg->fd, NULL);
            shadow_leave_kernel(s, reg);
            shadow_enter(s, reg);
        }
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&control);
}

/* A one-shot that has been told stays told: the kernel knows it by events that ask for nothing. */
void shadow_return(struct conn *c)
{
    pthread_mutex_lock(&control);
    while (c->in_epoll) {
        struct shadow_reg *reg = c->in_epoll;
        struct shadow *s = reg->shadow;
        pthread_mutex_lock(&s->lock);
        if (reg->is_ours) {
            (void)libc()->epoll_ctl(shadow_epfd(s), EPOLL_CTL_ADD, reg->fd, &reg->event);
            s->has_others = true;
        }
        shadow_drop(s, reg);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&control);
}

void shadow_changed(struct conn *c)
{
    pthread_mutex_lock(&control);
    for (struct shadow_reg *reg = c->in_epoll; reg; reg = reg->next_of_conn) {
        pthread_mutex_lock(&reg->shadow->lock);
        if (reg->is_ours) {
            reg->must_tell = true;
            shadow_make_ready(reg->shadow, reg);
            shadow_ring(reg->shadow);
        }
        pthread_mutex_unlock(&reg->shadow->lock);
    }
    pthread_mutex_unlock(&control);
}
/* --- fork() --- */

void shadow_lock_all(void)
{
    struct shadow *s;
    pthread_mutex_lock(&control);
    TAILQ_FOREACH(s, &shadows, in_shadows)
        pthread_mutex_lock(&s->lock);
}

void shadow_unlock_all(void)
{
    struct shadow *s;
    TAILQ_FOREACH(s, &shadows, in_shadows)
        pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&control);
}

void shadow_forked(void)
{
    struct shadow *s;
    shadow_generation++;
    TAILQ_FOREACH(s, &shadows, in_shadows) {
        s->sleepers = 0; /* the parent's threads */
        s->waiter = NULL;
    }
}
