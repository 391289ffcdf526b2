/* SPDX-License-Identifier: BSD-2-Clause */
/* The devices of the process and the ports that the instance has of them. Internal to sock/ and service/;
 * under the runtime's lock. */
#ifndef NORNIC_SOCK_PORTS_H
#define NORNIC_SOCK_PORTS_H

#include "smcr/smcr.h"
#include "sock/sock.h"

struct smcr_rt_port;

/* Opens the devices. 0, or -errno with a sentence; then nothing stays open. */
int smcr_rt_open_ports(const struct smcr_sock_config *config, struct nornic_error *why);
/* 0, or -errno with a sentence: the first capture that lacks its end. The instance is gone by then. */
int smcr_rt_close_ports(struct nornic_error *why);
/* Makes devices and ports what the interfaces are now: whether they exist, addresses, MTU, link. */
void smcr_rt_follow_interfaces(void);

/* A round of each device; whether anything was done. */
bool smcr_rt_ports_progress(void);
/* A late round of each device (HOST_ROUND_LATE); whether anything was done. */
bool smcr_rt_ports_progress_late(void);
/* Whether something was posted and waits for a round. */
bool smcr_rt_ports_pending(void);
/* When a round is due if nothing comes; NET_TIME_NONE: never. */
uint64_t smcr_rt_ports_deadline_ns(void);
/* Frames have come, or news: the next round looks. */
void smcr_rt_port_ready(struct smcr_rt_port *p);
/* Whether the thread wakes when frames come. */
void smcr_rt_arm_ports(bool on);

/* Whether one of them can carry links. */
bool smcr_rt_has_port(void);
/* Where a TCP connection with the local address `addr` leaves: the networks of that interface into `config`,
 * and its VLAN and physical network. */
void smcr_rt_find_networks(const struct nornic_addr *addr, struct smcr_conn_config *config);

#endif
