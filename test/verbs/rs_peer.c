/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/verbs/rs_peer.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "test/verbs/pair.h"

#define ID_RECV 100 /* and its number */

static bool has_sends(const struct rs_peer *p)
{
    return p->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

static void post_recv(struct rs_peer *p, uint64_t number)
{
    struct ibv_sge word = {(uintptr_t)&p->words[number], RS_MSG_BYTES, p->words_mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = ID_RECV + number, .sg_list = &word, .num_sge = has_sends(p)}, *bad;
    cr_assert_eq(ibv_post_recv(p->id->qp, &wr, &bad), 0);
}

void rs_peer_open(struct rs_peer *p, uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 8,
                                            .max_recv_wr = RS_PEER_RECVS,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = 8},
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1};
    *p = (struct rs_peer){0};
    inet_pton(AF_INET, "127.0.0.1", &addr.sin_addr);
    cr_assert_eq(rdma_create_id(NULL, &p->id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_resolve_addr(p->id, NULL, (struct sockaddr *)&addr, 1000), 0);
    cr_assert_eq(rdma_resolve_route(p->id, 1000), 0);
    p->cq = ibv_create_cq(p->id->verbs, 128, NULL, NULL, 0);
    init.send_cq = init.recv_cq = p->cq;
    cr_assert_eq(rdma_create_qp(p->id, NULL, &init), 0);
    p->mr = ibv_reg_mr_iova2(p->id->pd, p->memory, sizeof p->memory, (uintptr_t)p->memory,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    p->words_mr = ibv_reg_mr(p->id->pd, p->words, sizeof p->words, IBV_ACCESS_LOCAL_WRITE);
    cr_assert(p->mr && p->words_mr);
    for (unsigned i = 0; i < RS_PEER_RECVS; i++)
        post_recv(p, i);
    p->own = (struct rs_conn_data){.credits = RS_PEER_RECVS / 2,
                                   .iomaps = 4,
                                   .sgl = {(uintptr_t)p->memory, p->mr->rkey, RS_SGL_ENTRIES},
                                   .data = {(uintptr_t)p->memory + 4096, p->mr->rkey, 2048}};
}

int rs_peer_ask(struct rs_peer *p, const uint8_t *data, uint8_t len_bytes)
{
    struct rdma_conn_param param = {
        .private_data = data, .private_data_len = len_bytes, .retry_count = 7, .rnr_retry_count = 7};
    if (rdma_connect(p->id, &param))
        return errno;
    cr_assert(rs_get_conn_data(p->id->event->param.conn.private_data,
                               p->id->event->param.conn.private_data_len, &p->other));
    return 0;
}

void rs_peer_connect(struct rs_peer *p)
{
    uint8_t data[RS_CONN_DATA_BYTES];
    rs_put_conn_data(&p->own, data);
    cr_assert_eq(rs_peer_ask(p, data, sizeof data), 0);
}

void rs_peer_close(struct rs_peer *p)
{
    rdma_destroy_qp(p->id);
    cr_assert_eq(ibv_destroy_cq(p->cq), 0);
    cr_assert_eq(ibv_dereg_mr(p->mr), 0);
    cr_assert_eq(ibv_dereg_mr(p->words_mr), 0);
    cr_assert_eq(rdma_destroy_id(p->id), 0);
}

static struct ibv_wc next(struct rs_peer *p)
{
    struct ibv_wc wc;
    for (int waited = 0; waited < PAIR_WAIT_MS; waited += poll(NULL, 0, 1) == 0)
        if (ibv_poll_cq(p->cq, 1, &wc) == 1)
            return wc;
    cr_assert_fail("nothing comes");
    return wc;
}

/* Of the last request. What comes meanwhile is not looked at. */
static enum ibv_wc_status post(struct rs_peer *p, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    cr_assert_eq(ibv_post_send(p->id->qp, wr, &bad), 0);
    for (;;) {
        struct ibv_wc wc = next(p);
        if (wc.wr_id == 0)
            return wc.status;
        if (wc.wr_id >= ID_RECV && wc.status == IBV_WC_SUCCESS)
            post_recv(p, wc.wr_id - ID_RECV);
    }
}

enum ibv_wc_status rs_peer_say(struct rs_peer *p, const void *bytes, uint32_t len_bytes)
{
    struct ibv_sge piece = {(uintptr_t)bytes, len_bytes, 0};
    struct ibv_send_wr wr = {
        .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE};
    return post(p, &wr);
}

enum ibv_wc_status rs_peer_send(struct rs_peer *p, uint32_t msg, uint64_t addr, uint32_t key,
                                uint32_t len_bytes)
{
    struct ibv_sge piece = {(uintptr_t)p->memory + 4096, len_bytes, p->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &piece,
                             .num_sge = len_bytes ? 1 : 0,
                             .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                             .imm_data = htonl(msg),
                             .wr.rdma = {addr, key}},
                       *bad;
    if (!has_sends(p))
        return post(p, &wr);
    wr.wr_id = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    if (len_bytes)
        cr_assert_eq(ibv_post_send(p->id->qp, &wr, &bad), 0);
    return rs_peer_say(p, &msg, sizeof msg);
}

uint32_t rs_peer_next(struct rs_peer *p)
{
    struct ibv_wc wc = next(p);
    cr_assert_eq(wc.status, IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
    cr_assert_geq(wc.wr_id, ID_RECV);
    cr_assert(has_sends(p) ? wc.byte_len == RS_MSG_BYTES : wc.wc_flags & IBV_WC_WITH_IMM);
    uint32_t msg = has_sends(p) ? p->words[wc.wr_id - ID_RECV] : ntohl(wc.imm_data);
    post_recv(p, wc.wr_id - ID_RECV);
    return msg;
}
