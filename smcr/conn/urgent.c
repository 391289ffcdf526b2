/* SPDX-License-Identifier: BSD-2-Clause */
/* Urgent data: one byte at a time that is told of ahead of the stream it lies in. SMCR section 15.3. */
#include <errno.h>

#include "smcr/conn/data.h"

/* --- sending --- */

/* The last byte given is urgent. One that has not left yet is urgent no more: as in TCP the newest counts. */
void smcr_urgent_queue(struct smcr_tx *tx)
{
    if (tx->urgent && tx->sent >= tx->urgent_end) {
        tx->urgent_next = true; /* the peer must take the first one before it hears of this one */
        tx->urgent_next_end = tx->head;
        return;
    }
    tx->urgent = true;
    tx->urgent_end = tx->head;
}

/* SMCR-URG-04: the consumer cursor of the peer has reached the position behind the urgent byte. */
void smcr_urgent_acked(struct smcr_conn *conn)
{
    struct smcr_tx *tx = &conn->data->tx;
    if (!tx->urgent || tx->peer_consumed < tx->urgent_end)
        return;
    tx->urgent = tx->urgent_next;
    tx->urgent_end = tx->urgent_next_end;
    tx->urgent_next = false;
    tx->told_urgent = false;
}

/* --- receiving --- */

/* SMCR-URG-05: the byte is taken out of the stream when all before it has been read, so that the peer may go
 * on whether the application asks for it or not; in line it counts when it is read. */
void smcr_urgent_skip(struct smcr_conn *conn)
{
    struct smcr_rx *rx = &conn->data->rx;
    if (!rx->mark_due)
        return;
    if (!rx->is_inline && rx->consumed == rx->mark) {
        rx->urgent_byte = smcr_elem(conn->rmb, conn->rmb_index)[rx->consumer.offset_bytes];
        rx->has_urgent_byte = true;
        smcr_rx_consume(conn, 1);
    } else if (rx->consumed > rx->mark) {
        rx->urgent_unread = false;
    } else {
        return;
    }
    rx->mark_due = false;
    conn->data->tx.cdc_due = true;
}

/* SMCR-URG-03. P and U are levels: the same urgent byte is told of in several CDCs. */
void smcr_urgent_take(struct smcr_conn *conn, const struct smcr_cdc *cdc)
{
    struct smcr_rx *rx = &conn->data->rx;
    bool is_new =
        cdc->urgent_present && rx->produced > 0 && !(rx->mark_valid && rx->mark == rx->produced - 1);
    bool is_known = cdc->urgent_present && !is_new;
    bool was_announced = rx->urgent_announced;
    rx->urgent_announced = cdc->urgent_pending && !cdc->urgent_present;
    if (rx->urgent_announced && !was_announced)
        smcr_conn_event(conn, SMCR_EVENT_URGENT);
    if (cdc->urgent_present && rx->consumed == rx->produced && rx->told < rx->consumed)
        conn->data->tx.cdc_due = true; /* it was read before it was called urgent, and the peer waits */
    if (is_known || !is_new || rx->produced - 1 < rx->consumed)
        return;
    rx->mark_valid = rx->mark_due = rx->urgent_unread = true;
    rx->mark = rx->produced - 1;
    rx->has_urgent_byte = false;
    smcr_conn_event(conn, SMCR_EVENT_URGENT);
    smcr_urgent_skip(conn);
}

bool smcr_urgent_is_pending(const struct smcr_rx *rx)
{
    return rx->urgent_announced || rx->urgent_unread;
}

ssize_t smcr_urgent_read(struct smcr_conn *conn, uint8_t *out, size_t len_bytes, bool peek)
{
    struct smcr_rx *rx = &conn->data->rx;
    if (rx->is_inline || !(rx->urgent_unread || rx->urgent_announced))
        return -EINVAL;
    if (!rx->urgent_unread)
        return -EAGAIN;
    if (len_bytes == 0)
        return 0;
    if (rx->has_urgent_byte) {
        *out = rx->urgent_byte;
    } else {
        struct smcr_cursor at =
            smcr_cursor_advance(rx->consumer, (uint32_t)(rx->mark - rx->consumed), conn->rmb->elem_bytes);
        *out = smcr_elem(conn->rmb, conn->rmb_index)[at.offset_bytes];
    }
    if (!peek)
        rx->urgent_unread = false;
    return 1;
}

void smcr_conn_set_urgent_inline(struct smcr_conn *conn, bool is_inline)
{
    conn->urgent_inline = is_inline;
    if (conn->data)
        conn->data->rx.is_inline = is_inline;
}

bool smcr_conn_at_mark(const struct smcr_conn *conn)
{
    if (!conn->data || !conn->data->rx.mark_valid)
        return false;
    const struct smcr_rx *rx = &conn->data->rx;
    return rx->consumed == rx->mark || (rx->has_urgent_byte && rx->consumed == rx->mark + 1);
}
