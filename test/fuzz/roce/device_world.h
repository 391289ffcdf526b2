/* SPDX-License-Identifier: BSD-2-Clause */
/* What the device fuzzer plays with: two devices that may talk to each other, their memory, and the books
 * of what they owe. QP 0 of either device is connected to QP 0 of the other; QP 1 to a QP that only the
 * fuzzer plays. All are of RC; or QP 0 is of UC, and QP 1 an XRC target (device 0), initiator (device 1).
 */
#ifndef NORNIC_TEST_FUZZ_DEVICE_WORLD_H
#define NORNIC_TEST_FUZZ_DEVICE_WORLD_H

#include "rdma/mw.h"
#include "rdma/srq.h"
#include "rdma/xrc.h"
#include "roce/roce.h"
#include "test/fuzz/input.h"
#include "test/support/random.h"

#define FUZZ_QPS         2
#define FUZZ_MRS         3
#define FUZZ_MR_BYTES    3072
#define FUZZ_KEYS        (FUZZ_MRS + 2) /* of the regions, the fast region, the window */
#define FUZZ_FAST        FUZZ_MRS
#define FUZZ_WINDOW      (FUZZ_MRS + 1)
#define FUZZ_GAP_BYTES   512 /* between regions, and around them */
#define FUZZ_ARENA_BYTES (FUZZ_GAP_BYTES + FUZZ_MRS * (FUZZ_MR_BYTES + FUZZ_GAP_BYTES))
#define FUZZ_FLIGHT      32 /* frames on the wire; the oldest is lost when one more comes */
#define FUZZ_FRAME_BYTES 1400
#define FUZZ_BURST       16
#define FUZZ_TRAIN_BYTES 65553
#define FUZZ_REQUESTS    8 /* newest requests that a QP sent, which responses may name */

/* A work queue: its requests complete in order. Generations tell those that a RESET threw away. */
struct fuzz_queue {
    uint32_t posted, done;
    bool failed; /* one completed in error: the others are flushed */
};

struct fuzz_qp {
    struct roce_qp *qp;
    uint32_t dest_qpn;
    uint32_t generation;
    struct fuzz_queue sends, receives;
    uint32_t expected_psn;                /* of requests to it, as far as its answers tell */
    uint32_t request_psns[FUZZ_REQUESTS]; /* of requests from it, the newest first */
};

struct fuzz_allocator {
    struct rdma_mem mem;
    unsigned live;
    unsigned fail_in; /* the allocation, from 1, that fails; 0: none */
};

struct fuzz_dev {
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq[2]; /* of sends, of receives */
    struct rdma_mr *mr[FUZZ_MRS];
    uint32_t key[FUZZ_KEYS]; /* the newest of each */
    struct rdma_mr *fast;    /* what it may name, in an allocation of its own */
    uint8_t *fast_bytes;
    struct rdma_mw *window; /* of type 2, over region 0 */
    struct rdma_srq *srq;   /* of QP 1 */
    struct rdma_xrcd *xrcd;
    struct rdma_srq *xrc_srq;
    struct fuzz_qp qp[FUZZ_QPS];
    struct fuzz_allocator allocator;
    uint32_t generations; /* given so far: no two QPs share one, since QPNs come again */
    uint8_t *arena;       /* poisoned but for the regions */
    uint64_t given, random;
    struct nornic_addr addr;
    struct nornic_mac mac;
};

struct fuzz_flight {
    uint8_t bytes[FUZZ_FRAME_BYTES];
    uint32_t len_bytes;
    unsigned to; /* device */
};

struct fuzz_world {
    struct fuzz_dev dev[2];
    uint64_t now_ns;
    uint32_t pmtu_bytes;
    bool sq_sig_all;
    bool with_srq;       /* QP 1 of each device takes its receives from an SRQ */
    bool other_services; /* UC and XRC */
    bool trains;         /* both devices build trains, and what comes in a row comes as trains */
    struct test_random train_random;
    struct net_frame burst[FUZZ_BURST]; /* given to device burst_to, which takes them at the next flush */
    unsigned burst_count, burst_to;
    uint16_t ip_id; /* of the next frame that the fuzzer makes */
    struct fuzz_flight flight[FUZZ_FLIGHT];
    unsigned flight_first, flight_count;
};

/* Builds devices, regions and connected QPs as the first bytes of the input say. False: not even that could
 * be allocated; end it all the same. */
bool fuzz_world_begin(struct fuzz_world *world, struct fuzz_input *in);
/* Destroys everything and requires that nothing is left. */
void fuzz_world_end(struct fuzz_world *world);

/* Registers region `i`, or deregisters it; only a registered one may be touched from then on. */
void fuzz_mr_register(struct fuzz_dev *dev, unsigned i, uint32_t access);
void fuzz_mr_deregister(struct fuzz_dev *dev, unsigned i);
uint8_t *fuzz_mr_bytes(const struct fuzz_dev *dev, unsigned i);
/* The remote address of the first byte that key number `i` may reach. */
uint64_t fuzz_remote_base(const struct fuzz_dev *dev, unsigned i);

/* What QP `q` of a device is. */
enum nornic_qp_type fuzz_qp_type(const struct fuzz_world *world, unsigned dev, unsigned q);
/* The number of its XRC SRQ; 0: there is none. */
uint32_t fuzz_srqn(const struct fuzz_dev *dev);

/* Creates QP `q`; takes it to RTS as far as that goes, or RTR; destroys it. */
void fuzz_qp_create(struct fuzz_world *world, unsigned dev, unsigned q);
void fuzz_qp_connect(struct fuzz_world *world, unsigned dev, unsigned q, struct fuzz_input *in);
void fuzz_qp_destroy(struct fuzz_dev *dev, struct fuzz_qp *qp);
/* The QPN that QP `q` talks to. */
uint32_t fuzz_peer_qpn(const struct fuzz_world *world, unsigned dev, unsigned q);
/* Its work requests are gone without completions. */
void fuzz_qp_forget(struct fuzz_dev *dev, struct fuzz_qp *qp);

/* Hands a frame to a device, in an allocation of its own length; where there are trains with what comes next,
 * at the next flush. */
void fuzz_give(struct fuzz_world *world, unsigned dev, const uint8_t *frame, uint32_t len_bytes);
/* The device takes what was given. */
void fuzz_flush(struct fuzz_world *world);
/* The same at once for bytes that need be no train, with any seg_bytes. */
void fuzz_give_train(struct fuzz_world *world, unsigned dev, const uint8_t *frame, uint32_t len_bytes,
                     uint32_t seg_bytes);
/* Takes up to `n` frames out of a device onto the wire, requires that they are sound, and learns their
 * PSNs. */
void fuzz_take(struct fuzz_world *world, unsigned dev, unsigned n);
/* Lets time pass, timers included. */
void fuzz_wait(struct fuzz_world *world, uint64_t ns);

#endif
