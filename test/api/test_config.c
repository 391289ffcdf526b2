/* SPDX-License-Identifier: BSD-2-Clause */
/* Config structs of another version: a shorter one is filled up with defaults, a longer one is taken as
 * far as what is beyond is zero. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ends.h"
#include "nornic/engine.h"

TestSuite(config, .timeout = 60);

Test(config, one_without_its_length_is_refused_with_the_remedy)
{
    struct nornic_dev *devices[2];
    struct nornic_error why;
    struct nornic_dev_config config = {0};
    cr_assert_eq(nornic_dev_open_pair(&config, devices, &why), -EINVAL);
    cr_assert(strstr(why.text, "NORNIC_INIT"), "%s", why.text);
    cr_assert_eq(nornic_dev_open(&config, devices, NULL), -EINVAL);
}

Test(config, an_older_and_shorter_one_gets_the_defaults)
{
    struct end e[2];
    struct {
        size_t struct_bytes;
        const char *port;
        uint8_t behind[sizeof(struct nornic_dev_config)]; /* not the config's, and not looked at */
    } old = {.struct_bytes = offsetof(struct nornic_dev_config, capture_path)};
    memset(old.behind, 0xff, sizeof old.behind);
    ends_open_devices(e, (struct nornic_dev_config *)(void *)&old);
    struct nornic_gid gid;
    cr_assert_eq(nornic_dev_query_gid(e[0].dev, 0, &gid), 0);
    cr_assert_eq(nornic_dev_query_gid(e[0].dev, 1, &gid), -ENOENT, "RoCEv1 was not asked for");
    ends_close(e);
}

Test(config, a_later_and_longer_one_is_taken_while_its_new_members_are_zero)
{
    struct {
        struct nornic_cq_config known;
        uint64_t new_member;
    } later = {.known = {.struct_bytes = sizeof later, .capacity = 10}};
    struct end e[2];
    struct nornic_cq *cq;
    ends_open_devices(e, NULL);
    cr_assert_eq(nornic_cq_create(e[0].dev, &later.known, &cq), 0);
    cr_assert_geq(nornic_cq_capacity(cq), 10);
    cr_assert_eq(nornic_cq_destroy(cq), 0);
    later.new_member = 1;
    cr_assert_eq(nornic_cq_create(e[0].dev, &later.known, &cq), -E2BIG);
    ends_close(e);
}

/* Each struct that may grow, with its length missing. */
Test(config, every_create_looks_at_the_length)
{
    struct end e[2];
    struct nornic_cq *cq;
    struct nornic_srq *srq;
    struct nornic_qp *qp;
    struct nornic_cm *cm;
    ends_open(e, NULL);
    cr_assert_eq(nornic_cq_create(e[0].dev, &(struct nornic_cq_config){.capacity = 1}, &cq), -EINVAL);
    cr_assert_eq(nornic_srq_create(e[0].pd, &(struct nornic_srq_config){.max_wr = 1}, &srq), -EINVAL);
    cr_assert_eq(nornic_qp_create(e[0].dev,
                                  &(struct nornic_qp_config){.type = NORNIC_QPT_RC,
                                                             .pd = e[0].pd,
                                                             .send_cq = e[0].cq,
                                                             .recv_cq = e[0].cq,
                                                             .caps = {.max_send_wr = 1, .max_recv_wr = 1}},
                                  &qp),
                 -EINVAL);
    cr_assert_eq(nornic_cm_open(e[0].dev, &(struct nornic_cm_config){.max_retries = 1}, &cm, NULL), -EINVAL);
    cr_assert_eq(nornic_sockets_start(&(struct nornic_sockets_config){.no_stat = true}, NULL), -EINVAL);
    ends_close(e);
}

Test(config, what_is_asked_for_may_be_shorter_or_longer_than_what_is_known)
{
    struct end e[2];
    struct nornic_dev_attr whole;
    uint8_t buffer[sizeof whole + 16];
    ends_open_devices(e, NULL);
    nornic_dev_query(e[0].dev, &whole, sizeof whole);
    cr_assert_gt(whole.max_qp, 0);

    memset(buffer, 0xee, sizeof buffer);
    nornic_dev_query(e[0].dev, (struct nornic_dev_attr *)(void *)buffer, 8);
    cr_assert_eq(memcmp(buffer, &whole, 8), 0);
    cr_assert_eq(buffer[8], 0xee);

    nornic_dev_query(e[0].dev, (struct nornic_dev_attr *)(void *)buffer, sizeof buffer);
    cr_assert_eq(memcmp(buffer, &whole, offsetof(struct nornic_dev_attr, max_pkeys)), 0);
    for (size_t i = sizeof whole; i < sizeof buffer; i++)
        cr_assert_eq(buffer[i], 0);
    ends_close(e);
}

