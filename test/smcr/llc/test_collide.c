/* SPDX-License-Identifier: BSD-2-Clause */
/* SMCR-SER: messages during an exchange, row by row of the collision table. Messages without a cause, and
 * impossible messages (SMCR-REC-20 to REC-29). */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "smcr/llc/flow.h"
#include "test/smcr/played.h"
#include "test/smcr/steps.h"

#define VA UINT64_C(0x7f5c6d600000)

/* --- exchanges of the instance, left half-way --- */

enum running { NOTHING, ADDING, DELETING, CONFIRMING_RKEY, RUNNING_COUNT };
static const char *const names[] = {"nothing", "ADD LINK", "DELETE LINK", "CONFIRM RKEY"};

/* The exchange of the instance, and the link of it. */
struct half {
    struct played t;
    enum running running;
    unsigned via;
    uint8_t m[SMCR_MSG_BYTES];
};

static void find(struct half *h, uint8_t type)
{
    struct raw_message raw;
    for (h->via = 0; h->via < 2; h->via++)
        if (h->t.peer.link[h->via].raw &&
            raw_wait(h->t.peer.link[h->via].raw, type, false, &raw, 2 * PAIR_MS)) {
            memcpy(h->m, raw.bytes, SMCR_MSG_BYTES);
            return;
        }
    cr_assert_fail("no %s", smcr_llc_type_name(type));
}

/* The instance is the server: it has two links, and on demand is in the middle of an exchange of its
 * own. */
static void server_in(struct half *h, enum running running)
{
    h->running = running;
    struct pair_config config = {.ports = {3, 3}, .smcr[1].max_links = 3};
    played_begin_with(&h->t, SMCR_SERVER, 2, config);
    struct smcr_group *group = played_group(&h->t);
    group->max_links = 3; /* as if the client had agreed to three */
    switch (running) {
    case NOTHING:
        break;
    case ADDING:
        step_want_link(group, h->t.pair->now_ns);
        find(h, SMCR_LLC_ADD_LINK);
        break;
    case DELETING:
        step_delete_link(played_link(&h->t, 2), SMCR_DELETE_OPERATOR, false, h->t.pair->now_ns);
        find(h, SMCR_LLC_DELETE_LINK);
        break;
    case CONFIRMING_RKEY:
        played_open(&h->t, 300000);
        find(h, SMCR_LLC_CONFIRM_RKEY);
        break;
    case RUNNING_COUNT:
        break;
    }
}

/* The instance's exchange comes to its end. */
static void finish(struct half *h)
{
    if (h->running == ADDING)
        peer_add_link_reject(&h->t.peer, h->m[29], h->m);
    h->m[3] |= 0x80;
    played_send(&h->t, h->via, h->m);
}

/* covers: SMCR-SER-03, SMCR-SER-01, SMCR-LLC-62, SMCR-LLC-05, SMCR-LLC-04 */
Test(llc_collide, SMCR_SER_03_TEST_LINK_is_answered_at_once_whatever_runs)
{
    for (enum running r = NOTHING; r < RUNNING_COUNT; r++) {
        struct half h;
        uint8_t m[SMCR_MSG_BYTES], answer[SMCR_MSG_BYTES];
        server_in(&h, r);
        played_test_link(m, 0x42);
        played_send(&h.t, 0, m);
        played_expect(&h.t, 0, SMCR_LLC_TEST_LINK, true, answer);
        m[3] = 0x80;
        cr_assert_arr_eq(answer, m, SMCR_MSG_BYTES, "%s", names[r]);
        played_end(&h.t);
    }
}

/* covers: SMCR-SER-03, SMCR-LGT-05, SMCR-SER-01 */
Test(llc_collide, SMCR_SER_03_DELETE_LINK_all_wins_over_everything)
{
    for (enum running r = NOTHING; r < RUNNING_COUNT; r++) {
        struct half h;
        uint8_t m[SMCR_MSG_BYTES];
        server_in(&h, r);
        played_delete_link(m, 0, SMCR_DELETE_OPERATOR, 0x60);
        played_send(&h.t, 0, m);
        pair_run_for(h.t.pair, PAIR_MS);
        cr_assert_null(played_group(&h.t), "%s", names[r]);
        played_end(&h.t);
    }
}

