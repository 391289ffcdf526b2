/* SPDX-License-Identifier: BSD-2-Clause */
/* The table SMCR-FBK-01, row by row (row 1, no option on one side, is the rendezvous'): who falls back
 * when, and when it is too late. Each case ends with bytes in both directions over TCP, or with RST. */
#include <criterion/criterion.h>
#include <errno.h>

#include "net/bytes.h"
#include "smcr/conn/conn.h"
#include "test/smcr/hs.h"
#include "test/smcr/steps.h"

static struct hs h;

TestSuite(handshake_fallback, .timeout = 60);

static const struct pair_config two_ports = {.ports = {2, 2}};

/* --- row 2: the server refuses the Proposal --- */

static void refuse_proposal(const struct pair_config *config, uint32_t diagnosis)
{
    hs_begin(&h, SMCR_CLIENT, config);
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, diagnosis);
    cr_assert_eq(hs_counters(&h)->declines_tx, 1);
    cr_assert_eq(hs_counters(&h)->conns_fallback, 1);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* covers: SMCR-FBK-01, SMCR-REN-06, SMCR-CLC-14 */
Test(handshake_fallback, SMCR_FBK_01_row_2_policy_and_no_rnic)
{
    refuse_proposal(&(struct pair_config){.smcr[0].disabled = true}, SMCR_DIAG_CONFIG);
    refuse_proposal(&(struct pair_config){.no_ports = {true}}, SMCR_DIAG_NO_RNIC);
}

/* The client's program has switched it off after the option was sent: a Decline in place of the Proposal.
 * covers: SMCR-REN-06, SMCR-CLC-10 */
Test(handshake_fallback, SMCR_REN_06_a_client_that_may_not)
{
    hs_begin(&h, SMCR_SERVER, &(struct pair_config){.smcr[0].disabled = true});
    hs_open(&h);
    hs_expect_decline(&h, SMCR_DIAG_CONFIG);
    hs_end(&h);
}

/* covers: SMCR-FBK-01 */
Test(handshake_fallback, SMCR_FBK_01_row_2_the_rnic_is_down)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    pair_cut(h.pair, HS_INSTANCE, 0, true);
    hs_pass(&h);
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_NO_RNIC);
    hs_end(&h);
}

/* covers: SMCR-FBK-01, SMCR-ABT-09 */
Test(handshake_fallback, SMCR_FBK_01_row_2_an_instance_that_retires)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_proposal(&h);
    smcr_retire(h.pair->node[HS_INSTANCE].smcr, h.pair->now_ns);
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_CONFIG);
    hs_end(&h);
}

/* covers: SMCR-FBK-01, SMCR-FC-02, SMCR-SEC-02 */
Test(handshake_fallback, SMCR_FC_02_row_2_another_subnet)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } others[] = {{42, 1}, {44, 23}, {44, 25}, {41, 78}};
    for (unsigned i = 0; i < 4; i++) {
        hs_begin(&h, SMCR_CLIENT, NULL);
        hs_to_proposal(&h);
        h.m[others[i].at] = others[i].value;
        hs_send(&h, h.m, h.len_bytes);
        hs_expect_decline(&h, SMCR_DIAG_NO_COMMON_SUBNET);
        hs_end(&h);
    }
    hs_begin(&h, SMCR_CLIENT, &(struct pair_config){.ipv6 = true});
    hs_to_proposal(&h);
    h.m[50] ^= 1; /* in the prefix */
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_NO_COMMON_SUBNET);
    hs_end(&h);
}

/* Each allocation of a first contact fails once, at either role: TCP goes on, and nothing is left.
 * covers: SMCR-FBK-01, SMCR-FC-04, SMCR-FBK-03 */
