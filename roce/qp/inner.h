/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a queue pair. Only roce/ includes this. */
#ifndef NORNIC_ROCE_QP_H
#define NORNIC_ROCE_QP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "rdma/queue/qp.h"
#include "rdma/timer.h"
#include "roce/requester/board.h"
#include "roce/wire/frame.h"
#include "roce/dev/run.h"
#include "roce/psn.h"
#include "roce/roce.h"
#include "roce/requester/window.h"

/* Asks a peer with selective retransmission for its packets, when it is silent for too long:
 * roce/requester/probe.h. */
struct roce_probe {
    struct rdma_timer timer;
    bool is_due;
    uint8_t tries;    /* in a row, without a word from the peer */
    bool is_timing;   /* a round trip is measured: of the packet at timed_psn, or of the probe */
    bool is_of_probe; /* the latter, by its stamp */
    uint32_t timed_psn, timed_stamp;
    uint64_t timed_ns;             /* when it was sent */
    uint64_t rtt_ns, deviation_ns; /* smoothed; 0: not known */
};

/* Answers that came while one before them is missing: roce/requester/answers.h. */
struct roce_answers {
    uint32_t *slots; /* as those of struct roce_reorder, in the device's store */
    uint32_t kept;   /* frames, some of them perhaps of PSNs that have passed */
    bool has_acked;  /* the peer has executed all before `acked_psn`, which una_psn cannot follow yet */
    uint32_t acked_psn;
};

/* Sends requests and takes their responses: ROCE section 7. */
struct roce_requester {
    uint32_t una_psn;      /* oldest unacknowledged */
    uint32_t nxt_psn;      /* the next WQE begins here */
    uint32_t hi_psn;       /* one past the highest ever sent, READ responses counted: ROCE-RC-31 */
    uint32_t unasked_pkts; /* sent since the last AckReq: ROCE-RC-12 */
    struct roce_window window;
    uint32_t timeouts_in_row; /* ack timeouts without progress in between */
    uint32_t ssn;
    uint32_t lsn;       /* limit by credits: ROCE-RC-21 */
    uint32_t rd_atomic; /* requests of READs and atomics that were sent and are not wholly answered */
    bool is_unlimited;
    bool is_stalled; /* the WQE at `cur` cannot be built; it fails when it is the oldest */
    enum nornic_wc_status stall_status;
    uint8_t retry_left;
    uint8_t rnr_left;
    /* The peer said that restart_psn is missing, and sending resumed there: no second time before progress
     * or a timeout (ROCE-RC-46). */
    bool has_gone_back;
    bool is_resuming; /* sending resumes at restart_psn with the next packet */
    uint32_t restart_psn;
    bool is_selective;       /* only the packet at restart_psn is sent again: selective retransmission */
    uint8_t go_back_strikes; /* how often the peer had kept nothing behind a gap */
    bool is_rnr_waiting;     /* the timer is the RNR wait, not the ack timeout */
    struct rdma_timer timer;
    struct roce_board board;
    struct roce_answers answers;
    struct roce_probe probe;
};

enum roce_response_kind {
    ROCE_RESPONSE_ACK,
    ROCE_RESPONSE_NAK,
    ROCE_RESPONSE_READ,
    ROCE_RESPONSE_ATOMIC,
    ROCE_RESPONSE_SACK
};

/* One entry of the responder's queue of things to send, in PSN order (ROCE-RS-40). */
struct roce_response {
    enum roce_response_kind kind;
    uint8_t syndrome; /* NAK */
    bool is_replay;
    uint32_t psn; /* ACK, NAK, ATOMIC: the packet's; READ: of the next response packet */
    uint32_t msn;
    uint64_t va; /* READ: the beginning of the next packet's data */
    uint32_t rkey;
    uint32_t left_bytes; /* READ */
    bool has_begun;      /* READ: a first packet was sent */
    uint32_t end_psn;    /* READ: one past its last */
    uint32_t srqn;       /* READ: of its request, XRC */
    uint64_t original;   /* ATOMIC */
    bool is_asked_for;   /* SACK: also if there is no gap */
};

