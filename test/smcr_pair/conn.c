/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/smcr_pair/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/smcr_pair/tcp.h"

#define PIECE_BYTES 4096

static void make_end(struct pair_conn *c, unsigned node, enum smcr_role role, uint16_t client_port)
{
    struct pair_end *end = &c->end[node];
    struct pair *pair = end->pair;
    const struct pair_node *n = &pair->node[node], *peer = &pair->node[!node];
    struct smcr_conn_config config = {
        .role = role,
        .local = n->port[0].addr,
        .remote = peer->port[0].addr,
        .local_port = role == SMCR_CLIENT ? client_port : 7000,
        .remote_port = role == SMCR_CLIENT ? 7000 : client_port,
        .vlan_id = pair->config.vlan_id,
        .networks[0] = {.addr = n->port[0].addr, .prefix_len = pair->config.ipv6 ? 64 : 24},
        .num_networks = 1,
        .rcvbuf_bytes = pair->config.rcvbuf_bytes[node],
        .sndbuf_bytes = pair->config.sndbuf_bytes[node],
        .tcp = {.send = pair_tcp_core_send, .reset = pair_tcp_core_reset},
        .ctx = end,
    };
    end->role = role;
    if (!n->smcr)
        return;
    int err = smcr_conn_create(n->smcr, &config, pair->now_ns, &end->conn);
    if (err)
        end->conn = NULL; /* as a program does that has no memory for it: it goes on over TCP */
}

struct pair_conn *pair_open(struct pair *pair, unsigned client)
{
    struct pair_conn *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->id = pair->num_conns++;
    c->next = pair->conns;
    pair->conns = c;
    for (unsigned i = 0; i < 2; i++) {
        c->end[i] = (struct pair_end){.pair = pair, .c = c, .node = i};
        c->end[i].tail = &c->end[i].head;
    }
    uint16_t port = pair->next_tcp_port++;
    make_end(c, !client, SMCR_SERVER, port);
    make_end(c, client, SMCR_CLIENT, port);
    return c;
}

static bool end_status(const struct pair_end *end, struct smcr_conn_status *status)
{
    if (end->conn)
        smcr_conn_status(end->conn, status);
    return end->conn;
}

bool pair_is_established(const struct pair_conn *c)
{
    struct smcr_conn_status a, b;
    return end_status(&c->end[0], &a) && end_status(&c->end[1], &b) && a.established && b.established;
}

bool pair_is_fallback(const struct pair_conn *c)
{
    struct smcr_conn_status a, b;
    return end_status(&c->end[0], &a) && end_status(&c->end[1], &b) && a.fallback && b.fallback;
}

static bool is_over(const struct pair_end *end)
{
    return !end->conn;
}

bool pair_is_over(const struct pair_conn *c)
{
    return is_over(&c->end[0]) && is_over(&c->end[1]);
}

static bool established(void *ctx, struct pair *pair)
{
    (void)pair;
    return pair_is_established(ctx);
}

struct pair_conn *pair_connect(struct pair *pair, unsigned client)
{
    struct pair_conn *c = pair_open(pair, client);
    return pair_run_until(pair, established, c, 10 * PAIR_S) ? c : NULL;
}

void pair_close(struct pair_end *end)
{
    struct smcr_conn_status status;
    if (end->given_back || !end_status(end, &status))
        return;
    bool linger = !status.fallback && !status.closed;
    end->given_back = true;
    smcr_conn_release(end->conn, linger, end->pair->now_ns);
    if (linger)
        return;
    end->conn = NULL;
    pair_tcp_fin(end);
}

bool pair_conn_events(struct pair_node *node)
{
    unsigned events;
    bool moved = false;
    for (struct smcr_conn *conn; node->smcr && (conn = smcr_next_event(node->smcr, &events)) != NULL;) {
        struct pair_end *end = smcr_conn_ctx(conn);
        if (end->conn != conn || events == 0) {
            pair_fail(node->pair, "node %u: an event of a connection that is no more, or none", node->index);
            return false;
        }
        end->events |= events;
        if (events & SMCR_EVENT_FALLBACK)
            pair_tcp_fall_back(end);
        if ((events & SMCR_EVENT_CLOSED) && end->given_back) {
            smcr_conn_release(conn, false, node->pair->now_ns);
            end->conn = NULL;
            pair_tcp_fin(end);
        }
        moved = true;
    }
    return moved;
}

