/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of one device, and of linked devices, reach each other inside the engine: a port does not loop
 * back (ROCE-UD-8). */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/support/island.h"

#define BULK      (1u << 20)
#define LANDS_AT  (1u << 21)
#define MOST_PKTS (256u + 16u) /* in one call: those that stay inside, and one turn of those that leave */
#define QKEY      0x1234u
#define MS        UINT64_C(1000000)

/* What each kind of world has in common: QP `a` of device 0 and QP `b` of device `to`. */
struct two {
    struct island *w;
    unsigned to;
    struct nornic_addr addr[2];
    struct roce_qp *a, *b;
};

/* `devices` 1: both QPs on one device; 2: on two linked ones. */
static struct two two_new(unsigned devices, bool one_address, bool ipv6, enum nornic_qp_type type)
{
    struct two t = {.w = island_new(devices, one_address, ipv6), .to = devices - 1};
    t.addr[0] = island_addr(ipv6, 1);
    t.addr[1] = island_addr(ipv6, (uint8_t)(one_address ? 1 : devices));
    if (devices == 2)
        cr_assert_eq(roce_dev_link(t.w->dev[0].dev, t.w->dev[1].dev), 0);
    t.a = island_qp(t.w, 0, type);
    t.b = island_qp(t.w, t.to, type);
    if (type == NORNIC_QPT_UD) {
        island_raise(t.w, t.a, QKEY);
        island_raise(t.w, t.b, QKEY);
    } else {
        island_connect(t.w, t.a, &t.addr[1], roce_qp_num(t.b));
        island_connect(t.w, t.b, &t.addr[0], roce_qp_num(t.a));
    }
    island_run(t.w);
    return t;
}

static void two_free(struct two *t)
{
    for (unsigned i = 0; i < ISLAND_DEVS; i++) {
        cr_assert_eq(t->w->dev[i].left, 0, "frames of device %u left through the port", i);
        cr_assert_leq(t->w->dev[i].most_in_call, MOST_PKTS);
    }
    cr_assert_eq(roce_qp_destroy(t->a), 0);
    cr_assert_eq(roce_qp_destroy(t->b), 0);
    island_free(t->w);
}

static void post(struct two *t, uint64_t wr_id, enum nornic_wr_opcode opcode, uint32_t len_bytes)
{
    const struct island_dev *peer = &t->w->dev[t->to];
    struct nornic_sge sge = island_sge(t->w, 0, 0, len_bytes);
    struct nornic_send_wr wr = {.wr_id = wr_id,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = opcode,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .remote_addr = peer->mr->iova + LANDS_AT,
                                .rkey = peer->mr->rkey,
                                .compare_add = 5};
    cr_assert_eq(roce_post_send(t->a, &wr, NULL), 0);
}

