/* SPDX-License-Identifier: BSD-2-Clause */
/* In the guest, before the C library: the TCP sockets of a program that knows nothing of SMC are the kernel's
 * SMC sockets, as smc_run of smc-tools has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#ifndef AF_SMC
#define AF_SMC 43
#endif
#define SMC_OVER_IPV4 0
#define SMC_OVER_IPV6 1
#define TYPE_MASK     0xf

int socket(int family, int type, int protocol)
{
    int (*real)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    int is_tcp = (family == AF_INET || family == AF_INET6) && (type & TYPE_MASK) == SOCK_STREAM &&
                 (protocol == 0 || protocol == IPPROTO_TCP);
    if (is_tcp)
        return real(AF_SMC, type, family == AF_INET6 ? SMC_OVER_IPV6 : SMC_OVER_IPV4);
    return real(family, type, protocol);
}
