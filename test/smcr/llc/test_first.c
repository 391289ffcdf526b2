/* SPDX-License-Identifier: BSD-2-Clause */
/* The LLC part of a first contact, against a peer that goes wrong at each step: SMCR-FC-09 to FC-19, REC-04.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/smcr/played.h"

#define TIMEOUT (5 * PAIR_S + 500 * PAIR_MS) /* of T1..T4, and a little */

static const struct pair_config one_port = {.ports = {1, 1}}, two_ports = {.ports = {2, 2}};

/* The instance's connection ended with RST, and nothing of the group is left. */
static void was_reset(struct played *t, uint64_t within_ns)
{
    pair_run_for(t->pair, within_ns);
    struct pair_end *end = pair_other(t->conn.end);
    cr_assert(end->events & SMCR_EVENT_RESET);
    cr_assert(end->reset_sent);
    cr_assert_null(played_group(t));
    played_end(t);
}

static void fell_back(struct played *t, uint64_t within_ns)
{
    pair_run_for(t->pair, within_ns);
    struct pair_end *end = pair_other(t->conn.end);
    cr_assert(end->events & SMCR_EVENT_FALLBACK);
    cr_assert_not(end->reset_sent);
    cr_assert_null(played_group(t));
    played_end(t);
}

static void is_open(struct played *t, enum smcr_redundancy redundancy)
{
    cr_assert(played_status(t).established);
    cr_assert_eq(played_group(t)->state, SMCR_GROUP_USABLE);
    cr_assert_eq(smcr_group_redundancy(played_group(t)), redundancy);
    played_end(t);
}

/* --- what goes well: also SMCR-LLC-04, LLC-05 --- */

/* covers: SMCR-FC-09, SMCR-FC-12, SMCR-FC-13, SMCR-LLC-20, SMCR-ARC-20, SMCR-ALK-01 */
Test(llc_first, SMCR_FC_09_a_server_confirms_the_link_and_offers_another)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct smcr_confirm_link cl;
    struct smcr_add_link al;
    played_begin_clc(&t, SMCR_SERVER, two_ports);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_LINK, false, m);
    smcr_confirm_link_get(&cl, m);
    cr_assert_arr_eq(cl.mac, t.conn.theirs.mac, 6);
    cr_assert_arr_eq(cl.gid, t.conn.theirs.gid, 16);
    cr_assert_eq(cl.qpn, t.conn.theirs.qpn);
    cr_assert_eq(cl.link, 1, "numbers begin with 1: SMCR-ARC-19");
    cr_assert_eq(cl.max_links, 2);
    cr_assert_eq(cl.link_user_id, played_link(&t, 1)->user_id);
    t.peer.link[0].number = cl.link;
    peer_confirm_link(&t.peer, 0, true, m);
    played_send(&t, 0, m);
    cr_assert_eq(played_link(&t, 1)->peer_user_id, 0x0bad0001);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, false, m);
    smcr_add_link_get(&al, m);
    cr_assert_eq(al.link, 2);
    cr_assert_arr_neq(al.mac, cl.mac, 6, "on the other RNIC");
    const struct smcr_link *second = played_link(&t, 2);
    cr_assert_eq(al.psn, second->local.psn);
    cr_assert_not_null(played_group(&t)->rmbs->mr[second->slot], "the RMB is registered for it already");
    cr_assert_neq(second->user_id, played_link(&t, 1)->user_id);
    cr_assert_not(played_status(&t).established, "SMCR-FC-11");
    played_end(&t);
}

/* covers: SMCR-FC-10, SMCR-FC-08, SMCR-QP-03, SMCR-LLC-22, SMCR-ARC-15 */
Test(llc_first, SMCR_FC_10_a_client_answers_with_its_end_and_the_same_number)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct smcr_confirm_link cl;
    played_begin_clc(&t, SMCR_CLIENT, one_port);
    cr_assert_eq(roce_qp_state(played_group(&t)->links[0].qp), NORNIC_QPS_RTR, "before Confirm left");
    t.peer.link[0].number = 9;
    peer_confirm_link(&t.peer, 0, false, m);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_LINK, true, m);
    smcr_confirm_link_get(&cl, m);
    cr_assert_eq(cl.link, 9);
    cr_assert_eq(cl.qpn, t.conn.theirs.qpn);
    cr_assert_eq(cl.max_links, 2);
    cr_assert_arr_eq(cl.mac, t.conn.theirs.mac, 6);
    cr_assert_eq(roce_qp_state(played_link(&t, 9)->qp), NORNIC_QPS_RTS);
    cr_assert_not(played_status(&t).established, "SMCR-FC-11: the second link was not attempted yet");
    played_end(&t);
}

