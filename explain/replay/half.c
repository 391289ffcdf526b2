/* SPDX-License-Identifier: BSD-2-Clause */
/* Half a queue pair on a device of its own. */
#include "explain/replay/half.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/transport.h"
#include "roce/psn.h"

#define PORT_MTU_BYTES 9000
#define ANY_QPN        17         /* where the capture does not name the QPN */
#define WINDOW_PKTS    (1u << 22) /* the recorded endpoint's window decides, not the engine's */
#define TIMEOUT_CODE   31         /* never by itself: timers fire when the recorded ones did */
#define RETRIES        7
#define RECEIVES       64

static uint64_t next_random(void *ctx)
{
    uint64_t *state = ctx;
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 20;
}

static enum nornic_qp_type type_of(const struct explain_learned *q)
{
    if (q->service == ROCE_SERVICE_UD)
        return NORNIC_QPT_UD;
    return q->service == ROCE_SERVICE_UC ? NORNIC_QPT_UC : NORNIC_QPT_RC;
}

static int open_device(struct replay *r, struct replay_qp *q, struct replay_half *h)
{
    const struct explain_learned *l = q->learned;
    struct roce_dev_config config = {
        .random = {.next = next_random, .ctx = &h->random},
        .max_qp = 1,
        .max_mr = r->endpoint->region_count + 2,
        .port_mtu_bytes = PORT_MTU_BYTES,
        .window_pkts = WINDOW_PKTS,
        .parse_flags = ROCE_PARSE_ALLOW_NO_DF,
        .first_qpn = l->qpn < ANY_QPN ? ANY_QPN : l->qpn,
        .masked_atomics = true,
    };
    struct nornic_gid gid = {.addr = r->endpoint->addr, .mac = l->mac, .vlan_id = l->vlan_id};
    int err = roce_dev_create(&config, &h->dev);
    if (!err)
        err = roce_dev_gid_add(h->dev, &gid);
    if (!err)
        err = rdma_pd_create(roce_dev_domain(h->dev), &h->pd);
    return err;
}

static int open_qp(const struct replay_qp *q, struct replay_half *h)
{
    const struct explain_learned *l = q->learned;
    struct rdma_cq_config cq = {.capacity = l->message_count + 2 * RECEIVES};
    struct roce_qp_config config = {
        .type = type_of(l),
        .pd = h->pd,
        .caps = {.max_send_wr = l->message_count ? l->message_count : 1,
                 .max_recv_wr = RECEIVES,
                 .max_send_sge = 1,
                 .max_recv_sge = 1},
    };
    int err = rdma_cq_create(&rdma_mem_libc, &cq, &h->cq);
    config.send_cq = config.recv_cq = h->cq;
    return err ? err : roce_qp_create(h->dev, &config, &h->qp);
}

static int to_rts(const struct replay_qp *q, struct replay_half *h, uint64_t now_ns)
{
    const struct explain_learned *l = q->learned;
    bool rc = l->service == ROCE_SERVICE_RC, ud = l->service == ROCE_SERVICE_UD;
    struct nornic_qp_attr a = {
        .state = NORNIC_QPS_INIT,
        .access_flags = NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC,
        .port = 1,
        .qkey = l->qkey,
        .av = l->av,
        .path_mtu = nornic_mtu_from_bytes(l->pmtu_bytes),
        .timeout = TIMEOUT_CODE,
        .retry_cnt = RETRIES,
        .rnr_retry = 7,
        .min_rnr_timer = l->rnr_code,
        .rq_psn = l->rq_psn,
        .sq_psn = l->sq_psn,
        .max_rd_atomic = NORNIC_MAX_RD_ATOMIC,
        .max_dest_rd_atomic = NORNIC_MAX_RD_ATOMIC,
        .dest_qpn = l->peer_qpn > 1 ? l->peer_qpn : ANY_QPN,
    };
    uint32_t init = NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT |
                    (ud ? NORNIC_QP_QKEY : NORNIC_QP_ACCESS_FLAGS);
    uint32_t rtr = NORNIC_QP_STATE;
    uint32_t rts = NORNIC_QP_STATE | NORNIC_QP_SQ_PSN;
    if (!ud)
        rtr |= NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN;
    if (rc)
        rtr |= NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER;
    if (rc)
        rts |= NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_MAX_QP_RD_ATOMIC;
    int err = roce_qp_modify(h->qp, &a, init, now_ns);
    a.state = NORNIC_QPS_RTR;
    if (!err)
        err = roce_qp_modify(h->qp, &a, rtr, now_ns);
    a.state = NORNIC_QPS_RTS;
    return err ? err : roce_qp_modify(h->qp, &a, rts, now_ns);
}

/* A region by the engine's own key. One that a peer invalidates is a fast region: a plain one may not be
 * (ROCE-RS-44). */
static int register_region(struct replay_half *h, const struct explain_region *region)
{
    struct rdma_mr **mr = &h->mrs[h->mr_count];
    uint64_t len = region->to - region->from;
    int err;
    if (!region->is_revocable) {
        err = rdma_mr_reg_iova(h->pd, region->bytes, len, region->from, region->access, mr);
    } else {
        err = rdma_mr_alloc_fast(h->pd, len + 1, mr);
        struct rdma_fast_reg reg = {
            .addr = region->bytes, .len_bytes = len, .iova = region->from, .access = region->access};
        if (!err) {
            reg.key = (*mr)->rkey;
            err = rdma_mr_fast_reg(roce_dev_domain(h->dev), h->pd, &reg);
        }
    }
    h->mr_count += !err;
    return err;
}

