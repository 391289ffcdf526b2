/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/lend.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "base/base.h"
#include "base/now.h"
#include "preload/decline.h"
#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/shadow/shadow.h"

#define SETTLE_NS NS_PER_S /* the client sends its first message as soon as it is connected */

/* One socket at a time changes what it is. Above the locks of preload/shadow/ and fds.c. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void lend_lock(void)
{
    reach_no_cancel();
    pthread_mutex_lock(&lock);
}

void lend_unlock(void)
{
    pthread_mutex_unlock(&lock);
    reach_may_cancel();
}

/* Puts `file` behind all numbers of `c`, each of which keeps its close-on-exec. */
static void take_numbers(const struct conn *c, int file)
{
    unsigned left = atomic_load(&c->object.numbers);
    for (int fd = fds_next_of(c, -1); fd >= 0 && left > 0; fd = fds_next_of(c, fd), left--) {
        int flags = libc()->fcntl(fd, F_GETFD);
        libc()->dup3(file, fd, flags > 0 && flags & FD_CLOEXEC ? O_CLOEXEC : 0);
    }
}

/* No number leads to it from now on. */
static void let_numbers_go(struct conn *c)
{
    unsigned left = atomic_load(&c->object.numbers);
    atomic_store(&c->state, CONN_PLAIN);
    for (int fd = fds_next_of(c, -1); fd >= 0 && left > 0; fd = fds_next_of(c, fd), left--)
        fds_unbind_from(fd, c);
}

/* An established connection: as client or server; of a server, the socket that listened. */
struct made {
    int fd;
    enum borrow_role role;
    int listener_fd;
};

/* What became of it. */
enum outcome { LENT, STAYS_TCP, ENDED };

static bool is_nonblocking(int fd)
{
    int flags = libc()->fcntl(fd, F_GETFL);
    return flags > 0 && flags & O_NONBLOCK;
}

/* Not lent: plain TCP, once the peer has heard so where it waits for SMC-R's messages. Where the service may
 * have said some of them already there is no way back. `rc`: as borrow_begin() has it. */
static enum outcome stay(const struct made *made, int rc, const char *reason)
{
    int fd = made->fd;
    bool peer_waits = rc == BORROW_PEER_WAITS || decline_is_due(fd);
    bool was_asked = rc < 0 && rc != -ENOTCONN, was_refused = rc == -EBADF || rc == -EPROTO;
    bool is_tcp = was_asked ? was_refused && !peer_waits
                            : !peer_waits || decline_peer(fd, made->role, is_nonblocking(made->listener_fd));
    reach_trace("socket %d %s: %s", fd, is_tcp ? "stays TCP" : "is reset", rc >= 0 ? reason : strerror(-rc));
    if (!is_tcp)
        decline_reset(fd);
    return is_tcp ? STAYS_TCP : ENDED;
}

/* Whether the service of the connection's peer negotiates with this host without the TCP option, as
 * the service here did with the peer. Not where both ends are one address. */
static bool is_named(int fd)
{
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
    if (libc()->getsockname(fd, (struct sockaddr *)&own, &own_bytes) != 0 ||
        libc()->getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) != 0)
        return false;
    ((struct sockaddr_in *)&own)->sin_port = ((struct sockaddr_in *)&peer)->sin_port; /* of IPv6 likewise */
    return memcmp(&own, &peer, sizeof own) != 0 && borrow_is_named((struct sockaddr *)&peer);
}

/* There is no service, or it does not answer; one that had been there, it may be, when the offer
 * was made. To a peer that its service had named, a client that has renounced it says so in the
 * place of its Proposal. */
static enum outcome stay_without(const struct made *made)
{
    if (decline_is_due(made->fd))
        return stay(made, 1, "the service does not answer");
    if (reach_has_renounced() && is_named(made->fd))
        return stay(made, BORROW_PEER_WAITS, "the service's user was given up");
    return STAYS_TCP;
}

/* Asks the service to take it. `*outer_fd` is to be put where it belongs; `blocks`: its calls are to. */
static enum outcome hand_over(struct conn *c, const struct made *made, bool blocks, int *outer_fd)
{
    struct borrow *b;
    const char *reason = "an option of the socket acts on TCP alone";
    int rc = 1;
    if (!c->is_tcp_only) {
        if (!reach_service() || reach_rests())
            return stay_without(made);
        reach_begin();
        rc = borrow_begin(made->fd, made->role, &c->options, &b, outer_fd, &reason);
        reach_end();
        reach_answered(rc);
    }
    if (rc != 0)
        return stay(made, rc, reason);
    if (!blocks)
        borrow_set_nonblocking(b, true);
    if (atomic_load(&c->rcvlowat_bytes) != 1)
        borrow_set_rcvlowat(b, atomic_load(&c->rcvlowat_bytes));
    conn_become_lent(c, b);
    return LENT;
}

