/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of a connection as its orderly end moves them: SMCR section 16.1. */
#include "smcr/conn/data.h"

/* Rows: where it is. What is not named stays. The abnormal end has one way from all of them, to
 * PEER_ABORT_WAIT, and from there, once it is answered or was waited for long enough, to CLOSED:
 * smcr/conn/end.c. */
static const enum smcr_conn_state edges[SMCR_CONN_CLOSED + 1][SMCR_END_EVENTS] = {
    [SMCR_CONN_ACTIVE] = {[SMCR_SENT_DONE] = SMCR_CONN_PEER_CLOSE_WAIT_1,
                          [SMCR_SENT_CLOSE] = SMCR_CONN_PEER_CLOSE_WAIT_1,
                          [SMCR_PEER_DONE] = SMCR_CONN_APP_CLOSE_WAIT_1,
                          [SMCR_PEER_CLOSE] = SMCR_CONN_APP_CLOSE_WAIT_1,
                          [SMCR_PEER_LAST_CLOSE] = SMCR_CONN_APP_CLOSE_WAIT_1},
    [SMCR_CONN_PEER_CLOSE_WAIT_1] = {[SMCR_PEER_DONE] = SMCR_CONN_PEER_CLOSE_WAIT_2,
                                     /* a program that only shut down writing still has to close */
                                     [SMCR_PEER_CLOSE] = SMCR_CONN_APP_FIN_CLOSE_WAIT,
                                     [SMCR_PEER_LAST_CLOSE] = SMCR_CONN_CLOSED},
    [SMCR_CONN_PEER_CLOSE_WAIT_2] =
        {[SMCR_PEER_CLOSE] = SMCR_CONN_APP_FIN_CLOSE_WAIT, [SMCR_PEER_LAST_CLOSE] = SMCR_CONN_CLOSED},
    [SMCR_CONN_APP_FIN_CLOSE_WAIT] =
        {[SMCR_SENT_CLOSE] = SMCR_CONN_CLOSED, [SMCR_SENT_LAST_CLOSE] = SMCR_CONN_CLOSED},
    [SMCR_CONN_APP_CLOSE_WAIT_1] = {[SMCR_SENT_DONE] = SMCR_CONN_APP_CLOSE_WAIT_2,
                                    [SMCR_SENT_CLOSE] = SMCR_CONN_PEER_FIN_CLOSE_WAIT,
                                    [SMCR_SENT_LAST_CLOSE] = SMCR_CONN_CLOSED},
    [SMCR_CONN_APP_CLOSE_WAIT_2] =
        {[SMCR_SENT_CLOSE] = SMCR_CONN_PEER_FIN_CLOSE_WAIT, [SMCR_SENT_LAST_CLOSE] = SMCR_CONN_CLOSED},
    [SMCR_CONN_PEER_FIN_CLOSE_WAIT] =
        {[SMCR_PEER_CLOSE] = SMCR_CONN_CLOSED, [SMCR_PEER_LAST_CLOSE] = SMCR_CONN_CLOSED},
};

static const char *const causes[SMCR_END_EVENTS] = {
    [SMCR_SENT_DONE] = "done writing",         [SMCR_SENT_CLOSE] = "closed",
    [SMCR_SENT_LAST_CLOSE] = "closed",         [SMCR_PEER_DONE] = "the peer is done writing",
    [SMCR_PEER_CLOSE] = "the peer has closed", [SMCR_PEER_LAST_CLOSE] = "the peer has closed",
};

enum smcr_conn_state smcr_conn_next_state(enum smcr_conn_state state, enum smcr_end_event event)
{
    _Static_assert(SMCR_CONN_HANDSHAKE == 0, "what the table does not name");
    return edges[state][event] ? edges[state][event] : state;
}

void smcr_conn_finish(struct smcr_conn *conn, const char *cause, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_CLOSED)
        return;
    smcr_cancel(conn->smcr, &conn->timer);
    conn->data->guard = SMCR_GUARD_NONE;
    smcr_conn_set_state(conn, SMCR_CONN_CLOSED, cause, now_ns);
    smcr_conn_effect(conn, SMCR_CONN_RESTS);
}

void smcr_conn_end_step(struct smcr_conn *conn, enum smcr_end_event event, uint64_t now_ns)
{
    enum smcr_conn_state state = smcr_conn_next_state(conn->state, event);
    if (state == SMCR_CONN_CLOSED)
        smcr_conn_finish(conn, causes[event], now_ns);
    else if (state != conn->state)
        smcr_conn_set_state(conn, state, causes[event], now_ns);
}
