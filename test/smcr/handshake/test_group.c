/* SPDX-License-Identifier: BSD-2-Clause */
/* The handshake and the link group, at an instance whose peer the test plays: groups that it ends, groups
 * that it waits for, links that die under it, and the reach of keys. SMCR sections 6 to 8. */
#include <criterion/criterion.h>
#include <errno.h>

#include "net/bytes.h"
#include "smcr/conn/conn.h"
#include "test/smcr/hs.h"
#include "test/smcr/steps.h"

static struct hs h;

TestSuite(handshake_group, .timeout = 60);

/* --- a Decline with S --- */

/* covers: SMCR-SC-06, SMCR-CLC-40 */
Test(handshake_group, SMCR_SC_06_a_decline_out_of_sync_ends_the_group)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    struct pair_end *first = pair_other(h.conn.end);
    hs_to_confirm(&h, false);
    hs_send(&h, h.m, peer_decline(&h.peer, true, h.m));
    hs_pass(&h);
    hs_expect_tcp(&h);
    cr_assert_eq(hs_groups(&h), 0);
    cr_assert(first->reset_sent);
    cr_assert(first->events & SMCR_EVENT_RESET);
    hs_end(&h);
}

/* covers: SMCR-FBK-03, SMCR-CLC-40 */
Test(handshake_group, SMCR_FBK_03_a_decline_in_sync_harms_no_group)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    struct pair_end *first = pair_other(h.conn.end);
    hs_to_confirm(&h, false);
    hs_send(&h, h.m, peer_decline(&h.peer, false, h.m));
    hs_pass(&h);
    hs_expect_tcp(&h);
    cr_assert_eq(hs_groups(&h), 1);
    cr_assert_eq(first->conn->state, SMCR_CONN_ACTIVE);
    cr_assert(hs_link_0_lives(&h));
    hs_end(&h);
}

/* The flag says it, not the code, which is the peer's own.
 * covers: SMCR-CLC-41, SMCR-CLC-40 */
Test(handshake_group, SMCR_CLC_41_the_code_of_out_of_sync_without_the_flag)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    struct pair_end *first = pair_other(h.conn.end);
    hs_to_confirm(&h, false);
    peer_decline(&h.peer, false, h.m);
    put_be32(h.m + 16, SMCR_DIAG_OUT_OF_SYNC);
    hs_send(&h, h.m, SMCR_DECLINE_BYTES);
    hs_pass(&h);
    hs_expect_tcp(&h);
    cr_assert_eq(hs_groups(&h), 1);
    cr_assert_eq(first->conn->state, SMCR_CONN_ACTIVE);
    hs_end(&h);
}

/* Nor one of somebody else, nor one that comes before a group was named.
 * covers: SMCR-CLC-40 */
Test(handshake_group, SMCR_CLC_40_out_of_sync_by_whom_it_concerns)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    hs_to_confirm(&h, false);
    peer_decline(&h.peer, true, h.m);
    h.m[8] ^= 1;
    hs_send(&h, h.m, SMCR_DECLINE_BYTES);
    hs_pass(&h);
    hs_expect_tcp(&h);
    cr_assert_eq(hs_groups(&h), 1);
    hs_to_proposal(&h);
    hs_send(&h, h.m, peer_decline(&h.peer, true, h.m));
    hs_pass(&h);
    hs_expect_tcp(&h);
    cr_assert_eq(hs_groups(&h), 1);
    hs_end(&h);
}

/* --- a third host that repeats messages --- */

static const struct nornic_addr third_host = {{[10] = 0xff, 0xff, 10, 99, 0, 3}};

/* The Proposal of the peer comes from another address. The answer is a first contact, which names nothing of
 * the peer's group. A Decline "out of sync" then ends no more than that.
 * covers: SMCR-FC-01, SMCR-SC-06 */
Test(handshake_group, SMCR_FC_01_a_third_host_repeats_the_proposal)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    struct pair_end *first = pair_other(h.conn.end);
    hs_to_proposal(&h);
    hs_conn(&h)->config.remote = third_host;
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_S), SMCR_CLC_ACCEPT);
    cr_assert_eq(h.m[7], 0x18, "a first contact");
    cr_assert_neq(hs_conn(&h)->group, first->conn->group);
    cr_assert_eq(hs_groups(&h), 2);
    hs_send(&h, h.m, peer_decline(&h.peer, true, h.m));
    hs_pass(&h);
    cr_assert_eq(hs_groups(&h), 1);
    cr_assert_eq(first->conn->state, SMCR_CONN_ACTIVE);
    cr_assert(hs_link_0_lives(&h));
    hs_end(&h);
}

