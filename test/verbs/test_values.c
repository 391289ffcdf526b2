/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of address vectors and attributes: a call refuses reserved ones, and a query answers the values that
 * were set. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <stdlib.h>

#include "test/support/netns.h"
#include "test/verbs/pair.h"

TestSuite(values, .init = pair_open_device, .fini = pair_close_device, .timeout = 60);

static struct ibv_ah_attr own_address(uint8_t sl)
{
    struct ibv_ah_attr attr = {.sl = sl, .is_global = 1, .port_num = 1, .grh = {.hop_limit = 7}};
    cr_assert_eq(ibv_query_gid(pair_ctx, 1, 0, &attr.grh.dgid), 0);
    return attr;
}

/* covers: ROCE-VB-5, ROCE-AH-1 */
Test(values, ROCE_VB_5_reserved_service_levels_make_no_handle)
{
    for (unsigned sl = 0; sl < 256; sl++) {
        struct ibv_ah_attr attr = own_address((uint8_t)sl);
        errno = 0;
        struct ibv_ah *ah = ibv_create_ah(pair_pd, &attr);
        cr_expect_eq(ah != NULL, sl <= 7, "SL %u", sl);
        if (ah)
            cr_assert_eq(ibv_destroy_ah(ah), 0);
        else
            cr_expect_eq(errno, EINVAL);
    }
}

static int to_rtr(struct ibv_qp *qp, const struct ibv_ah_attr *address)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    cr_assert_eq(ibv_modify_qp(qp, &attr, mask), 0);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                                .path_mtu = IBV_MTU_1024,
                                .dest_qp_num = qp->qp_num,
                                .max_dest_rd_atomic = 3,
                                .min_rnr_timer = 31,
                                .ah_attr = *address};
    mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    int err = ibv_modify_qp(qp, &attr, mask);
    if (err)
        return err;
    struct ibv_qp_init_attr init;
    cr_assert_eq(ibv_query_qp(qp, &attr, mask, &init), 0);
    cr_expect_eq(attr.ah_attr.sl, address->sl);
    cr_expect_eq(attr.ah_attr.grh.hop_limit, address->grh.hop_limit);
    cr_expect_eq(attr.ah_attr.grh.traffic_class, address->grh.traffic_class);
    cr_expect_eq(attr.ah_attr.grh.flow_label, address->grh.flow_label);
    cr_expect_eq(attr.min_rnr_timer, 31);
    cr_expect_eq(attr.max_dest_rd_atomic, 3);
    cr_expect_eq(attr.qp_access_flags, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    return 0;
}

/* covers: ROCE-VB-5, ROCE-AH-1 */
Test(values, ROCE_VB_5_a_query_answers_the_path_that_was_set)
{
    struct pair pair = pair_make();
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    cr_assert_eq(ibv_modify_qp(pair.qp[0], &reset, IBV_QP_STATE), 0);
    for (unsigned sl = 0; sl < 16; sl++) {
        struct ibv_ah_attr address = own_address((uint8_t)sl);
        address.grh.traffic_class = 0x6a;
        address.grh.flow_label = 0xfffff;
        cr_expect_eq(to_rtr(pair.qp[0], &address), sl <= 7 ? 0 : EINVAL, "SL %u", sl);
        cr_assert_eq(ibv_modify_qp(pair.qp[0], &reset, IBV_QP_STATE), 0);
    }
    pair_free(&pair);
}

/* covers: ROCE-QP-33, ROCE-VB-5 */
Test(values_apm, ROCE_QP_33_the_option_apm_offers_alternate_paths, .timeout = 60)
{
    for (int has_apm = 0; has_apm < 2; has_apm++) {
        int count;
        struct ibv_device_attr device;
        netns_loopback();
        setenv("NORNIC_PORT", has_apm ? "udp:127.0.0.1,apm" : "udp:127.0.0.1", 1);
        struct ibv_device **list = ibv_get_device_list(&count);
        cr_assert_eq(count, 1, "an option is no port");
        pair_ctx = ibv_open_device(list[0]);
        ibv_free_device_list(list);
        cr_assert_not_null(pair_ctx);
        pair_pd = ibv_alloc_pd(pair_ctx);
        cr_assert_eq(ibv_query_device(pair_ctx, &device), 0);
        cr_expect_eq(!!(device.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG), has_apm);
        struct pair pair = pair_make();
        struct ibv_qp_attr attr = {.alt_ah_attr = own_address(8),
                                   .alt_port_num = 1,
                                   .alt_timeout = 14,
                                   .path_mig_state = IBV_MIG_REARM};
        const int mask = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
        cr_expect_eq(ibv_modify_qp(pair.qp[0], &attr, mask), EINVAL, "a reserved SL");
        attr.alt_ah_attr = own_address(5);
        cr_expect_eq(ibv_modify_qp(pair.qp[0], &attr, mask), has_apm ? 0 : EINVAL);
        struct ibv_qp_init_attr init;
        cr_assert_eq(ibv_query_qp(pair.qp[0], &attr, mask, &init), 0);
        cr_expect_eq(attr.path_mig_state, has_apm ? IBV_MIG_REARM : IBV_MIG_MIGRATED);
        if (has_apm)
            cr_expect(attr.alt_ah_attr.sl == 5 && attr.alt_port_num == 1 && attr.alt_timeout == 14);
        pair_free(&pair);
        pair_close_device();
    }
}
