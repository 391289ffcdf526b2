/* SPDX-License-Identifier: BSD-2-Clause */
/* Link Layer Control messages, version 1: one RC SEND of 44 bytes each. RFC 7609 A.3, SMCR section 10. Each
 * list is the whole message. */
#ifndef NORNIC_SMCR_LLC_WIRE_H
#define NORNIC_SMCR_LLC_WIRE_H

#include <stdbool.h>

#include "net/field.h"
#include "smcr/clc_wire.h"

#define SMCR_MSG_BYTES 44 /* of every LLC and CDC message: SMCR-LLC-01 */

enum smcr_llc_type {
    SMCR_LLC_CONFIRM_LINK = 0x01,
    SMCR_LLC_ADD_LINK = 0x02,
    SMCR_LLC_ADD_LINK_CONT = 0x03,
    SMCR_LLC_DELETE_LINK = 0x04,
    SMCR_LLC_REQUEST_ADD_LINK = 0x05, /* only of version 2: smcr/wire/llc2.h */
    SMCR_LLC_CONFIRM_RKEY = 0x06,
    SMCR_LLC_TEST_LINK = 0x07,
    SMCR_LLC_CONFIRM_RKEY_CONT = 0x08,
    SMCR_LLC_DELETE_RKEY = 0x09,
    SMCR_CDC = 0xfe, /* smcr/wire/cdc.h */
};

net_value_name smcr_llc_type_name;           /* "CONFIRM LINK"; NULL for another */
net_value_name smcr_delete_link_reason_name; /* "lost path"; NULL for another */

/* What all have: `response` is the R flag. */
#define SMCR_LLC_FIELDS(F, B)                  \
    F(type, 0, 8, uint8_t, smcr_llc_type_name) \
    F(length, 8, 8, uint8_t, NULL)
#define SMCR_LLC_RESPONSE_BIT 24
/* How each of them begins: enough to tell which it is. */
#define SMCR_LLC_HEAD_FIELDS(F, B)    \
    SMCR_LLC_FIELDS(F, B)             \
    F(resv8, 16, 8, uint8_t, NULL)    \
    F(response, 24, 1, uint8_t, NULL) \
    F(resv7, 25, 7, uint8_t, NULL)
#define SMCR_LLC_HEAD_BYTES 4
NET_HEADER(smcr_llc_head, SMCR_LLC_HEAD_BYTES, SMCR_LLC_HEAD_FIELDS);
/* Types that a later version may define; who does not know them passes over them: SMCR-LLC-02. */
#define SMCR_LLC_FIRST_IGNORABLE 0x80
#define SMCR_LLC_LAST_IGNORABLE  0xbf

/* SMCR section 10.1. */
#define SMCR_CONFIRM_LINK_FIELDS(F, B)       \
    SMCR_LLC_FIELDS(F, B)                    \
    F(resv8, 16, 8, uint8_t, NULL)           \
    F(response, 24, 1, uint8_t, NULL)        \
    F(resv7, 25, 7, uint8_t, NULL)           \
    B(mac, 32, 48)                           \
    B(gid, 80, 128)                          \
    F(qpn, 208, 24, uint32_t, NULL)          \
    F(link, 232, 8, uint8_t, NULL)           \
    F(link_user_id, 240, 32, uint32_t, NULL) \
    F(max_links, 272, 8, uint8_t, NULL)      \
    B(resv72, 280, 72)
NET_HEADER(smcr_confirm_link, SMCR_MSG_BYTES, SMCR_CONFIRM_LINK_FIELDS);

/* SMCR section 10.2. `reason` only with `rejected` (Z). */
enum smcr_add_link_reason { SMCR_ADD_LINK_NO_PATH = 1, SMCR_ADD_LINK_BAD_MTU = 2 };
#define SMCR_ADD_LINK_FIELDS(F, B)         \
    SMCR_LLC_FIELDS(F, B)                  \
    F(resv4, 16, 4, uint8_t, NULL)         \
    F(reason, 20, 4, uint8_t, NULL)        \
    F(response, 24, 1, uint8_t, NULL)      \
    F(rejected, 25, 1, uint8_t, NULL)      \
    F(resv6, 26, 6, uint8_t, NULL)         \
    B(mac, 32, 48)                         \
    B(gid, 80, 128)                        \
    F(qpn, 208, 24, uint32_t, NULL)        \
    F(link, 232, 8, uint8_t, NULL)         \
    F(resv4b, 240, 4, uint8_t, NULL)       \
    F(mtu, 244, 4, uint8_t, smcr_mtu_name) \
    F(psn, 248, 24, uint32_t, NULL)        \
    B(resv80, 272, 80)
