/* SPDX-License-Identifier: BSD-2-Clause */
/* One packet after the other, to those who know its kind. */
#include "explain/analysis.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "explain/flow/flow.h"
#include "explain/flow/strict.h"
#include "net/ipv4.h"

void explain_remark(struct explain_meaning *m, enum explain_finding_kind kind, const char *rule,
                    uint64_t number, uint64_t related, const char *format, ...)
{
    if (m->remark_count == EXPLAIN_REMARKS_MAX)
        return;
    struct explain_finding *f = &m->remarks[m->remark_count++];
    *f = (struct explain_finding){.kind = kind, .number = number, .related = related};
    snprintf(f->rule, sizeof f->rule, "%s", rule);
    va_list args;
    va_start(args, format);
    vsnprintf(f->words, sizeof f->words, format, args);
    va_end(args);
}

static void take_bad(const struct explain_packet *packet, struct explain_meaning *m)
{
    const char *words = roce_rx_verdict_words(packet->verdict);
    snprintf(m->words, sizeof m->words, "%s", words);
    if (packet->len_bytes < packet->wire_bytes)
        explain_remark(m, EXPLAIN_FIND_CUT, "", 0, 0, "%u of %u bytes were captured", packet->len_bytes,
                       packet->wire_bytes);
    else if (packet->verdict == ROCE_RX_DROP_ICRC)
        explain_remark(m, EXPLAIN_FIND_ICRC, "ROCE-ICRC-7", 0, 0, "ICRC %08x, it should be %08x",
                       packet->roce.icrc_found, packet->roce.icrc_expected);
    else
        explain_remark(m, EXPLAIN_FIND_MALFORMED, "", 0, 0, "%s", words);
}

void explain_pair_count(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet)
{
    struct explain_flow *flow = &pair->shown;
    if (!flow->first_number) {
        flow->first_number = packet->number;
        flow->first_ns = packet->time_ns;
    }
    flow->last_number = packet->number;
    flow->last_ns = packet->time_ns;
    flow->packets[direction]++;
    flow->bytes[direction] += packet->wire_bytes;
    if ((packet->roce.tclass & 3) == NET_ECN_CE)
        flow->marks[direction]++;
}

static void judge_order(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                        struct explain_meaning *m)
{
    if (packet->roce.op->flags & ROCE_PKT_RESPONSE)
        explain_strict_response(pair, direction, packet, m);
    else if (packet->roce.op->flags & ROCE_PKT_DEFINED)
        explain_strict_request(pair, direction, packet, m);
}

static void take_connected(struct explain_analysis *a, const struct explain_packet *packet,
                           struct explain_meaning *m)
{
    unsigned direction;
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_pair *pair = explain_pair_of(a, packet, &direction);
    if (!pair) {
        snprintf(m->words, sizeof m->words, "%s", pkt->op->name ? pkt->op->name : "reserved opcode");
        return;
    }
    m->flow = pair->index;
    m->direction = direction;
    explain_pair_count(pair, direction, packet);
    if (a->config.strict)
        judge_order(pair, direction, packet, m);
    pair->src_port[direction] = pkt->src_port;
    if (pkt->op->flags & ROCE_PKT_RESPONSE)
        explain_response(pair, direction, packet, m);
    else if (pkt->op->flags & ROCE_PKT_DEFINED)
        explain_request(pair, direction, packet, m);
    else
        snprintf(m->words, sizeof m->words, "reserved opcode 0x%02x", pkt->bth.opcode);
}

