/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of the handshake: bytes in, messages to the step that waits for them, and the timer. SMCR
 * section 5, SMCR-CLC-05 to CLC-12. */
#include "base/base.h"
#include "smcr/handshake/handshake.h"

#include <errno.h>
#include <stddef.h>

#include "smcr/handshake/flow.h"

static struct smcr_conn *conn_of(struct rdma_timer *timer)
{
    return container_of(timer, struct smcr_conn, timer);
}

static void on_timeout(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_conn *conn = conn_of(timer);
    switch (conn->stage) {
    case SMCR_STAGE_PROPOSAL:
    case SMCR_STAGE_ACCEPT:
    case SMCR_STAGE_CONFIRM: /* SMCR-CLC-12, SMCR-FBK-01 row 14 */
        conn->smcr->counters.clc_timeouts++;
        smcr_handshake_reset(conn, -ETIMEDOUT, "the peer's CLC message did not come in time", now_ns);
        return;
    case SMCR_STAGE_GROUP:
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "the link group was not ready in time", now_ns);
        return;
    case SMCR_STAGE_ACCEPT_RMB:
    case SMCR_STAGE_CONFIRM_RMB:
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "the receive buffer was not ready in time",
                               now_ns);
        return;
    case SMCR_STAGE_DECLINE:
        smcr_handshake_decline(conn, conn->diagnosis, conn->reason, now_ns);
        return;
    case SMCR_STAGE_FIRST_CONTACT: /* its timers are those of LLC */
        return;
    }
}

void smcr_handshake_start(struct smcr_conn *conn, uint64_t now_ns)
{
    conn->timer.fire = on_timeout;
    conn->terms.version = SMCR_CLC_VERSION;
    if (conn->config.role == SMCR_SERVER)
        smcr_handshake_await(conn, SMCR_STAGE_PROPOSAL, conn->smcr->config.times.clc_ns, now_ns);
    else
        smcr_client_propose(conn, now_ns);
}

/* SMCR-SC-06: the peer does not know the group any more that our Accept named. */
static void discard_group(struct smcr_group *group, uint64_t now_ns)
{
    smcr_group_end(group, false, "the peer does not know the link group any more", now_ns);
}

static void take_decline(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_clc_decline decline;
    smcr_clc_parse_decline(smcr_clc_message(&conn->clc), &decline);
    conn->smcr->counters.declines_rx++;
    struct smcr_group *group = conn->group;
    bool is_first = group && group->first == conn;
    if (is_first && group->past_fallback) { /* SMCR-FBK-04 */
        smcr_handshake_reset(conn, -ECONNRESET, "a Decline after the point of no return", now_ns);
        return;
    }
    bool discards = decline.out_of_sync && group && !is_first &&
                    memcmp(group->peer_id.b, decline.peer_id.b, sizeof decline.peer_id.b) == 0;
    const char *words = smcr_clc2_diagnosis_name(decline.diagnosis); /* said only: SMCR-CLC-41 */
    smcr_handshake_fall_back(conn, decline.diagnosis, true, words ? words : "the peer declined", now_ns);
    if (discards)
        discard_group(group, now_ns);
}

/* SMCR-CLC-08, CLC-11: one message may come in each stage, or a Decline in its place; in those where we owe
 * the next message, none. */
static void take_message(struct smcr_conn *conn, uint64_t now_ns)
{
    enum smcr_clc_type type = smcr_clc_type(&conn->clc);
    if (type == SMCR_CLC_DECLINE)
        take_decline(conn, now_ns);
    else if (conn->stage == SMCR_STAGE_PROPOSAL && type == SMCR_CLC_PROPOSAL)
        smcr_server_proposal(conn, now_ns);
    else if (conn->stage == SMCR_STAGE_CONFIRM && type == SMCR_CLC_CONFIRM)
        smcr_server_confirm(conn, now_ns);
    else if (conn->stage == SMCR_STAGE_ACCEPT && type == SMCR_CLC_ACCEPT)
        smcr_client_accept(conn, now_ns);
    else
        smcr_handshake_broken(conn, "an unexpected CLC message", now_ns);
}

