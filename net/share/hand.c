/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share/hand.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/ipv4.h"
#include "net/wire/train.h"

#define RINGS_MAX 64 /* at a time: who rings without end is not waited for */

/* The message as it passes between processes of one machine. */
struct head {
    uint32_t word, slot;
    struct nornic_addr src, dst;
    uint32_t src_port, tos, ttl, seg_bytes, is_astray;
    struct nornic_addr peer;
    uint32_t error, mtu_bytes;
};

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool name_socket(const struct net_share_table *table, unsigned slot, enum net_share_door door,
                        struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(out->sun_path, sizeof out->sun_path, "%s.%u%s", table->path, slot,
                       door == NET_SHARE_BELL ? "b" : "");
    return len > 0 && (size_t)len < sizeof out->sun_path;
}

int net_share_hand_open(const struct net_share_table *table, const struct net_share_dir *dir, unsigned slot,
                        enum net_share_door door)
{
    struct sockaddr_un name;
    if (!name_socket(table, slot, door, &name))
        return -ENAMETOOLONG;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    unlink(name.sun_path);
    /* The directory says who may come here; the name's own rights say no less, whatever the umask says. */
    if (bind(fd, (struct sockaddr *)&name, sizeof name) == 0 &&
        chmod(name.sun_path, dir->is_common ? 0666 : 0600) == 0)
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

void net_share_hand_remove(const struct net_share_table *table, unsigned slot)
{
    struct sockaddr_un name;
    if (name_socket(table, slot, NET_SHARE_DOOR, &name))
        unlink(name.sun_path);
    if (name_socket(table, slot, NET_SHARE_BELL, &name))
        unlink(name.sun_path);
}

void net_share_hand_ring(int fd, const struct net_share_table *table, unsigned slot)
{
    struct sockaddr_un name;
    if (name_socket(table, slot, NET_SHARE_BELL, &name))
        (void)!sendto(fd, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&name, sizeof name);
}

bool net_share_hand_rang(int fd)
{
    char word;
    bool has_rung = false;
    for (unsigned i = 0; i < RINGS_MAX && recv(fd, &word, sizeof word, MSG_DONTWAIT) >= 0; i++)
        has_rung = true;
    return has_rung;
}

bool net_share_hand_connect(int fd, const struct net_share_table *table, unsigned slot)
{
    struct sockaddr_un name;
    return name_socket(table, slot, NET_SHARE_DOOR, &name) &&
           connect(fd, (struct sockaddr *)&name, sizeof name) == 0;
}

bool net_share_hand_send(int fd, const struct net_share_table *table, unsigned slot,
                         const struct net_share_message *message, const uint8_t *payload)
{
    const struct net_udp_arrival *arrival = &message->arrival;
    struct head head = {.word = message->word,
                        .slot = message->slot,
                        .src = arrival->src,
                        .dst = arrival->dst,
                        .src_port = arrival->src_port,
                        .tos = arrival->tos,
                        .ttl = arrival->ttl,
                        .seg_bytes = arrival->seg_bytes,
                        .is_astray = message->is_astray,
                        .peer = message->refusal.peer,
                        .error = (uint32_t)message->refusal.error,
                        .mtu_bytes = message->refusal.mtu_bytes};
    struct iovec parts[] = {{.iov_base = &head, .iov_len = sizeof head},
                            {.iov_base = (uint8_t *)payload, .iov_len = arrival->payload_bytes}};
    struct sockaddr_un name;
    union control control = {.bytes = {0}};
    struct msghdr m = {
        .msg_name = &name, .msg_namelen = sizeof name, .msg_iov = parts, .msg_iovlen = payload ? 2 : 1};
    if (!name_socket(table, slot, NET_SHARE_DOOR, &name))
        return false;
    if (message->word == NET_SHARE_SOCKET) {
        m.msg_control = &control;
        m.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
        memcpy(CMSG_DATA(c), &message->fd, sizeof(int));
    }
    return sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* The descriptor that came with a message, or -1. Where there is room for one, alignment makes room for two;
 * all but the first are closed. */
static int take_fd(struct msghdr *m)
{
    int fd = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        bool has_fds = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS;
        for (size_t at = 0; has_fds && CMSG_LEN(at + sizeof fd) <= c->cmsg_len; at += sizeof fd) {
            int next;
            memcpy(&next, CMSG_DATA(c) + at, sizeof next);
            if (fd >= 0)
                close(next);
            else
                fd = next;
        }
    }
    return fd;
}

/* Of a UDP payload, which has come in one IP datagram, or as a train of no more packets than the kernel makes
 * one of. */
static bool is_length(const struct head *head, size_t bytes)
{
    bool is_short = head->seg_bytes == 0 || bytes <= (size_t)head->seg_bytes * NET_TRAIN_MAX_PKTS;
    return is_short &&
           bytes <= UINT16_MAX - NET_UDP_BYTES - (nornic_addr_is_v4(&head->dst) ? NET_IPV4_BYTES : 0);
}

static bool is_sound(const struct head *head, const struct msghdr *m, size_t payload_bytes, bool has_fd)
{
    return !(m->msg_flags & MSG_TRUNC) && head->word >= NET_SHARE_PACKETS &&
           head->word <= NET_SHARE_REFUSAL && has_fd == (head->word == NET_SHARE_SOCKET) &&
           is_length(head, payload_bytes) && (payload_bytes == 0 || head->word == NET_SHARE_PACKETS);
}

bool net_share_hand_receive(int fd, struct net_share_message *out, uint8_t *payload, uint32_t cap_bytes)
{
    struct head head = {0};
    struct iovec parts[] = {{.iov_base = &head, .iov_len = sizeof head},
                            {.iov_base = payload, .iov_len = cap_bytes}};
    union control control;
    struct sockaddr_un from = {.sun_family = AF_UNIX};
    struct msghdr m = {.msg_name = &from,
                       .msg_namelen = sizeof from,
                       .msg_iov = parts,
                       .msg_iovlen = 2,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return false;
    *out = (struct net_share_message){.from = from, .from_bytes = m.msg_namelen, .fd = take_fd(&m)};
    if ((size_t)got < sizeof head || !is_sound(&head, &m, (size_t)got - sizeof head, out->fd >= 0)) {
        if (out->fd >= 0)
            close(out->fd);
        *out = (struct net_share_message){.word = NET_SHARE_NONSENSE, .fd = -1};
        return true;
    }
    out->word = (enum net_share_word)head.word;
    out->slot = head.slot;
    out->is_astray = head.is_astray != 0;
    out->refusal = (struct net_udp_refusal){
        .peer = head.peer, .error = (int)(head.error & INT_MAX), .mtu_bytes = head.mtu_bytes};
    out->arrival = (struct net_udp_arrival){.src = head.src,
                                            .dst = head.dst,
                                            .src_port = (uint16_t)head.src_port,
                                            .tos = (uint8_t)head.tos,
                                            .ttl = (uint8_t)head.ttl,
                                            .payload_bytes = (uint32_t)((size_t)got - sizeof head)};
    if (head.seg_bytes < out->arrival.payload_bytes)
        out->arrival.seg_bytes = head.seg_bytes;
    return true;
}
