/* SPDX-License-Identifier: BSD-2-Clause */
/* The RoCEv2 engine. A device is a deterministic function of its inputs: frames, work requests and time in;
 * frames, completions, events and the next deadline out. It does no I/O, reads no clock, takes no lock and
 * starts no thread.
 *
 * Threads: all calls of one device come from one thread at a time (the holder of the caller's lock), except
 * these, which the application's thread may make beside a running progress:
 * roce_post_send(), roce_bind_mw(), roce_post_recv() and rdma_srq_post() (one poster per queue at a time)
 * and rdma_cq_poll() (one poller per CQ). */
#ifndef NORNIC_ROCE_ROCE_H
#define NORNIC_ROCE_ROCE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/port.h"
#include "nornic/addr.h"
#include "nornic/decls.h"
#include "nornic/device.h"
#include "nornic/qp.h"
#include "rdma/cq.h"
#include "rdma/mem.h"
#include "rdma/mr.h"
#include "roce/cc_config.h"
#include "roce/counters.h"
#include "roce/trace.h"

NORNIC_BEGIN_DECLS

struct rdma_mw;
struct rdma_srq;
struct rdma_xrcd;
struct roce_dev;
struct roce_qp;

/* --- device --- */

/* One of the members names the object of the event; the others are NULL. */
struct roce_event {
    enum nornic_event_type type;
    struct roce_qp *qp;
    struct rdma_cq *cq;   /* CQ_ERR */
    struct rdma_srq *srq; /* SRQ_ERR, SRQ_LIMIT_REACHED */
};

/* The senders that a QP takes packets of: none before RTR and in ERR; for a connected QP its peer, by the
 * peer's address; for a datagram QP, or a QP with an alternate path, all. */
enum roce_reach { ROCE_REACH_NOBODY, ROCE_REACH_PEER, ROCE_REACH_ANYBODY };

/* Zero means the default, if the comment has one. */
#define ROCE_DEFAULT_WINDOW_PKTS 512 /* ROCE-RC-4 */
#define ROCE_DEFAULT_MAX_QP      16384u

/* The flow label of IPv6 packets. */
enum roce_labels {
    ROCE_LABELS_OF_VECTORS, /* that of the address vector, which is 0 for most programs */
    ROCE_LABELS_OF_FLOWS,   /* of a QP with 0 in its address vector: one of both QPNs (ROCE-FRM-45) */
};

struct roce_dev_config {
    const struct rdma_mem *mem; /* default: the C library's; copied */
    struct rdma_random random;  /* needed; copied */
    uint32_t max_qp;            /* default 16384 */
    uint32_t max_mr;            /* default 65536 */
    uint32_t port_mtu_bytes;    /* IP MTU of the port; bounds the path MTU (ROCE-QP-32); needed */
    uint32_t window_pkts;  /* unacknowledged request packets of a QP, below 2^23, default 512 (ROCE-RC-4) */
    uint32_t answer_bytes; /* of a QP's READs under way at once: a longer READ is asked for in
                              requests of half of it. Default 0: no limit */
    unsigned parse_flags;  /* enum roce_parse_flags: the receive profile */
    uint32_t first_qpn; /* lowest QPN that the device gives, at least 17, which is the default. Devices that
                             share an address need ranges that do not overlap: roce_dev_link() */
    uint32_t num_qpns;  /* QPNs from the first on, of which each is drawn; at least max_qp. Default 0: max_qp,
                             and they count up */
    uint16_t num_pkeys; /* size of the P_Key table, at most NORNIC_PKEY_MAX; default 1 (ROCE-LIM-4) */
    /* The table at the start: num_pkeys entries, each 0 or valid; borrowed for the call. Default NULL: entry
     * 0 is 0xffff (ROCE-VB-6), the others are invalid until set. */
    const uint16_t *pkeys;
    uint8_t hop_limit;     /* of all packets; default 0: that of the address vector */
    uint8_t traffic_class; /* of packets with an address vector of 0; default 0 */
    bool path_migration;   /* take alternate paths and migrate to them; Linux never does on RoCE ports */
    bool masked_atomics;   /* offer masked atomics, which have no standard format: docs/masked-atomics.md */
    bool selective;        /* retransmit selectively with peers that can: docs/selective-retransmission.md */
    bool roce_v1;          /* speak RoCEv1 as well (ROCE-FRM-55) */
    bool udp_socket;       /* the port is an ordinary UDP socket (net_port_limits.is_udp_socket) */
    uint16_t src_port_count; /* then: its UDP source ports (net_port_limits); default 0: 4791 alone */
    enum roce_labels labels; /* of IPv6 */
    /* Other processes have QPs at the device's addresses, and a QP 1 each: a packet to such an address
     * and a QPN outside of the device's range leaves by the port. */
    bool shared_addrs;
    struct roce_cc_config cc; /* congestion management */

