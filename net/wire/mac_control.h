/* SPDX-License-Identifier: BSD-2-Clause */
/* MAC control frames (IEEE 802.3, annexes 31B and 31D): PAUSE stops a link, priority-based flow control
 * (PFC, IEEE 802.1Qbb) one or some of its eight classes. A time is in quanta of 512 bits of the link's
 * speed, so 65535 are 335 us at 100 Gbit/s; 0 ends a pause. */
#ifndef NORNIC_NET_MAC_CONTROL_H
#define NORNIC_NET_MAC_CONTROL_H

#include "net/field.h"

#define NET_MAC_CONTROL_PAUSE  0x0001
#define NET_MAC_CONTROL_PFC    0x0101
#define NET_PAUSE_QUANTUM_BITS 512
#define NET_PFC_CLASSES        8

net_value_name net_mac_control_name; /* "PAUSE", "PFC" */

#define NET_MAC_CONTROL_FIELDS(F, B) F(opcode, 0, 16, uint16_t, net_mac_control_name)
#define NET_MAC_CONTROL_BYTES        2
NET_HEADER(net_mac_control, NET_MAC_CONTROL_BYTES, NET_MAC_CONTROL_FIELDS);

#define NET_PAUSE_FIELDS(F, B) F(quanta, 0, 16, uint16_t, NULL)
#define NET_PAUSE_BYTES        2
NET_HEADER(net_pause, NET_PAUSE_BYTES, NET_PAUSE_FIELDS);

/* `eN`: the time of class N counts; `tN`: for how long it stops. */
#define NET_PFC_FIELDS(F, B)       \
    F(resv, 0, 8, uint8_t, NULL)   \
    F(e7, 8, 1, uint8_t, NULL)     \
    F(e6, 9, 1, uint8_t, NULL)     \
    F(e5, 10, 1, uint8_t, NULL)    \
    F(e4, 11, 1, uint8_t, NULL)    \
    F(e3, 12, 1, uint8_t, NULL)    \
    F(e2, 13, 1, uint8_t, NULL)    \
    F(e1, 14, 1, uint8_t, NULL)    \
    F(e0, 15, 1, uint8_t, NULL)    \
    F(t0, 16, 16, uint16_t, NULL)  \
    F(t1, 32, 16, uint16_t, NULL)  \
    F(t2, 48, 16, uint16_t, NULL)  \
    F(t3, 64, 16, uint16_t, NULL)  \
    F(t4, 80, 16, uint16_t, NULL)  \
    F(t5, 96, 16, uint16_t, NULL)  \
    F(t6, 112, 16, uint16_t, NULL) \
    F(t7, 128, 16, uint16_t, NULL)
#define NET_PFC_BYTES 18
NET_HEADER(net_pfc, NET_PFC_BYTES, NET_PFC_FIELDS);

#endif
