/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of SMCR section 16.1, row by row, and the rules below it. */
#include <criterion/criterion.h>
#include <errno.h>

#include "test/smcr_data/rig.h"

#define ELEM   16384
#define CAP    (ELEM - 4)
#define SNDBUF 65536

static uint8_t bytes[SNDBUF];

static struct rig *active(void)
{
    return rig_new(ELEM, ELEM, SNDBUF);
}

static void shut(struct rig *rig)
{
    smcr_conn_shutdown_write(rig->conn, rig->now_ns);
}

static void peer_done(struct rig *rig)
{
    rig_peer_flag(rig, true, false, false);
}

static void peer_closed(struct rig *rig)
{
    rig_peer_flag(rig, false, true, false);
}

#define expect_state(rig, name) \
    cr_assert_eq((rig)->conn->state, SMCR_CONN_##name, "%s", smcr_conn_state_name((rig)->conn->state))

/* The next post is a CDC with just these. */
static void expect_flags(struct rig *rig, bool done, bool closed)
{
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert_not_null(cdc);
    cr_assert_eq(cdc->sending_done, done);
    cr_assert_eq(cdc->connection_closed, closed);
    cr_assert_not(cdc->abnormal_close);
}

/* All is freed, the application hears of it, TCP was left alone. */
static void expect_over(struct rig *rig)
{
    rig_complete_all(rig);
    expect_state(rig, CLOSED);
    cr_assert(smcr_conn_is_over(rig->conn));
    cr_assert(rig->elem_is_back && rig->group_is_left);
    cr_assert(rig_events(rig) & SMCR_EVENT_CLOSED);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig->tcp_resets, 0);
    cr_assert_eq(rig->conn->error, 0);
    rig_free(rig);
}

static struct rig *peer_close_wait_1(void)
{
    struct rig *rig = active();
    shut(rig);
    expect_flags(rig, true, false);
    expect_state(rig, PEER_CLOSE_WAIT_1);
    rig_complete_all(rig);
    return rig;
}

static struct rig *peer_close_wait_2(void)
{
    struct rig *rig = peer_close_wait_1();
    peer_done(rig);
    expect_state(rig, PEER_CLOSE_WAIT_2);
    return rig;
}

static struct rig *app_close_wait_1(void)
{
    struct rig *rig = active();
    peer_done(rig);
    expect_state(rig, APP_CLOSE_WAIT_1);
    return rig;
}

static struct rig *app_close_wait_2(void)
{
    struct rig *rig = app_close_wait_1();
    shut(rig);
    expect_flags(rig, true, false);
    expect_state(rig, APP_CLOSE_WAIT_2);
    rig_complete_all(rig);
    return rig;
}

/* covers: SMCR-CLS-04 */
Test(close, SMCR_CLS_04_row_active_shutdown_of_writing)
{
    rig_free(peer_close_wait_1());
}

/* covers: SMCR-CLS-02 */
Test(close, SMCR_CLS_02_row_active_close_with_unread_data)
{
    struct rig *rig = active();
    rig_peer_sends(rig, bytes, 1);
    rig_close(rig);
    expect_state(rig, PEER_ABORT_WAIT);
    cr_assert(rig_next_cdc(rig)->abnormal_close);
    cr_assert_eq(rig->tcp_resets, 1);
    rig_free(rig);
}

/* covers: SMCR-CLS-05, SMCR-CLS-09, SMCR-RMB-09 */
Test(close, SMCR_CLS_09_row_active_close)
{
    struct rig *rig = active();
    rig_close(rig);
    expect_flags(rig, false, true);
    expect_state(rig, PEER_CLOSE_WAIT_1);
    rig_complete_all(rig);
    cr_assert_not(rig->elem_is_back, "not before the peer's C");
    peer_closed(rig);
    expect_over(rig);
}

/* covers: SMCR-CLS-06, SMCR-SOC-05 */
Test(close, SMCR_CLS_06_row_done_in_peer_close_wait_1)
{
    struct rig *rig = peer_close_wait_1();
    rig_peer_writes(rig, "tail", 4);
    rig_events(rig);
    peer_done(rig);
    expect_state(rig, PEER_CLOSE_WAIT_2);
    cr_assert(rig_events(rig) & SMCR_EVENT_READABLE);
    char out[8];
    struct smcr_conn_status status;
    smcr_conn_status(rig->conn, &status);
    cr_assert_not(status.eof);
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), 4);
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), 0);
    smcr_conn_status(rig->conn, &status);
    cr_assert(status.eof);
    rig_free(rig);
}

