/* SPDX-License-Identifier: BSD-2-Clause */
/* The stranger of bench/flood: whole RoCEv2 packets at so many a second, with an ICRC that is wrong. What
 * they carry is not looked at by who drops them in time; who does not has an ICRC to compute.
 *
 *   flooder IFACE SECONDS PACKETS_PER_SECOND DST_MAC DST_IPV4 KIND PEER_IPV4
 *
 * Prints READY, and in the end how many left. 0 packets a second: as many as go. Kinds, from the farthest
 * stranger on:
 *
 *   other     the same bytes under an EtherType that nobody has, which the kernel drops
 *   no-qp     to queue pairs that nobody has
 *   qp1       to queue pair 1, which takes packets of everybody, from ever another address
 *   stranger  to a queue pair that there is, from an address that it has no connection with
 *   forged    the same under the address of its peer
 *
 * The last two wait for a server of `nornic perf` to say over TCP, in the clear, which number it has. */
#define _GNU_SOURCE /* sendmmsg */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "nornic/addr.h"

#define BATCH           32
#define FRAME_BYTES     130u /* 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 72 payload, 4 ICRC */
#define SOURCE_OFFSET   26u
#define QPN_OFFSET      47u
#define ROCE_UDP_PORT   4791
#define PERF_TCP_PORT   18515
#define NOBODYS_IPV4    0x0a4d0009u /* 10.77.0.9 */
#define ANYBODYS_IPV4   0x0a4d0100u /* and on */
#define FRAME_MAX_BYTES 2048
#define WAIT_FOR_QPN_S  10

enum kind { OTHER, NO_QP, QP1, STRANGER, FORGED, KINDS };

static const char *const kind_names[KINDS] = {"other", "no-qp", "qp1", "stranger", "forged"};

