/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults of calls and requests. A request that is to fail gets a list of pieces that no region has: the
 * engine ends it, in its turn and after those before it, with LOC_PROT_ERR, and does with the queue pair and
 * with the requests behind it all that an error does. When its completion is taken, it gets the status that
 * the rule wants. */
#include "verbs/faults/faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/error.h"

#define NO_KEY      0xffffffffu
#define BYTES_LEAST 8 /* of an atomic; of others as good as any */

/* --- what is asked for --- */

static struct {
    pthread_once_t once;
    struct verbs_faults faults;
    bool is_wanted;
    int err;
    struct nornic_error why;
} asked = {.once = PTHREAD_ONCE_INIT};

/* The text of a file into `out`, with a zero behind it. */
static int read_file(const char *path, char *out, size_t out_bytes, struct nornic_error *why)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return net_error_set(why, errno, "NORNIC_FAULTS: the file %s cannot be opened: %s", path,
                             strerror(errno));
    size_t got = fread(out, 1, out_bytes, file);
    int err = ferror(file) ? EIO : 0;
    fclose(file);
    if (err)
        return net_error_set(why, err, "NORNIC_FAULTS: the file %s cannot be read", path);
    if (got == out_bytes)
        return net_error_set(why, EINVAL, "NORNIC_FAULTS: the file %s is longer than %d bytes", path,
                             VERBS_FAULT_TEXT_MAX);
    out[got] = '\0';
    return 0;
}

static void ask(void)
{
    static char text[VERBS_FAULT_TEXT_MAX + 1];
    const char *wanted = getenv("NORNIC_FAULTS");
    if (!wanted || !*wanted)
        return;
    if (*wanted == '@') {
        asked.err = read_file(wanted + 1, text, sizeof text, &asked.why);
        wanted = text;
    }
    if (!asked.err)
        asked.err = verbs_faults_parse(wanted, &asked.faults, &asked.why);
    asked.is_wanted = !asked.err && asked.faults.count;
}

int verbs_faults_get(struct verbs_faults **out, struct nornic_error *why)
{
    pthread_once(&asked.once, ask);
    *out = asked.is_wanted ? &asked.faults : NULL;
    if (asked.err)
        *why = asked.why;
    return asked.err;
}

/* --- which --- */

/* Spreads the bits of a number (the finalizer of SplitMix64). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Counts one that the rule is about; whether it hits it. *number is its number. */
static bool hits(struct verbs_faults *faults, struct verbs_fault_rule *rule, uint64_t *number)
{
    uint64_t n = *number = atomic_fetch_add(&rule->seen, 1) + 1;
    if (rule->nth)
        return rule->is_every ? n % rule->nth == 0 : n == rule->nth;
    uint64_t draw = mix(faults->seed + mix((uint64_t)(rule - faults->rules) << 32) + n * 0x9e3779b97f4a7c15u);
    return draw % 1000000 < rule->ppm;
}

int verbs_fault_alloc(struct verbs_faults *faults, enum verbs_fault_object object)
{
#define NAME_(name) #name,
    static const char *const names[] = {VERBS_FAULT_OBJECTS(NAME_)};
#undef NAME_
    uint64_t number;
    int err = 0;
    for (unsigned i = 0; faults && i < faults->count; i++) {
        struct verbs_fault_rule *rule = &faults->rules[i];
        if (rule->kind != VERBS_FAULT_ALLOC || rule->object != object || !hits(faults, rule, &number) || err)
            continue;
        err = rule->err;
        verbs_tell("fault of line %u: allocation %llu of %s fails", rule->line, (unsigned long long)number,
                   names[object]);
    }
    return err;
}

uint64_t verbs_fault_delay_ns(const struct verbs_faults *faults)
{
    uint64_t delay_ns = 0;
    for (unsigned i = 0; faults && i < faults->count; i++)
        if (faults->rules[i].kind == VERBS_FAULT_DELAY)
            delay_ns = faults->rules[i].delay_ns;
    return delay_ns;
}

/* --- requests --- */

/* One that will fail. */
struct verbs_fated {
    LIST_ENTRY(verbs_fated) entry;
    uint32_t qp_num; /* 0: whichever takes it from an SRQ */
    uint64_t wr_id;
    enum nornic_wc_status status;
};

