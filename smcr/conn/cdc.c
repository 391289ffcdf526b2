/* SPDX-License-Identifier: BSD-2-Clause */
/* CDC messages: made from the state of a connection, and checked against it. SMCR section 14. */
#include "smcr/conn/data.h"

void smcr_cdc_build(struct smcr_conn *conn, struct smcr_cdc *out)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_tx *tx = &data->tx;
    bool may_close = conn->posts == 0 && tx->acked == tx->head; /* SMCR-CLS-03 */
    bool is_aborting = data->said == SMCR_OWES_ABORT || data->said == SMCR_SAID_ABORT;
    bool is_closing =
        !is_aborting && (data->said == SMCR_SAID_CLOSE || (data->app == SMCR_APP_CLOSED && may_close));
    bool was_done = data->said == SMCR_SAID_DONE;
    bool is_done = !is_aborting && !is_closing && (was_done || (data->app >= SMCR_APP_SHUT && may_close));
    bool is_pure_close = is_aborting || is_closing || (is_done && !was_done); /* SMCR-CLS-12 */
    bool is_urgent = tx->num_urgent > 0;
    *out = (struct smcr_cdc){
        .type = SMCR_CDC,
        .length = SMCR_MSG_BYTES,
        .seq = ++tx->seq,
        .alert_token = conn->peer_token,
        .producer_wrap = tx->cursor.wrap,
        .producer_cursor = tx->cursor.offset_bytes,
        .consumer_wrap = data->rx.consumer.wrap,
        .consumer_cursor = data->rx.consumer.offset_bytes,
        .writer_blocked = !is_pure_close && smcr_tx_is_blocked(conn),
        .urgent_pending = !is_pure_close && is_urgent,
        .urgent_present = !is_pure_close && is_urgent && tx->sent == tx->urgent_end[0], /* SMCR-URG-01 */
        .sending_done = is_done,
        .connection_closed = is_closing,
        .abnormal_close = is_aborting,
    };
}

/* SMCR-CDC-12: nothing of this indexes memory before it is known to lie where it can. */
bool smcr_cdc_check(const struct smcr_conn *conn, const struct smcr_cdc *cdc, struct smcr_cdc_moves *out)
{
    const struct smcr_rx *rx = &conn->data->rx;
    const struct smcr_tx *tx = &conn->data->tx;
    uint32_t elem_bytes = conn->rmb->elem_bytes;
    out->producer = (struct smcr_cursor){cdc->producer_cursor, cdc->producer_wrap};
    out->consumer = (struct smcr_cursor){cdc->consumer_cursor, cdc->consumer_wrap};
    if (!smcr_cursor_is_valid(conn->cursor_start, &out->producer, elem_bytes) ||
        !smcr_cursor_is_valid(conn->cursor_start, &out->consumer, conn->peer_elem_bytes))
        return false;
    int64_t produced = smcr_cursor_distance(conn->cursor_start, &rx->producer, &out->producer, elem_bytes);
    int64_t consumed =
        smcr_cursor_distance(conn->cursor_start, &tx->peer_consumer, &out->consumer, conn->peer_elem_bytes);
    int64_t window = smcr_cap_bytes(conn->cursor_start, elem_bytes) - (int64_t)(rx->produced - rx->told);
    if (produced < 0 || produced > window || consumed < 0 ||
        (uint64_t)consumed > tx->sent - tx->peer_consumed)
        return false;
    out->produced = (uint32_t)produced;
    out->consumed = (uint32_t)consumed;
    return true;
}
