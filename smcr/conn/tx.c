/* SPDX-License-Identifier: BSD-2-Clause */
/* What the application gives is copied into the send buffer and leaves from there: RDMA writes with the CDC
 * that tells of them, and CDCs alone; and what follows when a CDC completes. SMCR section 15.1. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "net/port.h"
#include "rdma/mr.h"
#include "smcr/conn/data.h"

/* --- the link, and its waiting list: who found no room is served in turn --- */

static void wait_for_room(struct smcr_conn *conn)
{
    struct smcr_link *link = conn->link;
    if (conn->wait_prev)
        return;
    conn->wait_next = NULL;
    conn->wait_prev = link->waiting_tail;
    *link->waiting_tail = conn;
    link->waiting_tail = &conn->wait_next;
}

void smcr_tx_stop_waiting(struct smcr_conn *conn)
{
    if (!conn->wait_prev)
        return;
    *conn->wait_prev = conn->wait_next;
    if (conn->wait_next)
        conn->wait_next->wait_prev = conn->wait_prev;
    else
        conn->link->waiting_tail = conn->wait_prev;
    conn->wait_prev = NULL;
}

void smcr_tx_forget_waiting(struct smcr_link *link)
{
    while (link->waiting_head)
        smcr_tx_stop_waiting(link->waiting_head);
}

void smcr_tx_set_link(struct smcr_conn *conn, struct smcr_link *link)
{
    struct smcr_link *old = conn->link;
    if (old == link)
        return;
    if (old) {
        smcr_tx_stop_waiting(conn);
        old->conns--;
        smcr_link_has_less(old);
    }
    conn->link = link;
    if (link)
        link->conns++;
}

void smcr_conn_tick_at(struct smcr_conn *conn, uint64_t at_ns)
{
    struct rdma_timer *tick = &conn->data->tick;
    if (at_ns != NET_TIME_NONE && (!rdma_timer_armed(tick) || at_ns < tick->deadline_ns))
        smcr_arm(conn->smcr, tick, at_ns);
}

/* --- RDMA writes --- */

/* A stretch of the stream as RDMA writes: cut at the end of the send buffer and at the end of the peer's
 * element (SMCR-DAT-02). */
struct segment {
    uint32_t from; /* in the send buffer */
    uint32_t to;   /* in the element: never below 4 (SMCR-RMB-08) */
    uint32_t len_bytes;
};

static unsigned cut(const struct smcr_conn *conn, uint64_t position, uint32_t to, uint32_t len_bytes,
                    struct segment out[SMCR_LINK_WRITES])
{
    uint32_t ring = conn->data->tx.buf->size_bytes;
    unsigned n = 0;
    while (len_bytes > 0) {
        uint32_t from = (uint32_t)position & (ring - 1);
        uint32_t len = min_u32(len_bytes, min_u32(ring - from, conn->peer_elem_bytes - to));
        out[n++] = (struct segment){from, to, len};
        position += len;
        len_bytes -= len;
        to += len;
        if (to == conn->peer_elem_bytes)
            to = conn->cursor_start;
    }
    return n;
}

/* `spare_bytes`: that the peer has free behind the last one. False: the link does not send any more;
 * SMCR_LINK_LOST is left, or will be. */
static bool post_segments(struct smcr_conn *conn, const struct segment *segments, unsigned n,
                          uint32_t spare_bytes)
{
    const struct smcr_link *link = conn->link;
    const struct smcr_rtoken *token = &conn->peer_rmb->token[link->slot]; /* SMCR-DAT-04, FOV-13 */
    const struct smcr_send_buf *buf = conn->data->tx.buf;
    uint64_t va = token->va + (uint64_t)(conn->peer_index - 1) * conn->peer_elem_bytes;
    for (unsigned i = 0; i < n; i++) {
        const struct segment *s = &segments[i];
        struct smcr_write w = {.local = buf->bytes + s->from,
                               .lkey = buf->mr[link->slot]->lkey,
                               .rkey = token->rkey,
                               .remote_va = va + s->to,
                               .len_bytes = s->len_bytes};
        if (i + 1 == n)
            w.spare_bytes = min_u32(spare_bytes, conn->peer_elem_bytes - s->to - s->len_bytes);
        if (smcr_link_post_write(conn->link, &w) < 0)
            return false;
        conn->smcr->counters.tx_writes++;
    }
    return true;
}

