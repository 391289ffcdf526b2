/* SPDX-License-Identifier: BSD-2-Clause */
/* Abnormal ends: SMCR section 16.2. */
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

static void peer_aborts(struct rig *rig)
{
    rig_peer_flag(rig, false, false, true);
}

static void expect_abort_cdc(struct rig *rig)
{
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert_not_null(cdc);
    cr_assert(cdc->abnormal_close);
    cr_assert_not(cdc->connection_closed || cdc->sending_done || cdc->writer_blocked || cdc->urgent_pending);
}

static void expect_over(struct rig *rig)
{
    cr_assert(smcr_conn_is_over(rig->conn));
    cr_assert(rig->elem_is_back);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig->tcp_resets, 1);
    cr_assert(rig_events(rig) & SMCR_EVENT_CLOSED);
    rig_free(rig);
}

/* covers: SMCR-ABT-01, SMCR-SOC-05 */
Test(abort, SMCR_ABT_01_by_the_application)
{
    struct rig *rig = active();
    rig_events(rig);
    smcr_conn_abort(rig->conn, rig->now_ns);
    cr_assert_eq(rig->conn->state, SMCR_CONN_PEER_ABORT_WAIT);
    cr_assert_eq(rig->tcp_resets, 1, "TCP is reset in parallel");
    cr_assert_eq(rig_events(rig), SMCR_EVENT_RESET | SMCR_EVENT_READABLE | SMCR_EVENT_WRITABLE);
    cr_assert_eq(rig_send(rig, bytes, 1, 0), -ECONNABORTED);
    cr_assert_eq(rig_recv(rig, bytes, 1, 0), -ECONNABORTED);
    expect_abort_cdc(rig);
    rig_complete_all(rig);
    cr_assert_not(rig->elem_is_back);
    peer_aborts(rig);
    cr_assert_eq(rig->smcr.counters.conns_reset, 1);
    expect_over(rig);
}

/* covers: SMCR-ABT-02 */
Test(abort, SMCR_ABT_02_only_the_peers_abort_counts_then)
{
    struct rig *rig = active();
    smcr_conn_abort(rig->conn, rig->now_ns);
    expect_abort_cdc(rig);
    rig_complete_all(rig);
    rig_peer_sends(rig, bytes, 100);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.producer_cursor = 0; /* not even looked at */
    cdc.update_requested = cdc.writer_blocked = 1;
    rig_take(rig, &cdc);
    rig_peer_flag(rig, true, true, false);
    cdc.seq = 999;
    cdc.failover_validation = 1;
    rig_take(rig, &cdc);
    cr_assert_eq(rig->conn->state, SMCR_CONN_PEER_ABORT_WAIT);
    cr_assert_eq(rig->conn->data->rx.produced, 0);
    cr_assert_null(rig_next(rig));
    peer_aborts(rig);
    expect_over(rig);
}

/* covers: SMCR-ABT-03, SMCR-RMB-12 */
Test(abort, SMCR_ABT_03_the_timer_frees_what_the_peer_does_not_answer)
{
    struct rig *rig = active();
    smcr_conn_abort(rig->conn, rig->now_ns);
    expect_abort_cdc(rig);
    rig_complete_all(rig);
    rig_wait(rig, 5000 * RIG_MS - 1);
    cr_assert_eq(rig->conn->state, SMCR_CONN_PEER_ABORT_WAIT);
    rig_wait(rig, 1);
    cr_assert_eq(rig->conn->state, SMCR_CONN_CLOSED);
    cr_assert_not(rig->elem_is_back, "SMCR-RMB-12: not before the links have been flushed");
    cr_assert_eq(rig->links_tested, RIG_LINKS);
    rig_wait(rig, 2000 * RIG_MS);
    expect_over(rig);
}

/* covers: SMCR-ABT-04 */
Test(abort, SMCR_ABT_04_by_the_peer)
{
    struct rig *rig = active();
    rig_send(rig, bytes, SNDBUF, 0);
    rig_complete_all(rig);
    rig_peer_sends(rig, bytes, 500);
    while (rig_next(rig))
        ;
    rig_events(rig);
    peer_aborts(rig);
    cr_assert(rig_events(rig) & SMCR_EVENT_RESET);
    cr_assert_eq(rig_recv(rig, bytes, 10, 0), -ECONNRESET, "what was not read is gone");
    expect_abort_cdc(rig);
    cr_assert_null(rig_next(rig), "and what was not sent, too");
    cr_assert_neq(rig->conn->state, SMCR_CONN_CLOSED, "not before the answer has completed");
    struct smcr_conn_status status;
    smcr_conn_status(rig->conn, &status);
    cr_assert_eq(status.readable_bytes, 0);
    cr_assert_eq(status.writable_bytes, 0);
    cr_assert_lt(status.unsent_bytes, CAP);
    rig_complete_all(rig);
    expect_over(rig);
}

