/* SPDX-License-Identifier: BSD-2-Clause */
/* First and subsequent contact at an instance; the test plays the peer: which group, which link, which
 * buffer. SMCR sections 6 and 7. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#include "net/bytes.h"
#include "smcr/conn/conn.h"
#include "smcr/conn/data.h"
#include "test/smcr/hs.h"

static struct hs h;

TestSuite(handshake_contact, .timeout = 60);

static const struct pair_config two_ports = {.ports = {2, 2}};

static struct smcr *instance(void)
{
    return h.pair->node[HS_INSTANCE].smcr;
}

/* --- the client classifies the Accept: SMCR-FC-05 --- */

/* Row 1, F and no such link: a new group, beside the one to the same peer if there is one.
 * covers: SMCR-FC-05, SMCR-FC-20, SMCR-ARC-12 */
Test(handshake_contact, SMCR_FC_05_row_1_a_parallel_group)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_contact(&h, 1);
    struct smcr_conn *old = hs_conn(&h);
    struct raw_link *old_raw = h.peer.link[0].raw;
    h.peer.link[0].raw = NULL;
    hs_to_accept(&h, true);
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_CONFIRM);
    cr_assert_eq(hs_groups(&h), 2);
    cr_assert_neq(hs_conn(&h)->group, old->group);
    cr_assert_neq(hs_conn(&h)->rmb, old->rmb, "buffers are not shared");
    cr_assert_neq(hs_conn(&h)->link_accepted->local.qpn, old->link->local.qpn);
    cr_assert_eq(old->state, SMCR_CONN_ACTIVE);
    raw_free(old_raw);
    hs_end(&h);
}

/* Row 2, no F and an active link.
 * covers: SMCR-FC-05, SMCR-FC-06, SMCR-SC-04, SMCR-SC-07 */
Test(handshake_contact, SMCR_FC_05_row_2_a_subsequent_contact)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_contact(&h, 1);
    unsigned qps = (unsigned)instance()->ports->num_links;
    struct smcr_conn *first = hs_conn(&h);
    hs_to_accept(&h, false);
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_CONFIRM);
    cr_assert_eq(h.m[7], 0x10);
    hs_expect_smc(&h); /* without an answer to the Confirm */
    cr_assert_eq(hs_conn(&h)->group, first->group);
    cr_assert_eq(instance()->ports->num_links, qps);
    cr_assert_eq(hs_groups(&h), 1);
    cr_assert_neq(hs_conn(&h)->rmb_index, first->rmb_index);
    hs_end(&h);
}

/* Row 3, no F and no such link, whichever part of the key differs. The group that there is stays.
 * covers: SMCR-FC-05, SMCR-SC-06, SMCR-FBK-03 */
Test(handshake_contact, SMCR_FC_05_row_3_out_of_sync)
{
    static const unsigned at[] = {9 /* Peer ID */, 31 /* GID */, 37 /* MAC */, 40 /* QPN */};
    for (unsigned i = 0; i < 4; i++) {
        hs_begin(&h, SMCR_SERVER, NULL);
        hs_contact(&h, 1);
        hs_to_accept(&h, false);
        h.m[at[i]] ^= 0x20;
        hs_send(&h, h.m, h.len_bytes);
        hs_expect_decline(&h, SMCR_DIAG_OUT_OF_SYNC);
        cr_assert_eq(hs_groups(&h), 1);
        cr_assert(hs_link_0_lives(&h));
        hs_end(&h);
    }
}

/* Row 4, F and a link that we have: the server has dropped the group, so we do, with its connections.
 * covers: SMCR-FC-05 */
