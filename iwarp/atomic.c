/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/atomic.h"

#include <stdbool.h>

/* IWARP-ATOM-09: each bit of the mask is the highest of a field. Below it the sum cannot leave the field;
 * that bit itself is added without its carry. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t mask)
{
    return ((a & ~mask) + (b & ~mask)) ^ ((a ^ b) & mask);
}

uint64_t iwarp_atomic_result(uint64_t original, const struct iwarp_atomic_req *req)
{
    if (req->aopcode == IWARP_FETCH_ADD)
        return add_fields(original, req->data, req->mask);
    if (req->aopcode == IWARP_SWAP)
        return req->data;
    if ((original ^ req->compare) & req->compare_mask)
        return original;
    return (original & ~req->mask) | (req->data & req->mask);
}

uint64_t iwarp_atomic_execute(uint64_t *at, const struct iwarp_atomic_req *req)
{
    uint64_t original = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(at, &original, iwarp_atomic_result(original, req), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    return original;
}
