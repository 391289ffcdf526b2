/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw blaster: equal-sized frames through a port as fast as they come through, with no protocol behind,
 * to know what a port can do at the most. The sender writes headers only; the receiver counts, and says after
 * each burst how far it is. The sender keeps at most a window of frames under way: frames that overrun the
 * receiver would cost both sides time and count for nothing.
 *
 *   blast receive xdp:IFACE SECONDS              prints READY, then JSON
 *   blast send xdp:IFACE SECONDS BYTES DST_MAC   BYTES of a frame, with its Ethernet header */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/packet.h"
#include "xdp/xdp.h"

#define HEADER_BYTES  42 /* Ethernet, IPv4, UDP */
#define ROCE_UDP_PORT 4791
#define REPORT_BYTES  60   /* a receiver's frame: its count is behind the headers */
#define WINDOW_FRAMES 1000 /* fewer than the port holds for a receiver that is not scheduled for a while */
#define STALLED_NS    50000000 /* no report for so long: what is under way is lost */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int open_port(const char *spec, struct net_port **port)
{
    struct nornic_error why = {"a port is xdp:IFACE or packet:IFACE"};
    int result = -EINVAL;
    if (strncmp(spec, "xdp:", 4) == 0) {
        struct xdp_config config = {.ifname = spec + 4};
        result = xdp_port_open(&config, port, &why);
    } else if (strncmp(spec, "packet:", 7) == 0) {
        struct net_packet_config config = {.ifname = spec + 7};
        result = net_packet_open(&config, port, &why);
    }
    if (result < 0)
        fprintf(stderr, "blast: %s\n", why.text);
    return result;
}

/* The headers of a flow: RoCE as far as a steering program looks. */
static void put_headers(uint8_t *p, const struct nornic_mac *src, const struct nornic_mac *dst,
                        uint32_t frame_bytes)
{
    p = put_bytes(p, dst->b, NORNIC_MAC_BYTES);
    p = put_bytes(p, src->b, NORNIC_MAC_BYTES);
    p = put_be16(p, 0x0800);
    p = put_be32(p, 0x45000000 | (frame_bytes - 14));
    p = put_be32(p, 0x00004000);
    p = put_be32(p, 64u << 24 | 17u << 16);
    p = put_be32(p, 0x0a4d0001);
    p = put_be32(p, 0x0a4d0002);
    p = put_be16(p, 49152);
    p = put_be16(p, ROCE_UDP_PORT);
    p = put_be16(p, (uint16_t)(frame_bytes - 34));
    put_be16(p, 0);
}

struct flow {
    uint8_t headers[HEADER_BYTES];
    uint32_t frame_bytes;
    uint64_t sent, confirmed; /* frames */
    uint64_t heard_ns;        /* of the last report */
};

/* Sends up to `n` frames; `count` goes behind the headers if the frame has room. Returns how many. */
static unsigned send_frames(struct net_port *port, struct flow *flow, unsigned n, uint64_t count,
                            uint64_t now)
{
    struct net_frame bufs[NET_BURST];
    n = net_port_tx_reserve(port, bufs, n < NET_BURST ? n : NET_BURST);
    for (unsigned i = 0; i < n; i++) {
        memcpy(bufs[i].data, flow->headers, HEADER_BYTES);
        if (flow->frame_bytes >= HEADER_BYTES + 8)
            put_be64(bufs[i].data + HEADER_BYTES, count);
        bufs[i].len_bytes = flow->frame_bytes;
    }
    if (n > 0)
        net_port_tx_flush(port, bufs, n, now);
    flow->sent += n;
    return n;
}

static unsigned read_reports(struct net_port *port, struct flow *flow, uint64_t now)
{
    struct net_frame frames[NET_BURST];
    unsigned n = net_port_rx_burst(port, frames, NET_BURST, now);
    for (unsigned i = 0; i < n; i++)
        if (frames[i].len_bytes >= HEADER_BYTES + 8)
            flow->confirmed = get_be64(frames[i].data + HEADER_BYTES);
    if (n > 0) {
        net_port_rx_release(port, frames, n);
        flow->heard_ns = now;
    }
    return n;
}

