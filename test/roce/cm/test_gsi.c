/* SPDX-License-Identifier: BSD-2-Clause */
/* The General Service Interface, and what is not: ROCE section 10.3. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/support/dgram_suite.h"

static void setup(void)
{
    setup_type(NORNIC_QPT_GSI);
}

TestSuite(gsi, .init = setup, .fini = teardown);

#define AT        4096u
#define MAD_BYTES 256u

static const struct roce_pkt *next(void)
{
    const struct roce_pkt *pkt = script_next(s);
    cr_assert_not_null(pkt);
    cr_assert_eq(pkt->bth.opcode, 0x64);
    return pkt;
}

Test(gsi, ROCE_GSI_1_what_a_mad_bears)
{
    cr_assert_eq(roce_qp_num(s->qp), 1);
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, MAD_BYTES);
    wr.ud.remote_qkey = 0x1234; /* whatever is asked for */
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    const struct roce_pkt *pkt = next();
    cr_assert_eq(pkt->deth.qkey, 0x80010000);
    cr_assert_eq(pkt->deth.src_qpn, 1);
    cr_assert_eq(pkt->payload_bytes, MAD_BYTES);
    cr_assert_eq(pkt->bth.pkey, 0xffff);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(gsi, ROCE_GSI_1_only_whole_mads_are_sent)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr;
    static const uint32_t lengths[] = {0, 255, 257, 512};
    for (int i = 0; i < 4; i++) {
        wr = dgram_wr(s, ah, 1, &sge, 0, lengths[i]);
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL, "%u bytes", lengths[i]);
    }
    wr = dgram_wr(s, ah, 1, &sge, 0, MAD_BYTES);
    wr.opcode = NORNIC_WR_SEND_WITH_IMM;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL);
    wr = dgram_wr(s, ah, 1, &sge, 0, MAD_BYTES);
    wr.ud.pkey_index = 1; /* the table has one entry */
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL);
}

/* covers: ROCE-GSI-1, ROCE-RX-12, ROCE-RX-18, CA17-23 */
Test(gsi, ROCE_GSI_1_what_is_received)
{
    script_recv(s, 1, AT, 296);
    struct script_pkt good = dgram_pkt(s, script_data(), MAD_BYTES), p = good;
    p.deth.qkey = SCRIPT_QKEY; /* the one that the application set is not QP1's */
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_QKEY, 1);
    p = good;
    p.payload_bytes = 255;
    script_send(s, &p);
    p.payload_bytes = 0;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_LENGTH, 2);
    p = good;
    p.bth.opcode = ROCE_OPCODE(ROCE_SERVICE_UD, ROCE_OP_SEND_ONLY_IMM);
    script_send(s, &p);
    p.bth.opcode = ROCE_OPCODE(ROCE_SERVICE_UD, ROCE_OP_SEND_FIRST);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_OPCODE, 2);
    p.bth.opcode = ROCE_OPCODE(ROCE_SERVICE_RC, ROCE_OP_SEND_ONLY);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_TYPE, 1);
    expect_no_wc(s, recv_cq);
    script_send(s, &good);
    struct nornic_wc wc = expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.byte_len, 296);
    cr_assert_eq(wc.src_qpn, 1);
    cr_assert_eq(wc.qp_num, 1);
    cr_assert_arr_eq(s->mem + AT + 40, script_data(), MAD_BYTES);
}

Test(gsi, ROCE_GSI_5_ack_req_is_ignored)
{
    script_recv(s, 1, AT, 296);
    struct script_pkt p = dgram_pkt(s, script_data(), MAD_BYTES);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    expect_nothing(s);
}

/* covers: ROCE-GSI-1 */
Test(gsi, ROCE_GSI_1_one_a_device)
{
    struct roce_qp_config c = {.type = NORNIC_QPT_GSI,
                               .pd = s->pd,
                               .send_cq = s->send_cq,
                               .recv_cq = s->recv_cq,
                               .caps = config.caps};
    struct roce_qp *qp;
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EBUSY);
    cr_assert_eq(roce_ah_destroy(ah), 0);
    struct script_pkt p = dgram_pkt(s, script_data(), MAD_BYTES);
    p.bth.dest_qpn = 1;
    roce_qp_destroy(s->qp);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_NO_QP, 1);
    cr_assert_eq(roce_qp_create(s->dev, &c, &s->qp), 0);
    cr_assert_eq(roce_qp_num(s->qp), 1);
    dgram_raise(s, s->qp, NORNIC_QPS_RTS, SCRIPT_QKEY);
    ah = dgram_ah(s);
    dgram_post(s, ah, 1, 0, MAD_BYTES);
    next();
}

