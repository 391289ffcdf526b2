/* SPDX-License-Identifier: BSD-2-Clause */
/* The rounds, and what each call begins and ends with: the lock is taken, the socket found; the call does
 * what it has to; a round takes it to the wire and delivers what came of it; the lock is given back. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "host/dev/clock.h"
#include "sock/socket/state.h"
#include "sock/ports.h"

#define MAX_ROUNDS 16 /* of one progress: more wait for the next */
/* How long a waiting thread looks itself: about the time of an answer with the wake-ups on its way. */
#define LOOK_NS 50000u
/* Sends that only gather behind what is under way make no round of their own until so long after the last. */
#define GATHER_NS 20000u
/* Sends so short after one another, a round between them included, are without a pause. */
#define CLOSE_NS 50000u

static bool take_events(void)
{
    unsigned events;
    struct smcr_conn *conn;
    bool any = false;
    while ((conn = smcr_next_event(smcr_rt.core, &events))) {
        smcr_sock_on_conn_event(smcr_conn_ctx(conn), events);
        any = true;
    }
    return any;
}

/* What the core did not want to read yet, it may want now. */
static void offer_again(void)
{
    struct smcr_sock *s = smcr_rt.offers;
    smcr_rt.offers = NULL;
    while (s) {
        struct smcr_sock *next = s->offer_next;
        s->is_in_offers = false;
        smcr_sock_offer_tcp(s);
        s = next;
    }
}

/* Sockets whose descriptors all went to others behind our back. */
static void close_orphans(void)
{
    struct smcr_sock *s;
    while ((s = smcr_rt.orphans)) {
        smcr_rt.orphans = s->orphan_next;
        smcr_sock_final_close(s);
    }
}

/* What the ports have brought, and what time has. */
static bool take_in(uint64_t now_ns)
{
    bool did = smcr_progress(smcr_rt.core, now_ns);
    if (smcr_deadline_ns(smcr_rt.core) <= now_ns) {
        smcr_expire(smcr_rt.core, now_ns);
        did = true;
    }
    if (smcr_rt.crowded_ns <= now_ns)
        smcr_sock_relieve_listeners(now_ns);
    if (take_events()) {
        offer_again();
        did = true;
    }
    return did;
}

static bool one_round(uint64_t now_ns)
{
    bool did = smcr_rt_ports_progress();
    return take_in(now_ns) || did;
}

bool smcr_rt_progress(void)
{
    unsigned rounds = 0;
    smcr_rt_assert_locked();
    smcr_rt.progress_ns = smcr_rt_now_ns();
    close_orphans();
    while (rounds < MAX_ROUNDS && one_round(smcr_rt.now_ns)) {
        smcr_rt_now_ns();
        rounds++;
    }
    return rounds > 0;
}

bool smcr_rt_round(void)
{
    smcr_rt_assert_locked();
    smcr_rt.progress_ns = smcr_rt_now_ns();
    bool did = smcr_rt_ports_progress_late();
    smcr_hold(smcr_rt.core);
    did |= take_in(smcr_rt.now_ns);
    smcr_release(smcr_rt.core);
    return did;
}

static uint64_t next_deadline_ns(void)
{
    uint64_t next_ns = min_u64(smcr_deadline_ns(smcr_rt.core), smcr_rt_ports_deadline_ns());
    next_ns = min_u64(next_ns, smcr_rt.crowded_ns);
    if (!smcr_rt.is_port_armed && smcr_rt.lookers == 0)
        next_ns = min_u64(next_ns, smcr_rt.lease_end_ns);
    return next_ns;
}

/* The timer may fire too early, which costs a look; never too late. */
static void plan(uint64_t deadline_ns)
{
    if (deadline_ns >= smcr_rt.planned_ns)
        return;
    struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(deadline_ns / NS_PER_S), .tv_nsec = (long)(deadline_ns % NS_PER_S)}};
    if (deadline_ns == 0)
        at.it_value.tv_nsec = 1; /* zero would disarm it */
    timerfd_settime(smcr_rt.timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    smcr_rt.planned_ns = deadline_ns;
}

void smcr_rt_unlock(void)
{
    if (smcr_rt.core) {
        smcr_rt_progress();
        plan(next_deadline_ns());
    }
    smcr_rt_release();
}

