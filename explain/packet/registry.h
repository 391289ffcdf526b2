/* SPDX-License-Identifier: BSD-2-Clause */
/* Every kind of layer that a frame can have: one list, from which the ids and the tables are made. */
#ifndef NORNIC_EXPLAIN_PACKET_REGISTRY_H
#define NORNIC_EXPLAIN_PACKET_REGISTRY_H

#include <stdbool.h>

#include "net/field.h"

/* id, key in JSON and filters, its field list (net/field.h), what it is, for --help and the guide. The
 * messages of SMC-R stand together, CLC before LLC before CDC, each with the parts that hang on it: see the
 * ranges below. */
#define EXPLAIN_LAYERS(X)                                                                                    \
    X(ETH, "eth", net_ether, "Ethernet")                                                                     \
    X(VLAN, "vlan", net_vlan, "802.1Q tag")                                                                  \
    X(SLL, "sll", net_sll, "Linux cooked capture")                                                           \
    X(SLL2, "sll2", net_sll2, "Linux cooked capture, version 2")                                             \
    X(LOOPBACK, "loopback", net_null, "BSD loopback")                                                        \
    X(VXLAN, "vxlan", net_vxlan, "VXLAN")                                                                    \
    X(GENEVE, "geneve", net_geneve, "Geneve")                                                                \
    X(GRE, "gre", net_gre, "GRE")                                                                            \
    X(GRE_CHECKSUM, "gre_checksum", net_gre_checksum, "checksum of GRE")                                     \
    X(GRE_KEY, "gre_key", net_gre_key, "key of GRE")                                                         \
    X(NVGRE, "nvgre", net_nvgre, "key of NVGRE")                                                             \
    X(GRE_SEQ, "gre_seq", net_gre_seq, "sequence number of GRE")                                             \
    X(ERSPAN2, "erspan2", net_erspan2, "mirrored frame, ERSPAN type II")                                     \
    X(ERSPAN3, "erspan3", net_erspan3, "mirrored frame, ERSPAN type III")                                    \
    X(ERSPAN_PLATFORM, "erspan_platform", net_erspan_platform, "platform subheader of ERSPAN type III")      \
    X(MAC_CONTROL, "mac_control", net_mac_control, "MAC control")                                            \
    X(PAUSE, "pause", net_pause, "802.3 PAUSE")                                                              \
    X(PFC, "pfc", net_pfc, "priority-based flow control")                                                    \
    X(LLDP_TLV, "lldp_tlv", net_lldp_tlv, "LLDP TLV")                                                        \
    X(LLDP_ID, "lldp_id", net_lldp_id, "chassis or port of LLDP")                                            \
    X(LLDP_TTL, "lldp_ttl", net_lldp_ttl, "time to live of LLDP")                                            \
    X(LLDP_ORG, "lldp_org", net_lldp_org, "whose LLDP TLV it is")                                            \
    X(DCBX_ETS_CONFIG, "dcbx_ets_config", net_dcbx_ets_config, "DCBX: traffic classes")                      \
    X(DCBX_ETS_RECOMMENDATION, "dcbx_ets_recommended", net_dcbx_ets_recommendation,                          \
      "DCBX: traffic classes that the peer should have")                                                     \
    X(DCBX_PFC, "dcbx_pfc", net_dcbx_pfc, "DCBX: lossless priorities")                                       \
    X(DCBX_APP, "dcbx_app", net_dcbx_app, "DCBX: priorities of applications")                                \
    X(DCBX_APP_ENTRY, "dcbx_app_entry", net_dcbx_app_entry, "DCBX: priority of an application")              \
    X(IP, "ip", net_ipv4, "IPv4")                                                                            \
    X(IP6, "ip6", net_ipv6, "IPv6")                                                                          \
    X(UDP, "udp", net_udp, "UDP")                                                                            \
    X(GRH, "grh", roce_grh, "Global Routing Header of RoCEv1")                                               \
    X(BTH, "bth", roce_bth, "Base Transport Header")                                                         \
    X(RDETH, "rdeth", roce_rdeth, "Reliable Datagram Extended Transport Header")                             \
    X(DETH, "deth", roce_deth, "Datagram Extended Transport Header")                                         \
    X(XRCETH, "xrceth", roce_xrceth, "XRC Extended Transport Header")                                        \
    X(RETH, "reth", roce_reth, "RDMA Extended Transport Header")                                             \
    X(ATOMICETH, "atomiceth", roce_atomiceth, "Atomic Extended Transport Header")                            \
    X(MASKETH, "masketh", roce_masketh, "masks of a masked atomic")                                          \
    X(AETH, "aeth", roce_aeth, "ACK Extended Transport Header")                                              \
    X(SACKETH, "sacketh", roce_sacketh, "selective acknowledgement")                                         \
    X(ATOMICACKETH, "atomicacketh", roce_atomicacketh, "Atomic ACK Extended Transport Header")               \
    X(IMMDT, "immdt", roce_immdt, "immediate data")                                                          \
    X(IETH, "ieth", roce_ieth, "Invalidate Extended Transport Header")                                       \
    X(CNP, "cnp", roce_cnp, "body of a Congestion Notification Packet")                                      \
    X(MAD, "mad", roce_mad, "envelope of a management datagram")                                             \
    X(CM_REQ, "cm_req", roce_cm_req, "connection request")                                                   \
    X(CM_PATH, "cm_path", roce_cm_path_block, "primary path of a connection request")                        \
    X(CM_ALT_PATH, "cm_alt_path", roce_cm_path_block, "alternate path of a connection request")              \
    X(CM_IP, "cm_ip", roce_cm_ip, "IP addresses in the private data of a request")                           \
    X(CM_MRA, "cm_mra", roce_cm_mra, "message receipt acknowledgement")                                      \
    X(CM_REJ, "cm_rej", roce_cm_rej, "reject")                                                               \
    X(CM_REP, "cm_rep", roce_cm_rep, "reply")                                                                \
    X(CM_RTU, "cm_rtu", roce_cm_rtu, "ready to use")                                                         \
    X(CM_DREQ, "cm_dreq", roce_cm_dreq, "disconnect request")                                                \
    X(CM_DREP, "cm_drep", roce_cm_drep, "disconnect reply")                                                  \
    X(CM_SIDR_REQ, "cm_sidr_req", roce_cm_sidr_req, "service id resolution request")                         \
    X(CM_SIDR_REP, "cm_sidr_rep", roce_cm_sidr_rep, "service id resolution reply")                           \
    X(CM_LAP, "cm_lap", roce_cm_lap, "load alternate path")                                                  \
    X(CM_APR, "cm_apr", roce_cm_apr, "alternate path response")                                              \
    X(TCP, "tcp", net_tcp, "TCP")                                                                            \
    X(SMC_OPTION, "smc_option", net_tcp_exid, "TCP option that offers SMC-R")                                \
    X(CLC, "clc", smcr_clc, "header of a CLC message")                                                       \
    X(CLC_PROPOSAL, "clc_proposal", smcr_proposal, "CLC Proposal")                                           \
    X(CLC_SUBNET, "clc_subnet", smcr_subnet, "subnet of a CLC Proposal")                                     \
    X(CLC_PREFIX, "clc_prefix", smcr_prefix, "IPv6 prefix of a CLC Proposal")                                \
    X(CLC_ACCEPT, "clc_accept", smcr_accept, "CLC Accept")                                                   \
    X(CLC_CONFIRM, "clc_confirm", smcr_accept, "CLC Confirm")                                                \
    X(CLC_DECLINE, "clc_decline", smcr_decline, "CLC Decline")                                               \
    X(CLC_TRAILER, "clc_trailer", smcr_trailer, "eye catcher at the end of a CLC message")                   \
    X(CLC2_PROPOSAL, "clc2_proposal", smcr_proposal2, "CLC Proposal, version 2")                             \
    X(CLC2_EXTENSION, "clc2_extension", smcr_proposal2_ext, "what version 2 adds to a CLC Proposal")         \
    X(CLC2_EID, "clc2_eid", smcr_eid, "enterprise id")                                                       \
    X(CLC2_SMCD, "clc2_smcd", smcr_smcd_ext, "what a CLC Proposal offers for SMC-D")                         \
    X(CLC2_ISM, "clc2_ism", smcr_ism, "ISM device of a CLC Proposal")                                        \
    X(CLC2_ACCEPT, "clc2_accept", smcr_accept2, "CLC Accept, version 2")                                     \
    X(CLC2_CONFIRM, "clc2_confirm", smcr_accept2, "CLC Confirm, version 2")                                  \
    X(CLC2_FIRST_CONTACT, "clc2_first_contact", smcr_fce, "first contact extension of an Accept or Confirm") \
    X(CLC2_GIDS, "clc2_gids", smcr_gid_list, "how many GIDs a CLC Confirm lists")                            \
    X(CLC2_GID, "clc2_gid", smcr_gid, "GID of a CLC Confirm, for further links")                             \
    X(CLC2_DECLINE, "clc2_decline", smcr_decline2, "CLC Decline, version 2")                                 \
    X(LLC_CONFIRM_LINK, "llc_confirm_link", smcr_confirm_link, "LLC CONFIRM LINK")                           \
    X(LLC_ADD_LINK, "llc_add_link", smcr_add_link, "LLC ADD LINK")                                           \
    X(LLC_ADD_LINK_SHIFTED, "llc_add_link_shifted", smcr_add_link_shifted,                                   \
      "LLC ADD LINK as Linux lays it out")                                                                   \
    X(LLC_ADD_LINK_CONT, "llc_add_link_cont", smcr_add_link_cont, "LLC ADD LINK CONTINUATION")               \
    X(LLC_DELETE_LINK, "llc_delete_link", smcr_delete_link, "LLC DELETE LINK")                               \
    X(LLC_CONFIRM_RKEY, "llc_confirm_rkey", smcr_confirm_rkey, "LLC CONFIRM RKEY")                           \
    X(LLC_CONFIRM_RKEY_CONT, "llc_confirm_rkey_cont", smcr_confirm_rkey_cont,                                \
      "LLC CONFIRM RKEY CONTINUATION")                                                                       \
    X(LLC_TEST_LINK, "llc_test_link", smcr_test_link, "LLC TEST LINK")                                       \
    X(LLC_DELETE_RKEY, "llc_delete_rkey", smcr_delete_rkey, "LLC DELETE RKEY")                               \
    X(LLC2_CONFIRM_LINK, "llc2_confirm_link", smcr_confirm_link2, "LLC CONFIRM LINK, version 2")             \
    X(LLC2_ADD_LINK, "llc2_add_link", smcr_add_link2, "LLC ADD LINK, version 2")                             \
    X(LLC2_ADD_LINK_EXT, "llc2_add_link_ext", smcr_add_link2_ext,                                            \
      "what follows in an LLC ADD LINK of version 2")                                                        \
    X(LLC2_RTOKEN, "llc2_rtoken", smcr_rtoken2, "RToken of an LLC ADD LINK of version 2")                    \
    X(LLC2_DELETE_LINK, "llc2_delete_link", smcr_delete_link2, "LLC DELETE LINK, version 2")                 \
    X(LLC2_REQUEST_ADD_LINK, "llc2_request_add_link", smcr_request_add_link2, "LLC REQUEST ADD LINK")        \
    X(LLC2_GID, "llc2_gid", smcr_gid, "GID of an LLC REQUEST ADD LINK")                                      \
    X(LLC2_CONFIRM_RKEY, "llc2_confirm_rkey", smcr_confirm_rkey2, "LLC CONFIRM RKEY, version 2")             \
    X(LLC2_TEST_LINK, "llc2_test_link", smcr_test_link2, "LLC TEST LINK, version 2")                         \
    X(LLC2_DELETE_RKEY, "llc2_delete_rkey", smcr_delete_rkey2, "LLC DELETE RKEY, version 2")                 \
    X(CDC, "cdc", smcr_cdc, "CDC message")                                                                   \
    X(MPA_FRAME, "mpa_frame", iwarp_mpa_frame, "MPA Request or Reply of iWARP")                              \
    X(MPA_ENHANCED, "mpa_enhanced", iwarp_mpa_enhanced, "enhanced connection set-up of MPA")                 \
    X(MPA_MARKER, "mpa_marker", iwarp_marker, "MPA marker")                                                  \
    X(MPA, "mpa", iwarp_mpa_length, "MPA: an FPDU of iWARP begins")                                          \
    X(MPA_CRC, "mpa_crc", iwarp_mpa_crc, "CRC of an FPDU")                                                   \
    X(DDP, "ddp", iwarp_ctrl, "DDP and RDMAP control")                                                       \
    X(DDP_TAGGED, "ddp_tagged", iwarp_tagged, "DDP, tagged: into a buffer that the header names")            \
    X(DDP_UNTAGGED, "ddp_untagged", iwarp_untagged, "DDP, untagged: into a queue of the receiver")           \
    X(RDMAP_READ_REQ, "rdmap_read_req", iwarp_read_req, "RDMA Read Request of iWARP")                        \
    X(RDMAP_ATOMIC_REQ, "rdmap_atomic_req", iwarp_atomic_req, "Atomic Request of iWARP")                     \
    X(RDMAP_ATOMIC_RSP, "rdmap_atomic_rsp", iwarp_atomic_rsp, "Atomic Response of iWARP")                    \
    X(RDMAP_IMM, "rdmap_imm", iwarp_imm, "Immediate Data of iWARP")                                          \
    X(RDMAP_TERM, "rdmap_term", iwarp_term, "Terminate of iWARP")                                            \
    X(RDMAP_TERM_LENGTH, "rdmap_term_length", iwarp_term_length, "length of the segment that was refused")

