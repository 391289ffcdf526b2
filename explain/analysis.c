/* SPDX-License-Identifier: BSD-2-Clause */
/* One packet after the other, handed to the files that know its kind. */
#include "explain/analysis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "explain/flow/again/selective.h"
#include "explain/flow/connection.h"
#include "explain/flow/datagram.h"
#include "explain/flow/early.h"
#include "explain/flow/link/dcbx.h"
#include "explain/flow/link/pause.h"
#include "explain/flow/pair/count.h"
#include "explain/flow/pair/find.h"
#include "explain/flow/pair/place.h"
#include "explain/flow/pair/table.h"
#include "explain/flow/request.h"
#include "explain/flow/response.h"
#include "explain/flow/strict/order.h"
#include "explain/flow/strict/single.h"
#include "explain/flow/twice/twice.h"
#include "explain/iwarp/iwarp.h"
#include "explain/meaning/words.h"
#include "explain/packet/soundness.h"
#include "explain/smc/smc.h"
#include "net/ipv4.h"
#include "roce/psn.h"

#define UNSEEN_MAX 16   /* pairs of addresses that are told apart */
#define HEARD_MOST 4096 /* flows that are looked at, of those that spoke behind one */
#define SAME_MOST  16   /* times that a flow shows to be another, that are followed */

/* The addresses between which packets of a network were cut within their headers: the kind of these packets
 * is not known. */
struct unseen {
    struct explain_network network[UNSEEN_MAX];
    struct nornic_addr addr[UNSEEN_MAX][2];
    unsigned count; /* more than UNSEEN_MAX: between any */
};

struct explain_analysis {
    struct explain_analysis_config config;
    struct explain_flows flows;
    struct explain_pauses pauses;
    struct explain_twice *twice;
    struct explain_smc *smc;     /* NULL until something of SMC-R is seen */
    struct explain_iwarp *iwarp; /* NULL until a TCP connection begins */
    uint64_t last_ns;            /* of the newest packet */
    struct unseen unseen;
    bool has_ended;              /* explain_analysis_end() was called */
    struct explain_pair *ending; /* its place */
    uint64_t ending_ns;          /* when its hosts were last heard; 0: that is not known yet */
    uint32_t ending_slot;
    unsigned ending_early;
    unsigned ending_direction;
};

struct explain_analysis *explain_analysis_create(const struct explain_analysis_config *config)
{
    struct explain_analysis *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->config = *config;
    a->pauses.link_bps = config->link_bps;
    a->twice = explain_twice_create(config->copies);
    if (!explain_flows_init(&a->flows, config->max_flow_bytes) || !a->twice) {
        explain_analysis_destroy(a);
        return NULL;
    }
    a->flows.weather.counts_each = config->copies == EXPLAIN_COPIES_NONE;
    return a;
}

void explain_analysis_destroy(struct explain_analysis *a)
{
    explain_flows_deinit(&a->flows);
    explain_twice_destroy(a->twice);
    if (a->smc)
        explain_smc_destroy(a->smc);
    if (a->iwarp)
        explain_iwarp_destroy(a->iwarp);
    free(a);
}

/* --- one packet --- */

static void note_cut(const struct explain_packet *packet, struct explain_meaning *m)
{
    explain_remark(m, EXPLAIN_FIND_CUT, "", 0, 0, "%u of %u bytes were captured", packet->len_bytes,
                   packet->wire_bytes);
}

static bool is_unseen(const struct unseen *u, const struct explain_network *network,
                      const struct nornic_addr *a, const struct nornic_addr *b)
{
    bool is = u->count > UNSEEN_MAX;
    for (unsigned i = 0; i < u->count && !is; i++)
        is = explain_network_equal(&u->network[i], network) &&
             ((nornic_addr_equal(&u->addr[i][0], a) && nornic_addr_equal(&u->addr[i][1], b)) ||
              (nornic_addr_equal(&u->addr[i][0], b) && nornic_addr_equal(&u->addr[i][1], a)));
    return is;
}

static void note_unseen(struct unseen *u, const struct explain_packet *packet)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (is_unseen(u, &packet->network, &pkt->src, &pkt->dst))
        return;
    if (nornic_addr_is_zero(&pkt->src)) /* they were cut off, too */
        u->count = UNSEEN_MAX;
    if (u->count < UNSEEN_MAX) {
        u->network[u->count] = packet->network;
        u->addr[u->count][0] = pkt->src;
        u->addr[u->count][1] = pkt->dst;
    }
    u->count++;
}

