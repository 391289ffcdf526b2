/* SPDX-License-Identifier: BSD-2-Clause */
/* A connected stream: messages out and in, halves of the buffer lent and given back. */
#include <errno.h>

#include "verbs/rsocket/rsocket.h"

#define POLL_BATCH 16

/* --- out --- */

uint32_t rs_send_room(const struct rsock *s)
{
    return s->send_slots >= rs_places(s, true) ? min_u32(s->send_free, s->send_bytes - s->send_at) : 0;
}

bool rs_has_credit(const struct rsock *s)
{
    return (uint16_t)(s->send_limit - s->send_seq) > s->send_spare;
}

uint32_t rs_data_room(const struct rsock *s)
{
    if (s->state != RS_CONNECTED || !rs_has_credit(s))
        return 0;
    return min_u32(min_u32(rs_send_room(s), s->lent[s->lent_use].len_bytes), RS_SEND_MAX);
}

bool rs_can_ctrl(const struct rsock *s)
{
    return s->state != RS_CONNECTED || s->ctrl_free;
}

bool rs_is_sent(const struct rsock *s)
{
    return s->state != RS_CONNECTED ||
           (s->send_slots == s->sq_size - RS_CTRL_SLOTS && s->ctrl_free == RS_CTRL_SLOTS);
}

int rs_post_write(struct rsock *s, uint32_t len_bytes, uint64_t addr, uint32_t key, const uint32_t *msg)
{
    struct ibv_sge sge = {(uintptr_t)s->send.bytes + s->send_at, len_bytes, s->send.mr->lkey};
    int err = rs_post(s, len_bytes, &sge, addr, key, msg);
    if (err)
        return err;
    s->send_slots -= rs_places(s, msg);
    s->send_free -= len_bytes;
    s->send_at += len_bytes;
    if (s->send_at == s->send_bytes)
        s->send_at = 0;
    return 0;
}

int rs_post_data(struct rsock *s, uint32_t len_bytes)
{
    struct rs_sge *lent = &s->lent[s->lent_use];
    const uint32_t msg = rs_msg(RS_OP_DATA, len_bytes);
    int err = rs_post_write(s, len_bytes, lent->addr, lent->key, &msg);
    if (err)
        return err;
    s->send_seq++;
    lent->addr += len_bytes;
    lent->len_bytes -= len_bytes;
    if (!lent->len_bytes)
        s->lent_use = (s->lent_use + 1) % RS_SGL_ENTRIES;
    return 0;
}

int rs_post_iomap(struct rsock *s, unsigned index, const struct rs_iomap *map)
{
    const uint32_t msg = rs_msg(RS_OP_IOMAP, index);
    const struct rs_sge *list = &s->peer.sgl;
    uint8_t *slot =
        s->send.bytes + s->send_bytes + RS_CTRL_SLOTS * RS_SGE_BYTES + (size_t)index * RS_IOMAP_BYTES;
    struct ibv_sge sge = {(uintptr_t)slot, RS_IOMAP_BYTES, s->send.mr->lkey};
    rs_put_iomap(map, s->peer.is_big_endian, slot);
    int err =
        rs_post(s, RS_ID_PLACE, &sge,
                list->addr + (uint64_t)list->len_bytes * RS_SGE_BYTES + (uint64_t)index * RS_IOMAP_BYTES,
                list->key, &msg);
    if (err)
        return err;
    s->send_slots -= rs_places(s, true);
    s->send_seq++;
    return 0;
}

int rs_post_ctrl(struct rsock *s, enum rs_ctrl what)
{
    const uint32_t msg = rs_msg(RS_OP_CTRL, what);
    if (!s->ctrl_free)
        return EAGAIN;
    /* If each message needs a receive, an empty write does as well: TCP must get its segment across. */
    bool is_word = !s->has_sends || what != RS_CTRL_KEEPALIVE;
    int err = rs_post(s, RS_ID_CTRL, NULL, s->peer.sgl.addr, s->peer.sgl.key, is_word ? &msg : NULL);
    if (!err)
        s->ctrl_free--;
    return err;
}

void rs_probe(struct rsock *s)
{
    if (s->state != RS_CONNECTED || rs_data_room(s) || !rs_is_sent(s))
        return;
    if (rs_post(s, RS_ID_CTRL, NULL, s->peer.sgl.addr, s->peer.sgl.key, NULL) == 0)
        s->ctrl_free--;
}

/* The sequence number tells how many messages have been taken, and so how many may be sent. */
static int post_credits(struct rsock *s, bool has_half)
{
    const uint32_t msg = rs_msg(RS_OP_SGL, (uint16_t)(s->taken_seq + s->rq_size));
    if (!has_half)
        return rs_post(s, RS_ID_CTRL, NULL, 0, 0, &msg);
    const struct rs_sge half = {(uintptr_t)s->recv.bytes + s->lend_at, s->recv.mr->rkey, s->recv_bytes / 2};
    uint8_t *slot = s->send.bytes + s->send_bytes + (size_t)s->ctrl_next * RS_SGE_BYTES;
    struct ibv_sge sge = {(uintptr_t)slot, RS_SGE_BYTES, s->send.mr->lkey};
    rs_put_sge(&half, s->peer.is_big_endian, slot);
    return rs_post(s, RS_ID_CTRL, &sge, s->peer.sgl.addr + (uint64_t)s->peer_list_at * RS_SGE_BYTES,
                   s->peer.sgl.key, &msg);
}

