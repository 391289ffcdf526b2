/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection whose application is another process. The socket behind it is one of sock/, without a
 * descriptor of its own. The block stands for the calls of an application, and for their answers. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "base/high_fd.h"
#include "service/inner.h"
#include "sock/addrs.h"
#include "sock/ports.h"

#define CROSS_NS NS_PER_S /* the peer's Decline is there by then, if it sent one */
/* Sizes of the buffers of a program that set none: TCP's grow by themselves, these cannot. A service that
 * lends few connections gives each the buffer of a stream between two ends that take turns at their
 * processors. The RMBE is as large, less its bytes that hold no data. */
#define PRESET_BYTES         ((512u << 10) - 64)
#define PRESET_OF_MANY_BYTES ((256u << 10) - 64)
#define MANY_LOANS           64

/* --- slots --- */

/* One that rests: a thread that was stopped in the middle of a call may have a lock of its last connection
 * still. */
static int take_slot(struct service *service)
{
    for (unsigned tries = service->num_free; tries > 0; tries--) {
        uint16_t slot = service->free_slots[service->first_free];
        struct service_block *block = service_block_at(service->arena.memory, slot);
        service->first_free = (service->first_free + 1) % SERVICE_CONNS;
        if (!service_lock_is_held(&block->send_lock) && !service_lock_is_held(&block->recv_lock)) {
            service->num_free--;
            return slot;
        }
        service->free_slots[(service->first_free + service->num_free - 1) % SERVICE_CONNS] = slot;
    }
    return -ENOSPC;
}

static void put_slot(struct service *service, uint32_t slot)
{
    service->free_slots[(service->first_free + service->num_free++) % SERVICE_CONNS] = (uint16_t)slot;
}

struct service_loan *service_loan_find(struct service *service, uint32_t slot, uint32_t generation)
{
    struct service_loan *loan = slot < SERVICE_CONNS ? service->loans[slot] : NULL;
    return loan && loan->generation == generation ? loan : NULL;
}

/* --- its beginning --- */

/* All but the generation, which says that the rest is there. The locks are made once: a thread that had one
 * of an earlier connection may be about to give it back. */
static void init_block(struct service *service, uint32_t slot, const struct service_begin *begin)
{
    struct service_block *b = service_block_at(service->arena.memory, slot);
    if (service->generations[slot] == 0)
        b->send_lock = b->recv_lock = service->fresh_lock;
    atomic_store(&b->flags, 0);
    atomic_store(&b->in_edges, 0);
    atomic_store(&b->out_edges, 0);
    atomic_store(&b->produced, 0);
    atomic_store(&b->acked, 0);
    atomic_store(&b->mark, SERVICE_NO_MARK);
    atomic_store(&b->tell_at, UINT64_MAX);
    b->tx_size = b->rx_size = 0;
    atomic_store(&b->tx_lent_to, 0);
    b->reason[0] = '\0';
    atomic_store(&b->head, 0);
    atomic_store(&b->urgent_end, 0);
    atomic_store(&b->has_more, 0);
    atomic_store(&b->has_lost, 0);
    atomic_store(&b->ends_put, 0);
    atomic_store(&b->ends_taken, 0);
    atomic_store(&b->consumed, 0);
    atomic_store(&b->oob_taken, 0);
    atomic_store(&b->is_waited_for, 0);
    atomic_store(&b->wants_room, 0);
    atomic_store(&b->was_missed, 0);
    atomic_store(&b->was_renounced, 0);
    atomic_store(&b->error, 0);
    atomic_store(&b->shut, 0);
    atomic_store(&b->options, begin->options);
    atomic_store(&b->keepidle_s, begin->keepidle_s);
    atomic_store(&b->linger_s, begin->linger_s);
    atomic_store(&b->rcvlowat, 1);
    atomic_store(&b->rcvtimeo_ns, 0);
    atomic_store(&b->sndtimeo_ns, 0);
    for (unsigned i = 0; i < SERVICE_WATCHES; i++)
        atomic_store(&b->watch[i], 0);
    atomic_store(&b->state, BORROW_NEGOTIATING);
    atomic_store_explicit(&b->generation, ++service->generations[slot], memory_order_release);
}

