/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/udp/lost.h"

#include <fcntl.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO 55 /* Linux 4.12 */
#endif

#define TEXT_BYTES 16384

static const char *const wanted[] = {"RcvbufErrors", "MemErrors"};

static bool is_wanted(const char *name)
{
    for (size_t i = 0; i < array_len(wanted); i++)
        if (strcmp(name, wanted[i]) == 0)
            return true;
    return false;
}

/* "Udp: NAME NAME ..." over "Udp: NUMBER NUMBER ...". */
static uint64_t sum_ipv4(char *text)
{
    uint64_t sum = 0;
    char *names = strstr(text, "\nUdp: "), *numbers = names ? strstr(names + 1, "\nUdp: ") : NULL;
    if (!numbers)
        return 0;
    *numbers++ = '\0';
    numbers[strcspn(numbers, "\n")] = '\0';
    char *rest_names, *rest_numbers, *name = strtok_r(names, " \n", &rest_names);
    char *number = strtok_r(numbers, " ", &rest_numbers);
    while (name && number) {
        sum += is_wanted(name) ? strtoull(number, NULL, 10) : 0;
        name = strtok_r(NULL, " ", &rest_names);
        number = strtok_r(NULL, " ", &rest_numbers);
    }
    return sum;
}

/* "Udp6NAME   NUMBER", a line each. */
static uint64_t sum_ipv6(char *text)
{
    static const char prefix[] = "Udp6";
    uint64_t sum = 0;
    char *rest, *rest_of_line;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, prefix, sizeof prefix - 1) != 0)
            continue;
        const char *name = strtok_r(line + sizeof prefix - 1, " \t", &rest_of_line);
        const char *number = strtok_r(NULL, " \t", &rest_of_line);
        sum += name && number && is_wanted(name) ? strtoull(number, NULL, 10) : 0;
    }
    return sum;
}

static uint64_t read_all(const struct net_udp_lost *lost)
{
    char text[TEXT_BYTES];
    uint64_t sum = 0;
    for (unsigned i = 0; i < 2; i++) {
        ssize_t n = lost->fds[i] < 0 ? -1 : pread(lost->fds[i], text, sizeof text - 1, 0);
        if (n <= 0)
            continue;
        text[n] = '\0';
        sum += i == 0 ? sum_ipv4(text) : sum_ipv6(text);
    }
    return sum;
}

void net_udp_lost_open(struct net_udp_lost *lost)
{
    /* Of the calling thread, which may be in another namespace than its process. */
    lost->fds[0] = open("/proc/thread-self/net/snmp", O_RDONLY | O_CLOEXEC);
    lost->fds[1] = open("/proc/thread-self/net/snmp6", O_RDONLY | O_CLOEXEC);
    lost->before = read_all(lost);
}

void net_udp_lost_close(struct net_udp_lost *lost)
{
    for (unsigned i = 0; i < 2; i++)
        if (lost->fds[i] >= 0)
            close(lost->fds[i]);
}

uint64_t net_udp_lost_share(struct net_udp_lost *lost, uint64_t dropped)
{
    uint64_t all = read_all(lost), since = all - lost->before;
    lost->before = all;
    return lost->fds[0] < 0 ? dropped : min_u64(dropped, since);
}

uint32_t net_udp_lost_of(int fd)
{
    uint32_t info[SK_MEMINFO_VARS] = {0};
    socklen_t len = sizeof info;
    return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) == 0 ? info[SK_MEMINFO_DROPS] : 0;
}
