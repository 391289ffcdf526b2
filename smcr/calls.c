/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's calls of a connection: each is a step, and then what it has left is done. */
#include <errno.h>

#include "smcr/conn/data.h"
#include "smcr/handshake/handshake.h"
#include "smcr/progress.h"

int smcr_conn_create(struct smcr *smcr, const struct smcr_conn_config *config, uint64_t now_ns,
                     struct smcr_conn **out)
{
    int err = smcr_conn_make(smcr, config, out);
    if (err)
        return err;
    smcr_handshake_start(*out, now_ns);
    smcr_settle(smcr, now_ns);
    return 0;
}

void smcr_conn_release(struct smcr_conn *conn, bool linger, uint64_t now_ns)
{
    struct smcr *smcr = conn->smcr;
    if (conn->state == SMCR_CONN_HANDSHAKE)
        smcr_handshake_abandon(conn, "closed by the application", now_ns);
    smcr_conn_let_go(conn, linger);
    if (!smcr_conn_is_ended(conn))
        smcr_end_close(conn, now_ns);
    smcr_settle(smcr, now_ns);
}

size_t smcr_conn_tcp_input(struct smcr_conn *conn, const uint8_t *bytes, size_t len_bytes, uint64_t now_ns)
{
    size_t taken = len_bytes;
    if (conn->state == SMCR_CONN_HANDSHAKE)
        taken = smcr_handshake_input(conn, bytes, len_bytes, now_ns);
    else if (conn->state == SMCR_CONN_FALLBACK)
        taken = smcr_handshake_crossed(conn, bytes, len_bytes);
    else if (len_bytes > 0 && conn->state != SMCR_CONN_CLOSED) /* SMCR-KAL-05, FBK-04 */
        smcr_end_reset(conn, -ECONNRESET, "data on the TCP connection after the switch to RDMA", now_ns);
    smcr_settle(conn->smcr, now_ns);
    return taken;
}

void smcr_conn_tcp_end(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_HANDSHAKE)
        smcr_handshake_tcp_end(conn, how, now_ns);
    else if (!smcr_conn_is_ended(conn))
        smcr_end_tcp(conn, how, now_ns);
    smcr_settle(conn->smcr, now_ns);
}

ssize_t smcr_conn_send(struct smcr_conn *conn, const void *bytes, size_t len_bytes, unsigned flags,
                       uint64_t now_ns)
{
    ssize_t n = smcr_tx_send(conn, bytes, len_bytes, flags, now_ns);
    smcr_settle(conn->smcr, now_ns);
    return n;
}

ssize_t smcr_conn_recv(struct smcr_conn *conn, void *bytes, size_t len_bytes, unsigned flags, uint64_t now_ns)
{
    ssize_t n = smcr_rx_recv(conn, bytes, len_bytes, flags, now_ns);
    smcr_settle(conn->smcr, now_ns);
    return n;
}

int smcr_conn_put(struct smcr_conn *conn, uint64_t head, unsigned flags, uint64_t now_ns)
{
    int err = smcr_tx_put(conn, head, flags, now_ns);
    smcr_settle(conn->smcr, now_ns);
    return err;
}

int smcr_conn_took(struct smcr_conn *conn, uint64_t consumed, uint64_t now_ns)
{
    int err = smcr_rx_took(conn, consumed, now_ns);
    smcr_settle(conn->smcr, now_ns);
    return err;
}

void smcr_conn_tell(struct smcr_conn *conn, uint64_t now_ns)
{
    smcr_rx_tell(conn, now_ns);
    smcr_settle(conn->smcr, now_ns);
}

void smcr_hold(struct smcr *smcr)
{
    smcr->holds = true;
}

void smcr_release(struct smcr *smcr)
{
    smcr->holds = false;
    for (struct smcr_port *port = smcr->ports; port; port = port->next)
        for (struct smcr_link *link = port->links; link; link = link->next_on_port)
            smcr_link_post_held(link);
}

void smcr_conn_shutdown_write(struct smcr_conn *conn, uint64_t now_ns)
{
    smcr_end_shutdown(conn, now_ns);
    smcr_settle(conn->smcr, now_ns);
}

void smcr_conn_abort(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_HANDSHAKE)
        smcr_handshake_abandon(conn, "aborted by the application", now_ns);
    else
        smcr_end_reset(conn, -ECONNABORTED, "aborted by the application", now_ns);
    smcr_settle(conn->smcr, now_ns);
}

void smcr_conn_set_keepalive(struct smcr_conn *conn, uint64_t idle_ns, uint64_t now_ns)
{
    conn->keepalive_ns = idle_ns;
    smcr_conn_start_keepalive(conn, now_ns);
}
