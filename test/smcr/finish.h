/* SPDX-License-Identifier: BSD-2-Clause */
/* How a test of two instances ends. Whatever is otherwise fails the test. */
#ifndef NORNIC_TEST_SMCR_FINISH_H
#define NORNIC_TEST_SMCR_FINISH_H

#include "test/smcr_pair/pair.h"

/* Gives the pair back; nothing was broken, and nothing is left. */
void finish(struct pair *pair);
/* Both ends close, one a millisecond behind the other, and the connection is over within a second. */
void finish_conn(struct pair *pair, struct pair_conn *c);

#endif
