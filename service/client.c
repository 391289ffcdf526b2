/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs that are connected, and what they ask. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "base/high_fd.h"
#include "service/inner.h"

#define REST_NS (100 * NS_PER_MS)

/* --- packets --- */

enum got { GOT_REQUEST, GOT_NOTHING, GOT_END };

/* A received packet: a request, its descriptor, and its sender as the kernel reports it. `fd` is -1 for no
 * descriptor, and -EMFILE if this process had no room for it. */
struct packet {
    struct service_request request;
    int fd;
    struct ucred sender;
};

static void take_control(struct packet *p, struct msghdr *msg)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof p->fd))
            memcpy(&p->fd, CMSG_DATA(c), sizeof p->fd);
        if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof p->sender))
            memcpy(&p->sender, CMSG_DATA(c), sizeof p->sender);
    }
    if (p->fd < 0 && msg->msg_flags & MSG_CTRUNC)
        p->fd = -EMFILE;
}

/* Takes a packet. The end is also what is no request. The kernel puts the sender first; the room
 * behind it is that of one descriptor without the padding, where a second one would be for nobody
 * to close. */
static enum got get(int from, struct packet *p)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
    } space;
    struct iovec iov = {.iov_base = &p->request, .iov_len = sizeof p->request};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = space.bytes,
                         .msg_controllen = CMSG_SPACE(sizeof p->sender) + CMSG_LEN(sizeof p->fd)};
    *p = (struct packet){.fd = -1, .sender = {.pid = -1, .uid = (uid_t)-1}};
    ssize_t n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? GOT_NOTHING : GOT_END;
    take_control(p, &msg);
    bool is_sound =
        n == (ssize_t)sizeof p->request && !(msg.msg_flags & MSG_TRUNC) && p->request.magic == SERVICE_MAGIC;
    return is_sound ? GOT_REQUEST : GOT_END;
}

/* Who does not take the answer at once has asked more than one thing at a time. */
static bool put(int to, const struct service_answer *answer, const int *fds, unsigned num_fds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(SERVICE_MAX_FDS * sizeof(int))];
    } space;
    struct iovec iov = {.iov_base = (void *)answer, .iov_len = sizeof *answer};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    memset(&space, 0, sizeof space);
    if (num_fds > 0) {
        msg.msg_control = space.bytes;
        msg.msg_controllen = CMSG_SPACE(num_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(num_fds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, num_fds * sizeof(int));
    }
    return sendmsg(to, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *answer;
}

/* --- what is asked --- */

/* An answer, with descriptors that stay ours, but for `given`. */
struct reply {
    struct service_answer answer;
    int fds[SERVICE_MAX_FDS];
    unsigned num_fds;
    int given; /* closed when it has been sent; -1: none */
};

static void hello(struct service *service, struct service_client *client,
                  const struct service_request *request, struct reply *r)
{
    r->answer.pid = (int32_t)getpid();
    r->answer.bytes = SERVICE_BYTES;
    if (request->version != SERVICE_VERSION) {
        r->answer.result = -EPROTO;
        return;
    }
    client->has_said_hello = true;
    r->fds[0] = service->arena.fd;
    r->fds[1] = service->doorbell_fd;
    r->num_fds = 2;
}

static void begin(struct service *service, const struct service_client *client,
                  const struct service_request *request, int *fd, struct reply *r)
{
    struct service_loan *loan;
    enum service_why_not why_not;
    int tcp_fd = *fd;
    if (tcp_fd == -1) {
        r->answer.result = -EBADF;
        return;
    }
    *fd = -1;
    if (tcp_fd < 0) { /* its peer may wait: the program sees by the socket's mark whether it does */
        r->answer.result = 1;
        r->answer.number = SERVICE_FULL;
        return;
    }
    r->answer.result =
        service_loan_begin(service, tcp_fd, &request->begin, client->pid, &loan, &r->given, &why_not);
    if (r->answer.result == 1) {
        r->answer.number = why_not;
    } else if (r->answer.result < 0) {
        r->answer.result = 2;
        r->answer.number = SERVICE_FULL;
    } else if (r->answer.result == 0) {
        r->answer.number = loan->slot;
        r->answer.generation = loan->generation;
        r->fds[0] = r->given;
        r->num_fds = 1;
    }
}

static void tcp_socket(struct service *service, const struct service_request *request, struct reply *r)
{
    const struct service_loan *loan = service_loan_find(service, request->number, request->generation);
    if (!loan || loan->sock->tcp_fd < 0) {
        r->answer.result = -ENOTCONN;
    } else if (request->what == SERVICE_TCP && atomic_load(&loan->block->state) != BORROW_TCP) {
        r->answer.result = -EBUSY;
    } else {
        if (request->what == SERVICE_TCP)
            service_loan_hand_over(loan);
        r->fds[0] = loan->sock->tcp_fd;
        r->num_fds = 1;
    }
}

/* Makes the pair by which a waiter is woken. Its inner end is the service's alone, so no program
 * can make a call on it wait. The outer end is in `r->given`. 0 or -errno. */
static int make_ear(struct service_client *client, struct service_ear *ear, struct reply *r)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
        return -errno;
    *ear = (struct service_ear){.owner = client, .fd = high_fd(fds[0])};
    r->given = r->fds[0] = fds[1];
    r->num_fds = 1;
    return 0;
}

