/* SPDX-License-Identifier: BSD-2-Clause */
/* The data part of a connection: made before the peer hears of the RMBE, active once both ends are known,
 * taken down; and its tick, the deadlines while data moves. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "net/port.h"
#include "smcr/conn/data.h"

/* --- the tick --- */

/* SMCR-KAL-01. The timer was not moved at every message: it finds out here whether both were idle so long. */
static void keepalive_due(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_link *link = conn->link;
    uint64_t active = link ? max_u64(data->last_active_ns, link->last_heard_ns) : data->last_active_ns;
    bool is_idle = link && now_ns - active >= conn->keepalive_ns;
    data->keepalive_at_ns = (is_idle ? now_ns : active) + conn->keepalive_ns;
    if (is_idle)
        smcr_link_effect(link, SMCR_LINK_TEST);
}

/* Deadlines move far more often than they are reached: the timer stays where it was and finds out here. */
static void ticked(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_conn_data *data = container_of(timer, struct smcr_conn_data, tick);
    struct smcr_conn *conn = data->conn;
    if (now_ns >= data->stale_at_ns) { /* SMCR-WIN-05 */
        data->stale_at_ns = now_ns + conn->smcr->config.times.stale_cursor_ns;
        smcr_tx_tell(&data->tx, SMCR_TELL_NOW);
    }
    if (now_ns >= data->keepalive_at_ns)
        keepalive_due(conn, now_ns);
    smcr_tx_push(conn, now_ns);
    if (data->cork_at_ns > now_ns)
        smcr_conn_tick_at(conn, data->cork_at_ns);
    smcr_conn_tick_at(conn, min_u64(data->stale_at_ns, data->keepalive_at_ns));
}

void smcr_conn_start_keepalive(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    if (!data || conn->state == SMCR_CONN_HANDSHAKE || conn->error)
        return;
    data->keepalive_at_ns = conn->keepalive_ns ? now_ns + conn->keepalive_ns : NET_TIME_NONE;
    smcr_conn_tick_at(conn, data->keepalive_at_ns);
}

/* --- made --- */

int smcr_conn_prepare(struct smcr_conn *conn, uint64_t now_ns)
{
    struct rdma_mem *mem = &conn->smcr->mem;
    struct smcr_conn_data *data = mem->alloc(mem->ctx, sizeof *data);
    if (!data)
        return -ENOMEM;
    data->tx.buf = smcr_send_buf_get(conn->group, conn->config.sndbuf_bytes);
    if (!data->tx.buf) {
        mem->free(mem->ctx, data);
        return -ENOMEM;
    }
    data->conn = conn;
    data->tick.fire = ticked;
    data->cork_at_ns = data->stale_at_ns = data->keepalive_at_ns = NET_TIME_NONE;
    data->last_active_ns = now_ns;
    data->rx.producer.offset_bytes = data->rx.consumer.offset_bytes = conn->cursor_start;
    data->tx.cursor.offset_bytes = data->tx.peer_consumer.offset_bytes = conn->cursor_start;
    conn->data = data;
    return 0;
}

/* A write is a quarter of the smaller buffer, so that filling, sending and reading go on at the same time. */
static uint32_t chunk_of(const struct smcr_conn *conn)
{
    return min_u32(min_u32(conn->data->tx.buf->size_bytes, conn->peer_elem_bytes) / 4, SMCR_MAX_CHUNK_BYTES);
}

void smcr_conn_activate(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    smcr_guard_init(conn);
    data->tx.chunk_bytes = chunk_of(conn);
    data->last_active_ns = now_ns;
    smcr_conn_set_state(conn, SMCR_CONN_ACTIVE, "negotiated", now_ns);
    conn->smcr->counters.conns_smc++;
    smcr_conn_event(conn, SMCR_EVENT_ESTABLISHED | SMCR_EVENT_WRITABLE);
    struct smcr_link *link = smcr_group_pick_link(conn->group, NULL);
    if (!link) {
        smcr_end_kill(conn, -ECONNRESET, "no link is left", now_ns);
        return;
    }
    smcr_tx_set_link(conn, link);
    smcr_conn_start_keepalive(conn, now_ns);
    smcr_rx_take_held(conn, now_ns);
}

/* --- taken down --- */