Test(handshake_fallback, SMCR_FBK_01_rows_2_and_4_no_memory)
{
    for (unsigned role = 0; role < 2; role++) {
        bool failed = true;
        for (unsigned nth = 1; failed; nth++) {
            hs_begin(&h, role ? SMCR_CLIENT : SMCR_SERVER, NULL);
            if (role)
                hs_to_proposal(&h);
            else
                hs_to_accept(&h, true);
            struct test_alloc *alloc = &h.pair->node[HS_INSTANCE].alloc;
            alloc->fail_at = alloc->calls + nth + (role ? 1 : 0); /* the first is the Proposal itself */
            hs_send(&h, h.m, h.len_bytes);
            uint8_t answer = hs_wait(&h, PAIR_MS);
            failed = alloc->calls >= alloc->fail_at;
            cr_assert_eq(answer,
                         failed ? SMCR_CLC_DECLINE
                         : role ? SMCR_CLC_ACCEPT
                                : SMCR_CLC_CONFIRM,
                         "call %u", nth);
            if (failed) {
                alloc->fail_at = 0;
                cr_assert_eq(get_be32(h.m + 16) >> 16, SMCR_DIAG_NO_RESOURCES >> 16);
                hs_expect_tcp(&h);
                cr_assert_eq(hs_groups(&h), 0);
            }
            hs_end(&h);
        }
    }
}

/* covers: SMCR-FBK-01, SMCR-SEC-07 */
Test(handshake_fallback, SMCR_FBK_01_row_2_no_more_groups)
{
    hs_begin(&h, SMCR_CLIENT, &(struct pair_config){.smcr[0].max_groups = 1});
    hs_contact(&h, 1);
    h.peer.peer_id[1] ^= 0xff; /* another peer */
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_NO_RESOURCES);
    cr_assert_eq(hs_groups(&h), 1);
    hs_end(&h);
}

/* --- row 3: trouble at the client while the Accept is outstanding --- */

/* covers: SMCR-FBK-01, SMCR-CLC-11 */
Test(handshake_fallback, SMCR_CLC_11_row_3_the_client_waits_with_its_decline)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_to_accept(&h, true);
    pair_cut(h.pair, HS_INSTANCE, 0, true);
    pair_run_for(h.pair, PAIR_S);
    cr_assert_eq(hs_wait(&h, PAIR_MS), 0, "it chases its own Proposal");
    h.len_bytes = peer_accept(&h.conn, SMCR_CLC_ACCEPT, true, 0, h.m);
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_NO_RNIC);
    hs_end(&h);
}

/* A client that cannot propose says so in place of the Proposal.
 * covers: SMCR-CLC-10, SMCR-FBK-01 */
Test(handshake_fallback, SMCR_CLC_10_row_3_a_client_without_rnic)
{
    hs_begin(&h, SMCR_SERVER, &(struct pair_config){.no_ports = {true}});
    hs_open(&h);
    hs_expect_decline(&h, SMCR_DIAG_NO_RNIC);
    hs_end(&h);
    hs_begin(&h, SMCR_SERVER, &(struct pair_config){.smcr[0].disabled = true});
    hs_open(&h);
    hs_expect_decline(&h, SMCR_DIAG_CONFIG);
    hs_end(&h);
}

/* --- row 4: the client refuses the Accept --- */

static void refuse_sizes(bool is_confirm)
{
    for (unsigned value = 0; value < 256; value++) {
        unsigned bsize = value >> 4, mtu = value & 15;
        if (bsize <= 5 && mtu >= 1 && mtu <= 5)
            continue;
        hs_begin(&h, is_confirm ? SMCR_CLIENT : SMCR_SERVER, NULL);
        if (is_confirm)
            hs_to_confirm(&h, true);
        else
            hs_to_accept(&h, true);
        h.m[50] = (uint8_t)value;
        hs_send(&h, h.m, h.len_bytes);
        hs_expect_decline(&h, SMCR_DIAG_CONFIG);
        cr_assert_eq(hs_groups(&h), 0);
        hs_end(&h);
    }
}

/* covers: SMCR-FBK-01, SMCR-CLC-07, SMCR-CLC-31, SMCR-CLC-33 */
Test(handshake_fallback, SMCR_CLC_07_row_4_reserved_values_in_the_accept)
{
    refuse_sizes(false);
}

