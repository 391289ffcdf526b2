/* SPDX-License-Identifier: BSD-2-Clause */
/* Test data: bytes that a message of its own has, and no other. */
#ifndef NORNIC_CLI_PATTERN_H
#define NORNIC_CLI_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Fills `buf` with the bytes that belong to `key`. Each 8 bytes tell their place and their key apart from any
 * other. */
void cli_pattern_fill(uint64_t key, uint8_t *buf, size_t len_bytes);

/* Where `buf` first differs from cli_pattern_fill(key); `len_bytes`: nowhere. */
size_t cli_pattern_compare(uint64_t key, const uint8_t *buf, size_t len_bytes);

/* The same for a buffer of which each word belongs to any of `n` keys. */
size_t cli_pattern_compare_any(const uint64_t *keys, size_t n, const uint8_t *buf, size_t len_bytes);

#endif
