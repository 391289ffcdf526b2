/* SPDX-License-Identifier: BSD-2-Clause */
/* The set-up: one side against frames that stand here as octets. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/base.h"
#include "iwarp/wire/term.h"
#include "test/iwarp/setup_script.h"

/* --- who speaks when --- */

/* covers: IWARP-MPA-01, IWARP-MPA-02, IWARP-MPA-07, IWARP-MPA-12, IWARP-MPA-13, IWARP-MPA-17 */
/* covers: IWARP-FLOW-03 */
Test(setup, the_frames_of_revision_1_are_those_of_the_examples)
{
    const struct iwarp_setup_config rev1 = {.rev = 1, .ird = 4, .ord = 4};
    uint8_t bytes[IWARP_EXAMPLE_MAX_BYTES];
    size_t len;
    cr_assert_eq(iwarp_setup_connect(&one, &rev1, "ping", 4, 0), 0);
    expect_output(&one, IWARP_EX_REQUEST_1);
    cr_expect_eq(one.state, IWARP_SETUP_REQUEST_SENT);

    cr_assert_eq(iwarp_setup_listen(&other, &usual, 0), 0);
    cr_expect_null(iwarp_setup_output(&other, &len), "the responder is silent before the Request");
    len = iwarp_example_bytes(IWARP_EX_REQUEST_1, bytes);
    cr_expect_eq(iwarp_setup_input(&other, bytes, len - 1), len - 1);
    cr_expect_eq(other.state, IWARP_SETUP_WAIT_REQUEST);
    cr_expect_eq(iwarp_setup_accept(&other, NULL, 0), -EINVAL, "not before the whole Request");
    cr_expect_eq(iwarp_setup_input(&other, bytes + len - 1, 1), 1);
    cr_expect_eq(other.state, IWARP_SETUP_REQUESTED);
    cr_expect_null(iwarp_setup_output(&other, &len), "the program decides");
    expect_private_data(&other, "ping");
    cr_assert_eq(iwarp_setup_accept(&other, NULL, 0), 0);
    expect_output(&other, IWARP_EX_REPLY_1);
    cr_expect(other.state == IWARP_SETUP_ESTABLISHED && other.session.rev == 1);

    len = iwarp_example_bytes(IWARP_EX_REPLY_1, bytes);
    cr_expect_eq(iwarp_setup_input(&one, bytes, len), len);
    cr_expect_eq(one.state, IWARP_SETUP_ESTABLISHED);
    cr_expect(one.session.is_initiator && !other.session.is_initiator);
    cr_expect(one.session.ird == 4 && one.session.ord == 4, "what the programs agreed on elsewhere");
    cr_expect(other.session.ird == 16 && other.session.ord == 8);
}

/* covers: IWARP-ECE-01, IWARP-ECE-02, IWARP-ECE-05, IWARP-ECE-09, IWARP-MPA-12 */
Test(setup, the_frames_of_revision_2_are_those_of_the_examples)
{
    uint8_t bytes[IWARP_EXAMPLE_MAX_BYTES];
    cr_assert_eq(iwarp_setup_connect(&one, &usual, "ping", 4, 0), 0);
    expect_output(&one, IWARP_EX_REQUEST_2);

    cr_assert_eq(iwarp_setup_listen(&other, &(struct iwarp_setup_config){.ird = 100, .ord = 100}, 0), 0);
    size_t len = iwarp_example_bytes(IWARP_EX_REQUEST_2, bytes);
    cr_expect_eq(iwarp_setup_input(&other, bytes, len), len);
    expect_private_data(&other, "ping");
    cr_assert_eq(iwarp_setup_accept(&other, NULL, 0), 0);
    expect_output(&other, IWARP_EX_REPLY_2);
    cr_expect(other.session.ird == 8 && other.session.ord == 16 && other.session.rtr == IWARP_RTR_WRITE);

    len = iwarp_example_bytes(IWARP_EX_REPLY_2, bytes);
    iwarp_setup_input(&one, bytes, len);
    expect_private_data(&one, "");
    cr_expect_eq(one.state, IWARP_SETUP_ESTABLISHED);
    cr_expect(one.session.ird == 16 && one.session.ord == 8 && one.session.rtr == IWARP_RTR_WRITE);
}

