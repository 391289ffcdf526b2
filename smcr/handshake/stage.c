/* SPDX-License-Identifier: BSD-2-Clause */
/* The stages of a handshake, their timer, and the list of those that wait for a first contact to end. */
#include "smcr/handshake/flow.h"

#define PATIENCE_PART 2 /* of the time that the peer waits for a CLC message */

void smcr_handshake_stop_waiting(struct smcr_conn *conn)
{
    if (!conn->contact_prev)
        return;
    *conn->contact_prev = conn->contact_next;
    if (conn->contact_next)
        conn->contact_next->contact_prev = conn->contact_prev;
    conn->contact_next = NULL;
    conn->contact_prev = NULL;
}

static void begin_waiting(struct smcr_conn *conn)
{
    struct smcr_conn **head = &conn->smcr->waiting;
    conn->contact_next = *head;
    conn->contact_prev = head;
    if (*head)
        (*head)->contact_prev = &conn->contact_next;
    *head = conn;
}

static void set_stage(struct smcr_conn *conn, enum smcr_stage stage)
{
    smcr_handshake_stop_waiting(conn);
    if (stage == SMCR_STAGE_GROUP)
        begin_waiting(conn);
    conn->stage = stage;
}

void smcr_handshake_await(struct smcr_conn *conn, enum smcr_stage stage, uint64_t wait_ns, uint64_t now_ns)
{
    set_stage(conn, stage);
    if (wait_ns)
        smcr_arm(conn->smcr, &conn->timer, now_ns + wait_ns);
    else
        smcr_cancel(conn->smcr, &conn->timer);
}

void smcr_handshake_hold(struct smcr_conn *conn, enum smcr_stage stage)
{
    set_stage(conn, stage);
    smcr_arm(conn->smcr, &conn->timer, conn->clc_came_ns + conn->smcr->config.times.clc_ns / PATIENCE_PART);
}
