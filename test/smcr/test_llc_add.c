/* SPDX-License-Identifier: BSD-2-Clause */
/* Links that are added to an established group: SMCR section 11.1, REC-30, ARC-11 to ARC-19. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/smcr/played.h"
#include "test/smcr/steps.h"

static struct smcr_group *group_of(const struct pair *pair, unsigned node)
{
    return pair->node[node].smcr->groups;
}

static enum smcr_redundancy redundancy(const struct pair *pair, unsigned node)
{
    return smcr_group_redundancy(group_of(pair, node));
}

static unsigned count_active(const struct smcr_group *group)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        count += group->links[i].state == SMCR_LINK_ACTIVE;
    return count;
}

/* Any two of the links have an RNIC pair of their own. */
static void no_parallel_links(const struct smcr_group *group)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        for (unsigned k = 0; k < i; k++) {
            const struct smcr_link *a = &group->links[i], *b = &group->links[k];
            if (a->state == SMCR_LINK_ACTIVE && b->state == SMCR_LINK_ACTIVE)
                cr_assert_not(smcr_rnic_equal(&a->local, &b->local) && smcr_rnic_equal(&a->peer, &b->peer));
        }
}

/* covers: SMCR-ALK-01, SMCR-ALK-02, SMCR-ARC-18, SMCR-ARC-10 */
Test(llc_add, SMCR_ALK_01_a_server_that_gains_an_RNIC_adds_a_link)
{
    struct pair_config config = {.ports = {2, 1}};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(redundancy(pair, 1), SMCR_ASYMMETRIC_LOCAL);
    pair_pump(&c->end[0], 60000, 0); /* running traffic is not stopped */
    pair_add_port(pair, 1);
    pair_run_for(pair, 10 * PAIR_MS);
    cr_assert_eq(redundancy(pair, 0), SMCR_SYMMETRIC);
    cr_assert_eq(redundancy(pair, 1), SMCR_SYMMETRIC);
    no_parallel_links(group_of(pair, 0));
    cr_assert(pair_transfer(pair, &c->end[0], 10000, PAIR_S), "%s", pair->failure);
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-ARC-13, SMCR-ALK-09, SMCR-LLC-40, SMCR-FOV-15, SMCR-DLK-02 */
Test(llc_add, SMCR_ARC_13_a_symmetric_link_replaces_the_asymmetric_one)
{
    for (unsigned gains = 0; gains < 2; gains++) {
        struct pair_config config = {.ports = {gains == 0 ? 1 : 2, gains == 0 ? 2 : 1}};
        struct pair *pair = pair_new(&config);
        struct pair_conn *conns[4];
        for (unsigned i = 0; i < 4; i++)
            cr_assert_not_null(conns[i] = pair_connect(pair, 0));
        pair_run_for(pair, PAIR_MS);
        cr_assert_eq(count_active(group_of(pair, 0)), 2);
        pair_add_port(pair, gains);
        for (unsigned i = 0; i < 4; i++) {
            cr_assert(pair_transfer(pair, &conns[i]->end[0], 30000, PAIR_S), "%s", pair->failure);
            cr_assert(pair_transfer(pair, &conns[i]->end[1], 30000, PAIR_S), "%s", pair->failure);
        }
        pair_run_for(pair, 10 * PAIR_MS);
        for (unsigned node = 0; node < 2; node++) {
            cr_assert_eq(redundancy(pair, node), SMCR_SYMMETRIC);
            cr_assert_eq(count_active(group_of(pair, node)), 2, "the superfluous one is gone");
            cr_assert_eq(smcr_group_symmetric_links(group_of(pair, node)), 2);
            cr_assert_eq(smcr_counters(pair->node[node].smcr)->links_failed, 0);
            cr_assert_eq(smcr_counters(pair->node[node].smcr)->conns_reset, 0);
        }
        cr_assert_eq(pair->node[1].sent[SMCR_LLC_DELETE_LINK], 1);
        cr_assert_null(pair_free(pair));
    }
}

static uint32_t deletion_reason;
static uint8_t deletion_flags;

static void note_deletion(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    (void)ctx;
    if (node->index != 1 || trace->type != SMCR_TRACE_LLC_TX || trace->message[0] != SMCR_LLC_DELETE_LINK)
        return;
    struct smcr_delete_link m;
    smcr_delete_link_get(&m, trace->message);
    deletion_reason = m.reason;
    deletion_flags = trace->message[3];
}

/* covers: SMCR-ARC-13, SMCR-ALK-09 */
Test(llc_add, SMCR_ALK_09_orderly_and_with_its_reason)
{
    struct pair_config config = {.ports = {2, 1}};
    struct pair *pair = pair_new(&config);
    pair->on_trace = note_deletion;
    cr_assert_not_null(pair_connect(pair, 0));
    pair_add_port(pair, 1);
    pair_run_for(pair, 10 * PAIR_MS);
    cr_assert_eq(deletion_reason, 0x00050000);
    cr_assert_eq(deletion_flags, 0x20);
    cr_assert_null(pair_free(pair));
}

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

/* covers: SMCR-ARC-17, SMCR-ARC-14 */
Test(llc_add, SMCR_ARC_17_no_more_links_than_agreed)
{
    for (uint8_t max_links = 2; max_links <= 3; max_links++) {
        struct pair_config config = {.ports = {3, 3}, .smcr = {{.max_links = max_links}, {.max_links = 8}}};
        struct pair *pair = pair_new(&config);
        cr_assert_not_null(pair_connect(pair, 0));
        pair_run_for(pair, 30 * PAIR_S);
        for (unsigned node = 0; node < 2; node++) {
            cr_assert_eq(group_of(pair, node)->max_links, max_links);
            cr_assert_eq(count_active(group_of(pair, node)), max_links);
        }
        cr_assert_null(pair_free(pair));
    }
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

/* covers: SMCR-REC-30 */
Test(llc_add, SMCR_REC_30_the_lost_link_comes_back_with_its_port)
{
    for (unsigned node = 0; node < 2; node++) {
        struct pair_config config = {.ports = {2, 2}, .topology = PAIR_CABLES};
        struct pair *pair = pair_new(&config);
        struct pair_conn *c = pair_connect(pair, 0);
        pair_run_for(pair, PAIR_MS);
        pair_cut(pair, 0, 1, true);
        pair_cut(pair, 1, 1, true);
        pair_run_for(pair, 100 * PAIR_MS);
        cr_assert_eq(redundancy(pair, 0), SMCR_SINGLE);
        pair_restore(pair, node, 1); /* one end sees it before the other */
        pair_run_for(pair, 100 * PAIR_MS);
        pair_restore(pair, !node, 1);
        pair_run_for(pair, 3 * PAIR_S); /* a link that was tried in between has to fail first */
        cr_assert_eq(redundancy(pair, 0), SMCR_SYMMETRIC, "%u", node);
        cr_assert_eq(redundancy(pair, 1), SMCR_SYMMETRIC, "%u", node);
        cr_assert(pair_transfer(pair, &c->end[1], 100000, PAIR_S));
        cr_assert_null(pair_free(pair));
    }
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
    peer_confirm_link(&t.peer, 1, true, m);
    played_send(&t, 1, m);
    cr_assert_eq(played_state(&t, number), SMCR_LINK_ACTIVE);
    cr_assert_not(rdma_timer_armed(&group->repair_timer));
    cr_assert_eq(group->repair_ns, t.pair->node[t.me].smcr->config.times.redundancy_ns);
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

static bool exchange_is_over(void *ctx, struct pair *pair)
{
    const struct smcr_group *group = pair->node[1].smcr->groups;
    (void)ctx;
    return group && group->llc.step == SMCR_LLC_IDLE;
}

/* Both ends at every step: the new link's port goes down while the exchange about it runs. What is still owed
 * over the carrying link comes first, and nobody takes it for a violation. */
/* covers: SMCR-SER-02, SMCR-REC-29, SMCR-FOV-01 */
Test(llc_add, SMCR_SER_02_a_new_link_that_dies_at_any_step_harms_no_other)
{
    for (unsigned who = 0; who < 2; who++)
        for (uint64_t after_us = 0; after_us < 60; after_us += 5)
            for (unsigned removed = 0; removed < 2; removed++) {
                struct pair_config config = {.ports = {2, 1}};
                struct pair *pair = pair_new(&config);
                struct pair_conn *c = pair_connect(pair, 0);
                pair_run_for(pair, PAIR_MS);
                pair_add_port(pair, 1);
                pair_run_for(pair, after_us * PAIR_US);
                if (removed)
                    pair_remove_port(pair, who);
                else
                    pair_cut(pair, who, 1, true);
                pair_run_until(pair, exchange_is_over, NULL, 5 * PAIR_S);
                pair_run_for(pair, 5 * PAIR_S);
                for (unsigned node = 0; node < 2; node++) {
                    cr_assert_not_null(group_of(pair, node));
                    cr_assert_eq(smcr_counters(pair->node[node].smcr)->llc_malformed, 0, "%u after %lu us",
                                 who, (unsigned long)after_us);
                    cr_assert_eq(group_of(pair, node)->llc.step, SMCR_LLC_IDLE);
                    cr_assert_gt(count_active(group_of(pair, node)), 0);
                }
                cr_assert(pair_transfer(pair, &c->end[0], 20000, PAIR_S), "%s", pair->failure);
                const char *failure = pair_free(pair);
                cr_assert_null(failure, "%s", failure);
            }
}
