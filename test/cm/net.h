/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts with a connection manager each, and a wire between them that carries management datagrams under one
 * virtual clock: it loses, repeats, delays and reorders by a seed, and keeps a record. */
#ifndef NORNIC_TEST_CM_NET_H
#define NORNIC_TEST_CM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "roce/cm/cm.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define CM_NET_NODES   3
#define CM_NET_QPS     64
#define CM_NET_FLIGHTS 256
#define CM_NET_LOG     4096

struct cm_net;

struct cm_node {
    struct cm_net *net;
    unsigned index;
    struct nornic_addr addr;
    struct nornic_mac mac;
    struct test_alloc alloc;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct roce_qp *qp[CM_NET_QPS];
    unsigned num_qps;
    struct roce_cm *cm;
    unsigned live_before; /* allocations before the CM was made */
};

struct cm_flight {
    bool used;
    uint64_t at_ns, order;
    unsigned from, to;
    uint8_t mad[ROCE_MAD_BYTES];
};

struct cm_record {
    uint64_t at_ns;
    unsigned from;
    bool lost;
    struct roce_cm_mad mad;
};

struct cm_net_config {
    uint64_t seed;
    bool ipv6;
    uint32_t loss_ppm, duplicate_ppm;
    uint64_t delay_ns, jitter_ns; /* default 10 us, none */
    struct roce_cm_config cm;     /* template: what is zero is filled */
};

struct cm_net {
    struct cm_net_config config;
    uint64_t now_ns, sent;
    struct test_random random;
    struct cm_node node[CM_NET_NODES];
    struct cm_flight flight[CM_NET_FLIGHTS];
    struct cm_record log[CM_NET_LOG];
    unsigned log_count;
    /* Loses what it says yes to; may be NULL. */
    bool (*lose)(struct cm_net *net, unsigned from, const struct roce_cm_mad *mad);
    unsigned lose_attr, lose_from, lose_count; /* for cm_net_lose_some */
};

/* Large: allocate it. */
struct cm_net *cm_net_create(const struct cm_net_config *config);
/* Everything that the application held has to be given back before; fails the test on a leak. */
void cm_net_destroy(struct cm_net *net);

/* Loses the next `lose_count` messages of kind `lose_attr` from node `lose_from`. */
bool cm_net_lose_some(struct cm_net *net, unsigned from, const struct roce_cm_mad *mad);

struct roce_qp *cm_net_qp(struct cm_net *net, unsigned node);
struct roce_cm_route cm_net_route(const struct cm_net *net, unsigned from, unsigned to, uint16_t port);

/* What arrives at `to` as if `from` had sent it, now. */
void cm_net_inject(struct cm_net *net, unsigned from, unsigned to, const struct roce_cm_mad *mad);

/* Lets time pass: until `until_ns`, or until nothing is on its way and no timer runs. */
void cm_net_run(struct cm_net *net, uint64_t until_ns);
/* And so for a while. */
void cm_net_run_for(struct cm_net *net, uint64_t ns);
/* The next instant at which anything happens; NET_TIME_NONE: never. */
uint64_t cm_net_next_ns(const struct cm_net *net);
/* Does what is due now. */
void cm_net_step(struct cm_net *net);

/* Gets and acknowledges one event of a node. False: none. */
bool cm_net_event(struct cm_net *net, unsigned node, struct roce_cm_event *event);
/* The same, which must be there and of that type. */
struct roce_cm_event cm_net_expect(struct cm_net *net, unsigned node, enum nornic_cm_event_type type);
/* No event waits at any node. */
void cm_net_expect_quiet(struct cm_net *net);

/* The newest message of a kind that a node sent; must be there. And how many of them. */
const struct roce_cm_mad *cm_net_last(const struct cm_net *net, unsigned from, enum roce_cm_attr attr);
unsigned cm_net_count(const struct cm_net *net, unsigned from, enum roce_cm_attr attr);

/* An id that listens on `port`, and one that connects to node 1 from node 0. */
struct roce_cm_id *cm_net_listen(struct cm_net *net, unsigned node, uint16_t port, unsigned backlog);
struct roce_cm_id *cm_net_id(struct cm_net *net, unsigned node, enum nornic_port_space space);

/* Gives a node a new CM, as after the death of its process. Returns the former one, which gets no time and no
 * messages any more. cm_net_revive() puts it back, and destroys the new one. */
struct roce_cm *cm_net_die(struct cm_net *net, unsigned node);
void cm_net_revive(struct cm_net *net, unsigned node, struct roce_cm *dead);

/* A connection from node 0 to node 1, up. */
struct cm_pair {
    struct roce_cm_id *listener, *active, *passive;
    struct roce_qp *active_qp, *passive_qp;
};
struct cm_pair cm_net_connect(struct cm_net *net);
/* Gives an id back; it must work. */
void cm_net_drop(struct cm_net *net, struct roce_cm_id *id);
/* The same with those of a connection; and destroys the net, once nothing is on its way and no timer runs. */
void cm_net_end(struct cm_net *net, struct roce_cm_id *active, struct roce_cm_id *passive,
                struct roce_cm_id *listener);

#endif
