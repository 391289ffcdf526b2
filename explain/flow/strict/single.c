/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of docs/rules.txt that one packet breaks or keeps by itself: what its sender must not write. Of what
 * the parser has taken, lengths, checksums and the ICRC are good. */
#include "explain/flow/strict/single.h"

#include <inttypes.h>

#include "explain/packet/sender.h"
#include "net/bytes.h"
#include "net/wire/udp.h"

#define MESSAGE_MAX_BYTES (UINT32_C(1) << 31) /* ROCE-OPC-4 */

static void break_rule(struct explain_meaning *m, const char *rule, const char *words)
{
    explain_remark(m, EXPLAIN_FIND_VIOLATION, rule, 0, 0, "%s", words);
}

/* Every field that the standards reserve is sent as zero (ROCE-GEN-5, and FRM-16 in IPv4). */
static void judge_reserved(const struct explain_packet *packet, struct explain_meaning *m)
{
    for (unsigned l = packet->l3_layer; l < packet->layer_count; l++) { /* what is below is not RoCE's */
        const struct net_header *h = packet->layers[l].kind->header;
        const uint8_t *bytes = packet->frame + packet->layers[l].offset;
        for (unsigned f = 0; f < h->field_count; f++) {
            const struct net_field *field = &h->fields[f];
            if (strncmp(field->name, "resv", 4) != 0 || field->is_bytes ||
                !explain_layer_holds(&packet->layers[l], field) ||
                net_bits_get(bytes, field->first_bit, field->width_bits) == 0)
                continue;
            const char *rule = explain_field_rule(packet->layers[l].kind->id, field);
            explain_remark(m, EXPLAIN_FIND_VIOLATION, rule ? rule : "ROCE-GEN-5", 0, 0,
                           "%s.%s is reserved, and not 0", packet->layers[l].kind->key, field->name);
        }
    }
}

static void judge_datagram(const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (pkt->l3_kind == ROCE_L3_GRH)
        return;
    const uint8_t *udp = pkt->l3 + (pkt->l3_kind == ROCE_L3_IPV4 ? 20 : 40);
    if (pkt->l3_kind == ROCE_L3_IPV4 && (pkt->l3[6] & 0xe0) != 0x40)
        break_rule(m, "ROCE-FRM-16", "IPv4 flags are not \"don't fragment\" alone");
    if (pkt->hop_limit == 0)
        break_rule(m, pkt->l3_kind == ROCE_L3_IPV4 ? "ROCE-FRM-18" : "ROCE-FRM-36", "it arrived with TTL 0");
    if (get_be16(udp + 6) != 0)
        break_rule(m, "ROCE-FRM-43", "the UDP checksum is sent as 0");
}

static bool may_ask_for_event(uint32_t flags)
{
    return flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY) &&
           (flags & ROCE_PKT_SEND || (flags & ROCE_PKT_WRITE && flags & ROCE_PKT_IMMDT));
}

static void judge_bth(const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t flags = pkt->op->flags;
    if (pkt->bth.se && !may_ask_for_event(flags))
        break_rule(m, "ROCE-RC-11",
                   "a solicited event is asked for by another packet than the last of a SEND");
    if ((pkt->bth.fecn || pkt->bth.becn) && !(flags & ROCE_PKT_CNP))
        break_rule(m, "ROCE-HDR-6", "F or B is set, which only a CNP may have");
    if (pkt->bth.dest_qpn == 0)
        break_rule(m, "ROCE-RX-11", "it is for QP 0, which RoCE does not have");
    if ((pkt->bth.pkey & 0x7fff) == 0)
        break_rule(m, "ROCE-HDR-5", "0x0000 and 0x8000 are no P_Keys");
    if (pkt->bth.ack_req && explain_service(pkt) == ROCE_SERVICE_UC)
        break_rule(m, "ROCE-UC-1", "UC asks for an ACK, which it never gets");
    if (pkt->bth.pad_count && (flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) || !pkt->payload_bytes))
        break_rule(m, "ROCE-HDR-3", "padding where the payload has none");
    for (uint32_t i = 0; i < pkt->bth.pad_count && !packet->cut.is_end; i++)
        if (pkt->payload[pkt->payload_bytes + i]) {
            break_rule(m, "ROCE-HDR-3", "the pad bytes are not 0");
            return;
        }
}

