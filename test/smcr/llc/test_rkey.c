/* SPDX-License-Identifier: BSD-2-Clause */
/* The peer's CONFIRM RKEY and DELETE RKEY; ours: test_rkey_ours.c. SMCR-LLC-50 to LLC-61, section 13. */
#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "smcr/llc/flow.h"
#include "test/smcr/played.h"
#include "test/smcr/steps.h"

#define VA UINT64_C(0x7f5c6d600000)

/* covers: SMCR-LLC-50, SMCR-LLC-52, SMCR-RKY-01, SMCR-RKY-08 */
Test(llc_rkey, SMCR_LLC_52_a_CONFIRM_RKEY_is_echoed_and_taken)
{
    for (unsigned role = 0; role < 2; role++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES], answer[SMCR_MSG_BYTES];
        played_begin(&t, (enum smcr_role)role, 2);
        struct smcr_group *group = played_group(&t);
        played_confirm_rkey(m, 0x4f1, VA, 1);
        m[3] = 0x40; /* SMCR-LLC-50: reserved, ignored */
        m[17] = 2;
        put_be32(m + 18, 0x645);
        put_be64(m + 22, VA + 1);
        played_send(&t, 0, m);
        played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, answer);
        m[3] |= 0x80;
        cr_assert_arr_eq(answer, m, SMCR_MSG_BYTES);
        cr_assert_eq(group->num_peer_rmbs, 2);
        const struct smcr_link *one = played_link(&t, 1), *two = played_link(&t, 2);
        const struct smcr_peer_rmb *rmb = smcr_peer_rmb_find(group, one, 0x4f1, VA, false);
        cr_assert_not_null(rmb);
        cr_assert_eq(smcr_peer_rmb_find(group, two, 0x645, VA + 1, false), rmb, "one RMB, a key per link");
        cr_assert_null(smcr_peer_rmb_find(group, two, 0x4f1, VA, false));
        played_end(&t);
    }
}

/* covers: SMCR-RKY-11 */
Test(llc_rkey, SMCR_RKY_11_told_again_it_replaces)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 1);
    for (unsigned i = 0; i < 3; i++) {
        played_confirm_rkey(m, 0x4f1, VA + i, 0);
        played_send(&t, 0, m);
        played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, m);
        cr_assert_eq(m[3] & 0x20, 0);
    }
    cr_assert_eq(played_group(&t)->num_peer_rmbs, 2);
    cr_assert_not_null(smcr_peer_rmb_find(played_group(&t), played_link(&t, 1), 0x4f1, VA + 2, false));
    played_end(&t);
}

/* covers: SMCR-RKY-11 */
Test(llc_rkey, SMCR_RKY_11_told_again_it_replaces_the_keys_of_all_links)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    const struct smcr_link *one = played_link(&t, 1), *two = played_link(&t, 2);
    for (uint32_t i = 0; i < 2; i++) {
        played_confirm_rkey(m, 0x4f1, VA + i, 1);
        m[17] = 2;
        put_be32(m + 18, 0x645 + i);
        put_be64(m + 22, VA + i);
        played_send(&t, 0, m);
        played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, NULL);
    }
    struct smcr_group *group = played_group(&t);
    const struct smcr_peer_rmb *rmb = smcr_peer_rmb_find(group, one, 0x4f1, VA + 1, false);
    cr_assert_not_null(rmb);
    cr_assert_eq(smcr_peer_rmb_find(group, two, 0x646, VA + 1, false), rmb);
    cr_assert_null(smcr_peer_rmb_find(group, two, 0x645, VA, false));
    played_end(&t);
}

/* covers: SMCR-RKY-05, SMCR-RKY-08, SMCR-REC-01 */
Test(llc_rkey, SMCR_RKY_05_a_CONFIRM_RKEY_amid_its_continuations_begins_anew)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    struct smcr_group *group = played_group(&t);
    played_confirm_rkey(m, 0x4f1, VA, 5);
    played_send(&t, 0, m);
    cr_assert_not(smcr_llc_is_free(group), "continuations are due");
    played_confirm_rkey(m, 0x4f2, VA, 1);
    m[17] = 2;
    put_be32(m + 18, 0x645);
    put_be64(m + 22, VA);
    played_send(&t, 0, m);
    cr_assert_eq(group->num_peer_rmbs, 2);
    cr_assert_null(smcr_peer_rmb_by_key(group, played_link(&t, 1), 0x4f1));
    cr_assert(smcr_llc_is_free(group), "the exchange is over");
    pair_run_for(t.pair, 3 * PAIR_S);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    cr_assert_eq(played_counters(&t)->llc_timeouts, 0);
    played_end(&t);
}

