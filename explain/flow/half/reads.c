/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/half/reads.h"

#include <stdlib.h>

#include "roce/psn.h"

#define READS_FIRST 4
#define READS_MAX   64

static bool grow(struct explain_reads *reads)
{
    uint32_t size = reads->size ? 4 * reads->size : READS_FIRST;
    struct explain_read *list = calloc(size, sizeof *list);
    if (!list)
        return false;
    for (uint32_t i = 0; i < reads->size; i++)
        list[i] = reads->list[(reads->next + i) % reads->size];
    free(reads->list);
    reads->list = list;
    reads->next = reads->size;
    reads->size = size;
    return true;
}

struct explain_read *explain_read_add(struct explain_reads *reads)
{
    if (reads->size == 0 || (reads->list[reads->next].number && reads->size < READS_MAX))
        if (!grow(reads))
            return NULL;
    struct explain_read *r = &reads->list[reads->next];
    if (r->number)
        explain_horizon_move(&reads->horizon, roce_psn_add(r->psn, r->span));
    reads->next = (reads->next + 1) % reads->size;
    *r = (struct explain_read){0};
    return r;
}

struct explain_read *explain_read_aged(const struct explain_reads *reads, uint32_t age)
{
    if (age > reads->size)
        return NULL;
    struct explain_read *r = &reads->list[(reads->next + reads->size - age) % reads->size];
    return r->number ? r : NULL;
}

struct explain_read *explain_read_find(const struct explain_reads *reads, uint32_t psn)
{
    struct explain_read *r;
    for (uint32_t age = 1; (r = explain_read_aged(reads, age)); age++)
        if (((psn - r->psn) & ROCE_PSN_MASK) < r->span)
            return r;
    return NULL;
}

struct explain_read *explain_read_last(const struct explain_reads *reads, uint32_t next_psn)
{
    struct explain_read *r;
    for (uint32_t age = 1; (r = explain_read_aged(reads, age)); age++)
        if (roce_psn_add(r->psn, r->span) == next_psn)
            return r;
    return NULL;
}

size_t explain_reads_bytes(const struct explain_reads *reads)
{
    return reads->size * sizeof *reads->list;
}

void explain_reads_free(struct explain_reads *reads)
{
    free(reads->list);
}
