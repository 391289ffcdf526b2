/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/frames.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#include "net/bytes.h"

static uint8_t source_of(const struct frame_spec *spec)
{
    return spec->source ? spec->source : 1;
}

static uint8_t *put_ipv4(uint8_t *p, const struct frame_spec *spec, uint32_t n)
{
    uint8_t *head = p;
    unsigned words = spec->has_ip_options ? 6 : 5;
    p = put_be16(p, (uint16_t)((0x40 | words) << 8));
    p = put_be16(p, spec->ip_bytes);
    p = put_be16(p, (uint16_t)n);
    p = put_be16(p, spec->is_fragment ? 0x2000 : 0x4000);
    p = put_be16(p, 64 << 8 | 17);
    p = put_be16(p, 0);
    p = put_bytes(p, "\x0a\x4d\x00", 3);
    p = put_u8(p, source_of(spec));
    p = put_bytes(p, "\x0a\x4d\x00\x02", 4);
    if (spec->has_ip_options)
        p = put_be32(p, 0x01010100);
    uint32_t sum = 0;
    for (unsigned i = 0; i < words * 2; i++)
        sum += get_be16(head + 2 * i);
    sum = (sum & 0xffff) + (sum >> 16);
    put_be16(head + 10, (uint16_t) ~(sum + (sum >> 16)));
    return p;
}

static uint8_t *put_ipv6(uint8_t *p, const struct frame_spec *spec)
{
    p = put_be32(p, 0x60000000);
    p = put_be16(p, (uint16_t)(spec->ip_bytes - 40));
    p = put_be16(p, 17 << 8 | 64);
    p = put_bytes(p, "\xfd\x77\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
    p = put_u8(p, source_of(spec));
    return put_bytes(p, "\xfd\x77\0\0\0\0\0\0\0\0\0\0\0\0\0\x02", 16);
}

uint32_t frame_build(const struct frame_spec *spec, uint32_t n, uint8_t *frame)
{
    uint8_t *p = put_bytes(frame, spec->dst.b, 6);
    p = put_bytes(p, spec->src.b, 6);
    if (spec->vlan_tci >= 0) {
        p = put_be16(p, 0x8100);
        p = put_be16(p, (uint16_t)spec->vlan_tci);
    }
    p = put_be16(p, spec->is_v1 ? 0x8915 : spec->is_v6 ? 0x86dd : 0x0800);
    uint8_t *end = p + spec->ip_bytes;
    p = spec->is_v6 || spec->is_v1 ? put_ipv6(p, spec) : put_ipv4(p, spec, n);
    if (!spec->is_v1) { /* there the BTH is right behind the GRH */
        p = put_be16(p, 49152);
        p = put_be16(p, spec->dport);
        p = put_be16(p, (uint16_t)(end - p + 4));
        p = put_be16(p, 0);
    }
    uint8_t *bth = p;
    for (uint32_t i = 0; p < end; i++)
        p = put_u8(p, (uint8_t)(n * 31 + i * 7 + (i >> 8)));
    if (spec->dest_qpn)
        put_be32(bth + 4, spec->dest_qpn);
    return (uint32_t)(end - frame);
}

uint64_t frames_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t send_some(struct net_port *from, const struct frame_spec *spec, uint32_t first,
                          uint32_t count)
{
    struct net_frame bufs[NET_BURST];
    unsigned n = net_port_tx_reserve(from, bufs, count < NET_BURST ? count : NET_BURST);
    for (unsigned i = 0; i < n; i++)
        bufs[i].len_bytes = frame_build(spec, first + i, bufs[i].data);
    if (n > 0)
        net_port_tx_flush(from, bufs, n, frames_now_ns());
    return n;
}

static uint32_t receive_some(struct net_port *to, const struct frame_spec *spec, uint32_t next,
                             uint32_t *strange)
{
    static uint8_t expected[FRAMES_MAX_BYTES];
    struct net_frame frames[NET_BURST];
    uint32_t good = 0;
    unsigned n = net_port_rx_burst(to, frames, NET_BURST, frames_now_ns());
    for (unsigned i = 0; i < n; i++) {
        uint32_t len = frame_build(spec, next + good, expected);
        if (frames[i].len_bytes == len && memcmp(frames[i].data, expected, len) == 0)
            good++;
        else if (strange)
            ++*strange;
    }
    if (n > 0)
        net_port_rx_release(to, frames, n);
    return good;
}

uint32_t frames_exchange(struct net_port *from, struct net_port *to, const struct frame_spec *spec,
                         uint32_t first, uint32_t count, uint64_t timeout_ns, uint32_t *strange)
{
    uint64_t deadline_ns = frames_now_ns() + timeout_ns;
    uint32_t sent = 0, received = 0;
    while (received < count && frames_now_ns() < deadline_ns) {
        uint32_t s = sent < count ? send_some(from, spec, first + sent, count - sent) : 0;
        uint32_t r = receive_some(to, spec, first + received, strange);
        sent += s;
        received += r;
        struct pollfd wait = {.fd = net_port_fd(to), .events = POLLIN};
        if (s == 0 && r == 0)
            poll(&wait, 1, 10);
    }
    return received;
}
