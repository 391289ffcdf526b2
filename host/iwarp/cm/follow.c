/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes of connections, told to the program: an id follows its connection from round to round. */
#include <errno.h>
#include <stdlib.h>

#include "base/base.h"
#include "host/iwarp/cm/inner.h"

struct host_iw_id *host_iw_cm_new_id(struct host_iw_cm *cm, enum host_iw_step step, void *ctx)
{
    struct host_iw_id *id = calloc(1, sizeof *id);
    host_dev_assert_held(cm->iw->dev);
    if (!id)
        return NULL;
    id->cm = cm;
    id->step = step;
    id->ctx = ctx;
    host_ack_subject_init(&id->subject,
                          step == HOST_IW_REQUESTED); /* until the event is taken that brings it */
    TAILQ_INSERT_TAIL(&cm->ids, id, of_all);
    return id;
}

/* --- requests --- */

static uint8_t depth_of(uint16_t depth)
{
    return (uint8_t)min_u32(depth, HOST_IW_MAX_DEPTH);
}

struct host_iw_depths host_iw_cm_asked_depths(const struct iwarp_setup *setup)
{
    if (!setup->peer.s)
        return (struct host_iw_depths){HOST_IW_MAX_DEPTH, HOST_IW_MAX_DEPTH};
    return (struct host_iw_depths){depth_of(setup->peer_enhanced.ord), depth_of(setup->peer_enhanced.ird)};
}

static void fill_request(struct host_iw_cm_event *event, const struct iwarp_setup *setup)
{
    struct host_iw_depths asked = host_iw_cm_asked_depths(setup);
    event->responder_resources = asked.responder_resources;
    event->initiator_depth = asked.initiator_depth;
    host_iw_cm_event_take_private(event, setup);
}

/* Its Request is whole, and the program is told of it. */
static void announce(struct host_iw_id *listener, struct host_iw_conn *conn)
{
    struct host_iw_id *id = host_iw_cm_new_id(listener->cm, HOST_IW_REQUESTED, listener->ctx);
    struct host_iw_cm_event *event = id ? host_iw_cm_event_new(id, NORNIC_CM_EVENT_CONNECT_REQUEST, 0) : NULL;
    if (!event) { /* the peer sees its connection end, and may try again */
        if (id)
            TAILQ_REMOVE(&listener->cm->ids, id, of_all);
        free(id);
        host_iw_conn_close(conn, true, -ENOMEM);
        return;
    }
    listener->silent--;
    listener->unanswered++;
    conn->owner = id;
    id->conn = conn;
    id->listener = listener;
    host_iw_conn_ends(conn, &id->ends);
    event->listen_id = listener;
    fill_request(event, &conn->setup);
    host_iw_cm_raise(event);
}

/* A connection that came, before the program knows of it. */
static void follow_silent(struct host_iw_id *listener, struct host_iw_conn *conn)
{
    if (conn->tcp == HOST_IW_CLOSED) {
        listener->silent--;
        conn->owner = NULL;
        host_iw_conn_release(conn);
    } else if (conn->setup.state == IWARP_SETUP_REQUESTED) {
        if (listener->unanswered < listener->backlog)
            announce(listener, conn);
        else
            listener->has_waiting = true;
    }
}

void host_iw_cm_answered(struct host_iw_id *id)
{
    struct host_iw_id *listener = id->listener;
    struct host_iw_conn *conn, *next;
    id->listener = NULL;
    if (!listener)
        return;
    listener->unanswered--;
    if (!listener->has_waiting)
        return;
    listener->has_waiting = false;
    for (conn = TAILQ_FIRST(&id->cm->iw->conns); conn; conn = next) {
        next = TAILQ_NEXT(conn, of_all);
        if (conn->owner == listener)
            follow_silent(listener, conn);
    }
}

/* --- connecting --- */

