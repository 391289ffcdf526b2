/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/tcp/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define WINDOW_MOST (UINT64_C(1) << 30) /* RFC 7323 2.3: windows are smaller */

/* Bytes from..from + len - 1 of a segment; the capture holds the first `known` of them. */
struct explain_stream_piece {
    struct explain_stream_piece *next;
    uint64_t from;
    struct explain_stream_origin origin;
    uint32_t len, known;
    uint8_t bytes[];
};

static uint64_t end_of(const struct explain_stream_piece *p)
{
    return p->from + p->len;
}

void explain_stream_begin(struct explain_stream *s, uint32_t seq)
{
    explain_stream_free(s);
    *s = (struct explain_stream){.has_begun = true, .first_seq = seq};
}

void explain_stream_free(struct explain_stream *s)
{
    while (s->pieces) {
        struct explain_stream_piece *next = s->pieces->next;
        free(s->pieces);
        s->pieces = next;
    }
    s->last = s->edge = NULL;
    s->kept_bytes = s->piece_count = 0;
}

int64_t explain_stream_position(const struct explain_stream *s, uint32_t seq)
{
    uint32_t here = s->first_seq + (uint32_t)s->next;
    return (int64_t)s->next + (int32_t)(seq - here);
}

/* --- what comes in --- */

/* Puts bytes from..to - 1 behind `before` (NULL: in front of all). Nothing else lies there. */
static struct explain_stream_piece *insert(struct explain_stream *s, struct explain_stream_piece *before,
                                           uint64_t from, uint64_t to, const struct explain_stream_piece *of,
                                           const uint8_t *bytes)
{
    uint32_t skipped = (uint32_t)(from - of->from), len = (uint32_t)(to - from);
    uint32_t known = of->known > skipped ? min_u32(of->known - skipped, len) : 0;
    struct explain_stream_piece *p = malloc(sizeof *p + known);
    if (!p)
        return NULL;
    *p = (struct explain_stream_piece){.next = before ? before->next : s->pieces,
                                       .from = from,
                                       .origin = of->origin,
                                       .len = len,
                                       .known = known};
    if (known)
        memcpy(p->bytes, bytes + skipped, known);
    if (before)
        before->next = p;
    else
        s->pieces = p;
    if (!p->next)
        s->last = p;
    s->kept_bytes += sizeof *p + known;
    s->piece_count++;
    return p;
}

/* How far it goes without a hole. */
static void extend(struct explain_stream *s)
{
    struct explain_stream_piece *p = s->edge ? s->edge->next : s->pieces;
    for (; p && p->from <= s->reach; p = p->next) {
        s->reach = max_u64(s->reach, end_of(p));
        s->edge = p;
    }
}

/* Adds what of the segment is not there yet, piece by piece; returns how many bytes those are. */
static uint32_t fill(struct explain_stream *s, const struct explain_stream_piece *segment,
                     const uint8_t *bytes, struct explain_stream_news *news)
{
    struct explain_stream_piece *before = NULL, *after = s->pieces;
    uint64_t at = max_u64(segment->from, s->next), end = end_of(segment);
    uint32_t fresh = 0;
    if (s->last && end_of(s->last) <= at) { /* as nearly always */
        before = s->last;
        after = NULL;
    }
    while (at < end) {
        while (after && end_of(after) <= at) {
            before = after;
            after = after->next;
        }
        uint64_t to = after ? min_u64(end, max_u64(after->from, at)) : end;
        if (to > at) {
            struct explain_stream_piece *p = insert(s, before, at, to, segment, bytes);
            news->is_dropped |= !p;
            fresh += p ? (uint32_t)(to - at) : 0;
            before = p ? p : before;
        }
        at = after ? max_u64(to, end_of(after)) : end;
    }
    extend(s);
    return fresh;
}

static bool is_full(const struct explain_stream *s)
{
    return s->kept_bytes > EXPLAIN_STREAM_BYTES_MAX || s->piece_count > EXPLAIN_STREAM_PIECES_MAX;
}

