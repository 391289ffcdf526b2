/* SPDX-License-Identifier: BSD-2-Clause */
/* Two instances of which both, or one, know an enterprise id: version 2 beside version 1. */
#include <criterion/criterion.h>
#include <string.h>

#include "smcr/conn/conn.h"
#include "smcr/wire/llc2.h"
#include "smcr/stat.h"
#include "test/smcr/finish.h"

/* What was seen of a run. */
struct seen {
    unsigned v2_messages, v1_messages, long_messages;
    unsigned offers;         /* ADD LINK, requests and responses */
    unsigned proposal_marks; /* bytes of Peer ID, GID and MAC in a Proposal that are not 0 */
    size_t longest_clc_bytes, proposal_bytes;
};

static void look(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    struct seen *seen = ctx;
    (void)node;
    if (trace->type == SMCR_TRACE_CLC_TX && trace->len_bytes > seen->longest_clc_bytes)
        seen->longest_clc_bytes = trace->len_bytes;
    if (trace->type == SMCR_TRACE_CLC_TX && trace->message[4] == SMCR_CLC_PROPOSAL) {
        seen->proposal_bytes = trace->len_bytes;
        for (unsigned i = 8; i < 40; i++)
            seen->proposal_marks += trace->message[i] != 0;
    }
    if (trace->type != SMCR_TRACE_LLC_TX)
        return;
    seen->offers += trace->message[0] == SMCR_LLC2_ADD_LINK;
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
    finish_conn(pair, c);
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
    finish_conn(pair, c);
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
        finish_conn(pair, c);
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
    finish_conn(pair, c);
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
        finish_conn(pair, c[i]);
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
        finish_conn(pair, c[i]);
    pair_run_for(pair, 20 * PAIR_S);
    cr_assert_lt(c[0]->end[1].conn->group->num_peer_rmbs, 3);
    cr_assert(pair_transfer(pair, &c[0]->end[1], 100000, PAIR_S), "%s", pair->failure);
    finish_conn(pair, c[0]);
    finish(pair);
}

Test(pair_v2, who_speaks_version_2_alone_needs_one_who_does)
{
    for (unsigned node = 0; node < 2; node++) {
        struct pair_config config = {.seed = 8 + node};
        struct seen seen;
        know_eid(&config, node, "X");
        config.smcr[node].only_v2 = true;
        struct pair *pair = begin(&config, &seen);
        struct pair_conn *c = pair_open(pair, 0);
        pair_run_for(pair, PAIR_S);
        cr_assert(pair_is_fallback(c), "%u", node);
        pair_tcp_fin(&c->end[0]);
        pair_tcp_fin(&c->end[1]);
        finish_conn(pair, c);
        finish(pair);
    }
}

/* 84 bytes, the extension's 40, and an EID: no Peer ID, no subnet. */
Test(pair_v2, an_offer_of_version_2_alone_names_neither_peer_nor_subnet)
{
    struct pair_config config = {.seed = 10};
    struct seen seen;
    for (unsigned node = 0; node < 2; node++) {
        know_eid(&config, node, "X");
        config.smcr[node].only_v2 = true;
    }
    struct pair *pair = begin(&config, &seen);
    struct pair_conn *c = connect(pair), *d = connect(pair);
    cr_assert_eq(c->end[0].conn->group->version, 2);
    cr_assert_eq(c->end[1].conn->group, d->end[1].conn->group, "its GID names the client");
    cr_assert_eq(seen.proposal_bytes, 156);
    cr_assert_eq(seen.proposal_marks, 0);
    finish_conn(pair, c);
    finish_conn(pair, d);
    finish(pair);
}

static bool client_is_established(void *ctx, struct pair *pair)
{
    const struct pair_conn *c = ctx;
    (void)pair;
    return c->end[0].events & SMCR_EVENT_ESTABLISHED;
}

/* To the client the contact is over when it has refused a second link; its FIN overtakes that. */
Test(pair_v2, a_fin_that_overtakes_the_end_of_the_first_contact)
{
    struct pair_config config = {.seed = 11, .wire = {.delay_ns = 5 * PAIR_MS}};
    struct seen seen;
    know_eid(&config, 0, "X");
    know_eid(&config, 1, "X");
    struct pair *pair = begin(&config, &seen);
    struct pair_conn *c = pair_open(pair, 0);
    cr_assert(pair_run_until(pair, client_is_established, c, PAIR_S));
    cr_assert_eq(pair_pump(&c->end[0], 1000, 0), 1000);
    smcr_conn_shutdown_write(c->end[0].conn, pair->now_ns);
    pair_tcp_fin(&c->end[0]);
    pair_run_for(pair, PAIR_MS);
    cr_assert_not(c->end[1].events & (SMCR_EVENT_ESTABLISHED | SMCR_EVENT_RESET), "the FIN came first");
    pair_run_for(pair, 50 * PAIR_MS);
    cr_assert_eq(pair_drain(&c->end[1], 2000), 1000);
    cr_assert(c->end[1].eof || pair_drain(&c->end[1], 1) == 0, "and the end of the stream behind it");
    finish_conn(pair, c);
    finish(pair);
}

