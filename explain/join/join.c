/* SPDX-License-Identifier: BSD-2-Clause */
/* From two captures read to one: the steps in their order, and the walk through both. */
#include "explain/join/join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "explain/join/fate/fate.h"
#include "explain/join/fate/sum.h"
#include "explain/join/keep/digest.h"
#include "explain/join/keep/group.h"
#include "explain/join/keep/segment.h"
#include "explain/join/keep/twice.h"
#include "explain/join/match/align.h"
#include "explain/join/match/damaged.h"
#include "explain/join/match/match.h"
#include "explain/join/match/order.h"
#include "explain/join/match/recut.h"

#define MAX_BYTES (UINT64_C(1) << 30)

static const char *const says[] = {
    [JOIN_SAYS_NOTHING] = "", [JOIN_SAYS_COVERS] = "acknowledges it", [JOIN_SAYS_ASKS] = "asks for it"};

static const char *const fate_keys[EXPLAIN_FATE_COUNT] = {
#define ROW(id, key) [EXPLAIN_FATE_##id] = key,
    EXPLAIN_FATES(ROW)
#undef ROW
};

const char *explain_fate_key(enum explain_fate fate)
{
    return fate_keys[fate];
}

struct explain_join *explain_join_create(uint64_t max_bytes)
{
    struct explain_join *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->max_bytes = max_bytes ? max_bytes : MAX_BYTES;
    for (unsigned side = 0; side < 2; side++)
        j->side[side].analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    if (j->side[0].analysis && j->side[1].analysis)
        return j;
    explain_join_destroy(j);
    return NULL;
}

/* Frees the objects that only reading needs. */
static void end_reading(struct join_side *s)
{
    if (s->analysis)
        explain_analysis_destroy(s->analysis);
    s->analysis = NULL;
}

static void end_matching(struct explain_join *j)
{
    free(j->groups);
    j->groups = NULL;
    j->group_count = 0;
    for (unsigned side = 0; side < 2; side++) {
        free(j->side[side].next);
        j->side[side].next = NULL;
    }
}

void explain_join_destroy(struct explain_join *j)
{
    end_matching(j);
    for (unsigned side = 0; side < 2; side++) {
        end_reading(&j->side[side]);
        free(j->side[side].packets);
        free(j->side[side].newest_psn);
        free(j->number[side]);
    }
    free(j->fates);
    free(j->sures);
    free(j->conns);
    free(j->conn_table);
    free(j->lanes);
    free(j->lane_table);
    free(j);
}

/* --- the walk --- */

/* The next packet of that capture that is shown; JOIN_NONE: there is none. */
static uint32_t next_shown(struct explain_join *j, unsigned side)
{
    struct join_side *s = &j->side[side];
    while (s->at < s->count && !join_is_shown_by(j, side, &s->packets[s->at]))
        s->at++;
    return s->at < s->count ? s->at : JOIN_NONE;
}

/* The next packet by time; each capture keeps its own order. */
static uint32_t next_of_both(struct explain_join *j, unsigned *side)
{
    uint32_t a = next_shown(j, 0), b = next_shown(j, 1);
    if (a == JOIN_NONE && b == JOIN_NONE)
        return JOIN_NONE;
    *side = a == JOIN_NONE || (b != JOIN_NONE && join_time_ns(j, 1, j->side[1].packets[b].time_ns) <
                                                     j->side[0].packets[a].time_ns);
    return j->side[*side].at++;
}

/* Numbers all packets in the order of the walk: one may speak of another that comes later. */
static int number(struct explain_join *j)
{
    unsigned side;
    uint32_t i, n = 0;
    for (side = 0; side < 2; side++)
        j->number[side] = calloc((size_t)j->side[side].count + 1, sizeof *j->number[side]);
    j->fates = malloc((size_t)j->side[0].count + j->side[1].count + 1);
    j->sures = malloc((size_t)j->side[0].count + j->side[1].count + 1);
    if (!j->number[0] || !j->number[1] || !j->fates || !j->sures)
        return -ENOMEM;
    while ((i = next_of_both(j, &side)) != JOIN_NONE) {
        const struct join_packet *p = &j->side[side].packets[i];
        j->fates[n] = p->fate.kind;
        j->sures[n] = p->fate.sure;
        j->number[side][i] = ++n;
        if (p->match.other != JOIN_NONE && !p->match.is_copy)
            j->number[!side][p->match.other] = n;
    }
    j->side[0].at = j->side[1].at = 0;
    j->last_number = n;
    return 0;
}

bool explain_join_fate(const struct explain_join *j, uint64_t number, enum explain_fate *fate,
                       enum explain_sure *sure)
{
    if (number < 1 || number > j->last_number)
        return false;
    *fate = (enum explain_fate)j->fates[number - 1];
    *sure = (enum explain_sure)j->sures[number - 1];
    return true;
}

