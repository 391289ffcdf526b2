/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection that goes on over another link: SMCR section 17. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/smcr_data/rig.h"

#define ELEM   16384
#define CAP    (ELEM - 4)
#define SNDBUF 65536
#define CHUNK  (ELEM / 4)

static uint8_t data[SNDBUF];

static struct rig *active(void)
{
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 13 + i / 250);
    return rig_new(ELEM, ELEM, SNDBUF);
}

static const struct rig_post *expect_validation(struct rig *rig, uint16_t seq)
{
    const struct rig_post *post = rig_next(rig);
    cr_assert_not_null(post);
    cr_assert(post->is_cdc && post->cdc.failover_validation);
    cr_assert_eq(post->cdc.seq, seq);
    static const uint8_t zeros[36];
    uint8_t rest[36];
    memcpy(rest, post->message + 8, sizeof rest);
    cr_assert_eq(rest[16], 0x08);
    rest[16] = 0;
    cr_assert_arr_eq(rest, zeros, sizeof rest, "SMCR-CDC-14: nothing else is said");
    return post;
}

static void skip(struct rig *rig)
{
    while (rig_next(rig))
        ;
}

/* covers: SMCR-FOV-05, SMCR-FOV-07 */
Test(failover, SMCR_FOV_05_nothing_was_ever_sent)
{
    struct rig *rig = active();
    rig_lose_link(rig);
    cr_assert_eq(expect_validation(rig, 0)->link, 1);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig->smcr.counters.failovers, 1);
    cr_assert_eq(rig->smcr.counters.replayed, 0);
    rig_free(rig);
}

/* covers: SMCR-FOV-05, SMCR-FOV-07, SMCR-FOV-14 */
Test(failover, SMCR_FOV_07_an_idle_connection_says_which_was_the_last)
{
    struct rig *rig = active();
    for (int i = 0; i < 3; i++) {
        rig_send(rig, data, 100, 0);
        rig_complete_all(rig);
    }
    skip(rig);
    rig_events(rig);
    rig_lose_link(rig);
    expect_validation(rig, 3);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig_events(rig), 0, "the application sees nothing");
    cr_assert_eq(rig->group.links[0].conns, 0);
    cr_assert_eq(rig->group.links[1].conns, 1);
    rig_complete_all(rig);
    rig_send(rig, data, 100, 0);
    skip(rig);
    rig_lose_link(rig);
    expect_validation(rig, 3); /* F itself does not count: SMCR-CDC-03 */
    rig_free(rig);
}

/* A write that completed while its CDC did not: the CDC before it counts (A16). */
/* covers: SMCR-FOV-05, SMCR-FOV-09, SMCR-FOV-10, SMCR-FOV-13 */
Test(failover, SMCR_FOV_09_what_did_not_complete_is_sent_again_first)
{
    struct rig *rig = active();
    rig_send(rig, data, 3 * CHUNK, 0);
    rig_complete(rig, 1);
    skip(rig);
    memset(rig->peer_elem, 0, ELEM);
    cr_assert_eq(rig->conn->data->tx.seq, 3);
    rig_lose_link(rig);
    expect_validation(rig, 1);
    const struct rig_post *post = rig_next(rig);
    cr_assert_eq(post->link, 1);
    cr_assert_eq(post->offset_bytes, 4 + CHUNK);
    cr_assert_eq(post->len_bytes, 2 * CHUNK);
    post = rig_next(rig);
    cr_assert(post->is_cdc);
    cr_assert_eq(post->cdc.seq, 4, "above all that were sent");
    cr_assert_eq(post->cdc.producer_cursor, 4 + 3 * CHUNK);
    cr_assert_null(rig_next(rig));
    cr_assert_arr_eq(rig->peer_elem + 4 + CHUNK, data + CHUNK, 2 * CHUNK);
    cr_assert_eq(rig->smcr.counters.replayed, 1);
    rig_complete_all(rig);
    cr_assert_eq(rig->conn->data->tx.acked, 3 * CHUNK);
    rig_free(rig);
}

