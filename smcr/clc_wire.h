/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection Layer Control messages, version 1: what travels over the TCP connection while SMC-R is
 * negotiated. RFC 7609 A.2, SMCR section 5. Each list is the whole message, both eye catchers included, but
 * the Proposal, which has parts that move. */
#ifndef NORNIC_SMCR_CLC_WIRE_H
#define NORNIC_SMCR_CLC_WIRE_H

#include "net/field.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

#define SMCR_EYE_CATCHER     0xe2d4c3d9u /* "SMCR" in EBCDIC */
#define SMCR_PEER_ID_BYTES   8
#define SMCR_CLC_TRAIL_BYTES 4
#define SMCR_CLC_MAX_BYTES   2048 /* of a Proposal that is taken: SMCR-CLC-13 */
#define SMCR_CLC_MAX_PREFIX  8    /* SMCR-CLC-22, CLC-23 */

enum smcr_clc_type {
    SMCR_CLC_PROPOSAL = 1,
    SMCR_CLC_ACCEPT = 2,
    SMCR_CLC_CONFIRM = 3,
    SMCR_CLC_DECLINE = 4,
};

net_value_name smcr_clc_type_name;      /* "Proposal"; NULL for another */
net_value_name smcr_clc_diagnosis_name; /* "no usable RNIC"; NULL for another (SMCR-CLC-43) */
net_value_name smcr_bsize_name;         /* "64 KiB"; NULL beyond 512 KiB (SMCR-CLC-31) */
net_value_name smcr_mtu_name;           /* "1024"; NULL for a reserved one (SMCR-CLC-33) */

/* The header alone: `flag` is F (first contact) in an Accept, S (out of sync) in a Decline. */
#define SMCR_CLC_FIELDS(F, B)                   \
    F(eye_catcher, 0, 32, uint32_t, NULL)       \
    F(type, 32, 8, uint8_t, smcr_clc_type_name) \
    F(length, 40, 16, uint16_t, NULL)           \
    F(version, 56, 4, uint8_t, NULL)            \
    F(flag, 60, 1, uint8_t, NULL)               \
    F(resv3, 61, 3, uint8_t, NULL)
#define SMCR_CLC_BYTES 8
NET_HEADER(smcr_clc, SMCR_CLC_BYTES, SMCR_CLC_FIELDS);

/* SMCR section 5.1: up to the growth area, which is `offset` bytes long. */
#define SMCR_PROPOSAL_FIELDS(F, B) \
    SMCR_CLC_FIELDS(F, B)          \
    B(peer_id, 64, 64)             \
    B(gid, 128, 128)               \
    B(mac, 256, 48)                \
    F(offset, 304, 16, uint16_t, NULL)
#define SMCR_PROPOSAL_BYTES 40
NET_HEADER(smcr_proposal, SMCR_PROPOSAL_BYTES, SMCR_PROPOSAL_FIELDS);

/* Behind the growth area: the IPv4 subnet, or how many IPv6 prefixes follow. */
#define SMCR_SUBNET_FIELDS(F, B)      \
    B(subnet, 0, 32)                  \
    F(mask_len, 32, 8, uint8_t, NULL) \
    F(resv16, 40, 16, uint16_t, NULL) \
    F(prefix_count, 56, 8, uint8_t, NULL)
#define SMCR_SUBNET_BYTES 8
NET_HEADER(smcr_subnet, SMCR_SUBNET_BYTES, SMCR_SUBNET_FIELDS);

#define SMCR_PREFIX_FIELDS(F, B) B(prefix, 0, 128) F(prefix_len, 128, 8, uint8_t, NULL)
#define SMCR_PREFIX_BYTES        17
NET_HEADER(smcr_prefix, SMCR_PREFIX_BYTES, SMCR_PREFIX_FIELDS);