static void take_bad(struct explain_analysis *a, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    enum explain_soundness soundness = explain_soundness_of(packet);
    bool is_short = soundness == EXPLAIN_SOUND_CUT;
    if (is_short)
        note_unseen(&a->unseen, packet);
    const char *words = packet->cut.is_train              ? "a train of packets, cut within the first of them"
                        : is_short                        ? "cut within its headers"
                        : soundness == EXPLAIN_SOUND_ICRC ? roce_rx_verdict_words(ROCE_RX_DROP_ICRC)
                        : packet->checksum.is_only_udp    ? "wrong UDP checksum"
                        : packet->checksum.is_only_ip     ? "wrong IPv4 header checksum"
                                                          : roce_rx_verdict_words(packet->verdict);
    snprintf(m->words, sizeof m->words, "%s", words);
    if (!is_short)
        explain_weather_damaged(&a->flows.weather, packet->number, &packet->roce);
    if (is_short)
        note_cut(packet, m);
    else if (soundness == EXPLAIN_SOUND_ICRC)
        explain_remark(m, EXPLAIN_FIND_ICRC, "ROCE-ICRC-7", 0, 0, "ICRC %08x, it should be %08x",
                       explain_icrc_on_wire(packet->roce.icrc_found),
                       explain_icrc_on_wire(packet->roce.icrc_expected));
    else
        explain_remark(m, EXPLAIN_FIND_MALFORMED, "", 0, 0, "%s", words);
}

static void judge_order(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                        struct explain_meaning *m)
{
    if (packet->roce.op->flags & ROCE_PKT_RESPONSE)
        explain_strict_response(pair, direction, packet, m);
    else if (packet->roce.op->flags & ROCE_PKT_DEFINED)
        explain_strict_request(pair, direction, packet, m);
}

/* Whether the direction stood still for a pause, before this packet. */
static void judge_pause(struct explain_analysis *a, struct explain_pair *pair, unsigned direction,
                        const struct explain_packet *packet, struct explain_meaning *m)
{
    uint64_t ns = explain_pause_stood(&a->pauses, packet, pair->newest_ns[direction], m);
    pair->shown.pauses[direction] += ns != 0;
    pair->shown.paused_ns[direction] += ns;
    pair->newest_ns[direction] = packet->time_ns;
}

static void take_connected(struct explain_analysis *a, const struct explain_packet *packet,
                           struct explain_meaning *m)
{
    unsigned direction;
    const struct roce_pkt *pkt = &packet->roce;
    a->flows.exchanged = (struct explain_exchange){0};
    struct explain_pair *pair = explain_pair_of(&a->flows, packet, &direction);
    m->exchanged = a->flows.exchanged;
    if (!pair) {
        snprintf(m->words, sizeof m->words, "%s", pkt->op->name ? pkt->op->name : "reserved opcode");
        return;
    }
    m->flow = pair->index;
    m->direction = direction;
    bool is_blind = is_unseen(&a->unseen, &packet->network, &pkt->src, &pkt->dst);
    pair->half[0].capture.is_unseen = pair->half[1].capture.is_unseen = m->is_uncounted = is_blind;
    explain_pair_count(pair, direction, packet);
    if (a->config.strict && !is_blind)
        judge_order(pair, direction, packet, m);
    pair->src_port[direction] = pkt->src_port;
    judge_pause(a, pair, direction, packet, m);
    if (pkt->op->flags & ROCE_PKT_RESPONSE)
        explain_response(pair, direction, packet, m);
    else
        explain_request(pair, direction, packet, m);
}

/* A CNP goes to the QP that sent the marked packets, and names no service (ROCE-HDR-12). */
static void take_cnp(struct explain_analysis *a, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    static const uint8_t services[] = {ROCE_SERVICE_RC, ROCE_SERVICE_UC, ROCE_SERVICE_XRC, ROCE_SERVICE_UD};
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_pair *pair = NULL;
    unsigned direction = 0;
    for (unsigned i = 0; i < sizeof services && !pair; i++)
        pair = explain_pair_find(&a->flows, packet, services[i], &direction);
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
    if (a->config.strict)
        explain_strict_packet(packet, m);
    if (packet->verdict != ROCE_RX_TAKEN) {
        take_bad(a, packet, m);
    } else if (pkt->op->flags & ROCE_PKT_CNP) {
        take_cnp(a, packet, m);
    } else if (pkt->op->flags & ROCE_PKT_DETH) {
        explain_datagram(&a->flows, packet, m);
    } else {
        take_connected(a, packet, m);
    }
    if (packet->cut.is_end)
        note_cut(packet, m);
    if (packet->verdict == ROCE_RX_TAKEN && (pkt->tclass & 3) == NET_ECN_CE && pkt->l3_kind != ROCE_L3_GRH)
        explain_remark(m, EXPLAIN_FIND_ECN_MARK, "ROCE-CC-2", 0, 0, "marked: congestion experienced");
}

