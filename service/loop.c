/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop: events of descriptors, the bits that programs set in the shared memory, a round of the
 * engine, and its results back to the shared memory. One thread drives the runtime of sock/, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "base/high_fd.h"
#include "base/notice.h"
#include "base/worker.h"
#include "net/share/dir.h"
#include "service/inner.h"

#define MAX_EVENTS 64
#define MAX_PASSES 32 /* over bits, rounds and news, until descriptors are looked at again */
/* The service polls this long before it sleeps: longer than a peer takes to answer 16 KiB. Otherwise the
 * peer's packet would have to wake the service, and the service its program. */
#define SPIN_NS      60000u
#define IDLE_LOOK_MS 1000
#define TELL_AT_ONCE 16 /* connections, before programs are woken and their answers leave */
#define SOON_MS      100
#define END_NS       (2 * NS_PER_S) /* for the end of the loans */

static struct service *the_service;

/* --- its path --- */

int service_path(char path[SERVICE_PATH_BYTES], struct nornic_error *why)
{
    struct net_share_dir dir;
    struct stat ns;
    int err = net_share_dir_own(&dir, why);
    if (err)
        return err;
    if (stat("/proc/self/ns/net", &ns) != 0)
        return net_error_set(why, errno, "cannot tell the network namespace: /proc/self/ns/net: %s",
                             strerror(errno));
    snprintf(path, SERVICE_PATH_BYTES, "%s/smc-%u-%llu", dir.path, geteuid(), (unsigned long long)ns.st_ino);
    return 0;
}

/* --- the loop --- */

static void on_source(struct service *service, const struct service_source *source, uint32_t events)
{
    switch (source->kind) {
    case SERVICE_STOP:
        service->is_stopping = true;
        break;
    case SERVICE_DOORBELL:
        service_empty(service->doorbell_fd);
        break;
    case SERVICE_LISTENER:
        service_client_accept(service);
        break;
    case SERVICE_CLIENT:
        service_client_on_event(service, source->of);
        break;
    case SERVICE_INNER:
        service_loan_on_inner(source->of, events);
        break;
    }
}

/* Looks at the blocks that programs marked. Ignores bits of closed connections. */
static bool look(struct service *service)
{
    uint32_t slots[64];
    bool did = false;
    unsigned n;
    smcr_hold(smcr_rt.core);
    for (unsigned pass = 0;
         pass < MAX_PASSES && (n = service_bits_take(&service->head->to_look_at, slots, 64)) > 0; pass++)
        for (unsigned i = 0; i < n; i++) {
            did = true;
            if (service->loans[slots[i]])
                service_loan_look(service->loans[slots[i]]);
        }
    smcr_release(smcr_rt.core);
    return did;
}

static bool tell(void)
{
    struct smcr_sock *s;
    bool did = false;
    short news;
    for (unsigned n = 0; n < TELL_AT_ONCE && (s = smcr_sock_next_news(&news)); n++) {
        service_loan_tell(s->loan, news);
        did = true;
    }
    return did;
}

static void look_by_time(struct service *service)
{
    if (smcr_rt.now_ns < service->look_ns)
        return;
    service->look_ns = NET_TIME_NONE;
    if (service->is_full)
        service_client_listen(service);
    for (unsigned i = 0; i < SERVICE_CONNS; i++) {
        struct service_loan *loan = service->loans[i];
        if (loan && loan->cross_ns)
            smcr_sock_notify(loan->sock, 0);
        if (loan && atomic_load(&loan->block->was_missed))
            service_bits_set(&service->head->to_look_at, i);
    }
}

/* Works until nothing is left, or for MAX_PASSES. Returns whether there was work. Programs are notified
 * of a round before the next one. So their answers leave with the acknowledgements of that next round. */
static bool work(struct service *service)
{
    bool any = false, did = true;
    for (unsigned pass = 0; pass < MAX_PASSES && did; pass++) {
        smcr_rt_now_ns();
        look_by_time(service);
        did = look(service);
        did |= smcr_rt_round();
        smcr_hold(smcr_rt.core);
        did |= tell();
        smcr_release(smcr_rt.core);
        service_wake_all(service);
        any |= did;
    }
    return any;
}

