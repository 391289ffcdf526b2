/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/option/option.h"
#include "cli/perf/perf.h"

#define AT(member) CLI_SETS(struct perf_options, member)

static const char *const operations[] = {
#define OPERATION_(id, name, opcode, access) name,
    PERF_OPS(OPERATION_)
#undef OPERATION_
        NULL};

static const struct cli_option rows[] = {
    {"op", 0, "OPERATION", "what is measured: %r", AT(test.op), CLI_TAKES_ONE_OF(operations),
     .preset = "write", .also = {"o"}},
    {"size", 's', "BYTES", "of a message, such as 4096 or 64K (64K; atomics have 8)", AT(test.size_bytes),
     CLI_TAKES_SIZE(1, PERF_MAX_REGION_BYTES)},
    {"iters", 'n', "COUNT", "operations in all; or", AT(iters), CLI_TAKES_COUNT(1, UINT64_MAX - 1)},
    {"time", 'T', "TIME", "how long to post more (3s)", AT(time_ns),
     CLI_TAKES_TIME(NS_PER_MS, 86400 * NS_PER_S), .also = {"duration"}},
    {"depth", 'd', "COUNT", "operations under way on a queue pair, %r (16)", AT(test.depth),
     CLI_TAKES_COUNT(1, PERF_MAX_DEPTH)},
    {"qps", 'q', "COUNT", "queue pairs, %r (1)", AT(test.qps), CLI_TAKES_COUNT(1, PERF_MAX_QPS)},
    {"window", 'W', "PACKETS",
     "packets of a queue pair that may be unacknowledged, %r (512; over udp: what fits half the socket's "
     "buffer, if that is less); more is faster where nothing is lost, and repeats more where something is",
     AT(node.window_pkts), CLI_TAKES_COUNT(1, PERF_MAX_WINDOW_PKTS)},
    {"mtu", 'm', "BYTES", "path MTU: %r (the largest that fits the port and the way to the peer)",
     AT(test.pmtu_bytes), .kind = CLI_PMTU, .also = {"pmtu"}},
    {"latency", 'L', NULL, "one operation at a time: the times are those of a lone one", AT(latency)},
    {"verify", 'v', NULL,
     "compare the data: each message that is sent or read, each atomic's result, and the memory after "
     "WRITEs",
     AT(test.verify)},
    {"warmup", 'w', "COUNT", "operations before the measurement", AT(warmup),
     CLI_TAKES_COUNT(0, UINT64_MAX - 1), .preset = "100"},
    {"tcp-port", 'p', "PORT", "TCP port of the control exchange", AT(tcp_port), CLI_TAKES_COUNT(1, 65535),
     .preset = "18516"},
    {"timeout", 't', "TIME", "give up when nothing completes for so long", AT(timeout_ns),
     CLI_TAKES_TIME(10 * NS_PER_MS, 3600 * NS_PER_S), .preset = "10s"},
    {"json", 'j', NULL, "report as one line of JSON", AT(json)},
    {NULL},
};

/* What follows from the options together. */
static int check(void *settings)
{
    struct perf_options *o = settings;
    struct perf_test *t = &o->test;
    if (!o->iters && !o->time_ns)
        o->time_ns = 3 * NS_PER_S;
    if (perf_op_is_atomic(t->op) && t->size_bytes && t->size_bytes != PERF_ATOMIC_BYTES)
        return cli_fail("--size %u: %s works on 8 bytes", t->size_bytes, perf_op_name(t->op));
    if (!t->size_bytes)
        t->size_bytes = perf_op_is_atomic(t->op) ? PERF_ATOMIC_BYTES : 65536;
    if (!t->depth)
        t->depth = o->latency ? 1 : 16;
    if (!t->qps)
        t->qps = 1;
    return cli_node_options_check(&o->node, o->host);
}

const struct cli_command perf_command = {
    .name = "perf",
    .summary = "measure bandwidth or latency of one operation between two sides",
    .usage = "perf [OPTION...] [HOST]",
    .about = "Measures one operation between two machines. Without HOST it is the server, which serves one "
             "client; the client says what is measured. Over iWARP a write and a send complete when TCP has "
             "taken them: how long the way is, a read tells.",
    .groups = {{.rows = rows}, CLI_NODE_GROUP(struct perf_options, node)},
    .operands = (const struct cli_operand[]){{.name = "HOST",
                                              .kind = CLI_TEXT,
                                              .is_optional = true,
                                              .offset = offsetof(struct perf_options, host)},
                                             {NULL}},
    .rules =
        (const struct cli_rule[]){
            {CLI_EXCLUDES, "iters", "time", NULL},
            {CLI_EXCLUDES, "latency", "depth", "it has one operation under way"},
            {CLI_EXCLUDES, "latency", "qps", "it has one operation under way"},
            {.kind = CLI_END_OF_RULES},
        },
    .examples = "Example, on two machines, over AF_XDP:\n"
                "  server# nornic perf --port xdp:eth0\n"
                "  client# nornic perf --port xdp:eth0 --op write --size 64K --time 10s 192.0.2.1\n"
                "  client# nornic perf --port xdp:eth0 --op read --size 8 --latency 192.0.2.1\n"
                "Without privileges over iWARP, here between two shells of one machine:\n"
                "  server$ nornic perf --port iwarp:127.0.0.1\n"
                "  client$ nornic perf --port iwarp:127.0.0.1 --op fetch-add --latency 127.0.0.1\n"
                "Without privileges, both sides in one process, under loss:\n"
                "  $ nornic perf --port memory --op send --verify --loss 1%\n",
    .status = {"it was measured", "the transfer failed or data differed",
               "wrong usage, or it could not be tried"},
    .settings_bytes = sizeof(struct perf_options),
    .check = check,
    .run = perf_main,
};
