/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that answers the requests of all rsockets that listen, as a kernel does for sockets: who
 * connects is connected also while the program does something else. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

#include "verbs/rsocket/rsocket.h"

static struct {
    pthread_once_t once;
    int epoll; /* of the descriptors of listening rsockets; one that is closed leaves it */
    int err;   /* why there is none */
} server = {.once = PTHREAD_ONCE_INIT};

static void *serve(void *arg)
{
    struct epoll_event event;
    (void)arg;
    for (;;) {
        if (epoll_wait(server.epoll, &event, 1, -1) != 1)
            continue;
        struct rsock *s = rs_get(event.data.fd);
        if (!s)
            continue;
        pthread_mutex_lock(&s->lock);
        rs_progress(s);
        pthread_mutex_unlock(&s->lock);
        rs_put(s);
    }
    return NULL;
}

static void begin(void)
{
    pthread_t thread;
    sigset_t all, before;
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (server.epoll < 0) {
        server.err = errno;
        return;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's threads */
    server.err = pthread_create(&thread, NULL, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!server.err)
        pthread_detach(thread);
}

int rs_serve(struct rsock *s)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = s->fd};
    pthread_once(&server.once, begin);
    if (server.err)
        return verbs_fail(server.err, "no thread to answer requests for rsockets");
    return epoll_ctl(server.epoll, EPOLL_CTL_ADD, s->fd, &event) ? errno : 0;
}
