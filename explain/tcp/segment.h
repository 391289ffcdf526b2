/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP segment in a frame: whose it is, where it stands in its stream, and what it carries. */
#ifndef NORNIC_EXPLAIN_TCP_SEGMENT_H
#define NORNIC_EXPLAIN_TCP_SEGMENT_H

#include "explain/packet/packet.h"
#include "nornic/addr.h"

/* Addresses and ports as the segment has them: [0] its source, [1] its destination. */
struct explain_segment {
    struct nornic_addr addr[2];
    uint16_t port[2];
    uint16_t ip_id; /* of IPv4 */
    bool has_ip_id;
    uint32_t seq; /* of its first byte; of the SYN, where it has one */
    uint32_t ack; /* what its sender expects next; means something with `has_ack` */
    bool has_ack, is_syn, is_fin, is_rst;
    uint32_t offset;    /* of its data in the frame */
    uint32_t len_bytes; /* of data on the wire, */
    uint32_t captured;  /* and so much of it is in the frame */
};

/* Of the innermost TCP header. False: there is none, the capture cut it, or it is a fragment of IP, of which
 * `segment` has what stands where that header would. */
bool explain_segment_get(struct explain_segment *segment, const struct explain_packet *packet);

#endif
