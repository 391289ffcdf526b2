/* SPDX-License-Identifier: BSD-2-Clause */
/* DELETE LINK, of one link and of all: SMCR sections 11.2 and 18. */
#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "test/smcr/played.h"
#include "test/smcr/steps.h"

/* The connection sends over this link number of the instance. */
static unsigned sends_over(const struct played *t)
{
    const struct smcr_conn *conn = pair_other(t->conn.end)->conn;
    return conn->link ? conn->link->number : 0;
}

/* covers: SMCR-DLK-04, SMCR-LLC-41, SMCR-LLC-42, SMCR-DLK-02, SMCR-FOV-07 */
Test(llc_delete, SMCR_DLK_04_a_client_moves_answers_and_frees)
{
    for (uint8_t number = 1; number <= 2; number++) { /* the one that its connection uses, and the other */
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin(&t, SMCR_CLIENT, 2);
        unsigned via = number == 1 ? 1 : 0;
        bool moves = sends_over(&t) == number;
        played_delete_link(m, number, SMCR_DELETE_LOST_PATH, 0);
        played_send(&t, via, m);
        played_expect(&t, via, SMCR_LLC_DELETE_LINK, true, m);
        cr_assert_eq(m[3], 0x80);
        cr_assert_eq(m[4], number);
        cr_assert_eq(get_be32(m + 5), 0, "no reason: it is fine");
        cr_assert_eq(sends_over(&t), via + 1);
        cr_assert_eq(t.pair->node[0].sent[SMCR_CDC], moves, "F if it moved");
        cr_assert_eq(played_state(&t, number), SMCR_LINK_FREE, "once the response was delivered");
        cr_assert(played_status(&t).established);
        played_end(&t);
    }
}

/* covers: SMCR-DLK-04 */
Test(llc_delete, SMCR_DLK_04_the_target_stays_until_the_response_was_delivered)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 2);
    played_delete_link(m, 2, SMCR_DELETE_LOST_PATH, 0);
    raw_send(t.peer.link[0].raw, m, SMCR_MSG_BYTES);
    pair_run_for(t.pair, 7 * PAIR_US); /* there after 5, and the acknowledgement is at 15 */
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_DOWN);
    pair_run_for(t.pair, 10 * PAIR_US);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_FREE);
    played_end(&t);
}

/* covers: SMCR-DLK-07, SMCR-LLC-41, SMCR-REC-25 */
Test(llc_delete, SMCR_DLK_07_an_unknown_link_is_said_to_be_unknown)
{
    for (unsigned role = 0; role < 2; role++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin(&t, (enum smcr_role)role, 2);
        played_delete_link(m, 9, SMCR_DELETE_LOST_PATH, 0);
        played_send(&t, 0, m);
        played_expect(&t, 0, SMCR_LLC_DELETE_LINK, true, m);
        cr_assert_eq(m[4], 9);
        cr_assert_arr_eq(m + 5, ((uint8_t[]){0x00, 0x10, 0x00, 0x00}), 4);
        cr_assert_eq(smcr_group_redundancy(played_group(&t)), SMCR_SYMMETRIC);
        played_end(&t);
    }
}

/* covers: SMCR-DLK-05, SMCR-DLK-06, SMCR-DLK-03, SMCR-DLK-09, SMCR-DLK-10, SMCR-FOV-02 */
Test(llc_delete, SMCR_DLK_05_a_server_acts_at_once_on_a_disorderly_request)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    unsigned target = sends_over(&t), via = target == 1 ? 1 : 0;
    played_delete_link(m, (uint8_t)target, SMCR_DELETE_LOST_PATH, 0);
    played_send(&t, via, m);
    played_expect(&t, via, SMCR_LLC_DELETE_LINK, false, m);
    cr_assert_eq(m[3], 0, "a request of its own, no response");
    cr_assert_eq(m[4], target);
    cr_assert_eq(t.pair->node[t.me].sent[SMCR_LLC_DELETE_LINK], 1, "and nothing else");
    cr_assert_eq(played_state(&t, (uint8_t)target), SMCR_LINK_DOWN, "kept until the answer: SMCR-DLK-03");
    cr_assert_eq(sends_over(&t), via + 1);
    played_delete_link(m, (uint8_t)target, 0, 0x80);
    played_send(&t, via, m);
    cr_assert_eq(played_state(&t, (uint8_t)target), SMCR_LINK_FREE);
    played_expect(&t, via, SMCR_LLC_ADD_LINK, false, NULL); /* SMCR-DLK-10, ALK-01 */
    played_end(&t);
}