static void notice(struct played *t)
{
    uint8_t m[SMCR_MSG_BYTES] = {SMCR_LLC_ADD_LINK, SMCR_MSG_BYTES, [4] = 2};
    played_send(t, 0, m);
}

/* The server ignores it while a link is being added, and comes back to it after any other exchange. The
 * offer of the exchange fails, so that a link is still to be had. covers: SMCR-SER-03, SMCR-SER-02,
 * SMCR-SER-05, SMCR-ALK-04 */
Test(llc_collide, SMCR_SER_03_an_ADD_LINK_notice_is_ignored_or_waits)
{
    for (enum running r = ADDING; r < RUNNING_COUNT; r++) {
        struct half h;
        server_in(&h, r);
        const uint64_t *sent = &h.t.pair->node[1].sent[SMCR_LLC_ADD_LINK], before = *sent;
        notice(&h.t);
        cr_assert_eq(played_group(&h.t)->llc.num_queued, r == ADDING ? 0 : 1, "%s", names[r]);
        cr_assert_eq(*sent, before, "%s", names[r]);
        finish(&h);
        cr_assert_eq(*sent, before + (r == ADDING ? 0 : 1), "%s", names[r]);
        played_end(&h.t);
    }
}

/* covers: SMCR-SER-03, SMCR-SER-05, SMCR-DLK-05 */
Test(llc_collide, SMCR_SER_03_a_DELETE_LINK_of_the_client_waits_for_whatever_runs)
{
    for (enum running r = ADDING; r < RUNNING_COUNT; r++) {
        struct half h;
        uint8_t m[SMCR_MSG_BYTES];
        server_in(&h, r);
        uint64_t before = h.t.pair->node[1].sent[SMCR_LLC_DELETE_LINK];
        uint8_t number = r == DELETING ? 9 : (uint8_t)(2 - h.via); /* not the carrying one; an unknown one */
        played_delete_link(m, number, SMCR_DELETE_LOST_PATH, 0);
        played_send(&h.t, h.via, m);
        cr_assert_eq(h.t.pair->node[1].sent[SMCR_LLC_DELETE_LINK], before, "%s", names[r]);
        cr_assert_eq(played_group(&h.t)->llc.num_queued, 1);
        finish(&h);
        pair_run_for(h.t.pair, PAIR_MS);
        cr_assert_eq(h.t.pair->node[1].sent[SMCR_LLC_DELETE_LINK], before + 1, "%s", names[r]);
        played_end(&h.t);
    }
}

/* covers: SMCR-SER-03, SMCR-SER-04, SMCR-RKY-09 */
Test(llc_collide, SMCR_SER_04_RKeys_of_the_client_are_refused_while_links_change)
{
    for (enum running r = ADDING; r <= DELETING; r++) {
        struct half h;
        uint8_t m[SMCR_MSG_BYTES];
        server_in(&h, r);
        played_confirm_rkey(m, 0x4f1, VA, 1);
        played_send(&h.t, 0, m);
        played_expect(&h.t, 0, SMCR_LLC_CONFIRM_RKEY, true, m);
        cr_assert_eq(m[3], 0xb0, "%s: Z and C", names[r]);
        cr_assert_eq(played_group(&h.t)->num_peer_rmbs, 1);
        played_delete_rkey(m, 1, (const uint32_t[]){played_rkey(&h.t, 0)});
        played_send(&h.t, 0, m);
        played_expect(&h.t, 0, SMCR_LLC_DELETE_RKEY, true, m);
        cr_assert_eq(m[3], 0xa0);
        cr_assert_eq(m[5], 0xff);
        cr_assert_eq(played_group(&h.t)->num_peer_rmbs, 1, "%s", names[r]);
        finish(&h);
        cr_assert(played_status(&h.t).established);
        played_end(&h.t);
    }
}

