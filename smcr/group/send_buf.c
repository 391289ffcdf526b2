/* SPDX-License-Identifier: BSD-2-Clause */
/* Send buffers of a group, kept for the next connection. */
#include "base/base.h"
#include "smcr/group/group.h"

#define KEPT_FREE 16    /* at the most */
#define MIN_BYTES 4096u /* whatever SO_SNDBUF says: several writes are to be under way */

static void free_buf(struct smcr_group *group, struct smcr_send_buf *buf)
{
    struct rdma_mem *mem = &group->smcr->mem, *buffers = &group->smcr->buffers;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        smcr_mr_free(&group->links[i], &buf->mr[i]);
    if (buf->bytes)
        buffers->free(buffers->ctx, buf->bytes);
    mem->free(mem->ctx, buf);
}

static struct smcr_send_buf *make_buf(struct smcr_group *group, uint32_t size_bytes)
{
    struct rdma_mem *mem = &group->smcr->mem, *buffers = &group->smcr->buffers;
    struct smcr_send_buf *buf = mem->alloc(mem->ctx, sizeof *buf);
    if (!buf)
        return NULL;
    buf->size_bytes = size_bytes;
    buf->bytes = buffers->alloc(buffers->ctx, size_bytes);
    bool ok = buf->bytes != NULL;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS && ok; i++)
        ok = smcr_mr_make(&group->links[i], buf->bytes, size_bytes, 0, &buf->mr[i]) == 0;
    if (!ok) {
        free_buf(group, buf);
        return NULL;
    }
    buf->next = group->send_bufs;
    group->send_bufs = buf;
    return buf;
}

struct smcr_send_buf *smcr_send_buf_get(struct smcr_group *group, uint32_t size_bytes)
{
    uint32_t size = pow2_up(max_u32(min_u32(size_bytes, UINT32_C(1) << 30), MIN_BYTES));
    for (struct smcr_send_buf **at = &group->free_send_bufs; *at; at = &(*at)->next_free)
        if ((*at)->size_bytes == size) {
            struct smcr_send_buf *buf = *at;
            *at = buf->next_free;
            group->num_free_send_bufs--;
            return buf;
        }
    return make_buf(group, size);
}

void smcr_send_buf_put(struct smcr_group *group, struct smcr_send_buf *buf)
{
    if (group->num_free_send_bufs < KEPT_FREE && !group->smcr->keeps_no_free_buffers) {
        buf->next_free = group->free_send_bufs;
        group->free_send_bufs = buf;
        group->num_free_send_bufs++;
        return;
    }
    struct smcr_send_buf **at = &group->send_bufs;
    while (*at != buf)
        at = &(*at)->next;
    *at = buf->next;
    free_buf(group, buf);
}

void smcr_send_bufs_deinit(struct smcr_group *group)
{
    while (group->send_bufs) {
        struct smcr_send_buf *buf = group->send_bufs;
        group->send_bufs = buf->next;
        free_buf(group, buf);
    }
    group->free_send_bufs = NULL;
    group->num_free_send_bufs = 0;
}
