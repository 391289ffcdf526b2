/* SPDX-License-Identifier: BSD-2-Clause */
/* Our own CONFIRM RKEY and DELETE RKEY, and what the peer's answers do: SMCR-RKY-02 to RKY-09. */
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

/* covers: SMCR-RKY-05 */
Test(llc_rkey_ours, SMCR_RKY_05_a_refusal_for_now_is_repeated_from_the_start)
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
Test(llc_rkey_ours, SMCR_RKY_05_an_RMB_that_is_refused_again_and_again_is_given_up)
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
Test(llc_rkey_ours, SMCR_RKY_05_a_refusal_for_good_is_the_end_of_the_RMB)
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
Test(llc_rkey_ours, SMCR_RKY_05_an_answer_to_a_list_that_is_outdated_is_none)
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
Test(llc_rkey_ours, SMCR_LLC_51_ours_goes_on_when_each_message_was_answered)
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
Test(llc_rkey_ours, SMCR_RKY_04_an_RMB_that_is_confirmed_ahead_of_need_is_ready_at_once)
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
Test(llc_rkey_ours, row_17_no_response_to_CONFIRM_RKEY)
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
Test(llc_rkey_ours, SMCR_LLC_61_a_key_that_the_peer_does_not_know_is_gone)
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
Test(llc_rkey_ours, row_19_no_response_to_DELETE_RKEY)
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
Test(llc_rkey_ours, SMCR_SER_06_a_response_for_another_key_or_on_another_link_is_not_ours)
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
Test(llc_rkey_ours, SMCR_RKY_08_both_sides_at_once)
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
Test(llc_rkey_ours, SMCR_RKY_02_three_links_between_two_instances)
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