/* Even: a process that still knows the block sees that it is lent no more. */
static void end_generation(struct service_loan *loan)
{
    atomic_store(&loan->block->generation, ++loan->service->generations[loan->slot]);
}

/* The pair; the inner end has a name that the outer one can be asked for. */
static int make_pair(struct service_loan *loan, int *outer_fd)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
        return -errno;
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = host_now_ns(); /* early in the system's life */
    int len = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, SERVICE_NAME_FORMAT SERVICE_NAME_RANDOM,
                       (int)getpid(), loan->slot, loan->generation, random);
    int err = bind(fds[0], (struct sockaddr *)&name,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0
                  ? 0
                  : -errno;
    loan->inner = high_fd(fds[0]);
    if (!err)
        err =
            service_watch_fd(&loan->source, SERVICE_INNER, loan->inner, EPOLLIN | EPOLLRDHUP | EPOLLET, loan);
    if (err) {
        close(loan->inner);
        close(fds[1]);
        return err;
    }
    *outer_fd = fds[1];
    return 0;
}

static void take_options(struct service_loan *loan)
{
    struct smcr_sock_options *o = &loan->sock->options;
    uint32_t bits = atomic_load(&loan->block->options);
    uint32_t linger_s = atomic_load(&loan->block->linger_s), idle_s = atomic_load(&loan->block->keepidle_s);
    o->is_oob_inline = bits & SERVICE_OOB_INLINE;
    o->is_nodelay = bits & SERVICE_NODELAY;
    o->is_corked = bits & SERVICE_CORKED;
    o->is_keepalive = bits & SERVICE_KEEPALIVE;
    o->linger_s = linger_s > INT_MAX ? -1 : (int)linger_s;
    if (loan->sock->conn && loan->sock->state == SMCR_SOCK_SMCR)
        smcr_conn_set_urgent_inline(loan->sock->conn, o->is_oob_inline);
    if (idle_s > 0 && idle_s != loan->seen_keepidle_s && loan->sock->tcp_fd >= 0)
        setsockopt(loan->sock->tcp_fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    if ((bits ^ loan->seen_options) & SERVICE_KEEPALIVE || idle_s != loan->seen_keepidle_s)
        smcr_sock_apply_keepalive(loan->sock);
    uint32_t set = bits & ~loan->seen_options, cleared = loan->seen_options & ~bits;
    loan->must_push |= set & SERVICE_NODELAY || cleared & SERVICE_CORKED;
    loan->seen_options = bits;
    loan->seen_keepidle_s = idle_s;
    loan->seen_linger_s = linger_s;
}

static int make_loan(struct service *service, int tcp_fd, const struct service_begin *begin,
                     struct service_loan **out, int *outer_fd)
{
    struct service_loan *loan = calloc(1, sizeof *loan);
    int slot = loan ? take_slot(service) : -ENOMEM, err = slot < 0 ? slot : 0;
    if (err)
        goto free_loan;
    loan->service = service;
    loan->slot = (uint32_t)slot;
    loan->block = service_block_at(service->arena.memory, loan->slot);
    init_block(service, loan->slot, begin);
    loan->generation = service->generations[slot];
    err = make_pair(loan, outer_fd);
    if (err)
        goto put_slot;
    loan->sock = smcr_sock_new(tcp_fd);
    if (loan->sock) {
        *out = loan;
        return 0;
    }
    err = -ENOMEM;
    smcr_rt_unwatch(loan->inner);
    close(loan->inner);
    close(*outer_fd);
put_slot:
    end_generation(loan);
    put_slot(service, loan->slot);
free_loan:
    free(loan);
    return err;
}

int service_loan_begin(struct service *service, int tcp_fd, const struct service_begin *begin, pid_t pid,
                       struct service_loan **out, int *outer_fd, enum service_why_not *why_not)
{
    struct service_loan *loan = NULL;
    const char *declines;
    int err = service_judge(service, tcp_fd, begin->is_server, why_not, &declines);
    if (!err)
        err = make_loan(service, tcp_fd, begin, &loan, outer_fd);
    if (err) {
        service_close_theirs(tcp_fd);
        return err;
    }
    struct smcr_sock *s = loan->sock;
    loan->is_server = begin->is_server;
    loan->begun_ns = smcr_rt.now_ns;
    const int any = 1; /* of bytes is news, whatever SO_RCVLOWAT the program has set */
    setsockopt(s->tcp_fd, SOL_SOCKET, SO_RCVLOWAT, &any, sizeof any);
    smcr_sock_ref(s);
    s->loan = loan;
    s->loan_pid = pid;
    s->declines = declines;
    uint32_t preset = service->num_loans < MANY_LOANS ? PRESET_BYTES : PRESET_OF_MANY_BYTES;
    s->options.rcvbuf_bytes = begin->rcvbuf_bytes ? begin->rcvbuf_bytes : preset;
    s->options.sndbuf_bytes =
        min_u32(begin->sndbuf_bytes ? begin->sndbuf_bytes : preset, SERVICE_MAX_SEND_BYTES);
    loan->seen_options = begin->options;
    loan->seen_keepidle_s = begin->keepidle_s;
    take_options(loan);
    service->loans[loan->slot] = loan;
    service->num_loans++;
    err = smcr_sock_watch_tcp(s);
    if (err) { /* its program hears of a reset: the peer may wait for CLC already */
        smcr_sock_reset_tcp(s);
        s->state = SMCR_SOCK_FAILED;
        s->error = -err;
    } else {
        smcr_sock_negotiate(s, begin->is_server ? SMCR_SERVER : SMCR_CLIENT);
    }
    smcr_sock_notify(s, 0);
    *out = loan;
    return 0;
}

/* --- its end --- */

static void free_loan(struct service_loan *loan)
{
    struct service *service = loan->service;
    service->loans[loan->slot] = NULL;
    service->num_loans--;
    end_generation(loan);
    service_wake(loan); /* a thread may be in the middle of a call, though nobody has a number any more */
    put_slot(service, loan->slot);
    if (loan->inner >= 0) {
        smcr_rt_unwatch(loan->inner);
        close(loan->inner);
    }
    service_loan_let_go(loan);
    smcr_sock_unref(loan->sock);
    free(loan);
}

static void abort_loan(struct service_loan *loan, const char *reason)
{
    struct smcr_sock *s = loan->sock;
    if (s->conn)
        smcr_conn_abort(s->conn, smcr_rt_now_ns());
    else if (s->tcp_fd >= 0)
        smcr_sock_reset_tcp(s);
    s->reason = reason;
    if (!s->error)
        s->error = ECONNABORTED;
    s->state = SMCR_SOCK_RESET;
    smcr_sock_notify(s, 0);
}

/* A negotiation is not cut short: the peer would see a reset in place of TCP's end in order. */
static void close_when_settled(struct service_loan *loan)
{
    if (loan->sock->state != SMCR_SOCK_NEGOTIATING || loan->sock->options.linger_s == 0)
        smcr_sock_final_close(loan->sock);
}

void service_loan_end(struct service_loan *loan)
{
    if (loan->inner < 0)
        return;
    service_loan_look(loan);
    service_judge_end(loan);
    smcr_rt_unwatch(loan->inner);
    close(loan->inner);
    loan->inner = -1;
    close_when_settled(loan);
}

void service_loan_on_inner(struct service_loan *loan, uint32_t events)
{
    if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) {
        service_loan_end(loan); /* nobody has it any more */
    } else if (events & EPOLLIN) {
        abort_loan(loan, "the program wrote to the descriptor by a call of the kernel's");
    }
}

