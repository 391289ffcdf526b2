/* SPDX-License-Identifier: BSD-2-Clause */
/* How the messages of a stream travel. Where RDMA WRITEs have immediates a message is one. iWARP has none in
 * RFC 5040, and those of RFC 7306 few know: there it is a SEND of four octets behind the RDMA WRITE, as
 * rdma-core's library has it on any iWARP device. */
#include <arpa/inet.h>

#include "verbs/rsocket/rsocket.h"

/* A SEND that finds no receive ends the stream (RFC 5041 8.2), and none waits as an RNR NAK makes it wait.
 * Those that need no credit have receives of their own: each side lends two halves, gives credits twice and
 * takes its leave twice before it hears of the other. */
#define SPARE_RECEIVES 8

uint32_t rs_receives(const struct rsock *s)
{
    return s->rq_size + (s->has_sends ? SPARE_RECEIVES : 0);
}

int rs_post_receive(struct rsock *s, uint32_t number)
{
    struct ibv_sge sge;
    struct ibv_recv_wr wr = {.wr_id = RS_ID_RECV | number}, *bad;
    if (s->has_sends) {
        sge = (struct ibv_sge){(uintptr_t)s->words.bytes + (size_t)number * RS_MSG_BYTES, RS_MSG_BYTES,
                               s->words.mr->lkey};
        wr.sg_list = &sge;
        wr.num_sge = 1;
    }
    return ibv_post_recv(s->id->qp, &wr, &bad);
}

int rs_post_receives(struct rsock *s)
{
    int err = 0;
    for (uint32_t i = 0; i < rs_receives(s) && !err; i++)
        err = rs_post_receive(s, i);
    return err;
}

uint32_t rs_places(const struct rsock *s, bool has_memory)
{
    return s->has_sends && has_memory ? 2 : 1;
}

int rs_post(struct rsock *s, uint64_t wr_id, struct ibv_sge *sge, uint64_t addr, uint32_t key,
            const uint32_t *msg)
{
    struct ibv_sge word = {.addr = (uintptr_t)msg, .length = RS_MSG_BYTES};
    struct ibv_send_wr send = {.wr_id = wr_id & RS_ID_CTRL ? RS_ID_CTRL : RS_ID_PLACE,
                               .sg_list = &word,
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_INLINE};
    struct ibv_send_wr write = {.wr_id = wr_id,
                                .sg_list = sge,
                                .num_sge = sge ? 1 : 0,
                                .opcode = IBV_WR_RDMA_WRITE,
                                .wr.rdma = {.remote_addr = addr, .rkey = key}};
    struct ibv_send_wr *first = &write, *bad;
    if (msg && !s->has_sends) {
        write.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        write.imm_data = htonl(*msg);
    } else if (msg && sge) {
        write.next = &send;
    } else if (msg) {
        first = &send;
    }
    return ibv_post_send(s->id->qp, first, &bad);
}

bool rs_get_message(const struct rsock *s, const struct ibv_wc *wc, uint32_t *msg)
{
    if (!s->has_sends) {
        *msg = ntohl(wc->imm_data);
        return wc->wc_flags & IBV_WC_WITH_IMM;
    }
    memcpy(msg, s->words.bytes + (size_t)(uint32_t)wc->wr_id * RS_MSG_BYTES, RS_MSG_BYTES);
    return wc->byte_len == RS_MSG_BYTES;
}