/* Cursors of an abort are nobody's business. */
/* covers: SMCR-ABT-04 */
Test(abort, SMCR_ABT_04_whatever_else_it_says)
{
    struct rig *rig = active();
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.producer_cursor = UINT32_MAX;
    cdc.abnormal_close = cdc.connection_closed = cdc.sending_done = 1;
    rig_take(rig, &cdc);
    expect_abort_cdc(rig);
    rig_complete_all(rig);
    cr_assert_eq(rig->smcr.counters.cdc_bad, 0);
    expect_over(rig);
}

/* covers: SMCR-ABT-05 */
Test(abort, SMCR_ABT_05_a_tcp_reset_starts_it)
{
    struct rig *rig = active();
    smcr_conn_tcp_end(rig->conn, SMCR_TCP_RST, rig->now_ns);
    cr_assert_eq(rig->conn->state, SMCR_CONN_PEER_ABORT_WAIT);
    expect_abort_cdc(rig);
    cr_assert_eq(rig_recv(rig, bytes, 1, 0), -ECONNRESET);
    cr_assert_eq(rig->tcp_resets, 0, "it is reset");
    rig_complete_all(rig);
    peer_aborts(rig);
    cr_assert(smcr_conn_is_over(rig->conn));
    rig_free(rig);

    rig = active(); /* the RST behind the A */
    peer_aborts(rig);
    expect_abort_cdc(rig);
    smcr_conn_tcp_end(rig->conn, SMCR_TCP_RST, rig->now_ns);
    rig_complete_all(rig);
    expect_over(rig);
}

/* covers: SMCR-ABT-06 */
Test(abort, SMCR_ABT_06_both_at_once)
{
    struct rig *rig = active();
    smcr_conn_abort(rig->conn, rig->now_ns);
    peer_aborts(rig);
    expect_abort_cdc(rig);
    cr_assert_null(rig_next(rig), "no second one");
    cr_assert_not(rig->elem_is_back, "ours is on its way");
    rig_complete_all(rig);
    expect_over(rig);
}

/* covers: SMCR-ABT-08 */
Test(abort, SMCR_ABT_08_no_abort_behind_a_close)
{
    struct rig *rig = active();
    rig_close(rig);
    cr_assert(rig_next_cdc(rig)->connection_closed);
    rig_complete_all(rig);
    smcr_conn_tcp_end(rig->conn, SMCR_TCP_RST, rig->now_ns);
    cr_assert_null(rig_next(rig));
    rig_wait(rig, 5000 * RIG_MS);
    cr_assert_eq(rig->conn->state, SMCR_CONN_CLOSED);
    rig_wait(rig, 2000 * RIG_MS);
    cr_assert(smcr_conn_is_over(rig->conn));
    cr_assert_null(rig_next(rig));
    rig_free(rig);

    rig = active(); /* nor in answer to one */
    rig_close(rig);
    cr_assert(rig_next_cdc(rig)->connection_closed);
    rig_complete_all(rig);
    peer_aborts(rig);
    expect_over(rig);
}

/* A peer that has closed sends no A (SMCR-ABT-08): nobody waits for it. */
/* covers: SMCR-ABT-08, SMCR-CLS-09 */
Test(abort, SMCR_ABT_08_a_peer_that_has_closed_is_not_waited_for)
{
    struct rig *rig = active();
    rig_peer_flag(rig, false, true, false);
    smcr_conn_abort(rig->conn, rig->now_ns);
    expect_abort_cdc(rig);
    rig_complete_all(rig);
    expect_over(rig);
}

/* covers: SMCR-KAL-05 */
Test(abort, SMCR_KAL_05_data_on_the_tcp_connection)
{
    struct rig *rig = active();
    cr_assert_eq(smcr_conn_tcp_input(rig->conn, bytes, 1, rig->now_ns), 1);
    cr_assert_eq(rig->conn->state, SMCR_CONN_PEER_ABORT_WAIT);
    expect_abort_cdc(rig);
    rig_free(rig);
}

/* covers: SMCR-RMB-20, SMCR-FOV-16 */
Test(abort, SMCR_RMB_20_a_connection_that_is_killed_says_nothing)
{
    struct rig *rig = active();
    rig_peer_sends(rig, bytes, 10);
    rig_send(rig, bytes, 10, 0);
    rig_send(rig, bytes, 10, 0);
    cr_assert_not_null(rig_next_cdc(rig));
    rig_kill(rig, "the peer gave the buffer to another connection");
    cr_assert_eq(rig_recv(rig, bytes, 10, 0), -ECONNRESET);
    cr_assert_eq(rig->conn->state, SMCR_CONN_CLOSED);
    cr_assert_not(rig->elem_is_back, "SMCR-DAT-05: the engine still reads the send buffer");
    rig_complete_all(rig);
    expect_over(rig);
}