enum explain_layer_id {
#define EXPLAIN_LAYER_ENUM_(id, key, header, words) EXPLAIN_LAYER_##id,
    EXPLAIN_LAYERS(EXPLAIN_LAYER_ENUM_)
#undef EXPLAIN_LAYER_ENUM_
        EXPLAIN_LAYER_COUNT
};

struct explain_layer_kind {
    enum explain_layer_id id;
    const char *key;
    const struct net_header *header;
    const char *words;
};

/* By id; ends with a NULL key. */
extern const struct explain_layer_kind explain_layer_kinds[EXPLAIN_LAYER_COUNT + 1];

/* The kind named by the first `n` bytes of `key`, or NULL. */
const struct explain_layer_kind *explain_layer_kind(const char *key, size_t n);
/* The field named by the first `n` bytes of `name`, or NULL. */
const struct net_field *explain_header_field(const struct net_header *header, const char *name, size_t n);

/* Below IP: of a link, a tunnel, or a frame that speaks of nothing but the link. */
static inline bool explain_layer_is_below_ip(enum explain_layer_id id)
{
    return id <= EXPLAIN_LAYER_DCBX_APP_ENTRY;
}

/* A message of the SMC-R handshake, or a part of one. */
static inline bool explain_layer_is_clc(enum explain_layer_id id)
{
    return id >= EXPLAIN_LAYER_CLC && id <= EXPLAIN_LAYER_CLC2_DECLINE;
}

/* An LLC message, or a part behind one. */
static inline bool explain_layer_is_llc(enum explain_layer_id id)
{
    return id >= EXPLAIN_LAYER_LLC_CONFIRM_LINK && id <= EXPLAIN_LAYER_LLC2_DELETE_RKEY;
}

/* Of iWARP: MPA, DDP or RDMAP. */
static inline bool explain_layer_is_iwarp(enum explain_layer_id id)
{
    return id >= EXPLAIN_LAYER_MPA_FRAME && id <= EXPLAIN_LAYER_RDMAP_TERM_LENGTH;
}

#endif
