/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue pairs of an endpoint, and the packets of each. */
#include "explain/replay/learn/learn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "explain/replay/learn/memory.h"
#include "explain/replay/learn/messages.h"
#include "explain/replay/tape.h"
#include "net/wire/ipv6.h"
#include "roce/psn.h"

#define GSI_QPN        1
#define EARLY_PKTS     64 /* among so many the first PSN is looked for: a line may swap packets */
#define RNR_CODE_USUAL 12 /* 0.64 ms, as Linux programs have it */

void explain_endpoint_free(struct explain_endpoint *e)
{
    for (uint32_t i = 0; i < e->qp_count; i++) {
        free(e->qps[i].messages);
        free(e->qps[i].data);
        free(e->qps[i].answers);
    }
    for (uint32_t i = 0; i < e->region_count; i++) {
        free(e->regions[i].memory);
        free(e->regions[i].known);
    }
    free(e->qps);
    free(e->regions);
    free(e->qp_of_flow);
    free(e->qp_of);
    free(e->part);
    *e = (struct explain_endpoint){0};
}

/* The index of the QP that a packet is of; qp_count: it is new. */
static uint32_t known_qp(const struct explain_endpoint *e, uint8_t service, uint32_t flow, uint32_t qpn)
{
    if (flow)
        return e->qp_of_flow[flow] ? e->qp_of_flow[flow] - 1 : e->qp_count;
    uint32_t i = 0;
    while (i < e->qp_count && (e->qps[i].service != service || e->qps[i].flow || e->qps[i].qpn != qpn))
        i++;
    return i;
}

/* The same, made when it is new; a negative error. */
static int64_t qp_of(struct explain_endpoint *e, uint8_t service, uint32_t flow, uint32_t qpn)
{
    uint32_t i = known_qp(e, service, flow, qpn);
    if (i < e->qp_count)
        return i;
    if (e->qp_count == EXPLAIN_QPS_MAX)
        return -E2BIG;
    struct explain_learned *qps = array_room(e->qps, &e->qp_cap, e->qp_count + 1, sizeof *qps);
    if (!qps)
        return -ENOMEM;
    e->qps = qps;
    e->qps[e->qp_count] = (struct explain_learned){
        .service = service, .flow = flow, .qpn = qpn, .is_silent = true, .rnr_code = RNR_CODE_USUAL};
    if (flow)
        e->qp_of_flow[flow] = e->qp_count + 1;
    return e->qp_count++;
}

static struct nornic_av av_of(const struct roce_pkt *pkt)
{
    struct nornic_av av = {
        .dgid = pkt->dst,
        .sl = pkt->vlan_tci < 0 ? 0 : (uint8_t)(pkt->vlan_tci >> 13),
        .traffic_class = pkt->tclass,
        .hop_limit = pkt->hop_limit,
        .dst_mac = pkt->dst_mac,
    };
    if (pkt->l3_kind == ROCE_L3_IPV6) {
        struct net_ipv6 ip;
        net_ipv6_get(&ip, pkt->l3);
        av.flow_label = ip.flow_label;
    }
    return av;
}

/* The way back, for an endpoint that sends nothing. */
static struct nornic_av av_back(const struct roce_pkt *pkt)
{
    struct nornic_av av = av_of(pkt);
    av.dgid = pkt->src;
    av.dst_mac = pkt->src_mac;
    return av;
}

static void learn_path(struct explain_learned *q, const struct roce_pkt *pkt, bool sent, bool first)
{
    if (!first && !sent)
        return;
    q->av = sent ? av_of(pkt) : av_back(pkt);
    q->mac = sent ? pkt->src_mac : pkt->dst_mac;
    q->vlan_id = pkt->vlan_tci < 0 ? 0 : (uint16_t)(pkt->vlan_tci & 0xfff);
    if (pkt->op->flags & ROCE_PKT_DETH)
        q->qkey = pkt->deth.qkey;
}

static enum explain_part part_of(const struct roce_pkt *pkt, bool sent)
{
    bool request = pkt->op->flags & ROCE_PKT_REQUEST || !(pkt->op->flags & ROCE_PKT_DEFINED);
    if (sent)
        return request ? EXPLAIN_PART_SENT_REQUEST : EXPLAIN_PART_SENT_RESPONSE;
    return request ? EXPLAIN_PART_GOT_REQUEST : EXPLAIN_PART_GOT_RESPONSE;
}

/* The whole packets of the services that are replayed. */
static bool is_replayed(struct explain_endpoint *e, const struct explain_packet *p)
{
    uint8_t service = p->roce.bth.opcode >> 5;
    if (p->kind == EXPLAIN_OTHER || p->kind == EXPLAIN_SMC_TCP)
        return false;
    bool nowhere = p->roce.bth.dest_qpn == ROCE_MULTICAST_QPN && !nornic_addr_is_multicast(&p->roce.dst);
    if (p->verdict != ROCE_RX_TAKEN || p->checksum.is_ip_absent || p->cut.is_end ||
        p->roce.l3_kind == ROCE_L3_GRH || nowhere) {
        e->bad_packets++;
        return false;
    }
    if (p->roce.op->flags & ROCE_PKT_DETH && p->roce.bth.dest_qpn == GSI_QPN) {
        e->gsi_packets++;
        return false;
    }
    return service == ROCE_SERVICE_RC || service == ROCE_SERVICE_UC || service == ROCE_SERVICE_UD;
}

