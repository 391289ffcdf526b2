/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: types, states, attributes, capacities. The enumerators have the values of the verbs ABI. */
#ifndef NORNIC_QP_H
#define NORNIC_QP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "nornic/decls.h"
#include "nornic/error.h"
#include "nornic/wc.h"
#include "nornic/wr.h"

NORNIC_BEGIN_DECLS

/* The services: ROCE section 10. */
enum nornic_qp_type {
    NORNIC_QPT_GSI = 1, /* QP1, one a device: ROCE section 10.3 */
    NORNIC_QPT_RC = 2,
    NORNIC_QPT_UC = 3,
    NORNIC_QPT_UD = 4,
    NORNIC_QPT_XRC_INI = 9,
    NORNIC_QPT_XRC_TGT = 10,
};

/* States: ROCE section 11.1 (values of the verbs ABI). */
enum nornic_qp_state {
    NORNIC_QPS_RESET = 0,
    NORNIC_QPS_INIT = 1,
    NORNIC_QPS_RTR = 2,
    NORNIC_QPS_RTS = 3,
    NORNIC_QPS_SQD = 4,
    NORNIC_QPS_SQE = 5,
    NORNIC_QPS_ERR = 6,
    NORNIC_QPS_COUNT
};

const char *nornic_qp_state_name(enum nornic_qp_state state); /* "RTS" */

/* Path MTU, ROCE-HDR-24. */
enum nornic_mtu {
    NORNIC_MTU_256 = 1,
    NORNIC_MTU_512 = 2,
    NORNIC_MTU_1024 = 3,
    NORNIC_MTU_2048 = 4,
    NORNIC_MTU_4096 = 5
};

/* Bytes of a path MTU, or 0; and the enum of a number of bytes, or 0 where there is none. */
uint32_t nornic_mtu_bytes(enum nornic_mtu mtu);
enum nornic_mtu nornic_mtu_from_bytes(uint32_t bytes);
/* The largest path MTU that fits an interface: mtu_bytes - 96, as connection managers count (ROCE-INT-25);
 * 0: none. */
enum nornic_mtu nornic_mtu_for_port(uint32_t port_mtu_bytes);

/* How long a RoCE QP of RC whose peer never answers tries until it fails with NORNIC_WC_RETRY_EXC_ERR, by its
 * attributes `timeout` (0..31) and `retry_cnt` (0..7): the ACK timer runs retry_cnt + 1 times, from once to
 * four times as long as it says (ROCE-RC-41), where that is more than once at most half a second. UINT64_MAX:
 * for ever, without a timer. */
uint64_t nornic_rc_gives_up_ns(uint8_t timeout, uint8_t retry_cnt);

/* Address vector: ROCE-AH-1. The caller gives the destination's MAC, or all ones: nornic_ah_create() and
 * nornic_qp_modify() then find it, for at most two seconds (ROCE-AH-2). */
struct nornic_av {
    struct nornic_addr dgid;
    uint8_t sgid_index;
    uint8_t sl; /* 0..7: PCP of the VLAN tag; above: -EINVAL (ROCE-VB-5) */
    uint8_t traffic_class;
    uint8_t hop_limit;
    uint32_t flow_label; /* the low 20 bits travel */
    struct nornic_mac dst_mac;
};

/* Bits of an attribute mask: ROCE section 11.2. */
enum nornic_qp_attr_mask {
    NORNIC_QP_STATE = 1 << 0,
    NORNIC_QP_CUR_STATE = 1 << 1,
    NORNIC_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
    NORNIC_QP_ACCESS_FLAGS = 1 << 3,
    NORNIC_QP_PKEY_INDEX = 1 << 4,
    NORNIC_QP_PORT = 1 << 5,
    NORNIC_QP_QKEY = 1 << 6,
    NORNIC_QP_AV = 1 << 7,
    NORNIC_QP_PATH_MTU = 1 << 8,
    NORNIC_QP_TIMEOUT = 1 << 9,
    NORNIC_QP_RETRY_CNT = 1 << 10,
    NORNIC_QP_RNR_RETRY = 1 << 11,
    NORNIC_QP_RQ_PSN = 1 << 12,
    NORNIC_QP_MAX_QP_RD_ATOMIC = 1 << 13,
    NORNIC_QP_ALT_PATH = 1 << 14,
    NORNIC_QP_MIN_RNR_TIMER = 1 << 15,
    NORNIC_QP_SQ_PSN = 1 << 16,
    NORNIC_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
    NORNIC_QP_PATH_MIG_STATE = 1 << 18,
    NORNIC_QP_CAP = 1 << 19,
    NORNIC_QP_DEST_QPN = 1 << 20,
};

