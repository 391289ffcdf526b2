/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses. An IP address is always kept as 16 bytes: IPv6 as it is, IPv4 a.b.c.d as ::ffff:a.b.c.d, which
 * is also how a GID names it (ROCE-FRM-39). */
#ifndef NORNIC_NET_ADDR_H
#define NORNIC_NET_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NET_MAC_BYTES     6
#define NET_ADDR_STR_SIZE 46 /* longest text of an address with its NUL */
#define NET_MAC_STR_SIZE  18

struct net_mac {
    uint8_t b[NET_MAC_BYTES];
};

struct net_addr {
    uint8_t b[16];
};

/* The address of four IPv4 bytes in network order. */
static inline struct net_addr net_addr_from_v4(const uint8_t v4[4])
{
    struct net_addr a = {{0}};
    a.b[10] = a.b[11] = 0xff;
    memcpy(a.b + 12, v4, 4);
    return a;
}

static inline bool net_addr_is_v4(const struct net_addr *a)
{
    static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(a->b, prefix, sizeof prefix) == 0;
}

static inline bool net_addr_equal(const struct net_addr *a, const struct net_addr *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

static inline bool net_addr_is_zero(const struct net_addr *a)
{
    static const struct net_addr zero;
    return net_addr_equal(a, &zero);
}

static inline bool net_mac_equal(const struct net_mac *a, const struct net_mac *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* fe80::/10. */
static inline bool net_addr_is_link_local(const struct net_addr *a)
{
    return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

/* 224.0.0.0/4 or ff00::/8. */
static inline bool net_addr_is_multicast(const struct net_addr *a)
{
    return net_addr_is_v4(a) ? (a->b[12] & 0xf0) == 0xe0 : a->b[0] == 0xff;
}

/* The MAC that a multicast group's frames go to: 01:00:5e and the low 23 bits of an IPv4 group, 33:33 and the
 * low 32 bits of an IPv6 group (ROCE-UD-20; RFC 1112 6.4, RFC 2464 7). */
static inline struct net_mac net_addr_mcast_mac(const struct net_addr *group)
{
    const uint8_t *b = group->b + 12;
    if (net_addr_is_v4(group))
        return (struct net_mac){{0x01, 0x00, 0x5e, b[1] & 0x7f, b[2], b[3]}};
    return (struct net_mac){{0x33, 0x33, b[0], b[1], b[2], b[3]}};
}

/* Text of an address: dotted quad for IPv4, RFC 5952 for IPv6. `buf` has NET_ADDR_STR_SIZE bytes. Returns
 * buf. */
const char *net_addr_str(const struct net_addr *a, char *buf);

/* Parses an IPv4 or IPv6 address. 0, or -EINVAL if `text` is neither. */
int net_addr_parse(const char *text, struct net_addr *out);

/* Text of a MAC address, aa:bb:cc:dd:ee:ff. `buf` has NET_MAC_STR_SIZE bytes. Returns buf. */
const char *net_mac_str(const struct net_mac *m, char *buf);

#endif
