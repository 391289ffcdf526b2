/* SPDX-License-Identifier: BSD-2-Clause */
/* From packets to events: TCP streams put together, and walked MPA frame by MPA frame, FPDU by FPDU. */
#include "explain/replay/iwarp/streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base.h"
#include "explain/replay/tape.h"
#include "explain/tcp/segment.h"
#include "iwarp/wire/crc.h"
#include "iwarp/wire/size.h"
#include "net/bytes.h"

static struct iwr_conn *find(const struct iwr_conns *conns, const struct explain_segment *s, uint8_t *side)
{
    for (size_t i = conns->count; i-- > 0;)
        for (uint8_t k = 0; k < 2; k++) {
            struct iwr_conn *c = conns->items[i];
            if (c->port[0] == s->port[k] && c->port[1] == s->port[!k] &&
                nornic_addr_equal(&c->addr[0], &s->addr[k]) && nornic_addr_equal(&c->addr[1], &s->addr[!k])) {
                *side = k;
                return c;
            }
        }
    return NULL;
}

static struct iwr_conn *add(struct iwr_conns *conns, const struct explain_segment *s)
{
    struct iwr_conn **items =
        array_room(conns->items, &conns->cap, conns->count + 1, sizeof(struct iwr_conn *));
    if (!items)
        return NULL;
    conns->items = items;
    struct iwr_conn *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    for (unsigned i = 0; i < 2; i++) {
        c->addr[i] = s->addr[i];
        c->port[i] = s->port[i];
    }
    conns->items[conns->count++] = c;
    return c;
}

/* Appends an event with the next `len_bytes` of the stream, which it takes. NULL: no memory. */
static struct iwr_event *append(struct iwr_conn *c, enum iwr_kind kind, uint8_t side,
                                const struct explain_packet *p, uint32_t len_bytes)
{
    struct iwr_event *events = array_room(c->events, &c->event_cap, c->event_count + 1, sizeof *events);
    if (!events)
        return NULL;
    c->events = events;
    struct iwr_event *e = &c->events[c->event_count];
    *e = (struct iwr_event){
        .kind = kind, .side = side, .number = p->number, .time_ns = p->time_ns, .len_bytes = len_bytes};
    e->bytes = malloc(len_bytes + 1u);
    if (!e->bytes)
        return NULL;
    c->event_count++;
    explain_stream_read(&c->way[side].stream, c->way[side].stream.next, len_bytes, e->bytes);
    explain_stream_skip(&c->way[side].stream, c->way[side].stream.next + len_bytes);
    return e;
}

/* Octets that are there next, `n` at least and all in the capture. */
static bool is_there(const struct iwr_conn *c, uint8_t side, uint32_t n, uint8_t *head, uint32_t head_bytes)
{
    const struct explain_stream *s = &c->way[side].stream;
    return explain_stream_there(s) >= n && explain_stream_read(s, s->next, head_bytes, head) == head_bytes;
}

static int take_frame(struct iwr_conn *c, uint8_t side, const struct explain_packet *p)
{
    uint8_t head[IWARP_MPA_FRAME_BYTES];
    struct iwarp_mpa_frame frame;
    if (!is_there(c, side, sizeof head, head, sizeof head))
        return 0;
    iwarp_mpa_frame_get(&frame, head);
    bool is_frame = memcmp(head, IWARP_MPA_KEY_REQUEST, sizeof frame.key) == 0 ||
                    memcmp(head, IWARP_MPA_KEY_REPLY, sizeof frame.key) == 0;
    if (!is_frame || frame.pd_len > IWARP_MPA_PRIVATE_BYTES) {
        c->way[side].is_lost = true;
        return 0;
    }
    if (explain_stream_there(&c->way[side].stream) < sizeof head + frame.pd_len)
        return 0;
    c->way[side].has_frame = true;
    c->has_crc |= frame.c;
    c->has_markers |= frame.m;
    return append(c, IWR_FRAME, side, p, (uint32_t)sizeof head + frame.pd_len) ? 0 : -ENOMEM;
}

