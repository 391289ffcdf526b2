/* SPDX-License-Identifier: BSD-2-Clause */
/* What a connection of a peer holds. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/peer/peer.h"

static int register_memory(struct peer_conn *conn)
{
    const struct peer *peer = conn->peer;
    size_t size = peer->kind->memory_bytes(peer->options);
    conn->memory = calloc(1, size);
    if (!conn->memory)
        return cli_fail("no memory for the messages of a connection, %zu bytes", size);
    int err = nornic_mr_reg(peer->pd, conn->memory, size, NORNIC_ACCESS_LOCAL_WRITE | peer->kind->access,
                            &conn->mr);
    return !err ? CLI_OK : cli_fail("cannot register %zu bytes: %s", size, strerror(-err));
}

static int create_qp(struct peer_conn *conn)
{
    const struct peer *peer = conn->peer;
    const struct nornic_qp_config config = {
        NORNIC_INIT(config),
        .type = peer->kind->qp_type,
        .pd = peer->pd,
        .send_cq = peer->cq,
        .recv_cq = peer->cq,
        .caps = {.max_send_wr = peer->max_send_wr,
                 .max_recv_wr = peer->max_recv_wr,
                 .max_send_sge = 1,
                 .max_recv_sge = 1},
        .ctx = conn,
    };
    int err = nornic_qp_create(peer->node.api, &config, &conn->qp);
    return !err ? CLI_OK : cli_fail("cannot create a queue pair: %s", strerror(-err));
}

int peer_conn_open(struct peer_conn *conn)
{
    int err = register_memory(conn);
    if (err == CLI_OK)
        err = create_qp(conn);
    if (err != CLI_OK)
        return err;
    /* So that it takes receives: the peer's first message may follow its answer at once. */
    int prepare_err = nornic_cm_id_prepare(conn->id, conn->qp);
    return !prepare_err ? conn->peer->kind->prepare(conn)
                        : cli_fail("cannot make a queue pair ready: %s", strerror(-prepare_err));
}

int peer_conn_set_remote(struct peer_conn *conn, const struct nornic_av *av, uint32_t qpn, uint32_t qkey)
{
    int err = nornic_ah_create(conn->peer->pd, av, &conn->ah);
    conn->remote_qpn = qpn;
    conn->remote_qkey = qkey;
    return !err ? CLI_OK : cli_fail("cannot make an address handle: %s", strerror(-err));
}

void peer_conn_close(struct peer_conn *conn)
{
    struct peer *peer = conn->peer;
    uint32_t index = conn->index;
    if (conn->id)
        nornic_cm_id_destroy(conn->id);
    if (conn->qp)
        nornic_qp_destroy(conn->qp);
    if (conn->ah)
        nornic_ah_destroy(peer->pd, conn->ah);
    if (conn->mr)
        nornic_mr_dereg(conn->mr);
    free(conn->memory);
    *conn = (struct peer_conn){.peer = peer, .index = index};
}
