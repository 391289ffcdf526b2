/* SPDX-License-Identifier: BSD-2-Clause */
/* Which QP pair a packet belongs to. A packet names only its destination QP, so that the two directions of a
 * pair are put together by what answers what, and by the UDP source port, which many senders choose alike at
 * both ends (ROCE-FRM-45). */
#include "explain/flow/flow.h"

#include <stdlib.h>
#include <string.h>

#include "roce/psn.h"

#define PSNS_BEHIND    65536 /* a packet of a pair lies at most so far from its newest */
#define PSNS_AHEAD     65536
#define PSNS_DONE      4  /* so far behind what is acknowledged */
#define EPOCHS_MAX     8  /* pairs with one key that are told apart */
#define PAIR_TRIES     64 /* answers by which it is tried to find out whom they are for */
#define POINTS_PSN     4
#define POINTS_PORT    2
#define CANDIDATES_MAX 256 /* pairs without a known second end that are looked at */
#define DEFAULT_BYTES  (UINT64_C(48) << 20)
#define BUCKETS_LEAST  64
#define BUCKETS_MOST   65536

#define SWAP(a, b)                  \
    do {                            \
        __typeof__(a) swapped_ = a; \
        a = b;                      \
        b = swapped_;               \
    } while (0)

struct key {
    struct explain_network network;
    struct nornic_addr src, dst;
    uint32_t qpn;
    uint8_t service;
    uint32_t src_qpn; /* of a datagram, which names it; 0: any */
};

static uint32_t hash(const struct key *k)
{
    uint64_t h = k->qpn ^ (uint64_t)k->network.id << 32 ^ (uint64_t)k->network.tunnel << 24;
    for (unsigned i = 0; i < 16; i++)
        h = (h ^ k->src.b[i] ^ (uint64_t)k->dst.b[i] << 8) * UINT64_C(0x9e3779b97f4a7c15) >> 3;
    return (uint32_t)(h >> 16);
}

static struct key key_of(const struct explain_pair *p, unsigned direction)
{
    return (struct key){.network = p->shown.network,
                        .src = p->shown.addr[direction],
                        .dst = p->shown.addr[!direction],
                        .qpn = p->shown.qpn[!direction],
                        .service = p->shown.service};
}

static bool is_key(const struct explain_pair *p, unsigned direction, const struct key *k)
{
    return p->shown.qpn[!direction] == k->qpn && p->shown.service == k->service &&
           (!k->src_qpn || p->shown.qpn[direction] == k->src_qpn) &&
           explain_network_equal(&p->shown.network, &k->network) &&
           nornic_addr_equal(&p->shown.addr[direction], &k->src) &&
           nornic_addr_equal(&p->shown.addr[!direction], &k->dst);
}

/* --- the table: a pair stands in it once a known direction --- */

static void insert(struct explain_flows *f, struct explain_pair *p, unsigned direction)
{
    struct key k = key_of(p, direction);
    struct explain_link **bucket = &f->buckets[hash(&k) & (f->bucket_count - 1)];
    p->link[direction] = (struct explain_link){.next = *bucket, .pair = p, .direction = direction};
    *bucket = &p->link[direction];
}

static void take_out(struct explain_flows *f, struct explain_pair *p, unsigned direction)
{
    struct key k = key_of(p, direction);
    struct explain_link **at = &f->buckets[hash(&k) & (f->bucket_count - 1)];
    while (*at && *at != &p->link[direction])
        at = &(*at)->next;
    if (*at)
        *at = p->link[direction].next;
}

static struct explain_pair *find(const struct explain_flows *f, const struct key *k, unsigned *direction)
{
    const struct explain_link *l = f->buckets[hash(k) & (f->bucket_count - 1)];
    while (l && !is_key(l->pair, l->direction, k))
        l = l->next;
    if (!l)
        return NULL;
    *direction = l->direction;
    return l->pair;
}

/* --- which of several --- */

enum fit { FIT_NOT, FIT_MAYBE, FIT_WELL };

/* A request whose PSN is not new, and that its sender cannot send again: it is older than all that was seen,
 * and acknowledged long ago, or was another operation. It is the first of a connection with the same QPN. */
static bool is_foreign(const struct explain_half *half, const struct roce_pkt *pkt)
{
    if (!half->is_una_known || !(pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY)) ||
        roce_psn_diff(half->una_psn, pkt->bth.psn) < PSNS_DONE)
        return false;
    const struct explain_sent *s = explain_sent_find(half, pkt->bth.psn);
    return s ? s->is_answered && s->opcode != pkt->bth.opcode && !(pkt->op->flags & ROCE_PKT_READ)
             : roce_psn_diff(pkt->bth.psn, half->first_psn) < 0;
}

