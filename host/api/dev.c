/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices of programs: nornic/device.h. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/api/api.h"
#include "host/dev/clock.h"
#include "host/dev/dev.h"
#include "host/api/config.h"
#include "host/event/events.h"
#include "net/error.h"
#include "net/memory.h"
#include "rdma/queue/qp.h"

#define PAIR_MTU_BYTES   4200 /* path MTU 4096 fits */
#define PAIR_RING_FRAMES 256
#define RESOLVE_AV_NS    (2 * NS_PER_S)

/* --- objects --- */

void *host_api_new(struct nornic_dev *dev, enum host_api_kind kind, size_t bytes)
{
    void *object = calloc(1, bytes);
    if (object)
        atomic_fetch_add(&dev->objects[kind], 1);
    return object;
}

void host_api_free(struct nornic_dev *dev, enum host_api_kind kind, void *object)
{
    atomic_fetch_sub(&dev->objects[kind], 1);
    free(object);
}

struct rdma_domain *host_api_domain(const struct nornic_dev *dev)
{
    return dev->transport->get_domain(dev->host);
}

/* --- the library --- */

const char *nornic_version(void)
{
    return NORNIC_VERSION;
}

unsigned nornic_version_number(void)
{
    return NORNIC_VERSION_NUMBER;
}

/* --- life --- */

static int take_config(struct nornic_dev_config *own, const struct nornic_dev_config *config,
                       struct nornic_error *why)
{
    int err = host_config_take(own, sizeof *own, config);
    if (err == -E2BIG)
        net_error_set(why, E2BIG, "the device's config has values that nornic %s does not know",
                      nornic_version());
    else if (err)
        net_error_set(why, -err,
                      "the device's config does not say how long it is: begin it with NORNIC_INIT()");
    return err;
}

static struct host_dev_config host_config_of(const struct nornic_dev_config *config)
{
    struct roce_cc_config cc =
        config->cc && config->cc_config ? *config->cc_config : (struct roce_cc_config){0};
    cc.on = config->cc;
    return (struct host_dev_config){
        .port = config->port,
        .capture_path = config->capture_path,
        .impair = config->impair,
        .first_qpn = config->first_qpn,
        .window_pkts = config->window_pkts,
        .cc = cc,
        .num_pkeys = config->num_pkeys,
        .trace = config->trace,
        .trace_ctx = config->trace_ctx,
        .roce_v1 = config->roce_v1,
        .no_thread = config->no_thread,
        .iwarp = config->iwarp,
    };
}

int nornic_dev_open(const struct nornic_dev_config *config, struct nornic_dev **out, struct nornic_error *why)
{
    struct nornic_dev_config own;
    int err = take_config(&own, config, why);
    if (err)
        return err;
    if (!own.port)
        return net_error_set(why, EINVAL, "no port is named: say udp:ADDRESS, xdp:IFACE or packet:IFACE");
    struct nornic_dev *dev = calloc(1, sizeof *dev);
    if (!dev)
        return net_error_set(why, ENOMEM, "no memory for a device");
    struct host_dev_config host = host_config_of(&own);
    err = host_dev_open(&host, &dev->host, why);
    if (err) {
        free(dev);
        return err;
    }
    dev->transport = dev->host->transport;
    dev->has_thread = !own.no_thread;
    *out = dev;
    return 0;
}

struct nornic_dev *host_dev_for_program(struct host_dev *dev, bool has_thread, struct nornic_mac peer_mac)
{
    struct nornic_dev *program = calloc(1, sizeof *program);
    if (!program)
        return NULL;
    program->host = dev;
    program->transport = dev->transport;
    program->has_thread = has_thread;
    program->has_peer_mac = true;
    program->peer_mac = peer_mac;
    return program;
}

/* MAC and address of one end of the cable in memory. */
static struct nornic_gid end_gid(int side, enum nornic_gid_type type)
{
    const uint8_t v4[4] = {10, 0, 0, (uint8_t)(side + 1)};
    return (struct nornic_gid){
        .addr = nornic_addr_from_v4(v4), .type = type, .mac = {{2, 0, 0, 0, 0, (uint8_t)(side + 1)}}};
}

