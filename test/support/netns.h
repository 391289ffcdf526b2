/* SPDX-License-Identifier: BSD-2-Clause */
/* Two network namespaces joined by a veth pair, for tests. The namespaces have no name: they are gone as soon
 * as the last descriptor and process in them are, however the test ends. */
#ifndef NORNIC_TEST_SUPPORT_NETNS_H
#define NORNIC_TEST_SUPPORT_NETNS_H

#include <stdint.h>

/* The interface of side 0 is nn0, of side 1 nn1. Side i has 10.77.0.(i+1)/24 and fd77::(i+1)/64, usable at
 * once (no duplicate address detection), and a link-local address. */
#define NETNS_VETH_IFNAME(side) ((side) ? "nn1" : "nn0")
#define NETNS_VETH_V4(side)     ((side) ? "10.77.0.2" : "10.77.0.1")
#define NETNS_VETH_V6(side)     ((side) ? "fd77::2" : "fd77::1")

struct netns_veth {
    int home;  /* descriptor of the namespace that the thread came from */
    int fd[2]; /* descriptors of the two namespaces */
};

/* Skips the test, and says why, where this process may not make namespaces. */
void netns_need(void);

/* Moves the calling thread, and those that it will start, into a namespace of its own with nothing but its
 * loopback, so that a port of 127.0.0.1 meets no other program. Where this process may not, it stays where it
 * is. */
void netns_loopback(void);

/* Makes the pair, both ends up; the calling thread stays where it was. Needs namespaces; where a step fails
 * then, so does the test, with a message on stderr. */
void netns_veth_open(struct netns_veth *veth, uint32_t mtu_bytes);

/* Moves the calling thread into side 0 or 1; -1 is back home. Sockets and ports that are opened then stay in
 * that namespace, wherever the thread goes afterwards; processes started then live in it. */
void netns_enter(const struct netns_veth *veth, int side);

/* Runs a shell command (printf format) within a side; returns its exit status. */
int netns_run(const struct netns_veth *veth, int side, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Goes home and lets both namespaces go. */
void netns_veth_destroy(struct netns_veth *veth);

#endif