/* covers: SMCR-FOV-09 */
Test(failover, SMCR_FOV_09_new_data_goes_behind_it)
{
    struct rig *rig = active();
    rig_send(rig, data, 100, 0);
    rig_send(rig, data + 100, 50, 0); /* corked */
    skip(rig);
    rig_lose_link(rig);
    expect_validation(rig, 0);
    cr_assert_eq(rig_next(rig)->len_bytes, 100);
    cr_assert_eq(rig_next(rig)->cdc.producer_cursor, 104);
    cr_assert_null(rig_next(rig));
    rig_complete_all(rig);
    cr_assert_eq(rig_next(rig)->len_bytes, 50);
    cr_assert_eq(rig_next(rig)->cdc.producer_cursor, 154);
    rig_free(rig);
}

/* covers: SMCR-FOV-09, SMCR-DAT-02 */
Test(failover, SMCR_FOV_09_the_replay_comes_round_both_rings)
{
    struct rig *rig = active();
    uint64_t at = 12 * (uint64_t)SNDBUF - 700;
    at += CAP - 5000 - at % CAP; /* 5000 before the end of the element */
    rig_at(rig, at, 0, 77);
    rig_send(rig, data, CAP, 0);
    for (int i = 0; i < 5; i++) {
        for (struct smcr_tx *tx = &rig->conn->data->tx; tx->sent < tx->head;)
            rig_wait(rig, 5 * RIG_MS);
    }
    skip(rig);
    memset(rig->peer_elem, 0xee, ELEM);
    rig_lose_link(rig);
    expect_validation(rig, 77);
    uint32_t sum = 0;
    const struct rig_post *post;
    while ((post = rig_next(rig)) && !post->is_cdc)
        sum += post->len_bytes;
    cr_assert_eq(sum, CAP);
    cr_assert_eq(rig->peer_elem[3], 0xee);
    cr_assert_arr_eq(rig->peer_elem + ELEM - 5000, data, 5000);
    cr_assert_arr_eq(rig->peer_elem + 4, data + 5000, CAP - 5000);
    rig_free(rig);
}

