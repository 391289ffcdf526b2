/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids on devices: by the address that they are bound to, or by the way to their peer. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "verbs/cm/cma.h"

static bool is_loopback(const struct nornic_addr *addr)
{
    static const struct nornic_addr v6 = {{[15] = 1}};
    return nornic_addr_is_v4(addr) ? addr->b[12] == 127 : nornic_addr_equal(addr, &v6);
}

/* --- bound --- */

/* Binds the id to its source address. 0 or -1. */
static int take_port(struct cma_id *id, const struct sockaddr *from)
{
    struct sockaddr *shown = &id->base.route.addr.src_addr;
    struct nornic_addr addr;
    char text[NORNIC_ADDR_STR_SIZE];
    uint16_t port;
    (void)cma_addr_of(from, &addr, &port); /* it is IPv4 or IPv6 */
    int err = cma_port_take(id, &addr, &port);
    if (err)
        return cma_fail(err, "port %u of %s cannot be had: another id is bound to it", port,
                        nornic_addr_str(&addr, text));
    memcpy(shown, from, cma_sockaddr_bytes(from));
    cma_sockaddr_set_port(shown, port);
    return 0;
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *wanted)
{
    struct cma_id *id = cma_id_of(base);
    const struct cma_device *list;
    struct nornic_addr addr;
    uint16_t port;
    char text[NORNIC_ADDR_STR_SIZE];
    if (!cma_addr_of(wanted, &addr, &port))
        return cma_fail(EINVAL, "an address that is neither IPv4 nor IPv6");
    if (cma_need_own(id))
        return -1;
    const unsigned scope = cma_scope_of(wanted);
    if (id->nornic || id->num_listeners || id->bound_port)
        return cma_fail(EINVAL, "the id is in use, or bound");
    if (!scope && nornic_addr_is_link_local(&addr) && !nornic_addr_is_v4(&addr))
        return cma_fail(EINVAL, "%s is link-local: of which interface, its scope id has to say",
                        nornic_addr_str(&addr, text));
    /* All are opened by now, also for any address: a program may tell its peer the port before it listens
     * (qperf), and listening has to be as quick as a kernel's. */
    if (!cma_devices(&list))
        return -1;
    const struct cma_device *device = cma_is_any(&addr) ? NULL : cma_device_of(&addr, scope);
    /* A loopback address that no device has is as good as none, as kernels have it: all devices. */
    if (!device && !cma_is_any(&addr) && !is_loopback(&addr))
        return cma_fail(ENODEV, "%s is no address of a device", nornic_addr_str(&addr, text));
    if (take_port(id, wanted))
        return -1;
    if (device)
        cma_id_bind(id, device);
    id->bound_device = device;
    return 0;
}

/* --- resolved --- */

struct ends {
    struct nornic_addr src, dst;
    uint16_t src_port, port;
    bool has_src;
    const struct cma_device *device; /* that has the source, or that the id is bound to; NULL: any */
};

/* Writes the device's first address of a family to `out`. Returns false if it has none. */
static bool own_addr(const struct cma_device *device, bool is_v4, struct nornic_addr *out)
{
    struct nornic_addr own;
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++)
        if (nornic_dev_query_addr(device->nornic, i, &own) == 0 && nornic_addr_is_v4(&own) == is_v4 &&
            !nornic_addr_is_link_local(&own)) {
            *out = own;
            return true;
        }
    return false;
}

/* Replaces a loopback address that no device has by an address of `device`: the program means this machine,
 * and the device may be on a network. A device on the loopback interface reaches the address itself.
 * Returns whether `dst` was replaced. */
static bool move_loopback(const struct cma_device *device, struct nornic_addr *dst)
{
    struct nornic_addr own;
    if (!is_loopback(dst) || cma_device_of(dst, 0) || !own_addr(device, nornic_addr_is_v4(dst), &own) ||
        is_loopback(&own))
        return false;
    *dst = own;
    return true;
}

/* 0 or an errno value. */
static int resolve_on(struct cma_id *id, const struct cma_device *device, const struct ends *ends,
                      int timeout_ms, struct nornic_error *why)
{
    struct nornic_addr dst = ends->dst;
    bool is_moved = move_loopback(device, &dst);
    /* All of it before the call: the program may see its event, in another thread, before that returns. */
    const struct rdma_cm_id before = id->base;
    const struct cma_device *device_before = id->device;
    if (id->device != device)
        cma_rest(id);
    cma_id_bind(id, device);
    int err = cma_need_nornic(id);
    if (!err) {
        (void)nornic_cm_id_set_src_port(id->nornic, id->bound_port); /* of one that rests it cannot fail */
        err = -nornic_cm_id_resolve_addr(id->nornic,
                                         ends->has_src ? &ends->src
                                         : is_moved    ? &dst
                                                       : NULL,
                                         &dst, ends->port, (uint64_t)max_i64(timeout_ms, 1) * NS_PER_MS, why);
    }
    if (!err)
        return 0;
    cma_rest(id);
    id->device = device_before;
    id->base = before;
    return err;
}