/* A piece of another size than those that the pair's other end sends: both have one path MTU. */
static bool is_other_pmtu(const struct explain_pair *p, const struct roce_pkt *pkt)
{
    return p->shown.pmtu_bytes && pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) &&
           !(pkt->op->flags & ROCE_PKT_RESPONSE) && pkt->payload_bytes != p->shown.pmtu_bytes;
}

/* Whether a packet with that PSN can be one of the pair's. */
static enum fit fit_of(const struct explain_pair *p, unsigned direction, const struct roce_pkt *pkt)
{
    bool is_answer = pkt->op->flags & ROCE_PKT_RESPONSE;
    const struct explain_half *half = &p->half[is_answer ? !direction : direction];
    if (!half->has_requests)
        return is_other_pmtu(p, pkt) ? FIT_NOT : FIT_MAYBE;
    int32_t ahead = roce_psn_diff(pkt->bth.psn, half->next_psn);
    if (!half->is_guessed && (ahead <= -PSNS_BEHIND || ahead >= PSNS_AHEAD))
        return FIT_NOT;
    return ahead < 0 && !is_answer && is_foreign(half, pkt) ? FIT_NOT : FIT_WELL;
}

/* The pair with that key which the packet fits best, the newest first; `*fit`: how well. */
static struct explain_pair *find_best(const struct explain_flows *f, const struct key *k,
                                      const struct roce_pkt *pkt, unsigned *direction, enum fit *fit)
{
    struct explain_pair *best = NULL;
    unsigned count = 0;
    *fit = FIT_NOT;
    const struct explain_link *l = f->buckets[hash(k) & (f->bucket_count - 1)];
    for (; l && *fit != FIT_WELL; l = l->next) {
        if (!is_key(l->pair, l->direction, k))
            continue;
        enum fit fits = fit_of(l->pair, l->direction, pkt);
        if (!best || fits > *fit) {
            best = l->pair;
            *direction = l->direction;
            *fit = fits;
        }
        if (++count == EPOCHS_MAX) { /* whoever does this is no QP: it is followed no further */
            *fit = *fit == FIT_NOT ? FIT_MAYBE : *fit;
            break;
        }
    }
    return best;
}

/* --- by age --- */

static void unlink_by_age(struct explain_flows *f, struct explain_pair *p)
{
    *(p->older ? &p->older->newer : &f->oldest) = p->newer;
    *(p->newer ? &p->newer->older : &f->newest) = p->older;
}

static void link_newest(struct explain_flows *f, struct explain_pair *p)
{
    p->older = f->newest;
    p->newer = NULL;
    *(f->newest ? &f->newest->newer : &f->oldest) = p;
    f->newest = p;
}

static void touch(struct explain_flows *f, struct explain_pair *p)
{
    if (p == f->newest)
        return;
    unlink_by_age(f, p);
    link_newest(f, p);
}

static void free_pair(struct explain_pair *p)
{
    explain_half_free(&p->half[0]);
    explain_half_free(&p->half[1]);
    free(p);
}

/* --- by index --- */

static struct explain_pair **place_of_index(const struct explain_flows *f, uint32_t index)
{
    struct explain_pair **at = &f->by_index[index & (f->bucket_count - 1)];
    while (*at && (*at)->index != index)
        at = &(*at)->next_by_index;
    return at;
}

struct explain_pair *explain_pair_by_index(const struct explain_flows *f, uint32_t index)
{
    return *place_of_index(f, index);
}

/* --- forgetting --- */

static void note_forgotten(struct explain_forgotten *g, uint32_t index)
{
    g->first = g->count ? min_u32(g->first, index) : index;
    g->last = max_u32(g->last, index);
    g->count++;
}

static void forget_oldest(struct explain_flows *f)
{
    struct explain_pair *p = f->oldest;
    for (unsigned d = 0; d < 2; d++)
        if (p->shown.qpn[!d])
            take_out(f, p, d);
    f->oldest = p->newer;
    *(p->newer ? &p->newer->older : &f->newest) = NULL;
    *place_of_index(f, p->index) = p->next_by_index;
    note_forgotten(&f->forgotten, p->index);
    f->bytes -= p->bytes;
    free_pair(p);
}

