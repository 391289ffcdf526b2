/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer from its opening to its end. */
#define _GNU_SOURCE /* ppoll() */
#include "base/base.h"
#include "cli/peer/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/node/rc.h"
#include "cli/node/tcp.h"
#include "cli/peer/options.h"
#include "cli/stop.h"

#define SLICE_NS   50000000ull    /* a sleep is at most this long */
#define RESOLVE_NS (3 * NS_PER_S) /* ARP or NDP */
#define FLUSH_NS   20000000ull    /* the last datagrams of a connection leave meanwhile */
#define GOODBYE_NS (5 * NS_PER_S) /* a peer that has not agreed to disconnect by then is gone */
#define LINGER_NS  (5 * NS_PER_S) /* Linux repeats its DREQ after 4.3 s */

#define RESPONSE_TIMEOUT \
    18 /* 1.07 s until a message of ours is repeated: two programs wait for each other here */
#define WC_BURST 16

static const struct nornic_addr any_v4 = {{[10] = 0xff, 0xff}}; /* 0.0.0.0 */

static int resolve_name(const struct peer *peer, const char *name, struct nornic_addr *out)
{
    struct addrinfo hints = {.ai_family = peer->options->node.ipv6 ? AF_INET6 : AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM},
                    *found;
    int err = getaddrinfo(name, NULL, &hints, &found);
    if (err)
        return cli_fail("cannot find '%s': %s%s", name, gai_strerror(err), cli_name_remedy(err));
    if (found->ai_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)found->ai_addr;
        *out = nornic_addr_from_v4((const uint8_t *)&in->sin_addr);
    } else {
        const struct sockaddr_in6 *in6 = (const void *)found->ai_addr;
        memcpy(out->b, &in6->sin6_addr, sizeof out->b);
    }
    freeaddrinfo(found);
    if (nornic_addr_is_multicast(out) || nornic_addr_is_zero(out) || nornic_addr_equal(out, &any_v4))
        return cli_fail("%s is no address of one machine: give that", name);
    return CLI_OK;
}

/* Our own address: what the options name, or nothing. */
static int resolve_local(struct peer *peer)
{
    const struct peer_options *o = peer->options;
    unsigned index;
    if (o->bind)
        return resolve_name(peer, o->bind, &peer->local);
    if (!o->node.has_gid_index)
        return CLI_OK;
    return cli_node_pick_gid(&peer->node, &o->node, NULL, &index, &peer->local);
}

static int create_cq(struct peer *peer)
{
    struct nornic_cq_config config = {
        NORNIC_INIT(config),
        .capacity = peer->options->connections * (peer->max_send_wr + peer->max_recv_wr) + 1};
    int err = peer->node.events ? nornic_channel_create(peer->node.api, &peer->channel) : 0;
    config.channel = peer->channel;
    if (!err)
        err = nornic_cq_create(peer->node.api, &config, &peer->cq);
    return !err ? CLI_OK
                : cli_fail("cannot create a completion queue of %u entries: %s", config.capacity,
                           strerror(-err));
}

static int open_device(struct peer *peer)
{
    struct nornic_error why;
    int err = nornic_pd_create(peer->node.api, &peer->pd);
    if (err)
        return cli_fail("cannot create a protection domain: %s", strerror(-err));
    const struct nornic_cm_config config = {NORNIC_INIT(config), .response_timeout = RESPONSE_TIMEOUT,
                                            .gid_type = peer->node.roce_v1 ? NORNIC_GID_V1 : NORNIC_GID_V2};
    if (nornic_cm_open(peer->node.api, &config, &peer->cm, &why) != 0)
        return cli_fail("%s", why.text);
    return create_cq(peer);
}

static uint32_t work(uint32_t of_kind, const struct peer_options *options)
{
    return of_kind ? of_kind : options->messages + 1;
}

