/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance and its ports, as the files of smcr/ share them. */
#ifndef NORNIC_SMCR_INSTANCE_H
#define NORNIC_SMCR_INSTANCE_H

#include "roce/timer.h"
#include "smcr/smcr.h"
#include "smcr/stat.h"

struct smcr_peer_id {
    uint8_t b[SMCR_PEER_ID_BYTES];
};

/* An RNIC port as links see it. One CQ for all links on it, made larger as they come; completions find their
 * link by QPN. */
struct smcr_port {
    struct smcr *smcr;
    struct smcr_port *next;
    struct smcr_port_config config;
    struct net_mac mac;
    struct net_addr gid;
    uint16_t vlan_id;
    bool up;
    struct rdma_cq *cq;
    struct smcr_link *links; /* on this port: link->next_on_port */
    uint32_t num_links;
};

struct smcr {
    struct rdma_mem mem;
    struct smcr_config config; /* defaults filled in */
    struct roce_timers timers;
    struct smcr_port *ports;
    struct smcr_group *groups;
    uint32_t num_groups, num_conns;
    struct smcr_peer_id peer_id;                    /* settled with the first port: SMCR-ARC-21 */
    uint32_t next_link_user_id;                     /* SMCR-ARC-20 */
    struct smcr_conn *conns;                        /* all: conn->all_next */
    struct smcr_conn *changed_head, **changed_tail; /* something happened to these: conn->changed_next */
    struct smcr_counters counters;
    bool retiring;
};

/* Around control calls of a port's device. */
void smcr_port_lock(struct smcr_port *port);
void smcr_port_unlock(struct smcr_port *port);

static inline void smcr_arm(struct smcr *smcr, struct roce_timer *timer, uint64_t deadline_ns)
{
    roce_timer_arm(&smcr->timers, timer, deadline_ns);
}

static inline void smcr_cancel(struct smcr *smcr, struct roce_timer *timer)
{
    roce_timer_cancel(&smcr->timers, timer);
}

/* Calls the hook, if there is one; fills in the time. */
void smcr_trace(struct smcr *smcr, struct smcr_trace trace, uint64_t now_ns);

#endif