/* --- from the program --- */

static unsigned core_flags(uint32_t options, bool has_more)
{
    has_more |= (options & SERVICE_CORKED) != 0;
    return (has_more ? SMCR_SEND_MORE : 0) | (options & SERVICE_NODELAY && !has_more ? SMCR_SEND_NODELAY : 0);
}

/* Takes the next end of a send beyond `at`, up to `head`. `head`: none is left. A program may have written
 * anything there. */
static uint64_t take_end(struct service_block *b, uint64_t at, uint64_t head)
{
    uint32_t put = atomic_load_explicit(&b->ends_put, memory_order_acquire);
    uint32_t taken = atomic_load_explicit(&b->ends_taken, memory_order_relaxed);
    uint64_t end = head;
    if (put - taken > SERVICE_ENDS)
        taken = put;
    for (; taken != put; taken++) {
        uint64_t next = atomic_load_explicit(&b->ends[taken % SERVICE_ENDS], memory_order_relaxed);
        if (next > head)
            break; /* `head` has not come there yet */
        if (next > at) {
            end = next;
            taken++;
            break;
        }
    }
    atomic_store(&b->ends_taken, taken);
    return end;
}

/* Puts the bytes from `at` to `end`: first those up to the urgent byte, if it is among them. 0 or -errno. */
static int put_send(struct service_loan *loan, uint64_t at, uint64_t end, unsigned flags)
{
    uint64_t urgent = atomic_load_explicit(&loan->block->urgent_end, memory_order_relaxed);
    if (urgent > at && urgent <= end) {
        int err = smcr_conn_put(loan->sock->conn, urgent, SMCR_SEND_URGENT, smcr_rt.now_ns);
        if (err || urgent == end)
            return err;
    }
    return smcr_conn_put(loan->sock->conn, end, flags, smcr_rt.now_ns);
}

