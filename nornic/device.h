/* SPDX-License-Identifier: BSD-2-Clause */
/* The abilities of a device and its port, its address tables, and the events that it raises. The
 * enumerators have the values of the verbs ABI. */
#ifndef NORNIC_DEVICE_H
#define NORNIC_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "nornic/decls.h"
#include "nornic/error.h"
#include "nornic/qp.h"

NORNIC_BEGIN_DECLS

/* Asynchronous events, ROCE section 12.2 (values of the verbs ABI). */
enum nornic_event_type {
    NORNIC_EVENT_CQ_ERR = 0,
    NORNIC_EVENT_QP_FATAL = 1,
    NORNIC_EVENT_QP_REQ_ERR = 2,
    NORNIC_EVENT_QP_ACCESS_ERR = 3,
    NORNIC_EVENT_COMM_EST = 4,
    NORNIC_EVENT_SQ_DRAINED = 5,
    NORNIC_EVENT_PATH_MIG = 6,
    NORNIC_EVENT_PATH_MIG_ERR = 7,
    NORNIC_EVENT_DEVICE_FATAL = 8,
    NORNIC_EVENT_PORT_ACTIVE = 9,
    NORNIC_EVENT_PORT_ERR = 10,
    NORNIC_EVENT_PKEY_CHANGE = 12,
    NORNIC_EVENT_SRQ_ERR = 14,
    NORNIC_EVENT_SRQ_LIMIT_REACHED = 15,
    NORNIC_EVENT_QP_LAST_WQE_REACHED = 16,
    NORNIC_EVENT_GID_CHANGE = 18,
    NORNIC_EVENT_COUNT
};

/* The name of an event as the standard writes it ("QP_ACCESS_ERR"); never NULL. */
const char *nornic_event_name(enum nornic_event_type type);

#define NORNIC_PKEY_MAX     128 /* entries of a P_Key table at the most */
#define NORNIC_PKEY_DEFAULT 0xffff

/* The protocol that an entry of the GID table stands for: ROCE-AH-10. Which IP version a V2 entry has, its
 * address says. */
enum nornic_gid_type { NORNIC_GID_V2, NORNIC_GID_V1 };

#define NORNIC_GID_MAX 255 /* entries of a GID table: ROCE-LIM-4 */

/* One entry of the GID table. */
struct nornic_gid {
    struct nornic_addr addr; /* IPv4 as ::ffff:a.b.c.d */
    enum nornic_gid_type type;
    struct nornic_mac mac; /* of the interface that owns the address */
    uint16_t vlan_id;      /* 0: untagged */
};

/* The capabilities of a device: ROCE-LIM-5 (values of the verbs ABI). */
enum nornic_dev_caps {
    NORNIC_CAP_BAD_PKEY_COUNTER = 1 << 1,
    NORNIC_CAP_BAD_QKEY_COUNTER = 1 << 2,
    NORNIC_CAP_AUTO_PATH_MIG = 1 << 4, /* alternate paths: option "apm" of the port */
    NORNIC_CAP_CURR_QP_STATE_MOD = 1 << 7,
    NORNIC_CAP_PORT_ACTIVE_EVENT = 1 << 10,
    NORNIC_CAP_RC_RNR_NAK_GEN = 1 << 12,
    NORNIC_CAP_SRQ_RESIZE = 1 << 13,
    NORNIC_CAP_MEM_WINDOW = 1 << 17, /* type 1 */
    NORNIC_CAP_XRC = 1 << 20,
    NORNIC_CAP_MEM_MGT_EXTENSIONS = 1 << 21, /* fast registration, local and remote invalidation */
    NORNIC_CAP_MEM_WINDOW_TYPE_2B = 1 << 24,
};

/* Capabilities of a port (values of the verbs ABI). Those about subnet managers are reserved in RoCE and
 * client reregistration is not supported (ROCE-VB-1, VB-2, CA17-31). */
enum nornic_port_caps { NORNIC_PORT_CAP_CM = 1 << 16 };

