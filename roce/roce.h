/* SPDX-License-Identifier: BSD-2-Clause */
/* The RoCEv2 engine. A device is a deterministic function of its inputs: frames, work requests and time in;
 * frames, completions, events and the next deadline out. It does no I/O, reads no clock, takes no lock and
 * starts no thread.
 *
 * Who may call what: all calls of one device come from one thread at a time (whoever holds the lock that
 * the caller keeps), except these, which the application's thread may make beside a running progress:
 * roce_post_send(), roce_bind_mw(), roce_post_recv() and rdma_srq_post() (one poster per queue at a time)
 * and rdma_cq_poll() (one poller per CQ). */
#ifndef NORNIC_ROCE_ROCE_H
#define NORNIC_ROCE_ROCE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/addr.h"
#include "net/port.h"
#include "rdma/cq.h"
#include "rdma/mem.h"
#include "rdma/mr.h"
#include "rdma/wr.h"
#include "roce/cc_config.h"
#include "roce/counters.h"
#include "roce/trace.h"

struct rdma_mw;
struct rdma_srq;
struct rdma_xrcd;
struct roce_dev;
struct roce_qp;

/* --- device --- */

/* Asynchronous events, ROCE section 12.2 (values of the verbs ABI). */
enum roce_event_type {
    ROCE_EVENT_CQ_ERR = 0,
    ROCE_EVENT_QP_FATAL = 1,
    ROCE_EVENT_QP_REQ_ERR = 2,
    ROCE_EVENT_QP_ACCESS_ERR = 3,
    ROCE_EVENT_COMM_EST = 4,
    ROCE_EVENT_SQ_DRAINED = 5,
    ROCE_EVENT_PATH_MIG = 6,
    ROCE_EVENT_PATH_MIG_ERR = 7,
    ROCE_EVENT_DEVICE_FATAL = 8,
    ROCE_EVENT_PORT_ACTIVE = 9,
    ROCE_EVENT_PORT_ERR = 10,
    ROCE_EVENT_PKEY_CHANGE = 12,
    ROCE_EVENT_SRQ_ERR = 14,
    ROCE_EVENT_SRQ_LIMIT_REACHED = 15,
    ROCE_EVENT_QP_LAST_WQE_REACHED = 16,
    ROCE_EVENT_GID_CHANGE = 18,
    ROCE_EVENT_COUNT
};

/* What it is about is named by one of the members; the others are NULL. */
struct roce_event {
    enum roce_event_type type;
    struct roce_qp *qp;
    struct rdma_cq *cq;   /* CQ_ERR */
    struct rdma_srq *srq; /* SRQ_ERR, SRQ_LIMIT_REACHED */
};

/* The name of an event as the standard writes it ("QP_ACCESS_ERR"); never NULL. */
const char *roce_event_name(enum roce_event_type type);

#define ROCE_PKEY_MAX     128 /* entries of a P_Key table at the most */
#define ROCE_PKEY_DEFAULT 0xffff

/* Zero means the default where one is named. */
struct roce_dev_config {
    const struct rdma_mem *mem; /* default: the C library's; copied */
    struct rdma_random random;  /* needed; copied */
    uint32_t max_qp;            /* default 16384 */
    uint32_t max_mr;            /* default 65536 */
    uint32_t port_mtu_bytes;    /* IP MTU of the port; bounds the path MTU (ROCE-QP-32); needed */
    uint32_t window_pkts; /* unacknowledged request packets of a QP, below 2^23, default 512 (ROCE-RC-4) */
    unsigned parse_flags; /* enum roce_parse_flags: the receive profile */
    uint32_t first_qpn;   /* lowest QPN that the device gives, at least 17, which is the default. Devices that
                             share an address need ranges that do not overlap: roce_dev_link() */
    uint16_t num_pkeys;   /* size of the P_Key table, at most ROCE_PKEY_MAX; default 1 (ROCE-LIM-4). Entry 0
                             is 0xffff from the start (ROCE-VB-6), the others are invalid until set */
    bool path_migration;  /* take alternate paths and migrate to them; Linux never does on RoCE ports */
    bool masked_atomics;  /* offer masked atomics, which have no standard format: docs/masked-atomics.md */
    bool roce_v1;         /* speak RoCEv1 as well (ROCE-FRM-55) */
    struct roce_cc_config cc; /* congestion management */

