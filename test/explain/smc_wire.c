/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain/smc_wire.h"

#include <criterion/criterion.h>
#include <string.h>

#include "net/ipv4.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/wire/tcp.h"

/* What an instance sends over TCP, as a segment. */
static uint32_t put_segment(struct smc_wire *w, const struct pair_end *end, const uint8_t *bytes, size_t n)
{
    bool client = end->role == SMCR_CLIENT;
    const struct pair_node *me = &w->pair->node[end->node], *peer = &w->pair->node[!end->node];
    uint32_t *sent = w->tcp_sent[end->c->id % SMC_WIRE_CONNS_MAX];
    uint16_t port = (uint16_t)(40000 + end->c->id);
    struct net_ether ether = {.ethertype = NET_ETHERTYPE_IPV4};
    struct net_ipv4 ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = NET_IP_PROTO_TCP};
    struct net_tcp tcp = {.data_offset = 5,
                          .ack = 1,
                          .psh = 1,
                          .window = 1000,
                          .seq = 1 + sent[end->node],
                          .ack_seq = 1 + sent[!end->node],
                          .src_port = client ? port : 5001,
                          .dst_port = client ? 5001 : port};
    cr_assert_leq(n, 2000);
    memset(w->frame, 0, sizeof w->frame);
    ip.total_len = (uint16_t)(NET_IPV4_BYTES + NET_TCP_BYTES + n);
    memcpy(ether.src, me->port[0].mac.b, sizeof ether.src);
    memcpy(ether.dst, peer->port[0].mac.b, sizeof ether.dst);
    memcpy(ip.src, me->port[0].addr.b + 12, 4);
    memcpy(ip.dst, peer->port[0].addr.b + 12, 4);
    net_ipv4_put(w->frame, &ip);
    ip.checksum = net_checksum_ipv4(w->frame, NET_IPV4_BYTES);
    sent[end->node] += (uint32_t)n;
    uint8_t *at = net_tcp_put(net_ipv4_put(net_ether_put(w->frame, &ether), &ip), &tcp);
    memcpy(at, bytes, n);
    return (uint32_t)(at - w->frame + (long)n);
}

struct net_capture_record smc_wire_record(struct smc_wire *w, const struct pair_end *end,
                                          const uint8_t *bytes, size_t len_bytes)
{
    uint32_t n = end ? put_segment(w, end, bytes, len_bytes) : (uint32_t)len_bytes;
    return (struct net_capture_record){.data = end ? w->frame : bytes,
                                       .len_bytes = n,
                                       .wire_bytes = n,
                                       .time_ns = SMC_WIRE_EPOCH_NS + w->pair->now_ns};
}