int peer_open(struct peer *peer, const struct peer_options *options, const struct peer_kind *kind)
{
    *peer = (struct peer){.options = options,
                          .kind = kind,
                          .max_send_wr = work(kind->max_send_wr, options),
                          .max_recv_wr = work(kind->max_recv_wr, options)};
    if (cli_stop_install() != 0)
        return cli_fail("cannot watch for signals");
    int err = options->host ? resolve_name(peer, options->host, &peer->remote) : CLI_OK;
    if (err == CLI_OK)
        err = cli_node_open(&options->node, options->host, options->bind, &peer->node);
    if (err != CLI_OK)
        return err;
    if (kind->qp_type == NORNIC_QPT_UD && cli_node_is_iwarp(&peer->node))
        return cli_node_close(&peer->node, cli_fail("iWARP has no datagrams: %s speaks over TCP",
                                                    cli_node_port_name(&peer->node)));
    peer->conns = calloc(options->connections, sizeof *peer->conns);
    err = peer->conns ? resolve_local(peer) : cli_fail("no memory for %u connections", options->connections);
    for (uint32_t i = 0; peer->conns && i < options->connections; i++)
        peer->conns[i] = (struct peer_conn){.peer = peer, .index = i};
    if (err == CLI_OK)
        err = open_device(peer);
    return err == CLI_OK ? CLI_OK : peer_close(peer, err);
}

/* --- what happens --- */

static int on_completion(struct peer *peer, const struct nornic_wc *wc)
{
    uint32_t i = 0;
    while (i < peer->options->connections &&
           !(peer->conns[i].qp && nornic_qp_num(peer->conns[i].qp) == wc->qp_num))
        i++;
    /* Work of a connection that has ended; the event of its end says so. */
    if (i == peer->options->connections || wc->status == NORNIC_WC_WR_FLUSH_ERR)
        return CLI_OK;
    /* It takes the last message and leaves; if its acknowledgement and its DREQ are lost, nobody repeats
     * them. That it had the message cannot be known (two generals), and is no failure. */
    if (wc->status == NORNIC_WC_RETRY_EXC_ERR && peer->peer_may_leave) {
        peer->conns[i].state = PEER_CONN_CLOSED;
        peer->unacknowledged++;
        return CLI_OK;
    }
    if (wc->status != NORNIC_WC_SUCCESS)
        return cli_negative("%s (%s)", cli_rc_status_words(wc->status), nornic_wc_status_name(wc->status));
    return peer->kind->completed(&peer->conns[i], wc);
}

/* What a round brought. */
struct round {
    bool moved; /* frames, both ways */
    bool heard; /* an event of the connection manager, or a completion */
};

static int round_of(struct peer *peer, struct round *round)
{
    struct nornic_wc wcs[WC_BURST];
    *round = (struct round){.moved = !peer->node.events && host_round(peer->node.dev, NULL)};
    int err = peer_handle_events(peer, &round->heard);
    nornic_cq_req_notify(peer->cq, false);
    int n = nornic_cq_poll(peer->cq, wcs, WC_BURST);
    if (n < 0)
        return cli_negative("the completion queue overflowed");
    for (int i = 0; i < n && err == CLI_OK; i++)
        err = on_completion(peer, &wcs[i]);
    round->heard |= n > 0;
    return err;
}

static void sleep_a_little(const struct peer *peer)
{
    if (!peer->node.events) {
        host_dev_wait(peer->node.dev, SLICE_NS);
        return;
    }
    struct nornic_cq *cq;
    struct pollfd fds[3] = {{.fd = nornic_channel_fd(peer->channel), .events = POLLIN},
                            {.fd = nornic_cm_fd(peer->cm), .events = POLLIN},
                            {.fd = cli_stop_fd(), .events = POLLIN}};
    struct timespec ts = {.tv_nsec = (long)SLICE_NS};
    ppoll(fds, 3, &ts, NULL);
    while (nornic_channel_get_event(peer->channel, &cq, 0) == 0)
        nornic_cq_ack_events(cq, 1);
}

