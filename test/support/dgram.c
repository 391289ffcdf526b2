/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/dgram.h"

#include <criterion/criterion.h>

static struct roce_qp *make_qp(struct script *s, enum nornic_qp_type type)
{
    struct roce_qp_config config = {.type = type,
                                    .pd = s->pd,
                                    .send_cq = s->send_cq,
                                    .recv_cq = s->recv_cq,
                                    .caps = s->config.caps,
                                    .sq_sig_all = s->config.sq_sig_all};
    struct roce_qp *qp;
    cr_assert_eq(roce_qp_create(s->dev, &config, &qp), 0);
    return qp;
}

void dgram_raise(struct script *s, struct roce_qp *qp, enum nornic_qp_state state, uint32_t qkey)
{
    struct nornic_qp_attr attr = {.port = 1, .qkey = qkey, .sq_psn = s->config.attr.sq_psn};
    uint32_t port = roce_qp_num(qp) == 1 ? 0 : NORNIC_QP_PORT; /* ROCE-QP-20 */
    static const enum nornic_qp_state states[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    const uint32_t masks[] = {NORNIC_QP_PKEY_INDEX | NORNIC_QP_QKEY | port, 0, NORNIC_QP_SQ_PSN};
    for (int i = 0; i < 3 && states[i] <= state; i++) {
        attr.state = states[i];
        cr_assert_eq(roce_qp_modify(qp, &attr, masks[i] | NORNIC_QP_STATE, s->now_ns), 0, "to state %d",
                     states[i]);
    }
}

struct script *dgram_new(const struct script_config *config, enum nornic_qp_type type)
{
    struct script *s = script_new(config);
    roce_qp_destroy(s->qp);
    s->qp = make_qp(s, type);
    s->config.attr.qkey = SCRIPT_QKEY;
    dgram_raise(s, s->qp, config->state, SCRIPT_QKEY);
    return s;
}

struct roce_qp *dgram_qp(struct script *s, uint32_t qkey)
{
    struct roce_qp *qp = make_qp(s, NORNIC_QPT_UD);
    dgram_raise(s, qp, NORNIC_QPS_RTS, qkey);
    return qp;
}

struct nornic_ah *dgram_ah_to(struct script *s, const struct nornic_addr *dgid)
{
    struct nornic_av av = s->config.attr.av;
    struct nornic_ah *ah;
    av.dgid = *dgid;
    cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &ah), 0);
    return ah;
}

struct nornic_ah *dgram_ah(struct script *s)
{
    return dgram_ah_to(s, &s->config.attr.av.dgid);
}

struct nornic_send_wr dgram_wr(struct script *s, struct nornic_ah *ah, uint64_t wr_id, struct nornic_sge *sge,
                               uint64_t mem_offset, uint32_t len_bytes)
{
    struct nornic_send_wr wr = script_wr(s, wr_id, NORNIC_WR_SEND, sge, mem_offset, len_bytes);
    wr.ud.ah = ah;
    wr.ud.remote_qpn = SCRIPT_PEER_QPN;
    wr.ud.remote_qkey = SCRIPT_QKEY;
    return wr;
}

void dgram_post(struct script *s, struct nornic_ah *ah, uint64_t wr_id, uint64_t mem_offset,
                uint32_t len_bytes)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, wr_id, &sge, mem_offset, len_bytes);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
}

struct script_pkt dgram_pkt(const struct script *s, const void *payload, uint32_t payload_bytes)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, 0, payload, payload_bytes);
    p.bth.opcode = ROCE_OPCODE(ROCE_SERVICE_UD, ROCE_OP_SEND_ONLY);
    if (roce_qp_num(s->qp) == 1)
        p.deth = (struct roce_deth){.qkey = DGRAM_GSI_QKEY, .src_qpn = 1};
    return p;
}

struct nornic_addr dgram_addr(const struct script *s, uint8_t last)
{
    struct nornic_addr a = s->config.attr.av.dgid;
    a.b[15] = last;
    return a;
}