/* --- CDCs --- */

static void post_cdc(struct smcr_conn *conn, const struct smcr_cdc *cdc, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_tx *tx = &data->tx;
    uint8_t message[SMCR_MSG_BYTES] = {0};
    smcr_cdc_put(message, cdc);
    struct smcr_post what = {.kind = SMCR_POST_CDC, .conn = conn, .value = cdc->seq};
    if (smcr_link_post_message(conn->link, message, SMCR_MSG_BYTES, what) < 0)
        return;
    smcr_trace(conn->smcr,
               (struct smcr_trace){.type = SMCR_TRACE_CDC_TX,
                                   .group = conn->group,
                                   .link = conn->link,
                                   .conn = conn,
                                   .message = message,
                                   .len_bytes = sizeof message},
               now_ns);
    tx->flight[(tx->first_flight + tx->num_flight++) % SMCR_FLIGHT] =
        (struct smcr_flight){.end = tx->sent, .seq = cdc->seq, .is_validation = cdc->failover_validation};
    conn->posts++;
    conn->smcr->counters.tx_cdc++;
    data->last_active_ns = now_ns;
}

/* What has become true by sending it. A post that fails is repeated from these notes as well. */
static void note_told(struct smcr_conn *conn, const struct smcr_cdc *cdc, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_tx *tx = &data->tx;
    if (cdc->writer_blocked && !tx->told_blocked)
        conn->smcr->counters.tx_blocked++;
    tx->told_blocked = cdc->writer_blocked;
    tx->told_urgent = cdc->urgent_pending;
    tx->tell = SMCR_TELL_NOTHING;
    data->rx.told = data->rx.consumed; /* SMCR-DAT-08 */
    if (data->stale_at_ns != NET_TIME_NONE)
        data->stale_at_ns = now_ns + conn->smcr->config.times.stale_cursor_ns;
    if (cdc->abnormal_close) {
        data->said = SMCR_SAID_ABORT;
    } else if (cdc->connection_closed && data->said < SMCR_SAID_CLOSE) {
        data->said = SMCR_SAID_CLOSE; /* SMCR-CLS-08 */
        smcr_conn_end_step(conn, data->heard == SMCR_HEARD_CLOSE ? SMCR_SENT_LAST_CLOSE : SMCR_SENT_CLOSE,
                           now_ns);
    } else if (cdc->sending_done && data->said == SMCR_SAID_NOTHING) {
        data->said = SMCR_SAID_DONE;
        smcr_conn_end_step(conn, SMCR_SENT_DONE, now_ns);
    }
}

/* `n` segments, up to the last byte that was sent, and the CDC that covers them. False: no room. */
static bool post(struct smcr_conn *conn, const struct segment *segments, unsigned n, uint64_t now_ns)
{
    if (smcr_link_room(conn->link) < n + 1) {
        wait_for_room(conn);
        return false;
    }
    struct smcr_cdc cdc;
    smcr_cdc_build(conn, &cdc);
    if (n == 0 && conn->data->tx.tell != SMCR_TELL_NOW)
        conn->smcr->counters.tx_window_updates++;
    if (post_segments(conn, segments, n, smcr_tx_window(conn)))
        post_cdc(conn, &cdc, now_ns);
    note_told(conn, &cdc, now_ns);
    return true;
}

/* --- what is next --- */

/* The most that goes with one CDC. */
static uint32_t chunk_of(const struct smcr_conn *conn)
{
    uint32_t most = conn->data->tx.chunk_bytes;
    return conn->link ? min_u32(most, smcr_link_write_most(conn->link)) : most;
}

/* F, with the number of the last CDC that is known to have arrived (SMCR-FOV-07), behind `n` segments. False:
 * no room. */
