/* SPDX-License-Identifier: BSD-2-Clause */
/* Network namespaces by the names of `ip netns`, for who defines _GNU_SOURCE. */
#ifndef NORNIC_BENCH_NETNS_H
#define NORNIC_BENCH_NETNS_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/engine.h"

/* What this thread opens from now on is in namespace `name`; without it the program ends. */
static inline void enter_netns(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "/run/netns/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    check(fd < 0 ? -errno : 0, path);
    check(setns(fd, CLONE_NEWNET) < 0 ? -errno : 0, "network namespace");
    close(fd);
}

#endif