/* A server tells of a new RMB after the links have changed. A client that has answered a DELETE LINK
 * tells of it after the link is gone. covers: SMCR-RKY-09, SMCR-SER-02 */
Test(llc_collide, SMCR_RKY_09_our_own_RKeys_wait_while_links_change)
{
    for (enum running r = ADDING; r <= DELETING; r++) {
        struct half h;
        server_in(&h, r);
        played_open(&h.t, 300000);
        pair_run_for(h.t.pair, PAIR_MS);
        cr_assert_eq(h.t.pair->node[1].sent[SMCR_LLC_CONFIRM_RKEY], 0, "%s", names[r]);
        finish(&h);
        pair_run_for(h.t.pair, PAIR_MS);
        cr_assert_eq(h.t.pair->node[1].sent[SMCR_LLC_CONFIRM_RKEY], r == ADDING, "%s: a new link comes first",
                     names[r]);
        played_end(&h.t);
    }
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct smcr_conn conn = {.config.rcvbuf_bytes = 300000};
    played_begin(&t, SMCR_CLIENT, 2);
    conn.smcr = t.pair->node[0].smcr;
    played_delete_link(m, 2, SMCR_DELETE_LOST_PATH, 0);
    raw_send(t.peer.link[0].raw, m, SMCR_MSG_BYTES);
    pair_run_for(t.pair, 7 * PAIR_US); /* the response is out, and has not arrived */
    cr_assert_eq(played_link(&t, 2)->delete_step, SMCR_LINK_ANSWERS);
    cr_assert_eq(smcr_rmb_get_elem(played_group(&t), &conn), -EINPROGRESS);
    smcr_rmb_put_elem(&conn, t.pair->now_ns); /* for the next connection */
    smcr_settle(conn.smcr, t.pair->now_ns);
    cr_assert_eq(t.pair->node[0].sent[SMCR_LLC_CONFIRM_RKEY], 0);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, false, m);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_FREE);
    cr_assert_eq(m[4], 0, "for the one that is left");
    played_end(&t);
}

/* The client tells of an RMB in several messages: until the last of them nothing of ours begins.
 * covers: SMCR-SER-02 */
Test(llc_collide, SMCR_SER_02_nothing_begins_within_the_clients_CONFIRM_RKEY)
{
    struct half h;
    uint8_t m[SMCR_MSG_BYTES];
    server_in(&h, NOTHING);
    uint64_t before = h.t.pair->node[1].sent[SMCR_LLC_ADD_LINK];
    played_confirm_rkey(m, 0x4f1, VA, 4);
    m[17] = 2;
    played_send(&h.t, 0, m);
    step_want_link(played_group(&h.t), h.t.pair->now_ns);
    pair_run_for(h.t.pair, PAIR_MS);
    cr_assert_eq(h.t.pair->node[1].sent[SMCR_LLC_ADD_LINK], before);
    memset(m, 0, sizeof m);
    m[0] = SMCR_LLC_CONFIRM_RKEY_CONT;
    m[1] = SMCR_MSG_BYTES;
    m[4] = 2;
    played_send(&h.t, 0, m);
    pair_run_for(h.t.pair, PAIR_MS);
    cr_assert_eq(h.t.pair->node[1].sent[SMCR_LLC_ADD_LINK], before + 1);
    played_end(&h.t);
}

/* --- the client's rows --- */

/* The client sends a CONFIRM RKEY: a connection that the peer (server) has accepted needs a new RMB. */
static void needs_rmb(struct half *h)
{
    static struct peer_conn conn;
    uint8_t m[SMCR_CLC_MAX_BYTES];
    h->t.pair->config.rcvbuf_bytes[0] = 300000;
    peer_conn_begin(&h->t.peer, &conn);
    cr_assert_gt(peer_clc_wait(conn.end, m, sizeof m, PLAYED_SOON), 0);
    pair_tcp_send(conn.end, m, peer_accept(&conn, SMCR_CLC_ACCEPT, false, 0, m));
    find(h, SMCR_LLC_CONFIRM_RKEY);
}