/* A first contact from one address makes no connection of another address wait.
 * covers: SMCR-FC-21 */
Test(handshake_group, SMCR_FC_21_a_first_contact_of_a_third_host_holds_nobody_up)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_proposal(&h);
    hs_conn(&h)->config.remote = third_host;
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_S), SMCR_CLC_ACCEPT);
    hs_contact(&h, 1);
    cr_assert_eq(hs_groups(&h), 2);
    hs_end(&h);
}

/* A peer with several addresses is known by the GIDs of its links, and by the address of its first contact. A
 * link-local address belongs to one LAN, which the address of this end tells.
 * covers: SMCR-FC-01 */
Test(handshake_group, SMCR_FC_01_addresses_of_the_peer)
{
    static const struct nornic_addr fe80 = {{0xfe, 0x80, [15] = 1}}, own = {{0xfe, 0x80, [15] = 2}};
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    struct smcr_conn conn = {.config = hs_conn(&h)->config};
    struct smcr_group *group = hs_conn(&h)->group;
    cr_assert(smcr_group_is_with(group, &conn));
    group->tcp.peer = third_host;
    cr_assert(smcr_group_is_with(group, &conn), "the GID of a link");
    group->links[0].state = SMCR_LINK_CONFIRMING;
    cr_assert_not(smcr_group_is_with(group, &conn), "any host can name a GID: the link has to work");
    conn.config.remote = group->tcp.peer;
    cr_assert(smcr_group_is_with(group, &conn));
    group->links[0].state = SMCR_LINK_ACTIVE;
    conn.config.remote = group->tcp.peer = fe80;
    group->tcp.own = own;
    cr_assert_not(smcr_group_is_with(group, &conn), "fe80::1 of another LAN");
    conn.config.local = own;
    cr_assert(smcr_group_is_with(group, &conn));
    hs_end(&h);
}

/* Another server says the peer's Accept, as a first contact.
 * covers: SMCR-FC-05 */
Test(handshake_group, SMCR_FC_05_a_third_host_repeats_the_accept)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_contact(&h, 1);
    struct pair_end *first = pair_other(h.conn.end);
    hs_open(&h);
    cr_assert_eq(hs_wait(&h, PAIR_S), SMCR_CLC_PROPOSAL);
    hs_conn(&h)->config.remote = third_host;
    hs_send(&h, h.m, peer_accept(&h.conn, SMCR_CLC_ACCEPT, true, 0, h.m));
    hs_pass(&h);
    cr_assert_eq(first->conn->state, SMCR_CONN_ACTIVE);
    cr_assert(hs_link_0_lives(&h));
    hs_end(&h);
}

/* The client of a link group gets an Accept of that group on a TCP connection to another address. A third
 * host may be there, or the same server. The group, its connections and its buffers stay as they are. The
 * Decline does not ask a server with two addresses to drop the group.
 * covers: SMCR-FC-05, SMCR-SC-06 */
Test(handshake_group, SMCR_FC_05_a_third_host_names_a_link_of_the_peer)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_contact(&h, 1);
    struct peer_conn first = h.conn;
    struct pair_end *end = pair_other(first.end);
    struct smcr_conn **elems = end->conn->peer_rmb->elems;
    hs_open(&h);
    cr_assert_eq(hs_wait(&h, PAIR_S), SMCR_CLC_PROPOSAL);
    hs_conn(&h)->config.remote = third_host;
    hs_send(&h, h.m, peer_accept(&first, SMCR_CLC_ACCEPT, false, 0, h.m)); /* a buffer that is in use */
    hs_expect_decline(&h, SMCR_DIAG_NO_SUCH_LINK);
    cr_assert_null(hs_conn(&h)->group);
    cr_assert_eq(hs_groups(&h), 1);
    cr_assert_eq(end->conn->state, SMCR_CONN_ACTIVE);
    cr_assert_eq(elems[end->conn->peer_index - 1], end->conn);
    cr_assert(hs_link_0_lives(&h));
    hs_end(&h);
}

/* The same while the first contact is not over on this end, and after the link has gone.
 * covers: SMCR-FC-05, SMCR-SC-11 */
