/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of version 2 that two Linux kernels exchanged (pcaps/smc_first.pcap, smcfb_eid.pcap): read, and
 * made again byte for byte; and those that cannot be. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/pcap_file.h"
#include "rdma/mr.h"
#include "smcr/clc/clc.h"
#include "smcr/group/group.h"
#include "smcr/llc/messages2.h"

#define TCP_DATA     66  /* Ethernet, IPv4, TCP with time stamps */
#define RC_DATA      54  /* Ethernet, IPv4, UDP, BTH */
#define FEATURES     142 /* the feature mask in an Accept or Confirm */
#define EXT_FEATURES 106 /* and in that Proposal: the kernel has a feature, we have none */
#define SPARE        64

static void packet(const char *file, uint64_t number, unsigned offset, uint8_t *bytes, unsigned n)
{
    struct net_capture *capture;
    struct net_capture_record record = {0};
    struct nornic_error why;
    cr_assert_eq(net_capture_open(file, &capture, &why), 0, "%s", why.text);
    for (uint64_t i = 0; i < number; i++)
        cr_assert_eq(net_capture_next(capture, &record, &why), 1);
    cr_assert_geq(record.len_bytes, offset + n);
    memcpy(bytes, record.data + offset, n);
    net_capture_close(capture);
}

Test(clc2, a_proposal_of_linux_is_read_and_made)
{
    struct smcr_clc_proposal p;
    uint8_t bytes[156], made[SMCR_CLC_PROPOSAL_BYTES];
    packet("pcaps/smc_first.pcap", 4, TCP_DATA, bytes, sizeof bytes);
    cr_assert(smcr_clc_parse_proposal(bytes, sizeof bytes, &p));
    cr_assert_eq(p.version, 2);
    cr_assert(p.offers_v2);
    cr_assert_not(p.offers_v1);
    cr_assert_eq(p.v2.num_eids, 1);
    cr_assert_eq(p.v2.release, 1);
    cr_assert_eq(p.v2.max_conns, 255);
    cr_assert_eq(p.v2.max_links, 2);
    memset(bytes + EXT_FEATURES, 0, 2);
    cr_assert_eq(smcr_clc_build_proposal(made, &p), sizeof bytes);
    cr_assert_arr_eq(made, bytes, sizeof bytes);
}

static void is_made_again(uint64_t number, enum smcr_clc_type type, size_t len_bytes, const char *host_name)
{
    struct smcr_clc_accept a;
    uint8_t bytes[200], made[SMCR_CLC2_ACCEPT_BYTES];
    packet("pcaps/smc_first.pcap", number, TCP_DATA, bytes, (unsigned)len_bytes);
    cr_assert(smcr_clc_parse_accept(bytes, &a));
    cr_assert(a.first_contact);
    cr_assert(a.is_direct);
    cr_assert_eq(a.terms.version, 2);
    cr_assert_eq(a.terms.release, 1);
    cr_assert_eq(a.terms.max_conns, 255);
    cr_assert_eq(a.terms.max_links, 2);
    cr_assert_eq(a.num_gids, type == SMCR_CLC_CONFIRM);
    a.host_name = host_name;
    memset(bytes + FEATURES, 0, 2);
    cr_assert_eq(smcr_clc_build_accept(made, type, &a), len_bytes);
    cr_assert_arr_eq(made, bytes, len_bytes);
}

Test(clc2, an_accept_and_a_confirm_of_linux_are_read_and_made)
{
    is_made_again(6, SMCR_CLC_ACCEPT, 160, "A");
    is_made_again(8, SMCR_CLC_CONFIRM, 180, "B");
}

Test(clc2, a_decline_of_linux_is_read_and_made)
{
    struct smcr_clc_decline d;
    uint8_t bytes[SMCR_DECLINE2_BYTES], made[SMCR_DECLINE2_BYTES];
    packet("pcaps/smcfb_eid.pcap", 6, TCP_DATA, bytes, sizeof bytes);
    smcr_clc_parse_decline(bytes, &d);
    cr_assert_eq(d.version, 2);
    cr_assert_eq(d.diagnosis, SMCR_DIAG_NO_RNIC);
    cr_assert_eq(smcr_clc_build_decline(made, &d), sizeof bytes);
    cr_assert_arr_eq(made, bytes, sizeof bytes);
}

/* What came, as version 1 has it, and as we would send that. */
static void llc_is_made_again(uint64_t number, uint8_t type)
{
    struct smcr_group group = {.version = 2, .release = 1, .max_conns = 255};
    uint8_t bytes[SMCR_MSG_BYTES], v1[SMCR_MSG_BYTES], made[SMCR_MSG_BYTES];
    packet("pcaps/smc_first.pcap", number, RC_DATA, bytes, sizeof bytes);
    cr_assert(smcr_llc2_to_v1(bytes, sizeof bytes, v1));
    cr_assert_eq(v1[0], type);
    cr_assert_eq(v1[1], SMCR_MSG_BYTES);
    smcr_llc2_from_v1(&group, v1, made);
    cr_assert_arr_eq(made, bytes, sizeof bytes);
}

Test(llc2, messages_of_linux_are_read_and_made)
{
    llc_is_made_again(10, SMCR_LLC_CONFIRM_LINK);
    llc_is_made_again(12, SMCR_LLC_CONFIRM_LINK);
    llc_is_made_again(16, SMCR_LLC_ADD_LINK); /* refused */
}

