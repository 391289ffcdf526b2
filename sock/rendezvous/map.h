/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the program sock/rendezvous/option.bpf.c and this library say to each other about a TCP socket. */
#ifndef NORNIC_SOCK_RENDEZVOUS_MAP_H
#define NORNIC_SOCK_RENDEZVOUS_MAP_H

#include <linux/types.h>

#define SMCR_RENDEZVOUS_MAP     "nornic_sockets"
#define SMCR_RENDEZVOUS_PROGRAM "nornic_rendezvous"

/* An array of one number: not 0: TCP sockets of the cgroup that are to keep the SYN (TCP_SAVE_SYN) offer
 * SMC-R, whether they have an entry or not. */
#define SMCR_RENDEZVOUS_MODE_MAP "nornic_mode"

struct smcr_rendezvous {
    __u32 wants; /* we: the option goes into its SYN, or into the SYN-ACKs of its children */
    __u32 seen;  /* the program: the peer's SYN or SYN-ACK had it */
};

#endif