Test(handshake_group, SMCR_FC_05_a_third_host_names_a_link_that_comes_or_goes)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    cr_assert(peer_contact_confirm(&h.peer));
    hs_pass(&h);
    hs_to_accept(&h, false);
    hs_conn(&h)->config.remote = third_host;
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_NO_SUCH_LINK);
    hs_end(&h);

    hs_begin(&h, SMCR_SERVER, &(struct pair_config){.ports = {2, 2}});
    hs_contact(&h, 2);
    struct smcr_group *group = hs_conn(&h)->group;
    hs_to_accept(&h, false);
    hs_conn(&h)->config.remote = third_host;
    struct smcr_link_end peer = group->links[0].peer;
    group->gone[0] = peer; /* as of a link that was deleted */
    group->num_gone = 1;
    group->links[0].peer.qpn ^= 1;
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_NO_SUCH_LINK);
    group->links[0].peer = peer;
    hs_end(&h);
}

/* A link that no group has is out of sync from any address.
 * covers: SMCR-SC-06 */
Test(handshake_group, SMCR_SC_06_a_third_host_names_a_link_that_never_was)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_contact(&h, 1);
    hs_to_accept(&h, false);
    hs_conn(&h)->config.remote = third_host;
    hs_conn(&h)->smcr->groups->links[0].peer.qpn ^= 1;
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_OUT_OF_SYNC);
    hs_conn(&h)->smcr->groups->links[0].peer.qpn ^= 1;
    hs_end(&h);
}

/* A server names its group to a client only at an address from which the client takes the name.
 * covers: SMCR-FC-01 */
Test(handshake_group, SMCR_FC_01_another_address_of_the_server_has_a_group_of_its_own)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    struct smcr_group *group = hs_conn(&h)->group;
    cr_assert(smcr_group_is_at(group, &hs_conn(&h)->config.local));
    cr_assert(smcr_group_is_at(group, &group->links[0].local.gid));
    hs_to_proposal(&h);
    hs_conn(&h)->config.local = third_host; /* an address of this end */
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_S), SMCR_CLC_ACCEPT);
    cr_assert_eq(h.m[7], 0x18, "a first contact");
    cr_assert_neq(hs_conn(&h)->group, group);
    hs_end(&h);

    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    group = hs_conn(&h)->group;
    group->tcp.own = third_host;
    cr_assert(smcr_group_is_at(group, &group->links[0].local.gid), "the GID of a link");
    group->links[0].state = SMCR_LINK_CONFIRMING;
    cr_assert_not(smcr_group_is_at(group, &group->links[0].local.gid), "the client waits for the link");
    cr_assert(smcr_group_is_at(group, &third_host));
    group->links[0].state = SMCR_LINK_ACTIVE;
    hs_end(&h);
}

/* --- while a first contact runs --- */

/* Those that come meanwhile wait, and go on in the group, or begin anew when it came to nothing.
 * covers: SMCR-FC-21 */
Test(handshake_group, SMCR_FC_21_the_second_connection_waits_for_the_first)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_confirm(&h, true);
    struct peer_conn first = h.conn;
    uint8_t confirm[SMCR_ACCEPT_BYTES];
    memcpy(confirm, h.m, sizeof confirm);
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    hs_pass(&h);
    cr_assert_eq(h.conn.end->plain_bytes, 0, "it has been answered");
    pair_tcp_send(first.end, confirm, sizeof confirm);
    cr_assert(peer_contact_confirm(&h.peer));
    cr_assert(peer_contact_second(&h.peer, 1));
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_ACCEPT);
    cr_assert_eq(h.m[7], 0x10, "a subsequent contact");
    cr_assert_eq(hs_groups(&h), 1);
    hs_end(&h);

    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_confirm(&h, true);
    first = h.conn;
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    hs_pass(&h);
    uint8_t decline[SMCR_DECLINE_BYTES];
    pair_tcp_send(first.end, decline, peer_decline(&h.peer, false, decline));
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_ACCEPT);
    cr_assert_eq(h.m[7], 0x18, "a first contact of its own");
    cr_assert_eq(hs_groups(&h), 1);
    hs_end(&h);
}

/* The client declines while its Proposal is not answered yet: it has to wait for our Accept.
 * covers: SMCR-CLC-11, SMCR-SC-02 */