Test(handshake_contact, SMCR_FC_05_row_4_a_stale_link)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_contact(&h, 1);
    struct pair_end *old = pair_other(h.conn.end);
    uint32_t old_group = old->conn->group->id;
    hs_to_accept(&h, false);
    h.m[7] = 0x18;
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_CONFIRM);
    cr_assert(old->reset_sent);
    cr_assert(old->events & SMCR_EVENT_RESET);
    cr_assert_eq(hs_groups(&h), 1);
    cr_assert_neq(hs_conn(&h)->group->id, old_group);
    cr_assert_eq(hs_conn(&h)->stage, SMCR_STAGE_FIRST_CONTACT);
    hs_end(&h);
}

/* Another key, of memory that was never announced, means nothing of the kind: the group stays.
 * covers: SMCR-FC-06 */
Test(handshake_contact, SMCR_FC_06_an_unknown_buffer_is_no_first_contact)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_contact(&h, 1);
    hs_to_accept(&h, false);
    h.m[44] ^= 1; /* RKey */
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_RTOKEN);
    cr_assert_eq(hs_groups(&h), 1);
    cr_assert(hs_link_0_lives(&h));
    hs_end(&h);
}

/* --- the client's first contact --- */

/* The server may use the queue pair as soon as it has read the Confirm, and before it says anything.
 * covers: SMCR-FC-07, SMCR-FC-08, SMCR-QP-01, SMCR-QP-02, SMCR-QP-03 */
Test(handshake_contact, SMCR_FC_08_the_client_receives_before_its_confirm_leaves)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_to_accept(&h, true);
    hs_send(&h, h.m, h.len_bytes);
    struct pair_end *theirs = pair_other(h.conn.end);
    while (!theirs->conn->link_accepted && h.pair->now_ns < 10 * PAIR_S)
        pair_run_for(h.pair, PAIR_US);
    const struct smcr_link *link = theirs->conn->link_accepted; /* Confirm is still on its way */
    cr_assert_eq(h.conn.end->plain_bytes, h.conn.end->plain_read);
    cr_assert_eq(link->state, SMCR_LINK_CONFIRMING);
    cr_assert_eq(link->peer.qpn, h.peer.link[0].raw->local.qpn);
    cr_assert_eq(link->peer.psn, h.peer.link[0].raw->local.psn);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_CONFIRM);
    hs_end(&h);
}

/* --- the server chooses --- */

/* covers: SMCR-FC-01, SMCR-SC-01, SMCR-REN-10 */
Test(handshake_contact, SMCR_SC_01_the_server_reuses_the_group_of_the_peer)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    const struct smcr_conn *first = hs_conn(&h);
    for (unsigned i = 0; i < 5; i++) {
        hs_to_confirm(&h, false);
        cr_assert_eq(h.conn.theirs.qpn, first->link->local.qpn);
        cr_assert_eq(hs_conn(&h)->rmb, first->rmb);
        hs_send(&h, h.m, h.len_bytes);
        hs_pass(&h);
        hs_expect_smc(&h);
    }
    cr_assert_eq(hs_groups(&h), 1);
    hs_end(&h);
}

/* A group of another physical network, or of another VLAN, is no path for this connection.
 * covers: SMCR-FC-01, SMCR-SC-01, SMCR-ARC-05 */
Test(handshake_contact, SMCR_FC_01_a_group_of_another_network_is_not_reused)
{
    for (unsigned i = 0; i < 2; i++) {
        hs_begin(&h, SMCR_CLIENT, NULL);
        hs_contact(&h, 1);
        struct smcr_group *old = hs_conn(&h)->group;
        struct raw_link *old_raw = h.peer.link[0].raw;
        if (i == 0)
            snprintf(old->pnetid, sizeof old->pnetid, "NET2");
        else
            old->vlan_id = 7;
        h.peer.link[0].raw = NULL;
        hs_to_confirm(&h, true);
        cr_assert_neq(hs_conn(&h)->group, old);
        raw_free(old_raw);
        hs_end(&h);
    }
}

/* A link that is not confirmed yet is none that a Confirm may name.
 * covers: SMCR-SC-05, SMCR-SC-10 */
