/* SPDX-License-Identifier: BSD-2-Clause */
/* A TCP socket of the program that is, or may once be, a connection that the service lends. */
#ifndef NORNIC_PRELOAD_CONN_H
#define NORNIC_PRELOAD_CONN_H

#include <sys/socket.h>

#include "preload/fds.h"
#include "service/borrow/borrow.h"

enum conn_state {
    CONN_FRESH,      /* not connected; it is the kernel's, and what the program does to it is noted */
    CONN_LISTENING,  /* the kernel's; what is accepted inherits what was noted */
    CONN_CONNECTING, /* the kernel's; connect() has not come back with success yet */
    /* The kernel's, accepted where no loan can be had any more: its client may send SMC-R's
     * messages before the application's bytes, and is declined then. */
    CONN_UNSETTLED,
    CONN_LENT,  /* `borrow` has the bytes */
    CONN_PLAIN, /* the kernel's for good; no number leads here, but calls may be under way */
};

struct shadow_reg; /* preload/shadow/shadow.h */

struct conn {
    struct fds_object object;
    _Atomic int state; /* enum conn_state */
    int family;        /* AF_INET or AF_INET6 */
    bool is_tcp_only;  /* an option was set that acts on nothing else */
    bool offers;       /* its TCP_SAVE_SYN is the mark of base/smc_mark.h; what the program has set: */
    int save_syn;
    struct borrow_options options;
    _Atomic uint64_t rcvtimeo_ns, sndtimeo_ns; /* of a blocking call; UINT64_MAX: none */
    _Atomic int rcvlowat_bytes;
    uint64_t settle_ns;          /* CONN_UNSETTLED: until then the client's first message is waited for */
    struct borrow *borrow;       /* CONN_LENT and after it */
    _Atomic int beside_fd;       /* the TCP socket beside a lent connection; -1: not asked for yet */
    _Atomic bool owes_times;     /* that socket has not been told SO_RCVTIMEO and SO_SNDTIMEO */
    struct shadow_reg *in_epoll; /* what epoll instances watch it; under the lock of preload/shadow/life.c */
};

extern struct fds_kind conn_kind;

/* A new one, held by the caller, with the options of a new socket. NULL: no memory. */
struct conn *conn_new(int family, enum conn_state state);
/* `child` was accepted from `listener`: it has its options. */
void conn_inherit(struct conn *child, const struct conn *listener);
/* What `fd`, a TCP socket that others have made, has of options. */
void conn_read_options(struct conn *c, int fd);
/* The program has set an option with success. Where the connection is lent, the service is told. */
void conn_note_option(struct conn *c, int level, int name, const void *value, socklen_t len_bytes);
/* Likewise, of a lent connection, where the TCP socket beside need not hear of it now, which saves asking the
 * service for that socket: most programs set TCP_NODELAY when they have connected or accepted, and nothing
 * else. SO_RCVLOWAT it must not even know: the service would not hear of messages that are shorter. If the
 * connection falls back, the service tells the TCP socket. False: it has to be told, and be the judge. */
bool conn_keep_option(struct conn *c, int level, int name, const void *value, socklen_t len_bytes);
/* The TCP socket beside a lent connection. -errno. */
int conn_beside(struct conn *c);
/* Whether this process has any that is lent. */
bool conn_any_lent(void);
/* It is lent from now on. */
void conn_become_lent(struct conn *c, struct borrow *b);
/* `b` was lent to a program before this one: its options are what they were there. */
void conn_attach(struct conn *c, struct borrow *b);
/* What it is: all that was written before it became so is seen. */
static inline enum conn_state conn_state(const struct conn *c)
{
    return (enum conn_state)atomic_load_explicit(&c->state, memory_order_acquire);
}

#endif
