/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* How a program without privileges and the BPF program of SMC-R's TCP option (sock/rendezvous/option.bpf.c) tell
 * each other of a TCP socket, where the BPF program is on its cgroup for all who ask: by TCP_SAVE_SYN, which
 * listening sockets need in any case, and which anybody may set and read. The C library alone.
 *
 *   before connect() or listen()   1, by the owner: offer SMC-R
 *   when it is established         2, by the BPF program: both ends have sent the option; else as it was
 *
 * A listening socket with 2 is a question, whether there is such a BPF program: the answer is 1. Kernels
 * before 6.1 cannot mark a socket, so there nothing is seen. */
#ifndef NORNIC_BASE_SMC_MARK_H
#define NORNIC_BASE_SMC_MARK_H

#define SMC_MARK_ASKED 1
#define SMC_MARK_SEEN  2
#define SMC_MARK_PROBE 2

#ifndef __bpf__

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>

/* The mark of a TCP socket; -1: it has none. */
static inline int smc_mark(int tcp_fd)
{
    int mark = -1;
    socklen_t len = sizeof mark;
    return getsockopt(tcp_fd, IPPROTO_TCP, TCP_SAVE_SYN, &mark, &len) == 0 ? mark : -1;
}

static inline bool smc_mark_set(int tcp_fd, int mark)
{
    return setsockopt(tcp_fd, IPPROTO_TCP, TCP_SAVE_SYN, &mark, sizeof mark) == 0;
}

/* Whether the BPF program is on the cgroup of the process: a socket listens on loopback for a moment. False
 * also where there is no descriptor for it. */
bool smc_mark_is_enabled(void);

#endif
#endif
