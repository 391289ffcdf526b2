/* SPDX-License-Identifier: BSD-2-Clause */
/* One end of a transfer: a device, how its peers' MACs are found, and a completion queue to wait on. Shared
 * by the commands that move data. Functions that return an exit status have printed their sentence. */
#ifndef NORNIC_CLI_NODE_NODE_H
#define NORNIC_CLI_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "host/host.h"
#include "nornic/nornic.h"

struct cli_node_config {
    const char *port;    /* as --port says it; NULL: not at all */
    const char *capture; /* pcapng, or NULL */
    struct nornic_impair impair;
    uint32_t window_pkts; /* as host_dev_config has it */
    struct roce_cc_config cc;
    struct nornic_iwarp_config iwarp;
    bool events;      /* the device has a thread and the command sleeps; else the command drives the device */
    uint64_t spin_ns; /* without events: how long it looks again before it sleeps */
    bool has_gid_index; /* else choose */
    uint8_t gid_index;
    bool ipv6;    /* where there is a choice */
    bool roce_v1; /* speak RoCEv1: the GIDs to choose from are of that type */
};

struct cli_node {
    struct nornic_dev *api;
    struct host_dev *dev; /* what it stands on */
    bool events, roce_v1;
    uint64_t spin_ns; /* as the configuration has it, like the next */
    const char *capture;
    bool memory;                   /* the peer is the other end of a memory port */
    struct nornic_mac memory_peer; /* and this its MAC */
};

/* CLI_OK or CLI_ERROR. `config->port` is not "memory"; NULL: one that leads to `host` (NULL: this is a
 * server) with the own address `bind` (NULL: any), of xdp if that can be, else of udp, which a line on stderr
 * says. */
int cli_node_open(const struct cli_node_config *config, const char *host, const char *bind,
                  struct cli_node *node);

/* Whether its port is one of iWARP. */
bool cli_node_is_iwarp(const struct cli_node *node);

/* Two nodes of this process, joined: 10.77.0.1 and fd77::1 on the first, 10.77.0.2 and fd77::2 on the second.
 * Capture and impairment are those of the first. CLI_OK or CLI_ERROR. */
int cli_node_open_pair(const struct cli_node_config *config, struct cli_node nodes[2]);

/* Closes it and returns `status`; or CLI_ERROR instead of CLI_OK where the capture could not be written
 * whole, which it says. */
int cli_node_close(struct cli_node *node, int status);

/* How the port runs, for reports: "memory", or the port's name and mode. */
const char *cli_node_port_name(const struct cli_node *node);
const char *cli_node_port_mode(const struct cli_node *node);

/* Which GID to use, or of iWARP which address: the one that `config` names by its index. Else, when `like`
 * is given (the peer's GID, or the local address of the control connection): that very address, or the first
 * of its family and scope. Else the first IPv4 address, or where `config` prefers IPv6 the first IPv6
 * address that is not link-local. CLI_OK or CLI_ERROR. */
int cli_node_pick_gid(const struct cli_node *node, const struct cli_node_config *config,
                      const struct nornic_addr *like, unsigned *out_index, struct nornic_addr *out_gid);

/* The MAC towards `dst`; waits a few seconds for ARP or NDP. CLI_OK or CLI_ERROR. */
int cli_node_resolve(const struct cli_node *node, const struct nornic_addr *dst, struct nornic_mac *mac);

/* Checks that a path MTU fits the port; one of iWARP has none. CLI_OK or CLI_ERROR. */
int cli_node_check_pmtu(const struct cli_node *node, uint32_t pmtu_bytes);
/* The largest path MTU, in bytes, that fits the port and, where the kernel routes what it sends (udp), the
 * way to `dst`, as far as the kernel knows that (net_route_mtu()). `dst` NULL: the port alone. 0: none fits
 * the port. */
uint32_t cli_node_largest_pmtu(const struct cli_node *node, const struct nornic_addr *dst);

/* Without a thread: makes progress for `duration_ns`, so that a peer's retransmissions are answered, or until
 * `fd` (-1: none) is readable. With one it only waits. */
void cli_node_linger(const struct cli_node *node, uint64_t duration_ns, int fd);

struct cli_cq {
    const struct cli_node *node;
    struct nornic_cq *cq;
    struct nornic_channel *channel; /* events only, else NULL */
};

/* CLI_OK or CLI_ERROR. Keeps `node`. */
int cli_cq_create(const struct cli_node *node, uint32_t capacity, struct cli_cq *out);
void cli_cq_destroy(struct cli_cq *cq);

/* Takes up to `n` completions, waiting for the first at most `timeout_ns`. Returns how many; 0: none came in
 * time, or the user stopped the command; -EIO: the CQ overflowed. */
int cli_cq_wait(struct cli_cq *cq, struct nornic_wc *wcs, unsigned n, uint64_t timeout_ns);

#endif
