/* SPDX-License-Identifier: BSD-2-Clause */
/* Urgent data: SMCR section 15.3. The scenarios 4.7.5 and 4.7.6 are in test_scenarios.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/smcr_data/rig.h"

#define ELEM   16384
#define CAP    (ELEM - 4)
#define SNDBUF 65536

static uint8_t out[ELEM];

/* `n` bytes, then a CDC with P, or P and U. */
static void peer_urgent(struct rig *rig, const void *bytes, uint32_t n, bool present)
{
    rig_peer_writes(rig, bytes, n);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.urgent_pending = 1;
    cdc.urgent_present = present;
    rig_take(rig, &cdc);
}

static bool is_urgent(struct rig *rig)
{
    struct smcr_conn_status status;
    smcr_conn_status(rig->conn, &status);
    return status.urgent;
}

/* covers: SMCR-URG-03, SMCR-URG-07 */
Test(urgent, SMCR_URG_03_announced_first_then_there)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_events(rig);
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), -EINVAL);
    peer_urgent(rig, "abc", 3, false);
    cr_assert(rig_events(rig) & SMCR_EVENT_URGENT);
    cr_assert(is_urgent(rig));
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), -EAGAIN);
    peer_urgent(rig, "de!", 3, true);
    cr_assert(rig_events(rig) & SMCR_EVENT_URGENT);
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT | SMCR_RECV_PEEK), 1);
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), 1);
    cr_assert_eq(out[0], '!');
    cr_assert_not(is_urgent(rig));
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), -EINVAL);
    cr_assert_eq(rig_recv(rig, out, 10, 0), 5, "what was before it comes in order");
    cr_assert_arr_eq(out, "abcde", 5);
    cr_assert_eq(rig_recv(rig, out, 10, 0), -EAGAIN);
    rig_free(rig);
}

/* covers: SMCR-URG-03 */
Test(urgent, SMCR_URG_03_the_position_minds_the_wrap)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_at(rig, 0, CAP - 3, 0);
    peer_urgent(rig, "ab!", 3, true); /* the cursor is back at 4, the byte at the end */
    cr_assert_eq(rig->peer_producer.offset_bytes, 4);
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), 1);
    cr_assert_eq(out[0], '!');
    rig_free(rig);
    rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_at(rig, 0, CAP - 3, 0);
    peer_urgent(rig, "abcde!", 6, true);
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), 1);
    cr_assert_eq(out[0], '!');
    cr_assert_eq(rig_recv(rig, out, 10, 0), 5);
    rig_free(rig);
}

/* covers: SMCR-URG-07, SMCR-SOC-04 */
Test(urgent, SMCR_URG_07_a_read_stops_at_the_mark_and_goes_on_behind_it)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    peer_urgent(rig, "ab!", 3, true);
    cr_assert_not(smcr_conn_at_mark(rig->conn));
    cr_assert_eq(rig_recv(rig, out, 10, SMCR_RECV_PEEK), 2);
    cr_assert_eq(rig_recv(rig, out, 1, 0), 1);
    cr_assert_not(smcr_conn_at_mark(rig->conn));
    cr_assert_eq(rig_recv(rig, out, 10, 0), 1);
    cr_assert(smcr_conn_at_mark(rig->conn));
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), 1);
    cr_assert(smcr_conn_at_mark(rig->conn));
    rig_peer_sends(rig, "cd", 2);
    cr_assert(smcr_conn_at_mark(rig->conn));
    cr_assert_eq(rig_recv(rig, out, 10, 0), 2);
    cr_assert_arr_eq(out, "cd", 2);
    cr_assert_not(smcr_conn_at_mark(rig->conn));
    rig_free(rig);
}

/* covers: SMCR-URG-07, SMCR-SOC-04 */
Test(urgent, SMCR_URG_07_in_line_it_is_a_byte_like_others_behind_a_stop)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    smcr_conn_set_urgent_inline(rig->conn, true);
    peer_urgent(rig, "ab!", 3, true);
    cr_assert(is_urgent(rig), "as poll() shows it of TCP");
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), -EINVAL);
    cr_assert_eq(rig_recv(rig, out, 10, 0), 2);
    cr_assert(smcr_conn_at_mark(rig->conn));
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig_recv(rig, out, 10, 0), 1);
    cr_assert_eq(out[0], '!');
    cr_assert_not(is_urgent(rig));
    cr_assert_not(smcr_conn_at_mark(rig->conn));
    cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 7, "SMCR-URG-05: at once");
    rig_free(rig);
}