/* covers: SMCR-FC-16, SMCR-FC-19, SMCR-ARC-07, SMCR-ALK-10 */
Test(llc_first, SMCR_FC_16_a_rejection_leaves_a_usable_group_with_one_link)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 1);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_FREE);
    cr_assert_null(played_group(&t)->rmbs->mr[1]);
    is_open(&t, SMCR_SINGLE);
}

/* covers: SMCR-FC-14, SMCR-FC-16, SMCR-ALK-05 */
Test(llc_first, SMCR_FC_14_a_client_with_one_RNIC_rejects_what_would_be_parallel)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct smcr_add_link answer;
    played_begin(&t, SMCR_CLIENT, 1);
    played_make_link(&t, 1, 0); /* and so says its answer, here to an offer that comes later */
    t.peer.link[1].number = 2;
    peer_add_link(&t.peer, 1, false, m);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, true, m);
    smcr_add_link_get(&answer, m);
    cr_assert(answer.rejected);
    cr_assert_eq(answer.reason, SMCR_ADD_LINK_NO_PATH);
    cr_assert_eq(answer.link, 2);
    is_open(&t, SMCR_SINGLE);
}

/* covers: SMCR-FC-15, SMCR-FC-17, SMCR-FC-19, SMCR-ALK-07, SMCR-ALK-08, SMCR-LLC-36, SMCR-LLC-04,
 * SMCR-LLC-20 */
Test(llc_first, SMCR_FC_17_two_links_from_both_sides)
{
    for (unsigned role = 0; role < 2; role++) {
        struct played t;
        played_begin(&t, (enum smcr_role)role, 2);
        struct smcr_group *group = played_group(&t);
        const struct smcr_link *second = played_link(&t, 2);
        cr_assert_eq(second->state, SMCR_LINK_ACTIVE);
        cr_assert(group->peer_rmbs->token[second->slot].is_known);
        cr_assert_eq(group->peer_rmbs->token[second->slot].rkey, played_rkey(&t, 1));
        cr_assert_eq(t.peer.link[1].rkey, group->rmbs->mr[second->slot]->rkey);
        cr_assert_neq(t.peer.link[1].rkey, t.peer.link[0].rkey);
        is_open(&t, SMCR_SYMMETRIC);
    }
}

/* --- the client's decision --- */

struct decision {
    unsigned server_ports, client_ports;
    enum smcr_redundancy server, client;
};

/* covers: SMCR-FC-14, SMCR-ALK-05, SMCR-ARC-11, SMCR-ARC-13 */
Test(llc_first, SMCR_FC_14_the_four_combinations_of_RNICs)
{
    static const struct decision rows[] = {
        {1, 1, SMCR_SINGLE, SMCR_SINGLE},
        {1, 2, SMCR_ASYMMETRIC_LOCAL, SMCR_ASYMMETRIC_PEER},
        {2, 2, SMCR_SYMMETRIC, SMCR_SYMMETRIC},
        {2, 1, SMCR_ASYMMETRIC_PEER, SMCR_ASYMMETRIC_LOCAL},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct pair_config config = {.ports = {rows[i].client_ports, rows[i].server_ports}};
        struct pair *pair = pair_new(&config);
        cr_assert_not_null(pair_connect(pair, 0));
        pair_run_for(pair, PAIR_MS);
        cr_assert_eq(smcr_group_redundancy(pair->node[0].smcr->groups), rows[i].client, "row %zu", i);
        cr_assert_eq(smcr_group_redundancy(pair->node[1].smcr->groups), rows[i].server, "row %zu", i);
        cr_assert_null(pair_free(pair));
    }
}

