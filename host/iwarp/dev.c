/* SPDX-License-Identifier: BSD-2-Clause */
/* An iWARP device: its sockets, its addresses, and its part of the rounds. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/base.h"
#include "base/notice.h"
#include "host/iwarp/iwarp.h"
#include "host/dev/random.h"
#include "rdma/event.h"

#define LOOKS_A_SET 16u /* at one connection */

/* --- rounds --- */

/* Those of a CQ that overflowed in this round or since the last (ROCE-CQ-2). */
static void end_failing(struct host_iw *iw)
{
    struct rdma_qp *base;
    while ((base = rdma_domain_take_failing(iw->domain))) {
        const struct host_iw_qp *qp = host_iw_qp_of(base);
        iwarp_qp_overflowed(qp->engine);
        if (!qp->conn)
            continue;
        host_iw_conn_settle(qp->conn);
        host_iw_conn_activate(qp->conn);
    }
}

/* Looks for octets that have come. A caller that polls would pay two calls for a message: one to ask for
 * its socket, one to read it. So the only connection is asked itself, and every so often the set, which
 * knows of new ones. */
static bool look(struct host_iw *iw)
{
    struct host_iw_conn *only = iw->conn_count == 1 ? TAILQ_FIRST(&iw->conns) : NULL;
    if (only && !iw->set.was_told && ++iw->looks % LOOKS_A_SET && host_iw_conn_ask(only))
        return false;
    return host_iw_set_look(&iw->set);
}

static bool take_in(struct host_dev *dev, uint64_t now_ns)
{
    struct host_iw *iw = dev->iw;
    struct host_iw_conn *conn, *next;
    struct rdma_timer *timer;
    bool did = look(iw);
    did = host_iw_part_round(iw) || did;
    host_iw_take_posted(iw, now_ns);
    while ((timer = rdma_timers_pop(&iw->timers, now_ns))) {
        timer->fire(timer, now_ns);
        did = true;
    }
    for (conn = TAILQ_FIRST(&iw->active); conn; conn = next) {
        next = TAILQ_NEXT(conn, of_active); /* one that ends leaves the list */
        did = host_iw_conn_receive(conn, now_ns) || did;
    }
    end_failing(iw);
    return did;
}

static bool send_out(struct host_dev *dev, uint64_t now_ns)
{
    struct host_iw *iw = dev->iw;
    struct host_iw_conn *conn, *next;
    bool did = false;
    host_iw_take_posted(iw, now_ns);
    for (conn = TAILQ_FIRST(&iw->active); conn; conn = next) {
        next = TAILQ_NEXT(conn, of_active); /* one that has no more to do leaves the list */
        did = host_iw_conn_send(conn, now_ns) || did;
    }
    end_failing(iw);
    return did;
}

static bool has_to_send(const struct host_dev *dev)
{
    return !TAILQ_EMPTY(&dev->iw->active) || atomic_load(&dev->iw->posted);
}

static uint64_t get_deadline_ns(const struct host_dev *dev)
{
    return has_to_send(dev) || !TAILQ_EMPTY(&dev->iw->partings_ready) ? 0
                                                                      : rdma_timers_next_ns(&dev->iw->timers);
}

static int get_fd(const struct host_dev *dev)
{
    return dev->iw->set.fd;
}

static void sleep_in_set(struct host_dev *dev, uint64_t timeout_ns)
{
    host_iw_set_sleep(&dev->iw->set, dev, timeout_ns);
}

static void get_use(const struct host_dev *dev, struct roce_dev_use *use)
{
    const struct host_iw *iw = dev->iw;
    *use = (struct roce_dev_use){
        .qps = iw->qp_count, .pds = rdma_domain_pds(iw->domain), .xrcds = rdma_domain_xrcds(iw->domain)};
}

/* --- addresses --- */

bool host_iw_has_addr(const struct host_iw *iw, const struct nornic_addr *addr)
{
    for (unsigned i = 0; i < iw->addr_count; i++)
        if (nornic_addr_equal(&iw->addrs[i], addr))
            return true;
    return false;
}

static int addr_like(const struct host_iw *iw, const struct nornic_addr *dst, struct nornic_addr *out)
{
    for (unsigned i = 0; i < iw->addr_count; i++) {
        const struct nornic_addr *addr = &iw->addrs[i];
        if (nornic_addr_is_v4(addr) == nornic_addr_is_v4(dst) &&
            (iw->addr_count == 1 || nornic_addr_is_link_local(addr) == nornic_addr_is_link_local(dst))) {
            *out = *addr;
            return 0;
        }
    }
    return -EADDRNOTAVAIL;
}

int host_iw_source(struct host_iw *iw, const struct nornic_addr *dst, struct nornic_addr *out)
{
    struct nornic_addr chosen;
    int err = net_route_source(iw->interface.index, dst, &chosen);
    host_dev_lock(iw->dev);
    bool is_own = !err && host_iw_has_addr(iw, &chosen);
    if (is_own)
        *out = chosen;
    else
        err = err ? -EHOSTUNREACH : addr_like(iw, dst, out);
    host_dev_unlock(iw->dev);
    return err;
}

