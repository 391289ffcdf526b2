/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport headers of RoCE, one list each: ROCE sections 4.1 and 4.2. */
#ifndef NORNIC_ROCE_WIRE_H
#define NORNIC_ROCE_WIRE_H

#include "net/ipv4.h" /* net_ip_proto_name */
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

#define ROCE_UDP_PORT       4791 /* ROCE-FRM-41 */
#define ROCE_ICRC_BYTES     4
#define ROCE_MULTICAST_QPN  0xffffffu
#define ROCE_GSI_QPN        1u /* of management datagrams */
#define ROCE_PMTU_MAX_BYTES 4096

net_value_name roce_opcode_name;   /* "RC SEND_ONLY"; never NULL */
net_value_name roce_syndrome_name; /* "ACK", "RNR NAK 0.64 ms", "NAK PSN sequence error"; never NULL */

/* Global Route Header of RoCEv1, IBA 8.3: laid out as an IPv6 header, but the traffic class has no ECN, and
 * the next header is NET_IP_PROTO_IB_GRH. payload_len counts from the BTH through the ICRC (ROCE-FRM-51). */
#define ROCE_GRH_FIELDS(F, B)                         \
    F(ip_version, 0, 4, uint8_t, NULL)                \
    F(tclass, 4, 8, uint8_t, NULL)                    \
    F(flow_label, 12, 20, uint32_t, NULL)             \
    F(payload_len, 32, 16, uint16_t, NULL)            \
    F(next_header, 48, 8, uint8_t, net_ip_proto_name) \
    F(hop_limit, 56, 8, uint8_t, NULL)                \
    B(sgid, 64, 128)                                  \
    B(dgid, 192, 128)
#define ROCE_GRH_BYTES 40
NET_HEADER(roce_grh, ROCE_GRH_BYTES, ROCE_GRH_FIELDS);

/* Base Transport Header, IBA 9.2. resv6 covers the six reserved bits beside FECN and BECN. */
#define ROCE_BTH_FIELDS(F, B)                  \
    F(opcode, 0, 8, uint8_t, roce_opcode_name) \
    F(se, 8, 1, uint8_t, NULL)                 \
    F(mig_req, 9, 1, uint8_t, NULL)            \
    F(pad_count, 10, 2, uint8_t, NULL)         \
    F(tver, 12, 4, uint8_t, NULL)              \
    F(pkey, 16, 16, uint16_t, NULL)            \
    F(fecn, 32, 1, uint8_t, NULL)              \
    F(becn, 33, 1, uint8_t, NULL)              \
    F(resv6, 34, 6, uint8_t, NULL)             \
    F(dest_qpn, 40, 24, uint32_t, NULL)        \
    F(ack_req, 64, 1, uint8_t, NULL)           \
    F(resv7, 65, 7, uint8_t, NULL)             \
    F(psn, 72, 24, uint32_t, NULL)
#define ROCE_BTH_BYTES 12
NET_HEADER(roce_bth, ROCE_BTH_BYTES, ROCE_BTH_FIELDS);

/* Reliable Datagram Extended Transport Header, IBA 9.3.1: dissected only, the service is not offered. */
#define ROCE_RDETH_FIELDS(F, B) F(resv8, 0, 8, uint8_t, NULL) F(ee_context, 8, 24, uint32_t, NULL)
#define ROCE_RDETH_BYTES        4
NET_HEADER(roce_rdeth, ROCE_RDETH_BYTES, ROCE_RDETH_FIELDS);

/* Datagram Extended Transport Header, IBA 9.3.2. */
#define ROCE_DETH_FIELDS(F, B) \
    F(qkey, 0, 32, uint32_t, NULL) F(resv8, 32, 8, uint8_t, NULL) F(src_qpn, 40, 24, uint32_t, NULL)
#define ROCE_DETH_BYTES 8
NET_HEADER(roce_deth, ROCE_DETH_BYTES, ROCE_DETH_FIELDS);

/* XRC Extended Transport Header, IBA annex A14. */
#define ROCE_XRCETH_FIELDS(F, B) F(resv8, 0, 8, uint8_t, NULL) F(xrc_srqn, 8, 24, uint32_t, NULL)
#define ROCE_XRCETH_BYTES        4
NET_HEADER(roce_xrceth, ROCE_XRCETH_BYTES, ROCE_XRCETH_FIELDS);

/* RDMA Extended Transport Header, IBA 9.3.3. */
#define ROCE_RETH_FIELDS(F, B) \
    F(va, 0, 64, uint64_t, NULL) F(rkey, 64, 32, uint32_t, NULL) F(dma_len, 96, 32, uint32_t, NULL)
#define ROCE_RETH_BYTES 16
NET_HEADER(roce_reth, ROCE_RETH_BYTES, ROCE_RETH_FIELDS);

/* Atomic Extended Transport Header, IBA 9.3.4. FETCH_ADD carries the addend in swap_add, 0 in compare
 * (ROCE-HDR-11). */
