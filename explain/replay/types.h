/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a replay. Only explain/replay/ includes this.
 *
 * Each half of a queue pair runs on a device of its own: QPNs can then be those of the capture, the
 * requester can be asked for one packet at a time, whenever the recorded endpoint sent one, and the
 * responder for all that it has after each packet that it got. The halves of a connected QP share
 * nothing but the state, which is carried over when one of them fails. */
#ifndef NORNIC_EXPLAIN_REPLAY_TYPES_H
#define NORNIC_EXPLAIN_REPLAY_TYPES_H

#include "explain/replay/learn/endpoint.h"
#include "explain/replay/tape.h"
#include "explain/replay/values.h"
#include "roce/wire/frame.h"

#define REPLAY_FRAME_BYTES (ROCE_FRAME_OVERHEAD_BYTES + ROCE_PMTU_MAX_BYTES)

/* A frame that the engine built. */
struct replay_frame {
    struct replay_frame *next;
    uint64_t cause; /* number of the packet that was fed last */
    bool is_repeat; /* that was a request which was seen before */
    uint32_t len_bytes;
    uint8_t bytes[REPLAY_FRAME_BYTES];
};

struct replay_half {
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct roce_qp *qp;
    struct rdma_mr **mrs; /* of the endpoint's regions, then one of its own */
    uint32_t mr_count;
    uint8_t *scratch;       /* registered: receives, READ results */
    struct nornic_ah **ahs; /* UD: one a message; NULL beyond those that are posted */
    uint32_t ah_count;
    uint64_t random;
};

struct replay_qp {
    const struct explain_learned *learned;
    uint32_t index;
    struct replay_half requester, responder;
    /* requester */
    uint32_t posted;
    struct replay_frame *held; /* built, and not yet compared */
    uint32_t una_psn;          /* the answers that it got acknowledge everything before */
    uint32_t oldest;           /* index of the message that una_psn is of */
    bool has_sent;
    uint64_t nak_ns; /* when it got its last NAK; 0: never */
    /* responder */
    struct replay_frame *first, **last; /* built, and not yet compared */
    uint32_t expected_psn;
    uint32_t write_rkey; /* of the WRITE in progress, and the place at which it goes on */
    uint64_t write_va;
    bool has_got_repeat;       /* the last request was a duplicate */
    uint32_t acked_psn;        /* one past the engine's acknowledged PSN */
    uint32_t recorded_psn;     /* and the recorded endpoint */
    uint32_t earlier_messages; /* of the connection, before the capture begins */
    bool is_msn_known;
    size_t answer_at;  /* into learned->answers: those before are compared */
    bool has_told_rnr; /* the last compared answer was an RNR NAK, */
    uint32_t rnr_psn;  /* at this PSN */
};

struct replay {
    const struct explain_tape *tape;
    const struct explain_endpoint *endpoint;
    const struct explain_replay_config *config;
    struct explain_replay_result *result;
    struct replay_qp *qps;
    uint64_t skew_ns; /* timers fire when the recorded ones did: the clock jumps */
    uint64_t now_ns;
    uint64_t cause; /* number of the packet that was fed last */
};

#endif
