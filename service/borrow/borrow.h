/* SPDX-License-Identifier: BSD-2-Clause */
/* SMC-R connections that a service lends to programs: the program's half.
 *
 * A connection outlives its program's habits (exit without close, SIGKILL, SIGSTOP, fork, exec) only if the
 * engine is not in the program. So one service a user and host owns the ports, the link groups and the RMBs,
 * and lends connections: the bytes lie in memory that both have mapped, the program copies them in and out
 * itself, and the service is only told.
 *
 *   program                                      service
 *   TCP socket, connected or accepted  --------> negotiates CLC over it, keeps it beside
 *   descriptor: end of a UNIX pair    <--------- the other end: EOF there means that nobody has the first
 *                                                any more, whatever fork, dup, exec and exit did to it
 *   copies into the send buffer, moves `head`    RDMA writes, CDC; moves `acked`
 *   copies out of the RMBE, moves `consumed`     consumer cursor; moves `produced`
 *   doorbell: a bit, and a write to an eventfd   sleeping, or looking for bits
 *   where the service sleeps
 *   futex of the connection, or a waiter's       news: a bit of the connection for each waiter that watches
 *   end of a pair                                it, and one wake-up where the waiter sleeps
 *
 * A program that is gone or stopped holds up nobody: the service never waits for it. What a program writes
 * into the shared memory is checked before the service uses it; a service serves its own user alone.
 *
 * All calls may come from several threads. None of them waits but where it says so. */
#ifndef NORNIC_SERVICE_BORROW_H
#define NORNIC_SERVICE_BORROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* --- this process and the service --- */

/* Connects to the service whose UNIX socket is `path` and maps its memory; once a process, again after
 * borrow_forked(). Its descriptors are close-on-exec and lie above those that select() can name. 0, or
 * -errno: no service (-ENOENT, -ECONNREFUSED), another user's (-EPERM), another version (-EPROTO). */
int borrow_open(const char *path);
/* In the child of fork(): lets go of the parent's connection to the service, keeps the mapping and all
 * borrowed connections; the next borrow_open() makes its own. */
void borrow_forked(void);
/* Whether the service has gone: every borrowed connection is reset then, and borrow_open() may find a new. */
bool borrow_is_gone(void);
/* A descriptor of this process that polls POLLHUP once the service has gone, for who sleeps on a
 * waiter's descriptor and would hear no more: of the epoll or poll beside it. -1: not open. */
int borrow_service_fd(void);

/* The user of the service that was open last, as its number was when it was opened. False: there
 * was none. */
bool borrow_owner(uid_t *uid);
/* For a process that has given up the service's user: lets go of all that it has of any service,
 * for good. Its connections are as good as reset (-ECONNRESET), and are so in this process alone:
 * another holder keeps them. Memory of services is replaced by empty memory in one step, so a
 * thread in the middle of a call goes on without effect. No service can be opened afterwards, nor
 * in children. The outer ends are the caller's to close. */
void borrow_renounce(void);
bool borrow_has_renounced(void);
/* In the child of fork(), behind borrow_forked(): a child without any borrowed connection needs no
 * memory of its parent's, and has none from now on. The next borrow_open() maps it anew. */
void borrow_forget_memory(void);
/* Whether the service that was open last negotiates with the address `peer` without the TCP option.
 * The peer's first bytes may be SMC-R's messages then. */
bool borrow_is_named(const struct sockaddr *peer);

/* Moves this process, with all its threads and the children it will have, into the service's cgroup, where
 * TCP sockets can offer SMC-R by the TCP option. 0; -EOPNOTSUPP: the service may not use BPF; or -errno. */
int borrow_enter(void);
/* Has the socket `tcp_fd`, in that cgroup, offer SMC-R when it connects, or a listener with each connection
 * that it accepts; called before connect() or listen(). A connection whose peer takes the offer has to be
 * lent: the peer waits for SMC-R's messages. A socket for which this is not called stays plain TCP. 0 or
 * -errno. */
int borrow_offer(int tcp_fd);

/* --- connections --- */

struct borrow; /* a borrowed connection, as this process sees it */

enum borrow_state {
    BORROW_NEGOTIATING, /* neither readable nor writable yet */
    BORROW_SMCR,        /* bytes go by RDMA */
    BORROW_TCP,         /* fell back: the application's bytes go by `borrow_tcp_fd()` from now on */
    BORROW_RESET,       /* ended abnormally: borrow_take_error() */
};

