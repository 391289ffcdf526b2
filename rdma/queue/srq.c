/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/srq.h"

#include <errno.h>
#include <string.h>

#include "rdma/memory/domain.h"
#include "rdma/queue/recv_ring.h"

struct rdma_srq {
    struct rdma_pd *pd;
    struct rdma_recv_ring ring;
    uint32_t users; /* QPs */
    uint32_t limit; /* armed; 0: none */
    atomic_bool in_error;
    void *ctx;
    struct rdma_xrcd *xrcd; /* XRC, else NULL */
    struct rdma_cq *cq;
    uint32_t number;
};

static int become_xrc(struct rdma_srq *srq, const struct rdma_srq_config *config)
{
    int err = rdma_xrc_number_take(srq->pd->domain, srq, &srq->number);
    if (err)
        return err;
    srq->xrcd = config->xrcd;
    srq->cq = config->cq;
    rdma_xrcd_get(srq->xrcd);
    rdma_cq_get(srq->cq);
    return 0;
}

static bool config_is_valid(const struct rdma_pd *pd, const struct rdma_srq_config *config)
{
    if (!config->xrcd != !config->cq || (config->xrcd && rdma_xrcd_domain(config->xrcd) != pd->domain))
        return false;
    return config->max_wr != 0 && config->max_wr <= RDMA_SRQ_MAX_WR && config->max_sge <= RDMA_SRQ_MAX_SGE;
}

int rdma_srq_create(struct rdma_pd *pd, const struct rdma_srq_config *config, struct rdma_srq **out)
{
    const struct rdma_mem *mem = &pd->domain->mem;
    if (!config_is_valid(pd, config))
        return -EINVAL;
    struct rdma_srq *srq = mem->alloc(mem->ctx, sizeof *srq);
    if (!srq)
        return -ENOMEM;
    srq->pd = pd;
    srq->ctx = config->ctx;
    int err = rdma_recv_ring_init(&srq->ring, mem, config->max_wr, config->max_sge);
    if (!err && config->xrcd)
        err = become_xrc(srq, config);
    if (err) {
        rdma_recv_ring_deinit(&srq->ring, mem);
        mem->free(mem->ctx, srq);
        return err;
    }
    rdma_pd_get(pd);
    *out = srq;
    return 0;
}

int rdma_srq_destroy(struct rdma_srq *srq)
{
    struct rdma_pd *pd = srq->pd;
    const struct rdma_mem *mem = &pd->domain->mem;
    if (srq->users != 0)
        return -EBUSY;
    if (srq->xrcd) {
        rdma_xrc_number_give(pd->domain, srq->number);
        rdma_cq_put(srq->cq);
        rdma_xrcd_put(srq->xrcd);
    }
    rdma_recv_ring_deinit(&srq->ring, mem);
    mem->free(mem->ctx, srq);
    rdma_pd_put(pd);
    return 0;
}

uint32_t rdma_srq_number(const struct rdma_srq *srq)
{
    return srq->number;
}

struct rdma_xrcd *rdma_srq_xrcd(const struct rdma_srq *srq)
{
    return srq->xrcd;
}

struct rdma_cq *rdma_srq_cq(const struct rdma_srq *srq)
{
    return srq->cq;
}

void *rdma_srq_ctx(const struct rdma_srq *srq)
{
    return srq->ctx;
}

int rdma_srq_post(struct rdma_srq *srq, const struct nornic_recv_wr *wr, const struct nornic_recv_wr **bad)
{
    int err = atomic_load_explicit(&srq->in_error, memory_order_relaxed) ? -EINVAL : 0;
    while (wr && !err) {
        err = rdma_recv_ring_post(&srq->ring, wr);
        if (!err)
            wr = wr->next;
    }
    if (err && bad)
        *bad = wr;
    return err;
}

static void report(struct rdma_srq *srq, enum nornic_event_type type)
{
    rdma_domain_event(srq->pd->domain, &(struct rdma_event){.type = type, .srq = srq});
}

/* ROCE-RS-71: once, and disarmed by it. */
static void check_limit(struct rdma_srq *srq)
{
    if (srq->limit == 0 || rdma_recv_ring_count(&srq->ring) >= srq->limit)
        return;
    srq->limit = 0;
    report(srq, NORNIC_EVENT_SRQ_LIMIT_REACHED);
}

int rdma_srq_set_limit(struct rdma_srq *srq, uint32_t limit)
{
    if (limit > srq->ring.size)
        return -EINVAL;
    srq->limit = limit;
    check_limit(srq);
    return 0;
}

int rdma_srq_resize(struct rdma_srq *srq, uint32_t max_wr)
{
    const struct rdma_mem *mem = &srq->pd->domain->mem;
    struct rdma_recv_ring fresh;
    if (max_wr == 0 || max_wr > RDMA_SRQ_MAX_WR || max_wr < srq->limit ||
        max_wr < rdma_recv_ring_count(&srq->ring))
        return -EINVAL;
    int err = rdma_recv_ring_init(&fresh, mem, max_wr, srq->ring.max_sge);
    if (err)
        return err;
    rdma_recv_ring_copy(&fresh, &srq->ring);
    rdma_recv_ring_deinit(&srq->ring, mem);
    srq->ring.wqes = fresh.wqes;
    srq->ring.sges = fresh.sges;
    srq->ring.size = fresh.size;
    return 0;
}

uint32_t rdma_srq_capacity(const struct rdma_srq *srq)
{
    return srq->ring.size;
}

uint32_t rdma_srq_limit(const struct rdma_srq *srq)
{
    return srq->limit;
}

uint32_t rdma_srq_count(const struct rdma_srq *srq)
{
    return rdma_recv_ring_count(&srq->ring);
}

void rdma_srq_fail(struct rdma_srq *srq)
{
    if (!atomic_exchange(&srq->in_error, true))
        report(srq, NORNIC_EVENT_SRQ_ERR);
}

struct rdma_pd *rdma_srq_pd(const struct rdma_srq *srq)
{
    return srq->pd;
}

uint32_t rdma_srq_max_sge(const struct rdma_srq *srq)
{
    return srq->ring.max_sge;
}

bool rdma_srq_take(struct rdma_srq *srq, struct rdma_recv_wqe *wqe, struct nornic_sge *sges)
{
    const struct nornic_sge *from;
    const struct rdma_recv_wqe *oldest = rdma_recv_ring_oldest(&srq->ring, &from);
    if (!oldest || atomic_load_explicit(&srq->in_error, memory_order_relaxed))
        return false;
    *wqe = *oldest;
    if (wqe->num_sge)
        memcpy(sges, from, sizeof *sges * wqe->num_sge);
    rdma_recv_ring_pop(&srq->ring);
    check_limit(srq);
    return true;
}

void rdma_srq_get(struct rdma_srq *srq)
{
    srq->users++;
}

void rdma_srq_put(struct rdma_srq *srq)
{
    srq->users--;
}

struct rdma_srq *rdma_xrcd_find(const struct rdma_xrcd *xrcd, uint32_t srqn)
{
    const struct rdma_xrc_table *table = &rdma_xrcd_domain(xrcd)->xrc;
    uint32_t at = rdma_number_slot(&table->srqns, srqn);
    struct rdma_srq *srq = at < table->size && table->places[at].srqn == srqn ? table->places[at].srq : NULL;
    return srq && rdma_srq_xrcd(srq) == xrcd ? srq : NULL;
}
