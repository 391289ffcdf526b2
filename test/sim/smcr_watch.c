/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/smcr_watch.h"

#include <inttypes.h>
#include <string.h>

#include "smcr/wire/cdc.h"

#define FAIL(w, format, ...)                                                                      \
    pair_fail((w)->end->pair, "connection %u, node %u: " format, (w)->end->c->id, (w)->end->node, \
              ##__VA_ARGS__)

struct watch_end *watch_of(struct watch *watch, const struct pair_end *end)
{
    if (end->c->id >= WATCH_CONNS)
        return NULL;
    struct watch_end *w = &watch->end[end->c->id][end->node];
    if (!w->end) {
        w->end = (struct pair_end *)end;
        w->state = SMCR_CONN_ACTIVE;
    }
    return w;
}

/* Where the data of an element begins: behind the eye catcher, which version 2 does not have; and that is
 * spoken where both nodes know an enterprise id. */
static uint32_t start_of(const struct pair_end *end)
{
    const struct smcr_config *node = end->pair->config.smcr;
    return node[0].num_eids > 0 && node[1].num_eids > 0 ? 0 : 4;
}

/* The position that a cursor means: the nearest to `near` of those that have its offset and wrap count
 * (SMCR-CDC-08 to CDC-10: the n-th byte of the stream lies at `start` + n mod cap, n / cap times round). */
static bool position(uint64_t *out, uint32_t cursor, uint16_t wrap, uint32_t start, uint32_t elem_bytes,
                     uint64_t near)
{
    uint64_t cap = elem_bytes - start;
    if (cursor < start || cursor >= elem_bytes)
        return false;
    uint64_t rounds = near / cap;
    int16_t ahead = (int16_t)(uint16_t)(wrap - (uint16_t)rounds);
    if (ahead < 0 && rounds < (uint64_t)-ahead)
        return false;
    *out = (rounds + (uint64_t)(int64_t)ahead) * cap + (cursor - start);
    return true;
}

static uint32_t elem_of(const struct pair_end *end)
{
    return end->conn && end->conn->rmb ? end->conn->rmb->elem_bytes : 0;
}

/* What a CDC says beyond the cursors. */
static void check_flags(struct watch_end *w, const struct smcr_cdc *cdc, uint64_t produced, uint32_t cap)
{
    uint64_t sent = w->end->tx_pos;
    bool full = produced - w->peer_consumed == cap;
    if (cdc->update_requested)
        FAIL(w, "R is set in normal operation (SMCR-WIN-06)");
    if (cdc->writer_blocked && !full)
        FAIL(w, "B, but the window has room (SMCR-DAT-10)");
    if (cdc->urgent_present && !cdc->urgent_pending)
        FAIL(w, "U without P (SMCR-URG-01)");
    if ((cdc->sending_done || cdc->connection_closed) && produced != sent)
        FAIL(w, "D or C before all was written: %" PRIu64 " of %" PRIu64 " (SMCR-CLS-03)", produced, sent);
    if ((cdc->connection_closed || cdc->abnormal_close) && (cdc->writer_blocked || cdc->urgent_present))
        FAIL(w, "B or U in a closing CDC (SMCR-CLS-12)");
    if (w->sent_done && !cdc->sending_done && !cdc->connection_closed && !cdc->abnormal_close)
        FAIL(w, "D is taken back (SMCR-CDC-02)");
}

/* A CDC that says nothing new but the consumer cursor (SMCR-WIN-01 to WIN-05, URG-05). */
static void check_update(struct watch *watch, struct watch_end *w, uint64_t produced, uint64_t consumed,
                         unsigned flags)
{
    uint32_t elem_bytes = elem_of(w->end);
    if (produced != w->produced || flags != w->told_urgent || w->moved || elem_bytes == 0)
        return;
    uint64_t cap = elem_bytes - start_of(w->end), window = cap - (w->peer_produced - w->consumed);
    uint64_t gain = consumed - w->consumed;
    watch->updates++;
    if (w->was_blocked || w->urgent || watch_of(watch, pair_other(w->end))->urgent)
        return;
    if (window >= (cap + 1) / 2 + 2 || gain * 10 + 50 < cap)
        FAIL(w, "an update with %" PRIu64 " of window and %" PRIu64 " of gain, of %" PRIu64 " (SMCR-WIN-01)",
             window, gain, cap);
}

static void sent_state(struct watch_end *w, const struct smcr_cdc *cdc)
{
    if (cdc->abnormal_close)
        w->is_free = true;
    if (cdc->connection_closed && !w->sent_close) {
        if (w->state == SMCR_CONN_ACTIVE)
            w->state = SMCR_CONN_PEER_CLOSE_WAIT_1;
        else if (w->state == SMCR_CONN_APP_CLOSE_WAIT_1 || w->state == SMCR_CONN_APP_CLOSE_WAIT_2)
            w->state = w->peer_closed ? SMCR_CONN_CLOSED : SMCR_CONN_PEER_FIN_CLOSE_WAIT;
        else if (w->state == SMCR_CONN_APP_FIN_CLOSE_WAIT)
            w->state = SMCR_CONN_CLOSED;
    } else if (cdc->sending_done && !w->sent_done && !w->sent_close) {
        if (w->state == SMCR_CONN_ACTIVE)
            w->state = SMCR_CONN_PEER_CLOSE_WAIT_1;
        else if (w->state == SMCR_CONN_APP_CLOSE_WAIT_1)
            w->state = SMCR_CONN_APP_CLOSE_WAIT_2;
    }
}

static void took_state(struct watch_end *w, const struct smcr_cdc *cdc)
{
    bool done = (cdc->sending_done || cdc->connection_closed) && !w->peer_done;
    bool closed = cdc->connection_closed && !w->peer_closed;
    if (cdc->abnormal_close)
        w->is_free = true;
    if (done && w->state == SMCR_CONN_ACTIVE)
        w->state = SMCR_CONN_APP_CLOSE_WAIT_1;
    else if (done && w->state == SMCR_CONN_PEER_CLOSE_WAIT_1)
        w->state = SMCR_CONN_PEER_CLOSE_WAIT_2;
    if (closed && w->state == SMCR_CONN_PEER_CLOSE_WAIT_2)
        w->state = w->sent_close ? SMCR_CONN_CLOSED : SMCR_CONN_APP_FIN_CLOSE_WAIT;
    else if (closed && w->state == SMCR_CONN_PEER_FIN_CLOSE_WAIT)
        w->state = SMCR_CONN_CLOSED;
}

static void take(struct watch_end *w, const uint8_t *message)
{
    struct smcr_cdc cdc;
    uint64_t produced, consumed;
    smcr_cdc_get(&cdc, message);
    if (!position(&produced, cdc.producer_cursor, cdc.producer_wrap, start_of(w->end), elem_of(w->end),
                  w->peer_produced) ||
        !position(&consumed, cdc.consumer_cursor, cdc.consumer_wrap, start_of(w->end),
                  w->end->conn->peer_elem_bytes, w->peer_consumed))
        return;
    /* replayed ones are taken once, and older ones not at all (SMCR-CDC-04) */
    if (produced < w->peer_produced || consumed < w->peer_consumed)
        return;
    w->peer_produced = produced;
    w->peer_consumed = consumed;
    w->peer_blocked = cdc.writer_blocked;
    w->was_blocked |= cdc.writer_blocked;
    took_state(w, &cdc);
    w->peer_done |= cdc.sending_done || cdc.connection_closed;
    w->peer_closed |= cdc.connection_closed;
    w->peer_aborted |= cdc.abnormal_close;
}

/* What came before the handshake was over counts from its end on (SMCR-SC-08). */
static void take_early(struct watch_end *w)
{
    if (!w->has_early || !w->end->conn || w->end->conn->state == SMCR_CONN_HANDSHAKE)
        return;
    w->has_early = false;
    take(w, w->early);
}

static void on_sent(struct watch *watch, struct pair_end *end, const uint8_t *message)
{
    struct watch_end *w = watch_of(watch, end);
    struct smcr_cdc cdc;
    uint64_t produced, consumed;
    if (!w)
        return;
    take_early(w);
    smcr_cdc_get(&cdc, message);
    watch->cdcs++;
    if (cdc.failover_validation) {
        watch->validations++;
        w->moved = true;     /* numbers may repeat what did not arrive (SMCR-FOV-09) */
        w->is_final = false; /* and C and A are said again (SMCR-FOV-10) */
        return;
    }
    uint32_t peer_elem = end->conn->peer_elem_bytes, elem = elem_of(end);
    if (cdc.seq != (uint16_t)(w->seq + 1) && !w->moved)
        FAIL(w, "CDC %u follows %u (SMCR-CDC-03)", cdc.seq, w->seq);
    if (cdc.alert_token != end->conn->peer_token)
        FAIL(w, "CDC with token %08x, not the peer's %08x", cdc.alert_token, end->conn->peer_token);
    if (!position(&produced, cdc.producer_cursor, cdc.producer_wrap, start_of(end), peer_elem, w->produced) ||
        !position(&consumed, cdc.consumer_cursor, cdc.consumer_wrap, start_of(end), elem, w->consumed)) {
        FAIL(w, "a cursor outside the element (SMCR-CDC-08)");
        return;
    }
    if (w->is_final)
        FAIL(w, "a CDC after C or A (SMCR-CDC-15)");
    if (produced > end->tx_offered)
        FAIL(w, "produced %" PRIu64 ", the application gave %" PRIu64, produced, end->tx_offered);
    if (produced - w->peer_consumed > peer_elem - start_of(end))
        FAIL(w, "beyond the window (SMCR-DAT-03)");
    if (consumed < w->consumed || (produced < w->produced && !w->moved))
        FAIL(w, "a cursor goes back (SMCR-CDC-05)");
    if (consumed > w->peer_produced)
        FAIL(w, "consumed %" PRIu64 " of %" PRIu64 " produced (SMCR-CDC-12)", consumed, w->peer_produced);
    check_flags(w, &cdc, produced, peer_elem - start_of(end));
    unsigned flags = message[24] | (unsigned)message[25] << 8;
    if (w->any && !cdc.abnormal_close)
        check_update(watch, w, produced, consumed, flags);
    sent_state(w, &cdc);
    w->any = true;
    w->seq = cdc.seq;
    w->told_urgent = flags;
    w->produced = produced;
    w->consumed = consumed;
    w->moved = false;
    w->was_blocked = w->peer_blocked;
    w->sent_done |= cdc.sending_done || cdc.connection_closed;
    w->sent_close |= cdc.connection_closed;
    w->is_final |= cdc.connection_closed || cdc.abnormal_close;
}

static void on_taken(struct watch *watch, struct pair_end *end, const uint8_t *message)
{
    struct watch_end *w = watch_of(watch, end);
    if (!w || !end->conn || message[24] & 0x08)
        return;
    if (end->conn->state == SMCR_CONN_HANDSHAKE) {
        w->has_early = true;
        memcpy(w->early, message, sizeof w->early);
        return;
    }
    take_early(w);
    take(w, message);
}

static void on_trace(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    struct watch *watch = ctx;
    struct pair_end *end = trace->conn ? smcr_conn_ctx(trace->conn) : NULL;
    if (trace->type == SMCR_TRACE_CDC_TX && end)
        on_sent(watch, end, trace->message);
    else if (trace->type == SMCR_TRACE_CDC_RX && end)
        on_taken(watch, end, trace->message);
    if (watch->also)
        watch->also(watch->also_ctx, node, trace);
}

void watch_init(struct watch *watch, struct pair *pair)
{
    memset(watch, 0, sizeof *watch);
    watch->pair = pair;
    pair->on_trace = on_trace;
    pair->trace_ctx = watch;
}

/* SMCR-WIN-08: who has read everything has told so, unless it is little or the writer's window is wide. */
static void check_told(struct watch_end *w)
{
    uint64_t cap = elem_of(w->end) - start_of(w->end), window = cap - (w->peer_produced - w->consumed);
    uint64_t gain = w->end->rx_pos - w->consumed;
    if (w->end->rx_pos != w->peer_produced || w->sent_close || window * 2 >= cap || gain * 10 < cap + 10)
        return;
    FAIL(w, "%" PRIu64 " bytes read and not told, with %" PRIu64 " of window (SMCR-WIN-08)", gain, window);
}

void watch_states(struct watch *watch)
{
    for (const struct pair_conn *c = watch->pair->conns; c; c = c->next)
        for (unsigned i = 0; i < 2 && c->id < WATCH_CONNS; i++) {
            struct watch_end *w = &watch->end[c->id][i];
            struct smcr_conn *conn = c->end[i].conn;
            if (!w->end || !conn)
                continue;
            take_early(w);
            if (w->is_free || conn->error || conn->state == SMCR_CONN_HANDSHAKE)
                continue;
            if (conn->state != w->state)
                FAIL(w, "is %s, the model says %s", smcr_conn_state_name(conn->state),
                     smcr_conn_state_name(w->state));
            else if (conn->state == SMCR_CONN_ACTIVE && conn->posts == 0 && conn->link && elem_of(w->end) &&
                     !watch_of(watch, pair_other(w->end))->urgent)
                check_told(w);
        }
}

static bool wire_is_whole(const struct pair *pair, const struct smcr_link *link)
{
    for (unsigned n = 0; n < 2; n++)
        for (unsigned p = 0; p < pair->node[n].num_ports; p++) {
            const struct pair_port *port = &pair->node[n].port[p];
            bool mine = nornic_mac_equal(&port->mac, &link->local.mac);
            bool theirs = nornic_mac_equal(&port->mac, &link->peer.mac);
            if ((mine || theirs) && port->cut)
                return false;
        }
    return true;
}

bool watch_has_link(const struct pair_end *end)
{
    const struct pair_end *other = &end->c->end[!end->node];
    if (!end->conn || !end->conn->group || !other->conn || !other->conn->group)
        return false;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        const struct smcr_link *a = &end->conn->group->links[i];
        for (unsigned j = 0; j < SMCR_LINK_SLOTS; j++) {
            const struct smcr_link *b = &other->conn->group->links[j];
            if (a->state == SMCR_LINK_ACTIVE && b->state == SMCR_LINK_ACTIVE && a->number == b->number &&
                wire_is_whole(end->pair, a))
                return true;
        }
    }
    return false;
}
