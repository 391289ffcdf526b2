/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/train.h"

#include <assert.h>
#include <string.h>

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/ipv4.h"
#include "net/wire/parse.h"
#include "net/wire/udp.h"

/* Where the fields are that a packet of a train has of its own. */
enum { IPV4_TOTAL_LEN_AT = 2, IPV6_PAYLOAD_LEN_AT = 4, UDP_LEN_AT = 4 };

void net_train_begin(struct net_train *train, const struct net_frame *frame)
{
    struct net_parsed at;
    train->count = 1;
    train->head_bytes = 0;
    train->at = 0;
    train->data = frame->data;
    train->len_bytes = frame->len_bytes;
    train->seg_bytes = frame->seg_bytes;
    if (!frame->seg_bytes || net_parse(&at, frame->data, frame->len_bytes) != NET_PARSE_UDP ||
        at.udp_bytes != NET_UDP_BYTES + frame->seg_bytes || at.l4_bytes != at.udp_bytes)
        return;
    uint32_t head_bytes = at.l4_offset + NET_UDP_BYTES;
    train->head_bytes = head_bytes;
    train->count = (frame->len_bytes - head_bytes - 1) / frame->seg_bytes + 1;
    train->l3_offset = at.l3_offset;
    train->is_v4 = at.ip_version == 4;
    memcpy(train->head, frame->data, head_bytes);
    if (train->is_v4) {
        const uint8_t *ip = train->head + at.l3_offset;
        train->l3_bytes = get_be16(ip + IPV4_TOTAL_LEN_AT);
        train->ip_id = get_be16(ip + NET_IPV4_ID_AT);
        train->checksum = get_be16(ip + NET_IPV4_CHECKSUM_AT);
    }
}

/* Corrects the headers at `head`, a copy of the first packet's, for packet `i` with `payload_bytes`. */
static void put_own_fields(const struct net_train *train, uint8_t *head, uint32_t i, uint32_t payload_bytes)
{
    uint8_t *l3 = head + train->l3_offset, *udp = head + train->head_bytes - NET_UDP_BYTES;
    uint16_t udp_bytes = (uint16_t)(NET_UDP_BYTES + payload_bytes);
    put_be16(udp + UDP_LEN_AT, udp_bytes);
    if (!train->is_v4) {
        put_be16(l3 + IPV6_PAYLOAD_LEN_AT, udp_bytes);
        return;
    }
    uint16_t l3_bytes = (uint16_t)(train->l3_bytes - train->seg_bytes + payload_bytes);
    uint16_t ip_id = (uint16_t)(train->ip_id + i);
    uint16_t checksum = net_checksum_replace(train->checksum, train->ip_id, ip_id);
    put_be16(l3 + IPV4_TOTAL_LEN_AT, l3_bytes);
    put_be16(l3 + NET_IPV4_ID_AT, ip_id);
    put_be16(l3 + NET_IPV4_CHECKSUM_AT, net_checksum_replace(checksum, train->l3_bytes, l3_bytes));
}

void net_train_renumber(struct net_train *train, uint16_t ip_id)
{
    if (train->count == 1 || !train->is_v4)
        return;
    train->checksum = net_checksum_replace(train->checksum, train->ip_id, ip_id);
    train->ip_id = ip_id;
}

void net_train_end(struct net_train *train)
{
    if (train->at)
        memcpy(train->data + (size_t)train->at * train->seg_bytes, train->under, train->head_bytes);
    train->at = 0;
}

struct net_frame net_train_packet(struct net_train *train, uint32_t i)
{
    assert(i < train->count);
    net_train_end(train);
    if (train->count == 1)
        return (struct net_frame){.data = train->data, .len_bytes = train->len_bytes};
    /* As many bytes as the headers have lie in front of its payload: so far from the beginning. */
    uint8_t *packet = train->data + (size_t)i * train->seg_bytes;
    uint32_t left_bytes = train->len_bytes - train->head_bytes - i * train->seg_bytes;
    uint32_t payload_bytes = left_bytes < train->seg_bytes ? left_bytes : train->seg_bytes;
    if (i) {
        memcpy(train->under, packet, train->head_bytes);
        memcpy(packet, train->head, train->head_bytes);
        put_own_fields(train, packet, i, payload_bytes);
        train->at = i;
    }
    return (struct net_frame){.data = packet, .len_bytes = train->head_bytes + payload_bytes};
}

struct net_train_size net_train_size(const struct net_frame *frame)
{
    struct net_train train = {.count = 1};
    if (frame->seg_bytes)
        net_train_begin(&train, frame);
    return (struct net_train_size){
        .pkts = train.count, .bytes = frame->len_bytes + (uint64_t)(train.count - 1) * train.head_bytes};
}
