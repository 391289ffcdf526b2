/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending and receiving: SMCR sections 13 and 15.1. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/smcr_data/rig.h"

#define ELEM   16384
#define CAP    (ELEM - 4)
#define SNDBUF 65536
#define CHUNK  (ELEM / 4)

static uint8_t data[4 * SNDBUF], out[4 * SNDBUF];

TestSuite(data);

static struct rig *start(void)
{
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 31 + i / 253);
    return rig_new(ELEM, ELEM, SNDBUF);
}

static size_t posted_bytes(struct rig *rig)
{
    size_t n = 0;
    for (const struct rig_post *post; (post = rig_next(rig));)
        n += post->len_bytes;
    return n;
}

/* covers: SMCR-DAT-02 */
Test(data, SMCR_DAT_02_two_writes_at_the_end_and_one_cdc)
{
    struct rig *rig = start();
    rig_at(rig, CAP - 10, 0, 0);
    cr_assert_eq(rig_send(rig, data, 30, 0), 30);
    const struct rig_post *post = rig_next(rig);
    cr_assert_eq(post->offset_bytes, ELEM - 10);
    cr_assert_eq(post->len_bytes, 10);
    post = rig_next(rig);
    cr_assert_eq(post->offset_bytes, 4);
    cr_assert_eq(post->len_bytes, 20);
    cr_assert(rig_next(rig)->is_cdc);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-DAT-02, SMCR-CDC-08 */
Test(data, SMCR_DAT_02_a_write_up_to_the_end_leaves_the_cursor_at_4)
{
    struct rig *rig = start();
    rig_at(rig, CAP - 10, 0, 0);
    cr_assert_eq(rig_send(rig, data, 10, 0), 10);
    cr_assert_eq(rig_next(rig)->len_bytes, 10);
    const struct smcr_cdc *cdc = &rig_next(rig)->cdc;
    cr_assert_eq(cdc->producer_cursor, 4);
    cr_assert_eq(cdc->producer_wrap, 1);
    rig_free(rig);
}

/* covers: SMCR-DAT-03 */
Test(data, SMCR_DAT_03_never_past_the_consumer_cursor)
{
    struct rig *rig = start();
    cr_assert_eq(rig_send(rig, data, SNDBUF, 0), SNDBUF);
    for (int i = 0; i < 10; i++)
        rig_complete_all(rig);
    cr_assert_eq(posted_bytes(rig), CAP);
    rig_peer_reads(rig, 1000);
    for (int i = 0; i < 10; i++)
        rig_complete_all(rig);
    cr_assert_eq(posted_bytes(rig), 1000);
    rig_free(rig);
}

/* covers: SMCR-DAT-05 */
Test(data, SMCR_DAT_05_the_buffer_is_free_when_its_cdc_has_completed)
{
    struct rig *rig = start();
    cr_assert_eq(rig_send(rig, data, sizeof data, 0), SNDBUF);
    cr_assert_eq(rig_send(rig, data, 1, 0), -EAGAIN);
    rig_peer_reads(rig, CHUNK); /* consumed there, but not yet known to be complete here */
    cr_assert_eq(rig_send(rig, data, 1, 0), -EAGAIN);
    rig_events(rig);
    rig_complete(rig, 1);
    cr_assert(rig_events(rig) & SMCR_EVENT_WRITABLE);
    struct smcr_conn_status status;
    smcr_conn_status(rig->conn, &status);
    cr_assert_eq(status.writable_bytes, CHUNK);
    cr_assert_eq(status.unsent_bytes, SNDBUF - CHUNK);
    cr_assert_eq(rig_send(rig, data, sizeof data, 0), CHUNK);
    rig_free(rig);
}

/* covers: SMCR-DAT-06, SMCR-RMB-06 */
Test(data, SMCR_DAT_06_what_came_is_readable)
{
    struct rig *rig = start();
    cr_assert_eq(rig_recv(rig, out, 10, 0), -EAGAIN);
    rig_events(rig);
    rig_peer_writes(rig, data, 3000);
    cr_assert_eq(rig_recv(rig, out, 10, 0), -EAGAIN, "the write alone is no event");
    rig_peer_sends(rig, data + 3000, 0);
    cr_assert(rig_events(rig) & SMCR_EVENT_READABLE);
    struct smcr_conn_status status;
    smcr_conn_status(rig->conn, &status);
    cr_assert_eq(status.readable_bytes, 3000);
    cr_assert_eq(rig_recv(rig, out, 100, SMCR_RECV_PEEK), 100);
    cr_assert_eq(rig_recv(rig, out, 1000, 0), 1000);
    cr_assert_eq(rig_recv(rig, out + 1000, sizeof out, 0), 2000);
    cr_assert_arr_eq(out, data, 3000);
    cr_assert_eq(rig_recv(rig, out, 10, 0), -EAGAIN);
    rig_free(rig);
}

/* covers: SMCR-DAT-06 */
Test(data, SMCR_DAT_06_reads_come_round_the_end)
{
    struct rig *rig = start();
    rig_at(rig, 0, CAP - 100, 0);
    rig_peer_sends(rig, data, 300);
    cr_assert_eq(rig_recv(rig, out, 1000, SMCR_RECV_PEEK), 300);
    cr_assert_arr_eq(out, data, 300);
    memset(out, 0, 300);
    cr_assert_eq(rig_recv(rig, out, 1000, 0), 300);
    cr_assert_arr_eq(out, data, 300);
    rig_free(rig);
}

/* The end of the send buffer and that of the element are at different places. */
/* covers: SMCR-DAT-02, SMCR-DAT-11 */
Test(data, SMCR_DAT_11_a_stream_goes_round_both_rings)
{
    struct rig *rig = start();
    uint64_t sent = 0, checked = 0;
    uint8_t *expected = malloc(2 * sizeof data);
    cr_assert_not_null(expected);
    for (uint32_t n = 1; sent < sizeof data - 9000; n = n * 5 % 8999) {
        cr_assert_eq(rig_send(rig, data + sent, n, 0), n);
        sent += n;
        while (rig_complete_all(rig))
            ;
        for (const struct rig_post *post; (post = rig_next(rig));) {
            if (post->is_cdc)
                continue;
            cr_assert_arr_eq(rig->peer_elem + post->offset_bytes, data + checked, post->len_bytes);
            checked += post->len_bytes;
        }
        cr_assert_eq(checked, sent);
        rig_forget(rig);
        rig_peer_reads(rig, n);
    }
    free(expected);
    rig_free(rig);
}

/* covers: SMCR-DAT-11 */
Test(data, SMCR_DAT_11_several_are_in_flight_and_end_in_order)
{
    struct rig *rig = start();
    cr_assert_eq(rig_send(rig, data, CAP, 0), CAP);
    cr_assert_eq(rig_unseen(rig, true), 3, "three chunks; the rest is less than one");
    cr_assert_eq(rig->conn->posts, 3);
    rig_complete(rig, 2);
    cr_assert_eq(rig->conn->data->tx.acked, 2 * CHUNK);
    cr_assert_eq(rig->conn->data->tx.completed_seq, 2);
    rig_complete_all(rig);
    cr_assert_eq(rig_unseen(rig, true), 4);
    rig_free(rig);
}

/* covers: SMCR-DAT-11 */
Test(data, SMCR_DAT_11_the_posts_of_a_connection_are_bounded)
{
    struct rig *rig = rig_new(65536, 65536, SNDBUF);
    rig->conn->data->tx.chunk_bytes = 1;
    cr_assert_eq(rig_send(rig, data, 40, 0), 40);
    cr_assert_eq(rig->conn->posts, SMCR_FLIGHT);
    rig_complete(rig, 1);
    cr_assert_eq(rig->conn->posts, SMCR_FLIGHT);
    rig_complete_all(rig);
    rig_complete_all(rig);
    cr_assert_eq(posted_bytes(rig), 40);
    rig_free(rig);
}

/* covers: SMCR-DAT-07 */
Test(data, SMCR_DAT_07_a_first_small_write_leaves_at_once_and_the_next_gather_behind_it)
{
    struct rig *rig = start();
    rig_send(rig, data, 1, 0);
    cr_assert_eq(rig_unseen(rig, true), 1);
    for (int i = 1; i < 100; i++)
        rig_send(rig, data + i, 1, 0);
    cr_assert_eq(rig_unseen(rig, true), 1);
    rig_complete_all(rig);
    cr_assert_eq(rig_unseen(rig, true), 2, "99 bytes in one");
    cr_assert_eq(posted_bytes(rig), 100);
    cr_assert_arr_eq(rig->peer_elem + 4, data, 100);
    rig_free(rig);
}

/* covers: SMCR-DAT-07 */
Test(data, SMCR_DAT_07_a_chunk_does_not_wait)
{
    struct rig *rig = start();
    rig_send(rig, data, 1, 0);
    for (int i = 0; i < 8; i++)
        rig_send(rig, data, CHUNK / 8, 0);
    cr_assert_eq(rig_unseen(rig, true), 2);
    cr_assert_eq(posted_bytes(rig), 1 + CHUNK);
    rig_free(rig);
}

/* covers: SMCR-DAT-07 */
Test(data, SMCR_DAT_07_the_flush_timer_ends_the_waiting)
{
    struct rig *rig = start();
    rig_send(rig, data, 1, 0);
    rig_send(rig, data, 1, 0);
    rig_wait(rig, 5 * RIG_MS - 1);
    cr_assert_eq(rig_unseen(rig, true), 1);
    rig_wait(rig, 1);
    cr_assert_eq(rig_unseen(rig, true), 2);
    rig_send(rig, data, 1, 0);
    rig_wait(rig, 3 * RIG_MS);
    cr_assert_eq(rig_unseen(rig, true), 2, "the next ones wait from anew");
    rig_wait(rig, 2 * RIG_MS);
    cr_assert_eq(rig_unseen(rig, true), 3);
    rig_free(rig);
}

/* covers: SMCR-DAT-07 */
Test(data, SMCR_DAT_07_nodelay_goes_at_once)
{
    struct rig *rig = start();
    for (unsigned n = 1; n <= 1000; n++) { /* each is a write of its own */
        rig_send(rig, data, 1, SMCR_SEND_NODELAY);
        cr_assert_eq(rig_unseen(rig, true), n);
        if (n % 8 == 0)
            rig_complete_all(rig);
    }
    cr_assert_eq(posted_bytes(rig), 1000);
    rig_free(rig);
}

/* covers: SMCR-DAT-07 */
Test(data, SMCR_DAT_07_more_waits_for_the_rest_or_the_timer)
{
    struct rig *rig = start();
    rig_send(rig, data, 10, SMCR_SEND_MORE);
    cr_assert_eq(rig_unseen(rig, true), 0);
    rig_send(rig, data, 10, 0);
    cr_assert_eq(posted_bytes(rig), 20);
    rig_complete_all(rig);
    rig_send(rig, data, 10, SMCR_SEND_MORE | SMCR_SEND_NODELAY);
    rig_wait(rig, 4 * RIG_MS);
    cr_assert_eq(posted_bytes(rig), 0);
    rig_wait(rig, 1 * RIG_MS);
    cr_assert_eq(posted_bytes(rig), 10);
    rig_free(rig);
}

/* More cannot come while there is no room for it. */
/* covers: SMCR-DAT-07 */
Test(data, SMCR_DAT_07_more_does_not_wait_when_the_buffer_or_the_window_is_short)
{
    struct rig *rig = rig_new(ELEM, ELEM, 2048); /* less than a write that would not wait */
    rig->conn->data->tx.chunk_bytes = 4096;
    cr_assert_eq(rig_send(rig, data, 3000, SMCR_SEND_MORE), 2048);
    cr_assert_eq(posted_bytes(rig), 2048);
    rig_free(rig);

    rig = start();
    rig_send(rig, data, CAP - 100, 0);
    for (int i = 0; i < 5; i++)
        rig_complete_all(rig);
    posted_bytes(rig);
    rig_send(rig, data, 2 * CHUNK, SMCR_SEND_MORE);
    cr_assert_eq(posted_bytes(rig), 100);
    rig_free(rig);
}

/* covers: SMCR-DAT-05 */
Test(data, SMCR_DAT_05_who_fills_the_buffer_exactly_hears_of_room_too)
{
    struct rig *rig = start();
    cr_assert_eq(rig_send(rig, data, SNDBUF, 0), SNDBUF);
    rig_events(rig);
    rig_complete(rig, 1);
    cr_assert_eq(rig_events(rig), SMCR_EVENT_WRITABLE);
    rig_complete(rig, 1);
    cr_assert_eq(rig_events(rig), 0);
    rig_free(rig);
}

/* Window and buffer are full: the message that says so makes no room when it completes, and the word about
 * room is still owed. covers: SMCR-DAT-05 */
Test(data, SMCR_DAT_05_a_message_without_data_makes_no_room)
{
    struct rig *rig = start();
    rig_send(rig, data, SNDBUF, 0);
    for (int i = 0; i < 10; i++)
        rig_complete_all(rig);
    while (rig_send(rig, data, SNDBUF, 0) > 0)
        ;
    rig_events(rig);
    rig_complete_all(rig);
    rig_peer_sends(rig, data, CAP); /* what we read is told, in a message of its own */
    char taken[CAP];
    cr_assert_eq(rig_recv(rig, taken, CAP, 0), CAP);
    cr_assert_gt(rig_unseen(rig, true), 0);
    rig_events(rig);
    rig_complete_all(rig);
    cr_assert_not(rig_events(rig) & SMCR_EVENT_WRITABLE);
    rig_peer_reads(rig, CAP);
    rig_complete(rig, 1);
    cr_assert(rig_events(rig) & SMCR_EVENT_WRITABLE);
    rig_free(rig);
}

/* covers: SMCR-DAT-07, SMCR-CLS-03 */
Test(data, SMCR_DAT_07_the_end_of_the_stream_flushes)
{
    struct rig *rig = start();
    rig_send(rig, data, 10, SMCR_SEND_MORE);
    smcr_conn_shutdown_write(rig->conn, rig->now_ns);
    cr_assert_eq(posted_bytes(rig), 10);
    rig_free(rig);
}

/* covers: SMCR-DAT-09, SMCR-DAT-10 */
Test(data, SMCR_DAT_09_who_becomes_blocked_later_says_so_once)
{
    struct rig *rig = start();
    rig_send(rig, data, CAP, 0);
    for (int i = 0; i < 4; i++)
        rig_complete_all(rig);
    const struct smcr_cdc *last = NULL;
    for (const struct smcr_cdc *cdc; (cdc = rig_next_cdc(rig));)
        last = cdc;
    cr_assert_not(last->writer_blocked, "nothing waits");
    rig_send(rig, data, 1, 0);
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert(cdc->writer_blocked);
    rig_send(rig, data, 1, 0);
    rig_complete_all(rig);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig->smcr.counters.tx_blocked, 1);

    rig_peer_sends(rig, data, 10);
    rig_peer_sends(rig, NULL, 0);
    rig_recv(rig, out, 10, 0);
    rig_peer_reads(rig, 1); /* one byte of room for two */
    cr_assert_eq(rig_next(rig)->len_bytes, 1);
    cdc = rig_next_cdc(rig);
    cr_assert(cdc->writer_blocked, "it stays until there is no need");
    rig_complete_all(rig);
    rig_peer_reads(rig, 1);
    cr_assert_eq(rig_next(rig)->len_bytes, 1);
    cr_assert_not(rig_next_cdc(rig)->writer_blocked);
    rig_free(rig);
}

