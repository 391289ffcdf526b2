/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses into paths: which GID to send from, and the MAC of the next hop. The kernel is asked for a route
 * without the device's lock; a neighbour that it has to ask on the wire answers a source of the device. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/dev/clock.h"
#include "host/cm/inner.h"
#include "host/dev/dev.h"
#include "host/roce/gids.h"

/* --- the end: under the device's lock --- */

void host_cm_stop_query(struct host_cm_id *id)
{
    host_dev_assert_held(id->cm->dev);
    if (!id->query)
        return;
    host_source_remove(&id->cm->dev->sources, &id->source);
    net_neighbour_close(id->query);
    id->query = NULL;
    id->query_end_ns = NET_TIME_NONE;
}

/* Raises ADDR_RESOLVED, or with a negative `status` ADDR_ERROR. */
static void finish(struct host_cm_id *id, int status, const struct nornic_mac *mac,
                   const struct nornic_error *why)
{
    struct host_cm_record *record = id->record;
    id->record = NULL;
    host_cm_stop_query(id);
    if (status == 0) {
        id->step = HOST_CM_ADDR_RESOLVED;
        id->route.path.av.dst_mac = *mac;
        record->event.type = NORNIC_CM_EVENT_ADDR_RESOLVED;
    } else {
        id->step = HOST_CM_IDLE;
        record->event.type = NORNIC_CM_EVENT_ADDR_ERROR;
        record->event.error = *why;
    }
    record->event.status = status;
    record->event.values.path = id->route.path;
    host_cm_raise(record);
}

static void on_answer(struct host_source *source, uint64_t now_ns)
{
    struct host_cm_id *id = container_of(source, struct host_cm_id, source);
    struct nornic_mac mac;
    struct nornic_error why;
    (void)now_ns;
    int err = net_neighbour_answer(id->query, &mac, &why);
    if (err != -EAGAIN)
        finish(id, err, &mac, &why);
}

void host_cm_expire_queries(struct host_cm *cm, uint64_t now_ns)
{
    if (now_ns < cm->query_end_ns)
        return;
    cm->query_end_ns = NET_TIME_NONE;
    for (struct host_cm_id *id = cm->ids; id; id = id->next) {
        struct nornic_mac mac;
        struct nornic_error why;
        if (id->query && id->query_end_ns <= now_ns) {
            int err = net_neighbour_answer(id->query, &mac, &why);
            finish(id, err == -EAGAIN ? -EHOSTUNREACH : err, &mac, &why);
        }
        if (id->query_end_ns < cm->query_end_ns)
            cm->query_end_ns = id->query_end_ns;
    }
}

/* --- the beginning --- */

#define PLAN_INTERFACES NORNIC_GID_MAX /* each entry may be of another one */

/* The address to send from, and the neighbour to ask. */
struct plan {
    int sgid_index;
    struct nornic_addr src; /* zero: `sgid_index` is known */
    bool has_mac;           /* nobody is to be asked */
    bool is_guess;          /* the kernel, which routes, may send from another of the port's addresses */
    bool has_way;           /* the kernel routes, */
    struct nornic_addr own; /* from that of `sgid_index`, unless it sends from `src`, */
    uint32_t mtu_bytes;     /* and takes packets of this length there (net_route_mtu()) */
    struct nornic_mac mac;
    struct net_neighbour_query *query;   /* the question to the next hop, or NULL */
    unsigned ifindexes[PLAN_INTERFACES]; /* interfaces to look for a route */
    unsigned ifindex_count;
};

/* Finds the interfaces of the GID `sgid_index`; -1: of all. */
static void find_ifindexes(const struct host_gids *gids, int sgid_index, struct plan *plan)
{
    if (sgid_index < 0) {
        plan->ifindex_count = host_gids_ifindexes(gids, plan->ifindexes, PLAN_INTERFACES);
        return;
    }
    plan->ifindexes[0] = host_gids_ifindex(gids, (unsigned)sgid_index);
    plan->ifindex_count = plan->ifindexes[0] != 0;
}

/* Reads the GID table, under the device's lock. */
static int look_at_gids(const struct host_cm *cm, const struct nornic_addr *src,
                        const struct nornic_addr *dst, struct plan *plan)
{
    int own = host_cm_find_gid(cm, dst);
    *plan = (struct plan){.sgid_index = src ? host_cm_find_gid(cm, src) : own};
    /* To an address of our own the engine hands over by itself. */
    bool is_routed = cm->dev->port->limits.is_udp_socket;
    plan->has_mac = own >= 0 || nornic_addr_is_multicast(dst) || !cm->dev->gids || is_routed;
    plan->mac = own >= 0                        ? roce_dev_gid_get(cm->dev->engine, (unsigned)own)->mac
                : nornic_addr_is_multicast(dst) ? nornic_addr_mcast_mac(dst)
                                                : cm->config.peer_mac;
    plan->has_way = is_routed && own < 0 && !nornic_addr_is_multicast(dst);
    plan->is_guess = plan->has_way && !src;
    if (plan->has_mac && !src && own < 0)
        plan->sgid_index = host_cm_gid_for(cm, dst);
    if (src || plan->has_mac)
        if (plan->sgid_index < 0 || (src && nornic_addr_is_v4(src) != nornic_addr_is_v4(dst)))
            return -EADDRNOTAVAIL;
    if (plan->has_way)
        plan->own = roce_dev_gid_get(cm->dev->engine, (unsigned)plan->sgid_index)->addr;
    if (!plan->has_mac)
        find_ifindexes(cm->dev->gids, src ? plan->sgid_index : -1, plan);
    return 0;
}

