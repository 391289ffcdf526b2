/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that wait: each has a descriptor by which another wakes it that has found something. */
#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs/rsocket/rsocket.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

/* A thread's value is its descriptor and 1, since NULL is none. */
static void end_thread(void *value)
{
    close((int)(intptr_t)value - 1);
}

static void begin(void)
{
    pthread_key_create(&key, end_thread);
}

static int fd_of_thread(void)
{
    pthread_once(&once, begin);
    return (int)(intptr_t)pthread_getspecific(key) - 1;
}

int rs_wake_fd(void)
{
    int fd = fd_of_thread();
    if (fd >= 0)
        return fd;
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return rs_fail(errno, "no descriptor for a thread that waits for an rsocket");
    pthread_setspecific(key, (void *)(intptr_t)(fd + 1));
    return fd;
}

void rs_forget_wake_fd(void)
{
    int fd = fd_of_thread();
    if (fd < 0)
        return;
    close(fd);
    pthread_setspecific(key, NULL);
}

void rs_wake(struct rsock *s)
{
    const struct rs_watch *watch;
    int own = fd_of_thread();
    for (watch = LIST_FIRST(&s->watches); watch; watch = LIST_NEXT(watch, entry))
        if (watch->wake_fd != own)
            eventfd_write(watch->wake_fd, 1);
}

bool rs_has_others(const struct rsock *s)
{
    const struct rs_watch *watch;
    int own = fd_of_thread();
    for (watch = LIST_FIRST(&s->watches); watch; watch = LIST_NEXT(watch, entry))
        if (watch->wake_fd != own)
            return true;
    return false;
}

void rs_set_state(struct rsock *s, enum rs_state state, int err)
{
    s->state = state;
    s->err = err;
    rs_wake(s);
}

void rs_break(struct rsock *s, int err)
{
    bool is_asking = s->state == RS_RESOLVING || s->state == RS_CONNECTING;
    rs_set_state(s, is_asking ? RS_REFUSED : RS_FAILED, err);
}

int rs_take_err(struct rsock *s)
{
    int err = s->err;
    s->err = 0;
    return err;
}

int rs_cannot_send(struct rsock *s)
{
    if (s->state == RS_REFUSED) {
        int err = rs_take_err(s);
        return err ? err : ENOTCONN;
    }
    if (s->state == RS_FAILED)
        return s->err ? s->err : ECONNRESET;
    return s->state != RS_CONNECTED ? ECONNRESET : s->is_send_shut ? EPIPE : 0;
}
