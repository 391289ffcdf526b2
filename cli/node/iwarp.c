/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* ppoll() */
#include "cli/node/iwarp.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/cm.h"
#include "cli/stop.h"
#include "net/bytes.h"

#define SLICE_NS    (20 * NS_PER_MS) /* of a sleep, after which it is looked at the clock and for a stop */
#define HELLO_BYTES 8                /* private data of a Request: number and token of the stream */

int cli_iwarp_open(const struct cli_node *node, uint32_t count, uint8_t rd_atomic, struct cli_iwarp *out)
{
    struct nornic_error why;
    *out = (struct cli_iwarp){.node = node, .count = count, .rd_atomic = rd_atomic};
    out->streams = calloc(count, sizeof *out->streams);
    if (!out->streams)
        return cli_fail("no memory for %u connections", count);
    return nornic_cm_open(node->api, NULL, &out->cm, &why) == 0 ? CLI_OK : cli_fail("%s", why.text);
}

void cli_iwarp_close(struct cli_iwarp *iw)
{
    for (uint32_t i = 0; iw->streams && i < iw->count; i++)
        if (iw->streams[i].id)
            nornic_cm_id_destroy(iw->streams[i].id);
    if (iw->listener)
        nornic_cm_id_destroy(iw->listener);
    if (iw->cm)
        nornic_cm_close(iw->cm);
    free(iw->streams);
    *iw = (struct cli_iwarp){.node = NULL};
}

/* --- what happens to a stream --- */

static struct nornic_conn_param param_of(const struct cli_iwarp *iw)
{
    return (struct nornic_conn_param){.responder_resources = iw->rd_atomic, .initiator_depth = iw->rd_atomic};
}

static int on_route(void *ctx, struct nornic_cm_id *id)
{
    const struct cli_iwarp *iw = ctx;
    const struct cli_iwarp_stream *stream = nornic_cm_id_ctx(id);
    uint8_t hello[HELLO_BYTES];
    put_be32(hello, (uint32_t)(stream - iw->streams));
    put_be32(hello + 4, stream->token);
    struct nornic_conn_param param = param_of(iw);
    param.private_data = hello;
    param.private_data_len = sizeof hello;
    int err = nornic_cm_id_connect(id, stream->qp, &param);
    return !err ? CLI_OK : cli_fail("cannot connect: %s", strerror(-err));
}

/* The stream that a Request is for; NULL: it is a stranger's. */
static struct cli_iwarp_stream *asked_for(const struct cli_iwarp *iw, const struct nornic_cm_event *event)
{
    if (event->private_data_len < HELLO_BYTES)
        return NULL;
    uint32_t i = get_be32(event->private_data), token = get_be32(event->private_data + 4);
    bool is_known = i < iw->count && !iw->streams[i].id && iw->streams[i].token == token;
    return is_known ? &iw->streams[i] : NULL;
}

static int on_request(void *ctx, const struct nornic_cm_event *event, bool *refused)
{
    const struct cli_iwarp *iw = ctx;
    struct cli_iwarp_stream *stream = asked_for(iw, event);
    *refused = stream == NULL;
    if (!stream)
        return CLI_OK;
    stream->id = event->id;
    nornic_cm_id_set_ctx(stream->id, stream);
    const struct nornic_conn_param param = param_of(iw);
    int err = nornic_cm_id_accept(stream->id, stream->qp, &param);
    return !err ? CLI_OK : cli_fail("cannot accept a connection: %s", strerror(-err));
}

static int on_established(void *ctx, const struct nornic_cm_event *event)
{
    struct cli_iwarp_stream *stream = nornic_cm_id_ctx(event->id);
    (void)ctx;
    stream->stands = true;
    return CLI_OK;
}

/* Its completions say so. */
static int on_disconnected(void *ctx, const struct nornic_cm_event *event)
{
    (void)ctx;
    (void)event;
    return CLI_OK;
}

static int on_failure(void *ctx, const struct nornic_cm_event *event)
{
    const struct cli_iwarp *iw = ctx;
    char text[NORNIC_ADDR_STR_SIZE];
    if (iw->listener)
        return cli_fail("a connection of the client failed: %s", event->why.text);
    return cli_fail("cannot connect by iWARP to %s, TCP port %u: %s", nornic_addr_str(&iw->remote, text),
                    iw->port, event->why.text);
}

static const struct cli_cm_ops ops = {
    .on_route = on_route,
    .on_request = on_request,
    .on_established = on_established,
    .on_disconnected = on_disconnected,
    .on_failure = on_failure,
};

/* --- waiting --- */

static uint32_t count_standing(const struct cli_iwarp *iw)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < iw->count; i++)
        n += iw->streams[i].stands;
    return n;
}

static void sleep_a_little(const struct cli_iwarp *iw)
{
    if (!iw->node->events) {
        host_dev_wait(iw->node->dev, SLICE_NS);
        return;
    }
    struct pollfd fds[2] = {{.fd = nornic_cm_fd(iw->cm), .events = POLLIN},
                            {.fd = cli_stop_fd(), .events = POLLIN}};
    const struct timespec ts = {.tv_nsec = (long)SLICE_NS};
    ppoll(fds, 2, &ts, NULL);
}

static int wait_for_all(struct cli_iwarp *iw, uint64_t timeout_ns)
{
    uint64_t start_ns = host_now_ns();
    while (count_standing(iw) < iw->count) {
        bool did = !iw->node->events && host_round(iw->node->dev, NULL);
        int err = cli_cm_handle_events(iw->cm, iw->node, &ops, iw, &did);
        if (err != CLI_OK)
            return err;
        if (cli_stopped())
            return cli_fail("stopped before the connections stood");
        if (host_now_ns() - start_ns >= timeout_ns)
            return cli_fail("%u of %u iWARP connections stand after %g s (-t waits longer)",
                            count_standing(iw), iw->count, (double)timeout_ns / NS_PER_S);
        if (!did)
            sleep_a_little(iw);
    }
    return CLI_OK;
}

/* --- the two sides --- */

int cli_iwarp_listen(struct cli_iwarp *iw, const struct nornic_addr *addr, uint16_t *port)
{
    char text[NORNIC_ADDR_STR_SIZE];
    struct nornic_cm_endpoints ends;
    int err = nornic_cm_id_create(iw->cm, NORNIC_PS_TCP, NULL, &iw->listener);
    if (!err)
        err = nornic_cm_id_listen(iw->listener, addr, 0, iw->count);
    if (err)
        return cli_fail("cannot listen on %s: %s", nornic_addr_str(addr, text), strerror(-err));
    nornic_cm_id_endpoints(iw->listener, &ends);
    *port = ends.local_port;
    return CLI_OK;
}

int cli_iwarp_accept(struct cli_iwarp *iw, uint64_t timeout_ns)
{
    return wait_for_all(iw, timeout_ns);
}

int cli_iwarp_connect(struct cli_iwarp *iw, const struct nornic_addr *local, const struct nornic_addr *remote,
                      uint16_t port, uint64_t timeout_ns)
{
    iw->remote = *remote;
    iw->port = port;
    for (uint32_t i = 0; i < iw->count; i++) {
        struct nornic_error why;
        int err = nornic_cm_id_create(iw->cm, NORNIC_PS_TCP, &iw->streams[i], &iw->streams[i].id);
        if (err)
            return cli_fail("cannot make a connection: %s", strerror(-err));
        if (nornic_cm_id_resolve_addr(iw->streams[i].id, local, remote, port, timeout_ns, &why) != 0)
            return cli_fail("%s", why.text);
    }
    return wait_for_all(iw, timeout_ns);
}