static void on_change(void *ctx, const struct net_watch_change *change)
{
    struct host_iw *iw = ctx;
    const struct host_event fatal = {.type = NORNIC_EVENT_DEVICE_FATAL};
    switch (change->kind) {
    case NET_WATCH_ADDR_ADDED:
    case NET_WATCH_ADDR_REMOVED:
    case NET_WATCH_ADDR_MAC:
        break;
    case NET_WATCH_LINK_UP:
    case NET_WATCH_LINK_DOWN:
    case NET_WATCH_MAC:
    case NET_WATCH_MTU:
        iw->interface = change->interface;
        break;
    case NET_WATCH_GONE:
        iw->interface.is_up = iw->interface.is_running = false;
        host_event_queue_push(&iw->dev->events, &fatal);
        if (iw->dev->client)
            iw->dev->client->ops->removed(iw->dev->client);
        break;
    }
}

/* The addresses of the interface as they are now; or the one that the port names, which is the program's word
 * if the kernel does not list it (127.0.0.2). */
static void list_addrs(struct host_iw *iw)
{
    unsigned count, left_out = 0;
    const struct net_watch_addr *addrs = net_watch_addrs(iw->watch, &count);
    iw->addr_count = 0;
    iw->addr_changes++;
    if (!nornic_addr_is_zero(&iw->only))
        iw->addrs[iw->addr_count++] = iw->only;
    else
        for (unsigned i = 0; i < count; i++) {
            if (addrs[i].ifindex != iw->interface.index)
                continue;
            if (iw->addr_count < HOST_IW_MAX_ADDRS)
                iw->addrs[iw->addr_count++] = addrs[i].addr;
            else
                left_out++;
        }
    if (left_out > 0)
        base_notice("%s has more than the %u addresses of a device: the last ones are left out. Name one of "
                    "them as the port, as in iwarp:ADDRESS",
                    iw->name, HOST_IW_MAX_ADDRS);
}

static void on_news(struct host_source *source, uint64_t now_ns)
{
    struct host_iw *iw = container_of(source, struct host_iw, news);
    (void)now_ns;
    if (net_watch_read(iw->watch, on_change, iw) == 0) /* else the next news compares all again */
        list_addrs(iw);
}

/* --- life --- */

/* rdma_domain_on_event(). */
static void on_event(void *ctx, const struct rdma_event *event)
{
    struct host_iw *iw = ctx;
    const struct host_event own = {.type = event->type, .qp = event->qp, .cq = event->cq, .srq = event->srq};
    host_dev_assert_held(iw->dev);
    host_event_queue_push(&iw->dev->events, &own);
}

static void free_iw(struct host_iw *iw)
{
    if (iw->watch)
        net_watch_close(iw->watch);
    host_iw_set_deinit(&iw->set);
    if (iw->domain) {
        int err = rdma_domain_destroy(iw->domain);
        assert(!err && "nobody makes objects of a device that is being closed");
        (void)err;
    }
    rdma_timers_deinit(&iw->timers, &rdma_mem_libc);
    free(iw->rx);
    free(iw);
}

/* Connections may still wait for their peers after their ids and queue pairs are gone. */
static void close_iw(struct host_dev *dev)
{
    struct host_iw *iw = dev->iw;
    struct host_iw_conn *conn;
    while ((conn = TAILQ_FIRST(&iw->conns))) {
        host_iw_conn_close(conn, false, 0);
        conn->owner = NULL;
        host_iw_conn_release(conn);
    }
    host_iw_see_off(iw, IWARP_CLOSE_WAIT_NS);
    host_iw_part_deinit(iw);
    host_source_remove(&dev->sources, &iw->news);
    free_iw(iw);
}

const struct host_drive host_iw_drive = {
    .take_in = take_in,
    .send = send_out,
    .has_to_send = has_to_send,
    .deadline_ns = get_deadline_ns,
    .fd = get_fd,
    .sleep = sleep_in_set,
    .use = get_use,
    .close = close_iw,
};

static int make_parts(struct host_iw *iw)
{
    int err = host_iw_set_init(&iw->set);
    if (err)
        return err;
    iw->rx = malloc(HOST_IW_RX_BYTES);
    if (!iw->rx)
        return -ENOMEM;
    err = rdma_timers_init(&iw->timers, &rdma_mem_libc, HOST_IW_MAX_CONNS + 1);
    if (!err)
        err = rdma_domain_create(&rdma_mem_libc, &host_random, HOST_IW_MAX_MR, &iw->domain);
    if (!err)
        rdma_domain_on_event(iw->domain, on_event, iw);
    return err;
}

static struct host_iw *new_iw(const struct host_dev_config *config, const struct host_port_name *name)
{
    struct host_iw *iw = calloc(1, sizeof *iw);
    if (!iw)
        return NULL;
    iw->config = config->iwarp;
    iw->traffic_class = config->options.traffic_class;
    iw->hop_limit = config->options.hop_limit;
    iw->only = name->addr;
    iw->set.fd = -1;
    rdma_numbers_init(&iw->qpns, &host_random, HOST_IW_QPNS);
    snprintf(iw->name, sizeof iw->name, "%s", config->port);
    TAILQ_INIT(&iw->conns);
    TAILQ_INIT(&iw->active);
    TAILQ_INIT(&iw->changed);
    TAILQ_INIT(&iw->qps);
    host_iw_part_init(iw);
    return iw;
}

