/* SPDX-License-Identifier: BSD-2-Clause */
/* The handshake between two instances: the order of messages, many connections at once, both directions. */
#include <criterion/criterion.h>

#include "net/bytes.h"
#include "smcr/wire/cdc.h"
#include "smcr/conn/conn.h"
#include "test/smcr/finish.h"
#include "test/smcr/steps.h"

TestSuite(handshake_pair, .timeout = 60);

/* --- what was sent, in its order --- */

struct heard {
    unsigned count;
    struct {
        unsigned node;
        bool is_clc;
        uint8_t type, flags;
        uint8_t link;                /* number of that which it went over; 0: none, or not known yet */
        enum smcr_link_state link_1; /* of the sender, at that moment */
    } sent[64];
    bool data; /* a CDC was sent */
};

static void listen(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    struct heard *heard = ctx;
    bool is_clc = trace->type == SMCR_TRACE_CLC_TX;
    if (trace->type == SMCR_TRACE_CDC_TX)
        heard->data = true;
    if ((!is_clc && trace->type != SMCR_TRACE_LLC_TX) || heard->count == 64 || !trace->message)
        return;
    unsigned i = heard->count++;
    heard->sent[i].node = node->index;
    heard->sent[i].is_clc = is_clc;
    heard->sent[i].type = trace->message[is_clc ? 4 : 0];
    heard->sent[i].flags = trace->message[is_clc ? 7 : 3];
    heard->sent[i].link = trace->link ? trace->link->number : 0;
    heard->sent[i].link_1 = trace->group ? trace->group->links[0].state : SMCR_LINK_FREE;
}

static void expect_sent(const struct heard *heard, unsigned i, unsigned node, bool is_clc, uint8_t type,
                        uint8_t flags)
{
    cr_assert_gt(heard->count, i, "message %u was not sent", i);
    cr_assert_eq(heard->sent[i].node, node, "message %u is from node %u", i, heard->sent[i].node);
    cr_assert_eq(heard->sent[i].is_clc, is_clc, "message %u", i);
    cr_assert_eq(heard->sent[i].type, type, "message %u is of type %u", i, heard->sent[i].type);
    cr_assert_eq(heard->sent[i].flags, flags, "message %u has flags %02x", i, heard->sent[i].flags);
}

/* The figure of SMCR section 6, from the Proposal to the moment that both sockets open.
 * covers: SMCR-CLC-01, SMCR-FC-04, SMCR-FC-07, SMCR-FC-09, SMCR-FC-10, SMCR-FC-11, SMCR-FC-12, SMCR-FC-17 */
Test(handshake_pair, SMCR_FC_12_the_messages_of_a_first_contact)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 1, .ports = {2, 2}});
    struct heard heard = {0};
    pair->on_trace = listen;
    pair->trace_ctx = &heard;
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c);
    unsigned i = 0;
    expect_sent(&heard, i++, 0, true, SMCR_CLC_PROPOSAL, 0x10);
    expect_sent(&heard, i++, 1, true, SMCR_CLC_ACCEPT, 0x18);
    expect_sent(&heard, i++, 0, true, SMCR_CLC_CONFIRM, 0x10);
    expect_sent(&heard, i++, 1, false, SMCR_LLC_CONFIRM_LINK, 0);
    expect_sent(&heard, i++, 0, false, SMCR_LLC_CONFIRM_LINK, 0x80);
    expect_sent(&heard, i++, 1, false, SMCR_LLC_ADD_LINK, 0);
    expect_sent(&heard, i++, 0, false, SMCR_LLC_ADD_LINK, 0x80);
    expect_sent(&heard, i++, 1, false, SMCR_LLC_ADD_LINK_CONT, 0);
    expect_sent(&heard, i++, 0, false, SMCR_LLC_ADD_LINK_CONT, 0x80);
    expect_sent(&heard, i++, 1, false, SMCR_LLC_CONFIRM_LINK, 0);
    expect_sent(&heard, i++, 0, false, SMCR_LLC_CONFIRM_LINK, 0x80);
    cr_assert_eq(heard.sent[3].link, 1);
    cr_assert_eq(heard.sent[9].link, 2, "the second CONFIRM LINK goes over the second link");
    cr_assert_not(heard.data);
    cr_assert_eq(heard.sent[1].link_1, SMCR_LINK_ALLOCATED, "the server's QP is in INIT at the Accept");
    cr_assert_eq(heard.sent[2].link_1, SMCR_LINK_CONFIRMING, "the client's receives at the Confirm");
    cr_assert(pair_transfer(pair, &c->end[0], 100000, PAIR_S));
    cr_assert(pair_transfer(pair, &c->end[1], 100000, PAIR_S));
    finish(pair);
}

