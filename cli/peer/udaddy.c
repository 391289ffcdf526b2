/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/peer/exchange.h"

#define UDADDY_PORT 7174

static const char help[] =
    "Usage: nornic udaddy --port PORT [OPTION...]                   the server\n"
    "       nornic udaddy -s ADDRESS --port PORT [OPTION...]        the client\n"
    "Asks the connection manager for the queue pair behind a service (SIDR), sends it datagrams, and gets\n"
    "as many back. The other side may be udaddy. A lost datagram is not sent again.\n"
    "\n"
    "  -s ADDRESS               the server's address\n"
    "  -b, --bind=ADDRESS       own address\n"
    "  -c, --connections=COUNT  queue pairs (1); both sides need the same\n"
    "  -C, --count=COUNT        datagrams each way over each of them (10); both sides need the same\n"
    "  -S, --size=BYTES         size of a datagram (100); both sides need the same\n"
    "  -p, --service-port=PORT  port of the RDMA UDP port space (7174)\n"
    "  -t, --timeout=TIME       give up when nothing happens for so long (10s)\n"
    "  -j, --json               report as one line of JSON\n" CLI_NODE_OPTIONS_HELP "\n"
    "Example, on two machines:\n"
    "  server# nornic udaddy --port xdp:eth0\n"
    "  client# nornic udaddy -s 192.0.2.1 --port xdp:eth0\n"
    "Against Linux soft-RoCE:\n"
    "  server# udaddy -b 192.0.2.1\n"
    "  client# nornic udaddy -s 192.0.2.1 --port xdp:eth0\n";

int cli_udaddy(int argc, char **argv)
{
    static const struct peer_kind kind = {
        .stock = "udaddy", .space = NORNIC_PS_UDP, .qp_type = NORNIC_QPT_UD, PEER_EXCHANGE_KIND};
    static const struct peer_syntax syntax = {
        .help = help, .letters = "s:b:c:C:S:p:t:jh", .max_size_bytes = 4096};
    static const struct peer_exchange_order order = {
        .client_sends_first = true, .client_disconnects = true, .server_disconnects = true};
    struct peer_options options = {PEER_DEFAULTS, .service_port = UDADDY_PORT};
    int err = peer_parse(argc, argv, &syntax, &options);
    if (err != CLI_OK)
        return err < 0 ? CLI_OK : err;
    return peer_exchange_run(&options, &kind, &order);
}