void lend_offer(struct conn *c, int fd)
{
    if (c->is_tcp_only || !reach_service() || reach_rests())
        return;
    reach_begin();
    int err = borrow_offer(fd);
    reach_end();
    c->offers = err == 0;
    if (err)
        reach_trace("socket %d cannot offer SMC-R: %s", fd, strerror(-err));
}

/* --- where no loan can be had any more --- */

/* The client may be about to send SMC-R's messages: both ends have sent the option, which a
 * listening socket goes on to offer, or the service has named the client. */
static bool may_propose(int fd)
{
    return decline_is_due(fd) || is_named(fd);
}

/* One thread at a time: another one must not take the bytes that this one has seen. */
static enum decline_first look_at_first(const struct conn *c, int fd, bool is_due)
{
    lend_lock();
    enum decline_first first = conn_state(c) == CONN_UNSETTLED ? decline_first(fd, is_due) : DECLINE_TCP;
    lend_unlock();
    return first;
}

/* Settles what the client's first bytes are, which calls of the program must not read. Where the
 * program does not want to wait they are looked at with each call until they are there. */
static void settle_accepted(struct conn *c, int fd)
{
    bool is_brief = is_nonblocking(fd), is_due = decline_is_due(fd), may_wait = true;
    enum decline_first first = look_at_first(c, fd, is_due);
    while (first == DECLINE_NOTHING_YET && may_wait && base_now_ns() < c->settle_ns) {
        decline_wait(fd, is_brief, c->settle_ns);
        first = look_at_first(c, fd, is_due);
        may_wait = !is_brief;
    }
    if (first == DECLINE_NOTHING_YET && base_now_ns() < c->settle_ns)
        return;
    if (first == DECLINE_BROKEN || (first == DECLINE_NOTHING_YET && is_due))
        decline_reset(fd);
    let_numbers_go(c);
}

static bool accept_plain(const struct made *made, int family)
{
    if (!may_propose(made->fd))
        return true;
    LEND_HELD c = conn_new(family, CONN_UNSETTLED);
    if (!c || !fds_bind(made->fd, c))
        return stay_without(made) != ENDED;
    c->settle_ns = base_now_ns() + SETTLE_NS;
    if (!is_nonblocking(made->listener_fd))
        settle_accepted(c, made->fd);
    return true;
}

/* Puts the end of a pair whose other end is closed behind the numbers of `c`, and a socket without
 * connection in the place of the TCP socket beside it. */
static void end_numbers(struct conn *c)
{
    int dead[2], beside_fd = atomic_exchange(&c->beside_fd, -1);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, dead) == 0) {
        libc()->close(dead[1]);
        take_numbers(c, dead[0]);
        libc()->close(dead[0]);
    } else { /* there is no descriptor: the numbers are free then (EBADF) */
        for (int fd = fds_next_of(c, -1); fd >= 0; fd = fds_next_of(c, fd)) {
            fds_unbind_from(fd, c);
            libc()->close(fd);
        }
    }
    if (beside_fd < 0)
        return;
    int none = libc()->socket(c->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (none < 0 || libc()->dup3(none, beside_fd, O_CLOEXEC) < 0)
        libc()->close(beside_fd);
    if (none >= 0)
        libc()->close(none);
}

unsigned lend_renounce(void)
{
    unsigned num_lost = 0;
    lend_lock();
    reach_renounce();
    for (int fd = fds_next_kind(&conn_kind, -1); fd >= 0; fd = fds_next_kind(&conn_kind, fd)) {
        LEND_HELD c = fds_get(fd, &conn_kind);
        if (!c || conn_state(c) != CONN_LENT || fds_next_of(c, -1) != fd)
            continue;
        end_numbers(c);
        shadow_changed(c);
        num_lost++;
    }
    lend_unlock();
    return num_lost;
}

bool lend_accepted(int listener_fd, int fd, int family, int flags)
{
    const struct made made = {.fd = fd, .role = BORROW_SERVER, .listener_fd = listener_fd};
    int outer_fd = -1;
    if (family != AF_INET && family != AF_INET6)
        return true;
    if (reach_has_renounced())
        return accept_plain(&made, family);
    if (!reach_service())
        return stay_without(&made) != ENDED;
    LEND_HELD listener = fds_get(listener_fd, &conn_kind);
    if (!listener) {
        listener = conn_new(family, CONN_LISTENING);
        if (!listener)
            return stay(&made, 1, "no memory") != ENDED;
        conn_read_options(listener, listener_fd); /* made before this program's time */
        fds_bind(listener_fd, listener);
    }
    LEND_HELD c = conn_new(family, CONN_FRESH);
    if (!c || !fds_bind(fd, c))
        return stay(&made, 1, "its number is too high, or there is no memory") != ENDED;
    conn_inherit(c, listener);
    enum outcome outcome = hand_over(c, &made, !(flags & SOCK_NONBLOCK), &outer_fd);
    if (outcome != LENT) {
        fds_unbind_from(fd, c);
        return outcome != ENDED;
    }
    libc()->dup3(outer_fd, fd, flags & SOCK_CLOEXEC ? O_CLOEXEC : 0);
    libc()->close(outer_fd);
    lend_lock();
    if (reach_has_renounced()) /* by another thread meanwhile */
        end_numbers(c);
    lend_unlock();
    return true;
}

