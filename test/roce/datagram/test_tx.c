/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending datagrams: ROCE section 10.1. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "test/support/dgram_suite.h"

static void setup(void)
{
    setup_type(NORNIC_QPT_UD);
}

TestSuite(ud_tx, .init = setup, .fini = teardown);

/* The next packet, which is a UD SEND_ONLY or one with immediate. */
static const struct roce_pkt *next(enum roce_op op)
{
    const struct roce_pkt *pkt = script_next(s);
    cr_assert_not_null(pkt, "nothing was sent");
    cr_assert_eq(pkt->bth.opcode, ROCE_OPCODE(ROCE_SERVICE_UD, op), "opcode %02x", pkt->bth.opcode);
    return pkt;
}

static int post(struct nornic_send_wr *wr)
{
    int err = roce_post_send(s->qp, wr, NULL);
    script_pump(s);
    return err;
}

/* covers: ROCE-UD-1, ROCE-HDR-2, ROCE-HDR-3 */
Test(ud_tx, ROCE_UD_1_one_packet_a_message_with_deth)
{
    for (uint32_t i = 0; i < 4; i++) {
        dgram_post(s, ah, i, i * 100, 64 - i);
        const struct roce_pkt *pkt = next(ROCE_OP_SEND_ONLY);
        cr_assert_eq(pkt->bth.psn, script_sq(s, i));
        cr_assert_eq(pkt->bth.mig_req, 1);
        cr_assert_eq(pkt->bth.ack_req, 0);
        cr_assert_eq(pkt->bth.pad_count, -(64 - i) & 3);
        cr_assert_eq(pkt->bth.pkey, 0xffff);
        cr_assert_eq(pkt->bth.dest_qpn, SCRIPT_PEER_QPN);
        cr_assert_eq(pkt->deth.qkey, SCRIPT_QKEY);
        cr_assert_eq(pkt->deth.resv8, 0);
        cr_assert_eq(pkt->deth.src_qpn, roce_qp_num(s->qp));
        cr_assert_eq(pkt->payload_bytes, 64 - i);
        cr_assert_arr_eq(pkt->payload, s->mem + (size_t)i * 100, 64 - i);
        cr_assert_arr_eq(pkt->payload + 64 - i, "\0\0\0", pkt->bth.pad_count); /* ROCE-HDR-3 */
        struct nornic_wc wc = expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.opcode, NORNIC_WC_SEND);
        expect_nothing(s);
    }
}

Test(ud_tx, ROCE_UD_1_immediate_and_solicited)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, 8);
    wr.opcode = NORNIC_WR_SEND_WITH_IMM;
    wr.send_flags |= NORNIC_SEND_SOLICITED;
    put_be32((uint8_t *)&wr.imm_data, 0xdeadbeef);
    cr_assert_eq(post(&wr), 0);
    const struct roce_pkt *pkt = next(ROCE_OP_SEND_ONLY_IMM);
    cr_assert_eq(get_be32(pkt->immdt.imm_data), 0xdeadbeef);
    cr_assert_eq(pkt->bth.se, 1);
    dgram_post(s, ah, 2, 0, 8);
    cr_assert_eq(next(ROCE_OP_SEND_ONLY)->bth.se, 0);
}

Test(ud_tx, ROCE_UD_1_gathers_and_copies_inline)
{
    struct nornic_sge sges[2] = {{(uintptr_t)s->mem + 5, 3, s->mr->lkey},
                                 {(uintptr_t)s->mem + 50, 4, s->mr->lkey}};
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sges[0], 5, 3);
    wr.sg_list = sges;
    wr.num_sge = 2;
    cr_assert_eq(post(&wr), 0);
    static const uint8_t expected[] = {5, 6, 7, 50, 51, 52, 53};
    const struct roce_pkt *pkt = next(ROCE_OP_SEND_ONLY);
    cr_assert_eq(pkt->payload_bytes, 7);
    cr_assert_arr_eq(pkt->payload, expected, 7);
    /* inline: no key is looked at, and the bytes are those of the post */
    uint8_t own[8] = "inlined";
    sges[0] = (struct nornic_sge){(uintptr_t)own, sizeof own, 0};
    wr.num_sge = 1;
    wr.send_flags |= NORNIC_SEND_INLINE;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    memset(own, 0, sizeof own);
    script_pump(s);
    cr_assert_arr_eq(next(ROCE_OP_SEND_ONLY)->payload, "inlined", 8);
}

