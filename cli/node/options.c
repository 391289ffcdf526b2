/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/options.h"

#include <string.h>

#include "cli/option/cc.h"
#include "cli/cli.h"
#include "cli/option/value.h"

int cli_node_option(struct cli_node_config *config, int c, const char *text)
{
    uint64_t value = 0;
    int err = CLI_OK;
    switch (c) {
    case CLI_NODE_PORT:
        return cli_parse_port("--port", text, &config->port);
    case 'g':
        err = cli_parse_count("--gid-idx", text, 0, 255, &value);
        config->gid_index = (int)value;
        return err;
    case '6':
        config->ipv6 = true;
        return CLI_OK;
    case 'e':
        config->events = true;
        return CLI_OK;
    case CLI_NODE_ROCE_V1:
        config->roce_v1 = true;
        return CLI_OK;
    case CLI_NODE_CAPTURE:
        config->capture = text;
        return CLI_OK;
    case CLI_NODE_LOSS:
        return cli_parse_ppm("--loss", text, &config->impair.loss_ppm);
    case CLI_NODE_DUPLICATE:
        return cli_parse_ppm("--duplicate", text, &config->impair.duplicate_ppm);
    case CLI_NODE_REORDER:
        return cli_parse_ppm("--reorder", text, &config->impair.reorder_ppm);
    case CLI_NODE_CORRUPT:
        return cli_parse_ppm("--corrupt", text, &config->impair.corrupt_ppm);
    case CLI_NODE_ECN:
        return cli_parse_ppm("--ecn", text, &config->impair.ecn_ppm);
    case CLI_NODE_CC:
        return cli_parse_cc(text, &config->cc);
    case CLI_NODE_SEED:
        return cli_parse_count("--seed", text, 0, UINT64_MAX, &config->impair.seed);
    }
    return cli_fail("option %d has no meaning", c);
}

bool cli_node_is_memory(const struct cli_node_config *config)
{
    return strcmp(config->port, "memory") == 0;
}

int cli_node_options_check(const struct cli_node_config *config, const char *host)
{
    if (!config->port)
        return cli_fail("say which port to use: --port xdp:INTERFACE, packet:INTERFACE or memory");
    if (host && cli_node_is_memory(config))
        return cli_fail("port memory joins two ends in this process: it takes no HOST ('%s')", host);
    return CLI_OK;
}
