/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/tcp/segment.h"

#include "base/base.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/tcp.h"

/* What an IP header says of the segment behind it. */
struct below {
    bool is_known;
    uint32_t end; /* of the datagram, on the wire; 0: as far as the frame goes (segmentation by the NIC) */
};

static struct below take_ipv4(struct explain_segment *s, const uint8_t *at, uint32_t offset)
{
    struct net_ipv4 ip;
    net_ipv4_get(&ip, at);
    s->addr[0] = nornic_addr_from_v4(ip.src);
    s->addr[1] = nornic_addr_from_v4(ip.dst);
    s->ip_id = ip.id;
    s->has_ip_id = true;
    return (struct below){.is_known = !ip.mf && !ip.frag_offset,
                          .end = ip.total_len ? offset + ip.total_len : 0};
}

static struct below take_ipv6(struct explain_segment *s, const uint8_t *at, uint32_t offset)
{
    struct net_ipv6 ip;
    net_ipv6_get(&ip, at);
    memcpy(s->addr[0].b, ip.src, sizeof ip.src);
    memcpy(s->addr[1].b, ip.dst, sizeof ip.dst);
    return (struct below){.is_known = true,
                          .end = ip.payload_len ? offset + NET_IPV6_BYTES + ip.payload_len : 0};
}

static bool take_tcp(struct explain_segment *s, const struct explain_packet *packet, uint32_t offset,
                     const struct below *below)
{
    struct net_tcp tcp;
    net_tcp_get(&tcp, packet->frame + offset);
    uint32_t end = max_u32(packet->len_bytes, packet->wire_bytes);
    end = below->end ? min_u32(end, below->end) : end;
    s->port[0] = tcp.src_port;
    s->port[1] = tcp.dst_port;
    s->seq = tcp.seq;
    s->ack = tcp.ack_seq;
    s->control.ack = tcp.ack;
    s->control.syn = tcp.syn;
    s->control.fin = tcp.fin;
    s->control.rst = tcp.rst;
    s->offset = offset + tcp.data_offset * 4u;
    if (tcp.data_offset * 4u < NET_TCP_BYTES || s->offset > end)
        return false;
    s->len_bytes = end - s->offset;
    s->captured = packet->len_bytes > s->offset ? min_u32(s->len_bytes, packet->len_bytes - s->offset) : 0;
    return true;
}

bool explain_segment_get(struct explain_segment *s, const struct explain_packet *packet)
{
    struct below below = {0};
    *s = (struct explain_segment){0};
    for (unsigned i = 0; i < packet->layer_count; i++) {
        const struct explain_layer *l = &packet->layers[i];
        const uint8_t *at = packet->frame + l->offset;
        if (l->kind->id == EXPLAIN_LAYER_IP)
            below = take_ipv4(s, at, l->offset);
        else if (l->kind->id == EXPLAIN_LAYER_IP6)
            below = take_ipv6(s, at, l->offset);
        else if (l->kind->id == EXPLAIN_LAYER_TCP)
            return explain_layer_is_whole(l) && take_tcp(s, packet, l->offset, &below) && below.is_known;
    }
    return false;
}
