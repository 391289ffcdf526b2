/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine in the place of the recorded end: it gets the events, posts what the end must have posted when
 * the first segment of it was sent, and what it sends is read back. */
#include "explain/replay/iwarp/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base.h"
#include "explain/replay/iwarp/learn.h"
#include "explain/replay/iwarp/messages.h"
#include "explain/replay/iwarp/streams.h"
#include "explain/replay/iwarp/turn.h"
#include "iwarp/wire/crc.h"
#include "iwarp/wire/opcode.h"
#include "iwarp/wire/size.h"
#include "net/bytes.h"

#define DEPTH_MAX 1024
#define WR_MAX    16384

static uint64_t next_random(void *ctx)
{
    struct iwr_end *e = ctx;
    return e->random += UINT64_C(0x9e3779b97f4a7c15);
}

/* --- making it --- */

/* A region that the peer may invalidate is a fast one: a plain one cannot be. */
static int open_region(struct iwr_end *e, struct iwr_region *r)
{
    uint64_t len = r->to - r->from;
    uint32_t access = r->access | (r->access & NORNIC_ACCESS_REMOTE_READ ? 0 : NORNIC_ACCESS_LOCAL_WRITE) |
                      (r->access & NORNIC_ACCESS_REMOTE_WRITE ? NORNIC_ACCESS_LOCAL_WRITE : 0);
    if (!r->is_invalidated)
        return rdma_mr_reg_iova(e->pd, r->bytes, len, r->from, access, &r->mr);
    int err = rdma_mr_alloc_fast(e->pd, len, &r->mr);
    if (err)
        return err;
    const struct rdma_fast_reg reg = {
        .key = r->mr->rkey, .addr = r->bytes, .len_bytes = len, .iova = r->from, .access = access};
    return rdma_mr_fast_reg(e->domain, e->pd, &reg);
}

static int open_qp(struct iwr_end *e)
{
    const struct iwarp_qp_config config = {
        .mem = &rdma_mem_libc,
        .domain = e->domain,
        .qpn = 1,
        .pd = e->pd,
        .send_cq = e->cq,
        .recv_cq = e->cq,
        .caps = {.max_send_wr = (uint32_t)min_u64(e->recorded.count[IWR_SOURCE] + 1, WR_MAX),
                 .max_recv_wr = (uint32_t)min_u64(e->recv_count + 1, WR_MAX),
                 .max_send_sge = 1,
                 .max_recv_sge = 1},
        .max_ird = DEPTH_MAX,
        .max_ord = DEPTH_MAX,
        .no_extensions = true,
    };
    return iwarp_qp_create(&config, &e->qp);
}

static int post_receives(struct iwr_end *e)
{
    int err = 0;
    for (size_t i = 0; i < e->recv_count && i < WR_MAX && !err; i++) {
        const struct nornic_sge sge = {(uintptr_t)(e->arena + e->arena_used), e->recv_bytes[i],
                                       e->arena_mr->lkey};
        const struct nornic_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = e->recv_bytes[i] != 0};
        e->arena_used += e->recv_bytes[i];
        err = rdma_qp_post_recv(&e->qp->base, &wr, NULL);
    }
    return err;
}

static int open_engine(struct iwr_end *e)
{
    const struct rdma_random random = {.next = next_random, .ctx = e};
    const struct rdma_cq_config cq = {.capacity =
                                          (uint32_t)(e->recorded.count[IWR_SOURCE] + e->recv_count) + 8};
    int err = rdma_domain_create(&rdma_mem_libc, &random, (uint32_t)e->region_count + 2, &e->domain);
    err = err ? err : rdma_pd_create(e->domain, &e->pd);
    err = err ? err : rdma_cq_create(&rdma_mem_libc, &cq, &e->cq);
    err = err ? err
              : rdma_mr_reg(e->pd, e->arena, e->arena_bytes,
                            NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE, &e->arena_mr);
    for (size_t i = 0; i < e->region_count && !err; i++)
        err = open_region(e, &e->regions[i]);
    err = err ? err : open_qp(e);
    if (!err && e->longest)
        iwarp_qp_set_emss(e->qp, e->longest + IWARP_FPDU_EXTRA_BYTES + iwarp_pad_bytes(e->longest));
    return err ? err : post_receives(e);
}

void explain_iwr_engine_free(struct iwr_end *e)
{
    if (e->qp)
        iwarp_qp_destroy(e->qp);
    for (size_t i = 0; i < e->region_count; i++)
        if (e->regions[i].mr)
            rdma_mr_dereg(e->regions[i].mr);
    if (e->arena_mr)
        rdma_mr_dereg(e->arena_mr);
    if (e->cq)
        rdma_cq_destroy(e->cq);
    if (e->pd)
        rdma_pd_destroy(e->pd);
    if (e->domain)
        rdma_domain_destroy(e->domain);
}

