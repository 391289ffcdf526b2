/* SPDX-License-Identifier: BSD-2-Clause */
/* What the peer sends: its CDCs, taken one by one, and what the application reads out of the RMBE; when the
 * peer hears that there is room again. SMCR sections 14 and 15. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "net/port.h"
#include "smcr/conn/data.h"

/* A long read is taken in pieces, at most half of the RMBE, and each may tell the peer that there is room:
 * else the writer stands still while a reader that takes more than half of the RMBE copies it. */
#define MAX_PIECE_BYTES (64u << 10)

/* --- what the application takes --- */

/* Bytes up to the end of what has come, or up to the urgent byte, whichever is first. */
static uint32_t until_mark(const struct smcr_rx *rx)
{
    if (rx->mark_state != SMCR_MARK_NONE && rx->mark > rx->consumed)
        return (uint32_t)(rx->mark - rx->consumed);
    return smcr_rx_readable(rx);
}

size_t smcr_conn_recv_next(const struct smcr_conn *conn)
{
    if (!conn->data || conn->error || conn->state == SMCR_CONN_HANDSHAKE || conn->state == SMCR_CONN_FALLBACK)
        return 0;
    return (size_t)until_mark(&conn->data->rx) + smcr_urgent_is_next(conn);
}

/* `n` bytes at `cursor`, which may come round. */
static void copy_out(const struct smcr_conn *conn, struct smcr_cursor cursor, uint8_t *out, uint32_t n)
{
    const uint8_t *elem = smcr_elem(conn->rmb, conn->rmb_index);
    uint32_t tail = min_u32(n, conn->rmb->elem_bytes - cursor.offset_bytes);
    memcpy(out, elem + cursor.offset_bytes, tail);
    memcpy(out + tail, elem + conn->cursor_start, n - tail);
}

uint64_t smcr_rx_tell_at(const struct smcr_conn *conn)
{
    const struct smcr_rx *rx = &conn->data->rx;
    uint32_t cap = smcr_cap_bytes(conn->cursor_start, conn->rmb->elem_bytes);
    uint64_t window = cap - (rx->produced - rx->told);
    if (rx->peer_blocked || rx->peer_requests) /* SMCR-WIN-04, WIN-05 */
        return rx->told + 1;
    return window < cap / 2 ? rx->told + cap / 10 : UINT64_MAX; /* SMCR-WIN-01 */
}

/* Whether the peer is to hear what was taken. */
static void check_window(struct smcr_conn *conn)
{
    if (conn->data->rx.consumed >= smcr_rx_tell_at(conn))
        smcr_tx_tell(&conn->data->tx, SMCR_TELL_UPDATE);
}

/* SMCR-RMB-07: the connection ends when ours is not what it was. */
static bool eye_catcher_is_lost(struct smcr_conn *conn, uint64_t now_ns)
{
    if (smcr_elem_is_sound(conn->rmb, conn->rmb_index))
        return false;
    conn->smcr->counters.eye_catcher++;
    smcr_end_reset(conn, -ECONNRESET, "the eye catcher of the RMBE was overwritten", now_ns);
    return true;
}

/* 0, or why nothing can be read (SMCR-SOC-05). */
static ssize_t may_recv(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->error)
        return conn->error;
    if (conn->state == SMCR_CONN_HANDSHAKE || conn->state == SMCR_CONN_FALLBACK)
        return -ENOTCONN;
    return conn->data && eye_catcher_is_lost(conn, now_ns) ? conn->error : 0;
}

static ssize_t peek(struct smcr_conn *conn, uint8_t *out, uint32_t max)
{
    const struct smcr_rx *rx = &conn->data->rx;
    uint32_t first = smcr_urgent_is_next(conn);
    if (first)
        out[0] = rx->urgent_byte;
    uint32_t n = min_u32(max - first, until_mark(rx));
    copy_out(conn, rx->consumer, out + first, n);
    return (ssize_t)n + first;
}