/* The attributes of a queue pair; a mask of enum nornic_qp_attr_mask says which of them count. */
struct nornic_qp_attr {
    enum nornic_qp_state state;
    enum nornic_qp_state cur_state;
    bool en_sqd_async_notify;
    uint32_t access_flags; /* enum nornic_access: REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC */
    uint16_t pkey_index;
    uint8_t port; /* 1 */
    uint32_t qkey;
    struct nornic_av av;
    enum nornic_mtu path_mtu;
    uint8_t timeout;       /* 0..31: 4.096 us * 2^timeout; 0: no timer (ROCE-RC-41) */
    uint8_t retry_cnt;     /* 0..7 (ROCE-RC-47) */
    uint8_t rnr_retry;     /* 0..7, 7: for ever (ROCE-RC-49) */
    uint8_t min_rnr_timer; /* 0..31: code of ROCE-HDR-22 */
    uint32_t rq_psn;
    uint32_t sq_psn;
    uint8_t max_rd_atomic;
    uint8_t max_dest_rd_atomic;
    uint32_t dest_qpn;
    /* Path migration; only where NORNIC_CAP_AUTO_PATH_MIG is offered (ROCE-QP-33, IBA 17.2.8). */
    struct nornic_av alt_av;
    uint16_t alt_pkey_index;
    uint8_t alt_timeout;    /* as timeout */
    uint8_t path_mig_state; /* 0 migrated, 1 rearm, 2 armed. Setting 0 in state 2 migrates */
};

/* The size of its queues. */
struct nornic_qp_caps {
    uint32_t max_send_wr, max_recv_wr;   /* rounded up to powers of two */
    uint32_t max_send_sge, max_recv_sge; /* at most NORNIC_MAX_SGE */
    uint32_t max_inline_bytes;           /* at most NORNIC_MAX_INLINE_BYTES */
};

#define NORNIC_MAX_WR           (1u << 20)
#define NORNIC_MAX_SGE          16
#define NORNIC_MAX_INLINE_BYTES 1024
#define NORNIC_MAX_RD_ATOMIC    128 /* ROCE-LIM-1 */
#define NORNIC_MAX_REORDER_PKTS 4096
#define NORNIC_MAX_MSG_BYTES    (1u << 31)

/* Every receive buffer of a UD or GSI QP begins with the L3 header of what arrived: 40 bytes, an IPv4
 * header in the second 20 of them (ROCE-UD-4). */
#define NORNIC_L3_AREA_BYTES 40

/* --- queue pairs: any call from any thread, also about one queue pair; two threads that post to one
 * queue take turns --- */

struct nornic_ah;
struct nornic_cq;
struct nornic_dev;
struct nornic_mw;
struct nornic_pd;
struct nornic_qp;
struct nornic_srq;
struct nornic_xrcd;

/* How to create a queue pair. Zero means the default. */
struct nornic_qp_config {
    size_t struct_bytes;      /* NORNIC_INIT() */
    enum nornic_qp_type type; /* any but GSI */
    struct nornic_pd *pd;
    struct nornic_cq *send_cq, *recv_cq; /* may be one */
    /* Receives come from here instead of the queue pair's own queue, whose caps do not matter then; or
     * NULL. The SRQ may be of another PD of the device. */
    struct nornic_srq *srq;
    /* XRC_TGT: the domain whose SRQs it delivers to; it has no CQ and no queue of its own, and its PD
     * only says of which device it is. XRC_INI has no recv_cq and no receive queue. */
    struct nornic_xrcd *xrcd;
    struct nornic_qp_caps caps;
    bool sq_sig_all; /* every send queue request completes, not only those with NORNIC_SEND_SIGNALED */
    /* RC: selective retransmission. The responder keeps so many packets that come after a gap (0: none,
     * as the standard's go-back-N does; at most NORNIC_MAX_REORDER_PKTS, each costs 4200 bytes).
     * Interoperates with a peer that goes back N. */
    uint32_t reorder_pkts;
    bool e2e_credits;              /* RC: advertise the posted receives as credits (ROCE-RS-53) */
    bool block_multicast_loopback; /* UD: no copy of what it sends itself to its groups (ROCE-UD-23) */
    void *ctx;                     /* the caller's: nornic_qp_ctx() */
};

/* Creates a queue pair in RESET. QPNs are not reused soon (ROCE-QP-34). 0, -EINVAL, -E2BIG, -EOPNOTSUPP,
 * -ENOSPC or -ENOMEM; -EMSGSIZE: UD, where the port's MTU has sunk below 352. */
int nornic_qp_create(struct nornic_dev *dev, const struct nornic_qp_config *config, struct nornic_qp **out);

/* Destroys it when the events taken about it are acknowledged; those not taken are dropped, and so is
 * posted work that is not complete. Waits: not to be called between taking and acknowledging an event of
 * the same queue pair. 0, or -EBUSY while it is attached to a multicast group (ROCE-UD-21). */
int nornic_qp_destroy(struct nornic_qp *qp);

/* Changes state and attributes by the table of ROCE section 11.2. 0, or -EINVAL with nothing changed
 * (ROCE-QP-10); or an
 * error of nornic_dev_resolve() for a MAC of all ones. */
int nornic_qp_modify(struct nornic_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask);

/* What is in force now. Either output may be NULL. */
void nornic_qp_query(struct nornic_qp *qp, struct nornic_qp_attr *attr, struct nornic_qp_caps *caps);

