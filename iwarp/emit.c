/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/emit.h"

#include "rdma/access.h"

static uint8_t *put_ctrl(uint8_t *p, enum iwarp_op op, bool is_last)
{
    const struct iwarp_ctrl ctrl = {
        .t = (iwarp_opcodes[op].flags & IWARP_MSG_TAGGED) != 0,
        .l = is_last,
        .dv = IWARP_DDP_VERSION,
        .rv = IWARP_RDMAP_VERSION,
        .opcode = (uint8_t)op,
    };
    p[0] = p[1] = 0;
    return iwarp_ctrl_put(p, &ctrl);
}

uint8_t *iwarp_put_tagged(uint8_t *p, enum iwarp_op op, bool is_last, uint32_t stag, uint64_t to)
{
    return iwarp_tagged_put(put_ctrl(p, op, is_last), &(struct iwarp_tagged){stag, to});
}

uint8_t *iwarp_put_untagged(uint8_t *p, enum iwarp_op op, bool is_last, const struct iwarp_untagged *ddp)
{
    return iwarp_untagged_put(put_ctrl(p, op, is_last), ddp);
}

static uint32_t sum(const struct iwarp_piece *pieces, uint32_t piece_count)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < piece_count; i++)
        bytes += pieces[i].len_bytes;
    return bytes;
}

/* Adds the payload; false: it cannot be read. */
static bool add_payload(struct iwarp_qp *qp, const struct iwarp_piece *payload, uint32_t piece_count)
{
    for (uint32_t i = 0; i < piece_count; i++)
        if (!qp->session.has_crc)
            iwarp_fpdu_tx_refer(&qp->tx, payload[i].bytes, payload[i].len_bytes);
        else if (!iwarp_fpdu_tx_load(&qp->tx, payload[i].bytes, payload[i].len_bytes))
            return false;
    return true;
}

bool iwarp_emit(struct iwarp_qp *qp, const uint8_t *head, const uint8_t *head_end,
                const struct iwarp_piece *payload, uint32_t piece_count)
{
    const struct iwarp_fpdu_tx_mark begin = iwarp_fpdu_tx_mark(&qp->tx);
    uint32_t head_bytes = (uint32_t)(head_end - head);
    iwarp_fpdu_tx_begin(&qp->tx, head_bytes + sum(payload, piece_count));
    iwarp_fpdu_tx_copy(&qp->tx, head, head_bytes);
    if (!add_payload(qp, payload, piece_count)) {
        iwarp_fpdu_tx_rewind(&qp->tx, &begin);
        rdma_note_fault(qp->base.domain);
        return false;
    }
    iwarp_fpdu_tx_end(&qp->tx);
    qp->source.made_bytes += qp->tx.batch_bytes - begin.batch_bytes;
    return true;
}

bool iwarp_has_room(const struct iwarp_qp *qp)
{
    return iwarp_fpdu_tx_has_room(&qp->tx, qp->mulpdu_bytes, NORNIC_MAX_SGE);
}