static void take_smc(struct explain_analysis *a, struct explain_packet *packet, struct explain_meaning *m)
{
    if (!a->smc && explain_smc_has_layer(packet))
        a->smc = explain_smc_create();
    struct explain_smc_begun begun;
    struct explain_pair *pair = m->flow ? explain_pair_by_index(&a->flows, m->flow) : NULL;
    if (a->smc && explain_smc_take(a->smc, pair, packet, m, &begun))
        explain_pair_begin(&a->flows, &packet->network, begun.addr, begun.qpn, begun.starting_psn,
                           ROCE_SERVICE_RC);
    if (packet->kind == EXPLAIN_OTHER && m->words[0])
        packet->kind = EXPLAIN_SMC_TCP;
}

static void take_iwarp(struct explain_analysis *a, struct explain_packet *packet, struct explain_meaning *m)
{
    if (!a->iwarp && explain_iwarp_may_begin(packet))
        a->iwarp = explain_iwarp_create(a->config.max_flow_bytes);
    if (a->iwarp)
        explain_iwarp_take(a->iwarp, packet, m);
    if (packet->kind == EXPLAIN_IWARP && packet->len_bytes < packet->wire_bytes)
        note_cut(packet, m);
}

static bool is_roce(const struct explain_packet *packet)
{
    return packet->kind == EXPLAIN_ROCE || packet->kind == EXPLAIN_CM;
}

static void take(struct explain_analysis *a, struct explain_packet *packet, struct explain_meaning *m)
{
    a->last_ns = max_u64(a->last_ns, packet->time_ns);
    if (is_roce(packet))
        take_roce(a, packet, m);
    else if (packet->kind == EXPLAIN_PAUSE)
        explain_pause_take(&a->pauses, packet, m);
    else if (packet->kind == EXPLAIN_LLDP)
        explain_lldp_take(packet, m);
    take_smc(a, packet, m);
    if (packet->kind == EXPLAIN_SMC_TCP && packet->len_bytes < packet->wire_bytes)
        note_cut(packet, m);
    take_iwarp(a, packet, m);
    explain_flows_settle(&a->flows, m->flow ? explain_pair_by_index(&a->flows, m->flow) : NULL);
    explain_twice_learn(a->twice, m);
    if (m->is_uncounted)
        m->message = 0;
}

void explain_analysis_next(struct explain_analysis *a, struct explain_packet *packet,
                           struct explain_meaning *m)
{
    explain_meaning_clear(m);
    if (!explain_twice_take(a->twice, packet, m))
        take(a, packet, m);
    else if (a->config.strict && a->config.copies == EXPLAIN_COPIES_BY_BYTES && is_roce(packet))
        explain_strict_packet(packet, m);
    if (packet->train.packet == 1)
        explain_add_words(m, "; first of a train of %" PRIu32 " packets, captured before it was cut",
                          packet->train.of);
    for (unsigned i = 0; i < m->remark_count; i++)
        if (!m->remarks[i].number)
            m->remarks[i].number = packet->number;
}

/* --- the end --- */

/* The connection was closed then, and the other end, which may have closed it sooner, answers no more. If
 * packets were lost, this one may have been too. */
static struct explain_why why_closed(const struct explain_pair *pair, const struct explain_sent *s)
{
    struct explain_why why = {.cause = EXPLAIN_CAUSE_PEER_GONE, .sure = EXPLAIN_SURE_LIKELY};
    if (s->time_ns != s->first_ns || !explain_weather_is_quiet(pair->half[0].weather))
        explain_why_doubt(&why, EXPLAIN_CAUSE_PEER_GONE, EXPLAIN_CAUSE_LOST_AFTER, EXPLAIN_CAUSE_ANSWER_LOST);
    explain_why_prove(&why, s->number, "the newest copy");
    explain_why_prove(&why, pair->closed_number, "the DREQ");
    return why;
}

/* Returns whether it was sent more than once in vain, or once: then the capture does not show how its sender
 * reacted. */