/* The accesses among which an atomic is atomic: ROCE-RS-47. */
enum nornic_atomic_cap { NORNIC_ATOMIC_NONE = 0, NORNIC_ATOMIC_HCA = 1 };

/* The protocol of its queue pairs, and the name of such a device (values of the verbs ABI). */
enum nornic_transport { NORNIC_TRANSPORT_IB = 0, NORNIC_TRANSPORT_IWARP = 1 };
enum nornic_node_type { NORNIC_NODE_CA = 1, NORNIC_NODE_RNIC = 4 };

/* The abilities of a device as long as it lives. */
struct nornic_dev_attr {
    uint32_t cap_flags; /* enum nornic_dev_caps */
    enum nornic_atomic_cap atomic_cap;
    enum nornic_atomic_cap masked_atomic_cap; /* option "masked-atomics" of the port */
    uint32_t max_qp;
    uint32_t max_mr;    /* regions and windows together */
    uint32_t max_qp_wr; /* of either queue */
    uint32_t max_sge;
    uint32_t max_inline_bytes;
    uint32_t max_cqe;
    uint32_t max_srq_wr;
    uint8_t max_qp_rd_atomic, max_qp_init_rd_atomic; /* ROCE-LIM-1 */
    uint8_t local_ca_ack_delay; /* 4.096 us * 2^n; no answer waits so long (ROCE-LIM-2, RS-51) */
    uint16_t max_pkeys;
    enum nornic_transport transport;
    enum nornic_node_type node_type;
};

/* The state of its port now. */
struct nornic_port_attr {
    bool is_up;
    bool roce_v1_supported; /* "RoCE Supported": ROCE-FRM-55, VB-1 */
    bool roce_v2_supported;
    uint32_t cap_flags;                  /* enum nornic_port_caps */
    enum nornic_mtu max_mtu, active_mtu; /* of the engine, and of this port */
    uint32_t max_msg_bytes;              /* of connected services; a datagram is at most active_mtu */
    uint16_t gid_table_size, pkey_table_size;
    uint16_t bad_pkey_counter, qkey_viol_counter; /* they stay at 65535: ROCE-RX-17, RX-18 */
};

/* --- devices --- */

struct nornic_cq;
struct nornic_dev;
struct nornic_qp;
struct nornic_srq;
struct roce_cc_config;
struct roce_trace;

/* Weather around a port, in parts per million of the frames; all zero: none. The same seed gives the same
 * weather for the same frames. */
struct nornic_impair {
    uint64_t seed;
    uint32_t loss_ppm, duplicate_ppm, reorder_ppm, corrupt_ppm;
    uint32_t ecn_ppm; /* marked "congestion experienced" */
};

/* The ready-to-receive messages that a Request offers, so that the server may speak first (RFC 6581, 9). */
enum nornic_iwarp_rtr {
    NORNIC_IWARP_RTR_BOTH,
    NORNIC_IWARP_RTR_WRITE,
    NORNIC_IWARP_RTR_READ,
    NORNIC_IWARP_RTR_NONE
};

/* How an iWARP device sets up its streams (RFC 5044, RFC 6581). All zero: the defaults. */
struct nornic_iwarp_config {
    /* The revision of MPA in its Requests, and the newest that it answers: 1 or 2. Default 2. If a peer
     * ends TCP and sends no answer, the device tries another connection with 1. */
    uint8_t mpa_rev;
    bool no_crc;        /* do without, if the peer does too */
    bool markers;       /* want them in received FPDUs */
    bool no_extensions; /* neither make nor take the atomics and immediate data of RFC 7306 */
    enum nornic_iwarp_rtr rtr;
};