/* --- the rows of SMCR-REC-04 that belong to a first contact --- */

/* covers: SMCR-REC-04.0, SMCR-REC-01, SMCR-REC-03, SMCR-FBK-01 */
Test(llc_first, row_0_no_CONFIRM_LINK)
{
    struct played t;
    played_begin_clc(&t, SMCR_CLIENT, one_port);
    pair_run_for(t.pair, 4900 * PAIR_MS);
    cr_assert_not_null(played_group(&t), "T1 is 5 s");
    was_reset(&t, 200 * PAIR_MS);
}

/* covers: SMCR-REC-04.1 */
Test(llc_first, row_1_no_response_to_the_first_CONFIRM_LINK)
{
    struct played t;
    played_begin_clc(&t, SMCR_SERVER, one_port);
    pair_run_for(t.pair, 4900 * PAIR_MS);
    cr_assert_not_null(played_group(&t), "T2 is 5 s");
    was_reset(&t, 200 * PAIR_MS);
}

/* covers: SMCR-FBK-01, SMCR-REC-02, SMCR-QP-06, SMCR-FBK-06 */
Test(llc_first, SMCR_FBK_01_row_6_a_CONFIRM_LINK_that_does_not_arrive_is_a_Decline)
{
    struct pair_config config = one_port;
    config.scripted[0] = true;
    config.seed = 9;
    struct pair *pair = pair_new(&config);
    struct peer peer;
    struct peer_conn conn;
    peer_init(&peer, pair, 0, SMCR_CLIENT);
    pair_cut(pair, 0, 0, false); /* RoCE is dead from the start, TCP is not */
    cr_assert(peer_contact_clc(&peer, &conn));
    uint64_t from_ns = pair->now_ns;
    uint8_t m[SMCR_CLC_MAX_BYTES];
    cr_assert_eq(peer_clc_wait(conn.end, m, sizeof m, 3 * PAIR_S), SMCR_DECLINE_BYTES);
    cr_assert_lt(pair->now_ns - from_ns, 2 * PAIR_S, "SMCR-QP-06: the RC retries end within 2 s");
    cr_assert(pair_other(conn.end)->events & SMCR_EVENT_FALLBACK);
    pair_run_for(pair, PAIR_MS);
    cr_assert_null(pair->node[1].smcr->groups);
    peer_deinit(&peer);
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-REC-20, SMCR-LLC-21, SMCR-FBK-01 */
Test(llc_first, SMCR_REC_20_a_client_declines_a_CONFIRM_LINK_for_another_link)
{
    static const unsigned wrong_bytes[] = {4, 10, 25, 28}; /* MAC, GID, QPN */
    for (size_t i = 0; i < array_len(wrong_bytes); i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin_clc(&t, SMCR_CLIENT, one_port);
        peer_confirm_link(&t.peer, 0, false, m);
        m[wrong_bytes[i]] ^= 1;
        played_send(&t, 0, m);
        uint8_t clc[SMCR_CLC_MAX_BYTES];
        cr_assert_eq(peer_clc_wait(t.conn.end, clc, sizeof clc, 2 * PAIR_S), SMCR_DECLINE_BYTES);
        fell_back(&t, PAIR_MS);
    }
}

/* covers: SMCR-LLC-22, SMCR-ARC-19 */
Test(llc_first, SMCR_LLC_22_a_server_that_allows_one_link_or_numbers_it_0_is_wrong)
{
    for (unsigned i = 0; i < 2; i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin_clc(&t, SMCR_CLIENT, one_port);
        peer_confirm_link(&t.peer, 0, false, m);
        m[i ? 34 : 29] = i ? 1 : 0;
        played_send(&t, 0, m);
        fell_back(&t, 2 * PAIR_S);
    }
}

/* covers: SMCR-LLC-21, SMCR-REC-20 */
Test(llc_first, SMCR_LLC_21_a_server_checks_the_response)
{
    static const unsigned wrong_bytes[] = {4, 10, 28, 29}; /* MAC, GID, QPN, link number */
    for (size_t i = 0; i < array_len(wrong_bytes); i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin_clc(&t, SMCR_SERVER, one_port);
        played_expect(&t, 0, SMCR_LLC_CONFIRM_LINK, false, NULL);
        t.peer.link[0].number = 1;
        peer_confirm_link(&t.peer, 0, true, m);
        m[wrong_bytes[i]] ^= 1;
        played_send(&t, 0, m);
        was_reset(&t, PAIR_MS); /* its CONFIRM LINK had arrived: no way back (A4) */
    }
}

/* covers: SMCR-REC-04.4 */
Test(llc_first, row_4_no_ADD_LINK)
{
    struct played t;
    played_begin_clc(&t, SMCR_CLIENT, one_port);
    cr_assert(peer_contact_confirm(&t.peer));
    pair_run_for(t.pair, 4900 * PAIR_MS);
    cr_assert_not_null(played_group(&t), "T3 is 5 s");
    was_reset(&t, 200 * PAIR_MS);
}

/* covers: SMCR-REC-04.5, SMCR-FC-16 */
Test(llc_first, row_5_no_response_to_ADD_LINK)
{
    struct played t;
    played_begin_clc(&t, SMCR_SERVER, one_port);
    cr_assert(peer_contact_confirm(&t.peer));
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, false, NULL);
    pair_run_for(t.pair, 4900 * PAIR_MS);
    cr_assert_not_null(played_group(&t), "T4 is 5 s");
    was_reset(&t, 200 * PAIR_MS);
}

