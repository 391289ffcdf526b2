/* SPDX-License-Identifier: BSD-2-Clause */
/* Many hostile connections at once: what they can make an instance keep is bounded, and for how long.
 * SMCR-SEC-07, SMCR-CLC-12, SMCR-CLC-13. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/base.h"
#include "net/bytes.h"
#include "smcr/conn/conn.h"
#include "test/smcr/hs.h"

#define FLOOD 300

static struct hs h;

TestSuite(handshake_flood, .timeout = 60);

static struct pair_end *flood[FLOOD];

/* Each opens and sends the first `len_bytes` of a Proposal of its own. */
static void open_all(const uint8_t *proposal, size_t len_bytes)
{
    uint8_t m[SMCR_CLC_MAX_BYTES];
    memcpy(m, proposal, len_bytes);
    for (unsigned i = 0; i < FLOOD; i++) {
        hs_open(&h);
        flood[i] = pair_other(h.conn.end);
        if (len_bytes >= 16)
            put_be16(m + 8, (uint16_t)(1000 + i)); /* another peer each */
        hs_send(&h, m, len_bytes);
    }
    hs_pass(&h);
}

static unsigned count(enum smcr_conn_state state)
{
    unsigned n = 0;
    for (unsigned i = 0; i < FLOOD; i++)
        n += flood[i]->conn->state == state;
    return n;
}

static void expect_nothing_left(void)
{
    pair_run_for(h.pair, 7 * PAIR_S);
    cr_assert_eq(count(SMCR_CONN_HANDSHAKE), 0);
    for (unsigned i = 0; i < FLOOD; i++)
        pair_close(flood[i]);
    cr_assert_eq(hs_groups(&h), 0);
    raw_free(h.peer.link[0].raw);
    h.peer.link[0].raw = NULL;
    hs_contact(&h, 1); /* and whoever means it is served */
    hs_end(&h);
}

/* They propose and never confirm.
 * covers: SMCR-SEC-07, SMCR-CLC-12, SMCR-FBK-03 */
Test(handshake_flood, SMCR_SEC_07_peers_that_never_confirm)
{
    hs_begin(&h, SMCR_CLIENT, &(struct pair_config){.smcr[0].max_groups = 8});
    uint8_t proposal[SMCR_CLC_PROPOSAL_BYTES];
    size_t n = peer_proposal(&h.peer, proposal);
    open_all(proposal, n);
    cr_assert_eq(hs_groups(&h), 8);
    cr_assert_eq(count(SMCR_CONN_HANDSHAKE), 8);
    cr_assert_eq(count(SMCR_CONN_FALLBACK), FLOOD - 8, "the others go on over TCP");
    expect_nothing_left();
}

/* They announce the longest message that there may be, and stop, at every place.
 * covers: SMCR-SEC-07, SMCR-CLC-12, SMCR-CLC-13 */
Test(handshake_flood, SMCR_SEC_07_peers_that_stop_in_the_middle)
{
    static const size_t stops[] = {0, 1, 7, 8, 9, 40, 1000, SMCR_CLC_MAX_BYTES - 1};
    for (unsigned i = 0; i < array_len(stops); i++) {
        uint8_t m[SMCR_CLC_MAX_BYTES] = {0};
        hs_begin(&h, SMCR_CLIENT, NULL);
        peer_proposal(&h.peer, m);
        put_be16(m + 5, SMCR_CLC_MAX_BYTES);
        const struct test_alloc *alloc = &h.pair->node[HS_INSTANCE].alloc;
        unsigned live = alloc->live;
        open_all(m, stops[i]);
        cr_assert_leq(alloc->live - live, 2 * FLOOD, "a connection, and one message of each");
        cr_assert_eq(count(SMCR_CONN_HANDSHAKE), FLOOD);
        pair_run_for(h.pair, 7 * PAIR_S);
        cr_assert_eq(alloc->live - live, FLOOD,
                     "the messages are freed, the application has the connections");
        cr_assert_eq(hs_counters(&h)->clc_timeouts, FLOOD);
        expect_nothing_left();
    }
}

/* They say anything but CLC.
 * covers: SMCR-SEC-07, SMCR-CLC-06 */
Test(handshake_flood, SMCR_SEC_07_peers_that_speak_something_else)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    static const uint8_t other[] = "GET / HTTP/1.1\r\n\r\n";
    open_all(other, sizeof other);
    cr_assert_eq(count(SMCR_CONN_CLOSED), FLOOD);
    cr_assert_eq(hs_counters(&h)->clc_malformed, FLOOD);
    expect_nothing_left();
}

/* One peer, all at once, and its first contact never ends: those that wait fall back in time.
 * covers: SMCR-SEC-07, SMCR-FC-21 */
Test(handshake_flood, SMCR_FC_21_one_peer_whose_first_contact_never_ends)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_confirm(&h, true);
    for (unsigned i = 0; i < FLOOD; i++) {
        hs_to_proposal(&h);
        flood[i] = pair_other(h.conn.end);
        hs_send(&h, h.m, h.len_bytes);
    }
    hs_pass(&h);
    cr_assert_eq(count(SMCR_CONN_HANDSHAKE), FLOOD);
    cr_assert_eq(hs_groups(&h), 1);
    pair_run_for(h.pair, 3 * PAIR_S);
    cr_assert_eq(count(SMCR_CONN_FALLBACK), FLOOD);
    expect_nothing_left();
}
