/* SPDX-License-Identifier: BSD-2-Clause */
/* What atomics do to memory: RFC 7306 5.1. Inside the engine only. */
#ifndef NORNIC_IWARP_ATOMIC_H
#define NORNIC_IWARP_ATOMIC_H

#include <stdint.h>

#include "iwarp/wire/wire.h"

/* Executes the request, whose aopcode is below IWARP_ATOMIC_COUNT, on `*at` with a CPU atomic instruction
 * (IWARP-ATOM-03, -04, -08, -09). Returns what was there before. */
uint64_t iwarp_atomic_execute(uint64_t *at, const struct iwarp_atomic_req *req);

/* What it makes of `original`. */
uint64_t iwarp_atomic_result(uint64_t original, const struct iwarp_atomic_req *req);

#endif
