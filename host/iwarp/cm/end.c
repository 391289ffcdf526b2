/* SPDX-License-Identifier: BSD-2-Clause */
/* How connections end, or do not come to stand, in the words of events. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "host/iwarp/cm/inner.h"
#include "iwarp/wire/term.h"
#include "net/error.h"
#include "roce/cm/mad.h"

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

void host_iw_cm_tell_failure(struct host_iw_id *id)
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
        host_iw_cm_event_take_private(event, setup);
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

void host_iw_cm_tell_disconnected(struct host_iw_id *id)
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