/* covers: IWARP-MPA-11 */
/* covers: IWARP-CM-06 */
Test(setup, a_frame_ends_where_it_ends_however_it_is_cut)
{
    for (size_t step = 1; step <= 40; step++) {
        uint8_t bytes[64];
        size_t len = reply(bytes, FLAG_C | FLAG_S, 2, 0x80088010, "pong"), at = 0;
        memset(bytes + len, 0xab, 20); /* FPDUs right behind it */
        cr_assert_eq(iwarp_setup_connect(&one, &usual, NULL, 0, 0), 0);
        while (one.state == IWARP_SETUP_REQUEST_SENT) {
            size_t n = len + 20 - at < step ? len + 20 - at : step;
            at += iwarp_setup_input(&one, bytes + at, n);
        }
        cr_expect_eq(one.state, IWARP_SETUP_ESTABLISHED);
        cr_expect_eq(at, len, "%zu at a time: not one octet further", step);
        cr_expect_eq(iwarp_setup_input(&one, bytes + at, 20), 0);
        expect_private_data(&one, "pong");
    }
}

/* covers: IWARP-MPA-04, IWARP-MPA-05 */
/* covers: IWARP-CM-02 */
Test(setup, markers_are_what_the_receiver_of_each_direction_wants)
{
    for (int wants = 0; wants < 4; wants++) {
        struct iwarp_setup_config config = usual;
        config.wants_markers = wants & 1;
        uint32_t enhanced;
        take_request(&config, FLAG_C | (wants & 2 ? FLAG_M : 0), 1, 0);
        cr_assert_eq(iwarp_setup_accept(&one, NULL, 0), 0);
        cr_expect_eq((reply_of(&enhanced) & FLAG_M) != 0, wants & 1);
        cr_expect(one.session.rx_markers == (wants & 1) && one.session.tx_markers == (wants >> 1));
        take_reply(&config, FLAG_C | (wants & 2 ? FLAG_M : 0), 1, 0);
        cr_expect(one.session.rx_markers == (wants & 1) && one.session.tx_markers == (wants >> 1));
    }
    cr_assert_eq(iwarp_setup_connect(&one, &usual, NULL, 0, 0), 0);
    cr_expect_not(one.out[16] & FLAG_M, "not unless it is asked for");
}

/* covers: IWARP-MPA-06, IWARP-MPA-07 */
/* covers: IWARP-CM-03 */
Test(setup, one_side_that_wants_the_crc_is_enough)
{
    for (int wants = 0; wants < 4; wants++) {
        struct iwarp_setup_config config = usual;
        config.no_crc = !(wants & 1);
        uint8_t peers = wants & 2 ? FLAG_C : 0;
        uint32_t enhanced;
        take_request(&config, peers, 1, 0);
        cr_assert_eq(iwarp_setup_accept(&one, NULL, 0), 0);
        cr_expect_eq(one.session.has_crc, wants != 0, "responder, case %d", wants);
        cr_expect_eq((reply_of(&enhanced) & FLAG_C) != 0, wants != 0);
        take_reply(&config, peers, 1, 0);
        cr_expect_eq(one.session.has_crc, wants != 0, "initiator, case %d", wants);
    }
}

/* covers: IWARP-MPA-08 */
/* covers: IWARP-CM-04 */
Test(setup, a_refusal_takes_its_reason_to_the_initiator)
{
    uint8_t bytes[600];
    size_t len;
    cr_assert_eq(iwarp_setup_connect(&other, &usual, NULL, 0, 0), 0);
    const uint8_t *out = iwarp_setup_output(&other, &len);
    cr_assert_eq(iwarp_setup_listen(&one, &usual, 0), 0);
    iwarp_setup_input(&one, out, len);
    cr_assert_eq(iwarp_setup_reject(&one, "too late", 8), 0);
    expect_failure(IWARP_SETUP_REJECTED, 0, "by this side");
    out = iwarp_setup_output(&one, &len);
    memcpy(bytes, out, len);
    cr_expect(bytes[16] & FLAG_R);
    iwarp_setup_input(&other, bytes, len);
    cr_expect(other.state == IWARP_SETUP_FAILED && other.failure == IWARP_SETUP_REFUSED && other.term == 0);
    expect_private_data(&other, "too late");
    cr_expect_not(iwarp_setup_may_fall_back(&other));
}

