/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a borrowed connection: into the send buffer, out of the RMBE.
 *
 * A position moves only after all bytes before it are copied. So a program that is killed during a copy has
 * sent, or read, nothing by that call; the kernel releases its lock. Senders of all processes go one after
 * the other, and so do receivers. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "service/borrow/inner.h"

/* Of a long copy the service hears so often: the first bytes are on their way while the rest is copied. */
#define PIECE_BYTES 32768u

static uint64_t min_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Buffers one after the other. */
struct place {
    const struct iovec *iov;
    size_t at; /* in the first */
};

static size_t total_of(const struct iovec *iov, int n)
{
    size_t total = 0;
    for (int i = 0; i < n; i++)
        total += iov[i].iov_len;
    return total;
}

enum direction { INTO_RING, OUT_OF_RING };

/* `n` bytes between the buffers and `ring` from `position` on. */
static void copy(struct place *p, struct borrow_ring ring, uint64_t position, size_t n, enum direction way)
{
    while (n > 0) {
        uint32_t at = (uint32_t)(position % ring.size);
        size_t part = min_of(min_of(n, p->iov->iov_len - p->at), ring.size - at);
        char *user = (char *)p->iov->iov_base + p->at;
        if (way == INTO_RING)
            memcpy(ring.bytes + at, user, part);
        else
            memcpy(user, ring.bytes + at, part);
        position += part;
        n -= part;
        p->at += part;
        if (p->at == p->iov->iov_len) {
            p->iov++;
            p->at = 0;
        }
    }
}

/* An error is told once; later calls get the answers of a closed TCP connection. */
static ssize_t broken(struct borrow *b, ssize_t then)
{
    int error = borrow_take_error(b);
    return error ? -error : then;
}

/* Begins a call: with the lock of its direction. -EOPNOTSUPP: it has gone on as TCP. */
static int enter(struct borrow *b, pthread_mutex_t *lock)
{
    if (!borrow_is_lent(b))
        return b->has_tcp ? -EOPNOTSUPP : -ECONNRESET;
    return borrow_lock(b, lock);
}

/* --- sending --- */

static size_t room_of(const struct borrow *b)
{
    const struct service_block *block = b->block;
    if (atomic_load(&block->tx_lent_to) != b->generation)
        return 0;
    uint64_t used = atomic_load_explicit(&block->head, memory_order_relaxed) - atomic_load(&block->acked);
    uint32_t size = borrow_tx(b).size;
    return used < size ? size - (size_t)used : 0;
}

/* As into a TCP connection whose other end is closed: the bytes are gone, the answer is a reset (RFC 9293,
 * 3.10.7.1), and the next call reports it. */
static ssize_t lose(struct borrow *b, size_t total)
{
    int32_t none = 0;
    if (atomic_exchange(&b->block->has_lost, 1))
        return broken(b, -EPIPE);
    atomic_compare_exchange_strong(&b->block->error, &none, EPIPE);
    return (ssize_t)total;
}

/* Returns 0, or the result of the call. */
static ssize_t why_no_send(struct borrow *b)
{
    bool is_shut = atomic_load(&b->block->shut) & SERVICE_SHUT_WRITE;
    switch (borrow_state(b)) {
    case BORROW_NEGOTIATING:
        return is_shut ? -EPIPE : -EAGAIN;
    case BORROW_TCP:
        return -EOPNOTSUPP;
    case BORROW_RESET:
        return broken(b, -EPIPE);
    case BORROW_SMCR:
        break;
    }
    return is_shut ? -EPIPE : 0;
}

/* Keeps the end of a send that leaves alone. It is there before `head` tells of it. */
static void put_end(struct service_block *block, uint64_t end)
{
    uint32_t put = atomic_load_explicit(&block->ends_put, memory_order_relaxed);
    if (put - atomic_load(&block->ends_taken) >= SERVICE_ENDS)
        return;
    atomic_store_explicit(&block->ends[put % SERVICE_ENDS], end, memory_order_relaxed);
    atomic_store_explicit(&block->ends_put, put + 1, memory_order_release);
}