    /* Called by a post when the device had no posted work before: wake a thread that sleeps on progress. May
     * be NULL. */
    void (*doorbell)(void *ctx);
    /* Called when the first QP attaches to a multicast group, and after the last has left it: the interface
     * joins (IGMP, MLD), or leaves. Its result for a join, 0 or -errno, is the attach's result. Must
     * not call back into the device. May be NULL. */
    int (*mcast)(void *ctx, const struct nornic_addr *group, bool join);
    /* Called inside progress and control calls. Must not call back into the device. May be NULL. */
    void (*event)(void *ctx, const struct roce_event *event);
    /* A QP is about to be freed by roce_qp_destroy(): events of it are void. Must
     * not call back into the device. May be NULL. */
    void (*qp_gone)(void *ctx, const struct roce_qp *qp);
    /* From now on a QP takes packets of nobody, of `peer` alone, or of anybody; of a new QP: nobody's. For a
     * port that can keep others away from the device (net_port_steer()); the device itself judges every
     * packet that it gets. Called inside progress and control calls. Must not call back into the device. May
     * be NULL. */
    void (*reach)(void *ctx, uint32_t qpn, enum roce_reach reach, const struct nornic_addr *peer);
    roce_trace_hook *trace; /* may be NULL */
    bool trace_parse_tx;
    void *ctx; /* for all six */
};

/* A first QPN at random that leaves room for `max_qp` (0: the default) among the `count` from `from` on (0:
 * all that there are): for a device that comes after another on the same address. Peers may still keep QPNs
 * of that one in TIMEWAIT (ROCE section 16.5), and packets for them may be on their way. */
uint32_t roce_draw_first_qpn(const struct rdma_random *random, uint32_t max_qp, uint32_t from,
                             uint32_t count);

/* 0, -EINVAL or -ENOMEM. */
int roce_dev_create(const struct roce_dev_config *config, struct roce_dev **out);
/* 0, or -EBUSY while it has QPs, PDs or regions. */
int roce_dev_destroy(struct roce_dev *dev);

/* The objects that keep a device from its end. Regions, windows, SRQs and address handles hold their PD. */
struct roce_dev_use {
    uint32_t qps; /* QP 1 among them */
    uint32_t pds, xrcds;
};
void roce_dev_use(const struct roce_dev *dev, struct roce_dev_use *out);

/* The key space of the device: for rdma_pd_create(). */
struct rdma_domain *roce_dev_domain(const struct roce_dev *dev);

/* The GID table: one entry per address of the interface, stable indexes (ROCE-AH-10). Returns the index,
 * -EINVAL (a V1 entry needs roce_dev_config.roce_v1; an address of a linked device: roce_dev_link()), -EEXIST
 * or -ENOSPC. Removing an entry moves the QPs that name it to ERR, but for those that migrate to an alternate
 * path. Both raise GID_CHANGE (ROCE-EV-10). */
int roce_dev_gid_add(struct roce_dev *dev, const struct nornic_gid *gid);
int roce_dev_gid_remove(struct roce_dev *dev, unsigned index, uint64_t now_ns);
/* The interface that owns the address has another MAC; QPs and address handles made from now on use it. 0
 * or -ENOENT. Raises GID_CHANGE. */
int roce_dev_gid_set_mac(struct roce_dev *dev, unsigned index, const struct nornic_mac *mac);
/* The entry at `index` (of any value), valid until the table changes; NULL: none. */
const struct nornic_gid *roce_dev_gid_get(const struct roce_dev *dev, unsigned index);
/* The lowest index of an entry that has `addr`, and this type and this VLAN if they are given (NULL:
 * any); -ENOENT: there is none. */
