/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/fuzz/roce/device_work.h"

#include <errno.h>
#include <string.h>

#define SGES_MAX 4 /* one more than the QPs have room for */

/* wr_id: whether it is a receive, the generation of the queue, the number of the request. */
#define WR_RECEIVE (UINT64_C(1) << 63)

static uint64_t wr_id(const struct fuzz_qp *qp, const struct fuzz_queue *queue, uint64_t kind)
{
    return kind | (uint64_t)(qp->generation & 0x7fffffff) << 32 | queue->posted;
}

/* A piece of a region, or not quite: enum in the first byte's upper bits. */
static struct nornic_sge choose_sge(const struct fuzz_dev *dev, bool readable, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    unsigned region = how % FUZZ_MRS;
    uint16_t offset = fuzz_u16(in), len_bytes = fuzz_u16(in) % (FUZZ_MR_BYTES + 8);
    struct nornic_sge sge = {.len_bytes = len_bytes, .lkey = dev->key[region]};
    if (readable || how & 0x10) { /* inside: the post itself reads inline data */
        offset %= FUZZ_MR_BYTES;
        if (sge.len_bytes > (uint32_t)(FUZZ_MR_BYTES - offset))
            sge.len_bytes = (uint32_t)(FUZZ_MR_BYTES - offset);
        if (readable && !dev->mr[region])
            sge.len_bytes = 0;
    }
    sge.addr = (uintptr_t)fuzz_mr_bytes(dev, region) + (uint64_t)(int64_t)(int16_t)offset;
    if (how & 0x20)
        sge.lkey ^= 1u << (how >> 6);
    if (how == 0xff && !readable)
        sge.addr = UINT64_MAX - len_bytes / 2;
    return sge;
}

static void choose_remote(const struct fuzz_world *world, unsigned d, struct nornic_send_wr *wr,
                          struct fuzz_input *in)
{
    const struct fuzz_dev *peer = &world->dev[!d];
    uint8_t how = fuzz_u8(in);
    unsigned region = how % FUZZ_KEYS;
    wr->remote_addr = fuzz_remote_base(peer, region) + (uint64_t)(int64_t)(int16_t)fuzz_u16(in);
    wr->rkey = peer->key[region] ^ (how & 0x80 ? 1 : 0);
    wr->remote_srqn = how & 0x40 ? 0xabcd : fuzz_srqn(peer);
    wr->compare_add = 0xa5a5a5a5a5a5a5a5;
    wr->swap = 5;
}

/* Opcode 7 of the input stands for those that are about keys. Memory that is named is the application's. */
static void choose_key_work(struct fuzz_dev *dev, struct nornic_send_wr *wr, struct fuzz_input *in)
{
    static const enum nornic_wr_opcode opcodes[] = {NORNIC_WR_LOCAL_INV, NORNIC_WR_BIND_MW, NORNIC_WR_REG_MR,
                                                    NORNIC_WR_SEND_WITH_INV};
    uint8_t how = fuzz_u8(in), low = fuzz_u8(in);
    uint16_t offset = fuzz_u16(in) % FUZZ_MR_BYTES, len_bytes = fuzz_u16(in);
    wr->opcode = opcodes[how & 3];
    unsigned object = wr->opcode == NORNIC_WR_REG_MR ? FUZZ_FAST : FUZZ_WINDOW;
    if (how & 4)
        wr->num_sge = 0;
    wr->invalidate_rkey = dev->key[(how >> 3) % FUZZ_KEYS];
    if (wr->opcode == NORNIC_WR_LOCAL_INV || wr->opcode == NORNIC_WR_SEND_WITH_INV)
        return;
    wr->rkey = dev->key[object] ^ low;
    bool fast = wr->opcode == NORNIC_WR_REG_MR;
    if (fast && len_bytes > FUZZ_MR_BYTES - offset)
        len_bytes = (uint16_t)(FUZZ_MR_BYTES - offset);
    wr->bind = (struct nornic_bind){
        .lkey = dev->key[how & 0x40 ? FUZZ_FAST : 0],
        .addr = (uintptr_t)(fast ? dev->fast_bytes : fuzz_mr_bytes(dev, 0)) + offset,
        .len_bytes = len_bytes,
        .access = how & 0x80 ? low
                             : NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE |
                                   (fast ? NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_MW_BIND : 0),
    };
    if (how & 0x20)
        dev->key[object] = wr->rkey;
}

