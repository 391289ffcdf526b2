/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/iwarp/world.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/wire/size.h"

static void on_event(void *ctx, const struct rdma_event *event)
{
    struct side *s = ctx;
    if (s->event_count < SIDE_EVENTS)
        s->events[s->event_count++] = event->type;
}

static void on_notify(void *ctx, struct rdma_cq *cq, bool overflow)
{
    struct side *s = ctx;
    (void)cq;
    s->notified += !overflow;
}

void side_make(struct side *s, uint64_t seed, const struct side_options *options)
{
    static const struct side_options none;
    const struct side_options *o = options ? options : &none;
    *s = (struct side){.rnd = {.state = seed}};
    struct rdma_random source = test_random_source(&s->rnd);
    const struct rdma_cq_config cq_config = {
        .capacity = o->cq_entries ? o->cq_entries : 512, .notify = on_notify, .ctx = s};
    test_alloc_init(&s->alloc);
    s->memory = aligned_alloc(64, SIDE_BYTES);
    cr_assert_eq(rdma_domain_create(&s->alloc.mem, &source, 64, &s->domain), 0);
    rdma_domain_on_event(s->domain, on_event, s);
    cr_assert_eq(rdma_pd_create(s->domain, &s->pd), 0);
    cr_assert_eq(rdma_pd_create(s->domain, &s->other_pd), 0);
    cr_assert_eq(rdma_cq_create(&s->alloc.mem, &cq_config, &s->cq), 0);
    cr_assert_eq(rdma_mr_reg(s->pd, s->memory, SIDE_BYTES, ALL_RIGHTS, &s->mr), 0);
    const struct rdma_srq_config srq_config = {.max_wr = 8, .max_sge = 2};
    if (o->has_srq)
        cr_assert_eq(rdma_srq_create(s->pd, &srq_config, &s->srq), 0);
    s->options = *o;
    side_renew(s);
}

static void make_qp(struct side *s)
{
    const struct side_options *o = &s->options;
    const struct iwarp_qp_config config = {
        .srq = s->srq,
        .mem = &s->alloc.mem,
        .domain = s->domain,
        .qpn = 0x123456,
        .pd = s->pd,
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .caps = {.max_send_wr = 64,
                 .max_recv_wr = 64,
                 .max_send_sge = 4,
                 .max_recv_sge = 4,
                 .max_inline_bytes = 64},
        .sq_sig_all = true,
        .max_ird = o->max_ird ? o->max_ird : 4,
        .max_ord = o->max_ord ? o->max_ord : 4,
        .no_extensions = o->no_extensions,
        .sends_extensions = !o->no_extensions,
    };
    cr_assert_eq(iwarp_qp_create(&config, &s->qp), 0);
}

void side_renew(struct side *s)
{
    struct nornic_wc wc;
    if (s->qp)
        iwarp_qp_destroy(s->qp);
    while (side_poll(s, &wc))
        ;
    s->event_count = 0;
    memset(s->memory, 0, SIDE_BYTES);
    make_qp(s);
}

void side_free(struct side *s)
{
    iwarp_qp_destroy(s->qp);
    if (s->srq)
        rdma_srq_destroy(s->srq);
    rdma_mr_dereg(s->mr);
    rdma_cq_destroy(s->cq);
    rdma_pd_destroy(s->pd);
    rdma_pd_destroy(s->other_pd);
    rdma_domain_destroy(s->domain);
    free(s->memory);
    cr_expect_eq(s->alloc.live, 0, "%u allocations are left", s->alloc.live);
}

struct nornic_sge side_sge(const struct side *s, uint32_t offset, uint32_t len_bytes)
{
    return (struct nornic_sge){(uintptr_t)(s->memory + offset), len_bytes, s->mr->lkey};
}

void side_post_wr(struct side *s, const struct nornic_send_wr *wr)
{
    cr_assert_eq(rdma_qp_post_send(&s->qp->base, wr, NULL), 0);
}

void side_post(struct side *s, enum nornic_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
               uint32_t len_bytes, uint64_t remote_addr, uint32_t rkey)
{
    const struct nornic_sge sge = side_sge(s, offset, len_bytes);
    const struct nornic_send_wr wr = {.wr_id = wr_id,
                                      .opcode = opcode,
                                      .sg_list = &sge,
                                      .num_sge = len_bytes != 0,
                                      .remote_addr = remote_addr,
                                      .rkey = rkey};
    side_post_wr(s, &wr);
}

void side_post_recv(struct side *s, uint64_t wr_id, uint32_t offset, uint32_t len_bytes)
{
    const struct nornic_sge sge = side_sge(s, offset, len_bytes);
    const struct nornic_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = len_bytes != 0};
    cr_assert_eq(rdma_qp_post_recv(&s->qp->base, &wr, NULL), 0);
}

