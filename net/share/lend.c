/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share/lend.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "net/udp/open.h"

#define ANSWER_NS \
    (300 * NS_PER_MS) /* of each of those who are asked: one that is busy, or has stopped, is left alone */

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The next socket that comes and is one of `addr`: who was asked for another address may answer late. Who
 * asks for one meanwhile gets it, as he may be who is asked here. What else comes is lost, as on a wire. */
static int await_socket(const struct net_share *share, const struct nornic_addr *addr)
{
    const uint64_t end_ns = clock_ns() + ANSWER_NS;
    struct net_share_message message;
    uint8_t none[1];
    for (uint64_t now_ns = end_ns - ANSWER_NS; now_ns < end_ns; now_ns = clock_ns()) {
        struct pollfd ready = {.fd = share->hand_fd, .events = POLLIN};
        if (poll(&ready, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) != 1 ||
            !net_share_hand_receive(share->hand_fd, &message, none, sizeof none))
            continue;
        if (message.word == NET_SHARE_GIVE_SOCKET)
            net_share_lend(share, &message);
        if (message.fd >= 0 && net_udp_socket_adopt(message.fd, addr) == 0)
            return message.fd;
        if (message.fd >= 0)
            close(message.fd);
    }
    return -EADDRINUSE;
}

int net_share_borrow(struct net_share *share, const struct nornic_addr *addr, uint32_t scope)
{
    struct net_share_message question = {
        .word = NET_SHARE_GIVE_SOCKET, .arrival = {.dst = *addr}, .slot = share->slot, .fd = -1};
    int fd = -EADDRINUSE;
    for (unsigned i = 0; i < share->view.count && fd < 0; i++) {
        unsigned slot = share->view.slots[i];
        if (slot != share->slot && net_share_place_at(&share->view, slot, addr, scope) &&
            net_share_hand_send(share->hand_fd, &share->table, slot, &question, NULL))
            fd = await_socket(share, addr);
    }
    return fd;
}

void net_share_lend(const struct net_share *share, const struct net_share_message *question)
{
    struct net_share_message answer = {.word = NET_SHARE_SOCKET};
    int i = net_share_find(share, &question->arrival.dst);
    if (!share->dir.is_common || i < 0 || question->slot >= NET_SHARE_SLOTS)
        return;
    answer.fd =
        net_udp_socket_open(&question->arrival.dst, share->sites[i].ifindex, NET_UDP_BESIDE_OTHERS, NULL);
    if (answer.fd < 0)
        return;
    net_share_hand_send(share->hand_fd, &share->table, question->slot, &answer, NULL);
    close(answer.fd);
}