Test(handshake_group, SMCR_CLC_11_a_decline_that_chases_the_proposal)
{
    struct raw_message m;
    uint8_t decline[SMCR_DECLINE_BYTES];
    hs_begin(&h, SMCR_CLIENT, &(struct pair_config){.smcr[0].elems_per_rmb = 1});
    hs_contact(&h, 1);
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    cr_assert(raw_wait(h.peer.link[0].raw, SMCR_LLC_CONFIRM_RKEY, false, &m, PAIR_S)); /* not answered */
    cr_assert_eq(hs_conn(&h)->stage, SMCR_STAGE_ACCEPT_RMB);
    hs_send(&h, decline, peer_decline(&h.peer, false, decline));
    hs_expect_reset(&h, -EPROTO);
    cr_assert_eq(hs_groups(&h), 1);
    hs_end(&h);
}

/* It declines while the client still waits.
 * covers: SMCR-FC-21, SMCR-CLC-12 */
Test(handshake_group, SMCR_FC_21_it_does_not_wait_for_ever)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_confirm(&h, true); /* which never comes */
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    pair_run_for(h.pair, 2900 * PAIR_MS);
    cr_assert_eq(h.conn.end->plain_bytes, 0);
    hs_expect_decline(&h, SMCR_DIAG_NO_RESOURCES);
    hs_end(&h);
}

/* The server's Accept for a further connection comes by TCP, and may overtake the acknowledgement that tells
 * the client that its first contact is over.
 * covers: SMCR-FC-21, SMCR-FC-05 */
Test(handshake_group, SMCR_FC_21_an_accept_that_overtakes_the_end_of_the_first_contact)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    cr_assert(peer_contact_confirm(&h.peer));
    struct pair_end *first = pair_other(h.conn.end);
    hs_pass(&h);
    hs_to_accept(&h, false);
    hs_send(&h, h.m, h.len_bytes);
    hs_pass(&h);
    cr_assert_eq(hs_conn(&h)->state, SMCR_CONN_HANDSHAKE);
    cr_assert_eq(hs_conn(&h)->stage, SMCR_STAGE_GROUP);
    cr_assert_eq(h.conn.end->plain_bytes, h.conn.end->plain_read, "neither Confirm nor Decline");
    cr_assert(peer_contact_second(&h.peer, 1));
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_CONFIRM);
    hs_expect_smc(&h);
    cr_assert_null(hs_conn(&h)->smcr->waiting, "nobody waits any more");
    cr_assert_eq(first->conn->group, hs_conn(&h)->group);
    hs_end(&h);
}

/* --- the client's Proposal does not depend on its future --- */

/* covers: SMCR-CLC-25 */
Test(handshake_group, SMCR_CLC_25_the_proposal_is_the_same_for_every_contact)
{
    uint8_t first[SMCR_CLC_PROPOSAL_BYTES];
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_to_accept(&h, true);
    hs_end(&h);
    hs_begin(&h, SMCR_SERVER, NULL);
    hs_open(&h);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_PROPOSAL);
    size_t n = h.len_bytes;
    memcpy(first, h.m, n);
    hs_send(&h, h.m, peer_decline(&h.peer, false, h.m));
    hs_pass(&h);
    hs_contact(&h, 1);
    hs_open(&h);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_PROPOSAL);
    cr_assert_eq(h.len_bytes, n);
    cr_assert_arr_eq(h.m, first, n);
    hs_end(&h);
}

/* --- memory and its owner --- */

static bool has_failed(struct raw_link *raw)
{
    struct raw_message m;
    while (raw_take(raw, &m))
        ;
    return raw->failed > 0;
}

/* A key of one peer's group opens nothing on the link of another's, nor once its group has ended.
 * covers: SMCR-SEC-06, SMCR-ARC-24, SMCR-ENG-05 */