/* covers: SMCR-RMB-20 */
Test(abort, SMCR_RMB_20_in_any_state_and_twice)
{
    struct rig *rig = active();
    rig_close(rig);
    rig_complete_all(rig);
    rig_kill(rig, "the group has ended");
    cr_assert(smcr_conn_is_over(rig->conn));
    rig_kill(rig, "the group has ended");
    cr_assert_eq(rig->tcp_resets, 1);
    rig_free(rig);

    rig = active();
    smcr_conn_abort(rig->conn, rig->now_ns);
    rig_complete_all(rig);
    rig_kill(rig, "the group has ended");
    cr_assert_eq(rig->conn->error, -ECONNABORTED, "the first reason counts");
    cr_assert_eq(rig->tcp_resets, 1);
    rig_free(rig);

    rig = rig_new_in_handshake(ELEM, ELEM, SNDBUF);
    rig_kill(rig, "the group has ended");
    cr_assert(rig->is_abandoned, "the handshake ends itself");
    rig_activate(rig);
    rig_free(rig);
}

/* covers: SMCR-ABT-01 */
Test(abort, SMCR_ABT_01_in_the_handshake)
{
    struct rig *rig = rig_new_in_handshake(ELEM, ELEM, SNDBUF);
    smcr_conn_abort(rig->conn, rig->now_ns);
    cr_assert(rig->is_abandoned);
    rig_activate(rig);
    rig_free(rig);
}

/* A link that is full: A is not lost. */
/* covers: SMCR-ABT-01 */
Test(abort, SMCR_ABT_01_it_waits_for_room_like_anything)
{
    struct rig *rig = active();
    rig->conn->data->tx.chunk_bytes = 1;
    rig_send(rig, bytes, 2 * SMCR_FLIGHT, 0);
    smcr_conn_abort(rig->conn, rig->now_ns);
    cr_assert_eq(rig_unseen(rig, true), SMCR_FLIGHT);
    for (int i = 0; i < SMCR_FLIGHT; i++)
        cr_assert_not(rig_next_cdc(rig)->abnormal_close);
    rig_complete(rig, 1);
    expect_abort_cdc(rig);
    rig_free(rig);
}

/* What was under way when it was killed failed with its link: the element may be another connection's now.
 * covers: SMCR-RMB-20, SMCR-CLS-20 */
Test(abort, SMCR_RMB_20_what_was_killed_is_not_replayed)
{
    for (unsigned by_guard = 0; by_guard < 2; by_guard++) {
        struct rig *rig = active();
        rig_send(rig, bytes, 3000, 0);
        if (by_guard) {
            smcr_conn_abort(rig->conn, rig->now_ns);
            rig_wait(rig, 5001 * RIG_MS);
        } else {
            rig_kill(rig, "the peer gave the buffer away");
            rig->conn->peer_rmb = NULL; /* as DELETE RKEY leaves it */
        }
        cr_assert_eq(rig->conn->state, SMCR_CONN_CLOSED);
        cr_assert_not(rig->elem_is_back, "its posts have not ended");
        while (rig_next(rig))
            ;
        rig_lose_link(rig);
        rig_wait(rig, 2001 * RIG_MS);
        expect_over(rig);
    }
}

/* A may have arrived, only its acknowledgement did not: then the peer's element may be another's already.
 * covers: SMCR-ABT-07 */
Test(abort, SMCR_ABT_07_an_abort_is_said_again_without_its_data)
{
    struct rig *rig = active();
    rig_send(rig, bytes, 3000, 0);
    rig_next_cdc(rig);
    smcr_conn_abort(rig->conn, rig->now_ns);
    expect_abort_cdc(rig);
    rig_lose_link(rig);
    cr_assert_eq(rig_unseen(rig, false), 0, "an RDMA write after A");
    cr_assert(rig_next_cdc(rig)->failover_validation);
    expect_abort_cdc(rig);
    rig_complete_all(rig);
    peer_aborts(rig);
    expect_over(rig);
}

/* covers: SMCR-RMB-12, SMCR-CLS-20 */
Test(abort, SMCR_RMB_12_the_last_link_goes_when_the_guard_tests_it)
{
    struct rig *rig = active();
    rig->test_fails = true;
    smcr_conn_abort(rig->conn, rig->now_ns);
    rig_complete_all(rig);
    smcr_conn_release(rig->conn, false, rig->now_ns);
    rig_wait(rig, 5001 * RIG_MS);
    cr_assert(rig->elem_is_back);
    cr_assert_null(rig->smcr.conns, "it was given back, and is freed");
    rig_free(rig);
}
