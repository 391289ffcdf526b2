/* SPDX-License-Identifier: BSD-2-Clause */
/* P_Keys: ROCE-HDR-5, RX-17, VB-6, EV-10. */
#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/base.h"
#include "test/support/script_suite.h"

#define KEYS 4u

static void renew_with_receives(void)
{
    renew();
    for (uint64_t i = 0; i < 64; i++)
        script_recv(s, i, 4096 * i, 4096);
}

static void pkey_setup(void)
{
    config = script_defaults();
    config.num_pkeys = KEYS;
    renew_with_receives();
}

TestSuite(pkey, .init = pkey_setup, .fini = teardown);

static uint32_t taken; /* requests of the peer */

/* A SEND of the peer with a P_Key; whether it was taken. */
static bool peer_sends(uint16_t pkey)
{
    uint64_t before = roce_dev_counters(s->dev)->verdicts[ROCE_RX_DROP_PKEY];
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, taken), script_data(), 4);
    p.bth.ack_req = 1;
    p.bth.pkey = pkey;
    script_send(s, &p);
    if (roce_dev_counters(s->dev)->verdicts[ROCE_RX_DROP_PKEY] != before) {
        expect_nothing(s);
        expect_state(s, NORNIC_QPS_RTS);
        return false;
    }
    expect_ack(s, script_rq(s, taken), taken + 1);
    taken++;
    return true;
}

Test(pkey, ROCE_VB_6_the_table_begins_with_the_default_key)
{
    cr_assert_eq(roce_dev_pkey_get(s->dev, 0), 0xffff);
    for (unsigned i = 1; i < KEYS + 2; i++)
        cr_assert_eq(roce_dev_pkey_get(s->dev, i), 0);
    config.num_pkeys = 0; /* ROCE-LIM-4: one entry by default */
    renew_with_receives();
    cr_assert_eq(roce_dev_pkey_get(s->dev, 0), 0xffff);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0xffff), -EINVAL);
    cr_assert(peer_sends(0xffff));
    config.num_pkeys = 3;
    config.pkeys = (const uint16_t[]){0x8003, 0, 0xffff}; /* a device may begin with another table */
    renew_with_receives();
    cr_assert_eq(roce_dev_pkey_get(s->dev, 0), 0x8003);
    cr_assert_eq(roce_dev_pkey_get(s->dev, 1), 0);
    cr_assert_eq(roce_dev_pkey_get(s->dev, 2), 0xffff);
}

/* Every pair of memberships, in one partition and across two: two limited members do not speak.
 * covers: ROCE-RX-17 */
Test(pkey, ROCE_HDR_5_every_pair_of_memberships)
{
    static const struct {
        uint16_t ours, theirs;
        bool match;
    } pairs[] = {
        {0xffff, 0xffff, true},  {0xffff, 0x7fff, true},  {0x7fff, 0xffff, true},  {0x7fff, 0x7fff, false},
        {0x9234, 0x9234, true},  {0x9234, 0x1234, true},  {0x1234, 0x9234, true},  {0x1234, 0x1234, false},
        {0x9234, 0x9235, false}, {0x9234, 0x1235, false}, {0x1234, 0x9235, false}, {0x1234, 0x1235, false},
        {0xffff, 0x0000, false}, {0xffff, 0x8000, false}, {0x8001, 0x8000, false}, {0x8001, 0x0001, true},
        {0x0001, 0x8001, true},  {0x0001, 0x0000, false}, {0x9234, 0xffff, false}, {0xffff, 0x9234, false},
    };
    for (unsigned i = 0; i < array_len(pairs); i++) {
        cr_assert_eq(roce_dev_pkey_set(s->dev, 0, pairs[i].ours), 0);
        cr_assert_eq(peer_sends(pairs[i].theirs), pairs[i].match, "%04x and %04x", pairs[i].ours,
                     pairs[i].theirs);
    }
}

/* covers: ROCE-HDR-5 */
Test(pkey, ROCE_HDR_5_what_is_no_key_is_refused)
{
    s->event_read = s->event_count;
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0x8000), -EINVAL);
    cr_assert_eq(roce_dev_pkey_set(s->dev, KEYS, 0x9234), -EINVAL);
    cr_assert_eq(roce_dev_pkey_set(s->dev, UINT32_MAX, 0x9234), -EINVAL);
    cr_assert_eq(roce_dev_pkey_get(s->dev, 1), 0);
    expect_no_event(s);
}

