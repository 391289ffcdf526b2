/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/cm/gsi.h"

#include <errno.h>
#include <string.h>

#include "roce/cm/pace.h"

#define SLOTS      256 /* receives that wait, and sends on their way: powers of two */
#define RECV_BYTES (NORNIC_L3_AREA_BYTES + ROCE_MAD_BYTES)
#define GSI_QKEY   0x80010000u /* ROCE-GSI-1 */
#define POLL_BURST 16
/* Datagrams that wait for a slot: several for each id that there may be. */
#define WAITING_MAX 65536

/* A datagram that found no slot, or that the pace keeps back. */
struct waiting {
    struct waiting *next;
    struct roce_cm_path path;
    uint8_t mad[ROCE_MAD_BYTES];
};

/* Receives have their slot as wr_id, sends SLOTS more. */
struct roce_cm_gsi {
    struct rdma_mem mem;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct rdma_mr *mr;
    struct roce_qp *qp;
    struct nornic_ah *ah[SLOTS]; /* of a send on its way; NULL: free */
    unsigned next_slot;
    unsigned busy;                           /* sends on their way */
    struct waiting *waiting, **waiting_last; /* in the order of their sending */
    unsigned waiting_count;
    struct roce_cm_pace pace;
    uint64_t *dropped; /* a counter of the CM */
    struct {
        uint8_t recv[SLOTS][RECV_BYTES];
        uint8_t send[SLOTS][ROCE_MAD_BYTES];
    } buffers;
};

static void post_recv(struct roce_cm_gsi *gsi, unsigned slot)
{
    struct nornic_sge sge = {
        .addr = (uintptr_t)gsi->buffers.recv[slot], .len_bytes = RECV_BYTES, .lkey = gsi->mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};
    roce_post_recv(gsi->qp, &wr, NULL);
}

/* From RESET to RTS, with every receive posted. */
static int start(struct roce_cm_gsi *gsi, uint64_t now_ns)
{
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT, .pkey_index = 0, .qkey = GSI_QKEY};
    int err = roce_qp_modify(gsi->qp, &attr, NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_QKEY, now_ns);
    for (unsigned slot = 0; slot < SLOTS && !err; slot++)
        post_recv(gsi, slot);
    attr.state = NORNIC_QPS_RTR;
    err = err ? err : roce_qp_modify(gsi->qp, &attr, NORNIC_QP_STATE, now_ns);
    attr.state = NORNIC_QPS_RTS;
    return err ? err : roce_qp_modify(gsi->qp, &attr, NORNIC_QP_STATE | NORNIC_QP_SQ_PSN, now_ns);
}