static void judge_cnp(const struct roce_pkt *pkt, struct explain_meaning *m)
{
    const uint8_t *zero = pkt->payload - ROCE_CNP_BYTES;
    bool is_zero = true;
    for (unsigned i = 0; i < ROCE_CNP_BYTES; i++)
        is_zero &= zero[i] == 0;
    if (pkt->bth.psn || pkt->bth.ack_req || pkt->bth.mig_req || !is_zero || pkt->payload_bytes)
        break_rule(m, "ROCE-HDR-12", "a CNP has PSN 0, A 0, M 0 and 16 bytes of 0, and nothing more");
}

static void judge_extended(const struct roce_pkt *pkt, struct explain_meaning *m)
{
    uint32_t flags = pkt->op->flags;
    if (flags & ROCE_PKT_RETH && pkt->reth.dma_len > MESSAGE_MAX_BYTES)
        break_rule(m, "ROCE-OPC-4", "a message of more than 2^31 bytes");
    if (flags & ROCE_PKT_WRITE && flags & ROCE_PKT_ONLY && pkt->reth.dma_len != pkt->payload_bytes)
        break_rule(m, "ROCE-OPC-4", "DMALen is not the length of the message");
    if (flags & ROCE_PKT_ATOMICETH && pkt->atomiceth.va % 8)
        break_rule(m, "ROCE-RS-46", "the address of an atomic is not a multiple of 8");
    if (flags & ROCE_PKT_ATOMIC && !(flags & ROCE_PKT_MASKETH) &&
        ROCE_OPCODE_OP(pkt->bth.opcode) == ROCE_OP_FETCH_ADD && pkt->atomiceth.compare)
        break_rule(m, "ROCE-HDR-11", "FETCH_ADD has a compare value");
    if (flags & ROCE_PKT_AETH && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RESERVED)
        break_rule(m, "ROCE-HDR-20", "the syndrome is reserved");
}

/* FIRST and MIDDLE carry one path MTU, LAST is never empty (ROCE-OPC-2). */
static void judge_payload(const struct roce_pkt *pkt, struct explain_meaning *m)
{
    uint32_t flags = pkt->op->flags, n = pkt->payload_bytes;
    if (!(flags & ROCE_PKT_PAYLOAD)) {
        if (n && !(flags & ROCE_PKT_CNP))
            break_rule(m, "ROCE-OPC-2", "a payload behind an opcode that has none");
    } else if (flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE)) {
        if (n < 256 || n > ROCE_PMTU_MAX_BYTES || n & (n - 1))
            break_rule(m, "ROCE-OPC-2", "the payload of a first or middle packet is no path MTU");
    } else if (flags & ROCE_PKT_LAST && n == 0) {
        break_rule(m, "ROCE-OPC-3", "the last packet of a message is empty");
    } else if (n > ROCE_PMTU_MAX_BYTES) {
        break_rule(m, "ROCE-OPC-2", "the payload is larger than any path MTU");
    }
}

void explain_strict_packet(const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (packet->verdict == ROCE_RX_DROP_TVER) /* judged behind the ICRC: it was sent so */
        break_rule(m, "ROCE-HDR-1", "the transport version is not 0");
    if (packet->verdict != ROCE_RX_TAKEN)
        return;
    judge_reserved(packet, m);
    judge_datagram(packet, m);
    if (!(pkt->op->flags & ROCE_PKT_DEFINED)) {
        break_rule(m, "ROCE-OPC-2", "the opcode is reserved");
        return;
    }
    judge_bth(packet, m);
    judge_payload(pkt, m);
    judge_extended(pkt, m);
    if (pkt->op->flags & ROCE_PKT_CNP)
        judge_cnp(pkt, m);
}