/* covers: ROCE-UD-1, ROCE-UD-2 */
Test(ud_tx, ROCE_UD_2_longer_than_the_port_mtu_is_silently_nothing)
{
    dgram_post(s, ah, 1, 0, 4096); /* the port's 9000 bytes hold a path MTU of 4096 */
    cr_assert_eq(next(ROCE_OP_SEND_ONLY)->payload_bytes, 4096);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    for (uint64_t i = 2; i < 5; i++)
        dgram_post(s, ah, i, 0, i == 4 ? 65536 : 4097);
    expect_nothing(s);
    for (uint64_t i = 2; i < 5; i++)
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    expect_state(s, NORNIC_QPS_RTS);
    dgram_post(s, ah, 5, 0, 0);
    cr_assert_eq(next(ROCE_OP_SEND_ONLY)->payload_bytes, 0);
    expect_wc(s, send_cq, 5, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
}

Test(ud_tx, ROCE_UD_3_controlled_qkey)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, 8);
    wr.ud.remote_qkey = 0x7fffffff;
    cr_assert_eq(post(&wr), 0);
    cr_assert_eq(next(ROCE_OP_SEND_ONLY)->deth.qkey, 0x7fffffff);
    wr.ud.remote_qkey = 0x80000000;
    cr_assert_eq(post(&wr), 0);
    cr_assert_eq(next(ROCE_OP_SEND_ONLY)->deth.qkey, SCRIPT_QKEY);
    s->config.attr.qkey = 0x2222;
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, NORNIC_QP_QKEY), 0);
    cr_assert_eq(post(&wr), 0);
    cr_assert_eq(next(ROCE_OP_SEND_ONLY)->deth.qkey, 0x2222);
}

/* covers: ROCE-FRM-44, ROCE-FRM-46 */
Test(ud_tx, ROCE_FRM_46_source_port_is_fixed_or_folds_the_flow_label)
{
    dgram_post(s, ah, 1, 0, 8);
    uint16_t port = next(ROCE_OP_SEND_ONLY)->src_port;
    cr_assert_geq(port, 0xc000);
    struct nornic_ah *other = dgram_ah(s);
    dgram_post(s, other, 2, 0, 8);
    cr_assert_eq(next(ROCE_OP_SEND_ONLY)->src_port, port);
    struct nornic_av av = s->config.attr.av;
    struct nornic_ah *labelled;
    av.flow_label = 0xabcde;
    cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &labelled), 0);
    dgram_post(s, labelled, 3, 0, 8);
    cr_assert_eq(next(ROCE_OP_SEND_ONLY)->src_port, 0xc000 | ((0xabcde & 0x3fff) ^ (0xabcde >> 14)));
    cr_assert_eq(roce_ah_destroy(labelled), 0);
    cr_assert_eq(roce_ah_destroy(other), 0);
}

