/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/pingpong/pingpong.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/option/value.h"

static const char help[] =
    "Usage: nornic pingpong --port PORT [OPTION...] [HOST]\n"
    "Bounces a message between two machines, checks every byte of it, and reports the rate and the round\n"
    "trip. Without HOST it is the server and waits for a client. The other side may be\n"
    "ibv_rc_pingpong, ibv_uc_pingpong, ibv_ud_pingpong or ibv_srq_pingpong.\n"
    "\n"
    "  -p, --tcp-port=PORT    TCP port of the exchange before the transfer (18515)\n"
    "      --transport=NAME   rc (default); uc or ud, which do not repeat what is lost; or srq, several\n"
    "                         reliable connections that share a receive queue\n"
    "  -q, --num-qp=COUNT     srq: queue pairs, 1 to 256 (16); both sides need the same\n"
    "  -s, --size=BYTES       size of the message, such as 4096 or 64K (4096; of ud 1024)\n"
    "  -m, --mtu=BYTES        path MTU: 256, 512, 1024, 2048 or 4096 (1024); both sides need the same\n"
    "  -r, --rx-depth=COUNT   receives posted at a time (500)\n"
    "  -n, --iters=COUNT      exchanges, of all queue pairs together (1000)\n"
    "  -l, --sl=LEVEL         service level, 0 to 7 (0)\n"
    "  -c, --chk              send, and as a server expect, what ibv_*_pingpong -c does\n"
    "  -t, --timeout=TIME     give up when nothing arrives for so long (10s)\n"
    "  -j, --json             report as one line of JSON\n" CLI_NODE_OPTIONS_HELP "\n"
    "Example, on two machines, over AF_XDP:\n"
    "  server# nornic pingpong --port xdp:eth0\n"
    "  client# nornic pingpong --port xdp:eth0 -s 64K 192.0.2.1\n"
    "Against Linux soft-RoCE, which needs to be told its GID index:\n"
    "  server# ibv_rc_pingpong -d rxe0 -g 1\n"
    "  client# nornic pingpong --port xdp:eth0 192.0.2.1\n"
    "Without privileges, both sides in one process:\n"
    "  $ nornic pingpong --port memory\n";

enum { OPTION_TRANSPORT = 0x200 };

/* --port is the nornic port here as in every command; the stock program's long --port has the letter p. */
static const struct option long_options[] = {
    {"tcp-port", required_argument, NULL, 'p'},
    {"transport", required_argument, NULL, OPTION_TRANSPORT},
    {"num-qp", required_argument, NULL, 'q'},
    {"size", required_argument, NULL, 's'},
    {"mtu", required_argument, NULL, 'm'},
    {"rx-depth", required_argument, NULL, 'r'},
    {"iters", required_argument, NULL, 'n'},
    {"sl", required_argument, NULL, 'l'},
    {"chk", no_argument, NULL, 'c'},
    {"timeout", required_argument, NULL, 't'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    CLI_NODE_LONG_OPTIONS,
    {NULL, 0, NULL, 0},
};

static int parse_transport(struct pingpong_options *o, const char *text)
{
    for (unsigned t = 0; t < PINGPONG_TRANSPORT_COUNT; t++) {
        if (strcmp(text, pingpong_transport_name(t)) == 0) {
            o->transport = t;
            return CLI_OK;
        }
    }
    return cli_fail("--transport %s: give rc, uc, ud or srq", text);
}

static int parse_one(struct pingpong_options *o, int c, const char *text)
{
    uint64_t value = 0;
    int err = CLI_OK;
    switch (c) {
    case 'p':
        err = cli_parse_count("--tcp-port", text, 1, 65535, &value);
        o->tcp_port = (uint16_t)value;
        return err;
    case OPTION_TRANSPORT:
        return parse_transport(o, text);
    case 'q':
        err = cli_parse_count("--num-qp", text, 1, PINGPONG_MAX_PAIRS, &value);
        o->pairs = (uint32_t)value;
        return err;
    case 's':
        err = cli_parse_size("--size", text, 1, 1u << 30, &value);
        o->size_bytes = (uint32_t)value;
        return err;
    case 'm':
        return cli_parse_pmtu("--mtu", text, &o->pmtu_bytes);
    case 'r':
        err = cli_parse_count("--rx-depth", text, 1, 16384, &value);
        o->rx_depth = (uint32_t)value;
        return err;
    case 'n':
        err = cli_parse_count("--iters", text, 1, UINT32_MAX, &value);
        o->iters = (uint32_t)value;
        return err;
    case 'l':
        err = cli_parse_count("--sl", text, 0, 7, &value);
        o->sl = (uint8_t)value;
        return err;
    case 'c':
        o->stock_check = true;
        return CLI_OK;
    case 't':
        return cli_parse_duration("--timeout", text, NS_PER_S / 100, 3600 * NS_PER_S, &o->timeout_ns);
    case 'j':
        o->json = true;
        return CLI_OK;
    }
    return cli_node_option(&o->node, c, text);
}

/* What follows from the transport. */
static int set_defaults(struct pingpong_options *o)
{
    bool ud = o->transport == PINGPONG_UD, srq = o->transport == PINGPONG_SRQ;
    if (ud && o->pmtu_bytes != 0)
        return cli_fail("a datagram has no path MTU: leave --mtu out with --transport ud");
    if (!srq && o->pairs > 1)
        return cli_fail("--num-qp %u goes with --transport srq only", o->pairs);
    if (o->size_bytes == 0)
        o->size_bytes = ud ? 1024 : 4096;
    if (o->pmtu_bytes == 0)
        o->pmtu_bytes = 1024;
    if (o->pairs == 0)
        o->pairs = srq ? 16 : 1;
    return CLI_OK;
}

int pingpong_parse(int argc, char **argv, struct pingpong_options *o)
{
    *o = (struct pingpong_options){.tcp_port = 18515,
                                   .rx_depth = 500,
                                   .iters = 1000,
                                   .timeout_ns = 10 * NS_PER_S,
                                   .node = CLI_NODE_DEFAULTS};
    opterr = 0;
    int c, rc;
    while ((c = getopt_long(argc, argv, ":p:q:s:m:r:n:l:ct:jh" CLI_NODE_SHORT_OPTIONS, long_options, NULL)) !=
           -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return -1;
        }
        rc = c == '?' || c == ':' ? cli_option_error(c, argv) : parse_one(o, c, optarg);
        if (rc != CLI_OK)
            return rc;
    }
    if (argc - optind > 1)
        return cli_fail("one HOST at the most, but '%s' follows '%s'", argv[optind + 1], argv[optind]);
    o->host = argv[optind];
    rc = set_defaults(o);
    return rc != CLI_OK ? rc : cli_node_options_check(&o->node, o->host);
}
