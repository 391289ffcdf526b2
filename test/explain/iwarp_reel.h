/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture of an iWARP connection that is told segment by segment: side 0 (10.0.0.1, port 4000) asks, side 1
 * (10.0.0.2, port 5000) answers. Each segment comes 1 ms behind the one before and is explained at once. */
#ifndef NORNIC_TEST_EXPLAIN_IWARP_REEL_H
#define NORNIC_TEST_EXPLAIN_IWARP_REEL_H

#include "explain/analysis.h"
#include "test/support/iwarp_frames.h"

#define REEL_BYTES_MAX 70000

struct iwarp_reel {
    struct explain_analysis *analysis;
    uint64_t number, time_ns;
    uint32_t seq[2];     /* of the next byte of each side */
    uint32_t snap_bytes; /* of a frame are captured; 0: all */
    bool is_off_air;     /* segments are sent, and the capture misses them */
    uint16_t port;       /* of side 0 */
    uint64_t place[2];   /* bytes behind the MPA frame: where markers stand follows from it */
    bool has_markers[2], has_no_crc;
    uint8_t frame[REEL_BYTES_MAX];
    struct explain_packet p;  /* the last one, */
    struct explain_meaning m; /* and what it means */
    unsigned found[EXPLAIN_FINDING_COUNT];
    uint32_t fpdus, crcs[4]; /* of all packets */
};

/* Begins the analysis; nothing is sent. */
void reel_begin(struct iwarp_reel *f);
void reel_end(struct iwarp_reel *f);

/* A segment with any sequence number; flags as in the TCP header. */
void reel_segment(struct iwarp_reel *f, unsigned side, uint32_t seq, uint8_t flags, const uint8_t *data,
                  uint32_t n);
/* SYN and its answer. */
void reel_open(struct iwarp_reel *f);
/* The next bytes of a side in a segment of their own. */
void reel_send(struct iwarp_reel *f, unsigned side, const uint8_t *data, uint32_t n);
/* An acknowledgement of all that the other side sent. */
void reel_ack(struct iwarp_reel *f, unsigned side);
void reel_example(struct iwarp_reel *f, unsigned side, enum iwarp_example_name name);

/* MPA Request and Reply of revision 2, enhanced: IRD and ORD 2; with the flags that `f` says. */
void reel_set_up(struct iwarp_reel *f);
/* Appends an FPDU of the side to `out`, markers and CRC as `f` says, and moves `place`; returns its
 * length. */
uint32_t reel_put_fpdu(struct iwarp_reel *f, unsigned side, const uint8_t *ulpdu, uint32_t n, uint8_t *out);
/* ULPDUs: return their length. */
uint32_t reel_untagged(uint8_t *ulpdu, uint8_t opcode, bool is_last, uint32_t qn, uint32_t msn, uint32_t mo,
                       const uint8_t *payload, uint32_t n);
uint32_t reel_tagged(uint8_t *ulpdu, uint8_t opcode, bool is_last, uint32_t stag, uint64_t to, uint32_t n);
/* A Read Request, MSN as given: `n` bytes from STag 7 TO 0x700 to STag 9 TO 0x900. */
uint32_t reel_read(uint8_t *ulpdu, uint32_t msn, uint32_t n);
/* Sends a ULPDU as one FPDU in one segment. */
void reel_ulpdu(struct iwarp_reel *f, unsigned side, const uint8_t *ulpdu, uint32_t n);

/* Findings of severity 2 so far. */
unsigned reel_errors(const struct iwarp_reel *f);
/* Begins with both ends set up, without a finding. */
void reel_begin_full(struct iwarp_reel *f);
/* The last message has these words in it; has a finding of the kind, by the rule. */
void reel_expect_words(const struct iwarp_reel *f, const char *part);
const struct explain_finding *reel_finding(const struct iwarp_reel *f, enum explain_finding_kind kind);
void reel_expect_finding(const struct iwarp_reel *f, enum explain_finding_kind kind, const char *rule);

#endif
