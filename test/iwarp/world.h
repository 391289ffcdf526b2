/* SPDX-License-Identifier: BSD-2-Clause */
/* One side of a stream as a program has it: domain, PD, CQ, a region, a queue pair; and a peer played by the
 * test, which says FPDUs octet by octet and hears what comes. */
#ifndef NORNIC_TEST_IWARP_WORLD_H
#define NORNIC_TEST_IWARP_WORLD_H

#include "iwarp/emit.h"
#include "iwarp/qp.h"
#include "rdma/cq.h"
#include "rdma/event.h"
#include "rdma/mr.h"
#include "rdma/mw.h"
#include "rdma/srq.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define SIDE_BYTES  (512u << 10)
#define SIDE_EVENTS 16
#define ALL_RIGHTS                                                                        \
    (NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | \
     NORNIC_ACCESS_REMOTE_ATOMIC | NORNIC_ACCESS_MW_BIND)

/* What differs from the usual queue pair. All zero is the usual one: 64 WQEs each way, 4 SGEs, 64 octets
 * inline, every request signalled, depths of 4, extensions on. */
struct side_options {
    uint16_t max_ird, max_ord;
    bool no_extensions, has_srq;
    uint32_t cq_entries;
};

struct side {
    struct side_options options;
    struct test_alloc alloc;
    struct test_random rnd;
    struct rdma_domain *domain;
    struct rdma_pd *pd, *other_pd;
    struct rdma_cq *cq;
    struct rdma_mr *mr;
    struct iwarp_qp *qp;
    struct rdma_srq *srq; /* or NULL */
    uint8_t *memory; /* SIDE_BYTES, all of it registered with all rights; its remote address is its own */
    enum nornic_event_type events[SIDE_EVENTS];
    unsigned event_count;
    unsigned notified; /* how often the CQ's notification fired */
};

void side_make(struct side *s, uint64_t seed, const struct side_options *options);
/* Another queue pair on the same objects, in the place of the one there is; memory is zero again, and nothing
 * waits in the CQ. */
void side_renew(struct side *s);
/* Fails the test if something is not freed. */
void side_free(struct side *s);

/* A piece of the side's memory. */
struct nornic_sge side_sge(const struct side *s, uint32_t offset, uint32_t len_bytes);
/* Posts one request with up to one SGE (none if len_bytes is 0); remote_addr and rkey may be 0. */
void side_post(struct side *s, enum nornic_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
               uint32_t len_bytes, uint64_t remote_addr, uint32_t rkey);
void side_post_wr(struct side *s, const struct nornic_send_wr *wr);
void side_post_recv(struct side *s, uint64_t wr_id, uint32_t offset, uint32_t len_bytes);
/* The next completion; false: there is none. */
bool side_poll(struct side *s, struct nornic_wc *wc);
/* Fails unless the next completion is of `wr_id` and ends so. */
struct nornic_wc side_expect(struct side *s, uint64_t wr_id, enum nornic_wc_status status);
void side_expect_nothing(struct side *s);
bool side_has_event(const struct side *s, enum nornic_event_type type);

/* --- the played peer --- */

struct peer {
    struct iwarp_fpdu_tx tx; /* its FPDUs, to the queue pair */
    struct iwarp_fpdu_rx rx;
    uint8_t buffers[IWARP_BOUNCE_BYTES + 2 * IWARP_BATCH_BYTES];
    uint8_t heard[1 << 18]; /* octets that the queue pair sent and the peer has not looked at */
    uint32_t heard_bytes, looked_bytes;
};

/* Sets the queue pair up with the peer, with CRC: it is the responder of a Request of revision 1, or, with
 * `qp_begins`, the initiator. */
void peer_meet(struct peer *p, struct side *s, bool qp_begins);
/* Says one FPDU of a head and a payload. */
void peer_say(struct peer *p, struct side *s, const uint8_t *head, const uint8_t *head_end,
              const void *payload, uint32_t payload_bytes);
/* The same with a DDP header as its parts. */
void peer_say_tagged(struct peer *p, struct side *s, enum iwarp_op op, bool is_last, uint32_t stag,
                     uint64_t to, const void *payload, uint32_t payload_bytes);
void peer_say_untagged(struct peer *p, struct side *s, enum iwarp_op op, bool is_last,
                       const struct iwarp_untagged *ddp, const void *payload, uint32_t payload_bytes);
void peer_ask_read(struct peer *p, struct side *s, uint32_t msn, const struct iwarp_read_req *req);
void peer_ask_atomic(struct peer *p, struct side *s, uint32_t msn, const struct iwarp_atomic_req *req);
/* The next ULPDU that the queue pair says; false: none. Good until the next call. */
bool peer_hear(struct peer *p, struct side *s, struct iwarp_ulpdu *ulpdu);
/* Fails unless the next is of that opcode, its last segment; returns what follows the DDP header. */
const uint8_t *peer_expect(struct peer *p, struct side *s, enum iwarp_op op, struct iwarp_ulpdu *ulpdu);
/* Fails unless the next is a Terminate with that code, and nothing follows. Returns its control on. */
const uint8_t *peer_expect_terminate(struct peer *p, struct side *s, uint16_t code,
                                     struct iwarp_term *control);
void peer_expect_silence(struct peer *p, struct side *s);

#endif
