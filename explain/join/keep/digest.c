/* SPDX-License-Identifier: BSD-2-Clause */
/* The digest of each packet. Its key is a hash of the bytes that no router changes: addresses, length,
 * identification, the BTH but for its congestion bits. The ICRC covers these bytes and the data, but a
 * capture that was cut lacks it. So the ICRC is kept apart. */
#include "explain/join/keep/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/hash.h"
#include "explain/join/keep/lane.h"
#include "explain/join/keep/segment.h"
#include "net/bytes.h"
#include "roce/psn.h"

#define PLAIN_LEAST 16 /* of so many bytes one at least has to be let go of, when there is no room */

/* --- one packet --- */

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
    k->key = hash_keyed_word(k->key, get_be32(at));
    k->key =
        hash_keyed_word(k->key, (uint64_t)get_be32(at + 8) << 24 | get_be24(at + 5)); /* not FECN and BECN */
    k->key = hash_keyed_word(k->key, icrc - p->l3_offset);
    k->bytes = (uint16_t)min_u32(icrc - p->l3_offset, UINT16_MAX);
    k->opcode = at[0];
    k->psn = get_be24(at + 9);
    if (icrc > bth->offset && icrc + ROCE_ICRC_BYTES <= p->len_bytes)
        k->icrc = get_be32(p->frame + icrc);
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
    const struct explain_layer *bth = explain_layer_from(p, p->l3_layer, EXPLAIN_LAYER_BTH);
    struct nornic_addr src = {{0}}, dst = {{0}};
    if (p->l3_layer < p->layer_count)
        k->ip_id = read_addresses(p, &p->layers[p->l3_layer], &src, &dst);
    k->lane = join_lane_of(j, &src, &dst, false);
    if (k->lane == JOIN_NONE)
        return -ENOMEM;
    k->key = hash_keyed_word(j->lanes[k->lane].key, k->ip_id);
    k->captured.is_damaged = p->verdict != ROCE_RX_TAKEN;
    if (bth)
        take_bth(p, bth, k);
    else
        k->key = hash_keyed_bytes(k->key, p->frame + p->l3_offset, min_u32(p->len_bytes - p->l3_offset, 64));
    k->role = role_of(p);
    k->syndrome = p->roce.aeth.syndrome;
    return 0;
}

/* --- streams --- */

/* Which queue pair it is. */
static int place(struct join_side *s, const struct explain_meaning *m, struct join_packet *k)
{
    if (!m->flow)
        return 0;
    k->stream = 2 * m->flow + m->direction;
    return join_know_stream(s, k->stream | 1);
}

int join_map_streams(struct join_side *s)
{
    int err = 0;
    for (uint32_t i = 0; i < s->count && !err; i++) {
        struct join_packet *k = &s->packets[i];
        if (k->role == JOIN_SEGMENT || k->stream < 2)
            continue;
        struct explain_same same = explain_analysis_flow_is(s->analysis, k->stream / 2);
        k->stream = 2 * same.flow + (k->stream % 2 ^ same.is_turned);
        err = join_know_stream(s, k->stream | 1);
    }
    return err;
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
            bool is_bare =
                k->role == JOIN_SEGMENT && k->tcp.end == k->psn && k->ip_id == 0; /* as a SYN has it */
            if (!is_bare)
                learn_id(&j->lanes[k->lane], side, k->ip_id);
            j->lanes[k->lane].last_ns[side] = max_u64(j->lanes[k->lane].last_ns[side], k->time_ns);
            j->lanes[k->lane].has_qps[side] |= join_is_of_qp(k->role);
            learn_psn(&j->side[side], k);
        }
    join_learn_segments(j);
}

/* Returns how often this capture saw the packet. A copy by the network or by the capture has a finding
 * without candidates. A copy that its sender may have sent has a finding that names them. */
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

/* With one more packet. */
static uint64_t bytes_of(const struct explain_join *j)
{
    return ((uint64_t)j->side[0].count + j->side[1].count + 1) * EXPLAIN_JOIN_PACKET_BYTES +
           (uint64_t)j->conn_count * EXPLAIN_JOIN_CONN_BYTES +
           (uint64_t)j->lane_count * EXPLAIN_JOIN_LANE_BYTES;
}

/* Makes room for one more. TCP that turned out to be no iWARP so far is let go of before. 0, -EFBIG or
 * -ENOMEM. */
static int make_room(struct explain_join *j)
{
    uint64_t bytes = bytes_of(j);
    if (bytes <= j->max_bytes)
        return 0;
    int err = join_drop_plain_tcp(j);
    if (err)
        return err;
    uint64_t left_bytes = bytes_of(j);
    return left_bytes <= j->max_bytes && (bytes - left_bytes) * PLAIN_LEAST >= bytes ? 0 : -EFBIG;
}

int join_take(struct explain_join *j, unsigned side, struct explain_packet *p)
{
    struct join_side *s = &j->side[side];
    struct explain_segment segment;
    s->first_ns = s->records ? min_u64(s->first_ns, p->time_ns) : p->time_ns;
    s->records += p->train.packet <= 1;
    s->last_ns = max_u64(s->last_ns, p->time_ns);
    bool is_roce = p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM;
    bool is_tcp =
        (p->kind == EXPLAIN_OTHER || p->kind == EXPLAIN_SMC_TCP) && explain_segment_get(&segment, p);
    if (!is_roce && !is_tcp)
        return 0;
    int err = s->records > UINT32_MAX ? -EFBIG : make_room(j);
    if (err)
        return err;
    struct explain_meaning m;
    explain_analysis_next(s->analysis, p, &m);
    struct join_packet *k = add(s);
    if (!k)
        return -ENOMEM;
    *k = (struct join_packet){.time_ns = p->time_ns,
                              .record = (uint32_t)p->number,
                              .train_packet = (uint8_t)p->train.packet,
                              .match.other = JOIN_NONE,
                              .fate.proof = JOIN_NONE};
    k->seen = seen_of(&m);
    if (is_tcp) {
        k->captured.is_cut = segment.captured < segment.len_bytes;
        return join_digest_segment(j, p, &segment, &m, k);
    }
    k->captured.is_cut = p->cut.is_end;
    err = digest(j, p, k);
    return err ? err : place(s, &m, k);
}
