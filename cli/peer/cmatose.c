/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/peer/exchange.h"

#define CMATOSE_PORT 7471

static const char help[] =
    "Usage: nornic cmatose --port PORT [OPTION...]                  the server\n"
    "       nornic cmatose -s ADDRESS --port PORT [OPTION...]       the client\n"
    "Makes a number of reliable connections by the connection manager; over each the server sends messages\n"
    "and the client answers with as many. The other side may be ucmatose.\n"
    "\n"
    "  -s ADDRESS               the server's address\n"
    "  -b, --bind=ADDRESS       own address\n"
    "  -c, --connections=COUNT  connections (1); both sides need the same\n"
    "  -C, --count=COUNT        messages each way over each of them (10); both sides need the same\n"
    "  -S, --size=BYTES         size of a message (100); both sides need the same\n"
    "  -p, --service-port=PORT  port of the RDMA TCP port space (7471)\n"
    "  -t, --timeout=TIME       give up when nothing happens for so long (10s)\n"
    "  -j, --json               report as one line of JSON\n" CLI_NODE_OPTIONS_HELP "\n"
    "Example, on two machines:\n"
    "  server# nornic cmatose -c 10 --port xdp:eth0\n"
    "  client# nornic cmatose -c 10 -s 192.0.2.1 --port xdp:eth0\n"
    "Against Linux soft-RoCE:\n"
    "  server# ucmatose -b 192.0.2.1 -c 10\n"
    "  client# nornic cmatose -c 10 -s 192.0.2.1 --port xdp:eth0\n";

int cli_cmatose(int argc, char **argv)
{
    static const struct peer_kind kind = {
        .stock = "ucmatose", .space = NORNIC_PS_TCP, .qp_type = NORNIC_QPT_RC, PEER_EXCHANGE_KIND};
    static const struct peer_syntax syntax = {
        .help = help, .letters = "s:b:c:C:S:p:t:jh", .max_size_bytes = 1u << 30};
    static const struct peer_exchange_order order = {.server_disconnects = true};
    struct peer_options options = {PEER_DEFAULTS, .service_port = CMATOSE_PORT};
    int err = peer_parse(argc, argv, &syntax, &options);
    if (err != CLI_OK)
        return err < 0 ? CLI_OK : err;
    return peer_exchange_run(&options, &kind, &order);
}
