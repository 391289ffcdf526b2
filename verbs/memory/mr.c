/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions. */
#include "verbs/memory/mr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "verbs/memory/buf.h"
#include "verbs/faults/faults.h"
#include "verbs/object.h"
#include "verbs/ops.h"

#define NULL_MR_BYTES (UINT64_C(1) << 20)

/* Rights that count; the other known bits are hints, or describe the memory. */
#define RIGHTS                                                                                              \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | \
     IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND)
#define KNOWN       (RIGHTS | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE)
#define REREG_KNOWN (IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS)

/* Checks that the range is there and may be written to, if `is_written`. Memory of which the kernel does
 * not say so counts as good. Returns 0 or EFAULT. */
static int check_memory(const void *addr, size_t len_bytes, bool is_written)
{
    return nornic_memory_check(addr, len_bytes, is_written) == -EFAULT ? EFAULT : 0;
}

static uint64_t iova_of(const struct verbs_mr_range *range)
{
    return range->access & IBV_ACCESS_ZERO_BASED ? 0 : range->iova;
}

/* 0 or an errno value. */
static int check_range(const struct verbs_mr_range *range)
{
    if (range->access & ~(uint32_t)KNOWN)
        return verbs_fail(EINVAL, "access 0x%x is not known", range->access);
    return 0;
}

/* Says why a region was refused; returns `err`. */
static int fail(const struct verbs_mr_range *range, int err)
{
    if (err == EFAULT)
        return verbs_fail(err, "%zu bytes at %p are not mapped, or not for access 0x%x", range->len_bytes,
                          range->addr, range->access);
    return verbs_fail(err, "%zu bytes at %p cannot be registered with access 0x%x", range->len_bytes,
                      range->addr, range->access);
}

/* Implicit on-demand paging registers the whole address space. */
static bool is_all(const struct verbs_mr_range *range)
{
    return range->access & IBV_ACCESS_ON_DEMAND && !range->addr && range->len_bytes == SIZE_MAX &&
           !range->iova;
}

/* 0 or an errno value. */
static int reg_all(struct verbs_pd *pd, uint32_t access, struct nornic_mr **out)
{
    int err = -nornic_mr_reg_all(pd->nornic, access & RIGHTS, out);
    return err ? verbs_fail(err, "all memory cannot be registered with access 0x%x", access) : 0;
}

/* 0 or an errno value. */
static int reg(struct verbs_pd *pd, const struct verbs_mr_range *range, struct nornic_mr **out)
{
    int err = check_range(range);
    if (!err && is_all(range))
        return reg_all(pd, range->access, out);
    if (err)
        return err;
    err = range->sink ? -nornic_mr_reg_null(pd->nornic, range->addr, range->sink, range->len_bytes, out)
                      : -nornic_mr_reg_iova(pd->nornic, range->addr, range->len_bytes, iova_of(range),
                                            range->access & RIGHTS, out);
    return err ? fail(range, err) : 0;
}

static void describe(struct verbs_mr *mr, const struct verbs_mr_range *range)
{
    mr->memory = mr->base.addr = range->addr;
    mr->base.length = range->len_bytes;
    mr->base.lkey = nornic_mr_lkey(mr->nornic);
    mr->base.rkey = nornic_mr_rkey(mr->nornic);
    mr->access = range->access;
    mr->iova = iova_of(range);
}

static void enlist(struct verbs_mr *mr)
{
    struct verbs_context_own *own = verbs_own(mr->base.context);
    pthread_mutex_lock(&own->lock);
    LIST_INSERT_HEAD(&own->mrs, mr, entry);
    pthread_mutex_unlock(&own->lock);
}

static void delist(struct verbs_mr *mr)
{
    struct verbs_context_own *own = verbs_own(mr->base.context);
    pthread_mutex_lock(&own->lock);
    LIST_REMOVE(mr, entry);
    pthread_mutex_unlock(&own->lock);
}

struct verbs_mr *verbs_reg(struct ibv_pd *pd, const struct verbs_mr_range *range)
{
    if (verbs_object_need(VERBS_PD, pd))
        return NULL;
    int err = verbs_fault_alloc(verbs_own(pd->context)->faults, VERBS_FAULT_OF_MR);
    struct verbs_mr *mr = err ? NULL : verbs_object_new(VERBS_MR, sizeof *mr);
    if (!mr)
        return verbs_fail_null(err ? err : ENOMEM, "no memory for a region");
    if (reg(verbs_pd_of(pd), range, &mr->nornic)) {
        verbs_object_free(VERBS_MR, mr);
        return NULL;
    }
    mr->base = (struct ibv_mr){
        .context = pd->context, .pd = pd, .handle = verbs_object_number(VERBS_MR, mr, pd->context)};
    describe(mr, range);
    enlist(mr);
    return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access)
{
    const struct verbs_mr_range range = {.addr = addr, .len_bytes = length, .iova = iova, .access = access};
    struct verbs_mr *mr = verbs_reg(pd, &range);
    return mr ? &mr->base : NULL;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                 int access)
{
    (void)pd;
    (void)iova;
    (void)access;
    return verbs_fail_null(EOPNOTSUPP,
                           "dma-buf %d (offset %llu, %zu bytes): memory of devices is out of reach", fd,
                           (unsigned long long)offset, length);
}

