/* SPDX-License-Identifier: BSD-2-Clause */
/* How a TCP socket of the program becomes a lent connection, and how it becomes TCP again.
 *
 * connect() and accept() are the kernel's. When TCP is established, the socket goes to the service
 * (borrow_begin()), and the outer end of the lent connection takes its number by dup3(): from then on the
 * program's calls for this number are answered here. Which end it is makes no difference. Until the
 * service has negotiated, the descriptor is neither readable nor writable. If that ends in TCP, the TCP
 * socket takes the number back, and the connection is none of our business any more. */
#ifndef NORNIC_PRELOAD_LEND_H
#define NORNIC_PRELOAD_LEND_H

#include <stdbool.h>

#include "preload/conn.h"

/* The lent connection behind `fd`, held, for a call that is about to begin; NULL: the kernel's. Sockets that
 * connected or fell back in the meantime become what they are now. */
struct conn *lend_enter(int fd);
/* As lend_enter() for epoll_ctl(): also a socket that may be lent later. */
struct conn *lend_enter_any(int fd);
/* Ends the call: for __attribute__((cleanup)), so that a thread that is cancelled lets go, too. */
void lend_leave(struct conn **c);
#define LEND_HELD __attribute__((cleanup(lend_leave))) struct conn *

/* `c` is about to connect or to listen: it offers SMC-R if it can be lent then. The way to the service is
 * made here at the latest: a server may be about to give up its rights. */
void lend_offer(struct conn *c, int fd);
/* The socket `fd` has been accepted from `listener_fd`; `flags` of accept4(). Lent, or it stays TCP; false:
 * it could be neither, and was reset. */
bool lend_accepted(int listener_fd, int fd, int family, int flags);
/* connect() of `c` has succeeded. Likewise; its SO_ERROR is ECONNRESET then. */
bool lend_connected(struct conn *c, int fd);
/* Whether the connect() that is under way is known to have come to its end. */
void lend_settle(struct conn *c, int fd);
/* Whether it is a socket whose connect() is under way. */
bool lend_is_connecting(int fd);
/* The service says that `c` is TCP: its numbers lead to the TCP socket again. */
void lend_back(struct conn *c);
/* A descriptor that came from another program or from before exec(): it is bound if it is a lent
 * connection. */
void lend_attach(int fd);

/* Ends all loans of this process, which has given up the service's user: calls say ECONNRESET from
 * now on, and no number leads to the service any more. Other holders keep theirs. How many there
 * were. */
unsigned lend_renounce(void);

/* Around fork(). */
void lend_lock(void);
void lend_unlock(void);

#endif