    /* Called by a post when the device had no posted work before: wake whoever sleeps on progress. May be
     * NULL. */
    void (*doorbell)(void *ctx);
    /* Called when the first QP attaches to a multicast group, and after the last has left it: the interface
     * joins (IGMP, MLD), or leaves. Whatever it returns for a join, 0 or -errno, is the attach's result. Must
     * not call back into the device. May be NULL. */
    int (*mcast)(void *ctx, const struct net_addr *group, bool join);
    /* Called inside progress and control calls. Must not call back into the device. May be NULL. */
    void (*event)(void *ctx, const struct roce_event *event);
    roce_trace_hook *trace; /* may be NULL */
    bool trace_parse_tx;
    void *ctx; /* for all four */
};

/* 0, -EINVAL or -ENOMEM. */
int roce_dev_create(const struct roce_dev_config *config, struct roce_dev **out);
/* 0, or -EBUSY while it has QPs, PDs or regions. */
int roce_dev_destroy(struct roce_dev *dev);

/* The key space of the device: for rdma_pd_create(). */
struct rdma_domain *roce_dev_domain(const struct roce_dev *dev);

/* The protocol that an entry of the GID table stands for: ROCE-AH-10. Which IP version a V2 entry has, its
 * address says. */
enum roce_gid_type { ROCE_GID_V2, ROCE_GID_V1 };

#define ROCE_GID_MAX 64 /* entries of a GID table: ROCE-LIM-4 */

/* One entry of the GID table. */
struct roce_gid {
    struct net_addr addr; /* IPv4 as ::ffff:a.b.c.d */
    enum roce_gid_type type;
    struct net_mac mac; /* of the interface that owns the address */
    uint16_t vlan_id;   /* 0: untagged */
};

/* The GID table: one entry per address of the interface, stable indexes (ROCE-AH-10). Returns the index,
 * -EINVAL (a V1 entry needs roce_dev_config.roce_v1; an address of a linked device: roce_dev_link()), -EEXIST
 * or -ENOSPC. Removing an entry moves the QPs that name it to ERR, but for those that migrate to an alternate
 * path. Both raise GID_CHANGE (ROCE-EV-10). */
int roce_dev_gid_add(struct roce_dev *dev, const struct roce_gid *gid);
int roce_dev_gid_remove(struct roce_dev *dev, unsigned index, uint64_t now_ns);
/* The interface that owns the address has another MAC; QPs and address handles made from now on use it. 0
 * or -ENOENT. Raises GID_CHANGE. */
int roce_dev_gid_set_mac(struct roce_dev *dev, unsigned index, const struct net_mac *mac);
/* The entry at `index` (of any value), valid until the table changes; NULL: none. */
const struct roce_gid *roce_dev_gid_get(const struct roce_dev *dev, unsigned index);

/* The P_Key table: 0, or -EINVAL (index, or a key whose low 15 bits are 0 and that is not 0 to clear the
 * entry). A change raises PKEY_CHANGE. QPs whose key is cleared keep their state, but take no packet and
 * send none until the entry has a key again. And an entry: 0 where there is none. */
int roce_dev_pkey_set(struct roce_dev *dev, unsigned index, uint16_t pkey);
uint16_t roce_dev_pkey_get(const struct roce_dev *dev, unsigned index);

/* Joins two devices, so that a frame that one of them sends to an address of the other is handed over
 * inside the engine: a port does not loop back what it sends. Both, and all that either is joined to, are
 * driven by one thread at a time from now on, and are told apart by QPN ranges that do not overlap where
 * they have an address in common (-EINVAL if they do). Destroying a device takes it out. */
int roce_dev_link(struct roce_dev *a, struct roce_dev *b);

/* The port's link went up or down: PORT_ACTIVE, PORT_ERR (ROCE-EV-9). A new device's is up. */
void roce_dev_port_state(struct roce_dev *dev, bool up);