static int create_objects(struct roce_cm_gsi *gsi)
{
    struct rdma_cq_config cq = {.capacity = 2 * SLOTS};
    int err = rdma_pd_create(roce_dev_domain(gsi->dev), &gsi->pd);
    if (!err)
        err = rdma_cq_create(&gsi->mem, &cq, &gsi->cq);
    if (!err)
        err = rdma_mr_reg(gsi->pd, &gsi->buffers, sizeof gsi->buffers, NORNIC_ACCESS_LOCAL_WRITE, &gsi->mr);
    struct roce_qp_config qp = {
        .type = NORNIC_QPT_GSI,
        .pd = gsi->pd,
        .send_cq = gsi->cq,
        .recv_cq = gsi->cq,
        .caps = {.max_send_wr = SLOTS, .max_recv_wr = SLOTS, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = true,
    };
    return err ? err : roce_qp_create(gsi->dev, &qp, &gsi->qp);
}

int roce_cm_gsi_create(struct roce_dev *dev, const struct rdma_mem *mem, uint64_t *dropped,
                       struct roce_cm_gsi **out)
{
    struct roce_cm_gsi *gsi = mem->alloc(mem->ctx, sizeof *gsi);
    if (!gsi)
        return -ENOMEM;
    gsi->mem = *mem;
    gsi->dev = dev;
    gsi->dropped = dropped;
    gsi->waiting_last = &gsi->waiting;
    int err = create_objects(gsi);
    if (!err)
        err = start(gsi, 0);
    if (err) {
        roce_cm_gsi_destroy(gsi);
        return err;
    }
    *out = gsi;
    return 0;
}

void roce_cm_gsi_destroy(struct roce_cm_gsi *gsi)
{
    struct rdma_mem mem = gsi->mem;
    if (gsi->qp)
        roce_qp_destroy(gsi->qp);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (gsi->ah[slot])
            roce_ah_destroy(gsi->ah[slot]);
    for (struct waiting *next, *w = gsi->waiting; w; w = next) {
        next = w->next;
        mem.free(mem.ctx, w);
    }
    if (gsi->mr)
        rdma_mr_dereg(gsi->mr);
    if (gsi->cq)
        rdma_cq_destroy(gsi->cq);
    if (gsi->pd)
        rdma_pd_destroy(gsi->pd);
    mem.free(mem.ctx, gsi);
}

static uint16_t attr_of(const uint8_t *mad)
{
    struct roce_mad hdr;
    roce_mad_get(&hdr, mad);
    return hdr.attr_id;
}

static bool is_request(const uint8_t *mad)
{
    const uint16_t attr = attr_of(mad);
    return attr == ROCE_CM_REQ || attr == ROCE_CM_DREQ || attr == ROCE_CM_SIDR_REQ;
}

static bool is_answer(const uint8_t *mad)
{
    const uint16_t attr = attr_of(mad);
    return attr == ROCE_CM_REP || attr == ROCE_CM_REJ || attr == ROCE_CM_DREP || attr == ROCE_CM_SIDR_REP;
}

/* Sends complete in order, so that the next slot is free unless all are taken: this one is. */
static void send_now(struct roce_cm_gsi *gsi, const struct roce_cm_path *path, const uint8_t *mad)
{
    unsigned slot = gsi->next_slot;
    if (roce_ah_create(gsi->dev, gsi->pd, &path->av, &gsi->ah[slot]) != 0) {
        (*gsi->dropped)++;
        return;
    }
    memcpy(gsi->buffers.send[slot], mad, ROCE_MAD_BYTES);
    struct nornic_sge sge = {
        .addr = (uintptr_t)gsi->buffers.send[slot], .len_bytes = ROCE_MAD_BYTES, .lkey = gsi->mr->lkey};
    struct nornic_send_wr wr = {
        .wr_id = SLOTS + slot,
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = NORNIC_WR_SEND,
        .ud = {.ah = gsi->ah[slot],
               .remote_qpn = path->remote_qpn,
               .remote_qkey = GSI_QKEY,
               .pkey_index = path->pkey_index},
    };
    if (roce_post_send(gsi->qp, &wr, NULL) != 0) {
        roce_ah_destroy(gsi->ah[slot]);
        gsi->ah[slot] = NULL;
        (*gsi->dropped)++;
        return;
    }
    gsi->next_slot = (slot + 1) % SLOTS;
    gsi->busy++;
    roce_cm_pace_sent(&gsi->pace, is_request(mad));
}

/* Returns whether a datagram may leave now. */
static bool has_room(struct roce_cm_gsi *gsi, const uint8_t *mad, uint64_t now_ns)
{
    return !gsi->ah[gsi->next_slot] && roce_cm_pace_allows(&gsi->pace, is_request(mad), now_ns);
}

/* Keeps a datagram until it may leave. */
static void keep(struct roce_cm_gsi *gsi, const struct roce_cm_path *path, const uint8_t *mad)
{
    struct waiting *w = gsi->waiting_count < WAITING_MAX ? gsi->mem.alloc(gsi->mem.ctx, sizeof *w) : NULL;
    if (!w) {
        (*gsi->dropped)++;
        return;
    }
    w->path = *path;
    memcpy(w->mad, mad, ROCE_MAD_BYTES);
    *gsi->waiting_last = w;
    gsi->waiting_last = &w->next;
    gsi->waiting_count++;
}

static void send_waiting(struct roce_cm_gsi *gsi, uint64_t now_ns)
{
    struct waiting *w;
    while ((w = gsi->waiting) && has_room(gsi, w->mad, now_ns)) {
        gsi->waiting = w->next;
        gsi->waiting_count--;
        if (!gsi->waiting)
            gsi->waiting_last = &gsi->waiting;
        send_now(gsi, &w->path, w->mad);
        gsi->mem.free(gsi->mem.ctx, w);
    }
}

void roce_cm_gsi_send(void *ctx, const struct roce_cm_path *path, const uint8_t *mad, uint64_t now_ns)
{
    struct roce_cm_gsi *gsi = ctx;
    if (gsi->waiting || !has_room(gsi, mad, now_ns))
        keep(gsi, path, mad);
    else
        send_now(gsi, path, mad);
}

bool roce_cm_gsi_is_sending(const struct roce_cm_gsi *gsi)
{
    return gsi->busy > 0 || gsi->waiting;
}

uint64_t roce_cm_gsi_deadline_ns(const struct roce_cm_gsi *gsi)
{
    bool is_due = gsi->waiting && !gsi->ah[gsi->next_slot];
    return is_due ? roce_cm_pace_next_ns(&gsi->pace) : NET_TIME_NONE;
}

bool roce_cm_gsi_is_crowded(const struct roce_cm_gsi *gsi)
{
    return gsi->busy >= SLOTS / 2;
}

static void send_done(struct roce_cm_gsi *gsi, const struct nornic_wc *wc)
{
    unsigned slot = (unsigned)(wc->wr_id - SLOTS);
    *gsi->dropped += wc->status != NORNIC_WC_SUCCESS;
    roce_ah_destroy(gsi->ah[slot]);
    gsi->ah[slot] = NULL;
    gsi->busy--;
}

static void recv_done(struct roce_cm_gsi *gsi, struct roce_cm *cm, const struct nornic_wc *wc,
                      uint64_t now_ns)
{
    unsigned slot = (unsigned)wc->wr_id;
    const uint8_t *buffer = gsi->buffers.recv[slot];
    struct roce_cm_path path = {.remote_qpn = wc->src_qpn, .pkey_index = wc->pkey_index};
    if (wc->status != NORNIC_WC_SUCCESS)
        return;
    if (wc->byte_len == RECV_BYTES && is_answer(buffer + NORNIC_L3_AREA_BYTES))
        roce_cm_pace_answered(&gsi->pace);
    if (wc->byte_len >= NORNIC_L3_AREA_BYTES && roce_ah_from_wc(gsi->dev, wc, buffer, &path.av) == 0)
        roce_cm_input(cm, &path, buffer + NORNIC_L3_AREA_BYTES, wc->byte_len - NORNIC_L3_AREA_BYTES, now_ns);
    post_recv(gsi, slot);
}

/* A send to an address that went away in between stops the send queue (ROCE-QP-6). */
static void revive(struct roce_cm_gsi *gsi, uint64_t now_ns)
{
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_RTS};
    if (roce_qp_state(gsi->qp) == NORNIC_QPS_SQE)
        roce_qp_modify(gsi->qp, &attr, NORNIC_QP_STATE, now_ns);
}

void roce_cm_gsi_poll(struct roce_cm_gsi *gsi, struct roce_cm *cm, uint64_t now_ns)
{
    struct nornic_wc wc[POLL_BURST];
    int n;
    while ((n = rdma_cq_poll(gsi->cq, wc, POLL_BURST)) > 0)
        for (int i = 0; i < n; i++) {
            if (wc[i].wr_id < SLOTS)
                recv_done(gsi, cm, &wc[i], now_ns);
            else
                send_done(gsi, &wc[i]);
        }
    revive(gsi, now_ns);
    send_waiting(gsi, now_ns);
}
