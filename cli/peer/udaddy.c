/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/peer/exchange.h"
#include "cli/peer/options.h"

#define MAX_DATAGRAM_BYTES 4096

static const struct cli_option rows[] = {
    {"server", 's', "ADDRESS", "the server's address", PEER_SETS(host), .kind = CLI_TEXT},
    {"bind", 'b', "ADDRESS", "own address", PEER_SETS(bind), .kind = CLI_TEXT},
    PEER_SHAPE_ROWS("datagrams", "datagram", "queue pairs", MAX_DATAGRAM_BYTES),
    PEER_SERVICE_PORT_ROW("UDP", "7174"),
    PEER_END_ROWS,
};

static int check(void *settings)
{
    return peer_options_check(settings);
}

static int run(void *settings)
{
    static const struct peer_kind kind = {
        .stock = "udaddy", .space = NORNIC_PS_UDP, .qp_type = NORNIC_QPT_UD, PEER_EXCHANGE_KIND};
    static const struct peer_exchange_order order = {
        .client_sends_first = true, .client_disconnects = true, .server_disconnects = true};
    return peer_exchange_run(settings, &kind, &order);
}

const struct cli_command udaddy_command = {
    .name = "udaddy",
    .summary = "datagrams to a service that is asked for; speaks with udaddy",
    .usage = "udaddy [OPTION...]                   the server\n"
             "udaddy -s ADDRESS [OPTION...]        the client",
    .about = "Asks the connection manager for the queue pair behind a service (SIDR), sends it datagrams, "
             "and gets as many back. The other side may be udaddy. A lost datagram is not sent again.",
    .groups = {{.rows = rows}, CLI_NODE_GROUP(struct peer_options, node)},
    .examples = "Example, on two machines:\n"
                "  server# nornic udaddy --port xdp:eth0\n"
                "  client# nornic udaddy -s 192.0.2.1 --port xdp:eth0\n"
                "Against Linux soft-RoCE:\n"
                "  server# udaddy -b 192.0.2.1\n"
                "  client# nornic udaddy -s 192.0.2.1 --port xdp:eth0\n",
    .status = PEER_EXIT_STATUS,
    .settings_bytes = sizeof(struct peer_options),
    .check = check,
    .run = run,
};
