/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains, regions, windows, address handles of programs: nornic/memory.h, nornic/qp.h. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/api/api.h"
#include "host/dev/fault.h"

/* --- protection domains --- */

int nornic_pd_create(struct nornic_dev *dev, struct nornic_pd **out)
{
    struct nornic_pd *pd = host_api_new(dev, HOST_API_PD, sizeof *pd);
    if (!pd)
        return -ENOMEM;
    pd->dev = dev;
    host_dev_lock(dev->host);
    int err = rdma_pd_create(host_api_domain(dev), &pd->engine);
    host_dev_unlock(dev->host);
    if (err) {
        host_api_free(dev, HOST_API_PD, pd);
        return err;
    }
    *out = pd;
    return 0;
}

int nornic_pd_destroy(struct nornic_pd *pd)
{
    host_dev_lock(pd->dev->host);
    int err = rdma_pd_destroy(pd->engine);
    host_dev_unlock(pd->dev->host);
    if (!err)
        host_api_free(pd->dev, HOST_API_PD, pd);
    return err;
}

/* --- regions --- */

/* The memory that a program wants registered, with a remote address of its own or not; or `max_bytes` of
 * it later. */
struct wanted {
    void *addr;
    void *sink; /* of a null region, of which `addr` are the zeros */
    uint64_t len_bytes, iova;
    uint64_t max_bytes;
    uint32_t access;
    bool has_iova;
    bool is_all; /* the whole address space */
};

/* Makes the pages of a range present, for reading or for writing. 0 or an errno value: ENOMEM, it is not
 * mapped; EINVAL, it lacks the right, it is memory of a device, or the kernel does not know the call
 * (before Linux 5.14); EFAULT, it lies behind the end of its file; EHWPOISON. */
static int populate(const void *addr, uint64_t len_bytes, bool write)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)addr & ~(page - 1);
    const uint64_t bytes = (uintptr_t)addr - start + len_bytes;
    return madvise((void *)start, bytes, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0 ? 0 : errno;
}

/* Whether the kernel knows the call: memory that is there for certain tells. */
static bool can_populate(void)
{
    char byte = 0;
    return populate(&byte, sizeof byte, true) == 0;
}

int nornic_memory_check(const void *addr, uint64_t len_bytes, bool write)
{
    if (populate(addr, len_bytes, write) == 0)
        return 0;
    return can_populate() ? -EFAULT : -EOPNOTSUPP;
}

/* Checks the memory of a region that is about to be registered. Returns 0 or -EFAULT. Memory that is
 * registered on demand is checked when it is accessed, by the guard; so is all memory when the kernel
 * does not say. The engine refuses a range that wraps. */
static int check_memory(const void *addr, uint64_t len_bytes, uint32_t access)
{
    bool wraps = len_bytes > UINTPTR_MAX - (uintptr_t)addr;
    if (access & NORNIC_ACCESS_ON_DEMAND || len_bytes == 0 || wraps)
        return 0;
    return nornic_memory_check(addr, len_bytes, access & NORNIC_ACCESS_LOCAL_WRITE) == -EFAULT ? -EFAULT : 0;
}

static bool is_memory(const void *addr, uint64_t len_bytes, bool write)
{
    return nornic_memory_check(addr, len_bytes, write) == 0;
}

static int reg(struct rdma_pd *pd, const struct wanted *w, struct rdma_mr **out)
{
    const uint32_t rights = w->access & ~(uint32_t)NORNIC_ACCESS_ON_DEMAND;
    if (w->max_bytes)
        return rdma_mr_alloc_fast(pd, w->max_bytes, out);
    if (w->is_all)
        return rdma_mr_reg_all(pd, rights, is_memory, out);
    if (w->sink)
        return rdma_mr_reg_null(pd, w->addr, w->sink, w->len_bytes, out);
    return w->has_iova ? rdma_mr_reg_iova(pd, w->addr, w->len_bytes, w->iova, rights, out)
                       : rdma_mr_reg(pd, w->addr, w->len_bytes, rights, out);
}

/* Returns whether `w` names memory now: a fast region and all memory do not. A null region checks none. */
static bool names_memory(const struct wanted *w)
{
    return !w->max_bytes && !w->is_all && !w->sink;
}

static int create_mr(struct nornic_pd *pd, const struct wanted *wanted, struct nornic_mr **out)
{
    host_fault_install();
    int err = names_memory(wanted) ? check_memory(wanted->addr, wanted->len_bytes, wanted->access) : 0;
    if (err)
        return err;
    struct nornic_mr *mr = host_api_new(pd->dev, HOST_API_MR, sizeof *mr);
    if (!mr)
        return -ENOMEM;
    mr->dev = pd->dev;
    host_dev_lock(pd->dev->host);
    err = reg(pd->engine, wanted, &mr->engine);
    if (!err) {
        mr->lkey = mr->engine->lkey;
        mr->rkey = mr->engine->rkey;
        mr->remote_addr = mr->engine->iova;
        mr->len_bytes = mr->engine->len_bytes;
    }
    host_dev_unlock(pd->dev->host);
    if (err) {
        host_api_free(pd->dev, HOST_API_MR, mr);
        return err;
    }
    *out = mr;
    return 0;
}

int nornic_mr_reg(struct nornic_pd *pd, void *addr, uint64_t len_bytes, uint32_t access,
                  struct nornic_mr **out)
{
    const struct wanted wanted = {.addr = addr, .len_bytes = len_bytes, .access = access};
    return create_mr(pd, &wanted, out);
}

