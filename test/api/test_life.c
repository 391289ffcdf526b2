/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of objects: made, used, in use, given back; and what a device says about what is left of them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "ends.h"

TestSuite(life, .timeout = 60);

Test(life, a_write_arrives_and_everything_goes_again)
{
    struct end e[2];
    ends_open(e, NULL);
    memset(e[0].memory, 0x5a, ENDS_BYTES);
    cr_assert_eq(ends_post_write(&e[0], &e[1], 77, ENDS_BYTES), 0);
    struct nornic_wc wc = ends_wait(&e[0]);
    cr_assert_eq(wc.wr_id, 77);
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_assert_eq(memcmp(e[0].memory, e[1].memory, ENDS_BYTES), 0);
    ends_close(e);
}

Test(life, a_device_with_objects_does_not_close_and_says_what_is_left)
{
    struct end e[2];
    struct nornic_error why;
    ends_open(e, NULL);
    cr_assert_eq(nornic_dev_close(e[0].dev, &why), -EBUSY);
    cr_assert_str_eq(why.text, "the device is in use: 1 queue pair, 1 memory region, 1 protection domain, "
                               "1 completion queue left; destroy what it has first");
    struct nornic_mr *more;
    cr_assert_eq(nornic_mr_reg(e[0].pd, e[0].memory, 10, 0, &more), 0);
    cr_assert_eq(nornic_dev_close(e[0].dev, &why), -EBUSY);
    cr_assert(strstr(why.text, "2 memory regions"), "%s", why.text);
    cr_assert_eq(nornic_mr_dereg(more), 0);
    /* and it works as before */
    cr_assert_eq(ends_post_write(&e[0], &e[1], 1, 100), 0);
    cr_assert_eq(ends_wait(&e[0]).status, NORNIC_WC_SUCCESS);
    ends_close(e);
}

Test(life, each_kind_of_object_keeps_its_device_open)
{
    struct end e[2];
    struct nornic_error why;
    struct nornic_dev *dev;
    struct nornic_channel *channel;
    struct nornic_xrcd *xrcd;
    struct nornic_cm *cm;
    ends_open_devices(e, NULL);
    dev = e[0].dev;

    cr_assert_eq(nornic_channel_create(dev, &channel), 0);
    cr_assert_eq(nornic_dev_close(dev, &why), -EBUSY);
    cr_assert(strstr(why.text, "1 channel"), "%s", why.text);
    cr_assert_eq(nornic_channel_destroy(channel), 0);

    cr_assert_eq(nornic_xrcd_create(dev, &xrcd), 0);
    cr_assert_eq(nornic_dev_close(dev, &why), -EBUSY);
    cr_assert(strstr(why.text, "1 XRC domain"), "%s", why.text);
    cr_assert_eq(nornic_xrcd_destroy(xrcd), 0);

    cr_assert_eq(nornic_cm_open(dev, NULL, &cm, &why), 0, "%s", why.text);
    cr_assert_eq(nornic_dev_close(dev, &why), -EBUSY);
    cr_assert(strstr(why.text, "1 connection manager"), "%s", why.text);
    cr_assert_eq(nornic_cm_close(cm), 0);
    ends_close(e);
}

Test(life, what_is_in_use_stays)
{
    struct end e[2];
    struct nornic_channel *channel;
    struct nornic_cq *cq;
    ends_open(e, NULL);
    cr_assert_eq(nornic_pd_destroy(e[0].pd), -EBUSY);
    cr_assert_eq(nornic_cq_destroy(e[0].cq), -EBUSY);
    cr_assert_eq(nornic_channel_create(e[0].dev, &channel), 0);
    struct nornic_cq_config config = {NORNIC_INIT(config), .capacity = 1, .channel = channel};
    cr_assert_eq(nornic_cq_create(e[0].dev, &config, &cq), 0);
    cr_assert_eq(nornic_channel_destroy(channel), -EBUSY);
    cr_assert_eq(nornic_cq_destroy(cq), 0);
    cr_assert_eq(nornic_channel_destroy(channel), 0);
    ends_close(e);
}

Test(life, an_address_handle_belongs_to_its_domain)
{
    struct end e[2];
    struct nornic_ah *ah;
    struct nornic_error why;
    ends_open(e, NULL);
    struct nornic_av av = {.dgid = e[1].address.addr, .hop_limit = 1};
    cr_assert_eq(nornic_dev_resolve(e[0].dev, 0, &av.dgid, 0, &av.dst_mac, &why), 0);
    cr_assert_eq(nornic_ah_create(e[0].pd, &av, &ah), 0);
    cr_assert_eq(nornic_dev_close(e[0].dev, &why), -EBUSY);
    cr_assert(strstr(why.text, "1 address handle"), "%s", why.text);
    cr_assert_eq(nornic_ah_destroy(e[0].pd, ah), 0);
    av.sgid_index = 7;
    cr_assert_eq(nornic_ah_create(e[0].pd, &av, &ah), -EINVAL);
    ends_close(e);
}

Test(life, objects_of_two_devices_do_not_mix)
{
    struct end e[2];
    struct nornic_qp *qp;
    struct nornic_srq *srq;
    ends_open(e, NULL);
    struct nornic_qp_config config = {NORNIC_INIT(config), .type = NORNIC_QPT_RC,
                                      .pd = e[0].pd,       .send_cq = e[0].cq,
                                      .recv_cq = e[1].cq,  .caps = {.max_send_wr = 1, .max_recv_wr = 1}};
    cr_assert_eq(nornic_qp_create(e[0].dev, &config, &qp), -EINVAL);
    config.recv_cq = e[0].cq;
    cr_assert_eq(nornic_qp_create(e[1].dev, &config, &qp), -EINVAL);
    struct nornic_xrcd *xrcd;
    cr_assert_eq(nornic_xrcd_create(e[0].dev, &xrcd), 0);
    struct nornic_srq_config wants = {NORNIC_INIT(wants), .max_wr = 1, .max_sge = 1, .cq = e[1].cq,
                                      .xrcd = xrcd};
    cr_assert_eq(nornic_srq_create(e[0].pd, &wants, &srq), -EINVAL);
    wants.cq = e[0].cq;
    cr_assert_eq(nornic_srq_create(e[1].pd, &wants, &srq), -EINVAL);
    cr_assert_eq(nornic_srq_create(e[0].pd, &wants, &srq), 0, "and so it is right");
    cr_assert_eq(nornic_srq_destroy(srq), 0);
    cr_assert_eq(nornic_xrcd_destroy(xrcd), 0);
    ends_close(e);
}

Test(life, a_queue_pair_without_what_it_needs_is_refused)
{
    struct end e[2];
    struct nornic_qp *qp;
    ends_open(e, NULL);
    struct nornic_qp_config config = {NORNIC_INIT(config), .type = NORNIC_QPT_RC};
    config.caps = (struct nornic_qp_caps){.max_send_wr = 1, .max_recv_wr = 1};
    cr_assert_eq(nornic_qp_create(e[0].dev, &config, &qp), -EINVAL, "no PD, no CQ");
    config.pd = e[0].pd;
    cr_assert_eq(nornic_qp_create(e[0].dev, &config, &qp), -EINVAL, "no CQ");
    config.send_cq = config.recv_cq = e[0].cq;
    config.type = NORNIC_QPT_GSI;
    cr_assert_eq(nornic_qp_create(e[0].dev, &config, &qp), -EINVAL, "QP 1 is the CM's");
    config.type = NORNIC_QPT_XRC_TGT;
    cr_assert_eq(nornic_qp_create(e[0].dev, &config, &qp), -EINVAL, "no XRC domain");
    ends_close(e);
}
