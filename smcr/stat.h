/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be seen of an instance: counters, groups, links, RMBs, connections. For `nornic smc stat`. */
#ifndef NORNIC_SMCR_STAT_H
#define NORNIC_SMCR_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

struct smcr;

/* Name, and what it counts. */
#define SMCR_COUNTERS(C)                                                      \
    C(conns_smc, "connections over SMC-R")                                    \
    C(conns_fallback, "connections that fell back to TCP")                    \
    C(conns_reset, "connections that ended abnormally")                       \
    C(first_contacts, "link groups made")                                     \
    C(links_added, "links made")                                              \
    C(links_failed, "links that went down")                                   \
    C(failovers, "connections moved to another link")                         \
    C(replayed, "messages sent again on another link")                        \
    C(tx_bytes, "data bytes written")                                         \
    C(rx_bytes, "data bytes received")                                        \
    C(tx_writes, "RDMA writes")                                               \
    C(tx_cdc, "CDC messages sent")                                            \
    C(rx_cdc, "CDC messages taken")                                           \
    C(tx_window_updates, "CDC messages sent only for the consumer cursor")    \
    C(tx_blocked, "times that a writer found the window closed")              \
    C(tx_llc, "LLC messages sent")                                            \
    C(rx_llc, "LLC messages taken")                                           \
    C(llc_timeouts, "LLC replies that did not come")                          \
    C(llc_malformed, "LLC messages that cannot be (SMCR-REC-29)")             \
    C(llc_unmatched, "LLC responses that answer nothing (SMCR-SER-06)")       \
    C(llc_discarded, "optional LLC messages not known (SMCR-LLC-02)")         \
    C(cdc_old, "CDC messages older than the last, or repeated (SMCR-CDC-04)") \
    C(cdc_unknown_token, "CDC messages for no connection (SMCR-CDC-06)")      \
    C(cdc_bad, "CDC messages with impossible cursors (SMCR-CDC-12)")          \
    C(failover_lost, "failover validations that showed loss (SMCR-FOV-08)")   \
    C(eye_catcher, "RMBEs whose eye catcher was overwritten (SMCR-RMB-07)")   \
    C(clc_malformed, "CLC messages that cannot be (SMCR-CLC-06)")             \
    C(clc_timeouts, "CLC messages that did not come (SMCR-CLC-12)")           \
    C(declines_tx, "Declines sent")                                           \
    C(declines_rx, "Declines received")

struct smcr_counters {
#define SMCR_COUNTER_(name, words) uint64_t name;
    SMCR_COUNTERS(SMCR_COUNTER_)
#undef SMCR_COUNTER_
};
/* Live as long as the instance. */
const struct smcr_counters *smcr_counters(const struct smcr *smcr);

/* Strings are static or live until the next call of the instance. */
struct smcr_link_stat {
    uint8_t number;
    const char *state; /* "ACTIVE" */
    const char *port;
    uint32_t qpn, peer_qpn;
    struct nornic_addr gid, peer_gid;
    struct nornic_mac mac, peer_mac;
    uint32_t path_mtu_bytes; /* or less, where the MTU of the port shrank under the link */
    uint32_t user_id, peer_user_id;
    uint32_t conns; /* that send over it */
};
struct smcr_rmb_stat {
    uint32_t elem_bytes, elems, used;
};
struct smcr_conn_stat {
    const char *state; /* "ACTIVE", or the stage of the handshake */
    struct nornic_addr local, remote;
    uint16_t local_port, remote_port;
    uint32_t alert_token, peer_alert_token;
    uint8_t link; /* that it sends over; 0: none */
    uint64_t tx_bytes, rx_bytes;
    uint32_t window_bytes, readable_bytes, unsent_bytes;
    int owner_pid; /* as smcr_conn_config has it */
};
struct smcr_group_stat {
    uint32_t id; /* of this instance */
    bool server;
    uint8_t peer_id[8];
    uint16_t vlan_id;
    const char *redundancy; /* "SYMMETRIC" */
    uint8_t max_links;
    uint8_t version, release; /* of SMC-R: 1.0, 2.0 or 2.1 */
    char eid[33];       /* of version 2: the enterprise id that both know, without its blanks; else "" */
    uint32_t max_conns; /* of version 2; version 1 has no such limit: UINT32_MAX */
};
/* Each may be NULL. `conn` is called after its group, and with `group` NULL for those without one. */
struct smcr_stat_visitor {
    void (*group)(void *ctx, const struct smcr_group_stat *group);
    void (*link)(void *ctx, const struct smcr_group_stat *group, const struct smcr_link_stat *link);
    void (*rmb)(void *ctx, const struct smcr_group_stat *group, const struct smcr_rmb_stat *rmb);
    void (*conn)(void *ctx, const struct smcr_group_stat *group, const struct smcr_conn_stat *conn);
    void *ctx;
};
void smcr_stat_visit(const struct smcr *smcr, const struct smcr_stat_visitor *visitor);

NORNIC_END_DECLS

#endif