/* One RNIC each: ADD LINK is tried all the same, and answered with a rejection; then data may flow.
 * covers: SMCR-FC-11, SMCR-FC-12, SMCR-FC-14, SMCR-FC-16, SMCR-FC-19, SMCR-ARC-07 */
Test(handshake_pair, SMCR_FC_12_add_link_is_always_tried)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 1});
    struct heard heard = {0};
    pair->on_trace = listen;
    pair->trace_ctx = &heard;
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c);
    expect_sent(&heard, 5, 1, false, SMCR_LLC_ADD_LINK, 0);
    expect_sent(&heard, 6, 0, false, SMCR_LLC_ADD_LINK, 0xc0);
    cr_assert_eq(heard.count, 7);
    cr_assert(pair_transfer(pair, &c->end[0], 100000, PAIR_S));
    finish(pair);
}

/* covers: SMCR-SC-04, SMCR-REN-10, SMCR-FC-11 */
Test(handshake_pair, SMCR_SC_04_a_subsequent_contact_needs_no_llc)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 1, .ports = {2, 2}});
    cr_assert_not_null(pair_connect(pair, 0));
    pair_run_for(pair, PAIR_MS);
    struct heard heard = {0};
    pair->on_trace = listen;
    pair->trace_ctx = &heard;
    cr_assert_not_null(pair_connect(pair, 0));
    expect_sent(&heard, 0, 0, true, SMCR_CLC_PROPOSAL, 0x10);
    expect_sent(&heard, 1, 1, true, SMCR_CLC_ACCEPT, 0x10);
    expect_sent(&heard, 2, 0, true, SMCR_CLC_CONFIRM, 0x10);
    cr_assert_eq(heard.count, 3);
    finish(pair);
}

/* No element is left in the RMBs: both ends announce a new one before Accept and Confirm.
 * covers: SMCR-SC-02, SMCR-SC-04, SMCR-RKY-02, SMCR-RKY-03 */
Test(handshake_pair, SMCR_SC_02_the_exchange_pauses_for_a_new_rmb)
{
    struct pair *pair = pair_new(&(struct pair_config){
        .seed = 1, .ports = {2, 2}, .smcr = {{.elems_per_rmb = 1}, {.elems_per_rmb = 1}}});
    cr_assert_not_null(pair_connect(pair, 0));
    pair_run_for(pair, PAIR_MS);
    struct heard heard = {0};
    pair->on_trace = listen;
    pair->trace_ctx = &heard;
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c);
    unsigned i = 0;
    expect_sent(&heard, i++, 0, true, SMCR_CLC_PROPOSAL, 0x10);
    expect_sent(&heard, i++, 1, false, SMCR_LLC_CONFIRM_RKEY, 0);
    expect_sent(&heard, i++, 0, false, SMCR_LLC_CONFIRM_RKEY, 0x80);
    expect_sent(&heard, i++, 1, true, SMCR_CLC_ACCEPT, 0x10);
    expect_sent(&heard, i++, 0, false, SMCR_LLC_CONFIRM_RKEY, 0);
    expect_sent(&heard, i++, 1, false, SMCR_LLC_CONFIRM_RKEY, 0x80);
    expect_sent(&heard, i++, 0, true, SMCR_CLC_CONFIRM, 0x10);
    cr_assert(pair_transfer(pair, &c->end[0], 200000, PAIR_S));
    cr_assert(pair_transfer(pair, &c->end[1], 200000, PAIR_S));
    finish(pair);
}

