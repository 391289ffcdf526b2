/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/port/open.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host/port/options.h"
#include "net/packet.h"
#include "net/udp/port.h"
#include "xdp/xdp.h"

#define NAME_BYTES 128 /* of a port, without its options */

static bool parse_mode(const char *text, enum xdp_mode *mode)
{
    *mode = strcmp(text, "generic") == 0 ? XDP_MODE_GENERIC : XDP_MODE_NATIVE;
    return *mode == XDP_MODE_GENERIC || strcmp(text, "native") == 0;
}

/* What precedes the first colon; HOST_PORT_KINDS: none that there is. */
static enum host_port_kind parse_kind(const char *name, const char **rest)
{
    static const char *const kinds[HOST_PORT_KINDS] = {[HOST_PORT_XDP] = "xdp:",
                                                       [HOST_PORT_PACKET] = "packet:",
                                                       [HOST_PORT_UDP] = "udp:",
                                                       [HOST_PORT_IWARP] = "iwarp:"};
    for (unsigned kind = 0; kind < HOST_PORT_KINDS; kind++) {
        *rest = name + strlen(kinds[kind]);
        if (strncmp(name, kinds[kind], strlen(kinds[kind])) == 0)
            return (enum host_port_kind)kind;
    }
    return HOST_PORT_KINDS;
}

/* "ADDRESS", or "ADDRESS%INTERFACE" of a link-local one, as several interfaces may have the same (RFC 4007,
 * 11). False: it is none. */
static bool parse_addr(const char *text, struct host_port_name *out)
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

static int parse_plain(const char *name, struct host_port_name *out, struct nornic_error *why)
{
    const char *rest;
    *out = (struct host_port_name){.kind = parse_kind(name, &rest), .mode = XDP_MODE_AUTO};
    if (out->kind == HOST_PORT_KINDS)
        return net_error_set(
            why, EINVAL,
            "no port '%s': give udp:ADDRESS, iwarp:ADDRESS, xdp:INTERFACE or packet:INTERFACE; udp: and "
            "iwarp: take an interface, too",
            name);
    if ((out->kind == HOST_PORT_UDP || out->kind == HOST_PORT_IWARP) && parse_addr(rest, out)) {
        if (out->ifname[0] && !nornic_addr_is_link_local(&out->addr))
            return net_error_set(why, EINVAL,
                                 "port '%s': only a link-local address has an interface behind it", name);
        return 0;
    }
    /* A kernel interface name holds no colon but in legacy aliases, which are no interfaces of their own. */
    const char *mode = out->kind == HOST_PORT_XDP ? strchr(rest, ':') : NULL;
    size_t len = mode ? (size_t)(mode - rest) : strlen(rest);
    if (len == 0 || len >= sizeof out->ifname)
        return net_error_set(why, EINVAL, "port '%s': an interface name has 1 to 15 characters", name);
    snprintf(out->ifname, sizeof out->ifname, "%.*s", (int)len, rest);
    if (mode && !parse_mode(mode + 1, &out->mode))
        return net_error_set(why, EINVAL, "port '%s': the XDP mode is native or generic, not '%s'", name,
                             mode + 1);
    return 0;
}

int host_port_parse(const char *name, struct host_port_name *out, struct nornic_error *why)
{
    char plain[NAME_BYTES];
    unsigned bytes = host_port_name_bytes(name);
    if (bytes >= sizeof plain)
        return net_error_set(why, EINVAL, "no port '%.40s...': its name is too long", name);
    snprintf(plain, sizeof plain, "%.*s", (int)bytes, name);
    return parse_plain(plain, out, why);
}

static int open_udp(const struct host_port_name *name, const struct net_interface *interface,
                    bool has_entropy, uint32_t first_qpn, struct net_port **out, struct nornic_error *why)
{
    struct net_udp_config config = {.interface = interface,
                                    .addr = name->addr,
                                    .is_shared = true,
                                    .first_qpn = first_qpn,
                                    .has_entropy = has_entropy};
    return net_udp_open(&config, out, why);
}

static int open_kind(const struct host_port_name *name, const struct net_interface *interface, bool roce_v1,
                     bool has_entropy, uint32_t first_qpn, struct net_port **out, struct nornic_error *why)
{
    switch (name->kind) {
    case HOST_PORT_XDP:
        return xdp_port_open(
            &(struct xdp_config){.ifname = name->ifname, .mode = name->mode, .roce_v1 = roce_v1}, out, why);
    case HOST_PORT_PACKET:
        return net_packet_open(&(struct net_packet_config){.ifname = name->ifname,
                                                           .roce_v1 = roce_v1,
                                                           .is_leased = first_qpn == 0},
                               out, why);
    case HOST_PORT_UDP:
        return open_udp(name, interface, has_entropy, first_qpn, out, why);
    case HOST_PORT_IWARP:
    case HOST_PORT_KINDS:
        break;
    }
    return -EINVAL;
}

int host_port_interface(const struct host_port_name *name, struct net_interface *out,
                        struct nornic_error *why)
{
    int err = name->ifname[0] ? net_interface_get(name->ifname, out, why)
                              : net_interface_of_addr(&name->addr, out, why);
    if (err)
        return err;
    if (!out->is_up)
        return net_error_set(why, ENETDOWN, "interface %s is down: bring it up with `ip link set %s up`",
                             out->name, out->name);
    return 0;
}

int host_port_open(const char *name, bool roce_v1, uint32_t first_qpn, struct host_port *out,
                   struct nornic_error *why)
{
    struct host_port_name parsed;
    struct host_port_options options;
    int err = host_port_parse(name, &parsed, why);
    if (!err)
        err = host_port_options(name, &options, why);
    if (!err && parsed.kind == HOST_PORT_UDP && roce_v1)
        err = net_error_set(why, EINVAL,
                            "port %s is a UDP socket, and RoCEv1 is not over UDP: use xdp:INTERFACE", name);
    if (!err)
        err = host_port_interface(&parsed, &out->interface, why);
    if (err)
        return err;
    out->addr = parsed.addr;
    return open_kind(&parsed, &out->interface, roce_v1, options.entropy, first_qpn, &out->port, why);
}