/* covers: SMCR-FBK-01, SMCR-CLC-40, SMCR-SC-06, SMCR-FC-05 */
Test(handshake_fallback, SMCR_FC_05_row_4_out_of_sync)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_to_accept(&h, true);
    h.m[7] = 0x10; /* of a group that the client never had */
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_OUT_OF_SYNC);
    hs_end(&h);
}

/* --- row 5: the server refuses the Confirm of a first contact --- */

/* covers: SMCR-FBK-01, SMCR-CLC-07 */
Test(handshake_fallback, SMCR_CLC_07_row_5_reserved_values_in_the_confirm)
{
    refuse_sizes(true);
}

/* The RNIC goes while the Confirm is outstanding: the server waits for it, then declines.
 * covers: SMCR-FBK-01, SMCR-CLC-11 */
Test(handshake_fallback, SMCR_CLC_11_row_5_the_rnic_goes_after_the_accept)
{
    for (unsigned removed = 0; removed < 2; removed++) {
        hs_begin(&h, SMCR_CLIENT, NULL);
        hs_to_confirm(&h, true);
        if (removed)
            pair_remove_port(h.pair, HS_INSTANCE);
        else
            pair_cut(h.pair, HS_INSTANCE, 0, true);
        pair_run_for(h.pair, PAIR_S);
        cr_assert_eq(h.conn.end->plain_bytes, h.conn.end->plain_read, "it chases its own Accept");
        hs_send(&h, h.m, h.len_bytes);
        hs_expect_decline(&h, SMCR_DIAG_QP_NOT_READY);
        cr_assert_eq(hs_groups(&h), 0);
        hs_end(&h);
    }
}

/* --- rows 6 to 10: LLC messages of a first contact that cannot be sent --- */

/* covers: SMCR-FBK-01, SMCR-FBK-06, SMCR-FC-22 */
Test(handshake_fallback, SMCR_FBK_01_row_6_confirm_link_cannot_be_sent)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_confirm(&h, true);
    raw_break(h.peer.link[0].raw);
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_CONFIRM_LINK_TIMEOUT);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

static void spoil_confirm_link(unsigned at)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    uint8_t out[SMCR_MSG_BYTES];
    peer_confirm_link(&h.peer, 0, false, out);
    out[at] ^= 0x10;
    raw_send(h.peer.link[0].raw, out, sizeof out);
    cr_assert_eq(hs_wait(&h, 3 * PAIR_S), SMCR_CLC_DECLINE, "byte %u", at);
    hs_expect_tcp(&h);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* covers: SMCR-FBK-01, SMCR-FC-10, SMCR-LLC-21, SMCR-REC-20 */
Test(handshake_fallback, SMCR_FBK_01_row_7_confirm_link_with_wrong_data)
{
    spoil_confirm_link(4); /* MAC */
    spoil_confirm_link(9);
    spoil_confirm_link(10); /* GID */
    spoil_confirm_link(25);
    spoil_confirm_link(26); /* QPN */
    spoil_confirm_link(28);
}

/* covers: SMCR-FBK-01 */
Test(handshake_fallback, SMCR_FBK_01_row_8_the_confirm_link_response_cannot_be_sent)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    uint8_t out[SMCR_MSG_BYTES];
    peer_confirm_link(&h.peer, 0, false, out);
    raw_send(h.peer.link[0].raw, out, sizeof out);
    pair_run_for(h.pair, 5 * PAIR_US); /* on its way */
    raw_break(h.peer.link[0].raw);
    hs_expect_decline(&h, SMCR_DIAG_CONFIRM_LINK_TIMEOUT);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* covers: SMCR-FBK-01 */
