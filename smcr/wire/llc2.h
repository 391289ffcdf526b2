/* SPDX-License-Identifier: BSD-2-Clause */
/* Link Layer Control messages of version 2, as Linux sends them: for those who read captures. Two bytes hold
 * the length, in the order of the sender's processor: see smcr_llc2_length(). */
#ifndef NORNIC_SMCR_LLC2_WIRE_H
#define NORNIC_SMCR_LLC2_WIRE_H

#include <stdbool.h>

#include "smcr/wire/llc.h"

enum smcr_llc2_type {
    SMCR_LLC2_CONFIRM_LINK = 0x21,
    SMCR_LLC2_ADD_LINK = 0x22,
    SMCR_LLC2_DELETE_LINK = 0x24,
    SMCR_LLC2_REQUEST_ADD_LINK = 0x25,
    SMCR_LLC2_CONFIRM_RKEY = 0x26,
    SMCR_LLC2_TEST_LINK = 0x27,
    SMCR_LLC2_DELETE_RKEY = 0x29,
};
#define SMCR_LLC2_MAX_BYTES 8192

net_value_name smcr_llc2_type_name;   /* "CONFIRM LINK"; NULL for another */
net_value_name smcr_llc2_length_name; /* "44, least significant byte first"; NULL for another */
net_value_name smcr_llc2_count_name;  /* "1, least significant byte first"; NULL for another */

/* The upper half of a type is its version, the lower one what version 1 calls the same message. */
static inline bool smcr_llc_is_v2(uint8_t type)
{
    return type >> 4 == 2;
}

static inline uint8_t smcr_llc2_v1_type(uint8_t type)
{
    return type & 0xf;
}

/* The length that a field of two bytes means: exactly one order gives 28..8192. 0: neither does. */
static inline uint32_t smcr_llc2_length(uint16_t field)
{
    uint16_t swapped = (uint16_t)(field << 8 | field >> 8);
    if (field >= 28 && field <= SMCR_LLC2_MAX_BYTES)
        return field;
    return swapped >= 28 && swapped <= SMCR_LLC2_MAX_BYTES ? swapped : 0;
}

/* A count of two bytes of which the sender's order is not known: the smaller reading. */
static inline uint32_t smcr_llc2_count(uint16_t field)
{
    uint16_t swapped = (uint16_t)(field << 8 | field >> 8);
    return field < swapped ? field : swapped;
}

/* Both as Linux fills them: least significant byte first, as most of its processors have it. */
static inline uint16_t smcr_llc2_lsb_first(uint32_t value)
{
    return (uint16_t)((value & 0xff) << 8 | (value >> 8 & 0xff));
}

#define SMCR_LLC2_FIELDS(F, B)                        \
    F(type, 0, 8, uint8_t, smcr_llc2_type_name)       \
    F(length, 8, 16, uint16_t, smcr_llc2_length_name) \
    F(response, 24, 1, uint8_t, NULL)

/* How each of them begins: enough to tell which it is. */
#define SMCR_LLC2_HEAD_FIELDS(F, B) SMCR_LLC2_FIELDS(F, B) F(resv7, 25, 7, uint8_t, NULL)
#define SMCR_LLC2_HEAD_BYTES        4
NET_HEADER(smcr_llc2_head, SMCR_LLC2_HEAD_BYTES, SMCR_LLC2_HEAD_FIELDS);

#define SMCR_CONFIRM_LINK2_FIELDS(F, B)      \
    SMCR_LLC2_FIELDS(F, B)                   \
    F(resv5, 25, 5, uint8_t, NULL)           \
    F(no_eye_catcher, 30, 2, uint8_t, NULL)  \
    B(mac, 32, 48)                           \
    B(gid, 80, 128)                          \
    F(qpn, 208, 24, uint32_t, NULL)          \
    F(link, 232, 8, uint8_t, NULL)           \
    F(link_user_id, 240, 32, uint32_t, NULL) \
    F(max_links, 272, 8, uint8_t, NULL)      \
    F(max_conns, 280, 8, uint8_t, NULL)      \
    B(resv64, 288, 64)
#define SMCR_NO_EYE_CATCHER 3 /* the RMBEs have none, and cursors start at 0 */
NET_HEADER(smcr_confirm_link2, SMCR_MSG_BYTES, SMCR_CONFIRM_LINK2_FIELDS);

#define SMCR_ADD_LINK2_FIELDS(F, B)        \
    SMCR_LLC2_FIELDS(F, B)                 \
    F(rejected, 25, 1, uint8_t, NULL)      \
    F(resv6, 26, 6, uint8_t, NULL)         \
    B(mac, 32, 48)                         \
    F(resv16, 80, 16, uint16_t, NULL)      \
    B(gid, 96, 128)                        \
    F(qpn, 224, 24, uint32_t, NULL)        \
    F(link, 248, 8, uint8_t, NULL)         \
    F(resv4, 256, 4, uint8_t, NULL)        \
    F(mtu, 260, 4, uint8_t, smcr_mtu_name) \
    F(psn, 264, 24, uint32_t, NULL)        \
    B(resv64, 288, 64)
