/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC exchanges as they are followed: which keys name an RMB on which link, links that come and go, refusals.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "smcr/wire/llc2.h"
#include "test/explain/smc_film.h"
#include "test/support/smcr_examples.h"

static struct film f;

static void expect_words(const char *part)
{
    cr_expect(strstr(f.m.words, part), "\"%s\" is not in \"%s\"", part, f.m.words);
}

/* Whether the server has an RMB with that key on the link: a WRITE of the client to it is none to nowhere. */
static bool has_rmb(unsigned link, uint32_t rkey)
{
    film_write(&f, link, 0, rkey, 0x5000, 8);
    film_next(&f, link, 1);
    for (unsigned i = 0; i < f.m.remark_count; i++)
        if (f.m.remarks[i].kind == EXPLAIN_FIND_SMC_WRITE && strstr(f.m.remarks[i].words, "of no RMB"))
            return false;
    return true;
}

static void server_confirms(const struct smcr_confirm_rkey *said)
{
    uint8_t bytes[SMCR_MSG_BYTES] = {0};
    struct smcr_confirm_rkey c = *said;
    c.type = SMCR_LLC_CONFIRM_RKEY;
    c.length = SMCR_MSG_BYTES;
    smcr_confirm_rkey_put(bytes, &c);
    film_send(&f, 1, 1, bytes);
}

Test(smc_llc, an_rmb_has_a_key_on_each_link)
{
    film_begin(&f);
    film_two_links(&f);
    server_confirms(&(struct smcr_confirm_rkey){
        .rkey = 0x600, .va = 0x5000, .other_links = 1, .link_1 = 2, .rkey_1 = 0x602});
    cr_expect(has_rmb(1, 0x600) && !has_rmb(1, 0x602));
    cr_expect(has_rmb(2, 0x602) && !has_rmb(2, 0x600));
    film_end(&f);
}

/* What does not fit into CONFIRM RKEY comes in continuations, which name no RMB: it is that of the request.
 */
Test(smc_llc, a_continuation_is_about_the_rmb_of_its_request)
{
    uint8_t bytes[SMCR_MSG_BYTES] = {0};
    film_begin(&f);
    film_two_links(&f);
    server_confirms(
        &(struct smcr_confirm_rkey){.rkey = 0x600, .va = 0x5000, .other_links = 3, .link_1 = 5, .link_2 = 6});
    cr_expect(!has_rmb(2, 0x777));
    smcr_confirm_rkey_cont_put(bytes, &(struct smcr_confirm_rkey_cont){.type = SMCR_LLC_CONFIRM_RKEY_CONT,
                                                                       .length = SMCR_MSG_BYTES,
                                                                       .links_left = 1,
                                                                       .link_1 = 2,
                                                                       .rkey_1 = 0x777,
                                                                       .va_1 = 0x5000});
    film_send(&f, 1, 1, bytes);
    expect_words("CONFIRM RKEY CONTINUATION request: 1 further link");
    cr_expect(has_rmb(2, 0x777));
    film_end(&f);
}

Test(smc_llc, deleted_keys_name_nothing_any_more)
{
    film_begin(&f);
    film_first_contact(&f);
    cr_expect(has_rmb(1, FILM_SERVER_RKEY));
    film_llc(&f, 1, 1, "DR_REQ");
    expect_words("2 keys, 0x000004f0, ...");
    cr_expect(!has_rmb(1, FILM_SERVER_RKEY));
    film_llc(&f, 1, 0, "DR_NEG");
    cr_expect(film_remarks(&f, EXPLAIN_FIND_SMC_REFUSED, ""));
    film_end(&f);
}

Test(smc_llc, a_key_that_is_refused_is_told_with_its_request)
{
    film_begin(&f);
    film_first_contact(&f);
    film_llc(&f, 1, 1, "CR_REQ");
    uint64_t request = f.number;
    film_llc(&f, 1, 0, "CR_NEG");
    cr_expect_eq(f.m.answers, request);
    cr_expect(film_remarks(&f, EXPLAIN_FIND_SMC_REFUSED, ""));
    cr_expect_not_null(strstr(f.m.remarks[0].words, "to be tried again"), "%s", f.m.remarks[0].words);
    film_end(&f);
}

/* Two bytes more behind the MAC (A5): what the message says is the same. */
Test(smc_llc, an_add_link_says_the_same_in_both_layouts)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_add_link plain;
    char words[240];
    film_begin(&f);
    film_first_contact(&f);
    film_llc(&f, 1, 1, "AL_REQ");
    strcpy(words, f.m.words);
    smcr_example("AL_REQ", bytes);
    smcr_add_link_get(&plain, bytes);
    cr_expect(!smcr_add_link_is_shifted(&plain));
    struct smcr_add_link_shifted shifted = {.type = plain.type,
                                            .length = plain.length,
                                            .qpn = plain.qpn,
                                            .link = plain.link,
                                            .mtu = plain.mtu,
                                            .psn = plain.psn};
    memcpy(shifted.mac, plain.mac, sizeof shifted.mac);
    memcpy(shifted.gid, plain.gid, sizeof shifted.gid);
    memset(bytes, 0, sizeof bytes);
    smcr_add_link_shifted_put(bytes, &shifted);
    film_send(&f, 1, 1, bytes);
    cr_expect_str_eq(f.m.words, words);
    film_end(&f);
}

