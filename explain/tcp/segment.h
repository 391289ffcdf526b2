/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP segment in a frame: its ends, its place in the stream, and its data. */
#ifndef NORNIC_EXPLAIN_TCP_SEGMENT_H
#define NORNIC_EXPLAIN_TCP_SEGMENT_H

#include "explain/packet/packet.h"
#include "nornic/addr.h"

/* The control bits of a segment. */
struct explain_control {
    bool ack, syn, fin, rst;
};

/* Addresses and ports as the segment has them: [0] its source, [1] its destination. */
struct explain_segment {
    struct nornic_addr addr[2];
    uint16_t port[2];
    uint16_t ip_id; /* of IPv4 */
    bool has_ip_id;
    uint32_t seq; /* of its first byte; of the SYN, where it has one */
    uint32_t ack; /* the next byte that its sender expects; valid with `control.ack` */
    struct explain_control control;
    uint32_t offset;    /* of its data in the frame */
    uint32_t len_bytes; /* of data on the wire, */
    uint32_t captured;  /* and so much of these is in the frame */
};

/* Of the innermost TCP header. False: there is none, the capture cut it, or it is a fragment of IP, of which
 * `segment` has what stands where that header would. */
bool explain_segment_get(struct explain_segment *segment, const struct explain_packet *packet);

#endif