/* A READ or atomic that was executed, kept for duplicates: ROCE-RS-30. */
struct roce_resource {
    bool is_used;
    uint8_t opcode; /* of the request */
    uint32_t first_psn, psn_count;
    uint64_t va;
    uint32_t rkey;
    uint32_t len_bytes;
    uint32_t srqn; /* XRC */
    uint64_t original;
};

enum roce_nak_state { ROCE_NAK_NONE, ROCE_NAK_SEQ_SENT, ROCE_NAK_RNR_SENT };

/* Takes requests and sends their responses: ROCE section 8. */
struct roce_responder {
    uint32_t epsn;
    uint32_t msn;
    enum roce_nak_state nak_state;
    /* the message in progress */
    uint32_t message; /* 0, ROCE_PKT_SEND or ROCE_PKT_WRITE */
    uint32_t received_bytes;
    uint64_t write_va;
    uint32_t write_rkey, write_len_bytes;
    uint32_t srqn;     /* XRC: the SRQ that the request named; of a message, all its packets */
    bool has_comm_est; /* COMM_EST was raised since RTR */
    /* rings */
    struct roce_resource *resources; /* max_dest_rd_atomic of them */
    uint32_t resource_next;
    struct roce_response *queue;
    uint32_t queue_size; /* a power of two */
    uint32_t queue_head, queue_tail;
};

/* A route, and the state of the GID tables that it was found in. All zero: not looked for yet. */
struct roce_way {
    enum roce_route route;
    uint32_t gid_epoch;
};

struct roce_spare;

/* Packets kept behind a gap: roce/responder/reorder.h. One a QP; slot p mod the table's size has the number
 * of the frame with the packet at PSN p, or 0. */
struct roce_reorder {
    struct roce_spare *own; /* the QP's own store; NULL: it takes from the device's */
    uint32_t *slots;        /* NULL: nothing is kept */
    uint32_t kept;          /* frames, some of them perhaps of PSNs that have passed */
};

/* The knowledge of the peer's selective retransmission: roce/responder/sack.h. */
struct roce_selective_peer {
    bool is_selective;
    uint8_t offers;     /* made to a peer that has not answered yet */
    uint16_t room_pkts; /* that it keeps behind a gap */
    uint32_t echo;      /* the stamp of its newest probe */
};

struct roce_qp {
    struct rdma_qp base; /* the neutral half: queues, CQs, state, number */
    struct roce_dev *dev;
    uint32_t slot, slot_uses; /* of the device's table */
    enum nornic_qp_type type;
    const struct roce_transport *transport;
    bool e2e_credits;
    bool block_multicast_loopback;
    uint32_t groups; /* that it is attached to */
    struct nornic_qp_attr attr;
    uint32_t pmtu_bytes;
    uint32_t read_pkts;      /* of the answer to one READ request, at the most; 0: no limit */
    struct nornic_gid local; /* connected services: the entry that attr.av names */
    struct roce_frame_template tmpl;
    bool has_alt;          /* attr.alt_av was loaded and has not been used */
    struct roce_way way;   /* connected services: the way to the peer */
    enum roce_reach reach; /* as roce_dev_config.reach was told last */
    struct nornic_addr reach_peer;

    struct roce_requester req;
    struct roce_responder resp;
    struct roce_reorder reorder;
    struct roce_selective_peer peer;
    struct roce_counters counters;
    struct roce_cc *cc;      /* NULL: congestion management is off */
    bool is_drained;         /* SQD: all started messages are complete */
    bool is_responders_turn; /* to send: the requester has just had its */

    _Atomic bool is_posted; /* on the device's stack of QPs with fresh posts */
    struct roce_qp *posted_next;
    bool is_ready; /* on the device's list of QPs that may have something to send */
    struct roce_qp *ready_prev, *ready_next;
};