struct explain_stream_news explain_stream_put(struct explain_stream *s, uint32_t seq, const uint8_t *bytes,
                                              uint32_t len_bytes, uint32_t captured,
                                              struct explain_stream_origin origin)
{
    struct explain_stream_news news = {0};
    int64_t position = explain_stream_position(s, seq);
    struct explain_stream_piece segment = {.origin = origin, .len = len_bytes, .known = captured};
    if (position < 0) { /* a part of it is older than the stream */
        uint64_t old = min_u64((uint64_t)-position, len_bytes);
        segment.len -= (uint32_t)old;
        segment.known -= (uint32_t)min_u64(old, segment.known);
        bytes += min_u64(old, captured);
        news.again = (uint32_t)old;
        position = 0;
    }
    segment.from = news.from = (uint64_t)position;
    if (segment.from > max_u64(s->end, s->next) + WINDOW_MOST) {
        news.is_far = true;
        return news;
    }
    if (segment.from > s->reach && is_full(s)) {
        news.is_dropped = true;
        return news;
    }
    news.fresh = fill(s, &segment, bytes, &news);
    news.again += news.is_dropped ? 0 : segment.len - news.fresh;
    news.is_ahead = news.fresh && segment.from > s->reach;
    news.is_behind = news.fresh && end_of(&segment) < s->end;
    s->end = max_u64(s->end, end_of(&segment));
    return news;
}

void explain_stream_ack(struct explain_stream *s, uint32_t ack)
{
    int64_t position = explain_stream_position(s, ack);
    if (s->has_begun && position > 0 && (uint64_t)position <= max_u64(s->end, s->next) + WINDOW_MOST)
        s->acked = max_u64(s->acked, (uint64_t)position);
}

/* --- what the reader sees --- */

uint32_t explain_stream_read(const struct explain_stream *s, uint64_t from, uint32_t n, uint8_t *to)
{
    uint64_t at = from, end = from + n;
    memset(to, 0, n);
    for (const struct explain_stream_piece *p = s->pieces; p && at < end && p->from <= at; p = p->next) {
        if (end_of(p) <= at)
            continue;
        uint64_t known_end = p->from + p->known, upto = min_u64(end, known_end);
        if (upto <= at)
            break;
        memcpy(to + (at - from), p->bytes + (at - p->from), upto - at);
        at = upto;
        if (at < end_of(p))
            break;
    }
    return (uint32_t)(at - from);
}

struct explain_stream_origin explain_stream_origin(const struct explain_stream *s, uint64_t at)
{
    for (const struct explain_stream_piece *p = s->pieces; p && p->from <= at; p = p->next)
        if (at < end_of(p))
            return p->origin;
    return (struct explain_stream_origin){0};
}

void explain_stream_skip(struct explain_stream *s, uint64_t to)
{
    s->next = max_u64(s->next, to);
    s->reach = max_u64(s->reach, s->next);
    while (s->pieces && end_of(s->pieces) <= s->next) {
        struct explain_stream_piece *first = s->pieces;
        s->pieces = first->next;
        s->edge = s->edge == first ? NULL : s->edge;
        s->kept_bytes -= sizeof *first + first->known;
        s->piece_count--;
        free(first);
    }
    if (!s->pieces)
        s->last = NULL;
    extend(s);
}

uint64_t explain_stream_segment(const struct explain_stream *s, uint64_t from)
{
    for (const struct explain_stream_piece *p = s->pieces; p && p->from < s->reach; p = p->next)
        if (p->from >= from)
            return p->from;
    return s->reach;
}

uint64_t explain_stream_hole(const struct explain_stream *s)
{
    const struct explain_stream_piece *behind = s->edge ? s->edge->next : s->pieces;
    return behind ? behind->from - s->reach : 0;
}

bool explain_stream_hole_stays(const struct explain_stream *s)
{
    uint64_t hole = explain_stream_hole(s);
    return hole && (s->acked >= s->reach + hole || is_full(s));
}
