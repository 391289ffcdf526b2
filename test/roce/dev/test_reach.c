/* SPDX-License-Identifier: BSD-2-Clause */
/* What the device says of whose packets its queue pairs take. That it takes no others, every scripted test
 * checks (script_give()). */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "test/support/island.h"
#include "test/support/script_suite.h"

static void begin(enum nornic_qp_type type, enum nornic_qp_state state)
{
    config = script_defaults();
    config.type = type;
    config.state = state;
    config.path_migration = true;
    s = script_new(&config);
}

TestSuite(reach, .fini = teardown);

static enum roce_reach said(void)
{
    return reach_of(&s->reach, roce_qp_num(s->qp)).reach;
}

static bool is_of_peer(const struct nornic_addr *peer)
{
    struct reach_rule rule = reach_of(&s->reach, roce_qp_num(s->qp));
    return rule.reach == ROCE_REACH_PEER && nornic_addr_equal(&rule.peer, peer);
}

ParameterizedTestParameters(reach, of_a_connected_one_is_its_peer)
{
    static enum nornic_qp_type types[] = {NORNIC_QPT_RC, NORNIC_QPT_UC, NORNIC_QPT_XRC_INI,
                                          NORNIC_QPT_XRC_TGT};
    return cr_make_param_array(enum nornic_qp_type, types, 4);
}

ParameterizedTest(enum nornic_qp_type *type, reach, of_a_connected_one_is_its_peer)
{
    begin(*type, NORNIC_QPS_INIT);
    cr_assert_eq(s->reach.calls, 0);
    script_free(s);
    begin(*type, NORNIC_QPS_RTR);
    cr_assert(is_of_peer(&s->config.attr.av.dgid));
    script_free(s);
    begin(*type, NORNIC_QPS_RTS);
    cr_assert(is_of_peer(&s->config.attr.av.dgid));
    cr_assert_eq(s->reach.calls, 1, "what has not changed is not said again");
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    cr_assert_eq(said(), ROCE_REACH_NOBODY);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    cr_assert_eq(s->reach.calls, 2);
}

/* The peer may come from an address of which only it knows when. */
Test(reach, with_an_alternate_path_is_not_narrow)
{
    begin(NORNIC_QPT_RC, NORNIC_QPS_RTS);
    struct nornic_qp_attr attr = s->config.attr;
    attr.alt_av = (struct nornic_av){.dgid = s->config.attr.av.dgid, .hop_limit = 9};
    attr.alt_av.dgid.b[15] = 102;
    cr_assert_eq(roce_qp_modify(s->qp, &attr, NORNIC_QP_ALT_PATH, s->now_ns), 0);
    cr_assert_eq(said(), ROCE_REACH_ANYBODY);
}

/* QP 1 and UD. */
Test(reach, of_datagrams_is_everybody)
{
    struct island *w = island_new(1, true, false);
    begin(NORNIC_QPT_RC, NORNIC_QPS_RESET);
    struct roce_qp *ud = island_qp(w, 0, NORNIC_QPT_UD), *gsi = island_qp(w, 0, NORNIC_QPT_GSI);
    const struct reach *reach = &w->dev[0].reach;
    cr_assert_eq(reach->calls, 0);
    island_raise(w, ud, 1);
    island_raise(w, gsi, 0x80010000);
    cr_assert_eq(reach_of(reach, roce_qp_num(ud)).reach, ROCE_REACH_ANYBODY);
    cr_assert_eq(reach_of(reach, 1).reach, ROCE_REACH_ANYBODY);
    cr_assert_eq(roce_qp_destroy(ud), 0);
    cr_assert_eq(reach_of(reach, 1000).reach, ROCE_REACH_NOBODY);
    cr_assert_eq(roce_qp_destroy(gsi), 0);
    cr_assert_eq(reach_of(reach, 1).reach, ROCE_REACH_NOBODY);
    island_free(w);
}