static void new_waiter(struct service *service, struct service_client *client, struct reply *r)
{
    uint32_t number = 0;
    while (number < SERVICE_WAITERS && service->ears[number].owner)
        number++;
    r->answer.result = number < SERVICE_WAITERS ? make_ear(client, &service->ears[number], r) : -ENOSPC;
    if (r->answer.result)
        return;
    struct service_waiter *waiter = service_waiter_at(service->arena.memory, number);
    uint32_t generation = atomic_load(&waiter->generation);
    memset(waiter, 0, sizeof *waiter);
    generation += generation % 2 ? 2 : 1; /* odd, whatever a program made of it */
    atomic_store(&waiter->generation, generation);
    r->answer.number = number;
    r->answer.generation = generation;
}

/* Whoever sleeps with it wakes, and sees that the place is no more its own. */
static void drop_ear(struct service *service, uint32_t number)
{
    struct service_waiter *waiter = service_waiter_at(service->arena.memory, number);
    atomic_store(&waiter->generation, (atomic_load(&waiter->generation) | 1) + 1);
    service_ring_ear(&service->ears[number]);
    close(service->ears[number].fd);
    service->ears[number] = (struct service_ear){.fd = -1};
}

static void no_waiter(struct service *service, const struct service_client *client,
                      const struct service_request *request, struct reply *r)
{
    bool is_own = request->number < SERVICE_WAITERS && service->ears[request->number].owner == client;
    if (is_own && atomic_load(&service_waiter_at(service->arena.memory, request->number)->generation) ==
                      request->generation)
        drop_ear(service, request->number);
    else
        r->answer.result = -EINVAL;
}

static void enter(const struct service_client *client, struct reply *r)
{
    r->answer.result =
        smcr_rt.rendezvous ? smcr_rendezvous_admit(smcr_rt.rendezvous, client->pid) : -EOPNOTSUPP;
}

static void answer(struct service *service, struct service_client *client,
                   const struct service_request *request, int *fd, struct reply *r)
{
    if (request->what != SERVICE_HELLO && !client->has_said_hello) {
        r->answer.result = -EPROTO;
        return;
    }
    switch ((enum service_what)request->what) {
    case SERVICE_HELLO:
        hello(service, client, request, r);
        return;
    case SERVICE_BEGIN:
        begin(service, client, request, fd, r);
        return;
    case SERVICE_TCP:
    case SERVICE_BESIDE:
        tcp_socket(service, request, r);
        return;
    case SERVICE_WAITER:
        new_waiter(service, client, r);
        return;
    case SERVICE_NO_WAITER:
        no_waiter(service, client, request, r);
        return;
    case SERVICE_ENTER:
        enter(client, r);
        return;
    }
    r->answer.result = -EOPNOTSUPP;
}

/* Whether the sender is still the service's user. A process that can become it again counts: its
 * real user alone comes with the packet, the effective and the saved one are in /proc. */
