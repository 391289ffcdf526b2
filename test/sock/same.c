/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* strerrorname_np(), POLLRDHUP */
#include "test/sock/same.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void same_say(struct same *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(s->out, format, args);
    va_end(args);
    fputc('\n', s->out);
    fflush(s->out);
}

void same_step(struct same *s)
{
    char c = 's';
    struct pollfd p = {.fd = s->partner, .events = POLLIN};
    if (write(s->partner, &c, 1) != 1)
        exit(3);
    while (poll(&p, 1, 20000) < 0 && errno == EINTR)
        ;
    if (read(s->partner, &c, 1) != 1) {
        same_say(s, "the other side is gone");
        exit(3);
    }
}

void same_fill(uint8_t *bytes, size_t n, uint64_t at)
{
    for (size_t i = 0; i < n; i++, at++)
        bytes[i] = (uint8_t)(at * 7 + (at >> 8) * 13 + (at >> 16) * 31);
}

uint64_t same_sum(uint64_t sum, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ bytes[i]) * 0x100000001b3ull;
    return sum;
}

const char *same_result(long n)
{
    static char text[2][32];
    static int which;
    if (n == -1)
        return strerrorname_np(errno);
    snprintf(text[which ^= 1], sizeof *text, "%ld", n);
    return text[which];
}

const char *same_events(short events)
{
    static const struct {
        short bit;
        const char *name;
    } names[] = {{POLLIN, "IN"},       {POLLPRI, "PRI"}, {POLLOUT, "OUT"},
                 {POLLRDHUP, "RDHUP"}, {POLLHUP, "HUP"}, {POLLERR, "ERR"}};
    static char text[2][48];
    static int which;
    char *to = text[which ^= 1];
    *to = '\0';
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (events & names[i].bit) {
            strcat(to, *to ? "|" : "");
            strcat(to, names[i].name);
        }
    return *to ? to : "none";
}