static int note_answer(struct explain_learned *q, size_t i)
{
    q->is_silent = false;
    size_t *answers = array_room(q->answers, &q->answer_cap, q->answer_count + 1, sizeof *answers);
    if (!answers)
        return -ENOMEM;
    q->answers = answers;
    q->answers[q->answer_count++] = i;
    return 0;
}

/* The QPNs of both ends, as far as the flow knows them by the end of the capture. */
static void learn_qpns(const struct explain_tape *tape, struct explain_learned *q, size_t i, bool is_sent)
{
    unsigned direction;
    const struct explain_flow *flow =
        explain_analysis_flow(tape->analysis, explain_tape_flow(tape, i, &direction));
    if (!flow)
        return;
    q->qpn = flow->qpn[is_sent ? direction : !direction];
    q->peer_qpn = flow->qpn[is_sent ? !direction : direction];
}

/* Gives the packet to its queue pair, which is made when it is new, and notes the facts in it. */
static int assign(const struct explain_tape *tape, struct explain_endpoint *e, size_t i)
{
    struct explain_packet p;
    explain_tape_packet(tape, i, &p);
    bool is_sent = nornic_addr_equal(&p.roce.src, &e->addr);
    if ((!is_sent && !nornic_addr_equal(&p.roce.dst, &e->addr)) || !is_replayed(e, &p))
        return 0;
    bool names_source = p.roce.op->flags & ROCE_PKT_DETH;
    uint32_t qps_before = e->qp_count;
    uint32_t qpn = names_source && is_sent ? p.roce.deth.src_qpn : p.roce.bth.dest_qpn;
    unsigned direction;
    int64_t qp = qp_of(e, p.roce.bth.opcode >> 5, explain_tape_flow(tape, i, &direction), qpn);
    if (qp < 0)
        return (int)qp;
    struct explain_learned *q = &e->qps[qp];
    bool has_sent = q->is_requester || q->answer_count;
    e->qp_of[i] = (uint32_t)qp + 1;
    e->part[i] = (uint8_t)part_of(&p.roce, is_sent);
    learn_path(q, &p.roce, is_sent && !has_sent, qps_before != e->qp_count);
    learn_qpns(tape, q, i, is_sent);
    q->is_requester |= e->part[i] == EXPLAIN_PART_SENT_REQUEST;
    q->is_responder |= e->part[i] == EXPLAIN_PART_GOT_REQUEST;
    return e->part[i] == EXPLAIN_PART_SENT_RESPONSE ? note_answer(q, i) : 0;
}

static int assign_all(const struct explain_tape *tape, struct explain_endpoint *e, struct nornic_error *why)
{
    int err = tape->count && explain_analysis_forgotten(tape->analysis)->count ? -E2BIG : 0;
    for (size_t i = 0; i < tape->count && !err; i++)
        err = assign(tape, e, i);
    if (err == -E2BIG)
        net_error_set(
            why, E2BIG,
            "more than %d queue pairs of one endpoint, or more flows than are followed at once: too much "
            "to replay together; cut the capture, by time or by address, with editcap or tcpdump",
            EXPLAIN_QPS_MAX);
    return err;
}

/* --- path MTU, and the first PSNs --- */

static void learn_pmtu(const struct explain_tape *tape, struct explain_endpoint *e)
{
    for (size_t i = 0; i < tape->count; i++) {
        if (!e->qp_of[i])
            continue;
        struct explain_packet p;
        explain_tape_packet(tape, i, &p);
        struct explain_learned *q = &e->qps[e->qp_of[i] - 1];
        uint32_t n = p.roce.payload_bytes;
        if (p.roce.op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) && nornic_mtu_from_bytes(n))
            q->pmtu_bytes = n;
    }
    /* Without a message of more than one packet, any that holds the largest will do. */
    for (uint32_t i = 0; i < e->qp_count; i++)
        if (!e->qps[i].pmtu_bytes)
            e->qps[i].pmtu_bytes = ROCE_PMTU_MAX_BYTES;
}

/* Finds the first PSN that the QP sent, or got; on from there, the first that begins a message. */
static uint32_t first_psn(const struct explain_tape *tape, const struct explain_endpoint *e, uint32_t qp,
                          enum explain_part part)
{
    uint32_t psn = 0, seen = 0;
    for (size_t i = 0; i < tape->count && seen < EARLY_PKTS; i++) {
        if (e->qp_of[i] != qp + 1 || e->part[i] != part)
            continue;
        struct explain_packet p;
        explain_tape_packet(tape, i, &p);
        bool begins = !(p.roce.op->flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST));
        if (begins && (seen == 0 || roce_psn_diff(p.roce.bth.psn, psn) < 0))
            psn = p.roce.bth.psn;
        seen += begins || seen;
    }
    return psn;
}