/* As siw refuses four octets that are missing: itself with S and without them. covers: IWARP-MPA-08 */
Test(setup, a_refusal_without_the_four_octets_is_a_refusal)
{
    uint8_t bytes[24] = "MPA ID Rep Frame";
    bytes[16] = FLAG_R | FLAG_S;
    bytes[17] = 2;
    cr_assert_eq(iwarp_setup_connect(&one, &usual, NULL, 0, 0), 0);
    iwarp_setup_input(&one, bytes, 20);
    expect_failure(IWARP_SETUP_REFUSED, 0, "R = 1");
    expect_private_data(&one, "");
}

/* covers: IWARP-MPA-09 */
Test(setup, reserved_bits_are_sent_as_zero_and_ignored)
{
    size_t len;
    uint32_t enhanced;
    take_request(&usual, FLAG_C | 0x0f, 1, 0);
    cr_expect_eq(one.state, IWARP_SETUP_REQUESTED);
    cr_assert_eq(iwarp_setup_accept(&one, NULL, 0), 0);
    cr_expect_eq(reply_of(&enhanced), FLAG_C);
    take_reply(&usual, FLAG_C | 0x0f | FLAG_S, 1, 0);
    cr_expect_eq(one.state, IWARP_SETUP_ESTABLISHED, "S means nothing in revision 1");
    cr_assert_eq(iwarp_setup_connect(&one, &usual, NULL, 0, 0), 0);
    cr_expect_eq(iwarp_setup_output(&one, &len)[16], FLAG_C | FLAG_S);
}

/* covers: IWARP-MPA-10, IWARP-MPA-16, IWARP-CONN-05 */
/* covers: IWARP-CM-05 */
Test(setup, what_is_no_frame_ends_it_and_only_an_initiator_says_so)
{
    for (int is_initiator = 0; is_initiator < 2; is_initiator++) {
        uint16_t term = is_initiator ? IWARP_TERM_MPA_FRAME : 0;
        for (int what = 0; what < 5; what++) {
            uint8_t bytes[64];
            size_t len = is_initiator ? reply(bytes, FLAG_C, 1, 0, "") : request(bytes, FLAG_C, 1, 0, "");
            if (what == 0)
                bytes[15] = 'x';
            if (what == 1)
                bytes[7] = 'X';
            if (what == 2)
                bytes[18] = 2, bytes[19] = 1; /* 513 */
            if (what == 3)                    /* the key of the other frame: two of a kind */
                len = is_initiator ? request(bytes, FLAG_C, 1, 0, "") : reply(bytes, FLAG_C, 1, 0, "");
            if (what == 4 && is_initiator)
                continue;
            if (what == 4)
                bytes[16] |= FLAG_R;
            if (is_initiator)
                cr_assert_eq(iwarp_setup_connect(&one, &usual, NULL, 0, 0), 0);
            else
                cr_assert_eq(iwarp_setup_listen(&one, &usual, 0), 0);
            iwarp_setup_input(&one, bytes, len);
            expect_failure(IWARP_SETUP_FRAME, term, "no frame");
        }
    }
}

/* covers: IWARP-MPA-10 */
Test(setup, private_data_of_512_octets_is_taken_and_may_end_too_soon)
{
    uint8_t bytes[20 + 512] = "MPA ID Req Frame";
    size_t len;
    bytes[17] = 1;
    bytes[18] = 2;
    bytes[20 + 511] = 7;
    cr_assert_eq(iwarp_setup_listen(&one, &usual, 0), 0);
    cr_expect_eq(iwarp_setup_input(&one, bytes, sizeof bytes), sizeof bytes);
    cr_expect_eq(one.state, IWARP_SETUP_REQUESTED);
    cr_expect_eq(iwarp_setup_private_data(&one, &len)[511], 7);
    cr_expect_eq(len, 512);

    cr_assert_eq(iwarp_setup_listen(&one, &usual, 0), 0);
    iwarp_setup_input(&one, bytes, sizeof bytes - 1);
    iwarp_setup_private_data(&one, &len);
    cr_expect_eq(len, 0, "nothing is told of half a frame");
    iwarp_setup_closed(&one);
    expect_failure(IWARP_SETUP_CLOSED, 0, "FIN inside the private data");
}