/* covers: SMCR-SER-03, SMCR-SER-05, SMCR-LLC-51 */
Test(llc_rkey, SMCR_SER_05_a_notice_waits_for_the_continuations_of_the_peer)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin_with(&t, SMCR_SERVER, 2, (struct pair_config){.ports = {3, 3}, .smcr[1].max_links = 3});
    played_group(&t)->max_links = 3; /* as if the client had agreed to three */
    const uint64_t *offers = &t.pair->node[1].sent[SMCR_LLC_ADD_LINK], before = *offers;
    played_confirm_rkey(m, 0x4f1, VA, 3);
    m[17] = 2;
    put_be32(m + 18, 0x645);
    put_be64(m + 22, VA);
    played_send(&t, 0, m);
    const uint8_t notice[SMCR_MSG_BYTES] = {SMCR_LLC_ADD_LINK, SMCR_MSG_BYTES, [4] = 2};
    played_send(&t, 0, notice);
    cr_assert_eq(*offers, before);
    const uint8_t last[SMCR_MSG_BYTES] = {SMCR_LLC_CONFIRM_RKEY_CONT, SMCR_MSG_BYTES, [4] = 1, [5] = 9};
    played_send(&t, 0, last);
    cr_assert_eq(*offers, before + 1);
    played_end(&t);
}

/* covers: SMCR-RKY-06, SMCR-REC-26 */
Test(llc_rkey, SMCR_RKY_06_a_link_that_is_not_named_is_dead_for_the_peer)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 2);
    played_confirm_rkey(m, 0x4f0, VA, 1); /* one that names both: nothing of it is left for the next */
    m[17] = 2;
    put_be32(m + 18, 0x644);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, NULL);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_ACTIVE);
    played_confirm_rkey(m, 0x4f1, VA, 0);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, m);
    cr_assert_eq(m[3] & 0x20, 0, "the RMB itself is taken");
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_DOWN);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, m);
    cr_assert_eq(m[4], 2);
    played_end(&t);
}

/* For good: without C. The links have done nothing wrong.
 * covers: SMCR-RKY-10, SMCR-RKY-06 */
Test(llc_rkey, SMCR_RKY_10_one_RMB_too_many_is_refused)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 2);
    struct smcr_group *group = played_group(&t);
    for (uint32_t i = 0; group->num_peer_rmbs < 255; i++)
        cr_assert_not_null(smcr_peer_rmb_find(group, played_link(&t, 1), 0x100000 + i, VA, true));
    played_confirm_rkey(m, 0x4f1, VA, 0);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, m);
    cr_assert_eq(m[3], 0xa0);
    cr_assert_eq(group->num_peer_rmbs, 255);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_ACTIVE);
    played_end(&t);
}

/* Links 3.. as a fiction: only their RTokens are of interest. */
static void pretend_links(struct played *t, unsigned count)
{
    struct smcr_group *group = played_group(t);
    for (unsigned i = 2; i < count; i++) {
        group->links[i] = (struct smcr_link){.group = group, .slot = i, .number = (uint8_t)(i + 1)};
        group->links[i].state = SMCR_LINK_ALLOCATED;
    }
}

static void forget_links(struct played *t, unsigned count)
{
    for (unsigned i = 2; i < count; i++)
        played_group(t)->links[i].state = SMCR_LINK_FREE;
}

