/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/smcr_pair/tcp.h"

#include <stdlib.h>
#include <string.h>

static void put(struct pair_end *to, int kind, const uint8_t *bytes, size_t len_bytes, uint64_t due_ns)
{
    struct pair_segment *s = malloc(sizeof *s + len_bytes);
    if (!s)
        abort();
    *s = (struct pair_segment){.due_ns = due_ns, .kind = kind, .len_bytes = len_bytes};
    if (len_bytes > 0)
        memcpy(s->bytes, bytes, len_bytes);
    *to->tail = s;
    to->tail = &s->next;
}

static uint64_t due_ns(const struct pair_end *from)
{
    const struct pair *pair = from->pair;
    return pair->now_ns + (pair->config.tcp_delay_ns ? pair->config.tcp_delay_ns : 20 * PAIR_US);
}

void pair_tcp_send(struct pair_end *end, const uint8_t *bytes, size_t len_bytes)
{
    size_t chunk = end->pair->config.tcp_chunk_bytes ? end->pair->config.tcp_chunk_bytes : len_bytes;
    uint64_t due = due_ns(end);
    for (size_t done = 0; done < len_bytes; done += chunk, due += PAIR_US)
        put(pair_other(end), PAIR_TCP_BYTES, bytes + done,
            len_bytes - done < chunk ? len_bytes - done : chunk, due);
}

void pair_tcp_fin(struct pair_end *end)
{
    if (!end->fin_sent && !end->reset_sent)
        put(pair_other(end), PAIR_TCP_FIN, NULL, 0, due_ns(end));
    end->fin_sent = true;
}

void pair_tcp_rst(struct pair_end *end)
{
    put(end, PAIR_TCP_RST, NULL, 0, due_ns(end));
}

int pair_tcp_core_send(void *ctx, const uint8_t *bytes, size_t len_bytes)
{
    struct pair_end *end = ctx;
    if (end->given_back)
        pair_fail(end->pair, "connection %u: the core sends on a socket that was given back", end->c->id);
    if (end->reset_sent)
        pair_fail(end->pair, "connection %u: the core sends after its RST", end->c->id);
    if (end->pair->on_wire)
        end->pair->on_wire(end->pair->wire_ctx, end, bytes, len_bytes);
    pair_tcp_send(end, bytes, len_bytes);
    return 0;
}

void pair_tcp_core_reset(void *ctx)
{
    struct pair_end *end = ctx;
    if (!end->reset_sent && !end->rst_seen)
        put(pair_other(end), PAIR_TCP_RST, NULL, 0, due_ns(end));
    end->reset_sent = true;
}

static void append(uint8_t **to, size_t *len, const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return;
    *to = realloc(*to, *len + n);
    if (!*to)
        abort();
    memcpy(*to + *len, bytes, n);
    *len += n;
}

/* What the core does not take waits for more, or, after a fallback, is the application's. */
static void hand_over(struct pair_end *end, const uint8_t *bytes, size_t n)
{
    append(&end->unread, &end->unread_bytes, bytes, n);
    if (end->unread_bytes == 0)
        return;
    size_t taken = 0;
    if (end->conn && !end->given_back)
        taken = smcr_conn_tcp_input(end->conn, end->unread, end->unread_bytes, end->pair->now_ns);
    if (taken > end->unread_bytes)
        return pair_fail(end->pair, "connection %u: more bytes taken than there were", end->c->id);
    end->unread_bytes -= taken;
    memmove(end->unread, end->unread + taken, end->unread_bytes);
    pair_tcp_fall_back(end);
}

void pair_tcp_fall_back(struct pair_end *end)
{
    struct smcr_conn_status status = {.fallback = true};
    if (end->conn)
        smcr_conn_status(end->conn, &status);
    if (!status.fallback || status.may_cross)
        return;
    append(&end->plain, &end->plain_bytes, end->unread, end->unread_bytes);
    end->unread_bytes = 0;
}

static void deliver(struct pair_end *end, const struct pair_segment *s)
{
    bool core = end->conn && !end->given_back;
    switch (s->kind) {
    case PAIR_TCP_BYTES:
        hand_over(end, s->bytes, s->len_bytes);
        return;
    case PAIR_TCP_FIN:
        end->fin_seen = true;
        if (core)
            smcr_conn_tcp_end(end->conn, SMCR_TCP_FIN, end->pair->now_ns);
        return;
    case PAIR_TCP_RST:
        end->rst_seen = true;
        if (core)
            smcr_conn_tcp_end(end->conn, SMCR_TCP_RST, end->pair->now_ns);
        return;
    }
}

bool pair_tcp_deliver(struct pair_end *end)
{
    bool moved = false;
    while (!end->held && end->head && end->head->due_ns <= end->pair->now_ns) {
        struct pair_segment *s = end->head;
        end->head = s->next;
        if (!end->head)
            end->tail = &end->head;
        if (!end->rst_seen && !end->reset_sent)
            deliver(end, s);
        free(s);
        moved = true;
    }
    return moved;
}

uint64_t pair_tcp_next_ns(const struct pair_end *end)
{
    return end->head && !end->held ? end->head->due_ns : NET_TIME_NONE;
}

void pair_tcp_free(struct pair_end *end)
{
    while (end->head) {
        struct pair_segment *s = end->head;
        end->head = s->next;
        free(s);
    }
    free(end->plain);
    free(end->unread);
}
