/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection Layer Control messages of version 2, as Linux sends them: for those who read captures. They are
 * put together from parts, of which each list is one. */
#ifndef NORNIC_SMCR_CLC2_WIRE_H
#define NORNIC_SMCR_CLC2_WIRE_H

#include "smcr/clc_wire.h"

/* What a Proposal offers, by version; what an Accept or Confirm chose. */
enum smcr_clc2_offer { SMCR_CLC2_SMCR = 0, SMCR_CLC2_SMCD = 1, SMCR_CLC2_NONE = 2, SMCR_CLC2_BOTH = 3 };
net_value_name smcr_clc2_offer_name; /* "SMC-R", "SMC-D", "none", "both" */
net_value_name smcr_clc2_os_name;    /* "Linux"; NULL for another */
/* As smcr_clc_diagnosis_name(), with the codes of Linux; it says 0x03030000 too where no EID is common to
 * both or the client has none. */
net_value_name smcr_clc2_diagnosis_name;

/* A Proposal up to its growth area. `v2_offset` counts from behind itself. */
#define SMCR_PROPOSAL2_FIELDS(F, B)                   \
    F(eye_catcher, 0, 32, uint32_t, NULL)             \
    F(type, 32, 8, uint8_t, smcr_clc_type_name)       \
    F(length, 40, 16, uint16_t, NULL)                 \
    F(version, 56, 4, uint8_t, NULL)                  \
    F(offer_v2, 60, 2, uint8_t, smcr_clc2_offer_name) \
    F(offer_v1, 62, 2, uint8_t, smcr_clc2_offer_name) \
    B(peer_id, 64, 64)                                \
    B(gid, 128, 128)                                  \
    B(mac, 256, 48)                                   \
    F(offset, 304, 16, uint16_t, NULL)                \
    B(ism_gid, 320, 64)                               \
    F(ism_chid, 384, 16, uint16_t, NULL)              \
    F(v2_offset, 400, 16, uint16_t, NULL)             \
    B(vendor_oui, 416, 24)                            \
    B(vendor_options, 440, 40)                        \
    B(resv160, 480, 160)
#define SMCR_PROPOSAL2_BYTES   80
#define SMCR_PROPOSAL2_V2_FROM 52 /* v2_offset counts from here */
NET_HEADER(smcr_proposal2, SMCR_PROPOSAL2_BYTES, SMCR_PROPOSAL2_FIELDS);

/* The extension of version 2; `smcd_offset` counts from its byte 8. */
#define SMCR_PROPOSAL2_EXT_FIELDS(F, B)    \
    F(eid_count, 0, 8, uint8_t, NULL)      \
    F(ism_count, 8, 8, uint8_t, NULL)      \
    F(resv8, 16, 8, uint8_t, NULL)         \
    F(release, 24, 4, uint8_t, NULL)       \
    F(resv3, 28, 3, uint8_t, NULL)         \
    F(has_seid, 31, 1, uint8_t, NULL)      \
    F(resv16, 32, 16, uint16_t, NULL)      \
    F(smcd_offset, 48, 16, uint16_t, NULL) \
    B(gid, 64, 128)                        \
    F(max_conns, 192, 8, uint8_t, NULL)    \
    F(max_links, 200, 8, uint8_t, NULL)    \
    F(features, 208, 16, uint16_t, NULL)   \
    B(resv96, 224, 96)
#define SMCR_PROPOSAL2_EXT_BYTES 40
#define SMCR_CLC2_MAX_EIDS       8
NET_HEADER(smcr_proposal2_ext, SMCR_PROPOSAL2_EXT_BYTES, SMCR_PROPOSAL2_EXT_FIELDS);

/* An enterprise id: ASCII, filled up with blanks. */
#define SMCR_EID_FIELDS(F, B) B(eid, 0, 256)
#define SMCR_EID_BYTES        32
NET_HEADER(smcr_eid, SMCR_EID_BYTES, SMCR_EID_FIELDS);

/* Where SMC-D of version 2 is offered, `ism_count` entries follow. */
#define SMCR_SMCD_EXT_FIELDS(F, B) B(seid, 0, 256) B(resv128, 256, 128)
#define SMCR_SMCD_EXT_BYTES        48
NET_HEADER(smcr_smcd_ext, SMCR_SMCD_EXT_BYTES, SMCR_SMCD_EXT_FIELDS);
#define SMCR_ISM_FIELDS(F, B) B(gid, 0, 64) F(chid, 64, 16, uint16_t, NULL)
#define SMCR_ISM_BYTES        10
NET_HEADER(smcr_ism, SMCR_ISM_BYTES, SMCR_ISM_FIELDS);

