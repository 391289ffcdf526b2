/* SPDX-License-Identifier: BSD-2-Clause */
/* Management datagrams of the communication manager, one list each: ROCE sections 16.1 and 16.2. A message
 * is ROCE_MAD_BYTES long: the envelope, then ROCE_CM_MSG_BYTES of the list that its attribute id names. */
#ifndef NORNIC_ROCE_CM_MAD_H
#define NORNIC_ROCE_CM_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/field.h"
#include "nornic/addr.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

#define ROCE_MAD_BYTES       256
#define ROCE_MAD_HDR_BYTES   24
#define ROCE_CM_MSG_BYTES    232 /* what follows the envelope */
#define ROCE_CM_PATH_BYTES   44
#define ROCE_CM_IP_HDR_BYTES 36

#define ROCE_MAD_BASE_VERSION   1
#define ROCE_MAD_CLASS_CM       0x07
#define ROCE_MAD_CM_VERSION     2
#define ROCE_MAD_METHOD_GET     0x01
#define ROCE_MAD_METHOD_SET     0x02
#define ROCE_MAD_METHOD_SEND    0x03
#define ROCE_MAD_RESPONSE       0x80   /* this bit of a method: a response */
#define ROCE_MAD_STATUS_INVALID 0x001c /* code 7, invalid field: ROCE-GSI-4 */

#define ROCE_CM_INFO_BYTES 72 /* additional information of REJ, APR and SIDR_REP */

/* Private data a message has room for (ROCE-CM-63; of a REQ and a SIDR_REQ the first 36 bytes are the header
 * of ROCE-CM-61). */
#define ROCE_CM_REQ_PRIVATE_BYTES      92
#define ROCE_CM_MRA_PRIVATE_BYTES      222
#define ROCE_CM_REJ_PRIVATE_BYTES      148
#define ROCE_CM_REP_PRIVATE_BYTES      196
#define ROCE_CM_RTU_PRIVATE_BYTES      224
#define ROCE_CM_DREQ_PRIVATE_BYTES     220
#define ROCE_CM_DREP_PRIVATE_BYTES     224
#define ROCE_CM_LAP_PRIVATE_BYTES      168
#define ROCE_CM_APR_PRIVATE_BYTES      148
#define ROCE_CM_SIDR_REQ_PRIVATE_BYTES 216
#define ROCE_CM_SIDR_REP_PRIVATE_BYTES 136

/* Attribute ids: ROCE-CM-1. */
enum roce_cm_attr {
    ROCE_CM_REQ = 0x10,
    ROCE_CM_MRA = 0x11,
    ROCE_CM_REJ = 0x12,
    ROCE_CM_REP = 0x13,
    ROCE_CM_RTU = 0x14,
    ROCE_CM_DREQ = 0x15,
    ROCE_CM_DREP = 0x16,
    ROCE_CM_SIDR_REQ = 0x17,
    ROCE_CM_SIDR_REP = 0x18,
    ROCE_CM_LAP = 0x19,
    ROCE_CM_APR = 0x1a,
};
#define ROCE_CM_ATTR_FIRST ROCE_CM_REQ
#define ROCE_CM_ATTR_LAST  ROCE_CM_APR
#define ROCE_CM_ATTR_COUNT (ROCE_CM_ATTR_LAST - ROCE_CM_ATTR_FIRST + 1)