static int check_config(const struct host_dev_config *config, struct nornic_error *why)
{
    if (config->iwarp.mpa_rev > 2)
        return net_error_set(why, EINVAL, "MPA has the revisions 1 and 2, not %u", config->iwarp.mpa_rev);
    if ((unsigned)config->iwarp.rtr > NORNIC_IWARP_RTR_NONE)
        return net_error_set(why, EINVAL, "%d is no kind of ready-to-receive message",
                             (int)config->iwarp.rtr);
    if (config->capture_path)
        return net_error_set(
            why, EOPNOTSUPP,
            "port %s is a TCP socket, whose segments only the kernel sees: capture them with "
            "tcpdump beside it",
            config->port);
    const struct nornic_impair *impair = &config->impair;
    if (impair->loss_ppm || impair->duplicate_ppm || impair->reorder_ppm || impair->corrupt_ppm ||
        impair->ecn_ppm || config->cc.on || config->roce_v1)
        return net_error_set(why, EOPNOTSUPP,
                             "port %s is a TCP socket: bad weather, congestion management and RoCEv1 are for "
                             "ports of frames",
                             config->port);
    return 0;
}

static bool on_bell(struct host_iw_fd *self, uint32_t events)
{
    (void)events;
    host_dev_set_rung(container_of(self, struct host_iw, bell)->dev);
    return false;
}

/* It ends a sleep, and that is all. */
static bool on_timer(struct host_iw_fd *self, uint32_t events)
{
    (void)self;
    (void)events;
    return false;
}

static bool on_source(struct host_iw_fd *self, uint32_t events)
{
    (void)events;
    host_dev_set_ready(container_of(self, struct host_iw, sources)->dev);
    return false;
}

/* 0 or -errno. Readable for as long as it is not acted upon, for all that sleep. */
static int add_wakers(struct host_iw *iw)
{
    iw->bell = (struct host_iw_fd){.fd = iw->dev->doorbell_fd, .ready = on_bell};
    iw->timer = (struct host_iw_fd){.fd = iw->dev->timer_fd, .ready = on_timer};
    iw->sources = (struct host_iw_fd){.fd = iw->dev->sources.fd, .ready = on_source};
    int err = host_iw_set_add(&iw->set, &iw->bell, EPOLLIN);
    if (!err)
        err = host_iw_set_add(&iw->set, &iw->timer, EPOLLIN);
    return err ? err : host_iw_set_add(&iw->set, &iw->sources, EPOLLIN);
}

/* Follows the changes of the interface from now on. */
static int follow_interface(struct host_iw *iw, struct nornic_error *why)
{
    int err = net_watch_open(iw->interface.index, &iw->watch, why);
    if (err)
        return err;
    iw->news = (struct host_source){.ready = on_news, .fd = net_watch_fd(iw->watch)};
    host_dev_lock(iw->dev);
    err = net_watch_read(iw->watch, on_change, iw);
    if (!err)
        list_addrs(iw);
    bool has_addr = iw->addr_count > 0;
    if (!err)
        err = host_source_add(&iw->dev->sources, &iw->news);
    host_dev_unlock(iw->dev);
    if (err)
        return net_error_set(why, -err, "cannot watch interface %s: %s", iw->interface.name, strerror(-err));
    if (!has_addr)
        return net_error_set(
            why, EADDRNOTAVAIL,
            "interface %s has no IP address: add one with `ip addr add ADDRESS/PREFIX dev %s`",
            iw->interface.name, iw->interface.name);
    return 0;
}

int host_iw_open(const struct host_transport *transport, const struct host_dev_config *config,
                 const struct host_port_name *name, struct host_dev **out, struct nornic_error *why)
{
    int err = check_config(config, why);
    if (err)
        return err;
    struct host_iw *iw = new_iw(config, name);
    if (!iw)
        return net_error_set(why, ENOMEM, "no memory for a device");
    err = host_port_interface(name, &iw->interface, why);
    if (err) {
        free_iw(iw);
        return err;
    }
    err = make_parts(iw);
    if (!err)
        iw->dev = host_dev_new(transport, &err);
    if (err || !iw->dev) {
        free_iw(iw);
        return net_error_set(why, -err, "cannot create a device: %s", strerror(-err));
    }
    iw->dev->iw = iw;
    iw->dev->ifindex = iw->interface.index;
    err = follow_interface(iw, why);
    if (!err) {
        err = add_wakers(iw);
        if (!err && !config->no_thread)
            err = host_dev_thread_start(iw->dev);
        if (err)
            net_error_set(why, -err, "cannot create a device: %s", strerror(-err));
    }
    if (err) {
        struct host_dev *dev = iw->dev;
        free_iw(iw);
        host_dev_free(dev);
        return err;
    }
    *out = iw->dev;
    return 0;
}
