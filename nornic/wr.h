/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests. The enumerators have the values of the verbs ABI; the structs have layouts of their own.
 */
#ifndef NORNIC_WR_H
#define NORNIC_WR_H

#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

/* Rights of a region or window: ROCE-MR-1. Local read is implicit. */
enum nornic_access {
    NORNIC_ACCESS_LOCAL_WRITE = 1,
    NORNIC_ACCESS_REMOTE_WRITE = 2,
    NORNIC_ACCESS_REMOTE_READ = 4,
    NORNIC_ACCESS_REMOTE_ATOMIC = 8,
    NORNIC_ACCESS_MW_BIND = 16, /* windows may be bound to the region */
    NORNIC_ACCESS_ZERO_BASED = 32,
    NORNIC_ACCESS_ON_DEMAND = 64, /* the memory may come and go: it is checked when it is accessed */
};

/* Values of the verbs ABI. Type 1: belongs to a PD; a bind replaces the one before, with a key that the
 * engine chooses (ROCE-MW-1). Type 2: usable only through the QP it was bound on, with a key whose low
 * byte the consumer chooses; bound only from free state, to which an invalidation returns it (ROCE-MW-2).
 * It keeps the rules of both 2A and 2B: the QP and the PD must be those of the bind, and it does not
 * outlive the QP. */
enum nornic_mw_type { NORNIC_MW_TYPE_1 = 1, NORNIC_MW_TYPE_2 = 2 };

/* The operation of a request: ROCE section 11.3. */
enum nornic_wr_opcode {
    NORNIC_WR_RDMA_WRITE = 0,
    NORNIC_WR_RDMA_WRITE_WITH_IMM = 1,
    NORNIC_WR_SEND = 2,
    NORNIC_WR_SEND_WITH_IMM = 3,
    NORNIC_WR_RDMA_READ = 4,
    NORNIC_WR_ATOMIC_CMP_AND_SWP = 5,
    NORNIC_WR_ATOMIC_FETCH_AND_ADD = 6,
    NORNIC_WR_LOCAL_INV = 7,
    NORNIC_WR_BIND_MW = 8,
    NORNIC_WR_SEND_WITH_INV = 9,
    NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP = 12,
    NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD = 13,
    NORNIC_WR_REG_MR = 0x20,
    NORNIC_WR_IMM = 0x21, /* iWARP: Immediate Data of eight octets alone, no SGE (RFC 7306 6.1) */
};

/* How it is to be done. A post with NORNIC_SEND_IMM_8 on a queue pair of RoCE fails with -EINVAL. */
enum nornic_send_flags {
    NORNIC_SEND_FENCE = 1 << 0,     /* wait for all earlier READs and atomics: ROCE-RC-14 */
    NORNIC_SEND_SIGNALED = 1 << 1,  /* write a CQE on success: ROCE-RC-60 */
    NORNIC_SEND_SOLICITED = 1 << 2, /* set SE on the last packet: ROCE-RC-11 */
    NORNIC_SEND_INLINE = 1 << 3,    /* data is copied by the post; L_Keys are not looked at: ROCE-RC-16 */
    NORNIC_SEND_IMM_8 = 1 << 8,     /* WRITE_WITH_IMM, iWARP: imm_data_2 counts. NORNIC_WR_IMM implies it */
};

/* One piece of local memory. */
struct nornic_sge {
    uint64_t addr; /* of the region that `lkey` names; of the process for inline data */
    uint32_t len_bytes;
    uint32_t lkey;
};

/* An address handle: nornic_ah_create(). */
struct nornic_ah;

/* The memory that a window or a fast-registered region is to name: BIND_MW, REG_MR (ROCE-MW-2, ROCE-MR-6). */
struct nornic_bind {
    uint32_t lkey; /* BIND_MW: the region. REG_MR: not used */
    uint64_t addr; /* REG_MR: of the process, as a number. BIND_MW: as peers of the region see it */
    uint64_t len_bytes;
    uint64_t iova;   /* REG_MR: the remote address of the first byte. BIND_MW: not used */
    uint32_t access; /* enum nornic_access */
};

/* A request to the send queue; which members count depends on the opcode. */
struct nornic_send_wr {
    const struct nornic_send_wr *next;
    uint64_t wr_id;
    const struct nornic_sge
        *sg_list; /* borrowed for the post; the memory it names is kept until completion */
    uint32_t num_sge;
    enum nornic_wr_opcode opcode;
    uint32_t send_flags; /* enum nornic_send_flags */
    uint32_t imm_data;   /* as the four octets travel: network order */
    uint64_t remote_addr;
    uint32_t rkey;            /* BIND_MW, REG_MR: the new key; its upper 24 bits name the object */
    uint32_t invalidate_rkey; /* SEND_WITH_INV: the peer's; LOCAL_INV: ours */
    uint64_t compare_add;     /* CMP_AND_SWP: compare; FETCH_AND_ADD: addend; host order */
    uint64_t swap;            /* CMP_AND_SWP */
    /* Masked atomics. CMP_AND_SWP: the bits that are compared, and those that are swapped. FETCH_AND_ADD:
     * compare_mask has the highest bit of each field, which is added to by itself; swap_mask is not used.
     */
    uint64_t compare_mask, swap_mask;
    struct nornic_bind bind;
    struct { /* UD */
        struct nornic_ah *ah;
        uint32_t remote_qpn;
        uint32_t remote_qkey; /* bit 31 set: the QP's own goes out (ROCE-UD-3) */
        uint16_t pkey_index;  /* GSI: entry of the P_Key table that goes out (ROCE-GSI-2) */
    } ud;
    uint32_t remote_srqn; /* XRC: ROCE-XRC-2 */
    uint32_t imm_data_2;  /* iWARP: octets 4 to 7 of Immediate Data, as they travel (NORNIC_SEND_IMM_8) */
};

/* A receive: the place of an incoming message. */
struct nornic_recv_wr {
    const struct nornic_recv_wr *next;
    uint64_t wr_id;
    const struct nornic_sge *sg_list;
    uint32_t num_sge;
};

NORNIC_END_DECLS

#endif
