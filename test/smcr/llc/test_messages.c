/* SPDX-License-Identifier: BSD-2-Clause */
/* Every LLC message that is sent, against the worked examples of SMCR section 22 byte for byte. */
#include <criterion/criterion.h>
#include <string.h>

#include "smcr/llc/flow.h"
#include "test/support/smcr_examples.h"

#define VA  UINT64_C(0x7f5c6d600000)
#define VA1 UINT64_C(0x7f5c6d5d2000)

/* A group of the examples' server or client, with as many links and RMBs as a test gives it. */
struct world {
    struct smcr smcr;
    struct smcr_group group;
    struct smcr_rmb rmb[4];
    struct rdma_mr mr[4][SMCR_LINK_SLOTS];
};

static struct smcr_link_end end_of(uint8_t last, uint32_t qpn, uint8_t mtu, uint32_t psn)
{
    return (struct smcr_link_end){.mac = {{0x02, 0x00, 0x5e, 0x10, 0x00, last}},
                                  .gid = nornic_addr_from_v4((const uint8_t[]){192, 0, 2, last}),
                                  .qpn = qpn,
                                  .mtu = mtu,
                                  .psn = psn};
}

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    w->group.smcr = &w->smcr;
    w->group.max_links = 2;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        w->group.links[i].group = &w->group;
        w->group.links[i].slot = i;
        w->group.links[i].number = (uint8_t)(i + 1);
        w->group.links[i].state = SMCR_LINK_ACTIVE;
    }
    return w;
}

/* RMB `index` has these keys on its links, at one address. */
static void add_rmb(struct world *w, unsigned index, const uint32_t *rkeys, unsigned links, uint64_t va)
{
    struct smcr_rmb *rmb = &w->rmb[index];
    rmb->group = &w->group;
    rmb->is_confirmed = true;
    for (unsigned i = 0; i < links; i++) {
        w->mr[index][i].rkey = rkeys[i];
        w->mr[index][i].iova = va;
        rmb->mr[i] = &w->mr[index][i];
    }
    struct smcr_rmb **at = &w->group.rmbs;
    while (*at)
        at = &(*at)->next;
    *at = rmb;
}

static void is_example(const char *name, const uint8_t *message)
{
    uint8_t want[SMCR_EXAMPLE_MAX_BYTES];
    cr_assert_eq(smcr_example(name, want), SMCR_MSG_BYTES);
    cr_assert_arr_eq(message, want, SMCR_MSG_BYTES, "%s", name);
}

/* covers: SMCR-LLC-01, SMCR-LLC-03, SMCR-LLC-20 */
Test(llc_messages, SMCR_LLC_20_confirm_link_both_ways)
{
    struct world *w = world_new();
    struct smcr_link *link = &w->group.links[0];
    uint8_t m[SMCR_MSG_BYTES];
    link->local = end_of(1, 0x12, 3, 0);
    link->user_id = 0x5a010101;
    smcr_llc_build_confirm_link(m, link, false);
    is_example("CL_REQ", m);
    link->local = end_of(2, 0x40, 5, 0);
    link->user_id = 0x7b020101;
    smcr_llc_build_confirm_link(m, link, true);
    is_example("CL_RSP", m);
    free(w);
}

/* covers: SMCR-LLC-30 */
Test(llc_messages, SMCR_LLC_30_add_link_accepted_and_rejected)
{
    struct world *w = world_new();
    uint8_t m[SMCR_MSG_BYTES];
    struct smcr_link_end server = end_of(3, 0x13, 3, 0xbc9255), client = end_of(4, 0x41, 5, 0xbeef);
    struct smcr_link_end first = end_of(2, 0x40, 5, 0xdc4011);
    smcr_llc_build_add_link(m, &w->group, &server, 2, false);
    is_example("AL_REQ", m);
    smcr_llc_build_add_link(m, &w->group, &client, 2, true);
    is_example("AL_RSP", m);
    smcr_llc_build_reject(m, &w->group, &first, 2, SMCR_ADD_LINK_NO_PATH);
    is_example("AL_REJ", m);
    free(w);
}

/* covers: SMCR-LLC-30 */
Test(llc_messages, SMCR_LLC_30_both_layouts_of_add_link_are_read)
{
    struct world *w = world_new();
    struct smcr_link_end end = end_of(3, 0x13, 3, 0xbc9255);
    uint8_t ours[SMCR_MSG_BYTES], theirs[SMCR_MSG_BYTES];
    struct smcr_llc_msg decoded[2];
    smcr_llc_build_add_link(ours, &w->group, &end, 2, false);
    w->smcr.config.interop.shifted_add_link = true;
    smcr_llc_build_add_link(theirs, &w->group, &end, 2, false);
    cr_assert_eq(theirs[10] | theirs[11], 0, "two reserved bytes follow the MAC");
    cr_assert_arr_eq(theirs + 12, end.gid.b, 16);
    w->smcr.config.interop.shifted_add_link = false;
    cr_assert_eq(smcr_llc_decode(&w->group, ours, sizeof ours, &decoded[0]), SMCR_LLC_DECODED);
    /* told apart by the PSN: A5 */
    cr_assert_eq(smcr_llc_decode(&w->group, theirs, sizeof theirs, &decoded[1]), SMCR_LLC_DECODED);
    struct smcr_add_link a = decoded[0].add_link, b = decoded[1].add_link;
    cr_assert_arr_eq(b.mac, a.mac, sizeof a.mac);
    cr_assert_arr_eq(b.gid, a.gid, sizeof a.gid);
    cr_assert(b.qpn == a.qpn && b.link == a.link && b.mtu == a.mtu && b.psn == a.psn);
    cr_assert_eq(a.psn, 0xbc9255);
    free(w);
}

