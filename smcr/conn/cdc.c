/* SPDX-License-Identifier: BSD-2-Clause */
/* CDC messages: made from the state of a connection, checked and taken. SMCR section 14. */
#include <errno.h>
#include <string.h>

#include "net/port.h"
#include "smcr/conn/data.h"

void smcr_cdc_build(struct smcr_conn *conn, struct smcr_cdc *out)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_tx *tx = &data->tx;
    bool may_close = conn->posts == 0 && tx->acked == tx->head; /* SMCR-CLS-03 */
    bool is_aborting = data->abort_due || data->abort_sent;
    bool is_closing = !is_aborting && (data->close_sent || (data->app_closed && may_close));
    bool is_done = !is_aborting && !is_closing && (data->done_sent || (data->shut_write && may_close));
    bool is_pure_close = is_aborting || is_closing || (is_done && !data->done_sent); /* SMCR-CLS-12 */
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
        .urgent_pending = !is_pure_close && tx->urgent,
        .urgent_present = !is_pure_close && tx->urgent && tx->sent == tx->urgent_end, /* SMCR-URG-01 */
        .sending_done = is_done,
        .connection_closed = is_closing,
        .abnormal_close = is_aborting,
    };
}

/* --- taking --- */

struct moves {
    struct smcr_cursor producer, consumer;
    uint32_t produced, consumed; /* bytes */
};

/* SMCR-CDC-12: nothing of this indexes memory before it is known to lie where it can. */
static bool check(const struct smcr_conn *conn, const struct smcr_cdc *cdc, struct moves *moves)
{
    const struct smcr_rx *rx = &conn->data->rx;
    const struct smcr_tx *tx = &conn->data->tx;
    uint32_t elem_bytes = conn->rmb->elem_bytes;
    moves->producer = (struct smcr_cursor){cdc->producer_cursor, cdc->producer_wrap};
    moves->consumer = (struct smcr_cursor){cdc->consumer_cursor, cdc->consumer_wrap};
    if (!smcr_cursor_is_valid(&moves->producer, elem_bytes) ||
        !smcr_cursor_is_valid(&moves->consumer, conn->peer_elem_bytes))
        return false;
    int64_t produced = smcr_cursor_distance(&rx->producer, &moves->producer, elem_bytes);
    int64_t consumed = smcr_cursor_distance(&tx->peer_consumer, &moves->consumer, conn->peer_elem_bytes);
    int64_t window = smcr_cap_bytes(elem_bytes) - (int64_t)(rx->produced - rx->told);
    if (produced < 0 || produced > window || consumed < 0 ||
        (uint64_t)consumed > tx->sent - tx->peer_consumed)
        return false;
    moves->produced = (uint32_t)produced;
    moves->consumed = (uint32_t)consumed;
    return true;
}

static void take_flags(struct smcr_conn *conn, const struct smcr_cdc *cdc, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_rx *rx = &data->rx;
    rx->peer_blocked = cdc->writer_blocked;
    rx->peer_requests = cdc->update_requested;
    if (!rx->peer_requests) {
        data->stale_at_ns = NET_TIME_NONE;
    } else if (data->stale_at_ns == NET_TIME_NONE) { /* SMCR-WIN-05 */
        data->stale_at_ns = now_ns + conn->smcr->config.times.stale_cursor_ns;
        smcr_conn_tick_at(conn, data->stale_at_ns);
    }
}

/* An established connection that neither ended nor aborts. */
static void take_state(struct smcr_conn *conn, const struct smcr_cdc *cdc, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct moves moves;
    if (!check(conn, cdc, &moves)) {
        conn->smcr->counters.cdc_bad++;
        smcr_conn_reset(conn, -ECONNRESET, "the peer sent impossible cursors", now_ns);
        return;
    }
    if (moves.produced > 0 && smcr_eye_catcher_is_lost(conn, now_ns)) /* SMCR-DAT-06 */
        return;
    data->tx.peer_consumer = moves.consumer;
    data->tx.peer_consumed += moves.consumed;
    data->rx.producer = moves.producer;
    data->rx.produced += moves.produced;
    conn->smcr->counters.rx_bytes += moves.produced;
    if (moves.produced > 0)
        smcr_conn_event(conn, SMCR_EVENT_READABLE);
    take_flags(conn, cdc, now_ns);
    smcr_urgent_acked(conn);
    smcr_urgent_take(conn, cdc);
    if (cdc->connection_closed)
        smcr_close_event(conn, SMCR_PEER_CLOSED, now_ns);
    else if (cdc->sending_done)
        smcr_close_event(conn, SMCR_PEER_DONE, now_ns);
    if (conn->state == SMCR_CONN_CLOSED || conn->state == SMCR_CONN_PEER_ABORT_WAIT)
        return;
    if (data->rx.peer_blocked || data->rx.peer_requests)
        smcr_window_check(conn); /* what was read before it said so */
    smcr_conn_push(conn, now_ns);
}