/* covers: ROCE-FRM-3, ROCE-FRM-12, ROCE-FRM-18, ROCE-FRM-21, ROCE-AH-1 */
Test(ud_tx, ROCE_AH_1_the_handle_makes_the_headers)
{
    struct nornic_gid second = {.addr = dgram_addr(s, 77), .mac = {{2, 0, 0, 0, 7, 7}}, .vlan_id = 5};
    int index = roce_dev_gid_add(s->dev, &second);
    cr_assert_gt(index, 0);
    s->config.any_dest = true;
    struct nornic_av av = {.dgid = dgram_addr(s, 2),
                           .sgid_index = (uint8_t)index,
                           .sl = 3,
                           .traffic_class = 0x6b,
                           .hop_limit = 9,
                           .dst_mac = {{2, 9, 9, 9, 9, 9}}};
    struct nornic_ah *own;
    cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &own), 0);
    dgram_post(s, own, 1, 0, 8);
    const struct roce_pkt *pkt = next(ROCE_OP_SEND_ONLY);
    cr_assert_eq(pkt->vlan_tci, 3 << 13 | 5);
    cr_assert(nornic_mac_equal(&pkt->src_mac, &second.mac));
    cr_assert(nornic_mac_equal(&pkt->dst_mac, &av.dst_mac));
    cr_assert(nornic_addr_equal(&pkt->src, &second.addr));
    cr_assert_eq(pkt->tclass, 0x68, "the ECN bits are not the application's: ROCE-FRM-13");
    cr_assert_eq(pkt->hop_limit, 9);
    cr_assert_eq(roce_ah_destroy(own), 0);
}

/* covers: ROCE-AH-1, ROCE-VB-5, ROCE-FRM-39 */
Test(ud_tx, ROCE_VB_5_invalid_vectors_make_no_handle)
{
    struct nornic_ah *none;
    struct nornic_av av = s->config.attr.av;
    av.sl = 8;
    cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &none), -EINVAL);
    av = s->config.attr.av;
    av.sgid_index = 1;
    cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &none), -EINVAL);
    av = s->config.attr.av;
    av.dgid = (struct nornic_addr){{0x20, 1, [15] = 2}};
    cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &none), -EINVAL, "IPv4 cannot send to IPv6");
}

Test(ud_tx, ROCE_AH_3_a_handle_lives_as_long_as_a_wqe_names_it)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, 8);
    struct nornic_ah *own = dgram_ah(s);
    wr.ud.ah = own;
    wr.send_flags = 0; /* done is done, with or without a completion */
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    cr_assert_eq(roce_ah_destroy(own), -EBUSY);
    script_pump(s);
    cr_assert_eq(roce_ah_destroy(own), 0);
    /* a flushed, and a forgotten one */
    own = wr.ud.ah = dgram_ah(s);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    cr_assert_eq(roce_ah_destroy(own), 0);
    expect_wc(s, send_cq, 1, NORNIC_WC_WR_FLUSH_ERR);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    dgram_raise(s, s->qp, NORNIC_QPS_RTS, SCRIPT_QKEY);
    own = wr.ud.ah = dgram_ah(s);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    cr_assert_eq(roce_ah_destroy(own), -EBUSY);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    cr_assert_eq(roce_ah_destroy(own), 0);
}

Test(ud_tx, ROCE_AH_3_a_destroyed_qp_names_no_handle)
{
    struct roce_qp *qp = dgram_qp(s, SCRIPT_QKEY);
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, 8);
    struct nornic_ah *own = wr.ud.ah = dgram_ah(s);
    cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
    cr_assert_eq(roce_ah_destroy(own), -EBUSY);
    roce_qp_destroy(qp);
    cr_assert_eq(roce_ah_destroy(own), 0);
}

/* covers: ROCE-AH-10, ROCE-RC-64, ROCE-QP-6 */
Test(ud_tx, ROCE_AH_10_a_handle_on_a_removed_address_fails_its_sends)
{
    config.also_v1 = true;
    renew();
    struct nornic_gid gid = *roce_dev_gid_get(s->dev, 0);
    cr_assert_eq(roce_dev_gid_remove(s->dev, 0, s->now_ns), 0);
    expect_state(s, NORNIC_QPS_RTS);
    dgram_post(s, ah, 1, 0, 8);
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_QP_OP_ERR);
    expect_state(s, NORNIC_QPS_SQE);
    /* the same address again, on an interface with another MAC address */
    gid.mac.b[5] = 0x55;
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    dgram_post(s, ah, 2, 0, 8);
    cr_assert(nornic_mac_equal(&next(ROCE_OP_SEND_ONLY)->src_mac, &gid.mac));
    /* the same address of another protocol, or another address, in its place is not the handle's */
    cr_assert_eq(roce_dev_gid_remove(s->dev, 0, s->now_ns), 0);
    gid.type = NORNIC_GID_V1;
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), 0);
    dgram_post(s, ah, 3, 0, 8);
    expect_nothing(s);
    gid.type = NORNIC_GID_V2;
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    cr_assert_eq(roce_dev_gid_remove(s->dev, 0, s->now_ns), 0);
    gid.addr = dgram_addr(s, 9);
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), 0);
    dgram_post(s, ah, 4, 0, 8);
    expect_nothing(s);
}