/* How to open a device. Zero means the default if one is named. */
struct nornic_dev_config {
    size_t struct_bytes; /* NORNIC_INIT() */
    /* "udp:ADDR", "iwarp:ADDR", ..., with options: docs/ports.md, docs/devices.md. For
     * nornic_dev_open_pair() NULL, or "memory" with options. */
    const char *port;
    const char *capture_path;    /* pcapng of everything that crosses the port; NULL: none */
    struct nornic_impair impair; /* of both directions */
    uint32_t first_qpn;          /* lowest QPN, 17.., from which they count up; default: each is drawn */
    uint32_t window_pkts;        /* unacknowledged request packets of a queue pair; default 512 */
    bool cc;                     /* congestion management (docs/congestion.md), with its defaults */
    bool roce_v1;                /* speak RoCEv1 as well: each address has a second GID, of type V1 */
    bool no_thread;              /* the program makes progress itself, by nornic_dev_progress() */
    uint16_t num_pkeys;          /* size of the P_Key table, at most NORNIC_PKEY_MAX; default 1 */
    /* With `cc`: parameters of its own (<nornic/roce/cc_config.h>), but for `on`, which is ignored.
     * Borrowed for the call. NULL: the defaults. */
    const struct roce_cc_config *cc_config;
    /* Sees each packet and each change of state (<nornic/roce/trace.h>), under the device's lock, so it
     * calls nothing of this library. NULL: none. */
    void (*trace)(void *ctx, const struct roce_trace *event);
    void *trace_ctx;
    struct nornic_iwarp_config iwarp; /* port "iwarp:..." */
};

/* Opens a device on a network interface, which is up and has an address; its GIDs follow the kernel's
 * addresses from now on. Unless `no_thread`, a thread of the device makes progress, asleep while there is
 * nothing to do. Borrows `config` for the call. 0; -EINVAL, -E2BIG (`struct_bytes`); or another -errno,
 * with a sentence in `why` (may be NULL, here and below). */
int nornic_dev_open(const struct nornic_dev_config *config, struct nornic_dev **out,
                    struct nornic_error *why);

/* Opens two devices joined by a cable in memory: no privilege, no interface. The first has the GID
 * 10.0.0.1 and MAC 02:00:00:00:00:01, the second those that end in 2; more GIDs by nornic_dev_add_gid().
 * Each is closed by itself. Fails as nornic_dev_open() does. */
int nornic_dev_open_pair(const struct nornic_dev_config *config, struct nornic_dev *out[2],
                         struct nornic_error *why);

/* Ends the thread and frees the device. 0; or -EBUSY with a sentence that names the objects that are
 * left, and the device goes on. Events not taken are dropped. */
int nornic_dev_close(struct nornic_dev *dev, struct nornic_error *why);

/* One round: frames in, timers, frames out; returns whether anything was done. False at once when
 * another thread is at it. Needed with `no_thread`; on a device with a thread, for a caller that polls
 * in a loop and has no time for another thread: it stands aside while this is called without a pause.
 * Then frames leave before others come in, and the acknowledgement of earlier frames leaves with the
 * next call of this, or of a call that makes, changes, queries or destroys anything of the device; or by
 * the thread, within half a millisecond. A process that ends without any of these, by exit() too, has
 * not acknowledged the last frames. */
bool nornic_dev_progress(struct nornic_dev *dev);

/* Sleeps until a round has something to do, at most `timeout_ns`. For programs that make progress
 * themselves. */
void nornic_dev_wait(struct nornic_dev *dev, uint64_t timeout_ns);

/* Writes out the buffer of the capture. 0, also without a capture; or the -errno of the write that
 * stopped it, now or earlier. */
int nornic_dev_flush_capture(struct nornic_dev *dev);

/* The abilities of the device as long as it lives, and its port as it is now. `out_bytes`: sizeof *out. */
void nornic_dev_query(struct nornic_dev *dev, struct nornic_dev_attr *out, size_t out_bytes);
void nornic_dev_query_port(struct nornic_dev *dev, struct nornic_port_attr *out, size_t out_bytes);

/* The GID at `index` (0..NORNIC_GID_MAX - 1). 0, or -ENOENT: that entry is empty. */
int nornic_dev_query_gid(struct nornic_dev *dev, unsigned index, struct nornic_gid *out);

