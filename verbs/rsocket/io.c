/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of streams in and out. */
#include <errno.h>
#include <sys/uio.h>

#include "verbs/rsocket/rsocket.h"

/* --- parts --- */

/* The next piece, of at most `most` bytes; *len 0: none is left. */
static uint8_t *piece(struct rs_parts *parts, size_t most, size_t *len)
{
    while (parts->count && parts->at == parts->parts->iov_len) {
        parts->parts++;
        parts->count--;
        parts->at = 0;
    }
    *len = parts->count ? min_u64(parts->parts->iov_len - parts->at, most) : 0;
    return *len ? (uint8_t *)parts->parts->iov_base + parts->at : NULL;
}

/* --- in --- */

/* So many bytes, of messages that have come, are the program's now. */
static void consume(struct rsock *s, uint32_t len)
{
    s->read_at = (s->read_at + len) % s->recv_bytes;
    s->unread_bytes -= len;
    s->free_bytes += len;
    while (len) {
        uint32_t *left = &s->messages[s->message_first];
        uint32_t now = min_u32(*left, len);
        *left -= now;
        len -= now;
        if (*left)
            break;
        s->message_first = (s->message_first + 1) % s->rq_size;
        s->message_count--;
        s->taken_seq++;
    }
}

/* Copies bytes, and returns their number; with MSG_PEEK they stay. */
static size_t take(struct rsock *s, struct rs_parts *to, int flags)
{
    uint32_t at = s->read_at, left = s->unread_bytes;
    size_t done = 0, len;
    uint8_t *into;
    while ((into = piece(to, min_u32(left, s->recv_bytes - at), &len))) {
        memcpy(into, s->recv.bytes + at, len);
        to->at += len;
        done += len;
        left -= (uint32_t)len;
        at = (at + (uint32_t)len) % s->recv_bytes;
    }
    if (!(flags & MSG_PEEK)) {
        consume(s, (uint32_t)done);
        rs_lend(s);
    }
    return done;
}

static bool has_room(struct rs_parts parts)
{
    size_t len;
    return piece(&parts, SIZE_MAX, &len) != NULL;
}

/* An errno value instead of bytes that never come; 0: the stream has ended. A stream that was cut keeps
 * its error. */
static int cannot_receive(struct rsock *s)
{
    if (s->state == RS_REFUSED) {
        int err = rs_take_err(s);
        return err ? err : ENOTCONN;
    }
    return s->state != RS_FAILED ? 0 : s->err ? s->err : ECONNRESET;
}

ssize_t rs_recv_parts(struct rsock *s, struct rs_parts to, int flags)
{
    size_t done = 0;
    int err = rs_need_connection(s, flags);
    while (!err && has_room(to)) {
        err = rs_wait(s, RS_TO_READ, flags, rs_can_read);
        if (err)
            break;
        if (!s->unread_bytes) {
            err = cannot_receive(s);
            break;
        }
        done += take(s, &to, flags);
        if (!(flags & MSG_WAITALL) || (flags & MSG_PEEK))
            break;
    }
    return err && !done ? rs_ended(s, "rrecv", err) : (ssize_t)done;
}

/* --- out --- */

/* One message, of several parts if there are. 0 or an errno value. */
static int send_one(struct rsock *s, struct rs_parts *from, size_t *done)
{
    uint32_t room = rs_data_room(s), put = 0;
    size_t len;
    const uint8_t *bytes;
    while ((bytes = piece(from, room - put, &len))) {
        memcpy(s->send.bytes + s->send_at + put, bytes, len);
        from->at += len;
        put += (uint32_t)len;
    }
    *done += put;
    return rs_post_data(s, put);
}

ssize_t rs_send_parts(struct rsock *s, struct rs_parts from, int flags)
{
    size_t done = 0;
    int err = rs_need_connection(s, flags);
    if (!err)
        err = rs_cannot_send(s);
    if (!err)
        err = rs_tell_mappings(s, flags);
    while (!err && has_room(from)) {
        err = rs_wait(s, RS_TO_WRITE, flags, rs_can_write);
        if (!err)
            err = rs_cannot_send(s);
        if (!err)
            err = send_one(s, &from, &done);
    }
    return err && !done ? rs_ended(s, "rsend", err) : (ssize_t)done;
}
