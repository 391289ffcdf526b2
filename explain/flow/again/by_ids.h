/* SPDX-License-Identifier: BSD-2-Clause */
/* The witness of identifications. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_BY_IDS_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_BY_IDS_H

#include "explain/flow/again/verdict.h"

/* Tells copies and latecomers by the IPv4 identification, if the sender counts in it. */
bool explain_witness_ids(const struct explain_case *c, struct explain_verdict *v);

#endif
