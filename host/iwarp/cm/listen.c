/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP sockets that listen for an iWARP CM. The kernel keeps what has connected until it is taken; what is
 * taken has its set-up wait for the peer's Request, and is nobody's business before that is whole. */
#define _GNU_SOURCE /* accept4() */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "host/iwarp/cm/inner.h"
#include "net/kernel/sockaddr.h"

#define SILENT_MAX \
    1024 /* connections without a Request, of an id that listens: the next wait in the kernel */
#define SILENT_MANY (SILENT_MAX / 2)
#define HURRIED_NS  NS_PER_S /* for the Request of one that comes when there are many */
#define BACKLOG     1024     /* of the kernel */
#define RETRY_NS    (100 * NS_PER_MS)

static bool on_ready(struct host_iw_fd *self, uint32_t events)
{
    (void)events;
    container_of(self, struct host_iw_listener, socket)->has_more = true;
    return true;
}

/* 0 or -errno: bound and listening. */
static int open_socket(const struct host_iw *iw, const struct nornic_addr *addr, uint16_t *port, int *out)
{
    const int on = 1;
    const unsigned ifindex = nornic_addr_is_link_local(addr) ? iw->interface.index : 0;
    union net_sockaddr at;
    socklen_t at_bytes = net_sockaddr_set(&at, addr, *port, ifindex), got_bytes = sizeof at;
    int fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* its children have it, too, */
    host_iw_set_tcp_of_dev(fd, iw);                           /* and these */
    if (bind(fd, &at.any, at_bytes) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, &at.any, &got_bytes) < 0) {
        int err = -errno;
        close(fd);
        return err;
    }
    net_sockaddr_get(&at, port);
    *out = fd;
    return 0;
}

int host_iw_cm_listen_on(struct host_iw_id *id, const struct nornic_addr *addr, uint16_t *port)
{
    struct host_iw *iw = id->cm->iw;
    int fd = -1;
    int err = open_socket(iw, addr, port, &fd);
    if (err)
        return err;
    struct host_iw_listener *listener = calloc(1, sizeof *listener);
    if (!listener) {
        close(fd);
        return -ENOMEM;
    }
    *listener = (struct host_iw_listener){
        .socket = {.fd = fd, .ready = on_ready}, .id = id, .addr = *addr, .next = id->listeners};
    err = host_iw_set_add(&iw->set, &listener->socket, EPOLLIN | EPOLLET);
    if (err) {
        close(fd);
        free(listener);
        return err;
    }
    id->listeners = listener;
    return 0;
}

static void stop_first(struct host_iw *iw, struct host_iw_listener **at)
{
    struct host_iw_listener *listener = *at;
    *at = listener->next;
    host_iw_set_close(&iw->set, &listener->socket);
    free(listener);
}

void host_iw_cm_stop_listening(struct host_iw_id *id)
{
    while (id->listeners)
        stop_first(id->cm->iw, &id->listeners);
}

static bool listens_at(const struct host_iw_id *id, const struct nornic_addr *addr)
{
    for (const struct host_iw_listener *l = id->listeners; l; l = l->next)
        if (nornic_addr_equal(&l->addr, addr))
            return true;
    return false;
}

/* An address whose port somebody else has, or that has gone again, is left out. */
static void follow_addrs(struct host_iw_id *id)
{
    struct host_iw *iw = id->cm->iw;
    for (struct host_iw_listener **at = &id->listeners; *at;)
        if (host_iw_has_addr(iw, &(*at)->addr))
            at = &(*at)->next;
        else
            stop_first(iw, at);
    for (unsigned i = 0; i < iw->addr_count; i++)
        if (host_iw_is_of_family(id->family, &iw->addrs[i]) && !listens_at(id, &iw->addrs[i]))
            (void)host_iw_cm_listen_on(id, &iw->addrs[i], &id->ends.local_port);
}

void host_iw_cm_follow_addrs(struct host_iw_cm *cm)
{
    if (cm->addr_changes == cm->iw->addr_changes)
        return;
    cm->addr_changes = cm->iw->addr_changes;
    for (struct host_iw_id *id = TAILQ_FIRST(&cm->ids); id; id = TAILQ_NEXT(id, of_all))
        if (id->follows_addrs)
            follow_addrs(id);
}

/* One that the kernel has. False: it has none, or it cannot be had now. */
static bool take_one(struct host_iw_cm *cm, struct host_iw_listener *listener, uint64_t now_ns)
{
    const struct nornic_iwarp_config *wanted = &cm->iw->config;
    const struct iwarp_setup_config config = {
        .rev = wanted->mpa_rev,
        .wants_markers = wanted->markers,
        .no_crc = wanted->no_crc,
        /* Strangers who say nothing may be there to keep others out: places come back soon. */
        .request_wait_ns = listener->id->silent < SILENT_MANY ? 0 : HURRIED_NS,
    };
    int fd = accept4(listener->socket.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        bool has_none = errno == EAGAIN;
        bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        listener->has_more = !has_none;
        cm->retry_ns = is_short ? now_ns + RETRY_NS : cm->retry_ns;
        return !has_none && !is_short; /* else that one has gone again: the next */
    }
    struct host_iw_conn *conn = host_iw_conn_new(cm->iw, fd, false, 0);
    if (!conn)
        return true;
    conn->owner = listener->id;
    listener->id->silent++;
    cm->iw->counters.accepted++;
    int err = iwarp_setup_listen(&conn->setup, &config, now_ns);
    (void)err; /* the device's config was checked when it was opened */
    host_iw_conn_activate(conn);
    host_iw_conn_settle(conn);
    return true;
}

bool host_iw_cm_take_incoming(struct host_iw_cm *cm, uint64_t now_ns)
{
    bool did = false;
    cm->retry_ns = NET_TIME_NONE;
    for (struct host_iw_id *id = TAILQ_FIRST(&cm->ids); id; id = TAILQ_NEXT(id, of_all))
        for (struct host_iw_listener *l = id->listeners; l; l = l->next)
            while (l->has_more && id->silent < SILENT_MAX && take_one(cm, l, now_ns))
                did = true;
    return did;
}
