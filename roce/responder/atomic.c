/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/responder/atomic.h"

/* Below the highest bit of each field the sum cannot leave the field; that bit itself is added without its
 * carry. */
uint64_t roce_atomic_add_fields(uint64_t a, uint64_t b, uint64_t boundaries)
{
    return ((a & ~boundaries) + (b & ~boundaries)) ^ ((a ^ b) & boundaries);
}

/* What a masked atomic makes of `original`. */
static uint64_t masked_result(uint64_t original, const struct roce_pkt *pkt)
{
    const struct roce_atomiceth *eth = &pkt->atomiceth;
    const struct roce_masketh *mask = &pkt->masketh;
    if (ROCE_OPCODE_OP(pkt->bth.opcode) == ROCE_OP_FETCH_ADD)
        return roce_atomic_add_fields(original, eth->swap_add, mask->swap_add_mask);
    if ((original ^ eth->compare) & mask->compare_mask)
        return original;
    return (original & ~mask->swap_add_mask) | (eth->swap_add & mask->swap_add_mask);
}

static uint64_t execute_masked(uint64_t *at, const struct roce_pkt *pkt)
{
    uint64_t original = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(at, &original, masked_result(original, pkt), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
        ;
    return original;
}

uint64_t roce_atomic_execute(uint64_t *at, const struct roce_pkt *pkt)
{
    if (pkt->op->flags & ROCE_PKT_MASKETH)
        return execute_masked(at, pkt);
    if (ROCE_OPCODE_OP(pkt->bth.opcode) == ROCE_OP_FETCH_ADD)
        return __atomic_fetch_add(at, pkt->atomiceth.swap_add, __ATOMIC_SEQ_CST);
    uint64_t original = pkt->atomiceth.compare;
    __atomic_compare_exchange_n(at, &original, pkt->atomiceth.swap_add, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return original;
}