/* TCP is up: MPA begins. */
static void begin_setup(struct host_iw_id *id, uint64_t now_ns)
{
    const struct nornic_iwarp_config *wanted = &id->cm->iw->config;
    const struct iwarp_setup_config config = {
        .rev = wanted->mpa_rev,
        .falls_back = wanted->mpa_rev == 0,
        .wants_markers = wanted->markers,
        .no_crc = wanted->no_crc,
        .ird = id->ird,
        .ord = id->ord,
        .max_ird = HOST_IW_MAX_DEPTH,
        .no_rtr = wanted->rtr == NORNIC_IWARP_RTR_NONE,
        .rtr = wanted->rtr == NORNIC_IWARP_RTR_WRITE  ? IWARP_RTR_WRITE
               : wanted->rtr == NORNIC_IWARP_RTR_READ ? IWARP_RTR_READ
                                                      : 0,
    };
    struct host_iw_conn *conn = id->conn;
    int err = iwarp_qp_connect(conn->qp->engine, &config, id->private_data, id->private_bytes, now_ns);
    if (err) /* the program has moved its queue pair since */
        iwarp_qp_abort(conn->qp->engine);
    host_iw_conn_activate(conn);
    host_iw_conn_settle(conn);
}

static bool is_established(const struct host_iw_conn *conn)
{
    size_t left_bytes;
    const struct iwarp_setup *setup = &conn->qp->engine->setup;
    return setup->state == IWARP_SETUP_ESTABLISHED && !iwarp_setup_output(setup, &left_bytes);
}

static void tell_established(struct host_iw_id *id)
{
    const struct iwarp_qp *engine = id->conn->qp->engine;
    struct host_iw_cm_event *event = host_iw_cm_event_new(id, NORNIC_CM_EVENT_ESTABLISHED, 0);
    id->step = HOST_IW_STANDS;
    id->has_stood = true;
    if (!event)
        return;
    event->responder_resources = depth_of(engine->session.ird);
    event->initiator_depth = depth_of(engine->session.ord);
    if (engine->session.is_initiator)
        host_iw_cm_event_take_private(event, &engine->setup);
    host_iw_cm_raise(event);
}

/* --- the end --- */

static void follow_end(struct host_iw_id *id)
{
    switch (id->step) {
    case HOST_IW_STARTED:
    case HOST_IW_ACCEPTED:
        if (id->conn->qp) /* to ERR, also where MPA had not begun (nornic/cm.h) */
            iwarp_qp_abort(id->conn->qp->engine);
        host_iw_cm_tell_failure(id);
        break;
    case HOST_IW_STANDS:
        host_iw_cm_tell_disconnected(id);
        break;
    case HOST_IW_REQUESTED: /* the program's answer will find it so */
        return;
    case HOST_IW_IDLE:
    case HOST_IW_ADDR:
    case HOST_IW_ROUTE:
    case HOST_IW_LISTENING:
    case HOST_IW_ENDED:
        break;
    }
    id->step = HOST_IW_ENDED;
}

/* TCP is up, for the first time or for a Request of revision 1 that is ready. */
static void follow_start(struct host_iw_id *id, struct host_iw_conn *conn, uint64_t now_ns)
{
    if (!conn->ends_are_known) {
        host_iw_conn_ends(conn, &id->ends);
        conn->ends_are_known = true;
        id->cm->iw->counters.connected++;
    }
    if (conn->qp->engine->setup.state == IWARP_SETUP_NONE)
        begin_setup(id, now_ns);
}

static void follow_own(struct host_iw_id *id, struct host_iw_conn *conn, uint64_t now_ns)
{
    if (id->step == HOST_IW_STARTED && conn->tcp == HOST_IW_OPEN && conn->qp)
        follow_start(id, conn, now_ns);
    bool is_opening = id->step == HOST_IW_STARTED || id->step == HOST_IW_ACCEPTED;
    if (is_opening && conn->qp && is_established(conn))
        tell_established(id);
    bool has_ended = conn->tcp == HOST_IW_CLOSED;
    if (has_ended && !(id->step == HOST_IW_STARTED && host_iw_cm_try_again(id, now_ns)))
        follow_end(id);
}

void host_iw_cm_follow(struct host_iw_cm *cm, struct host_iw_conn *conn, uint64_t now_ns)
{
    struct host_iw_id *id = conn->owner;
    host_dev_assert_held(cm->iw->dev);
    if (!id)
        host_iw_conn_release(conn);
    else if (id->step == HOST_IW_LISTENING)
        follow_silent(id, conn);
    else
        follow_own(id, conn, now_ns);
}
