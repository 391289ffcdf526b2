/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program: loading, attaching, letting go. Internal to xdp/. */
#ifndef NORNIC_XDP_STEER_H
#define NORNIC_XDP_STEER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/error.h"
#include "net/port/gate.h"
#include "net/kernel/kernel.h"
#include "xdp/xdp.h"

#define XDP_STEER_PROGRAM "nornic_steer" /* by this name a program of ours is known */
#define XDP_STEER_MAP     "nornic_xsks"
#define XDP_STEER_QUEUES  256 /* entries of the map */

/* Longest MTU whose frames fit one page with the room that drivers want before and behind them; longer ones
 * need multi-buffer XDP. */
#define XDP_MTU_ONE_BUFFER 3498

/* A program on an interface. The attachment is a bpf_link: it ends with its descriptor, so with the process,
 * however that dies. */
struct xdp_steer {
    struct net_gate gate; /* with the program */
    int link_fd;          /* -1: not attached */
    bool is_native;
};

/* Fails if a program is on the interface already: a foreign one (named in `why`), or that of a running
 * instance of ours. One of ours without an owner is taken off. 0, -EBUSY or another -errno. */
int xdp_steer_clear(const struct net_interface *interface, struct nornic_error *why);

/* Loads the program; `frags` says that it takes frames that span several buffers, `roce_v1` that it steers
 * RoCEv1 too. 0 or -errno. */
int xdp_steer_load(struct xdp_steer *steer, bool frags, bool roce_v1, struct nornic_error *why);

/* Steers the packets of `queue` to the AF_XDP socket `socket_fd`. 0 or -errno. */
int xdp_steer_bind(struct xdp_steer *steer, uint32_t queue, int socket_fd);

/* Attaches the loaded program in the mode asked for. 0 or -errno with a sentence. */
int xdp_steer_attach(struct xdp_steer *steer, const struct net_interface *interface, enum xdp_mode mode,
                     struct nornic_error *why);

/* The sentences that the files of this room share: they return -errno_value, -ERANGE, -EBUSY. */
int xdp_needs_privileges(const char *ifname, int errno_value, struct nornic_error *why);
int xdp_in_use(const char *ifname, struct nornic_error *why);
int xdp_mtu_too_large(const struct net_interface *interface, struct nornic_error *why);

/* Detaches and unloads; harmless on a zeroed `steer` whose link_fd is -1. */
void xdp_steer_close(struct xdp_steer *steer);

#endif