/* Reasons of a REJ: ROCE section 16.7. 13 and 19 are never sent (CA17-35). */
#define ROCE_CM_REJ_REASONS(R)                                           \
    R(NO_QP, 1, "no QP")                                                 \
    R(NO_EEC, 2, "no EEC")                                               \
    R(NO_RESOURCES, 3, "no resources")                                   \
    R(TIMEOUT, 4, "timeout")                                             \
    R(UNSUPPORTED, 5, "unsupported request")                             \
    R(INVALID_COMM_ID, 6, "invalid communication id")                    \
    R(INVALID_COMM_INSTANCE, 7, "invalid communication instance")        \
    R(INVALID_SERVICE_ID, 8, "invalid service id")                       \
    R(INVALID_TRANSPORT, 9, "invalid transport service type")            \
    R(STALE_CONN, 10, "stale connection")                                \
    R(RDC_NOT_EXIST, 11, "RDC does not exist")                           \
    R(INVALID_GID, 12, "primary remote GID rejected")                    \
    R(INVALID_LID, 13, "primary remote LID rejected")                    \
    R(INVALID_SL, 14, "primary SL rejected")                             \
    R(INVALID_TRAFFIC_CLASS, 15, "primary traffic class rejected")       \
    R(INVALID_HOP_LIMIT, 16, "primary hop limit rejected")               \
    R(INVALID_PACKET_RATE, 17, "primary packet rate rejected")           \
    R(INVALID_ALT_GID, 18, "alternate remote GID rejected")              \
    R(INVALID_ALT_LID, 19, "alternate remote LID rejected")              \
    R(INVALID_ALT_SL, 20, "alternate SL rejected")                       \
    R(INVALID_ALT_TRAFFIC_CLASS, 21, "alternate traffic class rejected") \
    R(INVALID_ALT_HOP_LIMIT, 22, "alternate hop limit rejected")         \
    R(INVALID_ALT_PACKET_RATE, 23, "alternate packet rate rejected")     \
    R(PORT_CM_REDIRECT, 24, "port and CM redirection")                   \
    R(PORT_REDIRECT, 25, "port redirection")                             \
    R(INVALID_MTU, 26, "invalid path MTU")                               \
    R(INSUFFICIENT_RESOURCES, 27, "insufficient responder resources")    \
    R(CONSUMER, 28, "consumer reject")                                   \
    R(INVALID_RNR_RETRY, 29, "RNR retry count rejected")                 \
    R(DUPLICATE_COMM_ID, 30, "duplicate local communication id")         \
    R(INVALID_CLASS_VERSION, 31, "unsupported class version")            \
    R(INVALID_FLOW_LABEL, 32, "primary flow label rejected")             \
    R(INVALID_ALT_FLOW_LABEL, 33, "alternate flow label rejected")       \
    R(VENDOR_OPTION, 35, "vendor option not supported")

enum roce_cm_rej_reason {
#define ROCE_CM_REJ_ENUM_(id, value, words) ROCE_CM_REJ_##id = value,
    ROCE_CM_REJ_REASONS(ROCE_CM_REJ_ENUM_)
#undef ROCE_CM_REJ_ENUM_
};

/* Which message a REJ rejects ("message REJected") or an MRA answers ("message MRAed"). */
enum roce_cm_message { ROCE_CM_MESSAGE_REQ = 0, ROCE_CM_MESSAGE_REP = 1, ROCE_CM_MESSAGE_OTHER = 2 };

/* Status of an APR: ROCE-CM-70. 7 is never sent (CA17-37). */
enum roce_cm_apr_status {
    ROCE_CM_APR_ACCEPTED = 0,
    ROCE_CM_APR_INVALID_COMM_ID = 1,
    ROCE_CM_APR_UNSUPPORTED = 2,
    ROCE_CM_APR_REJECTED = 3,
    ROCE_CM_APR_REDIRECT = 4,
    ROCE_CM_APR_IS_CURRENT = 5,
    ROCE_CM_APR_QPN_MISMATCH = 6,
    ROCE_CM_APR_LID = 7,
    ROCE_CM_APR_GID = 8,
    ROCE_CM_APR_FLOW_LABEL = 9,
    ROCE_CM_APR_TRAFFIC_CLASS = 10,
    ROCE_CM_APR_HOP_LIMIT = 11,
    ROCE_CM_APR_PACKET_RATE = 12,
    ROCE_CM_APR_SL = 13,
};

/* Status of a SIDR_REP: ROCE-CM-71. */
enum roce_cm_sidr_status {
    ROCE_CM_SIDR_VALID = 0,
    ROCE_CM_SIDR_UNSUPPORTED = 1,
    ROCE_CM_SIDR_REJECTED = 2,
    ROCE_CM_SIDR_NO_QP = 3,
    ROCE_CM_SIDR_REDIRECT = 4,
    ROCE_CM_SIDR_VERSION = 5,
};