/* covers: SMCR-CLS-09, SMCR-CLS-10 */
Test(close, SMCR_CLS_10_row_closed_in_peer_close_wait_when_we_have_closed)
{
    struct rig *rig = active();
    rig_close(rig); /* and the peer at the same time */
    peer_closed(rig);
    expect_state(rig, CLOSED);
    cr_assert_not(rig->elem_is_back, "our C is on its way");
    expect_flags(rig, false, true);
    expect_over(rig);

    rig = peer_close_wait_2();
    rig_close(rig);
    expect_flags(rig, false, true);
    rig_complete_all(rig);
    expect_state(rig, PEER_CLOSE_WAIT_2);
    peer_closed(rig);
    expect_over(rig);
}

/* covers: SMCR-CLS-06, SMCR-CLS-09, SMCR-CLS-11 */
Test(close, SMCR_CLS_11_row_closed_in_peer_close_wait_when_we_only_shut_down)
{
    for (int i = 0; i < 2; i++) {
        struct rig *rig = i ? peer_close_wait_2() : peer_close_wait_1();
        rig_events(rig);
        peer_closed(rig);
        expect_state(rig, APP_FIN_CLOSE_WAIT);
        cr_assert_eq(rig_recv(rig, bytes, 1, 0), 0);
        cr_assert_not(rig->elem_is_back);
        rig_close(rig); /* row AppFinCloseWait, close */
        expect_flags(rig, false, true);
        expect_over(rig);
    }
}

/* covers: SMCR-CLS-02 */
Test(close, SMCR_CLS_02_row_close_after_shutdown)
{
    for (int i = 0; i < 2; i++) {
        struct rig *rig = i ? peer_close_wait_2() : peer_close_wait_1();
        rig_close(rig);
        expect_flags(rig, false, true);
        cr_assert_eq(rig->conn->state, i ? SMCR_CONN_PEER_CLOSE_WAIT_2 : SMCR_CONN_PEER_CLOSE_WAIT_1);
        rig_complete_all(rig);
        peer_closed(rig);
        expect_over(rig);

        rig = peer_close_wait_1();
        rig_peer_writes(rig, bytes, 1);
        if (i)
            peer_done(rig);
        else
            rig_peer_sends(rig, bytes, 0);
        rig_close(rig);
        expect_state(rig, PEER_ABORT_WAIT);
        cr_assert(rig_next_cdc(rig)->abnormal_close);
        rig_free(rig);
    }
}

/* covers: SMCR-CLS-06, SMCR-CLS-11 */
Test(close, SMCR_CLS_06_row_done_or_closed_in_active)
{
    for (int i = 0; i < 2; i++) {
        struct rig *rig = active();
        rig_events(rig);
        rig_peer_writes(rig, "tail", 4);
        if (i)
            peer_closed(rig);
        else
            peer_done(rig);
        expect_state(rig, APP_CLOSE_WAIT_1);
        cr_assert(rig_events(rig) & SMCR_EVENT_READABLE);
        char out[8];
        cr_assert_eq(rig_recv(rig, out, sizeof out, 0), 4);
        cr_assert_eq(rig_recv(rig, out, sizeof out, 0), 0);
        cr_assert_eq(rig_send(rig, "x", 1, 0), i ? -EPIPE : 1);
        rig_free(rig);
    }
}

/* covers: SMCR-CLS-07 */
Test(close, SMCR_CLS_07_row_closed_in_active_with_unsent_data)
{
    struct rig *rig = active();
    rig_send(rig, bytes, SNDBUF, 0);
    for (int i = 0; i < 5; i++)
        rig_complete_all(rig);
    while (rig_next(rig))
        ;
    peer_closed(rig);
    expect_state(rig, PEER_ABORT_WAIT);
    cr_assert(rig_next_cdc(rig)->abnormal_close);
    cr_assert_eq(rig->tcp_resets, 1);
    cr_assert_eq(rig_send(rig, "x", 1, 0), -ECONNRESET);
    rig_free(rig);
}

