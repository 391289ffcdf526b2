/* SPDX-License-Identifier: BSD-2-Clause */
/* What the connection manager tells a peer. */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/node/cm.h"
#include "cli/peer/peer.h"
#include "roce/cm/mad.h"

static struct peer_conn *free_conn(struct peer *peer)
{
    return peer->opened < peer->options->connections ? &peer->conns[peer->opened++] : NULL;
}

static int on_established(void *ctx, const struct nornic_cm_event *event)
{
    struct peer_conn *conn = nornic_cm_id_ctx(event->id);
    (void)ctx;
    conn->state = PEER_CONN_ESTABLISHED;
    if (conn->peer->kind->qp_type != NORNIC_QPT_UD)
        return CLI_OK;
    return peer_conn_set_remote(conn, &event->av, event->qpn, event->qkey);
}

static int on_request(void *ctx, const struct nornic_cm_event *event, bool *refused)
{
    struct peer *peer = ctx;
    struct peer_conn *conn = free_conn(peer);
    *refused = conn == NULL; /* one too many */
    if (!conn)
        return CLI_OK;
    conn->id = event->id;
    nornic_cm_id_set_ctx(conn->id, conn);
    int err = peer_conn_open(conn);
    if (err != CLI_OK)
        return err;
    err = nornic_cm_id_accept(conn->id, conn->qp, &peer->kind->param);
    if (err)
        return cli_fail("cannot accept a connection: %s", strerror(-err));
    /* Nobody says more about a datagram service. */
    conn->state = peer->kind->qp_type == NORNIC_QPT_UD ? PEER_CONN_ESTABLISHED : PEER_CONN_OPENING;
    return CLI_OK;
}

static int on_route(void *ctx, struct nornic_cm_id *id)
{
    struct peer_conn *conn = nornic_cm_id_ctx(id);
    (void)ctx;
    int err = peer_conn_open(conn);
    if (err != CLI_OK)
        return err;
    err = nornic_cm_id_connect(id, conn->qp, &conn->peer->kind->param);
    return !err ? CLI_OK : cli_fail("cannot connect: %s", strerror(-err));
}

static int on_disconnected(void *ctx, const struct nornic_cm_event *event)
{
    struct peer_conn *conn = nornic_cm_id_ctx(event->id);
    (void)ctx;
    conn->state = PEER_CONN_CLOSED;
    nornic_cm_id_disconnect(conn->id); /* answers the peer; -EINVAL where this side began */
    return CLI_OK;
}

static const char *reason_words(int reason)
{
    switch (reason) {
#define REASON_CASE_(name, value, words) \
    case value:                          \
        return words;
        ROCE_CM_REJ_REASONS(REASON_CASE_)
#undef REASON_CASE_
    }
    return "unknown reason";
}

static int on_failure(void *ctx, const struct nornic_cm_event *event)
{
    const struct peer *peer = ctx;
    const char *host = peer->options->host;
    if (!host)
        return cli_negative("a client's connection failed (%s, %d)", nornic_cm_event_name(event->type),
                            event->status);
    if (event->type == NORNIC_CM_EVENT_REJECTED && event->status == ROCE_CM_REJ_INVALID_SERVICE_ID)
        return cli_negative("nothing listens on service port %u of %s: start the server there first",
                            peer->options->service_port, host);
    if (event->type == NORNIC_CM_EVENT_REJECTED)
        return cli_negative("%s refuses the connection: %s", host, reason_words(event->status));
    if (event->type == NORNIC_CM_EVENT_UNREACHABLE && event->status > 0)
        return cli_negative("%s does not offer service port %u (status %d)", host,
                            peer->options->service_port, event->status);
    if (event->why.text[0])
        return cli_negative("%s: %s", host, event->why.text);
    return cli_negative("%s does not answer: is RDMA up there (rdma link)?", host);
}

static const struct cli_cm_ops ops = {
    .on_route = on_route,
    .on_request = on_request,
    .on_established = on_established,
    .on_disconnected = on_disconnected,
    .on_failure = on_failure,
};

int peer_handle_events(struct peer *peer, bool *did)
{
    return cli_cm_handle_events(peer->cm, &peer->node, &ops, peer, did);
}
