/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of a pair, for its own files. */
#ifndef NORNIC_TEST_SMCR_PAIR_CONN_H
#define NORNIC_TEST_SMCR_PAIR_CONN_H

#include "test/smcr_pair/pair.h"

/* Takes the events of a node's instance. Returns whether there were any. */
bool pair_conn_events(struct pair_node *node);
void pair_conn_free(struct pair_conn *c);

#endif
