/* SPDX-License-Identifier: BSD-2-Clause */
/* Ladder diagrams: what two QPs said to each other, as both of them saw it. A log is a consumer of the trace
 * hook (roce/trace.h) that only copies; merging, matching and printing come later, when time does not matter.
 */
#ifndef NORNIC_CLI_DEMO_LADDER_H
#define NORNIC_CLI_DEMO_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "roce/trace.h"

enum ladder_kind {
    LADDER_TX,
    LADDER_RX,
    LADDER_QP_STATE,
    LADDER_RETRANSMIT,
    LADDER_RNR_WAIT,
    LADDER_NOTE, /* a remark of whoever records: an index into ladder_style.notes */
};

/* One event, self-contained: it may lie in memory that two processes share. */
struct ladder_event {
    uint64_t time_ns;
    uint8_t kind;    /* enum ladder_kind */
    uint8_t verdict; /* RX: enum roce_rx_verdict */
    uint8_t cause;   /* QP_STATE, RETRANSMIT, RNR_WAIT: enum roce_cause */
    uint8_t opcode;
    uint8_t syndrome;
    bool ack_req, solicited;
    bool is_probe, is_offer;      /* a selective ACK (docs/selective-retransmission.md): asks; is the first */
    uint8_t from_state, to_state; /* QP_STATE: enum nornic_qp_state */
    uint16_t ip_id;               /* IPv4 identification: tells a packet from its resent copy; IPv6: 0 */
    uint32_t qpn;                 /* packets: the destination QP; else the local one */
    uint32_t psn, msn;
    uint32_t payload_bytes;
    uint32_t kept_pkts; /* a selective ACK: how many packets behind its PSN it says are there */
    uint32_t rkey, dma_len;
    uint32_t imm; /* as a reader writes it: host order */
    uint64_t va;
    uint64_t compare, swap_add; /* AtomicETH */
    uint64_t original;          /* AtomicAckETH */
    uint64_t wait_ns;           /* RNR_WAIT */
    uint32_t note;              /* NOTE */
};

/* A bounded log: keeps the first `capacity` events and counts the rest. One writer. */
struct ladder_log {
    uint32_t capacity, count;
    uint64_t missed;
    struct ladder_event events[];
};

/* Bytes of a log for `capacity` events. */
size_t ladder_log_bytes(uint32_t capacity);
/* Makes an empty log of zeroed memory of ladder_log_bytes(capacity). */
void ladder_log_init(struct ladder_log *log, uint32_t capacity);

/* A roce_trace_hook; `log` is a struct ladder_log. A packet that the engine did not take apart is parsed
 * here. */
void ladder_record(void *log, const struct roce_trace *event);
/* Adds a remark. */
void ladder_note(struct ladder_log *log, uint64_t now_ns, uint32_t note);

/* One line of a ladder: a packet with what each side saw of it (NULL: did not, or is not known), or another
 * event of one side. */
struct ladder_row {
    uint64_t time_ns; /* when it was sent, or happened; never after it was received */
    uint32_t order;   /* its place in the log of the side that sent it, or where it happened */
    const struct ladder_event *left, *right;
    bool to_right; /* a packet: its direction */
    bool lost;     /* sent, never received, while a later one was */
    bool is_again; /* a request whose PSN was sent before */
};

struct ladder {
    uint32_t count;
    struct ladder_row rows[];
};

/* Puts two logs of one clock together, oldest first, and matches what was sent with what was received.
 * `right` may be NULL. The rows point into the logs. Free it with free(). NULL: no memory. */
struct ladder *ladder_merge(const struct ladder_log *left, const struct ladder_log *right);

/* Finds a loss among the first that were recovered because of `cause` (ROCE_CAUSE_COUNT: of any), of several
 * the one with the fewest rows: from a little before the lost packet to just after its resent copy was taken.
 * False: there is none. */
bool ladder_find_recovery(const struct ladder *ladder, enum roce_cause cause, uint32_t *first,
                          uint32_t *count);

struct ladder_style {
    const char *left, *right; /* names of the sides */
    uint32_t width;           /* columns, at least 72 */
    bool colour;
    const char *const *notes; /* texts for LADDER_NOTE; NULL: notes are left out */
    uint32_t note_count;
    bool states; /* print QP state changes */
    bool fold;   /* of a run of packets that are alike print the first and the last */
};

/* Prints rows first .. first + count - 1. Times are microseconds since the first packet among them, or
 * since the first after the last remark. */
void ladder_print(FILE *out, const struct ladder *ladder, uint32_t first, uint32_t count,
                  const struct ladder_style *style);

#endif
