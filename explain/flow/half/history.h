/* SPDX-License-Identifier: BSD-2-Clause */
/* The request packets of one end, by PSN. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_HISTORY_H
#define NORNIC_EXPLAIN_FLOW_HALF_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLAIN_SENT_LEAST 64  /* kept also when they are answered: their copies may come */
#define EXPLAIN_SENT_AGAIN 512 /* kept likewise once packets were sent again: a whole window may be */

/* A request packet that was seen. */
struct explain_sent {
    uint64_t number;            /* 0: the slot is free */
    uint64_t first_ns, time_ns; /* of the first and the newest copy */
    uint64_t message;
    uint64_t bytes_done;
    uint32_t psn, piece;
    uint16_t ip_id;
    uint8_t opcode;
    bool ack_req, is_answered;
    bool is_unchecked; /* cut before its ICRC: it may be damaged */
    uint16_t link;     /* history.c's own: the next entry of its chain, from 1 */
};

/* The PSNs that may have been forgotten: those before `psn`. */
struct explain_horizon {
    bool is_there;
    uint32_t psn;
};

/* A ring in the order of coming, with chains by PSN. All 0, it is empty. */
struct explain_history {
    struct explain_sent *sent; /* `size` of them, a power of two */
    uint16_t *chains;          /* by PSN mod `size`: the first entry, from 1 */
    uint32_t size, next;
    struct explain_horizon horizon;
};

/* Moves the horizon to `end_psn`, if that is further. */
void explain_horizon_move(struct explain_horizon *horizon, uint32_t end_psn);
/* Returns whether the PSN may have been forgotten. */
bool explain_horizon_hides(const struct explain_horizon *horizon, uint32_t psn);

/* Returns the entry of a PSN, to be filled: `psn` is set, all else is as before, or 0 at a new PSN. A new
 * entry takes the place of the oldest. At least `kept` are kept, and up to 8192 while the oldest has no
 * answer. NULL: no memory. */
struct explain_sent *explain_sent_slot(struct explain_history *history, uint32_t psn, uint32_t kept);
/* Returns the packet seen at that PSN, or NULL. */
struct explain_sent *explain_sent_find(const struct explain_history *history, uint32_t psn);
/* Marks all that is kept from PSN `from` to before `end` as answered. */
void explain_sent_answered(struct explain_history *history, uint32_t from, uint32_t end);
/* Returns about when the packet at a PSN that is not here was sent: with the first one behind it that is.
 * 0: none is. */
uint64_t explain_sent_about_ns(const struct explain_history *history, uint32_t psn);
/* Returns the memory behind it, and releases that memory. */
size_t explain_history_bytes(const struct explain_history *history);
void explain_history_free(struct explain_history *history);

#endif
