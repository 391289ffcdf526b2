/* SPDX-License-Identifier: BSD-2-Clause */
/* What the application takes: copied out of the RMBE, and when the peer hears that there is room again. SMCR
 * section 15. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "smcr/conn/data.h"

/* A long read is taken in pieces, at most half of the RMBE, and each may tell the peer that there is room:
 * else the writer stands still while a reader that takes more than half of the RMBE copies it. */
#define MAX_PIECE_BYTES (64u << 10)

/* Bytes up to the end of what has come, or up to the urgent byte, whichever is first. */
static uint32_t until_mark(const struct smcr_rx *rx)
{
    if (rx->mark_valid && rx->mark > rx->consumed)
        return (uint32_t)(rx->mark - rx->consumed);
    return smcr_rx_readable(rx);
}

/* The byte that was taken out of the stream is the next one, for who wants it in line. */
static bool starts_with_urgent_byte(const struct smcr_rx *rx)
{
    return rx->is_inline && rx->has_urgent_byte && rx->urgent_unread && rx->consumed == rx->mark + 1;
}

uint32_t smcr_rx_available(const struct smcr_conn *conn)
{
    const struct smcr_rx *rx = &conn->data->rx;
    return smcr_rx_readable(rx) + starts_with_urgent_byte(rx);
}

/* `n` bytes at `cursor`, which may come round. */
static void copy_out(const struct smcr_conn *conn, struct smcr_cursor cursor, uint8_t *out, uint32_t n)
{
    const uint8_t *elem = smcr_elem(conn->rmb, conn->rmb_index);
    uint32_t tail = min_u32(n, conn->rmb->elem_bytes - cursor.offset_bytes);
    memcpy(out, elem + cursor.offset_bytes, tail);
    memcpy(out + tail, elem + SMCR_CURSOR_START, n - tail);
}

void smcr_rx_consume(struct smcr_conn *conn, uint32_t n)
{
    struct smcr_rx *rx = &conn->data->rx;
    rx->consumed += n;
    rx->consumer = smcr_cursor_advance(rx->consumer, n, conn->rmb->elem_bytes);
}

void smcr_window_check(struct smcr_conn *conn)
{
    struct smcr_conn_data *data = conn->data;
    const struct smcr_rx *rx = &data->rx;
    uint32_t cap = smcr_cap_bytes(conn->rmb->elem_bytes);
    uint64_t gain = rx->consumed - rx->told;
    uint64_t window = cap - (rx->produced - rx->told);
    if (gain == 0)
        return;
    bool is_wanted = rx->peer_blocked || rx->peer_requests;  /* SMCR-WIN-04, WIN-05 */
    bool is_worth_it = window < cap / 2 && gain >= cap / 10; /* SMCR-WIN-01 */
    if (is_wanted || is_worth_it)
        data->tx.update_due = true;
}

bool smcr_eye_catcher_is_lost(struct smcr_conn *conn, uint64_t now_ns)
{
    if (smcr_elem_is_sound(conn->rmb, conn->rmb_index))
        return false;
    conn->smcr->counters.eye_catcher++;
    smcr_conn_reset(conn, -ECONNRESET, "the eye catcher of the RMBE was overwritten", now_ns);
    return true;
}

/* 0, or why nothing can be read (SMCR-SOC-05). */
static ssize_t may_recv(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->error)
        return conn->error;
    if (conn->state == SMCR_CONN_HANDSHAKE || conn->state == SMCR_CONN_FALLBACK)
        return -ENOTCONN;
    return conn->data && smcr_eye_catcher_is_lost(conn, now_ns) ? conn->error : 0;
}

static ssize_t peek(struct smcr_conn *conn, uint8_t *out, uint32_t max)
{
    const struct smcr_rx *rx = &conn->data->rx;
    uint32_t first = starts_with_urgent_byte(rx);
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
    if (starts_with_urgent_byte(rx)) {
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
        smcr_window_check(conn);
        if (conn->data->tx.cdc_due || conn->data->tx.update_due)
            smcr_conn_push(conn, now_ns);
    }
    return (ssize_t)done;
}

ssize_t smcr_conn_recv(struct smcr_conn *conn, void *bytes, size_t len_bytes, unsigned flags, uint64_t now_ns)
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
        return conn->data->peer_done ? 0 : -EAGAIN;
    uint32_t max = len_bytes < SMCR_MAX_ELEM_BYTES ? (uint32_t)len_bytes : SMCR_MAX_ELEM_BYTES;
    return flags & SMCR_RECV_PEEK ? peek(conn, bytes, max) : take(conn, bytes, max, now_ns);
}