static bool none_open(const struct peer *peer, const void *ctx)
{
    (void)ctx;
    for (uint32_t i = 0; i < peer->options->connections; i++)
        if (peer->conns[i].state == PEER_CONN_ESTABLISHED)
            return false;
    return true;
}

static bool none_open_or_late(const struct peer *peer, const void *end_ns)
{
    return none_open(peer, NULL) || host_now_ns() >= *(const uint64_t *)end_ns;
}

/* A connection that has ended cannot bring what is waited for. Where the peer may leave it can be another's
 * that is waited for: the peer closes one after the other, each when it has everything. */
static bool peer_has_left(const struct peer *peer)
{
    if (peer->peer_may_leave)
        return false;
    for (uint32_t i = 0; i < peer->options->connections; i++)
        if (peer->conns[i].state == PEER_CONN_CLOSED)
            return true;
    return false;
}

/* `is_opening`: frames alone are no sign of life, as a request to connect that nobody answers is sent
 * again and again. */
static int wait_for(struct peer *peer, bool (*done)(const struct peer *peer, const void *ctx),
                    const void *ctx, const char *what, uint64_t timeout_ns, bool is_opening)
{
    uint64_t last_ns = host_now_ns();
    while (!done(peer, ctx)) {
        struct round round;
        int err = round_of(peer, &round);
        if (err != CLI_OK || done(peer, ctx))
            return err;
        if (cli_stopped() && !peer->stop_ends_round)
            return cli_negative("stopped before %s", what);
        uint64_t now_ns = host_now_ns();
        if (round.heard || (round.moved && !is_opening))
            last_ns = now_ns;
        bool is_late = now_ns - last_ns >= timeout_ns;
        if ((round.heard || round.moved) && !is_late)
            continue;
        if (done != none_open && done != none_open_or_late && peer_has_left(peer))
            return cli_negative("the peer disconnected before %s", what);
        if (is_late)
            return cli_negative("nothing happened for %g s before %s (-t waits longer)",
                                (double)timeout_ns / NS_PER_S, what);
        sleep_a_little(peer);
    }
    return CLI_OK;
}

int peer_wait(struct peer *peer, bool (*done)(const struct peer *peer, const void *ctx), const void *ctx,
              const char *what)
{
    return wait_for(peer, done, ctx, what, peer->options->timeout_ns, false);
}

/* --- connections --- */

static bool all_established(const struct peer *peer, const void *ctx)
{
    (void)ctx;
    for (uint32_t i = 0; i < peer->options->connections; i++)
        if (peer->conns[i].state != PEER_CONN_ESTABLISHED)
            return false;
    return true;
}

/* A persistent server is stopped while it waits for a client: that is how it ends. */
static bool all_established_or_ended(const struct peer *peer, const void *ctx)
{
    return all_established(peer, ctx) || (peer->options->persistent && cli_stopped());
}

static int connect_one(struct peer *peer, struct peer_conn *conn)
{
    struct nornic_error why;
    int err = nornic_cm_id_create(peer->cm, peer->kind->space, conn, &conn->id);
    if (err)
        return cli_fail("cannot make a connection: %s", strerror(-err));
    conn->state = PEER_CONN_OPENING;
    const struct nornic_addr *local = nornic_addr_is_zero(&peer->local) ? NULL : &peer->local;
    err = nornic_cm_id_resolve_addr(conn->id, local, &peer->remote, peer->options->service_port,
                                    min_u64(RESOLVE_NS, peer->options->timeout_ns), &why);
    return !err ? CLI_OK : cli_fail("%s", why.text);
}