/* The next FPDU. 1: there was one. */
static int take_fpdu(struct iwr_conn *c, uint8_t side, const struct explain_packet *p)
{
    uint8_t head[IWARP_MPA_LENGTH_BYTES];
    if (!is_there(c, side, sizeof head, head, sizeof head))
        return 0;
    uint32_t len = iwarp_fpdu_bytes(get_be16(head));
    if (explain_stream_there(&c->way[side].stream) < len)
        return 0;
    struct iwr_event *e = append(c, IWR_FPDU, side, p, len);
    if (!e)
        return -ENOMEM;
    e->has_bad_crc = c->has_crc && iwarp_crc(0, e->bytes, len - IWARP_MPA_CRC_BYTES) !=
                                       iwarp_crc_get(e->bytes + len - IWARP_MPA_CRC_BYTES);
    return 1;
}

/* What of a side's stream is there now. */
static int walk(struct iwr_conn *c, uint8_t side, const struct explain_packet *p)
{
    int more = 1;
    if (explain_stream_hole_stays(&c->way[side].stream))
        c->way[side].is_lost = true;
    if (!c->way[side].has_frame && !c->way[side].is_lost && take_frame(c, side, p) != 0)
        return -ENOMEM;
    while (c->way[side].has_frame && !c->way[side].is_lost && !c->has_markers && more > 0)
        more = take_fpdu(c, side, p);
    const struct explain_stream *s = &c->way[side].stream;
    if (more < 0)
        return more;
    if (!c->way[side].has_fin || c->way[side].is_over || s->reach < c->way[side].fin_at)
        return 0;
    c->way[side].is_over = true;
    if (s->reach > s->next && !append(c, IWR_REST, side, p, (uint32_t)(s->reach - s->next)))
        return -ENOMEM;
    return append(c, IWR_FIN, side, p, 0) ? 0 : -ENOMEM;
}

static int take(struct iwr_conns *conns, const struct explain_packet *p)
{
    struct explain_segment s;
    uint8_t side = 0;
    if (!explain_segment_get(&s, p))
        return 0;
    struct iwr_conn *c = find(conns, &s, &side);
    if (s.control.syn && !s.control.ack && (!c || c->way[side].stream.first_seq != s.seq + 1)) {
        c = add(conns, &s);
        if (!c)
            return -ENOMEM;
        side = 0;
    }
    if (!c || c->is_closed)
        return 0;
    if (s.control.syn) {
        if (!c->way[side].stream.has_begun)
            explain_stream_begin(&c->way[side].stream, s.seq + 1);
        return 0;
    }
    if (!c->way[side].stream.has_begun)
        return 0;
    explain_stream_put(&c->way[side].stream, s.seq, p->frame + s.offset, s.len_bytes, s.captured,
                       (struct explain_stream_origin){p->number, p->time_ns});
    if (s.control.ack && c->way[!side].stream.has_begun)
        explain_stream_ack(&c->way[!side].stream, s.ack);
    if (s.control.fin && !c->way[side].has_fin) {
        c->way[side].has_fin = true;
        c->way[side].fin_at = (uint64_t)explain_stream_position(&c->way[side].stream, s.seq + s.len_bytes);
    }
    int err = walk(c, side, p);
    if (err || !s.control.rst)
        return err;
    c->is_closed = true;
    return append(c, IWR_RST, side, p, 0) ? 0 : -ENOMEM;
}

static void conn_free(struct iwr_conn *c)
{
    for (size_t i = 0; i < c->event_count; i++)
        free(c->events[i].bytes);
    free(c->events);
    for (unsigned side = 0; side < 2; side++)
        explain_stream_free(&c->way[side].stream);
    free(c);
}

int explain_iwr_read(const struct explain_tape *tape, struct iwr_conns *conns)
{
    for (size_t i = 0; i < tape->count; i++) {
        struct explain_packet packet;
        explain_tape_packet(tape, i, &packet);
        int err = take(conns, &packet);
        if (err)
            return err;
    }
    size_t kept = 0;
    for (size_t i = 0; i < conns->count; i++)
        if (conns->items[i]->way[0].has_frame || conns->items[i]->way[1].has_frame)
            conns->items[kept++] = conns->items[i];
        else
            conn_free(conns->items[i]);
    conns->count = kept;
    return 0;
}

void explain_iwr_conns_free(struct iwr_conns *conns)
{
    for (size_t i = 0; i < conns->count; i++)
        conn_free(conns->items[i]);
    free(conns->items);
    *conns = (struct iwr_conns){0};
}

const struct iwr_event *explain_iwr_frame_of(const struct iwr_conn *conn, uint8_t side)
{
    for (size_t i = 0; i < conn->event_count; i++)
        if (conn->events[i].kind == IWR_FRAME && conn->events[i].side == side)
            return &conn->events[i];
    return NULL;
}
