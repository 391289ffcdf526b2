/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of flows and operations, as text, JSON and CSV. */
#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "explain/story/quantiles.h"
#include "explain/story/story.h"
#include "explain/story/units.h"
#include "nornic/addr.h"
#include "roce/opcode.h"

/* Where the capture misses packets, an operation that a later answer told of may have had its own, sooner: it
 * is left out. Where the clocks of the two directions differ all are. */
static struct explain_quantiles quantiles_of(const struct explain_flow_numbers *n,
                                             const struct explain_flow *f, unsigned d)
{
    return explain_quantiles_of(&n->way[d].latency, n->way[d].untimed, explain_is_timed(f), n->is_holey);
}

static void put_way(struct explain_text *out, const struct explain_flow_numbers *n,
                    const struct explain_flow *f, uint32_t index, unsigned d)
{
    const struct explain_way_numbers *w = &n->way[d];
    char addr[NORNIC_ADDR_STR_SIZE];
    explain_printf(out, "flow %u, from %s: ", index, nornic_addr_str(&f->addr[d], addr));
    explain_put_count(out, f->messages[d], "message", "messages");
    explain_put(out, ", ");
    explain_put_bytes(out, w->bytes);
    explain_put_rate(out, explain_goodput(n, d));
    struct explain_quantiles q = quantiles_of(n, f, d);
    if (!explain_is_timed(f))
        explain_put(out, "; latency cannot be told, as the clocks of the directions differ");
    else
        explain_put_quantiles(out, &q);
    if (f->rtt_ns[d]) {
        explain_put(out, "; RTT ");
        explain_put_duration(out, f->rtt_ns[d]);
    }
    if (w->most_psns && explain_is_timed(f)) {
        explain_put(out, "; at most ");
        explain_put_count(out, w->most_psns, "PSN", "PSNs");
        explain_put(out, " outstanding");
    }
    if (w->again)
        explain_printf(out, "; %.1f %% sent again", 100.0 * (double)w->again / (double)w->requests);
    if (w->selected)
        explain_printf(out, ", %" PRIu64 " for selective acknowledgements", w->selected);
    if (w->pauses) {
        explain_put(out, "; ");
        explain_put_count(out, w->pauses, "pause", "pauses");
        explain_put(out, " of ");
        explain_put_duration(out, w->paused_ns);
        explain_put(out, w->pauses == 1 ? "" : " together");
    }
    explain_put(out, "\n");
}

void explain_numbers_line(struct explain_text *out, const struct explain_numbers *numbers,
                          const struct explain_flow *f, uint32_t index)
{
    const struct explain_flow_numbers *n = explain_numbers_of(numbers, index);
    if (!n)
        return;
    for (unsigned d = 0; d < 2; d++)
        if (n->way[d].requests)
            put_way(out, n, f, index, d);
}

static void put_way_json(struct explain_text *out, const struct explain_flow_numbers *n,
                         const struct explain_flow *f, unsigned d)
{
    const struct explain_way_numbers *w = &n->way[d];
    char addr[NORNIC_ADDR_STR_SIZE];
    explain_printf(out, "{\"addr\":\"%s\",\"qpn\":%u,\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64,
                   nornic_addr_str(&f->addr[d], addr), f->qpn[d], f->messages[d], w->bytes);
    explain_printf(out, ",\"goodput_bps\":%.0f,\"requests\":%" PRIu64 ",\"again\":%" PRIu64,
                   explain_goodput(n, d), w->requests, w->again);
    explain_printf(out,
                   ",\"most_psns\":%u,\"pauses\":%" PRIu64 ",\"paused_ns\":%" PRIu64 ",\"rtt_ns\":%" PRIu64,
                   explain_is_timed(f) ? w->most_psns : 0, w->pauses, w->paused_ns, f->rtt_ns[d]);
    if (w->selected)
        explain_printf(out, ",\"selected\":%" PRIu64, w->selected);
    struct explain_quantiles q = quantiles_of(n, f, d);
    explain_printf(out, ",\"operations\":%" PRIu64, w->latency.all.count + w->untimed);
    explain_quantiles_json(out, &q);
    explain_put(out, "}");
}