/* covers: SMCR-LLC-51, SMCR-LLC-52 */
Test(llc_rkey, SMCR_LLC_51_a_CONFIRM_RKEY_with_continuations_is_taken_at_its_end)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES], answer[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    struct smcr_group *group = played_group(&t);
    pretend_links(&t, 6);
    played_confirm_rkey(m, 0x4f1, VA, 5);
    m[17] = 2;
    put_be32(m + 18, 0x645);
    m[30] = 3;
    put_be32(m + 31, 0x755);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, NULL);
    cr_assert_eq(group->num_peer_rmbs, 1, "not before the sequence is complete");
    memset(m, 0, sizeof m);
    m[0] = SMCR_LLC_CONFIRM_RKEY_CONT;
    m[1] = SMCR_MSG_BYTES;
    m[4] = 3;
    for (unsigned i = 0; i < 3; i++) {
        m[5 + 13 * i] = (uint8_t)(4 + i);
        put_be32(m + 6 + 13 * i, 0x1000 + i);
        put_be64(m + 10 + 13 * i, VA + i);
    }
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY_CONT, true, answer);
    m[3] = 0x80;
    cr_assert_arr_eq(answer, m, SMCR_MSG_BYTES);
    cr_assert_eq(group->num_peer_rmbs, 2);
    const struct smcr_peer_rmb *rmb = smcr_peer_rmb_find(group, &group->links[5], 0x1002, VA + 2, false);
    cr_assert_not_null(rmb);
    cr_assert_eq(rmb->token[2].rkey, 0x755);
    cr_assert_eq(rmb->token[3].rkey, 0x1000);
    cr_assert_eq(rmb->token[4].rkey, 0x1001);
    forget_links(&t, 6);
    played_end(&t);
}

/* covers: SMCR-LLC-51, SMCR-REC-29 */
Test(llc_rkey, SMCR_REC_29_continuations_that_do_not_count_down_end_the_link)
{
    for (unsigned i = 0; i < 2; i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin(&t, SMCR_SERVER, 2);
        if (i == 0) {
            played_confirm_rkey(m, 0x4f1, VA, 5);
            played_send(&t, 0, m);
            played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, NULL);
        } /* else: one out of the blue */
        memset(m, 0, sizeof m);
        m[0] = SMCR_LLC_CONFIRM_RKEY_CONT;
        m[1] = SMCR_MSG_BYTES;
        m[4] = 2;
        played_send(&t, 0, m);
        cr_assert_eq(played_state(&t, 1), SMCR_LINK_DOWN);
        cr_assert_eq(played_counters(&t)->llc_malformed, 1);
        played_end(&t);
    }
}

/* covers: SMCR-LLC-51, SMCR-REC-29 */
Test(llc_rkey, SMCR_REC_29_a_continuation_on_another_link_ends_that_link)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    played_confirm_rkey(m, 0x4f1, VA, 5);
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, NULL);
    memset(m, 0, sizeof m);
    m[0] = SMCR_LLC_CONFIRM_RKEY_CONT;
    m[1] = SMCR_MSG_BYTES;
    m[4] = 3; /* as it should be, but for the link */
    played_send(&t, 1, m);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_DOWN);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    cr_assert_eq(played_group(&t)->num_peer_rmbs, 1);
    played_end(&t);
}

/* covers: SMCR-REC-29 */
Test(llc_rkey, SMCR_REC_29_a_CONFIRM_RKEY_for_more_links_than_there_can_be_ends_the_link)
{
    static const uint8_t others[] = {SMCR_LINK_SLOTS, 200, 255};
    for (size_t i = 0; i < sizeof others; i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin(&t, SMCR_SERVER, 2);
        played_confirm_rkey(m, 0x4f1, VA, others[i]);
        played_send(&t, 0, m);
        cr_assert_eq(played_state(&t, 1), SMCR_LINK_DOWN);
        played_end(&t);
    }
}

/* covers: SMCR-REC-01 */
Test(llc_rkey, SMCR_REC_01_continuations_that_do_not_come_end_the_link)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    played_confirm_rkey(m, 0x4f1, VA, 5);
    played_send(&t, 0, m);
    pair_run_for(t.pair, 1900 * PAIR_MS);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    pair_run_for(t.pair, 200 * PAIR_MS);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_DOWN);
    played_end(&t);
}