static ssize_t take(struct smcr_conn *conn, uint8_t *out, uint32_t max, uint64_t now_ns)
{
    struct smcr_rx *rx = &conn->data->rx;
    uint32_t piece = min_u32(conn->rmb->elem_bytes / 2, MAX_PIECE_BYTES);
    uint32_t done = 0;
    if (smcr_urgent_is_next(conn)) {
        out[done++] = rx->urgent_byte;
        rx->urgent_unread = false;
    }
    uint32_t end = min_u32(max, done + until_mark(rx));
    while (done < end) {
        uint32_t n = min_u32(end - done, piece);
        copy_out(conn, rx->consumer, out + done, n);
        smcr_rx_consume(conn, n);
        done += n;
        smcr_urgent_skip(conn);
        check_window(conn);
        if (conn->data->tx.tell != SMCR_TELL_NOTHING)
            smcr_tx_push(conn, now_ns);
    }
    return (ssize_t)done;
}

/* D or C: there will be no more. */
static bool has_heard_end(const struct smcr_conn_data *data)
{
    return data->heard == SMCR_HEARD_DONE || data->heard == SMCR_HEARD_CLOSE;
}

ssize_t smcr_rx_recv(struct smcr_conn *conn, void *bytes, size_t len_bytes, unsigned flags, uint64_t now_ns)
{
    ssize_t error = may_recv(conn, now_ns);
    if (error)
        return error;
    if (!conn->data)
        return 0;
    if (flags & SMCR_RECV_URGENT)
        return smcr_urgent_read(conn, bytes, len_bytes, flags & SMCR_RECV_PEEK);
    if (len_bytes == 0)
        return 0;
    if (smcr_rx_available(conn) == 0)
        return has_heard_end(conn->data) ? 0 : -EAGAIN;
    uint32_t max = len_bytes < SMCR_MAX_ELEM_BYTES ? (uint32_t)len_bytes : SMCR_MAX_ELEM_BYTES;
    return flags & SMCR_RECV_PEEK ? peek(conn, bytes, max) : take(conn, bytes, max, now_ns);
}

int smcr_rx_took(struct smcr_conn *conn, uint64_t consumed, uint64_t now_ns)
{
    ssize_t error = may_recv(conn, now_ns);
    if (error)
        return (int)error;
    if (!conn->data || consumed > conn->data->rx.produced)
        return -EINVAL;
    struct smcr_rx *rx = &conn->data->rx;
    while (rx->consumed < consumed) {
        uint64_t left = consumed - rx->consumed;
        uint32_t stretch = until_mark(rx);
        smcr_rx_consume(conn, left < stretch ? (uint32_t)left : stretch);
        smcr_urgent_skip(conn);
    }
    check_window(conn);
    if (conn->data->tx.tell != SMCR_TELL_NOTHING)
        smcr_tx_push(conn, now_ns);
    return 0;
}

void smcr_rx_tell(struct smcr_conn *conn, uint64_t now_ns)
{
    if (may_recv(conn, now_ns) != 0 || !conn->data || conn->data->rx.told == conn->data->rx.consumed)
        return;
    smcr_tx_tell(&conn->data->tx, SMCR_TELL_NOW);
    smcr_tx_push(conn, now_ns);
}

/* --- what the peer tells --- */

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
    struct smcr_cdc_moves moves;
    if (!smcr_cdc_check(conn, cdc, &moves)) {
        conn->smcr->counters.cdc_bad++;
        smcr_end_reset(conn, -ECONNRESET, "the peer sent impossible cursors", now_ns);
        return;
    }
    if (moves.produced > 0 && eye_catcher_is_lost(conn, now_ns)) /* SMCR-DAT-06 */
        return;
    data->tx.peer_consumer = moves.consumer;
    data->tx.peer_consumed += moves.consumed;
    data->rx.producer = moves.producer;
    data->rx.produced += moves.produced;
    conn->smcr->counters.rx_bytes += moves.produced;
    if (moves.produced > 0)
        smcr_conn_event(conn, SMCR_EVENT_READABLE);
    take_flags(conn, cdc, now_ns);
    smcr_urgent_acked(&data->tx);
    smcr_urgent_take(conn, cdc);
    if (cdc->connection_closed)
        smcr_end_peer_closed(conn, now_ns);
    else if (cdc->sending_done)
        smcr_end_peer_done(conn, now_ns);
    if (conn->state == SMCR_CONN_CLOSED || conn->state == SMCR_CONN_PEER_ABORT_WAIT)
        return;
    if (data->rx.peer_blocked || data->rx.peer_requests) {
        check_window(conn); /* what was read before it said so */
        if (conn->config.in_place)
            smcr_conn_event(conn, SMCR_EVENT_ASKED); /* and what the core has not heard of */
    }
    smcr_tx_push(conn, now_ns);
}