static bool post_validation(struct smcr_conn *conn, const struct segment *segments, unsigned n,
                            uint64_t now_ns)
{
    if (smcr_link_room(conn->link) < n + 1) {
        wait_for_room(conn);
        return false;
    }
    struct smcr_cdc cdc = {.type = SMCR_CDC,
                           .length = SMCR_MSG_BYTES,
                           .seq = conn->data->tx.completed_seq,
                           .alert_token = conn->peer_token,
                           .failover_validation = 1};
    if (post_segments(conn, segments, n, 0)) /* what is behind them was sent before, over the other link */
        post_cdc(conn, &cdc, now_ns);
    return true;
}

static bool push_validation(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_tx *tx = &conn->data->tx;
    if (!post_validation(conn, NULL, 0, now_ns))
        return false;
    tx->replayed = tx->acked;
    tx->recovery = tx->recovery == SMCR_VALIDATES_AND_REPLAYS ? SMCR_REPLAYS : SMCR_RECOVERED;
    return true;
}

/* All that did not complete on the old link, in one piece with the newest state: merged, as SMCR-FOV-09
 * allows. What the peer has consumed is left alone (SMCR-FOV-12). Where a link takes small writes only, those
 * before the last end with another F: it says nothing of what they brought (SMCR-FOV-19). */
static bool push_replay(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_tx *tx = &conn->data->tx;
    struct segment segments[SMCR_LINK_WRITES];
    uint64_t from = max_u64(tx->replayed, tx->peer_consumed);
    if (conn->data->said == SMCR_OWES_ABORT || conn->data->said == SMCR_SAID_ABORT)
        from = tx->sent; /* A may have arrived, and the RMBE be another's: SMCR-ABT-07 */
    uint32_t left = (uint32_t)(tx->sent - from);
    uint32_t to = tx->cursor.offset_bytes;
    to = to - conn->cursor_start >= left
             ? to - left
             : to + smcr_cap_bytes(conn->cursor_start, conn->peer_elem_bytes) - left;
    uint32_t len = conn->link->write_max_bytes ? min_u32(left, chunk_of(conn)) : left;
    unsigned n = cut(conn, from, to, len, segments);
    if (len < left) {
        bool has_room = post_validation(conn, segments, n, now_ns);
        tx->replayed = has_room ? from + len : from;
        return has_room;
    }
    if (!post(conn, segments, n, now_ns))
        return false;
    tx->recovery = SMCR_RECOVERED;
    conn->smcr->counters.replayed++;
    return true;
}

/* How much of what the application gave may go now. */
static uint32_t sendable(const struct smcr_conn *conn)
{
    const struct smcr_tx *tx = &conn->data->tx;
    uint64_t end = tx->head;
    if (tx->num_urgent > 0)
        end = tx->urgent_end[0]; /* and no further until it is consumed: SMCR-URG-04 */
    uint64_t waits = end - tx->sent;
    uint32_t window = smcr_tx_window(conn);
    uint32_t n = waits < window ? (uint32_t)waits : window;
    return min_u32(n, chunk_of(conn));
}

/* Tells whether small writes wait: for those in flight, or for what follows at once (SMCR-DAT-07). With
 * NODELAY each goes as soon as the window and the link have room (RFC 7609 4.5.2). */
static bool is_corked(struct smcr_conn *conn, uint32_t n, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    const struct smcr_tx *tx = &data->tx;
    if (tx->num_urgent > 0 || data->app != SMCR_APP_WRITES || n >= chunk_of(conn) ||
        now_ns >= data->cork_at_ns)
        return false;
    bool more_comes = tx->coming != SMCR_COMING_NOTHING && tx->head - tx->sent < chunk_of(conn);
    bool gathers = !tx->nodelay && tx->sent > tx->acked;
    if (!more_comes && !gathers)
        return false;
    if (data->cork_at_ns == NET_TIME_NONE) {
        data->cork_at_ns = now_ns + conn->smcr->config.times.cork_ns;
        smcr_conn_tick_at(conn, data->cork_at_ns);
    }
    return true;
}

