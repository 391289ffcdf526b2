/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests. The values are those of the verbs ABI, so that a verbs provider needs no translation. */
#ifndef NORNIC_RDMA_WR_H
#define NORNIC_RDMA_WR_H

#include <stdint.h>

/* ROCE section 11.3. */
enum rdma_wr_opcode {
    RDMA_WR_RDMA_WRITE = 0,
    RDMA_WR_RDMA_WRITE_WITH_IMM = 1,
    RDMA_WR_SEND = 2,
    RDMA_WR_SEND_WITH_IMM = 3,
    RDMA_WR_RDMA_READ = 4,
    RDMA_WR_ATOMIC_CMP_AND_SWP = 5,
    RDMA_WR_ATOMIC_FETCH_AND_ADD = 6,
};

enum rdma_send_flags {
    RDMA_SEND_FENCE = 1 << 0,     /* wait for all earlier READs and atomics: ROCE-RC-14 */
    RDMA_SEND_SIGNALED = 1 << 1,  /* write a CQE on success: ROCE-RC-60 */
    RDMA_SEND_SOLICITED = 1 << 2, /* set SE on the last packet: ROCE-RC-11 */
    RDMA_SEND_INLINE = 1 << 3,    /* data is copied by the post; L_Keys are not looked at: ROCE-RC-16 */
};

/* One piece of local memory. */
struct rdma_sge {
    uint64_t addr; /* of the process, as a number */
    uint32_t len_bytes;
    uint32_t lkey;
};

struct rdma_send_wr {
    const struct rdma_send_wr *next;
    uint64_t wr_id;
    const struct rdma_sge *sg_list; /* borrowed for the post; the memory it names is kept until completion */
    uint32_t num_sge;
    enum rdma_wr_opcode opcode;
    uint32_t send_flags; /* enum rdma_send_flags */
    uint32_t imm_data;   /* as the four bytes travel: network order */
    uint64_t remote_addr;
    uint32_t rkey;
    uint64_t compare_add; /* CMP_AND_SWP: compare; FETCH_AND_ADD: addend; host order */
    uint64_t swap;        /* CMP_AND_SWP */
};

struct rdma_recv_wr {
    const struct rdma_recv_wr *next;
    uint64_t wr_id;
    const struct rdma_sge *sg_list;
    uint32_t num_sge;
};

#endif
