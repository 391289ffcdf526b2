/* SPDX-License-Identifier: BSD-2-Clause */
/* What a stream has: an id, a queue pair, memory that the peer may write to and memory to send from. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "verbs/rsocket/rsocket.h"

#define PAGE_BYTES    4096
#define IS_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
/* Of the credits of a peer that needs a receive for each message: rdma-core has none for those without a
 * credit. */
#define SPARE_CREDITS 8

/* --- the descriptor --- */

int rs_join(struct rsock *s, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) || epoll_ctl(s->fd, EPOLL_CTL_ADD, fd, &event))
        return verbs_fail(errno, "descriptor %d cannot be watched", fd);
    return 0;
}

int rs_open_id(struct rsock *s)
{
    s->channel = rdma_create_event_channel();
    if (!s->channel)
        return errno;
    int err = rs_join(s, s->channel->fd);
    if (!err && rdma_create_id(s->channel, &s->id, s, RDMA_PS_TCP))
        err = errno;
    return err;
}

/* --- memory --- */

int rs_open_buffer(struct ibv_pd *pd, struct rs_buffer *out, size_t bytes, int access)
{
    size_t whole = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    out->bytes = aligned_alloc(PAGE_BYTES, whole);
    if (!out->bytes)
        return verbs_fail(ENOMEM, "no memory for %zu bytes of an rsocket", bytes);
    memset(out->bytes, 0, whole);
    out->mr = ibv_reg_mr(pd, out->bytes, whole, access | IBV_ACCESS_LOCAL_WRITE);
    return out->mr ? 0 : errno;
}

void rs_close_buffer(struct rs_buffer *buffer)
{
    if (buffer->mr)
        ibv_dereg_mr(buffer->mr);
    free(buffer->bytes);
    *buffer = (struct rs_buffer){0};
}

static int open_buffers(struct rsock *s)
{
    s->recv_bytes &= ~1u; /* two halves */
    int err = rs_open_buffer(s->id->pd, &s->recv, s->recv_bytes, IBV_ACCESS_REMOTE_WRITE);
    if (!err)
        err = rs_open_buffer(s->id->pd, &s->send,
                             s->send_bytes + RS_CTRL_SLOTS * RS_SGE_BYTES + RS_IOMAP_MAX * RS_IOMAP_BYTES, 0);
    if (!err)
        err = rs_open_buffer(s->id->pd, &s->list,
                             RS_SGL_ENTRIES * RS_SGE_BYTES + s->own_iomaps * RS_IOMAP_BYTES,
                             IBV_ACCESS_REMOTE_WRITE);
    if (!err && s->has_sends)
        err = rs_open_buffer(s->id->pd, &s->words, (size_t)rs_receives(s) * RS_MSG_BYTES, 0);
    s->messages = err ? NULL : calloc(s->rq_size, sizeof *s->messages);
    s->peer_maps = err ? NULL : calloc(max_u32(s->own_iomaps, 1), sizeof *s->peer_maps);
    if (!err && (!s->messages || !s->peer_maps))
        err = verbs_fail(ENOMEM, "no memory for an rsocket's queue of %u messages", s->rq_size);
    return err;
}

/* --- the queue pair --- */

int rs_open_cq(struct rsock *s, struct ibv_context *verbs, uint32_t entries, struct ibv_comp_channel **comp,
               struct ibv_cq **cq)
{
    *comp = ibv_create_comp_channel(verbs);
    if (!*comp)
        return errno;
    int err = rs_join(s, (*comp)->fd);
    if (err)
        return err;
    *cq = ibv_create_cq(verbs, (int)entries, s, *comp, 0);
    return *cq ? 0 : errno;
}

static int open_qp(struct rsock *s)
{
    struct ibv_qp_init_attr init = {
        .qp_context = s,
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .cap = {.max_send_wr = s->sq_size,
                .max_recv_wr = rs_receives(s),
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = s->has_sends ? RS_MSG_BYTES : 0},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    return rdma_create_qp(s->id, NULL, &init) ? errno : 0;
}

int rs_open_endpoint(struct rsock *s)
{
    s->has_sends = s->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
    int err = rs_open_cq(s, s->id->verbs, rs_receives(s) + s->sq_size, &s->comp, &s->cq);
    if (!err)
        err = open_qp(s);
    if (!err)
        err = open_buffers(s);
    if (!err)
        err = rs_post_receives(s);
    if (err)
        return err;
    s->free_bytes = s->lend_at = s->recv_bytes / 2; /* the first half is lent by the private data */
    s->tell_seq = (uint16_t)(s->rq_size / 2);
    s->send_free = s->send_bytes;
    s->send_slots = s->sq_size - RS_CTRL_SLOTS;
    s->ctrl_free = RS_CTRL_SLOTS;
    return 0;
}

static void free_mappings(struct rsock *s)
{
    struct rs_mapping *mapping;
    while ((mapping = LIST_FIRST(&s->mappings))) {
        LIST_REMOVE(mapping, entry);
        ibv_dereg_mr(mapping->mr);
        free(mapping);
    }
}

void rs_close_endpoint(struct rsock *s)
{
    if (s->id && s->id->qp)
        rdma_destroy_qp(s->id);
    if (s->cq)
        ibv_destroy_cq(s->cq);
    if (s->comp)
        ibv_destroy_comp_channel(s->comp);
    free_mappings(s);
    rs_close_buffer(&s->recv);
    rs_close_buffer(&s->send);
    rs_close_buffer(&s->list);
    rs_close_buffer(&s->words);
    free(s->messages);
    free(s->peer_maps);
    if (s->id)
        rdma_destroy_id(s->id);
    if (s->channel)
        rdma_destroy_event_channel(s->channel);
}

/* --- private data --- */

struct rs_conn_data rs_own_data(const struct rsock *s)
{
    return (struct rs_conn_data){
        .is_big_endian = IS_BIG_ENDIAN,
        .credits = (uint16_t)s->rq_size,
        .iomaps = (uint8_t)s->own_iomaps,
        .sgl = {(uintptr_t)s->list.bytes, s->list.mr->rkey, RS_SGL_ENTRIES},
        .data = {(uintptr_t)s->recv.bytes, s->recv.mr->rkey, s->recv_bytes / 2},
    };
}

bool rs_take_data(struct rsock *s, const struct rs_conn_data *data)
{
    if (!data->sgl.len_bytes)
        return false;
    if (s->has_sends && data->is_big_endian != IS_BIG_ENDIAN) {
        verbs_tell("an rsocket of iWARP needs a peer with the same order of bytes");
        return false;
    }
    s->peer = *data;
    s->peer_list_at = 1 % data->sgl.len_bytes; /* its first entry it has from this */
    s->lent[0] = data->data;
    s->lent_use = 0;
    s->lent_next = 1;
    s->send_limit = data->credits;
    s->send_spare = s->has_sends ? (uint16_t)min_u32(SPARE_CREDITS, data->credits / 2u) : 0;
    return true;
}
