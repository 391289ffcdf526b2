/* SPDX-License-Identifier: BSD-2-Clause */
/* CDC messages: what they say, and which are taken. SMCR section 14. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/smcr_data/rig.h"
#include "test/support/smcr_examples.h"

#define ELEM   16384
#define CAP    (ELEM - 4)
#define SNDBUF 65536

static uint8_t bytes[ELEM];

static void expect_reset(struct rig *rig)
{
    cr_assert_eq(rig->conn->state, SMCR_CONN_PEER_ABORT_WAIT);
    cr_assert(rig_events(rig) & SMCR_EVENT_RESET);
    cr_assert_eq(rig->tcp_resets, 1);
}

static void expect_example(const struct rig_post *post, const char *name)
{
    uint8_t example[SMCR_EXAMPLE_MAX_BYTES];
    cr_assert_eq(smcr_example(name, example), SMCR_MSG_BYTES);
    cr_assert_not_null(post, "%s", name);
    cr_assert_arr_eq(post->message, example, SMCR_MSG_BYTES, "%s", name);
}

/* The cursors of the examples D, C and A. */
static struct rig *rig_before_the_end(void)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_at(rig, 3 * CAP + 2044, 3 * CAP + 4092, 41);
    return rig;
}

/* covers: SMCR-CDC-02, SMCR-CLS-12 */
Test(cdc, SMCR_CLS_12_done_and_closed_as_in_the_examples)
{
    struct rig *rig = rig_before_the_end();
    smcr_conn_shutdown_write(rig->conn, rig->now_ns);
    expect_example(rig_next(rig), "CDC_D");
    rig_complete_all(rig);
    rig_close(rig);
    expect_example(rig_next(rig), "CDC_C");
    rig_free(rig);
}

/* An update of the window, long after the end of our stream was told: all of it stands there again.
 * covers: SMCR-CDC-02, SMCR-WIN-03 */
Test(cdc, SMCR_CDC_02_every_message_has_the_whole_state)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    cr_assert_eq(rig_send(rig, bytes, 100, SMCR_SEND_NODELAY), 100);
    rig_complete_all(rig);
    smcr_conn_shutdown_write(rig->conn, rig->now_ns);
    cr_assert_eq(rig_complete_all(rig), 1);
    while (rig_next(rig))
        ;
    rig_peer_writes(rig, bytes, 1000);
    struct smcr_cdc blocked = rig_peer_cdc(rig);
    blocked.writer_blocked = 1;
    rig_take(rig, &blocked);
    cr_assert_eq(rig_recv(rig, bytes, 1000, 0), 1000);
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert_not_null(cdc);
    cr_assert_eq(cdc->producer_cursor, 4 + 100);
    cr_assert_eq(cdc->producer_wrap, 0);
    cr_assert_eq(cdc->consumer_cursor, 4 + 1000);
    cr_assert_eq(cdc->consumer_wrap, 0);
    cr_assert(cdc->sending_done, "a level, not an event");
    cr_assert_eq(cdc->update_requested, 0);
    rig_free(rig);
}

/* covers: SMCR-ABT-01 */
Test(cdc, SMCR_ABT_01_abnormal_close_as_in_the_example)
{
    struct rig *rig = rig_before_the_end();
    rig->conn->data->tx.seq = rig->conn->data->tx.completed_seq = 43;
    smcr_conn_abort(rig->conn, rig->now_ns);
    expect_example(rig_next(rig), "CDC_A");
    rig_free(rig);
}

/* covers: SMCR-FOV-07, SMCR-CDC-03, SMCR-CDC-14 */
Test(cdc, SMCR_FOV_07_failover_validation_as_in_the_example)
{
    struct rig *rig = rig_before_the_end();
    rig_lose_link(rig);
    expect_example(rig_next(rig), "CDC_F");
    cr_assert_null(rig_next(rig));
    rig_send(rig, bytes, 1, 0);
    cr_assert_eq(rig_next_cdc(rig)->seq, 42, "F takes no number");
    rig_free(rig);
}