/* Takes over `port`. */
static int open_end(struct net_port *port, const struct nornic_dev_config *config, int side,
                    struct nornic_dev **out, struct nornic_error *why)
{
    struct host_dev_config host_config = host_config_of(config);
    struct host_dev *host;
    int err = host_dev_create_on(port, &host_config, &host, why);
    if (err)
        return err;
    struct nornic_dev *dev =
        host_dev_for_program(host, !config->no_thread, end_gid(1 - side, NORNIC_GID_V2).mac);
    if (!dev) {
        host_dev_close(host, NULL);
        return net_error_set(why, ENOMEM, "no memory for a device");
    }
    for (int type = NORNIC_GID_V2; type <= (config->roce_v1 ? NORNIC_GID_V1 : NORNIC_GID_V2); type++) {
        struct nornic_gid gid = end_gid(side, (enum nornic_gid_type)type);
        int index = nornic_dev_add_gid(dev, &gid);
        assert(index >= 0 && "a new table has room");
        (void)index;
    }
    *out = dev;
    return 0;
}

int nornic_dev_open_pair(const struct nornic_dev_config *config, struct nornic_dev *out[2],
                         struct nornic_error *why)
{
    struct nornic_dev_config own;
    struct net_port *ends[2];
    int err = take_config(&own, config, why);
    if (err)
        return err;
    err = net_memory_pair(PAIR_MTU_BYTES, PAIR_RING_FRAMES, ends);
    if (err)
        return net_error_set(why, -err, "cannot make a cable in memory: %s", strerror(-err));
    err = open_end(ends[0], &own, 0, &out[0], why);
    if (err) {
        net_port_close(ends[1]);
        return err;
    }
    own.capture_path = NULL; /* one file, of one end */
    err = open_end(ends[1], &own, 1, &out[1], why);
    if (err)
        nornic_dev_close(out[0], NULL);
    return err;
}

/* "2 queue pairs, 1 protection domain" */
static void say_what_is_left(struct nornic_dev *dev, char *text, size_t text_bytes)
{
    static const char *const words[] = {
#define HOST_API_KIND_WORDS_(id, words) words,
        HOST_API_KINDS(HOST_API_KIND_WORDS_)
#undef HOST_API_KIND_WORDS_
    };
    size_t used = 0;
    text[0] = 0;
    for (unsigned kind = 0; kind < HOST_API_KIND_COUNT && used < text_bytes; kind++) {
        unsigned n = atomic_load(&dev->objects[kind]);
        if (n)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%u %s%s", used ? ", " : "", n,
                                     words[kind], n > 1 ? "s" : "");
    }
}

int nornic_dev_close(struct nornic_dev *dev, struct nornic_error *why)
{
    char left[256];
    say_what_is_left(dev, left, sizeof left);
    if (left[0])
        return net_error_set(why, EBUSY, "the device is in use: %s left; destroy what it has first", left);
    int err = host_dev_close(dev->host, why);
    if (err)
        return err;
    free(dev);
    return 0;
}

struct host_dev *host_dev_of(struct nornic_dev *dev)
{
    return dev->host;
}

/* --- progress --- */

bool nornic_dev_progress(struct nornic_dev *dev)
{
    return host_round(dev->host, &(struct host_round_policy){.kind = HOST_ROUND_POLL});
}

void nornic_dev_wait(struct nornic_dev *dev, uint64_t timeout_ns)
{
    host_dev_wait(dev->host, timeout_ns);
}

int nornic_dev_flush_capture(struct nornic_dev *dev)
{
    return host_dev_capture_flush(dev->host);
}

/* --- what it is --- */

void nornic_dev_query(struct nornic_dev *dev, struct nornic_dev_attr *out, size_t out_bytes)
{
    struct nornic_dev_attr own;
    host_dev_lock(dev->host);
    dev->transport->query_dev(dev->host, &own);
    host_dev_unlock(dev->host);
    host_config_give(out, out_bytes, &own, sizeof own);
}

void nornic_dev_query_port(struct nornic_dev *dev, struct nornic_port_attr *out, size_t out_bytes)
{
    struct nornic_port_attr own;
    host_dev_lock(dev->host);
    dev->transport->query_port(dev->host, &own);
    host_dev_unlock(dev->host);
    host_config_give(out, out_bytes, &own, sizeof own);
}

int nornic_dev_query_gid(struct nornic_dev *dev, unsigned index, struct nornic_gid *out)
{
    host_dev_lock(dev->host);
    int err = dev->transport->get_gid(dev->host, index, out);
    host_dev_unlock(dev->host);
    return err;
}

unsigned nornic_dev_query_ifindex(struct nornic_dev *dev, unsigned index)
{
    struct nornic_gid gid;
    struct nornic_addr addr;
    host_dev_lock(dev->host);
    bool is_empty = dev->transport->get_gid(dev->host, index, &gid) != 0 &&
                    dev->transport->get_addr(dev->host, index, &addr) != 0;
    unsigned ifindex = is_empty ? 0 : dev->transport->get_ifindex(dev->host, index);
    host_dev_unlock(dev->host);
    return ifindex;
}