NET_HEADER(smcr_add_link, SMCR_MSG_BYTES, SMCR_ADD_LINK_FIELDS);

/* ADD LINK as Linux and Wireshark lay it out: two bytes more behind the MAC (SMCR section 23 b, A5). */
#define SMCR_ADD_LINK_SHIFTED_FIELDS(F, B) \
    SMCR_LLC_FIELDS(F, B)                  \
    F(resv4, 16, 4, uint8_t, NULL)         \
    F(reason, 20, 4, uint8_t, NULL)        \
    F(response, 24, 1, uint8_t, NULL)      \
    F(rejected, 25, 1, uint8_t, NULL)      \
    F(resv6, 26, 6, uint8_t, NULL)         \
    B(mac, 32, 48)                         \
    F(resv16, 80, 16, uint16_t, NULL)      \
    B(gid, 96, 128)                        \
    F(qpn, 224, 24, uint32_t, NULL)        \
    F(link, 248, 8, uint8_t, NULL)         \
    F(resv4b, 256, 4, uint8_t, NULL)       \
    F(mtu, 260, 4, uint8_t, smcr_mtu_name) \
    F(psn, 264, 24, uint32_t, NULL)        \
    B(resv64, 288, 64)
NET_HEADER(smcr_add_link_shifted, SMCR_MSG_BYTES, SMCR_ADD_LINK_SHIFTED_FIELDS);

/* Which of the two a message is, read by the first: what is reserved and zero there is in the shifted layout
 * the low half of the PSN, which its senders keep from being zero (A5). */
static inline bool smcr_add_link_is_shifted(const struct smcr_add_link *message)
{
    return message->resv80[0] || message->resv80[1];
}

/* An RMB as the link that carries the message knows it (reference_rkey), and as the new link does. */
#define SMCR_ADD_LINK_CONT_FIELDS(F, B)          \
    SMCR_LLC_FIELDS(F, B)                        \
    F(resv8, 16, 8, uint8_t, NULL)               \
    F(response, 24, 1, uint8_t, NULL)            \
    F(resv7, 25, 7, uint8_t, NULL)               \
    F(link, 32, 8, uint8_t, NULL)                \
    F(rtokens_left, 40, 8, uint8_t, NULL)        \
    F(resv16, 48, 16, uint16_t, NULL)            \
    F(reference_rkey_1, 64, 32, uint32_t, NULL)  \
    F(rkey_1, 96, 32, uint32_t, NULL)            \
    F(va_1, 128, 64, uint64_t, NULL)             \
    F(reference_rkey_2, 192, 32, uint32_t, NULL) \
    F(rkey_2, 224, 32, uint32_t, NULL)           \
    F(va_2, 256, 64, uint64_t, NULL)             \
    F(resv32, 320, 32, uint32_t, NULL)
NET_HEADER(smcr_add_link_cont, SMCR_MSG_BYTES, SMCR_ADD_LINK_CONT_FIELDS);
#define SMCR_RTOKENS_PER_CONT 2

/* SMCR section 10.3. */
enum smcr_delete_link_reason {
    SMCR_DELETE_LOST_PATH = 0x00010000,
    SMCR_DELETE_OPERATOR = 0x00020000,
    SMCR_DELETE_INACTIVE = 0x00030000,
    SMCR_DELETE_PROTOCOL = 0x00040000,
    SMCR_DELETE_ASYMMETRIC = 0x00050000,
    SMCR_DELETE_UNKNOWN_LINK = 0x00100000, /* in a response */
};
#define SMCR_DELETE_LINK_FIELDS(F, B)                         \
    SMCR_LLC_FIELDS(F, B)                                     \
    F(resv8, 16, 8, uint8_t, NULL)                            \
    F(response, 24, 1, uint8_t, NULL)                         \
    F(all, 25, 1, uint8_t, NULL)                              \
    F(orderly, 26, 1, uint8_t, NULL)                          \
    F(resv5, 27, 5, uint8_t, NULL)                            \
    F(link, 32, 8, uint8_t, NULL)                             \
    F(reason, 40, 32, uint32_t, smcr_delete_link_reason_name) \
    B(resv280, 72, 280)
NET_HEADER(smcr_delete_link, SMCR_MSG_BYTES, SMCR_DELETE_LINK_FIELDS);

