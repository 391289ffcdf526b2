/* SPDX-License-Identifier: BSD-2-Clause */
/* What atomics do to memory. Inside roce/ only. */
#ifndef NORNIC_ROCE_ATOMIC_H
#define NORNIC_ROCE_ATOMIC_H

#include "roce/packet.h"

/* Executes the atomic of a request on `*at` with CPU atomic instructions (ROCE-RS-46, RS-47). Returns what
 * was there before. */
uint64_t roce_atomic_execute(uint64_t *at, const struct roce_pkt *pkt);

/* The sum field by field: each bit of `boundaries` is the highest of a field, so that nothing is carried out
 * of it. */
uint64_t roce_atomic_add_fields(uint64_t a, uint64_t b, uint64_t boundaries);

#endif
