/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of datagrams, and the headers ahead of them. */
#include "net/bytes.h"
#include "verbs/rsocket/datagram_own.h"

/* --- addresses --- */

const void *ds_addr_of(const struct sockaddr_storage *from, size_t *bytes)
{
    bool is_v6 = from->ss_family == AF_INET6;
    *bytes = is_v6 ? 16 : 4;
    return is_v6 ? (const void *)&((const struct sockaddr_in6 *)from)->sin6_addr
                 : (const void *)&((const struct sockaddr_in *)from)->sin_addr;
}

uint16_t ds_port_of(const struct sockaddr_storage *from)
{
    return from->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)from)->sin6_port
                                       : ((const struct sockaddr_in *)from)->sin_port;
}

bool ds_is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    size_t bytes, other;
    const void *left = ds_addr_of(a, &bytes), *right = ds_addr_of(b, &other);
    return a->ss_family == b->ss_family && memcmp(left, right, bytes) == 0 && ds_port_of(a) == ds_port_of(b);
}

/* --- headers --- */

size_t ds_put_header(const struct sockaddr_storage *own, uint8_t *out)
{
    size_t bytes, header = own->ss_family == AF_INET6 ? DS_HEADER_V6 : DS_HEADER_V4;
    const void *addr = ds_addr_of(own, &bytes);
    uint16_t port = ds_port_of(own);
    memset(out, 0, header); /* the flow information of IPv6 with it */
    out[0] = own->ss_family == AF_INET6 ? 6 : 4;
    out[1] = (uint8_t)header;
    memcpy(out + 2, &port, sizeof port);
    memcpy(out + header - bytes, addr, bytes);
    return header;
}

size_t ds_get_header(const uint8_t *bytes, size_t len, struct sockaddr_storage *from)
{
    bool is_v6 = len && bytes[0] == 6;
    size_t header = is_v6 ? DS_HEADER_V6 : DS_HEADER_V4;
    if (len < header || bytes[1] != header || (!is_v6 && bytes[0] != 4))
        return 0;
    *from = (struct sockaddr_storage){.ss_family = is_v6 ? AF_INET6 : AF_INET};
    if (is_v6) {
        memcpy(&((struct sockaddr_in6 *)from)->sin6_port, bytes + 2, 2);
        memcpy(&((struct sockaddr_in6 *)from)->sin6_addr, bytes + header - 16, 16);
    } else {
        memcpy(&((struct sockaddr_in *)from)->sin_port, bytes + 2, 2);
        memcpy(&((struct sockaddr_in *)from)->sin_addr, bytes + header - 4, 4);
    }
    return header;
}

size_t ds_put_udp_header(const struct ds_qp *qp, enum rs_op op, uint8_t *out)
{
    size_t bytes, header = qp->own.ss_family == AF_INET6 ? DS_UDP_HEADER_V6 : DS_UDP_HEADER_V4;
    const void *addr = ds_addr_of(&qp->own, &bytes);
    uint8_t *p = put_be32(out, DS_UDP_TAG);
    p = put_u8(p, qp->own.ss_family == AF_INET6 ? 6 : 4);
    p = put_u8(p, (uint8_t)op);
    p = put_u8(p, (uint8_t)header);
    p = put_u8(p, 0);
    p = put_be32(p, qp->id->qp->qp_num);
    memcpy(p, addr, bytes);
    return header;
}
