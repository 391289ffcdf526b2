/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* ppoll() */
#include "host/dev/clock.h"

#include <poll.h>
#include <stddef.h>
#include <time.h>

#include "base/base.h"
#include "host/host.h"

uint64_t host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t host_deadline_ns(uint64_t timeout_ns)
{
    uint64_t now_ns = host_now_ns();
    return timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
}

uint64_t host_left_ns(uint64_t end_ns)
{
    uint64_t now_ns = host_now_ns();
    if (end_ns == UINT64_MAX)
        return UINT64_MAX;
    return end_ns > now_ns ? end_ns - now_ns : 0;
}

bool host_poll_readable(int fd, uint64_t end_ns)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t left_ns = host_left_ns(end_ns);
    if (left_ns == 0)
        return false;
    struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_S), .tv_nsec = (long)(left_ns % NS_PER_S)};
    return ppoll(&p, 1, end_ns == UINT64_MAX ? NULL : &left, NULL) != 0;
}