/* Takes received frames (borrowed for the call). */
void roce_dev_rx(struct roce_dev *dev, const struct net_frame *frames, unsigned n, uint64_t now_ns);

/* Builds up to `n` frames into `bufs` and returns how many. Packets to addresses of this device, and of those
 * that it is linked to, are handed over on the spot and not counted, so that fewer than `n` does not mean
 * that nothing more waits: a call does a bounded piece of work, and roce_dev_tx_pending() tells. */
unsigned roce_dev_tx(struct roce_dev *dev, struct net_frame *bufs, unsigned n, uint64_t now_ns);

/* Something waits to be built by roce_dev_tx(), or was posted and not yet looked at. */
bool roce_dev_tx_pending(const struct roce_dev *dev);

/* When roce_dev_expire() is due; NET_TIME_NONE: no timer runs. */
uint64_t roce_dev_deadline_ns(const struct roce_dev *dev);

/* Fires the timers that are due at `now_ns`. */
void roce_dev_expire(struct roce_dev *dev, uint64_t now_ns);

/* Lives as long as the device; written by whoever makes progress. */
const struct roce_dev_counters *roce_dev_counters(const struct roce_dev *dev);

/* --- queue pairs --- */

enum roce_qp_type {
    ROCE_QPT_GSI = 1, /* QP1, one a device: ROCE section 10.3 */
    ROCE_QPT_RC = 2,
    ROCE_QPT_UC = 3,
    ROCE_QPT_UD = 4,
    ROCE_QPT_XRC_INI = 9,
    ROCE_QPT_XRC_TGT = 10,
};

/* ROCE section 11.1 (values of the verbs ABI). */
enum roce_qp_state {
    ROCE_QPS_RESET = 0,
    ROCE_QPS_INIT = 1,
    ROCE_QPS_RTR = 2,
    ROCE_QPS_RTS = 3,
    ROCE_QPS_SQD = 4,
    ROCE_QPS_SQE = 5,
    ROCE_QPS_ERR = 6,
    ROCE_QPS_COUNT
};

const char *roce_qp_state_name(enum roce_qp_state state); /* "RTS" */

/* Path MTU, ROCE-HDR-24. */
enum roce_mtu { ROCE_MTU_256 = 1, ROCE_MTU_512 = 2, ROCE_MTU_1024 = 3, ROCE_MTU_2048 = 4, ROCE_MTU_4096 = 5 };

/* Bytes of a path MTU, or 0; and the enum of a number of bytes, or 0 where there is none. */
uint32_t roce_mtu_bytes(enum roce_mtu mtu);
enum roce_mtu roce_mtu_from_bytes(uint32_t bytes);
/* The largest path MTU that fits an interface: mtu_bytes - 96, as connection managers count (ROCE-INT-25);
 * 0: none. */
enum roce_mtu roce_mtu_for_port(uint32_t port_mtu_bytes);

/* Address vector: ROCE-AH-1. The destination MAC is resolved by the caller. */
struct roce_av {
    struct net_addr dgid;
    uint8_t sgid_index;
    uint8_t sl; /* 0..7: PCP of the VLAN tag */
    uint8_t traffic_class;
    uint8_t hop_limit;
    uint32_t flow_label;
    struct net_mac dst_mac;
};

/* Bits of an attribute mask: ROCE section 11.2. */
enum roce_qp_attr_mask {
    ROCE_QP_STATE = 1 << 0,
    ROCE_QP_CUR_STATE = 1 << 1,
    ROCE_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
    ROCE_QP_ACCESS_FLAGS = 1 << 3,
    ROCE_QP_PKEY_INDEX = 1 << 4,
    ROCE_QP_PORT = 1 << 5,
    ROCE_QP_QKEY = 1 << 6,
    ROCE_QP_AV = 1 << 7,
    ROCE_QP_PATH_MTU = 1 << 8,
    ROCE_QP_TIMEOUT = 1 << 9,
    ROCE_QP_RETRY_CNT = 1 << 10,
    ROCE_QP_RNR_RETRY = 1 << 11,
    ROCE_QP_RQ_PSN = 1 << 12,
    ROCE_QP_MAX_QP_RD_ATOMIC = 1 << 13,
    ROCE_QP_ALT_PATH = 1 << 14,
    ROCE_QP_MIN_RNR_TIMER = 1 << 15,
    ROCE_QP_SQ_PSN = 1 << 16,
    ROCE_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
    ROCE_QP_PATH_MIG_STATE = 1 << 18,
    ROCE_QP_CAP = 1 << 19,
    ROCE_QP_DEST_QPN = 1 << 20,
};