/* The second link up to the client's ADD LINK response. `t` plays the server. */
static void offer_second(struct played *t)
{
    uint8_t m[SMCR_MSG_BYTES];
    played_begin_clc(t, SMCR_CLIENT, two_ports);
    cr_assert(peer_contact_confirm(&t->peer));
    peer_make_link(&t->peer, 1, 1);
    t->peer.link[1].number = 2;
    peer_add_link(&t->peer, 1, false, m);
    played_send(t, 0, m);
    played_expect(t, 0, SMCR_LLC_ADD_LINK, true, m);
    played_join_link(t, 1, m);
}

/* And up to the last CONTINUATION. */
static void exchange_tokens(struct played *t)
{
    uint8_t m[SMCR_MSG_BYTES];
    offer_second(t);
    peer_add_link_cont(&t->peer, 1, false, m);
    played_send(t, 0, m);
    played_expect(t, 0, SMCR_LLC_ADD_LINK_CONT, true, NULL);
}

/* covers: SMCR-REC-04.7 */
Test(llc_first, row_7_no_CONTINUATION)
{
    struct played t;
    offer_second(&t);
    was_reset(&t, TIMEOUT);
}

/* covers: SMCR-REC-04.11 */
Test(llc_first, row_11_no_further_CONTINUATION)
{
    struct played t;
    offer_second(&t);
    played_owe_tokens(&t, 1);
    pair_run_for(t.pair, 4900 * PAIR_MS);
    cr_assert_not_null(played_group(&t), "5 s anew");
    was_reset(&t, 200 * PAIR_MS);
}

/* covers: SMCR-REC-24 */
Test(llc_first, SMCR_REC_24_a_pair_that_comes_twice_ends_the_first_contact)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    offer_second(&t);
    peer_add_link_cont(&t.peer, 1, false, m);
    m[5] = 3;
    memcpy(m + 24, m + 8, 16);
    played_send(&t, 0, m);
    pair_run_for(t.pair, 10 * PAIR_MS); /* the carrying link is out */
    cr_assert_null(played_group(&t));
    was_reset(&t, PAIR_MS);
}

/* covers: SMCR-REC-04.8, SMCR-FC-18, SMCR-FC-19, SMCR-FC-11, SMCR-DLK-04 */
Test(llc_first, row_8_no_CONFIRM_LINK_on_the_second_link)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    exchange_tokens(&t);
    struct raw_message raw;
    cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_DELETE_LINK, false, &raw, TIMEOUT));
    cr_assert_eq(raw.bytes[4], 2);
    cr_assert_not(played_status(&t).established, "not before the server's DELETE LINK was answered");
    played_delete_link(m, 2, SMCR_DELETE_LOST_PATH, 0);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, true, m);
    cr_assert_eq(m[4], 2);
    cr_assert_eq(m[5] | m[6] | m[7] | m[8], 0);
    pair_run_for(t.pair, PAIR_MS);
    is_open(&t, SMCR_SINGLE);
}

