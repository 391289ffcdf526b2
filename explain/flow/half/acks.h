/* SPDX-License-Identifier: BSD-2-Clause */
/* The acknowledgements that the other end sent. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_ACKS_H
#define NORNIC_EXPLAIN_FLOW_HALF_ACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLAIN_PROGRESS_KEPT 4

/* An acknowledgement that went further than those before it. */
struct explain_progress {
    uint64_t number, time_ns;
    uint32_t end_psn;
};

/* All 0: nothing was acknowledged. */
struct explain_acks {
    bool is_known;                     /* an acknowledgement was seen */
    bool is_dead;                      /* a NAK ended the connection: nothing more is answered (ROCE-RS-12) */
    uint32_t una_psn;                  /* everything before it is acknowledged */
    uint64_t newest_number, newest_ns; /* of the newest answer; 0: none came */
    struct explain_progress *progress; /* a ring: NULL, or EXPLAIN_PROGRESS_KEPT of them */
    uint32_t next_progress;
};

/* Notes that an acknowledgement went further. Without memory it is forgotten. Returns false then. */
bool explain_acks_note(struct explain_acks *acks, const struct explain_progress *progress);
/* Returns the newest acknowledgement after `after_ns` that went no further than `psn`; NULL: none did. */
const struct explain_progress *explain_acks_short_of(const struct explain_acks *acks, uint32_t psn,
                                                     uint64_t after_ns);
/* Returns the memory behind it, and releases that memory. */
size_t explain_acks_bytes(const struct explain_acks *acks);
void explain_acks_free(struct explain_acks *acks);

#endif
