/* SPDX-License-Identifier: BSD-2-Clause */
/* smcr/group/ports.c: the RNICs that a second link joins share a LAN with the peer's RNIC (RFC 7609
 * 3.5.1.6). */
#include <criterion/criterion.h>
#include <string.h>

#include "smcr/group/group.h"
#include "smcr/conn/conn.h"

#define PORTS 3

static struct smcr smcr;
static struct smcr_port port[PORTS];
static struct smcr_group group;

static struct nornic_addr addr(const char *text)
{
    struct nornic_addr out;
    cr_assert_eq(nornic_addr_parse(text, &out), 0);
    return out;
}

static void attach(unsigned i, const char *text, uint8_t prefix_len)
{
    port[i].smcr = &smcr;
    port[i].is_up = true;
    port[i].gid = addr(text);
    port[i].mac.b[5] = (uint8_t)(i + 1);
    port[i].config.networks[0] = (struct smcr_network){addr(text), prefix_len};
    port[i].config.num_networks = 1;
    port[i].next = i + 1 < PORTS ? &port[i + 1] : NULL;
}

/* One link, from port 0 at 10.0.0.1/24 to 10.0.0.2. */
static void setup(void)
{
    smcr.ports = port;
    attach(0, "10.0.0.1", 24);
    attach(1, "10.0.1.1", 24);
    attach(2, "10.0.0.9", 24);
    port[2].is_up = false;
    group.smcr = &smcr;
    group.version = 1;
    group.max_links = 2;
    group.state = SMCR_GROUP_FIRST_CONTACT;
    group.links[0].state = SMCR_LINK_ACTIVE;
    group.links[0].local = (struct smcr_link_end){.mac = port[0].mac, .gid = port[0].gid};
    group.links[0].peer = (struct smcr_link_end){.mac = {{2, 0, 0, 0, 0, 0x81}}, .gid = addr("10.0.0.2")};
}

TestSuite(group_lan, .init = setup);

static struct smcr_port *answer(const char *gid)
{
    const struct smcr_link_end peer = {.mac = {{2, 0, 0, 0, 0, 0x82}}, .gid = addr(gid)};
    return smcr_group_port_to_answer(&group, &peer);
}

/* covers: SMCR-FC-12, SMCR-FC-14 */
Test(group_lan, SMCR_FC_14_the_client_answers_with_an_rnic_of_the_lan_that_is_offered)
{
    cr_expect_eq(answer("10.0.1.2"), &port[1]);
    cr_expect_eq(answer("10.0.0.3"), &port[0], "asymmetric: its first RNIC");
    cr_expect_null(answer("10.0.7.2"), "no RNIC is there: it refuses at once");
    port[2].is_up = true;
    cr_expect_eq(answer("10.0.0.3"), &port[2], "an unused one of the same LAN");
}

/* covers: SMCR-FC-12 */
Test(group_lan, SMCR_FC_12_the_server_offers_an_rnic_of_the_lan_that_the_peer_is_in)
{
    port[2].is_up = true;
    cr_expect_eq(smcr_group_port_to_offer(&group), &port[2]);
    port[2].is_up = false;
    cr_expect_eq(smcr_group_port_to_offer(&group), &port[1], "version 1: the client may be there too");
    group.client_gids[0] = addr("10.0.0.2");
    group.num_client_gids = 1;
    cr_expect_eq(smcr_group_port_to_offer(&group), &port[0], "it has told that it is not: the first RNIC");
    group.client_gids[1] = addr("10.0.1.2");
    group.num_client_gids = 2;
    cr_expect_eq(smcr_group_port_to_offer(&group), &port[1]);
}

/* covers: SMCR-FC-12, SMCR-FC-14 */
Test(group_lan, SMCR_FC_12_an_address_without_a_network_names_no_lan)
{
    port[1].config.networks[0].prefix_len = 32;
    group.client_gids[0] = addr("10.0.0.2");
    group.num_client_gids = 1;
    group.state = SMCR_GROUP_USABLE;
    group.client_gids[1] = addr("10.0.7.2");
    group.num_client_gids = 2;
    cr_expect_eq(smcr_group_port_to_offer(&group), &port[1]);
    cr_expect_eq(answer("10.0.7.2"), &port[1]);
    port[1].config.networks[0].prefix_len = 24;
    cr_expect_null(answer("10.0.7.2"));
    for (unsigned i = 0; i < PORTS; i++)
        strcpy(port[i].config.pnetid, "FABRIC");
    strcpy(group.pnetid, "FABRIC");
    cr_expect_eq(answer("10.0.7.2"), &port[1], "the administrator says that it is one network");
}
