/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic rdma-client and nornic rdma-server: the smallest programs over the connection manager. */
#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/peer/exchange.h"

#define RDMA_CLIENT_PORT 7471
#define MESSAGE_BYTES    16

#define COMMON_HELP                                                               \
    "  -p, --service-port=PORT  port of the RDMA TCP port space (7471)\n"         \
    "  -t, --timeout=TIME       give up when nothing happens for so long (10s)\n" \
    "  -j, --json               report as one line of JSON\n" CLI_NODE_OPTIONS_HELP "\n"

static const char client_help[] =
    "Usage: nornic rdma-client -s ADDRESS --port PORT [OPTION...]\n"
    "Connects by the connection manager, sends 16 bytes, gets 16 back, disconnects. The server is nornic\n"
    "rdma-server or rdma_server.\n"
    "\n"
    "  -s ADDRESS               the server's address\n" COMMON_HELP "Example, against Linux soft-RoCE:\n"
    "  server# rdma_server\n"
    "  client# nornic rdma-client -s 192.0.2.1 --port xdp:eth0\n";

static const char server_help[] =
    "Usage: nornic rdma-server --port PORT [OPTION...]\n"
    "Waits for one client, takes 16 bytes from it, sends 16 back, disconnects. The client is nornic\n"
    "rdma-client or rdma_client.\n"
    "\n"
    "  -s ADDRESS               own address to listen on (all)\n" COMMON_HELP
    "Example, with Linux soft-RoCE as the client:\n"
    "  server# nornic rdma-server --port xdp:eth0\n"
    "  client# rdma_client -s 192.0.2.2\n";

static int run(int argc, char **argv, const char *help, bool client)
{
    static const struct peer_kind kind = {.stock = "rdma_client and rdma_server",
                                          .space = NORNIC_PS_TCP,
                                          .qp_type = NORNIC_QPT_RC,
                                          PEER_EXCHANGE_KIND};
    static const struct peer_exchange_order order = {
        .client_sends_first = true, .client_disconnects = true, .server_disconnects = true};
    struct peer_syntax syntax = {.help = help, .letters = "s:p:t:jh", .max_size_bytes = MESSAGE_BYTES};
    struct peer_options options = {PEER_DEFAULTS, .service_port = RDMA_CLIENT_PORT};
    options.messages = 1;
    options.size_bytes = MESSAGE_BYTES;
    int err = peer_parse(argc, argv, &syntax, &options);
    if (err != CLI_OK)
        return err < 0 ? CLI_OK : err;
    if (client && !options.host)
        return cli_fail("say which server: -s ADDRESS");
    if (!client) {
        options.bind = options.host;
        options.host = NULL;
    }
    return peer_exchange_run(&options, &kind, &order);
}

int cli_rdma_client(int argc, char **argv)
{
    return run(argc, argv, client_help, true);
}

int cli_rdma_server(int argc, char **argv)
{
    return run(argc, argv, server_help, false);
}
