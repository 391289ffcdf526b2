/* SPDX-License-Identifier: BSD-2-Clause */
/* CONFIRM RKEY and DELETE RKEY, ours and the peer's: SMCR sections 10.4, 10.5, 11.3. */
#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "smcr/llc/flow.h"
#include "test/smcr/played.h"
#include "test/smcr/steps.h"

#define VA UINT64_C(0x7f5c6d600000)

/* The CONFIRM RKEY of an RMB that the instance needs now; which link carries it. */
static unsigned asked(struct played *t, uint32_t rcvbuf_bytes, uint8_t *m)
{
    struct raw_message raw;
    played_open(t, rcvbuf_bytes);
    for (unsigned via = 0; via < t->peer.num_links; via++)
        if (raw_wait(t->peer.link[via].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, PAIR_MS)) {
            memcpy(m, raw.bytes, SMCR_MSG_BYTES);
            return via;
        }
    cr_assert_fail("no CONFIRM RKEY");
    return 0;
}

/* --- the peer's --- */

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

/* --- ours --- */

/* covers: SMCR-RKY-05 */
Test(llc_rkey, SMCR_RKY_05_a_refusal_for_now_is_repeated_from_the_start)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES], again[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 1);
    asked(&t, 300000, m);
    memcpy(again, m, sizeof m);
    m[3] = 0xb0; /* R, Z, C: CR_NEG */
    played_send(&t, 0, m);
    struct raw_message raw;
    cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, 500 * PAIR_MS));
    cr_assert_arr_eq(raw.bytes, again, SMCR_MSG_BYTES);
    cr_assert_eq(played_group(&t)->llc.rkey.refusals, 1);
    again[3] = 0x80;
    played_send(&t, 0, again);
    cr_assert(played_group(&t)->rmbs->next->is_confirmed);
    cr_assert_eq(played_group(&t)->llc.rkey.refusals, 0, "the next RMB has as many tries");
    played_end(&t);
}

/* Each try comes after a pause, not at once, and there is an end to them.
 * covers: SMCR-RKY-05 */
Test(llc_rkey, SMCR_RKY_05_an_RMB_that_is_refused_again_and_again_is_given_up)
{
    struct played t;
    struct raw_message raw;
    played_begin(&t, SMCR_SERVER, 1);
    asked(&t, 300000, raw.bytes);
    unsigned tries = 0;
    uint64_t from_ns;
    do {
        tries++;
        from_ns = t.pair->now_ns;
        raw.bytes[3] = 0xb0;
        played_send(&t, 0, raw.bytes);
        cr_assert_leq(tries, 32);
    } while (raw_wait(t.peer.link[0].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, 200 * PAIR_MS) &&
             t.pair->now_ns - from_ns >= 100 * PAIR_MS);
    cr_assert_eq(tries, 32);
    cr_assert_eq(played_group(&t)->num_rmbs, 1);
    cr_assert_eq(played_counters(&t)->declines_tx, 1, "its connection goes by TCP");
    played_end(&t);
}

/* covers: SMCR-RKY-05 */
Test(llc_rkey, SMCR_RKY_05_a_refusal_for_good_is_the_end_of_the_RMB)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 1);
    asked(&t, 300000, m);
    m[3] = 0xa0; /* R, Z */
    played_send(&t, 0, m);
    played_expect_none(&t, 0, SMCR_LLC_CONFIRM_RKEY, false, PAIR_S);
    cr_assert_eq(played_group(&t)->num_rmbs, 1);
    cr_assert_eq(played_counters(&t)->declines_tx, 1, "its connection goes by TCP");
    played_end(&t);
}

/* A link has gone since the list of links was made: whatever the answer to it, the RMB is told of anew when
 * the peer knows.
 * covers: SMCR-RKY-05, SMCR-RKY-02 */
