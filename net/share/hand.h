/* SPDX-License-Identifier: BSD-2-Clause */
/* How processes that share an address hand each other what reached the wrong one: datagram sockets of each
 * slot beside the table, which those may write to who may be in its directory. A message is a packet or a
 * train with what came along with it, or a question. What finds no room is dropped, as a network drops.
 * Internal to net/. */
#ifndef NORNIC_NET_SHARE_HAND_H
#define NORNIC_NET_SHARE_HAND_H

#include <sys/un.h>

#include "net/share/table.h"
#include "net/udp/frame.h"
#include "net/udp/open.h"

enum net_share_word {
    NET_SHARE_NONSENSE,    /* none of those below, or not sound */
    NET_SHARE_PACKETS,     /* UDP payload that came for the receiver */
    NET_SHARE_GIVE_SOCKET, /* another user, who has `slot`, asks for a socket of the address `arrival.dst`, */
    NET_SHARE_SOCKET,      /* and gets it, with the message */
    NET_SHARE_TELL,        /* somebody asks for the port's counters, and gets them as they are in memory */
    NET_SHARE_REFUSAL,     /* what ICMP said against what was sent from `arrival.dst`, by whomever */
};

struct net_share_message {
    enum net_share_word word;
    struct net_udp_arrival arrival;
    uint32_t slot;
    bool is_astray; /* of PACKETS: they are not the rest of a train whose first packet was the sender's */
    struct net_udp_refusal refusal; /* of REFUSAL */
    struct sockaddr_un from;        /* of a message that was received: whom to answer, */
    socklen_t from_bytes;           /* if it says so */
    int fd;                         /* of SOCKET: the receiver's; else -1 */
};

/* The sockets of a slot: one for messages, and one by which it hears only that there is news, as messages
 * could fill the other. */
enum net_share_door { NET_SHARE_DOOR, NET_SHARE_BELL };

/* Opens one of the sockets of a slot that the caller has leased; what a former holder has left is removed. A
 * descriptor, or -errno. */
int net_share_hand_open(const struct net_share_table *table, const struct net_share_dir *dir, unsigned slot,
                        enum net_share_door door);

/* Removes the names of a slot's sockets. */
void net_share_hand_remove(const struct net_share_table *table, unsigned slot);

/* From then on `fd` receives from the holder of a slot only. False: nobody is there. */
bool net_share_hand_connect(int fd, const struct net_share_table *table, unsigned slot);

/* Rings at the holder of a slot. Where the bell rings already, that is as good. */
void net_share_hand_ring(int fd, const struct net_share_table *table, unsigned slot);
/* The bell rang. */
bool net_share_hand_rang(int fd);

/* Sends a message from `fd` to the holder of a slot, with the payload that its arrival speaks of. False:
 * there was no room, or nobody. */
bool net_share_hand_send(int fd, const struct net_share_table *table, unsigned slot,
                         const struct net_share_message *message, const uint8_t *payload);

/* Receives one, its payload into `payload` of `cap_bytes`. False: none is there. Whoever may write to the
 * socket may write anything: what is not sound is NONSENSE, so that it keeps nothing behind it waiting;
 * lengths are those of a datagram that could have come, a payload that finds no room is nonsense as well, and
 * of descriptors at most the one that belongs there stays open. */
bool net_share_hand_receive(int fd, struct net_share_message *out, uint8_t *payload, uint32_t cap_bytes);

#endif