int nornic_mr_reg_iova(struct nornic_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova, uint32_t access,
                       struct nornic_mr **out)
{
    const struct wanted wanted = {
        .addr = addr, .len_bytes = len_bytes, .access = access, .iova = iova, .has_iova = true};
    return create_mr(pd, &wanted, out);
}

int nornic_mr_reg_all(struct nornic_pd *pd, uint32_t access, struct nornic_mr **out)
{
    const struct wanted wanted = {.access = access, .is_all = true};
    char byte = 0;
    return is_memory(&byte, sizeof byte, true) ? create_mr(pd, &wanted, out) : -EOPNOTSUPP;
}

int nornic_mr_reg_null(struct nornic_pd *pd, void *zeros, void *sink, uint64_t len_bytes,
                       struct nornic_mr **out)
{
    const struct wanted wanted = {.addr = zeros, .sink = sink, .len_bytes = len_bytes};
    return sink ? create_mr(pd, &wanted, out) : -EINVAL;
}

int nornic_mr_rereg(struct nornic_mr *mr, struct nornic_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova,
                    uint32_t access)
{
    if (pd->dev != mr->dev)
        return -EINVAL;
    host_fault_install();
    int err = check_memory(addr, len_bytes, access);
    if (err)
        return err;
    host_dev_lock(mr->dev->host);
    err = rdma_mr_change(mr->engine, pd->engine, addr, len_bytes, iova,
                         access & ~(uint32_t)NORNIC_ACCESS_ON_DEMAND);
    if (!err) {
        mr->remote_addr = iova;
        mr->len_bytes = len_bytes;
    }
    host_dev_unlock(mr->dev->host);
    return err;
}

int nornic_mr_alloc_fast(struct nornic_pd *pd, uint64_t max_bytes, struct nornic_mr **out)
{
    const struct wanted wanted = {.max_bytes = max_bytes};
    return max_bytes ? create_mr(pd, &wanted, out) : -EINVAL;
}

int nornic_mr_dereg(struct nornic_mr *mr)
{
    host_dev_lock(mr->dev->host);
    int err = rdma_mr_dereg(mr->engine);
    host_dev_unlock(mr->dev->host);
    if (!err)
        host_api_free(mr->dev, HOST_API_MR, mr);
    return err;
}

uint32_t nornic_mr_lkey(const struct nornic_mr *mr)
{
    return mr->lkey;
}

uint32_t nornic_mr_rkey(const struct nornic_mr *mr)
{
    return mr->rkey;
}

uint64_t nornic_mr_remote_addr(const struct nornic_mr *mr)
{
    return mr->remote_addr;
}

uint64_t nornic_mr_len_bytes(const struct nornic_mr *mr)
{
    return mr->len_bytes;
}

/* --- windows --- */

int nornic_mw_alloc(struct nornic_pd *pd, enum nornic_mw_type type, struct nornic_mw **out)
{
    struct nornic_mw *mw = host_api_new(pd->dev, HOST_API_MW, sizeof *mw);
    if (!mw)
        return -ENOMEM;
    mw->dev = pd->dev;
    host_dev_lock(pd->dev->host);
    int err = rdma_mw_alloc(pd->engine, type, &mw->engine);
    host_dev_unlock(pd->dev->host);
    if (err) {
        host_api_free(pd->dev, HOST_API_MW, mw);
        return err;
    }
    pthread_mutex_init(&mw->lock, NULL);
    *out = mw;
    return 0;
}

void nornic_mw_dealloc(struct nornic_mw *mw)
{
    host_dev_lock(mw->dev->host);
    rdma_mw_dealloc(mw->engine);
    host_dev_unlock(mw->dev->host);
    pthread_mutex_destroy(&mw->lock);
    host_api_free(mw->dev, HOST_API_MW, mw);
}

uint32_t nornic_mw_rkey(struct nornic_mw *mw)
{
    pthread_mutex_lock(&mw->lock);
    uint32_t rkey = mw->engine->rkey;
    pthread_mutex_unlock(&mw->lock);
    return rkey;
}

/* --- address handles: a send names the engine's own --- */

int nornic_ah_create(struct nornic_pd *pd, const struct nornic_av *av, struct nornic_ah **out)
{
    struct nornic_av known = *av;
    int err = host_api_resolve_av(pd->dev, &known);
    if (err)
        return err;
    host_dev_lock(pd->dev->host);
    err = pd->dev->transport->create_ah(pd->dev->host, pd->engine, &known, out);
    host_dev_unlock(pd->dev->host);
    if (!err)
        atomic_fetch_add(&pd->dev->objects[HOST_API_AH], 1);
    return err;
}

int nornic_ah_destroy(struct nornic_pd *pd, struct nornic_ah *ah)
{
    host_dev_lock(pd->dev->host);
    int err = pd->dev->transport->destroy_ah(ah);
    host_dev_unlock(pd->dev->host);
    if (!err)
        atomic_fetch_sub(&pd->dev->objects[HOST_API_AH], 1);
    return err;
}

int nornic_av_from_wc(struct nornic_dev *dev, const struct nornic_wc *wc, const void *l3_area,
                      struct nornic_av *av)
{
    host_dev_lock(dev->host);
    int err = dev->transport->get_av_back(dev->host, wc, l3_area, av);
    host_dev_unlock(dev->host);
    return err;
}
