/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a node, the same in every command that moves data. */
#ifndef NORNIC_CLI_NODE_OPTIONS_H
#define NORNIC_CLI_NODE_OPTIONS_H

#include "cli/node/node.h"
#include "cli/option/option.h"

extern const struct cli_option cli_node_rows[];

/* The group of a command whose settings are a `type` with a struct cli_node_config as `member`. */
#define CLI_NODE_GROUP(type, member)                                                                         \
    {                                                                                                        \
        .title = "Port and line", .rows = cli_node_rows, .offset = offsetof(type, member), .is_shared = true \
    }

/* After the last option: `host` (may be NULL) goes with the port. CLI_OK or CLI_ERROR. */
int cli_node_options_check(const struct cli_node_config *config, const char *host);

/* Whether the two sides are in this process. */
bool cli_node_is_memory(const struct cli_node_config *config);

#endif