/* covers: ROCE-GSI-3, ROCE-RX-11, ROCE-GEN-1, CA17-28, CA17-33 */
Test(gsi, ROCE_GSI_3_there_is_no_other_special_qp)
{
    struct roce_qp_config c = {
        .pd = s->pd, .send_cq = s->send_cq, .recv_cq = s->recv_cq, .caps = config.caps};
    static const int types[] = {0, 5, 6, 7, 8, 0xff}; /* SMI, RD, raw IPv6, raw EtherType, raw packet */
    struct roce_qp *qp;
    for (size_t i = 0; i < array_len(types); i++) {
        c.type = (enum nornic_qp_type)types[i];
        cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EOPNOTSUPP, "type %d", types[i]);
    }
    script_recv(s, 1, AT, 296);
    struct script_pkt p = dgram_pkt(s, script_data(), MAD_BYTES);
    p.bth.dest_qpn = 0;
    script_send(s, &p);
    p.deth.qkey = 0;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_QP0, 2);
    expect_nothing(s);
    expect_no_wc(s, recv_cq);
}

/* covers: ROCE-RC-64, ROCE-QP-6 */
Test(gsi, ROCE_QP_6_a_send_error_leads_to_sqe)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, MAD_BYTES);
    sge.lkey = 0;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
    expect_state(s, NORNIC_QPS_SQE);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    dgram_post(s, ah, 2, 0, MAD_BYTES);
    next();
}

/* covers: ROCE-CQ-2 */
Test(gsi, ROCE_CQ_2_an_overflow_reaches_qp1_too)
{
    config.send_cq_capacity = 2;
    renew();
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, MAD_BYTES);
    for (int i = 0; i < 8 && roce_qp_state(s->qp) == NORNIC_QPS_RTS; i++) {
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
        script_pump(s);
    }
    expect_event(s, NORNIC_EVENT_CQ_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

Test(gsi, ROCE_GSI_2_a_reply_goes_out_with_the_pkey_of_the_request)
{
    config.num_pkeys = 4;
    renew();
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0x0001), 0);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 2, 0x0002), 0);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 3, 0x8001), 0);
    static const struct {
        uint16_t pkey, index;
    } rows[] = {{0xffff, 0}, {0x7fff, 0}, {0x8001, 3}, {0x0001, 3}, {0x8002, 2}};
    for (int i = 0; i < 5; i++) {
        struct script_pkt p = dgram_pkt(s, script_data(), MAD_BYTES);
        p.bth.pkey = rows[i].pkey;
        script_recv(s, 1, AT, 296);
        script_send(s, &p);
        struct nornic_wc wc = expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.pkey_index, rows[i].index, "P_Key %04x", rows[i].pkey);
        cr_assert_eq(wc.src_qpn, 1);
        struct nornic_sge sge;
        struct nornic_send_wr wr = dgram_wr(s, ah, 2, &sge, 0, MAD_BYTES);
        wr.ud.remote_qpn = wc.src_qpn;
        wr.ud.pkey_index = wc.pkey_index;
        s->config.any_dest = true;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
        script_pump(s);
        cr_assert_eq(next()->bth.pkey, roce_dev_pkey_get(s->dev, rows[i].index));
        expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    }
    /* two limited members do not match; nor does a key that is in no entry */
    struct script_pkt p = dgram_pkt(s, script_data(), MAD_BYTES);
    p.bth.pkey = 0x0002;
    script_send(s, &p);
    p.bth.pkey = 0x8003;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_PKEY, 2);
}

/* covers: ROCE-HDR-5 */
Test(gsi, ROCE_HDR_5_an_invalid_key_is_never_sent)
{
    config.num_pkeys = 2;
    renew();
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0x8001), 0);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 0, 0), 0);
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, MAD_BYTES);
    wr.ud.pkey_index = 1;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    cr_assert_eq(next()->bth.pkey, 0x8001);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    wr.ud.pkey_index = 0;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_QP_OP_ERR);
}
