/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a replay. Only explain/replay/ includes this.
 *
 * Each half of a queue pair runs on a device of its own: QPNs can then be those of the capture, the
 * requester can be asked for one packet at a time, whenever the recorded endpoint sent one, and the
 * responder for all that it has after each packet that it got. The halves of a connected QP share
 * nothing but the state, which is carried over when one of them fails. */
#ifndef NORNIC_EXPLAIN_REPLAY_INNER_H
#define NORNIC_EXPLAIN_REPLAY_INNER_H

#include "explain/replay/replay.h"
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
    uint32_t write_rkey; /* of the WRITE in progress, and where it goes on */
    uint64_t write_va;
    bool has_got_repeat;       /* the last request was a duplicate */
    uint32_t acked_psn;        /* one past what the engine acknowledged */
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

/* --- half.c --- */
/* Makes a half, in RTS; its last region is its scratch. 0 or -errno; explain_replay_half_close() after
 * either. */
int explain_replay_half_open(struct replay *r, struct replay_qp *q, struct replay_half *h, bool responds);
void explain_replay_half_close(struct replay_half *h);
/* A frame that the half has to send, or NULL; the caller frees it. */
struct replay_frame *explain_replay_half_pull(struct replay *r, struct replay_half *h);
void explain_replay_half_feed(struct replay *r, struct replay_half *h, uint8_t *bytes, uint32_t len_bytes);

/* --- requester.c --- */
int explain_replay_request_sent(struct replay *r, struct replay_qp *q, const struct explain_packet *p);
void explain_replay_response_got(struct replay *r, struct replay_qp *q, const struct explain_packet *p);

/* --- responder.c --- */
int explain_replay_request_got(struct replay *r, struct replay_qp *q, size_t i,
                               const struct explain_packet *p);
void explain_replay_response_sent(struct replay *r, struct replay_qp *q, const struct explain_packet *p);
void explain_replay_responder_end(struct replay *r, struct replay_qp *q);

/* --- memory.c --- */
/* Before a READ or an atomic is fed: memory is what the recorded answer says it was. After a WRITE: what it
 * wrote is known. */
void explain_replay_memory_prepare(struct replay *r, struct replay_qp *q, size_t i,
                                   const struct explain_packet *p);
void explain_replay_memory_written(struct replay *r, struct replay_qp *q, const struct explain_packet *p);
/* The key by which the responder's engine knows a recorded R_Key; 0: none. */
uint32_t explain_replay_own_key(const struct replay *r, const struct replay_half *h, uint32_t rkey);

/* --- outcome.c --- */
/* Tells and counts one comparison; either frame may be NULL. */
void explain_replay_tell(struct replay *r, const struct replay_qp *q, enum explain_replay_outcome outcome,
                         const struct explain_packet *recorded, const struct replay_frame *engine,
                         const struct explain_compared *diffs);
void explain_replay_frame_packet(const struct replay_frame *f, struct explain_packet *p);

#endif