/* All 255 RMBs of one end are in use: a group beside the full one, and those that follow join that.
 * covers: SMCR-SC-12, SMCR-FC-20, SMCR-RKY-10 */
Test(handshake_pair, SMCR_SC_12_a_group_that_is_full)
{
    struct pair_config config = {
        .seed = 1, .rcvbuf_bytes = {16000, 16000}, .sndbuf_bytes = {4096, 4096}, .smcr[1].elems_per_rmb = 1};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c[260];
    for (unsigned i = 0; i < 260; i++) {
        c[i] = pair_connect(pair, 0);
        cr_assert_not_null(c[i], "connection %u", i);
        cr_assert_eq(c[i]->end[1].conn->group == c[0]->end[1].conn->group, i < 255, "connection %u", i);
        cr_assert_eq(c[i]->end[0].conn->group == c[0]->end[0].conn->group, i < 255, "connection %u", i);
    }
    cr_assert_eq(pair->node[0].smcr->num_groups, 2);
    cr_assert_eq(pair->node[1].smcr->num_groups, 2);
    cr_assert(pair_transfer(pair, &c[0]->end[0], 10000, PAIR_S));
    cr_assert(pair_transfer(pair, &c[259]->end[0], 10000, PAIR_S));
    finish(pair);
}

/* The links die while the exchange pauses for CONFIRM RKEY: whoever owes the next message declines.
 * covers: SMCR-SC-11, SMCR-SC-02 */
Test(handshake_pair, SMCR_SC_11_no_link_is_left_in_a_pause)
{
    for (unsigned node = 0; node < 2; node++) {
        struct pair_config config = {.seed = 1};
        config.smcr[node].elems_per_rmb = 1;
        struct pair *pair = pair_new(&config);
        cr_assert_not_null(pair_connect(pair, 0));
        pair_run_for(pair, PAIR_MS);
        struct pair_conn *c = pair_open(pair, 0);
        enum smcr_stage stage = node ? SMCR_STAGE_ACCEPT_RMB : SMCR_STAGE_CONFIRM_RMB;
        for (unsigned us = 0; us < 1000 && c->end[node].conn->stage != stage; us++)
            pair_run_for(pair, PAIR_US);
        cr_assert_eq(c->end[node].conn->stage, stage);
        pair_cut(pair, node, 0, true);
        pair_run_for(pair, PAIR_S);
        cr_assert(pair_is_fallback(c));
        struct smcr_conn_status s;
        smcr_conn_status(c->end[node].conn, &s);
        cr_assert_eq(s.diagnosis, SMCR_DIAG_NO_ACTIVE_LINK);
        cr_assert(pair_transfer(pair, &c->end[0], 1000, PAIR_S));
        finish(pair);
    }
}

/* All at once: one first contact, and the others wait for it.
 * covers: SMCR-FC-21, SMCR-SC-01, SMCR-CLC-37 */
Test(handshake_pair, SMCR_FC_21_fifty_connections_at_once)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct pair *pair = pair_new(&(struct pair_config){
            .seed = seed,
            .ports = {1 + seed % 2, 1 + seed / 2 % 2},
            .wire = {.delay_ns = seed * 3 * PAIR_US},
        });
        struct pair_conn *c[50];
        for (unsigned i = 0; i < 50; i++)
            c[i] = pair_open(pair, 0);
        pair_run_for(pair, 100 * PAIR_MS);
        for (unsigned i = 0; i < 50; i++) {
            cr_assert(pair_is_established(c[i]), "seed %u: connection %u", (unsigned)seed, i);
            cr_assert(pair_transfer(pair, &c[i]->end[i % 2], 5000, PAIR_S));
        }
        for (unsigned node = 0; node < 2; node++) {
            cr_assert_eq(pair->node[node].smcr->num_groups, 1);
            cr_assert_eq(smcr_counters(pair->node[node].smcr)->first_contacts, 1);
            cr_assert_eq(smcr_counters(pair->node[node].smcr)->conns_smc, 50);
        }
        for (unsigned i = 0; i < 50; i++)
            for (unsigned k = 0; k < i; k++)
                for (unsigned node = 0; node < 2; node++)
                    cr_assert_neq(c[i]->end[node].conn->token, c[k]->end[node].conn->token);
        finish(pair);
    }
}

