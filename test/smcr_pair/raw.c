/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/smcr_pair/raw.h"
#include "test/support/rc_masks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_SLOTS   64
#define WRITE_BYTES 4096u

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "raw link: %s\n", what);
    abort();
}

static void post_recv(struct raw_link *link, unsigned i)
{
    struct nornic_sge sge = {.addr = (uintptr_t)link->recv_bytes + i * RAW_LONGEST,
                             .len_bytes = RAW_LONGEST,
                             .lkey = link->recv_mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
    (void)roce_post_recv(link->qp, &wr, NULL); /* refused by a QP in RESET */
}

static void register_memory(struct raw_link *link, uint8_t *rmb, size_t rmb_bytes)
{
    link->recv_bytes = calloc(RAW_RECVS, RAW_LONGEST);
    link->out_bytes = calloc(OUT_SLOTS, WRITE_BYTES);
    must(link->recv_bytes && link->out_bytes, "no memory");
    must(rdma_mr_reg(link->pd, link->recv_bytes, RAW_RECVS * RAW_LONGEST, NORNIC_ACCESS_LOCAL_WRITE,
                     &link->recv_mr) == 0,
         "no region");
    must(rdma_mr_reg(link->pd, link->out_bytes, OUT_SLOTS * WRITE_BYTES, 0, &link->out_mr) == 0, "no region");
    if (rmb)
        must(rdma_mr_reg(link->pd, rmb, rmb_bytes, NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE,
                         &link->rmb_mr) == 0,
             "no region");
}

struct raw_link *raw_new(struct pair_port *port, uint8_t *rmb, size_t rmb_bytes)
{
    struct raw_link *link = calloc(1, sizeof *link);
    must(link, "no memory");
    link->pair = port->node->pair;
    link->port = port;
    must(rdma_pd_create(roce_dev_domain(port->dev), &link->pd) == 0, "no PD");
    must(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = 1024}, &link->cq) == 0, "no CQ");
    struct roce_qp_config config = {
        .type = NORNIC_QPT_RC,
        .pd = link->pd,
        .send_cq = link->cq,
        .recv_cq = link->cq,
        .caps = {.max_send_wr = OUT_SLOTS, .max_recv_wr = RAW_RECVS, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = true,
    };
    must(roce_qp_create(port->dev, &config, &link->qp) == 0, "no QP");
    register_memory(link, rmb, rmb_bytes);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT,
                                  .port = 1,
                                  .access_flags = NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ};
    must(roce_qp_modify(link->qp, &attr, NORNIC_QP_STATE | RC_INIT_MASK, link->pair->now_ns) == 0, "no INIT");
    for (unsigned i = 0; i < RAW_RECVS; i++)
        post_recv(link, i);
    link->local = (struct smcr_link_end){.mac = port->mac,
                                         .gid = port->addr,
                                         .qpn = roce_qp_num(link->qp),
                                         .psn = test_random_next(&port->node->random) & 0xffffff,
                                         .mtu = NORNIC_MTU_1024};
    return link;
}

void raw_free(struct raw_link *link)
{
    if (!link)
        return;
    must(roce_qp_destroy(link->qp) == 0, "the QP stays");
    must(rdma_mr_dereg(link->recv_mr) == 0 && rdma_mr_dereg(link->out_mr) == 0, "a region stays");
    must(!link->rmb_mr || rdma_mr_dereg(link->rmb_mr) == 0, "a region stays");
    must(rdma_cq_destroy(link->cq) == 0 && rdma_pd_destroy(link->pd) == 0, "the CQ or the PD stays");
    free(link->recv_bytes);
    free(link->out_bytes);
    free(link);
}