/* The QPN (24 bits), the state, and the caller's `ctx`. */
uint32_t nornic_qp_num(const struct nornic_qp *qp);
enum nornic_qp_state nornic_qp_state(const struct nornic_qp *qp);
void *nornic_qp_ctx(const struct nornic_qp *qp);

/* What one end of a connection tells the other, by whatever way they have, when they connect without a
 * connection manager. */
struct nornic_endpoint {
    struct nornic_addr addr; /* of a GID of its device */
    uint32_t qpn;
    uint32_t psn; /* of the first packet that it sends */
};

/* This end, with GID `sgid_index` and a PSN drawn at random. 0, or -ENOENT: there is no such GID. */
int nornic_qp_endpoint(const struct nornic_qp *qp, unsigned sgid_index, struct nornic_endpoint *out);

/* Connects an RC or UC queue pair in RESET or INIT to `peer`, which connects to `self`: resolves the
 * address, for at most `timeout_ns`, and takes the queue pair to RTS with the remote rights of
 * `access` (enum nornic_access; what is local does not matter) for the peer, the path
 * MTU of the port, seven retries of 67 ms and more each, RNR retries for ever and 16 READs and atomics
 * each way. A program that wants other values uses nornic_qp_modify(). 0; -EINVAL (type, state, `self` is
 * not an address of this device); or what nornic_dev_resolve() returns. */
int nornic_qp_connect(struct nornic_qp *qp, const struct nornic_endpoint *self,
                      const struct nornic_endpoint *peer, uint32_t access, uint64_t timeout_ns,
                      struct nornic_error *why);

/* Post a list of work requests, borrowed for the call. 0; or -EINVAL (state, opcode, SGEs, lengths:
 * ROCE-QP-40) or -ENOMEM (queue full), with *bad (may be NULL) at the first that was not taken; those
 * before it are. */
int nornic_qp_post_send(struct nornic_qp *qp, const struct nornic_send_wr *wr,
                        const struct nornic_send_wr **bad);
/* Sends that enter the queue together: where one of them cannot be taken, none is. */
int nornic_qp_post_send_all(struct nornic_qp *qp, const struct nornic_send_wr *wr);
int nornic_qp_post_recv(struct nornic_qp *qp, const struct nornic_recv_wr *wr,
                        const struct nornic_recv_wr **bad);

/* Binds a type 1 window (ROCE-MW-1): posts a BIND_MW with a new key, which nornic_mw_rkey() tells when
 * this returns 0, so that it may be sent right behind (ROCE-MW-4); bind->len_bytes 0 unbinds. Fails as
 * nornic_qp_post_send() does, and with -EINVAL for a window of type 2 or of another PD. */
int nornic_qp_bind_mw(struct nornic_qp *qp, struct nornic_mw *mw, uint64_t wr_id, uint32_t send_flags,
                      const struct nornic_bind *bind);

/* Attaches a UD queue pair to a multicast group: it gets a copy of every datagram to the group that
 * passes its own checks (ROCE-UD-20..23). Twice is once. 0, -EINVAL (no UD queue pair, no multicast
 * address) or -ENOMEM; or what the kernel said to the membership. Detaching: 0, or -EINVAL if it was not
 * attached. */
int nornic_qp_attach_mcast(struct nornic_qp *qp, const struct nornic_addr *group);
int nornic_qp_detach_mcast(struct nornic_qp *qp, const struct nornic_addr *group);

/* Shows each counter of the queue pair to `visit`: called under the device's lock, so it calls nothing of
 * this library. */
void nornic_qp_counters(struct nornic_qp *qp, void (*visit)(void *ctx, const char *name, uint64_t value),
                        void *ctx);

/* How many requests it holds now: sends that are posted and not complete, and receives that are posted in its
 * own queue (not those of an SRQ) and not complete. */
void nornic_qp_outstanding(struct nornic_qp *qp, uint32_t *sends, uint32_t *recvs);

/* The peer of a connected queue pair, also of one in ERR: its address and QPN (iWARP has none: 0). False: it
 * has no peer. */
bool nornic_qp_peer(struct nornic_qp *qp, struct nornic_addr *addr, uint32_t *qpn);

/* --- address handles, for datagrams: ROCE-AH-1..3 --- */

/* Made of `av` for sends of UD queue pairs of `pd`. 0; -EINVAL (no such GID, a family that does not fit
 * it, SL above 7: ROCE-VB-5) or -ENOMEM; or an error of nornic_dev_resolve() for a MAC of all ones. */
int nornic_ah_create(struct nornic_pd *pd, const struct nornic_av *av, struct nornic_ah **out);

/* 0, or -EBUSY while a posted send names it. */
int nornic_ah_destroy(struct nornic_pd *pd, struct nornic_ah *ah);

/* The way back to the sender of a datagram, from its completion and the first NORNIC_L3_AREA_BYTES of its
 * buffer (ROCE-UD-6). 0; -EINVAL (not a datagram's); -EADDRNOTAVAIL (it was sent to an address that the
 * device no longer has). */
int nornic_av_from_wc(struct nornic_dev *dev, const struct nornic_wc *wc, const void *l3_area,
                      struct nornic_av *av);

NORNIC_END_DECLS

#endif
