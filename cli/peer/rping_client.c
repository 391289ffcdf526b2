/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <isa-l/crc.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/peer/rping.h"
#include "cli/stop.h"

#define POISON_BYTE 0xa5 /* no letter of the text */

/* Tells the server where `len_bytes` of this side's memory stand, and waits for what it answers when it
 * is done there. */
static int advertise(struct peer_conn *conn, size_t at, uint32_t len_bytes, const char *what)
{
    struct rping_advert advert = {
        .addr = (uintptr_t)(conn->memory + at), .rkey = nornic_mr_rkey(conn->mr), .len_bytes = len_bytes};
    rping_advert_put(&advert, conn->memory + RPING_SEND_AT);
    int err = peer_post_send(conn, 0, RPING_SEND_AT, RPING_ADVERT_BYTES);
    if (err == CLI_OK)
        err = rping_await(conn->peer, conn->received + 1, what);
    return err == CLI_OK ? peer_post_recv(conn, 0, RPING_RECV_AT, RPING_ADVERT_BYTES) : err;
}

/* Compares the text with what came back. A server that takes it for a string leaves out what follows its
 * NUL. */
static int check(struct peer *peer, uint32_t round, const char *text, const char *sink)
{
    uint32_t size = peer->options->size_bytes, same = 0;
    while (same < size && text[same] == sink[same])
        same++;
    if (same < size)
        return cli_negative("round %u brings back wrong data from byte %u on (0x%02x)", round + 1, same,
                            (uint8_t)sink[same]);
    peer->received++;
    peer->verified++;
    peer->crc_sum += crc32_gzip_refl(0, (const unsigned char *)sink, size);
    if (peer->options->print && !peer->options->json)
        printf("ping data: %s\n", sink);
    return CLI_OK;
}

static int run_round(struct peer_conn *conn, uint32_t round)
{
    uint32_t size = conn->peer->options->size_bytes;
    size_t sink_at = RPING_TEXT_AT + RPING_MAX_SIZE_BYTES;
    char *text = (char *)conn->memory + RPING_TEXT_AT, *sink = (char *)conn->memory + sink_at;
    rping_text(round, text, size);
    memset(sink, POISON_BYTE, size);
    int err = advertise(conn, RPING_TEXT_AT, size, "the server had read the text");
    if (err == CLI_OK)
        conn->peer->sent++;
    if (err == CLI_OK)
        err = advertise(conn, sink_at, size, "the server had written the text back");
    return err == CLI_OK ? check(conn->peer, round, text, sink) : err;
}

int rping_client(struct peer *peer)
{
    uint32_t rounds = peer->options->messages;
    int err = CLI_OK;
    peer->stop_ends_round = rounds == 0; /* there is no other end */
    for (uint32_t round = 0; err == CLI_OK && (rounds == 0 || round < rounds) && !cli_stopped(); round++)
        err = run_round(&peer->conns[0], round);
    return err == CLI_OK ? peer_disconnect_all(peer) : err;
}
