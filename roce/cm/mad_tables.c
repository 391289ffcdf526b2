/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the messages and the words for their values: ROCE sections 16.1, 16.2 and 16.7. */
#include "base/base.h"
#include "roce/cm/mad.h"

#include <string.h>

NET_HEADER_TABLE(roce_mad, "MAD", ROCE_MAD_HDR_BYTES, ROCE_MAD_FIELDS);
NET_HEADER_TABLE(roce_cm_path_block, "CM path", ROCE_CM_PATH_BYTES, ROCE_CM_PATH_FIELDS);
NET_HEADER_TABLE(roce_cm_req, "CM REQ", ROCE_CM_MSG_BYTES, ROCE_CM_REQ_FIELDS);
NET_HEADER_TABLE(roce_cm_mra, "CM MRA", ROCE_CM_MSG_BYTES, ROCE_CM_MRA_FIELDS);
NET_HEADER_TABLE(roce_cm_rej, "CM REJ", ROCE_CM_MSG_BYTES, ROCE_CM_REJ_FIELDS);
NET_HEADER_TABLE(roce_cm_rep, "CM REP", ROCE_CM_MSG_BYTES, ROCE_CM_REP_FIELDS);
NET_HEADER_TABLE(roce_cm_rtu, "CM RTU", ROCE_CM_MSG_BYTES, ROCE_CM_RTU_FIELDS);
NET_HEADER_TABLE(roce_cm_dreq, "CM DREQ", ROCE_CM_MSG_BYTES, ROCE_CM_DREQ_FIELDS);
NET_HEADER_TABLE(roce_cm_drep, "CM DREP", ROCE_CM_MSG_BYTES, ROCE_CM_DREP_FIELDS);
NET_HEADER_TABLE(roce_cm_sidr_req, "CM SIDR_REQ", ROCE_CM_MSG_BYTES, ROCE_CM_SIDR_REQ_FIELDS);
NET_HEADER_TABLE(roce_cm_sidr_rep, "CM SIDR_REP", ROCE_CM_MSG_BYTES, ROCE_CM_SIDR_REP_FIELDS);
NET_HEADER_TABLE(roce_cm_lap, "CM LAP", ROCE_CM_MSG_BYTES, ROCE_CM_LAP_FIELDS);
NET_HEADER_TABLE(roce_cm_apr, "CM APR", ROCE_CM_MSG_BYTES, ROCE_CM_APR_FIELDS);
NET_HEADER_TABLE(roce_cm_ip, "CM IP addressing", ROCE_CM_IP_HDR_BYTES, ROCE_CM_IP_FIELDS);

/* clang-format off */
#define MESSAGES(M)                                                                 \
    M(REQ, req) M(MRA, mra) M(REJ, rej) M(REP, rep) M(RTU, rtu) M(DREQ, dreq)       \
    M(DREP, drep) M(SIDR_REQ, sidr_req) M(SIDR_REP, sidr_rep) M(LAP, lap) M(APR, apr)
/* clang-format on */

static const struct message {
    const char *name;
    const struct net_header *header;
} messages[] = {
#define MESSAGE_ROW(id, member) [ROCE_CM_##id - ROCE_CM_ATTR_FIRST] = {#id, &roce_cm_##member##_header},
    MESSAGES(MESSAGE_ROW)
#undef MESSAGE_ROW
};
_Static_assert(array_len(messages) == ROCE_CM_ATTR_COUNT, "one row an attribute id");

static const struct message *message_of(uint64_t attr_id)
{
    return attr_id >= ROCE_CM_ATTR_FIRST && attr_id <= ROCE_CM_ATTR_LAST
               ? &messages[attr_id - ROCE_CM_ATTR_FIRST]
               : NULL;
}

const struct net_header *roce_cm_attr_header(uint16_t attr_id)
{
    const struct message *m = message_of(attr_id);
    return m ? m->header : NULL;
}

const char *roce_cm_attr_name(uint64_t value)
{
    const struct message *m = message_of(value);
    return m ? m->name : "unknown";
}

static const char *word(const char *const *words, size_t count, uint64_t value)
{
    return value < count && words[value] ? words[value] : "reserved";
}
#define WORD(words, value) word(words, array_len(words), value)

