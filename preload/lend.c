/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/lend.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "preload/decline.h"
#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/shadow.h"

/* One socket at a time changes what it is. Above the locks of shadow.c and fds.c. */
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

/* There is no service, or it does not answer; one that had been there, it may be, when the offer was made. */
static enum outcome stay_without(const struct made *made)
{
    return decline_is_due(made->fd) ? stay(made, 1, "the service does not answer") : STAYS_TCP;
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

bool lend_accepted(int listener_fd, int fd, int family, int flags)
{
    const struct made made = {.fd = fd, .role = BORROW_SERVER, .listener_fd = listener_fd};
    int outer_fd = -1;
    if (family != AF_INET && family != AF_INET6)
        return true;
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