static void exchange(struct world *w, unsigned total)
{
    w->group.llc.via = &w->group.links[0];
    w->group.llc.about = &w->group.links[1];
    w->group.llc.own_total = total;
    w->group.llc.own_told = 0;
}

/* covers: SMCR-LLC-33, SMCR-LLC-34, SMCR-LLC-35 */
Test(llc_messages, SMCR_LLC_34_continuations_count_down_by_two)
{
    struct world *w = world_new();
    uint8_t m[SMCR_MSG_BYTES];
    add_rmb(w, 0, (const uint32_t[]){0x4f0, 0x644}, 2, VA1);
    exchange(w, 1);
    smcr_llc_build_cont(m, &w->group, false);
    is_example("ALC_REQ", m);
    smcr_llc_build_cont(m, &w->group, false); /* through: empty until the other side is too */
    is_example("ALC_REQ0", m);
    free(w);

    w = world_new();
    add_rmb(w, 0, (const uint32_t[]){0x40b, 0x50b}, 2, UINT64_C(0x7fe9af841000));
    add_rmb(w, 1, (const uint32_t[]){0x40c, 0x50c}, 2, UINT64_C(0x7fe9af940000));
    add_rmb(w, 2, (const uint32_t[]){0x40d, 0x50d}, 2, UINT64_C(0x7fe9afa40000));
    exchange(w, 3);
    smcr_llc_build_cont(m, &w->group, true);
    is_example("ALC_RSP1", m);
    smcr_llc_build_cont(m, &w->group, true);
    is_example("ALC_RSP2", m);
    free(w);
}

/* covers: SMCR-LLC-37 */
Test(llc_messages, SMCR_LLC_37_continuations_list_only_what_the_peer_knows)
{
    struct world *w = world_new();
    uint8_t m[SMCR_MSG_BYTES];
    add_rmb(w, 0, (const uint32_t[]){0x111, 0x222}, 2, VA);
    add_rmb(w, 1, (const uint32_t[]){0x4f0, 0x644}, 2, VA1);
    w->rmb[0].is_confirmed = false;
    cr_assert_eq(smcr_rmb_count_known(&w->group), 1);
    exchange(w, smcr_rmb_count_known(&w->group));
    smcr_llc_build_cont(m, &w->group, false);
    is_example("ALC_REQ", m);
    free(w);
}

/* covers: SMCR-LLC-40, SMCR-LLC-41 */
Test(llc_messages, SMCR_LLC_40_delete_link_reasons_and_flags)
{
    uint8_t m[SMCR_MSG_BYTES];
    smcr_llc_build_delete_link(m, 1, SMCR_DELETE_LOST_PATH, false);
    is_example("DL_REQ", m);
    smcr_llc_build_delete_rsp(m, 1, 0);
    is_example("DL_RSP", m);
    smcr_llc_build_delete_all(m, SMCR_DELETE_OPERATOR, true);
    is_example("DL_ALL", m);
    smcr_llc_build_delete_rsp(m, 9, SMCR_DELETE_UNKNOWN_LINK);
    is_example("DL_UNK", m);
}

/* covers: SMCR-LLC-50, SMCR-LLC-51 */
Test(llc_messages, SMCR_LLC_51_confirm_rkey_names_two_other_links_and_three_in_each_continuation)
{
    struct world *w = world_new();
    uint8_t m[SMCR_MSG_BYTES];
    add_rmb(w, 0, (const uint32_t[]){0x4f1, 0x645, 0x755, 0x865, 0x975, 0xa85}, 6, VA);
    struct smcr_llc_rkey x = {
        .rmb = &w->rmb[0], .via = &w->group.links[0], .others = {2, 3, 4, 5, 6}, .num_others = 1};
    smcr_llc_build_confirm_rkey(m, &x);
    is_example("CR_REQ", m);
    cr_assert_eq(x.next_other, 1);
    x.num_others = 5;
    smcr_llc_build_confirm_rkey(m, &x);
    is_example("CR_REQ5", m);
    cr_assert_eq(x.next_other, 2);
    smcr_llc_build_rkey_cont(m, &x);
    is_example("CRC_REQ", m);
    cr_assert_eq(x.next_other, 5);
    free(w);
}

/* covers: SMCR-LLC-60 */
Test(llc_messages, SMCR_LLC_60_delete_rkey_names_the_key_of_the_carrying_link)
{
    struct world *w = world_new();
    uint8_t m[SMCR_MSG_BYTES], want[SMCR_EXAMPLE_MAX_BYTES];
    add_rmb(w, 0, (const uint32_t[]){0x4f0, 0x644}, 2, VA);
    struct smcr_llc_rkey x = {.rmb = &w->rmb[0], .via = &w->group.links[0]};
    smcr_llc_build_delete_rkey(m, &x);
    smcr_example("DR_REQ", want);
    want[4] = 1; /* we name one RMB at a time: the example's first */
    memset(want + 12, 0, 4);
    cr_assert_arr_eq(m, want, SMCR_MSG_BYTES);
    x.via = &w->group.links[1];
    smcr_llc_build_delete_rkey(m, &x);
    cr_assert_eq(m[10] << 8 | m[11], 0x644);
    free(w);
}

/* covers: SMCR-LLC-62 */
Test(llc_messages, SMCR_LLC_62_test_link)
{
    uint8_t m[SMCR_MSG_BYTES], data[16];
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    smcr_llc_build_test_link(m, data);
    is_example("TL_REQ", m);
}
