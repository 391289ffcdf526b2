/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains, also parent domains, thread domains and imported ones, which are other names of one. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/fault.h"
#include "verbs/ops.h"

static void enlist(struct verbs_pd *pd)
{
    struct verbs_context_own *own = verbs_own(pd->base.context);
    pthread_mutex_lock(&own->lock);
    LIST_INSERT_HEAD(&own->pds, pd, entry);
    pthread_mutex_unlock(&own->lock);
}

static void delist(struct verbs_pd *pd)
{
    struct verbs_context_own *own = verbs_own(pd->base.context);
    pthread_mutex_lock(&own->lock);
    LIST_REMOVE(pd, entry);
    pthread_mutex_unlock(&own->lock);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct verbs_context_own *own = verbs_own(context);
    struct verbs_pd *pd = calloc(1, sizeof *pd);
    int err = pd ? verbs_fault_alloc(own->faults, VERBS_FAULT_OF_PD) : ENOMEM;
    if (!err)
        err = -nornic_pd_create(own->dev, &pd->nornic);
    if (err) {
        free(pd);
        return verbs_fail_null(err, "no memory for a protection domain");
    }
    pd->base = (struct ibv_pd){.context = context, .handle = verbs_new_handle(own)};
    enlist(pd);
    return &pd->base;
}

/* Another name for `of`, which stays until that is given back. */
static struct verbs_pd *new_name(struct verbs_pd *of)
{
    struct verbs_pd *pd = calloc(1, sizeof *pd);
    if (!pd)
        return verbs_fail_null(ENOMEM, "no memory for a protection domain");
    pd->base = of->base;
    pd->nornic = of->nornic;
    pd->origin = of;
    atomic_fetch_add(&of->users, 1);
    return pd;
}

static void free_name(struct verbs_pd *pd)
{
    atomic_fetch_sub(&pd->origin->users, 1);
    free(pd);
}

int ibv_dealloc_pd(struct ibv_pd *base)
{
    struct verbs_pd *pd = verbs_pd_of(base);
    if (verbs_is_inherited(base->context))
        return 0;
    if (atomic_load(&pd->users))
        return verbs_fail(EBUSY, "the protection domain has parent domains");
    if (pd->origin) {
        free_name(pd);
        return 0;
    }
    verbs_sweep_ahs(base);
    int err = -nornic_pd_destroy(pd->nornic);
    if (err)
        return verbs_fail(err, "something still needs the protection domain");
    delist(pd);
    free(pd);
    return 0;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
    struct verbs_context_own *own = verbs_own(context);
    struct verbs_pd *pd, *name = NULL;
    pthread_mutex_lock(&own->lock);
    for (pd = LIST_FIRST(&own->pds); pd; pd = LIST_NEXT(pd, entry))
        if (pd->base.handle == pd_handle)
            break;
    if (pd)
        name = new_name(pd);
    pthread_mutex_unlock(&own->lock);
    return name ? &name->base
                : verbs_fail_null(pd ? ENOMEM : EINVAL, "no domain has the number %u", pd_handle);
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
    free_name(verbs_pd_of(pd));
}

/* --- thread domains: locks here cost nothing that leaving them out would save --- */

struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init)
{
    if (init->comp_mask)
        return verbs_fail_null(EINVAL, "alloc_td: comp_mask 0x%x is not known", init->comp_mask);
    struct ibv_td *td = calloc(1, sizeof *td);
    if (!td)
        return verbs_fail_null(ENOMEM, "no memory for a thread domain");
    td->context = context;
    return td;
}

int verbs_dealloc_td(struct ibv_td *td)
{
    free(td);
    return 0;
}

struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context,
                                         struct ibv_parent_domain_init_attr *attr)
{
    const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    (void)context;
    if (!attr->pd || (attr->comp_mask & ~known))
        return verbs_fail_null(EINVAL, "alloc_parent_domain: no domain, or comp_mask 0x%x", attr->comp_mask);
    struct verbs_pd *pd = new_name(verbs_pd_of(attr->pd));
    return pd ? &pd->base : NULL;
}
