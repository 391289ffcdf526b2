/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks a frame to its IP and UDP headers: Ethernet, at most one 802.1Q tag, IPv4 or IPv6, UDP. Every length
 * is checked, and positions come from the IP lengths, never from the frame length (ROCE-FRM-5). */
#ifndef NORNIC_NET_PARSE_H
#define NORNIC_NET_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far a frame could be walked. Each of the first three also says that all before it was sound. */
enum net_parse_result {
    NET_PARSE_UDP,     /* everything of struct net_parsed is filled */
    NET_PARSE_IP,      /* another protocol, an IPv6 extension header, or a fragment: no udp_ members */
    NET_PARSE_NOT_IP,  /* another EtherType (a second tag is one): no l3_ and udp_ members */
    NET_PARSE_BAD_L2,  /* too short for Ethernet header or tag */
    NET_PARSE_BAD_IP,  /* version, header length or total length wrong, or beyond the frame */
    NET_PARSE_BAD_UDP, /* UDP length below 8 or beyond the IP packet */
};

/* Offsets count from the first byte of the frame. Members that were not reached are 0. */
struct net_parsed {
    int32_t vlan_tci;    /* -1: no tag */
    uint16_t ethertype;  /* behind the tag */
    uint8_t ip_version;  /* 4 or 6 */
    uint8_t ip_protocol; /* IPv4 protocol, IPv6 next header */
    bool is_fragment;    /* IPv4: MF or an offset */
    uint32_t l3_offset;  /* IP header */
    uint32_t l3_bytes;   /* the IP packet, header included */
    uint32_t l4_offset;  /* what follows the IP header (with IPv4 options) */
    uint32_t l4_bytes;
    uint32_t udp_bytes; /* UDP header and payload, by the UDP length; the header is at l4_offset */
};

/* Checksums are not verified (net/wire/checksum.h), and no field but lengths and versions is judged. */
enum net_parse_result net_parse(struct net_parsed *out, const uint8_t *frame, size_t len_bytes);

#endif
