/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket that `nornic smc stat` asks: a thread of its own answers, so that a reader that stops reading
 * stops nobody else. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/answer.h"
#include "base/high_fd.h"
#include "base/worker.h"
#include "sock/runtime.h"
#include "sock/stat/json.h"

#define RETRY_MS 100 /* until accepting is tried again when the process has no descriptor left */

static struct {
    int fd, stop_fd;
    pthread_t thread;
    bool has_thread;
    char path[SMCR_STAT_PATH_BYTES];
} stat_socket = {.fd = -1, .stop_fd = -1};

static void answer(int fd)
{
    size_t len = 0;
    char *text = smcr_stat_json(&len);
    base_answer(fd, text, len);
    close(fd);
}

static void *run(void *arg)
{
    (void)arg;
    for (;;) {
        struct pollfd p[2] = {{.fd = stat_socket.fd, .events = POLLIN},
                              {.fd = stat_socket.stop_fd, .events = POLLIN}};
        poll(p, 2, -1);
        if (p[1].revents)
            return NULL;
        int fd = accept4(stat_socket.fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            answer(fd);
        else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            poll(&p[1], 1, RETRY_MS);
    }
}

/* Sockets that nobody listens on any more. */
static void remove_stale(void)
{
    struct dirent *entry;
    DIR *dir = opendir(SMCR_STAT_DIR);
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, SMCR_STAT_PREFIX, strlen(SMCR_STAT_PREFIX)) != 0)
            continue;
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        int len = snprintf(addr.sun_path, sizeof addr.sun_path, SMCR_STAT_DIR "/%s", entry->d_name);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && len < (int)sizeof addr.sun_path &&
            connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0 && errno == ECONNREFUSED)
            unlink(addr.sun_path);
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
}

/* It has its name only when it listens: another process that begins takes one that does not for stale. */
static int listen_there(void)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    smcr_stat_path((unsigned)getpid(), stat_socket.path);
    snprintf(addr.sun_path, sizeof addr.sun_path, SMCR_STAT_DIR "/.new-%d", (int)getpid());
    if (mkdir(SMCR_STAT_DIR, 0755) != 0 && errno != EEXIST)
        return -errno;
    remove_stale();
    unlink(addr.sun_path);
    stat_socket.fd = high_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (stat_socket.fd < 0)
        return -errno;
    /* Before it can be found: nobody else's eyes (the umask is the process's, and other threads' too). */
    fchmod(stat_socket.fd, 0600);
    if (bind(stat_socket.fd, (struct sockaddr *)&addr, sizeof addr) != 0 || chmod(addr.sun_path, 0600) != 0 ||
        listen(stat_socket.fd, 8) != 0 || rename(addr.sun_path, stat_socket.path) != 0) {
        int err = -errno;
        unlink(addr.sun_path);
        return err;
    }
    return 0;
}

static void close_fds(void)
{
    if (stat_socket.fd >= 0)
        close(stat_socket.fd);
    if (stat_socket.stop_fd >= 0)
        close(stat_socket.stop_fd);
    stat_socket.fd = stat_socket.stop_fd = -1;
}

int smcr_stat_socket_open(void)
{
    int err = listen_there();
    stat_socket.stop_fd = err ? -1 : high_fd(eventfd(0, EFD_CLOEXEC));
    if (!err && stat_socket.stop_fd < 0)
        err = -errno;
    if (err)
        close_fds();
    return err;
}

void smcr_stat_socket_answer(void)
{
    if (stat_socket.fd < 0 || stat_socket.has_thread)
        return;
    stat_socket.has_thread = worker_start(&stat_socket.thread, run, NULL) == 0;
    if (!stat_socket.has_thread) {
        unlink(stat_socket.path);
        close_fds();
    }
}

void smcr_stat_socket_close(void)
{
    uint64_t one = 1;
    if (stat_socket.fd < 0)
        return;
    ssize_t put = write(stat_socket.stop_fd, &one, sizeof one);
    (void)put;
    if (stat_socket.has_thread)
        pthread_join(stat_socket.thread, NULL);
    stat_socket.has_thread = false;
    unlink(stat_socket.path);
    close_fds();
}

void smcr_stat_socket_forget(void)
{
    close_fds();
}
