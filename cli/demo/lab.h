/* SPDX-License-Identifier: BSD-2-Clause */
/* The demo's two network namespaces and the veth pair between them, made by ip(8) so that `ip netns` shows
 * them. The pair is born inside the namespaces: nothing appears in the one we are in. */
#ifndef NORNIC_CLI_DEMO_LAB_H
#define NORNIC_CLI_DEMO_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "net/error.h"

#define DEMO_LAB_IFNAME  "nn0" /* in both namespaces */
#define DEMO_LAB_IFNAME2 "nn1" /* the second pair: demo_lab_add_pair() */

struct demo_lab {
    char netns[2][64]; /* "nn-demo-PID-a", "nn-demo-PID-b" */
};

/* The addresses of the two ends, on a network that exists only between the two namespaces. */
void demo_lab_addrs(bool ipv6, struct nornic_addr addr[2]);

/* Two addresses of the loopback interface, of this process alone, since several demos may run; of IPv6 it has
 * one, which serves both ends. */
void demo_lab_loopback_addrs(bool ipv6, struct nornic_addr addr[2]);

/* Removes what demos left behind whose process is gone. */
void demo_lab_sweep(void);

/* 0, or -errno with a sentence; nothing is left then. */
int demo_lab_up(struct demo_lab *lab, uint32_t mtu_bytes, struct nornic_error *why);
void demo_lab_down(const struct demo_lab *lab);

/* Joins the namespaces by a second veth pair, with the networks 10.78.0.0/30 and fd78::/64. 0, or -errno with
 * a sentence. */
int demo_lab_add_pair(const struct demo_lab *lab, uint32_t mtu_bytes, struct nornic_error *why);

/* Takes an interface of a namespace (0: a, 1: b) down, as when its cable is cut, or up again. 0, or -errno
 * with a sentence. */
int demo_lab_set_link(const struct demo_lab *lab, int end, const char *ifname, bool up,
                      struct nornic_error *why);

/* Moves the calling thread into a namespace by name. 0, or -errno with a sentence. */
int demo_lab_enter(const char *netns, struct nornic_error *why);

#endif
