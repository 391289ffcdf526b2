/* SPDX-License-Identifier: BSD-2-Clause */
/* Rsockets over iWARP, where a message is a SEND behind its RDMA WRITE: what a peer made of verbs sees of
 * that. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "test/verbs/pair.h"
#include "test/verbs/rs_here.h"

static int meet_with(struct rs_peer *peer, int *listener, int receives, uint16_t credits)
{
    *listener = rs_here_listen();
    rs_here_set(*listener, SOL_RDMA, RDMA_RQSIZE, receives);
    rs_peer_open(peer, RS_HERE_PORT);
    peer->own.credits = credits;
    rs_peer_connect(peer);
    int server = raccept(*listener, NULL, NULL);
    cr_assert_geq(server, 0);
    return server;
}

Test(rsocket_iwarp, a_message_is_a_send_behind_its_write)
{
    struct rs_peer peer;
    uint8_t bytes[5];
    int listener, server = rs_here_meet(&peer, &listener);
    memcpy(peer.memory + 4096, "hello", 5);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 5), peer.other.data.addr, peer.other.data.key, 5),
                 IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, bytes, 5, MSG_WAITALL), 5);
    cr_assert_arr_eq(bytes, "hello", 5);
    cr_assert_eq(rsend(server, "again", 5, 0), 5);
    uint32_t msg = rs_peer_next(&peer);
    if (msg >> 29 == RS_OP_SGL)
        msg = rs_peer_next(&peer);
    cr_assert_eq(msg, rs_msg(RS_OP_DATA, 5));
    cr_assert_arr_eq(peer.memory + 4096, "again", 5);
    rs_here_part(&peer, listener, server);
}

/* A SEND that finds no receive would end the stream. */
Test(rsocket_iwarp, messages_without_credit_have_receives_of_their_own)
{
    enum { CREDITS = 16, WITHOUT = 8 };
    struct rs_peer peer;
    uint8_t bytes[CREDITS];
    int listener, server = meet_with(&peer, &listener, CREDITS, 32);
    for (unsigned i = 0; i < CREDITS; i++)
        cr_assert_eq(
            rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), peer.other.data.addr + i, peer.other.data.key, 1),
            IBV_WC_SUCCESS);
    for (unsigned i = 0; i < WITHOUT; i++)
        cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_SGL, 32), 0, 0, 0), IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, bytes, CREDITS, MSG_WAITALL), CREDITS);
    cr_assert_eq(rsend(server, "x", 1, 0), 1, "it goes on");
    while (rs_peer_next(&peer) != rs_msg(RS_OP_DATA, 1))
        ;
    rs_here_part(&peer, listener, server);
}

/* rdma-core's library has no receives for what needs no credit: it gets less messages than it has credits. */
Test(rsocket_iwarp, credits_are_left_for_messages_without)
{
    struct rs_peer peer;
    int listener, server = meet_with(&peer, &listener, 64, 20), sent = 0;
    while (rsend(server, "x", 1, MSG_DONTWAIT) == 1 && sent <= 20)
        sent++;
    cr_assert_eq(sent, 12);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_SGL, 22), 0, 0, 0), IBV_WC_SUCCESS);
    cr_assert_eq(rsend(server, "xx", 2, 0), 2);
    cr_assert_eq(rsend(server, "x", 1, 0), 1);
    cr_assert_eq(rsend(server, "x", 1, MSG_DONTWAIT), -1);
    rs_here_part(&peer, listener, server);
}

/* What keeps it alive takes none of the peer's receives. */
Test(rsocket_iwarp, is_kept_alive_without_messages)
{
    struct rs_peer peer;
    int listener, server = rs_here_meet(&peer, &listener);
    struct rsock *s = rs_need(server);
    for (unsigned i = 0; i < 2 * RS_PEER_RECVS;) {
        rs_progress(s);
        int err = rs_post_ctrl(s, RS_CTRL_KEEPALIVE);
        cr_assert(err == 0 || err == EAGAIN);
        i += err == 0;
    }
    rs_done(s);
    cr_assert_eq(rsend(server, "x", 1, 0), 1);
    for (uint32_t msg; (msg = rs_peer_next(&peer)) != rs_msg(RS_OP_DATA, 1);)
        cr_assert_eq(msg >> 29, RS_OP_SGL, "0x%08x", msg);
    rs_here_part(&peer, listener, server);
}

/* The end of a stream is what the peer says, not that its connection was lost. */
Test(rsocket_iwarp, a_stream_that_is_cut_fails_behind_what_came)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct rs_peer peer;
    char byte;
    int listener, server = rs_here_meet(&peer, &listener);
    const struct rs_sge *half = &peer.other.data;
    struct rsock *s = rs_need(server);
    const uint32_t places = s->ctrl_free;
    rs_done(s);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), half->addr, half->key, 1), IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, &byte, 1, MSG_PEEK), 1);
    /* What the server lends then would fail it, were that still under way. */
    for (rs_need(server); s->ctrl_free < places;)
        rs_progress(s);
    rs_done(s);
    cr_assert_eq(ibv_modify_qp(peer.id->qp, &error, IBV_QP_STATE), 0);
    cr_assert_eq(rrecv(server, &byte, 1, 0), 1);
    rs_here_fails_with(server, ECONNRESET);
    rs_here_part(&peer, listener, server);
}

Test(rsocket_iwarp, a_stream_that_is_cut_behind_its_end_has_ended)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct pollfd polled = {.events = 0};
    struct rs_peer peer;
    char byte;
    int listener, server = rs_here_meet(&peer, &listener);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_CTRL, RS_CTRL_SHUTDOWN), 0, 0, 0), IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, &byte, 1, 0), 0);
    cr_assert_eq(ibv_modify_qp(peer.id->qp, &error, IBV_QP_STATE), 0);
    polled.fd = server;
    cr_assert_eq(rpoll(&polled, 1, PAIR_WAIT_MS), 1);
    cr_assert_eq(polled.revents, POLLHUP, "0x%x", polled.revents);
    cr_assert_eq(rrecv(server, &byte, 1, 0), 0);
    rs_here_part(&peer, listener, server);
}

Test(rsocket_iwarp, a_peer_of_the_other_order_of_bytes_is_refused)
{
    struct rs_peer peer;
    uint8_t data[RS_CONN_DATA_BYTES];
    int listener = rs_here_listen();
    rs_peer_open(&peer, RS_HERE_PORT);
    peer.own.is_big_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    rs_put_conn_data(&peer.own, data);
    cr_assert_eq(rs_peer_ask(&peer, data, sizeof data), ECONNREFUSED);
    rs_peer_close(&peer);
    rclose(listener);
}

Test(rsocket_iwarp, a_send_of_another_length_is_no_message)
{
    struct rs_peer peer;
    int listener, server = rs_here_meet(&peer, &listener);
    char byte;
    cr_assert_eq(rs_peer_say(&peer, "\1\0\0", 3), IBV_WC_SUCCESS); /* with a zero it would be RS_OP_DATA */
    memcpy(peer.memory + 4096, "y", 1);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), peer.other.data.addr, peer.other.data.key, 1),
                 IBV_WC_SUCCESS);
    cr_assert_eq(rrecv(server, &byte, 1, 0), 1);
    cr_assert_eq(byte, 'y');
    cr_assert_eq(rrecv(server, &byte, 1, MSG_DONTWAIT), -1);
    rs_here_part(&peer, listener, server);
}
