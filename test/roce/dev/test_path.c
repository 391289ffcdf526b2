/* SPDX-License-Identifier: BSD-2-Clause */
/* Path migration (IBA 17.2.8): what loads, arms and uses an alternate path. Packets of the alternate path
 * have addresses that end in 101 (ours) and 102 (the peer's). */
#include <criterion/criterion.h>
#include <errno.h>

#include "test/support/script_suite.h"

static struct roce_path alternate; /* as the peer's frames have it */
static uint16_t alt_pkey_index;

/* With what `config` has now. */
static void begin_again(void)
{
    renew();
    alternate = s->from_peer;
    alternate.dst.b[15] = 101;
    alternate.src.b[15] = 102;
    struct nornic_gid gid = {.addr = alternate.dst, .mac = {{2, 0, 0, 0, 1, 1}}};
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), 1);
    expect_event(s, NORNIC_EVENT_GID_CHANGE);
}

static void begin(void)
{
    setup();
    config.path_migration = true;
    config.attr.retry_cnt = 1;
    begin_again();
}

TestSuite(path, .init = begin, .fini = teardown);

static int load(uint8_t path_mig_state, uint32_t mask)
{
    struct nornic_qp_attr attr = s->config.attr;
    attr.path_mig_state = path_mig_state;
    attr.alt_av = (struct nornic_av){.dgid = alternate.src, .sgid_index = 1, .hop_limit = 9};
    attr.alt_timeout = 15;
    attr.alt_pkey_index = alt_pkey_index;
    return roce_qp_modify(s->qp, &attr, mask, s->now_ns);
}

static unsigned mig_state(void)
{
    struct nornic_qp_attr attr;
    roce_qp_query(s->qp, &attr, NULL);
    return attr.path_mig_state;
}

/* The peer sends an empty SEND, the i-th request, with this MigReq bit. */
static void hear(uint32_t i, bool mig_req, const struct roce_path *path)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, i), NULL, 0);
    p.bth.mig_req = mig_req;
    p.bth.ack_req = 1;
    p.path = *path;
    script_recv(s, i, 0, 16);
    script_send(s, &p);
}

static void arm(void)
{
    cr_assert_eq(load(1, NORNIC_QP_ALT_PATH | NORNIC_QP_PATH_MIG_STATE), 0);
    cr_assert_eq(mig_state(), 1);
    hear(0, false, &s->from_peer);
    cr_assert_eq(mig_state(), 2);
    const struct roce_pkt *ack = expect_ack(s, script_rq(s, 0), 1);
    cr_assert_eq(ack->bth.mig_req, 0);
}

static void expect_migrated(void)
{
    expect_event(s, NORNIC_EVENT_PATH_MIG);
    cr_assert_eq(mig_state(), 0);
    struct nornic_qp_attr attr;
    roce_qp_query(s->qp, &attr, NULL);
    cr_assert_eq(attr.av.sgid_index, 1);
    cr_assert_eq(attr.timeout, 15);
}

static void expect_on_alternate(const struct roce_pkt *p)
{
    cr_assert(nornic_addr_equal(&p->src, &alternate.dst));
    cr_assert(nornic_addr_equal(&p->dst, &alternate.src));
    cr_assert_eq(p->hop_limit, 9);
    cr_assert_eq(p->bth.mig_req, 1);
}

/* covers: ROCE-QP-33 */
Test(path, ROCE_QP_33_refused_unless_the_device_offers_it)
{
    config.path_migration = false;
    begin_again();
    cr_assert_eq(load(0, NORNIC_QP_ALT_PATH), -EINVAL);
    cr_assert_eq(load(1, NORNIC_QP_PATH_MIG_STATE), -EINVAL);
    cr_assert_eq(load(0, NORNIC_QP_PATH_MIG_STATE), 0);
    expect_no_event(s);
}

Test(path, rearm_needs_an_alternate_path)
{
    cr_assert_eq(load(1, NORNIC_QP_PATH_MIG_STATE), -EINVAL);
    cr_assert_eq(load(0, NORNIC_QP_ALT_PATH), 0);
    cr_assert_eq(load(1, NORNIC_QP_PATH_MIG_STATE), 0);
}

/* covers: ROCE-HDR-2 */
Test(path, a_peer_that_has_migrated_does_not_arm)
{
    cr_assert_eq(load(1, NORNIC_QP_ALT_PATH | NORNIC_QP_PATH_MIG_STATE), 0);
    hear(0, true, &s->from_peer);
    cr_assert_eq(mig_state(), 1);
}

