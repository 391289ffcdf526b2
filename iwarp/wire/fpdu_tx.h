/* SPDX-License-Identifier: BSD-2-Clause */
/* From ULPDUs to the octets of a TCP stream: MPA's sending half (RFC 5044 4). Inside the engine only.
 *
 * FPDUs are made in batches, each batch a list of pieces for one gathering write. A piece refers to
 * payload in its place, or to the scratch buffer. Octets of a batch that TCP did not take are copied, so
 * that no piece outlives the call that made it. The memory of a region may go away in between, and the
 * octets of a started FPDU must fit its CRC (IWARP-FPDU-06). */
#ifndef NORNIC_IWARP_FPDU_TX_H
#define NORNIC_IWARP_FPDU_TX_H

#include "iwarp/wire/fpdu_rx.h"

/* The most octets of a batch: twice the room for the longest FPDU that is sent, with its markers, since a
 * call to TCP costs (docs/performance.md). */
#define IWARP_BATCH_BYTES  135168u
#define IWARP_BATCH_PIECES 512u

struct iwarp_piece {
    const uint8_t *bytes;
    uint32_t len_bytes;
};

struct iwarp_fpdu_tx {
    struct iwarp_fpdu_rules rules;
    uint8_t *scratch; /* IWARP_BATCH_BYTES, the owner's: headers, markers, CRCs, copied payload */
    uint8_t *rest;    /* IWARP_BATCH_BYTES, the owner's: octets that TCP did not take */
    struct iwarp_piece pieces[IWARP_BATCH_PIECES]; /* of the batch */
    uint32_t piece_count;
    uint32_t batch_bytes;
    uint32_t scratch_bytes; /* used */
    uint32_t rest_from, rest_to;
    uint32_t position;       /* octets since the set-up, modulo the interval of markers */
    uint32_t raw_bytes;      /* of the FPDU in progress, from ULPDU_Length on */
    uint32_t crc;            /* of it so far, but for: */
    const uint8_t *unsummed; /* the last octets that were added */
    uint32_t unsummed_bytes;
    uint32_t pad_bytes; /* that it ends with */
};

/* Begins at the first octet behind the set-up. Keeps both buffers. */
void iwarp_fpdu_tx_init(struct iwarp_fpdu_tx *tx, const struct iwarp_fpdu_rules *rules, uint8_t *scratch,
                        uint8_t *rest);

/* Whether an FPDU of so many octets and pieces of payload fits the batch. The first always does: a ULPDU
 * of at most IWARP_MULPDU_MAX octets, NORNIC_MAX_SGE pieces. None fits while there is a rest. */
bool iwarp_fpdu_tx_has_room(const struct iwarp_fpdu_tx *tx, uint32_t ulpdu_bytes, uint32_t piece_count);

/* The place in the batch at which an FPDU begins. */
struct iwarp_fpdu_tx_mark {
    uint32_t piece_count, last_bytes; /* the length of the last piece */
    uint32_t batch_bytes, scratch_bytes, position;
};

/* Returns the place that the batch has reached, and goes back there: the FPDU begun behind it is
 * forgotten. */
struct iwarp_fpdu_tx_mark iwarp_fpdu_tx_mark(const struct iwarp_fpdu_tx *tx);
void iwarp_fpdu_tx_rewind(struct iwarp_fpdu_tx *tx, const struct iwarp_fpdu_tx_mark *mark);

/* One FPDU: begin with the length of its ULPDU, give it in order, end. `copy` takes a copy of the octets;
 * `load` does so with memory of a region, and returns false when that cannot be read; `refer` keeps the
 * pointer to memory of a region until iwarp_fpdu_tx_sent(). */
void iwarp_fpdu_tx_begin(struct iwarp_fpdu_tx *tx, uint32_t ulpdu_bytes);
void iwarp_fpdu_tx_copy(struct iwarp_fpdu_tx *tx, const uint8_t *bytes, uint32_t len_bytes);
bool iwarp_fpdu_tx_load(struct iwarp_fpdu_tx *tx, const uint8_t *memory, uint32_t len_bytes);
void iwarp_fpdu_tx_refer(struct iwarp_fpdu_tx *tx, const uint8_t *bytes, uint32_t len_bytes);
void iwarp_fpdu_tx_end(struct iwarp_fpdu_tx *tx);

/* Returns the octets to write: the rest, or else the batch. `*piece_count` may be 0. Good until the next
 * call. */
const struct iwarp_piece *iwarp_fpdu_tx_pieces(struct iwarp_fpdu_tx *tx, uint32_t *piece_count);

/* Takes note that TCP took the first `len_bytes` of that. The octets left are copied, and no memory is
 * referred to any more. Returns false when memory that was referred to cannot be read: the stream cannot
 * go on. */
bool iwarp_fpdu_tx_sent(struct iwarp_fpdu_tx *tx, size_t len_bytes);

/* Octets of FPDUs that were made and not yet taken. */
static inline uint32_t iwarp_fpdu_tx_left(const struct iwarp_fpdu_tx *tx)
{
    return tx->batch_bytes + (tx->rest_to - tx->rest_from);
}

#endif
