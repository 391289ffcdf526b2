/* SPDX-License-Identifier: BSD-2-Clause */
/* What came to a socket, packet by packet: ours, or another's. Where the kernel or a NIC has put packets of
 * one flow together, those of several processes are in one train, and the filter has seen the first only. */
#include <unistd.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/share/hand.h"
#include "net/share/inner.h"
#include "net/share/lend.h"

#define VIEW_NS     NS_PER_MS /* how old what is known may be */
#define REFUSALS    8         /* that are handed over in this time: */
#define REFUSALS_NS NS_PER_MS

struct sifting {
    struct net_share *share;
    const struct net_udp_arrival *arrival;
    uint8_t *payload;
    uint32_t seg_bytes, kept_bytes;
    uint32_t scope;
    bool is_handed;     /* by another process: it goes no further */
    unsigned to;        /* whose the packets are that wait to be handed over, from `from` to `end`; */
    uint32_t from, end; /* from == end: none */
    uint64_t passed;
    bool is_for_all; /* what waits is kept here as well: the filter was not wrong */
    bool is_astray;  /* the first packet, by which the kernel has chosen, was another's */
};

static uint32_t scope_of(const struct net_share *share, const struct nornic_addr *addr)
{
    int i = net_share_find(share, addr);
    return i < 0 ? 0 : share->own.places[i].scope;
}

/* Hands over what waits. The filter was wrong, or a train was mixed; it is looked at. */
static void flush(struct sifting *s)
{
    if (s->from == s->end)
        return;
    struct net_share_message message = {.word = NET_SHARE_PACKETS, .arrival = *s->arrival, .fd = -1};
    message.is_astray = s->from == 0 && !s->is_for_all;
    message.arrival.payload_bytes = s->end - s->from;
    net_share_hand_send(s->share->hand_fd, &s->share->table, s->to, &message, s->payload + s->from);
    s->from = s->end;
}

static void pass(struct sifting *s, unsigned to, uint32_t at, uint32_t bytes)
{
    if (s->is_handed)
        return;
    if (s->to != to || s->end != at) {
        flush(s);
        s->to = to;
        s->from = at;
    }
    s->end = at + bytes;
    s->passed++;
}

static void pass_to_all(struct sifting *s, uint32_t at, uint32_t bytes)
{
    const struct net_share_view *view = &s->share->view;
    flush(s);
    s->is_for_all = true;
    for (unsigned i = 0; i < view->count; i++)
        if (view->slots[i] != s->share->slot && view->records[view->slots[i]].has_qp1)
            pass(s, view->slots[i], at, bytes);
    flush(s);
    s->is_for_all = false;
}

static void keep(struct sifting *s, uint32_t at, uint32_t bytes)
{
    flush(s); /* before its bytes move */
    if (s->kept_bytes != at)
        memmove(s->payload + s->kept_bytes, s->payload + at, bytes);
    s->kept_bytes += bytes;
}

/* What is known of the others may be too old to send a packet after. Nobody sends to a process before it is
 * in the table; so whose nobody's packet is, the news may say that have come with it. */
static bool is_view_old(struct net_share *share, unsigned whose)
{
    if (share->now_ns - share->seen_ns >= VIEW_NS)
        return true;
    return whose == NET_SHARE_NOBODY && net_share_has_news(share);
}

static unsigned look_whose(struct sifting *s, const uint8_t *packet, uint32_t bytes)
{
    struct net_share *share = s->share;
    unsigned whose = net_share_whose(&share->view, &s->arrival->dst, s->scope, packet, bytes);
    if (whose == share->slot || whose == NET_SHARE_TRIAL || !is_view_old(share, whose))
        return whose;
    if (net_share_refresh(share))
        net_share_say_soon(share);
    return net_share_whose(&share->view, &s->arrival->dst, s->scope, packet, bytes);
}

/* What nobody has is ours as much as anybody's; there is one copy of it, and the engine knows what to do. */
static void sort(struct sifting *s, uint32_t at, uint32_t bytes)
{
    const uint8_t *packet = s->payload + at;
    unsigned whose = look_whose(s, packet, bytes);
    if (whose == NET_SHARE_TRIAL) {
        if (!s->is_handed)
            net_share_trial_note(s->share, &s->arrival->dst, packet, bytes);
    } else if (whose == NET_SHARE_ALL) {
        pass_to_all(s, at, bytes);
        keep(s, at, bytes);
    } else if (whose == s->share->slot || whose == NET_SHARE_NOBODY) {
        keep(s, at, bytes);
    } else {
        s->is_astray |= at == 0;
        pass(s, whose, at, bytes);
    }
}