/* SMCR section 10.4. `negative` is Z, `retry` is C. */
#define SMCR_CONFIRM_RKEY_FIELDS(F, B)   \
    SMCR_LLC_FIELDS(F, B)                \
    F(resv8, 16, 8, uint8_t, NULL)       \
    F(response, 24, 1, uint8_t, NULL)    \
    F(resv1, 25, 1, uint8_t, NULL)       \
    F(negative, 26, 1, uint8_t, NULL)    \
    F(retry, 27, 1, uint8_t, NULL)       \
    F(resv4, 28, 4, uint8_t, NULL)       \
    F(other_links, 32, 8, uint8_t, NULL) \
    F(rkey, 40, 32, uint32_t, NULL)      \
    F(va, 72, 64, uint64_t, NULL)        \
    F(link_1, 136, 8, uint8_t, NULL)     \
    F(rkey_1, 144, 32, uint32_t, NULL)   \
    F(va_1, 176, 64, uint64_t, NULL)     \
    F(link_2, 240, 8, uint8_t, NULL)     \
    F(rkey_2, 248, 32, uint32_t, NULL)   \
    F(va_2, 280, 64, uint64_t, NULL)     \
    F(resv8b, 344, 8, uint8_t, NULL)
NET_HEADER(smcr_confirm_rkey, SMCR_MSG_BYTES, SMCR_CONFIRM_RKEY_FIELDS);
#define SMCR_LINKS_PER_CONFIRM_RKEY 2

/* Packed without a reserved byte at its end (SMCR section 23 b, A6). */
#define SMCR_CONFIRM_RKEY_CONT_FIELDS(F, B) \
    SMCR_LLC_FIELDS(F, B)                   \
    F(resv8, 16, 8, uint8_t, NULL)          \
    F(response, 24, 1, uint8_t, NULL)       \
    F(resv1, 25, 1, uint8_t, NULL)          \
    F(negative, 26, 1, uint8_t, NULL)       \
    F(retry, 27, 1, uint8_t, NULL)          \
    F(resv4, 28, 4, uint8_t, NULL)          \
    F(links_left, 32, 8, uint8_t, NULL)     \
    F(link_1, 40, 8, uint8_t, NULL)         \
    F(rkey_1, 48, 32, uint32_t, NULL)       \
    F(va_1, 80, 64, uint64_t, NULL)         \
    F(link_2, 144, 8, uint8_t, NULL)        \
    F(rkey_2, 152, 32, uint32_t, NULL)      \
    F(va_2, 184, 64, uint64_t, NULL)        \
    F(link_3, 248, 8, uint8_t, NULL)        \
    F(rkey_3, 256, 32, uint32_t, NULL)      \
    F(va_3, 288, 64, uint64_t, NULL)
NET_HEADER(smcr_confirm_rkey_cont, SMCR_MSG_BYTES, SMCR_CONFIRM_RKEY_CONT_FIELDS);
#define SMCR_LINKS_PER_CONFIRM_RKEY_CONT 3

/* SMCR section 10.5. */
#define SMCR_TEST_LINK_FIELDS(F, B)   \
    SMCR_LLC_FIELDS(F, B)             \
    F(resv8, 16, 8, uint8_t, NULL)    \
    F(response, 24, 1, uint8_t, NULL) \
    F(resv7, 25, 7, uint8_t, NULL)    \
    B(user_data, 32, 128)             \
    B(resv192, 160, 192)
NET_HEADER(smcr_test_link, SMCR_MSG_BYTES, SMCR_TEST_LINK_FIELDS);

/* `error_mask`: the first key is its highest bit. `rkeys` are `count` keys of 4 bytes. */
#define SMCR_DELETE_RKEY_FIELDS(F, B)   \
    SMCR_LLC_FIELDS(F, B)               \
    F(resv8, 16, 8, uint8_t, NULL)      \
    F(response, 24, 1, uint8_t, NULL)   \
    F(resv1, 25, 1, uint8_t, NULL)      \
    F(negative, 26, 1, uint8_t, NULL)   \
    F(resv5, 27, 5, uint8_t, NULL)      \
    F(count, 32, 8, uint8_t, NULL)      \
    F(error_mask, 40, 8, uint8_t, NULL) \
    F(resv16, 48, 16, uint16_t, NULL)   \
    B(rkeys, 64, 256)                   \
    F(resv32, 320, 32, uint32_t, NULL)
NET_HEADER(smcr_delete_rkey, SMCR_MSG_BYTES, SMCR_DELETE_RKEY_FIELDS);
#define SMCR_RKEYS_PER_DELETE 8

#endif
