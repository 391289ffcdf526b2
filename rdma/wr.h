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
    RDMA_WR_LOCAL_INV = 7,
    RDMA_WR_BIND_MW = 8,
    RDMA_WR_SEND_WITH_INV = 9,
    RDMA_WR_MASKED_ATOMIC_CMP_AND_SWP = 12,
    RDMA_WR_MASKED_ATOMIC_FETCH_AND_ADD = 13,
    RDMA_WR_REG_MR = 0x20,
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

/* An address handle: made, and defined, by the transport (roce_ah_create()). */
struct rdma_ah;

/* What a window or a fast-registered region is to name: BIND_MW, REG_MR (ROCE-MW-2, ROCE-MR-6). */
struct rdma_bind {
    uint32_t lkey; /* BIND_MW: the region. REG_MR: not used */
    uint64_t addr; /* REG_MR: of the process, as a number. BIND_MW: as peers of the region see it */
    uint64_t len_bytes;
    uint64_t iova;   /* REG_MR: the remote address of the first byte. BIND_MW: not used */
    uint32_t access; /* enum rdma_access */
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
    uint32_t rkey;            /* BIND_MW, REG_MR: the new key; its upper 24 bits name the object */
    uint32_t invalidate_rkey; /* SEND_WITH_INV: the peer's; LOCAL_INV: ours */
    uint64_t compare_add;     /* CMP_AND_SWP: compare; FETCH_AND_ADD: addend; host order */
    uint64_t swap;            /* CMP_AND_SWP */
    /* Masked atomics. CMP_AND_SWP: the bits that are compared, and those that are swapped. FETCH_AND_ADD:
     * compare_mask has the highest bit of each field, which is added to by itself; swap_mask is not used. */
    uint64_t compare_mask, swap_mask;
    struct rdma_bind bind;
    struct { /* UD */
        struct rdma_ah *ah;
        uint32_t remote_qpn;
        uint32_t remote_qkey; /* bit 31 set: the QP's own goes out (ROCE-UD-3) */
        uint16_t pkey_index;  /* GSI: entry of the P_Key table that goes out (ROCE-GSI-2) */
    } ud;
    uint32_t remote_srqn; /* XRC: ROCE-XRC-2 */
};

struct rdma_recv_wr {
    const struct rdma_recv_wr *next;
    uint64_t wr_id;
    const struct rdma_sge *sg_list;
    uint32_t num_sge;
};

#endif