static bool push_data(struct smcr_conn *conn, uint32_t n, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_tx *tx = &data->tx;
    struct segment segments[SMCR_LINK_WRITES];
    unsigned num = cut(conn, tx->sent, tx->cursor.offset_bytes, n, segments);
    if (smcr_link_room(conn->link) < num + 1) {
        wait_for_room(conn);
        return false;
    }
    tx->sent += n;
    tx->cursor = smcr_cursor_advance(conn->cursor_start, tx->cursor, n, conn->peer_elem_bytes);
    conn->smcr->counters.tx_bytes += n;
    data->cork_at_ns = NET_TIME_NONE;
    if (tx->coming == SMCR_COMING_MORE)
        tx->coming = SMCR_COMING_NOTHING;
    return post(conn, segments, num, now_ns);
}

/* D and C wait until everything has been delivered and nothing is posted (SMCR-CLS-03). */
static bool close_is_pending(const struct smcr_conn_data *data)
{
    return data->app == SMCR_APP_CLOSED ? data->said < SMCR_SAID_CLOSE
                                        : data->app == SMCR_APP_SHUT && data->said < SMCR_SAID_DONE;
}

static bool is_delivered(const struct smcr_tx *tx)
{
    return tx->acked == tx->head;
}

static bool must_tell(struct smcr_conn *conn)
{
    const struct smcr_conn_data *data = conn->data;
    const struct smcr_tx *tx = &data->tx;
    if (data->said == SMCR_OWES_ABORT)
        return true;
    if (close_is_pending(data) && is_delivered(tx))
        return conn->posts == 0; /* with it goes what else is due */
    if (tx->tell == SMCR_TELL_NOW)
        return true;
    if (smcr_tx_is_blocked(conn) && !tx->told_blocked)
        return true;
    if (tx->num_urgent > 0 && !tx->told_urgent)
        return true; /* SMCR-URG-02 */
    return tx->tell == SMCR_TELL_UPDATE && conn->posts < SMCR_UPDATES_PARALLEL;
}

/* One post, or none. */
static bool push_one(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_tx *tx = &data->tx;
    if (tx->num_flight == SMCR_FLIGHT)
        return false;
    switch (tx->recovery) {
    case SMCR_VALIDATES:
    case SMCR_VALIDATES_AND_REPLAYS:
        return push_validation(conn, now_ns);
    case SMCR_REPLAYS:
        return push_replay(conn, now_ns);
    case SMCR_RECOVERED:
        break;
    }
    if (smcr_tx_is_final(data))
        return false;
    if (data->said == SMCR_OWES_ABORT)
        return post(conn, NULL, 0, now_ns);
    uint32_t n = sendable(conn);
    if (n > 0 && !is_corked(conn, n, now_ns))
        return push_data(conn, n, now_ns);
    return must_tell(conn) && post(conn, NULL, 0, now_ns);
}

/* Bounded: by SMCR_FLIGHT, and by the room of the link. */
static void push_all(struct smcr_conn *conn, uint64_t now_ns)
{
    while (push_one(conn, now_ns))
        ;
}

void smcr_tx_push(struct smcr_conn *conn, uint64_t now_ns)
{
    if (!conn->link || conn->data->move_to || conn->wait_prev)
        return;
    if (conn->link->waiting_head)
        wait_for_room(conn); /* behind those that came first */
    else
        push_all(conn, now_ns);
}

void smcr_tx_serve(struct smcr_link *link, uint64_t now_ns)
{
    /* Those that wait again come after those that wait now. */
    for (uint32_t n = link->conns; n > 0 && link->waiting_head && smcr_link_room(link) > 0; n--) {
        struct smcr_conn *conn = link->waiting_head;
        smcr_tx_stop_waiting(conn);
        if (!conn->data->move_to)
            push_all(conn, now_ns);
    }
}

/* --- what the application gives --- */

/* 0, or why nothing can be sent (SMCR-SOC-05). */
static int may_send(const struct smcr_conn *conn)
{
    if (conn->error)
        return conn->error;
    if (conn->state == SMCR_CONN_HANDSHAKE || conn->state == SMCR_CONN_FALLBACK)
        return -ENOTCONN;
    const struct smcr_conn_data *data = conn->data;
    return !data || data->app != SMCR_APP_WRITES || data->heard == SMCR_HEARD_CLOSE ? -EPIPE : 0;
}

