/* SPDX-License-Identifier: BSD-2-Clause */
/* When the peer hears of what was read: SMCR section 15.2. */
#include <criterion/criterion.h>
#include <errno.h>

#include "test/smcr_data/rig.h"

#define ELEM   65536
#define CAP    (ELEM - 4)
#define SNDBUF 65536
#define K      1024

static uint8_t out[ELEM];

/* So many bytes have come since the last CDC of ours, and `gain` of them were read. */
static struct rig *rig_with(uint32_t outstanding, uint32_t gain)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, NULL, outstanding);
    if (gain > 0)
        cr_assert_eq(rig_recv(rig, out, gain, 0), gain);
    return rig;
}

/* covers: SMCR-WIN-01, SMCR-WIN-02 */
Test(window, SMCR_WIN_02_the_three_examples)
{
    struct rig *rig = rig_with(CAP - 50 * K, CAP - 50 * K); /* W = 50K */
    cr_assert_null(rig_next(rig));
    rig_free(rig);

    rig = rig_with(CAP - 30 * K, 1 * K); /* W = 30K, gain 1K */
    cr_assert_null(rig_next(rig));
    rig_free(rig);

    rig = rig_with(CAP - 30 * K, CAP - 30 * K); /* W = 30K, gain 34K */
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert_not_null(cdc);
    cr_assert_geq(cdc->consumer_cursor, 4 + ELEM / 2);
    rig_free(rig);
}

/* covers: SMCR-WIN-01 */
Test(window, SMCR_WIN_01_both_limits_exactly)
{
    struct rig *rig = rig_with(CAP - CAP / 2, CAP / 4); /* W is the half: not below it */
    cr_assert_null(rig_next(rig));
    rig_free(rig);
    rig = rig_with(CAP - CAP / 2 + 1, CAP / 10 - 1);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig_recv(rig, out, 1, 0), 1); /* a tenth */
    cr_assert_not_null(rig_next_cdc(rig));
    rig_free(rig);
}

/* covers: SMCR-WIN-03, SMCR-DAT-08 */
Test(window, SMCR_WIN_03_data_of_ours_carries_the_cursor_and_it_counts_as_told)
{
    struct rig *rig = rig_with(40 * K, 1 * K);
    rig_send(rig, out, 1, 0);
    cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 4 + 1 * K);
    rig_complete_all(rig);
    rig_recv(rig, out, 6 * K, 0); /* the gain since then; 7K in all; a tenth is 6.4K */
    cr_assert_null(rig_next(rig));
    rig_recv(rig, out, 1 * K, 0);
    cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 4 + 8 * K);
    rig_free(rig);
}

static void set_flags(struct rig *rig, bool blocked, bool requested)
{
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.writer_blocked = blocked;
    cdc.update_requested = requested;
    rig_take(rig, &cdc);
}

/* covers: SMCR-WIN-04 */
Test(window, SMCR_WIN_04_each_read_is_told_to_a_blocked_writer)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, NULL, 1000);
    set_flags(rig, true, false);
    for (uint32_t i = 1; i <= 20; i++) {
        cr_assert_eq(rig_recv(rig, out, 1, 0), 1);
        cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 4 + i);
        rig_complete_all(rig);
    }
    set_flags(rig, false, false);
    cr_assert_eq(rig_recv(rig, out, 1, 0), 1);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* A thousand tiny reads are not a thousand CDCs in flight; the last one is told all the same. */
/* covers: SMCR-WIN-04 */
Test(window, SMCR_WIN_04_updates_gather_behind_those_in_flight)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, NULL, 1000);
    set_flags(rig, true, false);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(rig_recv(rig, out, 1, 0), 1);
    cr_assert_eq(rig_unseen(rig, true), SMCR_UPDATES_PARALLEL);
    rig_complete_all(rig);
    const struct smcr_cdc *last = NULL;
    for (const struct smcr_cdc *cdc; (cdc = rig_next_cdc(rig));)
        last = cdc;
    cr_assert_eq(last->consumer_cursor, 1004);
    rig_free(rig);
}

/* What was read before B came, and was too little to tell of, is told now: the writer may wait for it. */
/* covers: SMCR-WIN-04, SMCR-WIN-08 */
Test(window, SMCR_WIN_04_what_was_read_before_it_blocked)
{
    struct rig *rig = rig_with(CAP, 1000);
    cr_assert_null(rig_next(rig));
    set_flags(rig, true, false);
    cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 1004);
    rig_complete_all(rig);
    set_flags(rig, true, false);
    cr_assert_null(rig_next(rig), "once");
    rig_free(rig);
}