/* Who gives up while it waits is not looked for when the wait is over.
 * covers: SMCR-FC-21 */
Test(handshake_pair, SMCR_FC_21_some_give_up_waiting)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 2, .wire.delay_ns = PAIR_MS});
    for (unsigned i = 0; i < 6; i++)
        pair_open(pair, 0);
    pair_run_for(pair, PAIR_MS);
    struct smcr_conn *waiting[6] = {0};
    unsigned count = 0;
    for (struct smcr_conn *conn = pair->node[1].smcr->waiting; conn; conn = conn->contact_next)
        waiting[count++] = conn;
    cr_assert_eq(count, 5, "all but one");
    pair_close(smcr_conn_ctx(waiting[0])); /* the first of the list, the last, and one in between */
    pair_close(smcr_conn_ctx(waiting[4]));
    pair_tcp_rst(smcr_conn_ctx(waiting[2]));
    pair_run_for(pair, 100 * PAIR_MS);
    cr_assert_null(pair->node[1].smcr->waiting);
    unsigned established = 0;
    for (struct pair_conn *c = pair->conns; c; c = c->next)
        if (pair_is_established(c)) {
            cr_assert(pair_transfer(pair, &c->end[established++ % 2], 5000, PAIR_S));
        }
    cr_assert_eq(established, 3);
    finish(pair);
}

/* One too many at either end goes by TCP, and no byte is lost.
 * covers: SMCR-FBK-05, SMCR-SEC-07 */
Test(handshake_pair, SMCR_FBK_05_beyond_max_conns_it_is_TCP)
{
    for (unsigned full = 0; full < 2; full++) {
        struct pair_config config = {.seed = 2};
        config.smcr[full].max_conns = 3;
        struct pair *pair = pair_new(&config);
        struct pair_conn *c[5];
        for (unsigned i = 0; i < 5; i++) {
            c[i] = pair_open(pair, 0);
            pair_run_for(pair, 10 * PAIR_MS);
            cr_assert_eq(pair_is_established(c[i]), i < 3, "connection %u", i);
            cr_assert_eq(pair_is_fallback(c[i]), i >= 3);
            cr_assert(pair_transfer(pair, &c[i]->end[0], 5000, PAIR_S));
            cr_assert(pair_transfer(pair, &c[i]->end[1], 5000, PAIR_S));
        }
        struct smcr_conn_status s;
        smcr_conn_status(c[4]->end[full].conn, &s);
        cr_assert_str_eq(s.reason, "no room for one more connection over SMC-R");
        cr_assert_eq(s.diagnosis, SMCR_DIAG_NO_RESOURCES);
        finish(pair);
    }
}

/* covers: SMCR-ARC-09, SMCR-ARC-08 */
Test(handshake_pair, SMCR_ARC_09_the_other_direction_is_another_group)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 1, .ports = {2, 2}});
    struct pair_conn *a = pair_connect(pair, 0), *b = pair_connect(pair, 1);
    cr_assert(a && b);
    for (unsigned node = 0; node < 2; node++) {
        const struct smcr_conn *x = a->end[node].conn, *y = b->end[node].conn;
        cr_assert_neq(x->group, y->group);
        cr_assert_neq(x->group->role, y->group->role);
        cr_assert_neq(x->rmb, y->rmb);
        cr_assert_neq(x->link->local.qpn, y->link->local.qpn);
    }
    cr_assert(pair_transfer(pair, &a->end[0], 10000, PAIR_S));
    cr_assert(pair_transfer(pair, &b->end[0], 10000, PAIR_S));
    finish(pair);
}