/* covers: SMCR-CDC-03 */
Test(cdc, SMCR_CDC_03_numbers_start_at_1_and_wrap_to_0)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_send(rig, bytes, 1, 0);
    cr_assert_eq(rig_next_cdc(rig)->seq, 1);
    rig_complete_all(rig);
    rig_send(rig, bytes, 1, 0);
    cr_assert_eq(rig_next_cdc(rig)->seq, 2);
    rig_complete_all(rig);
    rig_peer_reads(rig, 2);
    rig_at(rig, 2, 0, 65534);
    rig_send(rig, bytes, 1, 0);
    rig_complete_all(rig);
    rig_send(rig, bytes, 1, 0);
    rig_complete_all(rig);
    cr_assert_eq(rig_next_cdc(rig)->seq, 65535);
    cr_assert_eq(rig_next_cdc(rig)->seq, 0);
    rig_free(rig);
}

/* covers: SMCR-CDC-04, SMCR-CDC-05 */
Test(cdc, SMCR_CDC_04_old_and_repeated_ones_are_not_taken)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig->peer_seq = 65534;
    rig->conn->data->rx.seq = 65534;
    rig_peer_sends(rig, bytes, 10);
    struct smcr_cdc old = rig_peer_cdc(rig);
    rig_peer_sends(rig, bytes, 10); /* number 0 */
    cr_assert_eq(rig->conn->data->rx.produced, 20);
    old.seq = 65535;
    rig_take(rig, &old);
    old.seq = 0;
    rig_take(rig, &old);
    cr_assert_eq(rig->smcr.counters.cdc_old, 2);
    cr_assert_eq(rig->conn->data->rx.produced, 20, "cursors never move backwards");
    cr_assert_eq(rig->conn->state, SMCR_CONN_ACTIVE);
    rig->peer_seq = 4;
    rig_peer_sends(rig, bytes, 10); /* some were lost: harmless */
    cr_assert_eq(rig->conn->data->rx.produced, 30);
    rig_free(rig);
}

/* covers: SMCR-CDC-06 */
Test(cdc, SMCR_CDC_06_an_unknown_token_is_counted_and_dropped)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.alert_token++;
    cdc.abnormal_close = 1;
    rig_take(rig, &cdc);
    cr_assert_eq(rig->smcr.counters.cdc_unknown_token, 1);
    cr_assert_eq(rig->conn->state, SMCR_CONN_ACTIVE);
    rig_free(rig);
}

/* covers: SMCR-CDC-07 */
Test(cdc, SMCR_CDC_07_taken_on_any_link_of_the_group)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_peer_writes(rig, bytes, 100);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    uint8_t message[SMCR_MSG_BYTES] = {0};
    smcr_cdc_put(message, &cdc);
    smcr_rx_cdc(&rig->group.links[2], &cdc, message, rig->now_ns);
    cr_assert_eq(rig_recv(rig, bytes, sizeof bytes, 0), 100);
    cr_assert_eq(rig->conn->link, &rig->group.links[0], "it sends where it did");
    rig_free(rig);
}

/* Each is one that no peer that follows the rules could send. */
static void hostile(struct rig *rig, const char *what, struct smcr_cdc cdc)
{
    uint64_t produced = rig->conn->data->rx.produced, consumed = rig->conn->data->tx.peer_consumed;
    rig_take(rig, &cdc);
    cr_assert_eq(rig->smcr.counters.cdc_bad, 1, "%s", what);
    cr_assert_eq(rig->conn->data->rx.produced, produced, "%s", what);
    cr_assert_eq(rig->conn->data->tx.peer_consumed, consumed, "%s", what);
    expect_reset(rig);
    rig_complete_all(rig);
    rig_free(rig);
}

static struct rig *rig_in_the_middle(void)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_at(rig, 5 * CAP + 500, 5 * CAP + 700, 9);
    rig_send(rig, bytes, 100, 0);
    rig_peer_sends(rig, bytes, 200);
    return rig;
}