/* The reasons for which a server deletes a link, its message to the client, and its wait for the answer. */
/* covers: SMCR-DLK-01, SMCR-DLK-03, SMCR-LLC-40 */
Test(llc_delete, SMCR_DLK_01_a_server_deletes_what_is_idle_broken_or_taken_down)
{
    enum why { IDLE, RNIC_DOWN, RNIC_REMOVED, QP_BROKEN, SOFTWARE, WHYS };
    static const struct {
        uint32_t reason;
        uint8_t flags; /* byte 3 */
    } told[WHYS] = {
        [IDLE] = {SMCR_DELETE_INACTIVE, 0x20},       [RNIC_DOWN] = {SMCR_DELETE_LOST_PATH, 0},
        [RNIC_REMOVED] = {SMCR_DELETE_LOST_PATH, 0}, [QP_BROKEN] = {SMCR_DELETE_LOST_PATH, 0},
        [SOFTWARE] = {SMCR_DELETE_PROTOCOL, 0},
    };
    for (enum why why = 0; why < WHYS; why++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES] = {0};
        played_begin(&t, SMCR_SERVER, 2);
        uint8_t target = sends_over(&t) == 2 ? 1 : 2; /* nobody uses it, and redundancy is there */
        unsigned via = target == 1 ? 1 : 0;
        switch (why) {
        case IDLE:
            step_delete_link(played_link(&t, target), SMCR_DELETE_INACTIVE, true, t.pair->now_ns);
            break;
        case RNIC_DOWN:
            pair_cut(t.pair, t.me, target - 1, true);
            break;
        case RNIC_REMOVED:
            cr_assert_eq(target, 2);
            pair_remove_port(t.pair, t.me);
            break;
        case QP_BROKEN:
            raw_break(t.peer.link[target - 1].raw);
            step_test_link(played_link(&t, target), t.pair->now_ns);
            pair_run_for(t.pair, 2 * PAIR_S);
            break;
        case SOFTWARE: /* a CONFIRM LINK that nothing led to */
            peer_confirm_link(&t.peer, target - 1, false, m);
            played_send(&t, target - 1, m);
            break;
        case WHYS:
            break;
        }
        played_expect(&t, via, SMCR_LLC_DELETE_LINK, false, m);
        cr_assert_eq(m[3], told[why].flags, "%u: 0x%02x", why, m[3]);
        cr_assert_eq(m[4], target);
        cr_assert_eq(get_be32(m + 5), told[why].reason, "%u: 0x%x", why, get_be32(m + 5));
        cr_assert_neq(played_state(&t, target), SMCR_LINK_ACTIVE);
        cr_assert_neq(played_state(&t, target), SMCR_LINK_FREE, "%u: kept until the answer", why);
        played_delete_link(m, target, 0, 0x80);
        played_send(&t, via, m);
        cr_assert_neq(played_state(&t, target), SMCR_LINK_DOWN);
        cr_assert(played_status(&t).established);
        cr_assert_eq(played_status(&t).error, 0);
        played_end(&t);
    }
}

