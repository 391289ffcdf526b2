/* SPDX-License-Identifier: BSD-2-Clause */
/* The abnormal end of a connection, what TCP has to say about it, and the guard over peers that never answer.
 * SMCR section 16.2 and SMCR-CLS-20, CLS-21. */
#include <errno.h>
#include <stddef.h>

#include "base/base.h"
#include "net/port.h"
#include "smcr/conn/data.h"
#include "smcr/handshake/handshake.h"

/* The application learns of it; what it has not read and what was not sent is gone (SMCR-ABT-04). */
static void fail(struct smcr_conn *conn, int error, const char *cause)
{
    struct smcr_conn_data *data = conn->data;
    data->tx.head = data->tx.sent;
    data->tx.urgent = data->tx.urgent_next = false;
    data->cork_at_ns = data->stale_at_ns = data->keepalive_at_ns = NET_TIME_NONE;
    if (conn->error)
        return;
    conn->error = error;
    conn->reason = cause;
    conn->smcr->counters.conns_reset++;
    smcr_conn_event(conn, SMCR_EVENT_RESET | SMCR_EVENT_READABLE | SMCR_EVENT_WRITABLE);
}

static void reset_tcp(struct smcr_conn *conn)
{
    if (conn->tcp_is_reset)
        return;
    conn->tcp_is_reset = true;
    conn->config.tcp.reset(conn->config.ctx);
}

/* A leaves unless C did: then the timer and TCP end it (SMCR-ABT-08). */
static void owe_abort(struct smcr_conn *conn)
{
    struct smcr_conn_data *data = conn->data;
    if (!data->close_sent)
        data->abort_due = true;
    data->is_final = data->close_sent;
}

/* And nothing of it is repeated on another link. */
static void say_no_more(struct smcr_conn_data *data)
{
    data->is_final = true;
    data->close_sent = data->abort_due = data->abort_sent = false;
}

void smcr_conn_reset(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns)
{
    if (!conn->data || conn->state == SMCR_CONN_PEER_ABORT_WAIT || conn->state == SMCR_CONN_CLOSED)
        return;
    fail(conn, error, cause);
    reset_tcp(conn); /* SMCR-ABT-01 */
    owe_abort(conn);
    smcr_conn_set_state(conn, SMCR_CONN_PEER_ABORT_WAIT, cause, now_ns);
    smcr_guard_arm(conn, conn->smcr->config.times.abort_guard_ns, now_ns); /* SMCR-ABT-03 */
    smcr_conn_push(conn, now_ns);
}

/* The peer has promised to write no more: nothing keeps the RMBE but our own last word. */
static void end_if_answered(struct smcr_conn *conn, uint64_t now_ns)
{
    const struct smcr_conn_data *data = conn->data;
    if (conn->state == SMCR_CONN_PEER_ABORT_WAIT && (data->peer_aborted || data->peer_closed) &&
        !data->abort_due && conn->posts == 0)
        smcr_conn_finish(conn, "both ends have ended it", now_ns);
}

void smcr_abort_received(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    data->peer_aborted = true;
    if (conn->state != SMCR_CONN_PEER_ABORT_WAIT) { /* SMCR-ABT-04; else SMCR-ABT-02, ABT-06 */
        fail(conn, -ECONNRESET, "the peer ended it abnormally");
        reset_tcp(conn);
        owe_abort(conn);
        smcr_conn_set_state(conn, SMCR_CONN_PEER_ABORT_WAIT, "the peer ended it abnormally", now_ns);
        smcr_guard_arm(conn, conn->smcr->config.times.abort_guard_ns, now_ns);
        smcr_conn_push(conn, now_ns);
    }
    end_if_answered(conn, now_ns);
}

void smcr_conn_completed(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->data->app_closed && conn->state != SMCR_CONN_PEER_ABORT_WAIT && !conn->data->close_sent &&
        !conn->data->fin_came)
        smcr_guard_arm(conn, conn->smcr->config.times.close_guard_ns, now_ns); /* what is flushed moves */
    end_if_answered(conn, now_ns);
    smcr_conn_moving(conn, now_ns);
    smcr_conn_push(conn, now_ns);
    smcr_conn_settle(conn, now_ns);
}

void smcr_conn_abort(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_HANDSHAKE) {
        smcr_handshake_abandon(conn, "aborted by the application", now_ns);
        return;
    }
    smcr_conn_reset(conn, -ECONNABORTED, "aborted by the application", now_ns);
    smcr_conn_settle(conn, now_ns);
}

void smcr_conn_kill(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_HANDSHAKE) {
        smcr_handshake_kill(conn, error, cause, now_ns);
        return;
    }
    if (!conn->data)
        return;
    if (conn->state != SMCR_CONN_CLOSED) {
        reset_tcp(conn);
        fail(conn, error, cause);
        smcr_conn_finish(conn, cause, now_ns);
    }
    smcr_cancel(conn->smcr, &conn->timer);
    say_no_more(conn->data); /* SMCR-RMB-20, FOV-16 */
    conn->data->is_quarantined = false;
    smcr_conn_settle(conn, now_ns);
}

/* --- TCP --- */

void smcr_conn_data_tcp_end(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    if (!data || conn->state == SMCR_CONN_CLOSED || conn->state == SMCR_CONN_PEER_ABORT_WAIT)
        return;
    if (how == SMCR_TCP_RST) { /* SMCR-ABT-05 */
        conn->tcp_is_reset = true;
        smcr_conn_reset(conn, -ECONNRESET, "TCP was reset", now_ns);
    } else if (!data->peer_closed) {
        data->fin_came = true;
        smcr_guard_arm(conn, SMCR_FIN_GRACE_NS, now_ns); /* SMCR-CLS-21 */
    }
    smcr_conn_settle(conn, now_ns);
}

/* --- the guard --- */

/* SMCR-RMB-12: the peer never promised to write no more. TEST LINK on every link pushes before it what the
 * peer had posted; a link that does not answer goes down, and with it its writes. */
static void quarantine(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_group *group = conn->group;
    conn->data->is_quarantined = true;
    smcr_arm(conn->smcr, &conn->timer, now_ns + conn->smcr->config.times.test_answer_ns);
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].state == SMCR_LINK_ACTIVE)
            smcr_llc_test_link(&group->links[i], now_ns);
}

static void guard_fired(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_conn *conn = container_of(timer, struct smcr_conn, timer);
    struct smcr_conn_data *data = conn->data;
    if (data->is_quarantined) {
        data->is_quarantined = false;
    } else if (conn->state != SMCR_CONN_PEER_ABORT_WAIT && !data->close_sent) {
        /* the flush stands still, or the FIN had nothing before it */
        smcr_conn_reset(conn, data->fin_came ? -ECONNRESET : -ECONNABORTED,
                        data->fin_came ? "TCP ended but SMC-R did not" : "the peer takes no data", now_ns);
    } else { /* SMCR-CLS-20, ABT-03 */
        fail(conn, -ECONNABORTED, "the peer did not answer the end");
        reset_tcp(conn);
        say_no_more(data);
        smcr_conn_finish(conn, "the peer did not answer the end", now_ns);
        quarantine(conn, now_ns);
        return; /* it rests, or is gone with the last link */
    }
    smcr_conn_settle(conn, now_ns);
}

void smcr_guard_init(struct smcr_conn *conn)
{
    smcr_cancel(conn->smcr, &conn->timer);
    conn->timer.fire = guard_fired;
}

void smcr_guard_arm(struct smcr_conn *conn, uint64_t after_ns, uint64_t now_ns)
{
    smcr_arm(conn->smcr, &conn->timer, now_ns + after_ns);
}