/* covers: IWARP-MPA-10 */
Test(setup, octets_behind_the_request_end_it)
{
    for (int later = 0; later < 2; later++) {
        uint8_t bytes[64];
        size_t len = request(bytes, FLAG_C, 1, 0, "");
        cr_assert_eq(iwarp_setup_listen(&one, &usual, 0), 0);
        iwarp_setup_input(&one, bytes, later ? len : len + 1);
        if (later)
            iwarp_setup_input(&one, bytes, 1);
        expect_failure(IWARP_SETUP_FRAME, 0, "an FPDU before the Reply");
        cr_expect_eq(iwarp_setup_accept(&one, NULL, 0), -EINVAL);
    }
}

/* covers: IWARP-MPA-12, IWARP-MPA-13, IWARP-GEN-05 */
/* covers: IWARP-CM-07 */
Test(setup, revisions)
{
    for (uint8_t rev = 0; rev < 4; rev++) {
        uint32_t enhanced;
        size_t len;
        take_request(&usual, FLAG_C, rev, 0);
        if (rev == 0 || rev == 3) {
            expect_failure(IWARP_SETUP_REVISION, 0, "a revision that is not spoken");
            continue;
        }
        cr_assert_eq(iwarp_setup_accept(&one, NULL, 0), 0);
        reply_of(&enhanced);
        cr_expect_eq(iwarp_setup_output(&one, &len)[17], rev, "echoed");
        cr_expect_eq(len, 20, "S = 0: as in revision 1");
        cr_expect(one.session.ird == 16 && one.session.ord == 8 && one.session.rtr == IWARP_RTR_NONE);
    }
    take_request(&(struct iwarp_setup_config){.rev = 1}, FLAG_C, 2, 0);
    expect_failure(IWARP_SETUP_REVISION, 0, "newer than what is served");
    take_reply(&(struct iwarp_setup_config){.rev = 1}, FLAG_C, 2, 0);
    expect_failure(IWARP_SETUP_REVISION, IWARP_TERM_MPA_FRAME, "newer than the Request");
    take_reply(&usual, FLAG_C, 0, 0);
    expect_failure(IWARP_SETUP_REVISION, IWARP_TERM_MPA_FRAME, "revision 0");
    take_reply(&usual, FLAG_C, 1, 0);
    cr_expect_eq(one.state, IWARP_SETUP_ESTABLISHED, "the responder knows revision 1 only");
    cr_expect(one.session.rev == 1 && one.session.rtr == IWARP_RTR_NONE && one.session.ord == 8);
}

/* covers: IWARP-MPA-12 */
/* covers: IWARP-CM-07 */
Test(setup, another_connection_may_try_revision_1_when_the_request_was_answered_by_a_close)
{
    struct iwarp_setup_config config = usual;
    cr_assert_eq(iwarp_setup_connect(&one, &config, NULL, 0, 0), 0);
    iwarp_setup_closed(&one);
    cr_expect_not(iwarp_setup_may_fall_back(&one), "the program does not want it");
    config.falls_back = true;
    cr_assert_eq(iwarp_setup_connect(&one, &config, NULL, 0, 0), 0);
    iwarp_setup_input(&one, (const uint8_t *)"M", 1);
    iwarp_setup_closed(&one);
    cr_expect_not(iwarp_setup_may_fall_back(&one), "it had begun to answer");
    cr_assert_eq(iwarp_setup_connect(&one, &config, "who I am", 8, 0), 0);
    cr_expect_not(iwarp_setup_may_fall_back(&one));
    cr_expect_eq(iwarp_setup_fall_back(&one, 0), -EINVAL);
    iwarp_setup_sent(&one, 7);
    iwarp_setup_closed(&one);
    expect_failure(IWARP_SETUP_CLOSED, 0, "FIN");
    cr_expect(iwarp_setup_may_fall_back(&one));
    cr_assert_eq(iwarp_setup_fall_back(&one, 1000), 0);
    cr_expect_eq(one.state, IWARP_SETUP_REQUEST_SENT);
    cr_expect_eq(one.deadline_ns, 1000 + 10 * NS_PER_S);
    size_t n;
    const uint8_t *asked = iwarp_setup_output(&one, &n);
    cr_expect_arr_eq(asked, "MPA ID Req Frame\x40\x01\x00\x08who I am", 28,
                     "no S, revision 1, nothing before the data");
    cr_expect_eq(n, 28);
    iwarp_setup_closed(&one);
    cr_expect_not(iwarp_setup_may_fall_back(&one), "there is nothing older");
}

