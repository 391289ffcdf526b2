/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a TCP connection, put together from its segments (RFC 9293 3.4): whatever order they come
 * in, sent again, overlapping, or cut by the capture. A reader takes the bytes from the front. Positions
 * count bytes of data from 0, and do not wrap. */
#ifndef NORNIC_EXPLAIN_TCP_STREAM_H
#define NORNIC_EXPLAIN_TCP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is kept of one direction. Beyond either the hole before it is given up, and what comes behind it until
 * the reader has crossed it is not taken. */
#define EXPLAIN_STREAM_BYTES_MAX  (4u << 20)
#define EXPLAIN_STREAM_PIECES_MAX 4096

struct explain_stream_piece;

/* All zero: nothing was seen of it. */
struct explain_stream {
    bool has_begun;                      /* explain_stream_begin() was called */
    uint32_t first_seq;                  /* sequence number of position 0 */
    uint64_t next;                       /* the reader is here: all before it is taken */
    uint64_t reach;                      /* one past the last byte that follows there without a hole */
    uint64_t end;                        /* one past the last byte that was seen */
    uint64_t acked;                      /* the other end has all before this */
    struct explain_stream_piece *pieces; /* what is there behind `next`: in order, without overlaps */
    struct explain_stream_piece *last;
    struct explain_stream_piece *edge; /* the one that ends at `reach`; NULL: none is kept */
    size_t kept_bytes;                 /* of memory in these */
    unsigned piece_count;
};

/* The packet that brought a byte. */
struct explain_stream_origin {
    uint64_t number, time_ns;
};

/* What a segment brought. */
struct explain_stream_news {
    uint64_t from;   /* position of its first byte */
    uint32_t fresh;  /* bytes that are new */
    uint32_t again;  /* and those that were there before */
    bool is_ahead;   /* something before it is missing so far */
    bool is_behind;  /* it fills what was missing: what came later was there before it */
    bool is_dropped; /* no room or no memory: it is as if it had not come */
    bool is_far;     /* it lies out of all windows: it is not of this stream */
};

/* The byte with that sequence number is at position 0. */
void explain_stream_begin(struct explain_stream *stream, uint32_t seq);
void explain_stream_free(struct explain_stream *stream);

/* Takes a segment of `len_bytes` on the wire, of which the first `captured` are at `bytes` (they are copied).
 * Of bytes that come twice the first stay. */
struct explain_stream_news explain_stream_put(struct explain_stream *stream, uint32_t seq,
                                              const uint8_t *bytes, uint32_t len_bytes, uint32_t captured,
                                              struct explain_stream_origin origin);

/* The other end has everything before that sequence number. */
void explain_stream_ack(struct explain_stream *stream, uint32_t ack);

/* The position of a sequence number, the nearest to where the stream is; may be negative for what is older
 * than its beginning. */
int64_t explain_stream_position(const struct explain_stream *stream, uint32_t seq);

/* How many bytes without a hole follow at `next`, whether the capture holds their values or not. */
static inline uint64_t explain_stream_there(const struct explain_stream *stream)
{
    return stream->reach - stream->next;
}
/* Copies `n` bytes from position `from` on, which is not before `next`. Returns how many of them the capture
 * holds, from the first on without a gap; the others are 0. */
uint32_t explain_stream_read(const struct explain_stream *stream, uint64_t from, uint32_t n, uint8_t *to);
/* What brought the byte at that position first; number 0: it is not there. */
struct explain_stream_origin explain_stream_origin(const struct explain_stream *stream, uint64_t at);
/* The reader goes on to position `to`, which may lie behind what is there. */
void explain_stream_skip(struct explain_stream *stream, uint64_t to);
/* Where the first segment begins that does so at `from` or behind it, and before `reach`; `reach`: none. */
uint64_t explain_stream_segment(const struct explain_stream *stream, uint64_t from);

/* Bytes that are missing at `reach`, with others behind them; 0: none. */
uint64_t explain_stream_hole(const struct explain_stream *stream);
/* They will not come: the other end has them, and the capture has not, or too much waits behind them. */
bool explain_stream_hole_stays(const struct explain_stream *stream);

#endif
