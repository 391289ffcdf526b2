/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of a connection: how it comes and goes, its TCP connection, what the application is told. */
#include "smcr/conn/conn.h"

#include <errno.h>
#include <string.h>

#include "smcr/conn/data.h"
#include "smcr/handshake/handshake.h"

#define DEFAULT_BUFFER_BYTES (64u << 10)
#define MAX_SNDBUF_BYTES     (16u << 20) /* more is cut: registered memory of each connection */

const char *smcr_conn_state_name(enum smcr_conn_state state)
{
    static const char *const names[] = {
#define NAME(name) #name,
        SMCR_CONN_STATES(NAME)
#undef NAME
    };
    return names[state];
}

void smcr_conn_set_state(struct smcr_conn *conn, enum smcr_conn_state state, const char *cause,
                         uint64_t now_ns)
{
    struct smcr_trace trace = {
        .type = SMCR_TRACE_CONN,
        .group = conn->group,
        .link = conn->link,
        .conn = conn,
        .from = smcr_conn_state_name(conn->state),
        .to = smcr_conn_state_name(state),
        .cause = cause,
    };
    conn->state = state;
    smcr_trace(conn->smcr, trace, now_ns);
}

/* --- what happened to it --- */

void smcr_conn_event(struct smcr_conn *conn, unsigned events)
{
    struct smcr *smcr = conn->smcr;
    if (!conn->owned)
        events &= conn->linger ? SMCR_EVENT_CLOSED : 0;
    if (!events)
        return;
    if (!conn->events) {
        conn->changed_next = NULL;
        conn->changed_prev = smcr->changed_tail;
        *smcr->changed_tail = conn;
        smcr->changed_tail = &conn->changed_next;
    }
    conn->events |= events;
}

static void forget_events(struct smcr_conn *conn)
{
    if (!conn->events)
        return;
    conn->events = 0;
    *conn->changed_prev = conn->changed_next;
    if (conn->changed_next)
        conn->changed_next->changed_prev = conn->changed_prev;
    else
        conn->smcr->changed_tail = conn->changed_prev;
}

struct smcr_conn *smcr_next_event(struct smcr *smcr, unsigned *events)
{
    struct smcr_conn *conn = smcr->changed_head;
    *events = conn ? conn->events : 0;
    if (conn)
        forget_events(conn);
    return conn;
}

/* --- how it comes and goes --- */

static bool config_is_sound(const struct smcr_conn_config *config)
{
    return (config->role == SMCR_CLIENT || config->role == SMCR_SERVER) &&
           config->num_networks <= SMCR_MAX_NETWORKS && config->tcp.send && config->tcp.reset &&
           memchr(config->pnetid, 0, sizeof config->pnetid) &&
           nornic_addr_is_v4(&config->local) == nornic_addr_is_v4(&config->remote);
}

int smcr_conn_create(struct smcr *smcr, const struct smcr_conn_config *config, uint64_t now_ns,
                     struct smcr_conn **out)
{
    if (!config_is_sound(config))
        return -EINVAL;
    if (smcr->num_conns == smcr->config.max_conns + SMCR_SURPLUS_CONNS)
        return -ENOSPC;
    struct smcr_conn *conn = smcr->mem.alloc(smcr->mem.ctx, sizeof *conn);
    if (!conn)
        return -ENOMEM;
    conn->smcr = smcr;
    conn->config = *config;
    conn->is_surplus = smcr->num_conns >= smcr->config.max_conns;
    if (!conn->config.rcvbuf_bytes)
        conn->config.rcvbuf_bytes = DEFAULT_BUFFER_BYTES;
    if (!conn->config.sndbuf_bytes)
        conn->config.sndbuf_bytes = DEFAULT_BUFFER_BYTES;
    if (conn->config.sndbuf_bytes > MAX_SNDBUF_BYTES)
        conn->config.sndbuf_bytes = MAX_SNDBUF_BYTES;
    conn->owned = true;
    conn->reason = "";
    conn->all_next = smcr->conns;
    conn->all_prev = &smcr->conns;
    if (smcr->conns)
        smcr->conns->all_prev = &conn->all_next;
    smcr->conns = conn;
    smcr->num_conns++;
    *out = conn;
    smcr_handshake_start(conn, now_ns);
    return 0;
}

void smcr_conn_release(struct smcr_conn *conn, uint64_t now_ns)
{
    (void)now_ns;
    struct smcr *smcr = conn->smcr;
    if (conn->owned || conn->linger || !smcr_conn_is_over(conn))
        return;
    forget_events(conn);
    smcr_cancel(smcr, &conn->timer);
    *conn->all_prev = conn->all_next;
    if (conn->all_next)
        conn->all_next->all_prev = conn->all_prev;
    smcr->num_conns--;
    smcr->mem.free(smcr->mem.ctx, conn);
}

static bool is_ended(const struct smcr_conn *conn)
{
    return conn->state == SMCR_CONN_FALLBACK || conn->state == SMCR_CONN_CLOSED;
}

void smcr_conn_destroy(struct smcr_conn *conn, bool linger, uint64_t now_ns)
{
    bool lingers = conn->owned && linger;
    conn->owned = false;
    conn->linger = lingers;
    forget_events(conn);
    if (conn->state == SMCR_CONN_HANDSHAKE)
        smcr_handshake_abandon(conn, "closed by the application", now_ns);
    if (!is_ended(conn)) {
        smcr_conn_close(conn, now_ns); /* frees it when that is over, unless it lingers */
        return;
    }
    if (lingers && smcr_conn_is_over(conn))
        smcr_conn_event(conn, SMCR_EVENT_CLOSED); /* else that comes when its last posts have ended */
    smcr_conn_release(conn, now_ns);
}

void *smcr_conn_ctx(const struct smcr_conn *conn)
{
    return conn->config.ctx;
}

/* --- its TCP connection --- */

size_t smcr_conn_tcp_input(struct smcr_conn *conn, const uint8_t *bytes, size_t len_bytes, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_HANDSHAKE)
        return smcr_handshake_input(conn, bytes, len_bytes, now_ns);
    if (conn->state == SMCR_CONN_FALLBACK)
        return smcr_handshake_crossed(conn, bytes, len_bytes);
    if (len_bytes > 0 && !is_ended(conn)) /* SMCR-KAL-05, FBK-04 */
        smcr_conn_reset(conn, -ECONNRESET, "data on the TCP connection after the switch to RDMA", now_ns);
    return len_bytes;
}

void smcr_conn_tcp_end(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_HANDSHAKE)
        smcr_handshake_tcp_end(conn, how, now_ns);
    else if (!is_ended(conn))
        smcr_conn_data_tcp_end(conn, how, now_ns);
}

/* --- what it is now --- */

void smcr_conn_status(const struct smcr_conn *conn, struct smcr_conn_status *out)
{
    *out = (struct smcr_conn_status){
        .error = conn->error,
        .established = conn->state != SMCR_CONN_HANDSHAKE && !is_ended(conn),
        .fallback = conn->state == SMCR_CONN_FALLBACK,
        .closed = conn->state == SMCR_CONN_CLOSED,
        .diagnosis = conn->diagnosis,
        .declined_by_peer = conn->declined_by_peer,
        .may_cross = conn->may_cross,
        .reason = conn->reason,
    };
    memcpy(out->peer_id, conn->peer_id.b, sizeof out->peer_id);
    if (conn->state != SMCR_CONN_HANDSHAKE && conn->state != SMCR_CONN_FALLBACK)
        smcr_conn_data_status(conn, out);
}
