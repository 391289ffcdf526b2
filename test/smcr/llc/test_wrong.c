/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages that answer nothing, that cannot be, or not now: SMCR-SER-06 and SMCR-REC-29. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "smcr/llc/flow.h"
#include "test/smcr/played.h"
#include "test/smcr/steps.h"

/* covers: SMCR-SER-06 */
Test(llc_wrong, SMCR_SER_06_responses_to_nothing_are_counted_and_dropped)
{
    static const uint8_t types[] = {SMCR_LLC_CONFIRM_LINK,      SMCR_LLC_ADD_LINK,     SMCR_LLC_ADD_LINK_CONT,
                                    SMCR_LLC_DELETE_LINK,       SMCR_LLC_CONFIRM_RKEY, SMCR_LLC_TEST_LINK,
                                    SMCR_LLC_CONFIRM_RKEY_CONT, SMCR_LLC_DELETE_RKEY};
    for (unsigned role = 0; role < 2; role++)
        for (size_t i = 0; i < sizeof types; i++) {
            struct played t;
            played_begin(&t, (enum smcr_role)role, 2);
            uint8_t m[SMCR_MSG_BYTES] = {types[i], SMCR_MSG_BYTES, [3] = 0x80, [4] = 1};
            played_send(&t, 0, m);
            cr_assert_eq(played_counters(&t)->llc_unmatched, 1, "%s", smcr_llc_type_name(types[i]));
            cr_assert_eq(smcr_group_redundancy(played_group(&t)), SMCR_SYMMETRIC);
            cr_assert_eq(played_counters(&t)->llc_malformed, 0);
            played_end(&t);
        }
}

/* The response to DELETE LINK for another link, and over the one that goes.
 * covers: SMCR-SER-06 */
Test(llc_wrong, SMCR_SER_06_a_DELETE_LINK_response_has_its_link_and_its_number)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    const struct smcr_conn *conn = pair_other(t.conn.end)->conn;
    uint8_t target = conn->link->number == 2 ? 1 : 2; /* nobody uses it: it is drained, and still hears */
    unsigned via = target == 1 ? 1 : 0;
    step_delete_link(played_link(&t, target), SMCR_DELETE_INACTIVE, true, t.pair->now_ns);
    played_expect(&t, via, SMCR_LLC_DELETE_LINK, false, NULL);
    played_delete_link(m, 9, 0, 0x80);
    played_send(&t, via, m);
    cr_assert_eq(played_counters(&t)->llc_unmatched, 1);
    played_delete_link(m, target, 0, 0x80);
    played_send(&t, !via, m);
    cr_assert_eq(played_counters(&t)->llc_unmatched, 2);
    cr_assert_eq(played_state(&t, target), SMCR_LINK_DELETING);
    played_send(&t, via, m);
    cr_assert_eq(played_counters(&t)->llc_unmatched, 2);
    cr_assert_neq(played_state(&t, target), SMCR_LINK_DELETING);
    played_end(&t);
}

/* covers: SMCR-REC-29, SMCR-LLC-01, SMCR-LLC-02, SMCR-LLC-63, SMCR-CDC-13 */
Test(llc_wrong, SMCR_REC_29_messages_that_cannot_be_end_the_link)
{
    static const struct {
        uint8_t type, length;
        uint32_t bytes;
    } bad[] = {
        {0x05, 44, 44}, {0x0a, 44, 44}, {0x3f, 44, 44}, {0x00, 44, 44}, {0x41, 44, 44},
        {0x7f, 44, 44}, {0xc1, 44, 44}, {0xff, 44, 44}, {0x07, 43, 44}, {0x07, 45, 44},
        {0x07, 44, 43}, {0x07, 44, 45}, {0x07, 44, 1},  {0xfe, 44, 43}, {0x07, 44, 64},
    };
    for (unsigned role = 0; role < 2; role++)
        for (size_t i = 0; i < array_len(bad); i++) {
            struct played t;
            uint8_t m[RAW_LONGEST] = {bad[i].type, bad[i].length}, dl[SMCR_MSG_BYTES];
            played_begin(&t, (enum smcr_role)role, 2);
            raw_send(t.peer.link[1].raw, m, bad[i].bytes);
            pair_run_for(t.pair, 20 * PAIR_US);
            cr_assert_eq(played_state(&t, 2), SMCR_LINK_DOWN, "%zu", i);
            cr_assert_eq(played_counters(&t)->llc_malformed, 1);
            played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, dl);
            cr_assert_arr_eq(dl + 5, ((uint8_t[]){0x00, 0x04, 0x00, 0x00}), 4, "LLC protocol violation");
            cr_assert(played_status(&t).established, "the other link carries on");
            played_end(&t);
        }
}

/* covers: SMCR-LLC-02, SMCR-REC-29 */
Test(llc_wrong, SMCR_LLC_02_optional_messages_are_discarded_in_silence)
{
    static const uint8_t optional[] = {0x80, 0x8a, 0x9f, 0xbf};
    for (unsigned role = 0; role < 2; role++) {
        struct played t;
        played_begin(&t, (enum smcr_role)role, 2);
        for (size_t i = 0; i < sizeof optional; i++) {
            uint8_t m[SMCR_MSG_BYTES] = {optional[i], SMCR_MSG_BYTES};
            played_send(&t, 0, m);
            cr_assert_eq(played_counters(&t)->llc_discarded, i + 1);
        }
        cr_assert_eq(smcr_group_redundancy(played_group(&t)), SMCR_SYMMETRIC);
        played_end(&t);
    }
}

/* covers: SMCR-REC-29, SMCR-REC-20, SMCR-LLC-20, SMCR-ARC-10 */
Test(llc_wrong, SMCR_REC_29_requests_out_of_any_order_end_the_link)
{
    for (unsigned role = 0; role < 2; role++)
        for (unsigned i = 0; i < 3; i++) {
            static const uint8_t types[] = {SMCR_LLC_CONFIRM_LINK, SMCR_LLC_ADD_LINK_CONT,
                                            SMCR_LLC_CONFIRM_RKEY_CONT};
            struct played t;
            uint8_t m[SMCR_MSG_BYTES] = {types[i], SMCR_MSG_BYTES, [4] = 1};
            played_begin(&t, (enum smcr_role)role, 2);
            played_send(&t, 0, m);
            cr_assert_eq(played_state(&t, 1), SMCR_LINK_DOWN, "%s", smcr_llc_type_name(types[i]));
            played_end(&t);
        }
}

/* covers: SMCR-REC-29, SMCR-QP-05, SMCR-ARC-19 */
Test(llc_wrong, SMCR_QP_05_an_ADD_LINK_with_values_that_cannot_be_ends_the_link)
{
    for (unsigned i = 0; i < 4; i++) {
        struct played t;
        uint8_t m[SMCR_MSG_BYTES];
        played_begin_with(&t, SMCR_CLIENT, 1, (struct pair_config){.ports = {1, 2}});
        pair_add_port(t.pair, t.me);
        played_make_link(&t, 1, 1);
        t.peer.link[1].number = 2;
        peer_add_link(&t.peer, 1, false, m);
        if (i < 2)
            m[26] = m[27] = 0, m[28] = (uint8_t)i; /* QPN 0 or 1 */
        else
            m[29] = (uint8_t)(i - 2); /* link number 0, or one in use */
        played_send(&t, 0, m);
        cr_assert_null(played_group(&t), "case %u", i);
        played_end(&t);
    }
}