/* covers: SMCR-FOV-12 */
Test(failover, SMCR_FOV_12_what_the_peer_has_consumed_is_left_alone)
{
    struct rig *rig = active();
    rig_send(rig, data, 3 * CHUNK, 0);
    rig_peer_reads(rig, CHUNK + 10); /* it came, but its acknowledgement did not */
    skip(rig);
    memset(rig->peer_elem, 0xee, ELEM);
    rig_lose_link(rig);
    expect_validation(rig, 0);
    const struct rig_post *post = rig_next(rig);
    cr_assert_eq(post->offset_bytes, 4 + CHUNK + 10);
    cr_assert_eq(post->len_bytes, 2 * CHUNK - 10);
    cr_assert_eq(rig->peer_elem[4 + CHUNK + 9], 0xee);
    rig_free(rig);

    rig = active(); /* everything */
    rig_send(rig, data, CHUNK, 0);
    rig_peer_reads(rig, CHUNK);
    skip(rig);
    rig_lose_link(rig);
    expect_validation(rig, 0);
    cr_assert(rig_next(rig)->is_cdc, "the CDC is repeated, the data is not");
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-FOV-10 */
Test(failover, SMCR_FOV_10_messages_without_data_are_repeated)
{
    struct rig *rig = active(); /* a consumer update */
    rig_peer_sends(rig, data, CAP);
    rig_recv(rig, data, CAP, 0);
    skip(rig);
    rig_lose_link(rig);
    expect_validation(rig, 0);
    const struct smcr_cdc *cdc = &rig_next(rig)->cdc;
    cr_assert_eq(cdc->consumer_wrap, 1);
    cr_assert_null(rig_next(rig));
    rig_free(rig);

    rig = active(); /* D */
    smcr_conn_shutdown_write(rig->conn, rig->now_ns);
    skip(rig);
    rig_lose_link(rig);
    expect_validation(rig, 0);
    cr_assert(rig_next(rig)->cdc.sending_done);
    cr_assert_null(rig_next(rig));
    rig_free(rig);

    rig = active(); /* C */
    rig_close(rig);
    skip(rig);
    rig_lose_link(rig);
    expect_validation(rig, 0);
    cr_assert(rig_next(rig)->cdc.connection_closed);
    cr_assert_null(rig_next(rig));
    rig_complete_all(rig);
    rig_peer_flag(rig, false, true, false);
    cr_assert(smcr_conn_is_over(rig->conn));
    rig_free(rig);

    rig = active(); /* A */
    smcr_conn_abort(rig->conn, rig->now_ns);
    skip(rig);
    rig_lose_link(rig);
    expect_validation(rig, 0);
    cr_assert(rig_next(rig)->cdc.abnormal_close);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-FOV-10, SMCR-URG-01 */
Test(failover, SMCR_FOV_10_urgent_data_stays_urgent)
{
    struct rig *rig = active();
    rig_send(rig, "abc!", 4, SMCR_SEND_URGENT);
    rig_send(rig, "def", 3, 0);
    skip(rig);
    rig_lose_link(rig);
    expect_validation(rig, 0);
    cr_assert_eq(rig_next(rig)->len_bytes, 4);
    const struct smcr_cdc *cdc = &rig_next(rig)->cdc;
    cr_assert(cdc->urgent_pending && cdc->urgent_present);
    cr_assert_eq(cdc->producer_cursor, 8);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* The last CDC of a connection that is over at the peer: it is repeated until it arrives. */
/* covers: SMCR-FOV-10, SMCR-CLS-09 */
Test(failover, SMCR_FOV_10_the_last_word_of_a_closed_connection)
{
    struct rig *rig = active();
    rig_peer_flag(rig, false, true, false);
    rig_close(rig);
    cr_assert_eq(rig->conn->state, SMCR_CONN_CLOSED);
    skip(rig);
    rig_lose_link(rig);
    cr_assert_not(smcr_conn_is_over(rig->conn));
    expect_validation(rig, 0);
    cr_assert(rig_next(rig)->cdc.connection_closed);
    rig_complete_all(rig);
    cr_assert(smcr_conn_is_over(rig->conn));
    rig_free(rig);
}

/* Nor does it go while the link that it moves to has no room for its last word.
 * covers: SMCR-FOV-10 */
Test(failover, SMCR_FOV_10_the_last_word_waits_for_room)
{
    struct rig *rig = active();
    rig_peer_flag(rig, false, true, false);
    rig_close(rig);
    cr_assert_eq(rig->conn->state, SMCR_CONN_CLOSED);
    skip(rig);
    rig_room(rig, 1, 0);
    rig_lose_link(rig);
    cr_assert_null(rig_next(rig));
    cr_assert_not(rig->elem_is_back);
    rig_room(rig, 1, 8);
    rig_kick(rig, 1);
    expect_validation(rig, 0);
    cr_assert(rig_next(rig)->cdc.connection_closed);
    rig_complete_all(rig);
    cr_assert(smcr_conn_is_over(rig->conn));
    rig_free(rig);
}

/* One that has said C with success does not speak again: SMCR-CDC-15. */
/* covers: SMCR-CDC-15, SMCR-FOV-07 */
Test(failover, SMCR_CDC_15_who_has_closed_moves_in_silence)
{
    struct rig *rig = active();
    rig_close(rig);
    rig_complete_all(rig);
    skip(rig);
    rig_lose_link(rig);
    cr_assert_null(rig_next(rig));
    cr_assert_eq(rig->conn->link, &rig->group.links[1]);
    rig_peer_flag(rig, false, true, false);
    cr_assert(smcr_conn_is_over(rig->conn));
    rig_free(rig);
}

static void peer_validates(struct rig *rig, uint16_t seq)
{
    struct smcr_cdc f = {.type = SMCR_CDC,
                         .length = SMCR_MSG_BYTES,
                         .seq = seq,
                         .alert_token = RIG_TOKEN,
                         .failover_validation = 1};
    rig_take(rig, &f);
}

/* covers: SMCR-FOV-06, SMCR-FOV-08, SMCR-FOV-19 */
Test(failover, SMCR_FOV_08_the_peers_validation)
{
    struct rig *rig = active();
    peer_validates(rig, 0); /* nothing was processed, nothing is missing */
    for (int i = 0; i < 5; i++)
        rig_peer_sends(rig, data, 10);
    peer_validates(rig, 5);
    peer_validates(rig, 3); /* later ones came whose acknowledgement was lost */
    peer_validates(rig, 5);
    cr_assert_eq(rig->conn->state, SMCR_CONN_ACTIVE);
    cr_assert_null(rig_next(rig), "no reply");
    cr_assert_eq(rig->conn->data->rx.seq, 5);
    rig_events(rig);
    peer_validates(rig, 6);
    cr_assert_eq(rig->conn->state, SMCR_CONN_PEER_ABORT_WAIT);
    cr_assert(rig_events(rig) & SMCR_EVENT_RESET);
    cr_assert_eq(rig->smcr.counters.failover_lost, 1);
    cr_assert(rig_next(rig)->cdc.abnormal_close);
    rig_free(rig);
}

/* Behind a part of it are bytes that were sent before, which the peer may be reading: none of them is spare
 * (the rig looks at each write).
 * covers: SMCR-FOV-09, SMCR-QP-02 */
Test(failover, SMCR_FOV_09_a_replay_in_small_writes_overwrites_nothing_behind_them)
{
    struct rig *rig = active();
    rig->group.links[1].write_max_bytes = 256;
    cr_assert_eq(rig_send(rig, data, 1000, 0), 1000);
    skip(rig);
    rig_lose_link(rig);
    expect_validation(rig, 0);
    for (unsigned at = 0; at < 1000; at += 256) {
        const struct rig_post *post = rig_next(rig);
        cr_assert_not_null(post);
        cr_assert_eq(post->len_bytes, at + 256 < 1000 ? 256 : 1000 - at);
        post = rig_next(rig);
        cr_assert_not_null(post);
        cr_assert(post->is_cdc);
    }
    rig_free(rig);
}

/* covers: SMCR-FOV-08 */
Test(failover, SMCR_FOV_08_the_comparison_is_serial)
{
    struct rig *rig = active();
    rig->conn->data->rx.seq = 2;
    peer_validates(rig, 65535);
    cr_assert_eq(rig->conn->state, SMCR_CONN_ACTIVE);
    rig->conn->data->rx.seq = 65535;
    peer_validates(rig, 0);
    cr_assert_eq(rig->conn->state, SMCR_CONN_PEER_ABORT_WAIT);
    rig_free(rig);
}

/* The peer sends again what we have: nothing is doubled. */
/* covers: SMCR-FOV-09, SMCR-CDC-04 */
Test(failover, SMCR_FOV_09_a_replay_of_what_came_is_taken_once)
{
    struct rig *rig = active();
    rig_peer_sends(rig, data, 100);
    rig_peer_sends(rig, data + 100, 100);
    struct smcr_cdc same = rig_peer_cdc(rig);
    peer_validates(rig, 1);
    same.seq = 2; /* unchanged */
    rig_take(rig, &same);
    cr_assert_eq(rig->smcr.counters.cdc_old, 1);
    struct smcr_cdc merged = rig_peer_cdc(rig);
    rig_take(rig, &merged);
    cr_assert_eq(rig->conn->data->rx.produced, 200);
    uint8_t out[300];
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), 200);
    cr_assert_arr_eq(out, data, 200);
    rig_free(rig);
}

/* covers: SMCR-FOV-05, SMCR-FOV-18 */
Test(failover, SMCR_FOV_18_a_link_that_fails_during_the_replay)
{
    struct rig *rig = active();
    rig_send(rig, data, 2 * CHUNK, 0);
    rig_complete(rig, 1);
    skip(rig);
    rig_lose_link(rig);
    cr_assert_eq(expect_validation(rig, 1)->link, 1);
    skip(rig);
    rig_complete(rig, 1); /* F arrived, the rest did not */
    rig->group.links[0].state = SMCR_LINK_DOWN;
    rig_lose_link(rig);
    cr_assert_eq(expect_validation(rig, 1)->link, 2);
    const struct rig_post *post = rig_next(rig);
    cr_assert_eq(post->link, 2);
    cr_assert_eq(post->offset_bytes, 4 + CHUNK);
    cr_assert_eq(post->len_bytes, CHUNK);
    cr_assert_eq(rig_next(rig)->cdc.seq, 4);
    rig_complete_all(rig);
    cr_assert_eq(rig->conn->data->tx.completed_seq, 4);
    cr_assert_eq(rig->conn->data->tx.acked, 2 * CHUNK);
    rig_free(rig);
}

/* covers: SMCR-FOV-16, SMCR-FOV-14 */
Test(failover, SMCR_FOV_16_the_last_link)
{
    struct rig *rig = active();
    rig->group.links[1].state = rig->group.links[2].state = SMCR_LINK_DOWN;
    rig_send(rig, data, 10, 0);
    skip(rig);
    rig_lose_link(rig);
    cr_assert_eq(rig->conn->state, SMCR_CONN_CLOSED);
    cr_assert_eq(rig->tcp_resets, 1);
    cr_assert_eq(rig->conn->error, -ECONNRESET);
    cr_assert(smcr_conn_is_over(rig->conn));
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-FOV-03 */
Test(failover, SMCR_FOV_03_only_our_direction_moves)
{
    struct rig *rig = active();
    rig_lose_link(rig);
    skip(rig);
    rig_peer_sends(rig, data, 10); /* still on the first link, where rig_take() hands it in */
    uint8_t out[10];
    cr_assert_eq(rig_recv(rig, out, 10, 0), 10);
    cr_assert_eq(rig->conn->link, &rig->group.links[1]);
    rig_free(rig);
}

/* covers: SMCR-FOV-15 */
Test(failover, SMCR_FOV_15_a_voluntary_move_waits_and_validates)
{
    struct rig *rig = active();
    rig_send(rig, data, 100, 0);
    skip(rig);
    rig_move(rig, 2);
    rig_send(rig, data + 100, 100, SMCR_SEND_NODELAY);
    cr_assert_null(rig_next(rig), "the old link is quiet first");
    cr_assert_eq(rig->conn->link, &rig->group.links[0]);
    rig_complete_all(rig);
    cr_assert_eq(expect_validation(rig, 1)->link, 2);
    const struct rig_post *post = rig_next(rig);
    cr_assert_eq(post->link, 2);
    cr_assert_eq(post->offset_bytes, 104);
    cr_assert_eq(rig->conn->link, &rig->group.links[2]);
    skip(rig);
    rig_complete_all(rig);
    rig_move(rig, 1); /* idle: at once */
    cr_assert_eq(expect_validation(rig, 2)->link, 1);
    rig_move(rig, 1);
    rig_complete_all(rig);
    cr_assert_null(rig_next(rig), "it is there");
    rig_free(rig);
}

/* covers: SMCR-FOV-15 */
Test(failover, SMCR_FOV_15_the_link_to_go_to_goes_down_meanwhile)
{
    struct rig *rig = active();
    rig_send(rig, data, 100, 0);
    skip(rig);
    rig_move(rig, 2);
    rig->group.links[2].state = SMCR_LINK_DOWN;
    rig_complete_all(rig);
    cr_assert_eq(expect_validation(rig, 1)->link, 1);
    rig_free(rig);

    rig = active(); /* the one that it leaves */
    rig_send(rig, data, 100, 0);
    skip(rig);
    rig_move(rig, 2);
    rig_lose_link(rig);
    cr_assert_eq(expect_validation(rig, 0)->link, 1);
    cr_assert_eq(rig_next(rig)->len_bytes, 100);
    rig_complete_all(rig);
    cr_assert_eq(rig->conn->link, &rig->group.links[1]);
    rig_free(rig);

    rig = active(); /* all others */
    rig_send(rig, data, 100, 0);
    skip(rig);
    rig_move(rig, 2);
    rig->group.links[1].state = rig->group.links[2].state = SMCR_LINK_DOWN;
    rig_complete_all(rig);
    cr_assert_eq(rig->conn->link, &rig->group.links[0]);
    rig_send(rig, data, 100, 0);
    cr_assert_not_null(rig_next(rig), "it stays");
    rig_free(rig);
}

/* The room of the new link is short: F, then the replay in one piece when there is enough. */
/* covers: SMCR-FOV-07, SMCR-FOV-09 */
Test(failover, SMCR_FOV_09_a_new_link_without_room)
{
    struct rig *rig = active();
    rig_at(rig, CAP - 100, 0, 0);
    rig_send(rig, data, 200, 0); /* two writes */
    skip(rig);
    rig_room(rig, 1, 0);
    rig_lose_link(rig);
    cr_assert_null(rig_next(rig));
    rig_send(rig, data, 300, SMCR_SEND_NODELAY);
    cr_assert_null(rig_next(rig));
    for (unsigned room = 1; room <= 3; room += 2) {
        cr_assert(rig->conn->wait_prev);
        rig_room(rig, 1, room);
        rig_kick(rig, 1);
        if (room == 1)
            expect_validation(rig, 0);
    }
    cr_assert_eq(rig_next(rig)->len_bytes, 100);
    cr_assert_eq(rig_next(rig)->len_bytes, 100);
    cr_assert_eq(rig_next(rig)->cdc.producer_cursor, 104);
    cr_assert_null(rig_next(rig));
    rig_free(rig);
}

/* covers: SMCR-KAL-01, SMCR-KAL-02 */
Test(keepalive, SMCR_KAL_01_a_link_is_tested_when_both_were_idle)
{
    struct rig *rig = active();
    smcr_conn_set_keepalive(rig->conn, 1000 * RIG_MS, rig->now_ns);
    rig->conn->link->last_heard_ns = rig->now_ns;
    rig_wait(rig, 900 * RIG_MS);
    rig->conn->link->last_heard_ns = rig->now_ns; /* another connection's message */
    rig_wait(rig, 999 * RIG_MS);
    cr_assert_eq(rig->links_tested, 0);
    rig_wait(rig, 1 * RIG_MS);
    cr_assert_eq(rig->links_tested, 1);
    rig_wait(rig, 500 * RIG_MS);
    rig_peer_sends(rig, data, 1); /* this one is not idle, whatever the link says */
    rig_wait(rig, 999 * RIG_MS);
    cr_assert_eq(rig->links_tested, 1);
    rig_wait(rig, 1 * RIG_MS);
    cr_assert_eq(rig->links_tested, 2);
    smcr_conn_set_keepalive(rig->conn, 0, rig->now_ns);
    rig_wait(rig, 10000 * RIG_MS);
    cr_assert_eq(rig->links_tested, 2);
    rig_free(rig);
}

/* covers: SMCR-KAL-01, SMCR-CLS-04 */
Test(keepalive, SMCR_KAL_01_asked_for_before_it_is_established_and_in_half_closed_states)
{
    struct rig *rig = rig_new_in_handshake(ELEM, ELEM, SNDBUF);
    smcr_conn_set_keepalive(rig->conn, 1000 * RIG_MS, rig->now_ns);
    rig_wait(rig, 5000 * RIG_MS);
    cr_assert_eq(rig->links_tested, 0);
    rig_activate(rig);
    rig_wait(rig, 1000 * RIG_MS);
    cr_assert_eq(rig->links_tested, 1);
    smcr_conn_shutdown_write(rig->conn, rig->now_ns);
    rig_complete_all(rig);
    rig_wait(rig, 3000 * RIG_MS);
    cr_assert_eq(rig->links_tested, 4);
    rig_free(rig);
}

/* The link of a test that cannot be sent was the last one: the timer of the connection ends with it.
 * covers: SMCR-KAL-03, SMCR-FOV-16 */
Test(keepalive, SMCR_KAL_03_a_test_that_cannot_be_sent_takes_the_connection_with_it)
{
    for (unsigned given_back = 0; given_back < 2; given_back++) {
        struct rig *rig = active();
        smcr_conn_set_keepalive(rig->conn, 1000 * RIG_MS, rig->now_ns);
        rig_send(rig, data, 10, 0); /* and so a close has to wait */
        rig->test_fails = true;
        if (given_back)
            smcr_conn_release(rig->conn, false, rig->now_ns);
        while (rig->completed < rig->num_log) { /* of the link that has gone to error */
            const struct rig_post *post = &rig->log[rig->completed++];
            if (post->is_cdc)
                rig_cdc_ended(rig, post, false);
        }
        rig_wait(rig, 1001 * RIG_MS);
        cr_assert_eq(rig->links_tested, 1);
        cr_assert(rig->elem_is_back);
        rig_free(rig);
    }
}