/* covers: SMCR-DLK-05, SMCR-FOV-15 */
Test(llc_delete, SMCR_DLK_05_a_server_lets_connections_leave_on_an_orderly_request)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    unsigned target = sends_over(&t), via = target == 1 ? 1 : 0;
    raw_break(t.peer.link[target - 1].raw); /* its posts do not end for a while */
    cr_assert_gt(pair_pump(pair_other(t.conn.end), 100, 0), 0);
    played_delete_link(m, (uint8_t)target, SMCR_DELETE_OPERATOR, 0x20);
    played_send(&t, via, m);
    cr_assert_eq(played_state(&t, (uint8_t)target), SMCR_LINK_DELETING, "it waits for the posts");
    played_expect_none(&t, via, SMCR_LLC_DELETE_LINK, false, PAIR_MS);
    struct raw_message raw;
    cr_assert(raw_wait(t.peer.link[via].raw, SMCR_LLC_DELETE_LINK, false, &raw, 2100 * PAIR_MS));
    cr_assert_eq(sends_over(&t), via + 1, "in the end by force");
    played_end(&t);
}

/* Long before the posts on the silent link have failed: the server waits no longer for them. The
 * server then sends its request, the client its response.
 * covers: SMCR-DLK-05, SMCR-DLK-04 */
Test(llc_delete, SMCR_DLK_05_what_does_not_drain_in_time_is_taken_down)
{
    for (unsigned role = 0; role < 2; role++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        struct raw_message raw;
        struct smcr_times times = {.llc_ns = 400 * PAIR_MS};
        struct pair_config config = {.smcr = {{.times = times}, {.times = times}}};
        played_begin_with(&t, (enum smcr_role)role, 2, config);
        unsigned target = sends_over(&t), via = target == 1 ? 1 : 0;
        raw_break(t.peer.link[target - 1].raw);
        cr_assert_eq(pair_pump(pair_other(t.conn.end), 100, 0), 100);
        played_delete_link(m, (uint8_t)target, SMCR_DELETE_OPERATOR, 0x20);
        played_send(&t, via, m);
        cr_assert_eq(played_state(&t, (uint8_t)target), SMCR_LINK_DELETING);
        bool is_response = role == SMCR_CLIENT;
        cr_assert(raw_wait(t.peer.link[via].raw, SMCR_LLC_DELETE_LINK, is_response, &raw, 450 * PAIR_MS));
        cr_assert_eq(sends_over(&t), via + 1);
        played_end(&t);
    }
}

/* covers: SMCR-DLK-07 */
Test(llc_delete, SMCR_DLK_07_a_server_ignores_requests_for_what_it_deletes_already)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    for (unsigned i = 0; i < 3; i++) {
        played_delete_link(m, 2, SMCR_DELETE_LOST_PATH, 0);
        played_send(&t, 0, m);
    }
    played_answer_delete(&t, 0, 2);
    played_expect_none(&t, 0, SMCR_LLC_DELETE_LINK, false, PAIR_MS);
    played_end(&t);
}

/* covers: SMCR-DLK-05, SMCR-DLK-06, SMCR-DLK-09, SMCR-FOV-02 */
Test(llc_delete, SMCR_DLK_06_a_client_asks_over_another_link_and_gets_a_request)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 2);
    pair_cut(t.pair, t.me, 1, true);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, m);
    cr_assert_eq(m[3], 0, "disorderly");
    cr_assert_eq(m[4], 2);
    cr_assert_arr_eq(m + 5, ((uint8_t[]){0x00, 0x01, 0x00, 0x00}), 4);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_DOWN);
    played_delete_link(m, 2, SMCR_DELETE_LOST_PATH, 0);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, true, m);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_FREE);
    played_end(&t);
}