/* Puts each send that leaves alone, and then the bytes behind the last of them. 0 or -errno. */
static int put_bytes(struct service_loan *loan, const struct smcr_rings *r)
{
    struct service_block *b = loan->block;
    uint64_t head = atomic_load_explicit(&b->head, memory_order_acquire), at = r->tx_head, end;
    unsigned flags = core_flags(loan->seen_options, atomic_load_explicit(&b->has_more, memory_order_relaxed));
    if (head == at && !loan->must_push)
        return 0;
    if (loan->must_push) /* once; as TCP does, also corked bytes */
        flags = SMCR_SEND_NODELAY;
    loan->must_push = false;
    while ((end = take_end(b, at, head)) != head) {
        int err = put_send(loan, at, end, SMCR_SEND_NODELAY);
        if (err)
            return err;
        at = end;
    }
    return put_send(loan, at, head, flags);
}

static int take_consumed(struct service_loan *loan, const struct smcr_rings *r)
{
    uint64_t consumed = atomic_load(&loan->block->consumed);
    return consumed > r->rx_consumed ? smcr_conn_took(loan->sock->conn, consumed, smcr_rt.now_ns) : 0;
}

/* Passes on the bytes that the program has sent, and credits those that it has read. Each direction has its
 * own result: a connection still credits bytes after its writing has ended (-EPIPE). Otherwise its close
 * would count them as unread. */
static void look_at_bytes(struct service_loan *loan)
{
    struct smcr_sock *s = loan->sock;
    struct smcr_rings r;
    if (s->state != SMCR_SOCK_SMCR || !s->conn || !smcr_conn_rings(s->conn, &r))
        return;
    int put_err = put_bytes(loan, &r), took_err = 0;
    if (s->conn && smcr_conn_rings(s->conn, &r))
        took_err = take_consumed(loan, &r);
    if (put_err == -EINVAL || took_err == -EINVAL)
        abort_loan(loan, "the program wrote impossible positions into the shared memory");
}

/* A program may end a direction before it has heard that the connection is TCP's. TCP then ends it: at the
 * hand-over, after all of CLC, or later. */
