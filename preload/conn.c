/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/conn.h"

#include <limits.h>
#include <linux/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/time.h>

#include "base/base.h"
#include "base/tcp_only.h"
#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/user.h"
#include "preload/waiting.h"

#define USEC_PER_SEC 1000000

static _Atomic unsigned num_lent;

bool conn_any_lent(void)
{
    return num_lent > 0;
}

void conn_become_lent(struct conn *c, struct borrow *b)
{
    num_lent++;
    c->borrow = b;
    atomic_store(&c->state, CONN_LENT);
}

static void destroy(struct fds_object *object)
{
    struct conn *c = (struct conn *)object;
    int beside_fd = atomic_load(&c->beside_fd);
    if (c->borrow) {
        reach_begin();
        borrow_release(c->borrow);
        reach_end();
        num_lent--;
    }
    if (beside_fd >= 0)
        fds_close_kept(beside_fd);
}

struct fds_kind conn_kind = {.bytes = sizeof(struct conn), .destroy = destroy};

struct conn *conn_new(int family, enum conn_state state)
{
    struct conn *c = fds_new(&conn_kind);
    if (!c)
        return NULL;
    c->family = family;
    c->options.linger_s = -1;
    atomic_store(&c->rcvtimeo_ns, UINT64_MAX);
    atomic_store(&c->sndtimeo_ns, UINT64_MAX);
    atomic_store(&c->rcvlowat_bytes, 1);
    atomic_store(&c->beside_fd, -1);
    atomic_store(&c->state, state);
    return c;
}

void conn_inherit(struct conn *child, const struct conn *listener)
{
    child->options = listener->options;
    child->is_tcp_only = listener->is_tcp_only;
    child->save_syn = listener->save_syn;
    atomic_store(&child->rcvtimeo_ns, atomic_load(&listener->rcvtimeo_ns));
    atomic_store(&child->sndtimeo_ns, atomic_load(&listener->sndtimeo_ns));
    atomic_store(&child->rcvlowat_bytes, atomic_load(&listener->rcvlowat_bytes));
}

/* --- the TCP socket beside --- */

static void set_time(int tcp_fd, int name, uint64_t ns)
{
    struct timeval tv = {.tv_sec = (time_t)(ns / NS_PER_S),
                         .tv_usec = (suseconds_t)(ns % NS_PER_S / NS_PER_US)};
    libc()->setsockopt(tcp_fd, SOL_SOCKET, name, &tv, sizeof tv);
}

static void tell_times(struct conn *c, int tcp_fd)
{
    struct borrow_options now; /* whichever process has set it */
    if (!atomic_exchange(&c->owes_times, false))
        return;
    borrow_get_options(c->borrow, &now);
    set_time(tcp_fd, SO_RCVTIMEO, now.rcvtimeo_ns);
    set_time(tcp_fd, SO_SNDTIMEO, now.sndtimeo_ns);
}

int conn_beside(struct conn *c)
{
    int none = -1, fd = atomic_load(&c->beside_fd);
    if (fd >= 0)
        return fd;
    reach_begin();
    fd = borrow_beside_fd(c->borrow);
    reach_end();
    if (fd < 0)
        return fd;
    fd = fds_keep(fd);
    if (!atomic_compare_exchange_strong(&c->beside_fd, &none, fd)) {
        fds_close_kept(fd); /* another thread asked, too */
        fd = none;
    }
    tell_times(c, fd); /* TCP_NODELAY is as the service needs it, which talks by it */
    return fd;
}

/* --- options --- */

static void wait_so_long(struct conn *c)
{
    const struct borrow_options *o = &c->options;
    atomic_store(&c->rcvtimeo_ns, o->rcvtimeo_ns > 0 ? o->rcvtimeo_ns : UINT64_MAX);
    atomic_store(&c->sndtimeo_ns, o->sndtimeo_ns > 0 ? o->sndtimeo_ns : UINT64_MAX);
}

static void note_time(struct conn *c, int name, const struct timeval *tv)
{
    uint64_t ns;
    if (!waiting_timespec_ns(&(struct timespec){tv->tv_sec, tv->tv_usec * (long)NS_PER_US}, &ns))
        return;
    *(name == SO_RCVTIMEO ? &c->options.rcvtimeo_ns : &c->options.sndtimeo_ns) = ns;
    wait_so_long(c);
}

/* As far as the service has to know: which of the options it is; 0: it is none of these. */
static unsigned note_socket_option(struct conn *c, int name, int number, const void *value,
                                   socklen_t len_bytes)
{
    struct linger linger;
    struct timeval tv;
    switch (name) {
    case SO_RCVBUF:
    case SO_RCVBUFFORCE:
        c->options.rcvbuf_bytes = (uint32_t)max_i64(number, 0);
        return 0;
    case SO_SNDBUF:
    case SO_SNDBUFFORCE:
        c->options.sndbuf_bytes = (uint32_t)max_i64(number, 0);
        return 0;
    case SO_OOBINLINE:
        c->options.is_oob_inline = number != 0;
        return BORROW_OOB_INLINE;
    case SO_KEEPALIVE:
        c->options.is_keepalive = number != 0;
        return BORROW_KEEPALIVE;
    case SO_LINGER:
        if (len_bytes < sizeof linger)
            return 0;
        memcpy(&linger, value, sizeof linger);
        c->options.linger_s = linger.l_onoff ? linger.l_linger : -1;
        return BORROW_LINGER;
    case SO_RCVTIMEO:
    case SO_SNDTIMEO:
        if (len_bytes < sizeof tv)
            return 0;
        memcpy(&tv, value, sizeof tv);
        note_time(c, name, &tv);
        return name == SO_RCVTIMEO ? BORROW_RCVTIMEO : BORROW_SNDTIMEO;
    case SO_RCVLOWAT:
        number = number < 0 ? INT_MAX : number > 0 ? number : 1; /* as the kernel has it */
        atomic_store(&c->rcvlowat_bytes, number);
        if (conn_state(c) == CONN_LENT)
            borrow_set_rcvlowat(c->borrow, number);
        return 0;
    default: /* of names that the kernel adds every year */
        return 0;
    }
}