Test(handshake_contact, SMCR_SC_05_the_confirm_names_a_link_that_is_not_active)
{
    hs_begin(&h, SMCR_CLIENT, &two_ports);
    hs_contact(&h, 2);
    struct smcr_link *second = &hs_conn(&h)->group->links[1];
    hs_to_confirm(&h, false);
    h.len_bytes = peer_accept(&h.conn, SMCR_CLC_CONFIRM, false, 1, h.m);
    second->state = SMCR_LINK_CONFIRMING;
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_reset(&h, -EPROTO);
    second->state = SMCR_LINK_ACTIVE;
    hs_end(&h);
}

/* The Peer ID alone names the peer, whatever addresses it comes from.
 * covers: SMCR-ARC-23, SMCR-FC-01 */
Test(handshake_contact, SMCR_ARC_23_another_peer_id_is_another_peer)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    h.peer.peer_id[0] ^= 1;
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_ACCEPT);
    cr_assert_eq(h.m[7], 0x18);
    cr_assert_eq(hs_groups(&h), 2);
    hs_end(&h);
}

/* covers: SMCR-SC-05 */
Test(handshake_contact, SMCR_SC_05_the_confirm_names_a_link_that_is_not_there)
{
    static const unsigned at[] = {31 /* GID */, 37 /* MAC */, 40 /* QPN */, 44 /* RKey */, 58 /* VA */};
    for (unsigned i = 0; i < 5; i++) {
        hs_begin(&h, SMCR_CLIENT, NULL);
        hs_contact(&h, 1);
        struct pair_end *first = pair_other(h.conn.end);
        hs_to_confirm(&h, false);
        h.m[at[i]] ^= 0x20;
        hs_send(&h, h.m, h.len_bytes);
        hs_expect_reset(&h, -EPROTO);
        cr_assert_eq(hs_groups(&h), 1);
        cr_assert_eq(first->conn->state, SMCR_CONN_ACTIVE, "the others are not harmed");
        hs_end(&h);
    }
}

/* Any active link may be named, not only the one that the Accept named.
 * covers: SMCR-SC-05, SMCR-CLC-36 */
Test(handshake_contact, SMCR_CLC_36_accept_and_confirm_may_name_different_links)
{
    hs_begin(&h, SMCR_CLIENT, &two_ports);
    hs_contact(&h, 2);
    for (unsigned link = 0; link < 2; link++) {
        hs_to_confirm(&h, false);
        h.len_bytes = peer_accept(&h.conn, SMCR_CLC_CONFIRM, false, link, h.m);
        hs_send(&h, h.m, h.len_bytes);
        hs_pass(&h);
        hs_expect_smc(&h);
    }
    hs_end(&h);

    hs_begin(&h, SMCR_SERVER, &two_ports);
    hs_contact(&h, 2);
    for (unsigned link = 0; link < 2; link++) {
        hs_to_accept(&h, false);
        h.len_bytes = peer_accept(&h.conn, SMCR_CLC_ACCEPT, false, link, h.m);
        hs_send(&h, h.m, h.len_bytes);
        cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_CONFIRM);
        hs_expect_smc(&h);
    }
    hs_end(&h);
}

/* The Accept names the link that has a connection already: our own writes take the other one, the peer's come
 * over the one that it chose.
 * covers: SMCR-ARC-25, SMCR-ARC-26 */
Test(handshake_contact, SMCR_ARC_25_each_end_chooses_the_link_that_it_writes_over)
{
    struct smcr_cdc cdc;
    uint8_t got[8];
    hs_begin(&h, SMCR_SERVER, &two_ports);
    hs_contact(&h, 2);
    hs_to_accept(&h, false);
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_CONFIRM);
    peer_learn(&h.conn, h.m, false);
    hs_expect_smc(&h);
    cr_assert_eq(smcr_conn_send(hs_conn(&h), "ours", 4, 0, h.pair->now_ns), 4);
    cr_assert(peer_cdc_wait(&h.conn, 1, &cdc, PAIR_MS));
    peer_write(&h.conn, 0, (const uint8_t *)"theirs", 6);
    hs_pass(&h);
    cr_assert_eq(smcr_conn_recv(hs_conn(&h), got, sizeof got, 0, h.pair->now_ns), 6);
    hs_end(&h);
}

