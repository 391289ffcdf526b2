/* SPDX-License-Identifier: BSD-2-Clause */
/* A shadow's half of epoll_wait(). */
#define _GNU_SOURCE
#include "preload/shadow/inner.h"

#define IN_EDGES   (EPOLLIN | EPOLLRDNORM | EPOLLPRI | EPOLLRDHUP)
#define OUT_EDGES  (EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND)
#define NEWS       64u
#define MAX_ROUNDS 64u /* of taking news, while more may come */

static void take_news(struct shadow *s)
{
    struct borrow *news[NEWS];
    unsigned n = s->waiter ? 1 : 0;
    shadow_look_for_loss(s);
    for (unsigned rounds = 0; n > 0 && rounds < MAX_ROUNDS; rounds++) {
        n = borrow_take_news(s->waiter, news, NEWS);
        for (unsigned i = 0; i < n; i++)
            for (struct shadow_reg *reg = s->buckets[shadow_bucket(s, news[i])]; reg;
                 reg = reg->next_in_bucket)
                if (reg->conn->borrow == news[i])
                    shadow_make_ready(s, reg);
    }
}

/* Levels as epoll has them: TCP tells of normal data and room by two bits each. */
static uint32_t levels_of(const struct shadow_reg *reg)
{
    uint32_t levels = borrow_levels(reg->conn->borrow);
    levels |= (levels & EPOLLIN ? EPOLLRDNORM : 0) | (levels & EPOLLOUT ? EPOLLWRNORM : 0);
    return levels & reg->event.events & ~SHADOW_PRIVATE;
}

/* Whether something has happened since the last time that an edge-triggered registration told. */
static bool has_edge(struct shadow_reg *reg, bool take)
{
    uint32_t in = borrow_in_edges(reg->conn->borrow), out = borrow_out_edges(reg->conn->borrow);
    bool is_fresh = reg->must_tell || (in != reg->seen_in && reg->event.events & IN_EDGES) ||
                    (out != reg->seen_out && reg->event.events & OUT_EDGES);
    if (take) {
        reg->seen_in = in;
        reg->seen_out = out;
        reg->must_tell = false;
    }
    return is_fresh;
}

/* What is to be told of it now; 0: nothing. */
static uint32_t look_at(struct shadow *s, struct shadow_reg *reg)
{
    bool is_edge = reg->event.events & EPOLLET;
    bool is_fresh =
        !is_edge || has_edge(reg, true); /* before the levels: what comes between is an edge more */
    uint32_t levels = is_fresh ? levels_of(reg) : 0;
    if (levels && reg->event.events & EPOLLONESHOT)
        reg->event.events &= SHADOW_PRIVATE;
    if ((levels && !is_edge) || !reg->is_watched)
        shadow_make_ready(s, reg); /* at the tail, so that all get their turn */
    return levels;
}

int shadow_collect(struct shadow *s, struct epoll_event *out, int max, struct conn **fallen)
{
    int n = 0;
    *fallen = NULL;
    pthread_mutex_lock(&s->lock);
    shadow_renew(s);
    take_news(s);
    struct shadow_reg *last = TAILQ_LAST(&s->ready, shadow_regs), *reg = NULL;
    while (n < max && !*fallen && last && reg != last) {
        reg = TAILQ_FIRST(&s->ready);
        shadow_not_ready(s, reg);
        if (borrow_state(reg->conn->borrow) == BORROW_TCP) {
            *fallen = reg->conn;
            fds_hold(reg->conn);
            shadow_make_ready(s, reg);
            break;
        }
        uint32_t levels = look_at(s, reg);
        if (levels)
            out[n++] = (struct epoll_event){.events = levels, .data = reg->event.data};
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

static bool has_anything(struct shadow *s)
{
    struct shadow_reg *reg;
    take_news(s);
    TAILQ_FOREACH(reg, &s->ready, in_ready)
        if ((!(reg->event.events & EPOLLET) || has_edge(reg, false)) && levels_of(reg))
            return true;
    return false;
}

bool shadow_is_ready(struct shadow *s)
{
    pthread_mutex_lock(&s->lock);
    shadow_renew(s);
    bool is_ready = has_anything(s);
    pthread_mutex_unlock(&s->lock);
    return is_ready;
}

/* Registrations that are not watched are in the list always: who sleeps does so for a millisecond. */
static bool has_news_or_changes(struct shadow *s)
{
    struct shadow_reg *reg;
    TAILQ_FOREACH(reg, &s->ready, in_ready)
        if (reg->is_watched)
            return true;
    return s->waiter && !s->was_lost && !borrow_about_to_sleep(s->waiter);
}

bool shadow_may_sleep(struct shadow *s)
{
    pthread_mutex_lock(&s->lock);
    bool may = !has_news_or_changes(s);
    s->sleepers += may;
    pthread_mutex_unlock(&s->lock);
    return may;
}

void shadow_woke(struct shadow *s)
{
    pthread_mutex_lock(&s->lock);
    s->sleepers--;
    if (s->waiter)
        borrow_awake(s->waiter);
    if (s->sleepers > 0 && has_news_or_changes(s)) /* the wake-up was one for all that sleep here */
        shadow_ring(s);
    pthread_mutex_unlock(&s->lock);
}

void shadow_woke_plain(struct shadow *s)
{
    s->sleepers--;
    if (!s->has_marks || s->sleepers == 0)
        return;
    pthread_mutex_lock(&s->lock);
    shadow_ring(s); /* the bell woke this one alone */
    pthread_mutex_unlock(&s->lock);
}

int shadow_without_marks(struct epoll_event *events, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (events[i].data.u64 != SHADOW_MARK)
            events[kept++] = events[i];
    return kept;
}

struct conn *shadow_connecting(struct shadow *s, const struct epoll_event *event, int *fd)
{
    struct shadow_reg *reg;
    struct conn *found = NULL;
    if (s->num_in_kernel == 0 || !(event->events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
        return NULL;
    pthread_mutex_lock(&s->lock);
    TAILQ_FOREACH(reg, &s->in_kernel, in_list) {
        if (conn_state(reg->conn) != CONN_CONNECTING || reg->event.data.u64 != event->data.u64)
            continue;
        found = reg->conn;
        fds_hold(found);
        *fd = reg->fd;
        break;
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}
