/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/wire/arrival.h"

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/ipv4.h"
#include "roce/wire/datagram.h"
#include "roce/wire/icrc_parts.h"

/* In the BTH: AckReq, reserved bits and PSN, and AckReq of these. */
#define PSN_WORD_AT 8
#define ACK_REQ_BIT 0x80000000u

void roce_arrival_begin(struct roce_arrival *arrival, const struct net_frame *frame, unsigned flags,
                        struct roce_ip_ids *ids)
{
    net_train_begin(&arrival->train, frame);
    arrival->flags = flags;
    arrival->ids = ids;
    arrival->icrc_below = 0;
    arrival->icrc_id = 0;
    arrival->is_foreign = false;
}

/* A packet of a length that was not there before: its first, and a shorter one at the end of a train. */
static void parse_below(struct roce_arrival *arrival, const struct net_frame *frame)
{
    struct roce_pkt *pkt = &arrival->pkt;
    const uint8_t *transport;
    memset(pkt, 0, sizeof *pkt);
    pkt->frame = frame->data;
    pkt->frame_bytes = arrival->frame_bytes = frame->len_bytes;
    pkt->op = &roce_opcodes[UINT8_MAX]; /* undefined, until the BTH says otherwise */
    arrival->verdict = roce_datagram_parse(pkt, arrival->flags, &transport, &arrival->transport_bytes);
    if (arrival->verdict != ROCE_RX_TAKEN)
        return;
    arrival->transport_offset = (uint32_t)(transport - pkt->frame);
    arrival->icrc_below = roce_icrc_below(pkt->l3, pkt->l3_kind);
    arrival->icrc_id = pkt->l3_kind == ROCE_L3_IPV4 ? get_be16(pkt->l3 + NET_IPV4_ID_AT) : 0;
}

/* The CRC below the BTH of packet `i`, which is as long as the first. */
static uint32_t icrc_below(const struct roce_arrival *arrival, uint32_t i)
{
    uint16_t id = (uint16_t)(arrival->train.ip_id + i);
    if (arrival->pkt.l3_kind != ROCE_L3_IPV4)
        return arrival->icrc_below;
    return arrival->icrc_below ^ roce_icrc_change_of_id(arrival->icrc_id ^ id);
}

/* Packet `i`, as long as the first: what is below its BTH is known but for the identification. */
static void move_on(struct roce_arrival *arrival, const struct net_frame *frame)
{
    struct roce_pkt *pkt = &arrival->pkt;
    pkt->l3 = frame->data + (pkt->l3 - pkt->frame);
    pkt->frame = frame->data;
    pkt->op = &roce_opcodes[UINT8_MAX];
    memset(&pkt->bth, 0, sizeof pkt->bth);
    memset(&pkt->rdeth, 0, sizeof *pkt - offsetof(struct roce_pkt, rdeth));
}

/* A train's UDP checksum is 0 (net/port.h). One that is not stands for each packet's own payload, and is
 * judged anew with each. */
static bool has_udp_checksum(const struct net_train *train)
{
    return get_be16(train->head + train->head_bytes - 2) != 0;
}

/* The identification of packet `i` is not known: it is the one with which the ICRC is right, if there is one
 * that its sender may have. Those behind it are taken to count on from there. */
static void find_id(struct roce_arrival *arrival, uint8_t *l3, uint32_t i)
{
    struct roce_pkt *pkt = &arrival->pkt;
    uint32_t residual = pkt->icrc_found ^ pkt->icrc_expected;
    uint32_t len_bytes = arrival->transport_bytes - ROCE_ICRC_BYTES;
    uint16_t id = get_be16(l3 + NET_IPV4_ID_AT), difference = 0;
    if (residual && !roce_ip_id_find(arrival->ids, residual, len_bytes, &difference))
        return;
    id ^= difference;
    if ((residual || i == 0) && !roce_ip_id_admit(arrival->ids, &pkt->src, id))
        return;
    arrival->is_foreign = id >= ROCE_OWN_IP_IDS;
    if (residual == 0)
        return;
    net_checksum_ipv4_set_id(l3, id);
    net_train_renumber(&arrival->train, (uint16_t)(id - i));
    pkt->icrc_expected = pkt->icrc_found;
}

enum roce_rx_verdict roce_arrival_packet(struct roce_arrival *arrival, uint32_t i)
{
    struct net_frame frame = net_train_packet(&arrival->train, i);
    uint32_t below;
    arrival->is_foreign = false;
    if (i == 0 || frame.len_bytes != arrival->frame_bytes || has_udp_checksum(&arrival->train)) {
        parse_below(arrival, &frame);
        below = arrival->icrc_below;
    } else {
        move_on(arrival, &frame);
        below = icrc_below(arrival, i);
    }
    if (arrival->verdict != ROCE_RX_TAKEN)
        return arrival->verdict;
    uint8_t *transport = frame.data + arrival->transport_offset;
    if (!roce_transport_parse(&arrival->pkt, transport, arrival->transport_bytes))
        return ROCE_RX_DROP_SHORT;
    arrival->pkt.icrc_expected =
        roce_icrc_above(below, transport, arrival->transport_bytes - ROCE_ICRC_BYTES);
    if (arrival->ids && arrival->pkt.l3_kind == ROCE_L3_IPV4)
        find_id(arrival, frame.data + (arrival->pkt.l3 - arrival->pkt.frame), i);
    return roce_pkt_judge(&arrival->pkt, arrival->flags);
}

const uint8_t *roce_arrival_next_middle(struct roce_arrival *arrival, uint32_t i, bool *asks)
{
    const struct net_train *train = &arrival->train;
    uint32_t at = train->head_bytes + i * train->seg_bytes;
    bool is_guess = arrival->ids && arrival->pkt.l3_kind == ROCE_L3_IPV4;
    if (arrival->frame_bytes != train->head_bytes + train->seg_bytes ||
        at + train->seg_bytes > train->len_bytes || (is_guess && train->ip_id + i >= ROCE_OWN_IP_IDS) ||
        has_udp_checksum(train))
        return NULL;
    uint8_t *bth = train->data + at, *icrc = bth + train->seg_bytes - ROCE_ICRC_BYTES;
    uint32_t word = get_be32(bth + PSN_WORD_AT);
    if (memcmp(bth, bth - train->seg_bytes, PSN_WORD_AT) != 0 ||
        ((word - get_be32(bth - train->seg_bytes + PSN_WORD_AT)) & ~ACK_REQ_BIT) != 1)
        return NULL;
    *asks = word & ACK_REQ_BIT;
    uint32_t expected = roce_icrc_above(icrc_below(arrival, i), bth, train->seg_bytes - ROCE_ICRC_BYTES);
    return get_le32(icrc) == expected ? bth + ROCE_BTH_BYTES : NULL;
}

void roce_arrival_end(struct roce_arrival *arrival)
{
    net_train_end(&arrival->train);
}
