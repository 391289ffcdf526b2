/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/replay/rewrite.h"

#include <errno.h>
#include <string.h>

#include "explain/packet/registry.h"
#include "explain/replay/tape.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/wire/udp.h"
#include "roce/icrc.h"
#include "roce/psn.h"

/* Where addresses lie in an IP header; a GRH is as IPv6. */
#define V4_SRC 12
#define V4_DST 16
#define V6_SRC 8
#define V6_DST 24

static void set(uint8_t *frame, const struct explain_packet *p, enum explain_layer_id layer, const char *name,
                uint64_t value)
{
    for (unsigned i = 0; i < p->layer_count; i++) {
        if (p->layers[i].kind->id != layer)
            continue;
        const struct net_field *f = explain_header_field(p->layers[i].kind->header, name, strlen(name));
        net_bits_put(frame + p->layers[i].offset, f->first_bit, f->width_bits, value);
    }
}

/* Index of the statement about that QP, or -1. */
static int to_index(const struct explain_scenario *s, const struct nornic_addr *addr, uint32_t qpn)
{
    for (unsigned i = 0; i < s->to_count; i++)
        if (s->tos[i].qpn == qpn && nornic_addr_equal(&s->tos[i].addr, addr))
            return (int)i;
    return -1;
}

static bool is_response(const struct explain_packet *p)
{
    return p->roce.op->flags & ROCE_PKT_RESPONSE;
}

int explain_rewrite_begin(struct explain_rewriter *w, const struct explain_tape *tape,
                          const struct explain_scenario *scenario, struct nornic_error *why)
{
    bool found[EXPLAIN_SCENARIO_MAX] = {false}, psn_found[EXPLAIN_SCENARIO_MAX] = {false};
    *w = (struct explain_rewriter){.tape = tape, .scenario = scenario};
    for (size_t i = 0; i < tape->count; i++) {
        struct explain_packet p;
        explain_tape_packet(tape, i, &p);
        if (p.verdict != ROCE_RX_TAKEN)
            continue;
        int to = to_index(scenario, &p.roce.dst, p.roce.bth.dest_qpn);
        if (to < 0)
            continue;
        found[to] = true;
        if (psn_found[to] || is_response(&p))
            continue;
        psn_found[to] = true;
        w->psn_shift[to] = (scenario->tos[to].first_psn - p.roce.bth.psn) & ROCE_PSN_MASK;
    }
    for (unsigned i = 0; i < scenario->to_count; i++)
        if (!found[i])
            return net_error_set(why, ENOENT, "the scenario names QP 0x%06x, to which nothing goes",
                                 scenario->tos[i].qpn);
    return 0;
}

/* The statement that says where the PSNs begin that this packet carries: its own, or of what it answers. */
static int psn_index(const struct explain_rewriter *w, size_t i, const struct explain_packet *p)
{
    if (!is_response(p))
        return to_index(w->scenario, &p->roce.dst, p->roce.bth.dest_qpn);
    unsigned direction;
    const struct explain_flow *flow =
        explain_analysis_flow(w->tape->analysis, explain_tape_flow(w->tape, i, &direction));
    return flow ? to_index(w->scenario, &p->roce.src, flow->qpn[direction]) : -1;
}

static void rewrite_transport(const struct explain_rewriter *w, size_t i, const struct explain_packet *p,
                              uint8_t *frame)
{
    const struct explain_scenario *s = w->scenario;
    const struct roce_pkt *pkt = &p->roce;
    int to = to_index(s, &pkt->dst, pkt->bth.dest_qpn), psn = psn_index(w, i, p);
    if (to >= 0 && s->tos[to].has_qpn)
        set(frame, p, EXPLAIN_LAYER_BTH, "dest_qpn", s->tos[to].new_qpn);
    if (psn >= 0 && s->tos[psn].has_psn)
        set(frame, p, EXPLAIN_LAYER_BTH, "psn", roce_psn_add(pkt->bth.psn, w->psn_shift[psn]));
    if (pkt->op->flags & ROCE_PKT_DETH) {
        int from = to_index(s, &pkt->src, pkt->deth.src_qpn);
        if (from >= 0 && s->tos[from].has_qpn)
            set(frame, p, EXPLAIN_LAYER_DETH, "src_qpn", s->tos[from].new_qpn);
    }
}

