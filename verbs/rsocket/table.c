/* SPDX-License-Identifier: BSD-2-Clause */
/* Rsockets by their descriptors. Calls use one while another thread may close it: the last one ends it. */
#define _GNU_SOURCE /* PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "verbs/rsocket/datagram.h"
#include "verbs/rsocket/rsocket.h"

static struct {
    pthread_once_t once;
    pthread_rwlock_t lock;
    struct rsock **socks; /* by descriptor */
    size_t size;
    pthread_rwlock_t gate; /* of rs_lock(); readers do not overtake a thread that forks */
} table = {.once = PTHREAD_ONCE_INIT,
           .lock = PTHREAD_RWLOCK_INITIALIZER,
           .gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP};

/* --- locks and fork() --- */

void rs_lock(struct rsock *s)
{
    pthread_rwlock_rdlock(&table.gate);
    pthread_mutex_lock(&s->lock);
}

void rs_unlock(struct rsock *s)
{
    pthread_mutex_unlock(&s->lock);
    pthread_rwlock_unlock(&table.gate);
}

/* Waits until no thread has a lock of an rsocket. The server's thread has them, too. */
static void before_fork(void)
{
    pthread_rwlock_wrlock(&table.gate);
    pthread_rwlock_wrlock(&table.lock);
}

static void in_parent(void)
{
    pthread_rwlock_unlock(&table.lock);
    pthread_rwlock_unlock(&table.gate);
}

/* Makes the locks new, since a lock for writing belongs to a thread of the parent. Forgets the other threads:
 * their calls do not go on here. */
static void in_child(void)
{
    for (size_t i = 0; i < table.size; i++) {
        if (!table.socks[i])
            continue;
        atomic_store(&table.socks[i]->users, 1); /* the table */
        LIST_INIT(&table.socks[i]->watches);
    }
    rs_forget_wake_fd();
    table.lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    table.gate = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}

/* Registers the handlers. All other locks are taken under the gate, so it has to be taken before them, and of
 * handlers the last one comes first. Those of librdmacm are there since rsocket() has looked for a device. */
static void follow_forks(void)
{
    rs_served_follow_forks();
    (void)pthread_atfork(before_fork, in_parent, in_child); /* without memory: as if nobody forked */
}

/* --- beginning and end --- */

static int enter(struct rsock *s)
{
    size_t at = (size_t)s->fd;
    int err = 0;
    pthread_rwlock_wrlock(&table.lock);
    if (at >= table.size) {
        size_t size = pow2_up((uint32_t)at + 64);
        struct rsock **socks = realloc(table.socks, size * sizeof *socks);
        err = socks ? 0 : ENOMEM;
        if (socks) {
            memset(socks + table.size, 0, (size - table.size) * sizeof *socks);
            table.socks = socks;
            table.size = size;
        }
    }
    if (!err)
        table.socks[at] = s;
    pthread_rwlock_unlock(&table.lock);
    return err;
}

/* librspreload gives a program descriptors of its own, and its select(), as Debian 12 has it, mistakes an
 * rsocket's for one of these that is higher (upstream mended it in "librdmacm: Fix select function"). So
 * rsockets are above, if the limits allow that, and below the end of an fd_set. */
#define FIRST_FD 512

static int open_fd(void)
{
    int low = epoll_create1(EPOLL_CLOEXEC);
    int high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, FIRST_FD);
    if (high < 0 || high >= FD_SETSIZE) {
        if (high >= 0)
            close(high);
        return low;
    }
    close(low);
    return high;
}

struct rsock *rs_new(int family, int type)
{
    pthread_once(&table.once, follow_forks);
    struct rsock *s = calloc(1, sizeof *s);
    if (!s)
        return verbs_fail_null(ENOMEM, "no memory for an rsocket");
    s->timer_fd = -1;
    s->generation = rs_served_generation();
    s->family = family;
    s->type = type;
    s->rq_size = s->sq_size = RS_QUEUE_DEFAULT;
    s->inline_size = RS_INLINE_DEFAULT;
    s->recv_bytes = s->send_bytes = RS_BUFFER_DEFAULT;
    pthread_mutex_init(&s->lock, NULL);
    LIST_INIT(&s->watches);
    LIST_INIT(&s->mappings);
    STAILQ_INIT(&s->pending);
    atomic_init(&s->users, 1); /* the caller */
    s->fd = open_fd();
    if (s->fd >= 0)
        return s;
    int err = errno;
    pthread_mutex_destroy(&s->lock);
    free(s);
    return verbs_fail_null(err, "no descriptor for an rsocket");
}

int rs_publish(struct rsock *s)
{
    atomic_fetch_add(&s->users, 1); /* the table */
    int err = enter(s);
    if (!err)
        return 0;
    atomic_fetch_sub(&s->users, 1);
    return verbs_fail(err, "no memory for the table of rsockets");
}

static void end(struct rsock *s)
{
    struct rsock *pending;
    while ((pending = STAILQ_FIRST(&s->pending))) { /* nobody has seen these */
        STAILQ_REMOVE_HEAD(&s->pending, next_pending);
        rs_forget(pending);
    }
    rs_leave_server(s);
    ds_close(s);
    rs_close_endpoint(s);
    rs_served_close_timer(s);
    close(s->fd);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void rs_put(struct rsock *s)
{
    if (atomic_fetch_sub(&s->users, 1) == 1)
        end(s);
}

void rs_forget(struct rsock *s)
{
    pthread_rwlock_wrlock(&table.lock);
    bool is_known = table.socks[s->fd] == s;
    if (is_known)
        table.socks[s->fd] = NULL;
    pthread_rwlock_unlock(&table.lock);
    if (is_known)
        rs_put(s);
}

/* --- use --- */

struct rsock *rs_get(int fd)
{
    pthread_rwlock_rdlock(&table.lock);
    struct rsock *s = fd >= 0 && (size_t)fd < table.size ? table.socks[fd] : NULL;
    if (s)
        atomic_fetch_add(&s->users, 1);
    pthread_rwlock_unlock(&table.lock);
    return s;
}

struct rsock *rs_need(int fd)
{
    struct rsock *s = rs_get(fd);
    if (!s)
        return verbs_fail_null(EBADF, "descriptor %d is no rsocket", fd);
    rs_lock(s);
    return s;
}

int rs_table_end(void)
{
    pthread_rwlock_rdlock(&table.lock);
    int end = (int)table.size;
    pthread_rwlock_unlock(&table.lock);
    return end;
}

void rs_done(struct rsock *s)
{
    int err = errno;
    (void)rs_serve(s);
    rs_unlock(s);
    rs_put(s);
    errno = err;
}

int rs_ended(const struct rsock *s, const char *call, int err)
{
    if (!err)
        return 0;
    if (err == EAGAIN || err == EINPROGRESS || err == EALREADY || err == EINTR)
        errno = err;
    else
        verbs_fail(err, "%s() of rsocket %d: %s", call, s->fd, strerror(err));
    return -1;
}