/* covers: SMCR-LLC-61, SMCR-REC-27 */
Test(llc_rkey, SMCR_LLC_61_known_keys_go_and_unknown_ones_are_marked)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_CLIENT, 1);
    for (unsigned i = 0; i < 2; i++) {
        played_confirm_rkey(m, 0x4f0 + 2 * i, VA + i, 0);
        played_send(&t, 0, m);
    }
    cr_assert_eq(played_group(&t)->num_peer_rmbs, 3);
    played_delete_rkey(m, 4, (const uint32_t[]){0x4f0, 0x4f1, 0x4f2, 0x4f3});
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_DELETE_RKEY, true, m);
    cr_assert_eq(m[3], 0xa0);
    cr_assert_eq(m[5], 0x50, "the second and the fourth");
    cr_assert_eq(m[4], 4);
    cr_assert_eq(played_group(&t)->num_peer_rmbs, 1);
    played_end(&t);
}

/* covers: SMCR-LLC-60, SMCR-LLC-61 */
Test(llc_rkey, SMCR_LLC_60_one_key_deletes_the_RMB_on_all_links)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    played_confirm_rkey(m, 0x4f1, VA, 1);
    m[17] = 2;
    put_be32(m + 18, 0x645);
    played_send(&t, 0, m);
    played_delete_rkey(m, 1, (const uint32_t[]){0x645}); /* as the carrying link knows it */
    played_send(&t, 1, m);
    played_expect(&t, 1, SMCR_LLC_DELETE_RKEY, true, m);
    cr_assert_eq(m[3], 0x80);
    cr_assert_eq(played_group(&t)->num_peer_rmbs, 1);
    played_delete_rkey(m, 1, (const uint32_t[]){0x645});
    played_send(&t, 0, m);
    played_expect(&t, 0, SMCR_LLC_DELETE_RKEY, true, m);
    cr_assert_eq(m[5], 0x80, "the key of another link is not one of this link");
    played_end(&t);
}

Test(llc_rkey, a_connection_that_writes_into_a_deleted_RMB_is_reset)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 1);
    played_delete_rkey(m, 1, (const uint32_t[]){played_rkey(&t, 0)});
    played_send(&t, 0, m);
    cr_assert(pair_other(t.conn.end)->events & SMCR_EVENT_RESET);
    cr_assert_eq(played_group(&t)->num_peer_rmbs, 0);
    played_end(&t);
}

/* The element is free again at the end of the last post. Until then the connection is in the group, over or
 * not, and may lead nowhere.
 * covers: SMCR-RKY-07, SMCR-RKY-08 */
Test(llc_rkey, no_connection_leads_to_a_deleted_RMB)
{
    for (unsigned is_over = 0; is_over < 2; is_over++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin(&t, SMCR_SERVER, 2);
        struct smcr_conn *conn = pair_other(t.conn.end)->conn;
        unsigned silent = conn->link->number - 1, via = !silent;
        uint32_t rkey = played_rkey(&t, via);
        raw_break(t.peer.link[silent].raw); /* posts there do not end for a while */
        cr_assert_eq(pair_pump(pair_other(t.conn.end), 100, 0), 100);
        if (is_over)
            smcr_conn_abort(conn, t.pair->now_ns);
        cr_assert_not_null(conn->peer_rmb);
        played_delete_rkey(m, 1, (const uint32_t[]){rkey});
        played_send(&t, via, m);
        played_expect(&t, via, SMCR_LLC_DELETE_RKEY, true, m);
        cr_assert_eq(m[3], 0x80, "%u: known", is_over);
        cr_assert_eq(played_group(&t)->num_peer_rmbs, 0);
        cr_assert_eq(played_group(&t)->num_conns, 1, "its post has not ended");
        cr_assert_null(conn->peer_rmb);
        cr_assert(smcr_conn_is_ended(conn));
        pair_run_for(t.pair, 10 * PAIR_S);
        played_end(&t);
    }
}

/* covers: SMCR-REC-29 */
Test(llc_rkey, SMCR_REC_29_a_DELETE_RKEY_of_no_keys_or_too_many_ends_the_link)
{
    static const uint8_t counts[] = {0, 9, 255};
    for (size_t i = 0; i < sizeof counts; i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin(&t, SMCR_SERVER, 2);
        played_delete_rkey(m, counts[i], (const uint32_t[9]){1});
        played_send(&t, 0, m);
        cr_assert_eq(played_state(&t, 1), SMCR_LINK_DOWN);
        played_end(&t);
    }
}