void smcr_conn_detach(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_group *group = conn->group;
    struct smcr_conn_data *data = conn->data;
    if (conn->link)
        smcr_tx_set_link(conn, NULL);
    if (data) {
        smcr_cancel(conn->smcr, &data->tick);
        smcr_send_buf_put(group, data->tx.buf);
        conn->smcr->mem.free(conn->smcr->mem.ctx, data);
        conn->data = NULL;
    }
    if (conn->rmb)
        smcr_rmb_put_elem(conn, now_ns);
    if (conn->peer_rmb) {
        if (conn->peer_rmb->elems[conn->peer_index - 1] == conn)
            conn->peer_rmb->elems[conn->peer_index - 1] = NULL;
        conn->peer_rmb = NULL;
    }
    if (conn->token) {
        smcr_token_put(group, conn->token);
        conn->token = 0;
    }
    if (group) {
        smcr_group_remove_conn(group, conn, now_ns);
        conn->group = NULL;
    }
}

bool smcr_conn_rests(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->data && conn->state != SMCR_CONN_HANDSHAKE) {
        smcr_end_rests(conn, now_ns);
        smcr_move_rests(conn, now_ns);
    }
    if (smcr_end_is_complete(conn)) {
        smcr_conn_detach(conn, now_ns);
        smcr_conn_event(conn, SMCR_EVENT_CLOSED);
    }
    return conn->holder == SMCR_GIVEN_BACK && smcr_conn_is_over(conn);
}

/* --- what can be seen of it --- */

/* What the peer has not read yet lies in its own memory, but it may still have to tell that it read: who goes
 * before that looks to it like a failure. */
static bool has_said_all(const struct smcr_conn *conn)
{
    const struct smcr_conn_data *data = conn->data;
    if (!data || conn->posts > 0)
        return !data;
    return data->said == SMCR_SAID_ABORT ||
           (data->said == SMCR_SAID_CLOSE && data->tx.sent == data->tx.peer_consumed);
}

void smcr_conn_status(const struct smcr_conn *conn, struct smcr_conn_status *out)
{
    *out = (struct smcr_conn_status){
        .error = conn->error,
        .established = conn->state != SMCR_CONN_HANDSHAKE && !smcr_conn_is_ended(conn),
        .fallback = conn->state == SMCR_CONN_FALLBACK,
        .closed = conn->state == SMCR_CONN_CLOSED,
        .diagnosis = conn->diagnosis,
        .declined_by_peer = conn->declined == SMCR_DECLINED_BY_PEER,
        .may_cross = conn->declined == SMCR_DECLINED_CROSSING,
        .reason = conn->reason,
    };
    memcpy(out->peer_id, conn->peer_id.b, sizeof out->peer_id);
    const struct smcr_conn_data *data = conn->data;
    if (conn->state == SMCR_CONN_HANDSHAKE || conn->state == SMCR_CONN_FALLBACK)
        return;
    out->write_closed =
        !data || data->app != SMCR_APP_WRITES || data->heard == SMCR_HEARD_CLOSE || conn->error;
    out->has_said_all = has_said_all(conn);
    if (!data)
        return;
    const struct smcr_tx *tx = &data->tx;
    out->readable_bytes = conn->error ? 0 : smcr_rx_available(conn);
    out->writable_bytes = out->write_closed ? 0 : tx->buf->size_bytes - (size_t)(tx->head - tx->acked);
    out->unsent_bytes = (size_t)(tx->head - tx->acked);
    out->readable_max_bytes = smcr_cap_bytes(conn->cursor_start, conn->rmb->elem_bytes);
    out->rx_ended = data->heard == SMCR_HEARD_DONE || data->heard == SMCR_HEARD_CLOSE;
    out->eof = out->rx_ended && smcr_rx_readable(&data->rx) == 0;
    out->urgent = smcr_urgent_is_pending(conn);
}

void smcr_conn_data_stat(const struct smcr_conn *conn, struct smcr_conn_stat *out)
{
    const struct smcr_conn_data *data = conn->data;
    if (!data || conn->state == SMCR_CONN_HANDSHAKE)
        return;
    out->tx_bytes = data->tx.sent;
    out->rx_bytes = data->rx.consumed;
    out->window_bytes = smcr_tx_window(conn);
    out->readable_bytes = smcr_rx_readable(&data->rx);
    out->unsent_bytes = (uint32_t)(data->tx.head - data->tx.acked);
}
