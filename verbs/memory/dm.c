/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory: memory of this process that only the verbs reach. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "verbs/memory/mr.h"
#include "verbs/object.h"
#include "verbs/ops.h"

#define MAX_DM_BYTES  (UINT64_C(64) << 20) /* as ibv_query_device_ex() says */
#define COPY_ALIGN    4
#define MAX_LOG_ALIGN 12 /* of a page, which each begins with */

/* Of the copies: adapters take words. */
static bool is_aligned(uint64_t offset, size_t len_bytes)
{
    return offset % COPY_ALIGN == 0 && len_bytes % COPY_ALIGN == 0;
}

static bool is_inside(const struct verbs_dm *dm, uint64_t offset, size_t len_bytes)
{
    return offset <= dm->len_bytes && len_bytes <= dm->len_bytes - offset;
}

static int copy_to(struct ibv_dm *base, uint64_t offset, const void *from, size_t len_bytes)
{
    struct verbs_dm *dm = verbs_dm_of(base);
    if (!is_inside(dm, offset, len_bytes) || !is_aligned(offset, len_bytes))
        return verbs_fail(EFAULT, "%zu bytes at %llu are not of the device memory, or no whole words",
                          len_bytes, (unsigned long long)offset);
    memcpy(dm->bytes + offset, from, len_bytes);
    return 0;
}

static int copy_from(void *to, struct ibv_dm *base, uint64_t offset, size_t len_bytes)
{
    struct verbs_dm *dm = verbs_dm_of(base);
    if (!is_inside(dm, offset, len_bytes) || !is_aligned(offset, len_bytes))
        return verbs_fail(EFAULT, "%zu bytes at %llu are not of the device memory, or no whole words",
                          len_bytes, (unsigned long long)offset);
    memcpy(to, dm->bytes + offset, len_bytes);
    return 0;
}

struct ibv_dm *verbs_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
    struct verbs_context_own *own = verbs_own(context);
    if (!attr->length || attr->length > MAX_DM_BYTES || attr->log_align_req > MAX_LOG_ALIGN ||
        attr->comp_mask)
        return verbs_fail_null(EINVAL, "device memory of %zu bytes, aligned to 2^%u", attr->length,
                               attr->log_align_req);
    struct verbs_dm *dm = verbs_object_new(VERBS_DM, sizeof *dm);
    if (!dm)
        return verbs_fail_null(ENOMEM, "no memory for device memory");
    dm->bytes = mmap(NULL, attr->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (dm->bytes == MAP_FAILED) {
        verbs_object_free(VERBS_DM, dm);
        return verbs_fail_null(ENOMEM, "no memory for device memory of %zu bytes", attr->length);
    }
    dm->len_bytes = attr->length;
    dm->base = (struct ibv_dm){.context = context,
                               .memcpy_to_dm = copy_to,
                               .memcpy_from_dm = copy_from,
                               .comp_mask = IBV_DM_MASK_HANDLE,
                               .handle = verbs_object_number(VERBS_DM, dm, context)};
    pthread_mutex_lock(&own->lock);
    LIST_INSERT_HEAD(&own->dms, dm, entry);
    pthread_mutex_unlock(&own->lock);
    return &dm->base;
}

int verbs_free_dm(struct ibv_dm *base)
{
    struct verbs_dm *dm = verbs_dm_of(base);
    int err = verbs_object_claim(VERBS_DM, dm);
    if (err || verbs_is_inherited(base->context))
        return err;
    struct verbs_context_own *own = verbs_own(base->context);
    if (atomic_load(&dm->users)) {
        verbs_object_keep(VERBS_DM, dm);
        return verbs_fail(EBUSY, "the device memory is registered or imported");
    }
    pthread_mutex_lock(&own->lock);
    LIST_REMOVE(dm, entry);
    pthread_mutex_unlock(&own->lock);
    munmap(dm->bytes, dm->len_bytes);
    verbs_object_free(VERBS_DM, dm);
    return 0;
}

struct ibv_mr *verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset, size_t bytes,
                               unsigned access)
{
    struct verbs_dm *dm = verbs_dm_of(base);
    if (verbs_object_need(VERBS_PD, pd) || verbs_object_need(VERBS_DM, dm))
        return NULL;
    if (base->context != pd->context)
        return verbs_fail_null(EINVAL, "device memory and protection domain are of different contexts");
    if (!is_inside(dm, offset, bytes) || !(access & IBV_ACCESS_ZERO_BASED))
        return verbs_fail_null(EINVAL,
                               "%zu bytes at %llu of device memory, access 0x%x (which has to be zero "
                               "based)",
                               bytes, (unsigned long long)offset, access);
    const struct verbs_mr_range range = {.addr = dm->bytes + offset, .len_bytes = bytes, .access = access};
    struct verbs_mr *mr = verbs_reg(pd, &range);
    if (!mr)
        return NULL;
    mr->dm = dm;
    atomic_fetch_add(&dm->users, 1);
    mr->base.addr = NULL; /* the program has no address of it */
    return &mr->base;
}

/* The same memory again: an import has no state of its own. */
struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
    struct verbs_context_own *own = verbs_own(context);
    struct verbs_dm *dm;
    pthread_mutex_lock(&own->lock);
    for (dm = LIST_FIRST(&own->dms); dm; dm = LIST_NEXT(dm, entry))
        if (dm->base.handle == dm_handle)
            break;
    if (dm)
        atomic_fetch_add(&dm->users, 1);
    pthread_mutex_unlock(&own->lock);
    return dm ? &dm->base : verbs_fail_null(EINVAL, "no device memory has the number %u", dm_handle);
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
    atomic_fetch_sub(&verbs_dm_of(dm)->users, 1);
}
