/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes of connections, told to the program: an id follows its connection from round to round. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/iw_cm_inner.h"
#include "iwarp/term.h"
#include "net/error.h"
#include "roce/cm/mad.h"

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

static void take_private_data(struct host_iw_cm_event *event, const struct iwarp_setup *setup)
{
    size_t len_bytes;
    const uint8_t *bytes = iwarp_setup_private_data(setup, &len_bytes);
    memcpy(event->private_data, bytes, len_bytes);
    event->private_data_len = (uint16_t)len_bytes;
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
    take_private_data(event, setup);
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
        take_private_data(event, &engine->setup);
    host_iw_cm_raise(event);
}

/* --- the end --- */

/* How a connection did not come to stand. */
struct failure {
    enum nornic_cm_event_type type;
    int status;
    const char *words;
};

/* Before MPA began. */
static struct failure failure_of_tcp(int err)
{
    if (err == -ECONNREFUSED)
        return (struct failure){NORNIC_CM_EVENT_REJECTED, ROCE_CM_REJ_INVALID_SERVICE_ID,
                                "nobody listens there"};
    return (struct failure){NORNIC_CM_EVENT_UNREACHABLE, err, strerror(-err)};
}

int host_iw_cm_refused(struct host_iw_id *id, struct host_iw_qp *qp, int err)
{
    struct failure f = failure_of_tcp(err);
    struct host_iw_cm_event *event = host_iw_cm_event_new(id, f.type, f.status);
    if (!event)
        return -ENOMEM;
    net_error_set(&event->why, EIO, "%s", f.words);
    iwarp_qp_abort(qp->engine);
    id->step = HOST_IW_ENDED;
    host_iw_cm_raise(event);
    return 0;
}

static struct failure failure_of_setup(enum iwarp_setup_failure failure)
{
    switch (failure) {
    case IWARP_SETUP_REFUSED:
        return (struct failure){NORNIC_CM_EVENT_REJECTED, ROCE_CM_REJ_CONSUMER, "the peer's program says no"};
    case IWARP_SETUP_TIMEOUT:
        return (struct failure){NORNIC_CM_EVENT_UNREACHABLE, -ETIMEDOUT,
                                "TCP connects, and no MPA Reply comes: is it iWARP that listens there?"};
    case IWARP_SETUP_CLOSED:
    case IWARP_SETUP_FINE:
        return (struct failure){NORNIC_CM_EVENT_CONNECT_ERROR, -ECONNRESET,
                                "the peer ended TCP instead of an MPA Reply"};
    case IWARP_SETUP_FRAME:
        return (struct failure){NORNIC_CM_EVENT_CONNECT_ERROR, -EPROTO, "what came is no MPA Reply"};
    case IWARP_SETUP_REVISION:
        return (struct failure){NORNIC_CM_EVENT_CONNECT_ERROR, -EPROTO,
                                "the peer speaks another revision of MPA"};
    case IWARP_SETUP_IRD:
        return (struct failure){NORNIC_CM_EVENT_CONNECT_ERROR, -EPROTO,
                                "the peer wants to read more at once than this side serves"};
    case IWARP_SETUP_RTR:
        return (struct failure){NORNIC_CM_EVENT_CONNECT_ERROR, -EPROTO,
                                "the peer wants a ready-to-receive message that was not offered"};
    case IWARP_SETUP_REJECTED:
        break;
    }
    return (struct failure){NORNIC_CM_EVENT_CONNECT_ERROR, -ECONNABORTED, "this side gave up"};
}

static void tell_failure(struct host_iw_id *id)
{
    const struct host_iw_conn *conn = id->conn;
    const struct iwarp_setup *setup = conn->qp ? &conn->qp->engine->setup : NULL;
    struct failure f = {NORNIC_CM_EVENT_CONNECT_ERROR, -ECONNRESET, "the connection ended before it stood"};
    if (id->step == HOST_IW_STARTED && setup)
        f = setup->state == IWARP_SETUP_NONE ? failure_of_tcp(conn->err) : failure_of_setup(setup->failure);
    struct host_iw_cm_event *event = host_iw_cm_event_new(id, f.type, f.status);
    if (!event)
        return;
    net_error_set(&event->why, EIO, "%s", f.words);
    if (setup && setup->failure == IWARP_SETUP_REFUSED)
        take_private_data(event, setup);
    host_iw_cm_raise(event);
}

/* Why the stream was ended: also of a Terminate with its nibbles turned (IWARP-AMB-02), or of one that says
 * nothing that is defined. */
static const char *words_of(const struct iwarp_end *end)
{
    uint16_t turned = (uint16_t)((end->code & 0xff) | (end->code >> 4 & 0xf00) | (end->code << 4 & 0xf000));
    const char *words = iwarp_term_code_name(end->is_turned ? turned : end->code);
    return words ? words : "an error that is not defined";
}

/* Orderly, or how not. */
static void tell_disconnected(struct host_iw_id *id)
{
    const struct host_iw_conn *conn = id->conn;
    const struct iwarp_end *end = conn->qp ? &conn->qp->engine->end : NULL;
    bool is_terminated = end && (end->has_sent || end->has_received);
    bool is_orderly = conn->err == 0 && !is_terminated && (!end || end->code == 0);
    struct host_iw_cm_event *event =
        host_iw_cm_event_new(id, NORNIC_CM_EVENT_DISCONNECTED, is_orderly ? 0 : -ECONNRESET);
    if (!event)
        return;
    if (is_terminated && end->is_mute)
        net_error_set(&event->why, ECONNRESET, "the peer ended the stream by a Terminate that says no more");
    else if (is_terminated)
        net_error_set(&event->why, ECONNRESET, "%s ended the stream by a Terminate: %s (%x/%x/%02x)",
                      end->has_sent ? "this side" : "the peer", words_of(end), end->code >> 12,
                      end->code >> 8 & 15, end->code & 0xff);
    else if (!is_orderly)
        net_error_set(&event->why, ECONNRESET, "TCP was lost");
    host_iw_cm_raise(event);
}

static void follow_end(struct host_iw_id *id)
{
    switch (id->step) {
    case HOST_IW_STARTED:
    case HOST_IW_ACCEPTED:
        if (id->conn->qp) /* to ERR, also where MPA had not begun (nornic/cm.h) */
            iwarp_qp_abort(id->conn->qp->engine);
        tell_failure(id);
        break;
    case HOST_IW_STANDS:
        tell_disconnected(id);
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
    if (has_ended && !(id->step == HOST_IW_STARTED && host_iw_cm_start_again(id)))
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