/* --- what it sends --- */

static int keep(struct iwr_end *e, const uint8_t *bytes, uint32_t len)
{
    uint8_t *out = array_room(e->out, &e->out_cap, e->out_bytes + len, 1);
    if (!out)
        return -ENOMEM;
    e->out = out;
    memcpy(e->out + e->out_bytes, bytes, len);
    e->out_bytes += len;
    return 0;
}

/* Octets that are read are gone. */
static void drop(struct iwr_end *e, size_t len)
{
    e->out_bytes -= len;
    memmove(e->out, e->out + len, e->out_bytes);
}

static int read_frame(struct iwr_end *e)
{
    if (e->out_bytes < IWARP_MPA_FRAME_BYTES)
        return 0;
    size_t len = IWARP_MPA_FRAME_BYTES + get_be16(e->out + 18);
    if (e->out_bytes < len)
        return 0;
    e->frame = malloc(len);
    if (!e->frame)
        return -ENOMEM;
    memcpy(e->frame, e->out, len);
    e->frame_bytes = len;
    e->frame_cause = e->cause;
    drop(e, len);
    return 0;
}

/* Where the data of its READ go: the peer's answer is turned there. */
static void learn_sink(struct iwr_end *e, const struct iwr_message *m)
{
    if (e->sinks_asked >= e->sink_count)
        return;
    struct iwr_sink *s = &e->sinks[e->sinks_asked++];
    s->is_asked = true;
    s->engine_stag = get_be32(m->data);
    s->engine_to = get_be64(m->data + 4);
}

/* An empty Write of the engine's own, behind its RTR: the recorded end was not so impatient. */
static bool is_nudge(const struct iwr_end *e, const uint8_t *ulpdu, uint32_t len)
{
    return len == IWARP_DDP_TAGGED_BYTES && (ulpdu[1] & 15) == IWARP_OP_WRITE && e->nudges < e->qp->nudges &&
           e->engine.count[IWR_SOURCE] >= e->rtr;
}

static int read_fpdus(struct iwr_end *e)
{
    while (e->out_bytes >= IWARP_FPDU_EXTRA_BYTES) {
        uint32_t ulpdu = get_be16(e->out), len = iwarp_fpdu_bytes(ulpdu);
        if (e->out_bytes < len)
            return 0;
        const uint8_t *crc = e->out + len - IWARP_MPA_CRC_BYTES;
        if (is_nudge(e, e->out + IWARP_MPA_LENGTH_BYTES, ulpdu)) {
            e->nudges++;
            drop(e, len);
            continue;
        }
        const struct iwr_message like = {.cause = e->cause,
                                         .has_bad_crc = e->qp->session.has_crc &&
                                                        iwarp_crc(0, e->out, len - IWARP_MPA_CRC_BYTES) !=
                                                            iwarp_crc_get(crc)};
        struct iwr_message *m =
            explain_iwr_message_add(&e->engine, e->out + IWARP_MPA_LENGTH_BYTES, ulpdu, &like);
        if (!m)
            return -ENOMEM;
        if (m->opcode == IWARP_OP_READ_REQUEST && m->len_bytes >= IWARP_READ_REQ_BYTES)
            learn_sink(e, m);
        if (m->opcode == IWARP_OP_TERMINATE)
            explain_iwr_turn_back(e, m);
        drop(e, len);
    }
    return 0;
}

static int pull(struct iwr_end *e)
{
    uint32_t count;
    const struct iwarp_piece *pieces;
    int err = 0;
    while (!err && (pieces = iwarp_qp_output(e->qp, &count, e->now_ns), count != 0)) {
        size_t len = 0;
        for (uint32_t i = 0; i < count && !err; i++) {
            err = keep(e, pieces[i].bytes, pieces[i].len_bytes);
            len += pieces[i].len_bytes;
        }
        iwarp_qp_sent(e->qp, len, e->now_ns);
        err = err || e->frame ? err : read_frame(e);
        err = err || !e->frame ? err : read_fpdus(e);
    }
    return err;
}

/* --- what its program does --- */

/* As the recorded frame has it. */
static struct iwarp_setup_config setup_of(const struct iwarp_mpa_frame *frame,
                                          const struct iwarp_mpa_enhanced *told)
{
    return (struct iwarp_setup_config){
        .rev = frame->rev >= 1 && frame->rev <= 2 ? frame->rev : 0,
        .wants_markers = frame->m,
        .no_crc = !frame->c,
        .ird = told->ird == IWARP_DEPTH_OPEN ? DEPTH_MAX : (uint16_t)min_u32(told->ird, DEPTH_MAX),
        .ord = told->ord == IWARP_DEPTH_OPEN ? DEPTH_MAX : (uint16_t)min_u32(told->ord, DEPTH_MAX),
        .max_ird = DEPTH_MAX,
        .leaves_depths = told->ird == IWARP_DEPTH_OPEN,
        .no_rtr = !told->a,
        .rtr = (uint8_t)((told->c ? IWARP_RTR_WRITE : 0) | (told->d ? IWARP_RTR_READ : 0)),
    };
}

