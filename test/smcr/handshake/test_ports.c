/* SPDX-License-Identifier: BSD-2-Clause */
/* smcr/handshake/ports.c: which port a first contact uses. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "smcr/handshake/flow.h"
#include "smcr/clc/networks.h"

#define PORTS 4

static struct smcr smcr;
static struct smcr_port port[PORTS];
static struct smcr_conn conn;

static struct nornic_addr addr(const char *text)
{
    struct nornic_addr out;
    cr_assert_eq(nornic_addr_parse(text, &out), 0);
    return out;
}

static void attach(unsigned i, const char *text, uint8_t prefix_len)
{
    port[i].is_up = true;
    port[i].gid = addr(text);
    port[i].config.networks[0] = (struct smcr_network){addr(text), prefix_len};
    port[i].config.num_networks = 1;
}

/* Ports 0, 1, 2 in 10.0.0/24, 10.0.1/24 and 10.0.1/24; port 3 has no network. The connection is in
 * 10.0.1/24. */
static void setup(void)
{
    for (unsigned i = 0; i < PORTS; i++) {
        port[i].smcr = &smcr;
        port[i].next = i + 1 < PORTS ? &port[i + 1] : NULL;
    }
    smcr.ports = port;
    attach(0, "10.0.0.1", 24);
    attach(1, "10.0.1.1", 24);
    attach(2, "10.0.1.9", 24);
    port[3].is_up = true;
    port[3].gid = addr("10.0.9.1");
    conn.smcr = &smcr;
    conn.config.local = addr("10.0.1.1");
    conn.config.remote = addr("10.0.1.2");
    conn.config.networks[0] = (struct smcr_network){addr("10.0.1.1"), 24};
    conn.config.num_networks = 1;
}

TestSuite(handshake_ports, .init = setup);

static const struct smcr_clc_proposal proposal = {
    .subnet = {10, 0, 1, 0}, .mask_len = 24, .gid.b = {[10] = 0xff, 0xff, 10, 0, 1, 2}};

/* covers: SMCR-CLC-24 */
Test(handshake_ports, SMCR_CLC_24_the_client_prefers_the_rnic_of_the_connection)
{
    cr_assert_eq(smcr_handshake_client_port(&conn, NULL), &port[1]);
    port[1].is_up = false;
    cr_assert_eq(smcr_handshake_client_port(&conn, NULL), &port[2]);
    port[2].is_up = false;
    cr_assert_null(smcr_handshake_client_port(&conn, NULL), "the others are elsewhere");
    cr_assert(smcr_handshake_has_port(&conn));
}

/* covers: SMCR-FC-02, SMCR-FC-03 */
Test(handshake_ports, SMCR_FC_03_the_servers_rnic_is_of_the_common_subnet)
{
    cr_assert_eq(smcr_handshake_server_port(&conn, &proposal), &port[1]);
    struct smcr_clc_proposal other = proposal;
    other.subnet[2] = 0;
    cr_assert_eq(smcr_handshake_server_port(&conn, &other), &port[0], "whatever way the Accept takes");
    other.subnet[2] = 2;
    cr_assert_null(smcr_handshake_server_port(&conn, &other));
    other = proposal;
    other.mask_len = 23;
    cr_assert_null(smcr_handshake_server_port(&conn, &other));
}

/* covers: SMCR-ARC-05, SMCR-SEC-01 */
Test(handshake_ports, SMCR_ARC_05_the_vlan_is_that_of_the_connection)
{
    conn.config.vlan_id = 7;
    cr_assert_null(smcr_handshake_client_port(&conn, NULL));
    cr_assert_null(smcr_handshake_server_port(&conn, &proposal));
    cr_assert_not(smcr_handshake_has_port(&conn));
    port[2].vlan_id = 7;
    cr_assert_eq(smcr_handshake_client_port(&conn, NULL), &port[2]);
    cr_assert_eq(smcr_handshake_server_port(&conn, &proposal), &port[2]);
    conn.config.vlan_id = 0;
    cr_assert_eq(smcr_handshake_client_port(&conn, NULL), &port[1]);
}

