/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/rc.h"

#include <criterion/criterion.h>

#include "cli/cli.h"

/* What the commands set when nothing is asked for.
 * covers: ROCE-LIM-3, ROCE-INT-25 */
Test(rc, ROCE_LIM_3_default_attributes)
{
    struct cli_node_config config = {.port = NULL};
    struct cli_node nodes[2];
    struct nornic_pd *pd;
    struct nornic_cq *cq;
    struct nornic_qp *qp;
    struct nornic_qp_attr attr;
    cr_assert_eq(cli_node_open_pair(&config, nodes), CLI_OK);
    struct nornic_dev *dev = nodes[0].api;
    cr_assert_eq(nornic_pd_create(dev, &pd), 0);
    const struct nornic_cq_config cq_config = {NORNIC_INIT(cq_config), .capacity = 4};
    cr_assert_eq(nornic_cq_create(dev, &cq_config, &cq), 0);
    const struct nornic_qp_config qp_config = {
        NORNIC_INIT(qp_config), .type = NORNIC_QPT_RC, .pd = pd,
        .send_cq = cq,          .recv_cq = cq,         .caps = {.max_send_wr = 1}};
    cr_assert_eq(nornic_qp_create(dev, &qp_config, &qp), 0);
    struct cli_path path = {.dest_qpn = 17, .pmtu_bytes = 1024, .rd_atomic = 1};
    cr_assert_eq(cli_node_pick_gid(&nodes[1], &(struct cli_node_config){.port = NULL}, NULL, &path.sgid_index,
                                   &path.dgid),
                 CLI_OK);
    cr_assert_eq(cli_rc_init(qp, NORNIC_ACCESS_REMOTE_WRITE), CLI_OK);
    cr_assert_eq(cli_rc_connect(qp, &path), CLI_OK);
    nornic_qp_query(qp, &attr, NULL);
    cr_assert_eq(attr.timeout, 14);
    cr_assert_eq(attr.retry_cnt, 7);
    cr_assert_eq(attr.rnr_retry, 7);
    cr_assert_eq(attr.min_rnr_timer, 12);
    cr_assert_eq(attr.max_rd_atomic, 1);
    cr_assert_eq(attr.max_dest_rd_atomic, 1);
    cr_assert_eq(nornic_mtu_for_port(1500), NORNIC_MTU_1024, "MTU - 96, rounded down");
    cr_assert_eq(nornic_mtu_for_port(4192), NORNIC_MTU_4096);
    cr_assert_eq(nornic_mtu_for_port(4191), NORNIC_MTU_2048);
    cr_assert_eq(nornic_qp_destroy(qp), 0);
    cr_assert_eq(nornic_cq_destroy(cq), 0);
    cr_assert_eq(nornic_pd_destroy(pd), 0);
    cr_assert_eq(nornic_dev_close(nodes[0].api, NULL), 0, "objects are left");
    cr_assert_eq(nornic_dev_close(nodes[1].api, NULL), 0, "objects are left");
}