/* RNR codes and the NAK that ends it all. */
static void learn_answers(const struct explain_tape *tape, struct explain_learned *q)
{
    for (size_t i = 0; i < q->answer_count; i++) {
        struct explain_packet p;
        explain_tape_packet(tape, q->answers[i], &p);
        if (!(p.roce.op->flags & ROCE_PKT_AETH))
            continue;
        uint8_t syndrome = p.roce.aeth.syndrome;
        if (roce_syndrome_kind(syndrome) == ROCE_SYN_RNR)
            q->rnr_code = syndrome & 0x1f;
        if (roce_syndrome_kind(syndrome) == ROCE_SYN_NAK && syndrome != ROCE_SYNDROME_NAK_PSN_SEQ &&
            !q->refusal.is_there) {
            q->refusal.is_there = true;
            q->refusal.psn = p.roce.bth.psn;
            q->limit.is_there = syndrome != ROCE_SYNDROME_NAK_REM_ACC;
        }
    }
}

/* How long the SENDs were, and how much the receive took that was too short. */
static void learn_receives(const struct explain_tape *tape, const struct explain_endpoint *e, uint32_t qp)
{
    struct explain_learned *q = &e->qps[qp];
    uint64_t bytes = 0;
    uint32_t begun = 0;
    bool limit = q->limit.is_there;
    q->limit.is_there = false;
    for (size_t i = 0; i < tape->count; i++) {
        if (e->qp_of[i] != qp + 1 || e->part[i] != EXPLAIN_PART_GOT_REQUEST)
            continue;
        struct explain_packet p;
        explain_tape_packet(tape, i, &p);
        if (!(p.roce.op->flags & ROCE_PKT_SEND))
            continue;
        if (p.roce.op->flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY)) {
            bytes = 0;
            begun = p.roce.bth.psn;
        }
        if (limit && p.roce.bth.psn == q->refusal.psn) {
            q->limit.is_there = true;
            q->limit.psn = begun;
            q->limit.bytes = bytes;
        }
        bytes += p.roce.payload_bytes;
        q->longest_bytes = bytes > q->longest_bytes ? bytes : q->longest_bytes;
    }
}

/* Applies the scenario to the queue pairs; PSNs only of the direction that it names. */
static int take_scenario(struct explain_endpoint *e, const struct explain_scenario *s,
                         struct nornic_error *why)
{
    for (unsigned i = 0; s && i < s->qp_count; i++) {
        const struct explain_scenario_qp *said = &s->qps[i];
        struct explain_learned *q = NULL;
        for (uint32_t j = 0; j < e->qp_count && !q; j++)
            q = e->qps[j].qpn == said->qpn ? &e->qps[j] : NULL;
        if (!q)
            return net_error_set(why, ENOENT, "line %u of the scenario: the endpoint has no QP 0x%06x",
                                 said->line, said->qpn);
        if (said->has_sq_psn)
            q->sq_psn = said->sq_psn;
        if (said->has_rq_psn)
            q->rq_psn = said->rq_psn;
        if (said->has_mtu)
            q->pmtu_bytes = said->pmtu_bytes;
        if (said->has_rnr_timer)
            q->rnr_code = said->rnr_timer;
    }
    return 0;
}

int explain_learn(const struct explain_tape *tape, const struct nornic_addr *addr,
                  const struct explain_scenario *scenario, struct explain_endpoint *e,
                  struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE];
    *e = (struct explain_endpoint){.addr = *addr};
    e->qp_of = calloc(tape->count + 1, sizeof *e->qp_of);
    e->part = calloc(tape->count + 1, sizeof *e->part);
    uint32_t flows = tape->count ? explain_analysis_flow_count(tape->analysis) : 0;
    e->qp_of_flow = calloc(flows + 1, sizeof *e->qp_of_flow);
    if (!e->qp_of || !e->part || !e->qp_of_flow)
        return -ENOMEM;
    int err = assign_all(tape, e, why);
    if (err)
        return err;
    if (e->qp_count == 0 && e->bad_packets)
        return net_error_set(why, ENOENT,
                             "no whole packet of %s in this capture: %" PRIu64
                             " are bad, or cut by a snap length",
                             nornic_addr_str(addr, text), e->bad_packets);
    if (e->qp_count == 0)
        return net_error_set(why, ENOENT,
                             "no queue pair of %s in this capture; `nornic explain` lists who speaks in it",
                             nornic_addr_str(addr, text));
    learn_pmtu(tape, e);
    for (uint32_t i = 0; i < e->qp_count; i++) {
        struct explain_learned *q = &e->qps[i];
        q->sq_psn = first_psn(tape, e, i, EXPLAIN_PART_SENT_REQUEST);
        q->rq_psn = first_psn(tape, e, i, EXPLAIN_PART_GOT_REQUEST);
        learn_answers(tape, q);
        learn_receives(tape, e, i);
    }
    err = take_scenario(e, scenario, why);
    for (uint32_t i = 0; i < e->qp_count && !err; i++)
        err = explain_learn_messages(tape, e, i, why);
    return err ? err : explain_learn_memory(tape, scenario, e, why);
}