void smcr_rt_unlock_planned(void)
{
    plan(next_deadline_ns());
    smcr_rt_release();
}

/* Whether who sends takes the port over from the thread: sends have followed one another closely for as long
 * as a lease is, and nobody sleeps who waits for the thread's news. They make a round every GATHER_NS; woken
 * for each completion, the thread would find them having the lock, and on their processor keep them from
 * going on. When they cease it takes a lease's end until the thread is there, no longer than they went on. */
static void take_port_over(void)
{
    uint64_t now_ns = smcr_rt.now_ns;
    if (now_ns - smcr_rt.sent_ns > CLOSE_NS)
        smcr_rt.sending_since_ns = now_ns;
    smcr_rt.sent_ns = now_ns;
    if (now_ns - smcr_rt.sending_since_ns < SMCR_RT_LEASE_NS || smcr_rt.sleepers > 0 || smcr_rt.lookers > 0)
        return;
    smcr_rt.lease_end_ns = now_ns + SMCR_RT_LEASE_NS;
    smcr_rt_arm_ports(false);
    plan(smcr_rt.lease_end_ns); /* this send may be the last, and make no round */
}

void smcr_rt_unlock_sent(void)
{
    if (smcr_rt.core)
        take_port_over();
    if (!smcr_rt.core || smcr_rt_ports_pending() || smcr_rt.now_ns - smcr_rt.progress_ns > GATHER_NS) {
        smcr_rt_unlock();
        return;
    }
    plan(smcr_deadline_ns(smcr_rt.core)); /* with nothing posted, no other is earlier than it was */
    smcr_rt_release();
}

/* Gives the lock back and looks for `*seq` to become another than `seen`, making progress, for as long as a
 * sleep and its waking cost. With the lock again: whether it did. */
static bool look(const uint32_t *seq, uint32_t seen)
{
    if (smcr_rt.lookers > 0) /* one is enough */
        return false;
    uint64_t end_ns = smcr_rt_now_ns() + LOOK_NS;
    smcr_rt.lookers++;
    smcr_rt_arm_ports(false);
    do {
        smcr_rt_progress();
        if (host_lock_is_wanted(&smcr_rt.lock)) {
            smcr_rt_release();
            sched_yield();
            smcr_rt_lock();
        }
    } while (*seq == seen && smcr_rt.now_ns < end_ns);
    smcr_rt.lookers--;
    smcr_rt.lease_end_ns = smcr_rt.now_ns + SMCR_RT_LEASE_NS;
    if (*seq == seen || smcr_rt.sleepers > 0)
        smcr_rt_arm_ports(true);
    return *seq != seen;
}

/* --- calls --- */

struct smcr_sock *smcr_sock_enter(int fd)
{
    if (!smcr_rt_is_on() || fd < 0)
        return NULL;
    smcr_rt_lock();
    struct smcr_sock *s = smcr_sock_find(fd);
    if (!s) {
        if (smcr_rt.orphans)
            smcr_rt_unlock();
        else
            smcr_rt_release();
        return NULL;
    }
    smcr_sock_ref(s);
    return s;
}

void smcr_sock_leave(struct smcr_sock *s)
{
    smcr_sock_unref(s);
    smcr_rt_unlock();
}