void fuzz_post_send(struct fuzz_world *world, unsigned d, struct fuzz_input *in)
{
    struct fuzz_dev *dev = &world->dev[d];
    uint8_t how = fuzz_u8(in);
    struct fuzz_qp *qp = &dev->qp[how >> 7];
    struct nornic_sge sges[SGES_MAX] = {{0}};
    struct nornic_send_wr wr = {.wr_id = wr_id(qp, &qp->sends, 0),
                                .sg_list = sges,
                                .opcode = (enum nornic_wr_opcode)(how & 7),
                                .num_sge = how >> 3 & 3,
                                .imm_data = 0x04030201,
                                .invalidate_rkey = dev->key[how >> 3 & 1]}; /* of LOCAL_INV, which is 7 */
    wr.send_flags =
        fuzz_u8(in) & (NORNIC_SEND_FENCE | NORNIC_SEND_SIGNALED | NORNIC_SEND_SOLICITED | NORNIC_SEND_INLINE);
    bool atomic = wr.opcode == NORNIC_WR_ATOMIC_CMP_AND_SWP || wr.opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD;
    if (how & 0x20)
        wr.num_sge++;
    for (unsigned i = 0; i < wr.num_sge; i++)
        sges[i] = choose_sge(dev, wr.send_flags & NORNIC_SEND_INLINE, in);
    if (atomic && wr.num_sge == 1 && !(how & 0x40))
        sges[0].len_bytes = 8;
    choose_remote(world, d, &wr, in);
    if ((how & 7) == 7)
        choose_key_work(dev, &wr, in);
    if (!qp->qp)
        return;
    int err = roce_post_send(qp->qp, &wr, NULL);
    FUZZ_REQUIRE(err == 0 || err == -EINVAL || err == -ENOMEM);
    qp->sends.posted += err == 0;
}

void fuzz_post_recv(struct fuzz_world *world, unsigned d, struct fuzz_input *in)
{
    struct fuzz_dev *dev = &world->dev[d];
    uint8_t how = fuzz_u8(in);
    struct fuzz_qp *qp = &dev->qp[how >> 7];
    struct nornic_sge sges[SGES_MAX];
    struct nornic_recv_wr wr = {.wr_id = wr_id(qp, &qp->receives, WR_RECEIVE),
                                .sg_list = sges,
                                .num_sge = (how & 0x7f) % (SGES_MAX + 1)};
    for (unsigned i = 0; i < wr.num_sge; i++)
        sges[i] = choose_sge(dev, false, in);
    if (!qp->qp)
        return;
    struct rdma_srq *srq = world->other_services ? dev->xrc_srq : world->with_srq ? dev->srq : NULL;
    bool shared = srq && how >> 7;
    int err = shared ? rdma_srq_post(srq, &wr, NULL) : roce_post_recv(qp->qp, &wr, NULL);
    FUZZ_REQUIRE(err == 0 || err == -EINVAL || err == -ENOMEM);
    if (!shared)
        qp->receives.posted += err == 0;
}

