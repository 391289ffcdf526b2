/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving datagrams: ROCE section 10.1 and the checks of 6.2. */
#include <errno.h>
#include <string.h>

#include "net/bytes.h"
#include "rdma/srq.h"
#include "test/support/dgram_suite.h"

static void setup(void)
{
    setup_type(NORNIC_QPT_UD);
}

TestSuite(ud_rx, .init = setup, .fini = teardown);

#define AT 4096u /* where receives go to in s->mem */

static struct nornic_wc receive(const struct script_pkt *p, uint32_t buffer_bytes)
{
    memset(s->mem + AT, 0xee, buffer_bytes);
    script_recv(s, 7, AT, buffer_bytes);
    script_send(s, p);
    return expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS);
}

/* covers: ROCE-UD-4, ROCE-UD-5 */
Test(ud_rx, ROCE_UD_4_ipv4_header_in_the_second_half)
{
    struct script_pkt p = dgram_pkt(s, script_data(), 33);
    p.path.traffic_class = 0x68;
    struct nornic_wc wc = receive(&p, 200);
    cr_assert_eq(wc.byte_len, 73);
    static const uint8_t zero[20];
    const uint8_t *area = s->mem + AT;
    cr_assert_arr_eq(area, zero, 20);
    cr_assert_eq(area[20], 0x45);
    cr_assert_eq(area[21], 0x68);
    cr_assert_eq(get_be16(area + 22), 20 + 8 + 12 + 8 + 33 + 3 + 4);
    cr_assert_eq(area[29], 17);
    cr_assert_arr_eq(area + 32, p.path.src.b + 12, 4);
    cr_assert_arr_eq(area + 36, p.path.dst.b + 12, 4);
    cr_assert_arr_eq(area + 40, script_data(), 33);
    cr_assert_eq(area[73], 0xee, "pad is not delivered");
}

/* covers: ROCE-UD-4, ROCE-UD-5 */
Test(ud_rx, ROCE_UD_4_ipv6_header_fills_it)
{
    config.ipv6 = true;
    renew();
    struct script_pkt p = dgram_pkt(s, script_data(), 4);
    p.path.flow_label = 0x12345;
    struct nornic_wc wc = receive(&p, 44);
    const uint8_t *area = s->mem + AT;
    cr_assert_eq(wc.byte_len, 44);
    cr_assert_eq(wc.network, NORNIC_NETWORK_IPV6);
    cr_assert_eq(get_be32(area), 0x60012345);
    cr_assert_eq(get_be16(area + 4), 8 + 12 + 8 + 4 + 4);
    cr_assert_eq(area[6], 17);
    cr_assert_arr_eq(area + 8, p.path.src.b, 16);
    cr_assert_arr_eq(area + 24, p.path.dst.b, 16);
    cr_assert_arr_eq(area + 40, script_data(), 4);
}

Test(ud_rx, ROCE_UD_4_the_area_may_cross_sges)
{
    struct nornic_sge sges[3] = {{(uintptr_t)s->mem + AT, 30, s->mr->lkey},
                                 {(uintptr_t)s->mem + AT + 1000, 12, s->mr->lkey},
                                 {(uintptr_t)s->mem + AT + 2000, 100, s->mr->lkey}};
    struct nornic_recv_wr wr = {.wr_id = 7, .sg_list = sges, .num_sge = 3};
    cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
    struct script_pkt p = dgram_pkt(s, script_data(), 20);
    script_send(s, &p);
    cr_assert_eq(expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS).byte_len, 60);
    cr_assert_eq(s->mem[AT + 20], 0x45);
    cr_assert_arr_eq(s->mem + AT + 1006, p.path.dst.b + 12, 4);
    cr_assert_arr_eq(s->mem + AT + 1010, script_data(), 2);
    cr_assert_arr_eq(s->mem + AT + 2000, script_data() + 2, 18);
}

