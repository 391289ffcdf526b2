/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf/perf.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/report/json.h"

struct rates {
    double seconds, gbit_per_s, mmsg_per_s;
    uint64_t bytes;
};

static struct rates rates_of(const struct perf_test *test, const struct perf_result *result)
{
    struct rates r = {.seconds = (double)(result->end_ns - result->start_ns) / 1e9,
                      .bytes = result->ops * test->size_bytes};
    if (r.seconds > 0) {
        r.gbit_per_s = (double)r.bytes * 8 / r.seconds / 1e9;
        r.mmsg_per_s = (double)result->ops / r.seconds / 1e6;
    }
    return r;
}

static void report_json(const struct cli_node *node, const struct perf_test *t,
                        const struct perf_result *result, const struct rates *r)
{
    struct json_object *j = json_object_new_object();
    cli_json_add_text(j, "op", perf_op_name(t->op));
    cli_json_add_text(j, "port", cli_node_port_name(node));
    cli_json_add_text(j, "mode", cli_node_port_mode(node));
    cli_json_add_count(j, "size", t->size_bytes);
    cli_json_add_count(j, "depth", t->depth);
    cli_json_add_count(j, "qps", t->qps);
    if (!cli_node_is_iwarp(node))
        cli_json_add_count(j, "pmtu", t->pmtu_bytes);
    cli_json_add_count(j, "ops", result->ops);
    cli_json_add_count(j, "bytes", r->bytes);
    cli_json_add_real(j, "seconds", r->seconds);
    cli_json_add_real(j, "gbit_per_s", r->gbit_per_s);
    cli_json_add_real(j, "mmsg_per_s", r->mmsg_per_s);
    cli_json_add_usec(j, "latency_us", &result->latency);
    if (!cli_node_is_iwarp(node))
        cli_json_add_count(j, "retransmitted_pkts", result->retransmitted_pkts);
    json_object_object_add(j, "verified", json_object_new_boolean(t->verify));
    cli_json_add_count(j, "compared_messages", result->server_checked);
    cli_json_print(j);
}

static double usec(const struct histogram *h, double fraction)
{
    return (double)histogram_quantile(h, fraction) / 1e3;
}

static void report_text(const struct perf_options *options, const struct cli_node *node,
                        const struct perf_test *t, const struct perf_result *result, const struct rates *r)
{
    const struct histogram *h = &result->latency;
    const char *mode = cli_node_port_mode(node);
    bool is_iwarp = cli_node_is_iwarp(node);
    printf("%s of %u bytes over %s%s%s%s: %u queue pair%s, depth %u", perf_op_name(t->op), t->size_bytes,
           cli_node_port_name(node), mode ? " (" : "", mode ? mode : "", mode ? ")" : "", t->qps,
           t->qps == 1 ? "" : "s", t->depth);
    if (!is_iwarp)
        printf(", path MTU %u", t->pmtu_bytes);
    putchar('\n');
    printf("  %" PRIu64 " operations, %" PRIu64 " bytes in %.3f s\n", result->ops, r->bytes, r->seconds);
    if (!options->latency)
        printf("  %.3f Gbit/s, %.4f Mmsg/s\n", r->gbit_per_s, r->mmsg_per_s);
    printf("  post to completion: min %.1f, median %.1f, p99 %.1f, p99.9 %.1f, max %.1f usec\n",
           (double)h->min / 1e3, usec(h, 0.5), usec(h, 0.99), usec(h, 0.999), (double)h->max / 1e3);
    if (is_iwarp)
        printf("  completed when %s", perf_op_is_answered(t->op) ? "the answer had come"
                                                                 : "TCP had taken it, not when it was there");
    else
        printf("  %" PRIu64 " packets retransmitted", result->retransmitted_pkts);
    if (t->verify)
        printf(", %" PRIu64 " messages compared", result->server_checked);
    putchar('\n');
}

void perf_report(const struct perf_options *options, const struct cli_node *node,
                 const struct perf_test *test, const struct perf_result *result)
{
    struct rates r = rates_of(test, result);
    if (options->json)
        report_json(node, test, result, &r);
    else
        report_text(options, node, test, result, &r);
}