/* The same FIN where the client is gone: the timers of the first contact end it. */
Test(pair_v2, a_fin_in_a_first_contact_that_never_ends)
{
    struct pair_config config = {.seed = 12, .wire = {.delay_ns = 5 * PAIR_MS}};
    struct seen seen;
    know_eid(&config, 0, "X");
    know_eid(&config, 1, "X");
    struct pair *pair = begin(&config, &seen);
    struct pair_conn *c = pair_open(pair, 0);
    cr_assert(pair_run_until(pair, client_is_established, c, PAIR_S));
    pair_cut(pair, 0, 0, false); /* what it has said last is lost */
    pair_cut(pair, 1, 0, false);
    pair_tcp_fin(&c->end[0]);
    pair_run_for(pair, 20 * PAIR_S);
    cr_assert_not(c->end[1].events & SMCR_EVENT_ESTABLISHED);
    cr_assert(c->end[1].events & (SMCR_EVENT_RESET | SMCR_EVENT_FALLBACK));
    finish_conn(pair, c);
    finish(pair);
}

/* The client's Confirm lists one RNIC: the server, which has two, adds the asymmetric link and asks for no
 * third one. A client that gets another RNIC says so. */
Test(pair_v2, the_server_knows_from_confirm_which_rnics_the_client_has)
{
    struct pair_config config = {.seed = 13, .ports = {1, 2}};
    struct seen seen;
    know_eid(&config, 0, "X");
    know_eid(&config, 1, "X");
    struct pair *pair = begin(&config, &seen);
    struct pair_conn *c = connect(pair);
    pair_run_for(pair, 600 * PAIR_S);
    cr_assert_eq(c->end[1].conn->group->num_client_gids, 1);
    cr_assert_eq(smcr_group_redundancy(c->end[1].conn->group), SMCR_ASYMMETRIC_PEER);
    cr_assert_eq(seen.offers, 2, "one, and its answer");
    pair_add_port(pair, 0);
    pair_run_for(pair, 60 * PAIR_S);
    cr_assert_eq(c->end[1].conn->group->num_client_gids, 0);
    cr_assert_eq(smcr_group_redundancy(c->end[1].conn->group), SMCR_SYMMETRIC);
    finish_conn(pair, c);
    finish(pair);
}

/* As Linux has it: one RMB a connection, which another one never gets; it goes when its owner says so. */
Test(pair_v2, an_rmb_that_has_served_waits_to_be_given_back)
{
    struct pair_config config = {.seed = 14};
    struct seen seen;
    for (unsigned node = 0; node < 2; node++) {
        know_eid(&config, node, "X");
        config.smcr[node].elems_per_rmb = 1;
        config.smcr[node].rmbs_serve_once = true;
        config.smcr[node].times.rmb_idle_ns = 3600 * PAIR_S;
    }
    struct pair *pair = begin(&config, &seen);
    struct pair_conn *a = connect(pair);
    struct smcr_group *group = a->end[1].conn->group;
    uint32_t rkey = a->end[1].conn->rmb->mr[0]->rkey;
    smcr_give_back(pair->node[1].smcr, rkey, pair->now_ns); /* in use: nothing happens */
    finish_conn(pair, a);
    struct pair_conn *b = connect(pair);
    cr_assert_eq(b->end[1].conn->group, group);
    cr_assert_eq(group->num_rmbs, 2);
    cr_assert_neq(b->end[1].conn->rmb->mr[0]->rkey, rkey);
    smcr_give_back(pair->node[1].smcr, rkey, pair->now_ns);
    pair_run_for(pair, PAIR_S);
    cr_assert_eq(group->num_rmbs, 1);
    cr_assert_eq(b->end[0].conn->group->num_peer_rmbs, 1, "the client has heard of it");
    finish_conn(pair, b);
    smcr_give_back(pair->node[1].smcr, group->rmbs->mr[0]->rkey, pair->now_ns);
    pair_run_for(pair, PAIR_S);
    cr_assert_eq(group->num_rmbs, 0, "the last one too");
    finish(pair);
}

/* Linux never forgives what is not acknowledged, so who retires stays for the answers to what it closes. */
Test(pair_v2, an_instance_that_retires_lingers_while_connections_end)
{
    struct pair_config config = {.seed = 15};
    struct seen seen;
    know_eid(&config, 0, "X");
    know_eid(&config, 1, "X");
    struct pair *pair = begin(&config, &seen);
    struct pair_conn *c = connect(pair);
    cr_assert_not(smcr_lingers(pair->node[0].smcr, pair->now_ns));
    pair_close(&c->end[0]);
    smcr_retire(pair->node[0].smcr, pair->now_ns);
    pair_run_for(pair, 2 * PAIR_S);
    cr_assert(smcr_lingers(pair->node[0].smcr, pair->now_ns), "the peer has not closed yet");
    pair_close(&c->end[1]);
    pair_run_for(pair, 100 * PAIR_MS);
    cr_assert(smcr_lingers(pair->node[0].smcr, pair->now_ns), "the peer may still say something");
    pair_run_for(pair, PAIR_S);
    cr_assert_not(smcr_lingers(pair->node[0].smcr, pair->now_ns));
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