bool lend_connected(struct conn *c, int fd)
{
    const struct made made = {.fd = fd, .role = BORROW_CLIENT, .listener_fd = -1};
    int outer_fd = -1;
    enum outcome outcome = LENT;
    lend_lock();
    if (conn_state(c) == CONN_FRESH || conn_state(c) == CONN_CONNECTING) {
        outcome = hand_over(c, &made, !is_nonblocking(fd), &outer_fd);
        if (outcome == LENT) {
            shadow_adopt(c); /* while the numbers are those of the kernel's registrations */
            take_numbers(c, outer_fd);
            libc()->close(outer_fd);
            if (reach_has_renounced())
                end_numbers(c);
        } else {
            let_numbers_go(c);
        }
    }
    lend_unlock();
    return outcome != ENDED;
}

void lend_settle(struct conn *c, int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLOUT};
    if (conn_state(c) == CONN_UNSETTLED)
        settle_accepted(c, fd);
    if (conn_state(c) != CONN_CONNECTING || libc()->poll(&look, 1, 0) <= 0)
        return;
    if (look.revents & (POLLERR | POLLHUP | POLLNVAL))
        atomic_store(&c->state, CONN_FRESH); /* it failed: the program may try again */
    else
        lend_connected(c, fd);
}

bool lend_is_connecting(int fd)
{
    LEND_HELD c = fds_get(fd, &conn_kind);
    return c && conn_state(c) == CONN_CONNECTING;
}

static void return_to(struct conn *c, int tcp_fd)
{
    take_numbers(c, tcp_fd);
    libc()->close(tcp_fd);
    reach_trace("a connection goes on as TCP");
    shadow_return(c);
    let_numbers_go(c);
}

/* The TCP socket cannot be had (the service is stopped, or there is no number for it): what the numbers lead
 * to has no bytes, and the program is not to wait for any. */
static void give_up(struct conn *c, int err)
{
    reach_trace("a connection that fell back to TCP is reset: %s", strerror(-err));
    borrow_give_up(c->borrow);
    shadow_changed(c);
}

void lend_back(struct conn *c)
{
    lend_lock();
    if (conn_state(c) == CONN_LENT && borrow_state(c->borrow) == BORROW_TCP) {
        reach_begin();
        int tcp_fd = borrow_tcp_fd(c->borrow);
        reach_end();
        if (tcp_fd >= 0)
            return_to(c, tcp_fd);
        else
            give_up(c, tcp_fd);
    }
    lend_unlock();
}

struct conn *lend_enter_any(int fd)
{
    struct conn *c = fds_get(fd, &conn_kind);
    if (!c)
        return NULL;
    lend_settle(c, fd);
    if (conn_state(c) == CONN_LENT && borrow_state(c->borrow) == BORROW_TCP)
        lend_back(c);
    if (conn_state(c) != CONN_PLAIN)
        return c;
    fds_put(c);
    return NULL;
}

struct conn *lend_enter(int fd)
{
    if (!fds_has(fd))
        return NULL;
    struct conn *c = lend_enter_any(fd);
    if (c && conn_state(c) == CONN_LENT)
        return c;
    fds_put(c);
    return NULL;
}

void lend_leave(struct conn **c)
{
    fds_put(*c);
}

void lend_attach(int fd)
{
    struct borrow *b;
    struct sockaddr_storage name;
    socklen_t len_bytes = sizeof name;
    if (fds_has(fd) || !borrow_is_outer(fd) || !reach_service())
        return;
    reach_begin();
    int err = borrow_attach(fd, &b);
    reach_end();
    LEND_HELD c = err ? NULL : conn_new(AF_INET, CONN_FRESH);
    if (!c) {
        if (!err)
            borrow_release(b);
        return;
    }
    conn_attach(c, b);
    int beside_fd = conn_beside(c);
    if (beside_fd >= 0 && libc()->getsockname(beside_fd, (struct sockaddr *)&name, &len_bytes) == 0)
        c->family = name.ss_family;
    fds_bind(fd, c);
}
