/* SPDX-License-Identifier: BSD-2-Clause */
/* Which QP pair a packet belongs to. A packet names only its destination QP, so that the two directions of a
 * pair are put together by what answers what, and by the UDP source port, which many senders choose alike at
 * both ends (ROCE-FRM-45). */
#include "explain/flow/flow.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST       64
#define SLOTS_MAX         8192
#define CANDIDATES_MAX    256 /* pairs without a known second end that are looked at */
#define DEFAULT_MAX_FLOWS 65536
#define BUCKETS_MAX       65536

struct key {
    struct nornic_addr src, dst;
    uint32_t qpn;
    uint8_t service;
    uint32_t src_qpn; /* of a datagram, which names it; 0: any */
};

static uint32_t hash(const struct key *k)
{
    uint64_t h = k->qpn;
    for (unsigned i = 0; i < 16; i++)
        h = (h ^ k->src.b[i] ^ (uint64_t)k->dst.b[i] << 8) * UINT64_C(0x9e3779b97f4a7c15) >> 3;
    return (uint32_t)(h >> 16);
}

static struct key key_of(const struct explain_pair *p, unsigned direction)
{
    return (struct key){.src = p->shown.addr[direction],
                        .dst = p->shown.addr[!direction],
                        .qpn = p->shown.qpn[!direction],
                        .service = p->shown.service};
}

static bool is_key(const struct explain_pair *p, unsigned direction, const struct key *k)
{
    return p->shown.qpn[!direction] == k->qpn && p->shown.service == k->service &&
           (!k->src_qpn || p->shown.qpn[direction] == k->src_qpn) &&
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
    free(p->half[0].sent);
    free(p->half[1].sent);
    free(p);
}

static void forget_oldest(struct explain_flows *f)
{
    struct explain_pair *p = f->oldest;
    for (unsigned d = 0; d < 2; d++)
        if (p->shown.qpn[!d])
            take_out(f, p, d);
    unlink_by_age(f, p);
    f->by_index[p->index] = NULL;
    f->live_count--;
    free_pair(p);
}

/* --- new pairs --- */

static bool room_for_index(struct explain_flows *f)
{
    if (f->flow_count + 1 < f->index_cap)
        return true;
    uint32_t cap = f->index_cap ? 2 * f->index_cap : 64;
    struct explain_pair **grown = realloc(f->by_index, cap * sizeof(struct explain_pair *));
    if (!grown)
        return false;
    memset(grown + f->index_cap, 0, (cap - f->index_cap) * sizeof(struct explain_pair *));
    f->by_index = grown;
    f->index_cap = cap;
    return true;
}

static struct explain_pair *create(struct explain_flows *f, const struct key *k)
{
    if (f->live_count == f->max_flows)
        forget_oldest(f);
    struct explain_pair *p = room_for_index(f) ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return NULL;
    p->index = ++f->flow_count;
    p->shown.addr[0] = k->src;
    p->shown.addr[1] = k->dst;
    p->shown.qpn[1] = k->qpn;
    p->shown.service = k->service;
    f->by_index[p->index] = p;
    f->live_count++;
    insert(f, p, 0);
    link_newest(f, p);
    return p;
}

/* How well a packet fits as the other direction of a pair whose second QPN is not known; 0: not at all. */
static unsigned fitness(const struct explain_pair *p, const struct key *k,
                        const struct explain_packet *packet)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (p->shown.qpn[0] || p->shown.service != k->service || !nornic_addr_equal(&p->shown.addr[0], &k->dst) ||
        !nornic_addr_equal(&p->shown.addr[1], &k->src))
        return 0;
    unsigned points = 0;
    if (pkt->op->flags & ROCE_PKT_RESPONSE)
        points += explain_sent_find(&p->half[0], pkt->bth.psn) ? 4 : 0;
    return points + (p->src_port[0] == pkt->src_port ? 2 : 0);
}

