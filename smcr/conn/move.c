/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection goes on over another link: because its own failed, or because it is asked to. SMCR section
 * 17. */
#include <errno.h>

#include "smcr/conn/data.h"

/* Over `to` from now on. The first message there is F (SMCR-FOV-07), then what did not complete, as far as
 * there is any. One that has said its last word with success says nothing any more (SMCR-CDC-15). */
static void go_on(struct smcr_conn *conn, struct smcr_link *to, uint64_t now_ns)
{
    struct smcr_conn_data *data = conn->data;
    struct smcr_tx *tx = &data->tx;
    smcr_tx_set_link(conn, to);
    conn->smcr->counters.failovers++;
    smcr_trace(conn->smcr,
               (struct smcr_trace){.type = SMCR_TRACE_MOVED, .group = conn->group, .link = to, .conn = conn},
               now_ns);
    bool is_complete = tx->seq == tx->completed_seq;
    if (data->said == SMCR_SILENCED || (smcr_tx_is_final(data) && is_complete))
        return;
    /* C and A that did not arrive are said again: SMCR-FOV-10 */
    tx->recovery = is_complete ? SMCR_VALIDATES : SMCR_VALIDATES_AND_REPLAYS;
    smcr_tx_push(conn, now_ns);
}

void smcr_move_lost(struct smcr_conn *conn, uint64_t now_ns)
{
    if (!conn->data || !conn->link)
        return;
    struct smcr_link *to = smcr_group_pick_link(conn->group, conn->link);
    conn->data->move_to = NULL;
    if (to)
        go_on(conn, to, now_ns);
    else
        smcr_end_kill(conn, -ECONNRESET, "no link is left", now_ns);
    smcr_conn_effect(conn, SMCR_CONN_RESTS); /* of one that is over, the last post has ended */
}

void smcr_move_rests(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_link *to = conn->data->move_to;
    if (!to || conn->posts > 0)
        return;
    conn->data->move_to = NULL;
    if (to->state != SMCR_LINK_ACTIVE)
        to = smcr_group_pick_link(conn->group, conn->link);
    if (to && to != conn->link)
        go_on(conn, to, now_ns);
    smcr_tx_push(conn, now_ns);
}

void smcr_move_to(struct smcr_conn *conn, struct smcr_link *to, uint64_t now_ns)
{
    if (!conn->data || !conn->link || conn->link == to)
        return;
    smcr_tx_stop_waiting(conn);
    conn->data->move_to = to;
    smcr_move_rests(conn, now_ns);
    smcr_conn_effect(conn, SMCR_CONN_RESTS);
}
