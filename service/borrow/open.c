/* SPDX-License-Identifier: BSD-2-Clause */
/* This process and the service. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/high_fd.h"
#include "base/smc_mark.h"
#include "service/borrow/inner.h"

#define ANSWER_S 5

static struct {
    pthread_mutex_t lock; /* of a question with its answer */
    int fd;               /* -1: not open */
    int pid;              /* that has made it: a child that no handler knows of has it, too */
    int spare_fd;         /* in reserve, for an answer's where the process may have no other; -1: none */
    uint32_t last_id;     /* of a request */
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path]; /* where it was opened; empty: nowhere yet */
    _Atomic(struct borrow_service *) service;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .spare_fd = -1};

struct borrow_service *borrow_service(void)
{
    return atomic_load_explicit(&process.service, memory_order_acquire);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_control(void)
{
    close_fd(&process.spare_fd);
    close_fd(&process.fd);
}

/* --- a question and its answer --- */

static int put(int control, const struct service_request *request, int fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof fd)];
    } space;
    struct iovec iov = {.iov_base = (void *)request, .iov_len = sizeof *request};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    memset(&space, 0, sizeof space);
    if (fd >= 0) {
        msg.msg_control = space.bytes;
        msg.msg_controllen = sizeof space.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    ssize_t n;
    do
        n = sendmsg(control, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EPIPE ? -ECONNRESET : errno == EAGAIN ? -ETIMEDOUT : -errno;
    return n == (ssize_t)sizeof *request ? 0 : -EPROTO;
}

static void close_fds(int *fds)
{
    for (unsigned i = 0; i < SERVICE_MAX_FDS; i++)
        close_fd(&fds[i]);
}

/* Leaves the answer where it is. `*is_cut`: the process had no number left for one of its descriptors. */
static int look(int control, struct service_answer *answer, int *fds, bool *is_cut)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(SERVICE_MAX_FDS * sizeof(int))];
    } space;
    struct iovec iov = {.iov_base = answer, .iov_len = sizeof *answer};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.bytes, .msg_controllen = sizeof space.bytes};
    ssize_t n;
    do
        n = recvmsg(control, &msg, MSG_CMSG_CLOEXEC | MSG_PEEK);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n == 0 ? -ECONNRESET : errno == EAGAIN ? -ETIMEDOUT : -errno;
    unsigned count = 0;
    *is_cut = msg.msg_flags & MSG_CTRUNC;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len && count < SERVICE_MAX_FDS;
                 count++) {
                memcpy(&fds[count], CMSG_DATA(c) + at, sizeof(int));
                at += sizeof(int);
            }
    return n == (ssize_t)sizeof *answer ? 0 : -EPROTO;
}

/* What there is no number for when a packet is taken out is lost, and a lost end of a connection is its end.
 * So an answer is looked at first, and once more with the number of the descriptor in reserve. */
static int get(int control, struct service_answer *answer, int *fds)
{
    bool is_cut = false;
    char byte;
    int err = look(control, answer, fds, &is_cut);
    if (!err && is_cut && process.spare_fd >= 0) {
        close_fds(fds);
        close_fd(&process.spare_fd);
        err = look(control, answer, fds, &is_cut);
    }
    if (err)
        return err;
    ssize_t n = recv(control, &byte, 1, MSG_DONTWAIT);
    (void)n; /* it was there a moment ago, and nobody else reads */
    if (process.spare_fd < 0)
        process.spare_fd = high_fd(fcntl(control, F_DUPFD_CLOEXEC, 0));
    return 0;
}

static int put_numbered(struct service_request *request, int fd)
{
    request->magic = SERVICE_MAGIC;
    request->version = SERVICE_VERSION;
    request->id = ++process.last_id;
    return put(process.fd, request, fd);
}

/* An answer that came when nobody waited for it any more: what it gives is given back. A connection ends with
 * its descriptor; a waiter has to be said. */
static void give_back(const struct service_answer *late, int *fds)
{
    struct service_request request = {
        .what = SERVICE_NO_WAITER, .number = late->number, .generation = late->generation};
    close_fds(fds);
    if (late->what == SERVICE_WAITER && late->result == 0)
        (void)put_numbered(&request, -1); /* nor is that answer waited for */
}

static int get_for(uint32_t id, struct service_answer *answer, int *fds)
{
    for (;;) {
        int err = get(process.fd, answer, fds);
        if (err || answer->id == id)
            return err;
        give_back(answer, fds);
    }
}

/* A service that does not answer in time may do so later, and keeps what it has for this process meanwhile:
 * the connection to it stays. */
static int ask_locked(struct service_request *request, int fd, struct service_answer *answer, int *fds)
{
    for (unsigned i = 0; i < SERVICE_MAX_FDS; i++)
        fds[i] = -1;
    if (process.fd < 0)
        return -ENOTCONN;
    int err = put_numbered(request, fd);
    bool was_asked = err == 0; /* a packet goes whole or not at all */
    if (!err)
        err = get_for(request->id, answer, fds);
    if (!err)
        return 0;
    close_fds(fds);
    if (err != -ETIMEDOUT)
        close_control();
    return was_asked ? err : -ENOTCONN;
}

/* --- its beginning --- */