Test(llc_rkey, SMCR_RKY_05_an_answer_to_a_list_that_is_outdated_is_none)
{
    for (unsigned is_negative = 0; is_negative < 2; is_negative++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin(&t, SMCR_SERVER, 2);
        unsigned via = asked(&t, 300000, m);
        cr_assert_eq(m[4], 1);
        pair_cut(t.pair, t.me, !via, true);
        pair_run_for(t.pair, PAIR_MS);
        m[3] = is_negative ? 0xa0 : 0x80;
        played_send(&t, via, m);
        cr_assert_eq(played_group(&t)->num_rmbs, 2);
        cr_assert_not(played_group(&t)->rmbs->next->is_confirmed);
        played_answer_delete(&t, via, (uint8_t)(2 - via));
        played_expect(&t, via, SMCR_LLC_ADD_LINK, false, m); /* another one comes first */
        peer_add_link_reject(&t.peer, m[29], m);
        played_send(&t, via, m);
        struct raw_message raw;
        cr_assert(raw_wait(t.peer.link[via].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, 200 * PAIR_MS));
        cr_assert_eq(raw.bytes[4], 0, "for the link that is left");
        raw.bytes[3] = 0x80;
        played_send(&t, via, raw.bytes);
        cr_assert(played_group(&t)->rmbs->next->is_confirmed);
        played_end(&t);
    }
}

/* Six links: two others in the first message, three in the next, which waits for the answer to the first.
 * covers: SMCR-LLC-51, SMCR-LLC-52, SMCR-RKY-02 */
Test(llc_rkey, SMCR_LLC_51_ours_goes_on_when_each_message_was_answered)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct smcr_link *more[4];
    struct smcr_confirm_rkey_cont cont;
    played_begin(&t, SMCR_SERVER, 2);
    struct smcr_group *group = played_group(&t);
    for (uint8_t i = 0; i < 4; i++) {
        cr_assert_eq(smcr_link_create(group, t.pair->node[1].smcr->ports, (uint8_t)(3 + i), &more[i]), 0);
        more[i]->state = SMCR_LINK_ACTIVE; /* as far as RKeys go */
    }
    unsigned via = asked(&t, 300000, m);
    const struct smcr_rmb *rmb = group->rmbs->next;
    cr_assert_eq(m[4], 5);
    cr_assert_eq(m[17], 2 - via);
    cr_assert_eq(m[30], 3);
    played_expect_none(&t, via, SMCR_LLC_CONFIRM_RKEY_CONT, false, PAIR_MS);
    m[3] = 0x80;
    played_send(&t, via, m);
    cr_assert_not(rmb->is_confirmed);
    played_expect(&t, via, SMCR_LLC_CONFIRM_RKEY_CONT, false, m);
    smcr_confirm_rkey_cont_get(&cont, m);
    cr_assert_eq(cont.links_left, 3);
    cr_assert(cont.link_1 == 4 && cont.link_2 == 5 && cont.link_3 == 6);
    cr_assert_eq(cont.rkey_1, rmb->mr[more[1]->slot]->rkey);
    cr_assert_eq(cont.rkey_3, rmb->mr[more[3]->slot]->rkey);
    m[3] = 0x80;
    played_send(&t, via, m);
    cr_assert(rmb->is_confirmed);
    for (unsigned i = 0; i < 4; i++)
        step_link_free(more[i], t.pair->now_ns);
    played_end(&t);
}

/* Nobody waits for it any more when the answer comes: it serves who needs one later, without a word. */
/* covers: SMCR-RKY-04, SMCR-SC-02 */
Test(llc_rkey, SMCR_RKY_04_an_RMB_that_is_confirmed_ahead_of_need_is_ready_at_once)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    struct pair_end *end = played_open(&t, 300000);
    struct raw_message raw;
    unsigned via = raw_wait(t.peer.link[0].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, PAIR_MS) ? 0 : 1;
    if (via == 1)
        cr_assert(raw_wait(t.peer.link[1].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, PAIR_MS));
    memcpy(m, raw.bytes, sizeof m);
    pair_close(end);
    pair_now(t.pair);
    const struct smcr_rmb *rmb = played_group(&t)->rmbs->next;
    cr_assert_not_null(rmb);
    cr_assert_eq(rmb->used, 0);
    m[3] = 0x80;
    played_send(&t, via, m);
    cr_assert(rmb->is_confirmed);
    uint64_t told = t.pair->node[t.me].sent[SMCR_LLC_CONFIRM_RKEY];
    end = played_open(&t, 300000);
    pair_run_for(t.pair, PAIR_MS);
    cr_assert_eq(end->conn->rmb, rmb);
    cr_assert_eq(end->conn->stage, SMCR_STAGE_CONFIRM, "the Accept is out");
    cr_assert_eq(t.pair->node[t.me].sent[SMCR_LLC_CONFIRM_RKEY], told);
    played_end(&t);
}

