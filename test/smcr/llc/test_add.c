/* SPDX-License-Identifier: BSD-2-Clause */
/* Links that are added to an established group, step by step, by an instance and a peer that the test plays:
 * SMCR section 11.1, REC-04, REC-30, ARC-11 to ARC-19. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/smcr/played.h"
#include "test/smcr/steps.h"

/* covers: SMCR-ALK-03, SMCR-LLC-32, SMCR-ARC-10 */
Test(llc_add, SMCR_ALK_03_a_client_that_gains_an_RNIC_gives_notice_and_waits_for_nothing)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 1);
    pair_add_port(t.pair, t.me);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, false, m);
    struct smcr_add_link al;
    smcr_add_link_get(&al, m);
    cr_assert_arr_eq(al.mac, t.pair->node[t.me].port[1].mac.b, 6);
    cr_assert_arr_eq(al.gid, t.pair->node[t.me].port[1].addr.b, 16);
    cr_assert_eq(al.qpn | al.link | al.mtu | al.psn, 0);
    pair_run_for(t.pair, 20 * PAIR_S); /* silence is no error */
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    cr_assert_eq(played_counters(&t)->llc_timeouts, 0);
    played_end(&t);
}

static void send_notice(struct played *t, unsigned link)
{
    uint8_t m[SMCR_MSG_BYTES] = {0};
    struct smcr_add_link al = {.type = SMCR_LLC_ADD_LINK, .length = SMCR_MSG_BYTES};
    memcpy(al.mac, t->pair->node[!t->me].port[0].mac.b, 6);
    al.mac[4] = 9; /* a new RNIC */
    smcr_add_link_put(m, &al);
    played_send(t, link, m);
}

/* covers: SMCR-ALK-04, SMCR-REC-30 */
Test(llc_add, SMCR_ALK_04_a_server_answers_a_notice_when_redundancy_is_missing)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 1);
    send_notice(&t, 0);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, false, NULL);
    played_end(&t);
}

/* covers: SMCR-ALK-04, SMCR-ARC-17, SMCR-ARC-14 */
Test(llc_add, SMCR_ALK_04_a_server_at_the_maximum_ignores_a_notice)
{
    struct played t;
    struct pair_config config = {.ports = {3, 3}, .smcr[1].max_links = 2};
    played_begin_with(&t, SMCR_SERVER, 2, config);
    cr_assert_eq(smcr_group_symmetric_links(played_group(&t)), 2);
    send_notice(&t, 0);
    played_expect_none(&t, 0, SMCR_LLC_ADD_LINK, false, PAIR_S);
    played_expect_none(&t, 1, SMCR_LLC_ADD_LINK, false, PAIR_US);
    played_end(&t);
}

/* covers: SMCR-ARC-17 */
Test(llc_add, SMCR_ARC_17_a_client_refuses_one_above_the_maximum)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin_with(&t, SMCR_CLIENT, 2, (struct pair_config){.ports = {3, 3}});
    peer_make_link(&t.peer, 2, 2);
    t.peer.link[2].number = 3;
    peer_add_link(&t.peer, 2, false, m);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, true, m);
    cr_assert_eq(m[3], 0xc0);
    played_end(&t);
}

/* covers: SMCR-REC-30, SMCR-ALK-10, SMCR-DLK-10 */
Test(llc_add, SMCR_REC_30_a_server_without_redundancy_tries_again_and_again_more_seldom)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct raw_message raw;
    played_begin(&t, SMCR_SERVER, 1);
    uint64_t wait_ns = 10 * PAIR_S, from_ns = t.pair->now_ns;
    for (unsigned i = 0; i < 7; i++) {
        cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_ADD_LINK, false, &raw, wait_ns + PAIR_S));
        cr_assert_geq(t.pair->now_ns - from_ns, wait_ns - PAIR_S, "try %u", i);
        from_ns = t.pair->now_ns;
        peer_add_link_reject(&t.peer, raw.bytes[29], m);
        played_send(&t, 0, m);
        wait_ns = 2 * wait_ns < 300 * PAIR_S ? 2 * wait_ns : 300 * PAIR_S;
        t.pair->node[1].smcr->groups->links[0].is_tested = false; /* the peer does not answer tests here */
        smcr_cancel(t.pair->node[1].smcr, &t.pair->node[1].smcr->groups->links[0].test_timer);
    }
    played_end(&t);
}