static void take(struct smcr_conn *conn, const struct smcr_cdc *cdc, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_rx *rx = &data->rx;
    bool is_newer = smcr_seq_ahead(cdc->seq, rx->seq) > 0;
    if (conn->state == SMCR_CONN_CLOSED)
        return;
    if (cdc->failover_validation) { /* SMCR-FOV-08, CDC-14: nothing else of it means anything */
        if (is_newer && conn->state != SMCR_CONN_PEER_ABORT_WAIT) {
            conn->smcr->counters.failover_lost++;
            smcr_conn_reset(conn, -ECONNRESET, "a failover lost data of the peer", now_ns);
        }
        return;
    }
    if (!is_newer) { /* SMCR-CDC-04, CDC-05 */
        conn->smcr->counters.cdc_old++;
        return;
    }
    rx->seq = cdc->seq;
    data->last_active_ns = now_ns;
    if (cdc->abnormal_close)
        smcr_abort_received(conn, now_ns);
    else if (conn->state != SMCR_CONN_PEER_ABORT_WAIT && !data->peer_closed)
        take_state(conn, cdc, now_ns);
}

/* The Confirm was not processed yet: the newest CDC says all that the older ones said (SMCR-CDC-02). */
static void hold(struct smcr_rx *rx, const struct smcr_cdc *cdc, const uint8_t *message)
{
    struct smcr_cdc held = {0};
    if (rx->has_held)
        smcr_cdc_get(&held, rx->held);
    if (smcr_seq_ahead(cdc->seq, held.seq) <= 0)
        return;
    if (cdc->failover_validation) {
        rx->held_loss = true;
        return;
    }
    memcpy(rx->held, message, SMCR_MSG_BYTES);
    rx->has_held = true;
}

void smcr_cdc_take_held(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_rx *rx = &conn->data->rx;
    struct smcr_cdc cdc;
    if (rx->held_loss) {
        conn->smcr->counters.failover_lost++;
        smcr_conn_reset(conn, -ECONNRESET, "a failover lost data of the peer", now_ns);
    } else if (rx->has_held) {
        smcr_cdc_get(&cdc, rx->held);
        take(conn, &cdc, now_ns);
        smcr_conn_settle(conn, now_ns);
    }
}

static void drop(struct smcr_link *link, const uint8_t *message, size_t len_bytes, const char *cause,
                 uint64_t now_ns)
{
    smcr_trace(link->group->smcr,
               (struct smcr_trace){.type = SMCR_TRACE_DROP,
                                   .group = link->group,
                                   .link = link,
                                   .message = message,
                                   .len_bytes = len_bytes,
                                   .cause = cause},
               now_ns);
}

void smcr_conn_cdc_rx(struct smcr_link *link, const uint8_t *message, size_t len_bytes, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    struct smcr_cdc cdc;
    if (len_bytes != SMCR_MSG_BYTES || message[1] != SMCR_MSG_BYTES) { /* SMCR-CDC-13, REC-29 */
        smcr->counters.llc_malformed++;
        drop(link, message, len_bytes, "a CDC is 44 bytes long", now_ns);
        smcr_link_failed(link, "a CDC of a wrong length came", now_ns);
        return;
    }
    smcr_cdc_get(&cdc, message);
    struct smcr_conn *conn = smcr_token_find(link->group, cdc.alert_token);
    if (!conn || !conn->data) { /* SMCR-CDC-06 */
        smcr->counters.cdc_unknown_token++;
        drop(link, message, len_bytes, "its alert token names no connection", now_ns);
        return;
    }
    smcr->counters.rx_cdc++;
    smcr_trace(smcr,
               (struct smcr_trace){.type = SMCR_TRACE_CDC_RX,
                                   .group = link->group,
                                   .link = link,
                                   .conn = conn,
                                   .message = message,
                                   .len_bytes = len_bytes},
               now_ns);
    if (conn->state == SMCR_CONN_HANDSHAKE) {
        hold(&conn->data->rx, &cdc, message);
        return;
    }
    take(conn, &cdc, now_ns);
    smcr_conn_settle(conn, now_ns);
}