/* covers: ROCE-VB-4 */
Test(ud_rx, ROCE_UD_5_what_the_completion_tells)
{
    struct nornic_gid tagged = {.addr = dgram_addr(s, 1), .vlan_id = 6, .mac = {{2, 0, 0, 0, 0, 1}}};
    cr_assert_geq(roce_dev_gid_add(s->dev, &tagged), 0);
    struct script_pkt p = dgram_pkt(s, script_data(), 8);
    p.bth.opcode = ROCE_OPCODE(ROCE_SERVICE_UD, ROCE_OP_SEND_ONLY_IMM);
    put_be32((uint8_t *)&p.imm_data, 0x01020304);
    p.path.vlan_tci = 3 << 13 | 6;
    p.deth.src_qpn = 0x123456;
    struct nornic_wc wc = receive(&p, 200);
    cr_assert_eq(wc.opcode, NORNIC_WC_RECV);
    cr_assert_eq(wc.qp_num, roce_qp_num(s->qp));
    cr_assert_eq(wc.src_qpn, 0x123456);
    cr_assert_eq(wc.wc_flags, NORNIC_WC_GRH | NORNIC_WC_WITH_IMM);
    cr_assert_eq(get_be32((const uint8_t *)&wc.imm_data), 0x01020304);
    cr_assert_eq(wc.pkey_index, 0);
    cr_assert_eq(wc.vlan_id, 6);
    cr_assert_eq(wc.network, NORNIC_NETWORK_IPV4);
    cr_assert_arr_eq(wc.src_mac, p.path.src_mac.b, 6);
    p = dgram_pkt(s, script_data(), 8);
    wc = receive(&p, 200);
    cr_assert_eq(wc.wc_flags, NORNIC_WC_GRH);
    cr_assert_eq(wc.vlan_id, 0);
}

/* covers: ROCE-UD-1 */
Test(ud_rx, ROCE_UD_1_the_psn_is_not_looked_at)
{
    static const uint32_t psns[] = {5, 5, 0, 0xffffff, 7};
    for (int i = 0; i < 5; i++) {
        struct script_pkt p = dgram_pkt(s, script_data(), 8);
        p.bth.psn = psns[i];
        p.bth.ack_req = 1;
        receive(&p, 48);
    }
    expect_nothing(s);
}

Test(ud_rx, ROCE_UD_6_a_reply_finds_its_way)
{
    struct nornic_gid second = {.addr = dgram_addr(s, 40), .mac = {{2, 0, 0, 0, 4, 4}}};
    cr_assert_eq(roce_dev_gid_add(s->dev, &second), 1);
    struct script_pkt p = dgram_pkt(s, script_data(), 8);
    p.path.dst = second.addr;
    p.path.src = dgram_addr(s, 99);
    p.path.traffic_class = 0x6b;
    p.path.src_mac.b[5] = 0x99;
    struct nornic_wc wc = receive(&p, 200);
    struct nornic_av av;
    cr_assert_eq(roce_ah_from_wc(s->dev, &wc, s->mem + AT, &av), 0);
    cr_assert(nornic_addr_equal(&av.dgid, &p.path.src));
    cr_assert_eq(av.sgid_index, 1);
    cr_assert_eq(av.hop_limit, 255);
    cr_assert_eq(av.traffic_class, 0x68);
    cr_assert_eq(av.flow_label, 0);
    cr_assert(nornic_mac_equal(&av.dst_mac, &p.path.src_mac));
    /* sent to the group: from the first address of its family */
    uint8_t group[40];
    memcpy(group, s->mem + AT, sizeof group);
    put_be32(group + 36, 0xef010203);
    cr_assert_eq(roce_ah_from_wc(s->dev, &wc, group, &av), 0);
    cr_assert_eq(av.sgid_index, 0);
    struct nornic_wc tagged = wc; /* no address of ours is in that VLAN */
    tagged.vlan_id = 3;
    cr_assert_eq(roce_ah_from_wc(s->dev, &tagged, group, &av), -EADDRNOTAVAIL);
    /* what is no datagram's, and an address that is gone */
    struct nornic_wc other = wc;
    other.wc_flags = 0;
    cr_assert_eq(roce_ah_from_wc(s->dev, &other, s->mem + AT, &av), -EINVAL);
    other = wc;
    other.network = NORNIC_NETWORK_IPV6;
    cr_assert_eq(roce_ah_from_wc(s->dev, &other, s->mem + AT, &av), -EINVAL);
    other = wc;
    other.vlan_id = 3;
    cr_assert_eq(roce_ah_from_wc(s->dev, &other, s->mem + AT, &av), -EADDRNOTAVAIL);
    cr_assert_eq(roce_dev_gid_remove(s->dev, 1, s->now_ns), 0);
    cr_assert_eq(roce_ah_from_wc(s->dev, &wc, s->mem + AT, &av), -EADDRNOTAVAIL);
}