/* The queue pair around its neutral half. */
static inline struct roce_qp *roce_qp_of(const struct rdma_qp *base)
{
    return container_of(base, struct roce_qp, base);
}

static inline enum nornic_qp_state roce_qp_state_now(const struct roce_qp *qp)
{
    return rdma_qp_state_now(&qp->base);
}

/* --- pkey.c --- */
/* The P_Key of the packets that the QP sends: ROCE-HDR-5. */
uint16_t roce_qp_pkey(const struct roce_qp *qp);

/* --- error.c --- */
/* Changes a state, and tells the trace; no other function does. */
void roce_qp_set_state(struct roce_qp *qp, enum nornic_qp_state to, enum roce_cause cause, uint64_t now_ns);
/* Moves a QP to ERR from any cause: stops timers, flushes both queues (ROCE-RC-63). Responses that precede
 * a fatal NAK, and that NAK, still leave. */
void roce_qp_enter_error(struct roce_qp *qp, enum roce_cause cause, uint64_t now_ns);
/* Moves a QP whose send failed from RTS or SQD to SQE: the rest of its send queue is flushed, and so are
 * posts until it is brought back to RTS (ROCE-QP-6, QP-28). */
void roce_qp_enter_sqe(struct roce_qp *qp, enum roce_cause cause, uint64_t now_ns);

/* --- reach.c --- */
/* Tells roce_dev_config.reach whether the QP takes packets of its peer now, if that is news. And: of no peer,
 * as it goes. */
void roce_qp_tell_reach(struct roce_qp *qp);
void roce_qp_end_reach(struct roce_qp *qp);

/* --- roce/requester/tx.c --- */
/* struct roce_transport, tx: request packets. */
bool roce_requester_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns);

/* --- roce/requester/rx.c --- */
enum roce_rx_verdict roce_requester_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns);

/* --- requester.c --- */
void roce_requester_reset(struct roce_qp *qp, uint32_t sq_psn);
/* Something was acknowledged: retries are restored, the timer starts anew (ROCE-RC-41, RC-47, RC-49). */
void roce_requester_progress(struct roce_qp *qp, uint64_t now_ns);
/* Go-back-N to `psn` (ROCE-RC-42); costs a retry, and fails the oldest WQE when none is left. */
void roce_requester_restart(struct roce_qp *qp, uint32_t psn, enum roce_cause cause, uint64_t now_ns);
/* Selective retransmission: goes on with the oldest packet that the board takes for lost, if there is one;
 * and moves the cursor on to the next such packet, or past all that was ever sent. */
void roce_requester_recover(struct roce_qp *qp, uint64_t now_ns);
void roce_requester_skip(struct roce_qp *qp);
/* A selective acknowledgement, as far as it is about packets of this QP. */
enum roce_rx_verdict roce_requester_take_sack(struct roce_qp *qp, const struct roce_pkt *pkt,
                                              uint64_t now_ns);
/* Opens the board with the packets that are under way now. False: there is no room for one. */
bool roce_requester_open_board(struct roce_qp *qp);
/* Packets before `psn` that count against the window: sent, and not known to have arrived. Less than 0: more
 * have arrived behind it. */
int64_t roce_requester_under_way(const struct roce_qp *qp, uint32_t psn);
/* The missing packet that a NAK named has been sent again, so sending goes on from its place. And:
 * the peer acknowledged that packet alone, so it kept nothing behind it, and gets the rest again too. */
void roce_requester_sent_selected(struct roce_qp *qp);
void roce_requester_went_back(struct roce_qp *qp, uint64_t now_ns);
/* An RNR NAK at una_psn: wait, then go on there (ROCE-RC-48). */
void roce_requester_rnr(struct roce_qp *qp, uint8_t timer_code, uint64_t now_ns);
/* Completes the oldest WQE with an error and moves the QP to ERR, or to SQE: ROCE-RC-64. */
void roce_requester_fail(struct roce_qp *qp, enum nornic_wc_status status, enum roce_cause cause,
                         uint64_t now_ns);