/* covers: ROCE-QP-40, ROCE-PD-1, ROCE-RX-12, ROCE-VB-4 */
Test(ud_tx, ROCE_QP_40_what_a_post_refuses)
{
    struct nornic_sge sge;
    struct nornic_send_wr good = dgram_wr(s, ah, 1, &sge, 0, 8), wr;
    static const enum nornic_wr_opcode not_offered[] = {NORNIC_WR_RDMA_WRITE,
                                                        NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                                        NORNIC_WR_RDMA_READ,
                                                        NORNIC_WR_ATOMIC_CMP_AND_SWP,
                                                        NORNIC_WR_ATOMIC_FETCH_AND_ADD,
                                                        NORNIC_WR_LOCAL_INV,
                                                        NORNIC_WR_BIND_MW,
                                                        NORNIC_WR_SEND_WITH_INV,
                                                        NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP,
                                                        NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD,
                                                        NORNIC_WR_REG_MR,
                                                        (enum nornic_wr_opcode)77};
    for (size_t i = 0; i < array_len(not_offered); i++) {
        wr = good;
        wr.opcode = not_offered[i];
        cr_assert_eq(post(&wr), -EINVAL, "opcode %d", not_offered[i]);
    }
    wr = good;
    wr.ud.ah = NULL;
    cr_assert_eq(post(&wr), -EINVAL);
    struct rdma_pd *pd;
    cr_assert_eq(rdma_pd_create(roce_dev_domain(s->dev), &pd), 0);
    cr_assert_eq(roce_ah_create(s->dev, pd, &s->config.attr.av, &wr.ud.ah), 0);
    cr_assert_eq(post(&wr), -EINVAL, "the handle is of another PD");
    cr_assert_eq(roce_ah_destroy(wr.ud.ah), 0);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    static const uint32_t bad_qpns[] = {0, 0xffffff, 0x1000000, 0xffffffff};
    for (int i = 0; i < 4; i++) {
        wr = good;
        wr.ud.remote_qpn = bad_qpns[i];
        cr_assert_eq(post(&wr), -EINVAL, "QPN %x", bad_qpns[i]);
    }
    const struct nornic_addr group = nornic_addr_from_v4((const uint8_t[]){239, 1, 2, 3});
    wr = good;
    wr.ud.ah = dgram_ah_to(s, &group);
    cr_assert_eq(post(&wr), -EINVAL, "a group, but not its QPN");
    cr_assert_eq(roce_ah_destroy(wr.ud.ah), 0);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
}

Test(ud_tx, ROCE_PD_1_a_handle_of_another_device_is_refused)
{
    struct script *other = dgram_new(&config, NORNIC_QPT_UD);
    struct nornic_ah *theirs = dgram_ah(other);
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, theirs, 1, &sge, 0, 8);
    cr_assert_eq(post(&wr), -EINVAL);
    cr_assert_eq(roce_ah_destroy(theirs), 0);
    script_free(other);
}