const char *roce_cm_rej_name(uint64_t value)
{
    static const char *const words[] = {
#define REASON_ROW(id, code, text) [code] = text,
        ROCE_CM_REJ_REASONS(REASON_ROW)
#undef REASON_ROW
    };
    return WORD(words, value);
}

const char *roce_cm_message_name(uint64_t value)
{
    static const char *const words[] = {"REQ", "REP", "LAP or other"};
    return WORD(words, value);
}

const char *roce_cm_transport_name(uint64_t value)
{
    static const char *const words[] = {"RC", "UC", "RD", "extended"};
    return WORD(words, value);
}

const char *roce_cm_apr_status_name(uint64_t value)
{
    static const char *const words[] = {
        [ROCE_CM_APR_ACCEPTED] = "accepted",
        [ROCE_CM_APR_INVALID_COMM_ID] = "invalid communication id",
        [ROCE_CM_APR_UNSUPPORTED] = "alternate paths not supported",
        [ROCE_CM_APR_REJECTED] = "rejected by the consumer",
        [ROCE_CM_APR_REDIRECT] = "redirected",
        [ROCE_CM_APR_IS_CURRENT] = "duplicate of the current path",
        [ROCE_CM_APR_QPN_MISMATCH] = "QPN mismatch",
        [ROCE_CM_APR_LID] = "LID rejected",
        [ROCE_CM_APR_GID] = "GID rejected",
        [ROCE_CM_APR_FLOW_LABEL] = "flow label rejected",
        [ROCE_CM_APR_TRAFFIC_CLASS] = "traffic class rejected",
        [ROCE_CM_APR_HOP_LIMIT] = "hop limit rejected",
        [ROCE_CM_APR_PACKET_RATE] = "packet rate rejected",
        [ROCE_CM_APR_SL] = "SL rejected",
    };
    return WORD(words, value);
}

const char *roce_cm_sidr_status_name(uint64_t value)
{
    static const char *const words[] = {
        [ROCE_CM_SIDR_VALID] = "valid",         [ROCE_CM_SIDR_UNSUPPORTED] = "service id not supported",
        [ROCE_CM_SIDR_REJECTED] = "rejected",   [ROCE_CM_SIDR_NO_QP] = "no QP",
        [ROCE_CM_SIDR_REDIRECT] = "redirected", [ROCE_CM_SIDR_VERSION] = "unsupported version",
    };
    return WORD(words, value);
}

bool roce_cm_mad_get(struct roce_cm_mad *mad, const uint8_t *p)
{
    p = roce_mad_get(&mad->hdr, p);
    if (!message_of(mad->hdr.attr_id))
        return false;
    switch ((enum roce_cm_attr)mad->hdr.attr_id) {
#define GET(id, member)                          \
    case ROCE_CM_##id:                           \
        roce_cm_##member##_get(&mad->member, p); \
        break;
        MESSAGES(GET)
#undef GET
    }
    return true;
}

void roce_cm_mad_put(uint8_t *p, const struct roce_cm_mad *mad)
{
    p = roce_mad_put(p, &mad->hdr);
    switch ((enum roce_cm_attr)mad->hdr.attr_id) {
#define PUT(id, member)                          \
    case ROCE_CM_##id:                           \
        roce_cm_##member##_put(p, &mad->member); \
        break;
        MESSAGES(PUT)
#undef PUT
    }
}

#define V4_OFFSET 12 /* where the four bytes of an IPv4 address stand */

void roce_cm_ip_addr_put(uint8_t p[16], const struct nornic_addr *addr)
{
    memcpy(p, addr->b, sizeof addr->b);
    if (nornic_addr_is_v4(addr))
        memset(p, 0, V4_OFFSET);
}

bool roce_cm_ip_addr_get(struct nornic_addr *addr, const uint8_t p[16], uint8_t ip_version)
{
    static const uint8_t zero[V4_OFFSET];
    if (ip_version == 4) {
        *addr = nornic_addr_from_v4(p + V4_OFFSET);
        return memcmp(p, zero, V4_OFFSET) == 0;
    }
    memcpy(addr->b, p, sizeof addr->b);
    return ip_version == 6;
}
