/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/xrc.h"

#include <errno.h>
#include <string.h>

#include "rdma/memory/domain.h"

#define FIRST_SIZE 16u

struct rdma_xrcd {
    struct rdma_domain *domain;
    uint32_t users;
};

int rdma_xrcd_create(struct rdma_domain *domain, struct rdma_xrcd **out)
{
    struct rdma_xrcd *xrcd = domain->mem.alloc(domain->mem.ctx, sizeof *xrcd);
    if (!xrcd)
        return -ENOMEM;
    *xrcd = (struct rdma_xrcd){.domain = domain};
    domain->xrcd_count++;
    *out = xrcd;
    return 0;
}

int rdma_xrcd_destroy(struct rdma_xrcd *xrcd)
{
    struct rdma_domain *domain = xrcd->domain;
    if (xrcd->users != 0)
        return -EBUSY;
    domain->xrcd_count--;
    domain->mem.free(domain->mem.ctx, xrcd);
    return 0;
}

struct rdma_domain *rdma_xrcd_domain(const struct rdma_xrcd *xrcd)
{
    return xrcd->domain;
}

void rdma_xrcd_get(struct rdma_xrcd *xrcd)
{
    xrcd->users++;
}

void rdma_xrcd_put(struct rdma_xrcd *xrcd)
{
    xrcd->users--;
}

static int grow(struct rdma_xrc_table *table, const struct rdma_mem *mem)
{
    uint32_t size = table->size ? 2 * table->size : FIRST_SIZE;
    if (size > RDMA_XRC_MAX_SRQ)
        return -ENOSPC;
    struct rdma_xrc_place *places = mem->alloc(mem->ctx, sizeof *places * size);
    if (!places)
        return -ENOMEM;
    if (table->places) {
        memcpy(places, table->places, sizeof *places * table->size);
        mem->free(mem->ctx, table->places);
    }
    table->next = table->size;
    table->places = places;
    table->size = size;
    return 0;
}

/* Searches from the place after the last, so that a number rests as long as it can. */
int rdma_xrc_number_take(struct rdma_domain *domain, struct rdma_srq *srq, uint32_t *srqn)
{
    struct rdma_xrc_table *table = &domain->xrc;
    if (table->used == table->size) {
        int err = grow(table, &domain->mem);
        if (err)
            return err;
    }
    while (table->places[table->next % table->size].srq)
        table->next++;
    table->next %= table->size;
    struct rdma_xrc_place *place = &table->places[table->next];
    place->srq = srq;
    place->srqn = rdma_slot_number(&table->srqns, table->next, place->uses++);
    table->used++;
    table->next++;
    *srqn = place->srqn;
    return 0;
}

void rdma_xrc_number_give(struct rdma_domain *domain, uint32_t srqn)
{
    domain->xrc.places[rdma_number_slot(&domain->xrc.srqns, srqn)].srq = NULL;
    domain->xrc.used--;
}
