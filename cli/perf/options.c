/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/perf/perf.h"

#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/option/value.h"

static const char help[] =
    "Usage: nornic perf --port PORT [OPTION...] [HOST]\n"
    "Measures one operation between two machines. Without HOST it is the server, which serves one client;\n"
    "the client says what is measured.\n"
    "\n"
    "  -o, --op=OPERATION     send, write, write-imm, read, fetch-add or cmp-swap (write)\n"
    "  -s, --size=BYTES       of a message, such as 4096 or 64K (65536; atomics have 8)\n"
    "  -n, --iters=COUNT      operations in all; or\n"
    "  -T, --time=TIME        how long to post more (3s)\n"
    "  -d, --depth=COUNT      operations under way on a queue pair (16)\n"
    "  -q, --qps=COUNT        queue pairs (1)\n"
    "  -W, --window=PACKETS   packets of a queue pair that may be unacknowledged (512); more is faster\n"
    "                         where nothing is lost, and repeats more where something is\n"
    "  -m, --pmtu=BYTES       path MTU: 256 to 4096 (the largest that fits the port)\n"
    "  -L, --latency          one operation at a time: the times are those of a lone one\n"
    "  -v, --verify           compare the data: each message that is sent or read, each atomic's result,\n"
    "                         and the memory after WRITEs\n"
    "  -w, --warmup=COUNT     operations before the measurement (100)\n"
    "  -p, --tcp-port=PORT    TCP port of the control exchange (18516)\n"
    "  -t, --timeout=TIME     give up when nothing completes for so long (10s)\n"
    "  -j, --json             report as one line of JSON\n" CLI_NODE_OPTIONS_HELP "\n"
    "Example, on two machines, over AF_XDP:\n"
    "  server# nornic perf --port xdp:eth0\n"
    "  client# nornic perf --port xdp:eth0 --op write --size 64K --time 10s 192.0.2.1\n"
    "  client# nornic perf --port xdp:eth0 --op read --size 8 --latency 192.0.2.1\n"
    "Without privileges, both sides in one process, under loss:\n"
    "  $ nornic perf --port memory --op send --verify --loss 1%\n";

static const struct option long_options[] = {
    {"op", required_argument, NULL, 'o'},
    {"size", required_argument, NULL, 's'},
    {"iters", required_argument, NULL, 'n'},
    {"time", required_argument, NULL, 'T'},
    {"depth", required_argument, NULL, 'd'},
    {"qps", required_argument, NULL, 'q'},
    {"window", required_argument, NULL, 'W'},
    {"pmtu", required_argument, NULL, 'm'},
    {"latency", no_argument, NULL, 'L'},
    {"verify", no_argument, NULL, 'v'},
    {"warmup", required_argument, NULL, 'w'},
    {"tcp-port", required_argument, NULL, 'p'},
    {"timeout", required_argument, NULL, 't'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    CLI_NODE_LONG_OPTIONS,
    {NULL, 0, NULL, 0},
};

static int parse_op(const char *text, enum perf_op *op)
{
    return perf_op_parse(text, op)
               ? CLI_OK
               : cli_fail("--op %s: it is send, write, write-imm, read, fetch-add or cmp-swap", text);
}

static int parse_count32(const char *option, const char *text, uint32_t max, uint32_t *out)
{
    uint64_t value = 0;
    int err = cli_parse_count(option, text, 1, max, &value);
    *out = (uint32_t)value;
    return err;
}

static int parse_size32(const char *text, uint32_t *out)
{
    uint64_t value = 0;
    int err = cli_parse_size("--size", text, 1, PERF_MAX_REGION_BYTES, &value);
    *out = (uint32_t)value;
    return err;
}

static int parse_tcp_port(const char *text, uint16_t *out)
{
    uint64_t value = 0;
    int err = cli_parse_count("--tcp-port", text, 1, 65535, &value);
    *out = (uint16_t)value;
    return err;
}

static int parse_flag(struct perf_options *o, int c)
{
    o->latency |= c == 'L';
    o->test.verify |= c == 'v';
    o->json |= c == 'j';
    return CLI_OK;
}

static int parse_one(struct perf_options *o, int c, const char *text)
{
    switch (c) {
    case 'o':
        return parse_op(text, &o->test.op);
    case 's':
        return parse_size32(text, &o->test.size_bytes);
    case 'n':
        return cli_parse_count("--iters", text, 1, UINT64_MAX - 1, &o->iters);
    case 'T':
        return cli_parse_duration("--time", text, NS_PER_S / 1000, 86400 * NS_PER_S, &o->time_ns);
    case 'd':
        return parse_count32("--depth", text, PERF_MAX_DEPTH, &o->test.depth);
    case 'q':
        return parse_count32("--qps", text, PERF_MAX_QPS, &o->test.qps);
    case 'W':
        return parse_count32("--window", text, PERF_MAX_WINDOW_PKTS, &o->node.window_pkts);
    case 'm':
        return cli_parse_pmtu("--pmtu", text, &o->test.pmtu_bytes);
    case 'w':
        return cli_parse_count("--warmup", text, 0, UINT64_MAX - 1, &o->warmup);
    case 'p':
        return parse_tcp_port(text, &o->tcp_port);
    case 't':
        return cli_parse_duration("--timeout", text, NS_PER_S / 100, 3600 * NS_PER_S, &o->timeout_ns);
    case 'L':
    case 'v':
    case 'j':
        return parse_flag(o, c);
    }
    return cli_node_option(&o->node, c, text);
}

/* What follows from the options together. */
static int settle(struct perf_options *o)
{
    struct perf_test *t = &o->test;
    if (o->iters && o->time_ns)
        return cli_fail("--iters and --time exclude each other");
    if (!o->iters && !o->time_ns)
        o->time_ns = 3 * NS_PER_S;
    if (perf_op_is_atomic(t->op) && t->size_bytes && t->size_bytes != PERF_ATOMIC_BYTES)
        return cli_fail("--size %u: %s works on 8 bytes", t->size_bytes, perf_op_name(t->op));
    if (!t->size_bytes)
        t->size_bytes = perf_op_is_atomic(t->op) ? PERF_ATOMIC_BYTES : 65536;
    if (o->latency && (t->depth > 1 || t->qps > 1))
        return cli_fail("--latency has one operation under way: it excludes --depth and --qps");
    if (!t->depth)
        t->depth = o->latency ? 1 : 16;
    if (!t->qps)
        t->qps = 1;
    return cli_node_options_check(&o->node, o->host);
}

int perf_parse(int argc, char **argv, struct perf_options *o)
{
    *o = (struct perf_options){.test = {.op = PERF_OP_WRITE},
                               .tcp_port = 18516,
                               .warmup = 100,
                               .timeout_ns = 10 * NS_PER_S,
                               .node = CLI_NODE_DEFAULTS};
    opterr = 0;
    int c;
    while ((c = getopt_long(argc, argv, ":o:s:n:T:d:q:W:m:Lvw:p:t:jh" CLI_NODE_SHORT_OPTIONS, long_options,
                            NULL)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return -1;
        }
        int err = c == '?' || c == ':' ? cli_option_error(c, argv) : parse_one(o, c, optarg);
        if (err != CLI_OK)
            return err;
    }
    if (argc - optind > 1)
        return cli_fail("one HOST at the most, but '%s' follows '%s'", argv[optind + 1], argv[optind]);
    o->host = argv[optind];
    return settle(o);
}
