/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread of its own answers: a reader that stops reading stops nobody else, and neither does a program that
 * makes no progress. It answers its own user and root, since numbers of queue pairs and peers are not for
 * other users.
 *
 * `life` is held while the socket comes and goes, and is never taken by the thread, which therefore can be
 * waited for under it; `now` guards the members that the thread and the closing
 * thread both touch. */
#define _GNU_SOURCE /* accept4(), struct ucred */
#include "verbs/show/socket.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/answer.h"
#include "base/high_fd.h"
#include "host/show_name.h"
#include "base/worker.h"

#define RETRY_MS   100 /* until accepting is tried again when it failed, as without a descriptor left */
#define NAME_TRIES 16  /* a process of another PID namespace may have this one's number */
#define BACKLOG    8

static struct {
    pthread_mutex_t life;
    unsigned users;
    bool is_open;
    pthread_t thread;
    char *(*describe)(size_t *len_bytes);
    uid_t uid; /* of the opening process */
    pthread_mutex_t now;
    ino_t inode;   /* of `fd`: the program may close the number, or use it anew */
    int fd;        /* listens; -1: it is closed, or about to be */
    int reader_fd; /* is answered; -1: none */
} show = {.life = PTHREAD_MUTEX_INITIALIZER, .now = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .reader_fd = -1};

static bool is_own(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == show.inode;
}

/* --- the thread --- */

/* In a user namespace without them all the kernel tells all others by the overflow uid (65534). A process
 * of that user in one shows itself to everybody of its network namespace. */
static bool may_look(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid() || peer.uid == show.uid);
}

static void answer(int fd)
{
    size_t len = 0;
    char *text = show.describe(&len);
    base_answer(fd, text, len);
}

/* Lets the closing thread end this answer, too. False: it is closed. */
static bool set_reader(int fd)
{
    pthread_mutex_lock(&show.now);
    bool goes_on = show.fd >= 0;
    show.reader_fd = fd;
    pthread_mutex_unlock(&show.now);
    return goes_on;
}

static void *run(void *arg)
{
    const int listener = *(int *)arg;
    free(arg);
    worker_begin("nornic-stat");
    bool goes_on = true;
    while (goes_on && is_own(listener)) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        int err = fd < 0 ? errno : 0;
        goes_on = set_reader(fd);
        if (fd >= 0) {
            if (goes_on && may_look(fd))
                answer(fd);
            goes_on = set_reader(-1);
            /* A child of a fork may have it, too, and the reader waits for its end. */
            shutdown(fd, SHUT_RDWR);
            close(fd);
        } else if (err == EBADF || err == ENOTSOCK || err == EINVAL) {
            goes_on = false; /* the program has closed it, or the last device was */
        } else if (goes_on && err != EINTR && err != ECONNABORTED) {
            poll(NULL, 0, RETRY_MS);
        }
    }
    if (is_own(listener))
        close(listener);
    return NULL;
}

/* --- its life --- */

static int bind_name(int fd)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, i ? "%s%ld.%u" : "%s%ld", HOST_SHOW_PREFIX,
                         (long)getpid(), i);
        if (bind(fd, (const struct sockaddr *)&at,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
            return 0;
        if (errno != EADDRINUSE)
            return -errno;
    }
    return -EADDRINUSE;
}

/* Starts the thread on a copy of the number, so that it needs no lock to know its own. */
static int start_thread(int fd)
{
    int *own = malloc(sizeof *own);
    if (!own)
        return -ENOMEM;
    *own = fd;
    int err = worker_start(&show.thread, run, own);
    if (err)
        free(own);
    return err;
}

static int open_socket(void)
{
    int fd = high_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd < 0)
        return -errno;
    struct stat st;
    int err = fstat(fd, &st) == 0 ? bind_name(fd) : -errno;
    if (!err && listen(fd, BACKLOG) != 0)
        err = -errno;
    if (!err) {
        show.fd = fd;
        show.inode = st.st_ino;
        show.uid = geteuid();
        err = start_thread(fd);
    }
    if (err) {
        show.fd = -1;
        close(fd);
    }
    return err;
}

int verbs_show_socket_open(char *(*describe)(size_t *len_bytes))
{
    int err = 0;
    pthread_mutex_lock(&show.life);
    if (show.users++ == 0) {
        show.describe = describe;
        err = open_socket();
        show.is_open = !err;
    }
    pthread_mutex_unlock(&show.life);
    return err;
}

void verbs_show_socket_close(void)
{
    pthread_mutex_lock(&show.life);
    if (--show.users == 0 && show.is_open) {
        pthread_mutex_lock(&show.now);
        bool ends = is_own(show.fd) && shutdown(show.fd, SHUT_RDWR) == 0; /* which ends accept() */
        if (show.reader_fd >= 0)
            shutdown(show.reader_fd, SHUT_RDWR);
        show.fd = -1; /* the thread closes it */
        pthread_mutex_unlock(&show.now);
        if (ends)
            pthread_join(show.thread, NULL);
        else /* the program closed the number under it: it waits for a last reader */
            pthread_detach(show.thread);
        show.is_open = false;
    }
    pthread_mutex_unlock(&show.life);
}

void verbs_show_socket_before_fork(void)
{
    pthread_mutex_lock(&show.life);
    pthread_mutex_lock(&show.now);
}

void verbs_show_socket_in_parent(void)
{
    pthread_mutex_unlock(&show.now);
    pthread_mutex_unlock(&show.life);
}

void verbs_show_socket_in_child(void)
{
    if (show.fd >= 0 && is_own(show.fd))
        close(show.fd);
    if (show.reader_fd >= 0)
        close(show.reader_fd);
    show.fd = show.reader_fd = -1;
    show.users = 0;
    show.is_open = false;
    pthread_mutex_unlock(&show.now);
    pthread_mutex_unlock(&show.life);
}