struct borrow_options { /* as the program had set them on its TCP socket; 0: it had not */
    uint32_t rcvbuf_bytes, sndbuf_bytes;
    bool is_nodelay, is_corked, is_oob_inline, is_keepalive;
    uint32_t keepidle_s;
    int linger_s;                      /* -1: off */
    uint64_t rcvtimeo_ns, sndtimeo_ns; /* kept for those who share it */
};

enum borrow_role { BORROW_CLIENT, BORROW_SERVER };

/* Lends the established TCP connection `tcp_fd` (the caller keeps its own reference, and may close it) to
 * the service. `*outer_fd` is the descriptor that the program gets in its place: an end of a UNIX pair,
 * close-on-exec, to be put where it belongs by dup3(). 0 with `*out` (BORROW_NEGOTIATING, or BORROW_SMCR);
 * 1: it stays plain TCP (the option was not seen): nothing is lent, `*reason` says why (static);
 * BORROW_PEER_WAITS: likewise, there is no room, but the peer waits for SMC-R's messages, and has to get a
 * Decline; or -errno: -ENOTCONN: the service was not asked; -EBADF, -EPROTO: it has refused; -EMFILE: it
 * has lent the connection, and there is no descriptor for it: reset it; any other: it is not known how far
 * the service came, which may still say SMC-R's messages on it: reset it. Waits for one answer
 * of the service, at most five seconds. */
#define BORROW_PEER_WAITS 2
int borrow_begin(int tcp_fd, enum borrow_role role, const struct borrow_options *options, struct borrow **out,
                 int *outer_fd, const char **reason);
/* The borrowed connection behind a descriptor that this process has but did not borrow itself: inherited
 * over exec, or received by SCM_RIGHTS. 0; -ENOTSOCK: not one of the service's, or made by another user, who
 * can give it any name; or -errno. */
int borrow_attach(int outer_fd, struct borrow **out);
/* Whether a descriptor may be one of the service's, without asking it: one getpeername(). */
bool borrow_is_outer(int fd);
/* This process forgets it. The connection itself ends when the last descriptor of its outer end is closed. */
void borrow_release(struct borrow *b);

enum borrow_state borrow_state(const struct borrow *b);
/* BORROW_TCP: a TCP socket of the same connection, the caller's to close; asks the service, once. Bytes of
 * CLC have been taken out of it, and it has O_NONBLOCK, TCP_NODELAY, SO_RCVLOWAT and the timeouts as they
 * were set here; for who gets it after another, as that one has set them since. Or -errno. */
int borrow_tcp_fd(struct borrow *b);
/* For this process it is as good as reset from now on: its TCP socket cannot be had. */
void borrow_give_up(struct borrow *b);
/* The TCP socket beside a connection in any state, for getsockname(), getpeername(), getsockopt() that TCP
 * answers: the caller's to close. Or -errno. */
int borrow_beside_fd(struct borrow *b);

/* As recv() and send() on a non-blocking TCP socket: bytes, 0 at the end of the stream, -EAGAIN, -EPIPE,
 * -ECONNRESET, -EINVAL (MSG_OOB without one), ... A pending error is taken. `flags`: MSG_PEEK, MSG_OOB,
 * MSG_TRUNC for receiving; MSG_OOB, MSG_MORE for sending. While it negotiates: -EAGAIN. In BORROW_TCP:
 * -EOPNOTSUPP. A bad pointer is the caller's fault (SIGSEGV); what it holds meanwhile is a lock of this
 * connection alone, which the kernel gives back if the program dies of it. -EDEADLK: in a signal handler
 * that interrupted such a call on the same connection. -EBUSY, after a tenth of a second: another thread or
 * process is in the middle of such a call and does not go on (SIGSTOP, a debugger); when it does, or
 * dies, there is an edge for those who wait. */
ssize_t borrow_recv(struct borrow *b, const struct iovec *iov, int n, int flags);
ssize_t borrow_send(struct borrow *b, const struct iovec *iov, int n, int flags);
/* Moves `bytes` (more than 0) at most of what has come into the pipe `pipe_fd`, as far as that has room, in
 * one step: what is in the pipe was read, by this call alone. As borrow_recv() without flags; -EAGAIN also
 * where the pipe is full; or what splice() says of it (-EPIPE, with SIGPIPE). */
ssize_t borrow_splice(struct borrow *b, int pipe_fd, size_t bytes);
/* SHUT_RD, SHUT_WR, SHUT_RDWR. 0 or -errno as shutdown(). */
int borrow_shutdown(struct borrow *b, int how);
/* SO_ERROR: positive, taken; 0: none. */
int borrow_take_error(struct borrow *b);
/* FIONREAD, SIOCOUTQ, SIOCATMARK. */
size_t borrow_readable(const struct borrow *b);
size_t borrow_unsent(const struct borrow *b);
bool borrow_at_mark(const struct borrow *b);