/* covers: SMCR-CLS-04 */
Test(close, SMCR_CLS_04_row_shutdown_in_app_close_wait_1)
{
    rig_free(app_close_wait_2());
}

/* covers: SMCR-CLS-09, SMCR-CLS-11 */
Test(close, SMCR_CLS_09_row_close_in_app_close_wait_when_the_peer_has_closed)
{
    for (int i = 0; i < 2; i++) {
        struct rig *rig = i ? app_close_wait_2() : app_close_wait_1();
        peer_closed(rig); /* row "C received (after D)": noted */
        cr_assert_eq(rig->conn->state, i ? SMCR_CONN_APP_CLOSE_WAIT_2 : SMCR_CONN_APP_CLOSE_WAIT_1);
        cr_assert_not(rig->elem_is_back);
        rig_close(rig);
        expect_flags(rig, false, true);
        expect_over(rig);
    }
}

/* covers: SMCR-CLS-09 */
Test(close, SMCR_CLS_09_row_close_in_app_close_wait_before_the_peer)
{
    for (int i = 0; i < 2; i++) {
        struct rig *rig = i ? app_close_wait_2() : app_close_wait_1();
        rig_close(rig);
        expect_flags(rig, false, true);
        expect_state(rig, PEER_FIN_CLOSE_WAIT);
        rig_complete_all(rig);
        cr_assert_not(rig->elem_is_back);
        peer_closed(rig); /* row PeerFinCloseWait, C */
        expect_over(rig);
    }
}

/* covers: SMCR-CLS-02 */
Test(close, SMCR_CLS_02_unread_data_counts_until_the_peer_has_closed)
{
    struct rig *rig = active();
    rig_peer_writes(rig, bytes, 5);
    peer_done(rig);
    rig_close(rig);
    expect_state(rig, PEER_ABORT_WAIT);
    rig_free(rig);

    rig = active();
    rig_peer_writes(rig, bytes, 5);
    peer_closed(rig);
    rig_close(rig);
    expect_flags(rig, false, true);
    expect_over(rig);
}

/* covers: SMCR-CLS-03 */
Test(close, SMCR_CLS_03_the_end_waits_for_all_writes_and_cdcs)
{
    struct rig *rig = active();
    rig_send(rig, bytes, 3 * CAP, 0);
    rig_close(rig);
    expect_state(rig, ACTIVE);
    for (int i = 0; i < 3; i++) {
        for (int n = 0; n < 6; n++) {
            rig_complete_all(rig);
            for (const struct smcr_cdc *cdc; i < 2 && (cdc = rig_next_cdc(rig));)
                cr_assert_not(cdc->connection_closed);
        }
        if (i < 2)
            rig_peer_reads(rig, CAP);
    }
    expect_state(rig, PEER_CLOSE_WAIT_1);
    const struct smcr_cdc *last = NULL, *before = NULL;
    for (const struct smcr_cdc *cdc; (cdc = rig_next_cdc(rig)); last = cdc)
        before = last;
    cr_assert(last->connection_closed);
    cr_assert(before && before->producer_cursor == last->producer_cursor && !before->connection_closed);
    rig_free(rig);
}

/* Nor does it leave before a consumer update has completed, and none overtakes it for ever. */
/* covers: SMCR-CLS-03, SMCR-CLS-04 */
Test(close, SMCR_CLS_03_updates_in_flight_count_too)
{
    struct rig *rig = active();
    rig_peer_sends(rig, bytes, CAP);
    rig_recv(rig, bytes, CAP, 0);
    unsigned updates = rig_unseen(rig, true);
    cr_assert_gt(updates, 0);
    shut(rig);
    cr_assert_eq(rig_unseen(rig, true), updates);
    rig_peer_sends(rig, bytes, ELEM / 2);
    rig_recv(rig, bytes, CAP, 0);
    cr_assert_eq(rig_unseen(rig, true), updates);
    rig_complete_all(rig);
    const struct smcr_cdc *last = NULL;
    for (const struct smcr_cdc *cdc; (cdc = rig_next_cdc(rig));)
        last = cdc;
    cr_assert(last->sending_done);
    cr_assert_eq(last->consumer_wrap, 1);
    cr_assert_eq(last->consumer_cursor, 4 + ELEM / 2);
    rig_free(rig);
}

