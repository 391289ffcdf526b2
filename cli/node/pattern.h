/* SPDX-License-Identifier: BSD-2-Clause */
/* Test data: bytes that a message of its own has, and no other. */
#ifndef NORNIC_CLI_NODE_PATTERN_H
#define NORNIC_CLI_NODE_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Fills `buf` with the bytes that belong to `key`. Each 8 bytes tell their place and their key apart from any
 * other. */
void cli_pattern_fill(uint64_t key, uint8_t *buf, size_t len_bytes);

/* Where `buf` first differs from cli_pattern_fill(key); `len_bytes`: nowhere. */
size_t cli_pattern_compare(uint64_t key, const uint8_t *buf, size_t len_bytes);

/* The 8 bytes at `at`, a multiple of 8, of what belongs to `key`; and to which key such bytes belong. */
void cli_pattern_word(uint64_t key, size_t at, uint8_t *word);
uint64_t cli_pattern_key(const uint8_t *word, size_t at);

#endif