void explain_flows_settle(struct explain_flows *f, struct explain_pair *p)
{
    if (p) {
        size_t bytes = sizeof *p + explain_half_bytes(&p->half[0]) + explain_half_bytes(&p->half[1]);
        f->bytes = f->bytes - p->bytes + bytes;
        p->bytes = bytes;
    }
    while (f->bytes > f->max_bytes && f->oldest != f->newest)
        forget_oldest(f);
}

/* --- new pairs --- */

static struct explain_pair *create(struct explain_flows *f, const struct key *k)
{
    struct explain_pair *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->index = ++f->flow_count;
    p->half[0].weather = p->half[1].weather = &f->weather;
    p->shown.network = k->network;
    p->shown.addr[0] = k->src;
    p->shown.addr[1] = k->dst;
    p->shown.qpn[1] = k->qpn;
    p->shown.service = k->service;
    struct explain_pair **chain = &f->by_index[p->index & (f->bucket_count - 1)];
    p->next_by_index = *chain;
    *chain = p;
    insert(f, p, 0);
    link_newest(f, p);
    return p;
}

/* How well a packet fits as the other direction of a pair whose second QPN is not known; 0: not at all. */
static unsigned fitness(const struct explain_pair *p, const struct key *k,
                        const struct explain_packet *packet)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (p->shown.qpn[0] || p->shown.service != k->service ||
        !explain_network_equal(&p->shown.network, &k->network) ||
        !nornic_addr_equal(&p->shown.addr[0], &k->dst) || !nornic_addr_equal(&p->shown.addr[1], &k->src))
        return 0;
    unsigned points = 0;
    if (pkt->op->flags & ROCE_PKT_RESPONSE)
        points += explain_sent_find(&p->half[0], pkt->bth.psn) ? POINTS_PSN : 0;
    return points + (p->src_port[0] == pkt->src_port ? POINTS_PORT : 0);
}

static struct explain_pair *adopt(struct explain_flows *f, const struct key *k,
                                  const struct explain_packet *packet, unsigned least_points)
{
    struct explain_pair *best = NULL;
    unsigned best_points = least_points - 1, looked_at = 0;
    for (struct explain_pair *p = f->newest; p && looked_at < CANDIDATES_MAX; p = p->older, looked_at++) {
        unsigned points = fitness(p, k, packet);
        if (points > best_points) {
            best = p;
            best_points = points;
        }
    }
    if (best) {
        best->shown.qpn[0] = k->qpn;
        best->is_paired = best_points >= POINTS_PSN;
        insert(f, best, 1);
    }
    return best;
}

/* The end that `direction` leads to began to ask only after all that was asked the other way, and closer to
 * now: its requests were taken for those of the earlier connection as nothing told them apart. */
static void take_over(struct explain_flows *f, struct explain_pair *earlier, unsigned direction,
                      struct explain_pair *p, uint64_t now_ns)
{
    struct explain_half *old = &earlier->half[direction], *half = &earlier->half[!direction];
    if (!half->first_ns || half->first_ns <= old->newest_ns || !earlier->shown.qpn[direction] ||
        half->first_ns - old->newest_ns <= now_ns - half->newest_ns)
        return;
    SWAP(p->half[1], *half);
    p->src_port[1] = earlier->src_port[!direction];
    p->first_port[1] = earlier->first_port[!direction];
    p->shown.qpn[0] = earlier->shown.qpn[direction];
    insert(f, p, 1);
}

/* The QPN is known, but not with such PSNs. An answer may be for another pair, whose other end was not known
 * yet; a request that begins a message is the first of a new connection, for which the QPN is used again.
 * What goes on with a message goes on behind a gap. */
static struct explain_pair *other_of(struct explain_flows *f, const struct key *k, struct explain_pair *known,
                                     const struct explain_packet *packet, unsigned *direction)
{
    const struct roce_pkt *pkt = &packet->roce;
    bool is_answer = pkt->op->flags & ROCE_PKT_RESPONSE;
    struct explain_pair *p = adopt(f, k, packet, is_answer ? POINTS_PSN : POINTS_PORT);
    if (p) {
        *direction = 1;
        return p;
    }
    if (is_answer || !(pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY)))
        return known;
    p = create(f, k);
    if (!p)
        return known;
    p->shown.earlier = known->index;
    take_over(f, known, *direction, p, packet->time_ns);
    *direction = 0;
    return p;
}

/* The QPN is known, but its end of that pair has asked for nothing yet by which to tell it. Where a pair that
 * uses the QPN at the other end again waits for its second end, the packet belongs to that one: both ends of
 * a connection begin anew. NULL: there is none. */