static uint32_t room(const struct smcr_tx *tx)
{
    return tx->buf->size_bytes - (uint32_t)(tx->head - tx->acked);
}

size_t smcr_conn_send_room(const struct smcr_conn *conn)
{
    return may_send(conn) == 0 ? room(&conn->data->tx) : 0;
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

ssize_t smcr_tx_send(struct smcr_conn *conn, const void *bytes, size_t len_bytes, unsigned flags,
                     uint64_t now_ns)
{
    int error = may_send(conn);
    if (error)
        return error;
    struct smcr_tx *tx = &conn->data->tx;
    const uint8_t *p = bytes;
    size_t left = len_bytes;
    tx->nodelay = flags & SMCR_SEND_NODELAY;
    tx->coming = SMCR_COMING_REST;
    while (left > 0 && room(tx) > 0) {
        uint32_t n = copy_in(tx, p, left);
        p += n;
        left -= n;
        if (left > 0 && room(tx) > 0)
            smcr_tx_push(conn, now_ns);
    }
    bool may_bring_more = left == 0; /* who finds no room cannot */
    tx->coming = may_bring_more && flags & SMCR_SEND_MORE ? SMCR_COMING_MORE : SMCR_COMING_NOTHING;
    tx->wants_room = room(tx) == 0;
    if (left == 0 && len_bytes > 0 && flags & SMCR_SEND_URGENT)
        smcr_urgent_queue(tx);
    smcr_tx_push(conn, now_ns);
    return left == len_bytes && left > 0 ? -EAGAIN : (ssize_t)(len_bytes - left);
}

int smcr_tx_put(struct smcr_conn *conn, uint64_t head, unsigned flags, uint64_t now_ns)
{
    int error = may_send(conn);
    if (error)
        return error;
    struct smcr_tx *tx = &conn->data->tx;
    if (head < tx->head || head - tx->head > room(tx))
        return -EINVAL;
    tx->head = head;
    tx->nodelay = flags & SMCR_SEND_NODELAY;
    tx->coming = flags & SMCR_SEND_MORE ? SMCR_COMING_MORE : SMCR_COMING_NOTHING;
    tx->wants_room = true; /* who puts the bytes there looks at nothing else */
    if (flags & SMCR_SEND_URGENT)
        smcr_urgent_queue(tx);
    smcr_tx_push(conn, now_ns);
    return 0;
}

/* --- a CDC completes --- */

/* The oldest one that is posted has ended: completions come in the order of posting (SMCR-DAT-11). It was
 * delivered, so all that it covers is in the peer's memory: its place in the send buffer is free, the
 * application hears that it has room, and what waited for this goes. Else the link has failed, and another
 * carries it again. */
void smcr_tx_completed(struct smcr_conn *conn, uint16_t seq, bool ok, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_tx *tx = &data->tx;
    const struct smcr_flight *flight = &tx->flight[tx->first_flight];
    assert(tx->num_flight > 0 && flight->seq == seq);
    tx->first_flight = (tx->first_flight + 1) % SMCR_FLIGHT;
    tx->num_flight--;
    conn->posts--;
    if (ok) {
        if (!flight->is_validation) {
            tx->completed_seq = flight->seq; /* SMCR-FOV-05 */
            tx->acked = flight->end;
        }
        /* A message that moved no bytes makes no room. */
        if (tx->wants_room && tx->head - tx->acked < tx->buf->size_bytes) {
            tx->wants_room = conn->config.in_place && tx->head != tx->acked;
            smcr_conn_event(conn, SMCR_EVENT_WRITABLE);
        }
        if (data->said < SMCR_SAID_CLOSE)
            tx->delivered_ns = now_ns;
        smcr_tx_push(conn, now_ns);
    }
    if (conn->posts == 0 && (data->move_to || conn->state >= SMCR_CONN_PEER_ABORT_WAIT))
        smcr_conn_effect(conn, SMCR_CONN_RESTS); /* who waited for that goes on */
}