/* What a program sets while it runs: TCP_NODELAY, TCP_CORK, SO_OOBINLINE, SO_KEEPALIVE with TCP_KEEPIDLE,
 * SO_LINGER, SO_RCVTIMEO, SO_SNDTIMEO, SO_RCVLOWAT. They are the connection's, whoever shares it: of
 * `options` those that `which` names are set, and the others are as another process may have set them. */
enum borrow_option {
    BORROW_NODELAY = 1 << 0,
    BORROW_CORK = 1 << 1,
    BORROW_OOB_INLINE = 1 << 2,
    BORROW_KEEPALIVE = 1 << 3,
    BORROW_KEEPIDLE = 1 << 4,
    BORROW_LINGER = 1 << 5,
    BORROW_RCVTIMEO = 1 << 6,
    BORROW_SNDTIMEO = 1 << 7,
};
void borrow_set_options(struct borrow *b, const struct borrow_options *options, unsigned which);
void borrow_get_options(const struct borrow *b, struct borrow_options *options);
void borrow_set_rcvlowat(struct borrow *b, int bytes);
int borrow_rcvlowat(const struct borrow *b);
/* O_NONBLOCK is the open file's, so that all who share the connection share it: cached here. */
void borrow_set_nonblocking(struct borrow *b, bool on);
bool borrow_is_nonblocking(const struct borrow *b);

/* --- waiting --- */

/* POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLHUP, POLLERR as TCP has them in the same situation. No system
 * call. */
unsigned borrow_levels(const struct borrow *b);
/* Grow with each event that makes an edge for epoll (EPOLLET): bytes or an end have come; room was made. */
uint32_t borrow_in_edges(const struct borrow *b);
uint32_t borrow_out_edges(const struct borrow *b);

/* Sleeps until one of `events` (POLLIN, POLLOUT, ...) or an error is there, or the connection is neither in
 * BORROW_NEGOTIATING nor in BORROW_SMCR (0 at once), `deadline_ns` (CLOCK_MONOTONIC; UINT64_MAX: none) has
 * passed, or a signal came: 0, -EAGAIN, -EINTR. POLLIN is there when a read would find `bytes` (1: any), or
 * all that it can get at a time, or the end; SO_RCVLOWAT makes no difference to that. Without a deadline the
 * kernel begins it anew after a handler with SA_RESTART, as it does a blocking call of a socket. A
 * cancellation point. */
int borrow_wait(struct borrow *b, unsigned events, size_t bytes, uint64_t deadline_ns);

/* A waiter hears of many connections, for poll(), select() and epoll. */
struct borrow_waiter;
/* NULL: no memory, no descriptor, no place. */
struct borrow_waiter *borrow_waiter_new(void);
/* Gives its place back to the service and closes its descriptor; nobody sleeps with it any more. */
void borrow_waiter_free(struct borrow_waiter *w);
/* The descriptor that is readable after a wake-up; for the kernel's epoll or poll beside other
 * descriptors. */
int borrow_waiter_fd(const struct borrow_waiter *w);
/* Whether the service that it was made with has gone: it hears no more, though the next may be open. */
bool borrow_waiter_is_gone(const struct borrow_waiter *w);
/* Whether the service lives and has dropped it, with the connection of this process to it: it hears
 * no more, and another, to be made, has to watch in its place. Its descriptor is readable then. */
bool borrow_waiter_is_dropped(const struct borrow_waiter *w);
/* `w` hears of `b`; its first news is there at once. 0; -ENOSPC: too many watch this connection; -EXDEV: it
 * is not one of the service's that `w` hears of, or `w` was dropped. */
int borrow_watch(struct borrow_waiter *w, struct borrow *b);
/* `w` hears of `b` no more, but for news that are there already. Nothing, if it did not watch it. */
void borrow_unwatch(struct borrow_waiter *w, struct borrow *b);
/* Connections with news since they were taken last, at most `max`: how many. No system call. */
unsigned borrow_take_news(struct borrow_waiter *w, struct borrow **out, unsigned max);
/* Before sleeping in the kernel on borrow_waiter_fd(): false: there is news, do not sleep. After
 * it: borrow_awake(), which empties it where it was rung. */
bool borrow_about_to_sleep(struct borrow_waiter *w);
void borrow_awake(struct borrow_waiter *w);

#endif