/* Announces the sleep, so that programs ring the doorbell from now on (service_ring()). Returns false if a
 * program has set a bit before. */
static bool may_sleep(struct service *service)
{
    atomic_store(&service->head->sleep, ++service->num_sleeps);
    if (!service_bits_any(&service->head->to_look_at) && !smcr_rt.lent_news)
        return true;
    atomic_store(&service->head->sleep, 0);
    return false;
}

static bool is_idle(struct service *service)
{
    uint64_t now_ns = host_now_ns();
    if (service->clients || service->num_loans > 0)
        service->used_ns = now_ns;
    return service->config.idle_ns != NET_TIME_NONE && now_ns - service->used_ns >= service->config.idle_ns;
}

/* Returns the wait that the runtime's own timer does not know. */
static int sleep_ms(const struct service *service)
{
    if (service->look_ns != NET_TIME_NONE)
        return SOON_MS;
    return service->config.idle_ns == NET_TIME_NONE ? -1 : IDLE_LOOK_MS;
}

/* Handles requests of programs last, because a new connection takes longest. If a connection has ended,
 * too, a round tells its peer first: the peer may wait for that end before it accepts. */
static void take_events(struct service *service, const struct epoll_event *events, int n)
{
    struct service_source *asking[MAX_EVENTS];
    bool has_ended = false;
    int num_asking = 0;
    for (int i = 0; i < n; i++) {
        struct smcr_rt_source *rt = events[i].data.ptr;
        struct service_source *source = container_of(rt, struct service_source, rt);
        if (rt->kind != SMCR_RT_OTHER) {
            smcr_rt_on_source(rt, events[i].events);
        } else if (source->kind == SERVICE_CLIENT) {
            asking[num_asking++] = source;
        } else {
            has_ended |= source->kind == SERVICE_INNER;
            on_source(service, source, events[i].events);
        }
    }
    if (has_ended && num_asking > 0)
        smcr_rt_round();
    for (int i = 0; i < num_asking; i++)
        on_source(service, asking[i], EPOLLIN);
}

void service_run(struct service *service, int stop_fd)
{
    struct epoll_event events[MAX_EVENTS];
    uint64_t busy_ns = 0;
    worker_begin("nornic-smc");
    if (stop_fd >= 0 && service_watch_fd(&service->stop_source, SERVICE_STOP, stop_fd, EPOLLIN, NULL) != 0)
        return;
    smcr_stat_socket_answer();
    service->used_ns = host_now_ns();
    while (!service->is_stopping && !is_idle(service)) {
        bool sleeps = host_now_ns() - busy_ns >= SPIN_NS && may_sleep(service);
        int n = epoll_wait(smcr_rt.epfd, events, MAX_EVENTS, sleeps ? sleep_ms(service) : 0);
        atomic_store(&service->head->sleep, 0);
        host_lock_take_last(&smcr_rt.lock);
        smcr_rt.cancel_state = PTHREAD_CANCEL_ENABLE;
        smcr_rt_now_ns(); /* the sleep may have been long */
        take_events(service, events, n);
        if (work(service))
            busy_ns = host_now_ns();
        smcr_sock_reap();
        smcr_rt_unlock_planned();
    }
    if (stop_fd >= 0)
        smcr_rt_unwatch(stop_fd);
}

/* --- its beginning --- */

/* Makes a mutex that is robust, is shared by processes, and returns EDEADLK to a thread that holds it.
 * Returns 0 or -errno. */
static int make_fresh_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    int err = pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return -err;
}

/* Tells programs the peers that send SMC-R's messages without the TCP option. A program that gets no
 * more loans declines these messages itself. */
static void name_peers(struct service *service)
{
    for (unsigned i = 0; i < service->config.num_peers; i++) {
        const struct service_peers *peers = &service->config.peers[i];
        struct service_named *named = &service->head->named[i];
        memcpy(named->addr, peers->addr.b, sizeof named->addr);
        named->bits = (uint8_t)(peers->prefix_len + (nornic_addr_is_v4(&peers->addr) ? 96u : 0u));
    }
    service->head->num_named = service->config.num_peers;
}
_Static_assert(SERVICE_NAMED == SERVICE_MAX_PEERS, "there is a place for each");

