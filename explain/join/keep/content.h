/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of data. */
#ifndef NORNIC_EXPLAIN_JOIN_KEEP_CONTENT_H
#define NORNIC_EXPLAIN_JOIN_KEEP_CONTENT_H

#include "explain/join/types.h"

/* Returns a hash of `n` bytes. Of data that cannot be told from data that was not captured, one of 4 billion,
 * it is 0. */
uint32_t join_hash_data(const uint8_t *bytes, uint32_t n);
/* Returns the hash of the data with hash `first` and the data behind it, `second_bytes` long, with hash
 * `second`. */
uint32_t join_hash_both(uint32_t first, uint32_t second, uint32_t second_bytes);

#endif
