/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving datagrams. Whatever does not fit is dropped in silence, and the next one may fit: only a receive
 * buffer that cannot be written is an error of this side. */
#include "net/ipv4.h"
#include "roce/dev/inner.h"
#include "roce/datagram/ud.h"

/* ROCE-UD-4: the L3 header as it came, an IPv4 one in the second half. */
static void fill_l3_area(uint8_t area[NORNIC_L3_AREA_BYTES], const struct roce_pkt *pkt)
{
    uint32_t begin = pkt->l3_kind == ROCE_L3_IPV4 ? NORNIC_L3_AREA_BYTES - NET_IPV4_BYTES : 0;
    memset(area, 0, begin);
    memcpy(area + begin, pkt->l3, NORNIC_L3_AREA_BYTES - begin);
}

static enum nornic_network network_of(const struct roce_pkt *pkt)
{
    switch (pkt->l3_kind) {
    case ROCE_L3_IPV4:
        return NORNIC_NETWORK_IPV4;
    case ROCE_L3_IPV6:
        return NORNIC_NETWORK_IPV6;
    case ROCE_L3_GRH:
        break;
    }
    return NORNIC_NETWORK_IB;
}

/* ROCE-UD-5. */
static struct nornic_wc describe(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    bool gsi = qp->type == NORNIC_QPT_GSI;
    struct nornic_wc wc = {
        .opcode = NORNIC_WC_RECV,
        .byte_len = NORNIC_L3_AREA_BYTES + pkt->payload_bytes,
        .wc_flags = NORNIC_WC_GRH,
        .src_qpn = pkt->deth.src_qpn,
        .pkey_index = gsi ? (uint16_t)roce_pkey_index(qp->dev, pkt->bth.pkey) : qp->attr.pkey_index,
        .vlan_id = roce_pkt_vlan_id(pkt),
        .network = network_of(pkt),
    };
    memcpy(wc.src_mac, pkt->src_mac.b, sizeof wc.src_mac);
    if (pkt->op->flags & ROCE_PKT_IMMDT) {
        wc.wc_flags |= NORNIC_WC_WITH_IMM;
        memcpy(&wc.imm_data, pkt->immdt.imm_data, sizeof wc.imm_data);
    }
    return wc;
}

/* ROCE-GSI-1: a SEND_ONLY of one MAD. */
static enum roce_rx_verdict check_mad(const struct roce_pkt *pkt)
{
    if (pkt->op->flags & ROCE_PKT_IMMDT)
        return ROCE_RX_DROP_OPCODE;
    return pkt->payload_bytes == ROCE_MAD_BYTES ? ROCE_RX_TAKEN : ROCE_RX_DROP_LENGTH;
}

enum roce_rx_verdict roce_ud_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    if (!(pkt->op->flags & ROCE_PKT_DEFINED))
        return ROCE_RX_DROP_OPCODE;
    if (qp->type == NORNIC_QPT_GSI) {
        enum roce_rx_verdict verdict = check_mad(pkt);
        if (verdict != ROCE_RX_TAKEN)
            return verdict;
    }
    if (!rdma_recv_take(&qp->base))
        return ROCE_RX_DROP_NO_RECV;
    if (rdma_recv_bytes(&qp->base.recv) < NORNIC_L3_AREA_BYTES + pkt->payload_bytes) {
        rdma_recv_give_back(&qp->base, NORNIC_WC_LOC_LEN_ERR); /* ROCE-UD-7 */
        return ROCE_RX_DROP_TOO_LONG;
    }

    uint8_t area[NORNIC_L3_AREA_BYTES];
    fill_l3_area(area, pkt);
    struct nornic_wc wc = describe(qp, pkt);
    bool placed = rdma_recv_scatter(&qp->base, 0, area, sizeof area) &&
                  rdma_recv_scatter(&qp->base, sizeof area, pkt->payload, pkt->payload_bytes);
    if (!placed) /* ROCE section 6.3 */
        wc = (struct nornic_wc){.status = NORNIC_WC_LOC_PROT_ERR};
    rdma_recv_complete(&qp->base, &wc, placed && pkt->bth.se);
    if (!placed)
        roce_qp_enter_error(qp, ROCE_CAUSE_LOCAL_ERROR, now_ns);
    return placed ? ROCE_RX_TAKEN : ROCE_RX_DROP_LOCAL;
}
