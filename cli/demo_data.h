/* SPDX-License-Identifier: BSD-2-Clause */
/* The demo's data: bytes that both sides can compute, different in every message and at every place. */
#ifndef NORNIC_CLI_DEMO_DATA_H
#define NORNIC_CLI_DEMO_DATA_H

#include <stdbool.h>
#include <stdint.h>

/* A well-mixed number from two. */
uint64_t demo_mix(uint64_t a, uint64_t b);

/* Message number `index` of a stream: `stream` names seed and phase. */
void demo_data_fill(uint8_t *data, uint32_t len_bytes, uint64_t stream, uint64_t index);
/* Whether the bytes are those of demo_data_fill(). */
bool demo_data_is_right(const uint8_t *data, uint32_t len_bytes, uint64_t stream, uint64_t index);

#endif
