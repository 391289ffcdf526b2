/* SPDX-License-Identifier: BSD-2-Clause */
/* Two instances of which both, or one, know an enterprise id: version 2 beside version 1. */
#include <criterion/criterion.h>
#include <string.h>

#include "smcr/conn/conn.h"
#include "smcr/llc2_wire.h"
#include "smcr/stat.h"
#include "test/smcr_pair/pair.h"

/* What was seen of a run. */
struct seen {
    unsigned v2_messages, v1_messages, long_messages;
    size_t longest_clc_bytes;
};

static void look(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    struct seen *seen = ctx;
    (void)node;
    if (trace->type == SMCR_TRACE_CLC_TX && trace->len_bytes > seen->longest_clc_bytes)
        seen->longest_clc_bytes = trace->len_bytes;
    if (trace->type != SMCR_TRACE_LLC_TX)
        return;
    seen->v2_messages += smcr_llc_is_v2(trace->message[0]);
    seen->v1_messages += !smcr_llc_is_v2(trace->message[0]);
    seen->long_messages += trace->len_bytes > SMCR_MSG_BYTES;
}

static void know_eid(struct pair_config *config, unsigned node, const char *eid)
{
    struct smcr_config *c = &config->smcr[node];
    cr_assert_eq(smcr_eid_parse(eid, c->eids[c->num_eids++]), 0);
}

static struct pair *begin(struct pair_config *config, struct seen *seen)
{
    struct pair *pair = pair_new(config);
    memset(seen, 0, sizeof *seen);
    pair->on_trace = look;
    pair->trace_ctx = seen;
    return pair;
}

static void finish(struct pair *pair)
{
    const char *why = pair_free(pair);
    cr_assert_null(why, "%s", why);
}

static bool over(void *ctx, struct pair *pair)
{
    (void)pair;
    return pair_is_over(ctx);
}

static void close_both(struct pair *pair, struct pair_conn *c)
{
    pair_close(&c->end[0]);
    pair_run_for(pair, PAIR_MS);
    pair_close(&c->end[1]);
    cr_assert(pair_run_until(pair, over, c, PAIR_S), "it does not end");
}

static struct pair_conn *connect(struct pair *pair)
{
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "no connection: %s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[0], 200000, PAIR_S), "%s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[1], 200000, PAIR_S), "%s", pair->failure);
    return c;
}

Test(pair_v2, one_port_and_bytes_both_ways)
{
    struct pair_config config = {.seed = 1};
    struct seen seen;
    know_eid(&config, 0, "NORNIC.LAB");
    know_eid(&config, 1, "NORNIC.LAB");
    struct pair *pair = begin(&config, &seen);
    struct pair_conn *c = connect(pair);
    const struct smcr_group *group = c->end[0].conn->group;
    cr_assert_eq(group->version, 2);
    cr_assert_eq(group->release, 1);
    cr_assert_arr_eq(group->eid, "NORNIC.LAB                      ", SMCR_EID_BYTES);
    cr_assert_eq(c->end[0].conn->cursor_start, 0);
    cr_assert_eq(seen.v1_messages, 0);
    cr_assert_gt(seen.v2_messages, 3);
    close_both(pair, c);
    finish(pair);
}

