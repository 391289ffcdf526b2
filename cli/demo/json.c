/* SPDX-License-Identifier: BSD-2-Clause */
/* The summary for a script. */
#include <errno.h>
#include <json-c/json.h>

#include "cli/report/json.h"
#include "cli/demo/demo.h"

static void add_uint(struct json_object *o, const char *key, uint64_t value)
{
    json_object_object_add(o, key, json_object_new_uint64(value));
}

static void add_text(struct json_object *o, const char *key, const char *value)
{
    json_object_object_add(o, key, json_object_new_string(value));
}

static void add_real(struct json_object *o, const char *key, double value)
{
    json_object_object_add(o, key, json_object_new_double(value));
}

static struct json_object *op_json(const struct demo_op_result *r, int op)
{
    struct json_object *o = json_object_new_object();
    struct json_object *latency = json_object_new_object();
    uint64_t ns = atomic_load(&r->elapsed_ns), bytes = atomic_load(&r->bytes);

    add_text(o, "operation", demo_op_json[op]);
    add_uint(o, "operations", atomic_load(&r->ops));
    add_uint(o, "bytes", bytes);
    add_uint(o, "elapsed_ns", ns);
    add_real(o, "gbit_per_s", ns ? (double)bytes * 8 / (double)ns : 0);
    add_uint(latency, "samples", r->latency.samples);
    add_uint(latency, "min", r->latency.min_ns);
    add_uint(latency, "p50", r->latency.p50_ns);
    add_uint(latency, "p99", r->latency.p99_ns);
    add_uint(latency, "p99.9", r->latency.p999_ns);
    json_object_object_add(o, "latency_ns", latency);
    add_uint(o, "retransmitted_pkts", r->retransmitted_pkts);
    add_uint(o, "compared_operations", r->checked_ops);
    add_uint(o, "compared_bytes", r->checked_bytes);
    add_uint(o, "wrong_operations", r->wrong_ops);
    return o;
}

static struct json_object *counters_json(const struct demo_side_result *side)
{
    struct json_object *o = json_object_new_object();
    const uint64_t *values = (const uint64_t *)&side->counters.qps;

    for (unsigned i = 0; roce_counter_name(i); i++)
        add_uint(o, roce_counter_name(i), values[i]);
    for (int v = 0; v < ROCE_RX_VERDICT_COUNT; v++)
        add_uint(o, roce_verdict_counter_name((enum roce_rx_verdict)v), side->counters.verdicts[v]);
    return o;
}

static struct json_object *pass_json(const struct demo_board *board)
{
    const struct demo_plan *plan = &board->plan;
    struct json_object *o = json_object_new_object(), *ops = json_object_new_array();
    struct json_object *icrc = json_object_new_object(), *counters = json_object_new_object();
    uint64_t good = 0, bad = 0;

    add_uint(o, "loss_ppm", plan->loss_ppm);
    add_uint(o, "lost_frames", board->sides[DEMO_A].lost_frames);
    add_uint(o, "pmtu", plan->pmtu_bytes);
    add_uint(o, "size", plan->size_bytes);
    add_uint(o, "depth", plan->depth);
    for (int op = 0; op < DEMO_OP_COUNT; op++)
        json_object_array_add(ops, op_json(&board->ops[op], op));
    json_object_object_add(o, "operations", ops);
    for (int i = 0; i < 2; i++) {
        good += demo_icrc_good(&board->sides[i]);
        bad += board->sides[i].counters.verdicts[ROCE_RX_DROP_ICRC];
        json_object_object_add(counters, i ? "b" : "a", counters_json(&board->sides[i]));
    }
    add_uint(icrc, "good", good);
    add_uint(icrc, "bad", bad);
    json_object_object_add(o, "icrc", icrc);
    json_object_object_add(o, "counters", counters);
    if (plan->capture[0])
        add_text(o, "capture", plan->capture);
    return o;
}

int demo_print_json(FILE *out, const char *port, struct demo_board *const *boards, unsigned n,
                    struct json_object *smc, struct json_object *iwarp, bool ok)
{
    struct json_object *o = json_object_new_object(), *passes = json_object_new_array();

    json_object_object_add(o, "ok", json_object_new_boolean(ok));
    add_text(o, "port", port);
    add_uint(o, "seed", n ? boards[0]->plan.seed : 0);
    for (unsigned i = 0; i < n; i++)
        json_object_array_add(passes, pass_json(boards[i]));
    json_object_object_add(o, "passes", passes);
    if (smc)
        json_object_object_add(o, "smc", json_object_get(smc));
    if (iwarp)
        json_object_object_add(o, "iwarp", json_object_get(iwarp));
    int err = cli_json_write(out, o, JSON_C_TO_STRING_PLAIN) ? 0 : -ENOMEM;
    json_object_put(o);
    return err;
}