/* covers: SMCR-DLK-08, SMCR-REC-23 */
Test(llc_delete, SMCR_DLK_08_a_client_does_not_listen_to_a_link_that_it_wants_deleted)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 2);
    step_delete_link(played_link(&t, 2), SMCR_DELETE_OPERATOR, true, t.pair->now_ns);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, m);
    cr_assert_eq(m[3], 0x20, "orderly: the link goes on until the server deletes it");
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_ACTIVE);
    played_confirm_rkey(m, 0x77, 0x7000, 0);
    played_send(&t, 1, m);
    played_expect_none(&t, 1, SMCR_LLC_CONFIRM_RKEY, true, PAIR_MS);
    cr_assert_eq(played_group(&t)->num_peer_rmbs, 1);
    played_delete_link(m, 0, SMCR_DELETE_OPERATOR, 0x60);
    played_send(&t, 1, m); /* but for this */
    cr_assert_null(played_group(&t));
    played_end(&t);
}

/* covers: SMCR-REC-04.13 */
Test(llc_delete, row_13_a_server_that_does_not_answer_a_clients_DELETE_LINK)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 2);
    pair_cut(t.pair, t.me, 1, true);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, NULL);
    pair_run_for(t.pair, 1900 * PAIR_MS);
    cr_assert_not_null(played_group(&t));
    pair_run_for(t.pair, 200 * PAIR_MS); /* the last link is dead too */
    cr_assert_null(played_group(&t));
    cr_assert(pair_other(t.conn.end)->reset_sent);
    played_end(&t);
}

/* covers: SMCR-REC-04.16 */
Test(llc_delete, row_16_a_client_that_does_not_answer_a_servers_DELETE_LINK)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 2);
    pair_cut(t.pair, t.me, 1, true);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, NULL);
    pair_run_for(t.pair, 1900 * PAIR_MS);
    cr_assert_not_null(played_group(&t));
    pair_run_for(t.pair, 200 * PAIR_MS);
    cr_assert_null(played_group(&t));
    cr_assert(pair_other(t.conn.end)->reset_sent);
    played_end(&t);
}

/* Three links: the one that carried the request is lost; it is repeated over the third, and so is its own. */
/* covers: SMCR-REC-04.13, SMCR-REC-04.16, SMCR-REC-31 */
Test(llc_delete, row_13_and_16_over_a_surviving_link)
{
    for (unsigned who = 0; who < 2; who++) {
        struct pair_config config = {
            .ports = {3, 3}, .topology = PAIR_CABLES, .smcr = {{.max_links = 3}, {.max_links = 3}}};
        struct pair *pair = pair_new(&config);
        struct pair_conn *c = pair_connect(pair, 0);
        pair_run_for(pair, PAIR_MS);
        cr_assert_eq(smcr_group_symmetric_links(pair->node[0].smcr->groups), 3);
        /* The connection moves to the second link, so that the request leaves over the third, which is dead
         * in secret. */
        pair_cut(pair, who, 0, true);
        pair_cut(pair, who, 2, false);
        pair_run_for(pair, 10 * PAIR_S);
        for (unsigned node = 0; node < 2; node++) {
            struct smcr_group *group = pair->node[node].smcr->groups;
            cr_assert_not_null(group);
            cr_assert_eq(group->num_conns, 1);
            for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
                cr_assert_neq(group->links[i].state, SMCR_LINK_DELETING);
                cr_assert_neq(group->links[i].state, SMCR_LINK_DOWN, "node %u: never deleted", node);
            }
        }
        cr_assert(pair_transfer(pair, &c->end[0], 100000, 5 * PAIR_S), "%s", pair->failure);
        cr_assert(pair_transfer(pair, &c->end[1], 100000, 5 * PAIR_S), "%s", pair->failure);
        cr_assert_null(pair_free(pair));
    }
}

/* --- all links: SMCR section 18 --- */

/* covers: SMCR-LGT-03, SMCR-LGT-05, SMCR-SER-01 */
Test(llc_delete, SMCR_LGT_03_a_client_obeys_at_once)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 2);
    played_delete_link(m, 0, SMCR_DELETE_OPERATOR, 0x60);
    played_send(&t, 1, m);
    cr_assert_null(played_group(&t));
    cr_assert(pair_other(t.conn.end)->events & SMCR_EVENT_RESET);
    cr_assert_eq(t.pair->node[0].sent[SMCR_LLC_DELETE_LINK], 0, "nothing answers it: SMCR-LGT-02");
    played_end(&t);
}