struct roce_qp_attr {
    enum roce_qp_state state;
    enum roce_qp_state cur_state;
    bool en_sqd_async_notify;
    uint32_t access_flags; /* enum rdma_access: REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC */
    uint16_t pkey_index;
    uint8_t port; /* 1 */
    uint32_t qkey;
    struct roce_av av;
    enum roce_mtu path_mtu;
    uint8_t timeout;       /* 0..31: 4.096 us * 2^timeout; 0: no timer (ROCE-RC-41) */
    uint8_t retry_cnt;     /* 0..7 (ROCE-RC-47) */
    uint8_t rnr_retry;     /* 0..7, 7: for ever (ROCE-RC-49) */
    uint8_t min_rnr_timer; /* 0..31: code of ROCE-HDR-22 */
    uint32_t rq_psn;
    uint32_t sq_psn;
    uint8_t max_rd_atomic;
    uint8_t max_dest_rd_atomic;
    uint32_t dest_qpn;
    /* Path migration; only where roce_dev_config.path_migration is on (ROCE-QP-33, IBA 17.2.8). */
    struct roce_av alt_av;
    uint16_t alt_pkey_index;
    uint8_t alt_timeout;    /* as timeout */
    uint8_t path_mig_state; /* 0 migrated, 1 rearm, 2 armed. Setting 0 in state 2 migrates */
};

struct roce_qp_caps {
    uint32_t max_send_wr, max_recv_wr;   /* rounded up to powers of two */
    uint32_t max_send_sge, max_recv_sge; /* at most ROCE_MAX_SGE */
    uint32_t max_inline_bytes;           /* at most ROCE_MAX_INLINE_BYTES */
};

#define ROCE_MAX_WR           (1u << 20)
#define ROCE_MAX_SGE          16
#define ROCE_MAX_INLINE_BYTES 1024
#define ROCE_MAX_RD_ATOMIC    128 /* ROCE-LIM-1 */
#define ROCE_MAX_REORDER_PKTS 4096
#define ROCE_MAX_MSG_BYTES    (1u << 31)

struct roce_qp_config {
    enum roce_qp_type type;
    struct rdma_pd *pd;
    struct rdma_cq *send_cq, *recv_cq; /* may be one */
    /* Receives come from here instead of the QP's own queue, whose caps do not matter then; or NULL. The
     * SRQ may be of another PD of the device. */
    struct rdma_srq *srq;
    /* XRC_TGT: the domain whose SRQs it delivers to; it has no PD, no CQ and no queue of its own. XRC_INI has
     * no recv_cq and no receive queue. */
    struct rdma_xrcd *xrcd;
    struct roce_qp_caps caps;
    bool sq_sig_all;
    /* RC: selective retransmission. The responder keeps so many packets that come after a gap (0: none, as
     * the standard's go-back-N does; at most ROCE_MAX_REORDER_PKTS, each costs 4200 bytes), and the
     * requester sends again only what a NAK names, as long as the peer shows that it keeps the rest.
     * Interoperates with a peer that goes back N. */
    uint32_t reorder_pkts;
    bool e2e_credits;              /* advertise the posted receives as credits (ROCE-RS-53); off: unlimited */
    bool block_multicast_loopback; /* UD: no copy of what the QP itself sends to a group that it is attached
                                      to (ROCE-UD-23) */
    void *ctx;                     /* the caller's: roce_qp_ctx() */
};

/* Address handles: ROCE-AH-1..3. Made of `av` for UD sends of QPs of `pd`. 0, -EINVAL (no such SGID index, a
 * family that does not fit it, SL above 7: ROCE-VB-5, a unicast MAC of all ones: ROCE-FRM-1) or -ENOMEM.
 * Destroying fails with -EBUSY while a posted send names it. */