/* Rows of SMCR-REC-04 of an established group. */

/* The server's next link up to the client's answer; which link carries it. */
static unsigned offered(struct played *t, uint8_t *number)
{
    struct raw_message raw;
    for (unsigned via = 0; via < t->peer.num_links; via++)
        if (raw_wait(t->peer.link[via].raw, SMCR_LLC_ADD_LINK, false, &raw, PAIR_MS)) {
            *number = raw.bytes[29];
            return via;
        }
    cr_assert_fail("no ADD LINK");
    return 0;
}

/* covers: SMCR-REC-04.6, SMCR-FOV-16 */
Test(llc_add, row_6_no_response_to_ADD_LINK)
{
    struct played t;
    uint8_t number;
    played_begin(&t, SMCR_SERVER, 1);
    send_notice(&t, 0);
    offered(&t, &number);
    pair_run_for(t.pair, 1900 * PAIR_MS);
    cr_assert_neq(played_state(&t, number), SMCR_LINK_FREE);
    pair_run_for(t.pair, 200 * PAIR_MS);
    cr_assert_null(played_group(&t), "the carrying link was the last one");
    cr_assert(pair_other(t.conn.end)->reset_sent);
    played_end(&t);
}

/* covers: SMCR-REC-04.6, SMCR-REC-31 */
Test(llc_add, row_6_on_another_link_if_there_is_one)
{
    struct played t;
    uint8_t number, again, m[SMCR_MSG_BYTES];
    struct pair_config config = {.ports = {2, 3}, .smcr[1].max_links = 3};
    played_begin_with(&t, SMCR_SERVER, 2, config);
    t.pair->node[1].smcr->groups->max_links = 3;
    step_want_link(played_group(&t), t.pair->now_ns);
    unsigned via = offered(&t, &number);
    pair_run_for(t.pair, 2050 * PAIR_MS);
    cr_assert_eq(played_state(&t, number), SMCR_LINK_FREE);
    cr_assert_eq(played_state(&t, (uint8_t)(via + 1)), SMCR_LINK_DOWN);
    played_expect(&t, !via, SMCR_LLC_DELETE_LINK, false, m);
    cr_assert_eq(m[4], via + 1);
    played_delete_link(m, (uint8_t)(via + 1), 0, 0x80);
    played_send(&t, !via, m);
    cr_assert_eq(offered(&t, &again), !via);
    cr_assert_neq(again, number, "numbers are not used again soon: SMCR-ARC-19");
    played_end(&t);
}

/* The instance (client) in an established group, up to its notice of a second RNIC. */
static void give_notice(struct played *t)
{
    played_begin_with(t, SMCR_CLIENT, 1, (struct pair_config){.ports = {1, 2}});
    pair_add_port(t->pair, t->me);
    played_expect(t, 0, SMCR_LLC_ADD_LINK, false, NULL);
}

/* And the server's link 2 that follows, up to the CONTINUATIONs. */
static void accept_offered(struct played *t)
{
    uint8_t m[SMCR_MSG_BYTES];
    played_make_link(t, 1, 1);
    t->peer.link[1].number = 5;
    peer_add_link(&t->peer, 1, false, m);
    played_send(t, 0, m);
    played_expect(t, 0, SMCR_LLC_ADD_LINK, true, m);
    played_join_link(t, 1, m);
    cr_assert_eq(t->peer.link[1].number, 5);
}

static void accept_later(struct played *t)
{
    give_notice(t);
    accept_offered(t);
}

/* Linux does not see a notice that comes while it frees the link that went; nobody else brings that back.
 * covers: SMCR-ALK-03, SMCR-REC-30 */