/* The PSN at which sending goes on. */
uint32_t roce_requester_cur_psn(const struct roce_qp *qp);
/* 4.096 us * 2^timeout (ROCE-RC-41), if the timer is on. */
uint64_t roce_ack_timeout_ns(const struct roce_qp *qp);
/* Starts the ack timer from now, if anything is unacknowledged. */
void roce_requester_arm(struct roce_qp *qp, uint64_t now_ns);
/* In SQD, and everything that was started is complete: says so once (ROCE-RC-62). */
void roce_requester_check_drained(struct roce_qp *qp);

/* --- responder.c --- */
/* Allocates its rings for attr.max_dest_rd_atomic and for answers that wait: 0 or -ENOMEM. */
int roce_responder_init(struct roce_qp *qp);
/* Fills the rings, fresh from roce_responder_init(), with the entries of `old`, the newest if there is
 * less room, and had yet to send: a change in SQD interrupts no answer (ROCE-QP-11, RS-30). */
void roce_responder_carry_over(struct roce_qp *qp, const struct roce_responder *old, uint32_t old_resources);
void roce_responder_deinit(struct roce_qp *qp);
void roce_responder_reset(struct roce_qp *qp, uint32_t rq_psn);
enum roce_rx_verdict roce_responder_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns);
/* A fault that the peer must be told: queues the NAK at `psn`, completes a held receive WQE in error or
 * raises the event of ROCE-RS-15, and moves the QP to ERR. `recv_status` is for a held WQE. */
void roce_responder_fatal(struct roce_qp *qp, uint8_t syndrome, uint32_t psn,
                          enum nornic_wc_status recv_status, uint64_t now_ns);

/* --- roce/responder/dup.c --- */
enum roce_rx_verdict roce_responder_duplicate(struct roce_qp *qp, const struct roce_pkt *pkt);

/* --- roce/responder/queue.c --- */
bool roce_response_pending(const struct roce_qp *qp);
/* The next answer to be sent is an ACK. */
bool roce_response_is_ack(const struct roce_qp *qp);
/* The syndrome of an ACK, with the credits that it gives: ROCE-RS-53. */
uint8_t roce_response_ack_syndrome(const struct roce_qp *qp);
/* Forgets all that waits to be sent. */
void roce_response_clear(struct roce_qp *qp);
/* READs and atomics of which the first answer is not fully sent (ROCE-RS-35). */
uint32_t roce_response_pending_rd_atomic(const struct roce_qp *qp);
/* The newest entry may be an ACK: then it takes over the PSN, as one ACK stands for all before
 * (ROCE-RS-51). */
void roce_response_push_ack(struct roce_qp *qp, uint32_t psn);
/* The next answer acknowledges as much (ROCE-RS-13): the newest entry goes if it is an ACK. Returns whether
 * it was. */
bool roce_response_drop_ack(struct roce_qp *qp);
/* Returns whether one more entry fits. */
bool roce_response_has_room(const struct roce_qp *qp);
/* Adds an entry; false: the queue is full and the packet is treated as lost. */
bool roce_response_push(struct roce_qp *qp, const struct roce_response *response);
/* Adds an answer given once more, at the place of its PSN: behind others the peer would drop those, as it
 * waits for this one, and then miss them. */
bool roce_response_insert(struct roce_qp *qp, const struct roce_response *response);
/* The queued answer of that kind with the last PSN before `end_psn`, or NULL. */
struct roce_response *roce_response_find(struct roce_qp *qp, enum roce_response_kind kind, uint32_t end_psn);

/* --- roce/responder/tx.c --- */
/* struct roce_transport, tx: response packets. */
bool roce_responder_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns);

#endif
