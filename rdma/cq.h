/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queue: a ring with one writer (the engine, inside progress) and one reader (the application,
 * or whoever holds its lock), which need no common lock: ROCE section 12.1. */
#ifndef NORNIC_RDMA_CQ_H
#define NORNIC_RDMA_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/mem.h"

/* ROCE-CQ-7. */
enum rdma_wc_status {
    RDMA_WC_SUCCESS = 0,
    RDMA_WC_LOC_LEN_ERR = 1,
    RDMA_WC_LOC_QP_OP_ERR = 2,
    RDMA_WC_LOC_EEC_OP_ERR = 3,
    RDMA_WC_LOC_PROT_ERR = 4,
    RDMA_WC_WR_FLUSH_ERR = 5,
    RDMA_WC_MW_BIND_ERR = 6,
    RDMA_WC_BAD_RESP_ERR = 7,
    RDMA_WC_LOC_ACCESS_ERR = 8,
    RDMA_WC_REM_INV_REQ_ERR = 9,
    RDMA_WC_REM_ACCESS_ERR = 10,
    RDMA_WC_REM_OP_ERR = 11,
    RDMA_WC_RETRY_EXC_ERR = 12,
    RDMA_WC_RNR_RETRY_EXC_ERR = 13,
    RDMA_WC_LOC_RDD_VIOL_ERR = 14,
    RDMA_WC_REM_INV_RD_REQ_ERR = 15,
    RDMA_WC_REM_ABORT_ERR = 16,
    RDMA_WC_INV_EECN_ERR = 17,
    RDMA_WC_INV_EEC_STATE_ERR = 18,
    RDMA_WC_FATAL_ERR = 19,
    RDMA_WC_RESP_TIMEOUT_ERR = 20,
    RDMA_WC_GENERAL_ERR = 21,
};

/* ROCE section 11.3 (send queue), ROCE-QP-41 (receive queue). */
enum rdma_wc_opcode {
    RDMA_WC_SEND = 0,
    RDMA_WC_RDMA_WRITE = 1,
    RDMA_WC_RDMA_READ = 2,
    RDMA_WC_COMP_SWAP = 3,
    RDMA_WC_FETCH_ADD = 4,
    RDMA_WC_BIND_MW = 5,
    RDMA_WC_LOCAL_INV = 6,
    RDMA_WC_REG_MR = 10,
    RDMA_WC_MASKED_COMP_SWAP = 11,
    RDMA_WC_MASKED_FETCH_ADD = 12,
    RDMA_WC_RECV = 128,
    RDMA_WC_RECV_RDMA_WITH_IMM = 129,
};

enum rdma_wc_flags {
    RDMA_WC_GRH = 1 << 0,
    RDMA_WC_WITH_IMM = 1 << 1,
    RDMA_WC_WITH_INV = 1 << 3,
};

/* How a datagram travelled (ROCE-UD-5). */
enum rdma_network {
    RDMA_NETWORK_IB = 0, /* RoCEv1: a GRH */
    RDMA_NETWORK_IPV4 = 1,
    RDMA_NETWORK_IPV6 = 2,
};

/* One completion. After an error only wr_id, status, vendor_err and qp_num are valid (ROCE-RC-61). */
struct rdma_wc {
    uint64_t wr_id;
    enum rdma_wc_status status;
    enum rdma_wc_opcode opcode;
    uint32_t vendor_err;
    uint32_t byte_len; /* valid for receives, READs and atomics (ROCE-CQ-8) */
    uint32_t imm_data; /* network order */
    uint32_t qp_num;
    uint32_t wc_flags;         /* enum rdma_wc_flags */
    uint32_t invalidated_rkey; /* RDMA_WC_WITH_INV */
    /* of a datagram: ROCE-UD-5 */
    uint32_t src_qpn;
    uint16_t pkey_index;
    uint16_t vlan_id; /* 0: untagged */
    uint8_t src_mac[6];
    enum rdma_network network;
};

struct rdma_cq;

#define RDMA_CQ_MAX_CAPACITY (1u << 24)

struct rdma_cq_config {
    uint32_t capacity; /* completions it holds at least, 1..RDMA_CQ_MAX_CAPACITY */
    /* Called by the engine, inside progress or a control call, when an armed notification fires or the CQ
     * overflows (`overflow`). Must not call back into the engine. May be NULL. */
    void (*notify)(void *ctx, struct rdma_cq *cq, bool overflow);
    void *ctx;
};

/* The name of a status or an opcode as the standard writes it ("RNR_RETRY_EXC_ERR"); never NULL. */
const char *rdma_wc_status_name(enum rdma_wc_status status);
const char *rdma_wc_opcode_name(enum rdma_wc_opcode opcode);

/* 0, -EINVAL (capacity) or -ENOMEM. The caller destroys it after every QP that uses it. */
int rdma_cq_create(const struct rdma_mem *mem, const struct rdma_cq_config *config, struct rdma_cq **out);

/* 0, or -EBUSY while a QP uses it (ROCE-CQ-6). */
int rdma_cq_destroy(struct rdma_cq *cq);

/* Takes up to `n` completions, oldest first. Returns how many, or -EIO when the valid ones are all taken
 * and the CQ has overflowed (ROCE-CQ-2). */
int rdma_cq_poll(struct rdma_cq *cq, struct rdma_wc *wcs, unsigned n);

/* Arms the one-shot notification: for the next completion, or the next solicited one (ROCE-CQ-3, CQ-4).
 * Completions already there do not fire it: poll once more after arming. */
void rdma_cq_req_notify(struct rdma_cq *cq, bool solicited_only);

/* Makes it hold `capacity` completions at least; those not polled yet stay, and so do an armed notification
 * and an error. A control call, and no poll may run meanwhile. 0, -EINVAL (capacity out of range, or below
 * the number of those completions) or -ENOMEM; nothing is changed then (ROCE-CQ-6). */
int rdma_cq_resize(struct rdma_cq *cq, uint32_t capacity);

/* How many completions it holds at the most. */
uint32_t rdma_cq_capacity(const struct rdma_cq *cq);

/* --- for transports --- */

/* Adds a completion, published with release order after the data it reports (ROCE-CQ-1). `solicited`: the
 * message had SE = 1 (errors count as solicited by themselves). False: it did not fit; the CQ is in error
 * from now on and the transport moves the QPs that use it to ERR. */
bool rdma_cq_push(struct rdma_cq *cq, const struct rdma_wc *wc, bool solicited);

/* Whether `count` more would fit now; false once the CQ is in error. For the writer only. */
bool rdma_cq_has_room(const struct rdma_cq *cq, uint32_t count);
/* It has overflowed and takes nothing any more (ROCE-CQ-2). */
bool rdma_cq_in_error(const struct rdma_cq *cq);

/* The transport's list of what completes into the CQ: a pointer that the CQ keeps for it, NULL at first. */
void **rdma_cq_users(struct rdma_cq *cq);

/* A QP counts itself as a user, so that the CQ cannot go away under it. */
void rdma_cq_get(struct rdma_cq *cq);
void rdma_cq_put(struct rdma_cq *cq);

#endif
