/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of the C library over sockets: the library reads and writes them by calls that nobody can put
 * himself before, so fdopen() of a socket makes a stream of a cookie (fopencookie(3)) whose functions are
 * this library's. Whether the socket is lent already makes no difference: it may be so later. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/calls/calls.h"
#include "preload/conn.h"
#include "preload/fds.h"
#include "preload/libc.h"

struct stream {
    FILE *file;
    int fd;
    struct stream *next;
};

static struct stream *streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void calls_lock_streams(void)
{
    pthread_mutex_lock(&lock);
}

void calls_unlock_streams(void)
{
    pthread_mutex_unlock(&lock);
}

static ssize_t stream_read(void *cookie, char *buf, size_t len)
{
    return read(((struct stream *)cookie)->fd, buf, len);
}

/* A stream takes 0 for an error, and anything less than all for one, too. */
static ssize_t stream_write(void *cookie, const char *buf, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = write(((struct stream *)cookie)->fd, buf + done, len - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static int stream_seek(void *cookie, off64_t *place, int whence)
{
    (void)cookie;
    (void)place;
    (void)whence;
    errno = ESPIPE;
    return -1;
}

static int stream_close(void *cookie)
{
    struct stream *s = cookie;
    int fd = s->fd;
    pthread_mutex_lock(&lock);
    struct stream **at = &streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    pthread_mutex_unlock(&lock);
    free(s);
    return close(fd);
}

EXPORT FILE *fdopen(int fd, const char *mode)
{
    struct conn *c = fds_get(fd, &conn_kind);
    fds_put(c);
    if (!c)
        return libc()->fdopen(fd, mode);
    struct stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->fd = fd;
    s->file = fopencookie(
        s, mode,
        (cookie_io_functions_t){
            .read = stream_read, .write = stream_write, .seek = stream_seek, .close = stream_close});
    if (!s->file) {
        free(s);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&lock);
    return s->file;
}

static void serve(FILE **standard, int fd, const char *mode)
{
    FILE *file = fds_has(fd) ? fdopen(fd, mode) : NULL;
    if (file)
        *standard = file;
}

void calls_serve_streams(void)
{
    serve(&stdin, STDIN_FILENO, "r");
    serve(&stdout, STDOUT_FILENO, "w");
    serve(&stderr, STDERR_FILENO, "w");
    if (fds_has(STDERR_FILENO))
        setvbuf(stderr, NULL, _IONBF, 0);
}

/* The number behind a stream of a cookie of ours; -1: it is none. */
static int number_of(const FILE *file)
{
    int fd = -1;
    pthread_mutex_lock(&lock);
    for (const struct stream *s = streams; s && fd < 0; s = s->next)
        if (s->file == file)
            fd = s->fd;
    pthread_mutex_unlock(&lock);
    return fd;
}

EXPORT int fileno(FILE *file)
{
    int fd = number_of(file);
    return fd >= 0 ? fd : libc()->fileno(file);
}

EXPORT int fileno_unlocked(FILE *file)
{
    return fileno(file);
}

/* --- printing to a descriptor --- */

EXPORT int vdprintf(int fd, const char *format, va_list args)
{
    char *text;
    if (!fds_has(fd))
        return libc()->vdprintf(fd, format, args);
    int len = vasprintf(&text, format, args);
    if (len < 0)
        return len;
    ssize_t done = 0, n = 0;
    while (done < len && (n = write(fd, text + done, (size_t)(len - done))) > 0)
        done += n;
    free(text);
    return done < len ? -1 : len;
}

EXPORT int dprintf(int fd, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vdprintf(fd, format, args);
    va_end(args);
    return n;
}

int __vdprintf_chk(int fd, int flag, const char *format, va_list args);
int __dprintf_chk(int fd, int flag, const char *format, ...);

EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list args)
{
    (void)flag; /* %n in writable memory, which the compiler has looked at as far as it could */
    return vdprintf(fd, format, args);
}

EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...)
{
    va_list args;
    (void)flag;
    va_start(args, format);
    int n = vdprintf(fd, format, args);
    va_end(args);
    return n;
}