static void rewrite_keys(const struct explain_rewriter *w, const struct explain_packet *p, uint8_t *frame)
{
    const struct roce_pkt *pkt = &p->roce;
    bool reth = pkt->op->flags & ROCE_PKT_RETH, atomic = pkt->op->flags & ROCE_PKT_ATOMICETH;
    bool ieth = pkt->op->flags & ROCE_PKT_IETH;
    uint32_t rkey = reth ? pkt->reth.rkey : atomic ? pkt->atomiceth.rkey : pkt->ieth.rkey;
    uint64_t va = reth ? pkt->reth.va : pkt->atomiceth.va;
    enum explain_layer_id layer = reth     ? EXPLAIN_LAYER_RETH
                                  : atomic ? EXPLAIN_LAYER_ATOMICETH
                                           : EXPLAIN_LAYER_IETH;
    for (unsigned i = 0; (reth || atomic || ieth) && i < w->scenario->rkey_count; i++) {
        const struct explain_scenario_rkey *k = &w->scenario->rkeys[i];
        if (k->from != rkey || !nornic_addr_equal(&k->addr, &pkt->dst))
            continue;
        set(frame, p, layer, "rkey", k->to);
        if (reth || atomic)
            set(frame, p, layer, "va", va + (k->va_to - k->va_from));
        return;
    }
}

static void rewrite_address(const struct explain_rewriter *w, const struct nornic_addr *addr, uint8_t *mac,
                            uint8_t *ip, bool is_v4)
{
    for (unsigned i = 0; i < w->scenario->address_count; i++) {
        const struct explain_scenario_address *a = &w->scenario->addresses[i];
        if (!nornic_addr_equal(&a->from, addr))
            continue;
        memcpy(ip, is_v4 ? a->to.b + 12 : a->to.b, is_v4 ? 4 : 16);
        if (a->has_mac)
            memcpy(mac, a->mac.b, NORNIC_MAC_BYTES);
        return;
    }
}

static void mend(const struct explain_packet *p, uint8_t *frame)
{
    const struct roce_pkt *pkt = &p->roce;
    uint8_t *l3 = frame + (pkt->l3 - p->frame);
    uint8_t *end = frame + p->icrc_offset;
    put_le32(end, roce_icrc(l3, pkt->l3_kind, (size_t)(end - l3)) ^ pkt->icrc_found ^ pkt->icrc_expected);
    if (pkt->l3_kind == ROCE_L3_GRH)
        return;
    uint8_t *udp = l3 + 40;
    if (pkt->l3_kind == ROCE_L3_IPV4) {
        uint32_t header_bytes = (l3[0] & 0xfu) * 4;
        put_be16(l3 + 10, net_checksum_ipv4(l3, header_bytes));
        udp = l3 + header_bytes;
    }
    if (get_be16(udp + 6)) /* 0: none was computed (ROCE-FRM-43) */
        put_be16(udp + 6, net_checksum_udp(l3, udp, (size_t)(end + ROCE_ICRC_BYTES - udp)));
}

uint32_t explain_rewrite(const struct explain_rewriter *w, size_t i, uint8_t *frame)
{
    struct explain_packet p;
    explain_tape_packet(w->tape, i, &p);
    if (p.kind == EXPLAIN_OTHER || p.kind == EXPLAIN_SMC_TCP || p.len_bytes < p.wire_bytes ||
        roce_pkt_parse(&p.roce, p.frame, p.len_bytes,
                       ROCE_PARSE_ALLOW_NO_DF | ROCE_PARSE_V1 | ROCE_PARSE_SKIP_ICRC) != ROCE_RX_TAKEN)
        return 0;
    bool is_v4 = p.roce.l3_kind == ROCE_L3_IPV4;
    uint8_t *l3 = frame + (p.roce.l3 - p.frame);
    memcpy(frame, p.frame, p.len_bytes);
    rewrite_transport(w, i, &p, frame);
    rewrite_keys(w, &p, frame);
    rewrite_address(w, &p.roce.dst, frame, l3 + (is_v4 ? V4_DST : V6_DST), is_v4);
    rewrite_address(w, &p.roce.src, frame + NORNIC_MAC_BYTES, l3 + (is_v4 ? V4_SRC : V6_SRC), is_v4);
    mend(&p, frame);
    return p.len_bytes;
}
