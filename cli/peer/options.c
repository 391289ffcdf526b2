/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/peer/options.h"

#include "cli/cli.h"

int peer_options_check(const struct peer_options *o)
{
    if (!o->node.port)
        return cli_fail("say which port to use: --port xdp:INTERFACE or packet:INTERFACE");
    if (cli_node_is_memory(&o->node))
        return cli_fail(
            "port memory has no connection manager to talk to: use xdp:INTERFACE or packet:INTERFACE");
    return CLI_OK;
}
