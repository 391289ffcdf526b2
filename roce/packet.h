/* SPDX-License-Identifier: BSD-2-Clause */
/* A received RoCE packet, taken apart: the checks of ROCE section 6.1 and those of 6.2 that need no state.
 * The engine, `nornic verify` and the tracers share this one parser. */
#ifndef NORNIC_ROCE_PACKET_H
#define NORNIC_ROCE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "nornic/decls.h"
#include "roce/icrc.h"
#include "roce/opcode.h"
#include "roce/wire.h"

NORNIC_BEGIN_DECLS

/* What became of a received frame: name, counter (ROCE section 6), the words for a reader. One device counter
 * each. */
#define ROCE_RX_VERDICTS(V)                                                  \
    V(TAKEN, rx_taken, "taken")                                              \
    V(NOT_ROCE, rx_not_roce, "not a RoCE packet")                            \
    V(DROP_L2, rx_l2_drop, "Ethernet or VLAN tag not accepted")              \
    V(DROP_IP, rx_ip_drop, "bad IP header or GRH")                           \
    V(DROP_UDP, rx_udp_drop, "bad UDP header")                               \
    V(DROP_SHORT, rx_short_drop, "too short for its opcode")                 \
    V(DROP_ICRC, rx_icrc_error, "ICRC mismatch")                             \
    V(DROP_TVER, rx_tver_drop, "transport version not 0")                    \
    V(DROP_QP0, rx_qp0_drop, "addressed to QP 0")                            \
    V(DROP_NO_QP, rx_no_qp, "no such QP")                                    \
    V(DROP_TYPE, rx_type_drop, "service does not fit the QP")                \
    V(DROP_STATE, rx_state_drop, "QP not in a state to take it")             \
    V(DROP_GID, rx_gid_drop, "addresses are not those of the QP")            \
    V(DROP_PKEY, bad_pkey, "P_Key does not match")                           \
    V(DROP_QKEY, qkey_viol, "Q_Key does not match")                          \
    V(DROP_PSN, rx_psn_drop, "PSN out of sequence, already NAKed")           \
    V(DROP_DUPLICATE, rx_duplicate_drop, "duplicate without a saved result") \
    V(DROP_GHOST, rx_ghost_drop, "response to nothing outstanding")          \
    V(DROP_SYNDROME, rx_syndrome_drop, "reserved AETH syndrome")             \
    V(DROP_BUSY, rx_busy_drop, "too many answers waiting")                   \
    V(DROP_OPCODE, rx_opcode_drop, "reserved opcode, or one not enabled")    \
    V(DROP_ORDER, rx_order_drop, "not the next packet of its message")       \
    V(DROP_NO_RECV, rx_no_recv, "no receive posted")                         \
    V(DROP_KEY, rx_key_drop, "R_Key, range or rights refused")               \
    V(DROP_LENGTH, rx_length_drop, "length rule broken")                     \
    V(DROP_TOO_LONG, rx_too_long, "longer than the receive posted")          \
    V(DROP_LOCAL, rx_local_drop, "receive buffer or queue at fault")         \
    V(DROP_OWN, rx_own_drop, "multicast of the QP's own, which it does not want")

enum roce_rx_verdict {
#define ROCE_RX_ENUM_(id, counter, words) ROCE_RX_##id,
    ROCE_RX_VERDICTS(ROCE_RX_ENUM_)
#undef ROCE_RX_ENUM_
        ROCE_RX_VERDICT_COUNT
};

/* The words for a verdict. */
const char *roce_rx_verdict_words(enum roce_rx_verdict verdict);

enum roce_parse_flags {
    ROCE_PARSE_ALLOW_NO_DF = 1 << 0,       /* the tolerant profile of ROCE-FRM-23 */
    ROCE_PARSE_SKIP_ICRC = 1 << 1,         /* fill icrc_expected, but do not judge by it */
    ROCE_PARSE_V1 = 1 << 2,                /* take RoCEv1 too (ROCE-FRM-50) */
    ROCE_PARSE_SKIP_UDP_CHECKSUM = 1 << 3, /* judge the rest of a packet whose UDP checksum is wrong */
};

/* Pointers lead into the frame. Extended headers that the opcode does not have are zero. */
struct roce_pkt {
    const uint8_t *frame;
    uint32_t frame_bytes;
    struct nornic_mac src_mac, dst_mac;
    int32_t vlan_tci; /* -1: no tag */
    enum roce_l3 l3_kind;
    const uint8_t *l3;
    struct nornic_addr src, dst; /* IPv4-mapped for IPv4 */
    uint8_t tclass;              /* DSCP and ECN; of a GRH the traffic class */
    uint8_t hop_limit;
    uint16_t src_port; /* 0 in RoCEv1, which has none */
    struct roce_bth bth;
    const struct roce_opcode *op;
    struct roce_rdeth rdeth;
    struct roce_deth deth;
    struct roce_xrceth xrceth;
    struct roce_reth reth;
    struct roce_atomiceth atomiceth;
    struct roce_masketh masketh;
    struct roce_aeth aeth;
    struct roce_sacketh sacketh;
    struct roce_atomicacketh atomicacketh;
    struct roce_immdt immdt;
    struct roce_ieth ieth;
    const uint8_t *payload;
    uint32_t payload_bytes; /* without pad */
    uint32_t icrc_found, icrc_expected;
};

/* Takes a frame apart. Returns
 *   ROCE_RX_TAKEN     every check of 6.1, TVer and the family of the addresses passed, the packet is whole
 *                     and its ICRC good;
 *   ROCE_RX_NOT_ROCE  another EtherType, another protocol, another UDP port, or too short to be told: not
 *                     ours, and a port that shows the engine such frames is not at fault;
 *   ROCE_RX_DROP_L2   RoCEv1 without ROCE_PARSE_V1 (ROCE-FRM-55): l3_kind is ROCE_L3_GRH;
 *   another verdict   the first check that failed; what was parsed until then is filled.
 * A packet with an undefined opcode is TAKEN with op->flags 0 and everything after the BTH as payload (a
 * reserved RC opcode is a request that the responder NAKs: ROCE-RX-23). Frames with bytes after the ICRC are
 * fine (ROCE-FRM-5). Borrows `frame`, to which the pointers in `pkt` lead. */
enum roce_rx_verdict roce_pkt_parse(struct roce_pkt *pkt, const uint8_t *frame, size_t len_bytes,
                                    unsigned flags);

/* The same of a datagram without its link layer: `l3` is the IP header or GRH, which `ethertype` names, with
 * `len_bytes` from there on. Then `pkt->frame` is `l3`, the MAC addresses are zero and there is no tag. */
enum roce_rx_verdict roce_pkt_parse_l3(struct roce_pkt *pkt, uint16_t ethertype, const uint8_t *l3,
                                       size_t len_bytes, unsigned flags);

NORNIC_END_DECLS

#endif