static enum verbs_fault_operation operation_of(enum nornic_wr_opcode opcode)
{
    switch (opcode) {
    case NORNIC_WR_RDMA_WRITE:
    case NORNIC_WR_RDMA_WRITE_WITH_IMM:
        return VERBS_FAULT_OP_WRITE;
    case NORNIC_WR_SEND:
    case NORNIC_WR_SEND_WITH_IMM:
    case NORNIC_WR_SEND_WITH_INV:
        return VERBS_FAULT_OP_SEND;
    case NORNIC_WR_RDMA_READ:
        return VERBS_FAULT_OP_READ;
    case NORNIC_WR_ATOMIC_CMP_AND_SWP:
    case NORNIC_WR_ATOMIC_FETCH_AND_ADD:
    case NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP:
    case NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD:
        return VERBS_FAULT_OP_ATOMIC;
    case NORNIC_WR_BIND_MW:
        return VERBS_FAULT_OP_BIND;
    case NORNIC_WR_LOCAL_INV:
        return VERBS_FAULT_OP_INVALIDATE;
    case NORNIC_WR_REG_MR:
    case NORNIC_WR_IMM:
        break;
    }
    return VERBS_FAULT_OP_REQUEST;
}

static bool is_about(const struct verbs_fault_rule *rule, const struct verbs_qp *qp,
                     enum verbs_fault_operation operation)
{
    if (rule->kind != VERBS_FAULT_REQUEST)
        return false;
    if (rule->operation != operation &&
        (rule->operation != VERBS_FAULT_OP_REQUEST || operation == VERBS_FAULT_OP_RECV))
        return false;
    if (rule->has_qp_num)
        return qp && qp->base.qp_base.qp_num == rule->qp_num;
    return !rule->qp_nth || (qp && qp->serial == rule->qp_nth);
}

/* Whether this request is to fail; then that is written down. */
static bool is_fated(struct verbs_context_own *own, const struct verbs_qp *qp,
                     enum verbs_fault_operation operation, uint64_t wr_id)
{
    uint32_t qp_num = qp ? qp->base.qp_base.qp_num : 0;
    const struct verbs_fault_rule *by = NULL;
    uint64_t number = 0, of_it;
    for (unsigned i = 0; i < own->faults->count; i++) {
        struct verbs_fault_rule *rule = &own->faults->rules[i];
        if (!is_about(rule, qp, operation) || !hits(own->faults, rule, &of_it) || by)
            continue;
        by = rule;
        number = of_it;
    }
    struct verbs_fated *fated = by ? calloc(1, sizeof *fated) : NULL;
    if (!fated)
        return false;
    *fated = (struct verbs_fated){.qp_num = qp_num, .wr_id = wr_id, .status = by->status};
    pthread_mutex_lock(&own->lock);
    LIST_INSERT_HEAD(&own->fated, fated, entry);
    pthread_mutex_unlock(&own->lock);
    verbs_tell("fault of line %u: request 0x%llx of queue pair 0x%06x, number %llu, will end with %s",
               by->line, (unsigned long long)wr_id, qp_num, (unsigned long long)number,
               nornic_wc_status_name(by->status));
    return true;
}

static const struct nornic_sge nowhere = {.addr = 0, .len_bytes = BYTES_LEAST, .lkey = NO_KEY};

void verbs_fault_send(struct verbs_qp *qp, struct nornic_send_wr *wr)
{
    struct verbs_context_own *own = verbs_own(qp->base.qp_base.context);
    if (!is_fated(own, qp, operation_of(wr->opcode), wr->wr_id))
        return;
    wr->opcode = NORNIC_WR_SEND;
    wr->send_flags &= ~(uint32_t)NORNIC_SEND_INLINE;
    wr->sg_list = &nowhere;
    wr->num_sge = 1;
}

void verbs_fault_recv(struct verbs_context_own *own, struct verbs_qp *qp, struct nornic_recv_wr *wr)
{
    if (!is_fated(own, qp, VERBS_FAULT_OP_RECV, wr->wr_id))
        return;
    wr->sg_list = &nowhere;
    wr->num_sge = 1;
}

void verbs_fault_wc(struct verbs_context_own *own, struct nornic_wc *wc)
{
    struct verbs_fated *fated;
    pthread_mutex_lock(&own->lock);
    for (fated = LIST_FIRST(&own->fated); fated; fated = LIST_NEXT(fated, entry))
        if (fated->wr_id == wc->wr_id && (fated->qp_num == wc->qp_num || !fated->qp_num))
            break;
    if (fated)
        LIST_REMOVE(fated, entry);
    pthread_mutex_unlock(&own->lock);
    if (fated && wc->status != NORNIC_WC_WR_FLUSH_ERR) /* else it was not reached */
        wc->status = fated->status;
    free(fated);
}
