/* SPDX-License-Identifier: BSD-2-Clause */
/* How a handshake ends: in SMC-R, in TCP (SMCR section 8), or with RST; and what that means for a link
 * group in its first contact and for those that wait for it (SMCR-FC-21, FC-22). */
#include <errno.h>
#include <string.h>

#include "smcr/conn/data.h"
#include "smcr/handshake/flow.h"

#define DECLINE_HOLD_PART 5 /* of T1..T4 */

/* Connections that wait for a first contact of this peer's go on after this step. */
static void settle_waiting(struct smcr *smcr, enum smcr_role role)
{
    for (struct smcr_conn *conn = smcr->waiting; conn; conn = conn->contact_next) {
        if (conn->config.role == role)
            smcr_conn_effect(conn, SMCR_CONN_CONTACT);
    }
}

/* Takes everything from the connection. The group of its own first contact goes with it: SMCR-FBK-03. */
static void leave(struct smcr_conn *conn, const char *cause, uint64_t now_ns)
{
    struct smcr *smcr = conn->smcr;
    struct smcr_group *group = conn->group;
    smcr_cancel(smcr, &conn->timer);
    smcr_handshake_stop_waiting(conn);
    smcr_clc_reader_clear(&conn->clc, &smcr->mem);
    conn->link_accepted = NULL;
    bool is_first = group && group->first == conn;
    if (is_first)
        group->first = NULL;
    smcr_conn_detach(conn, now_ns);
    if (!is_first)
        return;
    enum smcr_role role = group->role;
    if (group->state != SMCR_GROUP_ENDING)
        smcr_group_end(group, false, cause, now_ns);
    settle_waiting(smcr, role);
}

void smcr_handshake_fall_back(struct smcr_conn *conn, uint32_t diagnosis, bool by_peer, const char *reason,
                              uint64_t now_ns)
{
    leave(conn, reason, now_ns);
    conn->diagnosis = diagnosis;
    if (by_peer)
        conn->declined = SMCR_DECLINED_BY_PEER;
    conn->reason = reason;
    conn->smcr->counters.conns_fallback++;
    smcr_conn_set_state(conn, SMCR_CONN_FALLBACK, reason, now_ns);
    smcr_conn_event(conn, SMCR_EVENT_FALLBACK);
    smcr_conn_effect(conn, SMCR_CONN_RESTS);
}

bool smcr_handshake_tell(struct smcr_conn *conn, const uint8_t *message, size_t len_bytes, uint64_t now_ns)
{
    struct smcr_trace trace = {
        .type = SMCR_TRACE_CLC_TX,
        .group = conn->group,
        .conn = conn,
        .message = message,
        .len_bytes = len_bytes,
    };
    smcr_trace(conn->smcr, trace, now_ns);
    int err = conn->config.tcp.send(conn->config.ctx, message, len_bytes);
    if (err)
        smcr_handshake_reset(conn, err, "the TCP connection broke during the handshake", now_ns);
    return !err;
}

void smcr_handshake_decline(struct smcr_conn *conn, uint32_t diagnosis, const char *reason, uint64_t now_ns)
{
    struct smcr_clc_decline decline = {
        .version = conn->terms.version,
        .out_of_sync = diagnosis == SMCR_DIAG_OUT_OF_SYNC,
        .peer_id = conn->smcr->peer_id,
        .diagnosis = diagnosis,
    };
    uint8_t message[SMCR_DECLINE2_BYTES];
    size_t len_bytes = smcr_clc_build_decline(message, &decline);
    if (!smcr_handshake_tell(conn, message, len_bytes, now_ns))
        return;
    conn->smcr->counters.declines_tx++;
    bool may_cross = conn->stage == SMCR_STAGE_FIRST_CONTACT || conn->stage == SMCR_STAGE_DECLINE;
    conn->declined = may_cross ? SMCR_DECLINED_CROSSING : SMCR_DECLINED_BY_US;
    smcr_handshake_fall_back(conn, diagnosis, false, reason, now_ns);
}

