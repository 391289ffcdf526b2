/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/tcp.h"
#include "test/explain_truth/play.h"
#include "test/sim/smcr_run.h"

#define CONNS_MAX 64

struct watched {
    struct truth_tape *tape;
    struct pair *pair;
    struct truth_wire wires[TRUTH_DEVICES_MAX];
    uint32_t tcp_sent[CONNS_MAX][2]; /* bytes, by connection and node */
};

static void trace(void *ctx, const struct roce_trace *event)
{
    const struct pair_port *port = ctx;
    const struct watched *w = port->node->pair->config.roce_trace_ctx;
    truth_tape_trace(w->tape, 3 * port->node->index + port->index, event);
}

/* What an instance sends over TCP, as a segment; RoCE frames are the wires'. */
static void see_tcp(void *ctx, const struct pair_end *end, const uint8_t *bytes, size_t n)
{
    struct watched *w = ctx;
    uint8_t frame[2200] = {0};
    if (!end || n > 2000)
        return;
    bool is_client = end->role == SMCR_CLIENT;
    unsigned conn = end->c->id % CONNS_MAX;
    uint16_t port = (uint16_t)(40000 + end->c->id);
    struct net_ether ether = {.dst = {2, [5] = (uint8_t)(2 - end->node)},
                              .src = {2, [5] = (uint8_t)(1 + end->node)},
                              .ethertype = NET_ETHERTYPE_IPV4};
    struct net_ipv4 ip = {.version = 4,
                          .ihl = 5,
                          .ttl = 64,
                          .protocol = NET_IP_PROTO_TCP,
                          .src = {198, 51, 100, (uint8_t)(1 + end->node)},
                          .dst = {198, 51, 100, (uint8_t)(2 - end->node)}};
    struct net_tcp tcp = {.data_offset = 5,
                          .ack = 1,
                          .psh = 1,
                          .window = 1000,
                          .seq = 1 + w->tcp_sent[conn][end->node],
                          .ack_seq = 1 + w->tcp_sent[conn][!end->node],
                          .src_port = is_client ? port : 5001,
                          .dst_port = is_client ? 5001 : port};
    ip.total_len = (uint16_t)(NET_IPV4_BYTES + NET_TCP_BYTES + n);
    net_ipv4_put(frame, &ip);
    ip.checksum = net_checksum_ipv4(frame, NET_IPV4_BYTES);
    w->tcp_sent[conn][end->node] += (uint32_t)n;
    uint8_t *at = net_tcp_put(net_ipv4_put(net_ether_put(frame, &ether), &ip), &tcp);
    memcpy(at, bytes, n);
    truth_tape_other(w->tape, end->node, frame, (uint32_t)(at - frame) + (uint32_t)n, w->pair->now_ns);
}

static void begins(void *ctx, struct pair *pair)
{
    struct watched *w = ctx;
    w->pair = pair;
    pair->on_wire = see_tcp;
    pair->wire_ctx = w;
    for (unsigned n = 0; n < 2; n++)
        for (unsigned p = 0; p < pair->node[n].num_ports; p++) {
            unsigned device = 3 * n + p;
            truth_tape_device(w->tape, device, pair->node[n].port[p].mac.b);
            truth_tape_watch(w->tape, device, pair->node[n].port[p].wire, &w->wires[device]);
        }
}

void truth_play_smc(struct truth_tape *tape, enum truth_scene_kind kind, uint64_t seed, char *failure,
                    size_t size)
{
    bool is_clean = kind == TRUTH_SCENE_SMC_CLEAN;
    struct smcr_profile profile = {.ports_max = is_clean ? 2 : 3,
                                   .conns_max = 3,
                                   .bytes_max = 20000,
                                   .loss_ppm_max = is_clean ? 0 : 20000,
                                   .cuts = !is_clean,
                                   .both_ways = true};
    struct watched w = {.tape = tape};
    struct smcr_run *run = calloc(1, sizeof *run);
    if (!run)
        abort();
    smcr_plan_draw(&run->plan, seed, &profile);
    run->plan.pair.tcp_chunk_bytes = 0;
    run->plan.pair.roce_trace = trace;
    run->plan.pair.roce_trace_ctx = &w;
    run->begins = begins;
    run->begins_ctx = &w;
    smcr_run(run);
    if (run->failure[0])
        snprintf(failure, size, "%s", run->failure);
    free(run);
}
