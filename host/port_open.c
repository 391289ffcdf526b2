/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/port_open.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net/packet.h"
#include "net/udp_port.h"
#include "xdp/xdp.h"

enum port_kind { PORT_XDP, PORT_PACKET, PORT_UDP, PORT_KIND_COUNT };

struct port_name {
    enum port_kind kind;
    enum xdp_mode mode;
    char ifname[16];         /* IFNAMSIZ; "": the one that has the address */
    struct nornic_addr addr; /* of a udp port; zero: all of the interface */
};

static bool parse_mode(const char *text, enum xdp_mode *mode)
{
    *mode = strcmp(text, "generic") == 0 ? XDP_MODE_GENERIC : XDP_MODE_NATIVE;
    return *mode == XDP_MODE_GENERIC || strcmp(text, "native") == 0;
}

/* What precedes the first colon; PORT_KIND_COUNT: none that there is. */
static enum port_kind parse_kind(const char *name, const char **rest)
{
    static const char *const kinds[PORT_KIND_COUNT] = {
        [PORT_XDP] = "xdp:", [PORT_PACKET] = "packet:", [PORT_UDP] = "udp:"};
    for (unsigned kind = 0; kind < PORT_KIND_COUNT; kind++) {
        *rest = name + strlen(kinds[kind]);
        if (strncmp(name, kinds[kind], strlen(kinds[kind])) == 0)
            return (enum port_kind)kind;
    }
    return PORT_KIND_COUNT;
}

/* "ADDRESS", or "ADDRESS%INTERFACE" of a link-local one, as several interfaces may have the same (RFC 4007,
 * 11). False: it is none. */
static bool parse_addr(const char *text, struct port_name *out)
{
    char addr[NORNIC_ADDR_STR_SIZE];
    const char *scope = strchr(text, '%');
    size_t len = scope ? (size_t)(scope - text) : strlen(text);
    if (len >= sizeof addr || (scope && (!scope[1] || strlen(scope + 1) >= sizeof out->ifname)))
        return false;
    snprintf(addr, sizeof addr, "%.*s", (int)len, text);
    if (nornic_addr_parse(addr, &out->addr) != 0)
        return false;
    if (scope)
        snprintf(out->ifname, sizeof out->ifname, "%s", scope + 1);
    return true;
}

static int parse_name(const char *name, struct port_name *out, struct nornic_error *why)
{
    const char *rest;
    *out = (struct port_name){.kind = parse_kind(name, &rest), .mode = XDP_MODE_AUTO};
    if (out->kind == PORT_KIND_COUNT)
        return net_error_set(
            why, EINVAL, "no port '%s': give xdp:INTERFACE, packet:INTERFACE, udp:ADDRESS or udp:INTERFACE",
            name);
    if (out->kind == PORT_UDP && parse_addr(rest, out)) {
        if (out->ifname[0] && !nornic_addr_is_link_local(&out->addr))
            return net_error_set(why, EINVAL,
                                 "port '%s': only a link-local address has an interface behind it", name);
        return 0;
    }
    /* A kernel interface name holds no colon but in legacy aliases, which are no interfaces of their own. */
    const char *mode = out->kind == PORT_XDP ? strchr(rest, ':') : NULL;
    size_t len = mode ? (size_t)(mode - rest) : strlen(rest);
    if (len == 0 || len >= sizeof out->ifname)
        return net_error_set(why, EINVAL, "port '%s': an interface name has 1 to 15 characters", name);
    snprintf(out->ifname, sizeof out->ifname, "%.*s", (int)len, rest);
    if (mode && !parse_mode(mode + 1, &out->mode))
        return net_error_set(why, EINVAL, "port '%s': the XDP mode is native or generic, not '%s'", name,
                             mode + 1);
    return 0;
}

static int open_kind(const struct port_name *name, const struct net_interface *interface, bool roce_v1,
                     uint32_t first_qpn, struct net_port **out, struct nornic_error *why)
{
    switch (name->kind) {
    case PORT_XDP:
        return xdp_port_open(
            &(struct xdp_config){.ifname = name->ifname, .mode = name->mode, .roce_v1 = roce_v1}, out, why);
    case PORT_PACKET:
        return net_packet_open(&(struct net_packet_config){.ifname = name->ifname, .roce_v1 = roce_v1}, out,
                               why);
    case PORT_UDP:
        return net_udp_open(
            &(struct net_udp_config){
                .interface = interface, .addr = name->addr, .is_shared = true, .first_qpn = first_qpn},
            out, why);
    case PORT_KIND_COUNT:
        break;
    }
    return -EINVAL;
}

int host_port_open(const char *name, bool roce_v1, uint32_t first_qpn, struct host_port *out,
                   struct nornic_error *why)
{
    struct port_name parsed;
    struct net_interface *interface = &out->interface;
    int err = parse_name(name, &parsed, why);
    if (!err && parsed.kind == PORT_UDP && roce_v1)
        err = net_error_set(why, EINVAL,
                            "port %s is a UDP socket, and RoCEv1 is not over UDP: use xdp:INTERFACE", name);
    if (!err)
        err = parsed.ifname[0] ? net_interface_get(parsed.ifname, interface, why)
                               : net_interface_of_addr(&parsed.addr, interface, why);
    if (err)
        return err;
    if (!interface->is_up)
        return net_error_set(why, ENETDOWN, "interface %s is down: bring it up with `ip link set %s up`",
                             interface->name, interface->name);
    out->addr = parsed.addr;
    return open_kind(&parsed, interface, roce_v1, first_qpn, &out->port, why);
}
