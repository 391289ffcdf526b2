/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/socket.h"

#include <stdlib.h>
#include <string.h>

#include "net/wire/checksum.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/parse.h"
#include "net/wire/udp.h"
#include "net/udp/frame.h"

#define PAYLOAD_MAX_BYTES 65507 /* of one IPv4 datagram */

/* What a socket has for one call to receive. */
struct message {
    struct net_udp_arrival arrival;
    uint8_t *room; /* for headers, then the payload */
};

/* False: the kernel drops it. */
static bool receive(struct message *out, const struct net_frame *frame)
{
    struct net_parsed at;
    if (net_parse(&at, frame->data, frame->len_bytes) != NET_PARSE_UDP)
        return false;
    const uint8_t *l3 = frame->data + at.l3_offset;
    struct net_udp udp;
    net_udp_get(&udp, frame->data + at.l4_offset);
    if ((at.ip_version == 4 && !net_checksum_ipv4_is_ok(l3, NET_IPV4_BYTES)) ||
        udp.dst_port != NET_ROCE_UDP_PORT || at.udp_bytes < NET_UDP_BYTES || at.udp_bytes > at.l4_bytes)
        return false;
    out->arrival =
        (struct net_udp_arrival){.src_port = udp.src_port, .payload_bytes = at.udp_bytes - NET_UDP_BYTES};
    if (at.ip_version == 4) {
        struct net_ipv4 ip;
        net_ipv4_get(&ip, l3);
        out->arrival.src = nornic_addr_from_v4(ip.src);
        out->arrival.dst = nornic_addr_from_v4(ip.dst);
        out->arrival.tos = (uint8_t)(ip.dscp << 2 | ip.ecn);
        out->arrival.ttl = ip.ttl;
    } else {
        struct net_ipv6 ip;
        net_ipv6_get(&ip, l3);
        memcpy(out->arrival.src.b, ip.src, sizeof ip.src);
        memcpy(out->arrival.dst.b, ip.dst, sizeof ip.dst);
        out->arrival.tos = (uint8_t)(ip.dscp << 2 | ip.ecn);
        out->arrival.ttl = ip.hop_limit;
    }
    out->room = malloc(NET_UDP_HEAD_MAX_BYTES + out->arrival.payload_bytes);
    if (!out->room)
        abort();
    memcpy(out->room + NET_UDP_HEAD_MAX_BYTES, frame->data + at.l4_offset + NET_UDP_BYTES,
           out->arrival.payload_bytes);
    return true;
}

/* Puts `next` behind `train`, if a kernel would. */
static bool join(struct message *train, const struct message *next)
{
    struct net_udp_arrival *a = &train->arrival;
    const struct net_udp_arrival *b = &next->arrival;
    uint32_t seg_bytes = a->seg_bytes ? a->seg_bytes : a->payload_bytes;
    if (!nornic_addr_equal(&a->src, &b->src) || !nornic_addr_equal(&a->dst, &b->dst) ||
        a->src_port != b->src_port || a->tos != b->tos || a->ttl != b->ttl || b->payload_bytes > seg_bytes ||
        b->payload_bytes == 0 || a->payload_bytes % seg_bytes ||
        a->payload_bytes + b->payload_bytes > PAYLOAD_MAX_BYTES)
        return false;
    train->room = realloc(train->room, NET_UDP_HEAD_MAX_BYTES + a->payload_bytes + b->payload_bytes);
    if (!train->room)
        abort();
    memcpy(train->room + NET_UDP_HEAD_MAX_BYTES + a->payload_bytes, next->room + NET_UDP_HEAD_MAX_BYTES,
           b->payload_bytes);
    a->payload_bytes += b->payload_bytes;
    a->seg_bytes = seg_bytes;
    return true;
}

/* As the port lends it, in an allocation of its length. */
static struct net_frame lend(const struct message *message, uint64_t time_ns)
{
    struct net_frame frame = net_udp_arrival_frame(&message->arrival, message->room + NET_UDP_HEAD_MAX_BYTES);
    uint8_t *whole = malloc(frame.len_bytes);
    if (!whole)
        abort();
    memcpy(whole, frame.data, frame.len_bytes);
    free(message->room);
    frame.data = whole;
    frame.cap_bytes = frame.len_bytes;
    frame.time_ns = time_ns;
    return frame;
}

unsigned sim_socket_take(struct net_frame *frames, unsigned n, struct test_random *random, uint64_t *dropped)
{
    struct message messages[NET_BURST];
    uint64_t time_ns[NET_BURST];
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
        bool is_received = receive(&messages[kept], &frames[i]);
        free(frames[i].data);
        *dropped += !is_received;
        if (!is_received)
            continue;
        time_ns[kept] = frames[i].time_ns;
        if (kept > 0 && test_random_below(random, 8) != 0 && join(&messages[kept - 1], &messages[kept]))
            free(messages[kept].room);
        else
            kept++;
    }
    for (unsigned i = 0; i < kept; i++)
        frames[i] = lend(&messages[i], time_ns[i]);
    return kept;
}
