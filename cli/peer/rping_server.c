/* SPDX-License-Identifier: BSD-2-Clause */
#include <isa-l/crc.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/peer/rping.h"

static bool asked_or_closed(const struct peer *peer, const void *ctx)
{
    const uint32_t *received = ctx;
    return peer->conns[0].received >= *received || peer->conns[0].state == PEER_CONN_CLOSED;
}

/* Waits for advertisement `number` (from 0) of the client, which may have come already. `*closed`: it has
 * disconnected instead. */
static int next_advert(struct peer_conn *conn, uint32_t number, struct rping_advert *advert, bool *closed)
{
    uint32_t received = number + 1;
    int err = peer_wait(conn->peer, asked_or_closed, &received, "the client said what it wants");
    *closed = conn->received < received;
    if (err != CLI_OK || *closed)
        return err;
    *advert = rping_advert_get(conn->memory + RPING_RECV_AT);
    if (advert->len_bytes == 0 || advert->len_bytes > RPING_MAX_SIZE_BYTES)
        return cli_negative("the client offers %u bytes; rping has 1 to %u", advert->len_bytes,
                            RPING_MAX_SIZE_BYTES);
    return peer_post_recv(conn, 0, RPING_RECV_AT, RPING_ADVERT_BYTES);
}

static bool sent_or_closed(const struct peer *peer, const void *ctx)
{
    (void)ctx;
    return peer->conns[0].sent == peer->conns[0].posted || peer->conns[0].state == PEER_CONN_CLOSED;
}

/* Answers, and waits until all that was posted is done. A client disconnects once it has the last
 * answer, and its acknowledgement of that may be lost. */
static int answer(struct peer_conn *conn, const char *what)
{
    int err = peer_post_send(conn, 0, RPING_SEND_AT, RPING_ADVERT_BYTES);
    return err == CLI_OK ? peer_wait(conn->peer, sent_or_closed, NULL, what) : err;
}

static int check(struct peer *peer, uint32_t round, const char *text, uint32_t len_bytes)
{
    char want[RPING_MAX_SIZE_BYTES];
    rping_text(round, want, len_bytes);
    uint32_t same = 0;
    while (same < len_bytes && text[same] == want[same])
        same++;
    if (same < len_bytes)
        return cli_negative("round %u holds wrong data from byte %u on (0x%02x)", round + 1, same,
                            (uint8_t)text[same]);
    peer->received++;
    peer->verified++;
    peer->crc_sum += crc32_gzip_refl(0, (const unsigned char *)text, len_bytes);
    if (peer->options->print && !peer->options->json)
        printf("server ping data: %s\n", text);
    return CLI_OK;
}

static int read_text(struct peer_conn *conn, uint32_t round, const struct rping_advert *source)
{
    int err =
        peer_post_rdma(conn, PEER_WR_READ, RPING_TEXT_AT, source->len_bytes, source->addr, source->rkey);
    if (err == CLI_OK)
        err = rping_await(conn->peer, 0, "the text had been read");
    if (err == CLI_OK)
        err = check(conn->peer, round, (const char *)conn->memory + RPING_TEXT_AT, source->len_bytes);
    return err == CLI_OK ? answer(conn, "the client knew that its text had been read") : err;
}

static int write_text(struct peer_conn *conn, const struct rping_advert *source,
                      const struct rping_advert *sink)
{
    if (sink->len_bytes < source->len_bytes)
        return cli_negative("the client has room for %u bytes of its %u", sink->len_bytes, source->len_bytes);
    int err = peer_post_rdma(conn, PEER_WR_WRITE, RPING_TEXT_AT, source->len_bytes, sink->addr, sink->rkey);
    conn->peer->peer_may_leave = true; /* this may have been the last round */
    if (err == CLI_OK)
        err = answer(conn, "the text had been written back");
    conn->peer->peer_may_leave = false;
    conn->peer->sent++;
    return err;
}

int rping_server(struct peer *peer)
{
    struct peer_conn *conn = &peer->conns[0];
    int err = CLI_OK;
    bool closed = false;
    for (uint32_t round = 0; err == CLI_OK; round++) {
        struct rping_advert source, sink;
        err = next_advert(conn, 2 * round, &source, &closed);
        if (err != CLI_OK || closed)
            return err;
        err = read_text(conn, round, &source);
        if (err == CLI_OK)
            err = next_advert(conn, 2 * round + 1, &sink, &closed);
        if (err == CLI_OK)
            err = closed ? cli_negative("the client disconnected in the middle of round %u", round + 1)
                         : write_text(conn, &source, &sink);
    }
    return err;
}
