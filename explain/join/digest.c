/* SPDX-License-Identifier: BSD-2-Clause */
/* What is kept of each packet. Its key is a hash of what no router changes: addresses, length,
 * identification, the BTH but for its congestion bits. The ICRC covers all of it and the data besides, but
 * is not in captures that were cut, so that it is kept apart. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/hash.h"
#include "explain/join/inner.h"
#include "net/bytes.h"
#include "roce/psn.h"

#define TCP_CHECKSUM 16 /* in the TCP header; hosts leave it to the card */

/* --- lanes --- */

static uint32_t *lane_slot(const struct explain_join *j, const struct nornic_addr *src,
                           const struct nornic_addr *dst)
{
    uint32_t mask = 2 * j->lane_cap - 1;
    uint32_t at = (uint32_t)hash_bytes(hash_bytes(0, src->b, sizeof src->b), dst->b, sizeof dst->b) & mask;
    while (j->lane_table[at] != JOIN_NONE && (!nornic_addr_equal(&j->lanes[j->lane_table[at]].src, src) ||
                                              !nornic_addr_equal(&j->lanes[j->lane_table[at]].dst, dst)))
        at = (at + 1) & mask;
    return &j->lane_table[at];
}

static bool grow_lanes(struct explain_join *j)
{
    uint32_t cap = j->lane_cap ? 2 * j->lane_cap : 64;
    struct join_lane *lanes = realloc(j->lanes, cap * sizeof *lanes);
    if (lanes)
        j->lanes = lanes;
    uint32_t *table = malloc(2 * (size_t)cap * sizeof *table);
    if (!lanes || !table) {
        free(table);
        return false;
    }
    memset(table, 0xff, 2 * (size_t)cap * sizeof *table);
    free(j->lane_table);
    j->lane_table = table;
    j->lane_cap = cap;
    for (uint32_t i = 0; i < j->lane_count; i++)
        *lane_slot(j, &j->lanes[i].src, &j->lanes[i].dst) = i;
    return true;
}

static uint32_t lane_of(struct explain_join *j, const struct nornic_addr *src, const struct nornic_addr *dst)
{
    if (j->lane_count == j->lane_cap && !grow_lanes(j))
        return JOIN_NONE;
    uint32_t *slot = lane_slot(j, src, dst);
    if (*slot != JOIN_NONE)
        return *slot;
    uint32_t lane = *slot = j->lane_count++;
    j->lanes[lane] = (struct join_lane){.src = *src, .dst = *dst, .back = JOIN_NONE, .from = -1};
    uint32_t back = *lane_slot(j, dst, src);
    if (back != JOIN_NONE) {
        j->lanes[lane].back = back;
        j->lanes[back].back = lane;
    }
    return lane;
}

/* --- one packet --- */

/* The layer of that kind from `from` on; NULL: the packet has none. */
static const struct explain_layer *layer_of(const struct explain_packet *p, unsigned from,
                                            enum explain_layer_id id)
{
    for (unsigned i = from; i < p->layer_count; i++)
        if (p->layers[i].kind->id == id)
            return &p->layers[i];
    return NULL;
}

/* The addresses as they stand there, whatever is wrong with the packet; returns its identification. */
static uint16_t read_addresses(const struct explain_packet *p, const struct explain_layer *l3,
                               struct nornic_addr *src, struct nornic_addr *dst)
{
    const uint8_t *at = p->frame + l3->offset;
    *src = *dst = (struct nornic_addr){{0}};
    if (l3->kind->id == EXPLAIN_LAYER_IP) {
        *src = nornic_addr_from_v4(at + 12);
        *dst = nornic_addr_from_v4(at + 16);
        return get_be16(at + 4);
    }
    if (l3->kind->id == EXPLAIN_LAYER_IP6 || l3->kind->id == EXPLAIN_LAYER_GRH) {
        memcpy(src->b, at + 8, sizeof src->b);
        memcpy(dst->b, at + 24, sizeof dst->b);
    }
    return 0;
}

static enum join_role role_of(const struct explain_packet *p)
{
    uint32_t flags = p->roce.op->flags;
    if (p->verdict != ROCE_RX_TAKEN || !(flags & ROCE_PKT_DEFINED) || flags & (ROCE_PKT_DETH | ROCE_PKT_CNP))
        return JOIN_OTHER;
    return flags & ROCE_PKT_RESPONSE ? JOIN_ANSWER : JOIN_REQUEST;
}

static void take_bth(const struct explain_packet *p, const struct explain_layer *bth, struct join_packet *k)
{
    const uint8_t *at = p->frame + bth->offset;
    uint32_t icrc = p->icrc_offset;
    k->key = hash_word(k->key, get_be32(at));
    k->key = hash_word(k->key, (uint64_t)get_be32(at + 8) << 24 | get_be24(at + 5)); /* not FECN and BECN */
    k->key = hash_word(k->key, icrc - p->l3_offset);
    k->bytes = (uint16_t)min_u32(icrc - p->l3_offset, UINT16_MAX);
    k->opcode = at[0];
    k->psn = get_be24(at + 9);
    if (icrc > bth->offset && icrc + ROCE_ICRC_BYTES <= p->len_bytes)
        k->icrc = get_be32(p->frame + icrc);
}

/* The handshake of SMC-R: the segment but for its checksum. */
static bool take_tcp(const struct explain_packet *p, const struct explain_layer *tcp, struct join_packet *k)
{
    uint32_t from = tcp->offset, len = p->len_bytes - from;
    if (len < TCP_CHECKSUM + 4)
        return false;
    k->key = hash_bytes(k->key, p->frame + from, TCP_CHECKSUM);
    k->key = hash_bytes(k->key, p->frame + from + TCP_CHECKSUM + 2, 2);
    return true;
}

