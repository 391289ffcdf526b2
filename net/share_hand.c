/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share_hand.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The message as it passes between processes of one machine. */
struct head {
    uint32_t word, slot;
    struct nornic_addr src, dst;
    uint32_t src_port, tos, ttl, seg_bytes, is_astray;
};

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool name_socket(const struct net_share_table *table, unsigned slot, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(out->sun_path, sizeof out->sun_path, "%s.%u", table->path, slot);
    return len > 0 && (size_t)len < sizeof out->sun_path;
}

int net_share_hand_open(const struct net_share_table *table, const struct net_share_dir *dir, unsigned slot)
{
    struct sockaddr_un name;
    if (!name_socket(table, slot, &name))
        return -ENAMETOOLONG;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    unlink(name.sun_path);
    /* The directory says who may come here; the name's own rights say no less, whatever the umask says. */
    if (bind(fd, (struct sockaddr *)&name, sizeof name) == 0 &&
        chmod(name.sun_path, dir->is_system ? 0666 : 0600) == 0)
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

void net_share_hand_remove(const struct net_share_table *table, unsigned slot)
{
    struct sockaddr_un name;
    if (name_socket(table, slot, &name))
        unlink(name.sun_path);
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
                        .is_astray = message->is_astray};
    struct iovec parts[] = {{.iov_base = &head, .iov_len = sizeof head},
                            {.iov_base = (uint8_t *)payload, .iov_len = arrival->payload_bytes}};
    struct sockaddr_un name;
    union control control = {.bytes = {0}};
    struct msghdr m = {
        .msg_name = &name, .msg_namelen = sizeof name, .msg_iov = parts, .msg_iovlen = payload ? 2 : 1};
    if (!name_socket(table, slot, &name))
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

/* The descriptor that came with a message, or -1. */
static int take_fd(struct msghdr *m)
{
    int fd = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
            memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
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
    if ((size_t)got < sizeof head || m.msg_flags & MSG_TRUNC || head.word < NET_SHARE_PACKETS ||
        head.word > NET_SHARE_TELL || (out->fd >= 0) != (head.word == NET_SHARE_SOCKET)) {
        if (out->fd >= 0)
            close(out->fd);
        return false;
    }
    out->word = (enum net_share_word)head.word;
    out->slot = head.slot;
    out->is_astray = head.is_astray != 0;
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