/* covers: ROCE-QP-6, ROCE-QP-28, ROCE-RC-64, ROCE-RC-17 */
Test(ud_tx, ROCE_RC_64_a_send_error_leads_to_sqe)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, 8);
    sge.lkey ^= 0x100;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    dgram_post(s, ah, 2, 0, 8);
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
    expect_wc(s, send_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
    expect_state(s, NORNIC_QPS_SQE);
    /* later posts are flushed, signalled or not */
    wr.wr_id = 3;
    wr.send_flags = 0;
    cr_assert_eq(post(&wr), 0);
    expect_wc(s, send_cq, 3, NORNIC_WC_WR_FLUSH_ERR);
    /* receiving goes on */
    script_recv(s, 4, 0, 1000);
    struct script_pkt p = dgram_pkt(s, script_data(), 10);
    script_send(s, &p);
    expect_wc(s, recv_cq, 4, NORNIC_WC_SUCCESS);
    /* and so does sending, once told so; the PSN is the one after the last sent */
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    dgram_post(s, ah, 5, 0, 8);
    cr_assert_eq(next(ROCE_OP_SEND_ONLY)->bth.psn, script_sq(s, 0));
    expect_wc(s, send_cq, 5, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
}

/* covers: ROCE-QP-5, ROCE-RC-62 */
Test(ud_tx, ROCE_QP_5_sqd_holds_sends_back)
{
    s->config.attr.en_sqd_async_notify = true;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_EN_SQD_ASYNC_NOTIFY), 0);
    expect_event(s, NORNIC_EVENT_SQ_DRAINED);
    dgram_post(s, ah, 1, 0, 8);
    expect_nothing(s);
    script_recv(s, 2, 0, 1000);
    struct script_pkt p = dgram_pkt(s, script_data(), 10);
    script_send(s, &p);
    expect_wc(s, recv_cq, 2, NORNIC_WC_SUCCESS);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    script_pump(s);
    next(ROCE_OP_SEND_ONLY);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(ud_tx, ROCE_RC_60_an_unsignalled_wqe_is_freed_by_a_later_completion_only)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, 8);
    wr.send_flags = 0;
    for (int i = 0; i < 255; i++)
        cr_assert_eq(post(&wr), 0);
    expect_no_wc(s, send_cq);
    dgram_post(s, ah, 2, 0, 8);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    for (int i = 0; i < 256; i++)
        cr_assert_eq(post(&wr), 0);
    cr_assert_eq(post(&wr), -ENOMEM);
}

Test(ud_tx, ROCE_QP_1_no_sends_before_rts)
{
    config.state = NORNIC_QPS_RTR;
    renew();
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, ah, 1, &sge, 0, 8);
    cr_assert_eq(post(&wr), -EINVAL);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, NORNIC_QP_SQ_PSN), 0);
    cr_assert_eq(post(&wr), 0);
}

/* covers: ROCE-UD-8 */
Test(ud_tx, ROCE_UD_8_to_an_address_of_our_own)
{
    struct nornic_addr own = dgram_addr(s, 1);
    struct nornic_ah *self = dgram_ah_to(s, &own);
    struct roce_qp *other = dgram_qp(s, 0x77);
    struct nornic_sge sge, into = {(uintptr_t)s->mem + 8192, 100, s->mr->lkey};
    struct nornic_recv_wr recv = {.wr_id = 9, .sg_list = &into, .num_sge = 1};
    cr_assert_eq(roce_post_recv(other, &recv, NULL), 0);
    struct nornic_send_wr wr = dgram_wr(s, self, 1, &sge, 16, 50);
    wr.ud.remote_qpn = roce_qp_num(other);
    cr_assert_eq(post(&wr), 0); /* the wrong Q_Key: the full receive path judges it */
    expect_verdict(s, ROCE_RX_DROP_QKEY, 1);
    wr.ud.remote_qkey = 0x77;
    cr_assert_eq(post(&wr), 0);
    struct nornic_wc wc = expect_wc(s, recv_cq, 9, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.qp_num, roce_qp_num(other));
    cr_assert_eq(wc.src_qpn, roce_qp_num(s->qp));
    cr_assert_eq(wc.byte_len, 90);
    cr_assert_arr_eq(s->mem + 8192 + 40, s->mem + 16, 50);
    expect_nothing(s);
    roce_qp_destroy(other);
    cr_assert_eq(roce_ah_destroy(self), 0);
}
