/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/fpdu_tx.h"

#include <assert.h>
#include <string.h>

#include "base/guard.h"
#include "iwarp/wire/crc.h"
#include "iwarp/wire/size.h"

void iwarp_fpdu_tx_init(struct iwarp_fpdu_tx *tx, const struct iwarp_fpdu_rules *rules, uint8_t *scratch,
                        uint8_t *rest)
{
    *tx = (struct iwarp_fpdu_tx){.rules = *rules, .scratch = scratch, .rest = rest};
}

/* The most markers that can fall into an FPDU of so many octets. */
static uint32_t most_markers(const struct iwarp_fpdu_tx *tx, uint32_t fpdu_bytes)
{
    return tx->rules.has_markers ? fpdu_bytes / (IWARP_MARKER_INTERVAL - IWARP_MARKER_BYTES) + 1 : 0;
}

bool iwarp_fpdu_tx_has_room(const struct iwarp_fpdu_tx *tx, uint32_t ulpdu_bytes, uint32_t piece_count)
{
    uint32_t fpdu_bytes = iwarp_fpdu_bytes(ulpdu_bytes);
    uint32_t markers = most_markers(tx, fpdu_bytes);
    return tx->rest_from == tx->rest_to &&
           tx->batch_bytes + fpdu_bytes + IWARP_MARKER_BYTES * markers <= IWARP_BATCH_BYTES &&
           tx->piece_count + piece_count + 2 * markers + 4 <= IWARP_BATCH_PIECES;
}

/* Adds the octets that were pushed to the CRC. */
static void sum(struct iwarp_fpdu_tx *tx)
{
    if (tx->rules.has_crc && tx->unsummed_bytes)
        tx->crc = iwarp_crc(tx->crc, tx->unsummed, tx->unsummed_bytes);
    tx->unsummed_bytes = 0;
}

/* Octets that follow each other in memory are summed in one go: a call costs as much as a hundred of
 * them, and an FPDU begins with three short parts. */
static void sum_later(struct iwarp_fpdu_tx *tx, const uint8_t *bytes, uint32_t len_bytes)
{
    if (tx->unsummed_bytes && tx->unsummed + tx->unsummed_bytes != bytes)
        sum(tx);
    if (!tx->unsummed_bytes)
        tx->unsummed = bytes;
    tx->unsummed_bytes += len_bytes;
}

/* Adds octets of the FPDU that stay in their place; the last piece is made longer if it ends there. */
static void push(struct iwarp_fpdu_tx *tx, const uint8_t *bytes, uint32_t len_bytes)
{
    struct iwarp_piece *last = tx->piece_count ? &tx->pieces[tx->piece_count - 1] : NULL;
    if (last && last->bytes + last->len_bytes == bytes) {
        last->len_bytes += len_bytes;
    } else {
        assert(tx->piece_count < IWARP_BATCH_PIECES);
        tx->pieces[tx->piece_count++] = (struct iwarp_piece){bytes, len_bytes};
    }
    sum_later(tx, bytes, len_bytes);
    tx->batch_bytes += len_bytes;
    tx->position = (tx->position + len_bytes) % IWARP_MARKER_INTERVAL;
}

static bool push_reference(struct iwarp_fpdu_tx *tx, const uint8_t *memory, uint32_t len_bytes)
{
    push(tx, memory, len_bytes);
    return true;
}

/* Returns the place of `len_bytes` in the scratch buffer. */
static uint8_t *take_scratch(struct iwarp_fpdu_tx *tx, uint32_t len_bytes)
{
    uint8_t *to = tx->scratch + tx->scratch_bytes;
    assert(tx->scratch_bytes + len_bytes <= IWARP_BATCH_BYTES);
    tx->scratch_bytes += len_bytes;
    return to;
}

static bool push_copy(struct iwarp_fpdu_tx *tx, const uint8_t *bytes, uint32_t len_bytes)
{
    push(tx, memcpy(take_scratch(tx, len_bytes), bytes, len_bytes), len_bytes);
    return true;
}

static bool push_load(struct iwarp_fpdu_tx *tx, const uint8_t *memory, uint32_t len_bytes)
{
    uint8_t *to = take_scratch(tx, len_bytes);
    if (!guard_copy_from(to, memory, len_bytes))
        return false;
    push(tx, to, len_bytes);
    return true;
}

/* IWARP-MARK-01..03: one that leads the FPDU points at its start and is not counted by those that follow.
 */
static void put_marker_if_due(struct iwarp_fpdu_tx *tx)
{
    uint8_t marker[IWARP_MARKER_BYTES];
    if (!tx->rules.has_markers || tx->position != 0)
        return;
    iwarp_marker_put(marker, &(struct iwarp_marker){.fpdu_ptr = (uint16_t)tx->raw_bytes});
    push_copy(tx, marker, sizeof marker);
    if (tx->raw_bytes)
        tx->raw_bytes += IWARP_MARKER_BYTES;
}