static void blast(struct net_port *port, uint64_t end_ns, struct flow *flow)
{
    struct pollfd wait = {.fd = net_port_fd(port), .events = POLLIN};
    for (uint64_t now = flow->heard_ns = now_ns(); now < end_ns; now = now_ns()) {
        unsigned heard = read_reports(port, flow, now), sent = 0;
        if (now - flow->heard_ns > STALLED_NS) {
            flow->sent = flow->confirmed;
            flow->heard_ns = now;
        }
        if (flow->sent - flow->confirmed < WINDOW_FRAMES)
            sent = send_frames(port, flow, NET_BURST, 0, now);
        if (heard == 0 && sent == 0)
            poll(&wait, 1, 1);
    }
}

/* Counts until `end_ns`; the rate is that between the first and the last burst. */
static void count(struct net_port *port, uint64_t end_ns)
{
    struct net_frame frames[NET_BURST];
    struct flow reports = {.frame_bytes = 0};
    struct pollfd wait = {.fd = net_port_fd(port), .events = POLLIN};
    uint64_t first_ns = 0, last_ns = 0, now, uncounted = 0;
    while ((now = now_ns()) < end_ns) {
        unsigned n = net_port_rx_burst(port, frames, NET_BURST, now);
        if (n == 0) {
            poll(&wait, 1, 10);
            continue;
        }
        if (!first_ns) {
            struct nornic_mac peer;
            memcpy(peer.b, frames[0].data + NORNIC_MAC_BYTES, NORNIC_MAC_BYTES);
            put_headers(reports.headers, &port->mac, &peer, REPORT_BYTES);
            reports.frame_bytes = REPORT_BYTES;
            first_ns = now;
            uncounted = n; /* they came before the clock ran */
        }
        net_port_rx_release(port, frames, n);
        last_ns = now;
        send_frames(port, &reports, 1, port->counters.rx_frames, now);
    }
    const struct net_port_counters *c = &port->counters;
    double seconds = last_ns > first_ns ? (double)(last_ns - first_ns) / 1e9 : 1;
    double per_s = (double)(c->rx_frames - uncounted) / seconds;
    double bytes = c->rx_frames ? (double)c->rx_bytes / (double)c->rx_frames : 0;
    printf("{\"port\":\"%s\",\"mode\":\"%s\",\"frames\":%llu,\"dropped\":%llu,\"seconds\":%.3f,"
           "\"frame_bytes\":%.0f,\"mframes_per_s\":%.4f,\"gbit_per_s\":%.3f}\n",
           port->name, port->mode, (unsigned long long)c->rx_frames, (unsigned long long)c->rx_dropped,
           seconds, bytes, per_s / 1e6, per_s * bytes * 8 / 1e9);
}

static int parse_mac(const char *text, struct nornic_mac *mac)
{
    unsigned b[NORNIC_MAC_BYTES];
    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", b, b + 1, b + 2, b + 3, b + 4, b + 5) != NORNIC_MAC_BYTES)
        return -EINVAL;
    for (int i = 0; i < NORNIC_MAC_BYTES; i++)
        mac->b[i] = (uint8_t)b[i];
    return 0;
}

int main(int argc, char **argv)
{
    struct net_port *port;
    struct nornic_mac dst;
    bool is_receiver = argc == 4 && strcmp(argv[1], "receive") == 0;
    bool is_sender = argc == 6 && strcmp(argv[1], "send") == 0 && parse_mac(argv[5], &dst) == 0;
    if (!is_receiver && !is_sender) {
        fprintf(stderr, "usage: blast receive PORT SECONDS | blast send PORT SECONDS FRAME_BYTES DST_MAC\n");
        return 2;
    }
    uint64_t length_ns = (uint64_t)(atof(argv[3]) * 1e9);
    long frame_bytes = is_sender ? atol(argv[4]) : 0;
    if (open_port(argv[2], &port) < 0)
        return 2;
    if (is_sender && (frame_bytes < HEADER_BYTES || frame_bytes > (long)port->limits.mtu_bytes + 14)) {
        fprintf(stderr, "blast: %ld bytes are no frame of %s\n", frame_bytes, port->name);
        net_port_close(port);
        return 2;
    }
    if (is_sender) {
        struct flow flow = {.frame_bytes = (uint32_t)frame_bytes};
        put_headers(flow.headers, &port->mac, &dst, flow.frame_bytes);
        blast(port, now_ns() + length_ns, &flow);
    } else {
        printf("READY\n");
        fflush(stdout);
        count(port, now_ns() + length_ns);
    }
    net_port_close(port);
    return 0;
}