static int make_memory(struct service *service, struct nornic_error *why)
{
    int err = service_arena_open(&service->arena, why);
    if (err)
        return err;
    service->head = service->arena.memory;
    name_peers(service);
    service->head->version = SERVICE_VERSION;
    service->head->magic = SERVICE_MAGIC;
    make_fresh_lock(&service->fresh_lock);
    err = service_lives_begin(&service->lives, service->head->lives);
    if (err)
        return net_error_set(why, -err, "cannot have the kernel tell programs of the service's end: %s",
                             strerror(-err));
    for (unsigned i = 0; i < SERVICE_CONNS; i++)
        service->free_slots[i] = (uint16_t)i;
    service->num_free = SERVICE_CONNS;
    for (unsigned i = 0; i < SERVICE_WAITERS; i++)
        service->ears[i].fd = -1;
    return 0;
}

/* Writes a sentence about a file with a name that the service needs. Returns -EACCES, which is no sign of
 * a service that runs. */
static int explain_other(const char *path, const struct stat *st, struct nornic_error *why)
{
    char user[BASE_USER_SIZE];
    return net_error_set(why, EACCES,
                         "%s is no file of this user's service but a %s of %s: remove it, or "
                         "give --socket a path in a directory that others cannot write to",
                         path, S_ISDIR(st->st_mode) ? "directory" : "file", base_user(st->st_uid, user));
}

/* Opens the file of the lock, without waiting for a reader of a fifo. Returns the descriptor, or -errno
 * with a sentence. */
static int open_lock(const char *path, struct nornic_error *why)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) {
        int err = errno;
        if (lstat(path, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid()))
            return explain_other(path, &st, why);
        return net_error_set(why, err, "cannot open %s: %s", path, strerror(err));
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        return fd;
    close(fd);
    return explain_other(path, &st, why);
}

/* Locks the path's lock file, so that a path has one service. The file stays. Returns 0, or -errno with a
 * sentence: -EADDRINUSE if a service runs there. */
