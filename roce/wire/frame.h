/* SPDX-License-Identifier: BSD-2-Clause */
/* Building frames: the Ethernet, IP and UDP headers of a flow (RoCEv1: Ethernet and GRH) are made once and
 * copied in front of every packet. */
#ifndef NORNIC_ROCE_FRAME_H
#define NORNIC_ROCE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "roce/icrc.h"

/* Largest header overhead of a frame: Ethernet 14 + VLAN 4 + IPv6 40 + UDP 8 + BTH 12 + RETH 16 + ImmDt 4 +
 * ICRC 4. */
#define ROCE_FRAME_OVERHEAD_BYTES 102

/* Values of the ECN field: RFC 3168. */
#define ROCE_ECN_ECT0 2 /* a router may mark it instead of dropping it */
#define ROCE_ECN_CE   3 /* one did */

/* Everything below the BTH of one flow. Both addresses are of one family (ROCE-FRM-39). */
struct roce_path {
    bool v1; /* a GRH instead of IP and UDP (ROCE-FRM-50) */
    struct nornic_mac src_mac, dst_mac;
    int32_t vlan_tci; /* PCP, DEI, VID; -1: untagged */
    struct nornic_addr src, dst;
    uint8_t traffic_class; /* DSCP and ECN (ROCE-FRM-12, FRM-13) */
    uint32_t flow_label;   /* 20 bits, IPv6 and GRH */
    uint8_t hop_limit;
    uint16_t src_port; /* ROCE-FRM-44; not in RoCEv1 */
};

struct roce_frame_template {
    uint8_t bytes[14 + 4 + 40 + 8];
    uint8_t len_bytes; /* up to the BTH */
    uint8_t l3_offset;
    uint8_t l4_offset; /* UDP header; of RoCEv1 the BTH */
    enum roce_l3 l3_kind;
    uint32_t ipv4_sum; /* ones' complement sum of the constant words of the IPv4 header */
    uint32_t icrc;     /* CRC below the BTH, with lengths and identification 0: roce/wire/icrc_parts.h */
};

void roce_frame_template_init(struct roce_frame_template *t, const struct roce_path *path);

/* Writes the headers in front of a packet. Its BTH, extended headers, payload and pad are `transport_bytes`
 * long. `ip_id` goes into the IPv4 identification (covered by the ICRC: ROCE-FRM-15). Returns where the BTH
 * begins. */
uint8_t *roce_frame_begin(const struct roce_frame_template *t, uint8_t *frame, uint32_t transport_bytes,
                          uint16_t ip_id);

/* The CRC of that packet's headers, for roce_icrc_above(). */
uint32_t roce_frame_icrc_below(const struct roce_frame_template *t, uint32_t transport_bytes, uint16_t ip_id);

/* Computes the ICRC of a frame that is whole up to its pad and appends it. Returns the frame's length in
 * bytes. */
uint32_t roce_frame_seal(const struct roce_frame_template *t, uint8_t *frame, uint32_t transport_bytes);

/* Returns the flow label of a connected QP (ROCE-FRM-45). It is the label of the address vector. If that
 * is 0, it is 20 bits of both QPNs, and so the same at both ends. */
uint32_t roce_flow_label(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn);
/* Returns the UDP source port of a flow label (ROCE-FRM-45). */
uint16_t roce_label_src_port(uint32_t flow_label);

#endif
