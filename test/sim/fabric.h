/* SPDX-License-Identifier: BSD-2-Clause */
/* Many devices around one switch, under one virtual clock: every port of the switch has an output queue that
 * fills, marks and drops. The wires lose nothing. */
#ifndef NORNIC_TEST_SIM_FABRIC_H
#define NORNIC_TEST_SIM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/roce.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define FABRIC_NODES_MAX 64
#define FABRIC_US        UINT64_C(1000)
#define FABRIC_MS        UINT64_C(1000000)

struct fabric_config {
    uint64_t seed;
    unsigned nodes; /* at most FABRIC_NODES_MAX */
    bool ipv6;
    uint64_t line_rate_bps; /* of the nodes' ports, and of the switch's */
    uint64_t first_bps;     /* of the switch's port to node 0; 0: line_rate_bps */
    uint64_t delay_ns;      /* of each cable */
    uint32_t port_mtu_bytes;
    uint32_t window_pkts;  /* 0: the default of the device */
    uint32_t buffer_bytes; /* of an output queue: a frame that does not fit is dropped */
    /* RED on the queue's length: nothing is marked up to Kmin, everything from Kmax on, in between with a
     * probability that grows from 0 to Pmax. Only what is ECN-capable is marked. Kmax 0: no marking. */
    uint32_t kmin_bytes, kmax_bytes, pmax_ppm;
    struct roce_cc_config cc; /* of all devices; its line rate is set here */
};

/* The switch's port to a node. */
struct fabric_port {
    uint64_t rate_bps;
    uint64_t free_ns;    /* when what is queued now has left */
    uint64_t peak_bytes; /* longest queue since fabric_forget() */
    uint64_t forwarded, marked, dropped;
};

struct fabric_node {
    struct fabric *fabric;
    unsigned index;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct test_alloc alloc;
    struct nornic_addr addr;
    struct nornic_mac mac;
    uint64_t wire_free_ns; /* when what its port has taken is on the wire */
    uint64_t wake_ns;      /* the application wants to be called then; 0: no */
    struct fabric_port port;
};

struct fabric_frame;

struct fabric {
    struct fabric_config config;
    struct fabric_node node[FABRIC_NODES_MAX];
    struct test_random random;
    uint64_t now_ns;
    uint64_t order;
    struct fabric_frame **heap; /* frames in flight, by when they arrive */
    unsigned count, capacity;
    struct fabric_frame *unused;
    /* Called after anything happened at a node; may post and poll. May be NULL. */
    void (*app)(void *ctx, unsigned node);
    void *app_ctx;
};

/* Makes the devices, with a PD and a GID each. Ends the test when anything fails. */
void fabric_init(struct fabric *fabric, const struct fabric_config *config);
/* Destroys everything but QPs, CQs and regions, which the caller has removed. */
void fabric_deinit(struct fabric *fabric);

/* Lets time pass until `until_ns`. */
void fabric_run(struct fabric *fabric, uint64_t until_ns);

/* Bytes that wait for the wire to `node` now. */
uint64_t fabric_queue_bytes(const struct fabric *fabric, unsigned node);

/* The peak and the counters of all ports begin anew. */
void fabric_forget(struct fabric *fabric);

#endif