/* Without the lock: the kernel's route, of the first interface that has one, and the question to the next
 * hop. */
static int ask_kernel(const struct nornic_addr *dst, struct plan *plan, struct nornic_error *why)
{
    for (unsigned i = 0; i < plan->ifindex_count; i++) {
        struct net_route route;
        struct nornic_error refusal;
        int err = net_route_get(plan->ifindexes[i], dst, &route, &refusal);
        if (err && i + 1 < plan->ifindex_count)
            continue;
        if (err)
            return net_error_set(why, -err, "%s", refusal.text);
        plan->src = route.src;
        return net_neighbour_ask(plan->ifindexes[i], &route.next_hop, &plan->query, why);
    }
    return net_error_set(why, EHOSTUNREACH, "the device has no address");
}

/* Under the lock: the id waits for the answer, or has it. 0: query and record are the id's. */
static int start(struct host_cm_id *id, const struct plan *plan, struct host_cm_record *record,
                 const struct roce_cm_route *to, uint64_t timeout_ns)
{
    struct host_cm *cm = id->cm;
    const struct nornic_addr *dst = &to->path.av.dgid;
    int sgid_index = plan->sgid_index, rc = 0;
    if ((plan->is_guess || sgid_index < 0) && !nornic_addr_is_zero(&plan->src))
        sgid_index = host_cm_find_gid(cm, &plan->src);
    if (sgid_index < 0)
        sgid_index = host_cm_gid_for(cm, dst);
    if (sgid_index < 0)
        return -EADDRNOTAVAIL;
    if (plan->query) {
        id->source = (struct host_source){.ready = on_answer, .fd = net_neighbour_fd(plan->query)};
        rc = host_source_add(&cm->dev->sources, &id->source);
    }
    if (rc != 0)
        return rc;
    id->query = plan->query;
    id->record = record;
    id->route = (struct roce_cm_route){.path = host_cm_path((unsigned)sgid_index, dst, &plan->mac),
                                       .src_port = id->route.src_port,
                                       .dst_port = to->dst_port,
                                       .mtu_bytes = plan->mtu_bytes};
    if (!id->query) {
        finish(id, 0, &plan->mac, NULL);
        return 0;
    }
    id->step = HOST_CM_ADDR_QUERY;
    id->query_end_ns = host_deadline_ns(timeout_ns);
    if (id->query_end_ns < cm->query_end_ns)
        cm->query_end_ns = id->query_end_ns;
    on_answer(&id->source, 0); /* which may be in the kernel's table */
    return 0;
}

/* Finds the way of packets that the kernel routes, without the lock. A destination that the kernel refuses is
 * told now, as of other ports, so that a program may try another device. */
static int ask_routes(struct host_cm *cm, const struct nornic_addr *dst, struct plan *plan,
                      struct nornic_error *why)
{
    const unsigned ifindex = cm->dev->ifindex;
    bool is_ours = false;
    if (plan->is_guess && net_route_source(ifindex, dst, &plan->src) == 0) {
        host_dev_lock(cm->dev);
        is_ours = host_cm_find_gid(cm, &plan->src) >= 0;
        host_dev_unlock(cm->dev);
    }
    if (!is_ours) {
        int err = net_route_check(ifindex, &plan->own, dst, why);
        if (err)
            return err;
    }
    plan->mtu_bytes = net_route_mtu(ifindex, dst);
    return 0;
}

/* Carries the plan out. Nothing of it is kept if it fails. */
static int carry_out(struct host_cm_id *id, struct plan *plan, const struct roce_cm_route *to,
                     uint64_t timeout_ns, struct nornic_error *why)
{
    struct host_cm_record *record = host_cm_record_new(id->cm, id, NORNIC_CM_EVENT_ADDR_RESOLVED);
    if (!record)
        return net_error_set(why, ENOMEM, "no memory to resolve an address");
    int err = plan->has_way   ? ask_routes(id->cm, &to->path.av.dgid, plan, why)
              : plan->has_mac ? 0
                              : ask_kernel(&to->path.av.dgid, plan, why);
    if (!err) {
        host_dev_lock(id->cm->dev);
        err = start(id, plan, record, to, timeout_ns);
        host_dev_unlock(id->cm->dev);
        if (err)
            net_error_set(why, -err, "cannot wait for an address: %s", strerror(-err));
    }
    if (err) {
        if (plan->query)
            net_neighbour_close(plan->query);
        free(record);
    }
    return err;
}

int host_cm_resolve_addr(struct host_cm_id *id, const struct nornic_addr *src, const struct nornic_addr *dst,
                         uint16_t dst_port, uint64_t timeout_ns, struct nornic_error *why)
{
    struct host_cm *cm = id->cm;
    struct roce_cm_route to = {.path.av.dgid = *dst, .dst_port = dst_port};
    char text[NORNIC_ADDR_STR_SIZE];
    struct plan plan;
    host_dev_lock(cm->dev);
    int err = id->step == HOST_CM_IDLE ? look_at_gids(cm, src, dst, &plan) : -EINVAL;
    host_dev_unlock(cm->dev);
    if (err == -EINVAL)
        return net_error_set(why, EINVAL, "the id has an address already");
    if (!err)
        err = carry_out(id, &plan, &to, timeout_ns, why);
    if (err == -EADDRNOTAVAIL)
        net_error_set(why, EADDRNOTAVAIL, "%s is no address of the device that can reach the peer",
                      src ? nornic_addr_str(src, text) : "there");
    return err;
}