Test(ud_rx, ROCE_UD_6_an_ipv6_reply_keeps_the_flow_label)
{
    config.ipv6 = true;
    renew();
    struct script_pkt p = dgram_pkt(s, script_data(), 8);
    p.path.flow_label = 0xabcde;
    struct nornic_wc wc = receive(&p, 200);
    struct nornic_av av;
    cr_assert_eq(roce_ah_from_wc(s->dev, &wc, s->mem + AT, &av), 0);
    cr_assert_eq(av.flow_label, 0xabcde);
    cr_assert_eq(av.sgid_index, 0);
    cr_assert(nornic_addr_equal(&av.dgid, &p.path.src));
}

Test(ud_rx, ROCE_UD_7_exact_fit_and_one_byte_short)
{
    script_recv(s, 1, AT, 139);
    struct script_pkt p = dgram_pkt(s, script_data(), 100);
    script_send(s, &p);
    expect_no_wc(s, recv_cq);
    expect_verdict(s, ROCE_RX_DROP_TOO_LONG, 1);
    cr_assert_eq(s->mem[AT + 20], (AT + 20) % 251, "nothing was written");
    /* the WQE is kept for one that fits */
    p.payload_bytes = 99;
    script_send(s, &p);
    cr_assert_eq(expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS).byte_len, 139);
    cr_assert_arr_eq(s->mem + AT + 40, script_data(), 99);
    /* not even the area fits */
    script_recv(s, 2, AT, 39);
    p.payload_bytes = 0;
    script_send(s, &p);
    expect_no_wc(s, recv_cq);
    expect_state(s, NORNIC_QPS_RTS);
    expect_nothing(s);
}

Test(ud_rx, ROCE_UD_7_without_a_receive_it_is_dropped)
{
    struct script_pkt p = dgram_pkt(s, script_data(), 100);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_NO_RECV, 1);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
    receive(&p, 140);
}

/* covers: ROCE-RX-18 */
Test(ud_rx, ROCE_RX_18_qkey_violations_are_counted_up_to_16_bits)
{
    script_recv(s, 1, AT, 100);
    struct script_pkt burst[64];
    for (int i = 0; i < 64; i++) {
        burst[i] = dgram_pkt(s, NULL, 0);
        burst[i].deth.qkey = SCRIPT_QKEY ^ (i % 2 ? 1 : 0x80000000);
    }
    script_give(s, burst, 1);
    expect_verdict(s, ROCE_RX_DROP_QKEY, 1);
    for (int i = 0; i < 1024; i++)
        script_give(s, burst, 64);
    expect_verdict(s, ROCE_RX_DROP_QKEY, 65535);
    expect_no_wc(s, recv_cq);
    script_pump(s);
    expect_nothing(s);
}

/* covers: ROCE-RX-17, ROCE-HDR-5 */
Test(ud_rx, ROCE_RX_17_pkey)
{
    struct script_pkt p = dgram_pkt(s, script_data(), 8);
    p.bth.pkey = 0x7fff; /* a limited member */
    receive(&p, 48);
    p.bth.pkey = 0x8001;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_PKEY, 1);
}