/* covers: SMCR-CDC-08, SMCR-CDC-12, SMCR-SEC-07 */
Test(cdc, SMCR_CDC_12_impossible_cursors_end_the_connection)
{
    static const struct {
        const char *what;
        int64_t producer, consumer; /* offsets instead of the right ones; -1: right */
        int producer_wraps, consumer_wraps;
    } cases[] = {
        {"producer in the eye catcher", 3, -1, 0, 0},
        {"producer 0", 0, -1, 0, 0},
        {"producer at the end", ELEM, -1, 0, 0},
        {"producer far out", UINT32_MAX, -1, 0, 0},
        {"producer behind", 903, -1, 0, 0},
        {"producer behind by a wrap", -1, -1, -1, 0},
        {"producer ahead by a wrap and more than is free", -1, -1, 1, 0},
        {"producer ahead by half of all wraps", -1, -1, 0x7fff, 0},
        {"producer one byte past the window", 705, -1, 1, 0},
        {"consumer in the eye catcher", -1, 3, 0, 0},
        {"consumer at the end", -1, ELEM, 0, 0},
        {"consumer behind", -1, 503, 0, 0},
        {"consumer behind by a wrap", -1, -1, 0, -1},
        {"consumer beyond what was sent", -1, 605, 0, 0},
        {"consumer ahead by a wrap", -1, -1, 0, 1},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        struct rig *rig = rig_in_the_middle();
        struct smcr_cdc cdc = rig_peer_cdc(rig);
        if (cases[i].producer >= 0)
            cdc.producer_cursor = (uint32_t)cases[i].producer;
        if (cases[i].consumer >= 0)
            cdc.consumer_cursor = (uint32_t)cases[i].consumer;
        cdc.producer_wrap = (uint16_t)(cdc.producer_wrap + cases[i].producer_wraps);
        cdc.consumer_wrap = (uint16_t)(cdc.consumer_wrap + cases[i].consumer_wraps);
        hostile(rig, cases[i].what, cdc);
    }
}

/* The same places, at their last legal values. */
/* covers: SMCR-CDC-11, SMCR-CDC-12 */
Test(cdc, SMCR_CDC_12_the_last_possible_cursors_are_taken)
{
    struct rig *rig = rig_in_the_middle();
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.producer_cursor = 704; /* the window is full: the consumer cursor that it knows, one wrap on */
    cdc.producer_wrap++;
    cdc.consumer_cursor = 604; /* all that was sent */
    rig_take(rig, &cdc);
    cr_assert_eq(rig->smcr.counters.cdc_bad, 0);
    cr_assert_eq(smcr_rx_readable(&rig->conn->data->rx), CAP);
    cr_assert_eq(smcr_tx_window(rig->conn), CAP);
    rig_free(rig);
}

/* What it has read but not told of is not room that the peer may know. */
/* covers: SMCR-CDC-12 */
Test(cdc, SMCR_CDC_12_the_window_is_the_one_that_the_peer_was_told)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, bytes, 100);
    cr_assert_eq(rig_recv(rig, bytes, 100, 0), 100);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.producer_cursor = 5;
    cdc.producer_wrap = 1;
    hostile(rig, "a byte more than it was told", cdc);
}

/* covers: SMCR-CDC-13 */
Test(cdc, SMCR_CDC_13_another_length_fails_the_link)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.length = 43; /* of a frame of another length nobody can say that it is one: LLC takes it */
    rig_take(rig, &cdc);
    cr_assert_eq(rig->links_failed, 1);
    cdc.length = 45;
    rig_take(rig, &cdc);
    cr_assert_eq(rig->links_failed, 2);
    cr_assert_eq(rig->smcr.counters.llc_malformed, 2);
    cr_assert_eq(rig->smcr.counters.rx_cdc, 0);
    rig_free(rig);
}

