/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses. An IP address is always kept as 16 bytes: IPv6 as it is, IPv4 a.b.c.d as ::ffff:a.b.c.d, which
 * is also how a GID names it (ROCE-FRM-39). */
#ifndef NORNIC_ADDR_H
#define NORNIC_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

#define NORNIC_MAC_BYTES     6
#define NORNIC_ADDR_STR_SIZE 46 /* longest text of an address with its NUL */
#define NORNIC_MAC_STR_SIZE  18

/* A MAC address, as it stands in a frame. */
struct nornic_mac {
    uint8_t b[NORNIC_MAC_BYTES];
};

/* An IP address, or a GID, in network order. */
struct nornic_addr {
    uint8_t b[16];
};

/* The address of four IPv4 bytes in network order. */
static inline struct nornic_addr nornic_addr_from_v4(const uint8_t v4[4])
{
    struct nornic_addr a = {{0}};
    a.b[10] = a.b[11] = 0xff;
    memcpy(a.b + 12, v4, 4);
    return a;
}

/* ::ffff:0:0/96. */
static inline bool nornic_addr_is_v4(const struct nornic_addr *a)
{
    static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(a->b, prefix, sizeof prefix) == 0;
}

/* The same address. */
static inline bool nornic_addr_equal(const struct nornic_addr *a, const struct nornic_addr *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* The address that is none. */
static inline bool nornic_addr_is_zero(const struct nornic_addr *a)
{
    static const struct nornic_addr zero = {{0}};
    return nornic_addr_equal(a, &zero);
}

/* 0.0.0.0: to listeners, each IPv4 address. */
static inline bool nornic_addr_is_v4_any(const struct nornic_addr *a)
{
    static const uint8_t none[4] = {0};
    return nornic_addr_is_v4(a) && memcmp(a->b + 12, none, sizeof none) == 0;
}

/* The same MAC address. */
static inline bool nornic_mac_equal(const struct nornic_mac *a, const struct nornic_mac *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* fe80::/10. */
static inline bool nornic_addr_is_link_local(const struct nornic_addr *a)
{
    return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

/* 224.0.0.0/4 or ff00::/8. */
static inline bool nornic_addr_is_multicast(const struct nornic_addr *a)
{
    return nornic_addr_is_v4(a) ? (a->b[12] & 0xf0) == 0xe0 : a->b[0] == 0xff;
}

/* The MAC that a multicast group's frames go to: 01:00:5e and the low 23 bits of an IPv4 group, 33:33 and
 * the low 32 bits of an IPv6 group (ROCE-UD-20; RFC 1112 6.4, RFC 2464 7). */
static inline struct nornic_mac nornic_addr_mcast_mac(const struct nornic_addr *group)
{
    const uint8_t *b = group->b + 12;
    const struct nornic_mac v4 = {{0x01, 0x00, 0x5e, (uint8_t)(b[1] & 0x7f), b[2], b[3]}};
    const struct nornic_mac v6 = {{0x33, 0x33, b[0], b[1], b[2], b[3]}};
    return nornic_addr_is_v4(group) ? v4 : v6;
}

/* Text of an address: dotted quad for IPv4, RFC 5952 for IPv6. `buf` has NORNIC_ADDR_STR_SIZE bytes. Returns
 * buf. */
const char *nornic_addr_str(const struct nornic_addr *a, char *buf);

/* Parses an IPv4 or IPv6 address. 0, or -EINVAL if `text` is neither. */
int nornic_addr_parse(const char *text, struct nornic_addr *out);

/* Text of a MAC address, aa:bb:cc:dd:ee:ff. `buf` has NORNIC_MAC_STR_SIZE bytes. Returns buf. */
const char *nornic_mac_str(const struct nornic_mac *m, char *buf);

NORNIC_END_DECLS

#endif