static struct explain_pair *adopt(struct explain_flows *f, const struct key *k,
                                  const struct explain_packet *packet)
{
    struct explain_pair *best = NULL;
    unsigned best_points = 0, looked_at = 0;
    for (struct explain_pair *p = f->newest; p && looked_at < CANDIDATES_MAX; p = p->older, looked_at++) {
        unsigned points = fitness(p, k, packet);
        if (points > best_points) {
            best = p;
            best_points = points;
        }
    }
    if (best) {
        best->shown.qpn[0] = k->qpn;
        insert(f, best, 1);
    }
    return best;
}

struct explain_pair *explain_pair_of(struct explain_flows *f, const struct explain_packet *packet,
                                     unsigned *direction)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct key k = {
        .src = pkt->src, .dst = pkt->dst, .qpn = pkt->bth.dest_qpn, .service = explain_service(pkt)};
    struct explain_pair *p = find(f, &k, direction);
    if (!p) {
        p = adopt(f, &k, packet);
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

struct explain_pair *explain_pair_know(struct explain_flows *f, const struct nornic_addr addr[2],
                                       const uint32_t qpn[2], uint8_t service)
{
    struct key k = {.src = addr[0], .dst = addr[1], .qpn = qpn[1], .service = service};
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
    struct key k = {.src = pkt->src,
                    .dst = pkt->dst,
                    .qpn = pkt->bth.dest_qpn,
                    .service = ROCE_SERVICE_UD,
                    .src_qpn = pkt->deth.src_qpn};
    struct explain_pair *p = find(f, &k, direction);
    if (!p) {
        *direction = 0;
        p = explain_pair_know(f, (struct nornic_addr[2]){pkt->src, pkt->dst},
                              (uint32_t[2]){pkt->deth.src_qpn, pkt->bth.dest_qpn}, ROCE_SERVICE_UD);
    }
    if (p)
        touch(f, p);
    return p;
}

struct explain_pair *explain_pair_find(const struct explain_flows *f, const struct nornic_addr *src,
                                       const struct nornic_addr *dst, uint32_t dest_qpn, uint8_t service,
                                       unsigned *direction)
{
    struct key k = {.src = *src, .dst = *dst, .qpn = dest_qpn, .service = service};
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

/* --- what was sent --- */

static bool grow(struct explain_half *half)
{
    uint32_t size = half->size ? 2 * half->size : SLOTS_FIRST;
    struct explain_sent *sent = calloc(size, sizeof *sent);
    if (!sent)
        return false;
    for (uint32_t i = 0; i < half->size; i++)
        if (half->sent[i].number)
            sent[half->sent[i].psn & (size - 1)] = half->sent[i];
    free(half->sent);
    half->sent = sent;
    half->size = size;
    return true;
}

struct explain_sent *explain_sent_slot(struct explain_half *half, uint32_t psn)
{
    while (half->size == 0 ||
           (half->size < SLOTS_MAX && half->sent[psn & (half->size - 1)].number &&
            half->sent[psn & (half->size - 1)].psn != psn && !half->sent[psn & (half->size - 1)].is_answered))
        if (!grow(half))
            return NULL;
    return &half->sent[psn & (half->size - 1)];
}

struct explain_sent *explain_sent_find(const struct explain_half *half, uint32_t psn)
{
    if (half->size == 0)
        return NULL;
    struct explain_sent *s = &half->sent[psn & (half->size - 1)];
    return s->number && s->psn == psn ? s : NULL;
}

struct explain_read *explain_read_find(struct explain_half *half, uint32_t psn)
{
    for (unsigned age = 1; age <= EXPLAIN_READS_MAX; age++) {
        struct explain_read *r = &half->reads[(half->next_read - age) % EXPLAIN_READS_MAX];
        if (r->number && ((psn - r->psn) & 0xffffff) < r->span)
            return r;
    }
    return NULL;
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

bool explain_flows_init(struct explain_flows *f, uint32_t max_flows)
{
    *f = (struct explain_flows){.max_flows = max_flows ? max_flows : DEFAULT_MAX_FLOWS, .bucket_count = 64};
    while (f->bucket_count < 2 * f->max_flows && f->bucket_count < BUCKETS_MAX)
        f->bucket_count *= 2;
    f->buckets = calloc(f->bucket_count, sizeof(struct explain_link *));
    f->cms = calloc(EXPLAIN_CM_MAX, sizeof *f->cms);
    return f->buckets && f->cms;
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
