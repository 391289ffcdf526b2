/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic rping: the command. */
#include "cli/peer/rping.h"

#include "cli/cli.h"
#include "cli/peer/options.h"
#include "cli/stop.h"

#define MAX_ROUND_WORK 4 /* sends, READs and WRITEs of a round that may be outstanding */

/* The options of a peer, and what only rping has. */
struct settings {
    struct peer_options peer;
    bool server, client;
    const char *address, *source;
};

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

static int converse(struct peer *peer)
{
    int err = peer_connect_all(peer);
    bool is_open = peer->conns[0].state != PEER_CONN_NONE;
    if (err == CLI_OK && is_open)
        err = peer->options->host ? rping_client(peer) : rping_server(peer);
    peer->end_ns = host_now_ns();
    return err;
}

static int run(void *settings)
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
    const struct settings *s = settings;
    struct peer peer;
    int err = peer_open(&peer, &s->peer, &kind);
    if (err != CLI_OK)
        return err;
    /* Where one client fails, the next may do better. */
    do {
        peer_conn_close(&peer.conns[0]);
        peer.opened = 0;
        err = converse(&peer);
    } while (s->peer.persistent && err != CLI_ERROR && !cli_stopped());
    if (err == CLI_OK)
        peer_report(&peer);
    return peer_close(&peer, err);
}

/* --- the command --- */

#define AT(member) CLI_SETS(struct settings, member)

static const struct cli_option role_rows[] = {
    {"server", 's', NULL, "be the server: listen, serve one client", AT(server)},
    {"client", 'c', NULL, "be the client", AT(client)},
    {"address", 'a', "ADDRESS", "the server's address; as a server: that of one's own to listen on",
     AT(address), .kind = CLI_TEXT},
    {"source", 'I', "ADDRESS", "client: own address to connect from", AT(source), .kind = CLI_TEXT},
    {NULL},
};

static const struct cli_option rows[] = {
    PEER_SERVICE_PORT_ROW("TCP", "7174"),
    {"count", 'C', "COUNT", "client: rounds; 0: until stopped", PEER_SETS(messages),
     CLI_TAKES_COUNT(0, PEER_MAX_MESSAGES), .preset = "0"},
    {"size", 'S', "BYTES", "client: size of the text, %r", PEER_SETS(size_bytes),
     CLI_TAKES_SIZE(RPING_MIN_SIZE_BYTES, RPING_MAX_SIZE_BYTES), .preset = "100"},
    {"verbose", 'v', NULL, "print the text", PEER_SETS(print)},
    {"persistent", 'P', NULL, "server: serve one client after another until stopped", PEER_SETS(persistent)},
    PEER_END_ROWS,
};

/* What the options say together. */
static int check(void *settings)
{
    struct settings *s = settings;
    if (s->server == s->client)
        return cli_fail("say -s to be the server, or -c to be the client");
    if (s->client && !s->address)
        return cli_fail("the client needs the server's address: -a ADDRESS");
    s->peer.connections = 1;
    s->peer.host = s->client ? s->address : NULL;
    s->peer.bind = s->client ? s->source : s->address;
    return peer_options_check(&s->peer);
}

const struct cli_command rping_command = {
    .name = "rping",
    .summary = "move a text by RDMA READ and WRITE; speaks with rping",
    .usage = "rping -s [OPTION...]                 the server\n"
             "rping -c -a ADDRESS [OPTION...]      the client",
    .about = "Connects by the connection manager and moves a text to the server by RDMA READ and back by "
             "RDMA WRITE, checked in every round. The other side may be rping.",
    .groups = {{.rows = role_rows},
               {.rows = rows, .offset = offsetof(struct settings, peer)},
               CLI_NODE_GROUP(struct settings, peer.node)},
    .rules = (const struct cli_rule[]){{CLI_EXCLUDES, "client", "persistent", "that is for the server"},
                                       {.kind = CLI_END_OF_RULES}},
    .examples = "Example, on two machines:\n"
                "  server# nornic rping -s --port xdp:eth0\n"
                "  client# nornic rping -c -a 192.0.2.1 -C 10 -v --port xdp:eth0\n"
                "Against Linux soft-RoCE:\n"
                "  server# rping -s -a 192.0.2.1 -V\n"
                "  client# nornic rping -c -a 192.0.2.1 -C 10 --port xdp:eth0\n",
    .status = PEER_EXIT_STATUS,
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