static int connect_to(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = ANSWER_S};
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (strlen(path) >= sizeof addr.sun_path)
        return -ENAMETOOLONG;
    memcpy(addr.sun_path, path, strlen(path) + 1);
    int fd = high_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    int err = connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0 ? 0 : -errno;
    if (!err && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || peer.uid != geteuid()))
        err = -EPERM;
    if (!err)
        return fd;
    close(fd);
    return err;
}

/* The memory and the doorbell of a service that has said hello. */
static int take_in(const struct service_answer *hello, const int *fds, struct borrow_service **out)
{
    if (hello->result)
        return hello->result;
    if (fds[0] < 0 || fds[1] < 0 || hello->bytes != SERVICE_BYTES)
        return -EPROTO;
    struct borrow_service *service = calloc(1, sizeof *service);
    if (!service)
        return -ENOMEM;
    service->memory =
        mmap(NULL, SERVICE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fds[0], 0);
    int err = service->memory == MAP_FAILED ? -errno : 0;
    const struct service_head *head = service->memory;
    if (!err && (head->magic != SERVICE_MAGIC || head->version != SERVICE_VERSION))
        err = -EPROTO;
    if (err) {
        if (service->memory != MAP_FAILED)
            munmap(service->memory, SERVICE_BYTES);
        free(service);
        return err;
    }
    /* A core of the program is to hold what is the program's. */
    madvise(service->memory, SERVICE_BYTES, MADV_DONTDUMP);
    service->life = service_life(service->memory, getpid());
    service->before = borrow_service();
    service->doorbell = high_fd(fds[1]);
    service->pid = hello->pid;
    service->uid = geteuid(); /* else connect_to() had refused it */
    borrow_note_service(service);
    *out = service;
    return 0;
}

/* A child of clone() or _Fork(), of which no handler was told: the connection to the service is its
 * parent's, and the service does not hear the child there. */
static void forget_parents(void)
{
    struct borrow_service *service = borrow_service();
    if (process.fd < 0 || process.pid == getpid())
        return;
    close_control();
    if (service)
        service->life = service_life(service->memory, getpid());
}

static int open_locked(const char *path)
{
    struct service_request request = {.what = SERVICE_HELLO};
    struct service_answer answer;
    int fds[SERVICE_MAX_FDS];
    struct borrow_service *before = borrow_service(), *service = NULL;
    if (borrow_has_renounced())
        return -EPERM;
    forget_parents();
    if (process.fd >= 0 && before && !borrow_has_died(before))
        return -EALREADY;
    close_control();
    int fd = connect_to(path);
    if (fd < 0)
        return fd;
    memcpy(process.path, path, strlen(path) + 1); /* connect_to() has looked at its length */
    process.fd = fd;
    process.pid = getpid();
    int err = ask_locked(&request, -1, &answer, fds);
    if (err) {
        close_control(); /* without the hello nothing else is to be asked */
        return err;
    }
    /* After a fork: what the parent has mapped is mapped here. */
    bool is_same = before && !borrow_has_died(before) && before->pid == answer.pid;
    err = is_same ? 0 : take_in(&answer, fds, &service);
    if (fds[0] >= 0)
        close(fds[0]);
    if (fds[1] >= 0 && !service)
        close(fds[1]);
    if (err)
        close_control();
    else if (service)
        atomic_store_explicit(&process.service, service, memory_order_release);
    return err;
}

int borrow_ask(struct borrow_service *of, struct service_request *request, int fd,
               struct service_answer *answer, int *fds)
{
    pthread_mutex_lock(&process.lock);
    forget_parents();
    if (process.fd < 0 && process.path[0] && !borrow_has_died(of))
        (void)open_locked(process.path);
    int err = -ENOTCONN;
    if (of == borrow_service() && !borrow_has_died(of))
        err = ask_locked(request, fd, answer, fds);
    pthread_mutex_unlock(&process.lock);
    return err;
}

int borrow_open(const char *path)
{
    pthread_mutex_lock(&process.lock);
    int err = open_locked(path);
    pthread_mutex_unlock(&process.lock);
    return err;
}

/* Its end is shut down first: a thread may wait there, and would keep it open. */
struct borrow_service *borrow_end_control(void)
{
    pthread_mutex_lock(&process.lock);
    forget_parents();
    if (process.fd >= 0)
        shutdown(process.fd, SHUT_RDWR);
    close_control();
    pthread_mutex_unlock(&process.lock);
    return borrow_service();
}

void borrow_forget_services(void)
{
    atomic_store(&process.service, NULL);
}

void borrow_forget_control(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    struct borrow_service *service = borrow_service();
    process.lock = fresh; /* whoever had it is in the parent */
    if (service)
        service->life = service_life(service->memory, getpid());
    close_control();
}

bool borrow_is_gone(void)
{
    struct borrow_service *service = borrow_service();
    return service && borrow_has_died(service);
}

int borrow_enter(void)
{
    struct service_request request = {.what = SERVICE_ENTER};
    struct service_answer answer;
    int fds[SERVICE_MAX_FDS];
    struct borrow_service *service = borrow_service();
    int err = service ? borrow_ask(service, &request, -1, &answer, fds) : -ENOTCONN;
    return err ? err : answer.result;
}

int borrow_offer(int tcp_fd)
{
    return smc_mark_set(tcp_fd, SMC_MARK_ASKED) ? 0 : -errno;
}

int borrow_service_fd(void)
{
    return process.fd;
}
