/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP socket of a connection that fell back: what it is as the program gets it, and how the service
 * lets go of it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/base.h"
#include "service/inner.h"

/* --- handing over --- */

static void set_number(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

static void set_time(int fd, int name, uint64_t ns)
{
    struct timeval tv = {.tv_sec = (time_t)(ns / NS_PER_S),
                         .tv_usec = (suseconds_t)(ns % NS_PER_S / NS_PER_US)};
    (void)setsockopt(fd, SOL_SOCKET, name, &tv, sizeof tv);
}

void service_loan_hand_over(const struct service_loan *loan)
{
    const struct service_block *b = loan->block;
    int fd = loan->sock->tcp_fd;
    if (loan->sock->is_handed_over)
        return;
    loan->sock->is_handed_over = true;
    uint32_t options = atomic_load(&b->options), lowat = atomic_load(&b->rcvlowat);
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, options & SERVICE_NONBLOCKING ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
    set_number(fd, IPPROTO_TCP, TCP_NODELAY, (options & SERVICE_NODELAY) != 0);
    set_number(fd, SOL_SOCKET, SO_RCVLOWAT, lowat < INT_MAX ? (int)lowat : INT_MAX);
    set_time(fd, SO_RCVTIMEO, atomic_load(&b->rcvtimeo_ns));
    set_time(fd, SO_SNDTIMEO, atomic_load(&b->sndtimeo_ns));
}

/* --- letting go --- */

static void *close_it(void *fd)
{
    close((int)(intptr_t)fd);
    return NULL;
}

/* Closes a descriptor in a thread, which takes no signals but SIGSYS: a call that the sandbox refuses
 * would end the process if that were blocked. Returns false without a thread. */
static bool close_elsewhere(int fd)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSYS);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_begun = pthread_create(&thread, &attr, close_it, (void *)(intptr_t)fd) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return is_begun;
}

void service_close_theirs(int fd)
{
    struct linger linger = {0};
    socklen_t len = sizeof linger;
    bool is_quick = getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len) == 0 &&
                    (!linger.l_onoff || linger.l_linger == 0);
    if (is_quick || !close_elsewhere(fd))
        close(fd);
}

void service_loan_let_go(const struct service_loan *loan)
{
    struct smcr_sock *s = loan->sock;
    struct linger linger = {0};
    socklen_t len = sizeof linger;
    if (!s->is_handed_over || s->tcp_fd < 0 ||
        getsockopt(s->tcp_fd, SOL_SOCKET, SO_LINGER, &linger, &len) != 0 || !linger.l_onoff ||
        linger.l_linger == 0)
        return;
    int fd = s->tcp_fd;
    smcr_rt_unwatch(fd);
    s->tcp_fd = -1;
    if (close_elsewhere(fd))
        return;
    linger.l_onoff = 0;
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(fd);
}