/* covers: SMCR-LGT-04 */
Test(llc_delete, SMCR_LGT_04_a_server_complies_with_its_own_and_resets_what_lives)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    played_delete_link(m, 0, SMCR_DELETE_OPERATOR, 0x40);
    played_send(&t, 0, m);
    struct raw_message raw;
    bool first = raw_wait(t.peer.link[0].raw, SMCR_LLC_DELETE_LINK, false, &raw, PAIR_MS);
    cr_assert(first || raw_wait(t.peer.link[1].raw, SMCR_LLC_DELETE_LINK, false, &raw, PAIR_MS));
    cr_assert_eq(raw.bytes[3], 0x40, "not orderly: a connection lives");
    cr_assert_eq(raw.bytes[4], 0);
    cr_assert_eq(get_be32(raw.bytes + 5), SMCR_DELETE_OPERATOR, "the client's reason");
    cr_assert(pair_other(t.conn.end)->reset_sent);
    pair_run_for(t.pair, PAIR_MS);
    cr_assert_null(played_group(&t));
    played_end(&t);
}

/* The last DELETE LINK that node 1 sent. */
static void note_delete(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    if (node->index == 1 && trace->type == SMCR_TRACE_LLC_TX && trace->message[0] == SMCR_LLC_DELETE_LINK)
        memcpy(ctx, trace->message, SMCR_MSG_BYTES);
}

/* covers: SMCR-LGT-01, SMCR-LGT-02, SMCR-ARC-06 */
Test(llc_delete, SMCR_LGT_01_a_server_deletes_a_group_that_was_idle_long_enough)
{
    struct pair_config config = {.ports = {2, 2}, .smcr[1].times.group_idle_ns = 3 * PAIR_S};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    uint32_t qpn = pair->node[1].smcr->groups->links[0].local.qpn;
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_run_for(pair, 2900 * PAIR_MS);
    cr_assert_not_null(c = pair_connect(pair, 0));
    cr_assert_eq(pair->node[1].smcr->groups->links[0].local.qpn, qpn, "the same link again");
    cr_assert_eq(smcr_counters(pair->node[1].smcr)->first_contacts, 1);
    pair_run_for(pair, 10 * PAIR_S);
    cr_assert_not_null(pair->node[1].smcr->groups, "it is in use");
    uint8_t m[SMCR_MSG_BYTES] = {0};
    pair->on_trace = note_delete;
    pair->trace_ctx = m;
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_run_for(pair, 2900 * PAIR_MS);
    cr_assert_not_null(pair->node[0].smcr->groups);
    cr_assert_eq(m[0], 0);
    pair_run_for(pair, 200 * PAIR_MS);
    cr_assert_eq(m[3], 0x60, "all links, orderly: SMCR-LLC-40");
    cr_assert_eq(get_be32(m + 5), SMCR_DELETE_INACTIVE);
    cr_assert_null(pair->node[1].smcr->groups);
    cr_assert_null(pair->node[0].smcr->groups);
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-REC-04.15, SMCR-LGT-06 */
Test(llc_delete, row_15_it_is_torn_down_though_nobody_hears_it)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 2);
    pair_cut(t.pair, !t.me, 0, false);
    pair_cut(t.pair, !t.me, 1, false);
    step_group_end(played_group(&t), true, "test", t.pair->now_ns);
    pair_run_for(t.pair, 1500 * PAIR_MS);
    cr_assert_not_null(played_group(&t), "it tries");
    pair_run_for(t.pair, 2500 * PAIR_MS);
    cr_assert_null(played_group(&t));
    played_end(&t);
}

