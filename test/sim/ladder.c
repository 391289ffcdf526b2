/* SPDX-License-Identifier: BSD-2-Clause */
/* The run of one seed as text: every packet and state change, as the trace hook shows them. */
#include <inttypes.h>
#include <stdio.h>

#include "test/sim/sim.h"

static void print_packet(const struct sim_node *node, const struct roce_trace *event)
{
    const struct roce_pkt *pkt = event->pkt;
    bool tx = event->kind == ROCE_TRACE_PKT_TX;
    fprintf(stderr, "%12.3f  %c %s qp %-4" PRIu32, (double)event->now_ns / 1e3, "AB"[node->index],
            tx ? "->" : "<-", event->qpn);
    if (pkt && pkt->op && pkt->op->name) {
        fprintf(stderr, " %-22s psn %06" PRIx32 "%s, %" PRIu32 " bytes", pkt->op->name, pkt->bth.psn,
                pkt->bth.ack_req ? " A" : "", pkt->payload_bytes);
        if (pkt->op->flags & ROCE_PKT_AETH)
            fprintf(stderr, ", %s, msn %" PRIu32, roce_syndrome_name(pkt->aeth.syndrome), pkt->aeth.msn);
        if (pkt->op->flags & ROCE_PKT_RETH)
            fprintf(stderr, ", va %" PRIx64 " length %" PRIu32, pkt->reth.va, pkt->reth.dma_len);
    }
    if (!tx && event->verdict != ROCE_RX_TAKEN)
        fprintf(stderr, "  (%s)", roce_rx_verdict_words(event->verdict));
    fputc('\n', stderr);
}

void sim_ladder_hook(void *ctx, const struct roce_trace *event)
{
    const struct sim_node *node = ctx;
    switch (event->kind) {
    case ROCE_TRACE_PKT_TX:
    case ROCE_TRACE_PKT_RX:
        print_packet(node, event);
        return;
    case ROCE_TRACE_QP_STATE:
        fprintf(stderr, "%12.3f  %c    qp %" PRIu32 " %s -> %s: %s\n", (double)event->now_ns / 1e3,
                "AB"[node->index], event -> qpn,
                nornic_qp_state_name((enum nornic_qp_state)event->from_state),
                nornic_qp_state_name((enum nornic_qp_state)event->to_state), roce_cause_words(event->cause));
        return;
    case ROCE_TRACE_RETRANSMIT:
    case ROCE_TRACE_RNR_WAIT:
        fprintf(stderr, "%12.3f  %c    qp %" PRIu32 " goes back to psn %06" PRIx32 ": %s, wait %.3f us\n",
                (double)event->now_ns / 1e3, "AB"[node->index], event -> qpn, event -> psn,
                roce_cause_words(event->cause), (double)event -> wait_ns / 1e3);
        return;
    }
}

void sim_ladder_fate(const struct sim *sim, unsigned from_node, const struct net_frame *frame, unsigned fate)
{
    struct roce_pkt pkt;
    if (!sim->config.ladder || fate == 0 ||
        roce_pkt_parse(&pkt, frame->data, frame->len_bytes, 0) != ROCE_RX_TAKEN)
        return;
    fprintf(stderr, "%12.3f  %c    the wire: psn %06" PRIx32 " to qp %" PRIu32 "%s%s%s%s%s\n",
            (double)sim->now_ns / 1e3, "AB"[from_node], pkt.bth.psn, pkt.bth.dest_qpn,
            fate & SIM_FATE_LOST ? " lost" : "", fate & SIM_FATE_DUPLICATED ? " duplicated" : "",
            fate & SIM_FATE_HELD ? " held back" : "", fate & SIM_FATE_CORRUPTED ? " corrupted" : "",
            fate & SIM_FATE_MARKED ? " marked" : "");
}