/* covers: SMCR-REC-04.13 */
Test(llc_first, row_13_nor_a_DELETE_LINK_after_that)
{
    struct played t;
    exchange_tokens(&t);
    was_reset(&t, 2 * TIMEOUT);
}

/* A server that offers another link while it has not done with the last: nobody waits for ever.
 * covers: SMCR-REC-29, SMCR-SER-02 */
Test(llc_first, SMCR_REC_29_a_second_ADD_LINK_ends_the_first_contact)
{
    for (unsigned step = 0; step < 2; step++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        if (step == 0)
            offer_second(&t);
        else
            exchange_tokens(&t);
        peer_add_link(&t.peer, 1, false, m);
        m[29] = 3;
        played_send(&t, 0, m);
        pair_run_for(t.pair, 10 * PAIR_MS);
        cr_assert_null(played_group(&t));
        was_reset(&t, PAIR_MS);
    }
}

/* As the client: the server's second link up to its CONFIRM LINK there. */
static void answer_second(struct played *t)
{
    uint8_t m[SMCR_MSG_BYTES];
    played_begin_clc(t, SMCR_SERVER, two_ports);
    cr_assert(peer_contact_confirm(&t->peer));
    played_expect(t, 0, SMCR_LLC_ADD_LINK, false, m);
    peer_make_link(&t->peer, 1, 1);
    played_join_link(t, 1, m);
}

/* covers: SMCR-REC-04.2, SMCR-FC-18, SMCR-FC-19, SMCR-DLK-03 */
Test(llc_first, row_2_no_response_to_CONFIRM_LINK_on_the_second_link)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    answer_second(&t);
    peer_add_link(&t.peer, 1, true, m);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK_CONT, false, NULL);
    peer_add_link_cont(&t.peer, 1, true, m);
    played_send(&t, 0, m);
    played_expect(&t, 1, SMCR_LLC_CONFIRM_LINK, false, NULL);
    struct raw_message raw;
    cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_DELETE_LINK, false, &raw, TIMEOUT));
    cr_assert_eq(raw.bytes[4], 2);
    cr_assert_not(played_status(&t).established, "SMCR-FC-18: not before it is acknowledged");
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_DOWN, "kept until then: SMCR-DLK-03");
    played_delete_link(m, 2, 0, 0x80);
    played_send(&t, 0, m);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_FREE);
    is_open(&t, SMCR_SINGLE);
}

/* covers: SMCR-REC-04.10 */
Test(llc_first, row_10_no_response_to_CONTINUATION)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    answer_second(&t);
    peer_add_link(&t.peer, 1, true, m);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK_CONT, false, NULL);
    was_reset(&t, TIMEOUT);
}

/* covers: SMCR-ALK-06, SMCR-REC-22, SMCR-ARC-12, SMCR-FC-18 */
Test(llc_first, SMCR_ALK_06_a_server_deletes_a_link_that_would_be_parallel)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct pair_config config = {.ports = {1, 1}}; /* the server offers its only RNIC again */
    played_begin_clc(&t, SMCR_SERVER, config);
    cr_assert(peer_contact_confirm(&t.peer));
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, false, NULL);
    peer_make_link(&t.peer, 1, 0); /* and so does the peer */
    t.peer.link[1].number = 2;
    peer_add_link(&t.peer, 1, true, m);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, m);
    cr_assert_eq(m[4], 2);
    cr_assert_not(played_status(&t).established);
    played_delete_link(m, 2, 0, 0x80);
    played_send(&t, 0, m);
    is_open(&t, SMCR_SINGLE);
}