static void client_confirms_rkey(struct half *h)
{
    played_begin_with(&h->t, SMCR_CLIENT, 1, (struct pair_config){.ports = {1, 3}});
    pair_add_port(h->t.pair, h->t.me);
    pair_run_for(h->t.pair, PAIR_MS);
    needs_rmb(h);
    h->running = CONFIRMING_RKEY;
}

/* The peer's offer of link 2 on its port 1. */
static void offer(struct played *t, uint8_t *m)
{
    played_make_link(t, 1, 1);
    t->peer.link[1].number = 2;
    peer_add_link(&t->peer, 1, false, m);
    played_send(t, 0, m);
}

/* covers: SMCR-SER-03, SMCR-RKY-05 */
Test(llc_collide, SMCR_SER_03_a_client_processes_an_ADD_LINK_that_crossed_its_CONFIRM_RKEY)
{
    struct half h;
    uint8_t m[SMCR_MSG_BYTES];
    struct raw_message raw;
    client_confirms_rkey(&h);
    offer(&h.t, m);
    played_expect(&h.t, 0, SMCR_LLC_ADD_LINK, true, m);
    h.m[3] = 0xb0; /* the server refuses */
    played_send(&h.t, 0, h.m);
    played_join_link(&h.t, 1, m);
    peer_add_link_cont(&h.t.peer, 1, false, m);
    played_send(&h.t, 0, m);
    played_expect(&h.t, 0, SMCR_LLC_ADD_LINK_CONT, true, m);
    cr_assert_eq(m[5], 1, "the RMB that was refused is not listed");
    peer_confirm_link(&h.t.peer, 1, false, m);
    played_send(&h.t, 1, m);
    played_expect(&h.t, 1, SMCR_LLC_CONFIRM_LINK, true, NULL);
    /* redone, for both links */
    unsigned via = raw_wait(h.t.peer.link[0].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, PAIR_MS) ? 0 : 1;
    if (via == 1)
        cr_assert(raw_wait(h.t.peer.link[1].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, 200 * PAIR_MS));
    cr_assert_eq(raw.bytes[4], 1);
    raw.bytes[3] = 0x80;
    played_send(&h.t, via, raw.bytes);
    cr_assert(played_group(&h.t)->rmbs->next->is_confirmed);
    played_end(&h.t);
}

/* The client's CONTINUATION lists the new RMB if the server knows it: the client waits for the answer. A
 * CONFIRM LINK waits, too (A9). */
/* covers: SMCR-SER-03, SMCR-LLC-37 */
Test(llc_collide, SMCR_SER_03_a_client_lists_an_RMB_that_was_confirmed_while_ADD_LINK_came)
{
    struct half h;
    uint8_t m[SMCR_MSG_BYTES];
    client_confirms_rkey(&h);
    offer(&h.t, m);
    played_expect(&h.t, 0, SMCR_LLC_ADD_LINK, true, NULL);
    peer_add_link_cont(&h.t.peer, 1, false, m);
    played_send(&h.t, 0, m);
    played_expect_none(&h.t, 0, SMCR_LLC_ADD_LINK_CONT, true, PAIR_MS);
    h.m[3] = 0x80; /* it had been taken before the ADD LINK left */
    played_send(&h.t, 0, h.m);
    played_expect(&h.t, 0, SMCR_LLC_ADD_LINK_CONT, true, m);
    cr_assert(m[5] == 1 || m[5] == 2);
    played_end(&h.t);
}

/* covers: SMCR-SER-03, SMCR-SER-02 */
Test(llc_collide, SMCR_SER_03_a_client_processes_a_DELETE_LINK_that_crossed_its_CONFIRM_RKEY)
{
    struct half h;
    uint8_t m[SMCR_MSG_BYTES];
    struct raw_message raw;
    played_begin(&h.t, SMCR_CLIENT, 2);
    needs_rmb(&h);
    uint8_t target = (uint8_t)(2 - h.via);
    played_delete_link(m, target, SMCR_DELETE_OPERATOR, 0);
    played_send(&h.t, h.via, m);
    played_expect(&h.t, h.via, SMCR_LLC_DELETE_LINK, true, NULL);
    cr_assert_eq(played_state(&h.t, target), SMCR_LINK_FREE);
    h.m[3] = 0xb0;
    played_send(&h.t, h.via, h.m);
    cr_assert(raw_wait(h.t.peer.link[h.via].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, 200 * PAIR_MS));
    cr_assert_eq(raw.bytes[4], 0, "for the one link that is left");
    played_end(&h.t);
}