/* covers: SMCR-ARC-05, SMCR-SEC-08, SMCR-FC-02 */
Test(handshake_pair, SMCR_SEC_08_over_ipv6_and_in_a_vlan)
{
    for (unsigned i = 1; i < 4; i++) {
        struct pair *pair = pair_new(
            &(struct pair_config){.seed = i, .ipv6 = i & 1, .vlan_id = i & 2 ? 17 : 0, .ports = {2, 2}});
        struct pair_conn *c = pair_connect(pair, 0);
        cr_assert_not_null(c);
        cr_assert_eq(c->end[0].conn->group->vlan_id, i & 2 ? 17 : 0);
        cr_assert(pair_transfer(pair, &c->end[0], 50000, PAIR_S));
        finish(pair);
    }
}

/* The two paths are two fabrics: the client takes the RNIC that reaches the server's.
 * covers: SMCR-CLC-24, SMCR-FC-03 */
Test(handshake_pair, SMCR_FC_03_two_fabrics)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 1, .topology = PAIR_CABLES, .ports = {2, 2}});
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c);
    cr_assert_eq(c->end[0].conn->group->links[0].port, pair->node[0].port[0].port);
    cr_assert_eq(c->end[1].conn->group->links[0].port, pair->node[1].port[0].port);
    cr_assert(pair_transfer(pair, &c->end[0], 50000, PAIR_S));
    finish(pair);
}

/* The RMBE is sized for the TCP receive buffer, and each end chooses its own.
 * covers: SMCR-RMB-03, SMCR-RMB-04, SMCR-CLC-31, SMCR-CLC-32 */
Test(handshake_pair, SMCR_RMB_04_each_end_has_its_own_size)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 1, .rcvbuf_bytes = {16380, 300000}});
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c);
    cr_assert_eq(c->end[0].conn->rmb->elem_bytes, 16384);
    cr_assert_eq(c->end[1].conn->rmb->elem_bytes, 512 << 10);
    cr_assert_eq(c->end[0].conn->peer_elem_bytes, 512 << 10);
    cr_assert_eq(c->end[1].conn->peer_elem_bytes, 16384);
    cr_assert(pair_transfer(pair, &c->end[0], 2000000, PAIR_S));
    cr_assert(pair_transfer(pair, &c->end[1], 2000000, PAIR_S));
    finish(pair);
}

/* The peer instance restarts: the old one's group is found stale or out of sync, and a new one is made.
 * covers: SMCR-ARC-20, SMCR-ARC-21 */
Test(handshake_pair, SMCR_ARC_20_link_user_ids_are_unique)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 1, .ports = {2, 2}});
    cr_assert_not_null(pair_connect(pair, 0));
    cr_assert_not_null(pair_connect(pair, 1));
    pair_run_for(pair, PAIR_MS);
    for (unsigned node = 0; node < 2; node++) {
        uint32_t seen[16];
        unsigned n = 0;
        for (const struct smcr_group *g = pair->node[node].smcr->groups; g; g = g->next)
            for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
                if (g->links[i].state == SMCR_LINK_ACTIVE)
                    seen[n++] = g->links[i].user_id;
        cr_assert_eq(n, 4);
        for (unsigned i = 0; i < n; i++)
            for (unsigned k = 0; k < i; k++)
                cr_assert_neq(seen[i], seen[k]);
    }
    for (const struct smcr_group *g = pair->node[0].smcr->groups; g; g = g->next)
        for (const struct smcr_group *at = pair->node[1].smcr->groups; at; at = at->next)
            for (unsigned i = 0; i < 2 && at->role != g->role; i++) {
                cr_assert_eq(at->links[i].peer_user_id, g->links[i].user_id, "told once, in CONFIRM LINK");
                cr_assert_eq(g->links[i].peer_user_id, at->links[i].user_id);
            }
    finish(pair);
}

