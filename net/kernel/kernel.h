/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel knows of interfaces, routes and neighbours, asked through rtnetlink (libmnl). */
#ifndef NORNIC_NET_KERNEL_H
#define NORNIC_NET_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "net/error.h"

struct net_interface {
    char name[16];
    unsigned index;
    uint32_t mtu_bytes;
    struct nornic_mac mac;
    bool is_up;      /* set up by its administrator */
    bool is_running; /* and it has a carrier: frames can pass */
};

/* 0, or -ENODEV with a sentence. */
int net_interface_get(const char *name, struct net_interface *out, struct nornic_error *why);

/* The interface that has an address of this machine; of a loopback address that is not listed, the loopback
 * interface. 0, -EADDRNOTAVAIL with a sentence, or another -errno. */
int net_interface_of_addr(const struct nornic_addr *addr, struct net_interface *out,
                          struct nornic_error *why);

/* How many receive queues the interface has; 1 where its driver does not say. */
uint32_t net_interface_rx_queues(const char *name);

/* What the interface says its speed is, in bits per second; 0: it does not know, or has no link. */
uint64_t net_interface_rate_bps(const char *name);

/* The addresses of an interface: IPv6 link-local first, then IPv4, then other IPv6, each in the kernel's
 * order; tentative and failed ones are left out. Returns how many were written (at most `max`), or -errno. */
int net_interface_addrs(unsigned ifindex, struct nornic_addr *addrs, unsigned max, struct nornic_error *why);
/* All of them, however many, in a list that the caller frees. Returns how many there are; or -errno, and then
 * there is no list. */
int net_interface_addr_list(unsigned ifindex, struct nornic_addr **out, struct nornic_error *why);

/* The next hop to `dst` out of interface `ifindex`: `dst` itself or a gateway. 0, or -EHOSTUNREACH when the
 * kernel has no route through that interface. */
int net_route_next_hop(unsigned ifindex, const struct nornic_addr *dst, struct nornic_addr *next_hop,
                       struct nornic_error *why);

/* The same, with the source address that the kernel would choose; zero where it does not say. */
struct net_route {
    struct nornic_addr next_hop;
    struct nornic_addr src;
};
int net_route_get(unsigned ifindex, const struct nornic_addr *dst, struct net_route *out,
                  struct nornic_error *why);

/* The source address that the kernel would choose for UDP to `dst`, by whatever interface; `ifindex` is the
 * scope of a link-local destination. 0; -ENETUNREACH or another -errno. */
int net_route_source(unsigned ifindex, const struct nornic_addr *dst, struct nornic_addr *out);

/* Whether the kernel would send UDP from `src`, an address of this machine, to `dst`; `ifindex` is the scope
 * of link-local ones. 0; -EHOSTUNREACH with a sentence: it has no route there, or none that takes packets
 * from `src`, as from 127.0.0.1 to another machine. */
int net_route_check(unsigned ifindex, const struct nornic_addr *src, const struct nornic_addr *dst,
                    struct nornic_error *why);

/* The length in bytes of the longest IP packet that the kernel would send to `dst` uncut, by its routes and
 * by what routers have told it (RFC 1191, RFC 8201); `ifindex` as above. 0: it knows no way there. */
uint32_t net_route_mtu(unsigned ifindex, const struct nornic_addr *dst);

/* A question for the MAC of a neighbour that does not wait for its answer. net_neighbour_ask() looks into
 * the kernel's table and, where it knows nothing (or only of a failure), makes the kernel resolve it (a
 * UDP datagram to the discard port provokes ARP or NDP). Then, whenever the descriptor polls readable, and
 * once before the first poll, net_neighbour_answer() says 0: known; -EAGAIN: not yet; -EHOSTUNREACH: the
 * kernel has given up (after about three seconds) or another -errno, with a sentence. */
struct net_neighbour_query;
int net_neighbour_ask(unsigned ifindex, const struct nornic_addr *next_hop, struct net_neighbour_query **out,
                      struct nornic_error *why);
int net_neighbour_fd(const struct net_neighbour_query *query);
int net_neighbour_answer(struct net_neighbour_query *query, struct nornic_mac *mac, struct nornic_error *why);
void net_neighbour_close(struct net_neighbour_query *query);

/* The MAC of a neighbour on `ifindex`, as above, waiting asleep for the answer, at most `timeout_ns`. 0,
 * -EHOSTUNREACH or -errno. */
int net_neighbour_resolve(unsigned ifindex, const struct nornic_addr *next_hop, uint64_t timeout_ns,
                          struct nornic_mac *mac, struct nornic_error *why);

#endif
