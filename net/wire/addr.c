/* SPDX-License-Identifier: BSD-2-Clause */
#include "nornic/addr.h"

#include <arpa/inet.h>
#include <errno.h>

#include "base/digits.h"

static void v4_str(const uint8_t b[4], char *buf)
{
    for (unsigned i = 0; i < 4; i++) {
        buf = digits_put(buf, b[i]);
        *buf++ = i < 3 ? '.' : '\0';
    }
}

const char *nornic_addr_str(const struct nornic_addr *a, char *buf)
{
    if (nornic_addr_is_v4(a))
        v4_str(a->b + 12, buf);
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
    char *to = buf;
    for (unsigned i = 0; i < sizeof m->b; i++) {
        to = digits_put_hex(to, m->b[i], 2);
        *to++ = i < sizeof m->b - 1 ? ':' : '\0';
    }
    return buf;
}