static struct explain_why why_unanswered(const struct explain_pair *pair, const struct explain_half *half,
                                         const struct explain_sent *s)
{
    bool is_again = s->time_ns != s->first_ns;
    struct explain_why why = {.cause = EXPLAIN_CAUSE_UNKNOWN};
    bool is_closed = pair->closed_number && pair->closed_ns >= s->time_ns;
    if (is_closed && pair->closed_ns - s->time_ns < EXPLAIN_ANSWER_NS)
        return why_closed(pair, s);
    enum explain_cause end = is_again || is_closed ? EXPLAIN_CAUSE_PEER_GONE : EXPLAIN_CAUSE_CAPTURE_ENDS;
    if (explain_selective_has(half, s->psn)) /* it came, and waited for one before it */
        explain_why_doubt(&why, EXPLAIN_CAUSE_ANSWER_LOST, end, EXPLAIN_CAUSE_NONE);
    else
        explain_why_doubt(&why, EXPLAIN_CAUSE_LOST_AFTER, EXPLAIN_CAUSE_ANSWER_LOST, end);
    explain_why_prove(&why, s->number, "the newest copy");
    return why;
}

/* Answers go up to it or beyond; of a READ, the last one came, whichever part of it was asked for again. If
 * answers stand before their requests, not all of them are remembered. */
static bool has_answer(const struct explain_half *half, const struct explain_sent *s)
{
    const struct explain_read *r = explain_read_find(&half->reads, s->psn);
    bool is_behind_edge = half->acks.is_known && roce_psn_diff(half->acks.una_psn, s->psn) > 0;
    return s->is_answered ||
           (r && r->psn == s->psn ? r->is_answered || (half->clock.skew_ns && is_behind_edge)
                                  : is_behind_edge);
}

/* Nothing of the other end is here, and yet the sender goes on and repeats nothing: it had its answers, the
 * capture has only one direction. */
static bool is_one_way(const struct explain_flow *flow, unsigned direction)
{
    return flow->packets[!direction] == 0 && flow->messages[direction] > 1 &&
           flow->retransmissions[direction] == 0;
}

static bool has_end(const struct explain_pair *pair, const struct nornic_addr *addr)
{
    return nornic_addr_equal(&pair->shown.addr[0], addr) || nornic_addr_equal(&pair->shown.addr[1], addr);
}

/* When one of the pair's hosts was last heard, in flows that were there before the pair fell silent. */
static uint64_t last_heard_ns(const struct explain_pair *pair)
{
    uint64_t end_ns = pair->shown.last_ns, last_ns = end_ns;
    unsigned n = 0;
    for (const struct explain_pair *p = pair->newer; p && n < HEARD_MOST; p = p->newer, n++) {
        bool is_heard = p->shown.first_ns <= end_ns &&
                        (has_end(p, &pair->shown.addr[0]) || has_end(p, &pair->shown.addr[1]));
        last_ns = is_heard ? max_u64(last_ns, p->shown.last_ns) : last_ns;
    }
    return last_ns;
}

/* Whether the packets end too soon to show the answer: those of the capture, or of these hosts alone, as
 * if another capture follows. A sender without an answer would have sent again, unless it was closed. */
static bool is_ending(struct explain_analysis *a, const struct explain_sent *s)
{
    const struct explain_pair *pair = a->ending;
    bool may_follow = s->first_ns == s->time_ns && !pair->closed_number;
    if (may_follow && !a->ending_ns)
        a->ending_ns = last_heard_ns(pair);
    uint64_t last_ns = may_follow ? a->ending_ns : a->last_ns, skew_ns = pair->shown.skew_ns;
    uint64_t ns = last_ns > s->first_ns ? last_ns - s->first_ns : 0;
    return ns < EXPLAIN_ANSWER_NS || ns - EXPLAIN_ANSWER_NS < skew_ns;
}

/* The next request of the half that asked for an answer and has none; false: there is no more. */
static bool next_unanswered(struct explain_analysis *a, struct explain_finding *f)
{
    const struct explain_pair *pair = a->ending;
    struct explain_half *half = &a->ending->half[a->ending_direction];
    while (a->ending_slot < half->history.size) {
        struct explain_sent *s = &half->history.sent[a->ending_slot++];
        if (!s->number || has_answer(half, s) || !s->ack_req || half->acks.is_dead ||
            half->capture.is_unseen || is_ending(a, s))
            continue;
        *f = (struct explain_finding){
            .kind = EXPLAIN_FIND_MISSING_ACK, .rule = "ROCE-RS-51", .number = s->number};
        snprintf(f->words, sizeof f->words, "PSN 0x%06x asked for an ACK that is not in this capture",
                 s->psn);
        struct explain_why why = why_unanswered(pair, half, s);
        if (why.cause == EXPLAIN_CAUSE_PEER_GONE)
            snprintf(f->words, sizeof f->words,
                     "PSN 0x%06x asked for an ACK that is not in this capture; most likely the other end was "
                     "closing (DREQ #%" PRIu64 ")",
                     s->psn, pair->closed_number);
        explain_because(f, &why);
        return true;
    }
    return false;
}

