/* SPDX-License-Identifier: BSD-2-Clause */
/* The witness of packets that nothing asked for. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_COPY_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_COPY_H

#include "explain/flow/again/verdict.h"

/* Tells of a packet that no answer asked for, and that no silence precedes, whether it is a copy, or was
 * overtaken. Returns false: it was sent again, and v->why says as much as can be told. */
bool explain_witness_copy(const struct explain_case *c, struct explain_verdict *v);

#endif
