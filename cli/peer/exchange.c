/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/peer/exchange.h"
#include "cli/node/unreliable.h"

static uint32_t area_bytes(const struct peer *peer)
{
    return peer->kind->qp_type == NORNIC_QPT_UD ? CLI_UD_AREA_BYTES : 0;
}

/* A connection's memory: the messages that it receives, each behind its area, then those that it sends. */
static size_t received_at(const struct peer *peer, uint64_t number)
{
    return number * (area_bytes(peer) + peer->options->size_bytes);
}

static size_t sent_at(const struct peer *peer, uint64_t number)
{
    return received_at(peer, peer->options->messages) + number * peer->options->size_bytes;
}

size_t peer_exchange_memory(const struct peer_options *options)
{
    return (size_t)(options->messages + 1) * (2 * (size_t)options->size_bytes + CLI_UD_AREA_BYTES);
}

int peer_exchange_prepare(struct peer_conn *conn)
{
    const struct peer *peer = conn->peer;
    int err = CLI_OK;
    for (uint32_t i = 0; i < peer->options->messages && err == CLI_OK; i++)
        err = peer_post_recv(conn, i, received_at(peer, i), area_bytes(peer) + peer->options->size_bytes);
    return err;
}

/* A server of datagrams learns from the first where to answer to: ROCE-UD-6, and the immediate for the
 * QPN. */
static int learn_remote(struct peer_conn *conn, const struct nornic_wc *wc, const uint8_t *area)
{
    struct nornic_av av;
    int err = nornic_av_from_wc(conn->peer->node.api, wc, area, &av);
    if (err)
        return cli_negative("a datagram came from nowhere that can be answered: %s", strerror(-err));
    if (!(wc->wc_flags & NORNIC_WC_WITH_IMM) || be32toh(wc->imm_data) != wc->src_qpn)
        return cli_negative("a datagram of queue pair 0x%06x does not say so in its immediate", wc->src_qpn);
    return peer_conn_set_remote(conn, &av, wc->src_qpn, NORNIC_CM_QKEY);
}

static int on_message(struct peer_conn *conn, const struct nornic_wc *wc)
{
    const struct peer *peer = conn->peer;
    uint32_t area = area_bytes(peer), size = peer->options->size_bytes, number = (uint32_t)(wc->wr_id >> 8);
    const uint8_t *message = conn->memory + received_at(peer, number) + area;
    if (wc->byte_len != area + size)
        return cli_negative("message %u has %u bytes instead of %u: do both sides use the same -S?",
                            number + 1, wc->byte_len - area, size);
    int err = area && !conn->ah ? learn_remote(conn, wc, message - area) : CLI_OK;
    conn->received++;
    return err == CLI_OK ? peer_received(conn, number, message, size) : err;
}

int peer_exchange_completed(struct peer_conn *conn, const struct nornic_wc *wc)
{
    if ((wc->wr_id & 0xff) == PEER_WR_RECV)
        return on_message(conn, wc);
    conn->sent++;
    conn->peer->sent++;
    return CLI_OK;
}

static bool all_received(const struct peer *peer, const void *ctx)
{
    (void)ctx;
    for (uint32_t i = 0; i < peer->options->connections; i++)
        if (peer->conns[i].received < peer->options->messages)
            return false;
    return true;
}

/* Everything is acknowledged, or `*last`: the peer has disconnected, which it does when it has
 * everything. Its last acknowledgement may be lost, and after that there is no other. */
static bool all_sent(const struct peer *peer, const void *last)
{
    for (uint32_t i = 0; i < peer->options->connections; i++) {
        const struct peer_conn *conn = &peer->conns[i];
        if (conn->sent < conn->posted && !(*(const bool *)last && conn->state == PEER_CONN_CLOSED))
            return false;
    }
    return true;
}

/* `last`: the peer waits for nothing more than this. */
static int send_all(struct peer *peer, bool last)
{
    uint32_t size = peer->options->size_bytes;
    int err = CLI_OK;
    for (uint32_t c = 0; c < peer->options->connections; c++) {
        struct peer_conn *conn = &peer->conns[c];
        for (uint32_t i = 0; i < peer->options->messages && err == CLI_OK; i++) {
            peer_fill(conn, i, conn->memory + sent_at(peer, i), size);
            err = peer_post_send(conn, i, sent_at(peer, i), size);
        }
    }
    peer->peer_may_leave = last;
    return err == CLI_OK ? peer_wait(peer, all_sent, &last, "all messages had been acknowledged") : err;
}

static int receive_all(struct peer *peer)
{
    return peer_wait(peer, all_received, NULL,
                     peer->kind->qp_type == NORNIC_QPT_UD
                         ? "all datagrams had come; a lost one is not repeated"
                         : "all messages had come");
}

static int exchange(struct peer *peer, bool client_first)
{
    bool first = client_first == (peer->options->host != NULL);
    int err = first ? send_all(peer, false) : receive_all(peer);
    if (err == CLI_OK)
        err = first ? receive_all(peer) : send_all(peer, true);
    peer->end_ns = host_now_ns();
    return err;
}

int peer_exchange_run(const struct peer_options *options, const struct peer_kind *kind,
                      const struct peer_exchange_order *order)
{
    struct peer peer;
    int err = peer_open(&peer, options, kind);
    if (err != CLI_OK)
        return err;
    err = peer_connect_all(&peer);
    if (err == CLI_OK)
        err = exchange(&peer, order->client_sends_first);
    if (err == CLI_OK)
        err = (options->host ? order->client_disconnects : order->server_disconnects)
                  ? peer_disconnect_all(&peer)
                  : peer_await_closed(&peer);
    if (err == CLI_OK)
        peer_report(&peer);
    return peer_close(&peer, err);
}
