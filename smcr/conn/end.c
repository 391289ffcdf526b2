/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a connection: in order (done writing, closed), abnormally, and by TCP; and the guard over peers
 * that never answer. SMCR section 16. */
#include <errno.h>

#include "base/base.h"
#include "net/port.h"
#include "smcr/conn/data.h"

static void arm_guard(struct smcr_conn *conn, enum smcr_guard guard, uint64_t after_ns, uint64_t now_ns)
{
    conn->data->guard = guard;
    smcr_arm(conn->smcr, &conn->timer, now_ns + after_ns);
}

/* --- abnormally --- */

/* The application learns of it; what it has not read and what was not sent is gone (SMCR-ABT-04). */
static void fail(struct smcr_conn *conn, int error, const char *cause)
{
    struct smcr_conn_data *data = conn->data;
    data->tx.head = data->tx.sent;
    data->tx.num_urgent = 0;
    data->cork_at_ns = data->stale_at_ns = data->keepalive_at_ns = NET_TIME_NONE;
    if (conn->error)
        return;
    conn->error = error;
    conn->reason = cause;
    conn->smcr->counters.conns_reset++;
    smcr_conn_event(conn, SMCR_EVENT_RESET | SMCR_EVENT_READABLE | SMCR_EVENT_WRITABLE);
}

/* TCP ends with RST. A leaves unless C did: then the guard and TCP end it (SMCR-ABT-08). */
static void abort_conn(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    fail(conn, error, cause);
    smcr_conn_reset_tcp(conn); /* SMCR-ABT-01 */
    if (data->said < SMCR_SAID_CLOSE)
        data->said = SMCR_OWES_ABORT;
    else
        data->tx.recovery = SMCR_RECOVERED;
    smcr_conn_set_state(conn, SMCR_CONN_PEER_ABORT_WAIT, cause, now_ns);
    arm_guard(conn, SMCR_GUARD_ABORT, conn->smcr->config.times.abort_guard_ns, now_ns); /* SMCR-ABT-03 */
    smcr_tx_push(conn, now_ns);
}

void smcr_end_reset(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns)
{
    if (conn->data && conn->state != SMCR_CONN_PEER_ABORT_WAIT && conn->state != SMCR_CONN_CLOSED)
        abort_conn(conn, error, cause, now_ns);
}

void smcr_end_peer_aborted(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    if (data->heard < SMCR_HEARD_ABORT)
        data->heard = SMCR_HEARD_ABORT;
    if (conn->state != SMCR_CONN_PEER_ABORT_WAIT) /* SMCR-ABT-04; else SMCR-ABT-02, ABT-06 */
        abort_conn(conn, -ECONNRESET, "the peer ended it abnormally", now_ns);
    smcr_conn_effect(conn, SMCR_CONN_RESTS);
}

/* The peer has promised to write no more: nothing keeps the RMBE but our own last word. */
void smcr_end_rests(struct smcr_conn *conn, uint64_t now_ns)
{
    const struct smcr_conn_data *data = conn->data;
    if (conn->state == SMCR_CONN_PEER_ABORT_WAIT && data->heard >= SMCR_HEARD_ABORT &&
        data->said != SMCR_OWES_ABORT && conn->posts == 0)
        smcr_conn_finish(conn, "both ends have ended it", now_ns);
}

void smcr_end_kill(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_HANDSHAKE) {
        conn->error = error;
        conn->reason = cause;
        smcr_conn_effect(conn, SMCR_CONN_REFUSED);
        return;
    }
    if (!conn->data)
        return;
    if (conn->state != SMCR_CONN_CLOSED) {
        smcr_conn_reset_tcp(conn);
        fail(conn, error, cause);
        smcr_conn_finish(conn, cause, now_ns);
    }
    smcr_cancel(conn->smcr, &conn->timer);
    conn->data->guard = SMCR_GUARD_NONE;
    conn->data->said = SMCR_SILENCED; /* SMCR-RMB-20, FOV-16 */
    conn->data->tx.recovery = SMCR_RECOVERED;
    smcr_conn_effect(conn, SMCR_CONN_RESTS);
}

/* --- in order --- */

void smcr_end_shutdown(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    if (!data || conn->state == SMCR_CONN_HANDSHAKE || data->app != SMCR_APP_WRITES || conn->error)
        return;
    data->app = SMCR_APP_SHUT;
    smcr_tx_push(conn, now_ns);
}

void smcr_end_close(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    if (!data || conn->state == SMCR_CONN_PEER_ABORT_WAIT || conn->state == SMCR_CONN_CLOSED)
        return;
    data->app = SMCR_APP_CLOSED;
    if (smcr_rx_available(conn) > 0 && data->heard != SMCR_HEARD_CLOSE) { /* SMCR-CLS-02 */
        smcr_end_reset(conn, -ECONNABORTED, "closed with unread data", now_ns);
    } else {
        arm_guard(conn, SMCR_GUARD_CLOSE, conn->smcr->config.times.close_guard_ns, now_ns); /* SMCR-CLS-20 */
        smcr_tx_push(conn, now_ns);
    }
}

/* The end of the peer's stream: SMCR-CLS-06, CLS-11. */
static void hear(struct smcr_conn *conn, enum smcr_heard heard)
{
    if (conn->data->heard == SMCR_HEARD_NOTHING)
        smcr_conn_event(conn, SMCR_EVENT_READABLE);
    conn->data->heard = heard;
}

/* In version 2 a peer that ends its direction ends that of TCP with it, as Linux does in shutdown(): such a
 * FIN is explained by D, whichever comes first, and ours goes on for as long as it likes. */