/* covers: SMCR-CDC-14, SMCR-FOV-08 */
Test(cdc, SMCR_CDC_14_of_a_validation_only_token_and_number_count)
{
    struct rig *rig = rig_in_the_middle();
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.seq = rig->peer_seq;
    cdc.failover_validation = 1;
    cdc.producer_cursor = 1;
    cdc.consumer_wrap = 77;
    cdc.abnormal_close = cdc.connection_closed = cdc.sending_done = 1;
    cdc.writer_blocked = cdc.urgent_pending = cdc.urgent_present = 1;
    rig_take(rig, &cdc);
    cr_assert_eq(rig->conn->state, SMCR_CONN_ACTIVE);
    cr_assert_not(rig->conn->data->rx.peer_blocked);
    cr_assert_neq(rig->conn->data->heard, SMCR_HEARD_DONE);
    cr_assert_eq(rig->smcr.counters.cdc_old, 0);
    rig_free(rig);
}

/* covers: SMCR-CDC-15, SMCR-CLS-08 */
Test(cdc, SMCR_CDC_15_nothing_follows_a_close)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_close(rig);
    cr_assert(rig_next_cdc(rig)->connection_closed);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.writer_blocked = cdc.update_requested = 1;
    rig_peer_writes(rig, bytes, CAP);
    cdc = rig_peer_cdc(rig);
    cdc.writer_blocked = cdc.update_requested = 1;
    rig_take(rig, &cdc);
    rig_complete_all(rig);
    rig_wait(rig, 1000 * RIG_MS);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-CDC-15, SMCR-ABT-07 */
Test(cdc, SMCR_ABT_07_nothing_follows_an_abort)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_send(rig, bytes, 100, 0);
    rig_send(rig, bytes, 100, 0); /* corked */
    smcr_conn_abort(rig->conn, rig->now_ns);
    cr_assert_eq(rig_next(rig)->len_bytes, 100);
    cr_assert_not(rig_next(rig)->cdc.abnormal_close);
    const struct rig_post *last = rig_next(rig);
    cr_assert(last->is_cdc && last->cdc.abnormal_close);
    rig_complete_all(rig);
    rig_peer_reads(rig, 100);
    rig_wait(rig, 100 * RIG_MS);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-SC-08, SMCR-DAT-12 */
Test(cdc, SMCR_DAT_12_what_comes_before_the_confirm_is_held)
{
    struct rig *rig = rig_new_in_handshake(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, "hello ", 6);
    rig_peer_sends(rig, "world", 5);
    struct smcr_cdc old = rig_peer_cdc(rig);
    old.seq = 1;
    rig_take(rig, &old);
    uint8_t out[16];
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), -ENOTCONN);
    cr_assert_eq(rig_events(rig), 0);
    rig_activate(rig);
    cr_assert_eq(rig_events(rig), SMCR_EVENT_ESTABLISHED | SMCR_EVENT_READABLE | SMCR_EVENT_WRITABLE);
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), 11);
    cr_assert_arr_eq(out, "hello world", 11);
    cr_assert_eq(rig->conn->data->rx.seq, 2);
    rig_free(rig);
}

/* covers: SMCR-SC-08, SMCR-FOV-08 */
Test(cdc, SMCR_DAT_12_a_loss_before_the_confirm_is_remembered)
{
    struct rig *rig = rig_new_in_handshake(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, "a", 1);
    struct smcr_cdc f = rig_peer_cdc(rig);
    f.failover_validation = 1;
    f.seq = 1;
    rig_take(rig, &f);
    rig_activate(rig);
    cr_assert_eq(rig->conn->state, SMCR_CONN_ACTIVE);
    rig_free(rig);

    rig = rig_new_in_handshake(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, "a", 1);
    f.seq = 2;
    rig_take(rig, &f);
    rig_activate(rig);
    expect_reset(rig);
    rig_free(rig);
}

/* A close that came early is one, too. */
/* covers: SMCR-SC-08, SMCR-CLS-06 */
Test(cdc, SMCR_DAT_12_a_close_before_the_confirm_is_held)
{
    struct rig *rig = rig_new_in_handshake(ELEM, ELEM, SNDBUF);
    rig_peer_writes(rig, "bye", 3);
    rig_peer_flag(rig, false, true, false);
    rig_activate(rig);
    cr_assert_eq(rig->conn->state, SMCR_CONN_APP_CLOSE_WAIT_1);
    uint8_t out[16];
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), 3);
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), 0);
    rig_free(rig);
}
