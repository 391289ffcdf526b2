/* SPDX-License-Identifier: BSD-2-Clause */
/* The rendezvous for programs of users who may not use BPF: an administrator puts the program of SMC-R's TCP
 * option (sock/rendezvous/option.bpf.c) on a cgroup, once, and it stays there without a process of ours until he
 * takes it away or the cgroup goes. Sockets in it that ask by base/smc_mark.h offer SMC-R; all others stay
 * as they are. */
#ifndef NORNIC_SOCK_ENABLE_H
#define NORNIC_SOCK_ENABLE_H

#include <stdbool.h>

#include "net/error.h"

/* `cgroup` of these calls: as smcr_cgroup_open() has it. They need root, or CAP_BPF and CAP_NET_ADMIN. */

/* Puts it there; one of another version of nornic gives way. 0; 1: it is there already; or -errno with a
 * sentence. */
int smcr_enable(const char *cgroup, struct nornic_error *why);
/* Takes it away: sockets go on, but offer no more. 0; 1: there was none; or -errno with a sentence. */
int smcr_disable(const char *cgroup, struct nornic_error *why);
/* Visits the cgroups that have it, by their names from the root of the hierarchy. 0 or -errno with a
 * sentence. */
int smcr_enabled_visit(void (*visit)(void *ctx, const char *name), void *ctx, struct nornic_error *why);

#endif
