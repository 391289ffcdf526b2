/* SPDX-License-Identifier: BSD-2-Clause */
/* The second link of a first contact as the connection sees it: when the socket opens, and what stands
 * before it. SMCR-FC-13 to FC-19, FC-23. */
#include <criterion/criterion.h>
#include <errno.h>

#include "net/bytes.h"
#include "smcr/conn/conn.h"
#include "test/smcr/hs.h"

static struct hs h;
static struct raw_message m;
static uint8_t out[SMCR_MSG_BYTES];

TestSuite(handshake_second, .timeout = 60);

static const struct pair_config two_ports = {.ports = {2, 2}};

static struct raw_link *raw(unsigned link)
{
    return h.peer.link[link].raw;
}

static const struct smcr_group *group(void)
{
    return h.pair->node[HS_INSTANCE].smcr->groups;
}

/* The instance's end of the second link. */
static const struct smcr_link *second(void)
{
    for (unsigned i = 1; i < SMCR_LINK_SLOTS; i++) {
        if (group()->links[i].state != SMCR_LINK_FREE)
            return &group()->links[i];
    }
    return NULL;
}

static void begin(enum smcr_role role)
{
    hs_begin(&h, role, &two_ports);
    cr_assert(peer_contact_clc(&h.peer, &h.conn));
    cr_assert(peer_contact_confirm(&h.peer));
}

/* Makes the peer's end of link 2 ready for what the instance's ADD LINK says. */
static void join_link(const uint8_t *add_link)
{
    struct smcr_add_link add;
    struct peer_link *l = &h.peer.link[1];
    smcr_add_link_get(&add, add_link);
    memcpy(l->theirs.mac.b, add.mac, 6);
    memcpy(l->theirs.gid.b, add.gid, 16);
    l->theirs.qpn = add.qpn;
    l->theirs.psn = add.psn;
    l->theirs.mtu = add.mtu;
    l->number = add.link;
    cr_assert_eq(raw_ready(l->raw, &l->theirs), 0);
}

static void expect_add_link(const uint8_t *message, bool response)
{
    struct smcr_add_link add;
    const struct smcr_link *link = second();
    cr_assert_not_null(link);
    smcr_add_link_get(&add, message);
    cr_assert_eq(add.response, response);
    cr_assert_not(add.rejected);
    cr_assert_eq(add.link, 2);
    cr_assert_eq(link->number, 2);
    cr_assert_eq(add.qpn, link->local.qpn);
    cr_assert_eq(add.psn, link->local.psn);
    cr_assert_eq(add.mtu, NORNIC_MTU_1024);
    cr_assert_arr_eq(add.mac, h.pair->node[HS_INSTANCE].port[1].mac.b, 6);
    cr_assert_arr_eq(add.gid, h.pair->node[HS_INSTANCE].port[1].addr.b, 16);
    for (const struct smcr_rmb *rmb = group()->rmbs; rmb; rmb = rmb->next) {
        cr_assert_not_null(rmb->mr[link->slot], "every RMB has a key on it");
        cr_assert_neq(rmb->mr[link->slot], rmb->mr[group()->links[0].slot]);
    }
    cr_assert_not(hs_status(&h).established);
}

/* covers: SMCR-FC-13, SMCR-FC-12 */
Test(handshake_second, SMCR_FC_13_the_server_has_all_of_it_before_it_offers)
{
    begin(SMCR_CLIENT);
    cr_assert(raw_wait(raw(0), SMCR_LLC_ADD_LINK, false, &m, PAIR_S));
    expect_add_link(m.bytes, false);
    hs_end(&h);
}

static void offer(void)
{
    peer_make_link(&h.peer, 1, 1);
    h.peer.link[1].number = 2;
    peer_add_link(&h.peer, 1, false, out);
    raw_send(raw(0), out, sizeof out);
    cr_assert(raw_wait(raw(0), SMCR_LLC_ADD_LINK, true, &m, PAIR_S));
}

/* covers: SMCR-FC-15, SMCR-FC-14 */
Test(handshake_second, SMCR_FC_15_the_client_accepts_with_all_of_its_own)
{
    begin(SMCR_SERVER);
    offer();
    expect_add_link(m.bytes, true);
    hs_end(&h);
}

/* Up to the CONFIRM LINK of link 2, which the peer withholds. */
static void server_withholds_confirm(void)
{
    begin(SMCR_SERVER);
    offer();
    join_link(m.bytes);
    peer_add_link_cont(&h.peer, 1, false, out);
    raw_send(raw(0), out, sizeof out);
    cr_assert(raw_wait(raw(0), SMCR_LLC_ADD_LINK_CONT, true, &m, PAIR_S));
    hs_pass(&h);
    cr_assert_not(hs_status(&h).established);
}

static void client_withholds_confirm(void)
{
    begin(SMCR_CLIENT);
    cr_assert(raw_wait(raw(0), SMCR_LLC_ADD_LINK, false, &m, PAIR_S));
    peer_make_link(&h.peer, 1, 1);
    join_link(m.bytes);
    peer_add_link(&h.peer, 1, true, out);
    raw_send(raw(0), out, sizeof out);
    cr_assert(raw_wait(raw(0), SMCR_LLC_ADD_LINK_CONT, false, &m, PAIR_S));
    peer_add_link_cont(&h.peer, 1, true, out);
    raw_send(raw(0), out, sizeof out);
    cr_assert(raw_wait(raw(1), SMCR_LLC_CONFIRM_LINK, false, &m, PAIR_S));
    hs_pass(&h);
    cr_assert_not(hs_status(&h).established);
}

