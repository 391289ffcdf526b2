/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport headers of a received packet, and the verdict on the whole. */
#include "roce/packet.h"

#include "net/bytes.h"
#include "roce/wire/datagram.h"

static const char *const verdict_words[ROCE_RX_VERDICT_COUNT] = {
#define ROCE_RX_WORDS_(id, counter, words) [ROCE_RX_##id] = words,
    ROCE_RX_VERDICTS(ROCE_RX_WORDS_)
#undef ROCE_RX_WORDS_
};

const char *roce_rx_verdict_words(enum roce_rx_verdict verdict)
{
    return verdict_words[verdict];
}

/* Reads the extended headers that the opcode has, in the order of ROCE-HDR-10; they are known to be there.
 * Returns the position after them. The body of a CNP is skipped: it is reserved (ROCE-HDR-12). */
static const uint8_t *get_extended(struct roce_pkt *pkt, const uint8_t *p)
{
    uint32_t has = pkt->op->flags;
    if (has & ROCE_PKT_RDETH)
        p = roce_rdeth_get(&pkt->rdeth, p);
    if (has & ROCE_PKT_DETH)
        p = roce_deth_get(&pkt->deth, p);
    if (has & ROCE_PKT_XRCETH)
        p = roce_xrceth_get(&pkt->xrceth, p);
    if (has & ROCE_PKT_RETH)
        p = roce_reth_get(&pkt->reth, p);
    if (has & ROCE_PKT_ATOMICETH)
        p = roce_atomiceth_get(&pkt->atomiceth, p);
    if (has & ROCE_PKT_MASKETH)
        p = roce_masketh_get(&pkt->masketh, p);
    if (has & ROCE_PKT_AETH)
        p = roce_aeth_get(&pkt->aeth, p);
    if (has & ROCE_PKT_SACKETH)
        p = roce_sacketh_get(&pkt->sacketh, p);
    if (has & ROCE_PKT_ATOMICACKETH)
        p = roce_atomicacketh_get(&pkt->atomicacketh, p);
    if (has & ROCE_PKT_IMMDT)
        p = roce_immdt_get(&pkt->immdt, p);
    if (has & ROCE_PKT_IETH)
        p = roce_ieth_get(&pkt->ieth, p);
    if (has & ROCE_PKT_CNP)
        p += ROCE_CNP_BYTES;
    return p;
}

bool roce_transport_parse(struct roce_pkt *pkt, const uint8_t *p, uint32_t len_bytes)
{
    const uint8_t *icrc = p + len_bytes - ROCE_ICRC_BYTES;

    pkt->icrc_found = get_le32(icrc);
    p = roce_bth_get(&pkt->bth, p);
    pkt->op = &roce_opcodes[pkt->bth.opcode];
    uint32_t left_bytes = (uint32_t)(icrc - p);
    /* ROCE-OPC-6: nothing is computed for an undefined opcode, its pad count included. */
    uint32_t pad_bytes = pkt->op->flags & ROCE_PKT_DEFINED ? pkt->bth.pad_count : 0;
    if (left_bytes < pkt->op->ext_bytes + pad_bytes)
        return false;
    pkt->payload = get_extended(pkt, p);
    pkt->payload_bytes = left_bytes - pkt->op->ext_bytes - pad_bytes;
    return true;
}

/* ROCE-RX-15, RX-16: the GID type must fit the packet's protocol. A mapped address names an IPv4 GID, so it
 * fits no IPv6 packet; to those who only compare addresses it would look like one. A GRH bears any GID. */
static bool has_addresses_of_its_family(const struct roce_pkt *pkt)
{
    return pkt->l3_kind != ROCE_L3_IPV6 || (!nornic_addr_is_v4(&pkt->src) && !nornic_addr_is_v4(&pkt->dst));
}

enum roce_rx_verdict roce_pkt_judge(const struct roce_pkt *pkt, unsigned flags)
{
    if (pkt->icrc_found != pkt->icrc_expected && !(flags & ROCE_PARSE_SKIP_ICRC))
        return ROCE_RX_DROP_ICRC;
    if (pkt->bth.tver != 0) /* ROCE-RX-10 */
        return ROCE_RX_DROP_TVER;
    return has_addresses_of_its_family(pkt) ? ROCE_RX_TAKEN : ROCE_RX_DROP_GID;
}

static void begin(struct roce_pkt *pkt, const uint8_t *frame, size_t len_bytes)
{
    memset(pkt, 0, sizeof *pkt);
    pkt->frame = frame;
    pkt->frame_bytes = (uint32_t)len_bytes;
    pkt->op = &roce_opcodes[UINT8_MAX]; /* undefined, until the BTH says otherwise */
}

/* What follows a datagram's headers, which were found sound. */
static enum roce_rx_verdict parse_rest(struct roce_pkt *pkt, const uint8_t *transport,
                                       uint32_t transport_bytes, unsigned flags)
{
    if (!roce_transport_parse(pkt, transport, transport_bytes))
        return ROCE_RX_DROP_SHORT;
    const uint8_t *icrc = transport + transport_bytes - ROCE_ICRC_BYTES;
    pkt->icrc_expected = roce_icrc(pkt->l3, pkt->l3_kind, (size_t)(icrc - pkt->l3));
    return roce_pkt_judge(pkt, flags);
}

enum roce_rx_verdict roce_pkt_parse(struct roce_pkt *pkt, const uint8_t *frame, size_t len_bytes,
                                    unsigned flags)
{
    const uint8_t *transport;
    uint32_t transport_bytes;
    begin(pkt, frame, len_bytes);
    enum roce_rx_verdict verdict = roce_datagram_parse(pkt, flags, &transport, &transport_bytes);
    return verdict == ROCE_RX_TAKEN ? parse_rest(pkt, transport, transport_bytes, flags) : verdict;
}

enum roce_rx_verdict roce_pkt_parse_l3(struct roce_pkt *pkt, uint16_t ethertype, const uint8_t *l3,
                                       size_t len_bytes, unsigned flags)
{
    const uint8_t *transport;
    uint32_t transport_bytes;
    begin(pkt, l3, len_bytes);
    pkt->vlan_tci = -1;
    enum roce_rx_verdict verdict = roce_l3_parse(pkt, ethertype, 0, flags, &transport, &transport_bytes);
    return verdict == ROCE_RX_TAKEN ? parse_rest(pkt, transport, transport_bytes, flags) : verdict;
}
