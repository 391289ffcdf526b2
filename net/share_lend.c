/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share_lend.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "net/udp_socket.h"

#define ANSWER_MS 300 /* of each of those who are asked: one that is busy, or has stopped, is left alone */

/* The next message, if it is a socket. What else comes meanwhile is lost, as on a wire. */
static int await_socket(const struct net_share *share)
{
    struct net_share_message message;
    struct pollfd ready = {.fd = share->hand_fd, .events = POLLIN};
    uint8_t none[1];
    while (poll(&ready, 1, ANSWER_MS) == 1)
        if (net_share_hand_receive(share->hand_fd, &message, none, sizeof none) && message.fd >= 0)
            return message.fd;
    return -EADDRINUSE;
}

int net_share_borrow(struct net_share *share, const struct nornic_addr *addr, uint32_t scope)
{
    struct net_share_message question = {
        .word = NET_SHARE_GIVE_SOCKET, .arrival = {.dst = *addr}, .slot = share->slot, .fd = -1};
    int fd = -EADDRINUSE;
    for (unsigned i = 0; i < share->view.count && fd < 0; i++) {
        unsigned slot = share->view.slots[i];
        if (slot != share->slot && net_share_place_of(&share->view.records[slot], addr, scope) &&
            net_share_hand_send(share->hand_fd, &share->table, slot, &question, NULL))
            fd = await_socket(share);
    }
    return fd;
}

void net_share_lend(const struct net_share *share, const struct net_share_message *question)
{
    struct net_share_message answer = {.word = NET_SHARE_SOCKET};
    int i = net_share_find(share, &question->arrival.dst);
    if (!share->dir.is_system || i < 0 || question->slot >= NET_SHARE_SLOTS)
        return;
    answer.fd =
        net_udp_socket_open(&question->arrival.dst, share->sites[i].ifindex, NET_UDP_BESIDE_OTHERS, NULL);
    if (answer.fd < 0)
        return;
    net_share_hand_send(share->hand_fd, &share->table, question->slot, &answer, NULL);
    close(answer.fd);
}