/* Each time anew.
 * covers: SMCR-DAT-09 */
Test(data, SMCR_DAT_09_who_becomes_blocked_again_says_so_again)
{
    struct rig *rig = start();
    for (unsigned round = 1; round <= 2; round++) {
        rig_send(rig, data, CAP, 0);
        for (int i = 0; i < 4; i++)
            rig_complete_all(rig);
        while (rig_next(rig))
            ;
        rig_send(rig, data, 1, 0);
        const struct smcr_cdc *cdc = rig_next_cdc(rig);
        cr_assert(cdc && cdc->writer_blocked, "round %u", round);
        rig_complete_all(rig);
        cr_assert_eq(rig->smcr.counters.tx_blocked, round);
        rig_peer_reads(rig, CAP);
        cr_assert_not(rig_next_cdc(rig)->writer_blocked);
        rig_complete_all(rig);
        rig_peer_reads(rig, 1);
    }
    rig_free(rig);
}

/* A link without room takes a connection on its list; others that come go behind it. */
/* covers: SMCR-DAT-11 */
Test(data, SMCR_DAT_11_who_finds_no_room_waits_for_its_turn)
{
    struct rig *rig = start();
    struct smcr_link *link = rig->conn->link;
    rig_room(rig, 0, 1);
    rig_send(rig, data, 10, 0);
    cr_assert_null(rig_next(rig), "a write needs a CDC behind it");
    cr_assert(rig->conn->wait_prev);
    cr_assert_eq(link->waiting_head, rig->conn);
    rig_send(rig, data, 10, 0);
    cr_assert_null(rig->conn->wait_next);
    rig_room(rig, 0, 2);
    rig_kick(rig, 0);
    cr_assert_eq(posted_bytes(rig), 20);
    rig_room(rig, 0, 100);

    struct smcr_conn other = {0}; /* waits already */
    rig_complete_all(rig);
    link->waiting_head = &other;
    link->waiting_tail = &other.wait_next;
    rig_send(rig, data, 10, 0);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(other.wait_next, rig->conn);
    smcr_tx_set_link(rig->conn, &rig->group.links[1]);
    cr_assert_null(other.wait_next);
    cr_assert_eq(link->waiting_tail, &other.wait_next);
    link->waiting_head = NULL;
    rig_free(rig);
}