#define ROCE_ATOMICETH_FIELDS(F, B) \
    F(va, 0, 64, uint64_t, NULL)    \
    F(rkey, 64, 32, uint32_t, NULL) F(swap_add, 96, 64, uint64_t, NULL) F(compare, 160, 64, uint64_t, NULL)
#define ROCE_ATOMICETH_BYTES 28
NET_HEADER(roce_atomiceth, ROCE_ATOMICETH_BYTES, ROCE_ATOMICETH_FIELDS);

/* What masked atomics carry besides: our own (docs/masked-atomics.md). FETCH_ADD has its field boundaries in
 * swap_add_mask, 0 in compare_mask. */
#define ROCE_MASKETH_FIELDS(F, B) \
    F(swap_add_mask, 0, 64, uint64_t, NULL) F(compare_mask, 64, 64, uint64_t, NULL)
#define ROCE_MASKETH_BYTES 16
NET_HEADER(roce_masketh, ROCE_MASKETH_BYTES, ROCE_MASKETH_FIELDS);

/* What a selective acknowledgement carries behind its AETH: our own (docs/selective-retransmission.md). A
 * bitmap follows as payload: bit 7 - i % 8 of its byte i / 8 is set if packet PSN + 1 + i is there. */
#define ROCE_SACKETH_FIELDS(F, B)             \
    F(version, 0, 4, uint8_t, NULL)           \
    F(resv2, 4, 2, uint8_t, NULL)             \
    F(probe, 6, 1, uint8_t, NULL)             \
    F(known, 7, 1, uint8_t, NULL)             \
    F(ack, 8, 8, uint8_t, roce_syndrome_name) \
    F(room_pkts, 16, 16, uint16_t, NULL)      \
    F(stamp, 32, 32, uint32_t, NULL)          \
    F(echo, 64, 32, uint32_t, NULL)
#define ROCE_SACKETH_BYTES 12
NET_HEADER(roce_sacketh, ROCE_SACKETH_BYTES, ROCE_SACKETH_FIELDS);

/* ACK Extended Transport Header, IBA 9.3.5. */
#define ROCE_AETH_FIELDS(F, B) F(syndrome, 0, 8, uint8_t, roce_syndrome_name) F(msn, 8, 24, uint32_t, NULL)
#define ROCE_AETH_BYTES        4
NET_HEADER(roce_aeth, ROCE_AETH_BYTES, ROCE_AETH_FIELDS);

/* Atomic ACK Extended Transport Header, IBA 9.3.6. */
#define ROCE_ATOMICACKETH_FIELDS(F, B) F(original, 0, 64, uint64_t, NULL)
#define ROCE_ATOMICACKETH_BYTES        8
NET_HEADER(roce_atomicacketh, ROCE_ATOMICACKETH_BYTES, ROCE_ATOMICACKETH_FIELDS);

/* Immediate data, IBA 9.3: opaque, so a byte string. */
#define ROCE_IMMDT_FIELDS(F, B) B(imm_data, 0, 32)
#define ROCE_IMMDT_BYTES        4
NET_HEADER(roce_immdt, ROCE_IMMDT_BYTES, ROCE_IMMDT_FIELDS);

/* Invalidate Extended Transport Header, IBA 9.3. */
#define ROCE_IETH_FIELDS(F, B) F(rkey, 0, 32, uint32_t, NULL)
#define ROCE_IETH_BYTES        4
NET_HEADER(roce_ieth, ROCE_IETH_BYTES, ROCE_IETH_FIELDS);

/* Body of a Congestion Notification Packet, A17 figure 6. */
#define ROCE_CNP_FIELDS(F, B) B(resv128, 0, 128)
#define ROCE_CNP_BYTES        16
NET_HEADER(roce_cnp, ROCE_CNP_BYTES, ROCE_CNP_FIELDS);

/* AETH syndromes, ROCE section 4.3. */
#define ROCE_SYNDROME_ACK_UNLIMITED 0x1f /* ACK, no end-to-end credits */
#define ROCE_SYNDROME_RNR           0x20 /* | RNR timer code */
#define ROCE_SYNDROME_NAK_PSN_SEQ   0x60
#define ROCE_SYNDROME_NAK_INV_REQ   0x61
#define ROCE_SYNDROME_NAK_REM_ACC   0x62
#define ROCE_SYNDROME_NAK_REM_OP    0x63

enum roce_syndrome_kind { ROCE_SYN_ACK, ROCE_SYN_RNR, ROCE_SYN_NAK, ROCE_SYN_RESERVED };

/* ROCE-HDR-20: bit 7 set, type 10 and NAK codes above 3 are reserved. */
enum roce_syndrome_kind roce_syndrome_kind(uint8_t syndrome);

/* Nanoseconds of an RNR timer code 0..31 (ROCE-HDR-22). */
uint64_t roce_rnr_timer_ns(uint8_t code);

/* Credits of a code 0..30 (ROCE-HDR-21); UINT32_MAX for 31. And the code of a number of credits, rounded
 * down. */
uint32_t roce_credit_count(uint8_t code);
uint8_t roce_credit_code(uint32_t credits);

NORNIC_END_DECLS

#endif
