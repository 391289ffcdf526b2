/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP segments. iWARP looks like any TCP, and often shows itself later than it begins. So the segments of all
 * connections are kept while the captures are read. At the end the segments of an iWARP connection stay, from
 * its SYN on, if either capture shows that it is iWARP. */
#include "explain/join/keep/segment.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/hash.h"
#include "explain/join/keep/content.h"
#include "explain/join/keep/lane.h"
#include "explain/tcp/segment.h"
#include "net/wire/tcp.h"

#define CHECKSUM_AT 16 /* in the TCP header; hosts leave it to the card */

#define CONNS_LEAST 64 /* there is room for */

/* --- connections --- */

static bool has_ends_of(const struct join_conn *a, const struct join_conn *b)
{
    return a->port[0] == b->port[0] && a->port[1] == b->port[1] &&
           nornic_addr_equal(&a->addr[0], &b->addr[0]) && nornic_addr_equal(&a->addr[1], &b->addr[1]);
}

static uint32_t *slot_of(const struct explain_join *j, const struct join_conn *c)
{
    uint32_t mask = 2 * j->conn_cap - 1;
    uint64_t hash = hash_keyed_word(0, (uint64_t)c->port[0] << 16 | c->port[1]);
    for (unsigned end = 0; end < 2; end++)
        hash = hash_keyed_bytes(hash, c->addr[end].b, sizeof c->addr[end].b);
    for (uint32_t at = (uint32_t)hash & mask;; at = (at + 1) & mask) {
        uint32_t *slot = &j->conn_table[at];
        if (*slot == JOIN_NONE || has_ends_of(&j->conns[*slot], c))
            return slot;
    }
}

static_assert(2 * (sizeof(struct join_conn) + 2 * sizeof(uint32_t) + 4 * sizeof(uint32_t)) <=
                  EXPLAIN_JOIN_CONN_BYTES,
              "what a connection takes is counted");

static bool resize_conns(struct explain_join *j, uint32_t cap)
{
    struct join_conn *conns = realloc(j->conns, cap * sizeof *conns);
    if (conns)
        j->conns = conns;
    uint32_t *table = malloc(2 * (size_t)cap * sizeof *table);
    if (!conns || !table) {
        free(table);
        return false;
    }
    memset(table, 0xff, 2 * (size_t)cap * sizeof *table);
    free(j->conn_table);
    j->conn_table = table;
    j->conn_cap = cap;
    for (uint32_t i = 0; i < j->conn_count; i++)
        *slot_of(j, &j->conns[i]) = i;
    return true;
}

/* The connection of a segment, and which of its ends sent it; JOIN_NONE: no memory. */
static uint32_t conn_of(struct explain_join *j, const struct explain_segment *s, unsigned *sender)
{
    int order = memcmp(s->addr[0].b, s->addr[1].b, sizeof s->addr[0].b);
    *sender = order > 0 || (order == 0 && s->port[0] > s->port[1]);
    struct join_conn c = {.addr = {s->addr[*sender], s->addr[!*sender]},
                          .port = {s->port[*sender], s->port[!*sender]},
                          .blind_ns = {j->side[0].blind_ns, j->side[1].blind_ns}};
    if (j->conn_count == j->conn_cap && !resize_conns(j, j->conn_cap ? 2 * j->conn_cap : CONNS_LEAST))
        return JOIN_NONE;
    uint32_t *slot = slot_of(j, &c);
    if (*slot == JOIN_NONE) {
        *slot = j->conn_count++;
        j->conns[*slot] = c;
    }
    return *slot;
}

/* --- a segment --- */

/* The header but for its checksum and the urgent pointer behind that, as far as it was captured, and the
 * length of the data. */
static uint64_t key_of(uint64_t key, const struct explain_packet *p, const struct explain_segment *s)
{
    uint32_t at = explain_layer_from(p, 0, EXPLAIN_LAYER_TCP)->offset, end = min_u32(s->offset, p->len_bytes);
    key = hash_keyed_bytes(key, p->frame + at, CHECKSUM_AT);
    if (end > at + NET_TCP_BYTES)
        key = hash_keyed_bytes(key, p->frame + at + NET_TCP_BYTES, end - at - NET_TCP_BYTES);
    return hash_keyed_word(key, s->len_bytes);
}