int nornic_dev_query_addr(struct nornic_dev *dev, unsigned index, struct nornic_addr *out)
{
    host_dev_lock(dev->host);
    int err = dev->transport->get_addr(dev->host, index, out);
    host_dev_unlock(dev->host);
    return err;
}

int nornic_dev_add_gid(struct nornic_dev *dev, const struct nornic_gid *gid)
{
    host_dev_lock(dev->host);
    int index = dev->transport->add_gid(dev->host, gid);
    host_dev_unlock(dev->host);
    return index;
}

int nornic_dev_remove_gid(struct nornic_dev *dev, unsigned index)
{
    host_dev_lock(dev->host);
    int err = dev->transport->remove_gid(dev->host, index, host_now_ns());
    host_dev_unlock(dev->host);
    return err;
}

int nornic_dev_set_pkey(struct nornic_dev *dev, unsigned index, uint16_t pkey)
{
    host_dev_lock(dev->host);
    int err = dev->transport->set_pkey(dev->host, index, pkey);
    host_dev_unlock(dev->host);
    return err;
}

int nornic_dev_set_port(struct nornic_dev *dev, bool up)
{
    host_dev_lock(dev->host);
    int err = dev->transport->set_port(dev->host, up);
    host_dev_unlock(dev->host);
    return err;
}

int nornic_dev_query_pkey(struct nornic_dev *dev, unsigned index, uint16_t *pkey)
{
    host_dev_lock(dev->host);
    int err = dev->transport->get_pkey(dev->host, index, pkey);
    host_dev_unlock(dev->host);
    return err;
}

int nornic_dev_resolve(struct nornic_dev *dev, unsigned sgid_index, const struct nornic_addr *dst,
                       uint64_t timeout_ns, struct nornic_mac *mac, struct nornic_error *why)
{
    if (!dev->has_peer_mac)
        return dev->transport->resolve(dev->host, sgid_index, dst, timeout_ns, mac, why);
    *mac = dev->peer_mac;
    return 0;
}

int host_api_resolve_av(struct nornic_dev *dev, struct nornic_av *av)
{
    static const struct nornic_mac all_ones = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    if (!nornic_mac_equal(&av->dst_mac, &all_ones) || nornic_addr_is_multicast(&av->dgid))
        return 0;
    return nornic_dev_resolve(dev, av->sgid_index, &av->dgid, RESOLVE_AV_NS, &av->dst_mac, NULL);
}

void nornic_dev_counters(struct nornic_dev *dev, void (*visit)(void *ctx, const char *name, uint64_t value),
                         void *ctx)
{
    host_dev_lock(dev->host);
    dev->transport->visit_counters(dev->host, visit, ctx);
    host_dev_unlock(dev->host);
}

/* --- events --- */

int nornic_dev_event_fd(const struct nornic_dev *dev)
{
    return host_dev_event_fd(dev->host);
}

static struct nornic_event event_of(const struct host_event *event)
{
    return (struct nornic_event){
        .type = event->type,
        .qp = event->qp ? event->qp->ctx : NULL,
        .cq = event->cq ? host_cq_ctx(event->cq) : NULL,
        .srq = event->srq ? rdma_srq_ctx(event->srq) : NULL,
    };
}

/* About a queue that the program has never seen: those of QP 1, which the CM has. */
static bool is_foreign(const struct host_event *event, const struct nornic_event *shown)
{
    return (event->qp && !shown->qp) || (event->cq && !shown->cq);
}

int nornic_dev_get_event(struct nornic_dev *dev, struct nornic_event *event, uint64_t timeout_ns)
{
    struct host_event taken;
    uint64_t end_ns = host_deadline_ns(timeout_ns);
    int err;
    while (!(err = host_dev_get_event(dev->host, &taken, host_left_ns(end_ns)))) {
        *event = event_of(&taken);
        if (!is_foreign(&taken, event))
            break;
        host_dev_ack_event(dev->host, &taken);
    }
    return err;
}

void nornic_dev_ack_event(struct nornic_dev *dev, const struct nornic_event *event)
{
    struct host_event taken = {
        .type = event->type,
        .qp = event->qp ? event->qp->base : NULL,
        .cq = event->cq ? event->cq->engine : NULL,
        .srq = event->srq ? event->srq->engine : NULL,
    };
    host_dev_ack_event(dev->host, &taken);
}