/* The IP address at `index` (0..NORNIC_GID_MAX - 1) that connections are made from and to: that of the
 * GID, or of an iWARP device, as its one GID is no address, one of those that its port is for. 0, or
 * -ENOENT: that entry is empty. */
int nornic_dev_query_addr(struct nornic_dev *dev, unsigned index, struct nornic_addr *out);

/* Returns the kernel's index of the interface that owns the GID, or the IP address, at `index`: of a VLAN
 * interface its own. 0: the entry is empty, or the device is on no interface. */
unsigned nornic_dev_query_ifindex(struct nornic_dev *dev, unsigned index);

/* Adds and removes a GID. On an interface the kernel's addresses are there already, and nothing has to be
 * added. Adding returns the index; -EINVAL (type V1 needs `roce_v1`), -EEXIST or -ENOSPC. Removing moves
 * queue pairs that use it to ERR: 0 or -ENOENT. */
int nornic_dev_add_gid(struct nornic_dev *dev, const struct nornic_gid *gid);
int nornic_dev_remove_gid(struct nornic_dev *dev, unsigned index);

/* The P_Key table: entry 0 is NORNIC_PKEY_DEFAULT, the others are invalid until set; 0 makes one invalid
 * again, and queue pairs that use it fall silent. 0, or -EINVAL (no such entry, or a key with the low 15
 * bits 0). And an entry: 0, or -EINVAL. */
int nornic_dev_set_pkey(struct nornic_dev *dev, unsigned index, uint16_t pkey);
int nornic_dev_query_pkey(struct nornic_dev *dev, unsigned index, uint16_t *pkey);

/* Takes the port down as a pulled cable does, or up again: packets of both directions are lost, and the
 * device has the events PORT_ERR and PORT_ACTIVE (ROCE-EV-9). For tests of programs; queue pairs
 * of one device reach each other all the same. 0, or -EOPNOTSUPP: the port is TCP's (iWARP). */
int nornic_dev_set_port(struct nornic_dev *dev, bool up);

/* The MAC address of the next hop to `dst`, from GID `sgid_index`: for the address vector of a queue pair
 * or an address handle. Asks the network if the kernel does not know, for at most `timeout_ns`. 0,
 * -EHOSTUNREACH, -ENOENT (no such GID) or another -errno. */
int nornic_dev_resolve(struct nornic_dev *dev, unsigned sgid_index, const struct nornic_addr *dst,
                       uint64_t timeout_ns, struct nornic_mac *mac, struct nornic_error *why);

/* Shows each counter of the device to `visit`: the sums over all queue pairs that are or were, the
 * frames by outcome, and those of its port ("port_rx_no_qp": kept away from the device because no queue
 * pair takes them). Called under the device's lock, so it calls nothing of this library. */
void nornic_dev_counters(struct nornic_dev *dev, void (*visit)(void *ctx, const char *name, uint64_t value),
                         void *ctx);

/* --- asynchronous events of a device (ROCE section 12.2) --- */

/* One of the members names the object that it is about; the others are NULL. */
struct nornic_event {
    enum nornic_event_type type;
    struct nornic_qp *qp;
    struct nornic_cq *cq;   /* CQ_ERR */
    struct nornic_srq *srq; /* SRQ_ERR, SRQ_LIMIT_REACHED */
};

/* A descriptor that polls readable (POLLIN) while events wait; the device's. */
int nornic_dev_event_fd(const struct nornic_dev *dev);

/* Takes the oldest event, waiting at most `timeout_ns` for one. 0; -EAGAIN: none came; -ENOBUFS, once:
 * there was no memory to queue some. Each event taken is acknowledged: until then the object that it
 * names stays, and a call that destroys it waits (ROCE-EV-20). */
int nornic_dev_get_event(struct nornic_dev *dev, struct nornic_event *event, uint64_t timeout_ns);

/* Acknowledges one event as it was taken. */
void nornic_dev_ack_event(struct nornic_dev *dev, const struct nornic_event *event);

NORNIC_END_DECLS

#endif