/* covers: SMCR-REC-04.17, SMCR-LLC-06, SMCR-REC-31, SMCR-FOV-01 */
Test(llc_rkey, row_17_no_response_to_CONFIRM_RKEY)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    unsigned via = asked(&t, 300000, m);
    pair_run_for(t.pair, 1900 * PAIR_MS);
    cr_assert_eq(played_state(&t, (uint8_t)(via + 1)), SMCR_LINK_ACTIVE);
    pair_run_for(t.pair, 200 * PAIR_MS);
    cr_assert_eq(played_state(&t, (uint8_t)(via + 1)), SMCR_LINK_DOWN);
    played_answer_delete(&t, !via, (uint8_t)(via + 1));
    /* SMCR-REC-31: the whole exchange again, for the links that there are now. */
    struct raw_message raw;
    cr_assert(raw_wait(t.peer.link[!via].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, PLAYED_SOON));
    cr_assert_eq(raw.bytes[4], 0);
    raw.bytes[3] = 0x80;
    played_send(&t, !via, raw.bytes);
    cr_assert(played_group(&t)->rmbs->next->is_confirmed);
    played_end(&t);
}

/* The instance (client, two links) has an RMB that nobody uses any more, and says so. */
static unsigned deleting_rkey(struct played *t, struct raw_message *out)
{
    struct pair_config config = {.smcr[0].times.rmb_idle_ns = 10 * PAIR_MS};
    played_begin_with(t, SMCR_CLIENT, 2, config);
    struct smcr_group *group = played_group(t);
    struct smcr_conn conn = {.config.rcvbuf_bytes = 1000};
    group->state = SMCR_GROUP_FIRST_CONTACT;
    cr_assert_eq(smcr_rmb_get_elem(group, &conn), 0);
    group->state = SMCR_GROUP_USABLE;
    smcr_rmb_put_elem(&conn, t->pair->now_ns);
    pair_run_for(t->pair, 15 * PAIR_MS);
    unsigned via = raw_wait(t->peer.link[0].raw, SMCR_LLC_DELETE_RKEY, false, out, PAIR_US) ? 0 : 1;
    cr_assert(via == 0 || raw_wait(t->peer.link[1].raw, SMCR_LLC_DELETE_RKEY, false, out, PAIR_US));
    return via;
}

/* The peer does not know the key, so it is as good as deleted; it can delete none now: later, then.
 * covers: SMCR-LLC-61, SMCR-RKY-07, SMCR-SER-04 */
Test(llc_rkey, SMCR_LLC_61_a_key_that_the_peer_does_not_know_is_gone)
{
    for (unsigned refused = 0; refused < 2; refused++) {
        struct played t;
        struct raw_message raw;
        unsigned via = deleting_rkey(&t, &raw);
        raw.bytes[3] = 0xa0;
        raw.bytes[5] = refused ? 0xff : 0x80;
        played_send(&t, via, raw.bytes);
        cr_assert_eq(played_group(&t)->num_rmbs, 1 + refused);
        pair_run_for(t.pair, PAIR_S);
        cr_assert_eq(t.pair->node[0].sent[SMCR_LLC_DELETE_RKEY], 1 + refused);
        played_end(&t);
    }
}

/* covers: SMCR-REC-04.19 */
Test(llc_rkey, row_19_no_response_to_DELETE_RKEY)
{
    struct played t;
    struct raw_message raw;
    unsigned via = deleting_rkey(&t, &raw);
    struct smcr_group *group = played_group(&t);
    pair_run_for(t.pair, 2010 * PAIR_MS);
    cr_assert_eq(played_state(&t, (uint8_t)(via + 1)), SMCR_LINK_DOWN);
    cr_assert_eq(group->num_rmbs, 2, "it stays allocated");
    cr_assert(raw_wait(t.peer.link[!via].raw, SMCR_LLC_DELETE_RKEY, false, &raw, PLAYED_SOON),
              "until a retry succeeds");
    raw.bytes[3] = 0x80;
    played_send(&t, !via, raw.bytes);
    cr_assert_eq(group->num_rmbs, 1);
    played_end(&t);
}