static void shut_tcp(const struct service_loan *loan)
{
    if (loan->seen_shut & SERVICE_SHUT_READ)
        shutdown(loan->sock->tcp_fd, SHUT_RD);
    if (loan->seen_shut & SERVICE_SHUT_WRITE)
        shutdown(loan->sock->tcp_fd, SHUT_WR);
}

static void look_at_shut(struct service_loan *loan, uint32_t shut)
{
    struct smcr_sock *s = loan->sock;
    if (shut == loan->seen_shut)
        return;
    loan->seen_shut = shut;
    if (shut & SERVICE_SHUT_WRITE && !(s->shut & SMCR_SOCK_SHUT_WRITE)) {
        s->shut |= SMCR_SOCK_SHUT_WRITE;
        if (s->state == SMCR_SOCK_SMCR && s->conn)
            smcr_conn_shutdown_write(s->conn, smcr_rt.now_ns);
    }
    if (atomic_load(&loan->block->state) == BORROW_TCP)
        shut_tcp(loan);
    smcr_sock_notify(s, POLLHUP); /* other waiters see it, too */
}

void service_loan_look(struct service_loan *loan)
{
    if (smcr_sock_is_closing(loan->sock))
        return;
    /* Read before the bytes are looked at: these then have all that the program gave before it. */
    uint32_t shut = atomic_load(&loan->block->shut);
    if (atomic_load(&loan->block->options) != loan->seen_options ||
        atomic_load(&loan->block->keepidle_s) != loan->seen_keepidle_s ||
        atomic_load(&loan->block->linger_s) != loan->seen_linger_s)
        take_options(loan);
    look_at_bytes(loan);
    look_at_shut(loan, shut);
    service_judge_look(loan);
    service_wake_who_missed(loan);
    if (atomic_load(&loan->block->wants_room))
        smcr_sock_notify(loan->sock, 0);
}

/* --- to the program --- */

/* Bytes of CLC that TCP has not taken go before the application's, and a Decline that crossed ours comes
 * before them: it is on its way then, so it is waited for no longer than that can take. */
static bool may_hand_over(struct service_loan *loan)
{
    struct smcr_sock *s = loan->sock;
    if (s->unsent_bytes > 0)
        return false;
    if (smcr_sock_settle_crossed(s))
        return true;
    if (loan->cross_ns == 0)
        loan->cross_ns = smcr_rt.now_ns + CROSS_NS;
    if (smcr_rt.now_ns >= loan->cross_ns)
        return true; /* and no more looks: a time that has passed would be one without end */
    loan->service->look_ns = min_u64(loan->service->look_ns, loan->cross_ns);
    return false;
}

static enum borrow_state state_of(struct service_loan *loan)
{
    struct smcr_sock *s = loan->sock;
    switch (s->state) {
    case SMCR_SOCK_NEW:
    case SMCR_SOCK_LISTENING:
    case SMCR_SOCK_CONNECTING:
    case SMCR_SOCK_NEGOTIATING:
        return BORROW_NEGOTIATING;
    case SMCR_SOCK_SMCR:
        return BORROW_SMCR;
    case SMCR_SOCK_TCP:
        return may_hand_over(loan) ? BORROW_TCP : BORROW_NEGOTIATING;
    case SMCR_SOCK_RESET:
    case SMCR_SOCK_FAILED:
        break;
    }
    return BORROW_RESET;
}

/* Tells the places of the buffers, once. */
static void tell_rings(struct service_loan *loan, const struct smcr_rings *r)
{
    struct service_arena *arena = &loan->service->arena;
    struct service_block *b = loan->block;
    if (loan->has_rings)
        return;
    loan->has_rings = true;
    b->tx_at = service_arena_offset(arena, r->tx_bytes);
    b->rx_at = service_arena_offset(arena, r->rx_bytes);
    b->tx_size = r->tx_size_bytes;
    b->rx_size = r->rx_size_bytes;
    service_arena_lend(arena, r->tx_bytes, b, loan->generation);
}