/* Whether a half is free, or credits are due. */
static bool is_lending_due(const struct rsock *s, bool *has_half)
{
    *has_half = s->free_bytes >= s->recv_bytes / 2;
    return s->state == RS_CONNECTED && !s->is_recv_shut &&
           (*has_half || (int16_t)(s->taken_seq - s->tell_seq) >= 0);
}

bool rs_owes_memory(const struct rsock *s)
{
    bool has_half;
    return is_lending_due(s, &has_half) && s->ctrl_free < RS_CTRL_SLOTS;
}

void rs_lend(struct rsock *s)
{
    bool has_half;
    while (is_lending_due(s, &has_half)) {
        if (s->ctrl_free < rs_places(s, has_half) || post_credits(s, has_half))
            return;
        s->ctrl_free -= rs_places(s, has_half);
        s->ctrl_next = (s->ctrl_next + 1) % RS_CTRL_SLOTS;
        s->tell_seq = (uint16_t)(s->taken_seq + s->rq_size / 2);
        if (!has_half)
            continue;
        s->free_bytes -= s->recv_bytes / 2;
        s->lend_at = s->lend_at ? 0 : s->recv_bytes / 2;
        s->peer_list_at = (s->peer_list_at + 1) % s->peer.sgl.len_bytes;
    }
}

/* --- in --- */

/* Halves of the peer come in the order of its list; an entry is written again only after it was used
 * up. */
static void take_lent(struct rsock *s)
{
    uint8_t *at = s->list.bytes + (size_t)s->lent_next * RS_SGE_BYTES;
    const struct rs_sge sge = rs_get_sge(at);
    if (!sge.len_bytes || s->lent[s->lent_next].len_bytes)
        return;
    memset(at, 0, RS_SGE_BYTES);
    s->lent[s->lent_next] = sge;
    s->lent_next = (s->lent_next + 1) % RS_SGL_ENTRIES;
}

static void take_ctrl(struct rsock *s, uint32_t what)
{
    if (what == RS_CTRL_SHUTDOWN)
        s->is_recv_shut = true;
    if (what == RS_CTRL_DISCONNECT || (what == RS_CTRL_SHUTDOWN && s->is_send_shut))
        rs_set_state(s, RS_ENDED, 0);
}

static void break_off(struct rsock *s, int err, const char *why)
{
    if (rs_is_over(s))
        return;
    verbs_tell("the rsocket of descriptor %d fails: %s", s->fd, why);
    rs_break(s, err);
}

static void take_data(struct rsock *s, uint32_t len_bytes)
{
    if (s->message_count == s->rq_size || len_bytes > s->recv_bytes - s->unread_bytes) {
        break_off(s, EPROTO, "the peer sends more than it was lent");
        return;
    }
    if (!len_bytes) {
        s->taken_seq++; /* there is nothing to read of it */
        return;
    }
    s->messages[(s->message_first + s->message_count) % s->rq_size] = len_bytes;
    s->message_count++;
    s->unread_bytes += len_bytes;
}

static void take_message(struct rsock *s, uint32_t msg)
{
    const uint32_t value = msg & RS_MSG_LENGTH_MAX;
    switch (msg >> 29) {
    case RS_OP_DATA:
        take_data(s, value);
        break;
    case RS_OP_SGL:
        s->send_limit = (uint16_t)value;
        take_lent(s);
        break;
    case RS_OP_IOMAP:
        s->taken_seq++; /* it was a message that needed a credit */
        if (value < s->own_iomaps)
            s->peer_maps[value] = rs_get_iomap(s->list.bytes + (size_t)RS_SGL_ENTRIES * RS_SGE_BYTES +
                                               (size_t)value * RS_IOMAP_BYTES);
        break;
    case RS_OP_CTRL:
        take_ctrl(s, value);
        break;
    default: /* reserved: of a later version */
        break;
    }
}

static void take_receive(struct rsock *s, const struct ibv_wc *wc)
{
    uint32_t msg;
    if (wc->status != IBV_WC_SUCCESS)
        return; /* flushed: the end of the connection has a message of its own */
    bool is_message = rs_get_message(s, wc, &msg);
    if (rs_post_receive(s, (uint32_t)wc->wr_id))
        verbs_tell("the rsocket of descriptor %d has a receive less", s->fd);
    if (is_message)
        take_message(s, msg);
}

static int error_of(enum ibv_wc_status status)
{
    return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR ? ETIMEDOUT : ECONNRESET;
}

static void take_send(struct rsock *s, const struct ibv_wc *wc)
{
    if (wc->wr_id & RS_ID_CTRL) {
        s->ctrl_free++;
    } else {
        s->send_slots++;
        s->send_free += (uint32_t)wc->wr_id;
    }
    if (wc->status != IBV_WC_SUCCESS)
        break_off(s, error_of(wc->status), ibv_wc_status_str(wc->status));
}

bool rs_poll_stream(struct rsock *s)
{
    struct ibv_wc wcs[POLL_BATCH];
    int count, all = 0;
    if (!s->cq)
        return false;
    while ((count = ibv_poll_cq(s->cq, POLL_BATCH, wcs)) > 0) {
        for (int i = 0; i < count; i++)
            if (wcs[i].wr_id & RS_ID_RECV)
                take_receive(s, &wcs[i]);
            else
                take_send(s, &wcs[i]);
        all += count;
    }
    rs_lend(s);
    return all > 0;
}

bool rs_arm_stream(struct rsock *s)
{
    if (!s->cq || s->is_armed)
        return true;
    s->is_armed = ibv_req_notify_cq(s->cq, 0) == 0;
    if (!rs_poll_stream(s))
        return true;
    rs_wake(s);
    return false;
}
