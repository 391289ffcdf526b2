/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages that are lost with their link: SMCR-LLC-06, FOV-11. */
#include <criterion/criterion.h>

#include "test/smcr/played.h"
#include "test/smcr/steps.h"

/* Everything that came and was not asked for. */
static unsigned count_of(struct raw_link *link, uint8_t type)
{
    struct raw_message m;
    unsigned count = 0;
    while (raw_take(link, &m))
        count += m.bytes[0] == type;
    return count;
}

/* A link dies with a message in it, requests and responses alike: it does not appear on the other one. What
 * is begun anew there is an exchange of its own (SMCR-REC-31). */
/* covers: SMCR-LLC-06, SMCR-FOV-11 */
Test(llc_lost, SMCR_LLC_06_what_was_lost_with_a_link_is_not_sent_on_another)
{
    enum lost { REQUEST, TEST_RESPONSE, RKEY_RESPONSE, DELETE_RKEY_RESPONSE, LOSSES };
    static const uint8_t types[LOSSES] = {SMCR_LLC_TEST_LINK, SMCR_LLC_TEST_LINK, SMCR_LLC_CONFIRM_RKEY,
                                          SMCR_LLC_DELETE_RKEY};
    for (enum lost lost = 0; lost < LOSSES; lost++)
        for (unsigned role = 0; role < 2; role++) {
            struct played t;
            uint8_t m[SMCR_MSG_BYTES];
            played_begin(&t, (enum smcr_role)role, 2);
            struct raw_link *dying = t.peer.link[1].raw, *other = t.peer.link[0].raw;
            (void)count_of(other, 0);
            uint64_t before = t.pair->node[t.me].sent[types[lost]];
            switch (lost) {
            case REQUEST:
                step_test_link(played_link(&t, 2), t.pair->now_ns);
                break;
            case TEST_RESPONSE:
                played_test_link(m, 9);
                break;
            case RKEY_RESPONSE:
                played_confirm_rkey(m, 0x4f1, 0x7f0000000000, 1);
                m[17] = 1; /* and link 1 */
                break;
            case DELETE_RKEY_RESPONSE:
                played_delete_rkey(m, 1, (const uint32_t[]){0x4f1});
                break;
            case LOSSES:
                break;
            }
            if (lost != REQUEST)
                raw_send(dying, m, SMCR_MSG_BYTES);
            /* It is on its way there: the wire takes 5 us each way. */
            pair_run_for(t.pair, (lost == REQUEST ? 2 : 7) * PAIR_US);
            raw_break(dying);
            cr_assert_eq(t.pair->node[t.me].sent[types[lost]], before + 1, "%u: it left", lost);
            pair_run_for(t.pair, 1900 * PAIR_MS);
            cr_assert_eq(played_state(&t, 2), SMCR_LINK_DOWN, "%u", lost);
            cr_assert_eq(count_of(other, types[lost]), 0, "%u", lost);
            cr_assert_eq(t.pair->node[t.me].sent[types[lost]], before + 1, "%u", lost);
            played_end(&t);
        }
}