int ibv_dereg_mr(struct ibv_mr *base)
{
    struct verbs_mr *mr = verbs_mr_of(base);
    int err = verbs_object_claim(VERBS_MR, mr);
    if (err || verbs_is_inherited(base->context))
        return err;
    err = -nornic_mr_dereg(mr->nornic);
    if (err) {
        verbs_object_keep(VERBS_MR, mr);
        return verbs_fail(err, "windows are bound to the region");
    }
    delist(mr);
    if (mr->null_memory)
        munmap(mr->null_memory, 2 * NULL_MR_BYTES);
    if (mr->dm)
        atomic_fetch_sub(&mr->dm->users, 1);
    if (mr->buf)
        verbs_buf_release(mr->buf);
    verbs_object_free(VERBS_MR, mr);
    return 0;
}

/* --- registered anew, under the same keys --- */

/* As rdma-core has it: ERR_INPUT is of the arguments, ERR_CMD of the region that they would make. */
int ibv_rereg_mr(struct ibv_mr *base, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
    struct verbs_mr *mr = verbs_mr_of(base);
    bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
    if (verbs_object_need(VERBS_MR, mr) ||
        ((flags & IBV_REREG_MR_CHANGE_PD) && verbs_object_need(VERBS_PD, pd)))
        return IBV_REREG_MR_ERR_INPUT;
    if (!flags || (flags & ~REREG_KNOWN) || (moves && (!addr || !length))) {
        verbs_fail(EINVAL, "rereg_mr: flags 0x%x, %zu bytes at %p", (unsigned)flags, length, addr);
        return IBV_REREG_MR_ERR_INPUT;
    }
    const struct verbs_mr_range range = {
        .addr = moves ? addr : mr->memory,
        .len_bytes = moves ? length : base->length,
        .iova = moves ? (uintptr_t)addr : mr->iova,
        .access = flags & IBV_REREG_MR_CHANGE_ACCESS ? (unsigned)access : mr->access,
    };
    struct ibv_pd *new_pd = flags & IBV_REREG_MR_CHANGE_PD ? pd : base->pd;
    if (check_range(&range))
        return IBV_REREG_MR_ERR_CMD;
    delist(mr);
    int err = -nornic_mr_rereg(mr->nornic, verbs_pd_of(new_pd)->nornic, range.addr, range.len_bytes,
                               iova_of(&range), range.access & RIGHTS);
    if (!err) {
        mr->base.pd = new_pd;
        describe(mr, &range);
    }
    enlist(mr);
    if (!err)
        return 0;
    if (err == EFAULT)
        fail(&range, err);
    else
        verbs_fail(err, "the region cannot be changed to access 0x%x, or windows are bound to it",
                   range.access);
    return IBV_REREG_MR_ERR_CMD;
}

/* --- others --- */

/* Maps the bytes that a null region reads, which stay zero, and then the target of its writes. A piece of a
 * request has at most NULL_MR_BYTES. */
struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *pd)
{
    uint8_t *memory =
        mmap(NULL, 2 * NULL_MR_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return verbs_fail_null(ENOMEM, "no memory for a null region");
    const struct verbs_mr_range range = {.addr = memory,
                                         .sink = memory + NULL_MR_BYTES,
                                         .len_bytes = NULL_MR_BYTES,
                                         .access = IBV_ACCESS_LOCAL_WRITE};
    struct verbs_mr *mr = verbs_reg(pd, &range);
    if (!mr) {
        munmap(memory, 2 * NULL_MR_BYTES);
        return NULL;
    }
    mr->null_memory = memory;
    mr->base.addr = NULL;
    return &mr->base;
}

/* Checks the advice. Pages of a process come by themselves, so nothing has to be done. In a region of all
 * memory the check asks whether memory is there. */
int verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sges,
                    uint32_t num_sges)
{
    struct verbs_context_own *own = verbs_own(pd->context);
    if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH))
        return verbs_fail(EOPNOTSUPP, "advise_mr: advice %u, flags 0x%x", (unsigned)advice, flags);
    for (uint32_t i = 0; i < num_sges; i++) {
        struct verbs_mr *mr;
        pthread_mutex_lock(&own->lock);
        for (mr = LIST_FIRST(&own->mrs); mr; mr = LIST_NEXT(mr, entry))
            if (mr->base.lkey == sges[i].lkey && mr->base.pd == pd)
                break;
        pthread_mutex_unlock(&own->lock);
        if (!mr || sges[i].addr - mr->iova > mr->base.length ||
            sges[i].length > mr->base.length - (sges[i].addr - mr->iova))
            return verbs_fail(mr ? EFAULT : ENOENT, "advise_mr: piece %u is in no region", i);
        if (mr->base.length == SIZE_MAX && advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT &&
            check_memory((void *)(uintptr_t)sges[i].addr, sges[i].length,
                         advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE))
            return verbs_fail(EFAULT, "advise_mr: nothing is mapped where piece %u is", i);
    }
    return 0;
}

/* --- a region by its number --- */

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
    struct verbs_context_own *own = verbs_own(pd->context);
    struct verbs_mr *mr, *name = verbs_object_new(VERBS_MR_IMPORT, sizeof *name);
    pthread_mutex_lock(&own->lock);
    for (mr = LIST_FIRST(&own->mrs); mr; mr = LIST_NEXT(mr, entry))
        if (mr->base.handle == mr_handle)
            break;
    if (mr && name) {
        name->base = mr->base;
        name->base.pd = pd;
        name->base.addr = NULL; /* the importer knows no address of it */
    }
    pthread_mutex_unlock(&own->lock);
    if (mr && name)
        return &name->base;
    verbs_object_free(VERBS_MR_IMPORT, name);
    return verbs_fail_null(mr ? ENOMEM : EINVAL, "no region has the number %u", mr_handle);
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
    if (!verbs_object_claim(VERBS_MR_IMPORT, mr))
        verbs_object_free(VERBS_MR_IMPORT, mr);
}
