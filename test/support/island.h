/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices that reach each other inside the engine: what they send to their ports is looked at, and goes
 * nowhere. */
#ifndef NORNIC_TEST_SUPPORT_ISLAND_H
#define NORNIC_TEST_SUPPORT_ISLAND_H

#include "roce/roce.h"
#include "test/support/random.h"
#include "test/support/reach.h"

#define ISLAND_DEVS  3u
#define ISLAND_BYTES (1u << 22) /* of memory for each device */
#define ISLAND_PORT  16u        /* frames that a port lends at once */

struct island_dev {
    struct test_random rnd;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq; /* of all its QPs */
    struct rdma_mr *mr; /* of all of mem, every right */
    uint8_t *mem;
    unsigned rung;         /* doorbells */
    unsigned left;         /* frames that left through the port */
    unsigned joins;        /* multicast groups that the port was told to join, less those to leave */
    struct nornic_addr to; /* where the last of them went */
    struct reach reach;    /* what the device has said of whose packets it takes */
    uint64_t most_in_call; /* packets built in one roce_dev_tx() */
};

struct island {
    struct island_dev dev[ISLAND_DEVS];
    uint64_t now_ns;
};

/* Devices 0 .. count - 1, not linked; device i has QPNs of its own from 1000 (i + 1) on, and the address
 * 10.0.0.1 (IPv6: 2001:db8::1) if `one_address`, else one that ends in i + 1. */
struct island *island_new(unsigned count, bool one_address, bool ipv6);
/* The same devices, all at 10.0.0.1, as those of several processes: each knows that it is not alone there. */
struct island *island_new_shared(unsigned count);
void island_free(struct island *w);

struct nornic_addr island_addr(bool ipv6, uint8_t last);

/* A QP in RESET. */
struct roce_qp *island_qp(struct island *w, unsigned dev, enum nornic_qp_type type);
/* Takes a connected QP to RTS, towards `peer_qpn` at `peer`. */
void island_connect(struct island *w, struct roce_qp *qp, const struct nornic_addr *peer, uint32_t peer_qpn);
/* Takes a UD or GSI QP to RTS. */
void island_raise(struct island *w, struct roce_qp *qp, uint32_t qkey);
struct nornic_ah *island_ah(struct island *w, unsigned dev, const struct nornic_addr *peer);

struct nornic_sge island_sge(const struct island *w, unsigned dev, uint32_t offset, uint32_t len_bytes);
void island_recv(struct island *w, unsigned dev, struct roce_qp *qp, uint64_t wr_id, uint32_t offset,
                 uint32_t len_bytes);

/* One roce_dev_tx() of one device. Returns how many frames left. */
unsigned island_step(struct island *w, unsigned dev);
/* Until no device has anything to send; time stands still. */
void island_run(struct island *w);
/* The same, then the next timer, until none runs or `max_ns` have passed. */
void island_settle(struct island *w, uint64_t max_ns);

/* The next completion of a device, which must be of `wr_id` with `status`. */
struct nornic_wc island_wc(struct island *w, unsigned dev, uint64_t wr_id, enum nornic_wc_status status);
void island_no_wc(struct island *w, unsigned dev);

#endif