size_t smcr_handshake_crossed(struct smcr_conn *conn, const uint8_t *bytes, size_t len_bytes)
{
    if (conn->declined != SMCR_DECLINED_CROSSING)
        return 0;
    size_t decline_bytes = 0;
    enum smcr_crossed crossed = smcr_crossed_decline(conn->peer_id.b, bytes, len_bytes, &decline_bytes);
    if (crossed != SMCR_CROSSED_MAYBE)
        conn->declined = SMCR_DECLINED_BY_US;
    if (crossed != SMCR_CROSSED_YES)
        return 0;
    conn->smcr->counters.declines_rx++;
    return decline_bytes;
}

void smcr_handshake_reset(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns)
{
    leave(conn, cause, now_ns);
    conn->error = error;
    conn->reason = cause;
    conn->smcr->counters.conns_reset++;
    smcr_conn_reset_tcp(conn);
    smcr_conn_set_state(conn, SMCR_CONN_CLOSED, cause, now_ns);
    smcr_conn_event(conn, SMCR_EVENT_RESET | SMCR_EVENT_CLOSED);
    smcr_conn_effect(conn, SMCR_CONN_RESTS);
}

void smcr_handshake_broken(struct smcr_conn *conn, const char *cause, uint64_t now_ns)
{
    struct smcr_trace trace = {
        .type = SMCR_TRACE_DROP,
        .group = conn->group,
        .conn = conn,
        .message = smcr_clc_message(&conn->clc),
        .len_bytes = conn->clc.len_bytes,
        .cause = cause,
    };
    smcr_trace(conn->smcr, trace, now_ns);
    conn->smcr->counters.clc_malformed++;
    smcr_handshake_reset(conn, -EPROTO, cause, now_ns);
}

void smcr_handshake_succeed(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->clc.len_bytes > 0) { /* whatever it was going to be, it comes too late: SMCR-FBK-04 */
        smcr_handshake_broken(conn, "bytes on the TCP connection after the handshake", now_ns);
        return;
    }
    smcr_handshake_stop_waiting(conn); /* a client's subsequent contact has no further stage */
    smcr_conn_activate(conn, now_ns);
    if (conn->tcp == SMCR_TCP_FIN_CAME)
        smcr_end_tcp(conn, SMCR_TCP_FIN, now_ns); /* SMCR-CLS-21 */
}

/* The client's send failed, so the link is dead, and then the server's failed too: its Decline is on its way
 * (SMCR-FBK-01, rows 6 to 10). Were ours to cross it, both would be read by the applications. The server's
 * comes first, since its message was sent first; ours is for a server whose message was delivered after all,
 * and who waits for the answer. What crosses all the same is caught by smcr_handshake_crossed(). */
static void hold_decline(struct smcr_conn *conn, uint32_t diagnosis, const char *cause, uint64_t now_ns)
{
    leave(conn, cause, now_ns);
    conn->diagnosis = diagnosis;
    conn->reason = cause;
    smcr_handshake_await(conn, SMCR_STAGE_DECLINE,
                         conn->smcr->config.times.first_contact_ns / DECLINE_HOLD_PART, now_ns);
}

/* The connection of the first contact, which may have given up already, and the group with it. */
static void tell_first(struct smcr_conn *conn, const struct smcr_group *group, uint64_t now_ns)
{
    const char *cause = group->contact.cause;
    switch (group->contact.how) {
    case SMCR_CONTACT_OK:
        smcr_handshake_succeed(conn, now_ns);
        settle_waiting(conn->smcr, conn->config.role);
        return;
    case SMCR_CONTACT_DECLINE:
        if (conn->config.role == SMCR_CLIENT)
            hold_decline(conn, group->contact.diagnosis, cause, now_ns);
        else
            smcr_handshake_decline(conn, group->contact.diagnosis, cause, now_ns);
        return;
    case SMCR_CONTACT_RESET:
        smcr_handshake_reset(conn, -ECONNRESET, cause, now_ns);
        return;
    }
}

void smcr_handshake_contact_ended(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_conn *conn = group->first;
    bool is_ok = group->contact.how == SMCR_CONTACT_OK;
    if (is_ok)
        group->first = NULL;
    if (conn)
        tell_first(conn, group, now_ns);
    if (!is_ok)
        smcr_group_end(group, false, group->contact.cause, now_ns);
}
