/* SPDX-License-Identifier: BSD-2-Clause */
/* The history of one direction of a flow: request packets by PSN.
 *
 * A capture may hold a few flows of a million packets each, or a million flows of one packet each. Memory
 * has to do for both. So the history is a ring that begins empty and grows with the packets, as the rings of
 * READs and answers do. Its cost is that of the packets that were seen. The PSNs between them cost nothing,
 * since a peer chooses them. Chains hang on PSN mod size, so packets in sequence have a chain each. */
#include "explain/flow/half/history.h"

#include <stdlib.h>

#include "roce/psn.h"

#define SENT_FIRST 4
#define SENT_MAX   8192
#define ABOUT      16 /* PSNs behind one that is not here, among which the time of sending is looked for */

static uint16_t *chain_of(const struct explain_history *h, uint32_t psn)
{
    return &h->chains[psn & (h->size - 1)];
}

static void hang(struct explain_history *h, uint32_t i)
{
    uint16_t *chain = chain_of(h, h->sent[i].psn);
    h->sent[i].link = *chain;
    *chain = (uint16_t)(i + 1);
}

static void unhang(struct explain_history *h, uint32_t i)
{
    uint16_t *at = chain_of(h, h->sent[i].psn);
    while (*at != i + 1)
        at = &h->sent[*at - 1].link;
    *at = h->sent[i].link;
}

/* Makes the ring twice as large, with the oldest first in it. */
static bool grow_sent(struct explain_history *h)
{
    uint32_t size = h->size ? 2 * h->size : SENT_FIRST;
    struct explain_sent *sent = calloc(size, sizeof *sent);
    uint16_t *chains = calloc(size, sizeof *chains);
    if (!sent || !chains) {
        free(sent);
        free(chains);
        return false;
    }
    for (uint32_t i = 0; i < h->size; i++)
        sent[i] = h->sent[(h->next + i) & (h->size - 1)];
    free(h->sent);
    free(h->chains);
    h->sent = sent;
    h->chains = chains;
    h->next = h->size;
    h->size = size;
    for (uint32_t i = 0; i < h->next; i++)
        hang(h, i);
    return true;
}

/* Returns whether the entry that would be forgotten next is still of use. */
static bool is_oldest_wanted(const struct explain_history *h, uint32_t kept)
{
    const struct explain_sent *s = &h->sent[h->next];
    return s->number && (h->size < kept || !s->is_answered);
}

void explain_horizon_move(struct explain_horizon *horizon, uint32_t end_psn)
{
    if (!horizon->is_there || roce_psn_diff(end_psn, horizon->psn) > 0)
        horizon->psn = end_psn;
    horizon->is_there = true;
}

bool explain_horizon_hides(const struct explain_horizon *horizon, uint32_t psn)
{
    return horizon->is_there && roce_psn_diff(psn, horizon->psn) < 0;
}

struct explain_sent *explain_sent_slot(struct explain_history *h, uint32_t psn, uint32_t kept)
{
    struct explain_sent *s = explain_sent_find(h, psn);
    if (s)
        return s;
    if ((h->size == 0 || (h->size < SENT_MAX && is_oldest_wanted(h, kept))) && !grow_sent(h))
        return NULL;
    uint32_t i = h->next;
    h->next = (i + 1) & (h->size - 1);
    if (h->sent[i].number) {
        explain_horizon_move(&h->horizon, roce_psn_add(h->sent[i].psn, 1));
        unhang(h, i);
    }
    h->sent[i] = (struct explain_sent){.psn = psn};
    hang(h, i);
    return &h->sent[i];
}

struct explain_sent *explain_sent_find(const struct explain_history *h, uint32_t psn)
{
    if (h->size == 0)
        return NULL;
    for (uint32_t i = *chain_of(h, psn); i; i = h->sent[i - 1].link)
        if (h->sent[i - 1].psn == psn)
            return &h->sent[i - 1];
    return NULL;
}

void explain_sent_answered(struct explain_history *h, uint32_t from, uint32_t end)
{
    uint32_t count = (end - from) & ROCE_PSN_MASK;
    if (count <= h->size) {
        for (; from != end; from = roce_psn_add(from, 1)) {
            struct explain_sent *s = explain_sent_find(h, from);
            if (s)
                s->is_answered = true;
        }
        return;
    }
    for (uint32_t i = 0; i < h->size; i++)
        if (((h->sent[i].psn - from) & ROCE_PSN_MASK) < count)
            h->sent[i].is_answered = true;
}

uint64_t explain_sent_about_ns(const struct explain_history *h, uint32_t psn)
{
    for (uint32_t i = 1; i <= ABOUT; i++) {
        const struct explain_sent *s = explain_sent_find(h, roce_psn_add(psn, i));
        if (s)
            return s->first_ns;
    }
    return 0;
}

size_t explain_history_bytes(const struct explain_history *h)
{
    return h->size * (sizeof *h->sent + sizeof *h->chains);
}

void explain_history_free(struct explain_history *h)
{
    free(h->sent);
    free(h->chains);
}