/* Transport Service Type of a REQ. */
enum roce_cm_transport {
    ROCE_CM_TRANSPORT_RC = 0,
    ROCE_CM_TRANSPORT_UC = 1,
    ROCE_CM_TRANSPORT_RD = 2,
    ROCE_CM_TRANSPORT_EXTENDED = 3,
};

/* Extended Transport Type of a REQ: ROCE-XRC-4. */
#define ROCE_CM_EXT_TRANSPORT_XRC 1

/* Failover Accepted of a REP: ROCE-CM-43. */
#define ROCE_CM_FAILOVER_NONE        0
#define ROCE_CM_FAILOVER_UNSUPPORTED 1

/* Words for the values of fields; never NULL. */
net_value_name roce_cm_attr_name;        /* "REQ"; "unknown" */
net_value_name roce_cm_rej_name;         /* "stale connection"; "reserved" */
net_value_name roce_cm_message_name;     /* "REQ", "REP", "LAP or other"; "reserved" */
net_value_name roce_cm_apr_status_name;  /* "accepted"; "reserved" */
net_value_name roce_cm_sidr_status_name; /* "valid"; "reserved" */
net_value_name roce_cm_transport_name;   /* "RC" */

/* The envelope, IBA 13.4.3: ROCE section 16.1. */
#define ROCE_MAD_FIELDS(F, B)                        \
    F(base_version, 0, 8, uint8_t, NULL)             \
    F(mgmt_class, 8, 8, uint8_t, NULL)               \
    F(class_version, 16, 8, uint8_t, NULL)           \
    F(method, 24, 8, uint8_t, NULL)                  \
    F(status, 32, 16, uint16_t, NULL)                \
    F(class_specific, 48, 16, uint16_t, NULL)        \
    F(tid, 64, 64, uint64_t, NULL)                   \
    F(attr_id, 128, 16, uint16_t, roce_cm_attr_name) \
    F(resv16, 144, 16, uint16_t, NULL)               \
    F(attr_mod, 160, 32, uint32_t, NULL)
NET_HEADER(roce_mad, ROCE_MAD_HDR_BYTES, ROCE_MAD_FIELDS);

/* A path of a REQ: ROCE-CM-11. SAP Supported stands in the alternate path only. */
#define ROCE_CM_PATH_FIELDS(F, B)           \
    F(local_lid, 0, 16, uint16_t, NULL)     \
    F(remote_lid, 16, 16, uint16_t, NULL)   \
    B(local_gid, 32, 128)                   \
    B(remote_gid, 160, 128)                 \
    F(flow_label, 288, 20, uint32_t, NULL)  \
    F(resv6, 308, 6, uint8_t, NULL)         \
    F(packet_rate, 314, 6, uint8_t, NULL)   \
    F(traffic_class, 320, 8, uint8_t, NULL) \
    F(hop_limit, 328, 8, uint8_t, NULL)     \
    F(sl, 336, 4, uint8_t, NULL)            \
    F(subnet_local, 340, 1, uint8_t, NULL)  \
    F(resv3, 341, 3, uint8_t, NULL)         \
    F(ack_timeout, 344, 5, uint8_t, NULL)   \
    F(sap, 349, 1, uint8_t, NULL)           \
    F(resv2, 350, 2, uint8_t, NULL)
NET_HEADER(roce_cm_path_block, ROCE_CM_PATH_BYTES, ROCE_CM_PATH_FIELDS);

