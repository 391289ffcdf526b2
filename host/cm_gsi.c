/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/cm_gsi.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define SENDS         128u
#define RECEIVES      512u
#define L3_AREA_BYTES 40u /* before each datagram: ROCE-UD-4 */
#define RECEIVE_BYTES (L3_AREA_BYTES + ROCE_MAD_BYTES)
#define BURST         16u

/* Sends complete in the order in which they were posted. */
struct host_cm_gsi {
    struct roce_dev *engine;
    struct rdma_pd *pd;
    struct rdma_cq *send_cq, *recv_cq;
    struct rdma_mr *mr;
    struct roce_qp *qp;
    struct rdma_ah *handles[SENDS];
    uint32_t posted, done;
    uint8_t sends[SENDS][ROCE_MAD_BYTES];
    uint8_t receives[RECEIVES][RECEIVE_BYTES];
};

static int modify(struct host_cm_gsi *gsi, enum roce_qp_state to, uint32_t mask, uint64_t now_ns)
{
    struct roce_qp_attr attr = {.state = to, .port = 1, .sq_psn = 0};
    return roce_qp_modify(gsi->qp, &attr, ROCE_QP_STATE | mask, now_ns);
}

static int bring_up(struct host_cm_gsi *gsi, uint64_t now_ns)
{
    int rc = modify(gsi, ROCE_QPS_INIT, ROCE_QP_PKEY_INDEX | ROCE_QP_QKEY, now_ns);
    if (rc == 0)
        rc = modify(gsi, ROCE_QPS_RTR, 0, now_ns);
    return rc == 0 ? modify(gsi, ROCE_QPS_RTS, ROCE_QP_SQ_PSN, now_ns) : rc;
}

static void post_receive(struct host_cm_gsi *gsi, uint64_t slot)
{
    struct rdma_sge sge = {
        .addr = (uintptr_t)gsi->receives[slot], .len_bytes = RECEIVE_BYTES, .lkey = gsi->mr->lkey};
    struct rdma_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};
    int rc = roce_post_recv(gsi->qp, &wr, NULL);
    assert(rc == 0 && "there is a place for each of them");
    (void)rc;
}

static int make_qp(struct host_cm_gsi *gsi, uint64_t now_ns)
{
    struct roce_qp_config config = {
        .type = ROCE_QPT_GSI,
        .pd = gsi->pd,
        .send_cq = gsi->send_cq,
        .recv_cq = gsi->recv_cq,
        .caps = {.max_send_wr = SENDS, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = true,
    };
    int rc = roce_qp_create(gsi->engine, &config, &gsi->qp);
    if (rc == 0)
        rc = bring_up(gsi, now_ns);
    for (uint64_t i = 0; rc == 0 && i < RECEIVES; i++)
        post_receive(gsi, i);
    return rc;
}

int host_cm_gsi_create(struct roce_dev *engine, uint64_t now_ns, struct host_cm_gsi **out)
{
    struct host_cm_gsi *gsi = calloc(1, sizeof *gsi);
    if (!gsi)
        return -ENOMEM;
    gsi->engine = engine;
    struct rdma_cq_config sends = {.capacity = SENDS}, receives = {.capacity = RECEIVES};
    int rc = rdma_pd_create(roce_dev_domain(engine), &gsi->pd);
    if (rc == 0)
        rc = rdma_cq_create(&rdma_mem_libc, &sends, &gsi->send_cq);
    if (rc == 0)
        rc = rdma_cq_create(&rdma_mem_libc, &receives, &gsi->recv_cq);
    if (rc == 0)
        rc = rdma_mr_reg(gsi->pd, gsi, sizeof *gsi, RDMA_ACCESS_LOCAL_WRITE, &gsi->mr);
    if (rc == 0)
        rc = make_qp(gsi, now_ns);
    if (rc != 0) {
        host_cm_gsi_destroy(gsi);
        return rc;
    }
    *out = gsi;
    return 0;
}

void host_cm_gsi_destroy(struct host_cm_gsi *gsi)
{
    if (gsi->qp)
        roce_qp_destroy(gsi->qp);
    for (; gsi->done != gsi->posted; gsi->done++)
        roce_ah_destroy(gsi->handles[gsi->done % SENDS]);
    if (gsi->mr)
        rdma_mr_dereg(gsi->mr);
    if (gsi->recv_cq)
        rdma_cq_destroy(gsi->recv_cq);
    if (gsi->send_cq)
        rdma_cq_destroy(gsi->send_cq);
    if (gsi->pd)
        rdma_pd_destroy(gsi->pd);
    free(gsi);
}

static void reap_sends(struct host_cm_gsi *gsi, uint64_t now_ns)
{
    struct rdma_wc wcs[BURST];
    int n;
    while ((n = rdma_cq_poll(gsi->send_cq, wcs, BURST)) > 0)
        for (int i = 0; i < n; i++, gsi->done++)
            roce_ah_destroy(gsi->handles[gsi->done % SENDS]);
    /* A datagram from an address that is no more stops the send queue, not those from the others. */
    if (roce_qp_state(gsi->qp) == ROCE_QPS_SQE)
        (void)modify(gsi, ROCE_QPS_RTS, 0, now_ns);
}

void host_cm_gsi_send(void *ctx, const struct roce_cm_path *path, const uint8_t *mad, uint64_t now_ns)
{
    struct host_cm_gsi *gsi = ctx;
    reap_sends(gsi, now_ns);
    uint32_t slot = gsi->posted % SENDS;
    if (gsi->posted - gsi->done == SENDS ||
        roce_ah_create(gsi->engine, gsi->pd, &path->av, &gsi->handles[slot]) != 0)
        return;
    memcpy(gsi->sends[slot], mad, ROCE_MAD_BYTES);
    struct rdma_sge sge = {
        .addr = (uintptr_t)gsi->sends[slot], .len_bytes = ROCE_MAD_BYTES, .lkey = gsi->mr->lkey};
    struct rdma_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = RDMA_WR_SEND,
        .ud = {.ah = gsi->handles[slot],
               .remote_qpn = path->remote_qpn ? path->remote_qpn : 1,
               .pkey_index = path->pkey_index},
    };
    if (roce_post_send(gsi->qp, &wr, NULL) == 0)
        gsi->posted++;
    else
        roce_ah_destroy(gsi->handles[slot]);
}

static void take(struct host_cm_gsi *gsi, struct roce_cm *cm, const struct rdma_wc *wc, uint64_t now_ns)
{
    const uint8_t *buffer = gsi->receives[wc->wr_id];
    struct roce_cm_path path = {.remote_qpn = wc->src_qpn, .pkey_index = wc->pkey_index};
    if (wc->status == RDMA_WC_SUCCESS && roce_ah_from_wc(gsi->engine, wc, buffer, &path.av) == 0)
        roce_cm_input(cm, &path, buffer + L3_AREA_BYTES, wc->byte_len - L3_AREA_BYTES, now_ns);
    if (wc->status != RDMA_WC_WR_FLUSH_ERR)
        post_receive(gsi, wc->wr_id);
}

bool host_cm_gsi_receive(struct host_cm_gsi *gsi, struct roce_cm *cm, uint64_t now_ns)
{
    struct rdma_wc wcs[BURST];
    int n = rdma_cq_poll(gsi->recv_cq, wcs, BURST);
    for (int i = 0; i < n; i++)
        take(gsi, cm, &wcs[i], now_ns);
    return n > 0;
}