static void conclude(struct explain_analysis *a)
{
    a->ending = a->flows.oldest;
    for (struct explain_pair *p = a->flows.oldest; p; p = p->newer) {
        bool is_blind = is_unseen(&a->unseen, &p->shown.network, &p->shown.addr[0], &p->shown.addr[1]);
        p->half[0].capture.is_unseen = p->half[1].capture.is_unseen = is_blind;
        explain_pair_conclude(p);
    }
}

unsigned explain_analysis_end(struct explain_analysis *a, struct explain_finding *findings, unsigned max)
{
    unsigned n = 0;
    if (!a->has_ended)
        conclude(a);
    a->has_ended = true;
    while (n < max && a->ending) {
        struct explain_half *half = &a->ending->half[a->ending_direction];
        const struct explain_flow *flow = &a->ending->shown;
        bool is_judged = flow->service != ROCE_SERVICE_UC && !is_one_way(flow, a->ending_direction);
        if (is_judged && next_unanswered(a, &findings[n])) {
            n++;
            continue;
        }
        if (explain_early_left(half, &a->ending_early, &findings[n])) {
            n++;
            continue;
        }
        a->ending_slot = a->ending_early = 0;
        if (a->ending_direction++ == 0)
            continue;
        a->ending_direction = 0;
        a->ending_ns = 0;
        a->ending = a->ending->newer;
    }
    while (n < max && a->smc && explain_smc_next_unanswered(a->smc, a->last_ns, &findings[n]))
        n++;
    while (n < max && a->iwarp && explain_iwarp_next_open(a->iwarp, a->last_ns, &findings[n]))
        n++;
    return n;
}

/* --- the sums --- */

uint32_t explain_analysis_flow_count(const struct explain_analysis *a)
{
    return a->flows.flow_count;
}

const struct explain_flow *explain_analysis_flow(const struct explain_analysis *a, uint32_t index)
{
    const struct explain_pair *p = explain_pair_by_index(&a->flows, index);
    return p && !p->same.as ? &p->shown : NULL;
}

struct explain_same explain_analysis_flow_is(const struct explain_analysis *a, uint32_t index)
{
    struct explain_same same = {.flow = index};
    const struct explain_pair *p = explain_pair_by_index(&a->flows, index);
    for (unsigned i = 0; i < SAME_MOST && p && p->same.as; i++) {
        same.flow = p->same.as;
        same.is_turned ^= p->same.is_turned;
        p = explain_pair_by_index(&a->flows, same.flow);
    }
    return same;
}

uint32_t explain_analysis_flow_total(const struct explain_analysis *a)
{
    return a->flows.flow_count - a->flows.same_count;
}

const struct explain_forgotten *explain_analysis_forgotten(const struct explain_analysis *a)
{
    return &a->flows.forgotten;
}

const struct explain_seen_twice *explain_analysis_twice(const struct explain_analysis *a)
{
    return explain_twice_sum(a->twice);
}

uint32_t explain_analysis_smc_conn_count(const struct explain_analysis *a)
{
    return a->smc ? explain_smc_conn_count(a->smc) : 0;
}

const struct explain_smc_conn *explain_analysis_smc_conn(const struct explain_analysis *a, uint32_t id)
{
    return a->smc ? explain_smc_get_conn(a->smc, id) : NULL;
}

uint32_t explain_analysis_smc_group_count(const struct explain_analysis *a)
{
    return a->smc ? explain_smc_group_count(a->smc) : 0;
}

const struct explain_smc_group *explain_analysis_smc_group(const struct explain_analysis *a, uint32_t id)
{
    return a->smc ? explain_smc_get_group(a->smc, id) : NULL;
}

uint32_t explain_analysis_iwarp_conn_count(const struct explain_analysis *a)
{
    return a->iwarp ? explain_iwarp_conn_count(a->iwarp) : 0;
}

const struct explain_iwarp_conn *explain_analysis_iwarp_conn(const struct explain_analysis *a, uint32_t id)
{
    return a->iwarp ? explain_iwarp_get_conn(a->iwarp, id) : NULL;
}

uint32_t explain_analysis_iwarp_forgotten(const struct explain_analysis *a)
{
    return a->iwarp ? explain_iwarp_forgotten(a->iwarp) : 0;
}