/* ROCE-CM-10. `primary` and `alternate` hold a roce_cm_path_block each. */
#define ROCE_CM_REQ_FIELDS(F, B)                          \
    F(local_comm_id, 0, 32, uint32_t, NULL)               \
    F(resv8, 32, 8, uint8_t, NULL)                        \
    F(vendor_id, 40, 24, uint32_t, NULL)                  \
    F(service_id, 64, 64, uint64_t, NULL)                 \
    F(ca_guid, 128, 64, uint64_t, NULL)                   \
    F(resv32, 192, 32, uint32_t, NULL)                    \
    F(qkey, 224, 32, uint32_t, NULL)                      \
    F(qpn, 256, 24, uint32_t, NULL)                       \
    F(responder_resources, 280, 8, uint8_t, NULL)         \
    F(eecn, 288, 24, uint32_t, NULL)                      \
    F(initiator_depth, 312, 8, uint8_t, NULL)             \
    F(remote_eecn, 320, 24, uint32_t, NULL)               \
    F(remote_resp_timeout, 344, 5, uint8_t, NULL)         \
    F(transport, 349, 2, uint8_t, roce_cm_transport_name) \
    F(flow_control, 351, 1, uint8_t, NULL)                \
    F(starting_psn, 352, 24, uint32_t, NULL)              \
    F(local_resp_timeout, 376, 5, uint8_t, NULL)          \
    F(retry_count, 381, 3, uint8_t, NULL)                 \
    F(pkey, 384, 16, uint16_t, NULL)                      \
    F(path_mtu, 400, 4, uint8_t, NULL)                    \
    F(rdc_exists, 404, 1, uint8_t, NULL)                  \
    F(rnr_retry_count, 405, 3, uint8_t, NULL)             \
    F(max_cm_retries, 408, 4, uint8_t, NULL)              \
    F(srq, 412, 1, uint8_t, NULL)                         \
    F(ext_transport, 413, 3, uint8_t, NULL)               \
    B(primary, 416, 352)                                  \
    B(alternate, 768, 352)                                \
    B(private_data, 1120, 736)
NET_HEADER(roce_cm_req, ROCE_CM_MSG_BYTES, ROCE_CM_REQ_FIELDS);

/* ROCE-CM-12. */
#define ROCE_CM_MRA_FIELDS(F, B)                           \
    F(local_comm_id, 0, 32, uint32_t, NULL)                \
    F(remote_comm_id, 32, 32, uint32_t, NULL)              \
    F(mraed_message, 64, 2, uint8_t, roce_cm_message_name) \
    F(resv6, 66, 6, uint8_t, NULL)                         \
    F(service_timeout, 72, 5, uint8_t, NULL)               \
    F(resv3, 77, 3, uint8_t, NULL)                         \
    B(private_data, 80, 1776)
NET_HEADER(roce_cm_mra, ROCE_CM_MSG_BYTES, ROCE_CM_MRA_FIELDS);

/* ROCE-CM-13. */
#define ROCE_CM_REJ_FIELDS(F, B)                              \
    F(local_comm_id, 0, 32, uint32_t, NULL)                   \
    F(remote_comm_id, 32, 32, uint32_t, NULL)                 \
    F(rejected_message, 64, 2, uint8_t, roce_cm_message_name) \
    F(resv6, 66, 6, uint8_t, NULL)                            \
    F(info_bytes, 72, 7, uint8_t, NULL)                       \
    F(resv1, 79, 1, uint8_t, NULL)                            \
    F(reason, 80, 16, uint16_t, roce_cm_rej_name)             \
    B(info, 96, 576)                                          \
    B(private_data, 672, 1184)
NET_HEADER(roce_cm_rej, ROCE_CM_MSG_BYTES, ROCE_CM_REJ_FIELDS);

/* ROCE-CM-14. The vendor id stands in three pieces. */
#define ROCE_CM_REP_FIELDS(F, B)                  \
    F(local_comm_id, 0, 32, uint32_t, NULL)       \
    F(remote_comm_id, 32, 32, uint32_t, NULL)     \
    F(qkey, 64, 32, uint32_t, NULL)               \
    F(qpn, 96, 24, uint32_t, NULL)                \
    F(vendor_id_high, 120, 8, uint8_t, NULL)      \
    F(eecn, 128, 24, uint32_t, NULL)              \
    F(vendor_id_mid, 152, 8, uint8_t, NULL)       \
    F(starting_psn, 160, 24, uint32_t, NULL)      \
    F(vendor_id_low, 184, 8, uint8_t, NULL)       \
    F(responder_resources, 192, 8, uint8_t, NULL) \
    F(initiator_depth, 200, 8, uint8_t, NULL)     \
    F(target_ack_delay, 208, 5, uint8_t, NULL)    \
    F(failover, 213, 2, uint8_t, NULL)            \
    F(flow_control, 215, 1, uint8_t, NULL)        \
    F(rnr_retry_count, 216, 3, uint8_t, NULL)     \
    F(srq, 219, 1, uint8_t, NULL)                 \
    F(resv4, 220, 4, uint8_t, NULL)               \
    F(ca_guid, 224, 64, uint64_t, NULL)           \
    B(private_data, 288, 1568)
