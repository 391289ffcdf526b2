/* SPDX-License-Identifier: BSD-2-Clause */
/* What a connection of a peer holds. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/peer/peer.h"
#include "cli/node/unreliable.h"
#include "host/events.h"

static int register_memory(struct peer_conn *conn)
{
    const struct peer *peer = conn->peer;
    size_t size = peer->kind->memory_bytes(peer->options);
    conn->memory = calloc(1, size);
    if (!conn->memory)
        return cli_fail("no memory for the messages of a connection, %zu bytes", size);
    host_dev_lock(peer->node.dev);
    int err =
        rdma_mr_reg(peer->pd, conn->memory, size, NORNIC_ACCESS_LOCAL_WRITE | peer->kind->access, &conn->mr);
    host_dev_unlock(peer->node.dev);
    return !err ? CLI_OK : cli_fail("cannot register %zu bytes: %s", size, strerror(-err));
}

static int create_qp(struct peer_conn *conn)
{
    const struct peer *peer = conn->peer;
    struct roce_qp_config config = {
        .type = peer->kind->qp_type,
        .pd = peer->pd,
        .send_cq = peer->cq.cq,
        .recv_cq = peer->cq.cq,
        .caps = {.max_send_wr = peer->max_send_wr,
                 .max_recv_wr = peer->max_recv_wr,
                 .max_send_sge = 1,
                 .max_recv_sge = 1},
        .ctx = conn,
    };
    host_dev_lock(peer->node.dev);
    int err = roce_qp_create(host_dev_engine(peer->node.dev), &config, &conn->qp);
    host_dev_unlock(peer->node.dev);
    return !err ? CLI_OK : cli_fail("cannot create a queue pair: %s", strerror(-err));
}

int peer_conn_open(struct peer_conn *conn)
{
    const struct peer_kind *kind = conn->peer->kind;
    int err = register_memory(conn);
    if (err == CLI_OK)
        err = create_qp(conn);
    /* In INIT, so that it takes receives: the peer's first message may follow its answer at once. */
    if (err == CLI_OK)
        err = kind->qp_type == NORNIC_QPT_UD ? cli_ud_init(&conn->peer->node, conn->qp, NORNIC_CM_QKEY)
                                             : cli_rc_init(&conn->peer->node, conn->qp, kind->access);
    return err == CLI_OK ? kind->prepare(conn) : err;
}

int peer_conn_set_remote(struct peer_conn *conn, const struct nornic_av *av, uint32_t qpn, uint32_t qkey)
{
    host_dev_lock(conn->peer->node.dev);
    int err = roce_ah_create(host_dev_engine(conn->peer->node.dev), conn->peer->pd, av, &conn->ah);
    host_dev_unlock(conn->peer->node.dev);
    conn->remote_qpn = qpn;
    conn->remote_qkey = qkey;
    return !err ? CLI_OK : cli_fail("cannot make an address handle: %s", strerror(-err));
}

void peer_conn_close(struct peer_conn *conn)
{
    struct peer *peer = conn->peer;
    uint32_t index = conn->index;
    if (conn->id)
        host_cm_destroy_id(conn->id);
    if (conn->qp)
        host_qp_destroy(peer->node.dev, conn->qp);
    host_dev_lock(peer->node.dev);
    if (conn->ah)
        roce_ah_destroy(conn->ah);
    if (conn->mr)
        rdma_mr_dereg(conn->mr);
    host_dev_unlock(peer->node.dev);
    free(conn->memory);
    *conn = (struct peer_conn){.peer = peer, .index = index};
}
