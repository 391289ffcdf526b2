/* SPDX-License-Identifier: BSD-2-Clause */
/* The set-up of RFC 6581, and both sides against each other. */
#include <criterion/criterion.h>

#include "base/base.h"
#include "iwarp/wire/term.h"
#include "test/iwarp/setup_script.h"
#include "test/support/random.h"

/* covers: IWARP-ECE-01 */
Test(setup_enhanced, four_octets_that_are_missing_are_a_refusal)
{
    uint8_t bytes[24] = "MPA ID Req Frame";
    uint32_t enhanced;
    bytes[16] = FLAG_S;
    bytes[17] = 2;
    bytes[19] = 3;
    cr_assert_eq(iwarp_setup_listen(&one, &usual, 0), 0);
    iwarp_setup_input(&one, bytes, 23);
    expect_failure(IWARP_SETUP_REJECTED, 0, "three octets");
    cr_expect(reply_of(&enhanced) & FLAG_R);
    memcpy(bytes, "MPA ID Rep Frame", 16);
    cr_assert_eq(iwarp_setup_connect(&one, &usual, NULL, 0, 0), 0);
    iwarp_setup_input(&one, bytes, 23);
    expect_failure(IWARP_SETUP_FRAME, IWARP_TERM_MPA_FRAME, "three octets in a Reply");
}

#define ENHANCED(a, b, ird, c, d, ord) \
    ((uint32_t)(a) << 31 | (uint32_t)(b) << 30 | (uint32_t)(ird) << 16 | (c) << 15 | (d) << 14 | (ord))

/* covers: IWARP-ECE-02, IWARP-ECE-04 */
Test(setup_enhanced, the_responder_matches_the_depths_cross_wise)
{
    static const uint16_t depths[] = {0, 1, 8, 16, 17, 0x3ffe, 0x3fff};
    for (size_t i = 0; i < array_len(depths); i++) {
        for (size_t o = 0; o < array_len(depths); o++) {
            uint32_t enhanced;
            take_request(&usual, FLAG_C | FLAG_S, 2, ENHANCED(0, 0, depths[i], 0, 0, depths[o]));
            cr_assert_eq(iwarp_setup_accept(&one, NULL, 0), 0);
            reply_of(&enhanced);
            uint16_t ird = enhanced >> 16 & 0x3fff, ord = enhanced & 0x3fff;
            cr_expect_eq(ord, depths[i] == 0x3fff ? 0x3fff : min_u32(8, depths[i]));
            cr_expect_eq(ird, depths[o] == 0x3fff ? 0x3fff : min_u32(16, depths[o]));
            cr_expect_eq(one.session.ord, min_u32(8, depths[i]));
            cr_expect_eq(one.session.ird, min_u32(16, depths[o]));
        }
    }
}

/* covers: IWARP-ECE-03, IWARP-ECE-04, IWARP-FLOW-03 */
Test(setup_enhanced, the_initiator_takes_the_depths_of_the_reply)
{
    static const uint16_t depths[] = {0, 1, 8, 16, 17, 20, 21, 0x3fff};
    struct iwarp_setup_config config = {.ird = 16, .ord = 8, .no_rtr = true};
    for (int can_raise = 0; can_raise < 2; can_raise++) {
        config.max_ird = can_raise ? 20 : 0;
        for (size_t i = 0; i < array_len(depths); i++) {
            for (size_t o = 0; o < array_len(depths); o++) {
                take_reply(&config, FLAG_C | FLAG_S, 2, ENHANCED(0, 0, depths[i], 0, 0, depths[o]));
                bool is_too_much = depths[o] != 0x3fff && depths[o] > (can_raise ? 20 : 16);
                if (is_too_much) {
                    expect_failure(IWARP_SETUP_IRD, IWARP_TERM_MPA_IRD, "more than is served");
                    continue;
                }
                cr_expect_eq(one.state, IWARP_SETUP_ESTABLISHED);
                cr_expect_eq(one.session.ord, min_u32(8, depths[i]));
                cr_expect_eq(one.session.ird, depths[o] == 0x3fff ? 16 : max_u32(16, depths[o]));
            }
        }
    }
}

