/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices and the wire between them under one virtual clock that jumps to the next event. */
#ifndef NORNIC_TEST_SIM_SIM_H
#define NORNIC_TEST_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "roce/roce.h"
#include "test/sim/link.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

struct sim;

enum sim_choice { SIM_BY_SEED, SIM_ON, SIM_OFF };

struct sim_config {
    uint64_t seed;
    bool ipv6;
    uint16_t vlan_id; /* 0: untagged */
    uint32_t port_mtu_bytes;
    uint32_t window_pkts;           /* 0: the default of the device */
    struct roce_cc_config cc[2];    /* of each node */
    enum sim_choice selective[2];   /* roce_dev_config.selective of each node; off: it goes back N */
    struct sim_link_config link[2]; /* [i]: from node i to the other */
    unsigned port_frames;           /* a port's ring takes so many frames at once; 0: any number */
    uint64_t port_gap_ns;           /* and again so many after this time */
    bool ladder;                    /* print every packet to stderr */
    roce_trace_hook *trace;         /* else: sees what the devices do; its context is the node. May be NULL */
    void *trace_ctx;                /* for it */
};

/* What its devices have as answer_bytes: a quarter of all runs has little room, and cuts long READs. 0: no
 * limit. */
uint32_t sim_answer_bytes(const struct sim_config *config);

struct sim_node {
    struct test_random random; /* of its device */
    struct sim *sim;
    unsigned index;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct test_alloc alloc;
    struct nornic_addr addr;
    struct nornic_mac mac;
    uint16_t vlan_id;
    unsigned ring_free;    /* frames that the port takes now (sim_config.port_frames) */
    uint64_t ring_free_ns; /* when it takes more */
    uint64_t kernel_drops; /* frames that did not come up through its socket */
    unsigned events[NORNIC_EVENT_COUNT];
    unsigned doorbells;
};

struct sim {
    struct sim_config config;
    uint64_t now_ns;
    struct test_random random, train_random, select_random;
    uint32_t train_pkts; /* most packets of a train, both ways; 0: none. The seed decides */
    bool has_sockets;    /* both ports are UDP sockets (test/sim/socket.h). Likewise */
    struct sim_node node[2];
    struct sim_link *link[2];
    struct net_frame tx[NET_BURST]; /* buffers that devices build frames in */
    uint64_t tx_frames;             /* built so far */
    uint64_t completed_frames;      /* when somebody last saw a completion */
    uint64_t trains_sent, trains_received;
    uint64_t trains_mixed;   /* of the latter: not of packets whose PSNs follow each other */
    uint64_t trains_damaged; /* with a bad ICRC inside, at least so many */
    bool failed;
    char failure[400]; /* the first thing that went wrong */
};

/* Makes both devices, a PD and one GID each. */
void sim_init(struct sim *sim, const struct sim_config *config);
/* Destroys everything but QPs, CQs and regions, which the caller has removed; a leak is a failure. */
void sim_deinit(struct sim *sim);

/* Remembers the first failure, as one line. */
void sim_fail(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Does everything that can be done at this instant: frames out of the devices, frames out of the wires,
 * timers. Returns whether anything moved. */
bool sim_step(struct sim *sim);

/* The next event of a device or a wire; NET_TIME_NONE: nothing will ever happen again. */
uint64_t sim_next_ns(const struct sim *sim);

/* Moves the clock forward. */
void sim_jump(struct sim *sim, uint64_t now_ns);

/* The attributes of a QP of `node` that talks to the other node, without those that belong to a workload. */
void sim_address(const struct sim *sim, unsigned node, struct nornic_av *av);

/* One line a packet and a state change (sim_config.ladder). */
roce_trace_hook sim_ladder_hook;
void sim_ladder_fate(const struct sim *sim, unsigned from_node, const struct net_frame *frame, unsigned fate);

#endif