/* One end has lost the group and the other was not told: the next connection finds out, by TCP or with a
 * group of its own, and those after it have SMC-R again.
 * covers: SMCR-LGT-07, SMCR-FC-05, SMCR-SC-06, SMCR-CLC-40 */
Test(handshake_pair, SMCR_SC_06_a_group_that_one_end_has_lost)
{
    for (unsigned loser = 0; loser < 2; loser++) {
        struct pair *pair = pair_new(&(struct pair_config){.seed = 1, .ports = {2, 2}});
        struct pair_conn *old = pair_connect(pair, 0);
        cr_assert_not_null(old);
        step_group_end(pair->node[loser].smcr->groups, false, "the test", pair->now_ns);
        old->end[!loser].held = true; /* nor does TCP tell */
        struct pair_conn *next = pair_open(pair, 0);
        pair_run_for(pair, 10 * PAIR_MS);
        cr_assert(loser == 0 ? pair_is_fallback(next) : pair_is_established(next));
        if (loser == 0)
            cr_assert(old->end[1].events & SMCR_EVENT_RESET, "the server has discarded its group");
        cr_assert(pair_transfer(pair, &next->end[0], 5000, PAIR_S));
        struct pair_conn *later = pair_connect(pair, 0);
        cr_assert_not_null(later);
        cr_assert(pair_transfer(pair, &later->end[0], 5000, PAIR_S));
        finish(pair);
    }
}

static bool crosses(const struct pair_conn *c)
{
    struct smcr_conn_status s[2];
    for (unsigned node = 0; node < 2; node++)
        smcr_conn_status(c->end[node].conn, &s[node]);
    return s[0].fallback && s[1].fallback && !s[0].declined_by_peer && !s[1].declined_by_peer;
}

/* TCP is down as well, for longer than the client holds its Decline back: both have sent one, and each has
 * fallen back, when the other's comes, in whatever pieces, with the application's first bytes behind it.
 * covers: SMCR-FBK-05, SMCR-CLC-11 */
Test(handshake_pair, SMCR_FBK_05_declines_that_cross_are_no_data)
{
    unsigned crossed = 0;
    for (unsigned us = 60; us < 160; us += 2) {
        for (unsigned kind = 0; kind < 4; kind++) {
            unsigned ports = 1 + kind / 2;
            struct pair_config config = {.seed = 1, .ports = {ports, ports}, .tcp_chunk_bytes = kind & 1};
            struct pair *pair = pair_new(&config);
            struct pair_conn *c = pair_open(pair, 0);
            pair_run_for(pair, us * PAIR_US);
            pair_cut(pair, 0, 0, false);
            c->end[0].held = c->end[1].held = true;
            pair_run_for(pair, 4 * PAIR_S);
            bool both = crosses(c);
            crossed += both;
            for (unsigned node = 0; both && node < 2; node++)
                cr_assert_gt(pair_pump(&c->end[node], 100, 0), 0);
            c->end[0].held = c->end[1].held = false;
            pair_run_for(pair, PAIR_S);
            for (unsigned node = 0; both && node < 2; node++)
                cr_assert_eq(pair_drain(&c->end[node], 1000), 100, "%u us, kind %u", us, kind);
            for (unsigned node = 0; both && node < 2; node++)
                cr_assert(pair_transfer(pair, &c->end[node], 10000, PAIR_S));
            finish(pair);
        }
    }
    cr_assert_gt(crossed, 4, "it hardly ever happened: %u", crossed);
}

/* What only looks like it for a while is data.
 * covers: SMCR-FBK-05, SMCR-CLC-09 */