bool side_poll(struct side *s, struct nornic_wc *wc)
{
    return rdma_cq_poll(s->cq, wc, 1) == 1;
}

struct nornic_wc side_expect(struct side *s, uint64_t wr_id, enum nornic_wc_status status)
{
    struct nornic_wc wc = {0};
    cr_assert(side_poll(s, &wc), "no completion of %lu", wr_id);
    cr_assert_eq(wc.wr_id, wr_id, "%lu instead of %lu", wc.wr_id, wr_id);
    cr_assert_eq(wc.status, status, "%lu: %s", wr_id, nornic_wc_status_name(wc.status));
    return wc;
}

void side_expect_nothing(struct side *s)
{
    struct nornic_wc wc = {0};
    cr_expect_not(side_poll(s, &wc), "%lu: %s", wc.wr_id, nornic_wc_status_name(wc.status));
}

bool side_has_event(const struct side *s, enum nornic_event_type type)
{
    for (unsigned i = 0; i < s->event_count; i++)
        if (s->events[i] == type)
            return true;
    return false;
}

/* --- the played peer --- */

static uint32_t take_output(struct side *s, uint8_t *to, uint32_t room)
{
    uint32_t count, len = 0;
    const struct iwarp_piece *pieces = iwarp_qp_output(s->qp, &count, 0);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_leq(len + pieces[i].len_bytes, room);
        memcpy(to + len, pieces[i].bytes, pieces[i].len_bytes);
        len += pieces[i].len_bytes;
    }
    iwarp_qp_sent(s->qp, len, 0);
    return len;
}

void peer_meet(struct peer *p, struct side *s, bool qp_begins)
{
    static const struct iwarp_fpdu_rules rules = {.has_crc = true};
    const struct iwarp_setup_config config = {.rev = 1, .ird = s->qp->max_ird, .ord = s->qp->max_ord};
    uint8_t frame[20] = "MPA ID Rep Frame";
    frame[16] = 0x40;
    frame[17] = 1;
    p->heard_bytes = p->looked_bytes = 0;
    iwarp_fpdu_rx_init(&p->rx, &rules, p->buffers);
    iwarp_fpdu_tx_init(&p->tx, &rules, p->buffers + IWARP_BOUNCE_BYTES,
                       p->buffers + IWARP_BOUNCE_BYTES + IWARP_BATCH_BYTES);
    if (qp_begins) {
        cr_assert_eq(iwarp_qp_connect(s->qp, &config, NULL, 0, 0), 0);
        cr_assert_eq(take_output(s, p->heard, sizeof p->heard), 20);
        iwarp_qp_input(s->qp, frame, sizeof frame);
    } else {
        memcpy(frame, "MPA ID Req Frame", 16);
        cr_assert_eq(iwarp_qp_listen(s->qp, &config, 0), 0);
        iwarp_qp_input(s->qp, frame, sizeof frame);
        cr_assert_eq(iwarp_qp_accept(s->qp, NULL, 0), 0);
        cr_assert_eq(take_output(s, p->heard, sizeof p->heard), 20);
    }
    cr_assert_eq(s->qp->state, IWARP_QP_RTS);
}

void peer_say(struct peer *p, struct side *s, const uint8_t *head, const uint8_t *head_end,
              const void *payload, uint32_t payload_bytes)
{
    static uint8_t octets[IWARP_BATCH_BYTES];
    uint32_t count, len = 0, head_bytes = (uint32_t)(head_end - head);
    iwarp_fpdu_tx_begin(&p->tx, head_bytes + payload_bytes);
    iwarp_fpdu_tx_copy(&p->tx, head, head_bytes);
    iwarp_fpdu_tx_copy(&p->tx, payload, payload_bytes);
    iwarp_fpdu_tx_end(&p->tx);
    const struct iwarp_piece *pieces = iwarp_fpdu_tx_pieces(&p->tx, &count);
    for (uint32_t i = 0; i < count; len += pieces[i++].len_bytes)
        memcpy(octets + len, pieces[i].bytes, pieces[i].len_bytes);
    iwarp_fpdu_tx_sent(&p->tx, len);
    iwarp_qp_input(s->qp, octets, len);
}

void peer_say_tagged(struct peer *p, struct side *s, enum iwarp_op op, bool is_last, uint32_t stag,
                     uint64_t to, const void *payload, uint32_t payload_bytes)
{
    uint8_t head[IWARP_HEAD_BYTES];
    peer_say(p, s, head, iwarp_put_tagged(head, op, is_last, stag, to), payload, payload_bytes);
}