/* Octets with the markers that fall among them. Returns false when they cannot be read. */
static bool put(struct iwarp_fpdu_tx *tx, const uint8_t *bytes, uint32_t len_bytes,
                bool (*push_piece)(struct iwarp_fpdu_tx *tx, const uint8_t *bytes, uint32_t len_bytes))
{
    while (len_bytes) {
        put_marker_if_due(tx);
        uint32_t n =
            tx->rules.has_markers ? min_u32(len_bytes, IWARP_MARKER_INTERVAL - tx->position) : len_bytes;
        if (!push_piece(tx, bytes, n))
            return false;
        tx->raw_bytes += n;
        bytes += n;
        len_bytes -= n;
    }
    return true;
}

struct iwarp_fpdu_tx_mark iwarp_fpdu_tx_mark(const struct iwarp_fpdu_tx *tx)
{
    return (struct iwarp_fpdu_tx_mark){
        .piece_count = tx->piece_count,
        .last_bytes = tx->piece_count ? tx->pieces[tx->piece_count - 1].len_bytes : 0,
        .batch_bytes = tx->batch_bytes,
        .scratch_bytes = tx->scratch_bytes,
        .position = tx->position,
    };
}

void iwarp_fpdu_tx_rewind(struct iwarp_fpdu_tx *tx, const struct iwarp_fpdu_tx_mark *mark)
{
    tx->piece_count = mark->piece_count;
    if (mark->piece_count)
        tx->pieces[mark->piece_count - 1].len_bytes = mark->last_bytes;
    tx->batch_bytes = mark->batch_bytes;
    tx->scratch_bytes = mark->scratch_bytes;
    tx->position = mark->position;
}

void iwarp_fpdu_tx_begin(struct iwarp_fpdu_tx *tx, uint32_t ulpdu_bytes)
{
    uint8_t length[IWARP_MPA_LENGTH_BYTES];
    iwarp_mpa_length_put(length, &(struct iwarp_mpa_length){(uint16_t)ulpdu_bytes});
    tx->raw_bytes = tx->crc = tx->unsummed_bytes = 0;
    tx->pad_bytes = iwarp_pad_bytes(ulpdu_bytes);
    put(tx, length, sizeof length, push_copy);
}

void iwarp_fpdu_tx_copy(struct iwarp_fpdu_tx *tx, const uint8_t *bytes, uint32_t len_bytes)
{
    put(tx, bytes, len_bytes, push_copy);
}

void iwarp_fpdu_tx_refer(struct iwarp_fpdu_tx *tx, const uint8_t *bytes, uint32_t len_bytes)
{
    put(tx, bytes, len_bytes, push_reference);
}

bool iwarp_fpdu_tx_load(struct iwarp_fpdu_tx *tx, const uint8_t *memory, uint32_t len_bytes)
{
    return put(tx, memory, len_bytes, push_load);
}

void iwarp_fpdu_tx_end(struct iwarp_fpdu_tx *tx)
{
    static const uint8_t zeros[3];
    uint8_t crc[IWARP_MPA_CRC_BYTES];
    put(tx, zeros, tx->pad_bytes, push_copy);
    put_marker_if_due(tx); /* IWARP-MARK-04: between pad and CRC, which covers it */
    sum(tx);
    iwarp_crc_put(crc, tx->crc);
    put(tx, crc, sizeof crc, push_copy);
}

const struct iwarp_piece *iwarp_fpdu_tx_pieces(struct iwarp_fpdu_tx *tx, uint32_t *piece_count)
{
    if (tx->rest_from != tx->rest_to) {
        tx->pieces[0] = (struct iwarp_piece){tx->rest + tx->rest_from, tx->rest_to - tx->rest_from};
        *piece_count = 1;
    } else {
        *piece_count = tx->piece_count;
    }
    return tx->pieces;
}

/* Copies the octets after the first `skip` of the batch. Returns false when they cannot be read. */
static bool keep_rest(struct iwarp_fpdu_tx *tx, size_t skip)
{
    tx->rest_from = tx->rest_to = 0;
    for (uint32_t i = 0; i < tx->piece_count; i++) {
        const struct iwarp_piece *piece = &tx->pieces[i];
        uint32_t gone = (uint32_t)min_u64(skip, piece->len_bytes);
        if (!guard_copy_from(tx->rest + tx->rest_to, piece->bytes + gone, piece->len_bytes - gone))
            return false;
        tx->rest_to += piece->len_bytes - gone;
        skip -= gone;
    }
    return true;
}

bool iwarp_fpdu_tx_sent(struct iwarp_fpdu_tx *tx, size_t len_bytes)
{
    assert(len_bytes <= iwarp_fpdu_tx_left(tx));
    bool is_whole = true;
    if (tx->rest_from != tx->rest_to)
        tx->rest_from += (uint32_t)len_bytes;
    else
        is_whole = keep_rest(tx, len_bytes);
    tx->piece_count = tx->batch_bytes = tx->scratch_bytes = 0;
    return is_whole;
}