static void bulk_rc(unsigned devices, bool one_address, bool ipv6)
{
    struct two t = two_new(devices, one_address, ipv6, NORNIC_QPT_RC);
    struct island_dev *from = &t.w->dev[0], *to = &t.w->dev[t.to];
    post(&t, 1, NORNIC_WR_RDMA_WRITE, BULK);
    island_run(t.w);
    island_wc(t.w, 0, 1, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(to->mem + LANDS_AT, from->mem, BULK);

    memset(to->mem + LANDS_AT, 0x5a, BULK);
    post(&t, 2, NORNIC_WR_RDMA_READ, BULK);
    island_run(t.w);
    island_wc(t.w, 0, 2, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(from->mem, to->mem + LANDS_AT, BULK);

    post(&t, 3, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 8);
    island_run(t.w);
    island_wc(t.w, 0, 3, NORNIC_WC_SUCCESS);
    cr_assert_eq(to->mem[LANDS_AT], 0x5f);

    island_recv(t.w, t.to, t.b, 4, LANDS_AT, BULK);
    post(&t, 5, NORNIC_WR_SEND, BULK);
    island_run(t.w);
    cr_assert_eq(island_wc(t.w, t.to, 4, NORNIC_WC_SUCCESS).byte_len, BULK);
    island_wc(t.w, 0, 5, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(to->mem + LANDS_AT, from->mem, BULK);
    cr_assert_eq(roce_dev_counters(from->dev)->qps.retransmitted_pkts, 0);
    two_free(&t);
}

/* covers: ROCE-UD-8, ROCE-GEN-1 */
Test(loopback, ROCE_UD_8_rc_bulk_between_two_qps_of_a_device)
{
    bulk_rc(1, true, false);
    bulk_rc(1, true, true);
}

/* covers: ROCE-UD-8, ROCE-GEN-1 */
Test(loopback, ROCE_UD_8_rc_bulk_between_devices_on_one_address)
{
    bulk_rc(2, true, false);
    bulk_rc(2, true, true);
}

/* covers: ROCE-UD-8, ROCE-GEN-1 */
Test(loopback, ROCE_UD_8_rc_bulk_between_devices_on_two_addresses)
{
    bulk_rc(2, false, false);
    bulk_rc(2, false, true);
}

/* A receiver that was not ready is waited for inside as it is outside: the peer's timer runs. */
Test(loopback, ROCE_RC_48_rnr_inside)
{
    struct two t = two_new(2, true, false, NORNIC_QPT_RC);
    post(&t, 1, NORNIC_WR_SEND, 5000);
    island_run(t.w);
    island_no_wc(t.w, 0);
    island_recv(t.w, 1, t.b, 2, LANDS_AT, 5000);
    island_settle(t.w, 10 * MS);
    island_wc(t.w, 0, 1, NORNIC_WC_SUCCESS);
    island_wc(t.w, 1, 2, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(t.w->dev[1].mem + LANDS_AT, t.w->dev[0].mem, 5000);
    two_free(&t);
}

/* covers: ROCE-UD-8, ROCE-UC-1, ROCE-GEN-1 */
Test(loopback, ROCE_UD_8_uc)
{
    for (unsigned devices = 1; devices <= 2; devices++) {
        struct two t = two_new(devices, false, devices == 2, NORNIC_QPT_UC);
        post(&t, 1, NORNIC_WR_RDMA_WRITE, BULK);
        island_run(t.w);
        island_wc(t.w, 0, 1, NORNIC_WC_SUCCESS);
        cr_assert_arr_eq(t.w->dev[t.to].mem + LANDS_AT, t.w->dev[0].mem, BULK);
        two_free(&t);
    }
}

static void send_datagram(struct two *t, struct nornic_ah *ah, uint64_t wr_id, uint32_t qpn, uint32_t offset,
                          uint32_t len_bytes)
{
    struct nornic_sge sge = island_sge(t->w, 0, offset, len_bytes);
    struct nornic_send_wr wr = {.wr_id = wr_id,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_SEND,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY}};
    cr_assert_eq(roce_post_send(t->a, &wr, NULL), 0);
}

static void bulk_ud(unsigned devices, bool one_address, bool ipv6)
{
    struct two t = two_new(devices, one_address, ipv6, NORNIC_QPT_UD);
    struct nornic_ah *ah = island_ah(t.w, 0, &t.addr[1]);
    for (uint32_t i = 0; i < 200; i++) {
        island_recv(t.w, t.to, t.b, 1000 + i, LANDS_AT + i * 4200, 4200);
        send_datagram(&t, ah, i, roce_qp_num(t.b), i * 4096, 4096);
    }
    island_run(t.w);
    unsigned sent = 0, received = 0;
    for (unsigned d = 0; d <= t.to; d++) {
        struct nornic_wc wc;
        while (rdma_cq_poll(t.w->dev[d].cq, &wc, 1) == 1) {
            cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
            if (wc.opcode == NORNIC_WC_SEND) {
                cr_assert_eq(wc.wr_id, sent++);
                continue;
            }
            cr_assert_eq(wc.wr_id, 1000 + received);
            cr_assert_eq(wc.byte_len, 4136);
            cr_assert_eq(wc.src_qpn, roce_qp_num(t.a));
            cr_assert_eq(wc.network, ipv6 ? NORNIC_NETWORK_IPV6 : NORNIC_NETWORK_IPV4);
            cr_assert_arr_eq(t.w->dev[t.to].mem + LANDS_AT + received * 4200 + 40,
                             t.w->dev[0].mem + received * 4096, 4096);
            received++;
        }
    }
    cr_assert_eq(sent, 200);
    cr_assert_eq(received, 200);
    cr_assert_eq(roce_ah_destroy(ah), 0);
    two_free(&t);
}

/* covers: ROCE-UD-8, ROCE-GEN-1 */
Test(loopback, ROCE_UD_8_ud)
{
    bulk_ud(1, true, false);
    bulk_ud(2, true, true);
    bulk_ud(2, false, false);
}

/* The device that finds work in its hands may be asleep. */
Test(loopback, ROCE_UD_8_a_linked_device_is_woken)
{
    struct two t = two_new(2, false, false, NORNIC_QPT_RC);
    t.w->dev[1].rung = 0;
    post(&t, 1, NORNIC_WR_RDMA_WRITE, 100);
    island_step(t.w, 0);
    cr_assert_eq(t.w->dev[1].rung, 1, "the ACK is the other device's to send");
    cr_assert(roce_dev_tx_pending(t.w->dev[1].dev));
    island_run(t.w);
    island_wc(t.w, 0, 1, NORNIC_WC_SUCCESS);
    two_free(&t);
}

Test(loopback, what_cannot_be_linked)
{
    struct island *w = island_new(3, true, false);
    struct roce_dev *a = w->dev[0].dev, *b = w->dev[1].dev, *c = w->dev[2].dev;
    cr_assert_eq(roce_dev_link(a, a), -EINVAL);
    cr_assert_eq(roce_dev_link(a, b), 0);
    cr_assert_eq(roce_dev_link(a, b), -EINVAL);
    cr_assert_eq(roce_dev_link(b, a), -EINVAL);
    cr_assert_eq(roce_dev_link(c, a), 0, "a third, which the second then knows too");
    cr_assert_eq(roce_dev_link(c, b), -EINVAL);
    island_free(w);
}

/* Devices on one address are told apart by their QPNs. */
Test(loopback, overlapping_qpns_need_different_addresses)
{
    struct island *w = island_new(1, true, false);
    struct test_random rnd = {.state = 9};
    struct roce_dev_config config = {.random = test_random_source(&rnd),
                                     .max_qp = 64,
                                     .max_mr = 4,
                                     .port_mtu_bytes = 1500,
                                     .first_qpn = 1063};
    struct nornic_gid gid = {.addr = island_addr(false, 1)};
    struct roce_dev *other;
    cr_assert_eq(roce_dev_create(&config, &other), 0);
    cr_assert_eq(roce_dev_gid_add(other, &gid), 0);
    cr_assert_eq(roce_dev_link(w->dev[0].dev, other), -EINVAL);
    cr_assert_eq(roce_dev_gid_remove(other, 0, 0), 0);
    gid.addr = island_addr(false, 2);
    cr_assert_eq(roce_dev_gid_add(other, &gid), 0);
    cr_assert_eq(roce_dev_link(w->dev[0].dev, other), 0);
    cr_assert_eq(roce_dev_gid_add(w->dev[0].dev, &gid), -EINVAL, "nor do they come to share one later");
    gid.addr = island_addr(false, 3);
    cr_assert_geq(roce_dev_gid_add(w->dev[0].dev, &gid), 0);
    cr_assert_eq(roce_dev_destroy(other), 0);
    island_free(w);
}

/* covers: ROCE-AH-10 */
Test(loopback, ROCE_AH_10_routes_follow_the_gid_tables)
{
    struct two t = two_new(2, false, false, NORNIC_QPT_UD);
    struct nornic_addr elsewhere = island_addr(false, 9);
    struct nornic_ah *ah = island_ah(t.w, 0, &elsewhere);
    struct nornic_gid gid = {.addr = elsewhere, .mac = {{2, 0, 0, 0, 0, 9}}};
    unsigned left = 0;
    for (uint64_t i = 0; i < 3; i++) {
        /* out; in, as soon as the linked device has the address; and out again */
        int index = i == 1 ? roce_dev_gid_add(t.w->dev[1].dev, &gid) : 0;
        cr_assert_geq(index, 0);
        island_recv(t.w, 1, t.b, i, LANDS_AT, 200);
        send_datagram(&t, ah, i, roce_qp_num(t.b), 0, 100);
        island_run(t.w);
        island_wc(t.w, 0, i, NORNIC_WC_SUCCESS);
        left += i != 1;
        cr_assert_eq(t.w->dev[0].left, left);
        if (i == 1) {
            island_wc(t.w, 1, 0, NORNIC_WC_SUCCESS);
            cr_assert_eq(roce_dev_gid_remove(t.w->dev[1].dev, (unsigned)index, t.w->now_ns), 0);
        } else {
            cr_assert(nornic_addr_equal(&t.w->dev[0].to, &elsewhere));
        }
        island_no_wc(t.w, 1);
    }
    t.w->dev[0].left = 0;
    cr_assert_eq(roce_ah_destroy(ah), 0);
    two_free(&t);
}

/* A connected QP goes with its table, too; its peer's device leaves the ring when it is destroyed. */
Test(loopback, ROCE_AH_10_a_device_that_is_gone_is_not_reached)
{
    struct island *w = island_new(2, false, false);
    cr_assert_eq(roce_dev_link(w->dev[0].dev, w->dev[1].dev), 0);
    struct nornic_addr peer = island_addr(false, 2);
    struct roce_qp *qp = island_qp(w, 0, NORNIC_QPT_RC);
    island_connect(w, qp, &peer, 2000);
    struct nornic_sge sge = island_sge(w, 0, 0, 10);
    struct nornic_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_SEND};
    cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
    island_run(w);
    cr_assert_eq(w->dev[0].left, 0);
    cr_assert_eq(roce_dev_counters(w->dev[1].dev)->verdicts[ROCE_RX_DROP_NO_QP], 1,
                 "the drop is counted where the address is");
    struct island_dev gone = w->dev[1];
    w->dev[1] = (struct island_dev){.dev = NULL};
    cr_assert_eq(rdma_cq_destroy(gone.cq), 0);
    cr_assert_eq(rdma_mr_dereg(gone.mr), 0);
    cr_assert_eq(rdma_pd_destroy(gone.pd), 0);
    cr_assert_eq(roce_dev_destroy(gone.dev), 0);
    island_settle(w, 5 * MS); /* the request times out and is sent again, outwards now */
    cr_assert_eq(w->dev[0].left, 1);
    cr_assert_eq(roce_qp_destroy(qp), 0);
    free(gone.mem);
    island_free(w);
}

/* A bulk transfer inside does not keep another QP's frames from the port, nor the other way round. */
Test(loopback, ROCE_UD_8_turns_are_fair)
{
    struct two t = two_new(1, true, false, NORNIC_QPT_RC);
    struct nornic_addr out = island_addr(false, 50);
    struct roce_qp *other = island_qp(t.w, 0, NORNIC_QPT_RC);
    island_connect(t.w, other, &out, 77);
    island_run(t.w);
    post(&t, 1, NORNIC_WR_RDMA_WRITE, BULK);
    struct nornic_sge sge = island_sge(t.w, 0, 0, BULK);
    struct nornic_send_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_RDMA_WRITE};
    cr_assert_eq(roce_post_send(other, &wr, NULL), 0);
    for (unsigned i = 1; i <= 8; i++) {
        island_step(t.w, 0);
        cr_assert_eq(t.w->dev[0].left, i * ISLAND_PORT, "the port is never idle");
        uint64_t inside = roce_qp_counters(t.a)->tx_pkts;
        cr_assert_geq(inside, (i - 1) * 16, "after %u calls", i);
        cr_assert_leq(inside, i * 32);
    }
    t.w->dev[0].left = 0;
    cr_assert_eq(roce_qp_destroy(other), 0);
    two_free(&t);
}

/* covers: ROCE-GEN-7 */
Test(loopback, ROCE_UD_8_one_call_does_a_bounded_piece_of_work)
{
    struct two t = two_new(1, true, false, NORNIC_QPT_RC);
    post(&t, 1, NORNIC_WR_RDMA_WRITE, BULK);
    cr_assert_eq(island_step(t.w, 0), 0);
    cr_assert(roce_dev_tx_pending(t.w->dev[0].dev), "the rest waits, and says so");
    island_no_wc(t.w, 0);
    cr_assert_geq(t.w->dev[0].most_in_call, 128);
    island_run(t.w);
    island_wc(t.w, 0, 1, NORNIC_WC_SUCCESS);
    two_free(&t);
}

/* covers: ROCE-UD-22, ROCE-UD-23 */
Test(loopback, ROCE_UD_23_members_on_linked_devices)
{
    struct two t = two_new(2, true, false, NORNIC_QPT_UD);
    struct nornic_addr group = nornic_addr_from_v4((const uint8_t[]){239, 1, 1, 1});
    struct nornic_ah *ah = island_ah(t.w, 0, &group);
    cr_assert_eq(roce_qp_attach_mcast(t.b, &group), 0);
    cr_assert_eq(t.w->dev[1].joins, 1);
    cr_assert_eq(t.w->dev[0].joins, 0);
    island_recv(t.w, 1, t.b, 1, LANDS_AT, 200);
    island_recv(t.w, 1, t.b, 2, LANDS_AT, 200);
    send_datagram(&t, ah, 9, 0xffffff, 0, 100);
    island_run(t.w);
    island_wc(t.w, 0, 9, NORNIC_WC_SUCCESS);
    island_wc(t.w, 1, 1, NORNIC_WC_SUCCESS);
    island_no_wc(t.w, 1);
    cr_assert_eq(t.w->dev[0].left, 1, "those outside get it as well");
    cr_assert_eq(roce_dev_counters(t.w->dev[0].dev)->verdicts[ROCE_RX_DROP_NO_QP], 0,
                 "a device without members does not even see it");
    t.w->dev[0].left = 0;
    cr_assert_eq(roce_qp_detach_mcast(t.b, &group), 0);
    cr_assert_eq(t.w->dev[1].joins, 0);
    cr_assert_eq(roce_ah_destroy(ah), 0);
    two_free(&t);
}

/* covers: ROCE-GSI-1, ROCE-GEN-1 */
Test(loopback, ROCE_GSI_1_each_linked_device_has_its_own)
{
    struct two t = two_new(2, false, false, NORNIC_QPT_UD);
    struct roce_qp *gsi[2];
    for (unsigned i = 0; i < 2; i++) {
        gsi[i] = island_qp(t.w, i, NORNIC_QPT_GSI);
        island_raise(t.w, gsi[i], 0);
        island_recv(t.w, i, gsi[i], 10 + i, LANDS_AT, 296);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct nornic_ah *ah = island_ah(t.w, 0, &t.addr[i]);
        struct nornic_sge sge = island_sge(t.w, 0, 0, 256);
        struct nornic_send_wr wr = {.wr_id = 1,
                                    .sg_list = &sge,
                                    .num_sge = 1,
                                    .opcode = NORNIC_WR_SEND,
                                    .send_flags = NORNIC_SEND_SIGNALED,
                                    .ud = {.ah = ah, .remote_qpn = 1}};
        cr_assert_eq(roce_post_send(gsi[0], &wr, NULL), 0);
        island_run(t.w);
        island_wc(t.w, 0, 1, NORNIC_WC_SUCCESS);
        island_wc(t.w, i, 10 + i, NORNIC_WC_SUCCESS);
        cr_assert_eq(roce_ah_destroy(ah), 0);
    }
    cr_assert_eq(roce_qp_destroy(gsi[0]), 0);
    cr_assert_eq(roce_qp_destroy(gsi[1]), 0);
    two_free(&t);
}

/* Below 352 bytes no path MTU fits, and a datagram would be dropped in silence (ROCE-UD-2), each one. */
Test(loopback, a_port_for_no_datagram_has_no_qp_for_them)
{
    struct island *w = island_new(1, true, false);
    struct rdma_cq *cq = w->dev[0].cq;
    struct roce_qp_config config = {
        .type = NORNIC_QPT_UD, .pd = w->dev[0].pd, .send_cq = cq, .recv_cq = cq, .caps = {.max_send_wr = 1}};
    struct roce_qp *qp;
    roce_dev_set_port_mtu(w->dev[0].dev, 351);
    cr_expect_eq(roce_qp_create(w->dev[0].dev, &config, &qp), -EMSGSIZE);
    roce_dev_set_port_mtu(w->dev[0].dev, 352);
    cr_assert_eq(roce_qp_create(w->dev[0].dev, &config, &qp), 0);
    cr_assert_eq(roce_qp_destroy(qp), 0);
    island_free(w);
}
