/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/claim.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define STAY_NS    20000000
#define STAY_TRIES 20

/* The name, behind the zero byte that makes it abstract. Returns the length of the address. */
static socklen_t name_it(struct sockaddr_un *name, const char *what, unsigned ifindex, uint64_t number)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "nornic/%s/%u/%" PRIx64, what, ifindex,
                       number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

int net_claim_asker(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

int net_claim_take(const char *what, unsigned ifindex, uint64_t number)
{
    struct sockaddr_un name;
    socklen_t len = name_it(&name, what, ifindex, number);
    int fd = net_claim_asker();
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, len) == 0)
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

int net_claim_take_any(const char *what, unsigned ifindex, unsigned count)
{
    int fd = -EADDRINUSE;
    for (unsigned number = 0; number < count && fd == -EADDRINUSE; number++)
        fd = net_claim_take(what, ifindex, number);
    return fd;
}

bool net_claim_is_taken(int asker, const char *what, unsigned ifindex, uint64_t number)
{
    struct sockaddr_un name;
    socklen_t len = name_it(&name, what, ifindex, number);
    /* EPERM: another one connected that one to itself, so it is there. */
    return asker >= 0 && (connect(asker, (struct sockaddr *)&name, len) == 0 || errno == EPERM);
}

bool net_claim_stays_taken(int asker, const char *what, unsigned ifindex, unsigned count)
{
    for (unsigned tries = 0; tries < STAY_TRIES; tries++) {
        if (net_claim_count(asker, what, ifindex, count) == 0)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = STAY_NS / STAY_TRIES}, NULL);
    }
    return true;
}

unsigned net_claim_count(int asker, const char *what, unsigned ifindex, unsigned count)
{
    unsigned taken = 0;
    for (unsigned number = 0; number < count; number++)
        taken += net_claim_is_taken(asker, what, ifindex, number);
    return taken;
}