Test(smc_llc, a_refused_link_leaves_its_number_and_no_link)
{
    film_begin(&f);
    film_first_contact(&f);
    const struct explain_smc_group *g = explain_analysis_smc_group(f.analysis, 1);
    cr_expect_eq(g->links, 1);
    film_llc(&f, 1, 1, "AL_REQ");
    cr_expect_eq(g->links, 2);
    film_llc(&f, 1, 0, "AL_RSP");
    cr_expect_eq(g->links, 2);
    cr_expect_eq(f.counts[EXPLAIN_FIND_SMC_REFUSED], 1, "the first time only");
    film_end(&f);
}

Test(smc_llc, a_client_offers_an_rnic)
{
    film_begin(&f);
    film_first_contact(&f);
    film_llc(&f, 1, 0, "AL_REQ");
    expect_words("the client has a further RNIC, 192.0.2.3");
    cr_expect_eq(explain_analysis_smc_group(f.analysis, 1)->links, 1);
    film_end(&f);
    cr_expect_eq(f.counts[EXPLAIN_FIND_SMC_UNANSWERED], 0, "the server may ask for the link, or not");
}

Test(smc_llc, a_response_comes_on_the_link_of_its_request)
{
    film_begin(&f);
    film_two_links(&f);
    film_llc(&f, 1, 1, "TL_REQ");
    film_llc(&f, 2, 0, "TL_RSP");
    uint64_t number = f.number;
    film_llc(&f, 2, 1, "TL_REQ"); /* no packet of the server is missing before this */
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-05"));
    cr_expect_eq(f.m.remarks[0].number, number);
    film_end(&f);
    cr_expect_eq(film_violations(&f), 1);
}

/* covers: SMCR-LLC-05 */
Test(smc_llc, a_response_may_be_to_a_request_before_the_newest)
{
    film_begin(&f);
    film_two_links(&f);
    film_llc(&f, 1, 1, "TL_REQ");
    film_llc(&f, 2, 1, "TL_REQ");
    film_llc(&f, 1, 0, "TL_RSP");
    film_llc(&f, 2, 0, "TL_RSP");
    film_llc(&f, 1, 1, "TL_REQ");
    film_llc(&f, 1, 0, "TL_RSP");
    film_end(&f);
    cr_expect_eq(film_violations(&f), 0);
    cr_expect_eq(f.counts[EXPLAIN_FIND_SMC_UNANSWERED], 0);
}

Test(smc_llc, the_client_may_be_told_that_its_link_is_not_known)
{
    film_begin(&f);
    film_two_links(&f);
    film_llc(&f, 1, 0, "DL_REQ");
    film_llc(&f, 1, 1, "DL_RSP");
    film_llc(&f, 1, 0, "TL_REQ");
    film_llc(&f, 1, 1, "TL_RSP");
    film_end(&f);
    cr_expect_eq(f.counts[EXPLAIN_FIND_SMC_UNASKED], 0);
}

/* What a program sends may begin like a message; a link bears nothing else. */
Test(smc_llc, what_begins_as_a_message_on_a_link_is_one_or_wrong)
{
    static const struct {
        uint8_t type, length_lsb, bytes;
        const char *words; /* NULL: no finding */
    } sent[] = {
        {SMCR_LLC2_ADD_LINK, 104, 104, "ADD LINK of 104 bytes: its parts want another length"},
        {SMCR_LLC2_REQUEST_ADD_LINK, 76, 76, "REQUEST ADD LINK of 76 bytes: its parts want another length"},
        {SMCR_LLC2_TEST_LINK, 60, 60, "TEST LINK of 60 bytes: its parts want another length"},
        {SMCR_LLC2_TEST_LINK, 60, 44, NULL}, /* of a program that uses the QPNs again, perhaps */
        {SMCR_LLC_TEST_LINK, 44, 44, NULL},
    };
    for (unsigned i = 0; i < sizeof sent / sizeof *sent; i++) {
        uint8_t bytes[128];
        memset(bytes, 0x5a, sizeof bytes);
        bytes[0] = sent[i].type;
        bytes[1] = sent[i].length_lsb;
        bytes[2] = bytes[3] = 0;
        film_begin(&f);
        film_first_contact(&f);
        film_send_of(&f, 1, 0, bytes, sent[i].bytes);
        cr_expect_eq(film_remarks(&f, EXPLAIN_FIND_SMC_MESSAGE, ""), sent[i].words != NULL, "%u", i);
        cr_expect(!sent[i].words || strstr(f.m.remarks[0].words, sent[i].words), "%u: %s", i,
                  f.m.remarks[0].words);
        film_end(&f);
    }
}