/* covers: SMCR-SOC-05 */
Test(data, SMCR_SOC_05_what_send_and_recv_say_when_they_cannot)
{
    struct rig *rig = rig_new_in_handshake(ELEM, ELEM, SNDBUF);
    cr_assert_eq(rig_send(rig, data, 1, 0), -ENOTCONN);
    cr_assert_eq(rig_recv(rig, data, 1, 0), -ENOTCONN);
    rig_activate(rig);
    cr_assert_eq(rig_send(rig, data, 0, 0), 0);
    cr_assert_eq(rig_recv(rig, out, 0, 0), 0);
    smcr_conn_shutdown_write(rig->conn, rig->now_ns);
    cr_assert_eq(rig_send(rig, data, 1, 0), -EPIPE);
    rig_peer_sends(rig, data, 5);
    rig_peer_flag(rig, true, false, false);
    cr_assert_eq(rig_recv(rig, out, 10, 0), 5);
    cr_assert_eq(rig_recv(rig, out, 10, 0), 0);
    smcr_conn_abort(rig->conn, rig->now_ns);
    cr_assert_eq(rig_send(rig, data, 1, 0), -ECONNABORTED);
    cr_assert_eq(rig_recv(rig, out, 1, 0), -ECONNABORTED);
    rig_free(rig);
}