/* It had been taken out of the stream already. */
/* covers: SMCR-URG-07, SMCR-SOC-04 */
Test(urgent, SMCR_URG_07_in_line_by_a_late_wish)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    peer_urgent(rig, "!", 1, true);
    rig_peer_sends(rig, "cd", 2);
    smcr_conn_set_urgent_inline(rig->conn, true);
    struct smcr_conn_status status;
    smcr_conn_status(rig->conn, &status);
    cr_assert_eq(status.readable_bytes, 3);
    cr_assert_eq(rig_recv(rig, out, 10, SMCR_RECV_PEEK), 3);
    cr_assert_arr_eq(out, "!cd", 3);
    cr_assert_eq(rig_recv(rig, out, 1, 0), 1);
    cr_assert_eq(out[0], '!');
    cr_assert_eq(rig_recv(rig, out, 10, 0), 2);
    cr_assert_arr_eq(out, "cd", 2);
    rig_free(rig);
}

/* covers: SMCR-URG-05 */
Test(urgent, SMCR_URG_05_the_peer_hears_at_once_when_all_before_it_was_read)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    peer_urgent(rig, "!", 1, true); /* nothing before it: remembered, so the peer may go on */
    cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 5);
    rig_complete_all(rig);
    peer_urgent(rig, "ab?", 3, true);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), 1);
    cr_assert_eq(out[0], '?');
    cr_assert_null(rig_next(rig), "A24: the bytes before it are not out of the way yet");
    cr_assert_eq(rig_recv(rig, out, 1, 0), 1);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig_recv(rig, out, 1, 0), 1);
    cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 8);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-URG-03 */
Test(urgent, SMCR_URG_03_the_flags_are_levels)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    peer_urgent(rig, "ab!", 3, true);
    rig_events(rig);
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), 1);
    peer_urgent(rig, NULL, 0, true); /* the same byte */
    cr_assert_not(rig_events(rig) & SMCR_EVENT_URGENT);
    cr_assert_not(is_urgent(rig));
    rig_recv(rig, out, 10, 0);
    peer_urgent(rig, NULL, 0, true);
    cr_assert_not(is_urgent(rig));
    rig_peer_sends(rig, "cd", 2);
    peer_urgent(rig, NULL, 0, false); /* the next one */
    cr_assert(rig_events(rig) & SMCR_EVENT_URGENT);
    cr_assert(is_urgent(rig));
    rig_peer_sends(rig, NULL, 0);
    cr_assert_not(is_urgent(rig), "taken back");
    rig_free(rig);
}

/* A peer that shows U before any data, or on data that was read. */
/* covers: SMCR-URG-03, SMCR-SEC-07 */
Test(urgent, SMCR_URG_03_urgent_data_that_is_not_there)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    peer_urgent(rig, NULL, 0, true);
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), -EINVAL);
    rig_peer_sends(rig, "ab", 2);
    cr_assert_eq(rig_recv(rig, out, 10, 0), 2);
    peer_urgent(rig, NULL, 0, true);
    cr_assert_eq(rig_recv(rig, out, 1, SMCR_RECV_URGENT), -EINVAL);
    cr_assert_eq(rig->conn->state, SMCR_CONN_ACTIVE);
    rig_free(rig);
}

/* covers: SMCR-URG-01, SMCR-URG-04, SMCR-URG-06 */
Test(urgent, SMCR_URG_04_the_second_waits_for_the_first)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_send(rig, "ab!", 3, SMCR_SEND_URGENT);
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert(cdc->urgent_pending && cdc->urgent_present);
    rig_send(rig, "cd?", 3, SMCR_SEND_URGENT);
    rig_complete_all(rig);
    cr_assert_null(rig_next(rig));
    rig_peer_sends(rig, "x", 1); /* a CDC for another reason still says so */
    struct smcr_cdc blocked = rig_peer_cdc(rig);
    blocked.writer_blocked = 1;
    rig_take(rig, &blocked);
    rig_recv(rig, out, 1, 0);
    cdc = rig_next_cdc(rig);
    cr_assert(cdc->urgent_pending && cdc->urgent_present);
    cr_assert_eq(cdc->producer_cursor, 7);
    rig_complete_all(rig);
    rig_peer_reads(rig, 3);
    cr_assert_eq(rig_next(rig)->len_bytes, 3);
    cdc = rig_next_cdc(rig);
    cr_assert(cdc->urgent_pending && cdc->urgent_present);
    cr_assert_eq(cdc->producer_cursor, 10);
    rig_complete_all(rig);
    rig_send(rig, "ef", 2, 0);
    cr_assert_null(rig_next(rig));
    rig_peer_reads(rig, 3);
    cdc = rig_next_cdc(rig);
    cr_assert_eq(cdc->producer_cursor, 12);
    cr_assert_not(cdc->urgent_pending || cdc->urgent_present);
    rig_free(rig);
}