int raw_ready(struct raw_link *link, const struct smcr_link_end *peer)
{
    uint64_t now_ns = link->pair->now_ns;
    struct nornic_qp_attr attr = {
        .state = NORNIC_QPS_RTR,
        .path_mtu =
            peer->mtu < link->local.mtu ? (enum nornic_mtu)peer->mtu : (enum nornic_mtu)link->local.mtu,
        .timeout = 14,
        .retry_cnt = 6,
        .rnr_retry = 6,
        .min_rnr_timer = 12,
        .max_rd_atomic = 1,
        .max_dest_rd_atomic = 1,
        .rq_psn = peer->psn,
        .sq_psn = link->local.psn,
        .dest_qpn = peer->qpn,
        .av = {.dgid = peer->gid,
               .sgid_index = (uint8_t)link->port->sgid_index,
               .hop_limit = 64,
               .dst_mac = peer->mac},
    };
    int err = roce_qp_modify(link->qp, &attr, NORNIC_QP_STATE | RC_RTR_MASK, now_ns);
    if (err)
        return err;
    attr.state = NORNIC_QPS_RTS;
    return roce_qp_modify(link->qp, &attr, NORNIC_QP_STATE | RC_RTS_MASK, now_ns);
}

void raw_break(struct raw_link *link)
{
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_ERR};
    must(roce_qp_modify(link->qp, &attr, NORNIC_QP_STATE, link->pair->now_ns) == 0, "no ERR");
}

static void take_message(struct raw_link *link, const struct nornic_wc *wc)
{
    unsigned slot = (unsigned)wc->wr_id;
    struct raw_message *m = &link->message[(link->first + link->count) % RAW_MESSAGES];
    if (link->count == RAW_MESSAGES) /* nobody asks: the oldest goes */
        link->first = (link->first + 1) % RAW_MESSAGES;
    else
        link->count++;
    m->len_bytes = wc->byte_len;
    memcpy(m->bytes, link->recv_bytes + slot * RAW_LONGEST, wc->byte_len);
    post_recv(link, slot);
}

static void poll(struct raw_link *link)
{
    struct nornic_wc wc;
    while (rdma_cq_poll(link->cq, &wc, 1) == 1) {
        bool ok = wc.status == NORNIC_WC_SUCCESS;
        if (ok && wc.opcode == NORNIC_WC_RECV)
            take_message(link, &wc);
        else if (ok)
            link->sent++;
        else
            link->failed++;
    }
}

static void post(struct raw_link *link, const uint8_t *bytes, uint32_t len_bytes, struct nornic_send_wr wr)
{
    poll(link);
    must(len_bytes <= WRITE_BYTES, "too long");
    uint8_t *slot = link->out_bytes + (size_t)(link->next_out++ % OUT_SLOTS) * WRITE_BYTES;
    memcpy(slot, bytes, len_bytes);
    struct nornic_sge sge = {.addr = (uintptr_t)slot, .len_bytes = len_bytes, .lkey = link->out_mr->lkey};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    (void)roce_post_send(link->qp, &wr, NULL); /* a full queue, or a QP that was broken: it is lost */
}

void raw_send(struct raw_link *link, const uint8_t *bytes, uint32_t len_bytes)
{
    post(link, bytes, len_bytes, (struct nornic_send_wr){.opcode = NORNIC_WR_SEND});
}

void raw_write(struct raw_link *link, const uint8_t *bytes, uint32_t len_bytes, uint64_t va, uint32_t rkey)
{
    post(link, bytes, len_bytes,
         (struct nornic_send_wr){.opcode = NORNIC_WR_RDMA_WRITE, .remote_addr = va, .rkey = rkey});
}

bool raw_take(struct raw_link *link, struct raw_message *out)
{
    poll(link);
    if (link->count == 0)
        return false;
    *out = link->message[link->first];
    link->first = (link->first + 1) % RAW_MESSAGES;
    link->count--;
    return true;
}

struct waiting {
    struct raw_link *link;
    uint8_t type;
    bool response;
    struct raw_message *out;
};

static bool has_come(void *ctx, struct pair *pair)
{
    const struct waiting *w = ctx;
    (void)pair;
    while (raw_take(w->link, w->out))
        if (w->out->bytes[0] == w->type && (w->out->bytes[3] & 0x80) == (w->response ? 0x80 : 0))
            return true;
    return false;
}

bool raw_wait(struct raw_link *link, uint8_t type, bool response, struct raw_message *out, uint64_t max_ns)
{
    struct waiting w = {link, type, response, out};
    return pair_run_until(link->pair, has_come, &w, max_ns);
}
