/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/port_open.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net/packet.h"
#include "xdp/xdp.h"

struct port_name {
    bool xdp;
    enum xdp_mode mode;
    char ifname[16]; /* IFNAMSIZ */
};

static bool parse_mode(const char *text, enum xdp_mode *mode)
{
    *mode = strcmp(text, "generic") == 0 ? XDP_MODE_GENERIC : XDP_MODE_NATIVE;
    return *mode == XDP_MODE_GENERIC || strcmp(text, "native") == 0;
}

static int parse_name(const char *name, struct port_name *out, struct nornic_error *why)
{
    const char *rest = strchr(name, ':');
    size_t kind_len = rest ? (size_t)(rest - name) : 0;
    out->xdp = kind_len == 3 && strncmp(name, "xdp", 3) == 0;
    bool packet = kind_len == 6 && strncmp(name, "packet", 6) == 0;
    if (!out->xdp && !packet)
        return net_error_set(why, EINVAL, "no port '%s': give xdp:INTERFACE or packet:INTERFACE", name);
    rest++;
    /* A kernel interface name holds no colon but in legacy aliases, which are no interfaces of their own. */
    const char *mode = out->xdp ? strchr(rest, ':') : NULL;
    size_t len = mode ? (size_t)(mode - rest) : strlen(rest);
    if (len == 0 || len >= sizeof out->ifname)
        return net_error_set(why, EINVAL, "port '%s': an interface name has 1 to 15 characters", name);
    snprintf(out->ifname, sizeof out->ifname, "%.*s", (int)len, rest);
    out->mode = XDP_MODE_AUTO;
    if (mode && !parse_mode(mode + 1, &out->mode))
        return net_error_set(why, EINVAL, "port '%s': the XDP mode is native or generic, not '%s'", name,
                             mode + 1);
    return 0;
}

int host_port_open(const char *name, bool roce_v1, struct net_port **out, struct net_interface *interface,
                   struct nornic_error *why)
{
    struct port_name parsed;
    int err = parse_name(name, &parsed, why);
    if (!err)
        err = net_interface_get(parsed.ifname, interface, why);
    if (err)
        return err;
    if (!interface->is_up)
        return net_error_set(why, ENETDOWN, "interface %s is down: bring it up with `ip link set %s up`",
                             parsed.ifname, parsed.ifname);
    if (parsed.xdp)
        return xdp_port_open(
            &(struct xdp_config){.ifname = parsed.ifname, .mode = parsed.mode, .roce_v1 = roce_v1}, out, why);
    return net_packet_open(&(struct net_packet_config){.ifname = parsed.ifname, .roce_v1 = roce_v1}, out,
                           why);
}