/* The recorded frame of the end, what leads its private data, and how many octets that takes. */
static uint32_t own_frame(const struct iwr_end *e, struct iwarp_mpa_frame *frame,
                          struct iwarp_mpa_enhanced *told)
{
    const struct iwr_event *event = explain_iwr_frame_of(e->conn, e->side);
    iwarp_mpa_frame_get(frame, event->bytes);
    *told = (struct iwarp_mpa_enhanced){.ird = DEPTH_MAX, .ord = DEPTH_MAX};
    if (!frame->s || frame->pd_len < IWARP_MPA_ENHANCED_BYTES)
        return 0;
    iwarp_mpa_enhanced_get(told, event->bytes + IWARP_MPA_FRAME_BYTES);
    return IWARP_MPA_ENHANCED_BYTES;
}

static bool is_initiator(const struct iwarp_mpa_frame *own)
{
    return memcmp(own->key, IWARP_MPA_KEY_REQUEST, sizeof own->key) == 0;
}

static int begin(struct iwr_end *e)
{
    struct iwarp_mpa_frame frame;
    struct iwarp_mpa_enhanced told;
    own_frame(e, &frame, &told);
    if (is_initiator(&frame))
        return 0;
    struct iwarp_setup_config config = setup_of(&frame, &told);
    config.rev = 0; /* the newest */
    return iwarp_qp_listen(e->qp, &config, e->now_ns);
}

static int send_frame(struct iwr_end *e, const struct iwr_event *event)
{
    struct iwarp_mpa_frame frame;
    struct iwarp_mpa_enhanced told;
    uint32_t lead = own_frame(e, &frame, &told), len = frame.pd_len - lead;
    const uint8_t *data = event->bytes + IWARP_MPA_FRAME_BYTES + lead;
    const struct iwarp_setup_config config = setup_of(&frame, &told);
    if (is_initiator(&frame))
        return iwarp_qp_connect(e->qp, &config, data, len, e->now_ns);
    if (e->qp->setup.state != IWARP_SETUP_REQUESTED)
        return 0;
    return frame.r ? iwarp_qp_reject(e->qp, data, len) : iwarp_qp_accept(e->qp, data, len);
}

static void post(struct iwr_end *e, const struct iwr_message *m)
{
    const struct iwarp_opcode *op = explain_iwr_opcode(m->opcode);
    bool is_read = m->opcode == IWARP_OP_READ_REQUEST;
    if (!op || !m->is_whole || op->flags & IWARP_MSG_EXTENSION ||
        (is_read && m->len_bytes < IWARP_READ_REQ_BYTES))
        return;
    uint32_t len = is_read ? get_be32(m->data + 12) : m->len_bytes;
    if (is_read && len > IWR_READ_BYTES_MAX)
        return;
    const struct nornic_sge sge = {(uintptr_t)(e->arena + e->arena_used), len, e->arena_mr->lkey};
    struct nornic_send_wr wr = {.wr_id = e->posted, .sg_list = &sge, .num_sge = len != 0};
    if (is_read) {
        wr.opcode = NORNIC_WR_RDMA_READ;
        wr.rkey = get_be32(m->data + 16);
        wr.remote_addr = get_be64(m->data + 20);
    } else {
        memcpy(e->arena + e->arena_used, m->data, len);
        wr.opcode = m->opcode == IWARP_OP_WRITE        ? NORNIC_WR_RDMA_WRITE
                    : op->flags & IWARP_MSG_INVALIDATE ? NORNIC_WR_SEND_WITH_INV
                                                       : NORNIC_WR_SEND;
        wr.rkey = m->stag;
        wr.remote_addr = m->to;
        wr.invalidate_rkey = m->inv_stag;
        wr.send_flags = op->flags & IWARP_MSG_SOLICITED ? NORNIC_SEND_SOLICITED : 0;
    }
    e->arena_used += len;
    e->work_requests += rdma_qp_post_send(&e->qp->base, &wr, NULL) == 0;
}

/* Posts all that the end had begun to send by that event. Its RTR the engine sends by itself. */
static void post_until(struct iwr_end *e, size_t event)
{
    const struct iwr_messages *m = &e->recorded;
    for (; e->posted < m->count[IWR_SOURCE] && m->items[IWR_SOURCE][e->posted].event <= event; e->posted++) {
        const struct iwr_message *s = &m->items[IWR_SOURCE][e->posted];
        if (e->posted >= e->rtr)
            post(e, s);
    }
}