/* covers: ROCE-RX-13, ROCE-OPC-6 */
Test(ud_rx, ROCE_RX_13_only_ud_opcodes)
{
    script_recv(s, 1, AT, 200);
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        if (opcode == 0x64 || opcode == 0x65)
            continue;
        struct script_pkt p = dgram_pkt(s, script_data(), 64);
        p.bth.opcode = (uint8_t)opcode;
        script_send(s, &p);
    }
    expect_no_wc(s, recv_cq);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_OPCODE, 30);
    expect_verdict(s, ROCE_RX_DROP_TYPE, 256 - 32 - 1);
    expect_state(s, NORNIC_QPS_RTS);
}

/* covers: ROCE-RX-16, CA17-41 */
Test(ud_rx, ROCE_RX_16_any_sender_but_only_to_an_address_of_the_table)
{
    struct script_pkt p = dgram_pkt(s, script_data(), 8);
    p.path.src = dgram_addr(s, 200);
    p.path.src_port = 1;
    receive(&p, 48);
    p.path.dst = dgram_addr(s, 3);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_GID, 1);
    /* the address, but of another VLAN than the one it is on */
    struct nornic_gid tagged = {.addr = dgram_addr(s, 50), .vlan_id = 6, .mac = {{2, 0, 0, 0, 0, 1}}};
    cr_assert_geq(roce_dev_gid_add(s->dev, &tagged), 0);
    p = dgram_pkt(s, script_data(), 8);
    p.path.vlan_tci = 6;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_GID, 2);
    expect_no_wc(s, recv_cq);
}

/* covers: ROCE-RX-14, ROCE-QP-2, ROCE-QP-3, ROCE-EV-5 */
Test(ud_rx, ROCE_RX_14_states)
{
    config.state = NORNIC_QPS_INIT;
    renew();
    struct script_pkt p = dgram_pkt(s, script_data(), 8);
    script_recv(s, 1, AT, 100);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_STATE, 1);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, 0), 0);
    p.deth.qkey++;
    script_send(s, &p);
    expect_no_event(s);
    p.deth.qkey--;
    script_send(s, &p);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    expect_event(s, NORNIC_EVENT_COMM_EST);
    script_send(s, &p);
    expect_no_event(s);
    script_recv(s, 2, AT, 100);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    expect_wc(s, recv_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_STATE, 2);
}

/* ROCE section 6.3: a local scatter failure. */
Test(ud_rx, ROCE_MR_4_a_buffer_that_cannot_be_written_is_an_error)
{
    struct rdma_mr *ro;
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 4096, 0, &ro), 0);
    struct nornic_sge sge = {(uintptr_t)s->mem, 100, ro->lkey};
    struct nornic_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
    script_recv(s, 2, AT, 100);
    struct script_pkt p = dgram_pkt(s, script_data(), 8);
    script_send(s, &p);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_PROT_ERR);
    expect_wc(s, recv_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
    expect_state(s, NORNIC_QPS_ERR);
    rdma_mr_dereg(ro);
}

