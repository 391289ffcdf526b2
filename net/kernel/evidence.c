/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/evidence.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "net/kernel/diag.h"
#include "net/kernel/kernel.h"
#include "net/kernel/netlink.h"
#include "net/wire/udp.h"

/* --- the XDP program --- */

static void on_link(const struct nlmsghdr *message, void *ctx)
{
    bool *is_attached = ctx;
    const struct nlattr *attribute, *inner;
    if (!net_netlink_head(message, RTM_NEWLINK, sizeof(struct ifinfomsg)))
        return;
    mnl_attr_for_each(attribute, message, sizeof(struct ifinfomsg))
    {
        if (mnl_attr_get_type(attribute) != IFLA_XDP)
            continue;
        mnl_attr_for_each_nested(inner, attribute)
        {
            if (mnl_attr_get_type(inner) == IFLA_XDP_ATTACHED && mnl_attr_get_payload_len(inner) >= 1)
                *is_attached |= mnl_attr_get_u8(inner) != XDP_ATTACHED_NONE;
        }
    }
}

bool net_evidence_of_xdp(unsigned ifindex)
{
    struct net_netlink_request request;
    bool is_attached = false;
    struct ifinfomsg *link = net_netlink_begin(&request, RTM_GETLINK, 0, sizeof *link);
    link->ifi_index = (int)ifindex;
    (void)net_netlink_ask(&request, on_link, &is_attached, NULL);
    return is_attached;
}

/* --- packet sockets --- */

/* "sk RefCnt Type Proto Iface R Rmem User Inode" */
bool net_evidence_of_packet(unsigned ifindex, uint32_t uid)
{
    char line[256];
    bool is_found = false;
    FILE *from = fopen("/proc/thread-self/net/packet", "re");
    while (from && !is_found && fgets(line, sizeof line, from)) {
        unsigned at, of;
        if (sscanf(line, "%*s %*s %*s %*s %u %*s %*s %u", &at, &of) == 2)
            is_found = (at == ifindex || at == 0) && (uid == NET_DIAG_NO_UID || of == uid);
    }
    if (from)
        fclose(from);
    return is_found;
}

/* --- UDP sockets --- */

/* Reads an address as /proc prints it: words of 32 bits, each in the byte order of the machine. */
static bool read_addr(const char *text, struct nornic_addr *out)
{
    const size_t words = strlen(text) / 8;
    uint32_t word[4] = {0};
    if (strlen(text) != 8 && strlen(text) != 32)
        return false;
    for (size_t i = 0; i < words; i++)
        if (sscanf(text + 8 * i, "%8x", &word[i]) != 1)
            return false;
    if (words == 1)
        *out = nornic_addr_from_v4((const uint8_t *)word);
    else
        memcpy(out->b, word, sizeof out->b);
    return true;
}

static bool is_any(const struct nornic_addr *addr)
{
    static const uint8_t v4[4], v6[16];
    return memcmp(addr->b + 12, v4, 4) == 0 && (nornic_addr_is_v4(addr) || memcmp(addr->b, v6, 16) == 0);
}

static bool is_of_interface(const struct nornic_addr *addr, unsigned ifindex)
{
    struct net_interface interface;
    return is_any(addr) || nornic_addr_is_link_local(addr) ||
           (net_interface_of_addr(addr, &interface, NULL) == 0 && interface.index == ifindex);
}

/* "sl: ADDRESS:PORT PEER st tx:rx tr:when retrnsmt uid ..." */
static bool has_udp(const char *path, unsigned ifindex, uint32_t uid)
{
    char line[512], text[33];
    bool is_found = false;
    unsigned port, of;
    struct nornic_addr addr;
    FILE *from = fopen(path, "re");
    while (from && !is_found && fgets(line, sizeof line, from))
        is_found = sscanf(line, "%*s %32[0-9A-F]:%x %*s %*s %*s %*s %*s %u", text, &port, &of) == 3 &&
                   port == NET_ROCE_UDP_PORT && (uid == NET_DIAG_NO_UID || of == uid) &&
                   read_addr(text, &addr) && is_of_interface(&addr, ifindex);
    if (from)
        fclose(from);
    return is_found;
}

bool net_evidence_of_udp(unsigned ifindex, uint32_t uid)
{
    return has_udp("/proc/thread-self/net/udp", ifindex, uid) ||
           has_udp("/proc/thread-self/net/udp6", ifindex, uid);
}
