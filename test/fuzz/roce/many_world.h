/* SPDX-License-Identifier: BSD-2-Clause */
/* What fuzz_many plays with: one device with up to 24 QPs of all services that reach each other inside it,
 * and a wire beyond which only the fuzzer is; SRQs, windows, fast regions, address handles, groups, both
 * kinds of GID; and the books of what is owed. */
#ifndef NORNIC_TEST_FUZZ_MANY_WORLD_H
#define NORNIC_TEST_FUZZ_MANY_WORLD_H

#include "rdma/mw.h"
#include "rdma/srq.h"
#include "rdma/xrc.h"
#include "roce/roce.h"
#include "test/fuzz/input.h"

#define MANY_QPS         24
#define MANY_CQS         3
#define MANY_SRQS        2
#define MANY_AHS         4
#define MANY_MWS         3
#define MANY_MRS         3 /* plain regions; the piece of memory after them belongs to the fast region */
#define MANY_PIECES      (MANY_MRS + 1)
#define MANY_PIECE_BYTES 2048
#define MANY_GAP_BYTES   256
#define MANY_ARENA_BYTES (MANY_GAP_BYTES + MANY_PIECES * (MANY_PIECE_BYTES + MANY_GAP_BYTES))
#define MANY_KEYS        (MANY_MRS + 1 + MANY_MWS)
#define MANY_PMTU_BYTES  256
#define MANY_FRAME_BYTES 1700 /* any frame of the device */
#define MANY_TRAIN_BYTES 12000
#define MANY_SRQ_POSTS   1024

struct many_qp {
    struct roce_qp *qp;
    enum nornic_qp_type type;
    uint32_t generation; /* of the requests that are owed: those before a RESET are not */
    uint32_t sends, sends_done, receives, receives_done;
    bool send_failed, has_srq;
    uint32_t expected_psn; /* of requests to it, as far as the fuzzer knows */
};

struct many_srq {
    struct rdma_srq *srq;
    uint32_t posts;
    bool done[MANY_SRQ_POSTS];
};

struct many_world {
    struct rdma_mem mem;
    unsigned live, fail_in;
    uint64_t random, now_ns;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq[MANY_CQS];
    struct rdma_xrcd *xrcd;
    struct many_srq srq[MANY_SRQS]; /* the second is an XRC SRQ */
    struct nornic_ah *ah[MANY_AHS];
    struct rdma_mw *mw[MANY_MWS];
    struct rdma_mr *mr[MANY_MRS];
    struct rdma_mr *fast;
    uint32_t key[MANY_KEYS]; /* the newest of each: regions, the fast one, windows */
    struct many_qp qp[MANY_QPS];
    uint32_t generations;
    uint8_t *arena; /* poisoned but for what is registered, and the fast region's piece */
};

/* False: not even the device could be allocated; end it all the same. */
bool many_begin(struct many_world *w, struct fuzz_input *in);
/* Destroys everything and requires that nothing is left, and that nobody wrote to piece 1. */
void many_end(struct many_world *w);

uint8_t *many_piece(const struct many_world *w, unsigned i);
/* An address of the device itself (0: IPv4, 1: IPv6), or one beyond the wire. */
struct nornic_addr many_addr(bool ipv6, bool outside);

void many_region_toggle(struct many_world *w, unsigned i, uint32_t access);
void many_window_toggle(struct many_world *w, unsigned i);
void many_fast_toggle(struct many_world *w);

void many_qp_create(struct many_world *w, unsigned q, uint8_t how);
void many_qp_destroy(struct many_world *w, unsigned q);
/* From RESET to RTS, or as far as that goes, towards QP `peer` or beyond the wire. */
void many_qp_connect(struct many_world *w, unsigned q, struct fuzz_input *in);
/* Its requests are gone without completions. */
void many_qp_forget(struct many_world *w, unsigned q);

/* Any work request, on QP `q` (or an SRQ); and a poll that holds completions against the books. */
void many_post_send(struct many_world *w, unsigned q, struct fuzz_input *in);
void many_post_recv(struct many_world *w, unsigned q, struct fuzz_input *in);
void many_poll(struct many_world *w, uint8_t how);

#endif
