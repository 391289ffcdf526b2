/* SPDX-License-Identifier: BSD-2-Clause */
/* What the names that a program holds (nornic/) are made of. Internal to host/.
 *
 * Each object pairs what the engine or host/ has with the locks that the engine leaves to its callers.
 * Their order, outermost first: a window's, a queue pair's send lock, its receive lock; an SRQ's, a CQ's,
 * an id's, a CM's; then the device's, which every control call takes. The path of the data takes one
 * lock, that of the queue: the engine's rings have one writer on each side (contract 3), and this makes
 * of many threads that one. Nothing else calls out with one of them held. */
#ifndef NORNIC_HOST_API_H
#define NORNIC_HOST_API_H

#include <pthread.h>
#include <stdatomic.h>

#include "host/event/channel.h"
#include "host/host.h"
#include "host/transport.h"
#include "nornic/nornic.h"
#include "rdma/mr.h"
#include "rdma/mw.h"
#include "rdma/srq.h"
#include "rdma/xrc.h"

/* What a device counts, so that closing it can say what is left. */
#define HOST_API_KINDS(K)          \
    K(CM, "connection manager")    \
    K(QP, "queue pair")            \
    K(AH, "address handle")        \
    K(MW, "memory window")         \
    K(MR, "memory region")         \
    K(SRQ, "shared receive queue") \
    K(XRCD, "XRC domain")          \
    K(PD, "protection domain")     \
    K(CQ, "completion queue")      \
    K(CHANNEL, "channel")

enum host_api_kind {
#define HOST_API_KIND_ENUM_(id, words) HOST_API_##id,
    HOST_API_KINDS(HOST_API_KIND_ENUM_)
#undef HOST_API_KIND_ENUM_
        HOST_API_KIND_COUNT
};

struct nornic_dev {
    struct host_dev *host;
    const struct host_transport *transport;
    bool has_thread;
    bool has_peer_mac; /* one end of a cable in memory: every address is behind `peer_mac` */
    struct nornic_mac peer_mac;
    atomic_uint objects[HOST_API_KIND_COUNT];
};

/* Finds the MAC of `av`, if that is all ones, for at most two seconds (ROCE-AH-2).
 * A group says its MAC itself. Takes the device's lock. 0 or an error of nornic_dev_resolve(). */
int host_api_resolve_av(struct nornic_dev *dev, struct nornic_av *av);

struct nornic_pd {
    struct nornic_dev *dev;
    struct rdma_pd *engine;
};

struct nornic_mr {
    struct nornic_dev *dev;
    struct rdma_mr *engine;
    uint64_t remote_addr, len_bytes; /* as registered */
    uint32_t lkey, rkey;
};

struct nornic_mw {
    struct nornic_dev *dev;
    struct rdma_mw *engine;
    pthread_mutex_t lock; /* its key, which a bind changes */
};

struct nornic_channel {
    struct nornic_dev *dev;
    struct host_channel *host;
};

struct nornic_cq {
    struct nornic_dev *dev;
    struct host_cq *host;
    struct rdma_cq *engine;
    bool has_channel;
    void *ctx;
    pthread_mutex_t lock; /* who polls, arms or resizes */
    /* For nornic_cq_wait(): how often an armed notification fired. A leaf, taken under the device's lock. */
    pthread_mutex_t fired_lock;
    pthread_cond_t fired;
    uint64_t fired_count;
};

struct nornic_srq {
    struct nornic_dev *dev;
    struct rdma_srq *engine;
    void *ctx;
    pthread_mutex_t lock; /* who posts or resizes */
};

struct nornic_xrcd {
    struct nornic_dev *dev;
    struct rdma_xrcd *engine;
};

struct nornic_qp {
    struct nornic_dev *dev;
    struct rdma_qp *base; /* posts go straight to it, the rest by the table of the device's transport */
    enum nornic_qp_type type;
    void *ctx;
    pthread_mutex_t send_lock, recv_lock; /* who posts; both: who changes the state */
};

/* The domain that the objects of a device are made in. */
struct rdma_domain *host_api_domain(const struct nornic_dev *dev);

/* Memory for an object that the device counts from now on; and gives it back. NULL: no memory. */
void *host_api_new(struct nornic_dev *dev, enum host_api_kind kind, size_t bytes);
void host_api_free(struct nornic_dev *dev, enum host_api_kind kind, void *object);

#endif