/* covers: SMCR-WIN-05 */
Test(window, SMCR_WIN_05_a_request_is_answered_at_each_read)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, NULL, 1000);
    set_flags(rig, false, true);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig_recv(rig, out, 1, 0), 1);
    cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 5);
    rig_complete_all(rig);
    set_flags(rig, false, false);
    cr_assert_eq(rig_recv(rig, out, 1, 0), 1);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-WIN-05 */
Test(window, SMCR_WIN_05_and_when_nothing_was_said_for_a_while)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, NULL, 1000);
    set_flags(rig, false, true);
    rig_wait(rig, 200 * RIG_MS - 1);
    cr_assert_null(rig_next(rig));
    rig_wait(rig, 1);
    cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 4);
    rig_complete_all(rig);
    rig_wait(rig, 100 * RIG_MS);
    rig_recv(rig, out, 1, 0); /* said something */
    cr_assert_not_null(rig_next_cdc(rig));
    rig_complete_all(rig);
    rig_wait(rig, 150 * RIG_MS);
    cr_assert_null(rig_next(rig));
    rig_wait(rig, 50 * RIG_MS);
    cr_assert_not_null(rig_next_cdc(rig));
    rig_complete_all(rig);
    set_flags(rig, false, false);
    rig_wait(rig, 1000 * RIG_MS);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-WIN-06 */
Test(window, SMCR_WIN_06_a_stalled_reader_is_not_asked)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    for (int i = 0; i < 40; i++) {
        rig_send(rig, out, 10 * K, SMCR_SEND_NODELAY);
        rig_complete_all(rig);
        rig_wait(rig, 100 * RIG_MS);
    }
    unsigned cdcs = 0;
    for (const struct smcr_cdc *cdc; (cdc = rig_next_cdc(rig)); cdcs++)
        cr_assert_not(cdc->update_requested);
    cr_assert_gt(cdcs, 2);
    rig_free(rig);
}

/* The gain adds up since the last cursor that was sent, whatever the size of the reads. */
/* covers: SMCR-WIN-08 */
Test(window, SMCR_WIN_08_small_reads_add_up)
{
    for (uint32_t size = 1; size < 20000; size = size * 3 + 1) {
        struct rig *rig = rig_with(CAP / 2 + 10, 0);
        while (rig_recv(rig, out, size, 0) > 0)
            ;
        rig_complete_all(rig);
        const struct smcr_rx *rx = &rig->conn->data->rx;
        uint32_t window = CAP - (uint32_t)(rx->produced - rx->told);
        cr_assert_geq(window, CAP / 2, "reads of %u leave the writer with %u", size, window);
        rig_free(rig);
    }
}

/* Whatever is read of a full RMBE: the writer is never left with a window below the half for which there is
 * nothing more to read. */
/* covers: SMCR-WIN-08 */
Test(window, SMCR_WIN_08_whoever_has_read_everything_has_told_enough)
{
    for (uint32_t n = 1; n <= CAP; n += 977) {
        struct rig *rig = rig_with(n, 0);
        rig_recv(rig, out, n, 0);
        rig_complete_all(rig);
        const struct smcr_rx *rx = &rig->conn->data->rx;
        cr_assert_geq(CAP - (uint32_t)(rx->produced - rx->told), CAP / 2, "%u", n);
        rig_free(rig);
    }
}

/* A read of a whole RMBE tells in between: the writer goes on while the reader copies. */
/* covers: SMCR-WIN-01, SMCR-WIN-04 */
Test(window, SMCR_WIN_01_a_read_of_more_than_half_tells_on_the_way)
{
    struct rig *rig = rig_with(CAP, 0);
    set_flags(rig, true, false);
    cr_assert_eq(rig_recv(rig, out, CAP, 0), CAP);
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert_eq(cdc->consumer_cursor, 4 + ELEM / 2);
    cdc = rig_next_cdc(rig);
    cr_assert_eq(cdc->consumer_cursor, 4);
    cr_assert_eq(cdc->consumer_wrap, 1);
    rig_free(rig);
}

/* An update that finds the link full is not forgotten. */
/* covers: SMCR-WIN-08 */
Test(window, SMCR_WIN_08_an_update_waits_for_room_on_the_link)
{
    struct rig *rig = rig_with(CAP, 0);
    rig_room(rig, 0, 0);
    rig_recv(rig, out, CAP, 0);
    cr_assert_null(rig_next(rig));
    cr_assert(rig->conn->wait_prev);
    rig_room(rig, 0, 5);
    rig_kick(rig, 0);
    cr_assert_eq(rig_next_cdc(rig)->consumer_wrap, 1);
    rig_free(rig);
}
