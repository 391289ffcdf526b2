/* SPDX-License-Identifier: BSD-2-Clause */
/* Keepalive of connections: SMCR-KAL-01 to KAL-03. */
#include "base/base.h"
#include "net/port.h"
#include "smcr/conn/data.h"

/* The timer was not moved at every message: it finds out here whether both were idle so long. */
bool smcr_keepalive_due(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    const struct smcr_link *link = conn->link;
    uint64_t active = link ? max_u64(data->last_active_ns, link->last_heard_ns) : data->last_active_ns;
    bool is_idle = link && now_ns - active >= data->keepalive_ns;
    data->keepalive_at_ns = (is_idle ? now_ns : active) + data->keepalive_ns;
    return is_idle;
}

void smcr_keepalive_start(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    data->keepalive_ns = conn->keepalive_ns;
    data->keepalive_at_ns = data->keepalive_ns ? now_ns + data->keepalive_ns : NET_TIME_NONE;
    smcr_conn_tick_at(conn, data->keepalive_at_ns);
}

void smcr_conn_set_keepalive(struct smcr_conn *conn, uint64_t idle_ns, uint64_t now_ns)
{
    conn->keepalive_ns = idle_ns;
    if (conn->data && conn->state != SMCR_CONN_HANDSHAKE && !conn->error)
        smcr_keepalive_start(conn, now_ns);
}