/* covers: SMCR-URG-01, SMCR-URG-02 */
Test(urgent, SMCR_URG_01_pending_from_the_moment_it_is_queued)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    static uint8_t data[2 * ELEM];
    cr_assert_eq(rig_send(rig, data, CAP, 0), CAP);
    for (int i = 0; i < 4; i++)
        rig_complete_all(rig);
    while (rig_next(rig))
        ;
    cr_assert_eq(rig_send(rig, data, 3000, 0), 3000);
    rig_complete_all(rig);
    cr_assert_eq(rig_send(rig, "!", 1, SMCR_SEND_URGENT), 1);
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert(cdc->writer_blocked && !cdc->urgent_pending);
    cdc = rig_next_cdc(rig);
    cr_assert(cdc->writer_blocked && cdc->urgent_pending && !cdc->urgent_present);
    rig_complete_all(rig);
    rig_peer_reads(rig, 1000);
    cdc = rig_next_cdc(rig);
    cr_assert(cdc->urgent_pending && !cdc->urgent_present, "the byte is not among them yet");
    rig_complete_all(rig);
    rig_peer_reads(rig, 5000);
    cdc = rig_next_cdc(rig);
    cr_assert(cdc->urgent_present);
    cr_assert_eq(cdc->producer_cursor, 4 + 3001);
    rig_free(rig);
}

/* covers: SMCR-URG-01, SMCR-DAT-07 */
Test(urgent, SMCR_URG_01_it_does_not_wait_behind_what_is_in_flight)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_send(rig, "a", 1, 0);
    rig_send(rig, "b", 1, 0);
    cr_assert_eq(rig_unseen(rig, true), 1);
    rig_send(rig, "!", 1, SMCR_SEND_URGENT);
    cr_assert_eq(rig_unseen(rig, true), 2);
    cr_assert_eq(rig_next_cdc(rig)->producer_cursor, 4 + 1);
    const struct rig_post *write = rig_next(rig);
    cr_assert(!write->is_cdc && write->len_bytes == 2, "with what waited");
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert(cdc->urgent_pending && cdc->urgent_present);
    cr_assert_eq(cdc->producer_cursor, 4 + 3);
    rig_free(rig);
}

/* The first one was told of and taken; the second one meets a window that data before it has closed.
 * covers: SMCR-URG-02, SMCR-URG-01 */
Test(urgent, SMCR_URG_02_the_next_one_is_told_of_early_too)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    static uint8_t data[CAP + 10];
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(rig_send(rig, data, sizeof data, 0), sizeof data);
        for (int k = 0; k < 8; k++)
            rig_complete_all(rig);
        while (rig_next(rig))
            ;
        cr_assert_eq(rig_send(rig, "!", 1, SMCR_SEND_URGENT), 1);
        const struct smcr_cdc *cdc = rig_next_cdc(rig);
        cr_assert_not_null(cdc, "urgent data %d", i);
        cr_assert(cdc->urgent_pending && cdc->writer_blocked && !cdc->urgent_present);
        rig_complete_all(rig);
        cr_assert_null(rig_next(rig), "once");
        rig_peer_reads(rig, CAP);
        const struct rig_post *write = rig_next(rig);
        cr_assert(write && !write->is_cdc && write->len_bytes == 11);
        cr_assert(rig_next_cdc(rig)->urgent_present);
        rig_complete_all(rig);
        rig_peer_reads(rig, 11);
        cr_assert_null(rig_next(rig));
    }
    rig_free(rig);
}

/* As in TCP the newest counts: one that has not left is a byte of the stream. */
/* covers: SMCR-URG-01 */
Test(urgent, SMCR_URG_01_a_newer_one_takes_the_place_of_one_not_sent)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_room(rig, 0, 0);
    rig_send(rig, "a!", 2, SMCR_SEND_URGENT);
    rig_send(rig, "b?", 2, SMCR_SEND_URGENT);
    rig_room(rig, 0, 10);
    rig_kick(rig, 0);
    cr_assert_eq(rig_next(rig)->len_bytes, 4);
    cr_assert(rig_next_cdc(rig)->urgent_present);
    rig_complete_all(rig);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* A sender may call a byte urgent when it has gone already, and then waits to hear that it was read.
 * covers: SMCR-URG-05 */
Test(urgent, SMCR_URG_05_what_was_read_before_it_was_urgent_is_told_of)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, "abc", 3);
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), 3);
    cr_assert_null(rig_next(rig), "three bytes are no reason");
    for (unsigned i = 0; i < 3; i++) {
        struct smcr_cdc cdc = rig_peer_cdc(rig);
        cdc.urgent_pending = cdc.urgent_present = 1;
        rig_take(rig, &cdc);
        const struct smcr_cdc *told = rig_next_cdc(rig);
        cr_assert_eq(told != NULL, i == 0, "once");
        cr_assert(!told || told->consumer_cursor == 7);
        rig_complete_all(rig);
    }
    rig_free(rig);
}