static int listen_once(struct peer *peer)
{
    char text[NORNIC_ADDR_STR_SIZE];
    if (peer->listen_id)
        return CLI_OK;
    int err = nornic_cm_id_create(peer->cm, peer->kind->space, NULL, &peer->listen_id);
    const struct nornic_addr *local = nornic_addr_is_zero(&peer->local) ? NULL : &peer->local;
    if (!err)
        err = nornic_cm_id_listen(peer->listen_id, local, peer->options->service_port,
                                  peer->options->connections);
    if (err == -EINVAL && local)
        return cli_fail("cannot listen on %s: it is no address of %s", nornic_addr_str(local, text),
                        cli_node_port_name(&peer->node));
    if (err)
        return cli_fail("cannot listen on service port %u: %s", peer->options->service_port, strerror(-err));
    peer_say_listening(peer);
    return CLI_OK;
}

int peer_connect_all(struct peer *peer)
{
    bool client = peer->options->host != NULL;
    int err = client ? CLI_OK : listen_once(peer);
    for (uint32_t i = 0; client && i < peer->options->connections && err == CLI_OK; i++)
        err = connect_one(peer, &peer->conns[i]);
    if (err == CLI_OK)
        err =
            wait_for(peer, all_established_or_ended, NULL, client ? "the connection stood" : "a client came",
                     client ? peer->options->timeout_ns : UINT64_MAX, true);
    peer->start_ns = host_now_ns();
    return err;
}

/* On a line that loses frames our consent may have been lost: stays to repeat it (ROCE-CM-51). */
static int linger(struct peer *peer)
{
    uint64_t end_ns = host_now_ns() + LINGER_NS;
    struct round round;
    int err = CLI_OK;
    while (err == CLI_OK && peer_retransmitted(peer) > 0 && host_now_ns() < end_ns && !cli_stopped()) {
        err = round_of(peer, &round);
        if (!round.heard && !round.moved)
            sleep_a_little(peer);
    }
    return err;
}

int peer_await_closed(struct peer *peer)
{
    int err = peer_wait(peer, none_open, NULL, "the peer disconnected");
    return err == CLI_OK && peer->kind->qp_type != NORNIC_QPT_UD ? linger(peer) : err;
}

int peer_disconnect_all(struct peer *peer)
{
    for (uint32_t i = 0; i < peer->options->connections; i++) {
        struct peer_conn *conn = &peer->conns[i];
        if (conn->state != PEER_CONN_ESTABLISHED)
            continue;
        if (peer->kind->qp_type == NORNIC_QPT_UD)
            conn->state = PEER_CONN_CLOSED; /* a datagram service has no end */
        else
            nornic_cm_id_disconnect(conn->id);
    }
    uint64_t end_ns = host_now_ns() + GOODBYE_NS;
    return peer_wait(peer, none_open_or_late, &end_ns, "the peer agreed to disconnect");
}

/* --- the end --- */

static void flush(const struct peer *peer)
{
    uint64_t end_ns = host_now_ns() + FLUSH_NS;
    while (host_now_ns() < end_ns)
        if (peer->node.events || !host_round(peer->node.dev, NULL))
            host_dev_wait(peer->node.dev, FLUSH_NS / 4);
}

int peer_options_check(const struct peer_options *o)
{
    if (cli_node_is_memory(&o->node))
        return cli_fail("port memory has no connection manager to talk to: use udp:ADDRESS, iwarp:ADDRESS, "
                        "xdp:INTERFACE or packet:INTERFACE");
    return CLI_OK;
}

int peer_close(struct peer *peer, int status)
{
    for (uint32_t i = 0; peer->conns && i < peer->options->connections; i++)
        peer_conn_close(&peer->conns[i]);
    if (peer->listen_id)
        nornic_cm_id_destroy(peer->listen_id);
    if (peer->cm) {
        flush(peer);
        nornic_cm_close(peer->cm);
    }
    if (peer->cq)
        nornic_cq_destroy(peer->cq);
    if (peer->channel)
        nornic_channel_destroy(peer->channel);
    if (peer->pd)
        nornic_pd_destroy(peer->pd);
    free(peer->conns);
    return cli_node_close(&peer->node, status);
}