/* --- what comes in --- */

/* The program had put there what the recorded answer brought. */
static void fill_source(struct iwr_end *e, const uint8_t *ulpdu)
{
    struct iwarp_read_req read;
    size_t n = e->requests_seen++;
    iwarp_read_req_get(&read, ulpdu + IWARP_DDP_UNTAGGED_BYTES);
    const struct iwr_region *r = explain_iwr_region(e, read.src_stag);
    if (!r || n >= e->recorded.count[IWR_ANSWER] || read.src_to < r->from)
        return;
    const struct iwr_message *answer = &e->recorded.items[IWR_ANSWER][n];
    if (read.src_to - r->from <= r->to - r->from && answer->len_bytes <= r->to - read.src_to)
        memcpy(r->bytes + (read.src_to - r->from), answer->data, answer->len_bytes);
}

static void feed(struct iwr_end *e, const struct iwr_event *event, uint8_t *bytes)
{
    memcpy(bytes, event->bytes, event->len_bytes);
    if (event->kind == IWR_FPDU) {
        uint32_t len;
        const uint8_t *ulpdu = explain_iwr_ulpdu(event, &len);
        if (len >= IWARP_DDP_UNTAGGED_BYTES + IWARP_READ_REQ_BYTES && !(ulpdu[0] & 0x80) &&
            (ulpdu[1] & 15) == IWARP_OP_READ_REQUEST)
            fill_source(e, ulpdu);
        explain_iwr_turn(e, event, bytes);
    }
    e->fed += event->kind != IWR_REST;
    iwarp_qp_input(e->qp, bytes, event->len_bytes);
}

static int hear(struct iwr_end *e, const struct iwr_event *event)
{
    e->cause = event->number;
    if (event->kind == IWR_FIN || event->kind == IWR_RST) {
        e->fin_cause = event->number;
        if (event->kind == IWR_FIN)
            iwarp_qp_fin(e->qp, e->now_ns);
        else
            iwarp_qp_lost(e->qp);
        return 0;
    }
    uint8_t *bytes = malloc(event->len_bytes + 1u);
    if (!bytes)
        return -ENOMEM;
    feed(e, event, bytes);
    free(bytes);
    return 0;
}

static int act(struct iwr_end *e, const struct iwr_event *event, size_t at)
{
    if (event->kind == IWR_FRAME)
        return send_frame(e, event);
    if (event->kind == IWR_FPDU)
        post_until(e, at);
    else if (event->kind == IWR_FIN && e->recorded.count[IWR_TERM] == 0)
        iwarp_qp_disconnect(e->qp, e->now_ns);
    else if (event->kind == IWR_RST)
        iwarp_qp_lost(e->qp);
    return 0;
}

/* The recorded sinks, which Read Responses are told apart by. */
static void learn_recorded_sinks(struct iwr_end *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->recorded.count[IWR_SOURCE]; i++) {
        const struct iwr_message *m = &e->recorded.items[IWR_SOURCE][i];
        if (m->opcode == IWARP_OP_READ_REQUEST)
            e->sinks[n++].recorded_to = m->len_bytes >= IWARP_READ_REQ_BYTES ? get_be64(m->data + 4) : 0;
    }
}

/* A FIN of the peer is heard when the end begins nothing more: TCP has it, and may acknowledge it, long
 * before its program looks. */
static int play_event(struct iwr_end *e, const struct iwr_event *event, size_t at,
                      const struct iwr_event **fin)
{
    int err = 0;
    if (event->side == e->side)
        err = act(e, event, at);
    else if (event->kind == IWR_FIN)
        *fin = event;
    else
        err = hear(e, event);
    if (event->kind == IWR_RST)
        *fin = NULL;
    if (err || !*fin || e->posted < e->recorded.count[IWR_SOURCE])
        return err;
    err = pull(e);
    err = err ? err : hear(e, *fin);
    *fin = NULL;
    return err;
}

int explain_iwr_play(struct iwr_end *e)
{
    const struct iwr_conn *c = e->conn;
    const struct iwr_event *fin = NULL; /* of the peer, not yet heard */
    int err = open_engine(e);
    learn_recorded_sinks(e);
    for (size_t i = 0; i < c->event_count && !err; i++) {
        const struct iwr_event *event = &c->events[i];
        e->now_ns = event->time_ns;
        err = i == 0 ? begin(e) : 0;
        if (!err && iwarp_qp_deadline_ns(e->qp) <= e->now_ns) {
            iwarp_qp_advance(e->qp, e->now_ns);
            err = pull(e);
        }
        if (!err)
            err = play_event(e, event, i, &fin);
        err = err ? err : pull(e);
    }
    return err;
}