static struct explain_pair *successor_of(struct explain_flows *f, const struct key *k,
                                         const struct explain_pair *known, unsigned direction)
{
    unsigned looked_at = 0;
    for (struct explain_pair *p = f->newest; p && looked_at < CANDIDATES_MAX; p = p->older, looked_at++) {
        if (p == known || p->shown.earlier != known->index || p->shown.qpn[0] ||
            p->shown.qpn[1] != known->shown.qpn[direction])
            continue;
        p->shown.qpn[0] = k->qpn;
        insert(f, p, 1);
        return p;
    }
    return NULL;
}

/* --- who answers whom --- */

/* Exchanges the QPN at one end of a pair, with all that was sent to it, for those of another pair: a packet
 * does not say from which queue pair of a host it came, so the first guess may be wrong. */
static void swap_ends(struct explain_flows *f, struct explain_pair *a, unsigned a_end, struct explain_pair *b,
                      unsigned b_end)
{
    unsigned a_way = !a_end, b_way = !b_end;
    if (a->shown.qpn[a_end])
        take_out(f, a, a_way);
    if (b->shown.qpn[b_end])
        take_out(f, b, b_way);
    SWAP(a->shown.qpn[a_end], b->shown.qpn[b_end]);
    SWAP(a->half[a_way], b->half[b_way]);
    SWAP(a->ids[a_way], b->ids[b_way]);
    SWAP(a->src_port[a_way], b->src_port[b_way]);
    SWAP(a->first_port[a_way], b->first_port[b_way]);
    SWAP(a->other_port[a_way], b->other_port[b_way]);
    SWAP(a->shown.packets[a_way], b->shown.packets[b_way]);
    SWAP(a->shown.bytes[a_way], b->shown.bytes[b_way]);
    SWAP(a->shown.messages[a_way], b->shown.messages[b_way]);
    SWAP(a->shown.retransmissions[a_way], b->shown.retransmissions[b_way]);
    SWAP(a->shown.naks[a_way], b->shown.naks[b_way]);
    a->smc = b->smc = (struct explain_smc_place){0};
    if (a->shown.qpn[a_end])
        insert(f, a, a_way);
    if (b->shown.qpn[b_end])
        insert(f, b, b_way);
}

/* The pair in which that PSN waits for an answer, and at which end the request was sent. */
static struct explain_pair *asker_of(struct explain_flows *f, const struct key *k,
                                     const struct explain_packet *packet, unsigned *end)
{
    unsigned looked_at = 0;
    for (struct explain_pair *p = f->newest; p && looked_at < CANDIDATES_MAX; p = p->older, looked_at++)
        for (*end = 0; *end < 2 && !p->is_paired && p->shown.service == k->service; ++*end) {
            const struct explain_sent *s = explain_sent_find(&p->half[*end], packet->roce.bth.psn);
            if (s && !s->is_answered && explain_network_equal(&p->shown.network, &k->network) &&
                nornic_addr_equal(&p->shown.addr[*end], &k->dst) &&
                nornic_addr_equal(&p->shown.addr[!*end], &k->src))
                return p;
        }
    return NULL;
}

/* An answer shows which requests and which answers belong together. Until one has, that is a guess by the UDP
 * ports, which is put right here. */
static struct explain_pair *pair_up(struct explain_flows *f, const struct key *k, struct explain_pair *p,
                                    const struct explain_packet *packet, unsigned *direction, enum fit *fit)
{
    unsigned end;
    if (p->is_paired)
        return p;
    if (explain_sent_find(&p->half[!*direction], packet->roce.bth.psn)) {
        p->is_paired = true;
        return p;
    }
    struct explain_pair *asker = p->pair_tries++ < PAIR_TRIES ? asker_of(f, k, packet, &end) : NULL;
    if (!asker || asker == p)
        return p;
    swap_ends(f, p, !*direction, asker, end);
    asker->is_paired = true;
    *fit = FIT_WELL;
    *direction = !end;
    return asker;
}