struct flood {
    int fd;
    enum kind kind;
    uint32_t qpn; /* of STRANGER and FORGED */
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
static void put_frame(uint8_t *p, const struct nornic_mac *dst, uint32_t dst_ipv4, uint32_t src_ipv4,
                      enum kind kind)
{
    static const uint8_t src_mac[NORNIC_MAC_BYTES] = {2, 0, 0, 0, 0, 9};
    p = put_bytes(p, dst->b, NORNIC_MAC_BYTES);
    p = put_bytes(p, src_mac, NORNIC_MAC_BYTES);
    p = put_be16(p, kind == OTHER ? 0x88b5 : 0x0800);
    uint8_t *ip = p;
    p = put_be32(p, 0x45000000 | (FRAME_BYTES - 14));
    p = put_be32(p, 0x00004000);
    p = put_be32(p, 64u << 24 | 17u << 16);
    p = put_be32(p, src_ipv4);
    p = put_be32(p, dst_ipv4);
    put_be16(ip + 10, net_checksum_ipv4(ip, 20));
    p = put_be16(p, 50000);
    p = put_be16(p, ROCE_UDP_PORT);
    p = put_be16(p, (uint16_t)(FRAME_BYTES - 34));
    p = put_be16(p, 0);
    p = put_be32(p, 0x0400ffff);
    put_be32(p, 0);
}

/* What differs from packet to packet. */
static void turn_frame(const struct flood *flood, uint8_t *frame, uint64_t number)
{
    uint8_t *ip = frame + 14;
    uint32_t qpn = (uint32_t)number * 2654435761u >> 8;
    if (flood->kind == QP1) {
        put_be32(frame + SOURCE_OFFSET, ANYBODYS_IPV4 + (number & 0xff));
        put_be16(ip + 10, 0);
        put_be16(ip + 10, net_checksum_ipv4(ip, 20));
        qpn = 1;
    }
    put_be24(frame + QPN_OFFSET, flood->kind >= STRANGER ? flood->qpn : qpn);
}

static void send_batch(struct flood *flood)
{
    for (unsigned i = 0; i < BATCH; i++)
        turn_frame(flood, flood->frames[i], flood->sent + i);
    int n = sendmmsg(flood->fd, flood->messages, BATCH, 0);
    flood->sent += n > 0 ? (unsigned)n : 0;
}

/* As many as are due, then sleeps a little. */
static void run(struct flood *flood, uint64_t length_ns, uint64_t per_s)
{
    uint64_t begin_ns = now_ns(), now;
    while ((now = now_ns()) - begin_ns < length_ns) {
        uint64_t due = (now - begin_ns) * per_s / NS_PER_S;
        if (per_s == 0 || flood->sent + BATCH <= due)
            send_batch(flood);
        else
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

/* `protocol`: what comes by it; 0: nothing. */
static int open_socket(const char *ifname, uint16_t protocol)
{
    struct sockaddr_ll to = {
        .sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = (int)if_nametoindex(ifname)};
    int on = 1, fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return -1;
    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
    return fd;
}

/* The number in a line of JSON that a server of perf sends, 0: it is none. */
static uint32_t find_qpn(const uint8_t *frame, size_t bytes)
{
    bool is_servers = bytes > 54 && bytes <= FRAME_MAX_BYTES && get_be16(frame + 12) == 0x0800 &&
                      frame[23] == IPPROTO_TCP && get_be16(frame + 34) == PERF_TCP_PORT;
    if (!is_servers)
        return 0;
    char text[FRAME_MAX_BYTES + 1];
    for (size_t i = 54; i < bytes; i++) /* TCP options, which may have zeros, stand in front */
        text[i - 54] = frame[i] ? (char)frame[i] : ' ';
    text[bytes - 54] = '\0';
    const char *found = strstr(text, "\"qpn\":");
    return found ? (uint32_t)strtoul(found + 6, NULL, 10) : 0;
}

/* Listens on `fd` until a server has said it. False: none did. */
static bool learn_qpn(struct flood *flood, int fd)
{
    uint8_t frame[FRAME_MAX_BYTES];
    const uint64_t end_ns = now_ns() + WAIT_FOR_QPN_S * NS_PER_S;
    const struct timeval patience = {.tv_usec = 100000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (flood->qpn == 0 && now_ns() < end_ns) {
        ssize_t n = recv(fd, frame, sizeof frame, 0);
        flood->qpn = n > 0 ? find_qpn(frame, (size_t)n) : 0;
    }
    return flood->qpn != 0;
}

static enum kind kind_of(const char *name)
{
    enum kind kind = OTHER;
    while (kind < KINDS && strcmp(name, kind_names[kind]) != 0)
        kind++;
    return kind;
}

int main(int argc, char **argv)
{
    static struct flood flood;
    struct nornic_mac dst;
    struct ether_addr mac;
    struct in_addr dst_ipv4, peer_ipv4;
    flood.kind = argc == 8 ? kind_of(argv[6]) : KINDS;
    if (flood.kind == KINDS || !ether_aton_r(argv[4], &mac) || inet_pton(AF_INET, argv[5], &dst_ipv4) != 1 ||
        inet_pton(AF_INET, argv[7], &peer_ipv4) != 1) {
        fprintf(stderr, "usage: flooder IFACE SECONDS PACKETS_PER_SECOND DST_MAC DST_IPV4 "
                        "other|no-qp|qp1|stranger|forged PEER_IPV4\n");
        return 2;
    }
    memcpy(dst.b, &mac, sizeof dst.b);
    flood.fd = open_socket(argv[1], 0);
    int listener = open_socket(argv[1], flood.kind >= STRANGER ? 0x0800 : 0);
    if (flood.fd < 0 || listener < 0) {
        fprintf(stderr, "flooder: %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    for (unsigned i = 0; i < BATCH; i++) {
        put_frame(flood.frames[i], &dst, ntohl(dst_ipv4.s_addr),
                  flood.kind == FORGED ? ntohl(peer_ipv4.s_addr) : NOBODYS_IPV4, flood.kind);
        flood.parts[i] = (struct iovec){flood.frames[i], FRAME_BYTES};
        flood.messages[i].msg_hdr = (struct msghdr){.msg_iov = &flood.parts[i], .msg_iovlen = 1};
    }
    printf("READY\n");
    fflush(stdout);
    if (flood.kind >= STRANGER && !learn_qpn(&flood, listener)) {
        fprintf(stderr, "flooder: no server of perf said over TCP which queue pair it has\n");
        return 1;
    }
    close(listener);
    run(&flood, (uint64_t)(atof(argv[2]) * 1e9), strtoull(argv[3], NULL, 10));
    printf("%llu\n", (unsigned long long)flood.sent);
    return 0;
}
