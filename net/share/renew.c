/* SPDX-License-Identifier: BSD-2-Clause */
/* A group belongs to the user that opened its sockets, and only processes of that user can lend one
 * (net/share/lend.h). When the last of them has gone, the borrowers are left with a group that nobody can
 * enter any more, not even another process of their own user. So they found it anew, as the user of the
 * oldest of them.
 *
 * The kernel lets sockets of two users have one address while all of them allow it (SO_REUSEADDR). So each
 * process that is left first allows it of the socket that it has. Processes of the oldest one's user open a
 * socket of their own beside it as soon as all have done so, which a bind() shows; nobody needs to tell
 * anybody. The new socket allows it no more once it is bound. The address is never without a socket: the
 * new group gets the packets from then on. Packets for a process that is not in it yet are handed over, as
 * always. A process of a third user stays in the old group, and lives by packets that are handed over. */
#include <sys/socket.h>

#include "base/base.h"
#include "net/share/inner.h"

#define AGAIN_NS (50 * NS_PER_MS) /* until others have allowed it, which may sleep */

/* No process is left at the address of a site that could open another socket of its group. `*founder`: the
 * user of the oldest that are there. */
static bool is_orphan(const struct net_share *share, unsigned site, uint32_t *founder)
{
    const struct net_share_place *place = &share->own.places[site];
    uint64_t oldest_ns = share->own.opened_ns;
    *founder = share->own.uid;
    for (unsigned i = 0; i < share->view.count; i++) {
        const struct net_share_record *record = &share->view.records[share->view.slots[i]];
        if (!net_share_place_at(&share->view, share->view.slots[i], &place->addr, place->scope))
            continue;
        if (record->uid == share->sites[site].uid)
            return false;
        if (record->opened_ns < oldest_ns) {
            oldest_ns = record->opened_ns;
            *founder = record->uid;
        }
    }
    return true;
}

void net_share_renew_sum(struct net_share *share)
{
    share->renew_at_ns = NET_TIME_NONE;
    for (unsigned i = 0; i < share->own.place_count; i++)
        share->renew_at_ns = min_u64(share->renew_at_ns, share->sites[i].renew_at_ns);
}

static int renew(struct net_share *share, unsigned site)
{
    struct net_share_site *at = &share->sites[site];
    int fd = net_udp_socket_open(&share->own.places[site].addr, at->ifindex, NET_UDP_BESIDE_OTHERS, NULL);
    if (fd < 0)
        return -1;
    net_share_table_keep(&share->table, fd);
    *at = (struct net_share_site){
        .fd = fd, .ifindex = at->ifindex, .uid = share->own.uid, .renew_at_ns = NET_TIME_NONE};
    share->is_filter_suspect = true;
    net_share_say_soon(share);
    net_share_trial_begin(share);
    return fd;
}

void net_share_renew_look(struct net_share *share)
{
    uint32_t founder;
    for (unsigned i = 0; i < share->own.place_count; i++) {
        int on = 1;
        share->sites[i].renew_at_ns = NET_TIME_NONE;
        if (share->sites[i].uid == share->own.uid || !is_orphan(share, i, &founder))
            continue;
        (void)setsockopt(share->sites[i].fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (founder == share->own.uid)
            share->sites[i].renew_at_ns = share->now_ns;
    }
    net_share_renew_sum(share);
}

int net_share_renew(struct net_share *share, int fd)
{
    uint32_t i = 0;
    if (share->now_ns < share->renew_at_ns) /* of none: a caller asks for each address in each round */
        return -1;
    while (i < share->own.place_count && share->sites[i].fd != fd)
        i++;
    if (i == share->own.place_count || share->now_ns < share->sites[i].renew_at_ns)
        return -1;
    int renewed = renew(share, i);
    if (renewed < 0)
        share->sites[i].renew_at_ns = share->now_ns + AGAIN_NS;
    net_share_renew_sum(share);
    return renewed;
}