/* covers: SMCR-LLC-31, SMCR-REC-21 */
Test(llc_first, SMCR_LLC_31_a_reserved_MTU_is_rejected_with_reason_2)
{
    static const uint8_t reserved[] = {0, 6, 15};
    for (size_t i = 0; i < sizeof reserved; i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin_clc(&t, SMCR_CLIENT, two_ports);
        cr_assert(peer_contact_confirm(&t.peer));
        peer_make_link(&t.peer, 1, 1);
        t.peer.link[1].number = 2;
        peer_add_link(&t.peer, 1, false, m);
        m[30] = reserved[i];
        played_send(&t, 0, m);
        played_expect(&t, 0, SMCR_LLC_ADD_LINK, true, m);
        cr_assert_eq(m[3], 0xc0);
        cr_assert_eq(m[2], SMCR_ADD_LINK_BAD_MTU);
        is_open(&t, SMCR_SINGLE);
    }
}

/* covers: SMCR-FC-23 */
Test(llc_first, SMCR_FC_23_a_server_without_resources_for_the_second_link_declines)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin_clc(&t, SMCR_SERVER, one_port);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_LINK, false, NULL);
    t.pair->node[t.me].dev_alloc.calls = 0;
    t.pair->node[t.me].dev_alloc.fail_at = 1;
    t.peer.link[0].number = 1;
    peer_confirm_link(&t.peer, 0, true, m);
    played_send(&t, 0, m);
    t.pair->node[t.me].dev_alloc.fail_at = 0;
    uint8_t clc[SMCR_CLC_MAX_BYTES];
    cr_assert_eq(peer_clc_wait(t.conn.end, clc, sizeof clc, PLAYED_SOON), SMCR_DECLINE_BYTES);
    fell_back(&t, PAIR_MS);
}

/* covers: SMCR-FBK-03, SMCR-FC-22, SMCR-LLC-62 */
Test(llc_first, SMCR_LLC_62_TEST_LINK_is_answered_in_a_first_contact_too)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES], answer[SMCR_MSG_BYTES];
    played_begin_clc(&t, SMCR_SERVER, one_port);
    pair_run_for(t.pair, PAIR_MS);
    played_test_link(m, 0x77);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_TEST_LINK, true, answer);
    m[3] |= 0x80;
    cr_assert_arr_eq(answer, m, SMCR_MSG_BYTES);
    played_end(&t);
}

/* --- the most links: SMCR-ARC-14 to ARC-17 --- */

static unsigned settled(uint8_t server_max, uint8_t client_max)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct pair_config config = {.ports = {1, 1}, .smcr[1].max_links = server_max};
    played_begin_clc(&t, SMCR_SERVER, config);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_LINK, false, m);
    cr_assert_eq(m[34], server_max);
    t.peer.link[0].number = 1;
    peer_confirm_link(&t.peer, 0, true, m);
    m[34] = client_max;
    played_send(&t, 0, m);
    unsigned max_links = played_group(&t)->max_links;
    played_end(&t);
    return max_links;
}

/* covers: SMCR-ARC-15, SMCR-LLC-22 */
Test(llc_first, SMCR_ARC_15_the_smaller_maximum_counts)
{
    cr_assert_eq(settled(3, 0), 3, "0: take the server's");
    cr_assert_eq(settled(3, 2), 2);
    cr_assert_eq(settled(3, 5), 3, "above the server's is not valid");
    cr_assert_eq(settled(8, 8), 8);
    cr_assert_eq(settled(3, 1), 2, "nor is below 2");
}

/* covers: SMCR-ARC-15, SMCR-ARC-14 */
Test(llc_first, SMCR_ARC_15_a_client_answers_with_the_smaller_maximum)
{
    static const uint8_t rows[][3] = {{4, 2, 2}, {2, 8, 2}, {8, 9, 8}, {3, 3, 3}}; /* own, server's, answer */
    for (size_t i = 0; i < array_len(rows); i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        struct pair_config config = {.ports = {1, 1}, .smcr[0].max_links = rows[i][0]};
        played_begin_clc(&t, SMCR_CLIENT, config);
        t.peer.link[0].number = 1;
        peer_confirm_link(&t.peer, 0, false, m);
        m[34] = rows[i][1];
        played_send(&t, 0, m);
        played_expect(&t, 0, SMCR_LLC_CONFIRM_LINK, true, m);
        cr_assert_eq(m[34], rows[i][2], "row %zu", i);
        cr_assert_eq(played_group(&t)->max_links, rows[i][2]);
        played_end(&t);
    }
}
