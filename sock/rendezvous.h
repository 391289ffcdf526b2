/* SPDX-License-Identifier: BSD-2-Clause */
/* The rendezvous (SMCR section 4): this process lives in a cgroup of its own, whose sock_ops program puts the
 * TCP option into the SYNs and SYN-ACKs of the sockets that want it, and remembers whose peer sent it. */
#ifndef NORNIC_SMCR_SOCK_RENDEZVOUS_H
#define NORNIC_SMCR_SOCK_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>

#include "net/error.h"

struct smcr_rendezvous_ctl;

extern const unsigned char smcr_rendezvous_object[];
extern const size_t smcr_rendezvous_object_bytes;

/* Makes the cgroup under the present one, moves the process (all its threads) into it, and attaches the
 * program. Sockets made from now on can want the option. 0; or -errno with a sentence, and all is as it was.
 */
int smcr_rendezvous_open(struct smcr_rendezvous_ctl **out, struct nornic_error *why);
/* Moves the process, and children that it left there, back, and removes the cgroup. */
void smcr_rendezvous_close(struct smcr_rendezvous_ctl *ctl);

/* Before connect() or listen() of a TCP socket that was made in the cgroup: whether it offers SMC-R. 0 or
 * -errno. */
int smcr_rendezvous_want(struct smcr_rendezvous_ctl *ctl, int tcp_fd, bool wants);

/* Of an established TCP socket: both ends sent the option (SMCR-REN-05, REN-08). For a client, that the
 * SYN-ACK had it (its own SYN did if it wanted); for a server's, that the SYN had it. */
bool smcr_rendezvous_seen(struct smcr_rendezvous_ctl *ctl, int tcp_fd);

#endif