Test(handshake_pair, SMCR_CLC_09_data_where_a_decline_may_cross)
{
    struct smcr smcr = {.effects_tail = &smcr.effects};
    struct smcr_conn conn = {
        .smcr = &smcr, .state = SMCR_CONN_FALLBACK, .peer_id = {{1, 2, 3, 4, 5, 6, 7, 8}}};
    uint8_t decline[SMCR_DECLINE_BYTES], other[SMCR_DECLINE_BYTES + 1] = {0};
    struct smcr_clc_decline d = {.peer_id = conn.peer_id, .diagnosis = 0x01020304, .out_of_sync = true};
    smcr_clc_build_decline(decline, &d);
    struct smcr_conn_status s;
    for (unsigned n = 1; n < sizeof decline; n++) { /* more has to come */
        conn.declined = SMCR_DECLINED_CROSSING;
        cr_assert_eq(smcr_conn_tcp_input(&conn, decline, n, 0), 0);
        smcr_conn_status(&conn, &s);
        cr_assert(s.may_cross);
    }
    memcpy(other, decline, sizeof decline);
    cr_assert_eq(smcr_conn_tcp_input(&conn, other, sizeof other, 0), sizeof decline);
    cr_assert_eq(smcr_conn_tcp_input(&conn, decline, sizeof decline, 0), 0, "it comes once");
    smcr_conn_status(&conn, &s);
    cr_assert_not(s.may_cross);
    for (unsigned at = 0; at < sizeof decline; at++) {
        bool may_differ = at == 7 || (at >= 16 && at < 24);
        memcpy(other, decline, sizeof decline);
        other[at] ^= 1;
        conn.declined = SMCR_DECLINED_CROSSING;
        cr_assert_eq(smcr_conn_tcp_input(&conn, other, at + 1, 0),
                     at + 1 == sizeof decline && may_differ ? 28 : 0);
        cr_assert_eq(conn.declined == SMCR_DECLINED_CROSSING, may_differ, "byte %u", at);
    }
}

/* Both fell back, and bytes go both ways; or each has SMC-R, or an RST. One alone in FALLBACK is past
 * saving if the other end is past its point of no return (SMCR-FBK-04): then TCP is reset. */
static void expect_an_end(struct pair *pair, struct pair_conn *c, unsigned us)
{
    struct smcr_conn_status s[2];
    for (unsigned node = 0; node < 2; node++) {
        smcr_conn_status(c->end[node].conn, &s[node]);
        cr_assert(s[node].fallback || s[node].closed || s[node].established, "%u us: node %u hangs", us,
                  node);
    }
    if (s[0].fallback && s[1].fallback) {
        cr_assert_neq(s[0].declined_by_peer, s[1].declined_by_peer, "%u us: two Declines crossed", us);
        cr_assert(pair_transfer(pair, &c->end[0], 1000, PAIR_S), "%u us", us);
        cr_assert(pair_transfer(pair, &c->end[1], 1000, PAIR_S), "%u us", us);
        return;
    }
    for (unsigned node = 0; node < 2; node++) {
        if (!s[node].fallback)
            continue;
        cr_assert(s[!node].closed && c->end[!node].reset_sent, "%u us: only node %u uses TCP", us, node);
        cr_assert_eq(c->end[node].plain_bytes, 0, "%u us: a CLC byte is read as data", us);
    }
}

/* The path dies at every moment of a first contact, with one port or two: nothing hangs, and what falls
 * back is not followed by a Decline that crossed it.
 * covers: SMCR-FBK-05, SMCR-FBK-02, SMCR-FBK-04, SMCR-FC-22, SMCR-CLC-11 */
Test(handshake_pair, SMCR_FBK_05_the_link_dies_at_every_moment)
{
    for (unsigned us = 0; us < 220; us += 2) {
        for (unsigned kind = 0; kind < 4; kind++) {
            unsigned ports = 1 + kind / 2;
            struct pair *pair = pair_new(&(struct pair_config){.seed = 1 + us, .ports = {ports, ports}});
            struct pair_conn *c = pair_open(pair, 0);
            pair_run_for(pair, us * PAIR_US);
            for (unsigned p = 0; p < ports; p++)
                pair_cut(pair, us / 2 & 1, p, kind & 1);
            pair_run_for(pair, 20 * PAIR_S);
            expect_an_end(pair, c, us);
            finish(pair);
        }
    }
}