/* covers: SMCR-RMB-07, SMCR-DAT-06 */
Test(data, SMCR_RMB_07_an_overwritten_eye_catcher_ends_the_connection)
{
    struct rig *rig = start();
    rig_peer_sends(rig, data, 100);
    smcr_elem(&rig->rmb, RIG_INDEX)[2] ^= 1;
    cr_assert_eq(rig_recv(rig, out, 10, 0), -ECONNRESET);
    cr_assert_eq(rig->smcr.counters.eye_catcher, 1);
    cr_assert_eq(rig->conn->state, SMCR_CONN_PEER_ABORT_WAIT);
    rig_free(rig);

    rig = start();
    smcr_elem(&rig->rmb, RIG_INDEX)[0] ^= 1;
    rig_events(rig);
    rig_peer_sends(rig, data, 100);
    cr_assert(rig_events(rig) & SMCR_EVENT_RESET, "at the CDC already");
    cr_assert_eq(rig->smcr.counters.eye_catcher, 1);
    rig_free(rig);
}

/* rig.c refuses a write below offset 4; here the neighbours of the element are looked at too. */
/* covers: SMCR-RMB-08 */
Test(data, SMCR_RMB_08_the_peers_eye_catcher_stays)
{
    struct rig *rig = start();
    memcpy(rig->peer_elem, "\xe2\xd4\xc3\xd9", 4);
    for (int i = 0; i < 20; i++) {
        rig_send(rig, data, 3000, 0);
        rig_complete_all(rig);
        rig_complete_all(rig);
        rig_peer_reads(rig, 3000);
    }
    cr_assert_arr_eq(rig->peer_elem, "\xe2\xd4\xc3\xd9", 4);
    rig_free(rig);
}

