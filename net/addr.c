/* SPDX-License-Identifier: BSD-2-Clause */
#include "nornic/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

const char *nornic_addr_str(const struct nornic_addr *a, char *buf)
{
    if (nornic_addr_is_v4(a))
        inet_ntop(AF_INET, a->b + 12, buf, NORNIC_ADDR_STR_SIZE);
    else
        inet_ntop(AF_INET6, a->b, buf, NORNIC_ADDR_STR_SIZE);
    return buf;
}

int nornic_addr_parse(const char *text, struct nornic_addr *out)
{
    uint8_t v4[4];
    if (inet_pton(AF_INET, text, v4) == 1) {
        *out = nornic_addr_from_v4(v4);
        return 0;
    }
    struct nornic_addr v6;
    if (inet_pton(AF_INET6, text, v6.b) == 1) {
        *out = v6;
        return 0;
    }
    return -EINVAL;
}

const char *nornic_mac_str(const struct nornic_mac *m, char *buf)
{
    const uint8_t *b = m->b;
    snprintf(buf, NORNIC_MAC_STR_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    return buf;
}