ssize_t smcr_sock_leave_with(struct smcr_sock *s, ssize_t result)
{
    smcr_sock_leave(s);
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

/* --- calls that wait --- */

uint64_t smcr_sock_deadline(uint64_t timeout_ns)
{
    return host_deadline_ns(timeout_ns);
}

bool smcr_sock_is_nonblocking(int fd, int flags)
{
    if (flags & MSG_DONTWAIT)
        return true;
    int fd_flags = fcntl(fd, F_GETFL);
    return fd_flags >= 0 && fd_flags & O_NONBLOCK; /* closed by another thread: as it was, it waits */
}

/* A futex is interrupted by signals as a socket call is: without a timeout the kernel restarts it if the
 * handler asks for that (SA_RESTART), with one never (signal(7)). */
static int wait_for_change(uint32_t *seq, uint32_t seen, uint64_t deadline_ns)
{
    struct timespec left, *timeout = NULL;
    if (deadline_ns != NET_TIME_NONE) {
        uint64_t now_ns = host_now_ns();
        if (now_ns >= deadline_ns)
            return -EAGAIN;
        left.tv_sec = (time_t)((deadline_ns - now_ns) / NS_PER_S);
        left.tv_nsec = (long)((deadline_ns - now_ns) % NS_PER_S);
        timeout = &left;
    }
    int type;
    /* The place where the C library's own calls are cancelled. */
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    long n = syscall(SYS_futex, seq, FUTEX_WAIT_PRIVATE, seen, timeout, NULL, 0);
    pthread_setcanceltype(type, NULL);
    if (n == 0 || errno == EAGAIN)
        return 0;
    return errno == ETIMEDOUT ? -EAGAIN : -EINTR;
}

/* Of a thread that waits without the lock. */
struct waiting {
    struct smcr_sock *s;
    enum smcr_sock_purpose purpose;
    bool is_asleep; /* until news come; else in a call of the kernel */
};

static void begin_waiting(struct waiting *w)
{
    w->s->waiters += w->is_asleep;
    w->s->rx_waiters += w->purpose == SMCR_SOCK_FOR_DATA;
    w->s->connect_waiters += w->purpose == SMCR_SOCK_FOR_CONNECT;
    smcr_rt.sleepers += w->is_asleep;
    if (w->is_asleep && smcr_rt.lookers == 0)
        smcr_rt_arm_ports(true);
    smcr_rt_unlock();
}

static void end_waiting(struct waiting *w)
{
    smcr_rt_lock();
    w->s->waiters -= w->is_asleep;
    w->s->rx_waiters -= w->purpose == SMCR_SOCK_FOR_DATA;
    w->s->connect_waiters -= w->purpose == SMCR_SOCK_FOR_CONNECT;
    smcr_rt.sleepers -= w->is_asleep;
}

/* The thread is cancelled: the call ends here, with what smcr_sock_enter() took. */
static void on_cancel(void *ctx)
{
    struct waiting *w = ctx;
    end_waiting(w);
    smcr_sock_leave(w->s);
}

int smcr_sock_wait(struct smcr_sock *s, enum smcr_sock_purpose purpose, uint64_t deadline_ns)
{
    struct waiting w = {.s = s, .purpose = purpose, .is_asleep = true};
    uint32_t seen = s->seq;
    int err;
    if (s->life >= SMCR_SOCK_FINISHED)
        return -EBADF;
    s->rx_waiters += purpose == SMCR_SOCK_FOR_DATA;
    bool came = s->state == SMCR_SOCK_SMCR && look(&s->seq, seen);
    s->rx_waiters -= purpose == SMCR_SOCK_FOR_DATA;
    if (came)
        return 0;
    begin_waiting(&w);
    pthread_cleanup_push(on_cancel, &w);
    err = wait_for_change(&s->seq, seen, deadline_ns);
    pthread_cleanup_pop(0);
    end_waiting(&w);
    return err;
}

int smcr_sock_wait_pending(struct smcr_sock *s, int fd, int flags, uint64_t timeout_ns)
{
    if (!smcr_sock_is_pending(s))
        return 0;
    uint64_t deadline_ns = smcr_sock_deadline(timeout_ns);
    int err = 0;
    while (smcr_sock_is_pending(s) && !err)
        err =
            smcr_sock_is_nonblocking(fd, flags) ? -EAGAIN : smcr_sock_wait(s, SMCR_SOCK_FOR_ANY, deadline_ns);
    return err;
}

ssize_t smcr_sock_in_kernel(struct smcr_sock *s, ssize_t (*call)(int, struct msghdr *, int),
                            struct msghdr *msg, int flags)
{
    struct waiting w = {.s = s, .purpose = call == recvmsg ? SMCR_SOCK_FOR_DATA : SMCR_SOCK_FOR_ANY};
    int tcp_fd = s->tcp_fd, err;
    ssize_t n;
    begin_waiting(&w);
    pthread_cleanup_push(on_cancel, &w);
    n = call(tcp_fd, msg, flags);
    err = errno;
    pthread_cleanup_pop(0);
    end_waiting(&w);
    return n < 0 ? -err : n;
}