int roce_dev_gid_find(const struct roce_dev *dev, const struct nornic_addr *addr,
                      const enum nornic_gid_type *type, const uint16_t *vlan_id);

/* The P_Key table: 0, or -EINVAL (index, or a key whose low 15 bits are 0 and that is not 0 to clear the
 * entry). A change raises PKEY_CHANGE. QPs whose key is cleared keep their state, but take no packet and
 * send none until the entry has a key again. And an entry: 0 if there is none. */
int roce_dev_pkey_set(struct roce_dev *dev, unsigned index, uint16_t pkey);
uint16_t roce_dev_pkey_get(const struct roce_dev *dev, unsigned index);

/* Joins two devices, so that a frame that one of them sends to an address of the other is handed over
 * inside the engine: a port does not loop back its frames. Both, and all that either is joined to, are
 * driven by one thread at a time from now on, and are told apart by QPN ranges that do not overlap if
 * they have an address in common (-EINVAL if they do). Destroying a device takes it out. */
int roce_dev_link(struct roce_dev *a, struct roce_dev *b);

/* The host of `peer` says that nobody there takes packets (ICMP port unreachable), so waiting longer and
 * repeating lead to nothing: a request not answered within 100 ms, or when its own timer fires before, fails
 * with RETRY_EXC_ERR at once, or goes to the alternate path. An answer of the peer shows that it is there
 * after all, and all is as before. */
void roce_dev_refused(struct roce_dev *dev, const struct nornic_addr *peer, uint64_t now_ns);

/* The interface has another IP MTU: bounds the path MTU of queue pairs that are connected from now on, but
 * never above that of roce_dev_config, by which the port has sized its frames. Connections keep theirs, as
 * both ends cut messages by it. And the bound as it is. */
void roce_dev_set_port_mtu(struct roce_dev *dev, uint32_t mtu_bytes);
uint32_t roce_dev_port_mtu(const struct roce_dev *dev);

/* The port's link went up or down: PORT_ACTIVE, PORT_ERR (ROCE-EV-9). A new device's is up. */
void roce_dev_port_state(struct roce_dev *dev, bool up);

/* Takes received frames (borrowed for the call). */
void roce_dev_rx(struct roce_dev *dev, const struct net_frame *frames, unsigned n, uint64_t now_ns);

/* Builds up to `n` frames, each within the cap_bytes of its buffer, into `bufs` and returns how many. If a
 * buffer's train_pkts allows it, a frame may be a train (net/port.h): cut, it is the packets that would have
 * been built one by one. Packets to addresses of this device, and of those
 * that it is linked to, are handed over on the spot and not counted, so that fewer than `n` does not mean
 * that nothing more waits: a call does a bounded piece of work, and roce_dev_tx_pending() tells. */
unsigned roce_dev_tx(struct roce_dev *dev, struct net_frame *bufs, unsigned n, uint64_t now_ns);

/* Something waits to be built by roce_dev_tx(), or was posted and not yet looked at. */
bool roce_dev_tx_pending(const struct roce_dev *dev);

/* When roce_dev_expire() is due; NET_TIME_NONE: no timer runs. */
uint64_t roce_dev_deadline_ns(const struct roce_dev *dev);

/* Fires the timers that are due at `now_ns`. */
void roce_dev_expire(struct roce_dev *dev, uint64_t now_ns);

/* Lives as long as the device; written by the thread that makes progress. */
const struct roce_dev_counters *roce_dev_counters(const struct roce_dev *dev);

/* --- queue pairs --- */

