/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a connection in order: done writing, closed, and the states in between. SMCR section 16.1. */
#include <errno.h>

#include "smcr/conn/data.h"

/* --- the table of 16.1, as far as messages move it --- */

/* C has come and ours is not out: a program that only shut down writing still has to close. */
static enum smcr_conn_state peer_closed(enum smcr_conn_state state, const struct smcr_conn_data *data)
{
    switch (state) {
    case SMCR_CONN_ACTIVE:
        return SMCR_CONN_APP_CLOSE_WAIT_1;
    case SMCR_CONN_PEER_CLOSE_WAIT_1:
    case SMCR_CONN_PEER_CLOSE_WAIT_2:
        return data->close_sent ? SMCR_CONN_CLOSED : SMCR_CONN_APP_FIN_CLOSE_WAIT;
    case SMCR_CONN_PEER_FIN_CLOSE_WAIT:
        return SMCR_CONN_CLOSED;
    case SMCR_CONN_APP_CLOSE_WAIT_1:
    case SMCR_CONN_APP_CLOSE_WAIT_2:
    case SMCR_CONN_APP_FIN_CLOSE_WAIT:
    case SMCR_CONN_PEER_ABORT_WAIT:
    case SMCR_CONN_HANDSHAKE:
    case SMCR_CONN_FALLBACK:
    case SMCR_CONN_CLOSED:
        return state;
    }
    return state;
}

static enum smcr_conn_state peer_done(enum smcr_conn_state state)
{
    if (state == SMCR_CONN_ACTIVE)
        return SMCR_CONN_APP_CLOSE_WAIT_1;
    return state == SMCR_CONN_PEER_CLOSE_WAIT_1 ? SMCR_CONN_PEER_CLOSE_WAIT_2 : state;
}

static enum smcr_conn_state sent_done(enum smcr_conn_state state)
{
    if (state == SMCR_CONN_ACTIVE)
        return SMCR_CONN_PEER_CLOSE_WAIT_1;
    return state == SMCR_CONN_APP_CLOSE_WAIT_1 ? SMCR_CONN_APP_CLOSE_WAIT_2 : state;
}

static enum smcr_conn_state sent_close(enum smcr_conn_state state, const struct smcr_conn_data *data)
{
    switch (state) {
    case SMCR_CONN_ACTIVE:
        return SMCR_CONN_PEER_CLOSE_WAIT_1;
    case SMCR_CONN_APP_FIN_CLOSE_WAIT:
        return SMCR_CONN_CLOSED;
    case SMCR_CONN_APP_CLOSE_WAIT_1:
    case SMCR_CONN_APP_CLOSE_WAIT_2:
        return data->peer_closed ? SMCR_CONN_CLOSED : SMCR_CONN_PEER_FIN_CLOSE_WAIT;
    case SMCR_CONN_PEER_CLOSE_WAIT_1:
    case SMCR_CONN_PEER_CLOSE_WAIT_2:
    case SMCR_CONN_PEER_FIN_CLOSE_WAIT:
    case SMCR_CONN_PEER_ABORT_WAIT:
    case SMCR_CONN_HANDSHAKE:
    case SMCR_CONN_FALLBACK:
    case SMCR_CONN_CLOSED:
        return state;
    }
    return state;
}

static enum smcr_conn_state next_state(const struct smcr_conn *conn, enum smcr_close_event event)
{
    switch (event) {
    case SMCR_SENT_DONE:
        return sent_done(conn->state);
    case SMCR_SENT_CLOSE:
        return sent_close(conn->state, conn->data);
    case SMCR_PEER_DONE:
        return peer_done(conn->state);
    case SMCR_PEER_CLOSED:
        return peer_closed(conn->state, conn->data);
    }
    return conn->state;
}

static const char *const causes[] = {
    [SMCR_SENT_DONE] = "done writing",
    [SMCR_SENT_CLOSE] = "closed",
    [SMCR_PEER_DONE] = "the peer is done writing",
    [SMCR_PEER_CLOSED] = "the peer has closed",
};

void smcr_close_event(struct smcr_conn *conn, enum smcr_close_event event, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    bool is_peers = event == SMCR_PEER_DONE || event == SMCR_PEER_CLOSED;
    if (event == SMCR_PEER_CLOSED) {
        data->peer_closed = true;
        if (!data->app_closed)
            smcr_cancel(conn->smcr, &conn->timer); /* what TCP's FIN was waiting for */
        if (data->tx.head > data->tx.sent) {       /* SMCR-CLS-07 */
            smcr_conn_reset(conn, -ECONNRESET, "the peer closed before it read everything", now_ns);
            return;
        }
    }
    if (is_peers && !data->peer_done) {
        data->peer_done = true; /* SMCR-CLS-06, CLS-11 */
        smcr_conn_event(conn, SMCR_EVENT_READABLE);
    }
    enum smcr_conn_state state = next_state(conn, event);
    if (state == SMCR_CONN_CLOSED)
        smcr_conn_finish(conn, causes[event], now_ns);
    else if (state != conn->state)
        smcr_conn_set_state(conn, state, causes[event], now_ns);
}

/* --- what the application wishes --- */

void smcr_conn_shutdown_write(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    if (!data || conn->state == SMCR_CONN_HANDSHAKE || data->shut_write || conn->error)
        return;
    data->shut_write = true;
    smcr_conn_push(conn, now_ns);
}

void smcr_conn_close(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    if (!data || conn->state == SMCR_CONN_PEER_ABORT_WAIT || conn->state == SMCR_CONN_CLOSED)
        return;
    data->app_closed = data->shut_write = true;
    if (smcr_rx_available(conn) > 0 && !data->peer_closed) { /* SMCR-CLS-02 */
        smcr_conn_reset(conn, -ECONNABORTED, "closed with unread data", now_ns);
    } else {
        smcr_guard_arm(conn, conn->smcr->config.times.close_guard_ns, now_ns); /* SMCR-CLS-20 */
        smcr_conn_push(conn, now_ns);
    }
    smcr_conn_settle(conn, now_ns);
}

/* --- over --- */

void smcr_conn_finish(struct smcr_conn *conn, const char *cause, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_CLOSED)
        return;
    smcr_cancel(conn->smcr, &conn->timer);
    smcr_conn_set_state(conn, SMCR_CONN_CLOSED, cause, now_ns);
}

/* Whether the last CDC of ours is still to arrive: it is sent again if its link fails (SMCR-FOV-10). */
static bool has_last_words(const struct smcr_conn *conn)
{
    const struct smcr_conn_data *data = conn->data;
    return conn->link && data->is_final && (data->close_sent || data->abort_sent) &&
           data->tx.seq != data->tx.completed_seq;
}

void smcr_conn_settle(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->state != SMCR_CONN_CLOSED || !conn->data || conn->posts > 0 || conn->data->is_quarantined ||
        has_last_words(conn))
        return;
    smcr_conn_detach(conn, now_ns);
    smcr_conn_event(conn, SMCR_EVENT_CLOSED);
    smcr_conn_release(conn, now_ns);
}