Test(llc_add, SMCR_ALK_03_a_notice_that_the_server_lets_be_is_given_again_and_more_seldom)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct raw_message raw;
    give_notice(&t);
    struct smcr_group *group = played_group(&t);
    uint64_t wait_ns = PAIR_S, from_ns = t.pair->now_ns;
    for (unsigned i = 0; i < 7; i++) {
        smcr_cancel(group->smcr, &group->links[0].test_timer); /* the peer does not answer tests here */
        cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_ADD_LINK, false, &raw, wait_ns + PAIR_S), "%u", i);
        cr_assert_geq(t.pair->now_ns - from_ns, wait_ns - PAIR_MS, "%u", i);
        from_ns = t.pair->now_ns;
        wait_ns = 2 * wait_ns < 30 * PAIR_S ? 2 * wait_ns : 30 * PAIR_S;
    }
    accept_offered(&t);
    peer_add_link_cont(&t.peer, 1, false, m);
    played_send(&t, 0, m);
    peer_confirm_link(&t.peer, 1, false, m);
    played_send(&t, 1, m);
    played_expect(&t, 1, SMCR_LLC_CONFIRM_LINK, true, NULL);
    cr_assert_eq(smcr_group_redundancy(group), SMCR_SYMMETRIC);
    cr_assert_eq(group->llc.notice_ns, 0, "the next notice is followed by another soon");
    played_end(&t);
}

/* A server may ignore the notice while it adds a link (SMCR-SER-03), so it comes again when that is over.
 * covers: SMCR-SER-01, SMCR-ALK-03 */
Test(llc_add, SMCR_SER_01_a_notice_does_not_wait_for_the_link_that_is_being_added)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct smcr_add_link al;
    accept_later(&t);
    pair_add_port(t.pair, t.me);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, false, m);
    smcr_add_link_get(&al, m);
    cr_assert_arr_eq(al.mac, t.pair->node[t.me].port[2].mac.b, 6);
    played_expect_none(&t, 0, SMCR_LLC_ADD_LINK, false, PAIR_MS);
    played_delete_link(m, 5, SMCR_DELETE_LOST_PATH, 0);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, false, NULL);
    played_end(&t);
}

static void carrier_goes_down_in_time(struct played *t)
{
    pair_run_for(t->pair, 1900 * PAIR_MS);
    cr_assert_not_null(played_group(t));
    pair_run_for(t->pair, 200 * PAIR_MS);
    cr_assert_null(played_group(t), "the carrying link was the last one");
    played_end(t);
}

/* covers: SMCR-REC-04.7 */
Test(llc_add, row_7_no_CONTINUATION_later)
{
    struct played t;
    accept_later(&t);
    carrier_goes_down_in_time(&t);
}

/* covers: SMCR-REC-04.12 */
Test(llc_add, row_12_no_further_CONTINUATION_later)
{
    struct played t;
    accept_later(&t);
    pair_run_for(t.pair, PAIR_S);
    played_owe_tokens(&t, 1);
    carrier_goes_down_in_time(&t);
}

/* covers: SMCR-REC-04.9, SMCR-ALK-03 */
Test(llc_add, row_9_no_CONFIRM_LINK_later)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct raw_message raw;
    accept_later(&t);
    smcr_cancel(t.pair->node[t.me].smcr,
                &played_group(&t)->llc.notice_timer); /* of the notice that was given */
    peer_add_link_cont(&t.peer, 1, false, m);
    played_send(&t, 0, m);
    cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_DELETE_LINK, false, &raw, 2100 * PAIR_MS));
    cr_assert_eq(raw.bytes[4], 5);
    played_delete_link(m, 5, SMCR_DELETE_UNKNOWN_LINK, 0x80); /* it had given up too */
    played_send(&t, 0, m);
    cr_assert_eq(played_state(&t, 5), SMCR_LINK_FREE);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE, "the carrying link is unaffected");
    smcr_cancel(t.pair->node[t.me].smcr, &played_link(&t, 1)->test_timer);
    cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_ADD_LINK, false, &raw, 31 * PAIR_S), "a notice again");
    played_end(&t);
}

/* A link of the instance (server) in an established group, up to its CONFIRM LINK. */
static uint8_t confirm_later(struct played *t)
{
    uint8_t m[SMCR_MSG_BYTES];
    played_begin_with(t, SMCR_SERVER, 1, (struct pair_config){.ports = {2, 1}});
    pair_add_port(t->pair, t->me);
    played_expect(t, 0, SMCR_LLC_ADD_LINK, false, m);
    peer_make_link(&t->peer, 1, 1);
    played_join_link(t, 1, m);
    peer_add_link(&t->peer, 1, true, m);
    played_send(t, 0, m);
    played_expect(t, 0, SMCR_LLC_ADD_LINK_CONT, false, NULL);
    peer_add_link_cont(&t->peer, 1, true, m);
    played_send(t, 0, m);
    played_expect(t, 1, SMCR_LLC_CONFIRM_LINK, false, NULL);
    return t->peer.link[1].number;
}