static void check_completion(const struct fuzz_world *world, struct fuzz_dev *dev, const struct nornic_wc *wc)
{
    for (unsigned q = 0; q < FUZZ_QPS; q++) {
        struct fuzz_qp *qp = &dev->qp[q];
        if (!qp->qp || roce_qp_num(qp->qp) != wc->qp_num)
            continue;
        bool receive = wc->wr_id & WR_RECEIVE;
        if (receive && (world->with_srq || world->other_services) && q == 1)
            return; /* no queue of its own */
        struct fuzz_queue *queue = receive ? &qp->receives : &qp->sends;
        uint32_t number = (uint32_t)wc->wr_id;
        if ((wc->wr_id >> 32 & 0x7fffffff) != (qp->generation & 0x7fffffff))
            return; /* from before a RESET: it may still come out */
        FUZZ_REQUIRE(number >= queue->done && number < queue->posted);
        /* unsignalled sends are passed over, but nothing is after the first error */
        FUZZ_REQUIRE(number == queue->done || (!receive && !queue->failed));
        FUZZ_REQUIRE(!queue->failed || wc->status == NORNIC_WC_WR_FLUSH_ERR);
        /* ROCE-QP-28: the send queue of UC may go on after an error */
        queue->failed |= wc->status != NORNIC_WC_SUCCESS && (receive || !world->other_services);
        queue->done = number + 1;
    }
}

void fuzz_poll(struct fuzz_world *world, unsigned d, struct fuzz_input *in)
{
    struct fuzz_dev *dev = &world->dev[d];
    struct nornic_wc wcs[8];
    uint8_t how = fuzz_u8(in);
    struct rdma_cq *cq = dev->cq[how & 1];
    if (!cq)
        return;
    if (how & 0x40)
        rdma_cq_req_notify(cq, how & 0x80);
    int n = rdma_cq_poll(cq, wcs, 1 + (how >> 1 & 7));
    FUZZ_REQUIRE(n == -EIO || (n >= 0 && n <= 1 + (how >> 1 & 7)));
    for (int i = 0; i < n; i++)
        check_completion(world, dev, &wcs[i]);
}

void fuzz_modify(struct fuzz_world *world, unsigned d, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    struct fuzz_qp *qp = &world->dev[d].qp[how >> 7];
    if (!qp->qp)
        return;
    struct nornic_qp_attr attr, before, after;
    roce_qp_query(qp->qp, &attr, NULL);
    before = attr;
    uint32_t mask = NORNIC_QP_STATE;
    attr.state = (enum nornic_qp_state)(how & 7);
    if (how & 0x08) { /* attributes too */
        mask = fuzz_u32(in) & 0x1fffff;
        attr.en_sqd_async_notify = fuzz_u8(in) & 1;
        attr.access_flags = fuzz_u8(in);
        attr.path_mtu = (enum nornic_mtu)(fuzz_u8(in) % 7);
        attr.timeout = fuzz_u8(in) % 34;
        attr.retry_cnt = fuzz_u8(in) % 9;
        attr.rnr_retry = fuzz_u8(in) % 9;
        attr.min_rnr_timer = fuzz_u8(in) % 34;
        attr.max_rd_atomic = fuzz_u8(in);
        attr.max_dest_rd_atomic = fuzz_u8(in);
        attr.av.sgid_index = fuzz_u8(in) % 3;
        attr.rq_psn = attr.sq_psn = 0xfffffc;
        attr.dest_qpn = fuzz_peer_qpn(world, d, how >> 7);
    }
    int err = roce_qp_modify(qp->qp, &attr, mask, world->now_ns);
    roce_qp_query(qp->qp, &after, NULL);
    if (err == 0 && mask & NORNIC_QP_STATE && attr.state == NORNIC_QPS_RESET)
        fuzz_qp_forget(&world->dev[d], qp);
    if (err == 0 && mask & NORNIC_QP_RQ_PSN)
        qp->expected_psn = attr.rq_psn;
    if (err == 0 && mask & NORNIC_QP_DEST_QPN)
        qp->dest_qpn = attr.dest_qpn;
    FUZZ_REQUIRE(err == 0 || err == -EINVAL || err == -ENOMEM);
    FUZZ_REQUIRE(err == 0 || memcmp(&before.state, &after.state, sizeof after.state) == 0);
    FUZZ_REQUIRE(err == 0 || before.access_flags == after.access_flags);
}
