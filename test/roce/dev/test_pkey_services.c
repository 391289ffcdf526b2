/* SPDX-License-Identifier: BSD-2-Clause */
/* The P_Key checks of ROCE-HDR-5 and RX-17 at every service; what RC answers is in test_pkey.c. */
#include <criterion/parameterized.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/support/dgram_suite.h"

#define AT   4096u
#define KEYS 3u

static void start(enum nornic_qp_type t)
{
    config = script_defaults();
    config.num_pkeys = KEYS;
    config.type = type = t;
    if (t == NORNIC_QPT_UD || t == NORNIC_QPT_GSI) {
        renew();
    } else {
        s = script_new(&config);
    }
    for (uint64_t i = 0; i < 64; i++)
        script_recv(s, i, AT, 4096);
}

static void stop(void)
{
    if (type == NORNIC_QPT_UD || type == NORNIC_QPT_GSI)
        teardown();
    else
        script_free(s);
}

static bool datagram(void)
{
    return type == NORNIC_QPT_UD || type == NORNIC_QPT_GSI;
}

/* Whether the QP takes a packet with this key, and whether the port counts it if not. */
static bool takes(uint16_t pkey)
{
    static uint32_t psn;
    uint64_t before = roce_dev_counters(s->dev)->verdicts[ROCE_RX_DROP_PKEY];
    struct script_pkt p = datagram()
                              ? dgram_pkt(s, script_data(), 256)
                              : script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, psn), script_data(), 64);
    p.bth.pkey = pkey;
    script_send(s, &p);
    script_forget(s);
    struct nornic_wc wc;
    bool taken = rdma_cq_poll(s->recv_cq, &wc, 1) == 1;
    psn += taken;
    if (taken)
        cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_assert_eq(roce_dev_counters(s->dev)->verdicts[ROCE_RX_DROP_PKEY] - before, !taken);
    cr_assert_eq(roce_qp_state(s->qp), NORNIC_QPS_RTS);
    return taken;
}

static const struct {
    uint16_t ours, theirs;
    bool match;
} pairs[] = {
    {0xffff, 0xffff, true},  {0xffff, 0x7fff, true},  {0x7fff, 0xffff, true},  {0x7fff, 0x7fff, false},
    {0x9234, 0x9234, true},  {0x9234, 0x1234, true},  {0x1234, 0x9234, true},  {0x1234, 0x1234, false},
    {0x9234, 0x9235, false}, {0x1234, 0x9235, false}, {0xffff, 0x0000, false}, {0xffff, 0x8000, false},
    {0x8001, 0x8000, false}, {0x0001, 0x0000, false},
};

static enum nornic_qp_type types[] = {NORNIC_QPT_RC, NORNIC_QPT_UC, NORNIC_QPT_UD, NORNIC_QPT_GSI};

ParameterizedTestParameters(pkey_services, ROCE_HDR_5_every_pair_of_memberships)
{
    return cr_make_param_array(enum nornic_qp_type, types, 4);
}

/* covers: ROCE-HDR-5, ROCE-RX-17 */
ParameterizedTest(enum nornic_qp_type *t, pkey_services, ROCE_HDR_5_every_pair_of_memberships)
{
    start(*t);
    for (unsigned i = 0; i < array_len(pairs); i++) {
        cr_assert_eq(roce_dev_pkey_set(s->dev, 0, pairs[i].ours), 0);
        cr_assert_eq(takes(pairs[i].theirs), pairs[i].match, "type %d: %04x and %04x", type, pairs[i].ours,
                     pairs[i].theirs);
    }
    stop();
}

ParameterizedTestParameters(pkey_services, ROCE_RX_17_which_entries_count)
{
    return cr_make_param_array(enum nornic_qp_type, types, 4);
}

/* A QP takes the key of its index only; QP1 takes that of any entry. A cleared entry takes nothing.
 * covers: ROCE-RX-17, ROCE-HDR-5 */
ParameterizedTest(enum nornic_qp_type *t, pkey_services, ROCE_RX_17_which_entries_count)
{
    start(*t);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0x9234), 0);
    cr_assert_eq(takes(0x9234), type == NORNIC_QPT_GSI);
    cr_assert(takes(0xffff));
    cr_assert_eq(roce_dev_pkey_set(s->dev, 0, 0), 0);
    cr_assert_eq(takes(0xffff), false);
    cr_assert_eq(takes(0x0000), false);
    cr_assert_eq(takes(0x8000), false);
    cr_assert_eq(takes(0x1234), type == NORNIC_QPT_GSI);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0), 0);
    cr_assert_eq(takes(0x9234), false);
    cr_assert_eq(takes(0x0000), false);
    stop();
}

ParameterizedTestParameters(pkey_services, ROCE_HDR_5_nothing_leaves_with_a_cleared_key)
{
    return cr_make_param_array(enum nornic_qp_type, types,
                               3); /* each send of QP1 names its own: test_gsi.c */
}

/* covers: ROCE-HDR-5 */
ParameterizedTest(enum nornic_qp_type *t, pkey_services, ROCE_HDR_5_nothing_leaves_with_a_cleared_key)
{
    start(*t);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 0, 0), 0);
    if (datagram())
        dgram_post(s, ah, 1, 0, 64);
    else
        script_post(s, 1, NORNIC_WR_SEND, 0, 64);
    cr_assert_null(script_next(s));
    expect_no_wc(s, send_cq);
    cr_assert_eq(roce_dev_pkey_set(s->dev, 0, 0x1234), 0);
    script_pump(s);
    const struct roce_pkt *pkt = script_next(s);
    cr_assert_not_null(pkt);
    cr_assert_eq(pkt->bth.pkey, 0x1234);
    if (type != NORNIC_QPT_RC)
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    stop();
}
