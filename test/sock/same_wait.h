/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that wait: timeouts, signals, several threads. */
#include "test/sock/same_common.h"

static const char *about(uint64_t ms, uint64_t expected)
{
    return ms >= expected && ms < expected + 1500 ? "in time" : ms < expected ? "too early" : "too late";
}

static void timeouts_client(struct same *s)
{
    struct timeval tv = {.tv_usec = 100000};
    size_t sent = 0;
    char c, *bytes = calloc(1, 1 << 20);
    int fd = reach_server(s);
    CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    CALL(setsockopt)(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
    uint64_t begin = now_ms();
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_say(s, "%s", about(now_ms() - begin, 100));
    begin = now_ms();
    ssize_t n;
    while ((n = CALL(send)(fd, bytes, 1 << 20, 0)) > 0) {
        sent += (size_t)n;
        begin = now_ms();
    }
    same_say(s, "send %s, sent some: %d, %s", same_result(n), sent > 0, about(now_ms() - begin, 100));
    same_step(s);
    CALL(close)(fd);
    free(bytes);
}

static void timeouts_server(struct same *s)
{
    struct timeval tv = {.tv_usec = 50000};
    int l = listen_on(s, 1);
    CALL(setsockopt)(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    same_say(s, "accept %s", same_result(CALL(accept)(l, NULL, NULL)));
    same_step(s);
    int fd = -1;
    while (fd < 0)
        fd = CALL(accept)(l, NULL, NULL);
    same_step(s);
    CALL(close)(l);
    CALL(close)(fd);
}

static volatile sig_atomic_t num_alarms;
static void on_alarm(int number)
{
    (void)number;
    num_alarms++;
}

static void arm(int flags, int first_ms, int every_ms)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    struct itimerval timer = {.it_value.tv_usec = first_ms * 1000, .it_interval.tv_usec = every_ms * 1000};
    num_alarms = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void disarm(void)
{
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
}

static void signals_client(struct same *s)
{
    struct timeval tv = {.tv_sec = 5};
    char text[8] = "";
    int fd = reach_server(s);
    arm(0, 50, 0);
    same_say(s, "interrupted: %s", same_result(CALL(recv)(fd, text, 4, 0)));
    disarm();
    same_say(s, "alarms %d", (int)num_alarms);
    /* a handler that wants the call to go on */
    arm(SA_RESTART, 20, 20);
    same_step(s);
    same_say(s, "restarted: %s", same_result(CALL(recv)(fd, text, 4, 0)));
    disarm();
    same_say(s, "alarms %s", num_alarms >= 2 ? "some" : "none");
    /* with a timeout, never restarted */
    CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    arm(SA_RESTART, 50, 0);
    same_say(s, "with a timeout: %s", same_result(CALL(recv)(fd, text, 4, 0)));
    disarm();
    /* part of what was asked for */
    arm(0, 500, 0);
    same_step(s);
    same_say(s, "part: %s", same_result(CALL(recv)(fd, text, 8, MSG_WAITALL)));
    disarm();
    CALL(close)(fd);
}

static void signals_server(struct same *s)
{
    int fd = accept_one(s);
    same_step(s);
    usleep(500000); /* 25 alarms of the other: two of them reach it on a busy machine, too */
    send_all(fd, "late", 4);
    same_step(s);
    send_all(fd, "abc", 3);
    char c;
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    CALL(close)(fd);
}

static void lowat_client(struct same *s)
{
    int fd = reach_server(s);
    send_all(fd, "12345", 5);
    same_step(s);
    send_all(fd, "67890", 5);
    same_step(s);
    CALL(close)(fd);
}

static void lowat_server(struct same *s)
{
    char text[16];
    int fd = accept_one(s), least = 8, waiting = 0;
    CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    while (waiting < 5)
        CALL(ioctl)(fd, FIONREAD, &waiting);
    same_say(s, "too little: %d", (seen(fd) & POLLIN) != 0);
    same_step(s);
    same_say(s, "enough: %s", same_events(await(fd, POLLIN) & POLLIN));
    ssize_t n = CALL(recv)(fd, text, sizeof text, 0);
    same_say(s, "recv %d", n >= 8);
    same_step(s);
    CALL(close)(fd);
}

#define THREAD_BYTES (2u << 20)

struct talker {
    int fd;
    bool ok;
};

static void *talk(void *arg)
{
    struct talker *t = arg;
    uint8_t *bytes = malloc(7000);
    t->ok = true;
    for (size_t at = 0; at < THREAD_BYTES && t->ok; at += 7000) {
        same_fill(bytes, 7000, at);
        t->ok = send_all(t->fd, bytes, 7000);
    }
    free(bytes);
    CALL(shutdown)(t->fd, SHUT_WR);
    return NULL;
}

static void *hear(void *arg)
{
    struct talker *t = arg;
    uint8_t *bytes = malloc(5000), *expected = malloc(5000);
    size_t at = 0;
    ssize_t n;
    t->ok = true;
    while ((n = CALL(recv)(t->fd, bytes, 5000, 0)) > 0) {
        same_fill(expected, (size_t)n, at);
        t->ok &= memcmp(bytes, expected, (size_t)n) == 0;
        at += (size_t)n;
    }
    t->ok &= n == 0 && at >= THREAD_BYTES;
    free(bytes);
    free(expected);
    return NULL;
}

/* A thread reads and a thread writes the same socket, at both ends. */
static void both_ways(struct same *s, int fd)
{
    struct talker writer = {.fd = fd}, reader = {.fd = fd};
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, talk, &writer);
    pthread_create(&threads[1], NULL, hear, &reader);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    same_say(s, "wrote %d, read %d", writer.ok, reader.ok);
    CALL(close)(fd);
}

static void threads_client(struct same *s)
{
    both_ways(s, reach_server(s));
}

static void threads_server(struct same *s)
{
    both_ways(s, accept_one(s));
}
