/* SPDX-License-Identifier: BSD-2-Clause */
/* Urgent data: one byte at a time that is told of ahead of the stream it lies in. SMCR section 15.3. */
#include <errno.h>

#include "smcr/conn/data.h"

/* --- sending --- */

/* The last byte given is urgent. One that has not left yet is urgent no more: as in TCP the newest counts. */
void smcr_urgent_queue(struct smcr_tx *tx)
{
    /* the peer must take one that has left before it hears of this one */
    unsigned place = tx->num_urgent > 0 && tx->sent >= tx->urgent_end[0] ? 1 : 0;
    tx->urgent_end[place] = tx->head;
    if (tx->num_urgent == place)
        tx->num_urgent++;
}

/* SMCR-URG-04: the consumer cursor of the peer has reached the position behind the urgent byte. */
void smcr_urgent_acked(struct smcr_tx *tx)
{
    if (tx->num_urgent == 0 || tx->peer_consumed < tx->urgent_end[0])
        return;
    tx->num_urgent--;
    tx->urgent_end[0] = tx->urgent_end[1];
}

/* --- receiving --- */

/* SMCR-URG-05: the byte is taken out of the stream when all before it has been read, so that the peer may go
 * on whether the application asks for it or not; in line it counts when it is read. */
void smcr_urgent_skip(struct smcr_conn *conn)
{
    struct smcr_rx *rx = &conn->data->rx;
    if (rx->mark_state != SMCR_MARK_AHEAD)
        return;
    if (!conn->is_urgent_inline && rx->consumed == rx->mark) {
        rx->urgent_byte = smcr_elem(conn->rmb, conn->rmb_index)[rx->consumer.offset_bytes];
        rx->mark_state = SMCR_MARK_TAKEN;
        smcr_rx_consume(conn, 1);
    } else if (rx->consumed > rx->mark) {
        rx->urgent_unread = false;
        rx->mark_state = SMCR_MARK_PASSED;
    } else {
        return;
    }
    smcr_tx_tell(&conn->data->tx, SMCR_TELL_NOW);
}

/* SMCR-URG-03. P and U are levels: the same urgent byte is told of in several CDCs. */
void smcr_urgent_take(struct smcr_conn *conn, const struct smcr_cdc *cdc)
{
    struct smcr_rx *rx = &conn->data->rx;
    bool is_new = cdc->urgent_present && rx->produced > 0 &&
                  !(rx->mark_state != SMCR_MARK_NONE && rx->mark == rx->produced - 1);
    bool is_known = cdc->urgent_present && !is_new;
    bool was_announced = rx->urgent_announced;
    rx->urgent_announced = cdc->urgent_pending && !cdc->urgent_present;
    if (rx->urgent_announced && !was_announced)
        smcr_conn_event(conn, SMCR_EVENT_URGENT);
    if (cdc->urgent_present && rx->consumed == rx->produced && rx->told < rx->consumed)
        smcr_tx_tell(&conn->data->tx,
                     SMCR_TELL_NOW); /* it was read before it was called urgent, and the peer waits */
    if (is_known || !is_new || rx->produced - 1 < rx->consumed)
        return;
    rx->mark_state = SMCR_MARK_AHEAD;
    rx->urgent_unread = true;
    rx->mark = rx->produced - 1;
    smcr_conn_event(conn, SMCR_EVENT_URGENT);
    smcr_urgent_skip(conn);
}

bool smcr_urgent_is_pending(const struct smcr_conn *conn)
{
    const struct smcr_rx *rx = &conn->data->rx;
    return rx->urgent_announced || rx->urgent_unread;
}

/* The byte that was taken out of the stream is the next one, for who wants it in line. */
bool smcr_urgent_is_next(const struct smcr_conn *conn)
{
    const struct smcr_rx *rx = &conn->data->rx;
    return conn->is_urgent_inline && rx->mark_state == SMCR_MARK_TAKEN && rx->urgent_unread &&
           rx->consumed == rx->mark + 1;
}

uint32_t smcr_rx_available(const struct smcr_conn *conn)
{
    const struct smcr_rx *rx = &conn->data->rx;
    return smcr_rx_readable(rx) + smcr_urgent_is_next(conn);
}

ssize_t smcr_urgent_read(struct smcr_conn *conn, uint8_t *out, size_t len_bytes, bool peek)
{
    struct smcr_rx *rx = &conn->data->rx;
    if (conn->is_urgent_inline || !(rx->urgent_unread || rx->urgent_announced))
        return -EINVAL;
    if (!rx->urgent_unread)
        return -EAGAIN;
    if (len_bytes == 0)
        return 0;
    if (rx->mark_state == SMCR_MARK_TAKEN) {
        *out = rx->urgent_byte;
    } else {
        struct smcr_cursor at = smcr_cursor_advance(
            conn->cursor_start, rx->consumer, (uint32_t)(rx->mark - rx->consumed), conn->rmb->elem_bytes);
        *out = smcr_elem(conn->rmb, conn->rmb_index)[at.offset_bytes];
    }
    if (!peek)
        rx->urgent_unread = false;
    return 1;
}

void smcr_conn_set_urgent_inline(struct smcr_conn *conn, bool is_inline)
{
    conn->is_urgent_inline = is_inline;
}

bool smcr_conn_at_mark(const struct smcr_conn *conn)
{
    if (!conn->data || conn->data->rx.mark_state == SMCR_MARK_NONE)
        return false;
    const struct smcr_rx *rx = &conn->data->rx;
    return rx->consumed == rx->mark || (rx->mark_state == SMCR_MARK_TAKEN && rx->consumed == rx->mark + 1);
}