int join_digest_segment(struct explain_join *j, const struct explain_packet *p,
                        const struct explain_segment *s, const struct explain_meaning *m,
                        struct join_packet *k)
{
    unsigned sender;
    k->lane = join_lane_of(j, &s->addr[0], &s->addr[1], true);
    uint32_t conn = conn_of(j, s, &sender);
    if (k->lane == JOIN_NONE || conn == JOIN_NONE)
        return -ENOMEM;
    j->conns[conn].is_iwarp |= m->iwarp.conn != 0;
    k->ip_id = s->ip_id;
    k->key = key_of(hash_keyed_word(j->lanes[k->lane].key, s->ip_id), p, s);
    if (s->captured == s->len_bytes) /* data are as good as an ICRC to know a segment by */
        k->icrc = join_hash_data(p->frame + s->offset, s->captured);
    k->role = p->kind == EXPLAIN_SMC_TCP ? JOIN_OTHER : JOIN_SEGMENT;
    k->bytes = (uint16_t)min_u32(s->len_bytes, UINT16_MAX);
    k->stream = k->role == JOIN_SEGMENT ? 2 * conn + sender : 0;
    k->psn = s->seq;
    k->tcp.end = s->seq + s->len_bytes;
    k->tcp.has_ack = s->control.ack;
    k->tcp.ack = s->ack;
    return 0;
}

/* --- those that stay --- */

/* Lets go of the segments of connections that are no iWARP; returns whether there were any. */
static bool drop_segments(const struct explain_join *j, struct join_side *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->packets[i].role != JOIN_SEGMENT || j->conns[s->packets[i].stream / 2].is_iwarp)
            s->packets[kept++] = s->packets[i];
    bool has_dropped = kept < s->count;
    s->count = kept;
    return has_dropped;
}

/* Lets go of the connections that are no iWARP, and numbers the others anew. 0 or -ENOMEM. */
static int drop_conns(struct explain_join *j)
{
    uint32_t *now = calloc((size_t)j->conn_count + 1, sizeof *now), kept = 0;
    if (!now)
        return -ENOMEM;
    for (uint32_t i = 0; i < j->conn_count; i++)
        if (j->conns[i].is_iwarp) {
            j->conns[kept] = j->conns[i];
            now[i] = kept++;
        }
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < j->side[side].count; i++) {
            struct join_packet *k = &j->side[side].packets[i];
            if (k->role == JOIN_SEGMENT)
                k->stream = 2 * now[k->stream / 2] + k->stream % 2;
        }
    free(now);
    j->conn_count = kept;
    return resize_conns(j, max_u32(pow2_up(kept + 1), CONNS_LEAST)) ? 0 : -ENOMEM;
}

int join_drop_plain_tcp(struct explain_join *j)
{
    for (unsigned side = 0; side < 2; side++)
        if (drop_segments(j, &j->side[side]))
            j->side[side].blind_ns = j->side[side].last_ns;
    int err = drop_conns(j);
    return err ? err : join_drop_lanes(j);
}

uint64_t join_since_ns(const struct explain_join *j, unsigned side, const struct join_packet *p)
{
    uint64_t since_ns = j->side[!side].first_ns;
    if (p->role == JOIN_SEGMENT)
        since_ns = max_u64(since_ns, j->conns[(p->stream - j->side[side].tcp_streams) / 2].blind_ns[!side]);
    return join_time_ns(j, !side, since_ns);
}

int join_keep_iwarp(struct explain_join *j)
{
    int err = join_drop_plain_tcp(j);
    if (err)
        return err;
    j->summary.has_icrc = j->summary.has_data = true;
    for (unsigned side = 0; side < 2; side++) {
        struct join_side *s = &j->side[side];
        s->tcp_streams = max_u32(s->stream_cap, 2);
        if (j->conn_count && join_know_stream(s, s->tcp_streams + 2 * j->conn_count - 1) != 0)
            return -ENOMEM;
        for (uint32_t i = 0; i < s->count; i++) {
            struct join_packet *k = &s->packets[i];
            *(j->lanes[k->lane].is_tcp ? &j->summary.has_data : &j->summary.has_icrc) &= !k->captured.is_cut;
            if (k->role == JOIN_SEGMENT)
                k->stream += s->tcp_streams;
        }
    }
    return 0;
}

void join_learn_segments(struct explain_join *j)
{
    for (unsigned side = 0; side < 2; side++) {
        struct join_side *s = &j->side[side];
        for (uint32_t i = 0; i < j->conn_count; i++)
            j->conns[i].has_end[0] = j->conns[i].has_end[1] = false;
        for (uint32_t i = 0; i < s->count; i++) {
            struct join_packet *k = &s->packets[i];
            if (k->role != JOIN_SEGMENT || k->tcp.end == k->psn)
                continue;
            uint32_t stream = k->stream - s->tcp_streams;
            struct join_conn *c = &j->conns[stream / 2];
            unsigned way = stream % 2;
            k->is_again = c->has_end[way] && (int32_t)(k->psn - c->end[way]) < 0;
            if (k->is_again)
                s->newest_psn[k->stream] |= JOIN_REPEATED;
            if (!c->has_end[way] || (int32_t)(k->tcp.end - c->end[way]) > 0)
                c->end[way] = k->tcp.end;
            c->has_end[way] = true;
        }
    }
}