/* Whether the sender numbers its packets. */
static void learn_id(struct join_lane *l, unsigned side, uint16_t id)
{
    l->ids[side] += l->packets[side] == 0 || id != l->newest_id[side];
    l->zeros[side] += id == 0;
    l->packets[side]++;
    l->newest_id[side] = id;
}

static int digest(struct explain_join *j, const struct explain_packet *p, struct join_packet *k)
{
    bool is_tcp = p->kind == EXPLAIN_SMC_TCP;
    const struct explain_layer *tcp = is_tcp ? layer_of(p, 0, EXPLAIN_LAYER_TCP) : NULL;
    const struct explain_layer *bth = is_tcp ? NULL : layer_of(p, p->l3_layer, EXPLAIN_LAYER_BTH);
    unsigned at = tcp ? (unsigned)(tcp - p->layers) - 1 : p->l3_layer;
    struct nornic_addr src = {{0}}, dst = {{0}};
    uint16_t id = at < p->layer_count ? read_addresses(p, &p->layers[at], &src, &dst) : 0;
    k->lane = lane_of(j, &src, &dst);
    if (k->lane == JOIN_NONE)
        return -ENOMEM;
    k->ip_id = id;
    k->key = hash_word(k->lane, is_tcp ? 0 : id);
    k->is_damaged = !is_tcp && p->verdict != ROCE_RX_TAKEN;
    if (bth)
        take_bth(p, bth, k);
    else if (!tcp || !take_tcp(p, tcp, k))
        k->key = hash_bytes(k->key, p->frame + p->l3_offset, min_u32(p->len_bytes - p->l3_offset, 64));
    k->role = role_of(p);
    k->syndrome = p->roce.aeth.syndrome;
    return 0;
}

/* --- streams --- */

static int know_stream(struct join_side *s, uint32_t stream)
{
    if (stream < s->stream_cap)
        return 0;
    uint32_t cap = pow2_up(stream + 1);
    uint32_t *newest = realloc(s->newest_psn, cap * sizeof *newest);
    if (!newest)
        return -ENOMEM;
    memset(newest + s->stream_cap, 0, (cap - s->stream_cap) * sizeof *newest);
    s->newest_psn = newest;
    s->stream_cap = cap;
    return 0;
}

/* Which queue pair it is. */
static int place(struct join_side *s, const struct explain_meaning *m, struct join_packet *k)
{
    if (!m->flow)
        return 0;
    k->stream = 2 * m->flow + m->direction;
    return know_stream(s, k->stream | 1);
}

/* Whether a request was there before. */
static void learn_psn(struct join_side *s, struct join_packet *k)
{
    if (k->stream < 2 || k->role != JOIN_REQUEST)
        return;
    uint32_t *newest = &s->newest_psn[k->stream];
    k->is_again = *newest && roce_psn_diff(k->psn, *newest & ROCE_PSN_MASK) < 0;
    if (k->is_again)
        *newest |= JOIN_REPEATED;
    else
        *newest = (*newest & JOIN_REPEATED) | roce_psn_add(k->psn, 1) | JOIN_KNOWN;
}

void join_learn(struct explain_join *j)
{
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < j->side[side].count; i++) {
            struct join_packet *k = &j->side[side].packets[i];
            learn_id(&j->lanes[k->lane], side, k->ip_id);
            learn_psn(&j->side[side], k);
        }
}

/* Where the analysis cannot tell who made a copy, as the network or the capture may have, its finding has no
 * candidates: of one that its sender may have sent, they are named. */
static enum join_seen seen_of(const struct explain_meaning *m)
{
    const struct explain_why *why = m->is_copy && m->remark_count ? &m->remarks[0].why : NULL;
    bool is_open = why && why->cause == EXPLAIN_CAUSE_UNKNOWN && why->candidate[0] == EXPLAIN_CAUSE_NONE;
    return m->is_recapture ? JOIN_SEEN_TWICE : is_open ? JOIN_SEEN_AGAIN : JOIN_SEEN_NEW;
}

static struct join_packet *add(struct join_side *s)
{
    if (s->count == s->cap) {
        uint32_t cap = s->cap ? s->cap + s->cap / 2 : 1024;
        struct join_packet *packets = realloc(s->packets, cap * sizeof *packets);
        if (!packets)
            return NULL;
        s->packets = packets;
        s->cap = cap;
    }
    return &s->packets[s->count++];
}

int explain_join_take(struct explain_join *j, unsigned side, struct explain_packet *p)
{
    struct join_side *s = &j->side[side];
    s->first_ns = s->records++ ? min_u64(s->first_ns, p->time_ns) : p->time_ns;
    s->last_ns = max_u64(s->last_ns, p->time_ns);
    if (p->kind != EXPLAIN_ROCE && p->kind != EXPLAIN_CM && p->kind != EXPLAIN_SMC_TCP)
        return 0;
    if ((uint64_t)(j->side[0].count + j->side[1].count + 1) * EXPLAIN_JOIN_PACKET_BYTES > j->max_bytes ||
        s->records > UINT32_MAX)
        return -EFBIG;
    struct explain_meaning m;
    explain_analysis_next(s->analysis, p, &m);
    struct join_packet *k = add(s);
    if (!k)
        return -ENOMEM;
    *k = (struct join_packet){
        .time_ns = p->time_ns, .record = (uint32_t)s->records, .other = JOIN_NONE, .proof = JOIN_NONE};
    k->seen = seen_of(&m);
    s->is_cut |= p->is_cut;
    int err = digest(j, p, k);
    return err ? err : place(s, &m, k);
}
