/* SPDX-License-Identifier: BSD-2-Clause */
/* Evidence of ports on an interface, from the kernel alone: a process cannot forge it by a name. Internal to
 * net/. */
#ifndef NORNIC_NET_KERNEL_EVIDENCE_H
#define NORNIC_NET_KERNEL_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether an XDP program is attached to an interface, in any mode (IFLA_XDP). */
bool net_evidence_of_xdp(unsigned ifindex);

/* Returns whether the user `uid`, or with NET_DIAG_NO_UID any user, has a packet socket (packet(7)) on an
 * interface. */
bool net_evidence_of_packet(unsigned ifindex, uint32_t uid);

/* Returns whether a UDP socket of the user `uid`, or with NET_DIAG_NO_UID of any user, has port 4791 of an
 * address of the interface, or of all addresses. */
bool net_evidence_of_udp(unsigned ifindex, uint32_t uid);

#endif