static unsigned note_tcp_option(struct conn *c, int name, int number)
{
    switch (name) {
    case TCP_NODELAY:
        c->options.is_nodelay = number != 0;
        return BORROW_NODELAY;
    case TCP_CORK:
        c->options.is_corked = number != 0;
        return BORROW_CORK;
    case TCP_KEEPIDLE:
        c->options.keepidle_s = (uint32_t)max_i64(number, 0);
        return BORROW_KEEPIDLE;
    case TCP_SAVE_SYN:
        c->save_syn = number;
        return 0;
    default:
        return 0;
    }
}

void conn_note_option(struct conn *c, int level, int name, const void *value, socklen_t len_bytes)
{
    int number = 0;
    if (len_bytes >= sizeof number)
        memcpy(&number, value, sizeof number);
    if (tcp_only_option(level, name) && !tcp_only_is_off(level, name, number))
        c->is_tcp_only = true;
    unsigned which = level == SOL_SOCKET    ? note_socket_option(c, name, number, value, len_bytes)
                     : level == IPPROTO_TCP ? note_tcp_option(c, name, number)
                                            : 0;
    if (which && conn_state(c) == CONN_LENT)
        borrow_set_options(c->borrow, &c->options, which);
}

/* What the kernel doubled stands in it doubled; whether the program had set it, SO_BUF_LOCK tells. */
static void read_option(struct conn *c, int fd, int level, int name)
{
    struct linger value = {0}; /* the longest */
    socklen_t len_bytes = sizeof value;
    if (libc()->getsockopt(fd, level, name, &value, &len_bytes) != 0)
        return;
    if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_SNDBUF))
        value.l_onoff /= 2;
    conn_note_option(c, level, name, &value, len_bytes);
}

void conn_read_options(struct conn *c, int fd)
{
    static const struct {
        int level, name;
    } known[] = {{SOL_SOCKET, SO_OOBINLINE}, {SOL_SOCKET, SO_KEEPALIVE}, {SOL_SOCKET, SO_LINGER},
                 {SOL_SOCKET, SO_RCVLOWAT},  {IPPROTO_TCP, TCP_NODELAY}, {IPPROTO_TCP, TCP_CORK}};
    struct timeval tv;
    socklen_t len_bytes = sizeof tv;
    int locked = 0;
    for (unsigned i = 0; i < array_len(known); i++)
        read_option(c, fd, known[i].level, known[i].name);
    if (libc()->getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &len_bytes) == 0)
        note_time(c, SO_RCVTIMEO, &tv);
    if (libc()->getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &len_bytes) == 0)
        note_time(c, SO_SNDTIMEO, &tv);
    len_bytes = sizeof locked;
    (void)libc()->getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locked, &len_bytes);
    if (locked & SOCK_RCVBUF_LOCK)
        read_option(c, fd, SOL_SOCKET, SO_RCVBUF);
    if (locked & SOCK_SNDBUF_LOCK)
        read_option(c, fd, SOL_SOCKET, SO_SNDBUF);
}

/* When the TCP socket beside hears of an option. */
enum hears { HEARS_NOW, HEARS_WHEN_ASKED, HEARS_NEVER };

/* What the kernel would refuse, or take otherwise than it stands there, it is to see itself. */
static enum hears hears_of(int level, int name, const void *value, socklen_t len_bytes)
{
    struct timeval tv;
    if (user_is_bad(value, len_bytes))
        return HEARS_NOW;
    if (level == IPPROTO_TCP && name == TCP_NODELAY)
        return len_bytes == sizeof(int) ? HEARS_NEVER : HEARS_NOW;
    if (level == SOL_SOCKET && name == SO_RCVLOWAT)
        return len_bytes >= sizeof(int) ? HEARS_NEVER : HEARS_NOW;
    if (level != SOL_SOCKET || (name != SO_RCVTIMEO && name != SO_SNDTIMEO) || len_bytes != sizeof tv)
        return HEARS_NOW;
    memcpy(&tv, value, sizeof tv);
    return tv.tv_sec >= 0 && tv.tv_usec >= 0 && tv.tv_usec < USEC_PER_SEC ? HEARS_WHEN_ASKED : HEARS_NOW;
}

bool conn_keep_option(struct conn *c, int level, int name, const void *value, socklen_t len_bytes)
{
    enum hears hears = hears_of(level, name, value, len_bytes);
    if (hears == HEARS_NOW || (hears == HEARS_WHEN_ASKED && atomic_load(&c->beside_fd) >= 0))
        return false;
    conn_note_option(c, level, name, value, len_bytes);
    if (hears == HEARS_NEVER)
        return true;
    atomic_store(&c->owes_times, true);
    return atomic_load(&c->beside_fd) < 0; /* else another thread has just asked for it, too early for this */
}

void conn_attach(struct conn *c, struct borrow *b)
{
    conn_become_lent(c, b);
    borrow_get_options(b, &c->options);
    wait_so_long(c);
    atomic_store(&c->owes_times, true); /* the other program may not have told it */
    atomic_store(&c->rcvlowat_bytes, borrow_rcvlowat(b));
}