/* covers: SMCR-REC-04.3, SMCR-REC-30 */
Test(llc_add, row_3_no_response_to_CONFIRM_LINK_later)
{
    struct played t;
    struct raw_message raw;
    uint8_t m[SMCR_MSG_BYTES], number = confirm_later(&t);
    cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_DELETE_LINK, false, &raw, 2100 * PAIR_MS));
    cr_assert_eq(raw.bytes[4], number);
    played_delete_link(m, number, 0, 0x80);
    played_send(&t, 0, m);
    cr_assert_eq(played_state(&t, number), SMCR_LINK_FREE);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_ADD_LINK, false, &raw, 11 * PAIR_S), "the retry timer");
    played_end(&t);
}

/* covers: SMCR-REC-20, SMCR-LLC-21 */
Test(llc_add, SMCR_REC_20_a_wrong_response_to_CONFIRM_LINK_later_deletes_that_link)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES], number = confirm_later(&t);
    peer_confirm_link(&t.peer, 1, true, m);
    m[28] ^= 1;
    played_send(&t, 1, m);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, m);
    cr_assert_eq(m[4], number);
    cr_assert_arr_eq(m + 5, ((uint8_t[]){0x00, 0x04, 0x00, 0x00}), 4, "LLC protocol violation");
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    played_end(&t);
}

/* covers: SMCR-ALK-08, SMCR-LLC-22 */
Test(llc_add, SMCR_ALK_08_a_server_uses_a_link_from_the_response_on)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES], number = confirm_later(&t);
    uint8_t max_links = played_group(&t)->max_links;
    cr_assert_eq(played_state(&t, number), SMCR_LINK_CONFIRMING);
    peer_confirm_link(&t.peer, 1, true, m);
    m[34] = 7; /* SMCR-LLC-22: later ones change nothing */
    played_send(&t, 1, m);
    cr_assert_eq(played_state(&t, number), SMCR_LINK_ACTIVE);
    cr_assert_eq(played_group(&t)->max_links, max_links);
    cr_assert_eq(smcr_group_redundancy(played_group(&t)), SMCR_SYMMETRIC);
    played_end(&t);
}

/* covers: SMCR-ALK-08 */
Test(llc_add, SMCR_ALK_08_a_client_uses_a_link_once_its_response_was_delivered)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    accept_later(&t);
    peer_add_link_cont(&t.peer, 1, false, m);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK_CONT, true, NULL);
    peer_confirm_link(&t.peer, 1, false, m);
    raw_send(t.peer.link[1].raw, m, SMCR_MSG_BYTES);
    pair_run_for(t.pair, 7 * PAIR_US); /* there after 5, and the acknowledgement is at 15 */
    cr_assert_eq(t.pair->node[t.me].sent[SMCR_LLC_CONFIRM_LINK], 2, "it left, on each of the links");
    cr_assert_eq(played_state(&t, 5), SMCR_LINK_CONFIRMING);
    pair_run_for(t.pair, 10 * PAIR_US);
    cr_assert_eq(played_state(&t, 5), SMCR_LINK_ACTIVE);
    played_end(&t);
}

/* covers: SMCR-SER-06, SMCR-LLC-04 */
Test(llc_add, SMCR_SER_06_a_CONFIRM_LINK_response_over_another_link_confirms_nothing)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES], number = confirm_later(&t);
    peer_confirm_link(&t.peer, 1, true, m);
    played_send(&t, 0, m);
    cr_assert_eq(played_counters(&t)->llc_unmatched, 1);
    cr_assert_eq(played_state(&t, number), SMCR_LINK_CONFIRMING);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    played_send(&t, 1, m);
    cr_assert_eq(played_state(&t, number), SMCR_LINK_ACTIVE);
    played_end(&t);
}

/* And should redundancy be lost again, the tries begin with the shortest wait.
 * covers: SMCR-REC-30 */