/* covers: SMCR-REC-04.14 */
Test(llc_delete, row_14_a_client_asks_over_each_link_and_then_tears_down)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 2);
    step_group_end(played_group(&t), true, "test", t.pair->now_ns);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, NULL);
    struct raw_message raw;
    cr_assert(raw_wait(t.peer.link[1].raw, SMCR_LLC_DELETE_LINK, false, &raw, 2100 * PAIR_MS));
    cr_assert_eq(raw.bytes[3] & 0x40, 0x40);
    cr_assert_not_null(played_group(&t));
    pair_run_for(t.pair, 2100 * PAIR_MS);
    cr_assert_null(played_group(&t));
    played_end(&t);
}

/* covers: SMCR-REC-04.14, SMCR-LGT-04 */
Test(llc_delete, row_14_the_servers_DELETE_LINK_ends_it)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 1);
    step_group_end(played_group(&t), true, "test", t.pair->now_ns);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, NULL);
    played_delete_link(m, 0, SMCR_DELETE_OPERATOR, 0x60);
    played_send(&t, 0, m);
    cr_assert_null(played_group(&t));
    played_end(&t);
}

/* While the client waits for the server's own.
 * covers: SMCR-LLC-62, SMCR-LGT-05 */
Test(llc_delete, SMCR_LLC_62_a_group_that_ends_answers_TEST_LINK_and_nothing_else)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 1);
    step_group_end(played_group(&t), true, "test", t.pair->now_ns);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, NULL);
    played_test_link(m, 0x11);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_TEST_LINK, true, NULL);
    played_confirm_rkey(m, 0x77, 0x7000, 0);
    played_send(&t, 0, m);
    played_expect_none(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, PAIR_MS);
    played_end(&t);
}

/* covers: SMCR-LGT-08, SMCR-ARC-19 */
Test(llc_delete, SMCR_LGT_08_numbers_begin_anew_only_with_a_new_group)
{
    struct pair_config config = {.ports = {2, 2}};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    pair_run_for(pair, PAIR_MS);
    struct smcr_group *server = pair->node[1].smcr->groups;
    cr_assert_eq(server->last_link_number, 2);
    for (unsigned i = 0; i < 3; i++) {
        pair_cut(pair, 1, 1, true);
        pair_run_for(pair, 100 * PAIR_MS);
        pair_restore(pair, 1, 1);
        pair_run_for(pair, 100 * PAIR_MS);
    }
    cr_assert_gt(server->last_link_number, 4);
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_run_for(pair, PAIR_MS);
    step_group_end(server, true, "test", pair->now_ns);
    pair_run_for(pair, PAIR_MS);
    cr_assert_not_null(pair_connect(pair, 0));
    cr_assert_eq(pair->node[1].smcr->groups->links[0].number, 1);
    cr_assert_null(pair_free(pair));
}

/* Posts on a link that is silent, when the group ends: nothing of the connection outlives the group, nor the
 * other way round. Nor does an instance that ends in the middle of it.
 * covers: SMCR-LGT-02, SMCR-LGT-04 */
Test(llc_delete, SMCR_LGT_04_connections_with_posts_under_way_end_with_the_group)
{
    for (unsigned destroyed = 0; destroyed < 2; destroyed++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin(&t, SMCR_SERVER, 2);
        struct pair_end *end = pair_other(t.conn.end);
        unsigned silent = sends_over(&t) - 1;
        raw_break(t.peer.link[silent].raw);
        cr_assert_eq(pair_pump(end, 1000, 0), 1000);
        played_delete_link(m, 0, SMCR_DELETE_OPERATOR, 0x40);
        played_send(&t, !silent, m);
        cr_assert(end->reset_sent);
        cr_assert_gt(end->conn->posts, 0, "still under way");
        if (!destroyed) {
            pair_run_for(t.pair, 5 * PAIR_S);
            cr_assert_null(played_group(&t));
            cr_assert(end->events & SMCR_EVENT_CLOSED);
        }
        played_end(&t);
    }
}

/* The link that carries the message is the one that it names: the response goes back over it while it can.
 * covers: SMCR-DLK-04, SMCR-LLC-05 */