void peer_say_untagged(struct peer *p, struct side *s, enum iwarp_op op, bool is_last,
                       const struct iwarp_untagged *ddp, const void *payload, uint32_t payload_bytes)
{
    uint8_t head[IWARP_HEAD_BYTES];
    peer_say(p, s, head, iwarp_put_untagged(head, op, is_last, ddp), payload, payload_bytes);
}

void peer_ask_read(struct peer *p, struct side *s, uint32_t msn, const struct iwarp_read_req *req)
{
    uint8_t body[IWARP_READ_REQ_BYTES];
    iwarp_read_req_put(body, req);
    peer_say_untagged(p, s, IWARP_OP_READ_REQUEST, true, &(struct iwarp_untagged){.qn = 1, .msn = msn}, body,
                      sizeof body);
}

void peer_ask_atomic(struct peer *p, struct side *s, uint32_t msn, const struct iwarp_atomic_req *req)
{
    uint8_t body[IWARP_ATOMIC_REQ_BYTES] = {0};
    iwarp_atomic_req_put(body, req);
    peer_say_untagged(p, s, IWARP_OP_ATOMIC_REQUEST, true, &(struct iwarp_untagged){.qn = 1, .msn = msn},
                      body, sizeof body);
}

bool peer_hear(struct peer *p, struct side *s, struct iwarp_ulpdu *ulpdu)
{
    size_t taken;
    if (p->looked_bytes == p->heard_bytes) {
        p->looked_bytes = 0;
        p->heard_bytes = take_output(s, p->heard, sizeof p->heard);
    }
    enum iwarp_fpdu_verdict verdict = iwarp_fpdu_rx_take(&p->rx, p->heard + p->looked_bytes,
                                                         p->heard_bytes - p->looked_bytes, &taken, ulpdu);
    p->looked_bytes += (uint32_t)taken;
    cr_assert(verdict == IWARP_FPDU_WHOLE ||
              (verdict == IWARP_FPDU_MORE && iwarp_fpdu_rx_is_between(&p->rx)));
    return verdict == IWARP_FPDU_WHOLE;
}

const uint8_t *peer_expect(struct peer *p, struct side *s, enum iwarp_op op, struct iwarp_ulpdu *ulpdu)
{
    struct iwarp_ctrl ctrl;
    cr_assert(peer_hear(p, s, ulpdu), "silence instead of %s", iwarp_opcode_name(op));
    iwarp_ctrl_get(&ctrl, ulpdu->bytes);
    cr_assert_eq(ctrl.opcode, op, "%s", iwarp_opcode_name(ctrl.opcode));
    cr_assert(ctrl.l && ctrl.dv == 1 && ctrl.rv == 1 && !ctrl.resv4 && !ctrl.resv2);
    return ulpdu->bytes + (ctrl.t ? IWARP_DDP_TAGGED_BYTES : IWARP_DDP_UNTAGGED_BYTES);
}

const uint8_t *peer_expect_terminate(struct peer *p, struct side *s, uint16_t code,
                                     struct iwarp_term *control)
{
    static uint8_t copy[IWARP_HEAD_BYTES];
    struct iwarp_ulpdu ulpdu;
    struct iwarp_untagged ddp;
    peer_expect(p, s, IWARP_OP_TERMINATE, &ulpdu);
    cr_assert_leq(ulpdu.len_bytes, sizeof copy);
    memcpy(copy, ulpdu.bytes, ulpdu.len_bytes);
    const uint8_t *body = iwarp_untagged_get(&ddp, copy + IWARP_CTRL_BYTES);
    cr_expect(ddp.qn == 2 && ddp.msn == 1 && ddp.mo == 0 && ddp.inv_stag == 0);
    iwarp_term_get(control, body);
    cr_expect_eq(iwarp_term_value(control), code, "%04x instead of %04x", iwarp_term_value(control), code);
    cr_expect_eq(control->resv13, 0);
    cr_expect_eq(ulpdu.len_bytes, IWARP_DDP_UNTAGGED_BYTES + IWARP_TERM_BYTES +
                                      (control->m ? 2 + (body[6] & 0x80 ? 14 : 18) + 28 * control->r : 0));
    peer_expect_silence(p, s);
    cr_expect_eq(s->qp->tcp, IWARP_TCP_SHUTDOWN);
    return body;
}

void peer_expect_silence(struct peer *p, struct side *s)
{
    struct iwarp_ulpdu ulpdu;
    cr_expect_not(peer_hear(p, s, &ulpdu), "%s", iwarp_opcode_name(ulpdu.bytes[1] & 15));
}