static bool is_of_user(const struct ucred *sender)
{
    char path[32], line[128];
    unsigned uids[3];
    bool is_own = sender->uid == geteuid();
    snprintf(path, sizeof path, "/proc/%d/status", (int)sender->pid);
    FILE *status = is_own || sender->pid <= 0 ? NULL : fopen(path, "re");
    while (status && !is_own && fgets(line, sizeof line, status))
        if (sscanf(line, "Uid: %u %u %u", &uids[0], &uids[1], &uids[2]) == 3)
            is_own = uids[0] == geteuid() || uids[1] == geteuid() || uids[2] == geteuid();
    if (status)
        fclose(status);
    return is_own;
}

/* Judges the sender of a request: the process that has connected, and of the service's user. A
 * process that has only inherited the descriptor is not heard, nor answered: what it asks is not
 * its parent's. One that has given up the service's user is cut off. */
static enum got judge_sender(const struct service_client *client, const struct packet *p)
{
    if (p->sender.pid != client->pid)
        return GOT_NOTHING;
    return is_of_user(&p->sender) ? GOT_REQUEST : GOT_END;
}

void service_client_on_event(struct service *service, struct service_client *client)
{
    struct packet p;
    struct reply r = {.given = -1};
    enum got got = get(client->fd, &p);
    if (got == GOT_REQUEST)
        got = judge_sender(client, &p);
    if (got == GOT_REQUEST) {
        r.answer.what = p.request.what;
        r.answer.id = p.request.id;
        answer(service, client, &p.request, &p.fd, &r);
        got = put(client->fd, &r.answer, r.fds, r.num_fds) ? GOT_REQUEST : GOT_END;
    }
    if (p.fd >= 0)
        service_close_theirs(p.fd);
    if (r.given >= 0)
        close(r.given);
    if (got == GOT_END)
        service_client_drop(service, client);
}

/* --- coming and going --- */

void service_client_drop(struct service *service, struct service_client *client)
{
    for (uint32_t i = 0; i < SERVICE_WAITERS; i++)
        if (service->ears[i].owner == client)
            drop_ear(service, i);
    smcr_rt_unwatch(client->fd);
    close(client->fd);
    *client->prev = client->next;
    if (client->next)
        client->next->prev = client->prev;
    free(client);
}

static struct service_client *add(struct service *service, int fd, pid_t pid)
{
    struct service_client *client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    client->fd = fd;
    client->pid = pid;
    if (service_watch_fd(&client->source, SERVICE_CLIENT, fd, EPOLLIN, client) != 0) {
        free(client);
        return NULL;
    }
    client->next = service->clients;
    client->prev = &service->clients;
    if (client->next)
        client->next->prev = &client->next;
    service->clients = client;
    return client;
}

int service_client_listen(struct service *service)
{
    if (service->spare_fd < 0)
        service->spare_fd = high_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    int err = service_watch_fd(&service->listen_source, SERVICE_LISTENER, service->listen_fd, EPOLLIN, NULL);
    service->is_full = err != 0;
    if (err)
        service->look_ns = min_u64(service->look_ns, smcr_rt.now_ns + REST_NS);
    return err;
}

static int take_one(const struct service *service)
{
    return accept4(service->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Without a descriptor for it, whoever connects stays at the listener, which is readable all the time, and
 * waits in vain. With the one in reserve it is told at once, and its connections are plain TCP. Where even
 * that does not help (the whole system has none, or no memory), the listener is left alone for a while. */
static void refuse(struct service *service)
{
    if (service->spare_fd >= 0)
        close(service->spare_fd);
    int fd = take_one(service);
    bool is_stuck = fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
    if (fd >= 0)
        close(fd);
    service->spare_fd = high_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!is_stuck)
        return;
    smcr_rt_unwatch(service->listen_fd);
    service->is_full = true;
    service->look_ns = min_u64(service->look_ns, smcr_rt.now_ns + REST_NS);
}

void service_client_accept(struct service *service)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    int fd = high_fd(take_one(service));
    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            refuse(service);
        return;
    }
    bool is_own = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
    if (!is_own || !add(service, fd, peer.pid))
        close(fd);
}