/* covers: SMCR-SC-08 */
Test(data, prepare_can_fail_and_leaves_nothing)
{
    struct rig *rig = rig_new_in_handshake(ELEM, ELEM, SNDBUF);
    struct smcr_conn_data *data_part = rig->conn->data;
    unsigned live = rig->alloc.live;
    rig->conn->data = NULL;
    rig->alloc.fail_at = rig->alloc.calls + 1;
    cr_assert_eq(smcr_conn_prepare(rig->conn, rig->now_ns), -ENOMEM);
    cr_assert_null(rig->conn->data);
    cr_assert_eq(rig->alloc.live, live);
    rig->conn->data = data_part;
    rig_activate(rig);
    rig_free(rig);
}

/* covers: SMCR-DAT-05 */
Test(data, the_data_path_allocates_nothing)
{
    struct rig *rig = start();
    unsigned calls = rig->alloc.calls;
    for (int i = 0; i < 50; i++) {
        rig_send(rig, data, 5000, 0);
        rig_complete_all(rig);
        rig_complete_all(rig);
        rig_peer_reads(rig, 5000);
        rig_peer_sends(rig, data, 5000);
        rig_recv(rig, out, 5000, 0);
    }
    rig_lose_link(rig);
    rig_complete_all(rig);
    rig_close(rig);
    cr_assert_eq(rig->alloc.calls, calls);
    rig_free(rig);
}