static bool we_owe_a_message(const struct smcr_conn *conn)
{
    switch (conn->stage) {
    case SMCR_STAGE_GROUP:
    case SMCR_STAGE_ACCEPT_RMB:
    case SMCR_STAGE_CONFIRM_RMB:
        return true;
    case SMCR_STAGE_PROPOSAL:
    case SMCR_STAGE_CONFIRM:
    case SMCR_STAGE_ACCEPT:
    case SMCR_STAGE_FIRST_CONTACT:
    case SMCR_STAGE_DECLINE:
        return false;
    }
    return false;
}

/* One message at the most, or what there is of it. */
static size_t take_bytes(struct smcr_conn *conn, const uint8_t *bytes, size_t len_bytes, uint64_t now_ns)
{
    struct smcr *smcr = conn->smcr;
    if (we_owe_a_message(conn)) {
        smcr_handshake_broken(conn, "the peer did not wait for the answer to its CLC message", now_ns);
        return len_bytes;
    }
    size_t taken;
    switch (smcr_clc_read(&conn->clc, &smcr->mem, bytes, len_bytes, &taken)) {
    case SMCR_CLC_READ_MORE:
        break;
    case SMCR_CLC_READ_BROKEN:
        smcr_handshake_broken(conn, "the peer sent no sound CLC message", now_ns);
        break;
    case SMCR_CLC_READ_NO_MEMORY:
        smcr_handshake_reset(conn, -ENOMEM, "no memory for a CLC message", now_ns);
        break;
    case SMCR_CLC_READ_DONE: {
        struct smcr_trace trace = {
            .type = SMCR_TRACE_CLC_RX,
            .group = conn->group,
            .conn = conn,
            .message = smcr_clc_message(&conn->clc),
            .len_bytes = conn->clc.len_bytes,
        };
        smcr_trace(smcr, trace, now_ns);
        conn->clc_came_ns = now_ns;
        take_message(conn, now_ns);
        break;
    }
    }
    return taken;
}

size_t smcr_handshake_input(struct smcr_conn *conn, const uint8_t *bytes, size_t len_bytes, uint64_t now_ns)
{
    size_t taken = 0;
    while (taken < len_bytes && conn->state == SMCR_CONN_HANDSHAKE)
        taken += take_bytes(conn, bytes + taken, len_bytes - taken, now_ns);
    return taken;
}

/* A peer for whom the first contact is over may write and close at once: its FIN comes by TCP, and overtakes
 * what it said last on a link. So it counts only when the contact has succeeded; one that does not is ended
 * by its timers. */
void smcr_handshake_tcp_end(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns)
{
    if (how == SMCR_TCP_FIN && conn->stage == SMCR_STAGE_FIRST_CONTACT) {
        conn->tcp = SMCR_TCP_FIN_CAME;
        return;
    }
    smcr_handshake_reset(conn, -ECONNRESET,
                         how == SMCR_TCP_FIN ? "the peer closed during the handshake"
                                             : "the TCP connection was reset during the handshake",
                         now_ns);
}

void smcr_handshake_abandon(struct smcr_conn *conn, const char *cause, uint64_t now_ns)
{
    smcr_handshake_reset(conn, -ECONNABORTED, cause, now_ns);
}

void smcr_handshake_refused(struct smcr_conn *conn, uint64_t now_ns)
{
    int error = conn->error;
    const char *cause = conn->reason;
    if (conn->state != SMCR_CONN_HANDSHAKE)
        return;
    conn->error = 0;
    if (conn->stage == SMCR_STAGE_ACCEPT_RMB || conn->stage == SMCR_STAGE_CONFIRM_RMB)
        smcr_handshake_decline(conn, SMCR_DIAG_NO_ACTIVE_LINK, cause, now_ns);
    else
        smcr_handshake_reset(conn, error, cause, now_ns);
}

void smcr_handshake_rmb(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->state != SMCR_CONN_HANDSHAKE)
        return;
    if (!conn->rmb)
        smcr_handshake_decline(conn, SMCR_DIAG_RTOKEN, "the peer did not confirm the receive buffer", now_ns);
    else if (conn->stage == SMCR_STAGE_ACCEPT_RMB)
        smcr_server_accept(conn, now_ns);
    else if (conn->stage == SMCR_STAGE_CONFIRM_RMB)
        smcr_client_confirm(conn, now_ns);
}

void smcr_handshake_resume(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->state != SMCR_CONN_HANDSHAKE || conn->stage != SMCR_STAGE_GROUP)
        return;
    if (conn->config.role == SMCR_SERVER)
        smcr_server_proposal(conn, now_ns);
    else
        smcr_client_accept(conn, now_ns);
}