/* SMCR section 5.2: Accept and Confirm. `va` is the start of the RMB, `rmbe_index` counts from 1. */
#define SMCR_ACCEPT_FIELDS(F, B)               \
    SMCR_CLC_FIELDS(F, B)                      \
    B(peer_id, 64, 64)                         \
    B(gid, 128, 128)                           \
    B(mac, 256, 48)                            \
    F(qpn, 304, 24, uint32_t, NULL)            \
    F(rkey, 328, 32, uint32_t, NULL)           \
    F(rmbe_index, 360, 8, uint8_t, NULL)       \
    F(alert_token, 368, 32, uint32_t, NULL)    \
    F(bsize, 400, 4, uint8_t, smcr_bsize_name) \
    F(mtu, 404, 4, uint8_t, smcr_mtu_name)     \
    F(resv8, 408, 8, uint8_t, NULL)            \
    F(va, 416, 64, uint64_t, NULL)             \
    F(resv8b, 480, 8, uint8_t, NULL)           \
    F(psn, 488, 24, uint32_t, NULL)            \
    F(trailer, 512, 32, uint32_t, NULL)
#define SMCR_ACCEPT_BYTES 68
NET_HEADER(smcr_accept, SMCR_ACCEPT_BYTES, SMCR_ACCEPT_FIELDS);

/* SMCR section 5.3. */
#define SMCR_DECLINE_FIELDS(F, B)                            \
    SMCR_CLC_FIELDS(F, B)                                    \
    B(peer_id, 64, 64)                                       \
    F(diagnosis, 128, 32, uint32_t, smcr_clc_diagnosis_name) \
    F(resv32, 160, 32, uint32_t, NULL)                       \
    F(trailer, 192, 32, uint32_t, NULL)
#define SMCR_DECLINE_BYTES 28
NET_HEADER(smcr_decline, SMCR_DECLINE_BYTES, SMCR_DECLINE_FIELDS);

/* The codes that we send in a Decline: SMCR-CLC-43. C(name, value, words). */
#define SMCR_DIAGNOSES(C)                                                      \
    C(NO_RESOURCES, 0x01010000, "out of resources")                            \
    C(CONFIRM_LINK_TIMEOUT, 0x02010000, "no CONFIRM LINK in time")             \
    C(ADD_LINK_TIMEOUT, 0x02020000, "ADD LINK failed")                         \
    C(CONFIG, 0x03000000, "configuration or policy")                           \
    C(PEER_NO_SMC, 0x03010000, "the peer did not offer SMC")                   \
    C(IPSEC, 0x03020000, "IPsec in use")                                       \
    C(NO_RNIC, 0x03030000, "no usable RNIC")                                   \
    C(EYE_CATCHER, 0x03050000, "RMBE eye catcher support differs")             \
    C(NO_UEID, 0x03030008, "the peer sent no user EID")                        \
    C(RELEASE, 0x03030009, "the releases differ")                              \
    C(MAX_CONNS, 0x0303000a, "the most connections of a link group differ")    \
    C(MAX_LINKS, 0x0303000b, "the most links of a link group differ")          \
    C(SOCKET_OPTION, 0x03060000, "socket option not supported")                \
    C(NO_COMMON_SUBNET, 0x03070000, "no common subnet or prefix")              \
    C(VLAN, 0x03080000, "VLAN lookup failed")                                  \
    C(NO_ACTIVE_LINK, 0x030a0000, "no active link in the link group")          \
    C(NO_SUCH_LINK, 0x030b0000, "the link that the server named is not there") \
    C(VERSION, 0x030c0000, "version mismatch")                                 \
    C(NO_ROUTE, 0x030e0000, "no direct path to the peer's RNIC")               \
    C(OUT_OF_SYNC, 0x04000000, "out of sync")                                  \
    C(DECLINED, 0x05000000, "the peer declined")                               \
    C(INTERNAL, 0x09990000, "internal error")                                  \
    C(RTOKEN, 0x09990001, "RToken error")                                      \
    C(QP_NOT_READY, 0x09990002, "QP not ready")                                \
    C(REGISTRATION, 0x09990003, "registration failed")

enum smcr_diagnosis {
#define SMCR_DIAGNOSIS_ENUM_(name, value, words) SMCR_DIAG_##name = value,
    SMCR_DIAGNOSES(SMCR_DIAGNOSIS_ENUM_)
#undef SMCR_DIAGNOSIS_ENUM_
};

NORNIC_END_DECLS

#endif
