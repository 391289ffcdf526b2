/* SPDX-License-Identifier: BSD-2-Clause */
/* What really happened in a simulated run, by those who did it: the wires say what became of each frame, the
 * requesters, when they send again, why (roce/trace.h). No line of explain/ has a part in it.
 *
 * How it is put together: a device tells of each packet that it builds (ROCE_TRACE_PKT_TX: which queue pair),
 * a wire of each frame that it is given (sim_link_watch: when it comes out, or that it never does), in the
 * same order. A requester that goes back says so before the packet that made it do so is told as received, so
 * that the next ROCE_TRACE_PKT_RX names the trigger. All that it sends from then on for a second time, it
 * sends for that reason, until it goes back again: go-back-N has one position. */
#ifndef NORNIC_TEST_EXPLAIN_TRUTH_TAPE_H
#define NORNIC_TEST_EXPLAIN_TRUTH_TAPE_H

#include "roce/trace.h"
#include "test/sim/link.h"

#define TRUTH_DEVICES_MAX 6
#define TRUTH_NONE        UINT32_MAX

/* Why a request was sent again, as its requester says. */
enum truth_why {
    TRUTH_FIRST_TIME,
    TRUTH_TIMEOUT,     /* its timer fired */
    TRUTH_NAK,         /* a NAK PSN sequence error */
    TRUTH_IMPLIED_NAK, /* an answer that skips one */
    TRUTH_RNR,         /* an RNR NAK */
    TRUTH_SELECTIVE,   /* a selective acknowledgement showed that it had not come */
    TRUTH_GO_BACK,     /* selective retransmission alone did not help: all behind the gap is sent again */
    TRUTH_WHY_COUNT
};

enum truth_kind { TRUTH_OTHER, TRUTH_REQUEST, TRUTH_ANSWER, TRUTH_CNP };

/* One copy of a frame on a wire, or a TCP segment. Times are the simulation's. */
struct truth_pass {
    unsigned node;            /* that sent it */
    uint64_t sent_ns, due_ns; /* NET_TIME_NONE: lost */
    uint64_t way_ns;          /* how long it is under way, or would have been */
    uint64_t sent_order;      /* over all that is sent or arrives */
    uint64_t arrived_order;   /* 0: it did not */
    bool is_judged;           /* its receiver has told what it thinks of it: */
    bool is_executed;         /* a request in turn, or one that was executed before: it is answered */
    uint32_t frame;           /* the same for both copies of a frame */
    bool is_second;           /* of a frame that the wire duplicated */
    unsigned fate;            /* enum sim_fate */
    uint8_t *sent, *out;      /* as it was sent, as it came out (or would have) */
    uint32_t sent_bytes, out_bytes;
    enum truth_kind kind;
    uint32_t end;             /* the queue pair that sent it; TRUTH_NONE */
    uint32_t asker;           /* the queue pair whose requests these are, or are answered; TRUTH_NONE */
    uint8_t opcode, syndrome; /* syndrome: of an answer with AETH */
    uint32_t psn;
    /* of a request */
    bool is_again;   /* the requester sent this PSN before */
    uint32_t before; /* the pass that carried it last; TRUTH_NONE */
    enum truth_why why;
    uint32_t trigger; /* the pass that made the requester go back; TRUTH_NONE */
    uint32_t batch;   /* counts how often it went back; 0: never */
    bool is_first_of_batch;
    uint32_t along_batch;  /* it would have come all the same: that return is not at its end; 0: it is */
    uint64_t message;      /* in the order of the work requests, from 1 */
    uint32_t piece;        /* packet of it, from 1 */
    uint64_t bytes_before; /* of the message, in earlier packets */
    uint32_t payload_bytes;
};

/* What a requester sent at a PSN. */
struct truth_slot {
    uint64_t message, bytes_before;
    uint32_t piece, newest; /* pass */
    bool is_inner;          /* of a READ, but for its first PSN */
};

/* A queue pair from RTR on. */
struct truth_end {
    unsigned device;
    uint32_t qpn, partner; /* partner: index; TRUTH_NONE */
    uint32_t pmtu_bytes;
    bool has_begun;
    uint32_t first_psn;
    bool is_selective;        /* ever: what its partner keeps behind a gap is not modelled */
    struct truth_slot *slots; /* by PSN - first_psn */
    uint32_t slot_count, slot_cap;
    uint64_t messages, open_bytes;
    uint32_t open_piece;
    enum truth_why why;
    bool wants_trigger;
    uint32_t trigger, batch, last_batch; /* last_batch: of the newest packet */
    uint32_t run_next;  /* an offset: behind the newest packet of a return; all from there on */
    uint32_t run_end;   /* to there is still to be sent again for it; equal: nothing is */
    uint32_t run_batch; /* which return that is */
    uint32_t expected;  /* by its partner, as an offset from first_psn */
};

/* A packet that was built and is not on its wire yet. */
struct truth_built {
    unsigned device;
    uint32_t end, psn, dest_qpn;
    uint8_t opcode;
};

struct truth_tape {
    struct truth_pass *passes;
    uint32_t pass_count, pass_cap;
    struct truth_end *ends;
    uint32_t end_count, end_cap;
    struct truth_built *built;
    uint32_t built_count, built_cap;
    uint8_t mac[TRUTH_DEVICES_MAX][6]; /* of the devices; device d is of node d / 3 */
    uint64_t order;
    uint32_t frames;
};

void truth_tape_init(struct truth_tape *tape);
void truth_tape_deinit(struct truth_tape *tape);

/* A device has that MAC. */
void truth_tape_device(struct truth_tape *tape, unsigned device, const uint8_t mac[6]);
/* What a device tells. */
void truth_tape_trace(struct truth_tape *tape, unsigned device, const struct roce_trace *event);
/* A queue pair's path MTU, without which the PSNs that a READ takes are not known. */
void truth_tape_pmtu(struct truth_tape *tape, unsigned device, uint32_t qpn, uint32_t pmtu_bytes);
/* A wire, and the device that sends over it. */
struct truth_wire {
    struct truth_tape *tape;
    unsigned device;
};

/* Records all frames that `device` gives to `link` from now on. `wire` lasts as long as the link. */
void truth_tape_watch(struct truth_tape *tape, unsigned device, struct sim_link *link,
                      struct truth_wire *wire);
/* A frame that no device sends, and that arrives at once (TCP). */
void truth_tape_other(struct truth_tape *tape, unsigned node, const uint8_t *frame, uint32_t len_bytes,
                      uint64_t now_ns);

static inline unsigned truth_node(unsigned device)
{
    return device / 3;
}

#endif
