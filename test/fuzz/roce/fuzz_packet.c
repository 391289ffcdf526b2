/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet parser on any bytes: it stays inside the frame, and what it takes is what it says.
 * covers: ROCE-GEN-7, ROCE-OPC-6, ROCE-HDR-4, ROCE-HDR-10 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "roce/wire/arrival.h"
#include "roce/packet.h"
#include "test/support/headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)    \
    do {                      \
        if (!(condition))     \
            __builtin_trap(); \
    } while (0)

/* What must hold for a packet whose headers were read. */
static void check_transport(const struct roce_pkt *pkt)
{
    const uint8_t *end = pkt->frame + pkt->frame_bytes;
    uint8_t headers[128] = {0};

    REQUIRE(pkt->op == &roce_opcodes[pkt->bth.opcode]);
    REQUIRE(pkt->l3 > pkt->frame && pkt->l3 < end);
    REQUIRE(pkt->payload > pkt->l3 && pkt->payload <= end);
    REQUIRE(pkt->payload_bytes + ROCE_ICRC_BYTES <= (size_t)(end - pkt->payload));
    /* what was read encodes to the bytes it was read from (a CNP's body is not kept) */
    size_t len = (size_t)(headers_put(headers, pkt) - headers);
    const uint8_t *bth = pkt->payload - pkt->op->ext_bytes - ROCE_BTH_BYTES;
    REQUIRE(pkt->op->flags & ROCE_PKT_CNP || len == (size_t)(pkt->payload - bth));
    REQUIRE(memcmp(headers, bth, len) == 0);
}

/* Parses a copy that ends where the frame ends; the copy stays for the caller to free. */
static enum roce_rx_verdict parse_copy(struct roce_pkt *pkt, const uint8_t *data, size_t size, unsigned flags)
{
    uint8_t *copy = malloc(size ? size : 1);
    REQUIRE(copy);
    memcpy(copy, data, size);
    enum roce_rx_verdict verdict = roce_pkt_parse(pkt, copy, size, flags);
    REQUIRE(pkt->frame == copy && pkt->frame_bytes == size);
    switch (verdict) {
    case ROCE_RX_TAKEN:
        REQUIRE(pkt->bth.tver == 0);
        REQUIRE(flags & ROCE_PARSE_SKIP_ICRC || pkt->icrc_found == pkt->icrc_expected);
        check_transport(pkt);
        break;
    case ROCE_RX_DROP_ICRC:
        REQUIRE(pkt->icrc_found != pkt->icrc_expected && !(flags & ROCE_PARSE_SKIP_ICRC));
        check_transport(pkt);
        break;
    case ROCE_RX_DROP_TVER:
        REQUIRE(pkt->bth.tver != 0);
        check_transport(pkt);
        break;
    case ROCE_RX_DROP_GID:
        REQUIRE(nornic_addr_is_v4(&pkt->src) || nornic_addr_is_v4(&pkt->dst));
        check_transport(pkt);
        break;
    case ROCE_RX_NOT_ROCE:
    case ROCE_RX_DROP_L2:
    case ROCE_RX_DROP_IP:
    case ROCE_RX_DROP_UDP:
    case ROCE_RX_DROP_SHORT:
        break;
    default:
        REQUIRE(!"a verdict that needs state");
    }
    free(copy);
    return verdict;
}

/* As a train of any length of packet: each gets the verdict that it gets alone, and the bytes stay what they
 * were. */
static void check_train(const uint8_t *data, size_t size, unsigned flags)
{
    struct net_frame frame = {.data = malloc(size), .len_bytes = (uint32_t)size};
    REQUIRE(frame.data);
    memcpy(frame.data, data, size);
    /* what the UDP length says, or a little more or less, as the first byte decides */
    uint32_t udp_bytes = size > 48 ? (uint32_t)(data[38] << 8 | data[39]) : 8;
    frame.seg_bytes = udp_bytes - 8 + (data[0] < 4 ? data[0] : 0);
    struct roce_arrival arrival;
    roce_arrival_begin(&arrival, &frame, flags, NULL);
    for (uint32_t i = 0; i < arrival.train.count; i++) {
        struct roce_pkt alone;
        enum roce_rx_verdict verdict = roce_arrival_packet(&arrival, i);
        const struct roce_pkt *pkt = &arrival.pkt;
        REQUIRE(verdict == roce_pkt_parse(&alone, pkt->frame, pkt->frame_bytes, flags));
        REQUIRE(pkt->payload == alone.payload && pkt->payload_bytes == alone.payload_bytes);
        REQUIRE(pkt->icrc_expected == alone.icrc_expected && pkt->l3 == alone.l3);
    }
    roce_arrival_end(&arrival);
    REQUIRE(memcmp(frame.data, data, size) == 0);
    free(frame.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct roce_pkt whole, tolerant, prefix;
    if (size > 0) {
        check_train(data, size, 0);
        check_train(data, size, ROCE_PARSE_SKIP_ICRC | ROCE_PARSE_V1);
    }
    enum roce_rx_verdict verdict = parse_copy(&whole, data, size, 0);
    enum roce_rx_verdict unsealed =
        parse_copy(&tolerant, data, size, ROCE_PARSE_SKIP_ICRC | ROCE_PARSE_ALLOW_NO_DF);

    /* the order of the checks: whatever comes after the ICRC is not hidden by it */
    if (verdict == ROCE_RX_TAKEN || verdict == ROCE_RX_DROP_TVER || verdict == ROCE_RX_DROP_GID)
        REQUIRE(unsealed == verdict);
    if (verdict == ROCE_RX_DROP_ICRC)
        REQUIRE(unsealed == ROCE_RX_TAKEN || unsealed == ROCE_RX_DROP_TVER || unsealed == ROCE_RX_DROP_GID);

    /* captures and frames are cut anywhere; what a prefix already holds, later bytes do not change */
    for (size_t len = size - size / 8; len > 0 && len < size; len -= (len + 7) / 8) {
        if (parse_copy(&prefix, data, len, 0) != ROCE_RX_TAKEN)
            continue;
        REQUIRE(verdict == ROCE_RX_TAKEN);
        REQUIRE(prefix.payload_bytes == whole.payload_bytes && prefix.icrc_found == whole.icrc_found);
    }
    return 0;
}
