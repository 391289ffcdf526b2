/* SPDX-License-Identifier: BSD-2-Clause */
/* What a port needs is tried where that leaves no trace: a UDP socket on its address, a packet socket. An XDP
 * program would be seen by everybody on the interface, so of it the capabilities are asked for. */
#include "host/port/try.h"

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/kernel/claim.h"
#include "net/share/look.h"
#include "net/share/who.h"
#include "net/udp/port.h"

#define SHARERS_NAMED 2

static bool has_capability(unsigned number)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &head, data) != 0)
        return false;
    return data[number / 32].effective >> number % 32 & 1;
}

static bool is_steered(unsigned ifindex)
{
    int asker = net_claim_asker();
    bool is_taken = net_claim_is_taken(asker, "xdp", ifindex, 0);
    if (asker >= 0)
        close(asker);
    return is_taken;
}

struct sharers {
    const struct nornic_addr *addr;
    uint32_t scope;
    struct host_port_found *found;
};

static void add_sharer(void *ctx, unsigned slot, const struct net_share_record *record)
{
    struct sharers *sharers = ctx;
    struct host_port_found *found = sharers->found;
    size_t len = strlen(found->shared_with);
    (void)slot;
    if (!net_share_place_of(record, sharers->addr, sharers->scope))
        return;
    found->sharers++;
    if (found->sharers <= SHARERS_NAMED)
        snprintf(found->shared_with + len, sizeof found->shared_with - len, "%s%s (process %u)",
                 len ? ", " : "", record->name, record->pid);
    else if (found->sharers == SHARERS_NAMED + 1)
        snprintf(found->shared_with + len, sizeof found->shared_with - len, " and others");
}

/* 0, or the -errno with which a port of this process would not open, as it cannot meet others. */
static int find_sharers(const struct net_interface *interface, const struct nornic_addr *addr,
                        struct host_port_found *found, struct nornic_error *why)
{
    struct sharers sharers = {
        .addr = addr, .scope = nornic_addr_is_link_local(addr) ? interface->index : 0, .found = found};
    return net_share_look(add_sharer, &sharers, why);
}

static int try_udp(const struct net_interface *interface, const struct nornic_addr *addr,
                   struct nornic_error *why)
{
    struct net_port *port;
    struct net_udp_config config = {.interface = interface, .addr = *addr};
    int err = net_udp_open(&config, &port, why);
    if (!err)
        net_port_close(port);
    return err;
}

static int try_packet(struct nornic_error *why)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return net_error_set(why, errno, "it needs root, or the capability CAP_NET_RAW");
    close(fd);
    return 0;
}

int host_port_try_xdp(const struct net_interface *interface, struct nornic_error *why)
{
    bool has_bpf = has_capability(CAP_BPF) || has_capability(CAP_SYS_ADMIN);
    if (!has_bpf || !has_capability(CAP_NET_ADMIN) || !has_capability(CAP_NET_RAW))
        return net_error_set(why, EPERM,
                             "it needs root, or the capabilities CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF");
    if (is_steered(interface->index))
        return net_error_set(why, EBUSY, "another running nornic has it");
    return 0;
}

/* What two kinds of port share: an XDP program keeps packets from both. */
static int check_path(const struct net_interface *interface, struct nornic_error *why)
{
    return is_steered(interface->index)
               ? net_error_set(why, EBUSY, "a running nornic takes the RoCE packets of %s by its XDP program",
                               interface->name)
               : 0;
}

static void show_found(const struct net_interface *interface, const char *kind, const char *where, int err,
                       const struct nornic_error *why, struct host_port_found *found, host_port_visit *visit,
                       void *ctx)
{
    found->mtu_bytes = interface->mtu_bytes;
    found->is_usable = err == 0;
    snprintf(found->name, sizeof found->name, "%s:%s", kind, where);
    snprintf(found->ifname, sizeof found->ifname, "%s", interface->name);
    if (err)
        found->why = *why;
    visit(ctx, found);
}

/* Packet ports have no names; each sees what all see. */
static void count_packet_ports(const struct net_interface *interface, struct host_port_found *found)
{
    int asker = net_claim_asker();
    found->sharers = net_claim_count(asker, "packet", interface->index, NET_CLAIM_PACKETS);
    if (asker >= 0)
        close(asker);
    if (found->sharers)
        snprintf(found->shared_with, sizeof found->shared_with, "%u packet port%s of running processes",
                 found->sharers, found->sharers > 1 ? "s" : "");
}

static void find_packet(const struct net_interface *interface, int path, struct nornic_error *reason,
                        host_port_visit *visit, void *ctx)
{
    struct host_port_found found = {.sharers = 0};
    int err = path ? path : try_packet(reason);
    count_packet_ports(interface, &found);
    show_found(interface, "packet", interface->name, err, reason, &found, visit, ctx);
}

static void find_xdp(const struct net_interface *interface, host_port_visit *visit, void *ctx)
{
    struct host_port_found found = {.queues = net_interface_rx_queues(interface->name)};
    struct nornic_error reason;
    int err = host_port_try_xdp(interface, &reason);
    show_found(interface, "xdp", interface->name, err, &reason, &found, visit, ctx);
}

/* Both kinds of socket of one address: RoCE over UDP; iWARP over TCP, which needs nothing. */
static void find_sockets(const struct net_interface *interface, const struct nornic_addr *addr, int path,
                         struct nornic_error *reason, host_port_visit *visit, void *ctx)
{
    char text[NORNIC_ADDR_STR_SIZE], where[NORNIC_ADDR_STR_SIZE + sizeof interface->name];
    struct host_port_found udp = {.sharers = 0}, iwarp = {.sharers = 0};
    bool has_scope = nornic_addr_is_link_local(addr);
    int meeting = find_sharers(interface, addr, &udp, path ? NULL : reason);
    int err = path ? path : meeting;
    if (!err && udp.sharers == 0)
        err = try_udp(interface, addr, reason);
    snprintf(where, sizeof where, "%s%s%s", nornic_addr_str(addr, text), has_scope ? "%" : "",
             has_scope ? interface->name : "");
    show_found(interface, "udp", where, err, reason, &udp, visit, ctx);
    show_found(interface, "iwarp", where, 0, NULL, &iwarp, visit, ctx);
}

static int find_of(const struct net_interface *interface, host_port_visit *visit, void *ctx,
                   struct nornic_error *why)
{
    struct nornic_addr *addrs;
    int count = net_interface_addr_list(interface->index, &addrs, why);
    if (count < 0)
        return count;
    struct nornic_error reason = {.text = ""};
    int path = check_path(interface, &reason);
    for (int i = 0; i < count; i++)
        find_sockets(interface, &addrs[i], path, &reason, visit, ctx);
    free(addrs);
    find_packet(interface, path, &reason, visit, ctx);
    find_xdp(interface, visit, ctx);
    return 0;
}

int host_ports_find(host_port_visit *visit, void *ctx, struct nornic_error *why)
{
    struct if_nameindex *all = if_nameindex();
    int err = 0;
    if (!all)
        return net_error_set(why, errno, "cannot list the interfaces: %s", strerror(errno));
    for (const struct if_nameindex *i = all; i->if_index && !err; i++) {
        struct net_interface interface;
        if (net_interface_get(i->if_name, &interface, why) == 0 && interface.is_up)
            err = find_of(&interface, visit, ctx, why);
    }
    if_freenameindex(all);
    return err;
}