/* All packets are for queue pairs of the own range. Who is alone looks at the first: there is nobody who
 * could have come between the others. */
static bool is_all_own(const struct net_share *share, const uint8_t *payload, uint32_t bytes,
                       uint32_t seg_bytes)
{
    uint32_t end = share->view.count == 1 ? min_u32(bytes, seg_bytes) : bytes;
    bool is_own = share->slot != 0; /* which has the numbers 0 and 1, too */
    for (uint32_t at = 0; is_own && at < end; at += seg_bytes)
        is_own = bytes - at > NET_SHARE_QPN_AT && payload[at + NET_SHARE_QPN_AT] == share->slot;
    return is_own;
}

static uint32_t sift(struct net_share *share, const struct net_udp_arrival *arrival, uint8_t *payload,
                     bool is_handed, uint64_t *passed)
{
    uint32_t bytes = arrival->payload_bytes, seg_bytes = arrival->seg_bytes ? arrival->seg_bytes : bytes;
    if (is_all_own(share, payload, bytes, seg_bytes))
        return bytes;
    struct sifting s = {.share = share,
                        .arrival = arrival,
                        .payload = payload,
                        .seg_bytes = seg_bytes,
                        .scope = scope_of(share, &arrival->dst),
                        .is_handed = is_handed};
    for (uint32_t at = 0; at < bytes; at += seg_bytes)
        sort(&s, at, min_u32(seg_bytes, bytes - at));
    flush(&s);
    *passed += s.passed;
    if (s.is_astray)
        net_share_trial_suspect(share);
    return s.kept_bytes;
}

uint32_t net_share_sift(struct net_share *share, const struct net_udp_arrival *arrival, uint8_t *payload,
                        uint64_t *passed)
{
    return sift(share, arrival, payload, false, passed);
}

bool net_share_take(struct net_share *share, const struct net_port_counters *counters,
                    struct net_share_taken *out, uint8_t *payload, uint32_t cap_bytes)
{
    struct net_share_message message;
    uint64_t passed = 0;
    if (!net_share_hand_receive(share->hand_fd, &message, payload, cap_bytes))
        return false;
    *out = (struct net_share_taken){.arrival = message.arrival};
    if (message.fd >= 0)
        close(message.fd);
    if (message.word == NET_SHARE_GIVE_SOCKET)
        net_share_lend(share, &message);
    if (message.word == NET_SHARE_TELL && message.from_bytes > sizeof message.from.sun_family)
        (void)!sendto(share->hand_fd, counters, sizeof *counters, MSG_DONTWAIT | MSG_NOSIGNAL,
                      (const struct sockaddr *)&message.from, message.from_bytes);
    bool is_here = net_share_find(share, &message.arrival.dst) >= 0;
    if (is_here && message.word == NET_SHARE_REFUSAL)
        out->refusal = message.refusal;
    bool is_for_us = is_here && message.word == NET_SHARE_PACKETS;
    out->arrival.payload_bytes = is_for_us ? sift(share, &message.arrival, payload, true, &passed) : 0;
    if (is_for_us && message.is_astray)
        net_share_trial_suspect(share);
    return true;
}

void net_share_refused(struct net_share *share, int fd, const struct net_udp_refusal *refusal)
{
    struct net_share_message message = {.word = NET_SHARE_REFUSAL, .refusal = *refusal, .fd = -1};
    const struct net_share_view *view = &share->view;
    uint32_t at = 0;
    while (at < share->own.place_count && share->sites[at].fd != fd)
        at++;
    if (share->now_ns >= share->refusals_at_ns) {
        share->refusals_at_ns = share->now_ns + REFUSALS_NS;
        share->refusals_left = REFUSALS;
    }
    if (at == share->own.place_count || share->refusals_left == 0)
        return;
    share->refusals_left--;
    const struct net_share_place *place = &share->own.places[at];
    message.arrival.dst = place->addr;
    for (unsigned i = 0; i < view->count; i++)
        if (view->slots[i] != share->slot &&
            net_share_place_at(view, view->slots[i], &place->addr, place->scope))
            net_share_hand_send(share->hand_fd, &share->table, view->slots[i], &message, NULL);
}

bool net_share_is_own(const struct net_share *share, const uint8_t *payload, uint32_t bytes)
{
    return bytes >= NET_SHARE_SRC_QPN_AT + 3 && payload[NET_SHARE_SRC_QPN_AT] == share->slot;
}
