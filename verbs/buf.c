/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_reg_mr_ex(), and the buffers that it registers: memory of this process, in whole pages. */
#include "verbs/buf.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/mr.h"
#include "verbs/newer.h"
#include "verbs/object.h"

struct verbs_buf {
    struct ibv_pd *pd; /* of ibv_alloc_buf() */
    void *addr;
    size_t len_bytes;  /* as asked for */
    size_t map_bytes;  /* whole pages */
    atomic_uint users; /* regions, and the program's handle */
};

/* --- the buffer --- */

/* The bytes of whole pages that hold `bytes`; 0: there are no bytes, or too many. */
static size_t round_to_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return bytes && bytes <= SIZE_MAX - page ? (bytes + page - 1) / page * page : 0;
}

void *verbs_alloc_buf(struct ibv_pd *pd, size_t bytes, struct verbs_buf **out)
{
    size_t map_bytes = round_to_pages(bytes);
    if (verbs_object_need(VERBS_PD, pd))
        return NULL;
    if (!map_bytes)
        return verbs_fail_null(EINVAL, "alloc_buf: there is no buffer of %zu bytes", bytes);
    struct verbs_buf *buf = verbs_object_new(VERBS_BUF, sizeof *buf);
    void *addr =
        buf ? mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (addr == MAP_FAILED) {
        verbs_object_free(VERBS_BUF, buf);
        return verbs_fail_null(ENOMEM, "alloc_buf: no memory for %zu bytes", bytes);
    }
    buf->pd = pd;
    buf->addr = addr;
    buf->len_bytes = bytes;
    buf->map_bytes = map_bytes;
    atomic_init(&buf->users, 1);
    *out = buf;
    return addr;
}

void verbs_buf_release(struct verbs_buf *buf)
{
    if (atomic_fetch_sub(&buf->users, 1) > 1)
        return;
    munmap(buf->addr, buf->map_bytes);
    verbs_object_free(VERBS_BUF, buf);
}

void verbs_free_buf(struct verbs_buf *buf)
{
    if (!verbs_object_claim(VERBS_BUF, buf))
        verbs_buf_release(buf);
}

int verbs_export_buf_dmabuf_fd(struct verbs_buf *buf)
{
    verbs_fail(ENODATA, "export_buf_dmabuf_fd: buffer %p has no dma-buf", (void *)buf);
    return -1;
}

/* --- registration --- */

static bool has(const struct verbs_mr_init_attr *attr, uint64_t bits)
{
    return (attr->comp_mask & bits) == bits;
}

/* Checks that `attr` names a range of its buffer, and counts the region as a user of it. Returns 0 or EINVAL. */
static int acquire_buf(struct ibv_pd *pd, const struct verbs_mr_init_attr *attr)
{
    struct verbs_buf *buf = attr->buf;
    int err = verbs_object_need(VERBS_BUF, buf);
    if (err)
        return err;
    size_t offset = (uintptr_t)attr->addr - (uintptr_t)buf->addr;
    if (buf->pd != pd || offset > buf->len_bytes || attr->length > buf->len_bytes - offset)
        return verbs_fail(EINVAL,
                          "reg_mr_ex: %zu bytes at %p are not of the domain's buffer at %p, %zu bytes",
                          attr->length, attr->addr, buf->addr, buf->len_bytes);
    atomic_fetch_add(&buf->users, 1);
    return 0;
}

/* Returns 0, EINVAL (members that contradict each other) or EOPNOTSUPP. */
static int check_members(const struct verbs_mr_init_attr *attr)
{
    const uint64_t of_fd = VERBS_REG_MR_FD | VERBS_REG_MR_FD_OFFSET;
    const uint64_t known = VERBS_REG_MR_ADDR | VERBS_REG_MR_IOVA | VERBS_REG_MR_BUF | of_fd;
    const char *call = "reg_mr_ex: comp_mask";
    if (attr->comp_mask & ~known)
        return verbs_fail(EOPNOTSUPP, "%s 0x%llx: DMA handles and unknown members", call,
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
    if (is_of_buf && acquire_buf(pd, attr))
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
