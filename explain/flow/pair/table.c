/* SPDX-License-Identifier: BSD-2-Clause */
/* The QP pairs that are followed: a hash table over what a packet says (addresses, destination QPN), a
 * list by the newest packet, and how much memory they take. Which pair a packet belongs to is flow.c's. */
#include "explain/flow/pair/table.h"

#include <stdlib.h>

#include "base/hash.h"
#include "net/ipv4.h"

#define DEFAULT_BYTES (UINT64_C(48) << 20)
#define BUCKETS_LEAST 64
#define BUCKETS_MOST  65536

static uint32_t hash(const struct explain_pair_key *k)
{
    uint32_t src_qpn = k->service == ROCE_SERVICE_UD ? k->src_qpn : 0;
    uint64_t h =
        hash_keyed_word((uint64_t)src_qpn << 32 | k->qpn, (uint64_t)k->network.id << 32 | k->network.tunnel);
    h = hash_keyed_bytes(hash_keyed_bytes(h, k->src.b, sizeof k->src.b), k->dst.b, sizeof k->dst.b);
    return (uint32_t)(h >> 32);
}

struct explain_pair_key explain_pair_key_of(const struct explain_pair *p, unsigned direction)
{
    return (struct explain_pair_key){.network = p->shown.network,
                                     .src = p->shown.addr[direction],
                                     .dst = p->shown.addr[!direction],
                                     .qpn = p->shown.qpn[!direction],
                                     .service = p->shown.service,
                                     .src_qpn =
                                         p->shown.service == ROCE_SERVICE_UD ? p->shown.qpn[direction] : 0};
}

bool explain_pair_is_key(const struct explain_pair *p, unsigned direction, const struct explain_pair_key *k)
{
    return p->shown.qpn[!direction] == k->qpn && p->shown.service == k->service &&
           (!k->src_qpn || p->shown.qpn[direction] == k->src_qpn) &&
           explain_network_equal(&p->shown.network, &k->network) &&
           nornic_addr_equal(&p->shown.addr[direction], &k->src) &&
           nornic_addr_equal(&p->shown.addr[!direction], &k->dst);
}

/* --- the table: a pair stands in it once a known direction --- */

void explain_pair_insert(struct explain_flows *f, struct explain_pair *p, unsigned direction)
{
    struct explain_pair_key k = explain_pair_key_of(p, direction);
    struct explain_link **bucket = &f->buckets[hash(&k) & (f->bucket_count - 1)];
    p->link[direction] = (struct explain_link){.next = *bucket, .pair = p, .direction = direction};
    *bucket = &p->link[direction];
}

void explain_pair_take_out(struct explain_flows *f, struct explain_pair *p, unsigned direction)
{
    struct explain_pair_key k = explain_pair_key_of(p, direction);
    struct explain_link **at = &f->buckets[hash(&k) & (f->bucket_count - 1)];
    while (*at && *at != &p->link[direction])
        at = &(*at)->next;
    if (*at)
        *at = p->link[direction].next;
}

const struct explain_link *explain_pair_chain(const struct explain_flows *f, const struct explain_pair_key *k)
{
    return f->buckets[hash(k) & (f->bucket_count - 1)];
}

struct explain_pair *explain_pair_lookup(const struct explain_flows *f, const struct explain_pair_key *k,
                                         unsigned *direction)
{
    const struct explain_link *l = explain_pair_chain(f, k);
    while (l && !explain_pair_is_key(l->pair, l->direction, k))
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

void explain_pair_stand_alone(struct explain_flows *f, struct explain_pair *p)
{
    f->same_count -= p->same.as != 0;
    p->same.as = 0;
}

void explain_pair_touch(struct explain_flows *f, struct explain_pair *p)
{
    explain_pair_stand_alone(f, p);
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

static void note_forgotten(struct explain_forgotten *g, const struct explain_pair *p)
{
    g->first = g->count ? min_u32(g->first, p->index) : p->index;
    g->last = max_u32(g->last, p->index);
    g->count++;
    for (unsigned d = 0; d < 2; d++) {
        g->messages += p->shown.messages[d];
        g->carried_bytes += p->half[d].carried.bytes;
        g->requests += p->half[d].carried.requests;
        g->retransmissions += p->shown.retransmissions[d];
    }
}

static void forget_oldest(struct explain_flows *f)
{
    struct explain_pair *p = f->oldest;
    for (unsigned d = 0; d < 2; d++)
        if (p->shown.qpn[!d])
            explain_pair_take_out(f, p, d);
    f->oldest = p->newer;
    *(p->newer ? &p->newer->older : &f->newest) = NULL;
    *place_of_index(f, p->index) = p->next_by_index;
    if (!p->same.as)
        note_forgotten(&f->forgotten, p);
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

static struct explain_clocks *clocks_of(struct explain_flows *f, const struct explain_pair_key *k)
{
    for (unsigned i = 0; i < f->clock_count; i++) {
        struct explain_clocks *c = &f->clocks[i];
        if (explain_network_equal(&c->network, &k->network))
            for (unsigned end = 0; end < 2; end++)
                if (nornic_addr_equal(&c->addr[end], &k->src) && nornic_addr_equal(&c->addr[!end], &k->dst))
                    return c;
    }
    if (f->clock_count == EXPLAIN_CLOCKS_MAX)
        return &f->clocks[EXPLAIN_CLOCKS_MAX - 1];
    struct explain_clocks *c = &f->clocks[f->clock_count++];
    *c = (struct explain_clocks){.network = k->network, .addr = {k->src, k->dst}};
    return c;
}

struct explain_pair *explain_pair_create(struct explain_flows *f, const struct explain_pair_key *k)
{
    struct explain_pair *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->index = ++f->flow_count;
    p->half[0].weather = p->half[1].weather = &f->weather;
    p->half[0].clock.hosts = p->half[1].clock.hosts = clocks_of(f, k);
    p->half[0].timers = p->half[1].timers = &f->timers;
    p->shown.network = k->network;
    p->shown.addr[0] = k->src;
    p->shown.addr[1] = k->dst;
    p->shown.qpn[0] = k->service == ROCE_SERVICE_UD ? k->src_qpn : 0;
    p->shown.qpn[1] = k->qpn;
    p->shown.service = k->service;
    struct explain_pair **chain = &f->by_index[p->index & (f->bucket_count - 1)];
    p->next_by_index = *chain;
    *chain = p;
    explain_pair_insert(f, p, 0);
    link_newest(f, p);
    return p;
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