/* The requester's data and where its READs go; the responder's receives. */
static int register_own(struct replay_half *h, const struct explain_learned *l, bool responds)
{
    uint64_t bytes =
        responds ? l->longest_bytes + NORNIC_L3_AREA_BYTES : l->data_bytes + (uint64_t)l->scratch_bytes;
    h->scratch = calloc(1, bytes + 1);
    if (!h->scratch)
        return -ENOMEM;
    if (!responds && l->data_bytes)
        memcpy(h->scratch, l->data, l->data_bytes);
    int err = rdma_mr_reg(h->pd, h->scratch, bytes + 1, NORNIC_ACCESS_LOCAL_WRITE, &h->mrs[h->mr_count]);
    h->mr_count += !err;
    return err;
}

/* An ACK of nothing new that gives unlimited credits (ROCE-RC-20, RC-30): the recorded endpoint did not
 * wait for any before its first ACK, or waited as its packets tell. */
static void give_credits(struct replay *r, const struct replay_qp *q, struct replay_half *h)
{
    const struct explain_learned *l = q->learned;
    struct roce_path path = {.src_mac = l->av.dst_mac,
                             .dst_mac = l->mac,
                             .vlan_tci = l->vlan_id ? l->vlan_id : -1,
                             .src = l->av.dgid,
                             .dst = r->endpoint->addr,
                             .hop_limit = 1,
                             .src_port = ROCE_UDP_PORT};
    struct roce_frame_template t;
    uint8_t frame[REPLAY_FRAME_BYTES];
    uint32_t transport_bytes = ROCE_BTH_BYTES + ROCE_AETH_BYTES;
    roce_frame_template_init(&t, &path);
    uint8_t *p = roce_frame_begin(&t, frame, transport_bytes, 0);
    p = roce_bth_put(p, &(struct roce_bth){.opcode = ROCE_OPCODE(ROCE_SERVICE_RC, ROCE_OP_ACK),
                                           .pkey = NORNIC_PKEY_DEFAULT,
                                           .dest_qpn = roce_qp_num(h->qp),
                                           .psn = roce_psn_add(l->sq_psn, ROCE_PSN_MASK)});
    roce_aeth_put(p, &(struct roce_aeth){.syndrome = ROCE_SYNDROME_ACK_UNLIMITED});
    explain_replay_half_feed(r, h, frame, roce_frame_seal(&t, frame, transport_bytes));
}

int explain_replay_half_open(struct replay *r, struct replay_qp *q, struct replay_half *h, bool responds)
{
    h->random = 1;
    h->mrs = calloc(r->endpoint->region_count + 1, sizeof(struct rdma_mr *));
    int err = h->mrs ? open_device(r, q, h) : -ENOMEM;
    for (uint32_t i = 0; responds && !err && i < r->endpoint->region_count; i++)
        err = register_region(h, &r->endpoint->regions[i]);
    if (!err)
        err = register_own(h, q->learned, responds);
    if (!err)
        err = open_qp(q, h);
    if (!err && !responds && q->learned->service == ROCE_SERVICE_UD) {
        h->ah_count = q->learned->message_count;
        h->ahs = calloc(h->ah_count + 1, sizeof(struct nornic_ah *));
        err = h->ahs ? 0 : -ENOMEM;
    }
    if (!err)
        err = to_rts(q, h, r->now_ns);
    if (!err && !responds && q->learned->service == ROCE_SERVICE_RC)
        give_credits(r, q, h);
    return err;
}

void explain_replay_half_close(struct replay_half *h)
{
    if (h->qp)
        roce_qp_destroy(h->qp);
    if (h->cq)
        rdma_cq_destroy(h->cq);
    for (uint32_t i = 0; i < h->ah_count; i++)
        if (h->ahs[i])
            roce_ah_destroy(h->ahs[i]);
    while (h->mr_count)
        rdma_mr_dereg(h->mrs[--h->mr_count]);
    if (h->pd)
        rdma_pd_destroy(h->pd);
    if (h->dev)
        roce_dev_destroy(h->dev);
    free(h->ahs);
    free(h->mrs);
    free(h->scratch);
}

struct replay_frame *explain_replay_half_pull(struct replay *r, struct replay_half *h)
{
    struct replay_frame *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    struct net_frame frame = {.data = f->bytes, .cap_bytes = sizeof f->bytes};
    if (roce_dev_tx(h->dev, &frame, 1, r->now_ns) == 0) {
        free(f);
        return NULL;
    }
    f->len_bytes = frame.len_bytes;
    f->cause = r->cause;
    return f;
}

void explain_replay_half_feed(struct replay *r, struct replay_half *h, uint8_t *bytes, uint32_t len_bytes)
{
    struct net_frame frame = {.data = bytes, .len_bytes = len_bytes};
    struct nornic_wc wcs[16];
    roce_dev_rx(h->dev, &frame, 1, r->now_ns);
    while (rdma_cq_poll(h->cq, wcs, 16) > 0) {
    }
}
