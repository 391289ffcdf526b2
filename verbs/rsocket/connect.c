/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of streams come about and end: the events of the connection manager, and their effects. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/rsocket/rsocket.h"

#define RESOLVE_MS 2000
#define RETRIES    7 /* of an RC queue pair; of RNR NAKs it means without end */

uint8_t rs_ack_timeout(uint64_t limit_ms)
{
    uint8_t code = 1;
    while (code < 31 && nornic_rc_gives_up_ns(code + 1, RETRIES) <= limit_ms * NS_PER_MS)
        code++;
    return code;
}

/* TCP_USER_TIMEOUT. A connection keeps its own. */
static void take_user_timeout(struct rsock *s)
{
    uint8_t code = rs_ack_timeout(s->user_timeout_ms);
    if (s->user_timeout_ms)
        (void)rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &code, sizeof code);
}

static struct rdma_conn_param param_of(const uint8_t *data)
{
    return (struct rdma_conn_param){.private_data = data,
                                    .private_data_len = RS_CONN_DATA_BYTES,
                                    .flow_control = 1,
                                    .retry_count = RETRIES,
                                    .rnr_retry_count = RETRIES};
}

/* --- the side that asks --- */

static int ask(struct rsock *s)
{
    uint8_t data[RS_CONN_DATA_BYTES];
    struct rdma_conn_param param = param_of(data);
    int err = rs_open_endpoint(s);
    if (err)
        return err;
    const struct rs_conn_data own = rs_own_data(s);
    rs_put_conn_data(&own, data);
    take_user_timeout(s);
    s->state = RS_CONNECTING;
    return rdma_connect(s->id, &param) ? errno : 0;
}

/* Takes the peer's data from the answer if this side connected; an accepted side has it from the request. */
static int established(struct rsock *s, const struct rdma_cm_event *event)
{
    struct rs_conn_data data;
    if (s->state == RS_CONNECTING &&
        (!rs_get_conn_data(event->param.conn.private_data, event->param.conn.private_data_len, &data) ||
         !rs_take_data(s, &data)))
        return verbs_fail(ENOTSUP, "the peer's answer is not that of an rsocket of version 1");
    if (s->state == RS_CONNECTING || s->state == RS_ACCEPTING)
        rs_set_state(s, RS_CONNECTED, 0);
    return 0;
}

/* --- the side that answers --- */

static int answer(struct rsock *s, const struct rs_conn_data *asked)
{
    uint8_t data[RS_CONN_DATA_BYTES];
    struct rdma_conn_param param = param_of(data);
    s->channel = rdma_create_event_channel();
    int err = s->channel ? rs_join(s, s->channel->fd) : errno;
    if (!err && rdma_migrate_id(s->id, s->channel))
        err = errno;
    if (!err)
        err = rs_open_endpoint(s);
    if (err)
        return err;
    if (!rs_take_data(s, asked))
        return EPROTO;
    const struct rs_conn_data own = rs_own_data(s);
    rs_put_conn_data(&own, data);
    take_user_timeout(s);
    s->state = RS_ACCEPTING;
    return rdma_accept(s->id, &param) ? errno : 0;
}

static struct rsock *like(const struct rsock *listener)
{
    struct rsock *s = rs_new(listener->family, listener->type);
    if (!s)
        return NULL;
    s->rq_size = listener->rq_size;
    s->sq_size = listener->sq_size;
    s->inline_size = listener->inline_size;
    s->recv_bytes = listener->recv_bytes;
    s->send_bytes = listener->send_bytes;
    s->own_iomaps = listener->own_iomaps;
    s->recv_timeout_ms = listener->recv_timeout_ms;
    s->user_timeout_ms = listener->user_timeout_ms;
    s->send_timeout_ms = listener->send_timeout_ms;
    memcpy(s->options, listener->options, sizeof s->options);
    return s;
}

/* Shows an rsocket to the thread that serves it. The caller has the lock of the listener, and so the gate of
 * forks. 0 or an errno value. */
static int publish(struct rsock *s)
{
    pthread_mutex_lock(&s->lock);
    int err = rs_publish(s);
    if (!err)
        (void)rs_serve(s);
    pthread_mutex_unlock(&s->lock);
    return err;
}

/* A request becomes an rsocket that raccept() hands out. */
static void take_request(struct rsock *listener, struct rdma_cm_id *id, const struct rs_conn_data *asked)
{
    struct rsock *s = listener->num_pending < listener->backlog ? like(listener) : NULL;
    if (!s) {
        rdma_reject(id, NULL, 0);
        rdma_destroy_id(id);
        return;
    }
    s->id = id;
    int err = answer(s, asked);
    if (!err)
        err = publish(s);
    if (err) {
        verbs_tell("a request is refused: %s", strerror(err));
        rdma_reject(id, NULL, 0);
    } else {
        STAILQ_INSERT_TAIL(&listener->pending, s, next_pending);
        listener->num_pending++;
        rs_wake(listener);
    }
    rs_put(s);
}

/* The event is acknowledged before its id moves to a channel of its own. */
static void request(struct rsock *listener, struct rdma_cm_event *event)
{
    const struct rdma_conn_param *param = &event->param.conn;
    struct rdma_cm_id *id = event->id;
    struct rs_conn_data asked;
    bool is_good = rs_get_conn_data(param->private_data, param->private_data_len, &asked);
    rdma_ack_cm_event(event);
    if (is_good) {
        take_request(listener, id, &asked);
    } else {
        verbs_tell("a request is refused that is not of an rsocket of version 1");
        rdma_reject(id, NULL, 0);
        rdma_destroy_id(id);
    }
}

/* --- events --- */

static int error_of(const struct rdma_cm_event *event)
{
    if (event->event == RDMA_CM_EVENT_REJECTED)
        return ECONNREFUSED;
    return event->status < 0 ? -event->status : EHOSTUNREACH;
}

/* A stream that is cut, as by TCP's RST or a Terminate, before the peer's end must not look like the
 * end of a stream. 0 or an errno value. */
static int disconnected(struct rsock *s, int status)
{
    if (s->state != RS_CONNECTED && s->state != RS_ACCEPTING)
        return 0;
    if (status < 0 && !s->is_recv_shut)
        return -status;
    rs_set_state(s, RS_ENDED, 0);
    return 0;
}

/* 0 or the errno value by which the connection, or the attempt to connect, ends. */
static int step(struct rsock *s, const struct rdma_cm_event *event)
{
    switch ((int)event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return rdma_resolve_route(s->id, RESOLVE_MS) ? errno : 0;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return ask(s);
    case RDMA_CM_EVENT_ESTABLISHED:
        return established(s, event);
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
        return error_of(event);
    case RDMA_CM_EVENT_DISCONNECTED:
        rs_poll_stream(s); /* all that came before */
        return disconnected(s, event->status);
    }
    return 0; /* other events change nothing */
}

void rs_take_events(struct rsock *s)
{
    struct rdma_cm_event *event;
    while (s->channel && rdma_get_cm_event(s->channel, &event) == 0) {
        if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
            request(s, event);
            continue;
        }
        int err = step(s, event);
        if (err && !rs_is_over(s)) {
            verbs_tell("rsocket %d is not connected: %s (%s)", s->fd, strerror(err),
                       rdma_event_str(event->event));
            rs_break(s, err);
        }
        rdma_ack_cm_event(event);
    }
}
