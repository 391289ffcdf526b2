/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP header (RFC 9293), and the experimental option that offers SMC-R (RFC 7609 A.1, RFC 6994). */
#ifndef NORNIC_NET_TCP_H
#define NORNIC_NET_TCP_H

#include "net/field.h"

/* `data_offset` counts 32-bit words: what is beyond 5 are options. */
#define NET_TCP_FIELDS(F, B)             \
    F(src_port, 0, 16, uint16_t, NULL)   \
    F(dst_port, 16, 16, uint16_t, NULL)  \
    F(seq, 32, 32, uint32_t, NULL)       \
    F(ack_seq, 64, 32, uint32_t, NULL)   \
    F(data_offset, 96, 4, uint8_t, NULL) \
    F(resv4, 100, 4, uint8_t, NULL)      \
    F(cwr, 104, 1, uint8_t, NULL)        \
    F(ece, 105, 1, uint8_t, NULL)        \
    F(urg, 106, 1, uint8_t, NULL)        \
    F(ack, 107, 1, uint8_t, NULL)        \
    F(psh, 108, 1, uint8_t, NULL)        \
    F(rst, 109, 1, uint8_t, NULL)        \
    F(syn, 110, 1, uint8_t, NULL)        \
    F(fin, 111, 1, uint8_t, NULL)        \
    F(window, 112, 16, uint16_t, NULL)   \
    F(checksum, 128, 16, uint16_t, NULL) \
    F(urgent, 144, 16, uint16_t, NULL)
#define NET_TCP_BYTES 20
NET_HEADER(net_tcp, NET_TCP_BYTES, NET_TCP_FIELDS);

#define NET_TCP_OPTION_END  0
#define NET_TCP_OPTION_NOP  1
#define NET_TCP_OPTION_EXP1 253
#define NET_TCP_OPTION_EXP2 254

/* An experimental option with a 32-bit identifier (RFC 6994). */
#define NET_TCP_EXID_FIELDS(F, B) \
    F(kind, 0, 8, uint8_t, NULL) F(length, 8, 8, uint8_t, NULL) F(exid, 16, 32, uint32_t, NULL)
#define NET_TCP_EXID_BYTES 6
NET_HEADER(net_tcp_exid, NET_TCP_EXID_BYTES, NET_TCP_EXID_FIELDS);

#endif