/* Byte `pos` of what `end` sends: no two streams, and no two places near each other, look alike. */
static uint8_t pattern(const struct pair_end *end, uint64_t pos)
{
    uint64_t x = (pos >> 3) * UINT64_C(0x9e3779b97f4a7c15) + end->c->id * 2u + end->node + 1;
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint8_t)((x ^ (x >> 32)) >> (pos & 7) * 3);
}

static ssize_t send_piece(struct pair_end *end, const uint8_t *bytes, size_t n, unsigned flags)
{
    struct smcr_conn_status status;
    if (!end_status(end, &status))
        return -ENOTCONN;
    if (!status.fallback)
        return smcr_conn_send(end->conn, bytes, n, flags, end->pair->now_ns);
    if (end->fin_sent)
        return -EPIPE;
    pair_tcp_send(end, bytes, n);
    return (ssize_t)n;
}

ssize_t pair_pump(struct pair_end *end, size_t max_bytes, unsigned flags)
{
    uint8_t bytes[PIECE_BYTES];
    size_t sent = 0;
    while (sent < max_bytes) {
        size_t n = max_bytes - sent < sizeof bytes ? max_bytes - sent : sizeof bytes;
        for (size_t i = 0; i < n; i++)
            bytes[i] = pattern(end, end->tx_pos + i);
        /* what makes the last byte urgent must not make that of each piece so */
        unsigned piece_flags =
            sent + n < max_bytes ? (flags & ~(unsigned)SMCR_SEND_URGENT) | SMCR_SEND_MORE : flags;
        end->tx_offered = end->tx_pos + n;
        ssize_t got = send_piece(end, bytes, n, piece_flags);
        if (got < 0)
            return sent > 0 ? (ssize_t)sent : got;
        end->tx_pos += (uint64_t)got;
        sent += (size_t)got;
        if ((size_t)got < n)
            break;
    }
    return (ssize_t)sent;
}

static ssize_t recv_piece(struct pair_end *end, uint8_t *bytes, size_t n)
{
    struct smcr_conn_status status;
    if (!end_status(end, &status))
        return -ENOTCONN;
    if (!status.fallback)
        return smcr_conn_recv(end->conn, bytes, n, 0, end->pair->now_ns);
    size_t left = end->plain_bytes - end->plain_read;
    if (left == 0)
        return end->fin_seen ? 0 : -EAGAIN;
    n = left < n ? left : n;
    memcpy(bytes, end->plain + end->plain_read, n);
    end->plain_read += n;
    return (ssize_t)n;
}

ssize_t pair_drain(struct pair_end *end, size_t max_bytes)
{
    uint8_t bytes[PIECE_BYTES];
    size_t read = 0;
    while (read < max_bytes && !end->pair->failed) {
        size_t n = max_bytes - read < sizeof bytes ? max_bytes - read : sizeof bytes;
        ssize_t got = recv_piece(end, bytes, n);
        if (got == 0)
            end->eof = true;
        else if (got < 0 && got != -EAGAIN)
            end->error = (int)got;
        if (got <= 0)
            return read > 0 ? (ssize_t)read : got;
        for (size_t i = 0; i < (size_t)got; i++)
            if (bytes[i] != pattern(pair_other(end), end->rx_pos + i)) {
                pair_fail(end->pair, "connection %u, node %u: byte %llu is not what was sent", end->c->id,
                          end->node, (unsigned long long)(end->rx_pos + i));
                return -EBADMSG;
            }
        end->rx_pos += (uint64_t)got;
        read += (size_t)got;
    }
    return (ssize_t)read;
}

bool pair_transfer(struct pair *pair, struct pair_end *from, uint64_t n, uint64_t max_ns)
{
    struct pair_end *to = pair_other(from);
    uint64_t end_tx = from->tx_pos + n, stop_ns = pair->now_ns + max_ns;
    while (!pair->failed && to->rx_pos < end_tx) {
        ssize_t sent = from->tx_pos < end_tx ? pair_pump(from, end_tx - from->tx_pos, 0) : -EAGAIN;
        ssize_t read = pair_drain(to, (size_t)-1 >> 1);
        if ((sent < 0 && sent != -EAGAIN) || (read <= 0 && read != -EAGAIN))
            return false;
        if (sent > 0 || read > 0) {
            pair_now(pair);
            continue;
        }
        if (pair->now_ns >= stop_ns)
            return false;
        pair_run_for(pair, 10 * PAIR_US);
    }
    return !pair->failed;
}

void pair_conn_free(struct pair_conn *c)
{
    pair_tcp_free(&c->end[0]);
    pair_tcp_free(&c->end[1]);
    free(c);
}
