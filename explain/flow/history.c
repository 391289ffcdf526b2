/* SPDX-License-Identifier: BSD-2-Clause */
/* What is remembered of one direction of a flow: request packets by PSN, READs, answers.
 *
 * A capture may hold a few flows of a million packets each, or a million flows of a packet each, and memory
 * is to do for both. So each of the three is a ring that begins with nothing and grows while there is more to
 * remember: its cost is that of the packets that were seen, never that of the PSNs between them, which a peer
 * chooses. Request packets are also found by PSN: chains hang on PSN mod size, so that packets in sequence,
 * which is what nearly all are, have a chain each. */
#include "explain/flow/flow.h"

#include <stdlib.h>

#include "roce/psn.h"

#define SENT_FIRST  4
#define SENT_LEAST  64  /* remembered also when they are answered: their copies may come */
#define SENT_AGAIN  512 /* likewise, where packets were sent again already: a whole window may be */
#define SENT_MAX    8192
#define READS_FIRST 4
#define READS_MAX   64

/* --- request packets --- */

static uint16_t *chain_of(const struct explain_half *half, uint32_t psn)
{
    return &half->history.chains[psn & (half->history.size - 1)];
}

static void hang(struct explain_half *half, uint32_t i)
{
    uint16_t *chain = chain_of(half, half->history.sent[i].psn);
    half->history.sent[i].link = *chain;
    *chain = (uint16_t)(i + 1);
}

static void unhang(struct explain_half *half, uint32_t i)
{
    uint16_t *at = chain_of(half, half->history.sent[i].psn);
    while (*at != i + 1)
        at = &half->history.sent[*at - 1].link;
    *at = half->history.sent[i].link;
}

/* A ring twice as large, the oldest first in it. */
static bool grow_sent(struct explain_half *half)
{
    uint32_t size = half->history.size ? 2 * half->history.size : SENT_FIRST;
    struct explain_sent *sent = calloc(size, sizeof *sent);
    uint16_t *chains = calloc(size, sizeof *chains);
    if (!sent || !chains) {
        free(sent);
        free(chains);
        return false;
    }
    for (uint32_t i = 0; i < half->history.size; i++)
        sent[i] = half->history.sent[(half->history.next + i) & (half->history.size - 1)];
    free(half->history.sent);
    free(half->history.chains);
    half->history.sent = sent;
    half->history.chains = chains;
    half->history.next = half->history.size;
    half->history.size = size;
    for (uint32_t i = 0; i < half->history.next; i++)
        hang(half, i);
    return true;
}

/* Whether the entry that would be forgotten next is still of use. */
static bool is_oldest_wanted(const struct explain_half *half)
{
    const struct explain_sent *s = &half->history.sent[half->history.next];
    return s->number && (half->history.size < (half->recovery ? SENT_AGAIN : SENT_LEAST) || !s->is_answered);
}

static void note_forgotten(struct explain_horizon *horizon, uint32_t end_psn)
{
    if (!horizon->is_there || roce_psn_diff(end_psn, horizon->psn) > 0)
        horizon->psn = end_psn;
    horizon->is_there = true;
}

struct explain_sent *explain_sent_slot(struct explain_half *half, uint32_t psn)
{
    struct explain_sent *s = explain_sent_find(half, psn);
    if (s)
        return s;
    if ((half->history.size == 0 || (half->history.size < SENT_MAX && is_oldest_wanted(half))) &&
        !grow_sent(half))
        return NULL;
    uint32_t i = half->history.next;
    half->history.next = (i + 1) & (half->history.size - 1);
    if (half->history.sent[i].number) {
        note_forgotten(&half->history.horizon, roce_psn_add(half->history.sent[i].psn, 1));
        unhang(half, i);
    }
    half->history.sent[i] = (struct explain_sent){.psn = psn};
    hang(half, i);
    return &half->history.sent[i];
}

struct explain_sent *explain_sent_find(const struct explain_half *half, uint32_t psn)
{
    if (half->history.size == 0)
        return NULL;
    for (uint32_t i = *chain_of(half, psn); i; i = half->history.sent[i - 1].link)
        if (half->history.sent[i - 1].psn == psn)
            return &half->history.sent[i - 1];
    return NULL;
}

void explain_sent_answered(struct explain_half *half, uint32_t from, uint32_t end)
{
    uint32_t count = (end - from) & ROCE_PSN_MASK;
    if (count <= half->history.size) {
        for (; from != end; from = roce_psn_add(from, 1)) {
            struct explain_sent *s = explain_sent_find(half, from);
            if (s)
                s->is_answered = true;
        }
        return;
    }
    for (uint32_t i = 0; i < half->history.size; i++)
        if (((half->history.sent[i].psn - from) & ROCE_PSN_MASK) < count)
            half->history.sent[i].is_answered = true;
}