/* Up to 255 keys in a DELETE RKEY, each of 4 bytes behind 8; a REQUEST ADD LINK of no GID has 28, or is
 * filled up to 44. */
Test(smc_llc, messages_are_as_long_as_their_parts)
{
    static const struct {
        uint8_t type;
        uint16_t bytes;
        uint8_t count_at, count;
        bool is_one;
    } sent[] = {
        {SMCR_LLC2_DELETE_RKEY, 44, 4, 1, true},       {SMCR_LLC2_DELETE_RKEY, 44, 4, 9, true},
        {SMCR_LLC2_DELETE_RKEY, 48, 4, 10, true},      {SMCR_LLC2_DELETE_RKEY, 1028, 4, 255, true},
        {SMCR_LLC2_DELETE_RKEY, 52, 4, 10, false},     {SMCR_LLC2_REQUEST_ADD_LINK, 28, 24, 0, true},
        {SMCR_LLC2_REQUEST_ADD_LINK, 44, 24, 0, true}, {SMCR_LLC2_REQUEST_ADD_LINK, 40, 24, 0, false},
        {SMCR_LLC2_TEST_LINK, 28, 24, 0, false},
    };
    for (unsigned i = 0; i < sizeof sent / sizeof *sent; i++) {
        uint8_t bytes[1028];
        memset(bytes, 0x5a, sizeof bytes);
        bytes[0] = sent[i].type;
        bytes[1] = (uint8_t)(sent[i].bytes >> 8);
        bytes[2] = (uint8_t)sent[i].bytes;
        bytes[3] = 0;
        bytes[sent[i].count_at] = sent[i].count;
        film_begin(&f);
        film_first_contact(&f);
        film_send_of(&f, 1, 0, bytes, sent[i].bytes);
        cr_expect_eq(film_remarks(&f, EXPLAIN_FIND_SMC_MESSAGE, ""), !sent[i].is_one, "%u", i);
        film_end(&f);
    }
}

/* Those of version 2 lie one behind the other, as many as the message has room for; of version 1 eight. */
Test(smc_llc, each_key_of_a_delete_rkey_is_forgotten)
{
    enum { KEYS = 12, KEY = 0x9000, BYTES = 8 + 4 * KEYS };
    uint8_t bytes[BYTES] = {SMCR_LLC2_DELETE_RKEY, 0, BYTES, 0, KEYS};
    film_begin(&f);
    film_first_contact(&f);
    for (unsigned i = 0; i <= KEYS; i++)
        server_confirms(&(struct smcr_confirm_rkey){.rkey = KEY + i, .va = 0x5000});
    for (unsigned i = 0; i < KEYS; i++)
        put_be32(bytes + 8 + 4 * (size_t)i, KEY + i);
    film_send_of(&f, 1, 1, bytes, BYTES);
    expect_words("DELETE RKEY request: 12 keys, 0x00009000, ...");
    for (unsigned i = 0; i < KEYS; i++)
        cr_expect_not(has_rmb(1, KEY + i), "%u", i);
    cr_expect(has_rmb(1, KEY + KEYS), "it was not named");
    film_end(&f);
}

Test(smc_llc, a_link_that_is_not_there_cannot_be_deleted)
{
    film_begin(&f);
    film_two_links(&f);
    const struct explain_smc_group *g = explain_analysis_smc_group(f.analysis, 1);
    film_llc(&f, 2, 1, "DL_REQ");
    cr_expect(film_remarks(&f, EXPLAIN_FIND_SMC_LINK_GONE, "SMCR-DLK-03"));
    film_llc(&f, 2, 0, "DL_RSP");
    cr_expect_eq(g->links_gone, 1);
    cr_expect_eq(g->links_active, 1);
    film_llc(&f, 2, 1, "DL_REQ");
    film_next(&f, 2, 0);
    cr_expect(film_remarks(&f, EXPLAIN_FIND_SMC_LINK, "SMCR-DLK-07"));
    film_end(&f);
}

/* RC takes a packet once: what comes again confirms, deletes and asks nothing. */
Test(smc_llc, a_message_that_comes_again_changes_nothing)
{
    film_begin(&f);
    film_first_contact(&f);
    film_llc(&f, 1, 1, "CR_REQ");
    uint32_t rmbs = explain_analysis_smc_group(f.analysis, 1)->rmbs[1];
    film_again(&f);
    cr_expect_eq(explain_analysis_smc_group(f.analysis, 1)->rmbs[1], rmbs);
    film_llc(&f, 1, 0, "CR_NEG");
    uint64_t refused = f.counts[EXPLAIN_FIND_SMC_REFUSED];
    film_again(&f);
    cr_expect_eq(f.counts[EXPLAIN_FIND_SMC_REFUSED], refused);
    film_end(&f);
}
