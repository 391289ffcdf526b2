/* SPDX-License-Identifier: BSD-2-Clause */
/* The stranger of bench/flood: whole RoCEv2 packets from an address that nobody has a connection with, to
 * queue pairs that nobody has, at so many a second. What they carry is not looked at by who drops them in
 * time; who does not has an ICRC to compute.
 *
 *   flooder IFACE SECONDS PACKETS_PER_SECOND DST_MAC DST_IPV4 roce|other      prints how many left
 *
 * other: the same bytes under an EtherType that nobody has, which the kernel drops. */
#define _GNU_SOURCE /* sendmmsg */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/checksum.h"
#include "nornic/addr.h"

#define BATCH         32
#define FRAME_BYTES   130u /* 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 72 payload, 4 ICRC */
#define QPN_OFFSET    47u
#define ROCE_UDP_PORT 4791

struct flood {
    int fd;
    uint8_t frames[BATCH][FRAME_BYTES];
    struct iovec parts[BATCH];
    struct mmsghdr messages[BATCH];
    uint64_t sent;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* A SEND_ONLY of RC without AckReq; its ICRC is wrong. */
static void put_frame(uint8_t *p, const struct nornic_mac *dst, uint32_t dst_ipv4, bool is_roce)
{
    static const uint8_t src_mac[NORNIC_MAC_BYTES] = {2, 0, 0, 0, 0, 9};
    p = put_bytes(p, dst->b, NORNIC_MAC_BYTES);
    p = put_bytes(p, src_mac, NORNIC_MAC_BYTES);
    p = put_be16(p, is_roce ? 0x0800 : 0x88b5);
    uint8_t *ip = p;
    p = put_be32(p, 0x45000000 | (FRAME_BYTES - 14));
    p = put_be32(p, 0x00004000);
    p = put_be32(p, 64u << 24 | 17u << 16);
    p = put_be32(p, 0x0a4d0009);
    p = put_be32(p, dst_ipv4);
    put_be16(ip + 10, net_checksum_ipv4(ip, 20));
    p = put_be16(p, 50000);
    p = put_be16(p, ROCE_UDP_PORT);
    p = put_be16(p, (uint16_t)(FRAME_BYTES - 34));
    p = put_be16(p, 0);
    p = put_be32(p, 0x0400ffff);
    put_be32(p, 0);
}

static void send_batch(struct flood *flood)
{
    for (unsigned i = 0; i < BATCH; i++)
        put_be24(flood->frames[i] + QPN_OFFSET, (uint32_t)(flood->sent + i) * 2654435761u >> 8);
    int n = sendmmsg(flood->fd, flood->messages, BATCH, 0);
    flood->sent += n > 0 ? (unsigned)n : 0;
}

/* As many as are due, then sleeps a little. */
static void run(struct flood *flood, uint64_t length_ns, uint64_t per_s)
{
    uint64_t begin_ns = now_ns(), now;
    while ((now = now_ns()) - begin_ns < length_ns) {
        uint64_t due = (now - begin_ns) * per_s / NS_PER_S;
        if (flood->sent + BATCH <= due)
            send_batch(flood);
        else
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

static int open_socket(const char *ifname)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(ifname)};
    int on = 1, fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return -1;
    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
    return fd;
}

int main(int argc, char **argv)
{
    static struct flood flood;
    struct nornic_mac dst;
    struct ether_addr mac;
    struct in_addr dst_ipv4;
    if (argc != 7 || !ether_aton_r(argv[4], &mac) || inet_pton(AF_INET, argv[5], &dst_ipv4) != 1) {
        fprintf(stderr, "usage: flooder IFACE SECONDS PACKETS_PER_SECOND DST_MAC DST_IPV4 roce|other\n");
        return 2;
    }
    memcpy(dst.b, &mac, sizeof dst.b);
    flood.fd = open_socket(argv[1]);
    if (flood.fd < 0) {
        fprintf(stderr, "flooder: %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    for (unsigned i = 0; i < BATCH; i++) {
        put_frame(flood.frames[i], &dst, ntohl(dst_ipv4.s_addr), strcmp(argv[6], "roce") == 0);
        flood.parts[i] = (struct iovec){flood.frames[i], FRAME_BYTES};
        flood.messages[i].msg_hdr = (struct msghdr){.msg_iov = &flood.parts[i], .msg_iovlen = 1};
    }
    run(&flood, (uint64_t)(atof(argv[2]) * 1e9), strtoull(argv[3], NULL, 10));
    printf("%llu\n", (unsigned long long)flood.sent);
    return 0;
}