/* covers: SMCR-SER-06 */
Test(llc_rkey, SMCR_SER_06_a_response_for_another_key_or_on_another_link_is_not_ours)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    unsigned via = asked(&t, 300000, m);
    m[3] = 0x80;
    played_send(&t, !via, m);
    m[8] ^= 1;
    played_send(&t, via, m);
    m[8] ^= 1;
    uint8_t deleted[SMCR_MSG_BYTES];
    played_delete_rkey(deleted, 1, (const uint32_t[]){get_be32(m + 5)});
    deleted[3] = 0x80;
    played_send(&t, via, deleted); /* nor is one to another request for that key */
    cr_assert_eq(played_counters(&t)->llc_unmatched, 3);
    cr_assert_eq(played_group(&t)->num_rmbs, 2);
    cr_assert_not(played_group(&t)->rmbs->next->is_confirmed);
    played_send(&t, via, m);
    cr_assert(played_group(&t)->rmbs->next->is_confirmed);
    played_send(&t, via, m);
    cr_assert_eq(played_counters(&t)->llc_unmatched, 4, "it is over");
    played_end(&t);
}

/* covers: SMCR-RKY-08, SMCR-SER-03 */
Test(llc_rkey, SMCR_RKY_08_both_sides_at_once)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES], theirs[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 1);
    asked(&t, 300000, m);
    played_confirm_rkey(theirs, 0x4f1, VA, 0);
    played_send(&t, 0, theirs);
    played_expect(&t, 0, SMCR_LLC_CONFIRM_RKEY, true, theirs);
    cr_assert_eq(theirs[3], 0x80);
    played_delete_rkey(theirs, 1, (const uint32_t[]){0x4f1});
    played_send(&t, 0, theirs);
    played_expect(&t, 0, SMCR_LLC_DELETE_RKEY, true, theirs);
    cr_assert_eq(theirs[3], 0x80);
    m[3] = 0x80;
    played_send(&t, 0, m);
    cr_assert(played_group(&t)->rmbs->next->is_confirmed);
    played_end(&t);
}

/* Six links, each with its own key, on both sides of a real exchange: one message and one continuation. */
/* covers: SMCR-LLC-51, SMCR-RKY-01, SMCR-RKY-02, SMCR-ARC-24 */
Test(llc_rkey, SMCR_RKY_02_three_links_between_two_instances)
{
    struct pair_config config = {
        .ports = {3, 3},
        .smcr = {{.max_links = 3, .elems_per_rmb = 1}, {.max_links = 3, .elems_per_rmb = 1}}};
    struct pair *pair = pair_new(&config);
    struct pair_conn *conns[4];
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_not_null(conns[i] = pair_connect(pair, 0), "%s", pair->failure);
        pair_run_for(pair, PAIR_MS);
    }
    for (unsigned node = 0; node < 2; node++) {
        const struct smcr_group *mine = pair->node[node].smcr->groups,
                                *theirs = pair->node[!node].smcr->groups;
        cr_assert_eq(mine->num_rmbs, 4);
        cr_assert_eq(theirs->num_peer_rmbs, 4);
        for (const struct smcr_peer_rmb *p = theirs->peer_rmbs; p; p = p->next)
            for (unsigned l = 0; l < 3; l++)
                cr_assert(p->token[l].is_known);
        for (unsigned l = 0; l < 3; l++)
            for (const struct smcr_rmb *rmb = mine->rmbs; rmb; rmb = rmb->next) {
                cr_assert_not_null(rmb->mr[l]);
                cr_assert_eq(rmb->mr[l]->pd, mine->links[l].pd, "a domain per link");
            }
    }
    for (unsigned i = 0; i < 4; i++)
        cr_assert(pair_transfer(pair, &conns[i]->end[i % 2], 50000, PAIR_S), "%s", pair->failure);
    cr_assert_null(pair_free(pair));
}