static void take_cdc(struct smcr_conn *conn, const struct smcr_cdc *cdc, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_rx *rx = &data->rx;
    bool is_newer = smcr_seq_ahead(cdc->seq, rx->seq) > 0;
    if (conn->state == SMCR_CONN_CLOSED)
        return;
    if (cdc->failover_validation) { /* SMCR-FOV-08, CDC-14: nothing else of it means anything */
        if (is_newer && conn->state != SMCR_CONN_PEER_ABORT_WAIT) {
            conn->smcr->counters.failover_lost++;
            smcr_end_reset(conn, -ECONNRESET, "a failover lost data of the peer", now_ns);
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
        smcr_end_peer_aborted(conn, now_ns);
    else if (conn->state != SMCR_CONN_PEER_ABORT_WAIT && data->heard != SMCR_HEARD_CLOSE)
        take_state(conn, cdc, now_ns);
}

/* The Confirm was not processed yet: the newest CDC says all that the older ones said (SMCR-CDC-02). */
static void hold(struct smcr_rx *rx, const struct smcr_cdc *cdc)
{
    uint16_t newest = rx->held == SMCR_HOLDS_CDC ? rx->held_cdc.seq : 0;
    if (rx->held == SMCR_HOLDS_LOSS || smcr_seq_ahead(cdc->seq, newest) <= 0)
        return;
    rx->held = cdc->failover_validation ? SMCR_HOLDS_LOSS : SMCR_HOLDS_CDC;
    rx->held_cdc = *cdc;
}

void smcr_rx_take_held(struct smcr_conn *conn, uint64_t now_ns)
{
    const struct smcr_rx *rx = &conn->data->rx;
    if (rx->held == SMCR_HOLDS_LOSS) {
        conn->smcr->counters.failover_lost++;
        smcr_end_reset(conn, -ECONNRESET, "a failover lost data of the peer", now_ns);
    } else if (rx->held == SMCR_HOLDS_CDC) {
        take_cdc(conn, &rx->held_cdc, now_ns);
    }
}

static void trace(struct smcr_link *link, struct smcr_conn *conn, const uint8_t *message, const char *cause,
                  uint64_t now_ns)
{
    smcr_trace(link->group->smcr,
               (struct smcr_trace){.type = conn ? SMCR_TRACE_CDC_RX : SMCR_TRACE_DROP,
                                   .group = link->group,
                                   .link = link,
                                   .conn = conn,
                                   .message = message,
                                   .len_bytes = SMCR_MSG_BYTES,
                                   .cause = cause},
               now_ns);
}

void smcr_rx_cdc(struct smcr_link *link, const struct smcr_cdc *cdc, const uint8_t *message, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    struct smcr_conn *conn = smcr_token_find(link->group, cdc->alert_token);
    if (cdc->length != SMCR_MSG_BYTES) { /* SMCR-CDC-13, REC-29 */
        smcr->counters.llc_malformed++;
        trace(link, NULL, message, "a CDC is 44 bytes long", now_ns);
        smcr_link_fail(link, "a CDC of a wrong length came", now_ns);
    } else if (!conn || !conn->data) { /* SMCR-CDC-06 */
        smcr->counters.cdc_unknown_token++;
        trace(link, NULL, message, "its alert token names no connection", now_ns);
    } else {
        smcr->counters.rx_cdc++;
        trace(link, conn, message, NULL, now_ns);
        if (conn->state == SMCR_CONN_HANDSHAKE)
            hold(&conn->data->rx, cdc);
        else
            take_cdc(conn, cdc, now_ns);
    }
}
