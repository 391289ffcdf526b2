/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that look like RoCE to whoever only reads as far as UDP, and their passage from port to port. */
#ifndef NORNIC_TEST_SUPPORT_FRAMES_H
#define NORNIC_TEST_SUPPORT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "net/port.h"

#define FRAMES_MAX_BYTES 9018

struct frame_spec {
    struct nornic_mac src, dst;
    bool is_v6;
    int32_t vlan_tci;    /* -1: untagged */
    uint16_t dport;      /* UDP */
    uint16_t ip_bytes;   /* length of the IP packet, at least 60 */
    bool is_fragment;    /* IPv4: more fragments */
    bool has_ip_options; /* IPv4: one word of no-operations */
    bool is_v1;          /* the EtherType of RoCEv1 before what is an IPv6 packet */
    uint32_t dest_qpn;   /* of the BTH; 0: what stands there is determined by n, as the rest is */
    uint8_t source;      /* last byte of the source address; 0: 1 */
};

/* Builds frame number `n` of a kind; what follows the UDP header is determined by n. Returns its length. */
uint32_t frame_build(const struct frame_spec *spec, uint32_t n, uint8_t *frame);

/* CLOCK_MONOTONIC. */
uint64_t frames_now_ns(void);

/* Sends frames first..first+count-1 from one port and receives on the other, asleep in between, until all are
 * there or `timeout_ns` has passed. Returns how many came in order and byte for byte; frames that are not the
 * next expected one are ignored, and counted in *strange if that is not NULL. */
uint32_t frames_exchange(struct net_port *from, struct net_port *to, const struct frame_spec *spec,
                         uint32_t first, uint32_t count, uint64_t timeout_ns, uint32_t *strange);

#endif
