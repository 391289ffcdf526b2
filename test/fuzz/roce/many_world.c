/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/fuzz/roce/many_world.h"

#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>

#define REMOTE (NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)
#define ALL    (REMOTE | NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_MW_BIND)

static const struct nornic_mac own_mac = {{2, 0, 0, 0, 0, 1}}, other_mac = {{2, 0, 0, 0, 0, 2}};

static void *many_alloc(void *ctx, size_t len_bytes)
{
    struct many_world *w = ctx;
    if (w->fail_in > 0 && --w->fail_in == 0)
        return NULL;
    w->live++;
    return calloc(1, len_bytes);
}

static void many_free(void *ctx, void *p)
{
    ((struct many_world *)ctx)->live -= p != NULL;
    free(p);
}

static uint64_t many_random(void *ctx)
{
    return ((struct many_world *)ctx)->random += UINT64_C(0x9e3779b97f4a7c15);
}

uint8_t *many_piece(const struct many_world *w, unsigned i)
{
    return w->arena + MANY_GAP_BYTES + i * (MANY_PIECE_BYTES + MANY_GAP_BYTES);
}

struct nornic_addr many_addr(bool ipv6, bool outside)
{
    if (ipv6)
        return (struct nornic_addr){{0xfd, [15] = (uint8_t)(1 + outside)}};
    return nornic_addr_from_v4((const uint8_t[]){192, 0, 2, (uint8_t)(1 + outside)});
}

/* --- memory --- */

void many_region_toggle(struct many_world *w, unsigned i, uint32_t access)
{
    if (w->mr[i]) {
        if (rdma_mr_dereg(w->mr[i]) != 0) /* a window is bound to it */
            return;
        w->mr[i] = NULL;
        ASAN_POISON_MEMORY_REGION(many_piece(w, i), MANY_PIECE_BYTES);
        return;
    }
    if (i == 1) /* nobody may ever write to it */
        access &= NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_MW_BIND;
    if (rdma_mr_reg(w->pd, many_piece(w, i), MANY_PIECE_BYTES, access, &w->mr[i]) != 0) {
        w->mr[i] = NULL;
        return;
    }
    w->key[i] = w->mr[i]->rkey;
    ASAN_UNPOISON_MEMORY_REGION(many_piece(w, i), MANY_PIECE_BYTES);
}

void many_window_toggle(struct many_world *w, unsigned i)
{
    if (w->mw[i]) {
        rdma_mw_dealloc(w->mw[i]);
        w->mw[i] = NULL;
    } else if (rdma_mw_alloc(w->pd, i == 0 ? NORNIC_MW_TYPE_1 : NORNIC_MW_TYPE_2, &w->mw[i]) == 0) {
        w->key[MANY_MRS + 1 + i] = w->mw[i]->rkey;
    } else {
        w->mw[i] = NULL;
    }
}

void many_fast_toggle(struct many_world *w)
{
    if (w->fast) {
        if (rdma_mr_dereg(w->fast) == 0)
            w->fast = NULL;
    } else if (rdma_mr_alloc_fast(w->pd, MANY_PIECE_BYTES, &w->fast) == 0) {
        w->key[MANY_MRS] = w->fast->rkey;
    } else {
        w->fast = NULL;
    }
}

/* --- queue pairs --- */

void many_qp_forget(struct many_world *w, unsigned q)
{
    struct many_qp *qp = &w->qp[q];
    qp->generation = ++w->generations & 0x3fffff;
    qp->sends = qp->sends_done = qp->receives = qp->receives_done = 0;
    qp->send_failed = false;
}

void many_qp_create(struct many_world *w, unsigned q, uint8_t how)
{
    static const enum nornic_qp_type types[] = {NORNIC_QPT_RC,  NORNIC_QPT_UC,      NORNIC_QPT_UD,
                                                NORNIC_QPT_GSI, NORNIC_QPT_XRC_INI, NORNIC_QPT_XRC_TGT,
                                                NORNIC_QPT_RC,  NORNIC_QPT_UD};
    struct many_qp *qp = &w->qp[q];
    struct rdma_srq *srq = how & 0x08 ? w->srq[how >> 4 & 1].srq : NULL;
    struct roce_qp_config config = {
        .type = types[how & 7],
        .pd = w->pd,
        .send_cq = w->cq[how >> 5 & 1],
        .recv_cq = w->cq[(how >> 5 & 1) + (how >> 7)],
        .srq = srq,
        .caps = {.max_send_wr = 4,
                 .max_recv_wr = 4,
                 .max_send_sge = 2,
                 .max_recv_sge = 2,
                 .max_inline_bytes = 64},
        .sq_sig_all = how & 0x40,
        .reorder_pkts = how & 0x40 ? 4 : 0,
        .e2e_credits = how & 0x10,
    };
    if (config.type == NORNIC_QPT_XRC_TGT && !(how & 0x80)) {
        config.pd = NULL;
        config.send_cq = config.recv_cq = NULL;
        config.srq = NULL;
        config.xrcd = w->xrcd;
    } else if (config.type == NORNIC_QPT_XRC_INI && !(how & 0x80)) {
        config.recv_cq = NULL;
        config.srq = NULL;
    }
    many_qp_forget(w, q);
    qp->type = config.type;
    qp->has_srq = srq != NULL;
    if (roce_qp_create(w->dev, &config, &qp->qp) != 0)
        qp->qp = NULL;
}

