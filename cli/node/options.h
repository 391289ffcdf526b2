/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a node, the same in every command that moves data. */
#ifndef NORNIC_CLI_NODE_OPTIONS_H
#define NORNIC_CLI_NODE_OPTIONS_H

#include <getopt.h>

#include "cli/node/node.h"

#define CLI_NODE_OPTIONS_HELP                                                                                \
    "\n"                                                                                                     \
    "      --port=PORT        xdp:IFACE (or xdp:IFACE:native, xdp:IFACE:generic), packet:IFACE or memory\n"  \
    "  -g, --gid-idx=INDEX    GID to use, by its index (that of the address HOST is reached from)\n"         \
    "  -6, --ipv6             prefer an IPv6 GID\n"                                                          \
    "      --roce-v1          speak RoCEv1 (EtherType 0x8915), as the peer must too\n"                       \
    "  -e, --events           sleep on completion events; else look for completions in a loop\n"             \
    "      --capture=FILE     write what crosses the port to FILE, as pcapng\n"                              \
    "      --loss=RATE        lose frames, such as 1% or 200ppm, of both directions\n"                       \
    "      --duplicate=RATE   send frames twice\n"                                                           \
    "      --reorder=RATE     let frames be overtaken\n"                                                     \
    "      --corrupt=RATE     flip a bit of frames\n"                                                        \
    "      --ecn=RATE         mark frames \"congestion experienced\", as a router does\n"                    \
    "      --cc[=SETTINGS]    congestion management: obey and send CNPs; SETTINGS as line-rate=25G,gain=5\n" \
    "      --seed=NUMBER      which frames these are (1)\n"                                                  \
    "  -h, --help             this text\n"

enum cli_node_option {
    CLI_NODE_PORT = 0x100,
    CLI_NODE_ROCE_V1,
    CLI_NODE_CAPTURE,
    CLI_NODE_LOSS,
    CLI_NODE_DUPLICATE,
    CLI_NODE_REORDER,
    CLI_NODE_CORRUPT,
    CLI_NODE_SEED,
    CLI_NODE_ECN,
    CLI_NODE_CC,
};

#define CLI_NODE_SHORT_OPTIONS "g:6e"
#define CLI_NODE_LONG_OPTIONS                                                                         \
    {"port", required_argument, NULL, CLI_NODE_PORT}, {"gid-idx", required_argument, NULL, 'g'},      \
        {"ipv6", no_argument, NULL, '6'}, {"events", no_argument, NULL, 'e'},                         \
        {"roce-v1", no_argument, NULL, CLI_NODE_ROCE_V1},                                             \
        {"capture", required_argument, NULL, CLI_NODE_CAPTURE},                                       \
        {"loss", required_argument, NULL, CLI_NODE_LOSS},                                             \
        {"duplicate", required_argument, NULL, CLI_NODE_DUPLICATE},                                   \
        {"reorder", required_argument, NULL, CLI_NODE_REORDER},                                       \
        {"corrupt", required_argument, NULL, CLI_NODE_CORRUPT},                                       \
        {"ecn", required_argument, NULL, CLI_NODE_ECN}, {"cc", optional_argument, NULL, CLI_NODE_CC}, \
    {                                                                                                 \
        "seed", required_argument, NULL, CLI_NODE_SEED                                                \
    }

#define CLI_NODE_DEFAULTS                      \
    {                                          \
        .impair = {.seed = 1}, .gid_index = -1 \
    }

/* Takes one of the options above. CLI_OK or CLI_ERROR. */
int cli_node_option(struct cli_node_config *config, int c, const char *text);

/* After the last option: a port is given, and `host` (may be NULL) goes with it. CLI_OK or CLI_ERROR. */
int cli_node_options_check(const struct cli_node_config *config, const char *host);

bool cli_node_is_memory(const struct cli_node_config *config);

#endif