NET_HEADER(roce_cm_rep, ROCE_CM_MSG_BYTES, ROCE_CM_REP_FIELDS);

/* ROCE-CM-15. */
#define ROCE_CM_RTU_FIELDS(F, B)            \
    F(local_comm_id, 0, 32, uint32_t, NULL) \
    F(remote_comm_id, 32, 32, uint32_t, NULL) B(private_data, 64, 1792)
NET_HEADER(roce_cm_rtu, ROCE_CM_MSG_BYTES, ROCE_CM_RTU_FIELDS);

/* ROCE-CM-16. */
#define ROCE_CM_DREQ_FIELDS(F, B)             \
    F(local_comm_id, 0, 32, uint32_t, NULL)   \
    F(remote_comm_id, 32, 32, uint32_t, NULL) \
    F(remote_qpn, 64, 24, uint32_t, NULL)     \
    F(resv8, 88, 8, uint8_t, NULL)            \
    B(private_data, 96, 1760)
NET_HEADER(roce_cm_dreq, ROCE_CM_MSG_BYTES, ROCE_CM_DREQ_FIELDS);

/* ROCE-CM-17. */
#define ROCE_CM_DREP_FIELDS(F, B)           \
    F(local_comm_id, 0, 32, uint32_t, NULL) \
    F(remote_comm_id, 32, 32, uint32_t, NULL) B(private_data, 64, 1792)
NET_HEADER(roce_cm_drep, ROCE_CM_MSG_BYTES, ROCE_CM_DREP_FIELDS);

/* ROCE-CM-18. */
#define ROCE_CM_LAP_FIELDS(F, B)                  \
    F(local_comm_id, 0, 32, uint32_t, NULL)       \
    F(remote_comm_id, 32, 32, uint32_t, NULL)     \
    F(resv32, 64, 32, uint32_t, NULL)             \
    F(remote_qpn, 96, 24, uint32_t, NULL)         \
    F(remote_resp_timeout, 120, 5, uint8_t, NULL) \
    F(resv3, 125, 3, uint8_t, NULL)               \
    F(resv32_b, 128, 32, uint32_t, NULL)          \
    F(local_lid, 160, 16, uint16_t, NULL)         \
    F(remote_lid, 176, 16, uint16_t, NULL)        \
    B(local_gid, 192, 128)                        \
    B(remote_gid, 320, 128)                       \
    F(flow_label, 448, 20, uint32_t, NULL)        \
    F(resv4, 468, 4, uint8_t, NULL)               \
    F(traffic_class, 472, 8, uint8_t, NULL)       \
    F(hop_limit, 480, 8, uint8_t, NULL)           \
    F(resv2, 488, 2, uint8_t, NULL)               \
    F(packet_rate, 490, 6, uint8_t, NULL)         \
    F(sl, 496, 4, uint8_t, NULL)                  \
    F(subnet_local, 500, 1, uint8_t, NULL)        \
    F(resv3_b, 501, 3, uint8_t, NULL)             \
    F(ack_timeout, 504, 5, uint8_t, NULL)         \
    F(resv3_c, 509, 3, uint8_t, NULL)             \
    B(private_data, 512, 1344)
NET_HEADER(roce_cm_lap, ROCE_CM_MSG_BYTES, ROCE_CM_LAP_FIELDS);

/* ROCE-CM-19. */
#define ROCE_CM_APR_FIELDS(F, B)                       \
    F(local_comm_id, 0, 32, uint32_t, NULL)            \
    F(remote_comm_id, 32, 32, uint32_t, NULL)          \
    F(info_bytes, 64, 8, uint8_t, NULL)                \
    F(status, 72, 8, uint8_t, roce_cm_apr_status_name) \
    F(resv16, 80, 16, uint16_t, NULL)                  \
    B(info, 96, 576)                                   \
    B(private_data, 672, 1184)
