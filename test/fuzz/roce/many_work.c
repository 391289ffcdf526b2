/* SPDX-License-Identifier: BSD-2-Clause */
/* The work requests of fuzz_many, and the books that their completions are held against. */
#include <errno.h>
#include <string.h>

#include "test/fuzz/roce/many_world.h"

enum kind { KIND_SEND, KIND_RECEIVE, KIND_SRQ };

/* wr_id: kind, QP or SRQ, generation, number. */
static uint64_t wr_id(enum kind kind, unsigned index, uint32_t generation, uint32_t number)
{
    return (uint64_t)kind << 60 | (uint64_t)index << 52 | (uint64_t)generation << 30 | number;
}

/* Somewhere in a piece, mostly; `readable`: surely, as a post itself reads inline data. */
static struct nornic_sge choose_sge(const struct many_world *w, bool readable, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    unsigned piece = readable ? MANY_MRS : how % MANY_PIECES;
    uint32_t offset = fuzz_u8(in) * 8u, len_bytes = fuzz_u8(in) * (how & 0x40 ? 8u : 1u);
    if (offset + len_bytes > MANY_PIECE_BYTES && (readable || !(how & 0x20)))
        len_bytes = MANY_PIECE_BYTES - offset;
    struct nornic_sge sge = {(uintptr_t)many_piece(w, piece) + offset, len_bytes, w->key[piece]};
    if (how & 0x10)
        sge.lkey ^= 1u << (how & 7);
    return sge;
}

static void choose_remote(const struct many_world *w, struct nornic_send_wr *wr, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    unsigned piece = how % MANY_PIECES;
    wr->remote_addr = (uintptr_t)many_piece(w, piece) + fuzz_u8(in) * 8u;
    wr->rkey = w->key[how >> 2 & 7 ? (how >> 2 & 7) % MANY_KEYS : piece];
    wr->invalidate_rkey = w->key[(how >> 5) % MANY_KEYS];
    wr->compare_add = 0xa5a5a5a5a5a5a5a5;
    wr->swap = 5;
    wr->compare_mask = wr->swap_mask = 0xff00ff00ff00ff00;
}

/* What is bound, or registered. A region that is registered fast covers the last piece only, whose memory is
 * always there. */
static void choose_bind(struct many_world *w, struct nornic_send_wr *wr, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    bool reg = wr->opcode == NORNIC_WR_REG_MR;
    unsigned piece = reg ? MANY_MRS : how % MANY_PIECES, key = reg ? MANY_MRS : MANY_MRS + 1 + how % MANY_MWS;
    uint32_t offset = fuzz_u8(in) * 8u;
    wr->bind = (struct nornic_bind){.lkey = w->key[piece],
                                    .addr = (uintptr_t)many_piece(w, piece) + offset,
                                    .len_bytes = MANY_PIECE_BYTES - offset,
                                    .access = fuzz_u8(in)};
    wr->bind.iova = wr->bind.addr;
    wr->rkey = w->key[key] = (w->key[key] & ~UINT32_C(0xff)) | how;
}

static const enum nornic_wr_opcode opcodes[16] = {
    NORNIC_WR_RDMA_WRITE,
    NORNIC_WR_RDMA_WRITE_WITH_IMM,
    NORNIC_WR_SEND,
    NORNIC_WR_SEND_WITH_IMM,
    NORNIC_WR_RDMA_READ,
    NORNIC_WR_ATOMIC_CMP_AND_SWP,
    NORNIC_WR_ATOMIC_FETCH_AND_ADD,
    NORNIC_WR_LOCAL_INV,
    NORNIC_WR_BIND_MW,
    NORNIC_WR_SEND_WITH_INV,
    NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP,
    NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD,
    NORNIC_WR_REG_MR,
    NORNIC_WR_SEND,
    (enum nornic_wr_opcode)10,
    (enum nornic_wr_opcode)99,
};

static bool is_local(enum nornic_wr_opcode opcode)
{
    return opcode == NORNIC_WR_LOCAL_INV || opcode == NORNIC_WR_BIND_MW || opcode == NORNIC_WR_REG_MR;
}