/* Whether somebody is to hear of it. */
static bool tell_reader(struct service_loan *loan, const struct smcr_rings *r)
{
    struct service_block *b = loan->block;
    struct smcr_conn_status status;
    smcr_conn_status(loan->sock->conn, &status);
    uint32_t flags = (status.rx_ended ? SERVICE_RX_ENDED : 0) |
                     (status.write_closed ? SERVICE_WRITE_CLOSED : 0) |
                     (r->is_urgent_announced ? SERVICE_URGENT_ANNOUNCED : 0);
    if (loan->seen_shut & SERVICE_SHUT_WRITE)
        flags &= ~(uint32_t)SERVICE_WRITE_CLOSED; /* by the program itself, which knows */
    bool is_news = atomic_load(&b->mark) != r->mark || atomic_load(&b->produced) != r->rx_produced ||
                   atomic_load(&b->flags) != flags;
    if (is_news) {
        atomic_store(&b->mark_byte, r->mark_byte);
        atomic_store(&b->mark, r->mark);
        atomic_store(&b->produced, r->rx_produced);
        atomic_store(&b->flags, flags);
        atomic_fetch_add(&b->in_edges, 1);
    }
    /* Then a look, as the reader moves its position and looks at this. */
    atomic_store(&b->tell_at, r->rx_tell_at);
    if (atomic_load(&b->consumed) >= r->rx_tell_at)
        service_bits_set(&loan->service->head->to_look_at, loan->slot);
    return is_news;
}

/* Like TCP: a socket is writable again when a third of its buffer is free. */
static bool tell_writer(struct service_loan *loan, const struct smcr_rings *r)
{
    struct service_block *b = loan->block;
    atomic_store(&b->acked, r->tx_acked);
    uint64_t used = atomic_load(&b->head) - r->tx_acked;
    if (used > r->tx_size_bytes || r->tx_size_bytes - used < r->tx_size_bytes / 3 ||
        !atomic_exchange(&b->wants_room, 0))
        return false;
    atomic_fetch_add(&b->out_edges, 1);
    return true;
}

/* It has another state now. */
static void tell_state(struct service_loan *loan, enum borrow_state state)
{
    struct service_block *b = loan->block;
    struct smcr_sock *s = loan->sock;
    snprintf(b->reason, sizeof b->reason, "%s", s->reason ? s->reason : "");
    if (state == BORROW_TCP) {
        shut_tcp(loan);
        smcr_rt_unwatch(s->tcp_fd); /* later bytes are the program's */
    }
    if (state == BORROW_RESET && s->error) {
        atomic_store(&b->error, s->error);
        s->error = 0;
    }
    atomic_fetch_add(&b->in_edges, 1);
    atomic_fetch_add(&b->out_edges, 1);
    atomic_store(&b->state, state);
}

void service_loan_tell(struct service_loan *loan, short news)
{
    struct smcr_sock *s = loan->sock;
    struct smcr_rings r;
    if (s->life >= SMCR_SOCK_FINISHED) {
        free_loan(loan);
        return;
    }
    if (smcr_sock_is_closing(s))
        return;
    if (loan->inner < 0) {
        close_when_settled(loan);
        return;
    }
    bool is_news = news & (POLLPRI | POLLHUP);
    look_at_bytes(loan); /* the peer may wait for room that the program made long since */
    if (s->state == SMCR_SOCK_SMCR && s->conn && smcr_conn_rings(s->conn, &r)) {
        tell_rings(loan, &r);
        is_news |= tell_reader(loan, &r);
        is_news |= tell_writer(loan, &r);
    }
    enum borrow_state state = state_of(loan);
    if (state != (enum borrow_state)atomic_load(&loan->block->state)) {
        tell_state(loan, state);
        is_news = true;
    }
    if (is_news)
        service_wake(loan);
}