Test(llc_delete, SMCR_DLK_04_over_the_link_itself)
{
    for (unsigned silent = 0; silent < 2; silent++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin(&t, SMCR_CLIENT, 2);
        uint8_t number = (uint8_t)sends_over(&t);
        unsigned via = number - 1u;
        played_delete_link(m, number, SMCR_DELETE_LOST_PATH, 0);
        if (silent) {
            cr_assert_eq(pair_pump(pair_other(t.conn.end), 100, 0), 100);
            raw_send(t.peer.link[via].raw, m, SMCR_MSG_BYTES);
            pair_run_for(t.pair, 6 * PAIR_US);
            raw_break(t.peer.link[via].raw);
            pair_run_for(t.pair, 4 * PAIR_S);
        } else {
            played_send(&t, via, m);
            played_expect(&t, via, SMCR_LLC_DELETE_LINK, true, m);
            cr_assert_eq(m[4], number);
        }
        cr_assert_neq(sends_over(&t), number);
        cr_assert_eq(played_state(&t, number), SMCR_LINK_FREE);
        cr_assert(played_status(&t).established);
        played_end(&t);
    }
}

/* A client asks for the end of a link that its connection uses, and the server does not know that link (any
 * more): the connection goes on over the other one.
 * covers: SMCR-FOV-15 */
Test(llc_delete, connections_leave_a_link_that_the_server_does_not_know)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 2);
    uint8_t target = (uint8_t)sends_over(&t);
    unsigned via = target == 1 ? 1 : 0;
    step_delete_link(played_link(&t, target), SMCR_DELETE_OPERATOR, true, t.pair->now_ns);
    played_expect(&t, via, SMCR_LLC_DELETE_LINK, false, NULL);
    played_delete_link(m, target, SMCR_DELETE_UNKNOWN_LINK, 0x80);
    played_send(&t, via, m);
    cr_assert_eq(played_state(&t, target), SMCR_LINK_FREE);
    cr_assert_eq(sends_over(&t), via + 1);
    cr_assert(played_status(&t).established);
    played_end(&t);
}

/* The same of one that fails in the very moment in which its end is agreed upon. */
Test(llc_delete, connections_leave_a_link_that_fails_as_it_goes)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 2);
    uint8_t target = (uint8_t)sends_over(&t);
    struct smcr_link *link = played_link(&t, target);
    link->delete_step = SMCR_LINK_GONE;
    smcr_group_effect(link->group, SMCR_GROUP_ADVANCE);
    smcr_link_fail(link, "the test fails it", t.pair->now_ns);
    smcr_settle(link->group->smcr, t.pair->now_ns);
    cr_assert_eq(link->state, SMCR_LINK_FREE);
    cr_assert_neq(sends_over(&t), target);
    played_end(&t);
}

/* The timer of the idle link fires, and the link is lost in the same step. */
Test(llc_delete, no_timer_of_a_link_outlives_it)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 2);
    struct smcr_link *link = played_link(&t, 2);
    struct smcr_group *group = link->group;
    smcr_link_fail(link, "the test fails it", t.pair->now_ns);
    smcr_link_effect(link, SMCR_LINK_TEST_DUE);
    smcr_settle(group->smcr, t.pair->now_ns);
    cr_assert_eq(link->state, SMCR_LINK_DOWN);
    cr_assert_not(rdma_timer_armed(&link->test_timer));

    group->llc.peer_rkey.via = link;
    smcr_arm(group->smcr, &group->llc.peer_rkey.timer, t.pair->now_ns + PAIR_S);
    smcr_arm(group->smcr, &link->test_timer, t.pair->now_ns + PAIR_S);
    step_link_free(link, t.pair->now_ns);
    cr_assert_eq(link->state, SMCR_LINK_FREE);
    cr_assert_not(rdma_timer_armed(&link->test_timer));
    cr_assert_not(rdma_timer_armed(&group->llc.peer_rkey.timer));
    played_end(&t);
}