Test(llc2, the_add_link_of_linux_is_read_and_made)
{
    struct smcr smcr = {.config.max_links = 2};
    struct smcr_group group = {.smcr = &smcr, .version = 2, .release = 1, .max_conns = 255};
    struct smcr_rmb rmb = {.is_confirmed = true, .group = &group};
    struct rdma_mr known = {0}, new = {0};
    struct smcr_link via = {.slot = 0}, about = {.slot = 1};
    struct smcr_llc_msg m;
    uint8_t bytes[88], made[SMCR_ADD_LINK2_MAX_BYTES];
    packet("pcaps/smc_first.pcap", 14, RC_DATA, bytes, sizeof bytes);
    cr_assert_eq(smcr_llc_decode(&group, bytes, sizeof bytes, &m), SMCR_LLC_DECODED);
    cr_assert_eq(m.num_rtokens, 1);
    cr_assert(m.is_direct);
    struct smcr_rtoken2 token;
    smcr_rtoken2_get(&token, m.rtokens);
    known.rkey = token.reference_rkey;
    new.rkey = token.rkey;
    new.iova = token.va;
    rmb.mr[0] = &known;
    rmb.mr[1] = &new;
    group.rmbs = &rmb;
    about.number = m.add_link.link;
    about.local = (struct smcr_link_end){.qpn = m.add_link.qpn, .psn = m.add_link.psn, .mtu = m.add_link.mtu};
    memcpy(about.local.mac.b, m.add_link.mac, sizeof m.add_link.mac);
    memcpy(about.local.gid.b, m.add_link.gid, sizeof m.add_link.gid);
    cr_assert_eq(smcr_llc2_build_add_link(made, &group, &via, &about, m.is_response), sizeof bytes);
    cr_assert_arr_eq(made, bytes, sizeof bytes);
    uint8_t reject[SMCR_MSG_BYTES], refused[SMCR_MSG_BYTES];
    smcr_llc2_build_reject(reject, &m);
    smcr_llc2_from_v1(&group, reject, refused);
    packet("pcaps/smc_first.pcap", 16, RC_DATA, bytes, SMCR_MSG_BYTES);
    cr_assert_arr_eq(refused, bytes, SMCR_MSG_BYTES);
}

/* --- what cannot be --- */

Test(clc2, an_extension_outside_the_proposal_is_no_offer)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } bad[] = {{50, 0xff}, {51, 27}, {51, 0}, {80, 2}, {80, 9}};
    for (size_t i = 0; i < array_len(bad); i++) {
        struct smcr_clc_proposal p;
        uint8_t bytes[156];
        packet("pcaps/smc_first.pcap", 4, TCP_DATA, bytes, sizeof bytes);
        bytes[bad[i].at] = bad[i].value;
        cr_assert(smcr_clc_parse_proposal(bytes, sizeof bytes, &p));
        cr_assert_not(p.offers_v2, "byte %u", bad[i].at);
    }
}

Test(clc2, a_confirm_shorter_than_its_parts_is_none)
{
    struct smcr_clc_accept a;
    uint8_t bytes[180 + SPARE] = {0};
    packet("pcaps/smc_first.pcap", 8, TCP_DATA, bytes, 180);
    cr_assert(smcr_clc_parse_accept(bytes, &a));
    bytes[156] = 2; /* GIDs */
    cr_assert_not(smcr_clc_parse_accept(bytes, &a));
    bytes[156] = 1;
    put_be16(bytes + 5, 160);
    cr_assert_not(smcr_clc_parse_accept(bytes, &a));
    put_be16(bytes + 5, 108);
    cr_assert_not(smcr_clc_parse_accept(bytes, &a));
    bytes[7] &= (uint8_t)~8; /* not a first contact: it ends behind the EID */
    cr_assert(smcr_clc_parse_accept(bytes, &a));
    bytes[7] |= 1; /* SMC-D */
    cr_assert_not(smcr_clc_parse_accept(bytes, &a));
}

Test(llc2, a_message_that_is_not_as_long_as_it_says)
{
    struct smcr smcr = {.config.max_links = 2};
    struct smcr_group group = {.smcr = &smcr, .version = 2};
    struct smcr_llc_msg m;
    uint8_t bytes[88];
    packet("pcaps/smc_first.pcap", 14, RC_DATA, bytes, sizeof bytes);
    for (size_t len = 0; len < sizeof bytes; len++)
        cr_assert_eq(smcr_llc_decode(&group, bytes, len, &m), SMCR_LLC_MALFORMED, "%zu bytes", len);
    bytes[70] = 2; /* RTokens */
    cr_assert_eq(smcr_llc_decode(&group, bytes, sizeof bytes, &m), SMCR_LLC_MALFORMED);
    bytes[70] = 1;
    bytes[1] = 0, bytes[2] = sizeof bytes; /* the most significant byte first */
    cr_assert_eq(smcr_llc_decode(&group, bytes, sizeof bytes, &m), SMCR_LLC_DECODED);
    bytes[0] = SMCR_LLC_ADD_LINK; /* of version 1 */
    cr_assert_eq(smcr_llc_decode(&group, bytes, sizeof bytes, &m), SMCR_LLC_MALFORMED);
}