/* The link that goes in good order carries our CONFIRM RKEY, and goes before the refusal has come.
 * covers: SMCR-SER-03, SMCR-REC-31, SMCR-DLK-04 */
Test(llc_collide, SMCR_REC_31_a_CONFIRM_RKEY_whose_link_was_deleted_begins_anew)
{
    struct half h;
    uint8_t m[SMCR_MSG_BYTES];
    struct raw_message raw;
    played_begin(&h.t, SMCR_CLIENT, 2);
    needs_rmb(&h);
    played_delete_link(m, (uint8_t)(h.via + 1), SMCR_DELETE_OPERATOR, 0x20);
    played_send(&h.t, !h.via, m);
    played_expect(&h.t, !h.via, SMCR_LLC_DELETE_LINK, true, NULL);
    cr_assert_eq(played_state(&h.t, (uint8_t)(h.via + 1)), SMCR_LINK_FREE);
    cr_assert(raw_wait(h.t.peer.link[!h.via].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, 200 * PAIR_MS));
    cr_assert_eq(played_counters(&h.t)->links_failed, 0);
    played_end(&h.t);
}

/* An exchange of the server ends with its link.
 * covers: SMCR-SER-05, SMCR-REC-02 */
Test(llc_collide, SMCR_REC_02_exchanges_end_with_the_link_that_carried_them)
{
    for (unsigned rkeys = 0; rkeys < 2; rkeys++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin_with(&t, SMCR_CLIENT, 2, (struct pair_config){.ports = {3, 3}});
        played_group(&t)->max_links = 3;
        if (rkeys) {
            played_confirm_rkey(m, 0x7777, 0x70000000, 5); /* and two continuations */
        } else {
            peer_make_link(&t.peer, 2, 2);
            t.peer.link[2].number = 3;
            peer_add_link(&t.peer, 2, false, m);
        }
        played_send(&t, 1, m);
        cr_assert_eq(smcr_llc_exchange(played_group(&t)), rkeys ? SMCR_LLC_NONE : SMCR_LLC_ADDING);
        played_delete_link(m, 2, SMCR_DELETE_OPERATOR, 0x20);
        played_send(&t, 0, m);
        played_expect(&t, 0, SMCR_LLC_DELETE_LINK, true, NULL);
        pair_run_for(t.pair, 3 * PAIR_S);
        cr_assert_eq(played_state(&t, 2), SMCR_LINK_FREE);
        cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
        cr_assert(smcr_llc_is_free(played_group(&t)));
        cr_assert(played_status(&t).established);
        played_end(&t);
    }
}

/* covers: SMCR-SER-05 */
Test(llc_collide, SMCR_SER_05_the_queue_is_bounded_and_goes_with_the_link)
{
    struct half h;
    uint8_t m[SMCR_MSG_BYTES];
    server_in(&h, CONFIRMING_RKEY);
    for (unsigned i = 0; i < 3 * SMCR_LLC_QUEUE - 3; i++) {
        played_delete_link(m, (uint8_t)(200 + i), SMCR_DELETE_LOST_PATH, 0);
        played_send(&h.t, !h.via, m);
    }
    const struct smcr_llc *llc = &played_group(&h.t)->llc;
    cr_assert_eq(llc->num_queued, SMCR_LLC_QUEUE);
    for (unsigned i = 0; i < SMCR_LLC_QUEUE; i++)
        cr_assert_eq(llc->queue[i].message.delete_link.link, 200 + i, "the first come first");
    step_link_free(played_link(&h.t, (uint8_t)(2 - h.via)), h.t.pair->now_ns);
    cr_assert_eq(played_group(&h.t)->llc.num_queued, 0);
    played_end(&h.t);
}

