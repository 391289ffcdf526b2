/* SPDX-License-Identifier: BSD-2-Clause */
/* Address vectors of programs: the calls find the MAC of a vector whose MAC is all ones. */
#include <criterion/criterion.h>
#include <errno.h>

#include "host/api/api.h"

static const struct nornic_mac all_ones = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/* covers: ROCE-AH-2, ROCE-VB-5 */
Test(av, ROCE_AH_2_a_mac_of_all_ones_is_resolved, .timeout = 30)
{
    const struct nornic_dev_config config = {NORNIC_INIT(config), .no_thread = true};
    struct nornic_dev *devs[2];
    struct nornic_pd *pd;
    struct nornic_cq *cq;
    struct nornic_ah *ah;
    struct nornic_qp *qp;
    struct nornic_qp_attr now;
    const struct nornic_cq_config cq_config = {NORNIC_INIT(cq_config), .capacity = 8};
    cr_assert_eq(nornic_dev_open_pair(&config, devs, NULL), 0);
    cr_assert_eq(nornic_pd_create(devs[0], &pd), 0);
    cr_assert_eq(nornic_cq_create(devs[0], &cq_config, &cq), 0);
    struct nornic_av av = {.hop_limit = 1, .dst_mac = all_ones};
    struct nornic_gid peer;
    cr_assert_eq(nornic_dev_query_gid(devs[1], 0, &peer), 0);
    av.dgid = peer.addr;
    cr_assert_eq(nornic_ah_create(pd, &av, &ah), 0);
    cr_assert_eq(nornic_ah_destroy(pd, ah), 0);
    const struct nornic_qp_config qp_config = {
        NORNIC_INIT(qp_config), .type = NORNIC_QPT_UC, .pd = pd,
        .send_cq = cq,          .recv_cq = cq,         .caps = {.max_send_wr = 1}};
    cr_assert_eq(nornic_qp_create(devs[0], &qp_config, &qp), 0);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT, .port = 1};
    cr_assert_eq(
        nornic_qp_modify(qp, &attr,
                         NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS),
        0);
    attr = (struct nornic_qp_attr){
        .state = NORNIC_QPS_RTR, .av = av, .path_mtu = NORNIC_MTU_1024, .dest_qpn = 17};
    const uint32_t mask =
        NORNIC_QP_STATE | NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN;
    attr.av.sl = 8;
    cr_expect_eq(nornic_qp_modify(qp, &attr, mask), -EINVAL, "a reserved SL");
    attr.av.sl = 7;
    cr_assert_eq(nornic_qp_modify(qp, &attr, mask), 0);
    nornic_qp_query(qp, &now, NULL);
    cr_expect(nornic_mac_equal(&now.av.dst_mac, &peer.mac));
    cr_expect_eq(now.av.sl, 7);
    cr_assert_eq(nornic_qp_destroy(qp), 0);
    cr_assert_eq(nornic_cq_destroy(cq), 0);
    cr_assert_eq(nornic_pd_destroy(pd), 0);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(nornic_dev_close(devs[i], NULL), 0);
}