/* --- READs and atomics --- */

static bool grow_reads(struct explain_half *half)
{
    uint32_t size = half->reads.size ? 4 * half->reads.size : READS_FIRST;
    struct explain_read *reads = calloc(size, sizeof *reads);
    if (!reads)
        return false;
    for (uint32_t i = 0; i < half->reads.size; i++)
        reads[i] = half->reads.list[(half->reads.next + i) % half->reads.size];
    free(half->reads.list);
    half->reads.list = reads;
    half->reads.next = half->reads.size;
    half->reads.size = size;
    return true;
}

struct explain_read *explain_read_add(struct explain_half *half)
{
    if (half->reads.size == 0 || (half->reads.list[half->reads.next].number && half->reads.size < READS_MAX))
        if (!grow_reads(half))
            return NULL;
    struct explain_read *r = &half->reads.list[half->reads.next];
    if (r->number)
        note_forgotten(&half->history.horizon, roce_psn_add(r->psn, r->span));
    half->reads.next = (half->reads.next + 1) % half->reads.size;
    *r = (struct explain_read){0};
    return r;
}

struct explain_read *explain_read_aged(const struct explain_half *half, uint32_t age)
{
    if (age > half->reads.size)
        return NULL;
    struct explain_read *r =
        &half->reads.list[(half->reads.next + half->reads.size - age) % half->reads.size];
    return r->number ? r : NULL;
}

struct explain_read *explain_read_find(const struct explain_half *half, uint32_t psn)
{
    struct explain_read *r;
    for (uint32_t age = 1; (r = explain_read_aged(half, age)); age++)
        if (((psn - r->psn) & ROCE_PSN_MASK) < r->span)
            return r;
    return NULL;
}

struct explain_read *explain_read_last(const struct explain_half *half)
{
    struct explain_read *r;
    for (uint32_t age = 1; (r = explain_read_aged(half, age)); age++)
        if (roce_psn_add(r->psn, r->span) == half->asks.next_psn)
            return r;
    return NULL;
}

bool explain_read_may_end_early(const struct explain_pair *pair, const struct explain_read *read,
                                uint32_t index)
{
    const struct explain_half *half = pair->half;
    return index + 1 < read->span && (pair->shown.selective_acks[0] || pair->shown.selective_acks[1] ||
                                      half[0].reads.is_in_parts || half[1].reads.is_in_parts);
}

bool explain_is_asked(const struct explain_half *half, uint32_t psn)
{
    return explain_sent_find(half, psn) || explain_read_find(half, psn);
}

bool explain_was_not_asked(const struct explain_half *half, uint32_t psn)
{
    bool may_be_forgotten =
        half->history.horizon.is_there && roce_psn_diff(psn, half->history.horizon.psn) < 0;
    return !may_be_forgotten && !explain_is_asked(half, psn);
}

/* --- answers --- */

struct explain_answer *explain_answer_add(struct explain_half *half)
{
    if (!half->answers.kept)
        half->answers.kept = calloc(EXPLAIN_ANSWERS_MAX, sizeof *half->answers.kept);
    if (!half->answers.kept)
        return NULL;
    struct explain_answer *a = &half->answers.kept[half->answers.next];
    half->answers.next = (half->answers.next + 1) % EXPLAIN_ANSWERS_MAX;
    *a = (struct explain_answer){0};
    return a;
}

/* --- all of it --- */

size_t explain_half_bytes(const struct explain_half *half)
{
    return half->history.size * (sizeof *half->history.sent + sizeof *half->history.chains) +
           half->reads.size * sizeof *half->reads.list +
           (half->answers.kept ? EXPLAIN_ANSWERS_MAX * sizeof *half->answers.kept : 0) +
           (half->acks.progress ? EXPLAIN_PROGRESS_KEPT * sizeof *half->acks.progress : 0) +
           (half->recovery ? sizeof *half->recovery : 0) + (half->early ? sizeof *half->early : 0) +
           (half->selective ? sizeof *half->selective : 0) + explain_carried_bytes(&half->carried);
}

void explain_half_free(struct explain_half *half)
{
    free(half->history.sent);
    free(half->history.chains);
    free(half->reads.list);
    free(half->answers.kept);
    free(half->acks.progress);
    free(half->recovery);
    free(half->early);
    free(half->selective);
    explain_carried_free(&half->carried);
}