/* covers: IWARP-ECE-04, IWARP-FLOW-03 */
Test(setup_enhanced, depths_may_be_left_to_the_programs)
{
    size_t len;
    const struct iwarp_setup_config config = {.ird = 3, .ord = 5, .leaves_depths = true, .no_rtr = true};
    cr_assert_eq(iwarp_setup_connect(&one, &config, NULL, 0, 0), 0);
    cr_expect_arr_eq(iwarp_setup_output(&one, &len) + 20, "\x3f\xff\x3f\xff", 4);
    take_reply(&config, FLAG_C | FLAG_S, 2, 0x3fff3fff);
    cr_expect(one.session.ird == 3 && one.session.ord == 5);
}

/* covers: IWARP-ECE-05, IWARP-ECE-07, IWARP-ECE-09, IWARP-AMB-15 */
Test(setup_enhanced, the_responder_takes_a_write_before_a_read_and_never_a_send)
{
    for (unsigned kinds = 0; kinds < 16; kinds++) {
        bool a = kinds & 8, b = kinds & 4, c = kinds & 2, d = kinds & 1;
        const struct iwarp_setup_config shallow = {0};
        uint32_t enhanced;
        take_request(&shallow, FLAG_C | FLAG_S, 2, ENHANCED(a, b, 4, c, d, 4));
        if (a && !c && !d) {
            expect_failure(IWARP_SETUP_REJECTED, 0, "nothing in common");
            cr_expect(reply_of(&enhanced) & FLAG_R);
            continue;
        }
        cr_assert_eq(iwarp_setup_accept(&one, NULL, 0), 0);
        cr_expect_not(reply_of(&enhanced) & FLAG_R);
        uint32_t read_takes = a && !c;
        cr_expect_eq(enhanced, ENHANCED(a, 0, read_takes, a && c, read_takes, 0), "kinds %x: %08x", kinds,
                     enhanced);
        cr_expect_eq(one.session.rtr, !a ? IWARP_RTR_NONE : c ? IWARP_RTR_WRITE : IWARP_RTR_READ);
        cr_expect_eq(one.session.ird, read_takes);
    }
}

/* covers: IWARP-ECE-06, IWARP-ECE-07, IWARP-ECE-09 */
/* covers: IWARP-CM-10 */
Test(setup_enhanced, the_initiator_sends_an_rtr_that_it_offered_and_the_reply_names)
{
    for (uint8_t offered = 1; offered < 4; offered++) {
        for (unsigned kinds = 0; kinds < 16; kinds++) {
            bool a = kinds & 8, b = kinds & 4, c = kinds & 2, d = kinds & 1;
            struct iwarp_setup_config config = {.rtr = offered};
            take_reply(&config, FLAG_C | FLAG_S, 2, ENHANCED(a, b, 0, c, d, 0));
            bool write = c && offered & IWARP_RTR_WRITE, read = d && offered & IWARP_RTR_READ;
            if (a && !write && !read) {
                expect_failure(IWARP_SETUP_RTR, IWARP_TERM_MPA_RTR, "nothing in common");
                continue;
            }
            cr_expect_eq(one.state, IWARP_SETUP_ESTABLISHED);
            cr_expect_eq(one.session.rtr, !a ? IWARP_RTR_NONE : write ? IWARP_RTR_WRITE : IWARP_RTR_READ);
            cr_expect_eq(one.session.ord, a && !write, "an RTR READ takes a credit");
        }
    }
}