static int take_path(struct service *service, struct nornic_error *why)
{
    char lock[SERVICE_PATH_BYTES + 8];
    snprintf(service->path, sizeof service->path, "%s", service->config.path);
    snprintf(lock, sizeof lock, "%s.lock", service->path);
    int fd = open_lock(lock, why);
    if (fd < 0)
        return fd;
    service->lock_fd = fd;
    if (flock(service->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    int err = errno == EWOULDBLOCK ? EADDRINUSE : errno;
    close(service->lock_fd);
    service->lock_fd = -1;
    return net_error_set(why, err, err == EADDRINUSE ? "a service runs already at %s" : "cannot lock %s",
                         service->path);
}

static int listen_there(struct service *service, struct nornic_error *why)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int err = 0;
    if (strlen(service->path) >= sizeof addr.sun_path)
        return net_error_set(why, ENAMETOOLONG, "%s: a socket's path has at most %zu bytes", service->path,
                             sizeof addr.sun_path - 1);
    memcpy(addr.sun_path, service->path, strlen(service->path) + 1);
    struct stat st;
    if (lstat(service->path, &st) == 0) { /* left by a service that was killed: this one has the lock */
        if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
            return explain_other(service->path, &st, why);
        unlink(service->path);
    }
    service->listen_fd = high_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (service->listen_fd < 0)
        err = errno;
    /* Its mode is 0600 before bind() makes it visible. Accepted sockets inherit SO_PASSCRED: the kernel
     * tells the sender of each packet. */
    const int on = 1;
    if (!err && setsockopt(service->listen_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
        err = errno;
    if (!err && (fchmod(service->listen_fd, 0600) != 0 ||
                 bind(service->listen_fd, (struct sockaddr *)&addr, sizeof addr) != 0 ||
                 chmod(service->path, 0600) != 0 || listen(service->listen_fd, SOMAXCONN) != 0))
        err = errno;
    /* -EADDRINUSE is a service that runs: service_open(). */
    return err ? net_error_set(why, err == EADDRINUSE ? EEXIST : err, "cannot listen at %s: %s",
                               service->path, strerror(err))
               : 0;
}

static int make_fds(struct service *service, struct nornic_error *why)
{
    service->doorbell_fd = high_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    int err = service->doorbell_fd < 0 ? -errno : 0;
    if (!err)
        err = service_watch_fd(&service->doorbell_source, SERVICE_DOORBELL, service->doorbell_fd,
                               EPOLLIN | EPOLLET, NULL);
    if (!err)
        err = service_client_listen(service);
    return err ? net_error_set(why, -err, "cannot make the service's descriptors: %s", strerror(-err)) : 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void free_service(struct service *service)
{
    service_lives_end(&service->lives);
    close_fd(&service->listen_fd);
    close_fd(&service->doorbell_fd);
    close_fd(&service->spare_fd);
    close_fd(&service->lock_fd);
    service_arena_close(&service->arena);
    free(service);
    the_service = NULL;
}

int service_open(const struct service_config *config, struct service **out, struct nornic_error *why)
{
    struct nornic_error no_bpf = {0};
    struct service *service = the_service ? NULL : calloc(1, sizeof *service);
    if (!service)
        return net_error_set(why, the_service ? EALREADY : ENOMEM,
                             "cannot make another service in this process");
    service->config = *config;
    service->look_ns = NET_TIME_NONE;
    service->lock_fd = service->listen_fd = service->doorbell_fd = service->spare_fd = -1;
    service->arena.fd = -1;
    the_service = service;
    int err = make_memory(service, why);
    if (err)
        goto fail;
    err = take_path(service, why);
    if (err)
        goto fail;
    service->config.sock.no_thread = true;
    service->config.sock.all_offer = true;
    service->config.sock.buffers = &service->arena.mem;
    err = smcr_sock_start(&service->config.sock, &no_bpf);
    if (err) {
        err = net_error_set(why, err == -EADDRINUSE ? EBUSY : -err, "%s", no_bpf.text);
        goto fail;
    }
    err = listen_there(service, why);
    if (!err) {
        err = make_fds(service, why);
        if (err)
            unlink(service->path);
    }
    if (err) {
        smcr_sock_stop(NULL);
        goto fail;
    }
    if (why)
        *why = no_bpf;
    *out = service;
    return 0;
fail:
    free_service(service);
    return err;
}

void service_files(const struct service *service, smcr_file_visit visit, void *ctx)
{
    struct net_share_dir shared;
    struct nornic_error why;
    char dir[SERVICE_PATH_BYTES];
    smcr_sock_files(visit, ctx);
    visit(ctx, "/dev/null", SMCR_FILE_WRITTEN);
    if (net_share_dir_find(&shared, &why) == 0)
        visit(ctx, shared.path, SMCR_FILES_MADE);
    if (net_share_dir_own(&shared, &why) == 0)
        visit(ctx, shared.path, SMCR_FILES_MADE);
    snprintf(dir, sizeof dir, "%s", service->path);
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    visit(ctx, slash ? dir : ".", SMCR_FILES_REMOVED);
}

/* --- its end --- */

/* Delivers bytes that were handed over, and closes all connections, within END_NS. */
static void end_loans(struct service *service)
{
    uint64_t end_ns = host_now_ns() + END_NS;
    smcr_rt_lock();
    work(service);
    while (service->clients)
        service_client_drop(service, service->clients);
    for (unsigned i = 0; i < SERVICE_CONNS; i++)
        if (service->loans[i])
            service_loan_end(service->loans[i]);
    work(service);
    while (service->num_loans > 0 && host_now_ns() < end_ns) {
        struct epoll_event events[MAX_EVENTS];
        smcr_sock_reap();
        smcr_rt_unlock_planned();
        int n = epoll_wait(smcr_rt.epfd, events, MAX_EVENTS, 1);
        smcr_rt_lock();
        smcr_rt_now_ns();
        take_events(service, events, n);
        work(service);
    }
    smcr_rt_unlock_planned();
}

int service_close(struct service *service, struct nornic_error *why)
{
    unlink(service->path);
    smcr_rt_unwatch(service->listen_fd);
    service->is_full = false;
    end_loans(service);
    int err = smcr_sock_stop(why);
    /* Tells programs about connections that did not close in time. */
    smcr_rt_lock();
    while (tell())
        ;
    service_wake_all(service);
    smcr_sock_reap();
    smcr_rt_release();
    free_service(service);
    return err;
}
