/* SPDX-License-Identifier: BSD-2-Clause */
/* One DDP segment into the batch. Inside the engine only. */
#ifndef NORNIC_IWARP_EMIT_H
#define NORNIC_IWARP_EMIT_H

#include "iwarp/wire/opcode.h"
#include "iwarp/qp.h"

/* The longest head of a segment: DDP header and that of RDMAP. */
#define IWARP_HEAD_BYTES (IWARP_DDP_UNTAGGED_BYTES + IWARP_TERM_MAX_BYTES)

/* The DDP header of a segment; `stag` and `to`, or what it invalidates and where it stands in its queue.
 * Return the position behind. */
uint8_t *iwarp_put_tagged(uint8_t *p, enum iwarp_op op, bool is_last, uint32_t stag, uint64_t to);
uint8_t *iwarp_put_untagged(uint8_t *p, enum iwarp_op op, bool is_last, const struct iwarp_untagged *ddp);

/* Makes the FPDU of a segment: `head` up to `head_end`, and payload. Both are copied where there is a
 * CRC: the program may change the payload while it is sent, or another peer, who writes to it, and the
 * octets that went out would not be those that were summed. That would end the stream, where an adapter
 * only sends the one value or the other (IWARP-ORD-08). Without a CRC payload is referred to until
 * iwarp_qp_sent(). There is room: iwarp_has_room(). Returns false when the payload cannot be read:
 * nothing has changed then. */
bool iwarp_emit(struct iwarp_qp *qp, const uint8_t *head, const uint8_t *head_end,
                const struct iwarp_piece *payload, uint32_t piece_count);

/* Whether another segment of any kind fits the batch. */
bool iwarp_has_room(const struct iwarp_qp *qp);

/* The most payload of a segment (IWARP-DDP-07). */
static inline uint32_t iwarp_tagged_room(const struct iwarp_qp *qp)
{
    return qp->mulpdu_bytes - IWARP_DDP_TAGGED_BYTES;
}

static inline uint32_t iwarp_untagged_room(const struct iwarp_qp *qp)
{
    return qp->mulpdu_bytes - IWARP_DDP_UNTAGGED_BYTES;
}

#endif
