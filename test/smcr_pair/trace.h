/* SPDX-License-Identifier: BSD-2-Clause */
/* A line of a pair's ladder for each thing that an instance does. */
#ifndef NORNIC_TEST_SMCR_PAIR_TRACE_H
#define NORNIC_TEST_SMCR_PAIR_TRACE_H

#include "test/smcr_pair/pair.h"

void pair_trace_print(const struct pair_node *node, const struct smcr_trace *trace);

#endif