void many_qp_destroy(struct many_world *w, unsigned q)
{
    if (w->qp[q].qp && roce_qp_destroy(w->qp[q].qp) == 0) /* not while it is in a group */
        w->qp[q].qp = NULL;
}

static bool is_datagram(enum nornic_qp_type type)
{
    return type == NORNIC_QPT_UD || type == NORNIC_QPT_GSI;
}

void many_qp_connect(struct many_world *w, unsigned q, struct fuzz_input *in)
{
    struct many_qp *qp = &w->qp[q];
    uint8_t peer = fuzz_u8(in), how = fuzz_u8(in);
    const struct many_qp *to = peer < 2 * MANY_QPS ? &w->qp[peer % MANY_QPS] : NULL;
    bool outside = !to || !to->qp, ipv6 = how & 1;
    struct nornic_qp_attr attr = {
        .access_flags = how & 0x80 ? 0 : REMOTE,
        .port = 1,
        .pkey_index = how >> 6 & 1,
        .qkey = 0x1234,
        .av = {.dgid = many_addr(ipv6, outside),
               .sgid_index = how & 3,
               .hop_limit = 64,
               .dst_mac = outside ? other_mac : own_mac},
        .path_mtu = NORNIC_MTU_256,
        .timeout = 8,
        .retry_cnt = 3,
        .rnr_retry = how & 0x20 ? 7 : 1,
        .min_rnr_timer = 1,
        .rq_psn = 0xfffffe,
        .sq_psn = 0xfffffe,
        .max_rd_atomic = 2,
        .max_dest_rd_atomic = how & 0x10 ? 0 : 2,
        .dest_qpn = outside ? 0x900000 + q : roce_qp_num(to->qp),
    };
    bool dgram = is_datagram(qp->type);
    const uint32_t masks[3] = {
        NORNIC_QP_PKEY_INDEX | (qp->type == NORNIC_QPT_GSI ? 0 : NORNIC_QP_PORT) |
            (dgram ? NORNIC_QP_QKEY : NORNIC_QP_ACCESS_FLAGS),
        dgram ? 0
              : NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN |
                    (qp->type == NORNIC_QPT_RC || qp->type == NORNIC_QPT_XRC_TGT
                         ? NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER
                         : 0),
        NORNIC_QP_SQ_PSN |
            (qp->type == NORNIC_QPT_RC || qp->type == NORNIC_QPT_XRC_INI
                 ? NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_MAX_QP_RD_ATOMIC
                 : 0) |
            (qp->type == NORNIC_QPT_XRC_TGT ? NORNIC_QP_TIMEOUT : 0),
    };
    for (unsigned i = 0; i < 3; i++) {
        attr.state = (enum nornic_qp_state)(NORNIC_QPS_INIT + i);
        if (roce_qp_modify(qp->qp, &attr, masks[i] | NORNIC_QP_STATE, w->now_ns) != 0)
            return;
        if (i == 1 && how & 0x08)
            return;
    }
    qp->expected_psn = attr.rq_psn;
}

/* --- the world --- */

static void make_objects(struct many_world *w, uint8_t flags)
{
    for (unsigned i = 0; i < MANY_CQS; i++)
        if (rdma_cq_create(&w->mem, &(struct rdma_cq_config){.capacity = flags & 1 ? 4 : 256}, &w->cq[i]) !=
            0)
            w->cq[i] = NULL;
    if (rdma_pd_create(roce_dev_domain(w->dev), &w->pd) != 0)
        w->pd = NULL;
    if (rdma_xrcd_create(roce_dev_domain(w->dev), &w->xrcd) != 0)
        w->xrcd = NULL;
    for (unsigned i = 0; i < MANY_SRQS && w->pd && w->xrcd && w->cq[2]; i++) {
        struct rdma_srq_config config = {.max_wr = 8, .max_sge = 2};
        if (i == 1)
            config.xrcd = w->xrcd, config.cq = w->cq[2];
        if (rdma_srq_create(w->pd, &config, &w->srq[i].srq) != 0)
            w->srq[i].srq = NULL;
    }
    for (unsigned i = 0; i < MANY_MRS && w->pd; i++)
        many_region_toggle(w, i, ALL);
    for (unsigned i = 0; i < MANY_MWS && w->pd; i++)
        many_window_toggle(w, i);
    if (w->pd)
        many_fast_toggle(w);
}