/* A CNP goes to the QP whose packets were marked, and names no service (ROCE-HDR-12). */
static void take_cnp(struct explain_analysis *a, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    static const uint8_t services[] = {ROCE_SERVICE_RC, ROCE_SERVICE_UC, ROCE_SERVICE_XRC, ROCE_SERVICE_UD};
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_pair *pair = NULL;
    unsigned direction = 0;
    for (unsigned i = 0; i < sizeof services && !pair; i++)
        pair = explain_pair_find(a, &pkt->src, &pkt->dst, pkt->bth.dest_qpn, services[i], &direction);
    if (pair) {
        explain_pair_count(pair, direction, packet);
        pair->shown.cnps[direction]++;
        m->flow = pair->index;
        m->direction = direction;
    }
    snprintf(m->words, sizeof m->words, "congestion notification: QP 0x%06x is to send more slowly",
             pkt->bth.dest_qpn);
    explain_remark(m, EXPLAIN_FIND_CNP, "ROCE-CC-2", 0, 0, "QP 0x%06x is told of congestion",
                   pkt->bth.dest_qpn);
}

static void take_roce(struct explain_analysis *a, const struct explain_packet *packet,
                      struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (packet->verdict == ROCE_RX_TAKEN && a->config.strict)
        explain_strict_packet(packet, m);
    if (packet->verdict != ROCE_RX_TAKEN) {
        take_bad(packet, m);
    } else if (pkt->op->flags & ROCE_PKT_CNP) {
        take_cnp(a, packet, m);
    } else if (pkt->op->flags & ROCE_PKT_DETH) {
        explain_datagram(a, packet, m);
    } else {
        take_connected(a, packet, m);
    }
    if (packet->verdict == ROCE_RX_TAKEN && (pkt->tclass & 3) == NET_ECN_CE && pkt->l3_kind != ROCE_L3_GRH)
        explain_remark(m, EXPLAIN_FIND_ECN_MARK, "ROCE-CC-2", 0, 0, "marked: congestion experienced");
}

void explain_analysis_next(struct explain_analysis *a, const struct explain_packet *packet,
                           struct explain_meaning *m)
{
    *m = (struct explain_meaning){0};
    a->last_ns = packet->time_ns > a->last_ns ? packet->time_ns : a->last_ns;
    if (packet->kind == EXPLAIN_ROCE || packet->kind == EXPLAIN_CM)
        take_roce(a, packet, m);
    explain_smc(a, packet, m);
    for (unsigned i = 0; i < m->remark_count; i++)
        if (!m->remarks[i].number)
            m->remarks[i].number = packet->number;
}

/* --- the end --- */

/* An answer takes its time: what was asked so shortly before the end of the capture is not missing. */
#define ANSWER_NS UINT64_C(10000000)

/* The next request of the half that asked for an answer and has none; false: there is no more. */
static bool next_unanswered(struct explain_analysis *a, struct explain_half *half, struct explain_finding *f)
{
    while (a->ending_slot < half->size) {
        struct explain_sent *s = &half->sent[a->ending_slot++];
        if (!s->number || s->answered || !s->ack_req || half->dead || a->last_ns - s->first_ns < ANSWER_NS)
            continue;
        *f = (struct explain_finding){
            .kind = EXPLAIN_FIND_MISSING_ACK, .rule = "ROCE-RS-51", .number = s->number};
        snprintf(f->words, sizeof f->words, "PSN 0x%06x asked for an ACK that is not in this capture",
                 s->psn);
        return true;
    }
    return false;
}

unsigned explain_analysis_end(struct explain_analysis *a, struct explain_finding *findings, unsigned max)
{
    unsigned n = 0;
    if (!a->ended)
        a->ending = a->oldest;
    a->ended = true;
    while (n < max && a->ending) {
        struct explain_half *half = &a->ending->half[a->ending_direction];
        bool rc = a->ending->shown.service != ROCE_SERVICE_UC;
        if (rc && next_unanswered(a, half, &findings[n])) {
            n++;
            continue;
        }
        a->ending_slot = 0;
        if (a->ending_direction++ == 0)
            continue;
        a->ending_direction = 0;
        a->ending = a->ending->newer;
    }
    while (n < max && explain_smc_end(a, &findings[n]))
        n++;
    return n;
}
