/* SPDX-License-Identifier: BSD-2-Clause */
/* Which index of its group a socket has: a packet from it to itself, by the filter. What a process has
 * thought so far is tried first, for that is one packet; where it does not come back, all are. A process
 * that ends gives its locks back at about the time at which its sockets are closed, so the trial is repeated
 * for a while. */
#include "base/base.h"
#include "net/bytes.h"
#include "net/share/inner.h"

#define TRIAL_BYTES 20
#define NONCE_AT    12
#define OPCODE      0xff /* manufacturer's: no peer has it */
#define SUSPECT_NS  (20 * NS_PER_MS)

static const uint32_t steps_ms[] = {0, 3, 10, 30, 100, 300}; /* each behind the one before */

void net_share_trial_suspect(struct net_share *share)
{
    if (share->now_ns - share->trial_began_ns < SUSPECT_NS)
        return;
    net_share_trial_begin(share);
    share->is_filter_suspect = true;
    net_share_say_soon(share);
}

static void try_index(const struct net_share *share, unsigned i, uint32_t index)
{
    const struct net_share_site *site = &share->sites[i];
    uint8_t packet[TRIAL_BYTES] = {OPCODE};
    union net_sockaddr to;
    socklen_t to_bytes = net_sockaddr_set(&to, &share->own.places[i].addr, NET_ROCE_UDP_PORT, site->ifindex);
    put_be24(packet + NET_SHARE_PSN_AT, index);
    put_be64(packet + NONCE_AT, share->nonce);
    /* Lost is lost: the next step tries it again. */
    (void)!sendto(site->fd, packet, sizeof packet, MSG_DONTWAIT, &to.any, to_bytes);
}

static void try_site(struct net_share *share, unsigned i)
{
    const struct net_share_place *place = &share->own.places[i];
    unsigned count = net_share_count_at(&share->view, &place->addr, place->scope);
    bool was_sure = share->sites[i].is_sure;
    if (count < 2)
        return;
    share->sites[i].is_sure = false;
    /* One that is beyond the group would come to anybody in it. */
    bool is_likely = was_sure && place->index < count;
    if (is_likely)
        try_index(share, i, place->index);
    for (uint32_t index = 0; !is_likely && index < count; index++)
        try_index(share, i, index);
}

bool net_share_trial_ends(const struct net_share *share)
{
    return share->now_ns >= share->trial_at_ns && share->trial_step + 1 == array_len(steps_ms);
}

void net_share_trial_step(struct net_share *share)
{
    if (share->now_ns < share->trial_at_ns)
        return;
    unsigned next = share->trial_step + 1;
    share->trial_step = next;
    share->trial_at_ns =
        next < array_len(steps_ms) ? share->now_ns + steps_ms[next] * NS_PER_MS : NET_TIME_NONE;
    for (uint32_t i = 0; i < share->own.place_count; i++)
        try_site(share, i);
}

void net_share_trial_note(struct net_share *share, const struct nornic_addr *addr, const uint8_t *payload,
                          uint32_t bytes)
{
    int i = net_share_find(share, addr);
    if (i < 0 || bytes != TRIAL_BYTES || get_be64(payload + NONCE_AT) != share->nonce)
        return;
    uint32_t index = get_be24(payload + NET_SHARE_PSN_AT);
    share->sites[i].is_sure = true;
    if (index == share->own.places[i].index)
        return;
    share->own.places[i].index = min_u32(index, NET_SHARE_INDEX_MAX);
    net_share_say_soon(share);
}