/* covers: IWARP-MPA-14, IWARP-SEC-08 */
/* covers: IWARP-CM-08 */
Test(setup, a_peer_that_does_not_speak_is_waited_for_so_long)
{
    uint8_t bytes[64];
    size_t len = request(bytes, FLAG_C, 1, 0, "");
    cr_assert_eq(iwarp_setup_connect(&one, &usual, NULL, 0, 1000), 0);
    cr_expect_eq(one.deadline_ns, 1000 + 10 * NS_PER_S);
    iwarp_setup_advance(&one, one.deadline_ns - 1);
    cr_expect_eq(one.state, IWARP_SETUP_REQUEST_SENT);
    iwarp_setup_advance(&one, one.deadline_ns);
    expect_failure(IWARP_SETUP_TIMEOUT, 0, "no Reply");

    cr_assert_eq(iwarp_setup_listen(&one, &usual, 1000), 0);
    cr_expect_eq(one.deadline_ns, 1000 + 5 * NS_PER_S);
    iwarp_setup_input(&one, bytes, len - 1);
    cr_expect_eq(one.deadline_ns, 1000 + 5 * NS_PER_S, "octets one by one gain no time");
    iwarp_setup_advance(&one, one.deadline_ns);
    expect_failure(IWARP_SETUP_TIMEOUT, 0, "half a Request");

    cr_assert_eq(iwarp_setup_listen(&one, &usual, 0), 0);
    iwarp_setup_input(&one, bytes, len);
    cr_expect_eq(one.deadline_ns, UINT64_MAX, "the program takes its time");
    iwarp_setup_advance(&one, UINT64_MAX - 1);
    cr_expect_eq(one.state, IWARP_SETUP_REQUESTED);
}

/* A peer of revision 1 whose private data begins with its depths, as two words: the program sees all of it,
 * and the depths are those of this side's own. */
Test(setup, IWARP_AMB_17_depths_in_private_data_are_the_programs)
{
    uint8_t request[20 + 12] = "MPA ID Req Frame";
    size_t len;
    request[17] = 1;
    request[19] = 12;
    memcpy(request + 20, "\0\0\0\1\0\0\0\2ping", 12);
    cr_assert_eq(iwarp_setup_listen(&other, &usual, 0), 0);
    cr_expect_eq(iwarp_setup_input(&other, request, sizeof request), sizeof request);
    const uint8_t *data = iwarp_setup_private_data(&other, &len);
    cr_assert_eq(len, 12);
    cr_expect_arr_eq(data, request + 20, 12);
    cr_assert_eq(iwarp_setup_accept(&other, NULL, 0), 0);
    cr_expect(other.session.ird == usual.ird && other.session.ord == usual.ord);
}

/* covers: IWARP-MPA-15, IWARP-ECE-01 */
Test(setup, private_data_has_its_limits)
{
    static const uint8_t data[513];
    const struct iwarp_setup_config rev1 = {.rev = 1};
    cr_expect_eq(iwarp_setup_connect(&one, &rev1, data, 512, 0), 0);
    cr_expect_eq(iwarp_setup_connect(&one, &rev1, data, 513, 0), -EINVAL);
    cr_expect_eq(iwarp_setup_connect(&one, &usual, data, 508, 0), 0);
    cr_expect_eq(iwarp_setup_connect(&one, &usual, data, 509, 0), -EINVAL);
    take_request(&usual, FLAG_C, 1, 0);
    cr_expect_eq(iwarp_setup_accept(&one, data, 513), -EINVAL);
    cr_expect_eq(one.state, IWARP_SETUP_REQUESTED);
    cr_expect_eq(iwarp_setup_accept(&one, data, 512), 0);
    take_request(&usual, FLAG_C | FLAG_S, 2, 0);
    cr_expect_eq(iwarp_setup_reject(&one, data, 509), -EINVAL);
    cr_expect_eq(iwarp_setup_reject(&one, data, 508), 0);
}

Test(setup, a_configuration_that_cannot_be_told_is_refused)
{
    static const struct iwarp_setup_config wrong[] = {
        {.rev = 3}, {.ird = 0x3fff}, {.ord = 0x3fff}, {.max_ird = 0x3fff}, {.rtr = 4}};
    for (size_t i = 0; i < array_len(wrong); i++) {
        cr_expect_eq(iwarp_setup_connect(&one, &wrong[i], NULL, 0, 0), -EINVAL, "%zu", i);
        cr_expect_eq(iwarp_setup_listen(&one, &wrong[i], 0), -EINVAL, "%zu", i);
    }
}
