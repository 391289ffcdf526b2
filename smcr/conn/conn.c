/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of a connection: how it comes and goes, and what the application is told. */
#include "smcr/conn/conn.h"

#include <errno.h>
#include <string.h>

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
    if (conn->holder != SMCR_HELD)
        events &= conn->holder == SMCR_LINGERS ? SMCR_EVENT_CLOSED : 0;
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

int smcr_conn_make(struct smcr *smcr, const struct smcr_conn_config *config, struct smcr_conn **out)
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
    conn->effects.of = SMCR_OF_CONN;
    conn->contact =
        smcr->num_conns >= smcr->config.max_conns ? SMCR_CONTACT_SURPLUS : SMCR_CONTACT_SUBSEQUENT;
    if (!conn->config.rcvbuf_bytes)
        conn->config.rcvbuf_bytes = DEFAULT_BUFFER_BYTES;
    if (!conn->config.sndbuf_bytes)
        conn->config.sndbuf_bytes = DEFAULT_BUFFER_BYTES;
    if (conn->config.sndbuf_bytes > MAX_SNDBUF_BYTES)
        conn->config.sndbuf_bytes = MAX_SNDBUF_BYTES;
    conn->reason = "";
    conn->all_next = smcr->conns;
    conn->all_prev = &smcr->conns;
    if (smcr->conns)
        smcr->conns->all_prev = &conn->all_next;
    smcr->conns = conn;
    smcr->num_conns++;
    *out = conn;
    return 0;
}

void smcr_conn_free(struct smcr_conn *conn)
{
    struct smcr *smcr = conn->smcr;
    forget_events(conn);
    smcr_effect_take(smcr, &conn->effects);
    smcr_cancel(smcr, &conn->timer);
    *conn->all_prev = conn->all_next;
    if (conn->all_next)
        conn->all_next->all_prev = conn->all_prev;
    smcr->num_conns--;
    smcr->mem.free(smcr->mem.ctx, conn);
}

void smcr_conn_let_go(struct smcr_conn *conn, bool lingers)
{
    conn->holder = conn->holder == SMCR_HELD && lingers ? SMCR_LINGERS : SMCR_GIVEN_BACK;
    forget_events(conn);
    if (conn->holder == SMCR_LINGERS && smcr_conn_is_over(conn))
        smcr_conn_event(conn, SMCR_EVENT_CLOSED); /* else that comes when its last posts have ended */
    smcr_conn_effect(conn, SMCR_CONN_RESTS);
}

void smcr_conn_reset_tcp(struct smcr_conn *conn)
{
    if (conn->tcp == SMCR_TCP_IS_RESET)
        return;
    conn->tcp = SMCR_TCP_IS_RESET;
    smcr_conn_effect(conn, SMCR_CONN_RST);
}

void *smcr_conn_ctx(const struct smcr_conn *conn)
{
    return conn->config.ctx;
}
