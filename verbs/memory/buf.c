/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers of ibv_alloc_buf(): memory of this process, in whole pages. */
#include "verbs/memory/buf.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/abi/newer.h"
#include "verbs/object.h"
#include "verbs/verbs.h"

struct verbs_buf {
    struct ibv_pd *pd; /* of ibv_alloc_buf() */
    void *addr;
    size_t len_bytes;  /* as asked for */
    size_t map_bytes;  /* whole pages */
    atomic_uint users; /* regions, and the program's handle */
};

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

int verbs_buf_acquire(struct verbs_buf *buf, const struct ibv_pd *pd, const void *addr, size_t bytes)
{
    int err = verbs_object_need(VERBS_BUF, buf);
    if (err)
        return err;
    size_t offset = (uintptr_t)addr - (uintptr_t)buf->addr;
    if (buf->pd != pd || offset > buf->len_bytes || bytes > buf->len_bytes - offset)
        return verbs_fail(EINVAL, "%zu bytes at %p are not of the domain's buffer at %p, which has %zu bytes",
                          bytes, addr, buf->addr, buf->len_bytes);
    atomic_fetch_add(&buf->users, 1);
    return 0;
}
