/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_reg_mr_ex(): a region by those members of its description that the caller has set. */
#include <errno.h>

#include "verbs/memory/buf.h"
#include "verbs/memory/mr.h"
#include "verbs/abi/newer.h"

static bool has(const struct verbs_mr_init_attr *attr, uint64_t bits)
{
    return (attr->comp_mask & bits) == bits;
}

/* Returns 0, EINVAL (members that contradict each other) or EOPNOTSUPP. */
static int check_members(const struct verbs_mr_init_attr *attr)
{
    const uint64_t of_fd = VERBS_REG_MR_FD | VERBS_REG_MR_FD_OFFSET;
    const uint64_t known = VERBS_REG_MR_ADDR | VERBS_REG_MR_IOVA | VERBS_REG_MR_BUF | of_fd;
    const char *call = "reg_mr_ex: comp_mask";
    if (attr->comp_mask & ~known)
        return verbs_fail(EOPNOTSUPP, "%s 0x%llx: leave out DMA handles and unknown members", call,
                          (unsigned long long)attr->comp_mask);
    if (has(attr, VERBS_REG_MR_ADDR) ? (attr->comp_mask & of_fd) != 0
                                     : has(attr, VERBS_REG_MR_BUF) || !has(attr, of_fd | VERBS_REG_MR_IOVA))
        return verbs_fail(EINVAL, "%s 0x%llx: give an address, or a dma-buf with its offset and iova", call,
                          (unsigned long long)attr->comp_mask);
    return 0;
}

struct ibv_mr *verbs_reg_mr_ex(struct ibv_pd *pd, const struct verbs_mr_init_attr *attr)
{
    if (check_members(attr))
        return NULL;
    if (has(attr, VERBS_REG_MR_FD))
        return ibv_reg_dmabuf_mr(pd, attr->fd_offset, attr->length, attr->iova, attr->fd, attr->access);
    const struct verbs_mr_range range = {
        .addr = attr->addr,
        .len_bytes = attr->length,
        .iova = has(attr, VERBS_REG_MR_IOVA) ? attr->iova : (uintptr_t)attr->addr,
        .access = (uint32_t)attr->access,
    };
    bool is_of_buf = has(attr, VERBS_REG_MR_BUF);
    if (is_of_buf && verbs_buf_acquire(attr->buf, pd, attr->addr, attr->length))
        return NULL;
    struct verbs_mr *mr = verbs_reg(pd, &range);
    if (mr && is_of_buf)
        mr->buf = attr->buf;
    if (!mr && is_of_buf)
        verbs_buf_release(attr->buf);
    return mr ? &mr->base : NULL;
}

struct ibv_mr *verbs_reg_buf_mr(struct ibv_pd *pd, struct verbs_buf *buf, void *addr, size_t bytes,
                                int access)
{
    const struct verbs_mr_init_attr attr = {.length = bytes,
                                            .access = access,
                                            .comp_mask = VERBS_REG_MR_BUF | VERBS_REG_MR_ADDR,
                                            .addr = addr,
                                            .buf = buf};
    return verbs_reg_mr_ex(pd, &attr);
}
