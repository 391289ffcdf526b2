/* SPDX-License-Identifier: BSD-2-Clause */
/* What the connection manager tells a peer. */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/peer/peer.h"
#include "roce/cm/mad.h"

static struct peer_conn *free_conn(struct peer *peer)
{
    return peer->opened < peer->options->connections ? &peer->conns[peer->opened++] : NULL;
}

/* A connection stands. */
static int established(struct peer_conn *conn, const struct nornic_cm_event *event)
{
    conn->state = PEER_CONN_ESTABLISHED;
    if (conn->peer->kind->qp_type != NORNIC_QPT_UD)
        return CLI_OK;
    return peer_conn_set_remote(conn, &event->av, event->qpn, event->qkey);
}

/* `*refused`: it was one too many. */
static int on_request(struct peer *peer, const struct nornic_cm_event *event, bool *refused)
{
    struct peer_conn *conn = free_conn(peer);
    *refused = conn == NULL;
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

static int on_route(struct peer_conn *conn)
{
    int err = peer_conn_open(conn);
    if (err != CLI_OK)
        return err;
    err = nornic_cm_id_connect(conn->id, conn->qp, &conn->peer->kind->param);
    return !err ? CLI_OK : cli_fail("cannot connect: %s", strerror(-err));
}

static int on_disconnected(struct peer_conn *conn)
{
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

static int on_failure(const struct peer *peer, const struct nornic_cm_event *event)
{
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

/* `*gone`: the event's id is to be destroyed once the event is acknowledged. */
static int on_event(struct peer *peer, const struct nornic_cm_event *event, bool *gone)
{
    struct peer_conn *conn = nornic_cm_id_ctx(event->id);
    switch (event->type) {
    case NORNIC_CM_EVENT_ADDR_RESOLVED:
        return nornic_cm_id_resolve_route(event->id) == 0 ? CLI_OK : cli_fail("cannot resolve the route");
    case NORNIC_CM_EVENT_ROUTE_RESOLVED:
        return on_route(conn);
    case NORNIC_CM_EVENT_ADDR_ERROR:
        return cli_fail("%s", event->why.text);
    case NORNIC_CM_EVENT_CONNECT_REQUEST:
        return on_request(peer, event, gone);
    case NORNIC_CM_EVENT_ESTABLISHED:
        return established(conn, event);
    case NORNIC_CM_EVENT_DISCONNECTED:
        return on_disconnected(conn);
    case NORNIC_CM_EVENT_REJECTED:
    case NORNIC_CM_EVENT_UNREACHABLE:
    case NORNIC_CM_EVENT_CONNECT_ERROR:
    case NORNIC_CM_EVENT_ROUTE_ERROR:
        return on_failure(peer, event);
    case NORNIC_CM_EVENT_DEVICE_REMOVAL:
        return cli_fail("the interface of port %s is gone", cli_node_port_name(&peer->node));
    case NORNIC_CM_EVENT_CONNECT_RESPONSE:
    case NORNIC_CM_EVENT_MULTICAST_JOIN:
    case NORNIC_CM_EVENT_MULTICAST_ERROR:
    case NORNIC_CM_EVENT_ADDR_CHANGE:
    case NORNIC_CM_EVENT_TIMEWAIT_EXIT:
        break;
    }
    return CLI_OK;
}

int peer_handle_events(struct peer *peer, bool *did)
{
    struct nornic_cm_event *event;
    int err = CLI_OK;
    while (err == CLI_OK && nornic_cm_get_event(peer->cm, &event, 0) == 0) {
        bool gone = false;
        struct nornic_cm_id *id = event->id;
        err = on_event(peer, event, &gone);
        nornic_cm_ack_event(event);
        if (gone)
            nornic_cm_id_destroy(id);
        *did = true;
    }
    return err;
}
