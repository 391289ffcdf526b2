/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/peer/exchange.h"
#include "cli/peer/options.h"

static const struct cli_option rows[] = {
    {"server", 's', "ADDRESS", "the server's address", PEER_SETS(host), .kind = CLI_TEXT},
    {"bind", 'b', "ADDRESS", "own address", PEER_SETS(bind), .kind = CLI_TEXT},
    PEER_SHAPE_ROWS("messages", "message", "connections", PEER_MAX_SIZE_BYTES),
    PEER_SERVICE_PORT_ROW("TCP", "7471"),
    PEER_END_ROWS,
};

static int check(void *settings)
{
    return peer_options_check(settings);
}

static int run(void *settings)
{
    static const struct peer_kind kind = {
        .stock = "ucmatose", .space = NORNIC_PS_TCP, .qp_type = NORNIC_QPT_RC, PEER_EXCHANGE_KIND};
    static const struct peer_exchange_order order = {.server_disconnects = true};
    return peer_exchange_run(settings, &kind, &order);
}

const struct cli_command cmatose_command = {
    .name = "cmatose",
    .summary = "messages over many connections; speaks with ucmatose",
    .usage = "cmatose [OPTION...]                  the server\n"
             "cmatose -s ADDRESS [OPTION...]       the client",
    .about = "Makes a number of reliable connections by the connection manager; over each the server sends "
             "messages and the client answers with as many. The other side may be ucmatose.",
    .groups = {{.rows = rows}, CLI_NODE_GROUP(struct peer_options, node)},
    .examples = "Example, on two machines:\n"
                "  server# nornic cmatose -c 10 --port xdp:eth0\n"
                "  client# nornic cmatose -c 10 -s 192.0.2.1 --port xdp:eth0\n"
                "Against Linux soft-RoCE:\n"
                "  server# ucmatose -b 192.0.2.1 -c 10\n"
                "  client# nornic cmatose -c 10 -s 192.0.2.1 --port xdp:eth0\n",
    .status = PEER_EXIT_STATUS,
    .settings_bytes = sizeof(struct peer_options),
    .check = check,
    .run = run,
};
