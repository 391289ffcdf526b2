/* SPDX-License-Identifier: BSD-2-Clause */
/* The rendezvous (SMCR section 4): this process lives in a cgroup of its own, whose sock_ops program puts the
 * TCP option into the SYNs and SYN-ACKs of the sockets that want it, and remembers whose peer sent it. */
#ifndef NORNIC_SMCR_SOCK_RENDEZVOUS_H
#define NORNIC_SMCR_SOCK_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "net/error.h"

struct smcr_rendezvous_ctl;

/* Makes the cgroup under the present one, moves the process (all its threads) into it, and attaches the
 * program. Sockets made from now on can want the option; with `all_offer` each that connects or listens has
 * it if it is to keep the SYN (TCP_SAVE_SYN). 0; or -errno with a sentence, and all is as it was. */
int smcr_rendezvous_open(struct smcr_rendezvous_ctl **out, bool all_offer, struct nornic_error *why);
/* Without privileges, where an administrator has enabled the cgroup of this process
 * (sock/rendezvous/enable.h): the option is asked for, and seen, by the marks of base/smc_mark.h. False: it
 * is not enabled, or no memory. */
bool smcr_rendezvous_use_enabled(struct smcr_rendezvous_ctl **out);
/* Moves the process, and children that it left there, back, and removes the cgroup. */
void smcr_rendezvous_close(struct smcr_rendezvous_ctl *ctl);

/* Loads the BPF program, with its maps. 0: the caller's to close; or -errno with a sentence. */
struct bpf_object;
int smcr_rendezvous_load(bool all_offer, struct bpf_object **out, struct nornic_error *why);

/* Moves another process, with all its threads, into the cgroup. 0; -EOPNOTSUPP: it is an enabled one, where
 * processes are by themselves; or -errno. */
int smcr_rendezvous_admit(const struct smcr_rendezvous_ctl *ctl, pid_t pid);

/* Before connect() or listen() of a TCP socket that was made in the cgroup: whether it offers SMC-R. 0 or
 * -errno. */
int smcr_rendezvous_want(struct smcr_rendezvous_ctl *ctl, int tcp_fd, bool wants);

/* Of an established TCP socket: both ends sent the option (SMCR-REN-05, REN-08). For a client, that the
 * SYN-ACK had it (its own SYN did if it wanted); for a server's, that the SYN had it. */
bool smcr_rendezvous_seen(struct smcr_rendezvous_ctl *ctl, int tcp_fd);

/* Returns its cgroup, for a sandbox around the process; NULL: it is the administrator's. */
struct smcr_cgroup;
const struct smcr_cgroup *smcr_rendezvous_cgroup(const struct smcr_rendezvous_ctl *ctl);

#endif