/* --- SMCR-SER-06 and SMCR-REC-29 --- */

/* covers: SMCR-SER-06 */
Test(llc_collide, SMCR_SER_06_a_response_to_something_else_ends_no_exchange)
{
    struct half h;
    server_in(&h, ADDING);
    uint8_t m[SMCR_MSG_BYTES];
    memcpy(m, h.m, sizeof m);
    m[3] = 0xc0;
    played_send(&h.t, !h.via, m); /* on another link */
    m[29]++;
    played_send(&h.t, h.via, m); /* for another link */
    uint8_t dl[SMCR_MSG_BYTES];
    played_delete_link(dl, m[29], 0, 0x80);
    played_send(&h.t, h.via, dl); /* of another type */
    cr_assert_eq(played_counters(&h.t)->llc_unmatched, 3);
    cr_assert_eq(smcr_llc_exchange(played_group(&h.t)), SMCR_LLC_ADDING);
    finish(&h);
    cr_assert_eq(played_group(&h.t)->llc.step, SMCR_LLC_IDLE);
    played_end(&h.t);
}

/* A server takes no answer over another link than that of its request, and a client no request there.
 * covers: SMCR-LLC-36, SMCR-SER-06, SMCR-REC-29 */
Test(llc_collide, SMCR_LLC_36_CONTINUATIONs_keep_to_the_link_of_their_ADD_LINK)
{
    struct half h;
    uint8_t m[SMCR_MSG_BYTES];
    server_in(&h, ADDING);
    played_make_link(&h.t, 2, 2);
    played_join_link(&h.t, 2, h.m);
    peer_add_link(&h.t.peer, 2, true, m);
    played_send(&h.t, h.via, m);
    played_expect(&h.t, h.via, SMCR_LLC_ADD_LINK_CONT, false, NULL);
    peer_add_link_cont(&h.t.peer, 2, true, m);
    put_be32(m + 8, played_rkey(&h.t, h.via)); /* as the carrying link knows the RMB */
    played_send(&h.t, !h.via, m);
    cr_assert_eq(played_counters(&h.t)->llc_unmatched, 1);
    cr_assert_eq(played_group(&h.t)->llc.step, SMCR_LLC_TOKENS_OUT);
    played_send(&h.t, h.via, m);
    played_expect(&h.t, 2, SMCR_LLC_CONFIRM_LINK, false, NULL);
    played_end(&h.t);

    struct played t;
    played_begin_with(&t, SMCR_CLIENT, 2, (struct pair_config){.ports = {3, 3}});
    played_group(&t)->max_links = 3;
    peer_make_link(&t.peer, 2, 2);
    t.peer.link[2].number = 3;
    peer_add_link(&t.peer, 2, false, m);
    played_send(&t, 1, m);
    played_expect(&t, 1, SMCR_LLC_ADD_LINK, true, NULL);
    peer_add_link_cont(&t.peer, 2, false, m);
    put_be32(m + 8, played_rkey(&t, 1));
    played_send(&t, 0, m);
    cr_assert_eq(played_counters(&t)->llc_malformed, 1);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_DOWN, "the link that it came on");
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_ACTIVE);
    played_end(&t);
}

/* covers: SMCR-REC-29, SMCR-QP-05 */
Test(llc_collide, SMCR_QP_05_and_so_does_such_a_response)
{
    for (unsigned i = 0; i < 2; i++) {
        struct half h;
        server_in(&h, ADDING);
        uint8_t m[SMCR_MSG_BYTES];
        played_make_link(&h.t, 2, 2);
        h.t.peer.link[2].number = h.m[29];
        peer_add_link(&h.t.peer, 2, true, m);
        if (i)
            m[30] = 9; /* MTU */
        else
            m[26] = m[27] = m[28] = 0;
        played_send(&h.t, h.via, m);
        cr_assert_eq(played_state(&h.t, (uint8_t)(h.via + 1)), SMCR_LINK_DOWN);
        cr_assert_eq(played_state(&h.t, h.m[29]), SMCR_LINK_FREE);
        played_end(&h.t);
    }
}
