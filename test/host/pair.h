/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices of this process on a memory port, each with one connected RC queue pair. */
#ifndef NORNIC_TEST_HOST_PAIR_H
#define NORNIC_TEST_HOST_PAIR_H

#include "base/base.h"
#include "host/host.h"

#define PAIR_REGION_BYTES (1u << 20)

struct pair_side {
    struct host_dev *dev;
    struct rdma_pd *pd;
    struct rdma_mr *mr; /* all of `memory`, with every right */
    struct rdma_cq *cq;
    struct roce_qp *qp; /* a test that destroys it leaves NULL here */
    uint8_t *memory;    /* PAIR_REGION_BYTES */
};

struct pair {
    struct pair_side side[2];
};

/* Both sides connected, in RTS; fails the test otherwise. `no_thread`: the test drives them. */
void pair_open(struct pair *pair, bool no_thread);
/* The same on two ports that reach each other (taken over), with another ack timeout (4.096 us * 2^timeout).
 */
void pair_open_on(struct pair *pair, struct net_port *ports[2], uint8_t timeout, bool no_thread);
/* The same on one device, whose port is `port` (taken over): both sides are the same device, and reach each
 * other inside it. */
void pair_open_alone(struct pair *pair, struct net_port *port, bool no_thread);
void pair_close(struct pair *pair);

/* Posts a signalled WRITE of the first `len_bytes` of side 0 to the same place of side 1. 0 or -errno. */
int pair_post_write(struct pair *pair, uint64_t wr_id, uint32_t len_bytes);

/* Waits, asleep between looks, for one completion of side 0; fails the test after `timeout_ns`. */
struct nornic_wc pair_wait(struct pair *pair, uint64_t timeout_ns);

/* Moves side 0's QP to `state`; fails the test if that is refused. */
void pair_modify_state(struct pair *pair, enum nornic_qp_state state);

#endif
