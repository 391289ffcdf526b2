/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/peer/rping.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/stop.h"
#include "net/bytes.h"

#define RPING_PORT     7174
#define MAX_ROUND_WORK 4 /* sends, READs and WRITEs of a round that may be outstanding */

static const char help[] =
    "Usage: nornic rping -s --port PORT [OPTION...]                 the server\n"
    "       nornic rping -c -a ADDRESS --port PORT [OPTION...]      the client\n"
    "Connects by the connection manager and moves a text to the server by RDMA READ and back by RDMA WRITE,\n"
    "checked in every round. The other side may be rping.\n"
    "\n"
    "  -s                       be the server: listen, serve one client\n"
    "  -c                       be the client\n"
    "  -a ADDRESS               the server's address; as a server: that of one's own to listen on\n"
    "  -I ADDRESS               client: own address to connect from\n"
    "  -p, --service-port=PORT  port of the RDMA TCP port space (7174)\n"
    "  -C, --count=COUNT        client: rounds; 0: until stopped (0)\n"
    "  -S, --size=BYTES         client: size of the text, 23 to 65535 (100)\n"
    "  -v                       print the text\n"
    "  -P                       server: serve one client after another until stopped\n"
    "  -t, --timeout=TIME       give up when nothing happens for so long (10s)\n"
    "  -j, --json               report as one line of JSON\n" CLI_NODE_OPTIONS_HELP "\n"
    "Example, on two machines:\n"
    "  server# nornic rping -s --port xdp:eth0\n"
    "  client# nornic rping -c -a 192.0.2.1 -C 10 -v --port xdp:eth0\n"
    "Against Linux soft-RoCE:\n"
    "  server# rping -s -a 192.0.2.1 -V\n"
    "  client# nornic rping -c -a 192.0.2.1 -C 10 --port xdp:eth0\n";

void rping_advert_put(const struct rping_advert *advert, uint8_t *out)
{
    put_be32(put_be32(put_be64(out, advert->addr), advert->rkey), advert->len_bytes);
}

struct rping_advert rping_advert_get(const uint8_t *bytes)
{
    return (struct rping_advert){
        .addr = get_be64(bytes), .rkey = get_be32(bytes + 8), .len_bytes = get_be32(bytes + 12)};
}

void rping_text(uint32_t round, char *buf, uint32_t len_bytes)
{
    static const uint32_t letters = 'z' - 'A' + 1;
    uint32_t at = (uint32_t)snprintf(buf, len_bytes, "rdma-ping-%u: ", round);
    for (uint32_t letter = round; at < len_bytes; at++, letter++)
        buf[at] = (char)('A' + letter % letters);
    buf[len_bytes - 1] = '\0';
}

/* The options of a peer, and what only rping has. */
struct options {
    struct peer_options peer; /* first: see take() */
    bool server, client;
    const char *address, *source;
};

static int take(struct peer_options *peer_options, int c, const char *text)
{
    struct options *o = (struct options *)peer_options;
    switch (c) {
    case 's':
        o->server = true;
        return CLI_OK;
    case 'c':
        o->client = true;
        return CLI_OK;
    case 'a':
        o->address = text;
        return CLI_OK;
    case 'I':
        o->source = text;
        return CLI_OK;
    case 'v':
        o->peer.print = true;
        return CLI_OK;
    case 'P':
        o->peer.persistent = true;
        return CLI_OK;
    }
    return peer_option(peer_options, c, text);
}

/* What the options say together. */
static int settle(struct options *o)
{
    if (o->server == o->client)
        return cli_fail("say -s to be the server, or -c to be the client");
    if (o->client && !o->address)
        return cli_fail("the client needs the server's address: -a ADDRESS");
    if (o->client && o->peer.size_bytes < RPING_MIN_SIZE_BYTES)
        return cli_fail("--size %u: rping's text has at least %u bytes", o->peer.size_bytes,
                        RPING_MIN_SIZE_BYTES);
    if (o->client && o->peer.persistent)
        return cli_fail("-P is for the server");
    o->peer.host = o->client ? o->address : NULL;
    o->peer.bind = o->client ? o->source : o->address;
    return CLI_OK;
}

static size_t memory_bytes(const struct peer_options *options)
{
    (void)options; /* what a client will have is not known before it says so */
    return RPING_TEXT_AT + 2 * RPING_MAX_SIZE_BYTES;
}

static int prepare(struct peer_conn *conn)
{
    return peer_post_recv(conn, 0, RPING_RECV_AT, RPING_ADVERT_BYTES);
}

static int completed(struct peer_conn *conn, const struct nornic_wc *wc)
{
    if ((wc->wr_id & 0xff) != PEER_WR_RECV) {
        conn->sent++;
        return CLI_OK;
    }
    conn->received++;
    return wc->byte_len == RPING_ADVERT_BYTES ? CLI_OK
                                              : cli_negative("the peer sent %u bytes where rping sends %u",
                                                             wc->byte_len, RPING_ADVERT_BYTES);
}

static bool has_received(const struct peer *peer, const void *ctx)
{
    const uint32_t *received = ctx;
    /* What is sent again is read again from memory: it stays until it has been acknowledged. */
    return peer->conns[0].received >= *received && peer->conns[0].sent == peer->conns[0].posted;
}

int rping_await(struct peer *peer, uint32_t received, const char *what)
{
    return peer_wait(peer, has_received, &received, what);
}

static int run(struct peer *peer)
{
    int err = peer_connect_all(peer);
    bool is_open = peer->conns[0].state != PEER_CONN_NONE;
    if (err == CLI_OK && is_open)
        err = peer->options->host ? rping_client(peer) : rping_server(peer);
    peer->end_ns = host_now_ns();
    return err;
}

int cli_rping(int argc, char **argv)
{
    static const struct peer_kind kind = {
        .stock = "rping",
        .space = NORNIC_PS_TCP,
        .qp_type = NORNIC_QPT_RC,
        .max_send_wr = MAX_ROUND_WORK,
        .max_recv_wr = 1,
        .access = NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE,
        .memory_bytes = memory_bytes,
        .param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7},
        .prepare = prepare,
        .completed = completed,
    };
    static const struct peer_syntax syntax = {
        .help = help, .letters = "sca:I:p:C:S:vPt:jh", .max_size_bytes = RPING_MAX_SIZE_BYTES, .take = take};
    struct options o = {.peer = {PEER_DEFAULTS, .service_port = RPING_PORT}};
    o.peer.messages = 0;
    int err = peer_parse(argc, argv, &syntax, &o.peer);
    if (err != CLI_OK)
        return err < 0 ? CLI_OK : err;
    err = settle(&o);
    struct peer peer;
    if (err == CLI_OK)
        err = peer_open(&peer, &o.peer, &kind);
    if (err != CLI_OK)
        return err;
    /* Where one client fails, the next may do better. */
    do {
        peer_conn_close(&peer.conns[0]);
        peer.opened = 0;
        err = run(&peer);
    } while (o.peer.persistent && err != CLI_ERROR && !cli_stopped());
    if (err == CLI_OK)
        peer_report(&peer);
    return peer_close(&peer, err);
}