Test(llc_add, SMCR_REC_30_a_group_that_is_redundant_again_plans_no_repair)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES], number = confirm_later(&t);
    struct smcr_group *group = played_group(&t);
    cr_assert(rdma_timer_armed(&group->repair_timer));
    group->failed_offer = group->links[0].port;
    peer_confirm_link(&t.peer, 1, true, m);
    played_send(&t, 1, m);
    cr_assert_eq(played_state(&t, number), SMCR_LINK_ACTIVE);
    cr_assert_not(rdma_timer_armed(&group->repair_timer));
    cr_assert_eq(group->repair_ns, t.pair->node[t.me].smcr->config.times.redundancy_ns);
    cr_assert_null(group->failed_offer);
    played_end(&t);
}

/* The server's next offer, within that time; it is refused. Returns the index of the port that it offered. */
static unsigned refused(struct played *t, uint64_t max_ns)
{
    struct raw_message raw;
    struct smcr_add_link al;
    uint8_t m[SMCR_MSG_BYTES];
    unsigned i = 0;
    cr_assert(raw_wait(t->peer.link[0].raw, SMCR_LLC_ADD_LINK, false, &raw, max_ns), "no offer");
    smcr_add_link_get(&al, raw.bytes);
    peer_add_link_reject(&t->peer, raw.bytes[29], m);
    played_send(t, 0, m);
    while (memcmp(al.gid, t->pair->node[t->me].port[i].addr.b, sizeof al.gid) != 0)
        cr_assert_lt(++i, t->pair->node[t->me].num_ports);
    return i;
}

/* An RNIC that comes is tried at once, even where an offer of it failed before (RFC 7609 C.8).
 * covers: SMCR-REC-30 */
Test(llc_add, SMCR_REC_30_an_RNIC_that_comes_is_offered_at_once_again)
{
    struct played t;
    played_begin_with(&t, SMCR_SERVER, 1, (struct pair_config){.ports = {1, 2}});
    const struct smcr_times *times = &t.pair->node[t.me].smcr->config.times;
    struct smcr_group *group = played_group(&t);
    cr_assert_eq(group->failed_offer, t.pair->node[t.me].port[1].port, "refused in the first contact");
    for (unsigned i = 0; i < 2; i++) {
        pair_cut(t.pair, t.me, 1, true);
        pair_run_for(t.pair, PAIR_MS);
        pair_restore(t.pair, t.me, 1);
        cr_assert_eq(refused(&t, PAIR_MS), 1, "the RNIC that came");
        cr_assert_eq(group->repair_ns, times->redundancy_ns, "the tries begin anew");
        cr_assert_eq(refused(&t, times->redundancy_ns + PAIR_S), 0, "the other one, after the shortest wait");
        cr_assert_eq(group->repair_ns, 2 * times->redundancy_ns);
    }
    played_end(&t);
}

/* covers: SMCR-LLC-37, SMCR-REC-24, SMCR-LLC-34 */
Test(llc_add, SMCR_REC_24_continuations_that_do_not_fit_end_the_carrying_link)
{
    for (unsigned i = 0; i < 4; i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        accept_later(&t);
        peer_add_link_cont(&t.peer, 1, false, m);
        if (i == 0)
            m[8] ^= 1; /* a reference that is not known */
        if (i == 1)
            m[4] ^= 1; /* another link */
        if (i >= 2) {  /* three announced: the first twice */
            m[5] = 2;
            memcpy(m + 24, m + 8, 16);
        }
        if (i == 3) { /* announces four, and then does not count down */
            struct smcr_group *group = played_group(&t);
            smcr_peer_rmb_find(group, played_link(&t, 1), 0x1234, 1, true);
            smcr_peer_rmb_find(group, played_link(&t, 1), 0x5678, 1, true);
            m[5] = 4;
            memcpy(m + 24, (uint8_t[]){0, 0, 0x12, 0x34}, 4);
            played_send(&t, 0, m);
            played_expect(&t, 0, SMCR_LLC_ADD_LINK_CONT, true, NULL);
            m[5] = 1; /* two are left; the key is fine */
            memcpy(m + 8, (uint8_t[]){0, 0, 0x56, 0x78}, 4);
        }
        played_send(&t, 0, m);
        cr_assert_null(played_group(&t), "case %u", i);
        played_end(&t);
    }
}
