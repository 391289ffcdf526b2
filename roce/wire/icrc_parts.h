/* SPDX-License-Identifier: BSD-2-Clause */
/* The ICRC in two parts: below the BTH, and from there on. Inside roce/ only.
 *
 * The packets of a flow have the same headers below the BTH but for three fields: the length in the L3
 * header, that in the UDP header, and the IPv4 identification. A CRC is linear: the register after the
 * headers is the register after the headers with these fields 0, plus (XOR) what each bit of each field
 * contributes, which depends only on how many bytes come between the field and the BTH. So headers are hashed
 * once a flow on sending, once a datagram on receipt (a train is one), and from then on a packet costs a few
 * XORs below its BTH. */
#ifndef NORNIC_ROCE_ICRC_PARTS_H
#define NORNIC_ROCE_ICRC_PARTS_H

#include "roce/icrc.h"

/* The CRC over what stands for the LRH, the L3 header at `l3` and the UDP header behind it (RoCEv1: none),
 * each with its variant fields as ones. */
uint32_t roce_icrc_below(const uint8_t *l3, enum roce_l3 l3_kind);

/* What to XOR into that CRC when the length fields of the L3 and the UDP header change (RoCEv1 has no UDP
 * header: `udp_len` is not looked at), and when the IPv4 identification does. Arguments are old XOR new
 * value. */
uint32_t roce_icrc_change_of_lengths(enum roce_l3 l3_kind, uint16_t l3_len, uint16_t udp_len);
uint32_t roce_icrc_change_of_id(uint16_t ip_id);

/* The ICRC: the CRC `below`, continued over the `len_bytes` from the BTH to the last pad byte (at least the
 * BTH). A byte of the BTH is another one for the time of the call, so that one pass takes them all. */
uint32_t roce_icrc_above(uint32_t below, uint8_t *bth, size_t len_bytes);

#endif
