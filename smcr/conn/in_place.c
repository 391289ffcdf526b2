/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the bytes of a connection lie, for a caller who moves them itself. */
#include "base/base.h"
#include "smcr/conn/data.h"

/* The urgent byte, in the RMBE still, or taken out of it. */
static uint8_t byte_at_mark(const struct smcr_conn *conn)
{
    const struct smcr_rx *rx = &conn->data->rx;
    if (rx->mark_state != SMCR_MARK_AHEAD)
        return rx->urgent_byte;
    const struct smcr_cursor at = smcr_cursor_advance(
        conn->cursor_start, rx->consumer, (uint32_t)(rx->mark - rx->consumed), conn->rmb->elem_bytes);
    return smcr_elem(conn->rmb, conn->rmb_index)[at.offset_bytes];
}

/* The peer waits to hear that its urgent byte was passed (SMCR-URG-05). */
static uint64_t tell_at(const struct smcr_conn *conn)
{
    const struct smcr_rx *rx = &conn->data->rx;
    uint64_t at = smcr_rx_tell_at(conn);
    return rx->mark_state == SMCR_MARK_AHEAD ? min_u64(at, rx->mark + conn->is_urgent_inline) : at;
}

bool smcr_conn_rings(const struct smcr_conn *conn, struct smcr_rings *out)
{
    const struct smcr_conn_data *data = conn->data;
    if (!data || !conn->rmb || conn->error || conn->state == SMCR_CONN_HANDSHAKE || smcr_conn_is_ended(conn))
        return false;
    const struct smcr_tx *tx = &data->tx;
    const struct smcr_rx *rx = &data->rx;
    bool has_mark = rx->mark_state != SMCR_MARK_NONE;
    *out = (struct smcr_rings){
        .tx_bytes = tx->buf->bytes,
        .tx_size_bytes = tx->buf->size_bytes,
        .tx_head = tx->head,
        .tx_acked = tx->acked,
        .rx_bytes = smcr_elem(conn->rmb, conn->rmb_index) + conn->cursor_start,
        .rx_size_bytes = smcr_cap_bytes(conn->cursor_start, conn->rmb->elem_bytes),
        .rx_produced = rx->produced,
        .rx_consumed = rx->consumed,
        .rx_tell_at = tell_at(conn),
        .mark = has_mark ? rx->mark : UINT64_MAX,
        .mark_byte = has_mark ? byte_at_mark(conn) : 0,
        .is_urgent_announced = rx->urgent_announced,
    };
    return true;
}
