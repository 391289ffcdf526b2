/* SPDX-License-Identifier: BSD-2-Clause */
/* How calls fail, with words for those who ask for them; how they wait; what they let happen first. */
#define _GNU_SOURCE /* strerrorname_np() */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "verbs/verbs.h"

#define LAST_ROUNDS 16
#define TEXT_BYTES  400 /* of a sentence */

static bool is_traced(void)
{
    const char *wanted = getenv("NORNIC_TRACE");
    return wanted && *wanted && strcmp(wanted, "0") != 0;
}

static void put(int err, const char *text)
{
    if (err)
        fprintf(stderr, "nornic: %s (%s)\n", text, strerrorname_np(err) ? strerrorname_np(err) : "?");
    else
        fprintf(stderr, "nornic: %s\n", text);
}

static void tell(int err, const char *format, va_list args)
{
    char text[TEXT_BYTES];
    if (!is_traced())
        return;
    vsnprintf(text, sizeof text, format, args);
    put(err, text);
}

void verbs_tell(const char *format, ...)
{
    va_list args;
    int before = errno;
    va_start(args, format);
    tell(0, format, args);
    va_end(args);
    errno = before;
}

int verbs_fail(int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(err, format, args);
    va_end(args);
    errno = err;
    return err;
}

void *verbs_fail_null(int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(err, format, args);
    va_end(args);
    errno = err;
    return NULL;
}

void verbs_say(int err, const char *format, ...)
{
    static atomic_uint_least64_t last;
    char text[TEXT_BYTES];
    va_list args;
    int before = errno;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const uint64_t sum = hash_bytes(0, (const uint8_t *)text, (uint32_t)strlen(text));
    if (atomic_exchange(&last, sum) != sum || is_traced())
        put(err, text);
    errno = before;
}

int verbs_wait(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_NONBLOCK))
        return EAGAIN;
    return poll(&readable, 1, -1) < 0 ? verbs_fail(errno, "the wait for an event was ended") : 0;
}

void verbs_settle(struct verbs_context_own *own)
{
    struct nornic_dev_attr attr;
    nornic_dev_query(own->dev, &attr, sizeof attr); /* after the round that goes on, if one does */
    for (unsigned i = 0; i < LAST_ROUNDS && nornic_dev_progress(own->dev); i++)
        ;
}