/* The peer offers a buffer that we believe in use: the old connection is over, the new one goes on.
 * covers: SMCR-SC-03, SMCR-SC-05, SMCR-RMB-20 */
Test(handshake_contact, SMCR_SC_03_a_buffer_that_is_in_use)
{
    for (unsigned role = 0; role < 2; role++) {
        hs_begin(&h, role ? SMCR_CLIENT : SMCR_SERVER, NULL);
        hs_contact(&h, 1);
        struct pair_end *old = pair_other(h.conn.end);
        struct peer_conn old_peer = h.conn;
        struct smcr_conn_status was;
        struct smcr_cdc cdc;
        uint8_t index = h.conn.index;
        if (role)
            hs_to_confirm(&h, false);
        else
            hs_to_accept(&h, false);
        h.m[45] = index;
        hs_send(&h, h.m, h.len_bytes);
        hs_pass(&h);
        hs_expect_smc(&h);
        cr_assert(old->reset_sent);
        cr_assert(old->events & SMCR_EVENT_RESET);
        smcr_conn_status(old->conn, &was);
        cr_assert(was.closed, "at once");
        cr_assert_not(peer_cdc_wait(&old_peer, 0, &cdc, PAIR_MS), "without a word");
        cr_assert_eq(hs_groups(&h), 1);
        hs_end(&h);
    }
}

/* Bytes that the client writes before the server has read its Confirm wait.
 * covers: SMCR-SC-08, SMCR-SC-09, SMCR-DAT-12 */
Test(handshake_contact, SMCR_SC_08_data_overtakes_the_confirm)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    hs_to_confirm(&h, false);
    static const uint8_t bytes[] = "before the Confirm";
    peer_write(&h.conn, 0, bytes, sizeof bytes);
    hs_pass(&h);
    cr_assert_not(hs_status(&h).established);
    uint8_t got[64];
    cr_assert_lt(smcr_conn_recv(hs_conn(&h), got, sizeof got, 0, h.pair->now_ns), 0);
    hs_send(&h, h.m, h.len_bytes);
    hs_pass(&h);
    hs_expect_smc(&h);
    cr_assert_eq(smcr_conn_recv(hs_conn(&h), got, sizeof got, 0, h.pair->now_ns), (ssize_t)sizeof bytes);
    cr_assert_arr_eq(got, bytes, sizeof bytes);
    hs_end(&h);
}

/* TCP ends while the first contact is under way. The FIN counts once the connection lives: without the CDC
 * message that should follow, the peer is gone.
 * covers: SMCR-CLS-21 */
Test(handshake_contact, SMCR_CLS_21_a_fin_during_the_first_contact)
{
    for (unsigned role = 0; role < 2; role++) {
        hs_begin(&h, (enum smcr_role)role, NULL);
        cr_assert(peer_contact_clc(&h.peer, &h.conn));
        pair_tcp_fin(h.conn.end);
        pair_run_for(h.pair, PAIR_MS);
        cr_assert_not(hs_status(&h).established);
        cr_assert(peer_contact_confirm(&h.peer) && peer_contact_second(&h.peer, 1));
        pair_run_for(h.pair, PAIR_MS);
        pair_run_for(h.pair, SMCR_FIN_GRACE_NS - 10 * PAIR_MS);
        cr_assert(hs_status(&h).established, "role %u", role);
        pair_run_for(h.pair, 20 * PAIR_MS);
        cr_assert_eq(hs_status(&h).error, -ECONNRESET, "role %u", role);
        hs_end(&h);
    }
}