/* covers: ROCE-CQ-2 */
Test(ud_rx, ROCE_CQ_2_an_overflow_is_an_error)
{
    config.recv_cq_capacity = 2;
    renew();
    struct script_pkt p = dgram_pkt(s, script_data(), 8);
    for (uint64_t i = 0; i < 4; i++)
        script_recv(s, i, AT, 100);
    for (int i = 0; i < 4 && roce_qp_state(s->qp) == NORNIC_QPS_RTS; i++)
        script_send(s, &p);
    expect_event(s, NORNIC_EVENT_CQ_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-RX-13 */
Test(ud_rx, ROCE_RX_13_a_datagram_is_nothing_to_a_connected_qp)
{
    struct script *rc = script_new(&config);
    script_recv(rc, 1, AT, 200);
    struct script_pkt p = dgram_pkt(rc, script_data(), 8);
    script_send(rc, &p);
    expect_verdict(rc, ROCE_RX_DROP_TYPE, 1);
    expect_nothing(rc);
    expect_no_wc(rc, recv_cq);
    script_free(rc);
}

/* covers: ROCE-UD-7, ROCE-RS-70 */
Test(ud_rx, ROCE_UD_7_a_wqe_of_an_srq_that_is_too_small_completes_in_error)
{
    struct rdma_srq *srq;
    struct rdma_srq_config srq_config = {.max_wr = 4, .max_sge = 1};
    cr_assert_eq(rdma_srq_create(s->pd, &srq_config, &srq), 0);
    struct roce_qp_config c = {.type = NORNIC_QPT_UD,
                               .pd = s->pd,
                               .send_cq = s->send_cq,
                               .recv_cq = s->recv_cq,
                               .srq = srq,
                               .caps = config.caps};
    cr_assert_eq(roce_qp_destroy(s->qp), 0);
    cr_assert_eq(roce_qp_create(s->dev, &c, &s->qp), 0);
    dgram_raise(s, s->qp, NORNIC_QPS_RTS, SCRIPT_QKEY);
    for (uint32_t i = 0; i < 2; i++) {
        struct nornic_sge sge = {(uintptr_t)s->mem + AT, 139 + i, s->mr->lkey};
        struct nornic_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
        cr_assert_eq(rdma_srq_post(srq, &wr, NULL), 0);
    }
    struct script_pkt p = dgram_pkt(s, script_data(), 100);
    script_send(s, &p);
    expect_wc(s, recv_cq, 0, NORNIC_WC_LOC_LEN_ERR);
    expect_state(s, NORNIC_QPS_RTS);
    script_send(s, &p);
    cr_assert_eq(expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS).byte_len, 140);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_NO_RECV, 1);
    cr_assert_eq(roce_qp_destroy(s->qp), 0);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
    c.srq = NULL;
    cr_assert_eq(roce_qp_create(s->dev, &c, &s->qp), 0);
}

static void count_notify(void *ctx, struct rdma_cq *cq, bool overflow)
{
    (void)cq;
    cr_assert_not(overflow);
    ++*(unsigned *)ctx;
}

Test(ud_rx, ROCE_CQ_3_a_solicited_datagram_notifies)
{
    unsigned notified = 0;
    struct rdma_cq *cq;
    cr_assert_eq(rdma_cq_create(
                     &rdma_mem_libc,
                     &(struct rdma_cq_config){.capacity = 8, .notify = count_notify, .ctx = &notified}, &cq),
                 0);
    struct roce_qp_config c = {
        .type = NORNIC_QPT_UD, .pd = s->pd, .send_cq = cq, .recv_cq = cq, .caps = config.caps};
    cr_assert_eq(roce_qp_destroy(s->qp), 0);
    cr_assert_eq(roce_qp_create(s->dev, &c, &s->qp), 0);
    dgram_raise(s, s->qp, NORNIC_QPS_RTS, SCRIPT_QKEY);
    rdma_cq_req_notify(cq, true);
    struct script_pkt p = dgram_pkt(s, script_data(), 8);
    for (uint64_t i = 0; i < 4; i++)
        script_recv(s, i, AT, 100);
    script_send(s, &p);
    cr_assert_eq(notified, 0);
    p.bth.se = 1;
    script_send(s, &p);
    cr_assert_eq(notified, 1);
    script_send(s, &p);
    cr_assert_eq(notified, 1, "once armed, once told");
    cr_assert_eq(roce_qp_destroy(s->qp), 0);
    cr_assert_eq(rdma_cq_destroy(cq), 0);
    c.send_cq = s->send_cq;
    c.recv_cq = s->recv_cq;
    cr_assert_eq(roce_qp_create(s->dev, &c, &s->qp), 0);
}