void many_post_send(struct many_world *w, unsigned q, struct fuzz_input *in)
{
    struct many_qp *qp = &w->qp[q];
    uint8_t how = fuzz_u8(in), flags = fuzz_u8(in);
    struct nornic_sge sges[3];
    struct nornic_send_wr wr = {.wr_id = wr_id(KIND_SEND, q, qp->generation, qp->sends),
                                .sg_list = sges,
                                .opcode = opcodes[how & 15],
                                .num_sge = how >> 4 & 3,
                                .send_flags = flags & 15,
                                .imm_data = 7,
                                .remote_srqn = flags & 0x80 ? flags : rdma_srq_number(w->srq[1].srq)};
    if (is_local(wr.opcode) && !(flags & 0x80))
        wr.num_sge = 0, wr.send_flags &= ~(uint32_t)NORNIC_SEND_INLINE;
    for (unsigned i = 0; i < wr.num_sge; i++)
        sges[i] = choose_sge(w, wr.send_flags & NORNIC_SEND_INLINE, in);
    if (wr.num_sge == 1 && how & 0x40)
        sges[0].len_bytes = qp->type == NORNIC_QPT_GSI ? 256 : 8;
    choose_remote(w, &wr, in);
    if (wr.opcode == NORNIC_WR_BIND_MW || wr.opcode == NORNIC_WR_REG_MR)
        choose_bind(w, &wr, in);
    const struct many_qp *to = &w->qp[(flags >> 4) % MANY_QPS];
    wr.ud.ah = w->ah[how >> 6];
    wr.ud.remote_qpn = how & 0x80 ? 0xffffff : to->qp ? roce_qp_num(to->qp) : 0x900000;
    wr.ud.remote_qkey = flags & 0x80 ? 0x80000000 : 0x1234;
    wr.ud.pkey_index = flags >> 6 & 1;
    int err = flags & 0x40 && w->mw[0] && wr.opcode == NORNIC_WR_BIND_MW
                  ? roce_bind_mw(qp->qp, w->mw[0], wr.wr_id, wr.send_flags, &wr.bind)
                  : roce_post_send(qp->qp, &wr, NULL);
    FUZZ_REQUIRE(err == 0 || err == -EINVAL || err == -ENOMEM);
    qp->sends += err == 0;
    if (w->mw[0])
        w->key[MANY_MRS + 1] = w->mw[0]->rkey;
}

void many_post_recv(struct many_world *w, unsigned q, struct fuzz_input *in)
{
    struct many_qp *qp = &w->qp[q];
    uint8_t how = fuzz_u8(in);
    struct many_srq *srq = how & 0x80 ? &w->srq[how >> 6 & 1] : NULL;
    struct nornic_sge sges[3];
    struct nornic_recv_wr wr = {.sg_list = sges, .num_sge = how & 3};
    for (unsigned i = 0; i < wr.num_sge; i++)
        sges[i] = choose_sge(w, false, in);
    if (srq) {
        wr.wr_id = wr_id(KIND_SRQ, how >> 6 & 1, 0, srq->posts);
        if (srq->posts < MANY_SRQ_POSTS)
            srq->posts += rdma_srq_post(srq->srq, &wr, NULL) == 0;
        return;
    }
    wr.wr_id = wr_id(KIND_RECEIVE, q, qp->generation, qp->receives);
    int err = qp->qp ? roce_post_recv(qp->qp, &wr, NULL) : -EINVAL;
    FUZZ_REQUIRE(err == 0 || err == -EINVAL || err == -ENOMEM);
    FUZZ_REQUIRE(err != 0 || !qp->has_srq);
    qp->receives += err == 0;
}

static void check(struct many_world *w, const struct nornic_wc *wc)
{
    enum kind kind = (enum kind)(wc->wr_id >> 60);
    unsigned index = wc->wr_id >> 52 & 0xff;
    uint32_t generation = wc->wr_id >> 30 & 0x3fffff, number = wc->wr_id & 0x3fffffff;
    if (kind == KIND_SRQ) {
        struct many_srq *srq = &w->srq[index];
        FUZZ_REQUIRE(number < srq->posts && !srq->done[number]);
        srq->done[number] = true;
        return;
    }
    struct many_qp *qp = &w->qp[index];
    if (generation != qp->generation)
        return; /* from before a RESET or of a QP that is gone */
    if (kind == KIND_RECEIVE) {
        FUZZ_REQUIRE(number == qp->receives_done && number < qp->receives);
        qp->receives_done = number + 1;
        return;
    }
    FUZZ_REQUIRE(number >= qp->sends_done && number < qp->sends);
    qp->sends_done = number + 1;
    /* SQE, which some services have, lets the queue be used again. */
    bool final = qp->type == NORNIC_QPT_RC || qp->type == NORNIC_QPT_XRC_INI;
    FUZZ_REQUIRE(!final || !qp->send_failed || wc->status == NORNIC_WC_WR_FLUSH_ERR);
    qp->send_failed |= wc->status != NORNIC_WC_SUCCESS;
}

void many_poll(struct many_world *w, uint8_t how)
{
    struct nornic_wc wcs[8];
    struct rdma_cq *cq = w->cq[how % MANY_CQS];
    if (how & 0x40)
        rdma_cq_req_notify(cq, how & 0x80);
    int n = rdma_cq_poll(cq, wcs, 1 + (how >> 3 & 7));
    FUZZ_REQUIRE(n == -EIO || (n >= 0 && n <= 1 + (how >> 3 & 7)));
    for (int i = 0; i < n; i++)
        check(w, &wcs[i]);
}