NET_HEADER(roce_cm_apr, ROCE_CM_MSG_BYTES, ROCE_CM_APR_FIELDS);

/* ROCE-CM-20. */
#define ROCE_CM_SIDR_REQ_FIELDS(F, B)     \
    F(request_id, 0, 32, uint32_t, NULL)  \
    F(pkey, 32, 16, uint16_t, NULL)       \
    F(resv16, 48, 16, uint16_t, NULL)     \
    F(service_id, 64, 64, uint64_t, NULL) \
    B(private_data, 128, 1728)
NET_HEADER(roce_cm_sidr_req, ROCE_CM_MSG_BYTES, ROCE_CM_SIDR_REQ_FIELDS);

/* ROCE-CM-21. The vendor id stands in two pieces. */
#define ROCE_CM_SIDR_REP_FIELDS(F, B)                   \
    F(request_id, 0, 32, uint32_t, NULL)                \
    F(status, 32, 8, uint8_t, roce_cm_sidr_status_name) \
    F(info_bytes, 40, 8, uint8_t, NULL)                 \
    F(vendor_id_high, 48, 16, uint16_t, NULL)           \
    F(qpn, 64, 24, uint32_t, NULL)                      \
    F(vendor_id_low, 88, 8, uint8_t, NULL)              \
    F(service_id, 96, 64, uint64_t, NULL)               \
    F(qkey, 160, 32, uint32_t, NULL)                    \
    B(info, 192, 576)                                   \
    B(private_data, 768, 1088)
NET_HEADER(roce_cm_sidr_rep, ROCE_CM_MSG_BYTES, ROCE_CM_SIDR_REP_FIELDS);

/* IP addressing at the start of the private data of REQ and SIDR_REQ: ROCE-CM-61. IPv4 addresses stand in the
 * last four bytes, without the prefix of a mapped address. */
#define ROCE_CM_IP_FIELDS(F, B)         \
    F(major, 0, 4, uint8_t, NULL)       \
    F(minor, 4, 4, uint8_t, NULL)       \
    F(ip_version, 8, 4, uint8_t, NULL)  \
    F(resv4, 12, 4, uint8_t, NULL)      \
    F(src_port, 16, 16, uint16_t, NULL) \
    B(src, 32, 128)                     \
    B(dst, 160, 128)
NET_HEADER(roce_cm_ip, ROCE_CM_IP_HDR_BYTES, ROCE_CM_IP_FIELDS);

/* A whole message. */
struct roce_cm_mad {
    struct roce_mad hdr;
    union {
        struct roce_cm_req req;
        struct roce_cm_mra mra;
        struct roce_cm_rej rej;
        struct roce_cm_rep rep;
        struct roce_cm_rtu rtu;
        struct roce_cm_dreq dreq;
        struct roce_cm_drep drep;
        struct roce_cm_sidr_req sidr_req;
        struct roce_cm_sidr_rep sidr_rep;
        struct roce_cm_lap lap;
        struct roce_cm_apr apr;
    };
};

/* The table of the message that an attribute id names, or NULL (ROCE-CM-1). */
const struct net_header *roce_cm_attr_header(uint16_t attr_id);

/* Takes the ROCE_MAD_BYTES at `p` apart. False, with only `hdr` filled, when the attribute id names no
 * message. The values of the envelope are not judged. */
bool roce_cm_mad_get(struct roce_cm_mad *mad, const uint8_t *p);

/* Writes ROCE_MAD_BYTES; `mad->hdr.attr_id` names a message. */
void roce_cm_mad_put(uint8_t *p, const struct roce_cm_mad *mad);

/* An address as ROCE-CM-61 writes it, and back. `ip_version` 4 or 6; false for any other, and for IPv4 with
 * bytes before the last four. */
void roce_cm_ip_addr_put(uint8_t p[16], const struct nornic_addr *addr);
bool roce_cm_ip_addr_get(struct nornic_addr *addr, const uint8_t p[16], uint8_t ip_version);

NORNIC_END_DECLS

#endif