Test(config, the_version_is_one)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", NORNIC_VERSION_MAJOR, NORNIC_VERSION_MINOR, NORNIC_VERSION_PATCH);
    cr_assert_str_eq(nornic_version(), text);
    cr_assert_str_eq(nornic_version(), NORNIC_VERSION);
    cr_assert_eq(nornic_version_number(), NORNIC_VERSION_NUMBER);
    cr_assert_gt(NORNIC_VERSION_NUMBER, 0);
}

Test(config, more_ports_than_there_is_room_for_are_refused)
{
    struct nornic_error why;
    struct nornic_sockets_config config = {NORNIC_INIT(config), .num_ports = NORNIC_SOCKETS_MAX_PORTS + 1};
    cr_assert_eq(nornic_sockets_start(&config, &why), -EINVAL);
    cr_assert_str_eq(why.text, "9 ports are too many: use at most 8");
}

static void count_event(void *ctx, const struct roce_trace *event)
{
    unsigned *count = ctx;
    *count += event->kind == ROCE_TRACE_QP_STATE;
}

Test(config, a_trace_and_keys_of_partitions)
{
    struct end e[2];
    unsigned states = 0;
    uint16_t pkey = 0;
    struct nornic_dev_config config = {NORNIC_INIT(config), .num_pkeys = 2, .trace = count_event,
                                       .trace_ctx = &states};
    ends_open(e, &config);
    cr_expect_eq(states, 6, "two queue pairs in INIT, RTR, RTS");
    cr_expect_eq(nornic_dev_set_pkey(e[0].dev, 1, 0x8123), 0);
    cr_expect_eq(nornic_dev_query_pkey(e[0].dev, 1, &pkey), 0);
    cr_expect_eq(pkey, 0x8123);
    cr_expect_eq(nornic_dev_query_pkey(e[0].dev, 0, &pkey), 0);
    cr_expect_eq(pkey, NORNIC_PKEY_DEFAULT);
    cr_expect_eq(nornic_dev_query_pkey(e[0].dev, 2, &pkey), -EINVAL);
    cr_expect_eq(nornic_dev_set_pkey(e[0].dev, 2, 0x8123), -EINVAL);
    ends_close(e);
}

Test(config, congestion_management_with_other_parameters)
{
    struct end e[2];
    struct nornic_dev *devices[2];
    struct roce_cc_config cc = {.cnp_dscp = 64};
    struct nornic_dev_config config = {NORNIC_INIT(config), .cc = true, .cc_config = &cc};
    cr_expect_eq(nornic_dev_open_pair(&config, devices, NULL), -EINVAL, "a DSCP has 6 bits");
    cc.cnp_dscp = 40;
    ends_open(e, &config);
    ends_close(e);
    config.cc = false; /* then nobody looks */
    cc.cnp_dscp = 64;
    ends_open(e, &config);
    ends_close(e);
}

/* Who asked for what cannot be hears what it was, and how far it may go. */
Test(config, a_value_that_is_out_of_its_range_is_named)
{
    struct nornic_dev *devices[2];
    struct nornic_error why;
    struct roce_cc_config cc = {.cnp_dscp = 64};
    struct nornic_dev_config config = {NORNIC_INIT(config), .num_pkeys = NORNIC_PKEY_MAX + 1};
    cr_expect_eq(nornic_dev_open_pair(&config, devices, &why), -EINVAL);
    cr_expect(strstr(why.text, "num_pkeys 129") && strstr(why.text, "at most 128"), "%s", why.text);
    config.num_pkeys = NORNIC_PKEY_MAX;
    config.window_pkts = 1u << 23;
    cr_expect_eq(nornic_dev_open_pair(&config, devices, &why), -EINVAL);
    cr_expect(strstr(why.text, "window_pkts 8388608") && strstr(why.text, "at most 8388607"), "%s", why.text);
    config.window_pkts = 0;
    config.first_qpn = 0xffffff;
    cr_expect_eq(nornic_dev_open_pair(&config, devices, &why), -EINVAL);
    cr_expect(strstr(why.text, "first_qpn 16777215"), "%s", why.text);
    config.first_qpn = 0;
    config.cc = true;
    config.cc_config = &cc;
    cr_expect_eq(nornic_dev_open_pair(&config, devices, &why), -EINVAL);
    cr_expect(strstr(why.text, "cc_config"), "%s", why.text);
}
