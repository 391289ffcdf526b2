/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <isa-l/crc.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/node/pattern.h"
#include "cli/peer/peer.h"

int peer_post_recv(struct peer_conn *conn, uint64_t number, size_t at, uint32_t len_bytes)
{
    struct nornic_sge sge = {
        .addr = (uintptr_t)(conn->memory + at), .len_bytes = len_bytes, .lkey = nornic_mr_lkey(conn->mr)};
    struct nornic_recv_wr wr = {.wr_id = peer_wr_id(PEER_WR_RECV, number), .sg_list = &sge, .num_sge = 1};
    int err = nornic_qp_post_recv(conn->qp, &wr, NULL);
    return !err ? CLI_OK : cli_fail("cannot post a receive: %s", strerror(-err));
}

/* `wr` but for its memory. */
static int post(struct peer_conn *conn, struct nornic_send_wr wr, size_t at, uint32_t len_bytes)
{
    struct nornic_sge sge = {
        .addr = (uintptr_t)(conn->memory + at), .len_bytes = len_bytes, .lkey = nornic_mr_lkey(conn->mr)};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.send_flags = NORNIC_SEND_SIGNALED;
    int err = nornic_qp_post_send(conn->qp, &wr, NULL);
    if (err)
        return cli_fail("cannot post work: %s", strerror(-err));
    conn->posted++;
    return CLI_OK;
}

int peer_post_send(struct peer_conn *conn, uint64_t number, size_t at, uint32_t len_bytes)
{
    struct nornic_send_wr wr = {.wr_id = peer_wr_id(PEER_WR_SEND, number), .opcode = NORNIC_WR_SEND};
    if (conn->ah) {
        /* udaddy learns from the immediate where to answer to. */
        wr.opcode = NORNIC_WR_SEND_WITH_IMM;
        wr.imm_data = htobe32(nornic_qp_num(conn->qp));
        wr.ud.ah = conn->ah;
        wr.ud.remote_qpn = conn->remote_qpn;
        wr.ud.remote_qkey = conn->remote_qkey;
    }
    return post(conn, wr, at, len_bytes);
}

int peer_post_rdma(struct peer_conn *conn, enum peer_wr kind, size_t at, uint32_t len_bytes,
                   uint64_t remote_addr, uint32_t rkey)
{
    struct nornic_send_wr wr = {.wr_id = peer_wr_id(kind, 0),
                                .opcode = kind == PEER_WR_READ ? NORNIC_WR_RDMA_READ : NORNIC_WR_RDMA_WRITE,
                                .remote_addr = remote_addr,
                                .rkey = rkey};
    return post(conn, wr, at, len_bytes);
}

/* Differs by direction, connection and message. */
static uint64_t key(bool of_server, uint32_t index, uint32_t number)
{
    return (uint64_t)of_server << 63 | (uint64_t)index << 32 | number;
}

void peer_fill(const struct peer_conn *conn, uint32_t number, uint8_t *buf, uint32_t len_bytes)
{
    cli_pattern_fill(key(!conn->peer->options->host, conn->index, number), buf, len_bytes);
}

static bool matches(const struct peer_conn *conn, uint32_t index, uint32_t number, const uint8_t *buf,
                    uint32_t len_bytes)
{
    bool from_server = conn->peer->options->host != NULL;
    return cli_pattern_compare(key(from_server, index, number), buf, len_bytes) == len_bytes;
}

int peer_received(struct peer_conn *conn, uint32_t number, const uint8_t *buf, uint32_t len_bytes)
{
    struct peer *peer = conn->peer;
    uint32_t first = 0, end = peer->options->connections;
    if (conn->verified > 0) {
        first = conn->peer_index;
        end = first + 1;
    }
    while (first < end && !matches(conn, first, number, buf, len_bytes))
        first++;
    bool good = first < end;
    if (!good && conn->verified > 0)
        return cli_negative("message %u of connection %u holds wrong data", number + 1, conn->index);
    conn->peer_index = first;
    conn->verified += good;
    peer->verified += good;
    peer->received++;
    peer->crc_sum += crc32_gzip_refl(0, buf, len_bytes);
    return CLI_OK;
}