int roce_ah_create(struct roce_dev *dev, struct rdma_pd *pd, const struct roce_av *av, struct rdma_ah **out);
int roce_ah_destroy(struct rdma_ah *ah);

/* Every receive buffer of a UD or GSI QP begins with the L3 header of what arrived: 40 bytes, an IPv4
 * header in the second 20 of them (ROCE-UD-4). */
#define ROCE_L3_AREA_BYTES 40

/* The way back to the sender of a datagram, from its completion and the first 40 bytes of its buffer
 * (ROCE-UD-6): `*av` is for roce_ah_create(). 0, -EINVAL (not a datagram's), or -EADDRNOTAVAIL (it was sent
 * to an address that the device no longer has). */
int roce_ah_from_wc(const struct roce_dev *dev, const struct rdma_wc *wc, const void *l3_area,
                    struct roce_av *av);

/* Creates a QP in RESET. QPNs start at 17 and are not reused soon (ROCE-QP-34). 0, -EINVAL, -EOPNOTSUPP,
 * -ENOSPC or -ENOMEM. */
int roce_qp_create(struct roce_dev *dev, const struct roce_qp_config *config, struct roce_qp **out);
/* 0, or -EBUSY while it is attached to a multicast group (ROCE-UD-21). */
int roce_qp_destroy(struct roce_qp *qp);

/* Attaches a UD QP to a multicast group, an IPv4 or IPv6 multicast address: from now on it gets a copy of
 * every datagram to the group that passes its own checks, also of those that this device sends
 * (ROCE-UD-20..23).
 * Attaching twice is attaching once. 0, -EINVAL (no UD QP, no multicast address), -ENOMEM, or what
 * roce_dev_config.mcast returned. Detaching: 0, or -EINVAL if it was not attached. */
int roce_qp_attach_mcast(struct roce_qp *qp, const struct net_addr *group);
int roce_qp_detach_mcast(struct roce_qp *qp, const struct net_addr *group);

/* Advertises no credits from now on, whatever the configuration said: the peer will not use them
 * (ROCE-RC-24). */
void roce_qp_no_credits(struct roce_qp *qp);

/* Changes state and attributes by the table of ROCE section 11.2. 0, or -EINVAL with nothing changed
 * (ROCE-QP-10). */
int roce_qp_modify(struct roce_qp *qp, const struct roce_qp_attr *attr, uint32_t mask, uint64_t now_ns);
/* What is in force now. Either output may be NULL. */
void roce_qp_query(const struct roce_qp *qp, struct roce_qp_attr *attr, struct roce_qp_caps *caps);

/* The QPN (24 bits), the state, the caller's `ctx` of the configuration, and the counters, which live as
 * long as the QP. */
uint32_t roce_qp_num(const struct roce_qp *qp);
enum roce_qp_state roce_qp_state(const struct roce_qp *qp);
void *roce_qp_ctx(const struct roce_qp *qp);
const struct roce_counters *roce_qp_counters(const struct roce_qp *qp);

/* Posts a list. 0; or -EINVAL (state, opcode, SGEs, lengths: ROCE-QP-40) or -ENOMEM (queue full), with *bad
 * (may be NULL) at the first request that was not taken; those before it are. */
int roce_post_send(struct roce_qp *qp, const struct rdma_send_wr *wr, const struct rdma_send_wr **bad);
int roce_post_recv(struct roce_qp *qp, const struct rdma_recv_wr *wr, const struct rdma_recv_wr **bad);

/* Binds a type 1 window (ROCE-MW-1): posts a BIND_MW with the window's next key, which mw->rkey is when
 * this returns 0, so that it may be sent right behind (ROCE-MW-4); bind->len_bytes 0 unbinds. Fails as
 * roce_post_send() does, and with -EINVAL for a window of type 2 or of another PD than the QP's. One caller
 * at a time per window and per send queue. Type 2 windows are bound by RDMA_WR_BIND_MW. */
int roce_bind_mw(struct roce_qp *qp, struct rdma_mw *mw, uint64_t wr_id, uint32_t send_flags,
                 const struct rdma_bind *bind);

#endif