static bool is_half_close(const struct smcr_conn *conn)
{
    return conn->group->version == SMCR_CLC2_VERSION && conn->data->heard == SMCR_HEARD_DONE;
}

static void forget_fin(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    conn->tcp = SMCR_TCP_RUNS;
    smcr_cancel(conn->smcr, &conn->timer);
    data->guard = SMCR_GUARD_NONE;
    if (data->app == SMCR_APP_CLOSED)
        arm_guard(conn, SMCR_GUARD_CLOSE, conn->smcr->config.times.close_guard_ns, now_ns);
}

void smcr_end_peer_done(struct smcr_conn *conn, uint64_t now_ns)
{
    hear(conn, SMCR_HEARD_DONE);
    if (is_half_close(conn) && conn->data->guard == SMCR_GUARD_FIN)
        forget_fin(conn, now_ns);
    smcr_conn_end_step(conn, SMCR_PEER_DONE, now_ns);
}

void smcr_end_peer_closed(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    hear(conn, SMCR_HEARD_CLOSE);
    if (data->app != SMCR_APP_CLOSED) { /* what TCP's FIN was waiting for */
        smcr_cancel(conn->smcr, &conn->timer);
        data->guard = SMCR_GUARD_NONE;
    }
    if (data->tx.head > data->tx.sent) /* SMCR-CLS-07 */
        smcr_end_reset(conn, -ECONNRESET, "the peer closed before it read everything", now_ns);
    else
        smcr_conn_end_step(conn, data->said == SMCR_SAID_CLOSE ? SMCR_PEER_LAST_CLOSE : SMCR_PEER_CLOSE,
                           now_ns);
}

/* Whether the last CDC of ours is still to arrive: it is sent again if its link fails (SMCR-FOV-10). */
static bool has_unacked_final(const struct smcr_conn *conn)
{
    const struct smcr_conn_data *data = conn->data;
    return conn->link && (data->said == SMCR_SAID_CLOSE || data->said == SMCR_SAID_ABORT) &&
           data->tx.seq != data->tx.completed_seq;
}

bool smcr_end_is_complete(const struct smcr_conn *conn)
{
    return conn->state == SMCR_CONN_CLOSED && conn->data && conn->posts == 0 &&
           conn->data->guard != SMCR_GUARD_QUARANTINE && !has_unacked_final(conn);
}

/* --- TCP --- */

void smcr_end_tcp(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns)
{
    if (!conn->data || conn->state == SMCR_CONN_CLOSED || conn->state == SMCR_CONN_PEER_ABORT_WAIT)
        return;
    if (how == SMCR_TCP_RST) { /* SMCR-ABT-05 */
        conn->tcp = SMCR_TCP_IS_RESET;
        smcr_end_reset(conn, -ECONNRESET, "TCP was reset", now_ns);
    } else if (conn->data->heard != SMCR_HEARD_CLOSE && !is_half_close(conn)) {
        conn->tcp = SMCR_TCP_FIN_CAME;
        arm_guard(conn, SMCR_GUARD_FIN, SMCR_FIN_GRACE_NS, now_ns); /* SMCR-CLS-21 */
    }
}

/* --- the guard --- */

/* SMCR-RMB-12: the peer never promised to write no more. TEST LINK on every link pushes before it what the
 * peer had posted; a link that does not answer goes down, and with it its writes. */
static void quarantine(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_group *group = conn->group;
    arm_guard(conn, SMCR_GUARD_QUARANTINE, conn->smcr->config.times.test_answer_ns, now_ns);
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].state == SMCR_LINK_ACTIVE)
            smcr_link_effect(&group->links[i], SMCR_LINK_TEST);
}

/* The timer is not moved by each delivery: it finds out here whether what is left still gets on. */
static bool gets_on(struct smcr_conn *conn, uint64_t now_ns)
{
    const struct smcr_conn_data *data = conn->data;
    uint64_t due_ns = data->tx.delivered_ns + conn->smcr->config.times.close_guard_ns;
    if (data->guard != SMCR_GUARD_CLOSE || conn->tcp == SMCR_TCP_FIN_CAME || due_ns <= now_ns)
        return false;
    arm_guard(conn, SMCR_GUARD_CLOSE, due_ns - now_ns, now_ns);
    return true;
}

static void guard_fired(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_conn *conn = container_of(timer, struct smcr_conn, timer);
    struct smcr_conn_data *data = conn->data;
    if (gets_on(conn, now_ns))
        return;
    if (data->guard == SMCR_GUARD_QUARANTINE) {
        data->guard = SMCR_GUARD_NONE;
        smcr_conn_effect(conn, SMCR_CONN_RESTS);
    } else if (conn->state != SMCR_CONN_PEER_ABORT_WAIT && data->said != SMCR_SAID_CLOSE) {
        /* the flush stands still, or the FIN had nothing before it */
        bool is_fin = conn->tcp == SMCR_TCP_FIN_CAME;
        smcr_end_reset(conn, is_fin ? -ECONNRESET : -ECONNABORTED,
                       is_fin ? "TCP ended but SMC-R did not" : "the peer takes no data", now_ns);
    } else { /* SMCR-CLS-20, ABT-03 */
        fail(conn, -ECONNABORTED, "the peer did not answer the end");
        smcr_conn_reset_tcp(conn);
        data->said = SMCR_SILENCED;
        data->tx.recovery = SMCR_RECOVERED;
        smcr_conn_finish(conn, "the peer did not answer the end", now_ns);
        quarantine(conn, now_ns);
    }
}

void smcr_guard_init(struct smcr_conn *conn)
{
    smcr_cancel(conn->smcr, &conn->timer);
    conn->timer.fire = guard_fired;
}