void explain_numbers_json(struct explain_text *out, const struct explain_numbers *numbers,
                          const struct explain_flow *f, uint32_t index)
{
    const struct explain_flow_numbers *n = explain_numbers_of(numbers, index);
    if (!n)
        return;
    explain_printf(out, "{\"numbers\":{\"flow\":%u,\"ends\":[", index);
    put_way_json(out, n, f, 0);
    explain_put(out, ",");
    put_way_json(out, n, f, 1);
    explain_put(out, "]}}\n");
}

void explain_operations_csv_head(struct explain_text *out)
{
    explain_put(out, "flow,direction,message,operation,bytes,packets,sent_again,first_packet,answer_packet,"
                     "begin_ns,latency_ns,answer\n");
}

/* What its first packet is, and with what its last comes. */
const char *explain_operation_name(const struct explain_operation *op)
{
    uint32_t flags = roce_opcodes[op->opcode].flags, last = roce_opcodes[op->last_opcode].flags;
    if (flags & ROCE_PKT_READ)
        return "RDMA READ";
    if (flags & ROCE_PKT_SEND)
        return last & ROCE_PKT_IMMDT  ? "SEND with immediate"
               : last & ROCE_PKT_IETH ? "SEND with invalidate"
                                      : "SEND";
    if (flags & ROCE_PKT_WRITE)
        return last & ROCE_PKT_IMMDT ? "RDMA WRITE with immediate" : "RDMA WRITE";
    if (flags & ROCE_PKT_MASKETH)
        return ROCE_OPCODE_OP(op->opcode) == ROCE_OP_CMP_SWAP ? "masked CMP_SWAP" : "masked FETCH_ADD";
    return ROCE_OPCODE_OP(op->opcode) == ROCE_OP_CMP_SWAP ? "CMP_SWAP" : "FETCH_ADD";
}

void explain_operations_csv(struct explain_text *out, const struct explain_operation *op, bool is_timed)
{
    explain_printf(out, "%u,%u,%" PRIu64 ",%s,%" PRIu64 ",%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
                   op->flow, op->direction, op->message, explain_operation_name(op), op->bytes, op->packets,
                   op->again, op->first_number, op->end_number, op->begin_ns);
    if (is_timed && !op->is_untimed)
        explain_printf(out, "%" PRIu64, op->latency_ns);
    explain_put(out, op->is_with_later ? ",with a later one\n" : ",its own\n");
}

void explain_flows_csv_head(struct explain_text *out)
{
    explain_put(out, "flow,direction,from,to,from_qpn,to_qpn,messages,bytes,goodput_bps,requests,sent_again,"
                     "most_psns,pauses,paused_ns,rtt_ns,operations,latency_p50_ns,latency_p90_ns,"
                     "latency_p99_ns,latency_max_ns,sent_again_selectively\n");
}

void explain_flows_csv(struct explain_text *out, const struct explain_numbers *numbers,
                       const struct explain_flow *f, uint32_t index)
{
    const struct explain_flow_numbers *n = explain_numbers_of(numbers, index);
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    for (unsigned d = 0; n && d < 2; d++) {
        const struct explain_way_numbers *w = &n->way[d];
        struct explain_quantiles q = quantiles_of(n, f, d);
        explain_printf(out, "%u,%u,%s,%s,%u,%u,%" PRIu64 ",%" PRIu64 ",%.0f,%" PRIu64 ",%" PRIu64 ",%u",
                       index, d, nornic_addr_str(&f->addr[d], a), nornic_addr_str(&f->addr[1 - d], b),
                       f->qpn[d], f->qpn[1 - d], f->messages[d], w->bytes, explain_goodput(n, d), w->requests,
                       w->again, explain_is_timed(f) ? w->most_psns : 0);
        explain_printf(out,
                       ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                       ",%" PRIu64 ",%" PRIu64 "\n",
                       w->pauses, w->paused_ns, f->rtt_ns[d], w->latency.all.count + w->untimed, q.p50, q.p90,
                       q.p99, q.max, w->selected);
    }
}