Test(pair_v2, two_links_by_one_long_message_each_way)
{
    struct pair_config config = {.seed = 2, .topology = PAIR_CABLES, .ports = {2, 2}};
    struct seen seen;
    know_eid(&config, 0, "A");
    know_eid(&config, 1, "B");
    know_eid(&config, 1, "A");
    struct pair *pair = begin(&config, &seen);
    struct pair_conn *c = connect(pair);
    cr_assert_eq(smcr_group_redundancy(c->end[0].conn->group), SMCR_SYMMETRIC);
    cr_assert_eq(smcr_group_redundancy(c->end[1].conn->group), SMCR_SYMMETRIC);
    cr_assert_eq(seen.long_messages, 2);
    cr_assert_eq(seen.v1_messages, 0);
    pair_cut(pair, 0, 0, true);
    cr_assert(pair_transfer(pair, &c->end[0], 300000, 20 * PAIR_S), "%s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[1], 300000, 20 * PAIR_S), "%s", pair->failure);
    pair_restore(pair, 0, 0);
    pair_run_for(pair, 120 * PAIR_S);
    cr_assert_eq(smcr_group_redundancy(c->end[0].conn->group), SMCR_SYMMETRIC);
    close_both(pair, c);
    finish(pair);
}

Test(pair_v2, version_1_where_one_knows_no_enterprise_id)
{
    for (unsigned node = 0; node < 2; node++) {
        struct pair_config config = {.seed = 3 + node};
        struct seen seen;
        know_eid(&config, node, "NORNIC.LAB");
        struct pair *pair = begin(&config, &seen);
        struct pair_conn *c = connect(pair);
        cr_assert_eq(c->end[0].conn->group->version, 1);
        cr_assert_eq(c->end[1].conn->group->version, 1);
        cr_assert_eq(seen.v2_messages, 0);
        close_both(pair, c);
        finish(pair);
    }
}

Test(pair_v2, version_1_where_no_enterprise_id_is_common)
{
    struct pair_config config = {.seed = 5};
    struct seen seen;
    know_eid(&config, 0, "ONE");
    know_eid(&config, 1, "OTHER");
    struct pair *pair = begin(&config, &seen);
    struct pair_conn *c = connect(pair);
    cr_assert_eq(c->end[0].conn->group->version, 1);
    close_both(pair, c);
    finish(pair);
}

Test(pair_v2, a_group_takes_as_many_connections_as_was_settled)
{
    struct pair_config config = {.seed = 6};
    struct pair_conn *c[20];
    struct seen seen;
    know_eid(&config, 0, "X");
    know_eid(&config, 1, "X");
    config.smcr[0].max_group_conns = 16;
    struct pair *pair = begin(&config, &seen);
    for (unsigned i = 0; i < 20; i++)
        cr_assert_not_null(c[i] = pair_connect(pair, 0), "%s", pair->failure);
    cr_assert_eq(c[15]->end[0].conn->group, c[0]->end[0].conn->group);
    cr_assert_neq(c[16]->end[0].conn->group, c[0]->end[0].conn->group);
    cr_assert_eq(c[19]->end[0].conn->group, c[16]->end[0].conn->group);
    cr_assert_eq(c[0]->end[1].conn->group->max_conns, 16);
    for (unsigned i = 0; i < 20; i++)
        close_both(pair, c[i]);
    finish(pair);
}

Test(pair_v2, rmbs_beyond_the_first_are_told_and_taken_back)
{
    struct pair_config config = {.seed = 7, .topology = PAIR_CABLES, .ports = {2, 2}};
    struct pair_conn *c[9];
    struct seen seen;
    know_eid(&config, 0, "X");
    know_eid(&config, 1, "X");
    for (unsigned n = 0; n < 2; n++) {
        config.smcr[n].elems_per_rmb = 1;
        config.smcr[n].times.rmb_idle_ns = PAIR_S;
    }
    struct pair *pair = begin(&config, &seen);
    for (unsigned i = 0; i < 9; i++)
        c[i] = connect(pair);
    pair_cut(pair, 0, 1, true); /* and all nine are listed when the link comes back */
    pair_run_for(pair, PAIR_S);
    pair_restore(pair, 0, 1);
    pair_run_for(pair, 120 * PAIR_S);
    cr_assert_eq(smcr_group_redundancy(c[0]->end[0].conn->group), SMCR_SYMMETRIC);
    cr_assert_eq(c[0]->end[1].conn->group->num_peer_rmbs, 9);
    for (unsigned i = 1; i < 9; i++)
        close_both(pair, c[i]);
    pair_run_for(pair, 20 * PAIR_S);
    cr_assert_lt(c[0]->end[1].conn->group->num_peer_rmbs, 3);
    cr_assert(pair_transfer(pair, &c[0]->end[1], 100000, PAIR_S), "%s", pair->failure);
    close_both(pair, c[0]);
    finish(pair);
}

Test(pair_v2, enterprise_ids_of_users)
{
    uint8_t eid[SMCR_EID_LEN];
    static const char *const bad[] = {"", ".A", "-A", "a", "A b", "A_B", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(smcr_eid_parse(bad[i], eid), -22, "\"%s\"", bad[i]);
    cr_assert_eq(smcr_eid_parse("0A.B-C", eid), 0);
    cr_assert_arr_eq(eid, "0A.B-C                          ", SMCR_EID_LEN);
    cr_assert_eq(smcr_eid_parse("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", eid), 0);
}
