/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows through a fabric: each a QP pair that always has something to send. */
#ifndef NORNIC_TEST_SIM_FLOW_H
#define NORNIC_TEST_SIM_FLOW_H

#include "test/sim/fabric.h"

#define FLOWS_MAX 64

struct flow_config {
    unsigned from, to;      /* nodes that the data go between */
    bool read;              /* `to` asks for them, else `from` writes them */
    uint32_t message_bytes; /* of a WRITE or READ */
    unsigned depth;         /* messages posted ahead */
    uint64_t start_ns;      /* by the fabric's clock; 0: at once */
    uint8_t timeout;        /* of the ack timer: ROCE-RC-41 */
    enum nornic_mtu pmtu;
};

struct flow {
    struct flow_config config;
    struct roce_qp *sender, *receiver; /* of the data */
    struct roce_qp *asker;             /* the one of them that has work posted */
    struct rdma_cq *cq;
    struct rdma_mr *source, *target;
    uint8_t *source_bytes, *target_bytes;
    unsigned posted; /* not completed */
    uint64_t done_bytes;
    bool failed; /* a completion in error: RETRY_EXC_ERR, as nothing else is wrong here */
    bool paused; /* posts nothing more */
};

struct traffic {
    struct fabric *fabric;
    struct flow flow[FLOWS_MAX];
    unsigned count;
};

/* Takes over the fabric's application. */
void traffic_init(struct traffic *traffic, struct fabric *fabric);
/* What arrived last is compared with what was sent. */
void traffic_deinit(struct traffic *traffic);

/* Returns the flow, connected; it begins at its time. */
struct flow *traffic_add(struct traffic *traffic, const struct flow_config *config);

/* Bytes of completed messages of each flow. */
void traffic_done(const struct traffic *traffic, uint64_t bytes[FLOWS_MAX]);

/* Jain's fairness index of what each of flows `first` to `last` - 1 has done since `before`: 1 when all did
 * the same, 1/n when one did all. */
double traffic_jain(const struct traffic *traffic, const uint64_t before[FLOWS_MAX], unsigned first,
                    unsigned last);
/* What they did together, in bits per second over `time_ns`. */
double traffic_bps(const struct traffic *traffic, const uint64_t before[FLOWS_MAX], uint64_t time_ns);

#endif
