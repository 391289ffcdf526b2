/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains, also parent domains, thread domains and imported ones, which are other names of one. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/faults/faults.h"
#include "verbs/object.h"
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
    struct verbs_pd *pd = verbs_object_new(VERBS_PD, sizeof *pd);
    int err = pd ? verbs_fault_alloc(own->faults, VERBS_FAULT_OF_PD) : ENOMEM;
    if (!err)
        err = -nornic_pd_create(own->dev, &pd->nornic);
    if (err) {
        verbs_object_free(VERBS_PD, pd);
        return verbs_fail_null(err, "no memory for a protection domain");
    }
    pd->base = (struct ibv_pd){.context = context, .handle = verbs_object_number(VERBS_PD, pd, context)};
    enlist(pd);
    return &pd->base;
}

/* Another name for `of`, which stays until that is given back. */
static struct verbs_pd *new_name(struct verbs_pd *of)
{
    struct verbs_pd *pd = verbs_object_new(VERBS_PD, sizeof *pd);
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
    verbs_object_free(VERBS_PD, pd);
}

/* What nobody else gives back. 0 or an errno value. */
static int dealloc(struct verbs_pd *pd)
{
    if (atomic_load(&pd->users))
        return verbs_fail(EBUSY, "the protection domain has parent domains");
    if (pd->origin) {
        free_name(pd);
        return 0;
    }
    verbs_sweep_ahs(&pd->base);
    int err = -nornic_pd_destroy(pd->nornic);
    if (err)
        return verbs_fail(err, "something still needs the protection domain");
    delist(pd);
    verbs_object_free(VERBS_PD, pd);
    return 0;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    int err = verbs_object_claim(VERBS_PD, pd);
    if (err || verbs_is_inherited(pd->context))
        return err;
    err = dealloc(verbs_pd_of(pd));
    if (err)
        verbs_object_keep(VERBS_PD, pd);
    return err;
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
    if (!verbs_object_claim(VERBS_PD, pd))
        free_name(verbs_pd_of(pd));
}

/* --- thread domains: locks here cost nothing that leaving them out would save --- */

struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init)
{
    if (init->comp_mask)
        return verbs_fail_null(EINVAL, "alloc_td: comp_mask 0x%x is not known", init->comp_mask);
    struct ibv_td *td = verbs_object_new(VERBS_TD, sizeof *td);
    if (!td)
        return verbs_fail_null(ENOMEM, "no memory for a thread domain");
    td->context = context;
    return td;
}

int verbs_dealloc_td(struct ibv_td *td)
{
    int err = verbs_object_claim(VERBS_TD, td);
    if (!err)
        verbs_object_free(VERBS_TD, td);
    return err;
}

struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context,
                                         struct ibv_parent_domain_init_attr *attr)
{
    const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    if (!attr->pd || (attr->comp_mask & ~known))
        return verbs_fail_null(EINVAL, "alloc_parent_domain: no domain, or comp_mask 0x%x", attr->comp_mask);
    if (verbs_object_need(VERBS_PD, attr->pd) || (attr->td && verbs_object_need(VERBS_TD, attr->td)))
        return NULL;
    if (attr->pd->context != context || (attr->td && attr->td->context != context))
        return verbs_fail_null(EINVAL, "alloc_parent_domain: a domain of another context");
    struct verbs_pd *pd = new_name(verbs_pd_of(attr->pd));
    return pd ? &pd->base : NULL;
}