NET_HEADER(smcr_add_link2, SMCR_MSG_BYTES, SMCR_ADD_LINK2_FIELDS);

/* Behind it, unless it is rejected; `rkey_count` RTokens follow. */
#define SMCR_ADD_LINK2_EXT_FIELDS(F, B) \
    F(direct, 0, 1, uint8_t, NULL)      \
    F(resv15, 1, 15, uint16_t, NULL)    \
    B(target_gid, 16, 128)              \
    B(resv64, 144, 64)                  \
    F(rkey_count, 208, 16, uint16_t, smcr_llc2_count_name)
#define SMCR_ADD_LINK2_EXT_BYTES 28
NET_HEADER(smcr_add_link2_ext, SMCR_ADD_LINK2_EXT_BYTES, SMCR_ADD_LINK2_EXT_FIELDS);
#define SMCR_RTOKEN2_FIELDS(F, B)            \
    F(reference_rkey, 0, 32, uint32_t, NULL) \
    F(rkey, 32, 32, uint32_t, NULL)          \
    F(va, 64, 64, uint64_t, NULL)
#define SMCR_RTOKEN2_BYTES         16
#define SMCR_ADD_LINK2_MAX_RTOKENS 255 /* as many RMBs as a peer may have: SMCR-RKY-10 */
#define SMCR_ADD_LINK2_MAX_BYTES \
    (SMCR_MSG_BYTES + SMCR_ADD_LINK2_EXT_BYTES + SMCR_ADD_LINK2_MAX_RTOKENS * SMCR_RTOKEN2_BYTES)
NET_HEADER(smcr_rtoken2, SMCR_RTOKEN2_BYTES, SMCR_RTOKEN2_FIELDS);

#define SMCR_DELETE_LINK2_FIELDS(F, B)                        \
    SMCR_LLC2_FIELDS(F, B)                                    \
    F(all, 25, 1, uint8_t, NULL)                              \
    F(orderly, 26, 1, uint8_t, NULL)                          \
    F(resv5, 27, 5, uint8_t, NULL)                            \
    F(link, 32, 8, uint8_t, NULL)                             \
    F(reason, 40, 32, uint32_t, smcr_delete_link_reason_name) \
    B(resv280, 72, 280)
NET_HEADER(smcr_delete_link2, SMCR_MSG_BYTES, SMCR_DELETE_LINK2_FIELDS);

/* The client asks for a link; `gid_count` GIDs follow. */
#define SMCR_REQUEST_ADD_LINK2_FIELDS(F, B) \
    SMCR_LLC2_FIELDS(F, B)                  \
    F(resv7, 25, 7, uint8_t, NULL)          \
    B(resv160, 32, 160)                     \
    F(gid_count, 192, 8, uint8_t, NULL)     \
    B(resv24, 200, 24)
#define SMCR_REQUEST_ADD_LINK2_BYTES 28
NET_HEADER(smcr_request_add_link2, SMCR_REQUEST_ADD_LINK2_BYTES, SMCR_REQUEST_ADD_LINK2_FIELDS);

#define SMCR_CONFIRM_RKEY2_FIELDS(F, B)  \
    SMCR_LLC2_FIELDS(F, B)               \
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
    F(resv8, 344, 8, uint8_t, NULL)
NET_HEADER(smcr_confirm_rkey2, SMCR_MSG_BYTES, SMCR_CONFIRM_RKEY2_FIELDS);

#define SMCR_TEST_LINK2_FIELDS(F, B) \
    SMCR_LLC2_FIELDS(F, B)           \
    F(resv7, 25, 7, uint8_t, NULL)   \
    B(user_data, 32, 128)            \
    B(resv192, 160, 192)
NET_HEADER(smcr_test_link2, SMCR_MSG_BYTES, SMCR_TEST_LINK2_FIELDS);

/* `invalid` is a number here. */
#define SMCR_DELETE_RKEY2_FIELDS(F, B) \
    SMCR_LLC2_FIELDS(F, B)             \
    F(resv1, 25, 1, uint8_t, NULL)     \
    F(negative, 26, 1, uint8_t, NULL)  \
    F(resv5, 27, 5, uint8_t, NULL)     \
    F(count, 32, 8, uint8_t, NULL)     \
    F(invalid, 40, 8, uint8_t, NULL)   \
    F(resv16, 48, 16, uint16_t, NULL)  \
    B(rkeys, 64, 288)
NET_HEADER(smcr_delete_rkey2, SMCR_MSG_BYTES, SMCR_DELETE_RKEY2_FIELDS);

#endif
