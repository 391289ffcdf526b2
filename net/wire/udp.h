/* SPDX-License-Identifier: BSD-2-Clause */
/* The UDP header (RFC 768). */
#ifndef NORNIC_NET_UDP_H
#define NORNIC_NET_UDP_H

#include "net/field.h"

#define NET_ROCE_UDP_PORT 4791u /* CA17-20 */
/* Source ports of a UDP socket port with entropy: in the range of ROCE-FRM-45, above the ports that Linux
 * draws for sockets. */
#define NET_UDP_SRC_PORT_FIRST 0xfff0
#define NET_UDP_SRC_PORT_COUNT 16

/* `len` counts this header and the payload; `checksum` 0 means that none was computed. */
#define NET_UDP_FIELDS(F, B)            \
    F(src_port, 0, 16, uint16_t, NULL)  \
    F(dst_port, 16, 16, uint16_t, NULL) \
    F(len, 32, 16, uint16_t, NULL)      \
    F(checksum, 48, 16, uint16_t, NULL)
#define NET_UDP_BYTES 8
NET_HEADER(net_udp, NET_UDP_BYTES, NET_UDP_FIELDS);

#endif
