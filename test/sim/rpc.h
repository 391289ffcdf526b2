/* SPDX-License-Identifier: BSD-2-Clause */
/* An application as storage protocols have it. A caller makes a piece of its memory reachable (fast
 * registration, or a window), and sends the key right behind; the callee WRITEs or READs through it and
 * answers, taking the key back as it does so (SEND with invalidate), or leaving that to the caller
 * (LOCAL_INV). All QPs of a node take their receives from one SRQ. */
#ifndef NORNIC_TEST_SIM_RPC_H
#define NORNIC_TEST_SIM_RPC_H

#include "rdma/mw.h"
#include "rdma/srq.h"
#include "test/sim/sim.h"

#define RPC_PAIRS_MAX   8
#define RPC_DATA_BYTES  20000u /* of a call, at most */
#define RPC_SLOTS_MAX   32u
#define RPC_SLOT_BYTES  64u
#define RPC_SEND_WR_MAX 16u

enum rpc_kind { RPC_FAST, RPC_WINDOW_2, RPC_WINDOW_1, RPC_KIND_COUNT };

struct rpc_config {
    struct sim_config sim;
    unsigned pairs;     /* QPs of each node */
    unsigned calls;     /* that each end makes, one after the other */
    unsigned srq_slots; /* receives of each node */
    bool lazy;          /* they are posted again only when the SRQ's limit event asks for it */
    bool resize;        /* the SRQs are resized now and then */
    bool signal_all;
    uint32_t reorder_pkts;
    struct nornic_qp_attr attr; /* but for what names the peer */
};

/* What travels. */
struct rpc_message {
    bool is_answer;
    bool callee_reads; /* else it writes */
    bool give_back;    /* the answer takes the key back */
    uint32_t call;
    uint32_t rkey, len_bytes;
    uint64_t va;
};

struct rpc_end {
    struct roce_qp *qp;
    struct rdma_mr *fast;
    struct rdma_mw *windows[2]; /* of type 2 and of type 1 */
    uint8_t *data;              /* the caller's */
    uint8_t *work;              /* the callee's */
    uint8_t *notes;             /* messages on their way, by send queue slot */
    uint32_t posted, released;  /* of the send queue */
    unsigned call;              /* the caller's: in flight, or next */
    bool in_flight;
    enum rpc_kind kind;
    uint32_t key; /* that the callee was given */
    struct rpc_message message;
    uint8_t keys_given;
    bool asked; /* the callee has a request to serve: `request` */
    struct rpc_message request;
    bool reading; /* the callee's READ is under way */
};

struct rpc_node {
    struct sim_node *sim;
    uint8_t *memory;
    struct rdma_mr *mr; /* all of it */
    struct rdma_cq *cq;
    struct rdma_srq *srq;
    uint32_t idle[RPC_SLOTS_MAX]; /* slots that are not posted */
    unsigned idle_count;
    bool begun;
    unsigned limits_seen; /* SRQ_LIMIT_REACHED events that were acted on */
    struct rpc_end end[RPC_PAIRS_MAX];
};

struct rpc {
    struct rpc_config config;
    struct sim *sim;
    struct rpc_node node[2];
    unsigned answers; /* that came, of all ends */
};

/* Runs all calls to their end, in `sim`, whose failure says what was wrong. */
void rpc_run(struct rpc *rpc, struct sim *sim, const struct rpc_config *config);

#endif