bool many_begin(struct many_world *w, struct fuzz_input *in)
{
    uint8_t flags = fuzz_u8(in);
    memset(w, 0, sizeof *w);
    w->now_ns = 1;
    w->mem = (struct rdma_mem){.alloc = many_alloc, .free = many_free, .ctx = w};
    w->fail_in = flags & 0x80 ? fuzz_u8(in) : 0;
    w->arena = malloc(MANY_ARENA_BYTES);
    memset(w->arena, 0xa5, MANY_ARENA_BYTES);
    ASAN_POISON_MEMORY_REGION(w->arena, MANY_ARENA_BYTES);
    ASAN_UNPOISON_MEMORY_REGION(many_piece(w, MANY_MRS), MANY_PIECE_BYTES);
    struct roce_dev_config config = {
        .mem = &w->mem,
        .random = {.next = many_random, .ctx = w},
        .max_qp = MANY_QPS,
        .max_mr = 8,
        .port_mtu_bytes = MANY_PMTU_BYTES + 96,
        .window_pkts = 8,
        .num_pkeys = 2,
        .roce_v1 = true,
        .masked_atomics = true,
        .selective = true,
        .path_migration = flags & 4,
        .cc = {.on = flags & 2},
    };
    if (roce_dev_create(&config, &w->dev) != 0) {
        w->dev = NULL;
        return false;
    }
    roce_dev_pkey_set(w->dev, 1, 0x1234);
    for (unsigned i = 0; i < 4; i++) {
        struct nornic_gid gid = {
            .addr = many_addr(i & 1, false), .type = i & 2 ? NORNIC_GID_V1 : NORNIC_GID_V2, .mac = own_mac};
        roce_dev_gid_add(w->dev, &gid);
    }
    make_objects(w, flags);
    for (unsigned i = 0; i < MANY_CQS; i++)
        if (!w->cq[i])
            return false;
    return w->pd && w->srq[0].srq && w->srq[1].srq;
}

static void leave_groups(struct roce_qp *qp)
{
    for (unsigned i = 0; i < 4; i++) {
        struct nornic_addr group = {{0xff, 2, [15] = (uint8_t)i}};
        roce_qp_detach_mcast(qp, &group);
    }
}

static void check_read_only(const struct many_world *w)
{
    for (unsigned i = 0; i < MANY_PIECE_BYTES; i++)
        FUZZ_REQUIRE(many_piece(w, 1)[i] == 0xa5);
}

static void destroy_objects(struct many_world *w)
{
    for (unsigned i = 0; i < MANY_AHS; i++)
        FUZZ_REQUIRE(!w->ah[i] || roce_ah_destroy(w->ah[i]) == 0);
    for (unsigned i = 0; i < MANY_MWS; i++)
        if (w->mw[i])
            rdma_mw_dealloc(w->mw[i]);
    for (unsigned i = 0; i < MANY_MRS; i++)
        FUZZ_REQUIRE(!w->mr[i] || rdma_mr_dereg(w->mr[i]) == 0);
    FUZZ_REQUIRE(!w->fast || rdma_mr_dereg(w->fast) == 0);
    for (unsigned i = 0; i < MANY_SRQS; i++)
        FUZZ_REQUIRE(!w->srq[i].srq || rdma_srq_destroy(w->srq[i].srq) == 0);
    FUZZ_REQUIRE(!w->xrcd || rdma_xrcd_destroy(w->xrcd) == 0);
    for (unsigned i = 0; i < MANY_CQS; i++)
        FUZZ_REQUIRE(!w->cq[i] || rdma_cq_destroy(w->cq[i]) == 0);
    FUZZ_REQUIRE(!w->pd || rdma_pd_destroy(w->pd) == 0);
}

void many_end(struct many_world *w)
{
    for (unsigned q = 0; q < MANY_QPS; q++)
        if (w->qp[q].qp) {
            leave_groups(w->qp[q].qp);
            FUZZ_REQUIRE(roce_qp_destroy(w->qp[q].qp) == 0);
        }
    destroy_objects(w);
    FUZZ_REQUIRE(!w->dev || roce_dev_destroy(w->dev) == 0);
    FUZZ_REQUIRE(w->live == 0);
    ASAN_UNPOISON_MEMORY_REGION(w->arena, MANY_ARENA_BYTES);
    check_read_only(w);
    free(w->arena);
}