/* By the device that has to be it, or the first that has a way. */
static int resolve(struct cma_id *id, const struct ends *ends, int timeout_ms)
{
    const struct cma_device *list;
    struct nornic_error why = {"there is no device"};
    unsigned count = cma_devices(&list);
    int err = ENODEV;
    if (ends->device)
        err = resolve_on(id, ends->device, ends, timeout_ms, &why);
    for (unsigned i = 0; !ends->device && i < count && err; i++)
        err = resolve_on(id, &list[i], ends, timeout_ms, &why);
    return err ? cma_fail(err, "%s", why.text) : 0;
}

/* The interface that a scope id names has the device, and the source. 0 or -1. */
static int find_scope(unsigned scope, struct ends *out)
{
    struct nornic_addr own = {{0}};
    const struct cma_device *device = out->device;
    if (!device)
        device = cma_device_on(scope, &own);
    else if (!cma_device_is_on(device, scope, &own))
        device = NULL;
    if (!device)
        return cma_fail(ENODEV, "no device is on interface %u, which the scope id names", scope);
    out->device = device;
    if (!nornic_addr_is_zero(&own) && nornic_addr_is_link_local(&out->dst) && !out->has_src) {
        out->src = own;
        out->has_src = true;
    }
    return 0;
}

/* A loopback address that no device has is as good as none. 0 or -1. */
static int find_ends(const struct cma_id *id, const struct sockaddr *src, const struct sockaddr *dst,
                     struct ends *out)
{
    const struct cma_device *list;
    *out = (struct ends){.device = id->bound_device};
    if (!cma_addr_of(dst, &out->dst, &out->port))
        return cma_fail(EINVAL, "no destination that is IPv4 or IPv6");
    if (!cma_devices(&list))
        return -1;
    struct nornic_addr named;
    bool has_src = cma_addr_of(src, &named, &out->src_port);
    if (has_src && nornic_addr_is_v4(&named) != nornic_addr_is_v4(&out->dst))
        return cma_fail(EINVAL, "source and destination are of different families");
    const unsigned scope = cma_scope_of(dst) ? cma_scope_of(dst) : cma_scope_of(src);
    if (scope && find_scope(scope, out))
        return -1;
    if (!has_src || cma_is_any(&named))
        return 0;
    const struct cma_device *from = cma_device_of(&named, scope);
    if (!from && !is_loopback(&named))
        return cma_fail(EADDRNOTAVAIL, "the source is no address of a device");
    if (from && out->device && from != out->device)
        return cma_fail(EADDRNOTAVAIL, "the source is no address of the device");
    out->has_src = from != NULL;
    if (from) {
        out->src = named;
        out->device = from;
    }
    return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *src_addr, struct sockaddr *dst_addr,
                      int timeout_ms)
{
    struct cma_id *id = cma_id_of(base);
    struct ends ends;
    if (cma_need_own(id))
        return -1;
    if (id->num_listeners || cma_is_in_use(id))
        return cma_fail(EINVAL, "the id has an address, or is in use");
    if (src_addr && src_addr->sa_family != AF_INET && src_addr->sa_family != AF_INET6)
        return cma_fail(EINVAL, "a source that is neither IPv4 nor IPv6");
    if (id->bound_port) /* it stays bound, as in a kernel */
        src_addr = NULL;
    if (find_ends(id, src_addr ? src_addr : &base->route.addr.src_addr, dst_addr, &ends))
        return -1;
    if (src_addr && ends.src_port && take_port(id, src_addr))
        return -1;
    if (src_addr && !ends.src_port)
        memcpy(&base->route.addr.src_storage, src_addr, cma_sockaddr_bytes(src_addr));
    memcpy(&base->route.addr.dst_storage, dst_addr, cma_sockaddr_bytes(dst_addr));
    return resolve(id, &ends, timeout_ms) ? -1 : cma_complete(id);
}

int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
    struct cma_id *id = cma_id_of(base);
    (void)timeout_ms; /* nobody is asked */
    if (cma_need_own(id))
        return -1;
    int err = id->nornic ? -nornic_cm_id_resolve_route(id->nornic) : EINVAL;
    return err ? cma_fail(err, "the id has no address that is resolved") : cma_complete(id);
}