/* An RNIC with a GID of each family: the connection's is proposed, and the peer's is answered with its own
 * family, since no packet goes from one to the other. covers: SMCR-FC-03 */
Test(handshake_ports, SMCR_FC_03_a_GID_of_the_family_that_the_peer_has)
{
    struct nornic_addr v6 = addr("fd00::1"), server = addr("fd00::2");
    struct smcr_clc_proposal of_v6 = proposal;
    of_v6.gid = server;
    port[2].gid = v6; /* port 1's RNIC: the same networks */
    cr_assert_eq(smcr_handshake_client_port(&conn, NULL), &port[1]);
    cr_assert_eq(smcr_handshake_client_port(&conn, &server), &port[2]);
    cr_assert_eq(smcr_handshake_server_port(&conn, &proposal), &port[1]);
    cr_assert_eq(smcr_handshake_server_port(&conn, &of_v6), &port[2]);
    conn.config.local = v6;
    cr_assert_eq(smcr_handshake_client_port(&conn, NULL), &port[2]);
    port[2].is_up = false;
    cr_assert_eq(smcr_handshake_client_port(&conn, NULL), &port[1], "better than none");
    cr_assert_null(smcr_handshake_server_port(&conn, &of_v6));
}

/* A named physical network joins what addresses do not; another one parts what they would.
 * covers: SMCR-FC-03, SMCR-SEC-02 */
Test(handshake_ports, SMCR_FC_03_a_named_physical_network)
{
    snprintf(port[3].config.pnetid, sizeof port[3].config.pnetid, "NET1");
    snprintf(conn.config.pnetid, sizeof conn.config.pnetid, "NET1");
    cr_assert_eq(smcr_handshake_client_port(&conn, NULL), &port[3]);
    cr_assert_eq(smcr_handshake_server_port(&conn, &proposal), &port[3]);
    struct smcr_clc_proposal other = proposal;
    other.subnet[2] = 0;
    cr_assert_null(smcr_handshake_server_port(&conn, &other), "the subnets are checked all the same");
    snprintf(conn.config.pnetid, sizeof conn.config.pnetid, "NET2");
    cr_assert_null(smcr_handshake_client_port(&conn, NULL));
    cr_assert_null(smcr_handshake_server_port(&conn, &proposal));
}

/* Where the server's RNIC is known, the one in its network; else the one with the fewest links.
 * covers: SMCR-CLC-24, SMCR-ARC-26 */
Test(handshake_ports, SMCR_CLC_24_the_same_fabric_then_the_fewest_links)
{
    port[1].num_links = 1;
    cr_assert_eq(smcr_handshake_client_port(&conn, NULL), &port[2]);
    cr_assert_eq(smcr_handshake_server_port(&conn, &proposal), &port[2]);
    for (unsigned i = 0; i < PORTS; i++)
        snprintf(port[i].config.pnetid, sizeof port[i].config.pnetid, "NET1");
    snprintf(conn.config.pnetid, sizeof conn.config.pnetid, "NET1");
    struct nornic_addr gid = addr("10.0.0.7");
    cr_assert_eq(smcr_handshake_client_port(&conn, &gid), &port[0]);
    port[0].num_links = 5;
    cr_assert_eq(smcr_handshake_client_port(&conn, &gid), &port[0], "a fabric goes before few links");
    struct smcr_clc_proposal from_there = proposal;
    from_there.gid = gid;
    cr_assert_eq(smcr_handshake_server_port(&conn, &from_there), &port[0]);
}

/* covers: SMCR-CLC-26 */
Test(handshake_ports, SMCR_CLC_26_link_local_addresses_join_nothing)
{
    attach(0, "fe80::1", 64);
    port[1].is_up = port[2].is_up = false;
    conn.config.local = addr("2001:db8::1");
    conn.config.remote = addr("2001:db8::2");
    conn.config.networks[0] = (struct smcr_network){addr("fe80::2"), 64};
    cr_assert_null(smcr_handshake_client_port(&conn, NULL));
}