Test(handshake_fallback, SMCR_FBK_01_row_9_add_link_cannot_be_sent)
{
    hs_begin(&h, SMCR_CLIENT, &two_ports);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    cr_assert(peer_contact_confirm(&h.peer));
    pair_run_for(h.pair, 5 * PAIR_US); /* the response is on its way */
    raw_break(h.peer.link[0].raw);
    hs_expect_decline(&h, SMCR_DIAG_ADD_LINK_TIMEOUT);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* The client's group is up to the ADD LINK: the server's request is sent, not answered yet. */
static void to_add_link(void)
{
    uint8_t out[SMCR_MSG_BYTES];
    hs_begin(&h, SMCR_SERVER, &two_ports);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    cr_assert(peer_contact_confirm(&h.peer));
    peer_make_link(&h.peer, 1, 1);
    h.peer.link[1].number = 2;
    peer_add_link(&h.peer, 1, false, out);
    raw_send(h.peer.link[0].raw, out, sizeof out);
}

/* covers: SMCR-FBK-01 */
Test(handshake_fallback, SMCR_FBK_01_row_10_the_add_link_response_cannot_be_sent)
{
    to_add_link();
    pair_run_for(h.pair, 5 * PAIR_US);
    raw_break(h.peer.link[0].raw);
    hs_expect_decline(&h, SMCR_DIAG_ADD_LINK_TIMEOUT);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* --- rows 11 to 13: too late --- */

static void send_decline(void)
{
    uint8_t m[SMCR_DECLINE_BYTES];
    hs_send(&h, m, peer_decline(&h.peer, false, m));
    hs_pass(&h);
}

/* Up to these points a Decline is taken.
 * covers: SMCR-FBK-02 */
Test(handshake_fallback, SMCR_FBK_02_a_decline_before_the_point_of_no_return)
{
    hs_begin(&h, SMCR_CLIENT, &two_ports); /* the server waits for the CONFIRM LINK response */
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    hs_pass(&h);
    send_decline();
    hs_expect_tcp(&h);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);

    hs_begin(&h, SMCR_SERVER, &two_ports); /* the client waits for CONFIRM LINK */
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    hs_pass(&h);
    send_decline();
    hs_expect_tcp(&h);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);

    hs_begin(&h, SMCR_SERVER, &two_ports); /* the client waits for ADD LINK */
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    cr_assert(peer_contact_confirm(&h.peer));
    hs_pass(&h);
    send_decline();
    hs_expect_tcp(&h);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* covers: SMCR-FBK-01, SMCR-FBK-04 */
Test(handshake_fallback, SMCR_FBK_04_row_11_the_server_is_past_its_add_link)
{
    struct raw_message m;
    hs_begin(&h, SMCR_CLIENT, &two_ports);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    cr_assert(peer_contact_confirm(&h.peer));
    cr_assert(raw_wait(h.peer.link[0].raw, SMCR_LLC_ADD_LINK, false, &m, PAIR_S));
    hs_pass(&h); /* its acknowledgement has arrived */
    send_decline();
    hs_expect_reset(&h, -ECONNRESET);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* covers: SMCR-FBK-01, SMCR-FBK-04 */
Test(handshake_fallback, SMCR_FBK_04_row_12_the_client_is_past_its_add_link_response)
{
    to_add_link();
    hs_pass(&h); /* its response has been acknowledged */
    send_decline();
    hs_expect_reset(&h, -ECONNRESET);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* A Decline of which only the beginning came before all was agreed: nobody can honour it any more.
 * covers: SMCR-FBK-04, SMCR-FBK-01 */
Test(handshake_fallback, SMCR_FBK_04_the_first_bytes_of_a_decline_that_comes_too_late)
{
    struct raw_message m;
    uint8_t out[SMCR_MSG_BYTES], decline[SMCR_DECLINE_BYTES];
    for (size_t n = 1; n < sizeof decline; n += 13) {
        hs_begin(&h, SMCR_CLIENT, &two_ports);
        cr_assert(peer_contact_clc(&h.peer, &h.conn));
        cr_assert(peer_contact_confirm(&h.peer));
        cr_assert(raw_wait(h.peer.link[0].raw, SMCR_LLC_ADD_LINK, false, &m, PAIR_S));
        peer_decline(&h.peer, false, decline);
        hs_send(&h, decline, n);
        hs_pass(&h);
        peer_add_link_reject(&h.peer, 2, out);
        raw_send(h.peer.link[0].raw, out, sizeof out);
        hs_pass(&h);
        hs_expect_reset(&h, -EPROTO);
        cr_assert_eq(hs_counters(&h)->conns_smc, 0);
        hs_end(&h);
    }
}

/* covers: SMCR-FBK-01, SMCR-FBK-04, SMCR-SC-10, SMCR-KAL-05 */
Test(handshake_fallback, SMCR_SC_10_row_13_after_confirm_there_is_no_way_back)
{
    for (unsigned links = 1; links <= 2; links++) { /* row 12: a rejection was sent, or link 2 confirmed */
        hs_begin(&h, SMCR_SERVER, links == 1 ? NULL : &two_ports);
        hs_contact(&h, links);
        send_decline();
        struct smcr_conn_status s = hs_status(&h);
        cr_assert_eq(s.error, -ECONNRESET);
        cr_assert_not(s.fallback);
        cr_assert(pair_other(h.conn.end)->reset_sent);
        cr_assert_eq(hs_groups(&h), 1, "the group is not the connection's");
        hs_end(&h);
    }
}

/* covers: SMCR-FBK-01, SMCR-SC-10 */
Test(handshake_fallback, SMCR_SC_10_row_13_a_bad_confirm_of_a_subsequent_contact)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    hs_to_confirm(&h, false);
    h.m[50] = 0x60; /* Bsize 6; MTU 0, which does not count here */
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_reset(&h, -EPROTO);
    cr_assert_eq(hs_groups(&h), 1);
    hs_end(&h);
}

/* covers: SMCR-CLC-33 */
Test(handshake_fallback, SMCR_CLC_33_the_mtu_does_not_count_in_a_subsequent_contact)
{
    for (unsigned role = 0; role < 2; role++) {
        hs_begin(&h, role ? SMCR_CLIENT : SMCR_SERVER, NULL);
        hs_contact(&h, 1);
        if (role)
            hs_to_confirm(&h, false);
        else
            hs_to_accept(&h, false);
        h.m[50] &= 0xf0;
        hs_send(&h, h.m, h.len_bytes);
        hs_pass(&h);
        hs_expect_smc(&h);
        hs_end(&h);
    }
}

/* --- row 15: nothing but silence --- */

/* How far the peer goes before it says no more. */
static void fall_silent(enum smcr_role role, unsigned steps)
{
    struct raw_message m;
    hs_begin(&h, role, &two_ports);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    if (steps > 0)
        cr_assert(peer_contact_confirm(&h.peer));
    if (steps > 1)
        cr_assert(raw_wait(h.peer.link[0].raw, SMCR_LLC_ADD_LINK, false, &m, PAIR_S));
    uint64_t since_ns = h.pair->now_ns;
    pair_run_for(h.pair, 4900 * PAIR_MS);
    cr_assert_not(hs_status(&h).closed, "before its time");
    cr_assert_not(hs_status(&h).fallback);
    pair_run_for(h.pair, since_ns + 5100 * PAIR_MS - h.pair->now_ns);
    hs_expect_reset(&h, -ECONNRESET);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* The client has the CONFIRM LINK, and acts on it: a link that is lost only then is no reason for a Decline.
 * covers: SMCR-FBK-01 */
Test(handshake_fallback, SMCR_FBK_01_row_15_the_link_is_lost_behind_the_message)
{
    struct raw_message m;
    hs_begin(&h, SMCR_CLIENT, NULL);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    cr_assert(raw_wait(h.peer.link[0].raw, SMCR_LLC_CONFIRM_LINK, false, &m, PAIR_S));
    hs_pass(&h); /* its acknowledgement has arrived */
    step_link_fail(hs_conn(&h)->link_accepted, "the test breaks it", h.pair->now_ns);
    hs_expect_reset(&h, -ECONNRESET);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

/* covers: SMCR-FBK-01, SMCR-REC-04.0, SMCR-REC-04.1, SMCR-REC-04.4, SMCR-REC-04.5 */
Test(handshake_fallback, SMCR_FBK_01_row_15_silence_after_clc)
{
    fall_silent(SMCR_SERVER, 0); /* T1 */
    fall_silent(SMCR_CLIENT, 0); /* T2 */
    fall_silent(SMCR_SERVER, 1); /* T3 */
    fall_silent(SMCR_CLIENT, 2); /* T4 */
}
