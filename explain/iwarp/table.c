/* SPDX-License-Identifier: BSD-2-Clause */
/* The connections that are known, by their ends and by id, the one that was silent longest first. */
#include "explain/iwarp/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/hash.h"

/* The same for both directions. */
static uint32_t bucket_of(const struct nornic_addr addr[2], const uint16_t port[2])
{
    uint64_t sum = 0;
    for (unsigned end = 0; end < 2; end++)
        sum += hash_keyed_bytes(port[end], addr[end].b, sizeof addr[end].b);
    return (uint32_t)(sum % IWARP_BUCKETS);
}

static bool is_between(const struct iwarp_conn *c, const struct explain_network *network,
                       const struct explain_segment *s, unsigned side)
{
    const struct explain_iwarp_conn *shown = &c->shown;
    return shown->port[side] == s->port[0] && shown->port[!side] == s->port[1] &&
           nornic_addr_equal(&shown->addr[side], &s->addr[0]) &&
           nornic_addr_equal(&shown->addr[!side], &s->addr[1]) &&
           explain_network_equal(&shown->network, network);
}

struct iwarp_conn *explain_iwarp_find(struct explain_iwarp *w, const struct explain_network *network,
                                      const struct explain_segment *s, unsigned *side)
{
    struct iwarp_conn *c = w->buckets[bucket_of(s->addr, s->port)];
    for (; c; c = c->next_by_ends)
        for (*side = 0; *side < 2; ++*side)
            if (is_between(c, network, s, *side))
                return c;
    return NULL;
}

static void unlink_by_age(struct explain_iwarp *w, struct iwarp_conn *c)
{
    if (c->older)
        c->older->newer = c->newer;
    else
        w->oldest = c->newer;
    if (c->newer)
        c->newer->older = c->older;
    else
        w->newest = c->older;
}

static void link_newest(struct explain_iwarp *w, struct iwarp_conn *c)
{
    c->older = w->newest;
    c->newer = NULL;
    if (w->newest)
        w->newest->newer = c;
    else
        w->oldest = c;
    w->newest = c;
}

static size_t bytes_of(const struct iwarp_conn *c)
{
    size_t asked = sizeof *c->half[0].asked.list * IWARP_ASKED_MAX;
    size_t sent = sizeof *c->half[0].sent * IWARP_SENT_MAX;
    return sizeof *c + c->half[0].stream.kept_bytes + c->half[1].stream.kept_bytes +
           (c->half[0].asked.list ? asked : 0) + (c->half[1].asked.list ? asked : 0) +
           (c->half[0].sent ? sent : 0) + (c->half[1].sent ? sent : 0);
}

struct iwarp_conn *explain_iwarp_add(struct explain_iwarp *w, const struct explain_network *network,
                                     const struct explain_segment *s)
{
    struct iwarp_conn *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    struct iwarp_conn **chain = &w->buckets[bucket_of(s->addr, s->port)];
    for (unsigned end = 0; end < 2; end++) {
        c->shown.addr[end] = s->addr[end];
        c->shown.port[end] = s->port[end];
        c->half[end].framing.begun_at = c->half[end].fin_at = UINT64_MAX;
    }
    c->shown.network = *network;
    c->next_by_ends = *chain;
    *chain = c;
    link_newest(w, c);
    c->counted_bytes = bytes_of(c);
    w->bytes += c->counted_bytes;
    return c;
}

static void leave_chain(struct iwarp_conn **chain, struct iwarp_conn *c)
{
    while (*chain != c)
        chain = &(*chain)->next_by_ends;
    *chain = c->next_by_ends;
}

static void leave_ids(struct iwarp_conn **chain, struct iwarp_conn *c)
{
    while (*chain != c)
        chain = &(*chain)->next_by_id;
    *chain = c->next_by_id;
}

void explain_iwarp_close(struct explain_iwarp *w, struct iwarp_conn *c)
{
    if (c->is_closed)
        return;
    leave_chain(&w->buckets[bucket_of(c->shown.addr, c->shown.port)], c);
    c->is_closed = true;
}

void explain_iwarp_drop(struct explain_iwarp *w, struct iwarp_conn *c)
{
    explain_iwarp_close(w, c);
    if (c->is_recognised)
        leave_ids(&w->by_id[c->shown.id % IWARP_BUCKETS], c);
    unlink_by_age(w, c);
    w->bytes -= c->counted_bytes;
    for (unsigned side = 0; side < 2; side++) {
        explain_stream_free(&c->half[side].stream);
        free(c->half[side].asked.list);
        free(c->half[side].sent);
    }
    free(c);
}

void explain_iwarp_recognise(struct explain_iwarp *w, struct iwarp_conn *c)
{
    struct iwarp_conn **chain;
    c->is_recognised = true;
    c->shown.id = ++w->conn_count;
    chain = &w->by_id[c->shown.id % IWARP_BUCKETS];
    c->next_by_id = *chain;
    *chain = c;
}

void explain_iwarp_touch(struct explain_iwarp *w, struct iwarp_conn *c)
{
    unlink_by_age(w, c);
    link_newest(w, c);
    w->bytes += bytes_of(c) - c->counted_bytes;
    c->counted_bytes = bytes_of(c);
    for (struct iwarp_conn *oldest = w->oldest, *next; w->bytes > w->max_bytes && oldest != c;
         oldest = next) {
        next = oldest->newer;
        w->forgotten_count += oldest->is_recognised;
        explain_iwarp_drop(w, oldest);
    }
}

struct iwarp_conn *explain_iwarp_by_id(const struct explain_iwarp *w, uint32_t id)
{
    struct iwarp_conn *c = w->by_id[id % IWARP_BUCKETS];
    while (c && c->shown.id != id)
        c = c->next_by_id;
    return c;
}