Test(handshake_group, SMCR_SEC_06_keys_are_of_one_link_and_die_with_the_group)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    struct smcr_conn *first = hs_conn(&h);
    struct raw_link *raw_1 = h.peer.link[0].raw;
    uint32_t rkey = h.conn.theirs.rkey;
    uint64_t va = h.conn.theirs.va;
    uint8_t bytes[8] = "intruder";
    raw_write(raw_1, bytes, sizeof bytes, va + 8, rkey);
    hs_pass(&h);
    cr_assert_not(has_failed(raw_1), "its own link may");
    cr_assert_arr_eq(first->rmb->bytes + 8, bytes, sizeof bytes);
    memset(first->rmb->bytes + 8, 0, sizeof bytes);

    h.peer.peer_id[0] ^= 1; /* another peer, with its own group */
    h.peer.link[0].raw = NULL;
    hs_contact(&h, 1);
    cr_assert_eq(hs_groups(&h), 2);
    struct raw_link *raw_2 = h.peer.link[0].raw;
    raw_write(raw_2, bytes, sizeof bytes, va + 8, rkey);
    hs_pass(&h);
    cr_assert(has_failed(raw_2), "a key of somebody else's");
    static const uint8_t zero[8];
    cr_assert_arr_eq(first->rmb->bytes + 8, zero, sizeof zero);
    cr_assert_not(has_failed(raw_1));
    step_group_end(first->group, false, "the test ends it", h.pair->now_ns);
    hs_pass(&h);
    raw_write(raw_1, bytes, sizeof bytes, va + 8, rkey);
    pair_run_for(h.pair, 10 * PAIR_S);
    cr_assert(has_failed(raw_1), "the group is no more");
    raw_free(raw_1);
    hs_end(&h);
}

/* Several first contacts come to nothing one after the other: those that wait do not wait longer than the
 * client.
 * covers: SMCR-FC-21, SMCR-CLC-12 */
Test(handshake_group, SMCR_FC_21_the_wait_is_one_however_often_it_begins_anew)
{
    uint8_t proposal[SMCR_CLC_PROPOSAL_BYTES];
    struct peer_conn conns[4];
    hs_begin(&h, SMCR_CLIENT, &(struct pair_config){.smcr[0].times.clc_ns = 6 * PAIR_S});
    hs_to_proposal(&h);
    size_t n = h.len_bytes;
    memcpy(proposal, h.m, n);
    for (unsigned i = 0; i < 4; i++) {
        if (i > 0)
            hs_open(&h);
        conns[i] = h.conn;
        hs_send(&h, proposal, n);
    }
    hs_pass(&h);
    for (unsigned i = 0; i < 2; i++) { /* the first of them, and then the next one, declines after a second */
        unsigned owner = 4;
        for (unsigned k = 0; k < 4; k++) {
            struct smcr_conn *conn = pair_other(conns[k].end)->conn;
            if (conn->state == SMCR_CONN_HANDSHAKE && conn->stage == SMCR_STAGE_CONFIRM)
                owner = k;
        }
        cr_assert_lt(owner, 4);
        pair_run_for(h.pair, PAIR_S);
        pair_tcp_send(conns[owner].end, h.m, peer_decline(&h.peer, false, h.m));
        hs_pass(&h);
    }
    pair_run_for(h.pair, 1100 * PAIR_MS);
    unsigned tcp = 0;
    for (unsigned k = 0; k < 4; k++)
        tcp += pair_other(conns[k].end)->conn->state == SMCR_CONN_FALLBACK;
    cr_assert_eq(tcp, 3, "%u", tcp);
    hs_end(&h);
}

/* The link that the Accept named dies while we announce a buffer of ours: any other will do.
 * covers: SMCR-SC-11 */
