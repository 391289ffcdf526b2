/* SPDX-License-Identifier: BSD-2-Clause */
/* service/borrow/borrow.h without a service: a "borrowed" connection is the TCP connection itself, driven by the
 * kernel's non-blocking calls. With this in the place of the program's half of the lending the preload
 * library must behave as the kernel does with the same program, to the last detail that a test looks at;
 * whatever differs is the library's.
 *
 * NORNIC_SMC says how connections begin: "double:lent", "double:tcp" (never lent), "double:fallback" (lent,
 * and TCP after a few milliseconds), "double:late" (lent, and negotiated after as long), "double:none"
 * (there is no service). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/now.h"
#include "preload/libc.h"
#include "service/borrow/borrow.h"

/* Not those of the library that this is in, which would take the double's descriptors for the program's; but
 * for close() and fcntl(), which know what is to be kept from the program. */
#define poll          libc()->poll
#define ppoll         libc()->ppoll
#define recvmsg       libc()->recvmsg
#define sendmsg       libc()->sendmsg
#define shutdown      libc()->shutdown
#define ioctl         libc()->ioctl
#define getsockopt    libc()->getsockopt
#define epoll_ctl     libc()->epoll_ctl
#define epoll_wait    libc()->epoll_wait
#define epoll_create1 libc()->epoll_create1

#define NEGOTIATION_NS (5 * NS_PER_MS)
#define FIRST_FD       1024

struct borrow {
    int tcp_fd, timer_fd, inner_fd;
    enum borrow_state ends_as; /* once negotiated */
    bool is_nonblocking;
    struct borrow_options options;
};

struct borrow_waiter {
    int epfd;
};

static char mode[32];

int borrow_open(const char *path)
{
    if (strncmp(path, "double:", 7) != 0)
        return -ENOENT;
    strncpy(mode, path + 7, sizeof mode - 1);
    return strcmp(mode, "none") == 0 ? -ENOENT : 0;
}

void borrow_forked(void)
{
}

void borrow_forget_memory(void)
{
}

bool borrow_owner(uid_t *uid)
{
    (void)uid;
    return false;
}

static bool has_renounced;

void borrow_renounce(void)
{
    has_renounced = true;
}

bool borrow_has_renounced(void)
{
    return has_renounced;
}

bool borrow_is_named(const struct sockaddr *peer)
{
    (void)peer;
    return false;
}

bool borrow_is_gone(void)
{
    return false;
}

bool borrow_waiter_is_gone(const struct borrow_waiter *w)
{
    (void)w;
    return false;
}

bool borrow_waiter_is_dropped(const struct borrow_waiter *w)
{
    (void)w;
    return false;
}

void borrow_give_up(struct borrow *b)
{
    (void)b;
}

int borrow_offer(int tcp_fd)
{
    int on = 1;
    return libc()->setsockopt(tcp_fd, IPPROTO_TCP, TCP_SAVE_SYN, &on, sizeof on) == 0 ? 0 : -errno;
}

int borrow_service_fd(void)
{
    return -1;
}

static int copy_high(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
}

static int high(int fd)
{
    int to = copy_high(fd);
    close(fd);
    return to;
}

/* The TCP socket lies in the queue of the outer end for whoever gets that by exec() or SCM_RIGHTS: each look
 * takes a copy and leaves the message. */
static const char tag[] = "double of a service";

