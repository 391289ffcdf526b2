/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance and its ports, as the files of smcr/ share them. */
#ifndef NORNIC_SMCR_INSTANCE_H
#define NORNIC_SMCR_INSTANCE_H

#include "rdma/numbers.h"
#include "rdma/timer.h"
#include "smcr/smcr.h"
#include "smcr/stat.h"

struct smcr_peer_id {
    uint8_t b[SMCR_PEER_ID_BYTES];
};

struct smcr_group;
struct smcr_link;

/* Of each connection, link and group: what a step has left to be done for it (smcr/effects.h). */
enum smcr_effects_of { SMCR_OF_CONN, SMCR_OF_LINK, SMCR_OF_GROUP };
struct smcr_effects {
    struct smcr_effects *next, **prev; /* in smcr->effects while something is due */
    unsigned due;                      /* bits of the enumeration for its kind */
    enum smcr_effects_of of;
};

/* Completions that were taken out of a CQ and are not looked at yet: smcr/group/port_cq.c. */
struct smcr_inbox {
    struct nornic_wc *ring;
    uint32_t capacity, first, count;
};

/* An RNIC port as links see it. One CQ for all links on it, made larger as they come; completions find their
 * link by its place in `table`, which is in their wr_id, and their QPN. */
struct smcr_port {
    struct smcr *smcr;
    struct smcr_port *next;
    struct smcr_port_config config;
    struct nornic_mac mac;
    struct nornic_addr gid;
    uint16_t vlan_id;
    bool is_up;
    struct rdma_cq *cq;
    struct smcr_inbox inbox;
    struct smcr_link **table; /* table[link->port_index] == link, NULL: free */
    uint32_t table_size;
    struct smcr_link *links; /* on this port: link->next_on_port */
    uint32_t num_links;
    bool is_polled; /* a poll of it is running: SMCR-FOV-08 makes polls of the others nest in it */
};

struct smcr {
    struct rdma_mem mem;
    struct rdma_mem buffers;    /* of RMBs and send buffers */
    bool keeps_no_free_buffers; /* `buffers` are not those of `mem` */
    struct smcr_config config;  /* defaults filled in */
    struct rdma_timers timers;
    struct smcr_port *ports;
    struct smcr_group *groups;
    uint32_t num_groups, num_conns, last_group_id;
    bool holds;                        /* CDCs are held back: smcr_hold() */
    struct smcr_peer_id peer_id;       /* settled with the first port: SMCR-ARC-21 */
    struct rdma_numbers link_user_ids; /* SMCR-ARC-20 */
    uint32_t links_made;
    struct smcr_conn *conns;                        /* all: conn->all_next */
    struct smcr_conn *waiting;                      /* for a first contact to end: conn->contact_next */
    struct smcr_conn *changed_head, **changed_tail; /* something happened to these: conn->changed_next */
    struct smcr_effects *effects, **effects_tail;   /* what steps have left: smcr/effects.h */
    struct smcr_counters counters;
    bool is_retiring;
    uint64_t farewell_end_ns; /* retiring: a peer of version 1 has so long to close its connections */
};

/* Around control calls of a port's device. */
static inline void smcr_port_lock(struct smcr_port *port)
{
    if (port->config.lock)
        port->config.lock(port->config.ctx);
}

static inline void smcr_port_unlock(struct smcr_port *port)
{
    if (port->config.unlock)
        port->config.unlock(port->config.ctx);
}

static inline void smcr_arm(struct smcr *smcr, struct rdma_timer *timer, uint64_t deadline_ns)
{
    rdma_timer_arm(&smcr->timers, timer, deadline_ns);
}

static inline void smcr_cancel(struct smcr *smcr, struct rdma_timer *timer)
{
    rdma_timer_cancel(&smcr->timers, timer);
}

/* Calls the hook, if there is one; fills in the time. */
void smcr_trace(struct smcr *smcr, struct smcr_trace trace, uint64_t now_ns);

#endif
