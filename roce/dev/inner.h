/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a device. Only roce/ includes this. */
#ifndef NORNIC_ROCE_DEVICE_H
#define NORNIC_ROCE_DEVICE_H

#include <stdatomic.h>

#include "rdma/event.h"
#include "rdma/timer.h"
#include "roce/dev/gid.h"
#include "roce/wire/ip_id.h"
#include "roce/datagram/mcast.h"
#include "roce/qp/inner.h"
#include "roce/roce.h"
#include "rdma/numbers.h"
#include "roce/qp/spare.h"

#define ROCE_FIRST_QPN     17      /* ROCE-QP-34 */
#define ROCE_PKEY_BASE     0x7fffu /* without the membership bit: ROCE-HDR-5 */
#define ROCE_TIMERS_PER_QP 4       /* armed at once, at the most */

/* A slot without a QP, and how many QPs it has had. */
struct roce_free_slot {
    uint32_t slot, uses;
};

struct roce_dev {
    struct roce_dev_config config; /* defaults filled in */
    uint32_t port_mtu_bytes;       /* the interface's, at most that of `config` */
    struct rdma_mem mem;
    struct rdma_domain *domain;
    struct roce_gid_table gids;
    uint32_t gid_epoch; /* from 1 on; another one whenever an address or a group of this device or a linked
                           one has come or gone */
    struct roce_mcast_table groups;
    uint16_t *pkeys;         /* config.num_pkeys of them; 0: invalid */
    struct roce_dev *linked; /* ring of devices that reach each other inside; itself if it is alone */
    bool is_port_up;
    struct rdma_timers timers;
    struct roce_dev_counters counters;
    uint16_t ip_id;            /* of the next packet */
    struct roce_ip_ids ip_ids; /* of what came over a UDP socket */

    struct roce_spare spare; /* for QPs on a lossy path */

    struct roce_qp **qps; /* by slot, which `qpns` leads to */
    struct rdma_slot_numbers qpns;
    struct roce_qp *gsi;               /* QP1, or NULL */
    struct roce_free_slot *free_slots; /* first in, first out, so that a QPN rests as long as it can */
    uint32_t free_head, free_count;

    struct roce_qp
        *_Atomic posted; /* stack of QPs with fresh posts; any thread pushes, the engine takes all */
    struct roce_qp *ready_first, *ready_last;
};

/* Counts for a QP and its device at once. */
#define roce_count(qp, name) roce_count_n(qp, name, 1)
#define roce_count_n(qp, name, n)            \
    do {                                     \
        (qp)->counters.name += (n);          \
        (qp)->dev->counters.qps.name += (n); \
    } while (0)

static inline void *roce_alloc(const struct roce_dev *dev, size_t len_bytes)
{
    return dev->mem.alloc(dev->mem.ctx, len_bytes);
}

static inline void roce_free(const struct roce_dev *dev, void *p)
{
    if (p)
        dev->mem.free(dev->mem.ctx, p);
}

/* --- event.c --- */
/* Raises an event of the device itself. */
void roce_dev_event(struct roce_dev *dev, enum nornic_event_type type);
/* The hook of the device's domain, for events of what is in it; `dev` is the struct roce_dev. */
void roce_dev_on_event(void *dev, const struct rdma_event *event);

/* --- roce/qp/error.c --- */
/* Moves the QPs of overflowed CQs to ERR (ROCE-CQ-2); called at the end of a step. */
void roce_dev_settle(struct roce_dev *dev, uint64_t now_ns);

/* --- rx.c --- */
/* Judges a frame, of a train each packet, and hands it to the QP that it is for; one from the port, or
 * looped. */
void roce_rx_frame(struct roce_dev *dev, const struct net_frame *frame, uint64_t now_ns);

/* --- pkey.c --- */
/* A packet with key `a` may reach a QP with key `b`: the same partition, one of the two a full member. */
bool roce_pkeys_match(uint16_t a, uint16_t b);
/* The entry of the P_Key table that a packet's P_Key matches, the same key before one of another membership;
 * -1: none (ROCE-HDR-5, ROCE-GSI-2). */
int roce_pkey_index(const struct roce_dev *dev, uint16_t pkey);

/* --- qpn.c --- */
struct roce_qp *roce_dev_find_qp(const struct roce_dev *dev, uint32_t qpn);
/* The device's range has the QPN, whether or not a QP does. */
bool roce_dev_has_qpn(const struct roce_dev *dev, uint32_t qpn);
/* Takes a QPN for `qp`: 0 or -ENOSPC. And gives it back. */
int roce_dev_add_qp(struct roce_dev *dev, struct roce_qp *qp);
void roce_dev_remove_qp(struct roce_dev *dev, struct roce_qp *qp);

/* --- gid_table.c --- */
/* The address is in the device's own GID table, as an entry of whichever type. */
bool roce_dev_owns(const struct roce_dev *dev, const struct nornic_addr *addr);
/* Routes of this device and of those that it is linked to have to be looked for again. */
void roce_dev_reroute(struct roce_dev *dev);

/* --- ready.c --- */
/* The QP may have something to send; and is off the list of those that may. */
void roce_dev_ready(struct roce_dev *dev, struct roce_qp *qp);
void roce_dev_unready(struct roce_dev *dev, struct roce_qp *qp);
/* Any thread: the QP has a fresh post (rdma_qp_ops.posted). */
void roce_qp_posted(struct rdma_qp *base);
/* Moves the QPs with fresh posts to the ready list; those in ERR are flushed. */
void roce_dev_collect_posted(struct roce_dev *dev);

/* --- trace.c --- */
/* Hands an event to the trace hook, if there is one. */
void roce_trace_emit(struct roce_dev *dev, const struct roce_trace *event);

#endif