static void move_head(struct borrow *b, size_t n, bool is_urgent, bool has_more)
{
    struct service_block *block = b->block;
    uint64_t head = atomic_load_explicit(&block->head, memory_order_relaxed) + n;
    uint32_t gathering = atomic_load(&block->options) & (SERVICE_NODELAY | SERVICE_CORKED);
    if (gathering == SERVICE_NODELAY && !has_more)
        put_end(block, head);
    if (is_urgent)
        atomic_store_explicit(&block->urgent_end, head, memory_order_relaxed);
    atomic_store_explicit(&block->has_more, has_more, memory_order_relaxed);
    atomic_store_explicit(&block->head, head, memory_order_release);
    borrow_ring(b);
}

static ssize_t send_locked(struct borrow *b, const struct iovec *iov, int n, int flags)
{
    struct service_block *block = b->block;
    size_t total = total_of(iov, n), done = 0, room;
    struct place from = {.iov = iov};
    ssize_t err = why_no_send(b);
    if (err)
        return err;
    if (atomic_load(&block->flags) & SERVICE_WRITE_CLOSED)
        return lose(b, total);
    if (total == 0)
        return 0;
    struct borrow_ring ring = borrow_tx(b);
    while (done < total && (room = room_of(b)) > 0) {
        size_t part = min_of(min_of(total - done, room), PIECE_BYTES);
        bool is_last = done + part == total;
        copy(&from, ring, atomic_load_explicit(&block->head, memory_order_relaxed), part, INTO_RING);
        move_head(b, part, is_last && flags & MSG_OOB, is_last && flags & MSG_MORE);
        done += part;
    }
    if (done < total) { /* say so, then look again: the service does it the other way round */
        atomic_store(&block->wants_room, 1);
        borrow_ring(b);
    }
    return done > 0 ? (ssize_t)done : -EAGAIN;
}

ssize_t borrow_send(struct borrow *b, const struct iovec *iov, int n, int flags)
{
    int err = enter(b, &b->block->send_lock);
    if (err)
        return err == -ENOTRECOVERABLE ? -ECONNRESET : err;
    ssize_t sent = send_locked(b, iov, n, flags);
    borrow_unlock(b, &b->block->send_lock);
    return sent;
}

size_t borrow_unsent(const struct borrow *b)
{
    if (!borrow_is_lent(b))
        return 0;
    return (size_t)(atomic_load(&b->block->head) - atomic_load(&b->block->acked));
}

/* --- receiving --- */

/* Read in line; else passed over as soon as the application reads on. */
uint64_t borrow_read_from(const struct borrow *b)
{
    uint64_t from = atomic_load(&b->block->consumed);
    bool is_inline = atomic_load(&b->block->options) & SERVICE_OOB_INLINE;
    return !is_inline && atomic_load(&b->block->mark) == from ? from + 1 : from;
}

/* A read stops before the urgent byte, and goes on with it, or behind it. */
uint64_t borrow_read_until(const struct borrow *b, uint64_t from)
{
    uint64_t until = atomic_load_explicit(&b->block->produced, memory_order_acquire);
    uint64_t mark = atomic_load(&b->block->mark);
    return mark > from && mark < until ? mark : until > from ? until : from;
}

bool borrow_has_urgent(const struct borrow *b)
{
    const struct service_block *block = b->block;
    uint64_t mark = atomic_load(&block->mark);
    if (atomic_load(&block->flags) & SERVICE_URGENT_ANNOUNCED)
        return true;
    return mark != SERVICE_NO_MARK && mark >= atomic_load(&block->consumed) &&
           atomic_load(&block->oob_taken) != mark + 1;
}

static ssize_t recv_urgent(struct borrow *b, const struct iovec *iov, int n, int flags)
{
    struct service_block *block = b->block;
    uint64_t mark = atomic_load(&block->mark);
    if (atomic_load(&block->options) & SERVICE_OOB_INLINE || !borrow_has_urgent(b))
        return -EINVAL;
    if (mark == SERVICE_NO_MARK || mark < atomic_load(&block->consumed) ||
        atomic_load(&block->oob_taken) == mark + 1)
        return -EAGAIN; /* announced */
    if (total_of(iov, n) == 0)
        return 0;
    while (iov->iov_len == 0)
        iov++;
    *(char *)iov->iov_base = (char)atomic_load(&block->mark_byte);
    if (!(flags & MSG_PEEK))
        atomic_store(&block->oob_taken, mark + 1);
    return 1;
}

