/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/udp/frame.h"

#include <string.h>

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/ipv4.h"
#include "net/wire/parse.h"

/* Appends a control message of `bytes`. */
static void put_control(struct net_udp_message *m, int level, int type, const void *value, size_t bytes)
{
    struct cmsghdr *c = (struct cmsghdr *)(m->control.bytes + m->control_bytes);
    *c = (struct cmsghdr){.cmsg_level = level, .cmsg_type = type, .cmsg_len = CMSG_LEN(bytes)};
    memcpy(CMSG_DATA(c), value, bytes);
    m->control_bytes += CMSG_SPACE(bytes);
}

static void put_ipv4(struct net_udp_message *m, const uint8_t *l3, struct nornic_addr *dst)
{
    struct net_ipv4 ip;
    net_ipv4_get(&ip, l3);
    m->tos = (uint8_t)(ip.dscp << 2 | ip.ecn);
    m->ttl = ip.ttl;
    m->src = nornic_addr_from_v4(ip.src);
    *dst = nornic_addr_from_v4(ip.dst);
}

static void put_ipv6(struct net_udp_message *m, const uint8_t *l3, struct nornic_addr *dst)
{
    struct net_ipv6 ip;
    net_ipv6_get(&ip, l3);
    m->tos = (uint8_t)(ip.dscp << 2 | ip.ecn);
    m->ttl = ip.hop_limit;
    memcpy(m->src.b, ip.src, sizeof m->src.b);
    memcpy(dst->b, ip.dst, sizeof dst->b);
}

/* That of a train first: a socket that sends with the rest by itself needs no more (net/udp/usual.h). */
static void put_controls(struct net_udp_message *m, uint32_t train_seg_bytes, bool is_v4)
{
    uint16_t seg_bytes = (uint16_t)train_seg_bytes;
    int level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6, tos = m->tos, ttl = m->ttl;
    m->control_bytes = 0;
    if (train_seg_bytes)
        put_control(m, IPPROTO_UDP, UDP_SEGMENT, &seg_bytes, sizeof seg_bytes);
    m->train_control_bytes = m->control_bytes;
    put_control(m, level, is_v4 ? IP_TOS : IPV6_TCLASS, &tos, sizeof tos);
    if (ttl)
        put_control(m, level, is_v4 ? IP_TTL : IPV6_HOPLIMIT, &ttl, sizeof ttl);
}

bool net_udp_message_of(struct net_udp_message *m, const struct net_frame *frame, unsigned ifindex)
{
    struct net_parsed at;
    struct net_udp udp;
    struct nornic_addr dst;
    if (net_parse(&at, frame->data, frame->len_bytes) != NET_PARSE_UDP)
        return false;
    net_udp_get(&udp, frame->data + at.l4_offset);
    if (udp.dst_port != NET_ROCE_UDP_PORT)
        return false;
    uint32_t head_bytes = at.l4_offset + NET_UDP_BYTES;
    if (at.ip_version == 4)
        put_ipv4(m, frame->data + at.l3_offset, &dst);
    else
        put_ipv6(m, frame->data + at.l3_offset, &dst);
    m->src_port = udp.src_port;
    m->is_to_group = nornic_addr_is_multicast(&dst);
    put_controls(m, frame->seg_bytes, at.ip_version == 4);
    m->payload = (struct iovec){.iov_base = frame->data + head_bytes,
                                .iov_len = frame->seg_bytes ? frame->len_bytes - head_bytes
                                                            : at.udp_bytes - NET_UDP_BYTES};
    m->to_bytes = net_sockaddr_set(&m->to, &dst, NET_ROCE_UDP_PORT, ifindex);
    return true;
}

/* A control message's number, which the kernel gives as an int or, the TOS of IPv4, as a byte. */
static int number_of(const struct cmsghdr *c)
{
    int value;
    if (c->cmsg_len < CMSG_LEN(sizeof value))
        return *CMSG_DATA(c);
    memcpy(&value, CMSG_DATA(c), sizeof value);
    return value;
}

void net_udp_arrival_read(struct net_udp_arrival *arrival, struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        bool is_v4 = c->cmsg_level == IPPROTO_IP, is_v6 = c->cmsg_level == IPPROTO_IPV6;
        if ((is_v4 && c->cmsg_type == IP_TOS) || (is_v6 && c->cmsg_type == IPV6_TCLASS))
            arrival->tos = (uint8_t)number_of(c);
        else if ((is_v4 && c->cmsg_type == IP_TTL) || (is_v6 && c->cmsg_type == IPV6_HOPLIMIT))
            arrival->ttl = (uint8_t)number_of(c);
        else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO)
            arrival->seg_bytes = (uint32_t)number_of(c);
    }
}

static uint8_t *put_ipv4_head(uint8_t *p, const struct net_udp_arrival *arrival, uint16_t udp_bytes)
{
    struct net_ipv4 ip = {.version = 4,
                          .ihl = NET_IPV4_BYTES / 4,
                          .dscp = arrival->tos >> 2,
                          .ecn = arrival->tos & 3,
                          .total_len = (uint16_t)(NET_IPV4_BYTES + udp_bytes),
                          .df = 1,
                          .ttl = arrival->ttl,
                          .protocol = NET_IP_PROTO_UDP};
    memcpy(ip.src, arrival->src.b + 12, sizeof ip.src);
    memcpy(ip.dst, arrival->dst.b + 12, sizeof ip.dst);
    uint8_t *end = net_ipv4_put(p, &ip);
    put_be16(p + NET_IPV4_CHECKSUM_AT, net_checksum_ipv4(p, NET_IPV4_BYTES));
    return end;
}

static uint8_t *put_ipv6_head(uint8_t *p, const struct net_udp_arrival *arrival, uint16_t udp_bytes)
{
    struct net_ipv6 ip = {.version = 6,
                          .dscp = arrival->tos >> 2,
                          .ecn = arrival->tos & 3,
                          .payload_len = udp_bytes,
                          .next_header = NET_IP_PROTO_UDP,
                          .hop_limit = arrival->ttl};
    memcpy(ip.src, arrival->src.b, sizeof ip.src);
    memcpy(ip.dst, arrival->dst.b, sizeof ip.dst);
    return net_ipv6_put(p, &ip);
}

struct net_frame net_udp_arrival_frame(const struct net_udp_arrival *arrival, uint8_t *payload)
{
    bool is_v4 = nornic_addr_is_v4(&arrival->dst);
    bool is_train = arrival->seg_bytes && arrival->seg_bytes < arrival->payload_bytes;
    uint32_t head_bytes = NET_UDP_HEAD_MAX_BYTES - (is_v4 ? NET_IPV6_BYTES - NET_IPV4_BYTES : 0);
    uint16_t udp_bytes = (uint16_t)(NET_UDP_BYTES + (is_train ? arrival->seg_bytes : arrival->payload_bytes));
    struct net_ether ether = {.ethertype = is_v4 ? NET_ETHERTYPE_IPV4 : NET_ETHERTYPE_IPV6};
    struct net_udp udp = {.src_port = arrival->src_port, .dst_port = NET_ROCE_UDP_PORT, .len = udp_bytes};
    uint8_t *begin = payload - head_bytes;
    uint8_t *p = net_ether_put(begin, &ether);
    p = is_v4 ? put_ipv4_head(p, arrival, udp_bytes) : put_ipv6_head(p, arrival, udp_bytes);
    net_udp_put(p, &udp);
    return (struct net_frame){.data = begin,
                              .len_bytes = head_bytes + arrival->payload_bytes,
                              .seg_bytes = is_train ? arrival->seg_bytes : 0};
}
