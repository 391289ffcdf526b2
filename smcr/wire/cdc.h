/* SPDX-License-Identifier: BSD-2-Clause */
/* The Connection Data Control message: cursors and flags of one connection, one RC SEND of 44 bytes. RFC 7609
 * A.4, SMCR section 14. */
#ifndef NORNIC_SMCR_CDC_WIRE_H
#define NORNIC_SMCR_CDC_WIRE_H

#include "smcr/wire/llc.h"

/* The producer cursor lies in the receiver's RMBE, the consumer cursor in the sender's. */
#define SMCR_CDC_FIELDS(F, B)                     \
    SMCR_LLC_FIELDS(F, B)                         \
    F(seq, 16, 16, uint16_t, NULL)                \
    F(alert_token, 32, 32, uint32_t, NULL)        \
    F(resv16, 64, 16, uint16_t, NULL)             \
    F(producer_wrap, 80, 16, uint16_t, NULL)      \
    F(producer_cursor, 96, 32, uint32_t, NULL)    \
    F(resv16b, 128, 16, uint16_t, NULL)           \
    F(consumer_wrap, 144, 16, uint16_t, NULL)     \
    F(consumer_cursor, 160, 32, uint32_t, NULL)   \
    F(writer_blocked, 192, 1, uint8_t, NULL)      \
    F(urgent_pending, 193, 1, uint8_t, NULL)      \
    F(urgent_present, 194, 1, uint8_t, NULL)      \
    F(update_requested, 195, 1, uint8_t, NULL)    \
    F(failover_validation, 196, 1, uint8_t, NULL) \
    F(resv3, 197, 3, uint8_t, NULL)               \
    F(sending_done, 200, 1, uint8_t, NULL)        \
    F(connection_closed, 201, 1, uint8_t, NULL)   \
    F(abnormal_close, 202, 1, uint8_t, NULL)      \
    F(resv5, 203, 5, uint8_t, NULL)               \
    B(resv144, 208, 144)
NET_HEADER(smcr_cdc, SMCR_MSG_BYTES, SMCR_CDC_FIELDS);
/* An RDMA write of so many is, with its RETH, as long a packet as a message: smcr/group/link_states.c. */
#define SMCR_SHORT_BYTES 28u

#endif
