/* SPDX-License-Identifier: BSD-2-Clause */
/* Rsockets and a peer that does not keep to what was agreed. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/base.h"
#include "test/verbs/rs_here.h"

Test(rsocket, private_data_of_another_version)
{
    int listener = rs_here_listen();
    uint8_t data[RS_CONN_DATA_BYTES];
    struct rs_peer peer;
    rs_peer_open(&peer, RS_HERE_PORT);
    rs_put_conn_data(&peer.own, data);
    data[0] = 2;
    cr_assert_eq(rs_peer_ask(&peer, data, sizeof data), ECONNREFUSED);
    rs_peer_close(&peer);
    rs_peer_open(&peer, RS_HERE_PORT);
    cr_assert_eq(rs_peer_ask(&peer, data, 0), ECONNREFUSED, "it says nothing");
    rs_peer_close(&peer);
    rs_peer_open(&peer, RS_HERE_PORT);
    peer.own.sgl.len_bytes = 0;
    rs_put_conn_data(&peer.own, data);
    cr_assert_eq(rs_peer_ask(&peer, data, sizeof data), ECONNREFUSED, "it has no list");
    rs_peer_close(&peer);
    int client = rs_here_connect();
    rclose(client);
    rclose(listener);
}

Test(rsocket, more_bytes_than_were_lent)
{
    struct rs_peer peer;
    int listener, server = rs_here_meet(&peer, &listener);
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, RS_MSG_LENGTH_MAX), 0, 0, 0), IBV_WC_SUCCESS);
    rs_here_fails_with(server, EPROTO);
    rs_here_part(&peer, listener, server);
}

Test(rsocket, more_messages_than_there_are_credits)
{
    struct rs_peer peer;
    int listener, server = rs_here_meet(&peer, &listener);
    for (unsigned i = 0; i <= RS_QUEUE_DEFAULT; i++) {
        const struct rs_sge *half = &peer.other.data;
        cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), half->addr + i, half->key, 1),
                     IBV_WC_SUCCESS);
        struct pollfd look = {.fd = server, .events = POLLIN};
        rpoll(&look, 1, 0); /* takes what has come */
    }
    char byte;
    ssize_t got = 1;
    for (unsigned i = 0; i <= RS_QUEUE_DEFAULT && got == 1; i++)
        got = rrecv(server, &byte, 1, 0); /* what came rightly is there */
    cr_assert_eq(got, -1);
    cr_assert_eq(errno, EPROTO);
    rs_here_part(&peer, listener, server);
}

/* It lends memory that is none: writing there fails, and so does the connection. */
Test(rsocket, memory_that_is_none)
{
    struct rs_peer peer;
    int listener = rs_here_listen();
    rs_peer_open(&peer, RS_HERE_PORT);
    peer.own.data = (struct rs_sge){.addr = 0x1000, .key = 0xdead, .len_bytes = 0xffffffff};
    rs_peer_connect(&peer);
    int server = raccept(listener, NULL, NULL);
    cr_assert_eq(rsend(server, "nowhere", 7, 0), 7);
    rs_here_fails_with(server, ECONNRESET);
    rs_here_part(&peer, listener, server);
}

/* It says that much was lent, and has lent nothing; what it says without sense is left alone. */
Test(rsocket, words_without_sense)
{
    struct rs_peer peer;
    int listener, server = rs_here_meet(&peer, &listener);
    static uint8_t many[4096];
    const uint32_t words[] = {
        rs_msg(RS_OP_SGL, 0xffff),
        rs_msg(RS_OP_SGL, RS_MSG_LENGTH_MAX),
        rs_msg(RS_OP_IOMAP, 0),
        rs_msg(RS_OP_IOMAP, RS_IOMAP_MAX),
        rs_msg(RS_OP_IOMAP, RS_MSG_LENGTH_MAX),
        rs_msg((enum rs_op)1, 5),
        rs_msg((enum rs_op)5, 77),
        rs_msg(RS_OP_CTRL, 77),
        rs_msg(RS_OP_DATA, 0),
    };
    for (unsigned i = 0; i < array_len(words); i++)
        cr_assert_eq(rs_peer_send(&peer, words[i], 0, 0, 0), IBV_WC_SUCCESS);
    cr_assert_eq(rsend(server, many, 2048, 0), 2048, "the half that it lent");
    cr_assert_eq(rsend(server, many, 1, MSG_DONTWAIT), -1);
    cr_assert_eq(errno, EAGAIN);
    cr_assert_eq(riowrite(server, many, 1, 0, 0), (size_t)-1, "it has mapped nothing");
    rs_here_part(&peer, listener, server);
}

/* The list where it may write what it lends: entries of any length, at any place, and mappings. */
Test(rsocket, lists_that_lie)
{
    struct rs_peer peer;
    int listener = rs_here_listen(), server;
    rs_here_set(listener, SOL_RDMA, RDMA_IOMAPSIZE, 4);
    rs_peer_open(&peer, RS_HERE_PORT);
    rs_peer_connect(&peer);
    cr_assert_geq(server = raccept(listener, NULL, NULL), 0);
    uint8_t entry[RS_IOMAP_BYTES];
    const struct rs_iomap map = {.offset = 0x7000,
                                 .sge = {.addr = 0x2000, .key = 0xbeef, .len_bytes = 0xffffffff}};
    const struct rs_sge *list = &peer.other.sgl;
    rs_put_iomap(&map, peer.other.is_big_endian, entry);
    memcpy(peer.memory + 4096, entry, sizeof entry);
    uint64_t at = list->addr + RS_SGL_ENTRIES * RS_SGE_BYTES;
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_IOMAP, 0), at, list->key, sizeof entry), IBV_WC_SUCCESS);
    struct pollfd look = {.fd = server, .events = POLLIN};
    rpoll(&look, 1, 0);
    cr_assert_eq(riowrite(server, "xyz", 3, 0x7000, 0), 3, "it is told so");
    rs_here_fails_with(server, ECONNRESET);
    rs_here_part(&peer, listener, server);
}

/* Beside its list nobody may write. */
Test(rsocket, memory_beside_the_list)
{
    struct rs_peer peer;
    int listener, server = rs_here_meet(&peer, &listener);
    const struct rs_sge *list = &peer.other.sgl;
    cr_assert_eq(rs_peer_send(&peer, rs_msg(RS_OP_DATA, 1), list->addr + 4096, list->key, 16),
                 IBV_WC_REM_ACCESS_ERR);
    cr_assert_eq(rclose(server), 0);
    rclose(listener);
    rs_peer_close(&peer);
}