/* covers: ROCE-HDR-2 */
Test(path, a_path_that_does_not_answer_is_left)
{
    arm();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    const struct roce_pkt *first = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    cr_assert_eq(first->bth.mig_req, 0);
    cr_assert(script_until_sent(s, SCRIPT_S));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    expect_no_event(s);
    cr_assert(script_until_sent(s, SCRIPT_S)); /* retry_cnt is 1 */
    expect_migrated();
    expect_on_alternate(expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0)));
    struct script_pkt p = script_ack_pkt(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    p.path = alternate;
    script_send(s, &p);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(path, the_alternate_path_has_its_own_retries_and_no_third)
{
    arm();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_advance(s, 10 * SCRIPT_S);
    expect_migrated();
    unsigned packets = 0;
    while (script_next(s))
        packets++;
    cr_assert_eq(packets, 4, "two tries on each path, not %u", packets);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

Test(path, a_peer_that_migrates_is_followed)
{
    arm();
    hear(1, true, &alternate);
    expect_migrated();
    expect_on_alternate(expect_ack(s, script_rq(s, 1), 2));
    hear(2, true, &s->from_peer); /* the old path is another's now */
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_GID, 1);
}

/* covers: ROCE-RX-17 */
Test(path, a_peer_that_migrates_bears_the_p_key_of_the_alternate_path)
{
    config.num_pkeys = 2;
    begin_again();
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0x9234), 0);
    expect_event(s, NORNIC_EVENT_PKEY_CHANGE);
    alt_pkey_index = 1;
    arm();
    hear(1, true, &alternate);
    expect_verdict(s, ROCE_RX_DROP_PKEY, 1);
    cr_assert_eq(mig_state(), 2);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 1), NULL, 0);
    p.bth.pkey = 0x9234;
    p.bth.mig_req = p.bth.ack_req = 1;
    script_send(s, &p); /* on the primary path that key is nobody's */
    expect_verdict(s, ROCE_RX_DROP_PKEY, 2);
    p.path = alternate;
    script_send(s, &p);
    expect_migrated();
    cr_assert_eq(expect_ack(s, script_rq(s, 1), 2)->bth.pkey, 0x9234);
}

/* covers: ROCE-RX-12 */
Test(path, a_group_is_no_alternate_peer)
{
    alternate.src.b[12] = 224;
    cr_assert_eq(load(1, NORNIC_QP_ALT_PATH | NORNIC_QP_PATH_MIG_STATE), -EINVAL);
}

/* covers: ROCE-RX-15 */
/* covers: ROCE-FRM-1, ROCE-QP-33 */
Test(path, nor_is_one_whose_mac_nobody_resolved)
{
    struct nornic_qp_attr attr = {.alt_av = {.dgid = alternate.src, .sgid_index = 1, .hop_limit = 9}};
    memset(attr.alt_av.dst_mac.b, 0xff, sizeof attr.alt_av.dst_mac.b);
    cr_assert_eq(roce_qp_modify(s->qp, &attr, NORNIC_QP_ALT_PATH, s->now_ns), -EINVAL);
    attr.alt_av.dst_mac.b[0] = 2;
    cr_assert_eq(roce_qp_modify(s->qp, &attr, NORNIC_QP_ALT_PATH, s->now_ns), 0);
}

Test(path, the_alternate_path_counts_only_when_armed_and_asked_for)
{
    hear(0, true, &alternate);
    expect_verdict(s, ROCE_RX_DROP_GID, 1);
    cr_assert_eq(load(1, NORNIC_QP_ALT_PATH | NORNIC_QP_PATH_MIG_STATE), 0);
    hear(0, true, &alternate);
    expect_verdict(s, ROCE_RX_DROP_GID, 2);
    arm();
    hear(1, false, &alternate);
    expect_verdict(s, ROCE_RX_DROP_GID, 3);
    cr_assert_eq(mig_state(), 2);
}

Test(path, the_application_migrates)
{
    arm();
    cr_assert_eq(load(0, NORNIC_QP_PATH_MIG_STATE), 0);
    expect_migrated();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    expect_on_alternate(expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0)));
}

Test(path, an_address_that_goes_away_is_a_reason)
{
    arm();
    cr_assert_eq(roce_dev_gid_remove(s->dev, 0, s->now_ns), 0);
    expect_migrated();
    expect_state(s, NORNIC_QPS_RTS);
}

Test(path, an_alternate_path_that_is_gone_is_told)
{
    arm();
    cr_assert_eq(roce_dev_gid_remove(s->dev, 1, s->now_ns), 0);
    expect_event(s, NORNIC_EVENT_GID_CHANGE);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_advance(s, 10 * SCRIPT_S);
    expect_event(s, NORNIC_EVENT_PATH_MIG_ERR);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
}

Test(path, migrated_it_may_be_armed_again)
{
    arm();
    hear(1, true, &alternate);
    expect_migrated();
    struct nornic_qp_attr attr = {.path_mig_state = 1,
                                  .alt_av = {.dgid = s->from_peer.src, .sgid_index = 0, .hop_limit = 9}};
    cr_assert_eq(roce_qp_modify(s->qp, &attr, NORNIC_QP_ALT_PATH | NORNIC_QP_PATH_MIG_STATE, s->now_ns), 0);
    hear(2, false, &alternate);
    cr_assert_eq(mig_state(), 2);
}
