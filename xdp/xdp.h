/* SPDX-License-Identifier: BSD-2-Clause */
/* The AF_XDP port: raw Ethernet through an XDP program that steers UDP/4791 to a socket, by queue pairs where
 * it is told of them (net_port_steer()), and passes everything else to the kernel, so that ARP, TCP and ssh
 * on the interface keep working. */
#ifndef NORNIC_XDP_XDP_H
#define NORNIC_XDP_XDP_H

#include <stdbool.h>

#include "net/error.h"
#include "net/port.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

enum xdp_mode {
    XDP_MODE_AUTO, /* native; where the driver has no XDP, generic */
    XDP_MODE_NATIVE,
    XDP_MODE_GENERIC,
};

struct xdp_config {
    const char *ifname;
    enum xdp_mode mode;
    uint32_t queue;       /* the first receive queue, by which frames leave, too */
    uint32_t queue_count; /* so many from it on; 0: all that the interface has */
    uint32_t ring_frames; /* of each ring, a power of two; 0: 2048, or, of many queues, fewer */
    bool roce_v1;         /* take EtherType 0x8915 as well */
};

/* Attaches the steering program and opens a socket for each receive queue (need-wakeup; zero-copy where the
 * driver has it, else copy). What an interface gets by a queue that it has been given since goes to the
 * kernel. A program that a crashed run of ours left behind is recognised by its name and replaced; a foreign
 * XDP program is an error that names it. The port's `mode` says what was got. 0 or -errno with a sentence in
 * `why` (no such interface, privileges, no XDP support, MTU too large for XDP). */
int xdp_port_open(const struct xdp_config *config, struct net_port **out, struct nornic_error *why);

NORNIC_END_DECLS

#endif