struct explain_pair *explain_pair_of(struct explain_flows *f, const struct explain_packet *packet,
                                     unsigned *direction)
{
    const struct roce_pkt *pkt = &packet->roce;
    enum fit fit;
    struct key k = {.network = packet->network,
                    .src = pkt->src,
                    .dst = pkt->dst,
                    .qpn = pkt->bth.dest_qpn,
                    .service = explain_service(pkt)};
    struct explain_pair *p = find_best(f, &k, pkt, direction, &fit);
    if (p && pkt->op->flags & ROCE_PKT_RESPONSE)
        p = pair_up(f, &k, p, packet, direction, &fit);
    struct explain_pair *successor = p && fit == FIT_MAYBE ? successor_of(f, &k, p, *direction) : NULL;
    if (successor) {
        p = successor;
        *direction = 1;
    } else if (p && fit == FIT_NOT) {
        p = other_of(f, &k, p, packet, direction);
    }
    if (!p) {
        p = adopt(f, &k, packet, 1);
        *direction = 1;
    }
    if (!p) {
        p = create(f, &k);
        *direction = 0;
    }
    if (!p)
        return NULL;
    touch(f, p);
    return p;
}

struct explain_pair *explain_pair_know(struct explain_flows *f, const struct explain_network *network,
                                       const struct nornic_addr addr[2], const uint32_t qpn[2],
                                       uint8_t service)
{
    struct key k = {.network = *network, .src = addr[0], .dst = addr[1], .qpn = qpn[1], .service = service};
    struct explain_pair *p = create(f, &k);
    if (p && qpn[0]) {
        p->shown.qpn[0] = qpn[0];
        insert(f, p, 1);
    }
    return p;
}

struct explain_pair *explain_pair_of_datagram(struct explain_flows *f, const struct explain_packet *packet,
                                              unsigned *direction)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct key k = {.network = packet->network,
                    .src = pkt->src,
                    .dst = pkt->dst,
                    .qpn = pkt->bth.dest_qpn,
                    .service = ROCE_SERVICE_UD,
                    .src_qpn = pkt->deth.src_qpn};
    struct explain_pair *p = find(f, &k, direction);
    if (!p) {
        *direction = 0;
        p = explain_pair_know(f, &packet->network, (struct nornic_addr[2]){pkt->src, pkt->dst},
                              (uint32_t[2]){pkt->deth.src_qpn, pkt->bth.dest_qpn}, ROCE_SERVICE_UD);
    }
    if (p)
        touch(f, p);
    return p;
}

struct explain_pair *explain_pair_find(const struct explain_flows *f, const struct explain_packet *packet,
                                       uint8_t service, unsigned *direction)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct key k = {.network = packet->network,
                    .src = pkt->src,
                    .dst = pkt->dst,
                    .qpn = pkt->bth.dest_qpn,
                    .service = service};
    return find(f, &k, direction);
}

uint8_t explain_service(const struct roce_pkt *pkt)
{
    uint8_t service = pkt->bth.opcode >> 5;
    return service == ROCE_SERVICE_VENDOR ? ROCE_SERVICE_RC : service;
}

uint16_t explain_ip_id(const struct explain_packet *packet)
{
    return packet->roce.l3_kind == ROCE_L3_IPV4 ? (uint16_t)(packet->roce.l3[4] << 8 | packet->roce.l3[5])
                                                : 0;
}

void explain_pair_count(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet)
{
    struct explain_flow *flow = &pair->shown;
    if (!flow->first_number) {
        flow->first_number = packet->number;
        flow->first_ns = packet->time_ns;
    }
    flow->last_number = packet->number;
    flow->last_ns = packet->time_ns;
    flow->packets[direction]++;
    flow->bytes[direction] += packet->wire_bytes;
    if ((packet->roce.tclass & 3) == NET_ECN_CE)
        flow->marks[direction]++;
}

/* --- all of them --- */

bool explain_flows_init(struct explain_flows *f, size_t max_bytes)
{
    *f = (struct explain_flows){.max_bytes = max_bytes ? max_bytes : DEFAULT_BYTES,
                                .bucket_count = BUCKETS_LEAST};
    while (f->bucket_count < f->max_bytes / sizeof(struct explain_pair) && f->bucket_count < BUCKETS_MOST)
        f->bucket_count *= 2;
    f->buckets = calloc(f->bucket_count, sizeof(struct explain_link *));
    f->by_index = calloc(f->bucket_count, sizeof(struct explain_pair *));
    f->cms = calloc(EXPLAIN_CM_MAX, sizeof *f->cms);
    return f->buckets && f->by_index && f->cms;
}

void explain_flows_deinit(struct explain_flows *f)
{
    for (struct explain_pair *p = f->oldest, *newer; p; p = newer) {
        newer = p->newer;
        free_pair(p);
    }
    free(f->by_index);
    free(f->buckets);
    free(f->cms);
}
