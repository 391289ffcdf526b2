/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic rdma-client and nornic rdma-server: the smallest programs over the connection manager. */
#include "cli/cli.h"
#include "cli/peer/exchange.h"
#include "cli/peer/options.h"

#define MESSAGE_BYTES 16

static const struct cli_option client_rows[] = {
    {"server", 's', "ADDRESS", "the server's address", PEER_SETS(host), .kind = CLI_TEXT},
    PEER_SERVICE_PORT_ROW("TCP", "7471"),
    PEER_END_ROWS,
};

static const struct cli_option server_rows[] = {
    {"bind", 's', "ADDRESS", "own address to listen on (all)", PEER_SETS(bind), .kind = CLI_TEXT},
    PEER_SERVICE_PORT_ROW("TCP", "7471"),
    PEER_END_ROWS,
};

/* One message of a fixed size: that much is the program's, not the user's. */
static int check_server(void *settings)
{
    struct peer_options *o = settings;
    o->connections = 1;
    o->messages = 1;
    o->size_bytes = MESSAGE_BYTES;
    return peer_options_check(o);
}

static int check_client(void *settings)
{
    const struct peer_options *o = settings;
    int status = check_server(settings);
    return status == CLI_OK && !o->host ? cli_fail("say which server: -s ADDRESS") : status;
}

static int run(void *settings)
{
    static const struct peer_kind kind = {.stock = "rdma_client and rdma_server",
                                          .space = NORNIC_PS_TCP,
                                          .qp_type = NORNIC_QPT_RC,
                                          PEER_EXCHANGE_KIND};
    static const struct peer_exchange_order order = {
        .client_sends_first = true, .client_disconnects = true, .server_disconnects = true};
    return peer_exchange_run(settings, &kind, &order);
}

const struct cli_command rdma_client_command = {
    .name = "rdma-client",
    .summary = "connect, one message there and one back; speaks with rdma_server",
    .usage = "rdma-client -s ADDRESS [OPTION...]",
    .about =
        "Connects by the connection manager, sends 16 bytes, gets 16 back, disconnects. The server is nornic "
        "rdma-server or rdma_server.",
    .groups = {{.rows = client_rows}, CLI_NODE_GROUP(struct peer_options, node)},
    .examples = "Example, against Linux soft-RoCE:\n"
                "  server# rdma_server\n"
                "  client# nornic rdma-client -s 192.0.2.1 --port xdp:eth0\n",
    .status = PEER_EXIT_STATUS,
    .settings_bytes = sizeof(struct peer_options),
    .check = check_client,
    .run = run,
};

const struct cli_command rdma_server_command = {
    .name = "rdma-server",
    .summary = "the other side of rdma-client; speaks with rdma_client",
    .usage = "rdma-server [OPTION...]",
    .about = "Waits for one client, takes 16 bytes from it, sends 16 back, disconnects. The client is nornic "
             "rdma-client or rdma_client.",
    .groups = {{.rows = server_rows}, CLI_NODE_GROUP(struct peer_options, node)},
    .examples = "Example, with Linux soft-RoCE as the client:\n"
                "  server# nornic rdma-server --port xdp:eth0\n"
                "  client# rdma_client -s 192.0.2.2\n",
    .status = PEER_EXIT_STATUS,
    .settings_bytes = sizeof(struct peer_options),
    .check = check_server,
    .run = run,
};