/* covers: IWARP-ECE-05, IWARP-ECE-07, IWARP-ECE-09 */
Test(setup_enhanced, what_an_initiator_offers)
{
    static const struct {
        struct iwarp_setup_config config;
        uint32_t enhanced;
    } rows[] = {
        {{.ird = 2, .ord = 3}, ENHANCED(1, 0, 2, 1, 1, 3)},
        {{.ird = 2, .ord = 0}, ENHANCED(1, 0, 2, 1, 1, 1)},
        {{.ird = 2, .ord = 0, .rtr = IWARP_RTR_WRITE}, ENHANCED(1, 0, 2, 1, 0, 0)},
        {{.ird = 2, .ord = 0, .rtr = IWARP_RTR_READ}, ENHANCED(1, 0, 2, 0, 1, 1)},
        {{.ird = 2, .ord = 0, .no_rtr = true}, ENHANCED(0, 0, 2, 0, 0, 0)},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        size_t len;
        cr_assert_eq(iwarp_setup_connect(&one, &rows[i].config, NULL, 0, 0), 0);
        const uint8_t *p = iwarp_setup_output(&one, &len) + 20;
        cr_expect_eq((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3],
                     rows[i].enhanced, "row %zu", i);
    }
    take_reply(&(struct iwarp_setup_config){.no_rtr = true}, FLAG_C | FLAG_S, 2, ENHANCED(1, 0, 0, 1, 0, 0));
    cr_expect_eq(one.session.rtr, IWARP_RTR_NONE, "A = 0: the kinds of the Reply are ignored");
}

/* --- both sides --- */

static void carry(struct iwarp_setup *from, struct iwarp_setup *to, struct test_random *rnd)
{
    size_t len;
    for (const uint8_t *p; (p = iwarp_setup_output(from, &len));) {
        size_t n = 1 + test_random_below(rnd, (uint32_t)len);
        cr_assert_eq(iwarp_setup_input(to, p, n), n);
        iwarp_setup_sent(from, n);
    }
}

/* covers: IWARP-ECE-02, IWARP-ECE-03, IWARP-MPA-11, IWARP-MPA-17 */
/* covers: IWARP-CM-09 */
Test(setup_enhanced, two_sides_agree_whatever_they_want)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct test_random rnd = {.state = seed};
        struct iwarp_setup_config config[2];
        for (int i = 0; i < 2; i++) {
            uint64_t bits = test_random_next(&rnd);
            config[i] = (struct iwarp_setup_config){
                .rev = 1 + (bits & 1),
                .wants_markers = bits >> 1 & 1,
                .no_crc = bits >> 2 & 1,
                .ird = bits >> 3 & 15,
                .ord = bits >> 7 & 15,
                .leaves_depths = (bits >> 11 & 3) == 0,
                .no_rtr = bits >> 13 & 1,
                .rtr = bits >> 14 & 3,
            };
        }
        config[1].rev = 2;
        cr_assert_eq(iwarp_setup_connect(&one, &config[0], "abc", 3, 0), 0);
        cr_assert_eq(iwarp_setup_listen(&other, &config[1], 0), 0);
        carry(&one, &other, &rnd);
        cr_assert_eq(other.state, IWARP_SETUP_REQUESTED, "seed %lu", seed);
        cr_assert_eq(iwarp_setup_accept(&other, "de", 2), 0);
        carry(&other, &one, &rnd);
        const struct iwarp_session *a = &one.session, *b = &other.session;
        cr_assert_eq(one.state, IWARP_SETUP_ESTABLISHED, "seed %lu: %d", seed, one.failure);
        cr_expect(a->tx_markers == b->rx_markers && b->tx_markers == a->rx_markers, "seed %lu", seed);
        cr_expect(a->has_crc == b->has_crc && a->rev == b->rev && a->rtr == b->rtr, "seed %lu", seed);
        if (a->rev == 2 && !config[0].leaves_depths)
            cr_expect(a->ord <= b->ird && b->ord <= a->ird, "seed %lu", seed);
        expect_private_data(&one, "de");
        expect_private_data(&other, "abc");
    }
}