Test(handshake_group, SMCR_SC_11_another_link_in_place_of_one_that_died)
{
    for (unsigned role = 0; role < 2; role++) {
        struct raw_message m;
        hs_begin(&h, role ? SMCR_CLIENT : SMCR_SERVER,
                 &(struct pair_config){.ports = {2, 2}, .smcr[0].elems_per_rmb = 1});
        hs_contact(&h, 2);
        if (role)
            hs_to_proposal(&h);
        else
            hs_to_accept(&h, false);
        hs_send(&h, h.m, h.len_bytes);
        hs_pass(&h); /* its CONFIRM RKEY is out, on one of the links, and not answered */
        cr_assert_eq(hs_conn(&h)->stage, role ? SMCR_STAGE_ACCEPT_RMB : SMCR_STAGE_CONFIRM_RMB);
        struct smcr_link *named = hs_conn(&h)->link_accepted;
        unsigned dead = named->peer.qpn == h.peer.link[0].raw->local.qpn &&
                                nornic_mac_equal(&named->peer.mac, &h.peer.link[0].raw->local.mac)
                            ? 0
                            : 1;
        step_link_fail(named, "the test breaks it", h.pair->now_ns);
        for (unsigned i = 0;
             i < 20 && hs_conn(&h)->stage != SMCR_STAGE_CONFIRM && hs_conn(&h)->state == SMCR_CONN_HANDSHAKE;
             i++) { /* the peer answers whatever is asked on the other one */
            hs_pass(&h);
            while (raw_take(h.peer.link[!dead].raw, &m)) {
                if (m.bytes[0] == SMCR_LLC_ADD_LINK)
                    peer_add_link_reject(&h.peer, m.bytes[29], m.bytes);
                m.bytes[3] |= 0x80;
                if (m.bytes[0] == SMCR_LLC_ADD_LINK || m.bytes[0] == SMCR_LLC_CONFIRM_RKEY ||
                    m.bytes[0] == SMCR_LLC_DELETE_LINK)
                    raw_send(h.peer.link[!dead].raw, m.bytes, SMCR_MSG_BYTES);
            }
        }
        cr_assert_eq(hs_wait(&h, PAIR_S), role ? SMCR_CLC_ACCEPT : SMCR_CLC_CONFIRM);
        peer_learn(&h.conn, h.m, false);
        const struct smcr_link *other = smcr_group_pick_link(hs_conn(&h)->group, NULL);
        cr_assert_neq(other, named);
        cr_assert_eq(h.conn.theirs.qpn, other->local.qpn);
        cr_assert_arr_eq(h.conn.theirs.mac, other->local.mac.b, 6);
        cr_assert_eq(h.conn.theirs.rkey, hs_conn(&h)->rmb->mr[other->slot]->rkey);
        hs_end(&h);
    }
}

/* Which buffer a message means that names a link that is gone, its virtual address tells; not if two of the
 * peer's have it.
 * covers: SMCR-SC-11 */
Test(handshake_group, SMCR_SC_11_no_guess_between_two_buffers_at_one_address)
{
    hs_begin(&h, SMCR_CLIENT, &(struct pair_config){.ports = {2, 2}});
    hs_contact(&h, 2);
    struct smcr_group *group = hs_conn(&h)->group;
    const struct smcr_rtoken *token = group->peer_rmbs->token;
    const struct smcr_link *best = smcr_group_pick_link(group, NULL);
    uint64_t va = token[best->slot].va;
    uint32_t rkey = 0;
    cr_assert_eq(smcr_group_replacement_link(group, va, &rkey), best);
    cr_assert_eq(rkey, token[best->slot].rkey);
    cr_assert_null(smcr_group_replacement_link(group, va + 1, &rkey));
    for (unsigned i = 0; i < 2; i++)
        cr_assert_not_null(smcr_peer_rmb_find(group, &group->links[i], 0x1001 + i, va, true));
    cr_assert_null(smcr_group_replacement_link(group, va, &rkey));
    hs_end(&h);
}

/* The group ends while the server waits for the Confirm: it has no way back to TCP.
 * covers: SMCR-SC-10, SMCR-FBK-01 */
Test(handshake_group, SMCR_SC_10_row_13_the_group_ends_after_the_accept)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_contact(&h, 1);
    hs_to_confirm(&h, false);
    pair_cut(h.pair, HS_INSTANCE, 0, true);
    hs_pass(&h);
    hs_expect_reset(&h, -ECONNRESET);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

struct seen {
    unsigned drops;
    size_t len_bytes;
    uint8_t type;
};

static void see(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    struct seen *seen = ctx;
    if (trace->type != SMCR_TRACE_DROP || node->index != HS_INSTANCE)
        return;
    seen->drops++;
    seen->len_bytes = trace->len_bytes;
    seen->type = trace->len_bytes > 4 ? trace->message[4] : 0;
    cr_assert_not_null(trace->cause);
    cr_assert_not_null(trace->conn);
}

/* Bytes that were not taken can be seen.
 * covers: SMCR-CLC-06 */
Test(handshake_group, SMCR_CLC_06_what_is_broken_is_traced)
{
    struct seen seen = {0};
    hs_begin(&h, SMCR_CLIENT, NULL);
    h.pair->on_trace = see;
    h.pair->trace_ctx = &seen;
    hs_to_confirm(&h, true);
    h.m[45] = 0;
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_reset(&h, -EPROTO);
    cr_assert_eq(seen.drops, 1);
    cr_assert_eq(seen.type, SMCR_CLC_CONFIRM);
    cr_assert_eq(seen.len_bytes, SMCR_ACCEPT_BYTES);
    hs_end(&h);
}