union tagged {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

static void leave_for_others(int inner_fd, int tcp_fd)
{
    struct iovec iov = {(char *)tag, sizeof tag};
    union tagged control = {
        {.cmsg_len = CMSG_LEN(sizeof tcp_fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.header), &tcp_fd, sizeof tcp_fd);
    if (sendmsg(inner_fd, &msg, 0) < 0)
        abort();
}

/* A copy of the TCP socket behind it; -1: it is no outer end. */
static int look_behind(int outer_fd)
{
    char got[sizeof tag];
    int tcp_fd = -1;
    struct iovec iov = {got, sizeof got};
    union tagged control;
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int domain = 0;
    socklen_t len_bytes = sizeof domain;
    if (getsockopt(outer_fd, SOL_SOCKET, SO_DOMAIN, &domain, &len_bytes) != 0 || domain != AF_UNIX ||
        recvmsg(outer_fd, &msg, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof tag ||
        CMSG_FIRSTHDR(&msg) == NULL)
        return -1;
    memcpy(&tcp_fd, CMSG_DATA(&control.header), sizeof tcp_fd);
    return tcp_fd;
}

int borrow_begin(int tcp_fd, enum borrow_role role, const struct borrow_options *options, struct borrow **out,
                 int *outer_fd, const char **reason)
{
    int pair[2];
    (void)role;
    *reason = "the double was told so";
    if (strcmp(mode, "tcp") == 0)
        return 1;
    struct borrow *b = calloc(1, sizeof *b);
    if (!b || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        abort();
    struct itimerspec in_a_while = {.it_value.tv_nsec = NEGOTIATION_NS};
    bool at_once = strcmp(mode, "lent") == 0;
    b->tcp_fd = copy_high(tcp_fd);
    leave_for_others(pair[1], tcp_fd);
    b->inner_fd = high(pair[1]);
    b->timer_fd = at_once ? -1 : high(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!at_once)
        timerfd_settime(b->timer_fd, 0, &in_a_while, NULL);
    b->ends_as = strcmp(mode, "fallback") == 0 ? BORROW_TCP : BORROW_SMCR;
    b->options = *options;
    *out = b;
    *outer_fd = pair[0];
    return 0;
}

/* What a service has in its memory, another process finds here in the TCP socket. */
static uint64_t read_time(const struct borrow *b, int name)
{
    struct timeval tv = {0};
    socklen_t len_bytes = sizeof tv;
    getsockopt(b->tcp_fd, SOL_SOCKET, name, &tv, &len_bytes);
    return (uint64_t)tv.tv_sec * NS_PER_S + (uint64_t)tv.tv_usec * NS_PER_US;
}

static void read_options(const struct borrow *b, struct borrow_options *options)
{
    int nodelay = 0;
    socklen_t len_bytes = sizeof nodelay;
    getsockopt(b->tcp_fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &len_bytes);
    options->is_nodelay = nodelay != 0;
    options->rcvtimeo_ns = read_time(b, SO_RCVTIMEO);
    options->sndtimeo_ns = read_time(b, SO_SNDTIMEO);
}

static void write_time(const struct borrow *b, int name, uint64_t ns)
{
    struct timeval tv = {.tv_sec = (time_t)(ns / NS_PER_S),
                         .tv_usec = (suseconds_t)(ns % NS_PER_S / NS_PER_US)};
    libc()->setsockopt(b->tcp_fd, SOL_SOCKET, name, &tv, sizeof tv);
}

int borrow_attach(int outer_fd, struct borrow **out)
{
    int tcp_fd = look_behind(outer_fd);
    struct borrow *b = tcp_fd < 0 ? NULL : calloc(1, sizeof *b);
    if (!b)
        return -ENOTSOCK;
    *b = (struct borrow){.tcp_fd = high(tcp_fd), .timer_fd = -1, .inner_fd = -1, .ends_as = BORROW_SMCR};
    b->is_nonblocking = fcntl(outer_fd, F_GETFL) & O_NONBLOCK;
    b->options.linger_s = -1;
    *out = b;
    return 0;
}

bool borrow_is_outer(int fd)
{
    int tcp_fd = look_behind(fd);
    if (tcp_fd >= 0)
        close(tcp_fd);
    return tcp_fd >= 0;
}

void borrow_release(struct borrow *b)
{
    close(b->tcp_fd);
    if (b->inner_fd >= 0)
        close(b->inner_fd);
    if (b->timer_fd >= 0)
        close(b->timer_fd);
    free(b);
}

enum borrow_state borrow_state(const struct borrow *b)
{
    struct pollfd fd = {.fd = b->timer_fd, .events = POLLIN};
    return b->timer_fd >= 0 && poll(&fd, 1, 0) == 0 ? BORROW_NEGOTIATING : b->ends_as;
}

int borrow_beside_fd(struct borrow *b)
{
    return libc()->fcntl(b->tcp_fd, F_DUPFD_CLOEXEC, 0);
}

int borrow_tcp_fd(struct borrow *b)
{
    int flags = libc()->fcntl(b->tcp_fd, F_GETFL) & ~O_NONBLOCK;
    libc()->fcntl(b->tcp_fd, F_SETFL, flags | (b->is_nonblocking ? O_NONBLOCK : 0));
    return borrow_beside_fd(b);
}

/* --- bytes --- */

ssize_t borrow_recv(struct borrow *b, const struct iovec *iov, int n, int flags)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};
    if (borrow_state(b) != BORROW_SMCR)
        return -EAGAIN;
    ssize_t rc = recvmsg(b->tcp_fd, &msg, flags | MSG_DONTWAIT);
    return rc < 0 ? -errno : rc;
}

ssize_t borrow_send(struct borrow *b, const struct iovec *iov, int n, int flags)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};
    if (borrow_state(b) != BORROW_SMCR)
        return -EAGAIN;
    ssize_t rc = sendmsg(b->tcp_fd, &msg, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    return rc < 0 ? -errno : rc;
}

ssize_t borrow_splice(struct borrow *b, int pipe_fd, size_t bytes)
{
    ssize_t rc = splice(b->tcp_fd, NULL, pipe_fd, NULL, bytes, SPLICE_F_NONBLOCK);
    return rc < 0 ? -errno : rc;
}

int borrow_shutdown(struct borrow *b, int how)
{
    return shutdown(b->tcp_fd, how) == 0 ? 0 : -errno;
}

int borrow_take_error(struct borrow *b)
{
    int error = 0;
    socklen_t len_bytes = sizeof error;
    getsockopt(b->tcp_fd, SOL_SOCKET, SO_ERROR, &error, &len_bytes);
    return error;
}

static int ask(const struct borrow *b, unsigned long request)
{
    int value = 0;
    return ioctl(b->tcp_fd, request, &value) == 0 ? value : 0;
}

size_t borrow_readable(const struct borrow *b)
{
    return (size_t)ask(b, FIONREAD);
}

size_t borrow_unsent(const struct borrow *b)
{
    return (size_t)ask(b, SIOCOUTQ);
}

bool borrow_at_mark(const struct borrow *b)
{
    return ask(b, SIOCATMARK) != 0;
}

/* The library sets them on the TCP socket beside, which is this one, or leaves them to the service. */
void borrow_set_options(struct borrow *b, const struct borrow_options *options, unsigned which)
{
    int nodelay = options->is_nodelay;
    if (which & BORROW_NODELAY)
        libc()->setsockopt(b->tcp_fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof nodelay);
    if (which & BORROW_RCVTIMEO)
        write_time(b, SO_RCVTIMEO, options->rcvtimeo_ns);
    if (which & BORROW_SNDTIMEO)
        write_time(b, SO_SNDTIMEO, options->sndtimeo_ns);
}

void borrow_get_options(const struct borrow *b, struct borrow_options *options)
{
    *options = b->options;
    read_options(b, options);
}

void borrow_set_rcvlowat(struct borrow *b, int bytes)
{
    libc()->setsockopt(b->tcp_fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

int borrow_rcvlowat(const struct borrow *b)
{
    int bytes = 1;
    socklen_t len_bytes = sizeof bytes;
    getsockopt(b->tcp_fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, &len_bytes);
    return bytes;
}

void borrow_set_nonblocking(struct borrow *b, bool on)
{
    b->is_nonblocking = on;
}

bool borrow_is_nonblocking(const struct borrow *b)
{
    return b->is_nonblocking;
}

/* --- waiting --- */

unsigned borrow_levels(const struct borrow *b)
{
    struct pollfd fd = {.fd = b->tcp_fd, .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP};
    return borrow_state(b) == BORROW_SMCR && poll(&fd, 1, 0) > 0 ? (unsigned short)fd.revents : 0;
}

static struct tcp_info info_of(const struct borrow *b)
{
    struct tcp_info info = {0};
    socklen_t len_bytes = sizeof info;
    getsockopt(b->tcp_fd, IPPROTO_TCP, TCP_INFO, &info, &len_bytes);
    return info;
}

/* The end of the peer's bytes is one more. */
uint32_t borrow_in_edges(const struct borrow *b)
{
    unsigned ended = borrow_levels(b) & (POLLRDHUP | POLLHUP | POLLERR);
    return (uint32_t)info_of(b).tcpi_bytes_received + (ended != 0);
}

uint32_t borrow_out_edges(const struct borrow *b)
{
    return (uint32_t)info_of(b).tcpi_bytes_acked + (borrow_state(b) == BORROW_SMCR);
}

/* Until a read would find so many bytes; how many it was before. */
static int set_rcvlowat(struct borrow *b, int bytes)
{
    int before = borrow_rcvlowat(b);
    if (before != bytes)
        borrow_set_rcvlowat(b, bytes);
    return before;
}

int borrow_wait(struct borrow *b, unsigned events, size_t bytes, uint64_t deadline_ns)
{
    bool is_new = borrow_state(b) == BORROW_NEGOTIATING;
    struct pollfd fd = {.fd = is_new ? b->timer_fd : b->tcp_fd, .events = is_new ? POLLIN : (short)events};
    uint64_t now = base_now_ns();
    struct timespec left = {0};
    if (deadline_ns > now)
        left = (struct timespec){(time_t)((deadline_ns - now) / NS_PER_S),
                                 (long)((deadline_ns - now) % NS_PER_S)};
    int lowat = events & POLLIN ? set_rcvlowat(b, (int)min_u64(bytes, INT_MAX)) : 0;
    int n = ppoll(&fd, 1, deadline_ns == UINT64_MAX ? NULL : &left, NULL), err = errno;
    if (events & POLLIN)
        set_rcvlowat(b, lowat);
    return n > 0 ? 0 : n == 0 ? -EAGAIN : -err;
}

struct borrow_waiter *borrow_waiter_new(void)
{
    struct borrow_waiter *w = calloc(1, sizeof *w);
    if (w)
        w->epfd = high(epoll_create1(EPOLL_CLOEXEC));
    return w;
}

void borrow_waiter_free(struct borrow_waiter *w)
{
    close(w->epfd);
    free(w);
}

int borrow_waiter_fd(const struct borrow_waiter *w)
{
    return w->epfd;
}

int borrow_watch(struct borrow_waiter *w, struct borrow *b)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET,
                                .data.ptr = b};
    if (epoll_ctl(w->epfd, EPOLL_CTL_ADD, b->tcp_fd, &event) != 0 && errno != EEXIST)
        return -errno;
    if (b->timer_fd >= 0 && epoll_ctl(w->epfd, EPOLL_CTL_ADD, b->timer_fd, &event) != 0 && errno != EEXIST)
        return -errno;
    return 0;
}

void borrow_unwatch(struct borrow_waiter *w, struct borrow *b)
{
    epoll_ctl(w->epfd, EPOLL_CTL_DEL, b->tcp_fd, NULL);
    if (b->timer_fd >= 0)
        epoll_ctl(w->epfd, EPOLL_CTL_DEL, b->timer_fd, NULL);
}

unsigned borrow_take_news(struct borrow_waiter *w, struct borrow **out, unsigned max)
{
    struct epoll_event events[64];
    int n = epoll_wait(w->epfd, events, (int)min_u32(max, 64), 0);
    for (int i = 0; i < n; i++)
        out[i] = events[i].data.ptr;
    return n > 0 ? (unsigned)n : 0;
}

bool borrow_about_to_sleep(struct borrow_waiter *w)
{
    struct pollfd fd = {.fd = w->epfd, .events = POLLIN};
    return poll(&fd, 1, 0) == 0;
}

void borrow_awake(struct borrow_waiter *w)
{
    (void)w;
}
