/* SPDX-License-Identifier: BSD-2-Clause */
/* What the application gives: copied into the send buffer, from where the engine reads it. SMCR section
 * 15.1. */
#include <errno.h>
#include <string.h>

#include "smcr/conn/data.h"

/* 0, or why nothing can be sent (SMCR-SOC-05). */
static int may_send(const struct smcr_conn *conn)
{
    if (conn->error)
        return conn->error;
    if (conn->state == SMCR_CONN_HANDSHAKE || conn->state == SMCR_CONN_FALLBACK)
        return -ENOTCONN;
    const struct smcr_conn_data *data = conn->data;
    return !data || data->shut_write || data->peer_closed ? -EPIPE : 0;
}

static uint32_t room(const struct smcr_tx *tx)
{
    return tx->buf->size_bytes - (uint32_t)(tx->head - tx->acked);
}

/* As much of it as fits and is contiguous, at most a chunk: so that the first is on its way while the next is
 * copied. */
static uint32_t copy_in(struct smcr_tx *tx, const uint8_t *bytes, size_t len_bytes)
{
    uint32_t at = (uint32_t)tx->head & (tx->buf->size_bytes - 1);
    uint32_t n = room(tx) < tx->buf->size_bytes - at ? room(tx) : tx->buf->size_bytes - at;
    if (n > tx->chunk_bytes)
        n = tx->chunk_bytes;
    if (n > len_bytes)
        n = (uint32_t)len_bytes;
    memcpy(tx->buf->bytes + at, bytes, n);
    tx->head += n;
    return n;
}

ssize_t smcr_conn_send(struct smcr_conn *conn, const void *bytes, size_t len_bytes, unsigned flags,
                       uint64_t now_ns)
{
    int error = may_send(conn);
    if (error)
        return error;
    struct smcr_tx *tx = &conn->data->tx;
    const uint8_t *p = bytes;
    size_t left = len_bytes;
    tx->nodelay = flags & SMCR_SEND_NODELAY;
    tx->is_copying = true;
    while (left > 0 && room(tx) > 0) {
        uint32_t n = copy_in(tx, p, left);
        p += n;
        left -= n;
        if (left > 0 && room(tx) > 0)
            smcr_conn_push(conn, now_ns);
    }
    tx->is_copying = false;
    tx->more = left == 0 && flags & SMCR_SEND_MORE; /* who finds no room cannot bring more */
    tx->wants_room = room(tx) == 0;
    if (left == 0 && len_bytes > 0 && flags & SMCR_SEND_URGENT)
        smcr_urgent_queue(tx);
    smcr_conn_push(conn, now_ns);
    return left == len_bytes && left > 0 ? -EAGAIN : (ssize_t)(len_bytes - left);
}