/* Requests and responses carry the key of the QP's index. */
Test(pkey, ROCE_HDR_5_what_is_sent_carries_the_key_of_the_index)
{
    cr_assert_eq(roce_dev_pkey_set(s->dev, 2, 0x1234), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), 0);
    s->config.attr.pkey_index = 2;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_PKEY_INDEX), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    cr_assert_eq(expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0))->bth.pkey, 0x1234);
    struct script_pkt p = script_read_pkt(s, script_rq(s, 0), 0, 8);
    p.bth.pkey = 0x9234;
    script_send(s, &p);
    cr_assert_eq(expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 0))->bth.pkey, 0x1234);
    p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 1), script_data(), 4);
    p.bth.ack_req = 1;
    p.bth.pkey = 0x9234;
    script_send(s, &p);
    cr_assert_eq(expect_ack(s, script_rq(s, 1), 2)->bth.pkey, 0x1234);
    cr_assert(!peer_sends(0xffff), "the key of another entry is not the QP's");
}

/* covers: ROCE-QP-32, ROCE-QP-10 */
Test(pkey, an_index_must_name_a_valid_key)
{
    struct nornic_qp_attr attr;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), 0);
    for (uint16_t index = 1; index < KEYS + 3; index++) {
        s->config.attr.pkey_index = index;
        cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_PKEY_INDEX), -EINVAL, "%u", index);
    }
    s->config.attr.pkey_index = UINT16_MAX;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_PKEY_INDEX), -EINVAL);
    roce_qp_query(s->qp, &attr, NULL);
    cr_assert_eq(attr.pkey_index, 0, "a failed modify changes nothing");
    cr_assert_eq(roce_dev_pkey_set(s->dev, 3, 0x0001), 0);
    s->config.attr.pkey_index = 3;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_PKEY_INDEX), 0);
}

/* A QP whose key is gone keeps its state; it takes nothing, and no packet with an invalid key leaves. */
Test(pkey, ROCE_HDR_5_a_key_cleared_under_a_qp)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    cr_assert_eq(roce_dev_pkey_set(s->dev, 0, 0), 0);
    cr_assert(!peer_sends(0xffff));
    cr_assert(!peer_sends(0x0000));
    cr_assert(!peer_sends(0x8000));
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_advance(s, 200 * SCRIPT_MS); /* the ack timer fires, and nothing is repeated */
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 0, 0xffff), 0);
    script_pump(s);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
    ack(1, 2);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    cr_assert(peer_sends(0xffff));
}

/* It is a dead path like another: the retries run out.
 * covers: ROCE-RC-47 */
Test(pkey, a_cleared_key_exhausts_the_retries)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_forget(s);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 0, 0), 0);
    script_advance(s, 10 * SCRIPT_S);
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-RX-17 */
Test(pkey, ROCE_RX_17_the_counter_has_16_bits)
{
    struct script_pkt burst[64];
    for (unsigned i = 0; i < 64; i++) {
        burst[i] = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 4);
        burst[i].bth.pkey = 0x8001;
    }
    for (unsigned i = 0; i < 1024; i++)
        script_burst(s, burst, 64);
    expect_verdict(s, ROCE_RX_DROP_PKEY, UINT16_MAX);
    script_send(s, burst);
    expect_verdict(s, ROCE_RX_DROP_PKEY, UINT16_MAX);
}

/* An event for a change, none for the same again. */
Test(pkey, ROCE_EV_10_pkey_change)
{
    s->event_read = s->event_count;
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0x9234), 0);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0x9234), 0);
    cr_assert_eq(s->event_count - s->event_read, 1);
    cr_assert_eq(s->events[s->event_read].type, NORNIC_EVENT_PKEY_CHANGE);
    cr_assert_null(s->events[s->event_read].qp);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0), 0);
    cr_assert_eq(s->event_count - s->event_read, 2);
    cr_assert_eq(roce_dev_pkey_get(s->dev, 1), 0);
}