/* The byte at the mark may be overwritten in the ring by now: the service keeps it. */
static void copy_out(struct borrow *b, struct place *to, uint64_t from, size_t n)
{
    struct service_block *block = b->block;
    if (atomic_load(&block->mark) == from && n > 0) {
        char byte = (char)atomic_load(&block->mark_byte);
        copy(to, (struct borrow_ring){&byte, 1}, 0, 1, OUT_OF_RING);
        from++;
        n--;
    }
    copy(to, borrow_rx(b), from, n, OUT_OF_RING);
}

/* Counts the bytes at `*from`, the place of the next read. Otherwise the result of the call: 0, -errno. */
static ssize_t readable_at(const struct borrow *b, uint64_t *from)
{
    const struct service_block *block = b->block;
    bool has_ended = atomic_load(&block->flags) & SERVICE_RX_ENDED;
    *from = borrow_read_from(b);
    uint64_t there = borrow_read_until(b, *from) - *from;
    if (there == 0)
        return has_ended || atomic_load(&block->shut) & SERVICE_SHUT_READ ? 0 : -EAGAIN;
    /* No such thing can be, unless another program wrote there. */
    return there > borrow_rx(b).size ? -ECONNRESET : (ssize_t)there;
}

static void move_consumed(struct borrow *b, uint64_t to)
{
    atomic_store(&b->block->consumed, to);
    if (to >= atomic_load(&b->block->tell_at))
        borrow_ring(b);
}

static ssize_t recv_bytes(struct borrow *b, const struct iovec *iov, int n, int flags)
{
    uint64_t from;
    ssize_t there = readable_at(b, &from);
    struct place to = {.iov = iov};
    if (there <= 0)
        return there;
    size_t part = min_of(total_of(iov, n), (uint64_t)there);
    if (!(flags & MSG_TRUNC))
        copy_out(b, &to, from, part);
    if (borrow_state(b) == BORROW_RESET) /* meanwhile: the copied bytes may be another connection's */
        return broken(b, 0);
    if (!(flags & MSG_PEEK) && part > 0)
        move_consumed(b, from + part);
    return (ssize_t)part;
}

/* Returns whether bytes can be there; if not, sets the result of the call. */
static bool can_recv(struct borrow *b, ssize_t *otherwise)
{
    switch (borrow_state(b)) {
    case BORROW_NEGOTIATING:
        *otherwise = atomic_load(&b->block->shut) & SERVICE_SHUT_READ ? 0 : -EAGAIN;
        return false;
    case BORROW_TCP:
        *otherwise = -EOPNOTSUPP;
        return false;
    case BORROW_RESET:
        *otherwise = broken(b, 0);
        return false;
    case BORROW_SMCR:
        break;
    }
    return true;
}

static ssize_t recv_locked(struct borrow *b, const struct iovec *iov, int n, int flags)
{
    ssize_t otherwise;
    if (!can_recv(b, &otherwise))
        return otherwise;
    return flags & MSG_OOB ? recv_urgent(b, iov, n, flags) : recv_bytes(b, iov, n, flags);
}

ssize_t borrow_recv(struct borrow *b, const struct iovec *iov, int n, int flags)
{
    int err = enter(b, &b->block->recv_lock);
    if (err)
        return err == -ENOTRECOVERABLE ? -ECONNRESET : err;
    ssize_t got = recv_locked(b, iov, n, flags);
    borrow_unlock(b, &b->block->recv_lock);
    return got;
}

/* --- into a pipe --- */

/* The `n` bytes at `from` as they lie; `*byte` has room for the one at the mark. How many pieces. */
static int pieces_at(const struct borrow *b, uint64_t from, size_t n, char *byte, struct iovec out[3])
{
    const struct service_block *block = b->block;
    struct borrow_ring ring = borrow_rx(b);
    int count = 0;
    if (atomic_load(&block->mark) == from) {
        *byte = (char)atomic_load(&block->mark_byte);
        out[count++] = (struct iovec){byte, 1};
        from++;
        n--;
    }
    uint32_t at = (uint32_t)(from % ring.size);
    size_t first = min_of(n, ring.size - at);
    out[count++] = (struct iovec){ring.bytes + at, first};
    out[count++] = (struct iovec){ring.bytes, n - first};
    return count;
}

