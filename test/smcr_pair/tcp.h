/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP connections of a pair: what is sent comes later, in order, in pieces. */
#ifndef NORNIC_TEST_SMCR_PAIR_TCP_H
#define NORNIC_TEST_SMCR_PAIR_TCP_H

#include "test/smcr_pair/pair.h"

/* The core's struct smcr_tcp; `ctx` is the end. */
int pair_tcp_core_send(void *ctx, const uint8_t *bytes, size_t len_bytes);
void pair_tcp_core_reset(void *ctx);

/* Delivers what is due. Returns whether there was any. */
bool pair_tcp_deliver(struct pair_end *end);
/* When something is due; NET_TIME_NONE: never. */
uint64_t pair_tcp_next_ns(const struct pair_end *end);
/* Bytes that the core has not taken are the application's, if it fell back. */
void pair_tcp_fall_back(struct pair_end *end);
void pair_tcp_free(struct pair_end *end);

#endif