/* covers: SMCR-CLS-04 */
Test(close, SMCR_CLS_04_the_other_direction_goes_on)
{
    struct rig *rig = peer_close_wait_1();
    rig_peer_sends(rig, bytes, CAP);
    cr_assert_eq(rig_recv(rig, bytes, CAP, 0), CAP);
    const struct smcr_cdc *update = rig_next_cdc(rig);
    cr_assert_not_null(update);
    cr_assert(update->sending_done, "a level: SMCR-CDC-02");
    cr_assert_eq(rig_send(rig, bytes, 1, 0), -EPIPE);
    shut(rig); /* twice */
    rig_complete_all(rig);
    while (rig_next(rig))
        ;
    rig_wait(rig, 3600 * 1000 * RIG_MS);
    expect_state(rig, PEER_CLOSE_WAIT_1);
    rig_free(rig);
}

/* covers: SMCR-CLS-05 */
Test(close, SMCR_CLS_05_closing_right_after_shutdown_sends_one_message)
{
    struct rig *rig = active();
    rig_send(rig, bytes, 10, 0);
    shut(rig);
    rig_close(rig);
    rig_complete_all(rig);
    cr_assert_not(rig_next_cdc(rig)->connection_closed);
    expect_flags(rig, false, true);
    expect_state(rig, PEER_CLOSE_WAIT_1);
    peer_closed(rig);
    expect_over(rig);
}

/* The application gives it back with linger, and again when CLOSED has come: freed then. */
/* covers: SMCR-CLS-01 */
Test(close, SMCR_CLS_01_closed_is_told_when_all_is_over)
{
    struct rig *rig = active();
    rig_close(rig);
    rig_complete_all(rig);
    cr_assert_not(rig_events(rig) & SMCR_EVENT_CLOSED);
    peer_closed(rig);
    cr_assert_eq(rig_events(rig), SMCR_EVENT_CLOSED);
    smcr_conn_release(rig->conn, false, rig->now_ns);
    cr_assert_null(rig->smcr.conns);
    rig_free(rig);

    rig = active();
    smcr_conn_release(rig->conn, false, rig->now_ns); /* nobody waits for it */
    rig_complete_all(rig);
    peer_closed(rig);
    cr_assert_null(rig->smcr.conns);
    rig_free(rig);
}

/* covers: SMCR-CLS-20, SMCR-RMB-12 */
Test(close, SMCR_CLS_20_a_peer_that_never_closes)
{
    for (int i = 0; i < 3; i++) {
        struct rig *rig = i == 0 ? active() : i == 1 ? peer_close_wait_2() : app_close_wait_1();
        rig_close(rig);
        rig_complete_all(rig);
        while (rig_next(rig))
            ;
        rig_wait(rig, 60000 * RIG_MS - 1);
        cr_assert_eq(rig->tcp_resets, 0);
        rig_wait(rig, 1);
        expect_state(rig, CLOSED);
        cr_assert_eq(rig->tcp_resets, 1);
        cr_assert_not(rig->elem_is_back, "old writes may still come");
        cr_assert_eq(rig->links_tested, RIG_LINKS, "and are pushed out of every link");
        rig_wait(rig, 2000 * RIG_MS);
        cr_assert(rig->elem_is_back);
        cr_assert_null(rig_next(rig), "no more writes, no more CDCs");
        cr_assert(rig_events(rig) & SMCR_EVENT_CLOSED);
        rig_free(rig);
    }
}

/* What flushes may take long, as long as it moves. */
/* covers: SMCR-CLS-20 */
Test(close, SMCR_CLS_20_a_peer_that_takes_no_data)
{
    struct rig *rig = active();
    rig_send(rig, bytes, 3 * CAP, 0);
    rig_close(rig);
    for (int i = 0; i < 5; i++)
        rig_complete_all(rig);
    rig_wait(rig, 59000 * RIG_MS);
    rig_peer_reads(rig, CAP);
    for (int i = 0; i < 5; i++)
        rig_complete_all(rig);
    rig_wait(rig, 59000 * RIG_MS);
    expect_state(rig, ACTIVE);
    while (rig_next(rig))
        ;
    rig_wait(rig, 1000 * RIG_MS);
    expect_state(rig, PEER_ABORT_WAIT);
    cr_assert(rig_next_cdc(rig)->abnormal_close, "C was not sent yet");
    rig_free(rig);
}