static void see(const struct explain_join *j, struct explain_join_place *place, unsigned side, uint32_t i)
{
    const struct join_packet *p = &j->side[side].packets[i];
    place->record[side] = p->record;
    place->train_packet[side] = p->train_packet;
    place->own_ns[side] = p->time_ns;
    place->time_ns[side] = join_time_ns(j, side, p->time_ns);
}

bool explain_join_step(struct explain_join *j, struct explain_join_place *place)
{
    unsigned side;
    uint32_t i = next_of_both(j, &side);
    if (i == JOIN_NONE)
        return false;
    const struct join_packet *p = &j->side[side].packets[i];
    int from = j->lanes[p->lane].from;
    *place = (struct explain_join_place){.number = ++j->numbers,
                                         .side = side,
                                         .from = from < 0 ? side : (unsigned)from,
                                         .fate = p->fate.kind,
                                         .sure = p->fate.sure,
                                         .or_fate = p->fate.or_kind,
                                         .may_have_arrived = p->fate.may_be_equal,
                                         .is_overtaken = p->fate.is_overtaken,
                                         .part_bytes = p->tcp.part_bytes,
                                         .evidence = says[p->fate.says]};
    see(j, place, side, i);
    if (p->match.other != JOIN_NONE && !p->match.is_copy)
        see(j, place, !side, p->match.other);
    if (p->match.is_copy)
        place->related = j->number[!side][p->match.other];
    else if (p->fate.proof != JOIN_NONE)
        place->related = j->number[!side][p->fate.proof];
    if (p->match.is_copy)
        place->delay_ns = join_delay_ns(j, !side, j->side[!side].packets[p->match.other].time_ns, p->time_ns);
    else if (p->match.other != JOIN_NONE)
        place->delay_ns = (int64_t)(place->time_ns[!place->from] - place->time_ns[place->from]);
    return true;
}

/* --- laying together --- */

/* Addresses of the capture's first lane, for a sentence. */
static void describe(const struct explain_join *j, unsigned side, char *text, size_t size)
{
    char src[NORNIC_ADDR_STR_SIZE], dst[NORNIC_ADDR_STR_SIZE];
    const struct join_side *s = &j->side[side];
    if (!s->count) {
        snprintf(text, size, "has no packet of RoCE or iWARP in %" PRIu64 " records", s->records);
        return;
    }
    const struct join_lane *l = &j->lanes[s->packets[0].lane];
    snprintf(text, size, "has %u packets of RDMA, the first from %s to %s", s->count,
             nornic_addr_str(&l->src, src), nornic_addr_str(&l->dst, dst));
}

static int explain_nothing(const struct explain_join *j, struct nornic_error *why)
{
    char a[200], b[200];
    describe(j, 0, a, sizeof a);
    describe(j, 1, b, sizeof b);
    bool has_lane = false, has_same = false;
    for (uint32_t i = 0; i < j->side[1].count && !has_lane && j->side[0].count; i++)
        has_lane = j->side[1].packets[i].lane == j->side[0].packets[0].lane;
    for (uint32_t i = 0; i < j->group_count; i++)
        has_same |= j->groups[i].count[0] && j->groups[i].count[1];
    const char *differs =
        !j->side[0].count || !j->side[1].count ? ""
        : has_same
            ? ": what is the same is in one more often than in the other, and nothing tells which is which"
        : has_lane ? ": the same addresses, but no packet is the same: not of the same time?"
                   : ": their addresses differ: not the same traffic, or translated (NAT)";
    return net_error_set(why, ENODATA, "the first %s; the second %s%s", a, b, differs);
}

/* Groups the packets, each of which either capture then holds as often as it passed. */
static int group_once(struct explain_join *j)
{
    bool has_dropped = true;
    int err = 0;
    while (has_dropped && !err) {
        end_matching(j);
        err = join_group(j);
        if (!err)
            err = join_drop_twice(j, &has_dropped);
    }
    if (!err)
        join_learn(j);
    return err;
}

int explain_join_take(struct explain_join *j, unsigned side, struct explain_packet *packet)
{
    return join_take(j, side, packet);
}

int explain_join_finish(struct explain_join *j, struct nornic_error *why)
{
    int err = 0;
    for (unsigned side = 0; side < 2 && !err; side++) {
        err = join_map_streams(&j->side[side]);
        end_reading(&j->side[side]);
    }
    if (!err)
        err = join_keep_iwarp(j);
    if (!err)
        err = group_once(j);
    if (!err)
        err = join_align(j);
    if (err == -ENODATA)
        return explain_nothing(j, why);
    if (!err)
        err = join_match(j);
    if (!err)
        join_settle(j);
    if (!err)
        err = join_match_recut(j);
    if (!err)
        err = join_match_damaged(j);
    end_matching(j);
    if (!err)
        err = join_judge(j);
    if (!err)
        err = join_sum(j);
    if (!err)
        err = number(j);
    return err ? net_error_set(why, ENOMEM, "out of memory") : 0;
}

const struct explain_join_summary *explain_join_summary(const struct explain_join *j)
{
    return &j->summary;
}