struct roce_qp_config {
    enum nornic_qp_type type;
    struct rdma_pd *pd;
    struct rdma_cq *send_cq, *recv_cq; /* may be one */
    /* Receives come from here instead of the QP's own queue, whose caps do not matter then; or NULL. The
     * SRQ may be of another PD of the device. */
    struct rdma_srq *srq;
    /* XRC_TGT: the domain whose SRQs it delivers to; it has no PD, no CQ and no queue of its own. XRC_INI has
     * no recv_cq and no receive queue. */
    struct rdma_xrcd *xrcd;
    struct nornic_qp_caps caps;
    bool sq_sig_all;
    /* RC: selective retransmission. The responder keeps so many packets that come after a gap (0: none, as
     * the standard's go-back-N does; at most NORNIC_MAX_REORDER_PKTS, each costs 4200 bytes), and the
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
int roce_ah_create(struct roce_dev *dev, struct rdma_pd *pd, const struct nornic_av *av,
                   struct nornic_ah **out);
int roce_ah_destroy(struct nornic_ah *ah);

/* The way back to the sender of a datagram, from its completion and the first 40 bytes of its buffer
 * (ROCE-UD-6): `*av` is for roce_ah_create(). 0, -EINVAL (not a datagram's), or -EADDRNOTAVAIL (it was sent
 * to an address that the device no longer has). */
int roce_ah_from_wc(const struct roce_dev *dev, const struct nornic_wc *wc, const void *l3_area,
                    struct nornic_av *av);

/* Creates a QP in RESET. QPNs start at 17 and are not reused soon (ROCE-QP-34). 0, -EINVAL, -EOPNOTSUPP,
 * -ENOSPC or -ENOMEM; -EMSGSIZE: a UD QP where the port's MTU, below 352, carries no datagram of 256 bytes.
 */
int roce_qp_create(struct roce_dev *dev, const struct roce_qp_config *config, struct roce_qp **out);
/* 0, or -EBUSY while it is attached to a multicast group (ROCE-UD-21). */
int roce_qp_destroy(struct roce_qp *qp);

/* Attaches a UD QP to a multicast group, an IPv4 or IPv6 multicast address: from now on it gets a copy of
 * every datagram to the group that passes its own checks, also of those that this device sends
 * (ROCE-UD-20..23).
 * Attaching twice is attaching once. 0, -EINVAL (no UD QP, no multicast address), -ENOMEM, or what
 * roce_dev_config.mcast returned. Detaching: 0, or -EINVAL if it was not attached. */
int roce_qp_attach_mcast(struct roce_qp *qp, const struct nornic_addr *group);
int roce_qp_detach_mcast(struct roce_qp *qp, const struct nornic_addr *group);

/* Advertises no credits from now on, whatever the configuration said: the peer will not use them
 * (ROCE-RC-24). */
void roce_qp_no_credits(struct roce_qp *qp);

/* Changes state and attributes by the table of ROCE section 11.2. 0, or -EINVAL with nothing changed
 * (ROCE-QP-10). */
int roce_qp_modify(struct roce_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask, uint64_t now_ns);
/* Tells the values in force now. Either output may be NULL. */
void roce_qp_query(const struct roce_qp *qp, struct nornic_qp_attr *attr, struct nornic_qp_caps *caps);

/* The QPN (24 bits), the state, the caller's `ctx` of the configuration, and the counters, which live as
 * long as the QP. */
uint32_t roce_qp_num(const struct roce_qp *qp);
enum nornic_qp_state roce_qp_state(const struct roce_qp *qp);
void *roce_qp_ctx(const struct roce_qp *qp);
const struct roce_counters *roce_qp_counters(const struct roce_qp *qp);

/* How many sends are posted and not complete, and how many receives, in its own queue. */
void roce_qp_outstanding(const struct roce_qp *qp, uint32_t *sends, uint32_t *recvs);

/* Posts a list. 0; or -EINVAL (state, opcode, SGEs, lengths: ROCE-QP-40) or -ENOMEM (queue full), with *bad
 * (may be NULL) at the first request that was not taken; those before it are. */
int roce_post_send(struct roce_qp *qp, const struct nornic_send_wr *wr, const struct nornic_send_wr **bad);
/* The same, but where one cannot be taken, none is. */
int roce_post_send_all(struct roce_qp *qp, const struct nornic_send_wr *wr);
int roce_post_recv(struct roce_qp *qp, const struct nornic_recv_wr *wr, const struct nornic_recv_wr **bad);

/* Binds a type 1 window (ROCE-MW-1): posts a BIND_MW with the window's next key, which mw->rkey is when
 * this returns 0, so that it may be sent right behind (ROCE-MW-4); bind->len_bytes 0 unbinds. Fails as
 * roce_post_send() does, and with -EINVAL for a window of type 2 or of another PD than the QP's. One caller
 * at a time per window and per send queue. Type 2 windows are bound by NORNIC_WR_BIND_MW. */
int roce_bind_mw(struct roce_qp *qp, struct rdma_mw *mw, uint64_t wr_id, uint32_t send_flags,
                 const struct nornic_bind *bind);

NORNIC_END_DECLS

#endif