/* covers: SMCR-CLS-21 */
Test(close, SMCR_CLS_21_a_fin_without_a_close)
{
    struct rig *rig = active();
    smcr_conn_tcp_end(rig->conn, SMCR_TCP_FIN, rig->now_ns);
    rig_wait(rig, SMCR_FIN_GRACE_NS - 1);
    expect_state(rig, ACTIVE);
    rig_wait(rig, 1);
    expect_state(rig, PEER_ABORT_WAIT);
    cr_assert_eq(rig_recv(rig, bytes, 1, 0), -ECONNRESET);
    rig_free(rig);
}

/* covers: SMCR-CLS-21 */
Test(close, SMCR_CLS_21_a_fin_that_overtook_the_cdc)
{
    struct rig *rig = active();
    smcr_conn_tcp_end(rig->conn, SMCR_TCP_FIN, rig->now_ns);
    rig_wait(rig, SMCR_FIN_GRACE_NS / 2);
    peer_closed(rig);
    rig_wait(rig, 3600 * 1000 * RIG_MS);
    expect_state(rig, APP_CLOSE_WAIT_1);
    rig_close(rig);
    expect_flags(rig, false, true);
    expect_over(rig);

    rig = active(); /* and one that came behind it */
    peer_closed(rig);
    smcr_conn_tcp_end(rig->conn, SMCR_TCP_FIN, rig->now_ns);
    rig_wait(rig, 3600 * 1000 * RIG_MS);
    expect_state(rig, APP_CLOSE_WAIT_1);
    rig_free(rig);
}

/* The peer's program is gone: we do not wait a minute for its C. */
/* covers: SMCR-CLS-20, SMCR-CLS-21 */
Test(close, SMCR_CLS_21_a_fin_while_we_wait_for_the_close)
{
    struct rig *rig = active();
    rig_close(rig);
    rig_complete_all(rig);
    smcr_conn_tcp_end(rig->conn, SMCR_TCP_FIN, rig->now_ns);
    rig_wait(rig, SMCR_FIN_GRACE_NS);
    expect_state(rig, CLOSED);
    rig_wait(rig, 2000 * RIG_MS);
    cr_assert(smcr_conn_is_over(rig->conn));
    rig_free(rig);
}

/* Linux ends its direction of TCP with that of SMC-R: what goes the other way has time without end. */
Test(close, version_2_takes_a_fin_that_done_explains)
{
    for (int fin_first = 0; fin_first < 2; fin_first++) {
        struct rig *rig = active();
        rig->conn->group->version = 2;
        if (fin_first)
            smcr_conn_tcp_end(rig->conn, SMCR_TCP_FIN, rig->now_ns);
        peer_done(rig);
        if (!fin_first)
            smcr_conn_tcp_end(rig->conn, SMCR_TCP_FIN, rig->now_ns);
        rig_wait(rig, 3600 * 1000 * RIG_MS);
        expect_state(rig, APP_CLOSE_WAIT_1);
        cr_assert_gt(rig_send(rig, bytes, 10, 0), 0);
        rig_free(rig);
    }
    struct rig *rig = active(); /* and one that is closed here has the guard of closing, no shorter one */
    rig->conn->group->version = 2;
    rig_close(rig);
    rig_complete_all(rig);
    smcr_conn_tcp_end(rig->conn, SMCR_TCP_FIN, rig->now_ns);
    peer_done(rig);
    rig_wait(rig, 2 * SMCR_FIN_GRACE_NS);
    cr_assert_neq(rig->conn->state, SMCR_CONN_CLOSED);
    rig_wait(rig, rig->conn->smcr->config.times.close_guard_ns);
    cr_assert_eq(rig->conn->state, SMCR_CONN_CLOSED);
    rig_free(rig);
}

/* covers: SMCR-CLS-08, SMCR-CDC-15 */
Test(close, SMCR_CLS_08_what_a_peer_says_behind_its_close_is_not_heard)
{
    struct rig *rig = active();
    peer_closed(rig);
    rig_peer_sends(rig, bytes, 10);
    cr_assert_eq(rig_recv(rig, bytes, 10, 0), 0);
    rig_free(rig);
}