/* Accept and Confirm: as version 1 but for byte 7, and the enterprise id. */
#define SMCR_ACCEPT2_FIELDS(F, B)                   \
    F(eye_catcher, 0, 32, uint32_t, NULL)           \
    F(type, 32, 8, uint8_t, smcr_clc_type_name)     \
    F(length, 40, 16, uint16_t, NULL)               \
    F(version, 56, 4, uint8_t, NULL)                \
    F(first_contact, 60, 1, uint8_t, NULL)          \
    F(resv1, 61, 1, uint8_t, NULL)                  \
    F(chosen, 62, 2, uint8_t, smcr_clc2_offer_name) \
    B(peer_id, 64, 64)                              \
    B(gid, 128, 128)                                \
    B(mac, 256, 48)                                 \
    F(qpn, 304, 24, uint32_t, NULL)                 \
    F(rkey, 328, 32, uint32_t, NULL)                \
    F(rmbe_index, 360, 8, uint8_t, NULL)            \
    F(alert_token, 368, 32, uint32_t, NULL)         \
    F(bsize, 400, 4, uint8_t, smcr_bsize_name)      \
    F(mtu, 404, 4, uint8_t, smcr_mtu_name)          \
    F(resv8, 408, 8, uint8_t, NULL)                 \
    F(va, 416, 64, uint64_t, NULL)                  \
    F(resv8b, 480, 8, uint8_t, NULL)                \
    F(psn, 488, 24, uint32_t, NULL)                 \
    B(eid, 512, 256)                                \
    B(resv64, 768, 64)
#define SMCR_ACCEPT2_BYTES 104
NET_HEADER(smcr_accept2, SMCR_ACCEPT2_BYTES, SMCR_ACCEPT2_FIELDS);

/* The first contact extension. */
#define SMCR_FCE_FIELDS(F, B)               \
    F(direct, 0, 1, uint8_t, NULL)          \
    F(resv7, 1, 7, uint8_t, NULL)           \
    F(os, 8, 4, uint8_t, smcr_clc2_os_name) \
    F(release, 12, 4, uint8_t, NULL)        \
    F(resv16, 16, 16, uint16_t, NULL)       \
    B(host_name, 32, 256)                   \
    F(max_conns, 288, 8, uint8_t, NULL)     \
    F(max_links, 296, 8, uint8_t, NULL)     \
    F(features, 304, 16, uint16_t, NULL)    \
    B(vendor_options, 320, 32)              \
    B(resv64, 352, 64)
#define SMCR_FCE_BYTES 52
NET_HEADER(smcr_fce, SMCR_FCE_BYTES, SMCR_FCE_FIELDS);

/* Behind the extension of a Confirm: the GIDs that a second link may use. */
#define SMCR_CLC2_MAX_GIDS         8 /* that we list, and that we look at */
#define SMCR_GID_LIST_FIELDS(F, B) F(gid_count, 0, 8, uint8_t, NULL) B(resv24, 8, 24)
#define SMCR_GID_LIST_BYTES        4
NET_HEADER(smcr_gid_list, SMCR_GID_LIST_BYTES, SMCR_GID_LIST_FIELDS);
#define SMCR_GID_FIELDS(F, B) B(gid, 0, 128)
#define SMCR_GID_BYTES        16
NET_HEADER(smcr_gid, SMCR_GID_BYTES, SMCR_GID_FIELDS);

#define SMCR_DECLINE2_FIELDS(F, B)                            \
    SMCR_CLC_FIELDS(F, B)                                     \
    B(peer_id, 64, 64)                                        \
    F(diagnosis, 128, 32, uint32_t, smcr_clc2_diagnosis_name) \
    F(os, 160, 4, uint8_t, smcr_clc2_os_name)                 \
    F(resv4, 164, 4, uint8_t, NULL)                           \
    B(resv24, 168, 24)                                        \
    F(diagnosis_2, 192, 32, uint32_t, NULL)                   \
    F(diagnosis_3, 224, 32, uint32_t, NULL)                   \
    F(diagnosis_4, 256, 32, uint32_t, NULL)                   \
    F(diagnosis_5, 288, 32, uint32_t, NULL)                   \
    F(trailer, 320, 32, uint32_t, NULL)
#define SMCR_DECLINE2_BYTES 44
NET_HEADER(smcr_decline2, SMCR_DECLINE2_BYTES, SMCR_DECLINE2_FIELDS);

/* The eye catcher at the end of what is put together from parts. */
#define SMCR_TRAILER_FIELDS(F, B) F(trailer, 0, 32, uint32_t, NULL)
NET_HEADER(smcr_trailer, SMCR_CLC_TRAIL_BYTES, SMCR_TRAILER_FIELDS);

#endif
