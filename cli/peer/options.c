/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/option/value.h"
#include "cli/peer/peer.h"

#define MAX_CONNECTIONS 1024
#define MAX_MESSAGES    16384

static const struct option long_options[] = {
    {"service-port", required_argument, NULL, 'p'},
    {"bind", required_argument, NULL, 'b'},
    {"connections", required_argument, NULL, 'c'},
    {"count", required_argument, NULL, 'C'},
    {"size", required_argument, NULL, 'S'},
    {"timeout", required_argument, NULL, 't'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    CLI_NODE_LONG_OPTIONS,
    {NULL, 0, NULL, 0},
};

static int parse_u32(const char *name, const char *text, uint64_t min, uint64_t max, uint32_t *out)
{
    uint64_t value = 0;
    int err = cli_parse_count(name, text, min, max, &value);
    *out = (uint32_t)value;
    return err;
}

int peer_option(struct peer_options *o, int c, const char *text)
{
    uint64_t value = 0;
    int err;
    switch (c) {
    case 'p':
        err = cli_parse_count("--service-port", text, 1, 65535, &value);
        o->service_port = (uint16_t)value;
        return err;
    case 's':
        o->host = text;
        return CLI_OK;
    case 'b':
        o->bind = text;
        return CLI_OK;
    case 'c':
        return parse_u32("--connections", text, 1, MAX_CONNECTIONS, &o->connections);
    case 'C':
        return parse_u32("--count", text, 0, MAX_MESSAGES, &o->messages);
    case 'S':
        err = cli_parse_size("--size", text, 1, 1u << 30, &value);
        o->size_bytes = (uint32_t)value;
        return err;
    case 't':
        return cli_parse_duration("--timeout", text, NS_PER_S / 100, 3600 * NS_PER_S, &o->timeout_ns);
    case 'j':
        o->json = true;
        return CLI_OK;
    }
    return cli_node_option(&o->node, c, text);
}

static int check(const struct peer_options *o, const struct peer_syntax *syntax)
{
    if (o->size_bytes > syntax->max_size_bytes)
        return cli_fail("--size %u: this program sends at most %u bytes", o->size_bytes,
                        syntax->max_size_bytes);
    if (!o->node.port)
        return cli_fail("say which port to use: --port xdp:INTERFACE or packet:INTERFACE");
    if (cli_node_is_memory(&o->node))
        return cli_fail(
            "port memory has no connection manager to talk to: use xdp:INTERFACE or packet:INTERFACE");
    return CLI_OK;
}

int peer_parse(int argc, char **argv, const struct peer_syntax *syntax, struct peer_options *o)
{
    char letters[64];
    snprintf(letters, sizeof letters, ":%s%s", syntax->letters, CLI_NODE_SHORT_OPTIONS);
    opterr = 0;
    int c, rc;
    while ((c = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        if (c == 'h') {
            fputs(syntax->help, stdout);
            return -1;
        }
        if (c == '?' || c == ':')
            rc = cli_option_error(c, argv);
        else
            rc = syntax->take ? syntax->take(o, c, optarg) : peer_option(o, c, optarg);
        if (rc != CLI_OK)
            return rc;
    }
    if (optind < argc)
        return cli_fail("'%s' is no option; see `nornic help %s`", argv[optind], cli_command_name());
    return check(o, syntax);
}
