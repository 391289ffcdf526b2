/* SPDX-License-Identifier: BSD-2-Clause */
/* Two network namespaces joined by one or two veth pairs, a process in each. */
#ifndef NORNIC_TEST_SOCK_LAB_H
#define NORNIC_TEST_SOCK_LAB_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "sock/sock.h"
#include "test/support/netns.h"

struct lab {
    struct netns_veth veth;
    unsigned links; /* pairs: nn0 and nn1 (10.77.0.0/24), nn2 and nn3 (10.78.0.0/24) */
};

/* Skips the test where namespaces, XDP or cgroups are not allowed. */
void lab_open(struct lab *lab, unsigned links);
void lab_close(struct lab *lab);
/* As lab_open() does with two: after the pair was deleted. */
void lab_add_second_pair(const struct lab *lab);

/* The address of side `side` on the first pair. */
struct sockaddr_in lab_address(int side, uint16_t port);

/* In the namespace of a side: starts SMC-R on its ports; exits with a message where that fails. */
void lab_start(const struct lab *lab, int side, const struct smcr_times *times);

/* Forks a process into the namespace of `side` that calls run(ctx) and exits with what it returns. */
pid_t lab_fork(const struct lab *lab, int side, int (*run)(void *ctx), void *ctx);
/* Its exit status; -1: it was killed, or had to be, after `timeout_s`. */
int lab_wait(pid_t pid, unsigned timeout_s);

/* Whether another process has set it, within 20 s. */
bool lab_await(const volatile int *flag);

/* In side 1: a listening socket of SMC-R at lab_address(1, port); exits with 5 where that fails. */
int lab_listen(uint16_t port, int backlog);

#endif
