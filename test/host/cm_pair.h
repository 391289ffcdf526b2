/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices with a CM each, on a memory port or on a veth pair, and what a connection of them needs. */
#ifndef NORNIC_TEST_HOST_CM_PAIR_H
#define NORNIC_TEST_HOST_CM_PAIR_H

#include "base/base.h"
#include "host/cm/cm.h"
#include "test/support/netns.h"

#define CM_PAIR_PORT 4711
#define CM_BYTES     4096u

struct cm_side {
    struct host_dev *dev;
    struct host_cm *cm;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct rdma_mr *mr;
    uint8_t memory[CM_BYTES];
    struct nornic_addr addr; /* IPv4 */
};

struct cm_pair {
    struct cm_side side[2];
    struct netns_veth veth; /* of a pair on a veth */
    bool on_veth;
};

/* Fails the test if something does not work. Side 0 has 10.77.0.1 and fd77::1, side 1 10.77.0.2 and fd77::2.
 * `config` NULL: defaults. */
void cm_pair_open(struct cm_pair *pair, bool on_veth, const struct host_cm_config *config);
/* The same on a veth pair, over ports of a kind: "packet" or "udp". */
void cm_pair_open_over(struct cm_pair *pair, const char *kind, const struct host_cm_config *config);
void cm_pair_close(struct cm_pair *pair);

/* A QP in RESET. */
struct roce_qp *cm_pair_qp(struct cm_side *side, enum nornic_qp_type type);
void cm_pair_drop_qp(struct cm_side *side, struct roce_qp *qp);

/* Takes the next event; fails the test if it is not `type`, or none comes in ten seconds. */
struct host_cm_event *cm_pair_expect(struct cm_side *side, enum nornic_cm_event_type type);
/* The same, and acknowledges it. Returns its status. */
int cm_pair_skip(struct cm_side *side, enum nornic_cm_event_type type);

/* Polls `cq` until a completion comes; fails the test after ten seconds. */
struct nornic_wc cm_pair_await(struct rdma_cq *cq);

/* An id of side 0 (or of `from`) with a route to `dst`, resolved. */
struct host_cm_id *cm_pair_route(struct cm_pair *pair, enum nornic_port_space space,
                                 const struct nornic_addr *dst);

/* An id of side 1 that listens. */
struct host_cm_id *cm_pair_listen(struct cm_pair *pair, enum nornic_port_space space);

struct cm_connection {
    struct host_cm_id *active, *passive;
    struct roce_qp *qps[2];
};

/* Connects side 0 to the listener of side 1, both ESTABLISHED. */
struct cm_connection cm_pair_connect(struct cm_pair *pair);

#endif