/* By system calls in which no thread is cancelled. The kernel moves the bytes in `own` as far as there is
 * room, and never waits: a write() to the program's pipe might. */
static ssize_t splice_locked(struct borrow *b, const int own[2], int pipe_fd, size_t bytes)
{
    struct iovec pieces[3];
    uint64_t from;
    char byte;
    ssize_t n;
    if (!can_recv(b, &n))
        return n;
    n = readable_at(b, &from);
    if (n <= 0)
        return n;
    int count = pieces_at(b, from, min_of((uint64_t)n, bytes), &byte, pieces);
    n = syscall(SYS_writev, own[1], pieces, count);
    if (n < 0)
        return -errno;
    if (borrow_state(b) == BORROW_RESET) /* meanwhile */
        return broken(b, 0);
    n = syscall(SYS_splice, own[0], NULL, pipe_fd, NULL, (size_t)n, SPLICE_F_NONBLOCK);
    if (n < 0)
        return -errno;
    move_consumed(b, from + (uint64_t)n);
    return n;
}

ssize_t borrow_splice(struct borrow *b, int pipe_fd, size_t bytes)
{
    int own[2];
    if (pipe2(own, O_CLOEXEC | O_NONBLOCK) != 0)
        return -errno;
    int err = enter(b, &b->block->recv_lock);
    ssize_t moved = err;
    if (!err) {
        moved = splice_locked(b, own, pipe_fd, bytes);
        borrow_unlock(b, &b->block->recv_lock);
    }
    close(own[0]);
    close(own[1]);
    return moved == -ENOTRECOVERABLE ? -ECONNRESET : moved;
}

/* --- amounts --- */

size_t borrow_readable(const struct borrow *b)
{
    if (borrow_state(b) != BORROW_SMCR)
        return 0;
    uint64_t from = borrow_read_from(b);
    return (size_t)(borrow_read_until(b, from) - from);
}

bool borrow_at_mark(const struct borrow *b)
{
    uint64_t mark = atomic_load(&b->block->mark);
    return mark != SERVICE_NO_MARK && mark == atomic_load(&b->block->consumed);
}

/* --- poll() --- */

/* As TCP: a third of the buffer is free. A program that finds too little room is told when there is more,
 * also if no send was refused: a send may just have filled the buffer. So the program asks for that before
 * it looks at the room for the last time. The service writes the room first and looks at the request then. */
static bool has_room(const struct borrow *b)
{
    size_t enough = borrow_tx(b).size / 3;
    if (room_of(b) >= enough)
        return true;
    atomic_store(&b->block->wants_room, 1);
    return room_of(b) >= enough;
}

static unsigned smcr_levels(const struct borrow *b)
{
    const struct service_block *block = b->block;
    uint32_t flags = atomic_load(&block->flags), shut = atomic_load(&block->shut);
    size_t readable = borrow_readable(b);
    unsigned levels = 0;
    if (flags & SERVICE_RX_ENDED || shut & SERVICE_SHUT_READ)
        levels |= POLLIN | POLLRDHUP;
    if (readable >= atomic_load(&block->rcvlowat) || (readable > 0 && readable >= borrow_rx(b).size))
        levels |= POLLIN;
    if (flags & SERVICE_WRITE_CLOSED || shut & SERVICE_SHUT_WRITE || has_room(b))
        levels |= POLLOUT;
    if (borrow_has_urgent(b))
        levels |= POLLPRI;
    if (levels & POLLRDHUP && shut & SERVICE_SHUT_WRITE)
        levels |= POLLHUP;
    return levels;
}

unsigned borrow_levels(const struct borrow *b)
{
    const unsigned all = POLLIN | POLLOUT | POLLRDHUP | POLLHUP;
    switch (borrow_state(b)) {
    case BORROW_NEGOTIATING:
    case BORROW_TCP:
        return 0;
    case BORROW_SMCR:
        if (atomic_load(&b->block->has_lost))
            break;
        return smcr_levels(b);
    case BORROW_RESET:
        break;
    }
    return all | (!borrow_is_lent(b) || atomic_load(&b->block->error) ? POLLERR : 0);
}

uint32_t borrow_in_edges(const struct borrow *b)
{
    return atomic_load(&b->block->in_edges);
}

uint32_t borrow_out_edges(const struct borrow *b)
{
    return atomic_load(&b->block->out_edges);
}