static void build_delete(bool response)
{
    struct smcr_delete_link d = {
        .type = SMCR_LLC_DELETE_LINK, .length = SMCR_MSG_BYTES, .response = response, .link = 2};
    d.reason = response ? 0 : SMCR_DELETE_LOST_PATH;
    smcr_delete_link_put(out, &d);
}

static void expect_delete(bool response)
{
    cr_assert(raw_wait(raw(0), SMCR_LLC_DELETE_LINK, response, &m, 8 * PAIR_S));
    struct smcr_delete_link d;
    smcr_delete_link_get(&d, m.bytes);
    cr_assert_eq(d.link, 2);
    cr_assert_not(d.all);
    cr_assert_not(hs_status(&h).established && !response, "data before the DELETE LINK is answered");
}

/* covers: SMCR-FC-18, SMCR-FC-19, SMCR-FC-11, SMCR-REC-04.8 */
Test(handshake_second, SMCR_FC_18_the_client_asks_to_delete_what_is_not_confirmed)
{
    server_withholds_confirm();
    expect_delete(false);
    pair_run_for(h.pair, 500 * PAIR_MS);
    cr_assert_not(hs_status(&h).established, "the server has not agreed yet");
    build_delete(false);
    raw_send(raw(0), out, sizeof out);
    expect_delete(true);
    hs_pass(&h);
    hs_expect_smc(&h);
    cr_assert_eq(hs_groups(&h), 1);
    hs_end(&h);
}

/* covers: SMCR-FC-18, SMCR-FC-19, SMCR-FC-11, SMCR-REC-04.2 */
Test(handshake_second, SMCR_FC_18_the_server_deletes_what_is_not_confirmed)
{
    client_withholds_confirm();
    expect_delete(false);
    pair_run_for(h.pair, 500 * PAIR_MS);
    cr_assert_not(hs_status(&h).established, "the client has not answered yet");
    build_delete(true);
    raw_send(raw(0), out, sizeof out);
    hs_pass(&h);
    hs_expect_smc(&h);
    cr_assert_eq(hs_groups(&h), 1);
    hs_end(&h);
}

/* The moments that the sockets open.
 * covers: SMCR-FC-19, SMCR-FC-17 */
Test(handshake_second, SMCR_FC_19_the_socket_opens_with_the_second_link)
{
    server_withholds_confirm();
    peer_confirm_link(&h.peer, 1, false, out);
    raw_send(raw(1), out, sizeof out);
    cr_assert(raw_wait(raw(1), SMCR_LLC_CONFIRM_LINK, true, &m, PAIR_S));
    hs_expect_smc(&h);
    hs_end(&h);

    client_withholds_confirm();
    peer_confirm_link(&h.peer, 1, true, out);
    raw_send(raw(1), out, sizeof out);
    hs_pass(&h);
    hs_expect_smc(&h);
    hs_end(&h);
}

/* covers: SMCR-FC-19, SMCR-FC-16 */
Test(handshake_second, SMCR_FC_19_the_socket_opens_with_the_rejection)
{
    begin(SMCR_CLIENT);
    cr_assert(raw_wait(raw(0), SMCR_LLC_ADD_LINK, false, &m, PAIR_S));
    hs_pass(&h);
    cr_assert_not(hs_status(&h).established);
    peer_add_link_reject(&h.peer, 2, out);
    raw_send(raw(0), out, sizeof out);
    hs_pass(&h);
    hs_expect_smc(&h);
    cr_assert_null(second(), "what was meant for it is freed");
    hs_end(&h);
}

/* Each allocation for link 2 fails once: the server says so while it may.
 * covers: SMCR-FC-23, SMCR-FBK-02 */
Test(handshake_second, SMCR_FC_23_no_memory_for_the_second_link)
{
    unsigned declined = 0;
    for (unsigned nth = 1; nth < 40; nth++) {
        hs_begin(&h, SMCR_CLIENT, &two_ports);
        cr_assert(peer_contact_clc(&h.peer, &h.conn));
        cr_assert(raw_wait(raw(0), SMCR_LLC_CONFIRM_LINK, false, &m, PAIR_S));
        struct test_alloc *alloc = &h.pair->node[HS_INSTANCE].alloc;
        alloc->fail_at = alloc->calls + nth;
        h.peer.link[0].number = 1;
        peer_confirm_link(&h.peer, 0, true, out);
        raw_send(raw(0), out, sizeof out);
        hs_pass(&h);
        bool failed = alloc->calls >= alloc->fail_at;
        alloc->fail_at = 0;
        if (failed) {
            hs_expect_decline(&h, SMCR_DIAG_NO_RESOURCES);
            declined++;
        } else {
            cr_assert(raw_wait(raw(0), SMCR_LLC_ADD_LINK, false, &m, PAIR_S));
        }
        hs_end(&h);
        if (!failed)
            break;
    }
    cr_assert_gt(declined, 1);
}
