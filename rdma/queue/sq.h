/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue of a queue pair: a ring of send WQEs with one poster (an application's thread) and one taker
 * (the engine), which need no common lock. Inside the engine only.
 *
 * Four free-running indexes divide the ring, oldest first:
 *
 *     released        done            cur           started         posted
 *        |  complete,   |  started, its  |  started, to  |  waits for    |  free
 *        |  not told    |  answer is out |  be sent      |  its turn     |  (up to `size` after released)
 *
 * The poster writes a slot and stores `posted`; the engine starts WQEs in order, sends from `cur`, and
 * completes from `done`. A completion that is told to the application moves `released` up to `done`: from
 * then on the slots are the poster's again, those of unsignalled WQEs before it too (ROCE-RC-60). `cur` may
 * go back when something is sent again, and lies before `done` for the moment in which a step has completed
 * what was to be sent again. */
#ifndef NORNIC_RDMA_SQ_H
#define NORNIC_RDMA_SQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nornic/wr.h"
#include "rdma/ah.h"
#include "rdma/cq.h"
#include "rdma/queue/wr_op.h"

/* One send WQE. The part above the line is written by the post, the part below by the engine. */
struct rdma_send_wqe {
    uint64_t wr_id;
    union {
        struct {
            uint64_t remote_addr;
            uint64_t compare_add, swap;
            uint64_t compare_mask, swap_mask;
        };
        struct nornic_bind bind; /* BIND_MW, REG_MR */
    };
    enum nornic_wr_opcode opcode;
    uint32_t send_flags;
    uint32_t rkey;
    union {
        uint32_t imm_data;
        uint32_t invalidate_rkey; /* SEND_WITH_INV, LOCAL_INV */
    };
    uint32_t num_sge;
    uint32_t len_bytes;   /* of the message */
    struct nornic_ah *ah; /* datagrams: counted as a user until the WQE is complete (ROCE-AH-3); else NULL */
    union {
        uint32_t remote_qpn;  /* datagrams */
        uint32_t remote_srqn; /* XRC */
    };
    union {
        uint32_t remote_qkey; /* datagrams */
        uint32_t imm_data_2;  /* iWARP */
    };
    uint16_t pkey_index;
    bool binds_type_1; /* BIND_MW: rdma_qp_bind_mw() */
    /* --- */
    uint32_t first_seq; /* where it begins in the transport's numbering: its first PSN */
    uint32_t seq_count; /* how many numbers it takes */
    bool is_reissued;   /* a part of it was sent again */
    enum nornic_wc_status
        local_status; /* of one that sends nothing, once it is started: rdma/queue/local_ops.h */
};

struct rdma_sq {
    struct rdma_send_wqe *wqes;
    struct nornic_sge *sges; /* max_sge a slot */
    uint8_t *inline_bytes;   /* max_inline_bytes a slot */
    uint32_t size;           /* slots, a power of two */
    uint32_t max_sge;
    uint32_t max_inline_bytes;
    _Atomic uint32_t posted;   /* one past the newest; the poster's */
    _Atomic uint32_t released; /* slots before it are free for posts; the engine's, as all that follow */
    uint32_t started;          /* one past the newest that has its place in the transport's numbering */
    uint32_t done;             /* the oldest that is not completed */
    uint32_t cur;              /* to send from; == started: a new one */
    uint32_t cur_part;         /* and the packet of it */
    uint32_t rd_atomic;        /* READs and atomics that are started and not answered */
};

static inline struct rdma_send_wqe *rdma_sq_wqe(const struct rdma_sq *sq, uint32_t index)
{
    return &sq->wqes[index & (sq->size - 1)];
}

static inline struct nornic_sge *rdma_sq_sges(const struct rdma_sq *sq, uint32_t index)
{
    return &sq->sges[(size_t)(index & (sq->size - 1)) * sq->max_sge];
}

static inline uint8_t *rdma_sq_inline(const struct rdma_sq *sq, uint32_t index)
{
    return &sq->inline_bytes[(size_t)(index & (sq->size - 1)) * sq->max_inline_bytes];
}

/* The oldest WQE that has not been started, or NULL. */
static inline struct rdma_send_wqe *rdma_sq_next(const struct rdma_sq *sq)
{
    bool has_one = sq->started != atomic_load_explicit(&sq->posted, memory_order_acquire);
    return has_one ? rdma_sq_wqe(sq, sq->started) : NULL;
}

/* Starts that one: it takes `seq_count` numbers from `first_seq` on. */
static inline void rdma_sq_start_next(struct rdma_sq *sq, uint32_t first_seq, uint32_t seq_count)
{
    struct rdma_send_wqe *w = rdma_sq_wqe(sq, sq->started++);
    w->first_seq = first_seq;
    w->seq_count = seq_count;
}

/* All of the WQE at `cur` has been sent. */
static inline void rdma_sq_go_past(struct rdma_sq *sq)
{
    sq->cur++;
    sq->cur_part = 0;
}

static inline uint32_t rdma_wqe_flags(const struct rdma_send_wqe *w)
{
    return rdma_wr_flags(w->opcode);
}

#endif
